"""Cells as the smallest PNG that holds them: one pixel each."""

import zlib
from base64 import b64encode
from struct import pack

import numpy as np
from jaxtyping import UInt8


def png_of(colours: UInt8[np.ndarray, "rows columns 3"]) -> bytes:
    """The colours as an 8-bit RGB PNG   (PNG specification, W3C 2003)."""
    rows, columns, _ = colours.shape
    # Every line begins with the number of its filter; 0 is none.
    lines = np.concatenate([np.zeros((rows, 1), np.uint8), colours.reshape(rows, columns * 3)], axis=1)
    header = pack(">IIBBBBB", columns, rows, 8, 2, 0, 0, 0)
    chunks = [(b"IHDR", header), (b"IDAT", zlib.compress(lines.tobytes(), 6)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(name, content) for name, content in chunks)


def _chunk(name: bytes, content: bytes) -> bytes:
    return pack(">I", len(content)) + name + content + pack(">I", zlib.crc32(name + content))


def address(colours: UInt8[np.ndarray, "rows columns 3"]) -> str:
    """The picture as an address that holds it, for an `href`."""
    return "data:image/png;base64," + b64encode(png_of(colours)).decode()
