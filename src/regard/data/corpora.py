"""Training and held-out corpora: where they stand, what is left out of them, and how much each one weighs."""

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import PurePath
from typing import Annotated, Any, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from regard.config import Part, Settings
from regard.data.cleaning import cleaned
from regard.data.counts import Counts, Policy
from regard.data.readers import READERS, read
from regard.data.rows import Column, Row, Source
from regard.errors import unknown
from regard.files import FilePath, Meter, checksum, fingerprint, require_file, shown

FORMATS = {".tsv": "tsv", ".tab": "tsv", ".csv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl"}


class CorpusSettings(Settings):
    """One corpus: `files`, one a field, side by side; or a `path` with `columns`, one a field; or a Hugging Face
    `dataset` with `columns`.

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
    # What to make of a field that is empty or only white space: a bad line, or text like any other.
    blank: Literal["refuse", "keep"] = "refuse"
    # How many times its size this corpus gives to every epoch.
    weight: float = Field(default=1.0, gt=0, allow_inf_nan=False)
    # Of a test set: only lines of which neither side, in whatever case, stands in the training data.
    unseen: bool = False
    # The language of each field, for models that know several.
    languages: dict[str, Annotated[str, StringConstraints(pattern=r"^\S+$")]] = Field(default={})

    @property
    def fields(self) -> tuple[str, ...]:
        return tuple(self.files or self.columns)

    @property
    def kind(self) -> str:
        """The format asked for, or the one the name of the file tells."""
        return self.format or ("parallel" if self.files else FORMATS[_extension(self.path)])

    @property
    def named(self) -> bool:
        return any(isinstance(column, str) for column in self.columns.values())

    @property
    def headed(self) -> bool:
        return self.named if self.header is None else self.header

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if sum(map(bool, (self.files, self.path, self.dataset))) != 1:
            raise ValueError("give either files, one for each field, or a path with columns, or a dataset with columns")
        if bool(self.path or self.dataset) != bool(self.columns):
            raise ValueError("columns say where in path each field stands; give both or neither")
        if self.dataset is None:
            self._check_format()
        self._check_columns()
        if strangers := set(self.languages) - set(self.fields):
            raise ValueError(f"languages names {sorted(strangers)}, but the fields are {list(self.fields)}")
        return self

    def _check_format(self) -> None:
        if self.path and not self.format and _extension(self.path) not in FORMATS:
            raise ValueError(f"cannot tell the format of {self.path!r} by its name; set format = tsv, csv or jsonl")
        if self.kind not in READERS:
            raise ValueError(unknown("format", self.kind, READERS).removesuffix("."))
        if (self.kind == "parallel") != bool(self.files):
            raise ValueError(f"format = {self.kind!r} does not go with {'files' if self.files else 'path'}")

    def _check_columns(self) -> None:
        if self.header is False and self.named:
            raise ValueError("columns are named, but header = false; number them from 1")
        for name, column in self.columns.items():
            if isinstance(column, int) and self.kind == "jsonl":
                raise ValueError(f"columns.{name} = {column}: JSON lines have keys, not numbers")
            if isinstance(column, int) and column < 1:
                raise ValueError(f"columns.{name} = {column}: columns are numbered from 1")


class Corpus:
    """The rows of one corpus, read and cleaned anew by every iteration, with counts of what was left out."""

    def __init__(
        self,
        settings: CorpusSettings,
        policy: Policy = "stop",
        cleaning: Sequence[str | Mapping[str, Any] | Part] = (),
        held_out: Sequence["Corpus"] = (),
        root: FilePath = "",
    ):
        self.settings = settings
        self.policy = policy
        self.cleaning = tuple(Part.of(step) for step in cleaning)
        self.held_out = tuple(held_out)
        self.paths = tuple(os.path.join(root, path) for path in settings.files.values() or [str(settings.path)])
        self.counts = Counts()
        self.meter = Meter()

    def __iter__(self) -> Iterator[Row]:
        self.counts, self.meter = Counts(), Meter(self._bytes())
        rows = read(self.settings.kind, self._source(), self.policy, self.counts)
        for row in cleaned(rows, self.cleaning, self.counts, self._held_out_rows):
            self.counts.kept += 1
            yield row

    def fingerprint(self, summing: Callable[[FilePath], str] = checksum) -> str:
        """A SHA-256 of everything the rows depend on: contents and settings, not names, weight or languages."""
        told = {
            "contents": fingerprint(self.paths, summing),
            "settings": self.settings.model_dump(include={"columns", "blank"}) | {"fields": self.settings.fields},
            "reading": [self.settings.kind, self.settings.headed, self.policy],
            "cleaning": [part.model_dump() for part in self.cleaning],
            "held_out": [corpus.fingerprint(summing) for corpus in self.held_out] if self.cleaning else [],
        }
        return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()

    def __str__(self) -> str:
        return " and ".join(shown(path) for path in self.paths)

    def _source(self) -> Source:
        columns: dict[str, Column] = dict(self.settings.columns)
        columns = columns or {name: number for number, name in enumerate(self.settings.files, 1)}
        return Source(self.paths, columns, self.settings.headed, self.settings.blank, self.meter)

    def _bytes(self) -> int:
        for path in self.paths:
            require_file(path)
        return sum(os.path.getsize(path) for path in self.paths)

    def _held_out_rows(self) -> Iterable[Row]:
        return chain.from_iterable(self.held_out)


def _extension(path: str | None) -> str:
    """The ending that tells the format, whether or not the file is packed: ".tsv" of "train.tsv.gz"."""
    name = PurePath(str(path).lower())
    return PurePath(name.stem).suffix if name.suffix == ".gz" else name.suffix
