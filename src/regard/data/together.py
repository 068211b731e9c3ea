"""Several corpora read as one."""

import hashlib
from collections.abc import Callable, Iterator, Sequence

from regard.data.counts import Counts
from regard.data.rows import Row, Rows
from regard.files import FilePath, Meter, checksum


class Together:
    """The rows of several corpora one after the other."""

    def __init__(self, corpora: Sequence[Rows]) -> None:
        self.corpora = tuple(corpora)

    @property
    def counts(self) -> Counts:
        return sum((corpus.counts for corpus in self.corpora), Counts())

    @property
    def meter(self) -> Meter:
        meters = [corpus.meter for corpus in self.corpora]
        return Meter(sum(meter.total for meter in meters), sum(meter.read for meter in meters))

    def __iter__(self) -> Iterator[Row]:
        for corpus in self.corpora:
            yield from corpus

    def fingerprint(self, summing: Callable[[FilePath], str] = checksum) -> str:
        """A SHA-256 of everything the rows depend on."""
        told = "\n".join(corpus.fingerprint(summing) for corpus in self.corpora)
        return hashlib.sha256(told.encode()).hexdigest()

    def __str__(self) -> str:
        return " and ".join(map(str, self.corpora))
