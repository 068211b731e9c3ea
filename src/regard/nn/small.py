"""Weights in eight bits: whole steps of a scale that a group of them shares.

w = s q, s = max |w| / 127 over 32 neighbours along what a product sums over, which is how GGUF's Q8_0 stores them too:
what was stored that way comes out as it was. The model's parameters become those rounded numbers, so that whatever is
computed with them, by whichever kernels, on whichever device, is the same model; ours read the eight bits.
"""

import torch
from jaxtyping import Float, Int8
from torch import Tensor, nn

from regard.nn import native
from regard.nn.embeddings import Readout

GROUP, STEPS = 32, 127
# All but the last eight bits of a float.
SHORT = -256


@torch.no_grad()
def shrink(model: nn.Module) -> int:
    """Round every matrix that products read; how many numbers that are."""
    found = {id(each.weight): each.weight for each in model.modules() if isinstance(each, nn.Linear | Readout)}
    for weight in found.values():
        steps, scales = rounded(weight)
        weight.copy_(restored(steps, scales))
        if native.serves(weight):
            native.pack_small(weight, steps, scales)
    return sum(weight.numel() for weight in found.values())


def rounded(weight: Float[Tensor, "O I"]) -> tuple[Int8[Tensor, "O I"], Float[Tensor, "O G"]]:
    """The steps of every weight, and the scale of every group."""
    groups_OGX = _groups(weight)
    highest_OG1 = groups_OGX.abs().amax(-1, keepdim=True).float() / STEPS
    # With so few bits of their own they take steps without rounding: what was rounded once stays as it is.
    scales_OG1 = (highest_OG1.view(torch.int32) & SHORT).view(torch.float32).to(weight.dtype)
    # Where all are zero there is nothing to divide by.
    steps_OGX = (groups_OGX / scales_OG1.where(scales_OG1 > 0, 1.0)).round()
    return steps_OGX.flatten(1)[:, : weight.shape[1]].to(torch.int8).contiguous(), scales_OG1[..., 0].contiguous()


def restored(steps: Int8[Tensor, "O I"], scales: Float[Tensor, "O G"]) -> Float[Tensor, "O I"]:
    """The weights they stand for."""
    return (_groups(steps.to(scales.dtype)) * scales[..., None]).flatten(1)[:, : steps.shape[1]]


def _groups(numbers: Float[Tensor, "O I"]) -> Float[Tensor, "O G X"]:
    padded = nn.functional.pad(numbers, (0, -numbers.shape[1] % GROUP))
    return padded.unflatten(1, (-1, GROUP))
