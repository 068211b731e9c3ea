"""Entity tagging as writing: words in, as many tags out, by a model that reads one sequence and writes another."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import exp
from typing import Any, ClassVar

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from regard.config import Part
from regard.data import Encoding
from regard.decode import Hypothesis, Request, SearchSettings, search
from regard.explain import Subject
from regard.models import Start, State
from regard.models.build import build, read
from regard.nn import Loss
from regard.tasks import explained, sides, vectors
from regard.tasks.grouping import blocks, in_groups
from regard.tasks.marking import Marking, MarkingRecipe
from regard.tasks.reading import LongSettings, Reading
from regard.tasks.sides import Batch, Sides, sources
from regard.tasks.tag_schemes import split
from regard.tasks.tagging_reading import Sentence, WordReading
from regard.tasks.tagging_results import Tagged, tagged
from regard.tasks.tagging_rows import gold
from regard.tasks.tagging_text import Taking, Work
from regard.tasks.tagging_windows import homes
from regard.tasks.task import Row
from regard.text import TokenizerSettings

# Every tag is a piece, however many there are.
TAGS = TokenizerSettings(kind="spaced", size=10_000)


class GenerativeTaggingRecipe(MarkingRecipe):
    """A text by its words' pieces; `model` reads a sequence and writes one."""

    tokenizer: TokenizerSettings = TokenizerSettings()
    search: SearchSettings = SearchSettings(method="greedy")
    metrics: tuple[Part, ...] = (Part(name="entity_f1"), Part(name="entity_precision"), Part(name="entity_recall"))
    predict: LongSettings = LongSettings()


@dataclass(frozen=True)
class GenerativeTaggingTask(Marking):
    """All that tagging by writing adds to models, search and training."""

    recipe: GenerativeTaggingRecipe
    sides: Sides

    Recipe: ClassVar = GenerativeTaggingRecipe

    @classmethod
    def check(cls, recipe: GenerativeTaggingRecipe) -> None:
        """Refuse what can be seen to be wrong before any text is read."""
        super().check(recipe)
        read(recipe.model.name, recipe.model.options)

    @classmethod
    def learn(
        cls, recipe: GenerativeTaggingRecipe, rows: Iterable[Row], start: Mapping[str, str]
    ) -> "GenerativeTaggingTask":
        """The task with the pieces and tags of these rows."""
        if start:
            return cls.load(recipe, start)
        return cls(recipe, Sides.learn(_Pairs(rows, recipe), recipe.tokenizer, TAGS, recipe.seed))

    @classmethod
    def load(cls, recipe: GenerativeTaggingRecipe, files: Mapping[str, str]) -> "GenerativeTaggingTask":
        return cls(recipe, Sides.load(files))

    def files(self) -> dict[str, str]:
        return self.sides.files()

    @cached_property
    def types(self) -> frozenset[str]:
        return frozenset(split(piece)[1] for piece in self.sides.target.pieces)

    @cached_property
    def words(self) -> WordReading:
        return WordReading(Reading(self.sides.source), None, False)

    def encoding(self, languages: Mapping[str, str]) -> Encoding:
        told = "".join(self.files().values()) + self.recipe.words
        identity = hashlib.sha256(told.encode()).hexdigest()
        size = max(self.sides.source.size, self.sides.target.size)
        return Encoding(_Encode(self), ("source", "target"), size, f"words and tags {identity}")

    def model(self) -> nn.Module:
        return build(self.recipe.model.name, self.recipe.model.options, self.sides.vocabulary)

    def embeddings(self, model: Any) -> list[tuple[Any, Any]]:
        return [(self.sides.source, model.encoder.embedding)]

    def batch(self, examples: Sequence[Mapping[str, Any]], device: torch.device) -> Batch:
        return sides.batch(examples, device, self.sides.target.begin)

    def loss(self, model: nn.Module, batch: Batch, smoothing: float) -> Loss:
        return sides.loss(model, batch, smoothing)

    def predict(self, model: nn.Module, rows: Iterable[Row], recipe: GenerativeTaggingRecipe) -> Iterator[Tagged]:
        """A result for each row, in order, as search and prediction are set in `recipe`."""
        return self.writing(model, recipe)(rows)

    def embed(
        self, model: nn.Module, rows: Iterable[Row], recipe: GenerativeTaggingRecipe
    ) -> Iterator[Float[Tensor, " D"]]:
        """The mean of the states of each text, window by window."""
        return vectors.of_pieces(model, self.writing(model, recipe).sources(rows), recipe)

    def writing(self, model: nn.Module, recipe: GenerativeTaggingRecipe) -> "Writing":
        taking = Taking(self.words, recipe.predict, recipe.words, recipe.predict.longest)
        # How sure a tag is, is told with every entity; and tags are repeated, whatever else may not be.
        search = recipe.search.model_copy(update={"probabilities": True, "no_repeat": 0})
        return Writing(taking, self.sides, model, search)

    def subject(self, model: nn.Module, row: Row, recipe: GenerativeTaggingRecipe, target: str | None) -> Subject:
        return explained.marked(self, model, row, recipe, target)


