"""Two sides of text as a sequence-to-sequence model reads them: pieces of each, batches of both, their loss."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple, cast

import numpy as np
import torch
from jaxtyping import Bool, Int, Integer
from torch import Tensor, nn

from regard.data import Encoding, collate
from regard.errors import DataError
from regard.models import Vocabulary
from regard.nn import IGNORE, Loss
from regard.text import Cut, Tokenizer, TokenizerSettings, Tokenizing, restored

JOINT = "tokenizer.json"
FIELDS = ("source", "target")


@dataclass(frozen=True)
class Batch:
    """Pairs in rectangles: what is read, which of it is real, what was written before, what is to be written."""

    source: Int[Tensor, "B S"]
    real: Bool[Tensor, "B S"]
    before: Int[Tensor, "B T"]
    wanted: Int[Tensor, "B T"]


class Cutting(NamedTuple):
    """Merges left out by chance: how many of them, in how many ways a text is cut, and what chance begins with."""

    dropout: float
    ways: int
    seed: int


@dataclass(frozen=True)
class Sides:
    """The tokenizers of source and target, one and the same where the vocabulary is joint, and what rows call them.

    `slots` are numbers behind those of all pieces, for words that a tokenizer does not know (see `copying`).
    """

    source: Tokenizing
    target: Tokenizing
    fields: tuple[str, str] = FIELDS
    slots: int = 0

    @classmethod
    def learn(
        cls,
        rows: Iterable[Mapping[str, str]],
        source: TokenizerSettings,
        target: TokenizerSettings | None,
        seed: int,
    ) -> "Sides":
        """The sides for these texts; without settings of its own the target shares the source's tokenizer."""
        if target is None:
            texts = (row[side] for row in rows for side in FIELDS)
            joint = Tokenizer.learn(source, texts, seed)
            return cls(joint, joint)
        return cls(
            Tokenizer.learn(source, (row["source"] for row in rows), seed),
            Tokenizer.learn(target, (row["target"] for row in rows), seed),
        )

    @classmethod
    def load(cls, files: Mapping[str, str], fields: tuple[str, str] = FIELDS, slots: int = 0) -> "Sides":
        """The sides as `files` gave them."""
        if JOINT in files:
            joint = restored(files[JOINT], JOINT)
            return cls(joint, joint, fields, slots)
        names = [_file(field) for field in fields]
        for name in names:
            if name not in files:
                raise DataError(f"There is neither {JOINT} nor {name}; the model cannot read text without it.")
        source, target = (restored(files[name], name) for name in names)
        return cls(source, target, fields, slots)

    @property
    def joint(self) -> bool:
        return self.source is self.target

    def files(self) -> dict[str, str]:
        """Both as text, by the name of the file they belong in."""
        if self.joint:
            return {JOINT: self.source.to_json()}
        return {_file(self.fields[0]): self.source.to_json(), _file(self.fields[1]): self.target.to_json()}

    @property
    def vocabulary(self) -> Vocabulary:
        source, target = self.source.size + self.slots, self.target.size + self.slots
        return Vocabulary(source, target, begin=self.target.begin, end=self.target.end)

    def encoding(self, opening: Sequence[str] = (), cutting: Cutting | None = None) -> Encoding:
        """How rows become examples; each source begins with the `opening` pieces, such as a language's tag."""
        told = "".join(self.files().values()) + "\0".join(opening) + (str(cutting) if cutting else "")
        identity = hashlib.sha256(told.encode()).hexdigest()
        first = tuple(self.source.id(piece) for piece in opening)
        encode = _Encode(self, first) if cutting is None else _Vary(self, first, cutting)
        return Encoding(encode, self.fields, max(self.source.size, self.target.size), f"pairs {identity}")

    @cached_property
    def banned(self) -> tuple[int, ...]:
        """The pieces no output may hold: all that stand for something other than text, but for what frames it."""
        return tuple(sorted(self.target.special - {self.target.end, *self.target.opening}))

    def begun(self, text: str) -> list[int]:
        """The pieces of what an output begins with, after those that the target's tokenizer opens every text with."""
        return [*self.target.opening, *self.target.encode(text).ids]

    def read(self, encoded: Cut, opening: Sequence[str] = ()) -> list[int]:
        """The pieces of a source as the model reads them, with what frames them."""
        source = self.source
        return [*(source.id(piece) for piece in opening), *source.opening, *encoded.ids, *source.closing]


