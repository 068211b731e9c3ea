"""How likely a model finds outputs that are already there."""

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from regard.errors import RequestError
from regard.models.protocols import Decoder


@torch.no_grad()
def force(
    model: Decoder, source: Int[Tensor, "B S"], real: Bool[Tensor, "B S"] | None, pieces: Sequence[Sequence[int]]
) -> list[tuple[float, ...]]:
    """For each source the log-probability of each piece of its output, and of the end after them.

    Leave the last number away where the output is not complete. Outputs that are over leave the batch.
    """
    wanted = _checked(model, source.shape[0], pieces)
    found: list[list[float]] = [[] for _ in wanted]
    alive = list(range(len(wanted)))
    state, given = model.start(source, real)
    for length in range(max(map(len, wanted))):
        said_RV, state = model.step(given, state)
        given = torch.tensor([wanted[one][length] for one in alive], device=source.device)
        for one, value in zip(alive, said_RV.gather(1, given[:, None])[:, 0].tolist(), strict=True):
            found[one].append(value)
        going = [row for row, one in enumerate(alive) if length + 1 < len(wanted[one])]
        if going and len(going) < len(alive):
            rows = torch.tensor(going, device=source.device)
            state, given = state.select(rows, rows), given[rows]
        alive = [alive[row] for row in going]
    return [tuple(each) for each in found]


def _checked(model: Decoder, sources: int, pieces: Sequence[Sequence[int]]) -> list[list[int]]:
    """Each output with its end, if there is one for each source and the model knows its pieces."""
    if len(pieces) != sources:
        raise RequestError(f"{len(pieces)} outputs for {sources} sources; give one for each.")
    for number, output in enumerate(pieces):
        wrong = [piece for piece in output if not 0 <= piece < model.vocabulary.target]
        if wrong:
            raise RequestError(
                f"Output {number} holds piece {wrong[0]}, outside the target's vocabulary of {model.vocabulary.target}."
            )
    return [[*output, model.vocabulary.end] for output in pieces]