@dataclass(frozen=True)
class _Pairs:
    """Rows as pairs of words and tags, as often as asked for."""

    rows: Iterable[Row]
    recipe: GenerativeTaggingRecipe

    def __iter__(self) -> Iterator[dict[str, str]]:
        for row in self.rows:
            words, tags = gold(row, self.recipe.words)
            yield {"source": " ".join(word.text for word in words), "target": " ".join(tags)}


@dataclass(frozen=True)
class _Encode:
    task: GenerativeTaggingTask

    def __call__(self, texts: Mapping[str, Sequence[str]]) -> Mapping[str, Sequence[Sequence[int]]]:
        task, rows = self.task, [dict(zip(texts, values, strict=True)) for values in zip(*texts.values(), strict=True)]
        found = [gold(row, task.recipe.words) for row in rows]
        sentences = task.words.read([[word.text for word in one.words] for one in found])
        tags = task.sides.target.encode_many(" ".join(one.tags) for one in found)
        return {
            "source": [task.words.flat(sentence) for sentence in sentences],
            "target": [[*cut.ids, task.sides.target.end] for cut in tags],
        }


class Endless:
    """A model that never ends by itself, so that its output is as long as it may become."""

    def __init__(self, model: Any) -> None:
        self.model, self.vocabulary = model, model.vocabulary

    def start(self, source: Int[Tensor, "B S"], real: Bool[Tensor, "B S"] | None = None) -> Start:
        begun: Start = self.model.start(source, real)
        return begun

    def step(self, pieces: Int[Tensor, " R"], state: State) -> tuple[Float[Tensor, "R V"], State]:
        """Log-probabilities of the tags that may follow: what an end would have had is theirs."""
        said_RV, after = self.model.step(pieces, state)
        end = torch.tensor([self.vocabulary.end], device=said_RV.device)
        return said_RV.index_fill(1, end, -torch.inf).log_softmax(-1), after


@dataclass(frozen=True)
class Writing:
    """Rows in, tagged texts out, in order: exactly one tag is written for each word."""

    taking: Taking
    sides: Sides
    # A module that is a Decoder too.
    model: Any
    search: SearchSettings

    def __call__(self, rows: Iterable[Mapping[str, str]]) -> Iterator[Tagged]:
        for block in blocks(rows):
            works = self.taking.works(block)
            parts = [part for work in works for part in work.parts]
            coming = iter(in_groups(parts, self.size, self.taking.settings, self.written))
            yield from (self.whole(work, [next(coming) for _ in work.windows]) for work in works)

    def size(self, part: Sentence) -> int:
        """What it counts in a batch: every beam its pieces."""
        return sum(part.sizes) * self.search.width

    def sources(self, rows: Iterable[Mapping[str, str]]) -> Iterator[list[list[int]]]:
        """The windows of each row as the model reads them, where nothing is to be written."""
        for block in blocks(rows):
            for work in self.taking.works(block):
                if work.status(self.taking.room, self.taking.settings) == ("refused",):
                    raise vectors.too_long(work.text, self.taking.longest)
                yield [self.taking.words.flat(part) for part in work.parts]

    def written(self, parts: list[Sentence]) -> list[Hypothesis]:
        self.model.eval()
        device = next(self.model.parameters()).device
        source, real = sources([self.taking.words.flat(part) for part in parts], device)
        requests = [Request(longest=len(part.pieces)) for part in parts]
        with torch.inference_mode():
            found = search(Endless(self.model), source, real, self.search, requests, None, self.sides.banned)
        return [outputs[0] for outputs in found]

    def whole(self, work: Work, parts: Sequence[Hypothesis]) -> Tagged:
        """A text as it is given out, each word with the tag of the window in which it is farthest from an edge."""
        found = homes(work.windows)
        tags = [self.sides.target.piece(parts[window].pieces[place]) for window, place in found.values()]
        chances = [exp(parts[window].piece_log_probabilities[place]) for window, place in found.values()]
        status = work.status(self.taking.room, self.taking.settings)
        return tagged(work.text, work.words, list(found), tags, chances, status)
