"""A share of the scale as blocks, or as a background colour; and texts cut to cells."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from rich.cells import cell_len, set_cell_size

from regard.explain.rendering.colours import colours, ink

# Four steps; what is less than half of the first is blank. Against has lines, so that no colour is needed.
FOR, AGAINST = "░▒▓█", "-=≡≣"
_ESCAPES = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True)
class Style:
    """How wide lines may be, in cells, and whether escape codes for colours are allowed."""

    width: int
    colour: bool

    def mark(self, share: int | float, size: int) -> str:
        """A share of the scale, so many cells wide."""
        return self.painted(" " * size, share) if self.colour else shade(share) * size

    def painted(self, text: str, share: int | float) -> str:
        """The text on the colour of a share; without colours the text as it is."""
        if not self.colour:
            return text
        paper = colours(np.array(share))
        front = bytes.fromhex(ink(paper)[1:])
        return f"\x1b[48;2;{_code(paper.tobytes())}m\x1b[38;2;{_code(front)}m{text}\x1b[0m"

    def cut(self, text: str, size: int) -> str:
        """The text in at most so many cells."""
        return text if cell_len(text) <= size else set_cell_size(text, size - 1).rstrip() + "…"

    def filled(self, text: str, size: int) -> str:
        """The text in exactly so many cells."""
        return set_cell_size(self.cut(text, size), size)

    def flowing(self, parts: Sequence[str]) -> Iterator[str]:
        """The parts in as few lines as they fit on; escape codes take no cells."""
        line, used = "", 0
        for part in parts:
            size = cell_len(_ESCAPES.sub("", part))
            if used and used + 3 + size > self.width:
                yield line
                line, used = "", 0
            line, used = (f"{line}   {part}", used + 3 + size) if used else (part, size)
        yield line


def _code(colour: bytes) -> str:
    return ";".join(str(part) for part in colour)


def shade(share: int | float) -> str:
    """The block for a share of the scale.

    >>> [shade(share) for share in (0, 0.2, 0.5, 1, -0.2, -1)]
    [' ', '░', '▒', '█', '-', '≣']
    """
    level = round(abs(share) * len(FOR))
    return (FOR if share > 0 else AGAINST)[min(level, len(FOR)) - 1] if level else " "
