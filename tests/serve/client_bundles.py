"""Tiny bundles of models that learned nothing, one for each client's wish, and a real server over them."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from regard.api import Pipeline, read
from regard.serve.settings import ServeSettings
from regard.tasks import TASKS
from tests.serve.conftest import Server, serving

ENGLISH = ["The old king sees a red cat.", "A dog and a cat run home!", "Who goes there?", "Fish & chips, she said."]
GERMAN = [
    "Der alte König sieht eine rote Katze.",
    "Ein Hund und eine Katze laufen heim!",
    "Wer da?",
    "Fisch, sagte sie.",
]
WRITER = {
    "name": "transformer",
    "width": 16,
    "layers": 1,
    "attention": {"heads": 2},
    "feedforward": {"hidden": 16},
}
SPEAKER = {**WRITER, "name": "transformer_language"}
READER = {"name": "recurrent", "width": 16, "layers": 1}
TINY = {"tokenizer": {"kind": "bpe", "size": 90}}
SHORT = {"beams": 3, "longest_factor": 0.0, "longest_extra": 3}
TEXTS = {"path": "x.txt", "format": "text", "columns": {"text": 1}}


def pair(source: str, target: str, **corpus: Any) -> dict[str, Any]:
    """A translator's recipe whose files tell the languages, or what else is said of its corpus."""
    train = {"files": {"source": f"train{source}", "target": f"train{target}"}, **corpus}
    return {"task": "translation", "data": {"train": train}, "model": WRITER, "search": SHORT, **TINY}


def several() -> dict[str, Any]:
    """A translator that writes two languages."""
    corpora = [
        {"files": {"source": "a", "target": "b"}, "languages": {"source": "fr", "target": target}}
        for target in ("es", "it")
    ]
    return {**pair("", ""), "data": {"train": corpora}, "predict": {"language": "es"}}


def speaking(**predict: Any) -> dict[str, Any]:
    told = {"pieces": 6, **predict}
    return {"task": "language", "data": {"train": TEXTS}, "model": SPEAKER, "predict": told, **TINY}


RECIPES: dict[str, dict[str, Any]] = {
    "en-to-de": pair(".en", ".de"),
    "en-to-zh": pair("", "", languages={"source": "en", "target": "zh"}),
    "several": several(),
    "spelling": pair(".words", ".sounds"),
    "story": speaking(),
    "talk": speaking(chat="chatml", system="Be brief."),
    "dialogue": {
        "task": "dialogue",
        "data": {"train": {"path": "x.jsonl", "columns": {"turns": "turns", "reply": "reply"}}},
        "model": WRITER,
        "search": SHORT,
        **TINY,
    },
    "summary": {
        "task": "summarization",
        "data": {"train": {"path": "x.jsonl", "columns": {"document": "document", "summary": "summary"}}},
        "model": WRITER,
        "search": SHORT,
        **TINY,
    },
    "mood": {
        "task": "classification",
        "data": {"train": {"path": "x.tsv", "columns": {"text": 1, "label": 2}}},
        "model": READER,
        **TINY,
    },
    "names": {
        "task": "tagging",
        "data": {"train": {"path": "x.conll", "columns": {"text": 1, "tags": 2}}},
        "model": READER,
        **TINY,
    },
    "asking": {
        "task": "answering",
        "data": {"train": {"path": "x.json", "format": "squad"}},
        "model": READER,
        "predict": {"no_answer": "never"},
        **TINY,
    },
    "gaps": {"task": "masked", "data": {"train": TEXTS}, "model": READER, "masking": {"longest": 64}, **TINY},
}


def rows(task: str) -> list[dict[str, str]]:
    """What a task learns its pieces and labels from."""
    both = list(zip(ENGLISH, GERMAN, strict=True))
    made: Mapping[str, list[dict[str, str]]] = {
        "translation": [{"source": one, "target": other} for one, other in both],
        "dialogue": [{"turns": one, "reply": other} for one, other in both],
        "summarization": [{"document": one, "summary": other} for one, other in both],
        "classification": [{"text": one, "label": label} for one, label in zip(ENGLISH, "abca", strict=True)],
        "tagging": [{"text": "Ada left Oslo .", "tags": "B-PER O B-LOC O"}],
        "answering": [{"question": "Who?", "passage": "Anna came late.", "answers": "Anna"}],
    }
    return made.get(task, [{"text": text} for text in ENGLISH])


def made(name: str, folder: Path) -> Path:
    """The bundle of a name."""
    torch.manual_seed(3)
    recipe = read(RECIPES[name])
    task = TASKS[recipe.task].learn(recipe, rows(recipe.task), {})
    Pipeline(recipe, task, task.model().eval(), {}, {}).save(folder / name)
    return folder / name


def vectors(folder: Path) -> Path:
    """A bundle that gives vectors, its pieces from the one that fills gaps."""
    torch.manual_seed(3)
    files = Pipeline.load(made("gaps", folder)).task.files()
    recipe = read({"task": "embedding", "data": {}, "model": READER})
    task = TASKS["embedding"].load(recipe, files)
    Pipeline(recipe, task, task.model().eval(), {}, {}).save(folder / "vectors")
    return folder / "vectors"


@contextmanager
def served(names: Sequence[str], folder: Path, settings: ServeSettings | None = None) -> Iterator[Server]:
    """A real server over bundles of these names."""
    places = [vectors(folder) if name == "vectors" else made(name, folder) for name in names]
    with serving(places, settings or ServeSettings()) as running:
        yield running
