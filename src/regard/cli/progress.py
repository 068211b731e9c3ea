"""How a training run is watched: a live display on a terminal, plain lines in a log, JSON lines for programs."""

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol, runtime_checkable

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from regard.cli.printing import duration, errors, printed
from regard.cli.waiting import live
from regard.train import FitSettings, Pace, Step

# A step later than this many seconds has something beside it going on.
LATE = 2.0


@runtime_checkable
class Watcher(Protocol):
    """Who is told of a run while it goes."""

    def note(self, text: str) -> None:
        """Something worth knowing."""
        ...

    def step(self, step: Step, planned: int) -> None:
        """An update was made, of so many."""
        ...

    def shown(self) -> AbstractContextManager[object]:
        """While inside, whatever is live is drawn."""
        ...


def watcher(as_json: bool, settings: FitSettings, stop: Callable[[], bool]) -> Watcher:
    """The watcher that fits where standard error leads."""
    console = errors()
    if as_json:
        return JsonLines()
    if live(console):
        return Terminal(console, settings, stop)
    return Lines(console, settings)


class Clock:
    """The pace of a run from its first update on: what comes before it would spoil the estimate."""

    def __init__(self) -> None:
        self.pace: Pace | None = None

    def add(self, step: Step) -> None:
        if self.pace is None:
            self.pace = Pace()
        else:
            self.pace.add(step.count)

    @property
    def per_second(self) -> float:
        return self.pace.per_second if self.pace else 0.0

    def left(self, updates: int) -> float | None:
        return self.pace.left(updates) if self.pace else None


class JsonLines:
    """One JSON object a line on standard output: train, valid, note."""

    def __init__(self) -> None:
        self.clock = Clock()

    def note(self, text: str) -> None:
        printed({"kind": "note", "text": text})

    def step(self, step: Step, planned: int) -> None:
        self.clock.add(step)
        place = {"update": step.progress.update, "of": planned, "epoch": step.progress.epoch}
        if step.recent is not None:
            pace = {"per_second": round(self.clock.per_second, 1), "seconds_left": self.left(step, planned)}
            printed({"kind": "train", **place, "loss": step.recent, "rate": step.rate, "norm": step.norm, **pace})
        if step.scores is not None:
            printed({"kind": "valid", **place, "scores": dict(step.scores), "best": step.best})

    def left(self, step: Step, planned: int) -> float | None:
        left = self.clock.left(planned - step.progress.update)
        return None if left is None else round(left, 1)

    def shown(self) -> AbstractContextManager[object]:
        return nullcontext()


class Lines:
    """Plain lines on standard error, one for each time the log is told and one for each evaluation."""

    def __init__(self, console: Console, settings: FitSettings) -> None:
        self.console, self.settings, self.clock = console, settings, Clock()

    def note(self, text: str) -> None:
        self.console.print(text)

    def step(self, step: Step, planned: int) -> None:
        self.clock.add(step)
        if step.recent is not None:
            self.console.print(trained(step, planned, self.clock))
        if step.scores is not None:
            self.console.print(evaluated(step, self.settings.watch))

    def shown(self) -> AbstractContextManager[object]:
        return nullcontext()


class Terminal:
    """A bar and what the run is doing, drawn in place; notes and evaluations stay above it."""

    def __init__(self, console: Console, settings: FitSettings, stop: Callable[[], bool]) -> None:
        self.console, self.settings, self.stop, self.clock = console, settings, stop, Clock()
        self.last: Step | None = None
        self.planned, self.loss, self.heard = 0, 0.0, time.monotonic()
        self.doing = Spinner("dots", "Getting ready")

    def note(self, text: str) -> None:
        self.console.print(text)

    def step(self, step: Step, planned: int) -> None:
        self.clock.add(step)
        # Smoothed: the loss of one small batch jumps too much to be read.
        self.loss = step.loss if self.last is None else 0.9 * self.loss + 0.1 * step.loss
        self.last, self.planned, self.heard = step, planned, time.monotonic()
        if step.scores is not None:
            style = "bold green" if step.best else ""
            self.console.print(Text(evaluated(step, self.settings.watch), style))
        if step.last:
            self.last = None
            self.doing = Spinner("dots", "Finishing")

    def shown(self) -> AbstractContextManager[object]:
        return Live(
            get_renderable=self.drawn,
            console=self.console,
            refresh_per_second=8,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )

    def drawn(self) -> RenderableType:
        if self.last is None:
            return self.doing
        done = self.last.progress.update
        left = duration(self.clock.left(self.planned - done))
        place = f"{done:,} of {self.planned:,}" + (f"  {left} left" if left else "")
        room = max(self.console.width - len(place) - 2, 8)
        line = Table.grid(padding=(0, 1))
        line.add_row(ProgressBar(total=self.planned, completed=done, width=min(room, 44)), Text(place, no_wrap=True))
        return Group(line, self.doings(self.last))

    def doings(self, step: Step) -> Text:
        """The second line: what happens now, and the best there was."""
        if self.stop():
            return Text("stopping after this update; Ctrl-C again stops at once", style="yellow", no_wrap=True)
        parts = [epoch(step), f"loss {self.loss:.3f}", f"{self.clock.per_second:,.0f} targets/s"]
        if step.progress.best is not None:
            parts.append(best(step, self.settings.watch))
        if self.evaluating(step):
            parts.append("evaluating")
        return Text(" · ".join(parts), style="dim", no_wrap=True, overflow="ellipsis")

    def evaluating(self, step: Step) -> bool:
        due = (step.progress.update + 1) % self.settings.every == 0 or step.progress.update + 1 == self.planned
        return due and time.monotonic() - self.heard > LATE


def trained(step: Step, planned: int, clock: Clock) -> str:
    """An update as a line of a log."""
    left = duration(clock.left(planned - step.progress.update))
    parts = [
        f"update {step.progress.update:,} of {planned:,}",
        epoch(step),
        f"loss {step.recent:.3f}",
        f"{clock.per_second:,.0f} targets/s" if clock.per_second else "",
        f"{left} left" if left and not step.last else "",
    ]
    return "  ".join(filter(None, parts))


def evaluated(step: Step, watch: str) -> str:
    """An evaluation as a line, the best so far marked."""
    scores = ", ".join(f"{name} {number(name, value)}" for name, value in (step.scores or {}).items())
    told = "best so far" if step.best else f"({best(step, watch)})" if step.progress.best is not None else ""
    return f"update {step.progress.update:,}  validation {scores}  {told}".rstrip()


def best(step: Step, watch: str) -> str:
    return f"best {watch} {number(watch, step.progress.best or 0.0)} at {step.progress.best_update:,}"


def epoch(step: Step) -> str:
    """The epoch the run is in; at its end the one it was in."""
    return f"epoch {step.progress.epoch + (step.ending != 'epochs')}"


def number(name: str, value: float) -> str:
    """A score: two places tell scores of 0 to 100 apart, a loss needs three."""
    return f"{value:.3f}" if name == "loss" else f"{value:.2f}"
