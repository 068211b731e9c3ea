"""Classifiers of which it is known whether their attention decides, and texts for them."""

from collections.abc import Iterator
from functools import cache

import jaxtyping
import pytest
import torch
from torch import Tensor, nn

from regard.attention import AttentionPooling, AttentionSettings, Tap
from regard.explain import Axis, Unit
from regard.explain.audit import Case
from tests.explain.toys import END, PIECES, Toy, looks_at, texts

WIDTH = 8


class Reads(nn.Module):
    """Vectors of pieces, pooled by attention; what decides is the pool, or the plain mean beside it.

    With `shift`, what stands at each place is the vector of the piece so many places before: attention decides, and
    points at words that do not.
    """

    def __init__(self, decides: bool, shift: int = 0) -> None:
        super().__init__()
        self.decides, self.shift = decides, shift
        self.embedding, self.embedded = nn.Embedding(PIECES, WIDTH), Tap("BSD")
        self.pooling = AttentionPooling(AttentionSettings.model_validate({"score": "additive"}), WIDTH)
        self.classify = nn.Linear(WIDTH, 2)

    def forward(self, pieces: Tensor, real: Tensor | None = None) -> Tensor:
        states = self.embedded(self.embedding(pieces)).roll(self.shift, 1)
        pooled = self.pooling(states, real)[:, 0]
        return self.classify(pooled if self.decides else states.mean(1) + 0.0 * pooled)


@cache
def reads(decides: bool, seed: int = 0, shift: int = 0) -> Reads:
    """A model that has learned to say whether a text has the key in it."""
    torch.manual_seed(seed)
    model = Reads(decides, shift)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jaxtyping.config, "jaxtyping_disable", True)
        for step in range(80):
            pieces, labels = texts(32, step)
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(pieces), labels).backward()
            optimizer.step()
    return model.eval()


def axis(pieces: list[int]) -> Axis:
    """One piece a word."""
    words = [f"w{piece:02d}" for piece in pieces]
    units = [Unit(word, (4 * place, 4 * place + 3)) for place, word in enumerate(words)]
    return Axis(" ".join(words), (*units, Unit("</s>", None, True)))


def label_of(model: nn.Module, pieces: list[int]) -> Toy:
    """The label that the model gives a text."""
    given = torch.tensor([*pieces, END])
    with torch.no_grad():
        label = int(model(given[None]).argmax())

    def score(model: nn.Module, pieces: Tensor, real: Tensor | None) -> Tensor:
        return model(pieces, real).log_softmax(-1)[:, label : label + 1]

    outputs = Axis("", (Unit(f"label {label}"),))
    return Toy(model, axis(pieces), outputs, given, looks_at(model), "embedded", score)


def cases(model: nn.Module, count: int = 12, others: dict[str, nn.Module] | None = None) -> Iterator[Case]:
    for pieces in texts(count, seed=999)[0].tolist():
        yield Case(label_of(model, pieces), {name: label_of(other, pieces) for name, other in (others or {}).items()})
