"""Products of matrices that change with every update, where MKL, to which torch leaves them, is slow.

On processors that are not Intel's MKL takes eight numbers at a time, also where they take sixteen: half of what they
could do (`benchmarks/multiplying.py`). oneDNN, which torch has as well, takes sixteen but compiles a program for every
size, and no two batches have the same: half a megabyte and two milliseconds each (docs/lab.md).
"""

from collections.abc import Iterator
from contextlib import contextmanager
from ctypes import byref
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from regard.nn.native.kernels import kernels, serves, threads
from regard.nn.native.structures import Product

OTHERS = ("AuthenticAMD", "HygonGenuine")
"""Who makes processors that MKL does not know to take sixteen numbers at a time."""

FEW = 1 << 20
"""Multiplications of so few that being asked costs more than they do."""


@lru_cache(maxsize=1)
def faster() -> bool:
    """Whether our products are those of more numbers at a time."""
    return torch.cpu._is_avx512_supported() and torch.backends.mkl.is_available() and _maker() in OTHERS


def _maker() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        return ""
    return next((line.split(":")[1].strip() for line in lines if line.startswith("vendor_id")), "")


def multiplies(a: Tensor, b: Tensor) -> bool:
    """Whether this product is better made here; both are matrices that lie in rows or in columns."""
    enough = a.dim() == b.dim() == 2 and a.shape[0] * a.shape[1] * b.shape[1] > FEW
    return enough and faster() and serves(a, b) and _straight(a) and _straight(b)


def _straight(matrix: Tensor) -> bool:
    return 1 in matrix.stride()


def product(
    a: Float[Tensor, "M K"], b: Float[Tensor, "K N"], bias: Float[Tensor, " N"] | None = None
) -> Float[Tensor, "M N"]:
    """a b, and a bias to each row."""
    if not multiplies(a, b):
        return a @ b if bias is None else torch.addmm(bias, a, b)
    return _made(a, b, torch.empty(a.shape[0], b.shape[1]), bias=bias)


def product_into(a: Float[Tensor, "M K"], b: Float[Tensor, "K N"], out: Float[Tensor, "M N"]) -> Float[Tensor, "M N"]:
    """a b, written to `out`."""
    if not (multiplies(a, b) and serves(out) and out.stride(1) == 1):
        return torch.mm(a, b, out=out)
    return _made(a, b, out)


def add_product(total: Float[Tensor, "M N"], a: Float[Tensor, "M K"], b: Float[Tensor, "K N"]) -> None:
    """a b, added to `total`."""
    if multiplies(a, b) and serves(total) and total.stride(1) == 1:
        _made(a, b, total, added=True)
    else:
        total.addmm_(a, b)


def _made(a: Tensor, b: Tensor, out: Tensor, bias: Tensor | None = None, added: bool = False) -> Tensor:
    bias = None if bias is None else bias.contiguous()
    asked = Product(
        a.data_ptr(), *a.stride(), b.data_ptr(), *b.stride(), out.data_ptr(), out.stride(0),
        None if bias is None else bias.data_ptr(), a.shape[0], b.shape[1], a.shape[1], added, threads(),
    )  # fmt: skip
    kernels().regard_product(byref(asked))
    return out


class _Linear(torch.autograd.Function):
    """W x + b, and its gradients, by the products above."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(x, weight)
        return product(x.flatten(0, -2), weight.T, bias).view(*x.shape[:-1], -1)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        x, weight = ctx.saved_tensors
        wanted, rows = ctx.needs_input_grad, gradients[0].flatten(0, -2)
        d_x = product(rows, weight).view_as(x) if wanted[0] else None
        d_weight = product(rows.T, x.flatten(0, -2)) if wanted[1] else None
        return d_x, d_weight, rows.sum(0) if wanted[2] else None


def _linear(module: nn.Linear, x: Tensor) -> Tensor:
    weight, bias = module.weight, module.bias
    with torch.no_grad():
        usable = x.dim() > 1 and x.numel() > 0 and serves(x, weight, bias) and not torch.is_autocast_enabled("cpu")
    if not usable:
        return F.linear(x, weight, bias)
    found: Tensor = _Linear.apply(x, weight, bias)  # type: ignore[no-untyped-call]
    return found


class Multiplied:
    """The linear layers of a model, by our products."""

    def __init__(self, model: nn.Module) -> None:
        self.layers = [each for each in model.modules() if type(each) is nn.Linear] if faster() else []

    @contextmanager
    def used(self) -> Iterator[None]:
        """Inside, calling a layer multiplies by them, forward and backward."""
        for layer in self.layers:
            layer.forward = partial(_linear, layer)  # type: ignore[method-assign]
        try:
            yield
        finally:
            for layer in self.layers:
                del layer.forward
