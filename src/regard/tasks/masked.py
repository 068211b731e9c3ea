"""Masked language modelling: an encoder learns from plain text to find pieces that were hidden, and can then go on to
another task as its start."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any, ClassVar

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from regard.config import Part
from regard.data import Encoding
from regard.explain import Subject
from regard.metrics import Likelihood, metric
from regard.models import encoder
from regard.models.build import read_encoder
from regard.models.understanding import MaskedLanguage, MaskedLanguageSettings
from regard.nn import IGNORE, Loss
from regard.tasks import explained_reading
from regard.tasks.classification import least, readable
from regard.tasks.filling import Filled, Filling, FillSettings
from regard.tasks.grouping import blocks, in_groups
from regard.tasks.masking import MARK, Masking, MaskingSettings, stretches
from regard.tasks.reading import Reading, ReadingRecipe, rectangle
from regard.tasks.recipe import LossSettings
from regard.tasks.task import Result, Row, Task

TEXT = "text"


class MaskedRecipe(ReadingRecipe):
    """Data have the field `text`; `model` is an encoder by name."""

    head: MaskedLanguageSettings = MaskedLanguageSettings()
    masking: MaskingSettings = MaskingSettings()
    loss: LossSettings = LossSettings(smoothing=0.0)
    # Of the pieces hidden in each text, always the same ones; words and characters are not hidden as such.
    metrics: tuple[Part, ...] = (Part(name="perplexity"),)
    predict: FillSettings = FillSettings()


@dataclass(frozen=True)
class Texts:
    """A batch: texts in a rectangle, and which of it is real."""

    pieces: Int[Tensor, "B T"]
    real: Bool[Tensor, "B T"]


@dataclass(frozen=True)
class Accuracy:
    """How many of the pieces hidden on purpose were found."""

    found: int
    hidden: int

    @property
    def value(self) -> float:
        return self.found / self.hidden if self.hidden else 0.0

    def __str__(self) -> str:
        return f"  {self.value:.1%}: {self.found:,} of {self.hidden:,} hidden pieces found at the first guess"

    def plain(self) -> dict[str, Any]:
        return {"value": self.value, "found": self.found, "hidden": self.hidden}


@dataclass(frozen=True)
class MaskedTask(Task):
    """All that masked language modelling adds to encoders and training."""

    recipe: MaskedRecipe
    reading: Reading

    Recipe: ClassVar = MaskedRecipe
    encodes: ClassVar = True
    fields: ClassVar = (TEXT,)
    plain: ClassVar = (TEXT,)

    @classmethod
    def check(cls, recipe: MaskedRecipe) -> None:
        """Refuse what can be seen to be wrong before any text is read."""
        read_encoder(recipe.model.name, recipe.model.options)
        for part in (*recipe.metrics, *recipe.validation.metrics):
            metric(part)

    @classmethod
    def learn(cls, recipe: MaskedRecipe, rows: Iterable[Row], start: Mapping[str, str]) -> "MaskedTask":
        extra = tuple(dict.fromkeys((*recipe.tokenizer.extra, MARK)))
        marked = recipe.model_copy(update={"tokenizer": recipe.tokenizer.model_copy(update={"extra": extra})})
        return cls(recipe, Reading.learn((row[TEXT] for row in rows), marked, start))

    @classmethod
    def load(cls, recipe: MaskedRecipe, files: Mapping[str, str]) -> "MaskedTask":
        return cls(recipe, Reading.load(files))

    def files(self) -> dict[str, str]:
        return self.reading.files()

    @cached_property
    def masking(self) -> Masking:
        return Masking(self.reading.tokenizer, self.recipe.masking)

    def encoding(self, languages: Mapping[str, str]) -> Encoding:
        told = f"{self.reading.identity} {self.recipe.masking.longest}"
        encode = _Encode(self.reading, self.recipe.masking.longest)
        return Encoding(
            encode, (TEXT,), self.reading.tokenizer.size, f"stretches {hashlib.sha256(told.encode()).hexdigest()}"
        )

    def model(self) -> nn.Module:
        reader = encoder(self.recipe.model.name, self.recipe.model.options, self.reading.tokenizer.size)
        return MaskedLanguage(reader, self.recipe.head)

    def embeddings(self, model: Any) -> list[tuple[Any, Any]]:
        return [(self.reading.tokenizer, model.encoder.embedding)]

    def batch(self, examples: Sequence[Mapping[str, Any]], device: torch.device) -> Texts:
        rows = [example[TEXT].tolist() for example in examples]
        return Texts(*rectangle(rows, self.reading.tokenizer.padding, device))

    def loss(self, model: Any, batch: Texts, smoothing: float) -> Loss:
        """Pieces are hidden anew whenever the model learns, and are always the same when it is judged."""
        hide = self.masking.drawn if model.training else self.masking.fixed
        pieces, wanted = hide(batch.pieces, batch.real)
        found: Loss = model.loss(pieces, wanted, batch.real, smoothing=smoothing)
        return found

    def predict(self, model: nn.Module, rows: Iterable[Row], recipe: MaskedRecipe) -> Iterator[Filled]:
        """Each text with its marks filled in, in order."""
        return self.filling(model, recipe)(rows)

    def filling(self, model: nn.Module, recipe: MaskedRecipe) -> Filling:
        longest = least(recipe.predict.longest or recipe.masking.longest, readable(recipe))
        settings = recipe.predict.model_copy(update={"longest": longest})
        return Filling(model, self.reading, self.masking, settings)

    def testing(self, recipe: MaskedRecipe) -> MaskedRecipe:
        return recipe.model_copy(update={"predict": recipe.predict.model_copy(update={"hide": True})})

    def subject(self, model: nn.Module, row: Row, recipe: MaskedRecipe, target: str | None) -> Subject:
        return explained_reading.filled(self, model, row, recipe, target)

    def details(self, results: Sequence[Result], rows: Sequence[Row], recipe: MaskedRecipe) -> dict[str, Any]:
        found = [hit for one in results if isinstance(one, Filled) and one.found for hit in one.found]
        return {"accuracy": Accuracy(sum(found), len(found))} if found else {}

    def likelihood(self, model: Any, rows: Iterable[Row], recipe: MaskedRecipe) -> Iterator[Likelihood]:
        """How likely the hidden pieces of each text are, given the rest; it counts those pieces, and no words."""
        model.eval()
        encode = _Encode(self.reading, recipe.masking.longest)
        for window in blocks(rows):
            parts = [encode({TEXT: [row[TEXT]]})[TEXT] for row in window]
            everything = [part for each in parts for part in each]
            done = iter(in_groups(everything, len, recipe.predict, lambda given: self._costs(model, given)))
            for each in parts:
                costs = [cost for found in islice(done, len(each)) for cost in found]
                yield Likelihood(sum(costs), len(costs), 0, 0, end=False)

    def _costs(self, model: Any, parts: list[list[int]]) -> list[list[float]]:
        """-log p of the hidden pieces of each stretch."""
        device = next(model.parameters()).device
        pieces, real = rectangle(parts, self.reading.tokenizer.padding, device)
        given, wanted = self.masking.fixed(pieces, real)
        counted = wanted != IGNORE
        with torch.inference_mode():
            log_NV = model.head(model.encoder(given, real)[counted][None])[0].log_softmax(-1)
            costs_N = -log_NV.gather(1, wanted[counted][:, None])[:, 0].double().cpu()
        return [part.tolist() for part in costs_N.split(counted.sum(1).tolist())]

    def embed(self, model: Any, rows: Iterable[Row], recipe: MaskedRecipe) -> Iterator[Float[Tensor, " D"]]:
        """The mean state of each text's pieces; of a long one, of its stretches; zeros for a text without pieces."""
        model.eval()
        encode = _Encode(self.reading, recipe.masking.longest)
        for row in rows:
            if not len(self.reading.tokenizer.encode(row[TEXT])):
                yield torch.zeros(int(model.encoder.width))
                continue
            parts = encode({TEXT: [row[TEXT]]})[TEXT]
            pieces, real = rectangle(parts, self.reading.tokenizer.padding, next(model.parameters()).device)
            with torch.inference_mode():
                yield model.encoder(pieces, real)[real].mean(0).cpu()


@dataclass(frozen=True)
class _Encode:
    """Texts as the encoder reads them, long ones in stretches."""

    reading: Reading
    longest: int

    def __call__(self, texts: Mapping[str, Sequence[str]]) -> dict[str, list[list[int]]]:
        room = self.longest - self.reading.around
        cuts = self.reading.tokenizer.encode_many(texts[TEXT])
        return {TEXT: [self.reading.wrapped(part) for cut in cuts for part in stretches(cut.ids, room)]}
