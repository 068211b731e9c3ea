"""Every family learns to copy and to reverse strings it never saw, small and quick; seeds 0 to 4 all pass.

Without attention, whatever the decoder is told goes through one vector: there strings are shorter and of fewer signs,
and that they must be is the observation attention was invented from.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import jaxtyping
import pytest
import torch
from torch import Tensor, nn

from regard.decode import greedy
from regard.models import MODELS, Vocabulary, build
from regard.nn import IGNORE

PADDING, BEGIN, END, BAR, FIRST = range(5)
HELD_OUT = 60


@dataclass(frozen=True)
class Family:
    """A model to teach, and how long strings of how many signs it is asked for."""

    model: str
    settings: dict[str, Any]
    steps: int
    rate: float = 5e-3
    lengths: tuple[int, int] = (3, 6)
    signs: int = 8

    @property
    def vocabulary(self) -> Vocabulary:
        return Vocabulary(FIRST + self.signs, FIRST + self.signs, BEGIN, END)


STACK = {
    "width": 32,
    "layers": 2,
    "attention": {"heads": 4},
    "feedforward": {"hidden": 64},
    "dropout": 0.0,
    "embedding": {"dropout": 0.0},
    "place": "pre",
}
READER, WIDER = {"width": 32, "dropout": 0.0}, {"width": 64, "dropout": 0.0}
VECTORS = {"scale": False, "dropout": 0.0}

FAMILIES = {
    "transformer": Family("transformer", STACK, 220),
    "recurrent with attention": Family(
        "recurrent", {"encoder": READER, "decoder": READER, "embedding": VECTORS}, 200, 1e-2
    ),
    "recurrent without attention": Family(
        "recurrent",
        {"encoder": WIDER, "decoder": WIDER, "embedding": VECTORS, "attention": None},
        steps=250,
        rate=1e-2,
        lengths=(2, 4),
        signs=4,
    ),
    "convolutional": Family("convolutional", {"width": 32, "layers": 2, "dropout": 0.0, "embedding": VECTORS}, 250),
    "transformer language": Family("transformer_language", STACK, 400),
    "recurrent language": Family(
        "recurrent_language", {**WIDER, "embedding": VECTORS}, steps=300, rate=1e-2, lengths=(2, 4), signs=4
    ),
}
TASKS: dict[str, Callable[[list[int]], list[int]]] = {"copy": lambda string: string, "reverse": lambda s: s[::-1]}


def strings(family: Family, count: int, chance: random.Random) -> list[list[int]]:
    """Different ones, of every length."""
    found: dict[tuple[int, ...], None] = {}
    while len(found) < count:
        length = chance.randint(*family.lengths)
        found[tuple(chance.randrange(FIRST, FIRST + family.signs) for _ in range(length))] = None
    return [list(string) for string in found]


def rectangle(rows: list[list[int]], filler: int) -> Tensor:
    longest = max(map(len, rows))
    return torch.tensor([row + [filler] * (longest - len(row)) for row in rows])


def real(rows: list[list[int]]) -> Tensor:
    lengths = torch.tensor([len(row) for row in rows])
    return torch.arange(int(lengths.max())) < lengths[:, None]


def loss(family: Family, model: nn.Module, sources: list[list[int]], targets: list[list[int]]) -> Tensor:
    if "language" in family.model:
        texts = [[*source, BAR, *target, END] for source, target in zip(sources, targets, strict=True)]
        pieces = rectangle(texts, PADDING)
        wanted = rectangle([[IGNORE] * len(s) + [*t, END] for s, t in zip(sources, targets, strict=True)], IGNORE)
        return model.output.loss(model(pieces[:, :-1]), wanted).mean
    given = rectangle([[BEGIN, *target] for target in targets], PADDING)
    wanted = rectangle([[*target, END] for target in targets], IGNORE)
    return model.output.loss(model(rectangle(sources, PADDING), given, real(sources)), wanted).mean


def taught(family: Family, task: Callable[[list[int]], list[int]], examples: list[list[int]], seed: int) -> nn.Module:
    torch.manual_seed(seed)
    model = build(family.model, family.settings, family.vocabulary)
    optimizer = torch.optim.Adam(model.parameters(), family.rate)
    chance = random.Random(seed)
    for step in range(family.steps):
        optimizer.param_groups[0]["lr"] = family.rate * min((step + 1) / 30, 1 - step / family.steps)
        batch = chance.sample(examples, min(64, len(examples)))
        optimizer.zero_grad()
        loss(family, model, batch, [task(string) for string in batch]).backward()
        optimizer.step()
    return model.eval()


def accuracy(family: Family, model: nn.Module, sources: list[list[int]], targets: list[list[int]]) -> float:
    """The share of pieces, the end included, that stand where they should."""
    prompts = [[*source, BAR] for source in sources] if "language" in family.model else sources
    outputs = greedy(model, rectangle(prompts, PADDING), real(prompts), longest=family.lengths[1] + 2)
    right = wanted = 0
    for output, target in zip(outputs, targets, strict=True):
        expected = [*target, END]
        right += sum(piece == other for piece, other in zip([*output, END], expected, strict=False))
        wanted += len(expected)
    return right / wanted


def learned(family: Family, task: Callable[[list[int]], list[int]], seed: int) -> float:
    held_out_and_seen = strings(family, 260 if family.signs == 4 else 2000, random.Random(seed))
    held_out, seen = held_out_and_seen[:HELD_OUT], held_out_and_seen[HELD_OUT:]
    model = taught(family, task, seen, seed)
    return accuracy(family, model, held_out, [task(string) for string in held_out])


@pytest.fixture
def unchecked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without checking signatures, which the contracts do: three times as fast."""
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)


def test_every_model_is_taught() -> None:
    assert {family.model for family in FAMILIES.values()} == set(MODELS)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("name", FAMILIES)
def test_every_family_learns_strings_it_never_saw(name: str, task: str) -> None:
    assert learned(FAMILIES[name], TASKS[task], seed=0) >= 0.9


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("name", FAMILIES)
def test_a_model_that_was_taught_nothing_knows_nothing(name: str) -> None:
    assert learned(replace(FAMILIES[name], steps=0), TASKS["copy"], seed=0) < 0.5
