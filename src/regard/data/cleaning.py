"""Steps that leave out rows, each with its own count. A row is counted under the first step that refuses it.

Memory stays bounded however long the corpus: what must be remembered is remembered as 64-bit hashes, and on disk
when there are many. Two different texts share a hash with a chance of about n^2 / 2^65 (1 in 370,000 for 10 million).
"""

import sqlite3
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from hashlib import blake2b
from typing import Any, Literal, TypeAlias

from regard.config import Part, make
from regard.data.counts import Counts
from regard.data.rows import Row
from regard.errors import ConfigError, unknown

HeldOut: TypeAlias = Callable[[], Iterable[Row]]
Unit: TypeAlias = Literal["characters", "words"]

CACHE_KIBIBYTES = 64 * 1024


class Cleaner:
    """A step that says of each row whether it stays; it may look at the held-out rows."""

    def __init__(self, held_out: HeldOut):
        self.held_out = held_out

    def keeps(self, fields: Mapping[str, str]) -> bool:
        raise NotImplementedError


class Duplicates(Cleaner):
    """Leaves out a row whose fields all came before; `loose` ignores case and the amount of white space."""

    def __init__(self, held_out: HeldOut, *, loose: bool = False):
        super().__init__(held_out)
        self.loose = loose
        self.seen = Seen()

    def keeps(self, fields: Mapping[str, str]) -> bool:
        return self.seen.add(_whole(fields, self.loose))


class Ratio(Cleaner):
    """Leaves out a row whose longest field is more than `most` times as long as its shortest."""

    def __init__(self, held_out: HeldOut, *, most: float = 9.0, unit: Unit = "characters"):
        super().__init__(held_out)
        self.most, self.unit = most, unit

    def keeps(self, fields: Mapping[str, str]) -> bool:
        lengths = [_length(text, self.unit) for text in fields.values()]
        return max(lengths) <= self.most * max(min(lengths), 1)


class Long(Cleaner):
    """Leaves out a row with a field longer than `most`."""

    def __init__(self, held_out: HeldOut, *, most: int = 1000, unit: Unit = "characters"):
        super().__init__(held_out)
        self.most, self.unit = most, unit

    def keeps(self, fields: Mapping[str, str]) -> bool:
        return all(_length(text, self.unit) <= self.most for text in fields.values())


class Copies(Cleaner):
    """Leaves out a row whose fields all say the same."""

    def keeps(self, fields: Mapping[str, str]) -> bool:
        return len(fields) < 2 or len({text.strip() for text in fields.values()}) > 1


class Overlap(Cleaner):
    """Leaves out a row that held-out data hold too: one of its fields (`any`), or all of them together (`all`).

    Its fields are those of `by`, or all of them; see `comparing`. Case and the amount of white space are ignored unless
    `loose` is off. `several` names a field of several texts and what separates them: each is looked for. Hashes of what
    is held out are kept in memory.
    """

    def __init__(
        self,
        held_out: HeldOut,
        *,
        match: Literal["any", "all"] = "any",
        loose: bool = True,
        by: tuple[str, ...] = (),
        several: tuple[str, str] | None = None,
    ):
        super().__init__(held_out)
        self.match, self.loose, self.by, self.several = match, loose, by, several

    def keeps(self, fields: Mapping[str, str]) -> bool:
        return all(self._known.isdisjoint(self._keys(each)) for each in self._each(fields))

    def _each(self, fields: Mapping[str, str]) -> Iterable[Mapping[str, str]]:
        """The row with each of the texts in the field that has several."""
        if self.several is None or self.several[0] not in fields:
            return [fields]
        name, separator = self.several
        return ({**fields, name: text} for text in fields[name].split(separator))

    @cached_property
    def _known(self) -> frozenset[int]:
        return frozenset(key for row in self.held_out() for key in self._keys(row.fields))

    def _keys(self, fields: Mapping[str, str]) -> list[int]:
        for name in self.by:
            if name not in fields:
                raise ConfigError(f"cleaning step overlap: by: {unknown('field', name, fields)}")
        compared = {name: fields[name] for name in self.by or fields}
        # That two lines are blank says nothing of either.
        if self.match == "all":
            return [_whole(compared, self.loose)] if any(map(str.strip, compared.values())) else []
        return [_key((name, text), self.loose) for name, text in compared.items() if text.strip()]


# A step of one's own: a class like these, and a line here.
CLEANERS: dict[str, type[Cleaner]] = {
    "duplicates": Duplicates,
    "ratio": Ratio,
    "long": Long,
    "copies": Copies,
    "overlap": Overlap,
}


def cleaned(
    rows: Iterable[Row],
    steps: Sequence[str | Mapping[str, Any] | Part],
    counts: Counts,
    held_out: HeldOut = lambda: (),
) -> Iterator[Row]:
    """The rows that every step keeps; the others are counted under the name of the step."""
    parts = [Part.of(step) for step in steps]
    cleaners = [(part.name, make("cleaning step", CLEANERS, part, held_out)) for part in parts]
    for row in rows:
        for name, cleaner in cleaners:
            if not cleaner.keeps(row.fields):
                counts.leave_out(name, row.place)
                break
        else:
            yield row


def comparing(steps: Sequence[str | Mapping[str, Any] | Part], fields: Sequence[str]) -> tuple[Part, ...]:
    """The steps, an overlap of any field being one of these fields unless it says of which; without fields, of all.

    A text that is held out must not be learned; that two texts have the same label says nothing.
    """

    def undecided(part: Part) -> bool:
        return part.name == "overlap" and "by" not in part.options and part.options.get("match") != "all"

    by = {"by": tuple(fields)} if fields else {}
    return tuple(Part.of({**dict(part), **by}) if undecided(part) else part for part in map(Part.of, steps))


class Seen:
    """A set of 64-bit keys of any size in bounded memory: a private SQLite file that only exists once it is large."""

    def __init__(self) -> None:
        # The empty name means a temporary database: kept in the cache while it fits, deleted with the connection.
        connection = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        weakref.finalize(self, connection.close)
        connection.execute("PRAGMA journal_mode = OFF")
        connection.execute(f"PRAGMA cache_size = -{CACHE_KIBIBYTES}")
        connection.execute("CREATE TABLE seen (key INTEGER PRIMARY KEY)")
        connection.execute("BEGIN")
        self._cursor = connection.cursor()

    def add(self, key: int) -> bool:
        """Adds a key; whether it was new."""
        return self._cursor.execute("INSERT OR IGNORE INTO seen VALUES (?)", (key,)).rowcount == 1


def _whole(fields: Mapping[str, str], loose: bool) -> int:
    """A hash of all fields, in whatever order their columns stand."""
    return _key((fields[name] for name in sorted(fields)), loose)


def _key(texts: Iterable[str], loose: bool) -> int:
    """A hash of several texts as a signed 64-bit number; lengths keep ("a", "bc") apart from ("ab", "c")."""
    parts = [" ".join(text.split()).casefold() if loose else text for text in texts]
    whole = "".join(f"{len(part)}:{part}" for part in parts)
    return int.from_bytes(blake2b(whole.encode("utf-8", "surrogatepass"), digest_size=8).digest(), signed=True)


def _length(text: str, unit: Unit) -> int:
    return len(text) if unit == "characters" else len(text.split())
