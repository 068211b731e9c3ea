"""Pipelines of every task and models of every family at toy size, all parameters random."""

from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import torch
from torch import nn

from regard.api import Materials, Pipeline, read
from regard.demo import DEMOS, translation
from regard.models import Vocabulary
from regard.models.build import build
from regard.starter import WRITERS, write_phrasebook
from regard.tasks import TASKS

SIZE = 14
SMALL = {"width": 16, "layers": 2, "attention": {"heads": 4}, "feedforward": {"hidden": 24}}

SEQUENCES: dict[str, dict[str, Any]] = {
    "pre": {**SMALL, "place": "pre"},
    "post": {**SMALL, "decoder_layers": 1, "output_bias": True, "tied": "none"},
    "learned": {**SMALL, "position": {"name": "learned", "length": 40}, "embedding": {"norm": True, "scale": False}},
    "llama-like": {
        "width": 16,
        "layers": 2,
        "attention": {"heads": 4, "groups": 2, "bias": False},
        "feedforward": {"hidden": 24, "gated": True, "activation": "silu", "bias": False},
        "norm": "rms",
        "place": "pre",
        "position": "rotary",
    },
    "narrow heads": {**SMALL, "attention": {"heads": 4, "groups": 2, "each": 3}, "norm": "rms", "place": "pre"},
    "relative": {**SMALL, "place": "pre", "position": {"name": "relative", "reach": 3}},
    "narrow": {**SMALL, "embedding": {"width": 8}, "tied": "output", "attention": {"heads": 4, "score": "dot"}},
}
LANGUAGES: dict[str, dict[str, Any]] = {
    "gpt2-like": {**SMALL, "place": "pre"},
    "llama-like": {**SEQUENCES["llama-like"]},
    "qwen3-like": {
        **SEQUENCES["llama-like"],
        "attention": {"heads": 4, "groups": 2, "each": 6, "bias": False, "normed": True},
    },
}
RECURRENT: dict[str, dict[str, Any]] = {
    "additive": {"encoder": {"width": 16}, "decoder": {"width": 16}, "copying": True, "tied": "all"},
    "fed": {
        "encoder": {"width": 16, "cell": "gru"},
        "decoder": {"width": 16, "cell": "gru", "layers": 2},
        "attention": {"score": "general"},
        "attend": "after",
        "feeding": True,
    },
    "without": {"encoder": {"width": 16, "layers": 2}, "decoder": {"width": 16}, "attention": None},
}


# A random model rarely ends by itself.
BRIEF = ("search.longest_factor=0", "search.longest_extra=6", "search.beams=2")
SHORT = {
    "translation": BRIEF,
    "dialogue": BRIEF,
    "summarization": BRIEF,
    "language": ("predict.pieces=6", "search.beams=2"),
}


@torch.no_grad()
def lively(model: nn.Module, spread: float = 0.3) -> Any:
    """The model with parameters far enough from their start that nothing cancels out, and outputs that differ."""
    for parameter in model.parameters():
        parameter.add_(torch.randn_like(parameter) * spread)
    return model.eval()


def made(name: str, settings: dict[str, Any], size: int = SIZE, seed: int = 1) -> Any:
    torch.manual_seed(seed)
    return lively(build(name, settings, Vocabulary(size, size)))


def sources(*lengths: int, size: int = SIZE) -> tuple[torch.Tensor, torch.Tensor]:
    """Ragged sources that end in the piece for the end."""
    real = torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]
    pieces = torch.randint(4, size, real.shape)
    pieces[torch.arange(len(lengths)), torch.tensor(lengths) - 1] = 2
    return pieces.where(real, 0), real


@cache
def pipeline(task: str, *changes: str) -> Pipeline:
    """A demo's task, learned from a few rows, with a random model and golden inputs."""
    torch.manual_seed(2)
    folder = Path(mkdtemp())
    if task == "translation":
        write_phrasebook(folder, "en-de", seed=1, size=200, held_out=6)
        plain = translation.recipe("en-de", folder, 1)
    else:
        WRITERS[task](folder, 80, 6, 1)
        plain = DEMOS[task].recipe(folder, 1)
    recipe = read(plain, (*SHORT.get(task, ()), *changes))
    materials = Materials(recipe)
    learned = TASKS[recipe.task].learn(recipe, materials.texts(), {})
    rows = [row.fields for row in materials.valid][:3]
    found = Pipeline(recipe, learned, lively(learned.model(), 0.1), {}, {})
    asked = [found.asked(row) for row in rows]
    short = [{name: text[:60] for name, text in row.items()} if task == "language" else row for row in asked]
    return found.with_golden(short)
