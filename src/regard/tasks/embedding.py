"""Embedding: a text in, a vector out. Nothing is learned here: an encoder comes from elsewhere, and can go on to
another task."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.data import Encoding
from regard.errors import ConfigError
from regard.explain import Subject
from regard.models import encoder
from regard.models.embedder import Embedder, EmbedderSettings
from regard.nn import Loss
from regard.tasks import explained_likeness, reading
from regard.tasks.classification import least, readable
from regard.tasks.grouping import blocks, in_groups
from regard.tasks.reading import LongSettings, Reading
from regard.tasks.recipe import Recipe
from regard.tasks.task import Row, Task

# So many pieces are read at once where neither the settings nor the encoder say how many.
LONGEST = 512
NOTHING_LEARNED = "The task embedding learns nothing; name another task, such as classification, and this as its start."


class EmbeddingRecipe(Recipe):
    """`model` is an encoder, `head` says how its states become one vector."""

    head: EmbedderSettings = EmbedderSettings()
    predict: LongSettings = LongSettings()


@dataclass(frozen=True)
class Embedded:
    """The vector of a text; as text it is a JSON list."""

    vector: tuple[float, ...]
    status: tuple[str, ...]

    @property
    def text(self) -> str:
        return json.dumps([round(number, 6) for number in self.vector])

    def plain(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class EmbeddingTask(Task):
    """An encoder as it is."""

    recipe: EmbeddingRecipe
    reading: Reading

    Recipe: ClassVar = EmbeddingRecipe
    encodes: ClassVar = True
    fields: ClassVar = ("text",)
    plain: ClassVar = ("text",)

    @classmethod
    def check(cls, recipe: EmbeddingRecipe) -> None:
        raise ConfigError(NOTHING_LEARNED)

    @classmethod
    def learn(cls, recipe: EmbeddingRecipe, rows: Iterable[Row], start: Mapping[str, str]) -> "EmbeddingTask":
        raise ConfigError(NOTHING_LEARNED)

    @classmethod
    def load(cls, recipe: EmbeddingRecipe, files: Mapping[str, str]) -> "EmbeddingTask":
        return cls(recipe, Reading.load(files))

    def files(self) -> dict[str, str]:
        return self.reading.files()

    def encoding(self, languages: Mapping[str, str]) -> Encoding:
        raise ConfigError(NOTHING_LEARNED)

    def model(self) -> nn.Module:
        made = encoder(self.recipe.model.name, self.recipe.model.options, self.reading.tokenizer.size)
        return Embedder(made, self.recipe.head)

    def batch(self, examples: Sequence[Mapping[str, Any]], device: torch.device) -> Any:
        raise ConfigError(NOTHING_LEARNED)

    def loss(self, model: nn.Module, batch: Any, smoothing: float) -> Loss:
        raise ConfigError(NOTHING_LEARNED)

    def predict(self, model: nn.Module, rows: Iterable[Row], recipe: EmbeddingRecipe) -> Iterator[Embedded]:
        embedding = self.embedding(model, recipe)
        for block in blocks(rows):
            yield from embedding([row["text"] for row in block])

    def subject(self, model: nn.Module, row: Row, recipe: EmbeddingRecipe, target: str | None) -> Subject:
        return explained_likeness.likened(self, model, row, self.embedding(model, recipe).room, target)

    def embedding(self, model: nn.Module, recipe: EmbeddingRecipe) -> "Embedding":
        longest = least(recipe.predict.longest or LONGEST, readable(recipe)) or LONGEST
        return Embedding(self.reading, model, recipe.predict, longest)

    def embed(self, model: nn.Module, rows: Iterable[Row], recipe: EmbeddingRecipe) -> Iterator[Float[Tensor, " D"]]:
        embedding = self.embedding(model, recipe)
        for block in blocks(rows):
            texts = [row["text"] for row in block]
            for text, found in zip(texts, embedding(texts), strict=True):
                if found.status == ("refused",):
                    raise reading.too_long(text, len(self.reading.tokenizer.encode(text)), embedding.longest)
                yield torch.tensor(found.vector)


@dataclass(frozen=True)
class Embedding:
    """Texts in, vectors out; one of several windows is the mean of theirs, each by its length."""

    reading: Reading
    # A module from pieces and what of them is real to vectors.
    model: Any
    settings: LongSettings
    # The most pieces the encoder reads at once, those around a text included.
    longest: int

    def __call__(self, texts: Sequence[str]) -> list[Embedded]:
        cut = [found.ids for found in self.reading.tokenizer.encode_many(texts)]
        windows = [reading.chosen(len(ids), self.room, self.settings) for ids in cut]
        jobs = [ids[start:end] for ids, spans in zip(cut, windows, strict=True) for start, end in spans]
        vectors = iter(in_groups(jobs, len, self.settings, self.vectors))
        return [
            self.whole(len(ids), [(end - start, next(vectors)) for start, end in spans])
            for ids, spans in zip(cut, windows, strict=True)
        ]

    @property
    def room(self) -> int:
        """The most pieces of a text that are read at once."""
        return max(self.longest - self.reading.around, 1)

    def vectors(self, jobs: list[list[int]]) -> list[Float[Tensor, " D"]]:
        device = next(self.model.parameters()).device
        pieces, real = reading.rectangle(list(map(self.reading.wrapped, jobs)), self.reading.tokenizer.padding, device)
        with torch.inference_mode():
            return list(self.model.eval()(pieces, real).cpu())

    def whole(self, length: int, parts: list[tuple[int, Float[Tensor, " D"]]]) -> Embedded:
        status = reading.status(length, self.room, self.settings)
        if not parts:
            return Embedded((), status)
        weights = torch.tensor([max(size, 1) for size, _ in parts], dtype=torch.float32)
        vector = (torch.stack([vector for _, vector in parts]) * weights[:, None]).sum(0) / weights.sum()
        if len(parts) > 1 and self.model.settings.unit:
            vector = nn.functional.normalize(vector, dim=0)
        return Embedded(tuple(vector.tolist()), status)
