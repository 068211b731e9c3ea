"""A linear-chain conditional random field over tags: which tag follows which, learned beside what each word says.

Everything is one recursion, `_messages`: what the positions on one side tell each position about its own tag. Summed
from the right it gives the partition, from both sides the marginals, and with max for sum the best path.
"""

from collections.abc import Callable

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor, nn
from torch.nn import functional as F

from regard.errors import ModelError

__all__ = ["CRF", "NO_TAG"]

NO_TAG = -1
"""What `decode` writes where the mask is False."""

FORBIDDEN = -1e6
"""The score of a move that is not allowed: no sum of emissions makes up for it, yet unlike -inf it never turns NaN."""

Reduce = Callable[[Tensor, int], Tensor]


class CRF(nn.Module):
    """log p(y) = score(y) - log sum_y' exp score(y')   (Lafferty et al. 2001; Lample et al. 2016, section 2.2).

    Emissions score each class at each position. The mask is True at real positions; the others are skipped wherever
    they stand, so the first pieces of words can be tagged in place. With all moves at zero, as here at first, a CRF is
    a softmax at each position.
    """

    allowed: Bool[Tensor, "C C"]
    allowed_start: Bool[Tensor, " C"]
    allowed_end: Bool[Tensor, " C"]

    def __init__(
        self,
        classes: int,
        allowed: Bool[Tensor, "C C"] | None = None,
        allowed_start: Bool[Tensor, " C"] | None = None,
        allowed_end: Bool[Tensor, " C"] | None = None,
    ) -> None:
        """`allowed[i, j]` says whether j may follow i; by default everything may."""
        super().__init__()
        self.start = nn.Parameter(torch.zeros(classes))
        self.transition = nn.Parameter(torch.zeros(classes, classes))
        self.end = nn.Parameter(torch.zeros(classes))
        self.register_buffer("allowed", _permission("allowed", allowed, (classes, classes)))
        self.register_buffer("allowed_start", _permission("allowed_start", allowed_start, (classes,)))
        self.register_buffer("allowed_end", _permission("allowed_end", allowed_end, (classes,)))

    def log_likelihood(
        self, emissions: Float[Tensor, "B T C"], tags: Int[Tensor, "B T"], mask: Bool[Tensor, "B T"]
    ) -> Float[Tensor, " B"]:
        """score(y) - log sum_y' exp score(y'); zero for a row with nothing real in it."""
        return self.score(emissions, tags, mask) - self.log_partition(emissions, mask)

    def score(
        self, emissions: Float[Tensor, "B T C"], tags: Int[Tensor, "B T"], mask: Bool[Tensor, "B T"]
    ) -> Float[Tensor, " B"]:
        """start(y_1) + sum_t emission_t(y_t) + sum_t transition(y_t, y_t+1) + end(y_T)."""
        emissions_BTC = self._masked(emissions, mask)
        tags_BT = self._legal(tags, mask)
        start_C, transition_CC, end_C = self._moves()
        emission_BT = emissions_BTC.gather(2, tags_BT.unsqueeze(2)).squeeze(2)
        before_BT, after_BT = _neighbours(tags_BT, mask)
        arrival_BT = torch.where(before_BT == NO_TAG, start_C[tags_BT], transition_CC[before_BT, tags_BT])
        departure_BT = torch.where(after_BT == NO_TAG, end_C[tags_BT], 0)
        return (emission_BT + arrival_BT + departure_BT).masked_fill(~mask, 0).sum(1)

    def log_partition(self, emissions: Float[Tensor, "B T C"], mask: Bool[Tensor, "B T"]) -> Float[Tensor, " B"]:
        """log sum_y exp score(y) over all paths y; zero for a row with nothing real in it."""
        emissions_BTC = self._masked(emissions, mask)
        start_C, transition_CC, end_C = self._moves()
        right_BTC = _messages_back(emissions_BTC, mask, end_C, transition_CC, torch.logsumexp)
        first_BC = _first(right_BTC + emissions_BTC, mask) + start_C
        return torch.where(mask.any(1), first_BC.logsumexp(1), 0)

    def marginals(self, emissions: Float[Tensor, "B T C"], mask: Bool[Tensor, "B T"]) -> Float[Tensor, "B T C"]:
        """p(y_t = c), by forward-backward; zero where the mask is False   (Rabiner 1989, section III.A)."""
        emissions_BTC = self._masked(emissions, mask)
        start_C, transition_CC, end_C = self._moves()
        left_BTC = _messages(emissions_BTC, mask, start_C, transition_CC, torch.logsumexp)
        right_BTC = _messages_back(emissions_BTC, mask, end_C, transition_CC, torch.logsumexp)
        return (left_BTC + emissions_BTC + right_BTC).softmax(-1).masked_fill(~mask.unsqueeze(-1), 0)

    @torch.no_grad()
    def decode(
        self, emissions: Float[Tensor, "B T C"], mask: Bool[Tensor, "B T"]
    ) -> tuple[Int[Tensor, "B T"], Float[Tensor, " B"]]:
        """argmax_y score(y) and its score   (Viterbi 1967); NO_TAG where the mask is False; of equals the lowest tag.

        The score of a row with nothing real in it is zero.
        """
        emissions_BTC = self._masked(emissions, mask)
        start_C, transition_CC, end_C = self._moves()
        right_BTC = _messages_back(emissions_BTC, mask, end_C, transition_CC, torch.amax)
        ahead_BTC = right_BTC + emissions_BTC
        tags_BT = _trace(ahead_BTC, mask, start_C, transition_CC)
        best_B = (_first(ahead_BTC, mask) + start_C).amax(1)
        return tags_BT, torch.where(mask.any(1), best_B, 0)

    @torch.no_grad()
    def margins(self, emissions: Float[Tensor, "B T C"], mask: Bool[Tensor, "B T"]) -> Float[Tensor, " B"]:
        """By how much the best path beats every other; infinite for a row with nothing real in it, or one class."""
        emissions_BTC = self._masked(emissions, mask)
        start_C, transition_CC, end_C = self._moves()
        left_BTC = _messages(emissions_BTC, mask, start_C, transition_CC, torch.amax)
        through_BTC = left_BTC + emissions_BTC
        through_BTC = through_BTC + _messages_back(emissions_BTC, mask, end_C, transition_CC, torch.amax)
        if len(self.start) < 2:
            return through_BTC.new_full((len(mask),), torch.inf)
        best_BT, next_BT = through_BTC.topk(2, dim=-1).values.unbind(-1)
        return (best_BT - next_BT).masked_fill(~mask, torch.inf).amin(1)

    def _moves(self) -> tuple[Float[Tensor, " C"], Float[Tensor, "C C"], Float[Tensor, " C"]]:
        """The scores of starting, passing on and ending, with what is not allowed out of reach."""
        return (
            self.start.to(self._precision).masked_fill(~self.allowed_start, FORBIDDEN),
            self.transition.to(self._precision).masked_fill(~self.allowed, FORBIDDEN),
            self.end.to(self._precision).masked_fill(~self.allowed_end, FORBIDDEN),
        )

    @property
    def _precision(self) -> torch.dtype:
        """A path is a long sum: at least float32, whatever the parameters are kept in."""
        return torch.promote_types(self.start.dtype, torch.float32)

    def _masked(self, emissions: Float[Tensor, "B T C"], mask: Bool[Tensor, "B T"]) -> Float[Tensor, "B T C"]:
        """The emissions, zero where the mask is False: not even a NaN there can reach a result or a gradient."""
        if emissions.dim() != 3 or emissions.shape[1] == 0 or emissions.shape[2] != len(self.start):
            raise ModelError(
                f"Emissions have shape {list(emissions.shape)}, expected [batch, positions, {len(self.start)} classes] "
                "with at least one position."
            )
        if mask.dtype != torch.bool or mask.shape != emissions.shape[:2]:
            raise ModelError(
                f"The mask is {mask.dtype} of shape {list(mask.shape)}, expected torch.bool of shape "
                f"{list(emissions.shape[:2])} where True = real."
            )
        return emissions.to(self._precision).masked_fill(~mask.unsqueeze(-1), 0)

    def _legal(self, tags: Int[Tensor, "B T"], mask: Bool[Tensor, "B T"]) -> Int[Tensor, "B T"]:
        """The tags, zero where the mask is False, each of them a class in a place where it is allowed."""
        if tags.is_floating_point() or tags.shape != mask.shape:
            raise ModelError(
                f"The tags are {tags.dtype} of shape {list(tags.shape)}, expected whole numbers (torch.int64) "
                f"of shape {list(mask.shape)}."
            )
        tags_BT = tags.long().masked_fill(~mask, 0)
        known_BT = (tags_BT >= 0) & (tags_BT < len(self.start))
        _require(known_BT, tags_BT, f"is none of the {len(self.start)} classes; correct it or mask it")
        before_BT, after_BT = _neighbours(tags_BT, mask)
        arrives_BT = torch.where(before_BT == NO_TAG, self.allowed_start[tags_BT], self.allowed[before_BT, tags_BT])
        _require(arrives_BT | ~mask, tags_BT, "is not allowed after what comes before it; correct the tags or allow it")
        departs_BT = self.allowed_end[tags_BT] | (after_BT != NO_TAG)
        _require(departs_BT | ~mask, tags_BT, "is not allowed at the end; correct the tags or allow it")
        return tags_BT


