"""Dialogue: the turns of a conversation in, a reply out."""

import inspect
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal, Self

import torch
from jaxtyping import Int
from pydantic import Field, NonNegativeInt
from torch import Tensor

from regard.config import Part
from regard.decode import SearchSettings
from regard.decode.settings import Extra, Factor
from regard.models import MODELS, Decoded
from regard.tasks import turns
from regard.tasks.drafting import Draft, Drafted, Drafting, DraftSettings, Work
from regard.tasks.prompted import Continued, continued
from regard.tasks.task import Row
from regard.tasks.writing import Lines, WritingRecipe, WritingTask

METRICS = ("perplexity", "word_perplexity", "distinct_1", "distinct_2")


class ReplySettings(DraftSettings):
    """What is done with a conversation that is too long: the last turns matter most."""

    long: Literal["head", "tail", "refuse"] = "tail"


class ReplySearch(SearchSettings):
    """A reply is as long as replies are, whatever went before, and says nothing twice, unless told otherwise."""

    no_repeat: NonNegativeInt = 3
    longest_factor: Factor = 0.0
    longest_extra: Extra = 60


class DialogueRecipe(WritingRecipe):
    """Data have the fields `turns` and `reply`; the model is an encoder-decoder or a language model."""

    # How many of the last turns are read; 0: all of them.
    history: NonNegativeInt = 0
    # What stands between two turns where they are one text and no JSON list. A column of a .tsv cannot hold a tab.
    between: str = Field(default=turns.TAB, min_length=1)
    search: ReplySearch = ReplySearch()
    metrics: tuple[Part, ...] = tuple(Part(name=name) for name in METRICS)
    predict: ReplySettings = ReplySettings()


@dataclass(frozen=True)
class Reply(Drafted):
    """A reply."""


@dataclass(frozen=True)
class DialogueTask(WritingTask):
    """All that dialogue adds to models, search and training."""

    Recipe: ClassVar = DialogueRecipe
    fields: ClassVar = ("turns", "reply")
    plain: ClassVar = ("reply",)

    @classmethod
    def known_by(cls) -> tuple[str, ...]:
        """What was said before: half of the replies there are have been given elsewhere."""
        return cls.inputs()

    @classmethod
    def row(cls, line: str) -> dict[str, str]:
        """A line is text, whatever it looks like: one that looks like a list of anything else becomes a list of it."""
        return {"turns": json.dumps(turns.turns(line)) if turns.fault(line) else line}

    @classmethod
    def unreadable(cls, row: Row) -> str:
        return super().unreadable(row) or turns.fault(row["turns"])

    @classmethod
    def fault(cls, row: Row, recipe: Any) -> str:
        return turns.fault(row["turns"])

    @classmethod
    def learn(cls, recipe: DialogueRecipe, rows: Iterable[Row], start: Mapping[str, str]) -> Self:
        """All turns teach the tokenizer, so that models which differ in how many they read have the same pieces."""
        whole = super().learn(recipe.model_copy(update={"history": 0}), rows, start)
        return cls(recipe, whole.sides)

    @classmethod
    def lines(cls, recipe: DialogueRecipe) -> Lines:
        return partial(turns.last, count=recipe.history, between=recipe.between)

    def setting(self) -> str:
        return f"{self.recipe.history} {self.continues} {self.recipe.between!r}"

    @property
    def continues(self) -> bool:
        """Whether the model goes on with one text, instead of reading one and writing another."""
        return "target" not in inspect.signature(MODELS[self.recipe.model.name].forward).parameters

    def frame(self, pieces: Sequence[int]) -> tuple[int, ...]:
        """A text that is gone on with stands between what begins one and the end of its last turn."""
        target = self.sides.target
        return (target.begin, *pieces, target.end) if self.continues else super().frame(pieces)

    def framed(self, pieces: Sequence[int]) -> tuple[int, ...]:
        """A reply that goes on with a text does not begin another."""
        return (*pieces, self.sides.target.end) if self.continues else super().framed(pieces)

    def batch(self, examples: Sequence[Mapping[str, Any]], device: torch.device) -> Any:
        return continued(examples, self.fields, device) if self.continues else super().batch(examples, device)

    def decoded(self, model: Any, batch: Any) -> tuple[Decoded, Int[Tensor, "B T"]]:
        if isinstance(batch, Continued):
            return model(batch.pieces, batch.real), batch.wanted
        return super().decoded(model, batch)

    def result(self, drafting: Drafting, work: Work, drafts: list[Draft]) -> Reply:
        return Reply(**vars(drafting.drafted(work, drafts)))
