"""Products of matrices that change with every update, where MKL, to which torch leaves them, is slow.

On processors that are not Intel's MKL takes eight numbers at a time, also where they take sixteen: half of what they
could do. Where they take eight it is a tenth behind (`benchmarks/multiplying.py`). oneDNN, which torch has as well,
takes sixteen but compiles a program for every size, and no two batches have the same: half a megabyte and two
milliseconds each (docs/lab.md).
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
from regard.nn.standing import standing_in

OTHERS = ("AuthenticAMD", "HygonGenuine")
"""Who makes processors that MKL was not written for."""

FEW = 1 << 20
"""Multiplications of so few that being asked costs more than they do."""


@lru_cache(maxsize=1)
def faster() -> bool:
    """Whether our products are faster than those torch is given."""
    return torch.cpu._is_avx2_supported() and torch.backends.mkl.is_available() and _maker() in OTHERS


def _maker() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        return ""
    return next((line.split(":")[1].strip() for line in lines if line.startswith("vendor_id")), "")


def multiplies(a: Tensor, b: Tensor) -> bool:
    """Whether this product is better made here; both are matrices that fit, and lie in rows or in columns."""
    fit = a.dim() == b.dim() == 2 and a.shape[1] == b.shape[0] and a.shape[0] * b.numel() > FEW
    return fit and faster() and serves(a, b) and 1 in a.stride() and 1 in b.stride()


def _holds(out: Tensor, a: Tensor, b: Tensor) -> bool:
    return serves(out) and out.shape == (a.shape[0], b.shape[1]) and out.stride(1) == 1


def product(a: Float[Tensor, "M K"], b: Float[Tensor, "K N"]) -> Float[Tensor, "M N"]:
    """a b."""
    return _made(a, b, a.new_empty(a.shape[0], b.shape[1])) if multiplies(a, b) else a @ b


def product_into(
    a: Float[Tensor, "M K"], b: Float[Tensor, "K N"], out: Float[Tensor, "M N"], bias: Float[Tensor, " N"] | None = None
) -> Float[Tensor, "M N"]:
    """a b, and a bias to each row, written to `out`."""
    if multiplies(a, b) and _holds(out, a, b) and serves(bias) and (bias is None or bias.shape == b.shape[1:]):
        return _made(a, b, out, bias)
    return torch.mm(a, b, out=out) if bias is None else torch.addmm(bias, a, b, out=out)


def add_product(total: Float[Tensor, "M N"], a: Float[Tensor, "M K"], b: Float[Tensor, "K N"]) -> None:
    """a b, added to `total`."""
    if multiplies(a, b) and _holds(total, a, b):
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
        wanted = ctx.needs_input_grad
        ctx.save_for_backward(x if wanted[1] else None, weight if wanted[0] else None)
        # What is given out is no view, so that others may write to it.
        out = x.new_empty(*x.shape[:-1], len(weight))
        product_into(x.flatten(0, -2), weight.T, out.flatten(0, -2), bias)
        return out

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        (above,), (x, weight) = gradients, ctx.saved_tensors
        rows = above.flatten(0, -2)
        d_x = None if weight is None else product(rows, weight).unflatten(0, above.shape[:-1])
        d_weight = None if x is None else product(rows.T, x.flatten(0, -2))
        return d_x, d_weight, rows.sum(0) if ctx.needs_input_grad[2] else None


def _linear(module: nn.Linear, x: Tensor) -> Tensor:
    weight, bias = module.weight, module.bias
    # What torch.func transforms has to be made of torch's own functions; what does not fit is for torch to tell.
    usual = not (torch.is_autocast_enabled("cpu") or torch._C._are_functorch_transforms_active())
    fits = x.dim() > 1 and x.numel() > 0 and x.shape[-1] == weight.shape[1]
    with torch.no_grad():
        usable = usual and fits and serves(x, weight, bias)
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
        """Inside, calling a layer multiplies by them, forward and backward; one with a way of its own keeps it."""
        own = [layer for layer in self.layers if "forward" not in vars(layer)]
        with standing_in({layer: partial(_linear, layer) for layer in own}):
            yield
