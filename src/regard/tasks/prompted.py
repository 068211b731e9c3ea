"""Source and target as one text, for a model that only goes on with what it is given."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from regard.nn import IGNORE
from regard.tasks.reading import rectangle


@dataclass(frozen=True)
class Continued:
    """Texts in a rectangle, which of it is real, and what is to follow each piece: nothing counts within a prompt."""

    pieces: Int[Tensor, "B T"]
    real: Bool[Tensor, "B T"]
    wanted: Int[Tensor, "B T"]


def continued(examples: Sequence[Mapping[str, Any]], fields: Sequence[str], device: torch.device) -> Continued:
    """Each prompt with its target behind it, without the target's last piece, which only has to be foretold."""
    pairs = [[example[name].tolist() for name in fields] for example in examples]
    pieces, real = rectangle([[*prompt, *target[:-1]] for prompt, target in pairs], 0, device)
    wanted, _ = rectangle([[*[IGNORE] * (len(prompt) - 1), *target] for prompt, target in pairs], IGNORE, device)
    return Continued(pieces, real, wanted)
