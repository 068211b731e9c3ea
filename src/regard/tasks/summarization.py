"""Summarization: a document in, a short text about it out, with what was copied from where."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from pydantic import NonNegativeFloat, NonNegativeInt
from torch import nn

from regard.attention import coverage_penalty
from regard.config import Part
from regard.data import Row as Placed
from regard.decode import SearchSettings
from regard.decode.settings import Extra, Factor
from regard.errors import ConfigError
from regard.models.build import read
from regard.nn import IGNORE, Loss
from regard.tasks.copying import Copied, copied
from regard.tasks.drafting import Draft, Drafted, Drafting, DraftSettings, Work
from regard.tasks.recipe import LossSettings, ValidationSettings
from regard.tasks.writing import Lines, WritingRecipe, WritingTask
from regard.text.patterns import starts_cjk

ROUGE = ("rouge1", "rouge2", "rougeL", "rougeLsum")


class SummarySearch(SearchSettings):
    """A summary is a fraction of its document, and says nothing twice, unless told otherwise."""

    no_repeat: NonNegativeInt = 3
    longest_factor: Factor = 0.5
    longest_extra: Extra = 30


class GreedySummary(SummarySearch):
    """The same, looked for as fast as can be."""

    method: str = "greedy"


class SummaryValidation(ValidationSettings):
    """How a model is judged while it learns."""

    search: GreedySummary = GreedySummary()


class SummaryLoss(LossSettings):
    """`coverage` weighs what looking twice at the same place costs   (See et al. 2017, eq. 13)."""

    coverage: NonNegativeFloat = 0.0


class SummarizationRecipe(WritingRecipe):
    """Data have the fields `document` and `summary`."""

    loss: SummaryLoss = SummaryLoss()
    validation: SummaryValidation = SummaryValidation()
    search: SummarySearch = SummarySearch()
    metrics: tuple[Part, ...] = tuple(Part(name=name) for name in ROUGE)
    predict: DraftSettings = DraftSettings()


@dataclass(frozen=True)
class Summary(Drafted):
    """A summary; `copied` tells of each word that was copied which characters of the document it is."""

    # None where the model cannot copy, or nothing was written.
    copied: tuple[Copied, ...] | None = None


@dataclass(frozen=True)
class SummarizationTask(WritingTask):
    """All that summarization adds to models, search and training."""

    Recipe: ClassVar = SummarizationRecipe
    fields: ClassVar = ("document", "summary")
    plain: ClassVar = ("document", "summary")

    @classmethod
    def check(cls, recipe: SummarizationRecipe) -> None:
        super().check(recipe)
        if recipe.loss.coverage and not getattr(read(recipe.model.name, recipe.model.options), "copying", False):
            raise ConfigError(
                f"loss.coverage = {recipe.loss.coverage} is taken of the weights a model copies with; "
                "set model.copying = true on a recurrent model or a transformer, or loss.coverage = 0."
            )

    @classmethod
    def lines(cls, recipe: SummarizationRecipe) -> Lines:
        return lines

    def loss(self, model: nn.Module, batch: Any, smoothing: float) -> Loss:
        weight = self.recipe.loss.coverage
        if not weight:
            return super().loss(model, batch, smoothing)
        decoded, wanted_BT = self.decoded(model, batch)
        output: Any = model.output
        found: Loss = output.loss(decoded, wanted_BT, smoothing)
        assert decoded.weights is not None
        repeated = coverage_penalty(decoded.weights, wanted_BT != IGNORE)
        return Loss(found.total + weight * repeated, found.count, found.nll)

    def result(self, drafting: Drafting, work: Work, drafts: list[Draft]) -> Summary:
        found = copied(drafting, drafts, self.sides.target.begin)
        return Summary(**vars(drafting.drafted(work, drafts)), copied=found)

    def remarks(self, train: Iterable[Placed], held_out: Iterable[Placed]) -> list[str]:
        """Documents that will be cut, and metrics that do not know the language."""
        return [*self._cut(train), *self._unknown_words(held_out)]

    def _cut(self, train: Iterable[Placed]) -> list[str]:
        if self.room is None:
            return []
        lengths = [len(one.pieces) for one in self.reader.read_many(lines(row["document"]) for _, row in train)]
        long, how = sum(length > self.room for length in lengths), self.recipe.predict
        told = f"{long:,} of {len(lengths):,} documents are longer than predict.longest = {how.longest} pieces"
        return [f"{told}; predict.long = {how.long!r} says what is read of them."] if long else []

    def _unknown_words(self, held_out: Iterable[Placed]) -> list[str]:
        summaries = [row["summary"] for _, row in held_out]
        chinese = sum(map(starts_cjk, summaries)) > len(summaries) / 2
        blind = [part for part in self.recipe.metrics if part.name in ROUGE and "tokenizer" not in part.options]
        if not chinese or not blind:
            return []
        remedy = '{ name = "rouge1", tokenizer = "characters" }'
        return [f"{blind[0].name} counts words of a to z, and the summaries have hardly any; set metrics = [{remedy}]."]


def lines(document: str) -> list[str]:
    return document.split("\n")
