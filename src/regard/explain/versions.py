"""Versions of an input with groups taken away, and what the model makes of each."""

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.errors import RequestError
from regard.explain.asking import still
from regard.explain.groups import PerturbationSettings, groups
from regard.explain.subject import Subject

# With so few groups, versions come again and again: each is scored once and remembered.
REMEMBERED = 12
# What single precision may add to a score, as a share of its size.
ROUNDING = 1e-6


class Versions:
    """F(kept): the scores of the outputs when only these groups of the input are there."""

    def __init__(self, subject: Subject, settings: PerturbationSettings) -> None:
        self.subject, self.settings = subject, settings
        self.groups = groups(subject.inputs, settings)
        self._known: dict[bytes, Float[np.ndarray, " O"]] = {}
        self._whole: Float[np.ndarray, " O"] | None = None

    @property
    def batch(self) -> int:
        """How many versions are scored at once."""
        return max(1, self.settings.tokens // max(1, len(self.subject.inputs) + len(self.subject.outputs)))

    def __call__(self, kept: Bool[np.ndarray, "N G"]) -> Float[np.ndarray, "N O"]:
        known = self._known if len(self.groups) <= REMEMBERED else {}
        keys = [row.tobytes() for row in np.packbits(kept, axis=1)]
        new = {key: row for key, row in zip(keys, kept, strict=True) if key not in known}
        if new:
            known.update(zip(new, self._scores(np.stack(list(new.values()))), strict=True))
        return np.stack([known[key] for key in keys])

    def whole(self) -> Float[np.ndarray, " O"]:
        """F with nothing taken away."""
        if self._whole is None:
            self._whole = self(np.ones((1, len(self.groups)), dtype=bool))[0]
        return self._whole

    def empty(self) -> Float[np.ndarray, " O"]:
        """F with every group taken away; what is special stays."""
        return self(np.zeros((1, len(self.groups)), dtype=bool))[0]

    def _scores(self, kept: Bool[np.ndarray, "N G"]) -> Float[np.ndarray, "N O"]:
        with torch.inference_mode(), still(self.subject.model):
            parts = [self._batch(kept[at : at + self.batch]) for at in range(0, len(kept), self.batch)]
        return _finite(np.concatenate(parts))

    def _batch(self, kept: Bool[np.ndarray, "N G"]) -> Float[np.ndarray, "N O"]:
        # The group of a special piece is -1: the last column, which is always kept.
        kept_NS = np.pad(kept, ((0, 0), (0, 1)), constant_values=True)[:, self.groups.home]
        pieces_S = self.subject.pieces
        pieces_NS, real_NS = without(pieces_S, torch.from_numpy(kept_NS).to(pieces_S.device), self.subject.blank)
        if self.settings.how == "remove":
            scores_NO = self.subject.scores(*together(pieces_NS, real_NS))
        else:
            scores_NO = self.subject.scores(pieces_NS)
        return scores_NO.double().cpu().numpy()


def _finite(scores: Float[np.ndarray, "N O"]) -> Float[np.ndarray, "N O"]:
    if not np.isfinite(scores).all():
        output = int(np.flatnonzero(~np.isfinite(scores).all(axis=0))[0])
        raise RequestError(
            f"Output {output} has no finite log-probability once parts of the text are gone, so it cannot be compared; "
            "take away less, or explain another output."
        )
    return scores


def without(
    pieces: Int[Tensor, " S"], kept: Bool[Tensor, "N S"], blank: int
) -> tuple[Int[Tensor, "N S"], Bool[Tensor, "N S"]]:
    """The pieces with a blank for each that is not kept, and which are."""
    return torch.where(kept, pieces, torch.full_like(pieces, blank)), kept


def together(pieces: Int[Tensor, "N S"], kept: Bool[Tensor, "N S"]) -> tuple[Int[Tensor, "N S"], Bool[Tensor, "N S"]]:
    """What is kept moved to the front, and where it stands; of a text with nothing left, one blank stays."""
    order_NS = (~kept).to(torch.uint8).argsort(dim=1, stable=True)
    left_N1 = kept.sum(1, keepdim=True).clamp(min=1)
    return pieces.gather(1, order_NS), torch.arange(pieces.shape[1], device=pieces.device) < left_N1


def rounding(scores: Float[np.ndarray, "N O"]) -> Float[np.ndarray, "O 1"]:
    """How far rounding alone may move a difference of such scores."""
    return ROUNDING * np.abs(scores).max(axis=0)[:, None]


def subsets(groups: int) -> Bool[np.ndarray, "N G"]:
    """All subsets; group g is in subset n where bit g of n is set."""
    return (np.arange(1 << groups)[:, None] >> np.arange(groups) & 1).astype(bool)
