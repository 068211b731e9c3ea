"""How long a method draws at random, and how sure its mean is."""

from collections.abc import Callable, Iterator
from time import monotonic

from pydantic import NonNegativeInt, PositiveFloat, PositiveInt

from regard.config import Settings

# Called with the draws made so far and the draws wanted.
Progress = Callable[[int, int], None]

# 97.5 % quantiles of Student's t for 1 to 9 degrees of freedom; from there the expansion below is good to 1e-3.
_FEW = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)
_NORMAL = 1.959964


class DrawSettings(Settings):
    """How much is drawn at random: `samples` draws, fewer where `seconds` are over before."""

    samples: PositiveInt
    seconds: PositiveFloat | None = None
    seed: NonNegativeInt = 0


def rounds(settings: DrawSettings, least: int, size: int, progress: Progress | None = None) -> Iterator[int]:
    """How many draws to make in each round: `size`, until all are made or the time is over, and never below `least`.

    The clock is looked at between rounds only, so a number of draws is always made of the same rounds.
    """
    wanted, made = max(settings.samples, least), 0
    end = None if settings.seconds is None else monotonic() + settings.seconds
    while made < wanted and (made < least or end is None or monotonic() < end):
        drawn = min(size, wanted - made)
        yield drawn
        made += drawn
        if progress is not None:
            progress(made, wanted)


def student(freedom: int) -> float:
    """The 97.5 % quantile of Student's t   (Fisher and Cornish 1960).

    >>> round(student(1), 2), round(student(30), 2), round(student(10**6), 2)
    (12.71, 2.04, 1.96)
    """
    if freedom <= len(_FEW):
        return _FEW[max(freedom, 1) - 1]
    z = _NORMAL
    first, second = (z**3 + z) / 4, (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + first / freedom + second / freedom**2 + third / freedom**3
