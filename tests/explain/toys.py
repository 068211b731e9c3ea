"""Toy subjects of every family: a translator with a forced target, a classifier, a language model after a prompt."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import jaxtyping
import pytest
import torch
from torch import Tensor, nn

from regard.attention import taps
from regard.explain import Axis, Look, Unit
from regard.models import Classifier, ClassifierSettings, Vocabulary, build, encoder

PIECES, BLANK, BEGIN, END = 12, 3, 1, 2
WORD = 4
"""The first piece that is a word."""
SMALL = {"width": 16, "layers": 2, "attention": {"heads": 2}, "feedforward": {"hidden": 32}, "dropout": 0.0}


@dataclass
class Toy:
    """A subject whose scores are whatever it was given."""

    model: nn.Module
    inputs: Axis
    outputs: Axis
    pieces: Tensor
    looks: tuple[Look, ...]
    embedded: str
    score: Callable[[nn.Module, Tensor, Tensor | None], Tensor]
    blank: int = BLANK

    def scores(self, pieces: Tensor, real: Tensor | None = None) -> Tensor:
        return self.score(self.model, pieces, real)


def axis(pieces: Sequence[int]) -> Axis:
    units = tuple(Unit(f"p{piece}", None, piece < WORD) for piece in pieces)
    return Axis(" ".join(unit.text for unit in units), units)


def moved(model: nn.Module, seed: int = 0) -> nn.Module:
    """Every parameter off its start, so that heads differ and attention is not even."""
    random = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.2 * torch.randn(parameter.shape, generator=random))
    return model.eval()


def looks_at(model: nn.Module) -> tuple[Look, ...]:
    """Every attention of a model of ours, by where it stands."""
    found = []
    for tap in taps(model):
        if not tap.endswith("mechanism.weights"):
            continue
        layer = int(tap.split("blocks.")[1].split(".")[0]) if "blocks." in tap else 0
        if "pooling" in tap:
            found.append(Look(tap, 0, "pool", "one", "inputs"))
        elif ".cross." in tap or tap in ("attention.mechanism.weights", "pointer.mechanism.weights"):
            found.append(Look(tap, 2 if "pointer" in tap else layer, "cross", "outputs", "inputs"))
        elif tap.startswith("encoder"):
            found.append(Look(tap, layer, "self", "inputs", "inputs"))
        else:
            whole = not hasattr(model, "encoder") or getattr(model.settings, "cross", None) == "joint"
            found.append(Look(tap, layer, "self", "outputs", "inputs" if whole else "outputs"))
    return tuple(found)


def translator(
    settings: dict[str, Any] | None = None,
    name: str = "transformer",
    source: Sequence[int] = (5, 7, 9, 6, END),
    target: Sequence[int] = (8, 4, 10, END),
) -> Toy:
    torch.manual_seed(0)
    model = moved(build(name, SMALL if settings is None else settings, Vocabulary(PIECES, PIECES)))
    written = torch.tensor(target)

    def score(model: Any, pieces: Tensor, real: Tensor | None) -> Tensor:
        given = torch.cat([torch.tensor([BEGIN]), written[:-1]]).expand(len(pieces), -1)
        logs = model.output.log_probabilities(model(pieces, given, real))
        return logs.gather(-1, written.expand(len(pieces), -1)[..., None])[..., 0]

    looks = looks_at(model)
    return Toy(model, axis(source), axis(target), torch.tensor(source), looks, "encoder.embedding.embedded", score)


def recurrent(**settings: Any) -> Toy:
    sizes = {"encoder": {"width": 16, "dropout": 0.0}, "decoder": {"width": 16, "dropout": 0.0}}
    return translator(sizes | settings, "recurrent")


def language(
    prompt: Sequence[int] = (BEGIN, 5, 9, 6), target: Sequence[int] = (7, 4, 8), settings: dict[str, Any] | None = None
) -> Toy:
    torch.manual_seed(0)
    model = moved(build("transformer_language", settings or SMALL, Vocabulary(PIECES, PIECES)))
    written = torch.tensor(target)

    def score(model: Any, pieces: Tensor, real: Tensor | None) -> Tensor:
        whole = torch.cat([pieces, written[:-1].expand(len(pieces), -1)], dim=1)
        logs = model.output.log_probabilities(model(whole))[:, pieces.shape[1] - 1 :]
        return logs.gather(-1, written.expand(len(pieces), -1)[..., None])[..., 0]

    return Toy(model, axis(prompt), axis(target), torch.tensor(prompt), looks_at(model), "embedding.embedded", score)


ENCODERS = {
    "transformer": SMALL,
    "recurrent": {"width": 16, "dropout": 0.0},
}


def reader(name: str = "transformer", pooling: str = "attention", settings: dict[str, Any] | None = None) -> Classifier:
    torch.manual_seed(0)
    reads = encoder(name, ENCODERS[name] | (settings or {}), PIECES)
    return Classifier(reads, ClassifierSettings.read({"pooling": {"how": pooling}, "dropout": 0.0}), 2)


def classified(model: Classifier, text: Sequence[int] = (5, 7, 9, 6, END), label: int = 1) -> Toy:
    def score(model: Any, pieces: Tensor, real: Tensor | None) -> Tensor:
        return model(pieces, real).log_softmax(-1)[:, label : label + 1]

    outputs = Axis("", (Unit("yes"),))
    return Toy(model, axis(text), outputs, torch.tensor(text), looks_at(model), "encoder.embedding.embedded", score)


def classifier(name: str = "transformer", pooling: str = "attention", **settings: Any) -> Toy:
    return classified(moved(reader(name, pooling, settings)))


def shown(toy: Toy, text: Sequence[int]) -> Toy:
    """The same model with another text."""
    return replace(toy, inputs=axis(text), pieces=torch.tensor(text))


KEY = 11
"""The one word that decides, for the classifier that is trained."""


def texts(count: int, seed: int, length: int = 7) -> tuple[Tensor, Tensor]:
    """Texts of words, half of them with the key in one place, and whether they have it."""
    random = torch.Generator().manual_seed(seed)
    pieces = torch.randint(WORD, KEY, (count, length), generator=random)
    labels = torch.arange(count) % 2
    places = torch.randint(0, length, (count,), generator=random)
    pieces[torch.arange(count), places] = torch.where(labels == 1, KEY, pieces[torch.arange(count), places])
    return pieces, labels


@contextmanager
def unchecked() -> Iterator[None]:
    """Without checking signatures, which takes longer than what they stand on; other tests check them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jaxtyping.config, "jaxtyping_disable", True)
        yield


@cache
def trained(name: str = "transformer") -> Classifier:
    """A classifier that has learned to say whether a text has the key in it."""
    model = reader(name).train()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    with unchecked():
        for step in range(60):
            pieces, labels = texts(32, step)
            optimizer.zero_grad()
            model.loss(model(pieces), labels).total.backward()
            optimizer.step()
    return model.eval()