def _messages(
    emissions: Float[Tensor, "B T C"],
    mask: Bool[Tensor, "B T"],
    start: Float[Tensor, " C"],
    transition: Float[Tensor, "C C"],
    reduce: Reduce,
) -> Float[Tensor, "B T C"]:
    """m_1 = start, m_t+1(j) = reduce_i(m_t(i) + emission_t(i) + transition(i, j)): what is heard from the left.

    A masked position hands on what it hears.
    """
    message_BC = start.expand(len(emissions), -1)
    messages = []
    for emission_BC, real_B in zip(emissions.unbind(1), mask.unbind(1), strict=True):
        messages.append(message_BC)
        onward_BC = reduce((message_BC + emission_BC).unsqueeze(2) + transition, 1)
        message_BC = torch.where(real_B.unsqueeze(1), onward_BC, message_BC)
    return torch.stack(messages, dim=1)


def _messages_back(
    emissions: Float[Tensor, "B T C"],
    mask: Bool[Tensor, "B T"],
    end: Float[Tensor, " C"],
    transition: Float[Tensor, "C C"],
    reduce: Reduce,
) -> Float[Tensor, "B T C"]:
    """What is heard from the right: the same chain read backwards."""
    return _messages(emissions.flip(1), mask.flip(1), end, transition.T, reduce).flip(1)


