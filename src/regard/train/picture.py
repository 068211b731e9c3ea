"""A run as a picture: losses and scores over the updates, the best marked."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.errors import DataError
from regard.files import write_atomically

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INK, FAINT = "#333333", "#d9d9d9"
TRAINING, VALIDATION, BEST = "#8da0b3", "#1f5fa8", "#c8501e"


def draw(lines: Sequence[Mapping[str, Any]], path: Path, title: str = "") -> None:
    """Write a PNG of a log's lines: a panel for the losses, one for each other score."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    if not lines:
        raise DataError("There is nothing to draw: the log has no lines yet.")
    names = _names(lines)
    figure = Figure(figsize=(8.0, 1.4 + 2.6 * len(names)), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(len(names), 1, sharex=True, squeeze=False)[:, 0]
    for name, panel in zip(names, panels, strict=True):
        _panel(panel, name, lines)
    panels[-1].set_xlabel("updates", color=INK)
    figure.align_ylabels()
    figure.suptitle(title or _summary(lines), fontsize=11, color=INK)
    with write_atomically(path) as file:
        # Without the name of the program that drew it the same lines are the same bytes.
        figure.savefig(file, format="png", metadata={"Software": None})


def _names(lines: Sequence[Mapping[str, Any]]) -> list[str]:
    """The panels: the loss, then every other score as it comes."""
    scores = [name for line in lines for name in line.get("scores", {})]
    return list(dict.fromkeys(["loss", *scores]))


def _panel(panel: "Axes", name: str, lines: Sequence[Mapping[str, Any]]) -> None:
    training = _points(lines, lambda line: line.get("loss")) if name == "loss" else []
    validation = _points(lines, lambda line: line.get("scores", {}).get(name))
    _curve(panel, training, "training", TRAINING, "" if len(training) > 1 else "o")
    _curve(panel, validation, "validation", VALIDATION, "" if len(validation) > 40 else "o")
    _mark(panel, validation, _best(lines))
    _dress(panel, name, training + validation)


def _points(lines: Sequence[Mapping[str, Any]], value: Any) -> list[tuple[int, float]]:
    return [(line["update"], found) for line in lines if (found := value(line)) is not None]


def _curve(panel: "Axes", points: list[tuple[int, float]], label: str, colour: str, marker: str) -> None:
    if points:
        panel.plot(*zip(*points, strict=True), color=colour, label=label, marker=marker, markersize=3.5, linewidth=1.6)


def _best(lines: Sequence[Mapping[str, Any]]) -> int | None:
    """The update that was best in the end."""
    return next((line["update"] for line in reversed(lines) if line.get("best")), None)


def _mark(panel: "Axes", points: list[tuple[int, float]], best: int | None) -> None:
    if best is None:
        return
    panel.axvline(best, color=BEST, linewidth=0.8, linestyle=":")
    for update, value in points:
        if update == best:
            label = f"{value:.4g} at the best update, {update:,}"
            panel.plot([update], [value], "o", color=BEST, markersize=6, label=label)


def _dress(panel: "Axes", name: str, points: list[tuple[int, float]]) -> None:
    panel.set_ylabel(name, color=INK)
    panel.grid(color=FAINT, linewidth=0.6)
    panel.set_axisbelow(True)
    panel.spines[["top", "right"]].set_visible(False)
    panel.tick_params(colors=INK, labelsize=9)
    panel.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    if points:
        panel.set_xlim(left=0)
        panel.legend(frameon=False, fontsize=9, labelcolor=INK)


def _summary(lines: Sequence[Mapping[str, Any]]) -> str:
    last = lines[-1]
    return f"{last['update']:,} updates, epoch {last.get('epoch', 0)}"
