"""The likeliest piece at every step."""

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from regard.models.protocols import Decoder


@torch.no_grad()
def greedy(
    model: Decoder, source: Int[Tensor, "B S"], real: Bool[Tensor, "B S"] | None, longest: int
) -> list[list[int]]:
    """The pieces of each output without its end; one that has not ended after `longest` pieces is cut there.

    Outputs that have ended leave the batch.
    """
    state, pieces = model.start(source, real)
    outputs: list[list[int]] = [[] for _ in range(source.shape[0])]
    alive = torch.arange(source.shape[0], device=source.device)
    for _ in range(longest):
        scores_RV, state = model.step(pieces, state)
        pieces = scores_RV.argmax(-1)
        going = (pieces != model.vocabulary.end).nonzero()[:, 0]
        if len(going) < len(alive):
            alive, pieces, state = alive[going], pieces[going], state.select(going, going)
        for row, piece in zip(alive.tolist(), pieces.tolist(), strict=True):
            outputs[row].append(piece)
        if not len(alive):
            break
    return outputs
