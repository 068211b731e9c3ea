"""The numbers of the log for TensorBoard, where that is installed."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.errors import ConfigError

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter

EVENTS = "events.out.tfevents.*"


class TensorBoard:
    """A folder TensorBoard can show: `begin` with the lines of the log so far, then `write` those that come."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._writer: SummaryWriter | None = None

    def begin(self, lines: Iterable[Mapping[str, Any]] = ()) -> None:
        """Write the folder anew from a log: events cannot be taken back, so those of a killed run are written again."""
        maker = _maker()
        self.close()
        for path in self.folder.glob(EVENTS):
            path.unlink()
        self._writer = maker(str(self.folder))
        self.write(lines)

    def write(self, lines: Iterable[Mapping[str, Any]]) -> None:
        """Add the numbers of these lines of the log."""
        if self._writer is None:
            self.begin()
        for line in lines:
            for name, value in _numbers(line):
                self._writer.add_scalar(name, value, line["update"])  # type: ignore[union-attr]
        self._writer.flush()  # type: ignore[union-attr]

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None


def _maker() -> "type[SummaryWriter]":
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise ConfigError("TensorBoard is not installed: pip install 'regard[tensorboard]', or turn it off.") from None
    return SummaryWriter


def _numbers(line: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """`train/loss`, `valid/bleu` and the like; a number JSON could not hold is left out."""
    values = line.get("scores") or {name: line.get(name) for name in ("loss", "rate", "norm", "per_second")}
    for name, value in values.items():
        if value is not None:
            yield f"{line['kind']}/{name}", value
