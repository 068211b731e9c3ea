"""Which inputs can reach which outputs: a test of masks that any model can be put to."""

from collections.abc import Callable

import torch
from jaxtyping import Bool
from torch import Tensor

from regard.errors import ModelError


@torch.no_grad()
def reach(function: Callable[[Tensor], Tensor], inputs: Tensor, vocabulary: int | None = None) -> Bool[Tensor, "T S"]:
    """reach[t, s]: does the output at t change, by so much as a bit, when the input at s does?

    Inputs are batch x length of pieces (give the vocabulary's size) or batch x length x width of numbers. The function
    must give the same output for the same input: put a model into evaluation first.

    >>> reach(lambda x: x.cumsum(1), torch.ones(1, 3, 1)).int().tolist()
    [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
    """
    before = function(inputs)
    if not torch.equal(before, function(inputs)):
        raise ModelError("The function gives another output for the same input; call model.eval() first.")
    columns = [_changed(before, function(_varied(inputs, place, vocabulary))) for place in range(inputs.shape[1])]
    return torch.stack(columns, dim=1)


def _varied(inputs: Tensor, place: int, vocabulary: int | None) -> Tensor:
    other = inputs.clone()
    if inputs.is_floating_point():
        other[:, place] = other[:, place] * -1.7 + 0.37
    elif vocabulary is None:
        raise ModelError("To vary pieces, reach() needs to know the vocabulary's size.")
    else:
        other[:, place] = (other[:, place] + 1) % vocabulary
    return other


def _changed(before: Tensor, after: Tensor) -> Bool[Tensor, " T"]:
    return (before != after).transpose(0, 1).flatten(1).any(1)
