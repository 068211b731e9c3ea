"""Language modelling: running text in, what follows it out."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from inspect import signature
from typing import Any, ClassVar

import torch
from torch import nn

from regard.config import Part
from regard.data import Encoding, Examples, Store
from regard.errors import ConfigError
from regard.explain import Subject
from regard.metrics import Likelihood, metric
from regard.models import MODELS, Vocabulary
from regard.models.build import build, read
from regard.nn import Loss
from regard.tasks import blocks, explained
from regard.tasks.blocks import Blocks, BlockSettings, Following, Framing
from regard.tasks.continuing import Continuation, Continuing
from regard.tasks.grouping import GroupSettings
from regard.tasks.measuring import Measuring
from regard.tasks.prompting import TEXT, ContinueSettings, WritingSettings
from regard.tasks.reading import Reading, ReadingRecipe
from regard.tasks.recipe import LossSettings
from regard.tasks.task import Result, Row, Task


class LanguageRecipe(ReadingRecipe):
    """Data have the field `text`: lines, documents, or one long text."""

    blocks: BlockSettings = BlockSettings()
    # A probability that is smoothed is not the one that is measured.
    loss: LossSettings = LossSettings(smoothing=0.0)
    search: WritingSettings = WritingSettings()
    metrics: tuple[Part, ...] = (Part(name="perplexity"), Part(name="word_perplexity"))
    predict: ContinueSettings = ContinueSettings()


@dataclass(frozen=True)
class LanguageTask(Task):
    """All that language modelling adds to models, search and training."""

    recipe: LanguageRecipe
    reading: Reading

    Recipe: ClassVar = LanguageRecipe
    fields: ClassVar = (TEXT,)
    plain: ClassVar = (TEXT,)

    @classmethod
    def check(cls, recipe: LanguageRecipe) -> None:
        """Refuse what can be seen to be wrong before any text is read."""
        _language(recipe)
        for part in (*recipe.metrics, *recipe.validation.metrics):
            metric(part)

    @classmethod
    def learn(cls, recipe: LanguageRecipe, rows: Iterable[Row], start: Mapping[str, str]) -> "LanguageTask":
        texts = (row[TEXT] for row in rows)
        return cls(recipe, Reading.learn(texts, recipe, start))

    @classmethod
    def load(cls, recipe: LanguageRecipe, files: Mapping[str, str]) -> "LanguageTask":
        return cls(recipe, Reading.load(files))

    def files(self) -> dict[str, str]:
        return self.reading.files()

    @property
    def framing(self) -> Framing:
        return Framing(self.reading.tokenizer, self.recipe.blocks)

    def encoding(self, languages: Mapping[str, str]) -> Encoding:
        framing = self.framing
        told = hashlib.sha256(f"{self.reading.identity} {framing.opening} {framing.closing}".encode()).hexdigest()
        return Encoding(framing, (TEXT,), self.reading.tokenizer.size, f"running text {told}")

    def examples(self, store: Store) -> Examples:
        return Blocks(store, self.recipe.blocks)

    def model(self) -> nn.Module:
        tokenizer = self.reading.tokenizer
        vocabulary = Vocabulary(tokenizer.size, tokenizer.size, begin=tokenizer.begin, end=tokenizer.end)
        _language(self.recipe)
        return build(self.recipe.model.name, self.recipe.model.options, vocabulary)

    def embeddings(self, model: Any) -> list[tuple[Any, Any]]:
        return [(self.reading.tokenizer, model.embedding)]

    def batch(self, examples: Sequence[Mapping[str, Any]], device: torch.device) -> Following:
        return blocks.following(examples, self.reading.tokenizer, device)

    def loss(self, model: nn.Module, batch: Following, smoothing: float) -> Loss:
        return blocks.loss(model, batch, smoothing)

    def predict(self, model: nn.Module, rows: Iterable[Row], recipe: LanguageRecipe) -> Iterator[Continuation]:
        """What follows each row, in order, as search and prediction are set in `recipe`."""
        return self.continuing(model, recipe)(rows)

    def settle(self, model: nn.Module, row: Row, recipe: LanguageRecipe) -> Iterator[str | Continuation]:
        """What is settled of one continuation while it is written, and at last the continuation."""
        return self.continuing(model, recipe).settle(row)

    def subject(self, model: nn.Module, row: Row, recipe: LanguageRecipe, target: str | None) -> Subject:
        return explained.gone_on(self, model, row, recipe, target)

    def continuing(self, model: nn.Module, recipe: LanguageRecipe) -> Continuing:
        return Continuing(self.reading.tokenizer, model, recipe.search, recipe.predict)

    @property
    def apart(self) -> bool:
        return self.recipe.blocks.within

    def likelihood(self, model: nn.Module, rows: Iterable[Row], recipe: LanguageRecipe) -> Iterator[Likelihood]:
        """How likely each row is, after those before it unless blocks stay within rows."""
        window = recipe.blocks.length if recipe.predict.longest is None else max(recipe.predict.longest - 1, 1)
        context = min(recipe.predict.context or max(window // 2, 1), window)
        batch = GroupSettings(rows=recipe.predict.rows, tokens=recipe.predict.tokens)
        return Measuring(model, self.framing, window, context, batch)(rows)

    def answered(self, row: Row, result: Result) -> dict[str, str]:
        """The row with what follows it, which is one text."""
        shown = isinstance(result, Continuation) and result.prompt is not None
        return {**row, TEXT: result.text if shown else row.get(TEXT, "") + result.text}


def _language(recipe: LanguageRecipe) -> None:
    """The settings of the model are read, and it is one that goes on with a text."""
    name = recipe.model.name
    read(name, recipe.model.options)
    if "pieces" not in signature(MODELS[name].forward).parameters:
        raise ConfigError(
            f"model.name = {name!r} reads one text and writes another; a language model goes on with a text: "
            "transformer_language or recurrent_language."
        )
