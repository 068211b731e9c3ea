"""What parameters are called and how they are laid out on both sides: one table, to be read in either direction."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor


class Form(NamedTuple):
    """How one tensor of theirs becomes one or several of ours, and how they become it again."""

    to_ours: Callable[[Tensor], Sequence[Tensor]]
    to_theirs: Callable[[Sequence[Tensor]], Tensor]


SAME = Form(lambda theirs: [theirs], lambda ours: ours[0])
# A matrix stored inputs first. The transpose of a bias is the bias, so one rule serves both.
TRANSPOSED = Form(lambda theirs: [theirs.t()], lambda ours: ours[0].t())
# Three such matrices, or their biases, side by side: query, key and value.
PACKED = Form(lambda theirs: theirs.t().chunk(3), lambda ours: torch.cat(list(ours)).t())
# Positions that start at row 2, a custom of fairseq's: the rows before are never looked at.
OFFSET = Form(lambda theirs: [theirs[2:]], lambda ours: torch.cat([ours[0].new_zeros(2, ours[0].shape[1]), *ours]))
# A vector stored as a matrix of one row.
ROW = Form(lambda theirs: [theirs[0]], lambda ours: ours[0][None])


@dataclass(frozen=True)
class Rule:
    """One name of theirs and what it is called here; each star is one step of a name, the same on both sides."""

    theirs: str
    ours: tuple[str, ...]
    form: Form = SAME

    def into(self, theirs: str) -> list[str]:
        """Our names for this one of theirs, none if it is another rule's."""
        steps = stars(self.theirs, theirs)
        return [] if steps is None else [filled(pattern, steps) for pattern in self.ours]

    def back(self, ours: str) -> str | None:
        """Their name for this one of ours, or None if it is another rule's."""
        found = [stars(pattern, ours) for pattern in self.ours]
        return next((filled(self.theirs, steps) for steps in found if steps is not None), None)


def rule(theirs: str, *ours: str, form: Form = SAME) -> Rule:
    return Rule(theirs, ours, form)


def stars(pattern: str, name: str) -> list[str] | None:
    """What the stars of a pattern stand for in a name, or None if the name does not follow it.

    >>> stars("layers.*.query.*", "layers.3.query.bias")
    ['3', 'bias']
    """
    wanted, steps = pattern.split("."), name.split(".")
    if len(wanted) != len(steps) or any(one not in ("*", step) for one, step in zip(wanted, steps, strict=True)):
        return None
    return [step for one, step in zip(wanted, steps, strict=True) if one == "*"]


def filled(pattern: str, steps: Sequence[str]) -> str:
    """The name a pattern becomes with these steps for its stars.

    >>> filled("blocks.*.attention.query.*", ["3", "bias"])
    'blocks.3.attention.query.bias'
    """
    rest = iter(steps)
    return ".".join(next(rest) if one == "*" else one for one in pattern.split("."))
