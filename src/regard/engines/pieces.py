"""The names of a task's pieces, by number."""

from typing import Any

from regard.convert.ctranslate2 import Pieces
from regard.errors import ConfigError
from regard.tasks import Task


def pieces_of(task: Task) -> Pieces:
    """What the task's tokenizers call their pieces, and which of them have a part to play."""
    sides: Any = getattr(task, "sides", None)
    reading: Any = getattr(task, "reading", None)
    if sides is None and reading is None:
        raise ConfigError(f"{type(task).__name__} has no tokenizer whose pieces could be handed on.")
    source, target = (sides.source, sides.target) if sides is not None else (reading.tokenizer, reading.tokenizer)
    slots = ("",) * getattr(sides, "slots", 0)
    return Pieces.of((*source.pieces, *slots), (*target.pieces, *slots), target.begin, target.end, target.unknown)
