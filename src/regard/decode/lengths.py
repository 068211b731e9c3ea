"""How the sum of log-probabilities of a hypothesis becomes its score, whatever its length, by name.

A length counts log-probabilities: one for each piece, and one for the end where there is one.
"""

from regard.errors import ConfigError


class Length:
    """score = sum of log-probabilities; short outputs win."""

    def __init__(self) -> None:
        pass

    def divisor(self, length: int) -> float:
        """What the sum is divided by: at least one, and never less for a longer text.

        The first keeps scores as exact as the sums; the second makes `bound` true.
        """
        return 1.0

    def score(self, total: float, length: int) -> float:
        return total / self.divisor(length)

    def bound(self, total: float, longest: int) -> float:
        """What no continuation can exceed: nothing more is lost, and the text grows to the limit."""
        return self.score(total, longest)


class Average(Length):
    """score = sum / length^alpha; with alpha = 1 the mean log-probability."""

    def __init__(self, *, alpha: float = 1.0) -> None:
        self.alpha = _positive("average", alpha)

    def divisor(self, length: int) -> float:
        return float(max(length, 1) ** self.alpha)


class Wu(Length):
    """score = sum / ((5 + length) / 6)^alpha   (Wu et al. 2016, eq. 14)."""

    def __init__(self, *, alpha: float = 0.6) -> None:
        self.alpha = _positive("wu", alpha)

    def divisor(self, length: int) -> float:
        return float(((5 + max(length, 1)) / 6) ** self.alpha)


LENGTHS: dict[str, type[Length]] = {
    "none": Length,
    "average": Average,
    "wu": Wu,
}


def _positive(name: str, alpha: float) -> float:
    if alpha < 0:
        raise ConfigError(f"length {name}: alpha = {alpha} would punish long outputs twice; give 0 or more.")
    return alpha
