"""The single kernels on tensors, and a mode in which torch's functions are computed by them.

A stack run in one call and its modules inside `Natively` use the same kernels, so that watching changes no bit.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from ctypes import byref, c_double, c_int64, c_void_p
from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Int, Int8, Shaped
from torch import Tensor, nn
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode
from torch.utils.weak import WeakIdKeyDictionary

from regard.errors import ModelError
from regard.nn.native import building
from regard.nn.native.structures import ACTIVATION_KINDS, NORM_KINDS, Linear, Norm

PANEL = 16
flash = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
_packed: WeakIdKeyDictionary = WeakIdKeyDictionary()
_sharing: ContextVar[int] = ContextVar("sharing", default=0)
_unwanted: ContextVar[bool] = ContextVar("unwanted", default=False)


def serves(*tensors: Tensor | None) -> bool:
    """Whether these are numbers the kernels can read, and there are kernels."""
    learning = torch.is_grad_enabled() or torch.is_autocast_enabled("cpu")
    # Who follows what torch does to make another program of it cannot follow us.
    followed = torch._C._get_tracing_state() is not None or torch.compiler.is_compiling()
    return not learning and not followed and ready() and all(each is None or _plain(each) for each in tensors)


def _plain(tensor: Tensor) -> bool:
    usual = type(tensor) is Tensor or type(tensor) is nn.Parameter
    return usual and tensor.dtype == torch.float32 and tensor.device.type == "cpu"


class Packed(NamedTuple):
    """Weights as the kernels want them: panels, and scales where the panels are in eight bits."""

    panels: Tensor
    scales: Tensor | None
    out: int
    inputs: int

    def linear(self, bias: Float[Tensor, " O"] | None = None) -> Linear:
        """What the kernels are told, who do not keep any of it alive."""
        return Linear(self.panels.data_ptr(), _place(self.scales), _place(bias), self.out, self.inputs)


def packed(weight: Float[Tensor, "O I"]) -> Packed:
    """The weights as the kernels want them; made anew when they have changed."""
    known = _packed.get(weight)
    now = fingerprint(weight)
    if known is not None and known[0] == now:
        return known[1]
    outputs, inputs = weight.shape
    with torch.inference_mode(False):
        made = torch.empty(-(-outputs // PANEL) * PANEL * inputs)
    given = weight.detach().contiguous()
    kernels().regard_pack(address(given), address(made), c_int64(outputs), c_int64(inputs))
    _packed[weight] = now, Packed(made, None, outputs, inputs)
    return _packed[weight][1]


@torch.inference_mode(False)
def pack_small(weight: Float[Tensor, "O I"], steps: Int8[Tensor, "O I"], scales: Float[Tensor, "O G"]) -> None:
    """Let products with these weights be computed from these steps of these scales, until the weights change."""
    _packed[weight] = fingerprint(weight), Packed(_in_panels(steps), _in_panels(scales), *weight.shape)


def _in_panels(numbers: Shaped[Tensor, "O X"]) -> Shaped[Tensor, " Y"]:
    missing = -len(numbers) % PANEL
    padded = torch.cat([numbers, numbers.new_zeros(missing, numbers.shape[1])])
    return padded.unflatten(0, (-1, PANEL)).transpose(1, 2).flatten().contiguous()


def fingerprint(weight: Tensor) -> tuple[int, int, int]:
    """Changes with the weights: by the count of torch, and for what passes it by, by a sample of the numbers."""
    version = 0 if weight.is_inference() else weight._version
    return weight.data_ptr(), version, Sample([weight])()


class Sample:
    """A number that changes with those in tensors that stay where they are; what kernels cannot read does not count."""

    def __init__(self, tensors: Sequence[Tensor]) -> None:
        read = [each for each in tensors if each.dtype == torch.float32 and each.device.type == "cpu"]
        places = (c_void_p * len(read))(*map(Tensor.data_ptr, read))
        self._asked = places, numbers(*map(Tensor.numel, read)), c_int64(len(read))

    def __call__(self) -> int:
        found: int = kernels().regard_sample(*self._asked)
        return found


def linear(
    x: Float[Tensor, "*R I"], weight: Float[Tensor, "O I"], bias: Float[Tensor, " O"] | None = None
) -> Float[Tensor, "*R O"]:
    """W x + b."""
    by = packed(weight)
    return projection(by.linear(bias), x)


def projection(by: Linear, x: Float[Tensor, "*R I"]) -> Float[Tensor, "*R O"]:
    """The same of what the kernels were told before."""
    if x.shape[-1] != by.inputs:
        raise ModelError(f"Vectors of width {x.shape[-1]} for a product that takes {by.inputs}.")
    x = x.contiguous()
    out = x.new_empty(*x.shape[:-1], by.out)
    rows = c_int64(x.numel() // x.shape[-1])
    kernels().regard_linear(byref(by), address(x), address(out), rows, c_int64(threads()))
    return out


def norm(
    kind: str, x: Float[Tensor, "*R D"], gain: Tensor, bias: Tensor | None, epsilon: float
) -> Float[Tensor, "*R D"]:
    """A norm over the width."""
    x = x.contiguous()
    out = torch.empty_like(x)
    by = Norm(NORM_KINDS[kind], gain.data_ptr(), _place(bias), epsilon)
    rows = c_int64(x.numel() // x.shape[-1])
    kernels().regard_norm(byref(by), address(x), address(out), rows, c_int64(x.shape[-1]))
    return out


def activation(name: str, x: Float[Tensor, "*R D"]) -> Float[Tensor, "*R D"]:
    out = x.clone(memory_format=torch.contiguous_format)
    rows = c_int64(x.numel() // x.shape[-1])
    kernels().regard_activate(c_int64(ACTIVATION_KINDS[name]), address(out), rows, c_int64(x.shape[-1]))
    return out


def attention(
    query: Float[Tensor, "B H Q E"],
    keys: Float[Tensor, "B G S E"],
    values: Float[Tensor, "B G S E"],
    bias: Float[Tensor, "_ _ _ S"] | None,
    causal: bool,
    scale: float,
) -> tuple[Float[Tensor, "B H Q E"], Float[Tensor, "B H Q"]]:
    """Softmax attention, and the log-sum-exp of the scores."""
    batch, heads, queries, width = query.shape
    out, lse = query.new_empty(query.shape), query.new_empty(query.shape[:3])
    sizes = numbers(batch, heads, keys.shape[1], queries, keys.shape[2], width)
    spread = None if bias is None else bias.expand(batch, heads, queries, -1)
    kernels().regard_attend(
        *(part for one in (query, keys, values) for part in (address(one), _steps(one))),
        None if spread is None else address(spread),
        None if spread is None else _steps(spread),
        address(out),
        address(lse),
        sizes,
        c_int64(causal),
        c_double(scale),
    )
    return out, lse


def log_softmax(logits: Float[Tensor, "*R V"]) -> Float[Tensor, "*R V"]:
    """x - log(sum of e^x), over the last dimension."""
    out = logits.clone(memory_format=torch.contiguous_format)
    width = out.shape[-1]
    rows = c_int64(out.numel() // width)
    kernels().regard_log_softmax(address(out), rows, c_int64(width), c_int64(threads()))
    return out


def top(scores: Float[Tensor, "R V"], count: int) -> tuple[Float[Tensor, "R K"], Int[Tensor, "R K"], int]:
    """The `count` highest of every row and where they stand, the first among equals, and a row with a NaN or -1."""
    scores = scores.contiguous()
    rows, width = scores.shape
    values, places = scores.new_empty(rows, count), scores.new_empty(rows, count, dtype=torch.int64)
    sizes = c_int64(rows), c_int64(width), c_int64(count)
    return values, places, kernels().regard_top(address(scores), *sizes, address(values), address(places))


class Natively(TorchFunctionMode):
    """Inside it, what the kernels can do they do."""

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        made = INSTEAD[func](*args, **(kwargs or {})) if func in INSTEAD else None
        return func(*args, **(kwargs or {})) if made is None else made


def _linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor | None:
    fitting = weight.dim() == 2 and input.numel() > 0 and input.shape[-1] == weight.shape[1]
    usable = fitting and (bias is None or bias.shape == weight.shape[:1]) and serves(input, weight, bias)
    return linear(input, weight, bias) if usable else None


def _layer_norm(
    input: Tensor, shape: Any, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5
) -> Tensor | None:
    usable = _over_width(input, shape, weight) and _over_width(input, shape, bias) and serves(input, weight, bias)
    return norm("layer", input, weight, bias, eps) if usable and weight is not None else None


def _rms_norm(input: Tensor, shape: Any, weight: Tensor | None = None, eps: float | None = None) -> Tensor | None:
    usable = eps is not None and _over_width(input, shape, weight) and serves(input, weight)
    return norm("rms", input, weight, None, eps) if usable and weight is not None and eps is not None else None


def _over_width(input: Tensor, shape: Any, parameter: Tensor | None) -> bool:
    """Whether it is the last dimension that is normed, and the parameter fits it."""
    whole = input.numel() > 0 and tuple(shape) == input.shape[-1:]
    return whole and (parameter is None or parameter.shape == input.shape[-1:])


def _activation(name: str) -> Callable[..., Tensor | None]:
    def instead(input: Tensor, *rest: Any, **settings: Any) -> Tensor | None:
        chosen = "gelu_tanh" if settings.get("approximate") == "tanh" else name
        plain = not rest and not settings.get("inplace") and input.dim() > 0 and input.numel() > 0
        return activation(chosen, input) if plain and serves(input) else None

    return instead


def _flash(
    query: Tensor,
    keys: Tensor,
    values: Tensor,
    dropout: float = 0.0,
    causal: bool = False,
    *,
    attn_mask: Tensor | None = None,
    scale: float | None = None,
) -> tuple[Tensor, Tensor] | None:
    inner = all(each.stride(-1) == 1 and each.numel() > 0 for each in (query, keys, values))
    alike = keys.shape == values.shape and query.shape[::3] == keys.shape[::3] and query.shape[1] % keys.shape[1] == 0
    usable = inner and alike and not dropout and scale is not None and serves(query, keys, values, attn_mask)
    if not usable or scale is None or (attn_mask is not None and attn_mask.stride(-1) != 1):
        return None
    return attention(query, keys, values, attn_mask, causal, scale)


INSTEAD: dict[Any, Callable[..., Any]] = {
    F.linear: _linear,
    F.layer_norm: _layer_norm,
    F.rms_norm: _rms_norm,
    F.relu: _activation("relu"),
    F.gelu: _activation("gelu"),
    F.silu: _activation("silu"),
    flash: _flash,
}


def address(tensor: Tensor) -> c_void_p:
    return c_void_p(tensor.data_ptr())


def _place(tensor: Tensor | None) -> int | None:
    return None if tensor is None else tensor.data_ptr()


def _steps(tensor: Tensor) -> Any:
    return numbers(*tensor.stride()[:3])


def numbers(*numbers: int) -> Any:
    return (c_int64 * len(numbers))(*numbers)


def threads() -> int:
    """How many threads a call may use: all there are, unless several callers share them."""
    return _sharing.get() or torch.get_num_threads()


@contextmanager
def sharing(each: int) -> Iterator[None]:
    """Inside, calls use so many threads; for callers in threads of their own."""
    token = _sharing.set(each)
    try:
        yield
    finally:
        _sharing.reset(token)


@contextmanager
def without() -> Iterator[None]:
    """Inside, torch computes everything: for comparing with what others compute by torch, rounding included."""
    token = _unwanted.set(True)
    try:
        yield
    finally:
        _unwanted.reset(token)


def ready() -> bool:
    """Whether there are kernels."""
    return not _unwanted.get() and building.library() is not None


def kernels() -> Any:
    found = building.library()
    assert found is not None
    return found
