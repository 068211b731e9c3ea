"""Memory that every update frees and the next asks for again: kept, instead of given back to the system."""

import ctypes
import sys

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
