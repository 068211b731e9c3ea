"""What tasks share that read a source of lines and write a text in the same vocabulary."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import torch
from jaxtyping import Float, Int
from pydantic import NonNegativeInt
from torch import Tensor, nn

from regard.data import Encoding
from regard.explain import Subject
from regard.metrics import Likelihood, metric
from regard.models import Decoded
from regard.models.build import build, read
from regard.nn import IGNORE, Loss
from regard.tasks import explained, sides, vectors
from regard.tasks.drafting import Draft, Drafted, Drafting, DraftSettings, Long, Work, chosen
from regard.tasks.generating import Generating
from regard.tasks.grouping import GroupSettings, blocks, in_groups
from regard.tasks.lines import Read, Reader
from regard.tasks.recipe import Recipe
from regard.tasks.sides import Sides
from regard.tasks.task import Row, Task
from regard.text import Tokenizer, TokenizerSettings

Lines = Callable[[str], Sequence[str]]
# A measured batch holds the probability of every piece at every place.
MEASURED = GroupSettings(tokens=2048)


class WritingRecipe(Recipe):
    """One tokenizer serves what is read and what is written."""

    tokenizer: TokenizerSettings = TokenizerSettings()
    # How many words of a source may stand for themselves though the tokenizer does not know them.
    slots: NonNegativeInt = 0
    predict: DraftSettings = DraftSettings()


@dataclass(frozen=True)
class WritingTask(Task):
    """A task that writes; each says by `lines` how its source is taken apart."""

    recipe: Any
    sides: Sides

    two_sides: ClassVar = True

    @classmethod
    def lines(cls, recipe: Any) -> Lines:
        """What takes the source of a row apart into lines."""
        raise NotImplementedError

    @classmethod
    def cut(cls) -> tuple[str, ...]:
        return cls.fields

    @classmethod
    def check(cls, recipe: Any) -> None:
        read(recipe.model.name, recipe.model.options)
        for part in (*recipe.metrics, *recipe.validation.metrics):
            metric(part)

    @classmethod
    def learn(cls, recipe: Any, rows: Iterable[Row], start: Mapping[str, str]) -> Self:
        """The task with a tokenizer learned from the lines of its sources and from its targets."""
        if start:
            return cls.load(recipe, start)
        (source, target), lines = cls.fields, cls.lines(recipe)
        texts = (text for row in rows for text in (*lines(row[source]), row[target]))
        joint = Tokenizer.learn(recipe.tokenizer, texts, recipe.seed)
        return cls(recipe, Sides(joint, joint, (source, target), recipe.slots))

    @classmethod
    def load(cls, recipe: Any, files: Mapping[str, str]) -> Self:
        source, target = cls.fields
        return cls(recipe, Sides.load(files, (source, target), recipe.slots))

    def files(self) -> dict[str, str]:
        return self.sides.files()

    @property
    def reader(self) -> Reader:
        return Reader(self.sides.target, self.sides.slots)

    def encoding(self, languages: Mapping[str, str]) -> Encoding:
        long = self.recipe.predict.long
        encode = Encode(self.reader, self.fields, self.lines(self.recipe), self.room, long, self.frame, self.framed)
        opening = self.sides.target.opening or ""
        told = f"{self.sides.files()} {self.sides.slots} {self.room} {long} {self.setting()}{opening}"
        identity = hashlib.sha256(told.encode()).hexdigest()
        return Encoding(encode, self.fields, self.sides.vocabulary.target, f"lines {identity}")

    def setting(self) -> str:
        """What else the pieces of a source depend on."""
        return ""

    @property
    def room(self) -> int | None:
        longest: int | None = self.recipe.predict.longest
        return None if longest is None else max(longest - len(self.frame(())), 1)

    def frame(self, pieces: Sequence[int]) -> tuple[int, ...]:
        """The pieces of a source as the model is given them."""
        return (*self.sides.source.opening, *pieces, *self.sides.source.closing)

    def framed(self, pieces: Sequence[int]) -> tuple[int, ...]:
        """The pieces of a target as the model is to write them."""
        return (*self.sides.target.opening, *pieces, self.sides.target.end)

    def model(self) -> nn.Module:
        return build(self.recipe.model.name, self.recipe.model.options, self.sides.vocabulary)

    def embeddings(self, model: Any) -> list[tuple[Any, Any]]:
        if not hasattr(model, "encoder") or not hasattr(model.encoder, "embedding"):
            return super().embeddings(model)
        return [(self.sides.source, model.encoder.embedding)]

    def batch(self, examples: Sequence[Mapping[str, Any]], device: torch.device) -> Any:
        return sides.batch(examples, device, self.sides.target.begin, self.sides.fields)

    def decoded(self, model: Any, batch: Any) -> tuple[Decoded, Int[Tensor, "B T"]]:
        """What the model knows of every next piece, and which it should be."""
        return model(batch.source, batch.before, batch.real), batch.wanted

    def loss(self, model: nn.Module, batch: Any, smoothing: float) -> Loss:
        output: Any = model.output
        found: Loss = output.loss(*self.decoded(model, batch), smoothing)
        return found

    def subject(self, model: nn.Module, row: Row, recipe: Any, target: str | None) -> Subject:
        return explained.drafted(self, model, row, recipe, target)

    def drafting(self, model: nn.Module, recipe: Any) -> Drafting:
        generating = Generating(model, recipe.search, recipe.predict, self.sides.banned)
        return Drafting(self.reader, generating, recipe.predict, self.lines(recipe), self.frame, self.framed)

    def predict(self, model: nn.Module, rows: Iterable[Row], recipe: Any) -> Iterator[Drafted]:
        """What is written for each row, in order."""
        drafting = self.drafting(model, recipe)
        return (self.result(drafting, *found) for found in drafting(rows, self.fields[0]))

    def settle(self, model: nn.Module, row: Row, recipe: Any) -> Iterator[str | Drafted]:
        """What is settled of one text while the search goes on, and at last the result."""
        drafting = self.drafting(model, recipe)
        work = drafting.work(row, self.fields[0])
        for found in drafting.settle(work):
            yield found if isinstance(found, str) else self.result(drafting, work, found)

    def embed(self, model: nn.Module, rows: Iterable[Row], recipe: Any) -> Iterator[Float[Tensor, " D"]]:
        """The mean of the states of what is read of each source."""
        drafting = self.drafting(model, recipe)
        return vectors.of_pieces(model, (drafting.sources(row, self.fields[0]) for row in rows), recipe)

    def result(self, drafting: Drafting, work: Work, drafts: list[Draft]) -> Drafted:
        """What comes of a row once all its parts are searched."""
        raise NotImplementedError

    def likelihood(self, model: nn.Module, rows: Iterable[Row], recipe: Any) -> Iterator[Likelihood]:
        """How likely the model holds the target of each row, its source read as in training."""
        encode, target = self.encoding({}).encode, self.fields[-1]
        # Of several references the first, as the loss has it.
        first = ({**row, target: self.references(row, recipe)[0]} for row in rows)
        for block in blocks(first):
            columns = encode({name: [row[name] for row in block] for name in self.fields})
            numbers = zip(*(map(np.array, columns[name]) for name in self.fields), strict=True)
            examples = [dict(zip(self.fields, pair, strict=True)) for pair in numbers]
            costs = in_groups(examples, _length, MEASURED, lambda some: self.costs(model, some))
            for cost, example, row in zip(costs, examples, block, strict=True):
                yield Likelihood(cost, len(example[target]), len(row[target].split()) + 1, len(row[target]) + 1)

    def costs(self, model: Any, examples: Sequence[Mapping[str, Any]]) -> list[float]:
        """-log p of the target of each example."""
        model.eval()
        with torch.inference_mode():
            decoded, wanted_BT = self.decoded(model, self.batch(examples, next(model.parameters()).device))
            log_BTV = model.output.log_probabilities(decoded)
            log_BT = log_BTV.gather(-1, wanted_BT.clamp(min=0)[..., None])[..., 0]
            return (-log_BT.masked_fill(wanted_BT == IGNORE, 0.0)).double().sum(1).tolist()


@dataclass(frozen=True)
class Encode:
    """Rows to pieces; a source longer than `room` is cut as it will be when the model is used, if to one part."""

    reader: Reader
    fields: Sequence[str]
    lines: Lines
    room: int | None
    long: Long
    frame: Callable[[Sequence[int]], tuple[int, ...]]
    framed: Callable[[Sequence[int]], tuple[int, ...]]

    def __call__(self, texts: Mapping[str, Sequence[str]]) -> Mapping[str, Sequence[Sequence[int]]]:
        source, target = self.fields
        sources = self.reader.read_many(map(self.lines, texts[source]))
        found = [self.reader.numbered(self.fitting(one)) for one in sources]
        written = self.reader.write_many(texts[target], [one.words for one in found])
        return {source: [self.frame(one.pieces) for one in found], target: [*map(self.framed, written)]}

    def fitting(self, read: Read) -> Read:
        if self.room is None or self.long not in ("head", "tail"):
            return read
        return chosen(read, self.long, self.room, self.reader.tokenizer.between)[0]


def _length(example: Mapping[str, Any]) -> int:
    return sum(map(len, example.values()))
