"""What training, prediction and the command line may ask of any task; what most tasks answer alike stands here."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Protocol, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.data import Encoding, Examples, Store, Structure
from regard.data import Row as Placed
from regard.errors import ConfigError, RequestError
from regard.explain import Subject
from regard.metrics import Likelihood
from regard.nn import Loss
from regard.tasks.recipe import Recipe
from regard.tasks.vectors import no_vectors

Row = Mapping[str, str]


@runtime_checkable
class Result(Protocol):
    """What comes of one input, whatever the task."""

    @property
    def text(self) -> str: ...

    @property
    def status(self) -> tuple[str, ...]: ...

    def plain(self) -> dict[str, Any]:
        """All of it as JSON has it."""
        ...


@runtime_checkable
class Task(Protocol):
    """One kind of task with the tokenizers and labels it learned; tasks inherit what they do not say otherwise."""

    # The settings of its recipes; the fields its rows have, the last of them what is to be predicted.
    Recipe: ClassVar[type[Recipe]]
    fields: ClassVar[tuple[str, ...]]
    # Whether the first field and the last are texts of one kind, which could be mistaken for each other.
    two_sides: ClassVar[bool] = False
    # Whether `model` in its recipes is an encoder alone, to which the task adds what it needs.
    encodes: ClassVar[bool] = False
    # The fields that are texts and nothing else: a JSON list or object there is a fault.
    plain: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def check(cls, recipe: Any) -> None:
        """Refuse what can be seen to be wrong before any text is read."""
        ...

    @classmethod
    def learn(cls, recipe: Any, rows: Iterable[Row], start: Mapping[str, str]) -> "Task":
        """The task for these rows, which may be read several times; `start` has the files of the model it goes on
        from, whose tokenizers it keeps, or nothing."""
        ...

    @classmethod
    def load(cls, recipe: Any, files: Mapping[str, str]) -> "Task":
        """The task as `files` gave it; a DataError where one is missing or damaged."""
        ...

    def files(self) -> dict[str, str]:
        """What was learned, as texts by the name of their file: each ends in .json."""
        ...

    def encoding(self, languages: Mapping[str, str]) -> Encoding:
        """How rows become the numbers of a store."""
        ...

    def model(self) -> nn.Module: ...

    def batch(self, examples: Sequence[Mapping[str, Any]], device: torch.device) -> Any: ...

    def loss(self, model: nn.Module, batch: Any, smoothing: float) -> Loss: ...

    def predict(self, model: nn.Module, rows: Iterable[Row], recipe: Any) -> Iterator[Result]:
        """A result for each row, in order; the field to be predicted need not be there."""
        ...

    # What most tasks answer alike.

    def training(self, languages: Mapping[str, str]) -> Encoding:
        """How the rows of a training corpus become the numbers of a store."""
        return self.encoding(languages)

    @property
    def ways(self) -> int:
        """In how many ways a row of training stands in its store."""
        return 1

    @classmethod
    def inputs(cls) -> tuple[str, ...]:
        """The fields that are given; where a text is its own continuation, that."""
        return cls.fields[:-1] or cls.fields

    @classmethod
    def cut(cls) -> tuple[str, ...]:
        """The fields whose text is cut into pieces; what they become in a store has their name."""
        return cls.inputs()

    @classmethod
    def known_by(cls) -> tuple[str, ...]:
        """The fields by which a row is known from held-out data: what is given, and what is written if that is text
        too; nothing stands for all of them."""
        return () if cls.two_sides or cls.inputs() == cls.fields else cls.inputs()

    @classmethod
    def sample(cls) -> list[Row]:
        """A few rows such as the task reads, to try a recipe with before there are any."""
        names = enumerate(cls.fields)
        return [{name: " ".join(f"{name}{number}" for number in range(place + 2)) for place, name in names}]

    @classmethod
    def forms(cls) -> tuple[tuple[str, ...], ...]:
        """The fields of its rows; several such, where what is to be predicted can be written in several ways."""
        return (cls.fields,)

    @classmethod
    def unfit(cls, fields: Sequence[str]) -> str:
        """Why a corpus with these fields cannot be read, or nothing."""
        forms = cls.forms()
        known = any(set(fields) == set(form) for form in forms)
        return "" if known else f"this task needs {', or '.join(' and '.join(form) for form in forms)}"

    @classmethod
    def unreadable(cls, row: Row) -> str:
        """Which field of a row, to learn from or to predict from, is not what the task reads there, or nothing."""
        for name in cls.plain:
            if isinstance(row.get(name), Structure):
                return f"{name} is {row[name][:40]}, a JSON list or object and no text; give a text"
        return ""

    @classmethod
    def fault(cls, row: Row, recipe: Any) -> str:
        """What is wrong with a row of any corpus, or nothing; `data.policy` says what becomes of it."""
        return ""

    @classmethod
    def fitted(cls, recipe: Any, rows: Iterable[Row]) -> Any:
        """The recipe by which rows of one corpus are looked at for faults: what it leaves to be guessed, guessed once
        from all of them."""
        return recipe

    def remarks(self, train: Iterable[Placed], held_out: Iterable[Placed]) -> list[str]:
        """What is odd about the data as a whole, such as a label seen once in training; told beforehand."""
        return []

    def unseen(self, row: Row) -> Sequence[str]:
        """The labels of a row that training never had, each once: where they stand, all the model says is wrong."""
        return ()

    @classmethod
    def row(cls, line: str) -> dict[str, str]:
        """A line of text as an input; several fields stand in columns with a tab between."""
        names = cls.inputs()
        if len(names) == 1:
            return {names[0]: line}
        cells = line.split("\t", len(names) - 1) if line.strip() else [""] * len(names)
        if len(cells) < len(names):
            wanted = " TAB ".join(names)
            raise RequestError(f"{line[:40]!r}: {len(cells)} of {len(names)} columns; a line here is {wanted}.")
        return dict(zip(names, cells, strict=True))

    def examples(self, store: Store) -> Examples:
        """The examples training sees: those of the store, unless the task cuts them otherwise."""
        return store

    @classmethod
    def references(cls, row: Row, recipe: Any) -> Sequence[str]:
        """What counts as right for a row."""
        text, separator = row[cls.fields[-1]], recipe.data.references
        return text.split(separator) if separator else [text]

    def asked(self, row: Row) -> dict[str, str]:
        """A row without what is to be predicted."""
        return {name: row[name] for name in self.inputs()}

    def compared(self, result: Result) -> str:
        """What of a result metrics compare with the references."""
        return result.text

    def answered(self, row: Row, result: Result) -> dict[str, str]:
        """The row with what was predicted for it, as training data have it."""
        return {**row, self.fields[-1]: result.text}

    def details(self, results: Sequence[Result], rows: Sequence[Row], recipe: Any) -> dict[str, Any]:
        """What an evaluation tells beside its scores, by name: objects with `str()` and `plain()`."""
        return {}

    @property
    def apart(self) -> bool:
        """Whether rows have nothing to do with each other: one is as likely after any others."""
        return True

    def likelihood(self, model: nn.Module, rows: Iterable[Row], recipe: Any) -> Iterator[Likelihood]:
        """How likely the model holds what is to be predicted of each row."""
        raise ConfigError(f"The task {recipe.task} has no likelihood to measure; choose metrics of its outputs.")

    def settle(self, model: nn.Module, row: Row, recipe: Any) -> Iterator[str | Result]:
        """What is settled of one result while it is made, and at last the result."""
        yield from self.predict(model, [row], recipe)

    def embed(self, model: nn.Module, rows: Iterable[Row], recipe: Any) -> Iterator[Float[Tensor, " D"]]:
        """One vector for each row."""
        raise no_vectors(recipe.task)

    def spoken(self, recipe: Any, languages: Mapping[str, str]) -> Any:
        """The recipe as a corpus in these languages asks for it."""
        return recipe

    def tuned(self, model: nn.Module, rows: Sequence[Row], recipe: Any) -> Any:
        """The recipe with what is chosen on validation once the model has learned, such as a threshold."""
        return recipe

    def testing(self, recipe: Any) -> Any:
        """The recipe by which a held-out row is asked for what it holds itself, where it names no place to ask for."""
        return recipe

    def subject(self, model: nn.Module, row: Row, recipe: Any, target: str | None) -> Subject:
        """A prediction, or the output that is given, as explanations ask for it."""
        raise RequestError(f"Predictions of the task {recipe.task} cannot be explained yet.")

    def embeddings(self, model: nn.Module) -> list[tuple[Any, Any]]:
        """The tokenizers and the embeddings of their pieces, into which pretrained vectors can be put."""
        raise ConfigError("This model has no embeddings to put pretrained vectors into.")
