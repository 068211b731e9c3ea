"""Entity tagging: a text in, the names in it out, each with its type, its place and how sure that is."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import torch
from jaxtyping import Float, Int
from pydantic import PositiveInt, model_validator
from torch import Tensor, nn

from regard.config import Part, Rate, Settings
from regard.data import Encoding, Examples, Store
from regard.errors import ConfigError, DataError
from regard.explain import Subject
from regard.models import Tagger, TaggerSettings, encoder, read_encoder
from regard.nn import Loss
from regard.nn.characters import CharactersSettings
from regard.tasks import explained
from regard.tasks.classification import least, readable
from regard.tasks.marking import Marking, MarkingRecipe
from regard.tasks.reading import LongSettings, Reading, ReadingRecipe
from regard.tasks.recipe import LossSettings
from regard.tasks.tag_schemes import Scheme, inventory, moves, split, taggings, to_iob2, written
from regard.tasks.tagging_reading import ENDLESS, Sentences, WordReading, Words, rectangle
from regard.tasks.tagging_results import Tagged
from regard.tasks.tagging_rows import gold
from regard.tasks.tagging_text import Tagging, Taking
from regard.tasks.tagging_windows import overlapping
from regard.tasks.tagging_words import FILE as LETTERS
from regard.tasks.tagging_words import LOOKS, Letters, counted
from regard.tasks.task import Row
from regard.text import TokenizerSettings

FILE = "tags.json"
# More pieces than a word of the characters that are read can have.
MOST_PIECES = 512


class HeadSettings(Settings):
    """What decides about tags, and what of a word it knows besides its pieces; a pretrained encoder takes neither."""

    # One decision for all tags of a text, instead of one for each.
    crf: bool = True
    dropout: Rate = 0.1
    # Read each word letter by letter as well.
    characters: CharactersSettings | None = None
    # Tell it which words have capitals and digits.
    looks: bool = False
    look_width: PositiveInt = 8

    @property
    def tagger(self) -> TaggerSettings:
        return TaggerSettings(
            crf=self.crf,
            dropout=self.dropout,
            characters=self.characters,
            shapes=len(LOOKS) if self.looks else 0,
            shape_width=self.look_width,
        )


class WordSettings(TokenizerSettings):
    """Whole words, in lower case and seen twice, unless another kind of tokenizer is named."""

    kind: str = "spaced"
    size: PositiveInt = 30_000
    lower: bool = True
    least: PositiveInt = 2

    @model_validator(mode="before")
    @classmethod
    def _as_named(cls, values: Any) -> Any:
        """What is right for words is not for any kind: one that is named has its own defaults."""
        if not isinstance(values, Mapping) or "kind" not in values:
            return values
        common = {name: TokenizerSettings.model_fields[name].default for name in ("size", "lower", "least")}
        return {**common, **values}


class TaggingRecipe(MarkingRecipe, ReadingRecipe):
    """A text by its words and their letters; `model` is an encoder."""

    tokenizer: WordSettings = WordSettings()
    head: HeadSettings = HeadSettings()
    loss: LossSettings = LossSettings(smoothing=0.0)
    metrics: tuple[Part, ...] = (Part(name="entity_f1"), Part(name="entity_precision"), Part(name="entity_recall"))
    predict: LongSettings = LongSettings()


@dataclass(frozen=True)
class Batch:
    """Sentences and the numbers of their tags."""

    words: Words
    tags: Int[Tensor, "B W"]


@dataclass(frozen=True)
class TaggingTask(Marking):
    """All that tagging adds to encoders and training."""

    recipe: TaggingRecipe
    reading: Reading
    letters: Letters | None
    labels: tuple[str, ...]

    Recipe: ClassVar = TaggingRecipe
    encodes: ClassVar = True

    @classmethod
    def check(cls, recipe: TaggingRecipe) -> None:
        """Refuse what can be seen to be wrong before any text is read."""
        super().check(recipe)
        read_encoder(recipe.model.name, recipe.model.options)
        if recipe.loss.smoothing:
            raise ConfigError(f"loss.smoothing = {recipe.loss.smoothing}: tags are not smoothed; set it to 0.")

    @classmethod
    def learn(cls, recipe: TaggingRecipe, rows: Iterable[Row], start: Mapping[str, str]) -> "TaggingTask":
        """The task with the words, letters and types of these rows; words and letters are those of the start's."""
        texts = (" ".join(word.text for word in gold(row, recipe.words).words) for row in rows)
        reading = Reading.learn(texts, recipe, start)
        found = [gold(row, recipe.words) for row in rows]
        labels = sorted({split(tag)[1] for one in found for tag in one.tags} - {""})
        if not labels:
            raise DataError("There is no entity in the training data, so there is nothing to learn.")
        words = counted([word.text for word in one.words] for one in found)
        letters = Letters.load(start) if LETTERS in start else Letters.learn(words)
        return cls(recipe, reading, letters if recipe.head.characters else None, tuple(labels))

    @classmethod
    def load(cls, recipe: TaggingRecipe, files: Mapping[str, str]) -> "TaggingTask":
        letters = Letters.load(files) if recipe.head.characters else None
        return cls(recipe, Reading.load(files), letters, labels_of(files))

    def files(self) -> dict[str, str]:
        learned = {FILE: json.dumps(self.labels, ensure_ascii=False)}
        return {**self.reading.files(), **learned, **(self.letters.files() if self.letters else {})}

    @property
    def types(self) -> tuple[str, ...]:
        return self.labels

    @cached_property
    def tags(self) -> tuple[str, ...]:
        """Every tag the model decides between."""
        return inventory(self.labels, self.scheme)

    @property
    def scheme(self) -> Scheme:
        return self.recipe.tags.learn

    @cached_property
    def words(self) -> WordReading:
        return WordReading(self.reading, self.letters, self.recipe.head.looks)

    def encoding(self, languages: Mapping[str, str]) -> Encoding:
        letters = len(self.letters) if self.letters else 0
        told = [self.words.identity, *self.tags, self.recipe.words, str(readable(self.recipe))]
        names = ("text", "sizes", "letters", "lengths", "looks", "tags")
        most = max(self.reading.tokenizer.size, letters, len(self.tags), MOST_PIECES)
        return Encoding(_Encode(self), names, most, " ".join(told))

    def wanted(self, tags: Sequence[str]) -> list[int]:
        """The numbers of tags given in IOB2; for the loss, an entity of a type never learned is none."""
        known = [found for found in taggings(tags) if found.label in self.labels]
        return [self.tags.index(tag) for tag in written(known, len(tags), self.scheme)]

    def examples(self, store: Store) -> Examples:
        return Sentences(store)

    def model(self) -> nn.Module:
        settings = self.recipe.head.tagger
        name, options, size = self.recipe.model.name, self.recipe.model.options, self.reading.tokenizer.size
        made = encoder(name, options, size, settings.beside)
        letters = len(self.letters) if self.letters else 0
        return Tagger(made, settings, len(self.tags), letters, moves(self.tags, self.scheme))

    def embeddings(self, model: Any) -> list[tuple[Any, Any]]:
        return [(self.reading.tokenizer, model.encoder.embedding)]

    def batch(self, examples: Sequence[Mapping[str, Any]], device: torch.device) -> Batch:
        tags, _ = rectangle([example["tags"].tolist() for example in examples])
        words = self.words.tensors(list(map(self.words.sentence, examples)), device)
        return Batch(words, torch.from_numpy(tags).to(device))

    def loss(self, model: Any, batch: Batch, smoothing: float) -> Loss:
        found: Loss = model.loss(batch.words.through(model), batch.tags, batch.words.words_real)
        return found

    def predict(self, model: nn.Module, rows: Iterable[Row], recipe: TaggingRecipe) -> Iterator[Tagged]:
        """A result for each row, in order, as prediction is set in `recipe`."""
        return self.tagging(model, recipe)(rows)

    def embed(self, model: nn.Module, rows: Iterable[Row], recipe: TaggingRecipe) -> Iterator[Float[Tensor, " D"]]:
        """The mean of the states of each row's words."""
        return self.tagging(model, recipe).vectors(rows)

    def subject(self, model: nn.Module, row: Row, recipe: TaggingRecipe, target: str | None) -> Subject:
        return explained.tagged(self, model, row, recipe, target)

    def tagging(self, model: nn.Module, recipe: TaggingRecipe) -> Tagging:
        longest = least(recipe.predict.longest, readable(recipe))
        return Tagging(Taking(self.words, recipe.predict, recipe.words, longest), self.tags, model)


