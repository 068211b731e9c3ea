"""How the learning rate moves with the number of updates, by name."""

import math

from regard.errors import ConfigError


class Schedule:
    """rate(step) for updates counted from one; constant after a linear warm-up."""

    def __init__(self, rate: float, steps: int, *, warm_up: int = 0) -> None:
        if rate <= 0:
            raise ConfigError(f"A learning rate of {rate} teaches nothing; give one above 0.")
        if warm_up < 0:
            raise ConfigError(f"warm_up = {warm_up} is negative; give 0 or more updates.")
        self.peak, self.steps, self.warm_up = rate, steps, warm_up

    def rate(self, step: int) -> float:
        if step < self.warm_up:
            return self.peak * step / self.warm_up
        return self.peak * self.after(step)

    def after(self, step: int) -> float:
        """The share of the peak once warmed up."""
        return 1.0


class InverseRoot(Schedule):
    """peak min(step / warm_up, sqrt(warm_up / step))   (Vaswani et al. 2017, eq. 3, with its peak given outright)."""

    def __init__(self, rate: float, steps: int, *, warm_up: int = 4000) -> None:
        super().__init__(rate, steps, warm_up=max(warm_up, 1))

    def after(self, step: int) -> float:
        return math.sqrt(self.warm_up / step)


class Paper(InverseRoot):
    """rate width^-1/2 min(step^-1/2, step warm_up^-3/2)   (Vaswani et al. 2017, eq. 3), rate usually 1."""

    def __init__(self, rate: float, steps: int, *, warm_up: int = 4000, width: int = 512) -> None:
        super().__init__(rate * (width * max(warm_up, 1)) ** -0.5, steps, warm_up=warm_up)


class Linear(Schedule):
    """Down to `floor` times the peak in a straight line, reached at the last update."""

    def __init__(self, rate: float, steps: int, *, warm_up: int = 0, floor: float = 0.0) -> None:
        super().__init__(rate, steps, warm_up=warm_up)
        if not 0.0 <= floor <= 1.0:
            raise ConfigError(f"floor = {floor} is outside 0 to 1.")
        self.floor = floor

    def after(self, step: int) -> float:
        return self.floor + (1.0 - self.floor) * (1.0 - self.done(step))

    def done(self, step: int) -> float:
        """How much of the way from the warm-up's end to the last update lies behind."""
        return min(1.0, (step - self.warm_up) / max(1, self.steps - self.warm_up))


class Cosine(Linear):
    """Down to `floor` times the peak along half a cosine   (Loshchilov and Hutter 2017)."""

    def after(self, step: int) -> float:
        return self.floor + (1.0 - self.floor) * 0.5 * (1.0 + math.cos(math.pi * self.done(step)))


SCHEDULES: dict[str, type[Schedule]] = {
    "constant": Schedule,
    "inverse_root": InverseRoot,
    "paper": Paper,
    "linear": Linear,
    "cosine": Cosine,
}
