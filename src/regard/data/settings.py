"""What a recipe says about one corpus, and what of it cannot be."""

from collections.abc import Sequence
from pathlib import PurePath
from typing import Annotated, Any, Literal, Self

from pydantic import Field, StringConstraints, field_validator, model_validator

from regard.config import Settings
from regard.data.readers import DEFAULT_COLUMNS, READERS, misplaced
from regard.data.rows import Column, TextUnit
from regard.data.shares import SALT, Share
from regard.errors import unknown

FORMATS = {
    ".tsv": "tsv",
    ".tab": "tsv",
    ".csv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".conll": "conll",
    ".txt": "text",
}


class CorpusSettings(Settings):
    """One corpus: `files`, one a field, side by side; or a `path` (or a pattern of several) with `columns`, one a
    field; or a Hugging Face `dataset` with `columns`; or only a `share` of what is trained on.

    A column is named as in the header (or the JSON key) or numbered from 1; names ask for a header.
    """

    files: dict[str, str] = Field(default={})
    path: str | None = None
    columns: dict[str, str | int] = Field(default={})
    dataset: str | None = None
    subset: str | None = None
    split: str = "train"
    format: str | None = None
    header: bool | None = None
    # Of plain text: what one row is; and the line between two documents, by default a blank one.
    unit: TextUnit = "line"
    separator: str = ""
    # Of CoNLL files: how a line begins that is no word.
    comments: str = ""
    # What to make of a field that is empty or only white space: a bad line, or text like any other.
    blank: Literal["refuse", "keep"] = "refuse"
    # Only the rows whose hash lies in [low, high); of a file that is one row, its characters from low to high.
    share: tuple[Annotated[float, Field(ge=0, le=1)], Annotated[float, Field(ge=0, le=1)]] | None = None
    # Whose values are hashed: fields, or other columns of the file; by default what a task takes in.
    by: tuple[Column, ...] = ()
    salt: str = SALT
    # How many times its size this corpus gives to every epoch.
    weight: float = Field(default=1.0, gt=0, allow_inf_nan=False)
    # Of a test set: only lines of which nothing that is given, of two sides of text neither, stands in training in
    # whatever case.
    unseen: bool = False
    # The language of each field, for models that know several.
    languages: dict[str, Annotated[str, StringConstraints(pattern=r"^\S+$")]] = Field(default={})

    @property
    def fields(self) -> tuple[str, ...]:
        """The names of the fields; none if it is a share of what is trained on, and has the fields of that."""
        return tuple(self.placed)

    @property
    def placed(self) -> dict[str, Column]:
        """The column of each field; of files side by side, which of them it is."""
        files: dict[str, Column] = {name: number for number, name in enumerate(self.files, 1)}
        return files or self.columns or DEFAULT_COLUMNS.get(self.kind, {})

    @property
    def kind(self) -> str:
        """The format asked for, or the one the name of the file tells."""
        if self.format or self.dataset:
            return self.format or "jsonl"
        if self.files:
            return "parallel" if self.unit == "line" else "text"
        # Several columns are no plain text, whatever the name.
        told = FORMATS.get(_extension(self.path), "")
        return "" if told == "text" and len(self.columns) > 1 else told

    @property
    def named(self) -> bool:
        return any(isinstance(column, str) for column in self.columns.values())

    @property
    def headed(self) -> bool:
        return self.named if self.header is None else self.header

    @property
    def of_training(self) -> bool:
        """Whether this is a share of what is trained on."""
        return self.share is not None and not (self.files or self.path or self.dataset)

    @property
    def part(self) -> Share | None:
        """The share asked for."""
        return None if self.share is None else Share(*self.share, self.by, self.salt)

    def deciding(self, inputs: Sequence[str]) -> Self:
        """These settings with a share decided by the inputs of a task, unless they say by what."""
        if self.share is None or self.by or self.unit == "file":
            return self
        return self.model_copy(update={"by": tuple(inputs)})

    @field_validator("by", mode="before")
    @classmethod
    def _one_or_several(cls, value: Any) -> Any:
        return (value,) if isinstance(value, str | int) else value

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        self._check_share()
        if not self.of_training:
            self._check_place()
            self._check_columns()
            self._check_options()
            if strangers := set(self.languages) - set(self.fields):
                raise ValueError(f"languages names {sorted(strangers)}, but the fields are {list(self.fields)}")
        return self

    def _check_share(self) -> None:
        if self.share is not None and self.share[0] >= self.share[1]:
            raise ValueError(f"share = {list(self.share)}: the second number has to be larger than the first")
        if self.share is None and self.by:
            raise ValueError("by says what decides about a share, but there is no share")
        if self.of_training and (self.columns or self.format):
            raise ValueError("columns and format need a path; a share of what is trained on has them from there")

    def _check_place(self) -> None:
        if sum(map(bool, (self.files, self.path, self.dataset))) != 1:
            raise ValueError("give either files, one for each field, or a path with columns, or a dataset with columns")
        if self.path and not self.kind:
            names = ", ".join(sorted(READERS.keys() - {"parallel"}))
            raise ValueError(f"cannot tell the format of {self.path!r} by its name; set format to one of {names}")
        if self.kind not in READERS:
            raise ValueError(unknown("format", self.kind, READERS).removesuffix("."))
        if self.files and (self.kind not in ("parallel", "text") or (self.kind == "text" and len(self.files) > 1)):
            raise ValueError(
                f"format = {self.kind!r} does not go with {'files' if len(self.files) == 1 else 'several files'}"
            )
        if self.path and self.kind == "parallel":
            raise ValueError("format = 'parallel' does not go with path")

    def _check_columns(self) -> None:
        if bool(self.columns) != bool(self.path or self.dataset) and (self.files or self.kind not in DEFAULT_COLUMNS):
            raise ValueError("columns say where in path each field stands; give both or neither")
        if self.header is False and self.named:
            raise ValueError("columns are named, but header = false; number them from 1")
        for name, column in self.columns.items():
            if reason := misplaced(self.kind, column):
                raise ValueError(f"columns.{name} = {column}: {reason}")
        for column in self.by:
            if reason := undecided(self, column):
                raise ValueError(f"by = {column!r}: {reason}")

    def _check_options(self) -> None:
        if self.kind != "text" and (self.unit != "line" or self.separator):
            raise ValueError(f"unit and separator are for plain text, not for format = {self.kind!r}")
        if self.separator and self.unit != "document":
            raise ValueError("separator stands between documents; set unit = 'document'")
        if self.kind != "conll" and self.comments:
            raise ValueError(f"comments are for format = 'conll', not {self.kind!r}")
        if self.unit == "file" and self.by:
            raise ValueError("a file that is one row is shared by position; leave out by")


def undecided(settings: CorpusSettings, column: Column) -> str:
    """Why a column cannot decide about a share, or nothing."""
    if str(column) in settings.fields:
        return ""
    if settings.files or settings.dataset or settings.kind == "text":
        return f"the fields are {', '.join(settings.fields)}"
    if settings.kind in ("tsv", "csv") and isinstance(column, str) and not settings.headed:
        return "columns are numbered, so the first line is no header; number this one too, or set header = true"
    return misplaced(settings.kind, column)


def _extension(path: str | None) -> str:
    """The ending that tells the format, whether or not the file is packed: ".tsv" of "train.tsv.gz"."""
    name = PurePath(str(path).lower())
    return PurePath(name.stem).suffix if name.suffix == ".gz" else name.suffix
