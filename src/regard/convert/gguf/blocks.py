"""The ways GGUF stores numbers: blocks of so many values in so many bytes, and how each is turned into numbers again.

In every formula q are small integers, d and m are scales of the block, s and t scales of a part of it. (ggml)
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, UInt8

Raw = UInt8[np.ndarray, "N _"]
Numbers = Float[np.ndarray, "N _"]


class Block(NamedTuple):
    """One type: its name, the values and bytes of a block, and what makes numbers of blocks."""

    name: str
    values: int
    bytes: int
    numbers: Callable[[Raw], Numbers]


def dequantized(raw: UInt8[np.ndarray, "bytes"], kind: int) -> Float[np.ndarray, "values"]:
    """The numbers of a tensor of this type, in single precision."""
    block = BLOCKS[kind]
    return block.numbers(raw.reshape(-1, block.bytes)).reshape(-1)


def f32(raw: Raw) -> Numbers:
    return raw.view("<f4").astype(np.float32)


def f16(raw: Raw) -> Numbers:
    return raw.view("<f2").astype(np.float32)


def bf16(raw: Raw) -> Numbers:
    """The upper half of a single-precision number."""
    return (raw.view("<u2").astype(np.uint32) << 16).view(np.float32)


def q8_0(raw: Raw) -> Numbers:
    """d q"""
    return f16(raw[:, :2]) * raw[:, 2:].view(np.int8).astype(np.float32)


def q4_0(raw: Raw) -> Numbers:
    """d (q - 8)"""
    return f16(raw[:, :2]) * (nibbles(raw[:, 2:]).astype(np.float32) - 8)


def q4_1(raw: Raw) -> Numbers:
    """d q + m"""
    return f16(raw[:, :2]) * nibbles(raw[:, 4:]).astype(np.float32) + f16(raw[:, 2:4])


def q5_0(raw: Raw) -> Numbers:
    """d (q - 16)"""
    return f16(raw[:, :2]) * (fifth_bits(raw[:, 2:6], raw[:, 6:]) - 16)


def q5_1(raw: Raw) -> Numbers:
    """d q + m"""
    return f16(raw[:, :2]) * fifth_bits(raw[:, 4:8], raw[:, 8:]) + f16(raw[:, 2:4])


def q2_k(raw: Raw) -> Numbers:
    """d s q - m t, in 16 parts"""
    scales, quants = raw[:, :16], raw[:, 16:80]
    d, m = f16(raw[:, 80:82]), f16(raw[:, 82:84])
    parts = pairs_of_bits(quants).reshape(-1, 16, 16).astype(np.float32)
    return _joined((d * (scales & 15))[..., None] * parts - (m * (scales >> 4))[..., None])


def q3_k(raw: Raw) -> Numbers:
    """d (s - 32) (q - 4), in 16 parts; the third bit of q stands apart"""
    high, quants, packed, d = raw[:, :32], raw[:, 32:96], raw[:, 96:108], f16(raw[:, 108:])
    low = np.concatenate([packed[:, :8] & 15, packed[:, :8] >> 4], axis=1)
    top = _shifted(packed[:, 8:], (0, 2, 4, 6), 3).reshape(-1, 16)
    scales = (low | top << 4).astype(np.float32) - 32
    third = _shifted(high, range(8), 1).reshape(-1, 256)
    values = pairs_of_bits(quants).astype(np.float32) + 4 * third - 4
    return _joined((d * scales)[..., None] * values.reshape(-1, 16, 16))


def q4_k(raw: Raw) -> Numbers:
    """d s q - m t, in 8 parts"""
    return _scaled(raw, nibbles(raw[:, 16:].reshape(-1, 32)))


def q5_k(raw: Raw) -> Numbers:
    """d s q - m t, in 8 parts; the fifth bits of q stand apart"""
    low = nibbles(raw[:, 48:].reshape(-1, 32)).reshape(-1, 256)
    fifth = _shifted(raw[:, 16:48], range(8), 1).reshape(-1, 256)
    return _scaled(raw, low | fifth << 4)


def q6_k(raw: Raw) -> Numbers:
    """d s (q - 32), in 16 parts; the upper two bits of q stand apart"""
    scales, d = raw[:, 192:208].view(np.int8).astype(np.float32), f16(raw[:, 208:])
    low = nibbles(raw[:, :128].reshape(-1, 64)).reshape(-1, 256)
    high = pairs_of_bits(raw[:, 128:192])
    values = (low | high << 4).astype(np.float32) - 32
    return _joined((d * scales)[..., None] * values.reshape(-1, 16, 16))


def nibbles(raw: Raw) -> Raw:
    """The lower halves of all bytes, then the upper ones."""
    return np.concatenate([raw & 15, raw >> 4], axis=1)


def pairs_of_bits(raw: Raw) -> Raw:
    """From 32 bytes at a time: the lowest two bits of all, then the next two, and so on."""
    return _shifted(raw.reshape(-1, 32), (0, 2, 4, 6), 3).reshape(len(raw), -1)


def fifth_bits(high: Raw, quants: Raw) -> Numbers:
    """Numbers of five bits, the uppermost of which stand apart."""
    return (nibbles(quants) | np.unpackbits(high, axis=1, bitorder="little") << 4).astype(np.float32)


def six_bits(packed: Raw) -> tuple[Numbers, Numbers]:
    """Two times eight numbers of six bits from twelve bytes: s and t."""
    first, second, third = packed[:, :4], packed[:, 4:8], packed[:, 8:]
    s = np.concatenate([first & 63, third & 15 | first >> 6 << 4], axis=1)
    t = np.concatenate([second & 63, third >> 4 | second >> 6 << 4], axis=1)
    return s.astype(np.float32), t.astype(np.float32)


def _scaled(raw: Raw, values: UInt8[np.ndarray, "..."]) -> Numbers:
    s, t = six_bits(raw[:, 4:16])
    d, m = f16(raw[:, :2]), f16(raw[:, 2:4])
    return _joined((d * s)[..., None] * values.reshape(-1, 8, 32).astype(np.float32) - (m * t)[..., None])


def _shifted(raw: Raw, shifts: Sequence[int], mask: int) -> UInt8[np.ndarray, "N S _"]:
    return raw[:, None, :] >> np.array(shifts, np.uint8)[None, :, None] & mask


def _joined(parts: Float[np.ndarray, "N P _"]) -> Numbers:
    return parts.reshape(len(parts), -1)


BLOCKS: dict[int, Block] = {
    0: Block("F32", 1, 4, f32),
    1: Block("F16", 1, 2, f16),
    2: Block("Q4_0", 32, 18, q4_0),
    3: Block("Q4_1", 32, 20, q4_1),
    6: Block("Q5_0", 32, 22, q5_0),
    7: Block("Q5_1", 32, 24, q5_1),
    8: Block("Q8_0", 32, 34, q8_0),
    10: Block("Q2_K", 256, 84, q2_k),
    11: Block("Q3_K", 256, 110, q3_k),
    12: Block("Q4_K", 256, 144, q4_k),
    13: Block("Q5_K", 256, 176, q5_k),
    14: Block("Q6_K", 256, 210, q6_k),
    30: Block("BF16", 1, 2, bf16),
}
