"""Which of the libraries that come with torch multiplies float32 matrices on a processor.

torch leaves that to MKL, which takes eight numbers at a time on processors that are not Intel's, and has oneDNN
besides, which takes sixteen where it can: twice as many products a second (`benchmarks/multiplying.py`). oneDNN is
asked only if it may round to bfloat16 on the way, and it does that only with tiles of its own (AMX). Where there are
none, the permission chooses a library and rounds nothing; one product tells before the first is trusted.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any

import torch
from torch.backends import mkldnn

__all__ = ["faster", "usually", "widely"]

OTHERS = ("AuthenticAMD", "HygonGenuine")
"""Who makes processors that MKL does not know to have lanes of sixteen."""

# torch's annotations do not know of it.
_products: Any = mkldnn.matmul  # type: ignore[attr-defined]
_lock = Lock()
_inside = 0


@contextmanager
def widely() -> Iterator[None]:
    """Inside, oneDNN multiplies where it takes more at a time; for whatever is worth it, in all threads."""
    global _inside
    # Whoever has allowed torch to round knows what for.
    if not faster() or (not _inside and _products.fp32_precision not in ("none", "ieee")):
        yield
        return
    with _lock:
        _inside += 1
        _choose(True)
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            _choose(_inside > 0)


@contextmanager
def usually() -> Iterator[None]:
    """Inside, torch multiplies as it would: its attention asks for products so small that asking costs the most."""
    if not _inside:
        yield
        return
    _choose(False)
    try:
        yield
    finally:
        _choose(_inside > 0)


def _choose(wide: bool) -> None:
    _products.fp32_precision = "bf16" if wide else "none"


@lru_cache(maxsize=1)
def faster() -> bool:
    """Whether oneDNN takes more numbers at a time than MKL here, and gives products of float32."""
    usable = torch.backends.mkl.is_available() and mkldnn.is_available()
    wide = usable and torch.cpu._is_avx512_supported() and not torch.cpu._is_amx_tile_supported()
    return wide and _maker() in OTHERS and _rounds_nothing()


def _maker() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        return ""
    return next((line.split(":")[1].strip() for line in lines if line.startswith("vendor_id")), "")


def _rounds_nothing() -> bool:
    """Numbers whose twelfth bit counts: bfloat16 has eight."""
    given = torch.full((64, 64), 1 + 2**-12)
    _choose(True)
    try:
        found = given @ given
    finally:
        _choose(False)
    return bool(torch.allclose(found.double(), given.double() @ given.double(), rtol=1e-6, atol=0.0))