def labels_of(files: Mapping[str, str]) -> tuple[str, ...]:
    """The types of entities a model has learned."""
    try:
        labels = json.loads(files[FILE])
    except (KeyError, ValueError):
        labels = None
    if not isinstance(labels, list) or not labels or not all(isinstance(label, str) for label in labels):
        raise DataError(f"{FILE} is missing or damaged; the model cannot tag without it.")
    return tuple(labels)


@dataclass(frozen=True)
class _Encode:
    """Rows as examples; one longer than the encoder can read becomes several, one after the other."""

    task: TaggingTask

    def __call__(self, texts: Mapping[str, Sequence[str]]) -> Mapping[str, Sequence[Sequence[int]]]:
        task, rows = self.task, [dict(zip(texts, values, strict=True)) for values in zip(*texts.values(), strict=True)]
        room = max((readable(task.recipe) or ENDLESS) - task.reading.around, 1)
        found = [gold(row, task.recipe.words) for row in rows]
        sentences = task.words.read([[word.text for word in one.words] for one in found], room)
        parts = [
            (sentence.part(start, end), task.wanted(to_iob2(one.tags[start:end])))
            for sentence, one in zip(sentences, found, strict=True)
            for start, end in list(overlapping(sentence.sizes, room, 0)) or [(0, 0)]
        ]
        return {**task.words.columns([part for part, _ in parts]), "tags": [tags for _, tags in parts]}
