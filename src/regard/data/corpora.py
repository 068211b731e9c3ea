"""Training and held-out corpora: their rows, what is left out of them, and what they depend on."""

import glob
import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

from regard.config import Part
from regard.data.cleaning import cleaned
from regard.data.counts import Counts, Policy
from regard.data.readers import read
from regard.data.rows import Column, Fitness, Row, Rows, Source
from regard.data.settings import CorpusSettings, undecided
from regard.data.shares import Share, cut, divided
from regard.errors import ConfigError, DataError
from regard.files import FilePath, Meter, checksum, fingerprint, require_file, shown


class Corpus:
    """The rows of one corpus, read and cleaned anew by every iteration, with counts of what was left out.

    Of all rows it has those `inside` a share (besides its own, if its settings name one) and `outside` of others.
    """

    def __init__(
        self,
        settings: CorpusSettings,
        policy: Policy = "stop",
        cleaning: Sequence[str | Mapping[str, Any] | Part] = (),
        held_out: Sequence[Rows] = (),
        root: FilePath = "",
        inside: Share | None = None,
        outside: Sequence[Share] = (),
        fault: Fitness | None = None,
    ):
        if settings.of_training:
            raise ConfigError(f"share = {settings.share} is a share of what is trained on; give the corpus it is of.")
        self.settings = settings
        self.policy = policy
        self.cleaning = tuple(Part.of(step) for step in cleaning)
        self.held_out = tuple(held_out)
        self.root = root
        self.inside, self.outside, self.fault = inside, tuple(outside), fault
        self.paths = tuple(os.path.join(root, path) for path in settings.files.values() or [str(settings.path)])
        self.counts = Counts()
        self.meter = Meter()

    def only(self, share: Share, outside: Sequence[Share] = ()) -> "Corpus":
        """The part of its files that a share holds out of training, without other shares: read alike, not cleaned."""
        return Corpus(self.settings, self.policy, root=self.root, inside=share, outside=outside, fault=self.fault)

    def cleaned(self, cleaning: Sequence[str | Mapping[str, Any] | Part], held_out: Sequence[Rows]) -> "Corpus":
        """The same rows, cleaned by these steps and what is held out from them."""
        return Corpus(self.settings, self.policy, cleaning, held_out, self.root, self.inside, self.outside, self.fault)

    def skipping(self) -> "Corpus":
        """The same rows, read to the end whatever its policy: bad lines are left out and counted."""
        return Corpus(
            self.settings, "skip", self.cleaning, self.held_out, self.root, self.inside, self.outside, self.fault
        )

    def __iter__(self) -> Iterator[Row]:
        self.counts, self.meter = Counts(), Meter(self._bytes())
        for row in cleaned(self._shared(), self.cleaning, self.counts, self._held_out_rows):
            self.counts.kept += 1
            yield row

    def fingerprint(self, summing: Callable[[FilePath], str] = checksum) -> str:
        """A SHA-256 of everything the rows depend on: contents and settings, not names, weight or languages."""
        settings = self.settings
        told = {
            "contents": fingerprint(self._files(), summing),
            "settings": settings.model_dump(include={"columns", "blank"}) | {"fields": settings.fields},
            "reading": [settings.kind, settings.headed, self.policy],
            "cleaning": [part.model_dump() for part in self.cleaning],
            "held_out": [corpus.fingerprint(summing) for corpus in self.held_out] if self.cleaning else [],
        }
        # Only where they are used, so that what was prepared before they existed stays good.
        if units := settings.model_dump(include={"unit", "separator", "comments"}, exclude_defaults=True):
            told["units"] = units
        if shares := self._shares():
            told["shares"] = [[vars(share) for share in side] for side in shares]
        return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()

    def __str__(self) -> str:
        return " and ".join(shown(path) for path in self.paths)

    def _shared(self) -> Iterator[Row]:
        """The rows of its shares, with the fields asked for and no others."""
        shares = self._shares()
        if not shares:
            return self._rows({})
        if self.settings.unit == "file":
            return cut(self._rows({}), *shares, self.counts)
        deciding = self._deciding(chain(*shares))
        rows = divided(self._rows(deciding), *shares, self.counts)
        return (_without(row, deciding) for row in rows) if deciding else rows

    def _shares(self) -> tuple[list[Share], list[Share]] | None:
        """What every row must be inside and what outside of."""
        inside = [share for share in (self.settings.part, self.inside) if share]
        sides = inside, list(self.outside)
        fields = tuple(sorted(self.settings.fields))
        named = tuple([share if share.by else replace(share, by=fields) for share in side] for side in sides)
        return (named[0], named[1]) if any(sides) else None

    def _deciding(self, shares: Iterable[Share]) -> dict[str, Column]:
        """The columns besides the fields that decide about shares."""
        columns = {str(column): column for share in shares for column in share.by}
        for column in columns.values():
            if reason := undecided(self.settings, column):
                raise ConfigError(f"{self}: a share by {column!r}: {reason}.")
        return {name: column for name, column in columns.items() if name not in self.settings.fields}

    def _rows(self, more: dict[str, Column]) -> Iterator[Row]:
        settings = self.settings
        source = Source(
            self._files(),
            settings.placed | more,
            settings.headed,
            settings.blank,
            self.meter,
            settings.unit,
            settings.separator,
            settings.comments,
            self.fault,
        )
        sources = [source] if settings.kind == "parallel" else [replace(source, paths=(path,)) for path in source.paths]
        return chain.from_iterable(read(settings.kind, source, self.policy, self.counts) for source in sources)

    def _files(self) -> tuple[str, ...]:
        if self.settings.kind == "parallel":
            return self.paths
        return tuple(chain.from_iterable(map(_found, self.paths)))

    def _bytes(self) -> int:
        files = self._files()
        for path in files:
            require_file(path)
        return sum(os.path.getsize(path) for path in files)

    def _held_out_rows(self) -> Iterable[Row]:
        return chain.from_iterable(self.held_out)


def _found(path: str) -> Sequence[str]:
    """The files a pattern such as `data/*.txt` stands for, in the order of their names; a file stands for itself."""
    if os.path.exists(path) or not glob.has_magic(path):
        return [path]
    if not (found := sorted(name for name in glob.glob(path, recursive=True) if os.path.isfile(name))):
        raise DataError(f"No file is like {shown(path)}.")
    return found


def _without(row: Row, names: Iterable[str]) -> Row:
    return Row(row.place, {name: text for name, text in row.fields.items() if name not in names})
