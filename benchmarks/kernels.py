"""Time of the three kernels, forward and with backward, over lengths; what the constants in `kernels.py` rest on.

    .venv/bin/python benchmarks/kernels.py [longest]

Kernels take turns on the same tensors; figures are medians. The reference kernel stops where its weights would take
more than a quarter of a gigabyte. A star marks what `auto` picks.
"""

import statistics
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import torch
from machine import clock, machine
from torch import Tensor

from regard.attention import FREE, LOOK_AHEAD, Mask, Mechanism, MechanismSettings, Sizes, kernels, padding, window
from regard.errors import ModelError

HEADS, WIDTH, TURNS = 8, 64, 5
MOST_WEIGHTS = 1 << 26
NAMES = ("reference", "chunked", "fused")


@dataclass(frozen=True)
class Case:
    """One row of the table: how many examples, how long, with what mask, and the mechanism's settings."""

    title: str
    batch: int
    length: int
    mask: Mask = FREE
    settings: dict[str, object] = field(default_factory=dict)

    @property
    def weights(self) -> int:
        return self.batch * HEADS * self.length**2

    def mechanism(self, kernel: str) -> Mechanism:
        settings = MechanismSettings.of(kernel=kernel, **self.settings)
        return Mechanism(settings, Sizes(WIDTH, WIDTH, WIDTH, HEADS, HEADS))

    def inputs(self) -> list[Tensor]:
        return [torch.randn(self.batch, HEADS, self.length, WIDTH, requires_grad=True) for _ in range(3)]


def main(longest: int) -> None:
    print(f"Milliseconds, forward / forward and backward; {HEADS} heads of {WIDTH}, float32. {machine()}")
    show("One example", [case for length in doubling(64, longest) for case in along(length)])
    show("Training with dropout 0.1, weights held constant: where chunks begin to win", list(crossing(longest)))
    show("No dropout, but a mask or bias to be drawn: where the fused kernel stops winning", list(drawn(longest)))


def doubling(first: int, last: int) -> Iterable[int]:
    while first <= last:
        yield first
        first *= 2


def along(length: int) -> list[Case]:
    return [
        Case("causal", 1, length, LOOK_AHEAD),
        Case("causal, dropout 0.1", 1, length, LOOK_AHEAD, {"dropout": 0.1}),
    ]


def crossing(longest: int) -> Iterable[Case]:
    for power in (19, 21, 23, 25):
        for length in (64, 256, 512):
            batch = (1 << power) // (HEADS * length**2)
            if batch and length <= longest:
                for name, mask in (("causal", LOOK_AHEAD), ("free", FREE)):
                    yield Case(f"{name}, 2^{power} weights", batch, length, mask, {"dropout": 0.1})


def drawn(longest: int) -> Iterable[Case]:
    for length in doubling(512, longest):
        real = padding(torch.tensor([length - 3]), length)
        yield Case("causal and padding", 1, length, LOOK_AHEAD & real)
        yield Case("window of 64 each side", 1, length, window(64, 64))
        yield Case("causal, alibi", 1, length, LOOK_AHEAD, {"position": "alibi"})


def show(title: str, cases: list[Case]) -> None:
    print(f"\n{title}\n{'case':<26}{'batch':>6}{'length':>8}" + "".join(f"{name:>22}" for name in NAMES))
    for case in cases:
        print(f"{case.title:<26}{case.batch:>6}{case.length:>8}" + "".join(figures(case)), flush=True)


def figures(case: Case) -> Iterable[str]:
    able = [name for name in NAMES if can(case, name)]
    given, gradient = case.inputs(), torch.randn(case.batch, HEADS, case.length, WIDTH)
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in able}
    for turn in range(TURNS + 1):
        for name in able:
            seconds = timed(case.mechanism(name), case.mask, given, gradient)
            if turn:
                taken[name].append(seconds)
    best = picked(case)
    for name in NAMES:
        yield f"{cell(taken[name], name == best) if name in able else '-':>22}"


def can(case: Case, name: str) -> bool:
    if name == "reference" and case.weights > MOST_WEIGHTS:
        return False
    small = Case(case.title, 1, 4, FREE, case.settings)
    try:
        timed(small.mechanism(name), FREE, small.inputs(), torch.ones(1, HEADS, 4, WIDTH))
    except ModelError:
        return False
    return True


def timed(mechanism: Mechanism, mask: Mask, given: list[Tensor], gradient: Tensor) -> tuple[float, float]:
    """Seconds of the forward, and of forward and backward."""
    query, keys, values = given
    now: Callable[[], float] = clock()
    start = now()
    context = mechanism(query, mechanism.remember(keys, values), mask).context
    middle = now()
    context.backward(gradient)
    return middle - start, now() - start


def picked(case: Case) -> str:
    """The kernel that `auto` takes for this case."""
    taken: list[str] = []
    originals = dict(kernels.KERNELS)
    for name, kernel in originals.items():
        kernels.KERNELS[name] = lambda problem, name=name, kernel=kernel: (taken.append(name), kernel(problem))[1]
    mechanism, (query, keys, values) = case.mechanism("auto"), case.inputs()
    mechanism(query, mechanism.remember(keys, values), case.mask)
    kernels.KERNELS.update(originals)
    return taken[0]


def cell(seconds: list[tuple[float, float]], star: bool) -> str:
    forward = statistics.median(one[0] for one in seconds) * 1e3
    both = statistics.median(one[1] for one in seconds) * 1e3
    return f"{forward:.1f} / {both:.1f}{' *' if star else '  '}"


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 4096)
