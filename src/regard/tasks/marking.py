"""What every task answers alike that marks entities in texts, however its model does it."""

from collections.abc import Collection, Iterable, Sequence
from typing import Any, ClassVar

from regard.data import Row as Placed
from regard.errors import ConfigError
from regard.metrics import metric
from regard.tasks import tagging_rows
from regard.tasks.recipe import Recipe
from regard.tasks.tag_schemes import taggings
from regard.tasks.tagging_results import Types, types
from regard.tasks.tagging_rows import CUT, TagsSettings, gold
from regard.tasks.tagging_words import Cutting
from regard.tasks.task import Result, Row, Task


class MarkingRecipe(Recipe):
    """Data have the fields `text` and `tags`, a tag a word, or `text` and `entities`, spans as JSON."""

    # How a text is cut into words; columns of words are words already.
    words: Cutting = "auto"
    tags: TagsSettings = TagsSettings()


class Marking(Task):
    """Words with their tags in, tags compared."""

    recipe: Any
    fields: ClassVar = ("text", "tags")
    plain: ClassVar = ("text",)

    @classmethod
    def check(cls, recipe: Any) -> None:
        for part in (*recipe.metrics, *recipe.validation.metrics):
            metric(part)
        if recipe.data.references:
            raise ConfigError("data.references: a word has one tag, so there is one reference a line; leave it out.")

    @classmethod
    def sample(cls) -> list[Row]:
        return [{"text": "Ada Lovelace lives in Paris .", "tags": "B-PER I-PER O O B-LOC O"}]

    @classmethod
    def forms(cls) -> tuple[tuple[str, ...], ...]:
        return (cls.fields, ("text", "entities"))

    @classmethod
    def fault(cls, row: Row, recipe: Any) -> str:
        return tagging_rows.fault(row, recipe.tags, recipe.words)

    @classmethod
    def fitted(cls, recipe: Any, rows: Iterable[Row]) -> Any:
        return recipe.model_copy(update={"tags": tagging_rows.fitted(recipe.tags, rows)})

    @property
    def types(self) -> Collection[str]:
        """The types of entities that training has."""
        raise NotImplementedError

    def remarks(self, train: Iterable[Placed], held_out: Iterable[Placed]) -> list[str]:
        return tagging_rows.remarks(train, self.recipe.words)

    def unseen(self, row: Row) -> Sequence[str]:
        found = dict.fromkeys(one.label for one in taggings(gold(row, self.recipe.words).tags))
        return [label for label in found if label not in self.types]

    def asked(self, row: Row) -> dict[str, str]:
        """A row without its tags, which still says that it is cut into words."""
        return {"text": row["text"], **({CUT: "spaces"} if "tags" in row else {})}

    @classmethod
    def references(cls, row: Row, recipe: Any) -> Sequence[str]:
        return [" ".join(gold(row, recipe.words).tags)]

    def compared(self, result: Any) -> str:
        return " ".join(result.tags)

    def answered(self, row: Row, result: Any) -> dict[str, str]:
        return {"text": " ".join(result.words), "tags": self.compared(result)}

    def details(self, results: Sequence[Result], rows: Sequence[Row], recipe: Any) -> dict[str, Types]:
        return types(list(map(self.compared, results)), [self.references(row, recipe) for row in rows])
