"""Translation: a text in one language in, the same in another out."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from jaxtyping import Float
from pydantic import PositiveInt
from torch import Tensor, nn

from regard.config import Part, Rate, Settings
from regard.data import Encoding
from regard.errors import ConfigError, unknown
from regard.explain import Subject
from regard.metrics import metric
from regard.models.build import build, read
from regard.nn import Loss
from regard.tasks import explained, sides, vectors
from regard.tasks.recipe import AgreeingLoss, Recipe
from regard.tasks.sides import Batch, Cutting, Sides
from regard.tasks.task import Row, Task
from regard.tasks.translating import PredictSettings, Translating, Translation
from regard.text import TokenizerSettings, tags

# The kinds of tokenizer that are made of merges.
MERGING = ("bpe", "byte_bpe")


class CuttingSettings(Settings):
    """Training texts cut in several ways, so that a model knows words by more than one set of pieces.

    `dropout` of the merges are left out by chance (BPE-dropout, Provilkov et al. 2020; 0.1 there), in so many `ways`
    for every pair; an epoch has each pair once, in the next of its ways. Held-out texts are cut as ever.
    """

    dropout: Rate = 0.0
    ways: PositiveInt = 8


class TranslationRecipe(Recipe):
    """Data have the fields `source` and `target`; a joint tokenizer serves both unless there are two."""

    tokenizer: TokenizerSettings = TokenizerSettings()
    target_tokenizer: TokenizerSettings | None = None
    cutting: CuttingSettings = CuttingSettings()
    loss: AgreeingLoss = AgreeingLoss()
    metrics: tuple[Part, ...] = (Part(name="bleu"), Part(name="chrf"))
    predict: PredictSettings = PredictSettings()


@dataclass(frozen=True)
class TranslationTask(Task):
    """All that translation adds to models, search and training."""

    recipe: TranslationRecipe
    sides: Sides

    Recipe: ClassVar = TranslationRecipe
    fields: ClassVar = ("source", "target")
    plain: ClassVar = ("source", "target")
    two_sides: ClassVar = True

    @classmethod
    def cut(cls) -> tuple[str, ...]:
        return cls.fields

    @classmethod
    def check(cls, recipe: TranslationRecipe) -> None:
        """Refuse what can be seen to be wrong before any text is read."""
        _check_joint(recipe)
        _check_merges(recipe)
        _check_agreement(recipe)
        for part in (*recipe.metrics, *recipe.validation.metrics):
            metric(part)

    @classmethod
    def learn(cls, recipe: TranslationRecipe, rows: Iterable[Row], start: Mapping[str, str]) -> "TranslationTask":
        """The task with tokenizers learned from these rows, which are read once for each tokenizer."""
        if start:
            return cls.load(recipe, start)
        _check_joint(recipe)
        extra = (*recipe.tokenizer.extra, *cls.tags(recipe))
        source = recipe.tokenizer.model_copy(update={"extra": extra})
        return cls(recipe, Sides.learn(rows, source, recipe.target_tokenizer, recipe.seed))

    @classmethod
    def load(cls, recipe: TranslationRecipe, files: Mapping[str, str]) -> "TranslationTask":
        return cls(recipe, Sides.load(files))

    @classmethod
    def tags(cls, recipe: TranslationRecipe) -> tuple[str, ...]:
        """The piece that asks for each target language, where there are several to ask for."""
        languages = sorted({corpus.languages.get("target", "") for corpus in recipe.data.train} - {""})
        return tags(languages) if len(languages) > 1 else ()

    def files(self) -> dict[str, str]:
        return self.sides.files()

    def encoding(self, languages: Mapping[str, str]) -> Encoding:
        """How the rows of a corpus in these languages become examples."""
        return self.sides.encoding(self.opening(languages.get("target", "")))

    def training(self, languages: Mapping[str, str]) -> Encoding:
        """The same with every text in as many ways as it is to be cut."""
        cutting = self.recipe.cutting
        asked = Cutting(cutting.dropout, cutting.ways, self.recipe.seed) if cutting.dropout else None
        return self.sides.encoding(self.opening(languages.get("target", "")), asked)

    @property
    def ways(self) -> int:
        return self.recipe.cutting.ways if self.recipe.cutting.dropout else 1

    def opening(self, language: str) -> tuple[str, ...]:
        """What a source begins with, so that it is translated into that language."""
        known = {piece[2:-1]: piece for piece in self.tags(self.recipe)}
        if not known:
            return ()
        if language not in known:
            told = unknown("target language", language, known)
            raise ConfigError(f"{told} Say which with predict.language, and for a corpus with languages.target.")
        return (known[language],)

    def spoken(self, recipe: Any, languages: Mapping[str, str]) -> Any:
        """The recipe that translates into the language a corpus is in, where there are several and it says so."""
        language = languages.get("target", "")
        if not language or not self.tags(self.recipe):
            return recipe
        return recipe.model_copy(update={"predict": recipe.predict.model_copy(update={"language": language})})

    def tuned(self, model: nn.Module, rows: Sequence[Row], recipe: Any) -> Any:
        """The recipe with the language of validation, where it names none of several: what is asked for nothing else
        is answered in the language the model was chosen by."""
        if recipe.predict.language:
            return recipe
        return self.spoken(recipe, recipe.data.valid.languages or recipe.data.train[0].languages)

    def embeddings(self, model: Any) -> list[tuple[Any, Any]]:
        if not hasattr(model, "encoder") or not hasattr(model.encoder, "embedding"):
            return super().embeddings(model)
        return [(self.sides.source, model.encoder.embedding)]

    def model(self) -> nn.Module:
        return build(self.recipe.model.name, self.recipe.model.options, self.sides.vocabulary)

    def batch(self, examples: Sequence[Mapping[str, Any]], device: torch.device) -> Batch:
        return sides.batch(examples, device, self.sides.target.begin)

    def loss(self, model: nn.Module, batch: Batch, smoothing: float) -> Loss:
        return sides.loss(model, batch, smoothing, self.recipe.loss.agreement)

    def predict(self, model: nn.Module, rows: Iterable[Row], recipe: TranslationRecipe) -> Iterator[Translation]:
        """A translation of each row, in order, as search and prediction are set in `recipe`."""
        return self.translating(model, recipe)(rows)

    def settle(self, model: nn.Module, row: Row, recipe: TranslationRecipe) -> Iterator[str | Translation]:
        """What is settled of one translation while the search goes on, and at last the translation."""
        return self.translating(model, recipe).settle(row)

    def embed(self, model: nn.Module, rows: Iterable[Row], recipe: TranslationRecipe) -> Iterator[Float[Tensor, " D"]]:
        """The mean of the states of each source, all its parts together."""
        return vectors.of_pieces(model, map(self.translating(model, recipe).sources, rows), recipe)

    def subject(self, model: nn.Module, row: Row, recipe: TranslationRecipe, target: str | None) -> Subject:
        return explained.translated(self, model, row, recipe, target)

    def translating(self, model: nn.Module, recipe: TranslationRecipe) -> Translating:
        opening = self.opening(recipe.predict.language)
        return Translating(self.sides, model, recipe.search, recipe.predict, opening)


def _check_joint(recipe: TranslationRecipe) -> None:
    """Refuse one set of vectors for two vocabularies: where they are of one size, a model could not tell."""
    settings = read(recipe.model.name, recipe.model.options)
    tied, copying = getattr(settings, "tied", ""), getattr(settings, "copying", False)
    asked = "tied = 'all'" if tied == "all" else "copying" if copying else ""
    if asked and recipe.target_tokenizer is not None and not recipe.model.start:
        raise ConfigError(
            f"model: {asked} needs one vocabulary for source and target, and target_tokenizer makes a second one; "
            "leave target_tokenizer out, or set tied = 'output' and copying = false."
        )


def _check_agreement(recipe: TranslationRecipe) -> None:
    """Refuse to compare two readings of a model whose predictions are no softmax of its own pieces."""
    if recipe.loss.agreement and getattr(read(recipe.model.name, recipe.model.options), "copying", False):
        raise ConfigError(
            f"loss.agreement = {recipe.loss.agreement} compares what is generated, and this model copies as well; set "
            "model.copying = false, or leave it out."
        )


def _check_merges(recipe: TranslationRecipe) -> None:
    """Refuse to leave out merges where there are none, or where they are not ours."""
    if not recipe.cutting.dropout:
        return
    if recipe.model.start:
        raise ConfigError(
            f"cutting.dropout = {recipe.cutting.dropout}: the tokenizer of model.start is taken as it is; leave it out."
        )
    for settings in (recipe.tokenizer, recipe.target_tokenizer or recipe.tokenizer):
        if settings.kind not in MERGING:
            raise ConfigError(
                f"cutting.dropout = {recipe.cutting.dropout}: a tokenizer of the kind {settings.kind} has no merges "
                f"that could be left out; use {' or '.join(MERGING)}, or leave it out."
            )
