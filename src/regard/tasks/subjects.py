"""Predictions as explanations ask for them: what was read, what came of it, and how likely that is if it is changed."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from regard.attention import taps
from regard.explain import Axis, Look, Unit
from regard.models import NextPiece
from regard.tasks.hearing import say
from regard.text import Cut, Tokenizing

# log p of each output, for N versions of the inputs and what of them is real.
Scored = Callable[[Int[Tensor, "N S"], Bool[Tensor, "N S"] | None], Float[Tensor, "N O"]]
NUMBER = re.compile(r"\.(\d+)\.")


@dataclass(frozen=True)
class Prediction:
    """One input and its outputs; `score` is how a task computes what the outputs would be worth."""

    model: nn.Module
    inputs: Axis
    outputs: Axis
    pieces: Int[Tensor, " S"]
    blank: int
    embedded: str
    score: Scored
    # Where outputs are read off the inputs' last states; None if everywhere alike, or where attention does it.
    read: Float[Tensor, "O S"] | None = None
    # The attention there is, where the names of its taps do not tell all of it.
    attention: tuple[Look, ...] | None = None

    def scores(self, pieces: Int[Tensor, "N S"], real: Bool[Tensor, "N S"] | None = None) -> Float[Tensor, "N O"]:
        if self.model.training:
            self.model.eval()
        return self.score(pieces, real)

    @cached_property
    def looks(self) -> tuple[Look, ...]:
        return looks(self.model) if self.attention is None else self.attention


def looks(model: nn.Module) -> tuple[Look, ...]:
    """Every attention of a model over its inputs or outputs, encoder before decoder, by the names of its taps."""
    # Without an encoder what is read and what is written are one text.
    whole = not hasattr(model, "encoder") or getattr(getattr(model, "settings", None), "cross", None) == "joint"
    over_source: tuple[str, ...] = () if whole else getattr(model, "looks", ())
    found = [_look(name, whole, over_source) for name in taps(model) if name.endswith("mechanism.weights")]
    order = {"self": 0, "cross": 1, "pool": 2}
    return tuple(sorted(found, key=lambda look: (look.queries != "inputs", look.layer, order[look.kind])))


def _look(name: str, whole: bool, over_source: Sequence[str]) -> Look:
    numbers = NUMBER.findall(name)
    layer = int(numbers[0]) if numbers else 0
    if ".pooling." in name or name.startswith("pooling."):
        return Look(name, layer, "pool", "one", "inputs")
    if name.startswith("encoder."):
        return Look(name, layer, "self", "inputs", "inputs")
    crossing = ".cross." in name or name.startswith(("attention.", "pointer."))
    crossing = crossing or any(fnmatchcase(name, pattern) for pattern in over_source)
    keys: Literal["inputs", "outputs"] = "inputs" if crossing or whole else "outputs"
    return Look(name, layer, "cross" if crossing else "self", "outputs", keys)


def axis(text: str, cut: Cut, before: Sequence[str] = (), after: Sequence[str] = (), moved: int = 0) -> Axis:
    """The pieces of a text with the characters they cover, between pieces that are no text."""
    units = [
        Unit(text[start:end] or piece, (start + moved, end + moved))
        for piece, (start, end) in zip(cut.pieces, cut.spans, strict=True)
    ]
    return Axis(text, (*(Unit(piece, None, True) for piece in before), *units, *(Unit(p, None, True) for p in after)))


def named(tokenizer: Tokenizing, ids: Sequence[int]) -> list[str]:
    return [tokenizer.piece(token) for token in ids]


def blank(tokenizer: Any) -> int:
    """What stands for a piece that is taken away: the mask where the model knows one, else the unknown piece."""
    mask: int | None = getattr(tokenizer, "mask", None)
    return tokenizer.unknown if mask is None else mask


def labelled(*labels: str) -> Axis:
    """Outputs that are a label each."""
    return Axis(" ".join(labels), tuple(map(Unit, labels)))


def repeated(row: Int[Tensor, " T"], count: int) -> Int[Tensor, "N T"]:
    return row[None].expand(count, -1)


def picked(log_NTV: Float[Tensor, "N T V"], wanted_T: Int[Tensor, " T"]) -> Float[Tensor, "N T"]:
    """The log-probability of each wanted piece."""
    say(log_NTV, wanted_T)
    return log_NTV.gather(-1, repeated(wanted_T, len(log_NTV))[..., None])[..., 0]


def said(output: Any, decoded: Any, wanted_T: Int[Tensor, " T"]) -> Float[Tensor, "N T"]:
    """The log-probability of each wanted piece, read off the last states of a model that writes.

    Each is of one state alone. So where gradients are asked for, they are taken from all pieces to their states at
    once, and what is given on is linear in the states: as many backward passes as there are pieces then go around the
    vocabulary, which is most of their work. Right for first derivatives only.
    """
    hidden = decoded.hidden
    if type(output) is not NextPiece or not (torch.is_grad_enabled() and hidden.requires_grad):
        return picked(output.log_probabilities(decoded), wanted_T)
    leaf = hidden.detach().requires_grad_()
    scores_NT = picked(output.log_probabilities(replace(decoded, hidden=leaf)), wanted_T)
    (slope,) = torch.autograd.grad(scores_NT.sum(), leaf)
    return scores_NT.detach() + ((hidden - hidden.detach()) * slope).sum(-1)


def spans_of(tokenizer: Tokenizing, pieces: Sequence[int], text: str) -> list[tuple[int, int]]:
    """The characters each piece of an output gave."""
    ends = [min(len(tokenizer.decode(pieces[:count])), len(text)) for count in range(len(pieces) + 1)]
    for place in range(1, len(ends)):
        ends[place] = max(ends[place], ends[place - 1])
    return list(pairwise(ends))


def written(tokenizer: Tokenizing, pieces: Sequence[int], text: str, after: Sequence[int]) -> Axis:
    """What was written, piece by piece, with the end that was written after it."""
    spans = spans_of(tokenizer, pieces, text)
    units = [
        Unit(text[start:end].strip() or tokenizer.piece(piece), (start, end))
        for piece, (start, end) in zip(pieces, spans, strict=True)
    ]
    return Axis(text, (*units, *(Unit(tokenizer.piece(piece), None, True) for piece in after)))


def at(places: Int[Tensor, " O"], inputs: int) -> Float[Tensor, "O S"]:
    """Each output read at one place of the inputs."""
    return torch.eye(inputs, device=places.device)[places]


def tensor(ids: Sequence[int], model: nn.Module) -> Int[Tensor, " T"]:
    return torch.tensor(list(ids), dtype=torch.long, device=next(model.parameters()).device)
