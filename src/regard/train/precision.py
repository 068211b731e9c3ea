"""How many bits the loss is computed in, and what that asks of the hardware.

Parameters, gradients and the optimizer's state stay in the model's own precision; only the work inside the loss is
done in fewer bits, by torch's autocast. Evaluation is not: scores are those the saved model will give.
"""

from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass
from typing import Literal

import torch
from torch import nn

from regard.errors import ConfigError

Precision = Literal["float32", "bfloat16", "float16", "auto"]


@dataclass
class Scaler:
    """Multiplies the loss so that gradients in float16 do not vanish (Micikevicius et al. 2018, section 3.2).

    The scale is halved when gradients overflow and doubled after `PATIENCE` updates in which none did. It is a power of
    two, so it changes no digit of a gradient that fits. The loss is a sum over targets, not a mean, hence the start
    below the usual 65536.
    """

    PATIENCE = 2000

    scale: float = 1024.0
    clean: int = 0

    @property
    def lowest(self) -> bool:
        """Whether the scale does nothing more: what overflows now is no number without it either."""
        return self.scale <= 1.0

    def fitted(self) -> None:
        """Note an update whose gradients were all finite."""
        self.clean += 1
        if self.clean == self.PATIENCE:
            self.scale, self.clean = min(self.scale * 2.0, 2.0**24), 0

    def overflowed(self) -> None:
        """Note an update whose gradients were not."""
        self.scale, self.clean = max(self.scale / 2.0, 1.0), 0

    def facts(self) -> dict[str, float]:
        return asdict(self)


def chosen(precision: Precision, model: nn.Module) -> torch.dtype | None:
    """The type autocast is to work in on the model's device; None leaves everything as it is."""
    device = _device(model)
    if precision == "auto":
        return _fastest(device)
    if precision == "float32":
        return None
    dtype = torch.bfloat16 if precision == "bfloat16" else torch.float16
    if reason := _obstacle(dtype, device):
        raise ConfigError(f"precision = {precision!r} cannot be on this {device.upper()}: {reason}.")
    return dtype


def narrowed(dtype: torch.dtype | None, model: nn.Module) -> AbstractContextManager[object]:
    """Inside, the heavy operations work in this type."""
    return nullcontext() if dtype is None else torch.autocast(_device(model), dtype=dtype)


def _device(model: nn.Module) -> str:
    return next(model.parameters()).device.type


def _fastest(device: str) -> torch.dtype | None:
    """The narrowest type that costs no care: bfloat16, else float16; on a CPU neither is reliably faster."""
    if device != "cuda":
        return None
    return torch.float16 if _obstacle(torch.bfloat16, device) else torch.bfloat16


def _obstacle(dtype: torch.dtype, device: str) -> str | None:
    """Why training in this type cannot be, and what to do instead."""
    if not torch.amp.is_autocast_available(device):
        return "torch computes nothing there in fewer bits; use 'float32'"
    if device == "cpu" and dtype is torch.float16:
        return "torch trains in float16 on GPUs only; use 'bfloat16' or 'float32'"
    if device == "cuda" and dtype is torch.bfloat16 and not torch.cuda.is_bf16_supported(including_emulation=False):
        return "this GPU has no bfloat16; use 'float16', 'float32' or 'auto'"
    if device == "mps" and dtype is torch.bfloat16 and not torch.backends.mps.is_macos_or_newer(14, 0):
        return "macOS before 14 has no bfloat16; use 'float16' or 'float32'"
    return None
