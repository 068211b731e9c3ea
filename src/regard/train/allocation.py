"""Memory that every update frees and the next asks for again: kept, instead of given back to the system."""

import ctypes
import resource
import sys
from dataclasses import dataclass
from pathlib import Path

# glibc's numbers for what is given back from its heap's end, taken there beyond what is asked, and mapped apart.
TRIM, PAD, MAP = -1, -2, -3
KEPT = {TRIM: 2**31 - 1, PAD: 2**26, MAP: 2**30}


def keep_freed() -> bool:
    """Whether the system's allocator now keeps what this process frees; only glibc has the means."""
    if sys.platform != "linux":
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return False
    return all(mallopt(number, size) == 1 for number, size in KEPT.items())


@dataclass
class Hoard:
    """What is kept, watched: batches of ever other sizes leave gaps between what is in use, and those pile up.

    When a process holds `most` times what it held at the first look, all that is free goes back to the system.
    """

    most: float = 1.5
    usual: int = 0

    def look(self) -> bool:
        """Whether it was time to give back; only where memory is kept is there anything to be had by it."""
        held = resident()
        self.usual = self.usual or held
        if held <= self.most * self.usual:
            return False
        given = bool(ctypes.CDLL(None).malloc_trim(0))
        # What is still held is in use, or pages of prepared data that the system takes back by itself.
        self.usual = max(self.usual, resident())
        return given


def resident() -> int:
    """The bytes of memory this process holds, as Linux tells."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