def _trace(
    ahead: Float[Tensor, "B T C"],
    mask: Bool[Tensor, "B T"],
    start: Float[Tensor, " C"],
    transition: Float[Tensor, "C C"],
) -> Int[Tensor, "B T"]:
    """y_t = argmax_j transition(y_t-1, j) + ahead_t(j), where `ahead` scores the best path from there to the end."""
    arrival_BC = start.expand(len(ahead), -1)
    tags = []
    for ahead_BC, real_B in zip(ahead.unbind(1), mask.unbind(1), strict=True):
        tag_B = (ahead_BC + arrival_BC).argmax(1)
        arrival_BC = torch.where(real_B.unsqueeze(1), transition[tag_B], arrival_BC)
        tags.append(tag_B.masked_fill(~real_B, NO_TAG))
    return torch.stack(tags, dim=1)


def _neighbours(tags: Int[Tensor, "B T"], mask: Bool[Tensor, "B T"]) -> tuple[Int[Tensor, "B T"], Int[Tensor, "B T"]]:
    """The tags at the nearest real positions before and after each position; NO_TAG where there is none."""
    return _before(tags, mask), _before(tags.flip(1), mask.flip(1)).flip(1)


def _before(tags: Int[Tensor, "B T"], mask: Bool[Tensor, "B T"]) -> Int[Tensor, "B T"]:
    position_T = torch.arange(tags.shape[1], device=tags.device)
    seen_BT = torch.where(mask, position_T, -1).cummax(1).values
    before_BT = F.pad(seen_BT[:, :-1], (1, 0), value=-1)
    return torch.where(before_BT < 0, NO_TAG, tags.gather(1, before_BT.clamp(min=0)))


def _first(values: Shaped[Tensor, "B T *rest"], mask: Bool[Tensor, "B T"]) -> Shaped[Tensor, "B *rest"]:
    """The value at each row's first real position; at position 0 if it has none."""
    return values[torch.arange(len(values), device=values.device), mask.int().argmax(1)]


def _permission(name: str, allowed: Tensor | None, shape: tuple[int, ...]) -> Bool[Tensor, "..."]:
    """What is allowed: everything, unless said otherwise."""
    if allowed is None:
        return torch.ones(shape, dtype=torch.bool)
    if allowed.dtype != torch.bool or allowed.shape != shape:
        raise ModelError(
            f"{name} is {allowed.dtype} of shape {list(allowed.shape)}, expected torch.bool of shape {list(shape)}."
        )
    if len(shape) == 1 and not allowed.any():
        raise ModelError(f"{name} is False for every class, so no path is allowed; let at least one be True.")
    return allowed.clone()


def _require(right: Bool[Tensor, "B T"], tags: Int[Tensor, "B T"], otherwise: str) -> None:
    if not right.all():
        row, position = (~right).nonzero()[0].tolist()
        raise ModelError(f"Row {row}, position {position}: tag {int(tags[row, position])} {otherwise}.")
