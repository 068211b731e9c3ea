"""Permutation importance: how much worse a data set is scored when one of its columns is shuffled   (Breiman 2001)."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

import numpy as np
from jaxtyping import Float, Int
from pydantic import PositiveInt

from regard.errors import RequestError
from regard.explain.attribution import Attribution, Axis, Unit
from regard.explain.budget import DrawSettings, Progress, rounds, student
from regard.text import words_of

CAVEAT = (
    "Permutation importance is of these rows: columns that say the same stand in for one another and look unimportant, "
    "and shuffled rows may be unlike any real one; the interval tells the error of shuffling only."
)
# Shuffles of each column, so that there is a spread to tell an error from.
LEAST = 3

Row = TypeVar("Row")
Piece = TypeVar("Piece")
# A row with a column of the second row in place of its own; the row itself where nothing changes.
Exchange = Callable[[Row, Row], Row]
# What each row is worth, whatever is beside it.
Score = Callable[[Sequence[Row]], Float[np.ndarray, " N"]]


class PermutationSettings(DrawSettings):
    """`samples` is how many times each column is shuffled."""

    samples: PositiveInt = 20


def permutation(
    rows: Sequence[Row],
    score: Score[Row],
    columns: Mapping[str, Exchange[Row]],
    settings: PermutationSettings,
    progress: Progress | None = None,
) -> Attribution:
    """mean(score) - mean(score with the column shuffled), for each column."""
    if len(rows) < 2 or not columns:
        raise RequestError(
            f"{len(rows)} rows and {len(columns)} columns leave nothing to shuffle; give two rows and a column or more."
        )
    base_N = np.asarray(score(rows), dtype=float)
    repeats = enumerate(rounds(settings, LEAST, 1, progress))
    drops_RC = np.array([_drops(rows, score, base_N, columns, (settings.seed, repeat)) for repeat, _ in repeats])
    error_C = student(len(drops_RC) - 1) * drops_RC.std(axis=0, ddof=1) / np.sqrt(len(drops_RC))
    return Attribution(
        method="permutation",
        outputs=Axis("", (Unit("mean score"),)),
        inputs=Axis("", tuple(Unit(name) for name in columns)),
        weights=drops_RC.mean(axis=0)[None],
        signed=True,
        error=error_C[None],
        source=f"{len(rows)} rows, mean score {base_N.mean():.4g}; {len(drops_RC)} shuffles, seed {settings.seed}",
        caveat=CAVEAT,
    )


def donors(rows: int, seed: Sequence[int]) -> Int[np.ndarray, " N"]:
    """For each row another one, each of the others as likely: the next along a ring in random order.

    A plain shuffle leaves some rows as they are, which makes every drop too small by 1/N.
    """
    ring_N = np.random.default_rng(seed).permutation(rows)
    donors_N = np.empty(rows, dtype=int)
    donors_N[ring_N] = np.roll(ring_N, -1)
    return donors_N


def _drops(
    rows: Sequence[Row],
    score: Score[Row],
    base: Float[np.ndarray, " N"],
    columns: Mapping[str, Exchange[Row]],
    seed: tuple[int, int],
) -> Float[np.ndarray, " C"]:
    """How much the mean score falls with one shuffle of each column; only rows that change are scored again."""
    drops_C = np.zeros(len(columns))
    for column, exchange in enumerate(columns.values()):
        pairs = zip(rows, donors(len(rows), (*seed, column)), strict=True)
        mixed = [exchange(row, rows[donor]) for row, donor in pairs]
        changed = [number for number, row in enumerate(mixed) if row is not rows[number]]
        if changed:
            after = np.asarray(score([mixed[number] for number in changed]), dtype=float)
            drops_C[column] = (base[changed] - after).sum() / len(rows)
    return drops_C


def field(name: str) -> Exchange[Mapping[str, object]]:
    """Shuffles one field of rows with named fields."""
    return lambda row, donor: row if row[name] == donor[name] else {**row, name: donor[name]}


def within(name: str, exchange: Exchange[str]) -> Exchange[Mapping[str, object]]:
    """Shuffles inside one text field of rows with named fields."""

    def exchanged(row: Mapping[str, object], donor: Mapping[str, object]) -> Mapping[str, object]:
        text = str(row[name])
        new = exchange(text, str(donor[name]))
        return row if new == text else {**row, name: new}

    return exchanged


def place(number: int) -> Exchange[Sequence[Piece]]:
    """Shuffles what stands at one place of sequences; a row too short for it, or with a donor too short, stays."""

    def exchanged(row: Sequence[Piece], donor: Sequence[Piece]) -> Sequence[Piece]:
        if number >= min(len(row), len(donor)) or row[number] == donor[number]:
            return row
        return [*row[:number], donor[number], *row[number + 1 :]]

    return exchanged


def commonest(texts: Iterable[str], most: int) -> dict[str, Exchange[str]]:
    """The words that stand in the most texts, each as a column to shuffle."""
    counts = Counter(found for text in texts for found in dict.fromkeys(one.text for one in words_of(text, [])))
    return {found: word(found) for found, _ in counts.most_common(most)}


def word(sought: str) -> Exchange[str]:
    """Shuffles a word of texts: each time it stands there, it becomes the donor's word at the same place.

    Counted round and round where the donor is shorter; capitals are told apart.
    """

    def exchanged(row: str, donor: str) -> str:
        if sought not in row or not donor.strip():
            return row
        found, others = words_of(row, []), words_of(donor, [])
        new, end = "", 0
        for number, one in enumerate(found):
            if one.text == sought:
                new += row[end : one.span[0]] + others[number % len(others)].text
                end = one.span[1]
        new += row[end:]
        return row if new == row else new

    return exchanged