@dataclass(frozen=True)
class _Encode:
    sides: Sides
    first: tuple[int, ...]

    def __call__(self, texts: Mapping[str, Sequence[str]]) -> Mapping[str, Sequence[Sequence[int]]]:
        (source, target), (read, written) = (self.sides.source, self.sides.target), self.sides.fields
        return self.framed(source.ids_many(texts[read]), target.ids_many(texts[written]))

    def framed(self, read: Iterable[list[int]], written: Iterable[list[int]]) -> dict[str, list[list[int]]]:
        """Both sides with what stands before and after every text."""
        source, target = self.sides.source, self.sides.target
        sources = [[*self.first, *source.opening, *ids, *source.closing] for ids in read]
        targets = [[*target.opening, *ids, target.end] for ids in written]
        return dict(zip(self.sides.fields, (sources, targets), strict=True))


@dataclass(frozen=True)
class _Vary(_Encode):
    """Every pair as often as there are ways to cut it, one way after the other."""

    cutting: Cutting

    def __call__(self, texts: Mapping[str, Sequence[str]]) -> Mapping[str, Sequence[Sequence[int]]]:
        read, written = self.sides.fields
        return self.framed(self.cut(self.sides.source, texts[read]), self.cut(self.sides.target, texts[written]))

    def cut(self, tokenizer: Tokenizing, texts: Sequence[str]) -> Iterable[list[int]]:
        dropout, ways, seed = self.cutting
        # No tokenizer but ours is asked for this (`TranslationTask.check`).
        ours = cast(Tokenizer, tokenizer)
        each = [ours.varied_many(texts, dropout, seed, number) for number in range(ways)]
        return chain.from_iterable(zip(*each, strict=True))


def batch(
    examples: Sequence[Mapping[str, Integer[np.ndarray, " _"]]],
    device: torch.device,
    begin: int = Tokenizer.begin,
    fields: tuple[str, str] = FIELDS,
) -> Batch:
    """Examples of a store as tensors; what is padding is told by lengths, never by ids."""
    columns = collate(examples, dict(zip(fields, (Tokenizer.padding, IGNORE), strict=True)))
    source, wanted = columns[fields[0]], torch.from_numpy(columns[fields[1]].tokens)
    real = np.arange(source.tokens.shape[1]) < source.lengths[:, None]
    before = torch.cat([torch.full((len(wanted), 1), begin), wanted[:, :-1]], 1)
    tensors = (torch.from_numpy(source.tokens), torch.from_numpy(real), before.clamp(min=Tokenizer.padding), wanted)
    return Batch(*(tensor.to(device, non_blocking=True) for tensor in tensors))


def sources(rows: Sequence[Sequence[int]], device: torch.device) -> tuple[Int[Tensor, "B S"], Bool[Tensor, "B S"]]:
    """Sources alone, to search from."""
    longest = max(map(len, rows))
    pieces = torch.tensor([[*row, *[Tokenizer.padding] * (longest - len(row))] for row in rows])
    real = torch.arange(longest) < torch.tensor([[len(row)] for row in rows])
    return pieces.to(device), real.to(device)


def loss(model: Any, given: Batch, smoothing: float, agreement: float = 0.0) -> Loss:
    """The loss of a model on a batch, summed over its targets; of two readings, where they are to agree in training."""
    if not agreement or not model.training:
        decoded = model(given.source, given.before, given.real)
        return model.output.loss(decoded, given.wanted, smoothing)
    source, before, real = (torch.cat([one, one]) for one in (given.source, given.before, given.real))
    return model.output.agreeing(model(source, before, real), given.wanted, agreement, smoothing)


def _file(field: str) -> str:
    return f"{field}.tokenizer.json"


def parameters(model: nn.Module) -> int:
    return sum(parameter.numel() for parameter in model.parameters())
