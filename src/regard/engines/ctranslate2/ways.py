"""The ways CTranslate2 searches for rows: greedily, by beams, by chance; what it cannot answer for is left open."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch

from regard.decode import Hypothesis, SearchSettings
from regard.decode.blocks import Avoid, Block, NoRepeat
from regard.decode.hypotheses import Live
from regard.decode.lengths import Length
from regard.engines.ctranslate2.running import Options, Output, Row, Writer

# Its beam search may end early where lengths are not weighed, unless it is asked for a little more patience than that.
PATIENCE = 1.0001

# So much the log-probability of a piece may differ between CTranslate2's search and a measurement: where several pieces
# end a text, a search that looked at one of them alone may have left another hypothesis behind.
DIFFERENCE = 1e-3

Found = list[Hypothesis] | None
"""The outputs of a row; None where our own search has to be asked."""


@dataclass(frozen=True)
class Searching:
    """One search: what writes, the pieces that end an output, how it is searched, and what may never be written."""

    writer: Writer
    stops: tuple[int, ...]
    settings: SearchSettings
    banned: frozenset[int]

    def __call__(self, rows: Sequence[Row]) -> list[Found]:
        if not rows:
            return []
        narrow = self.settings.method == "beam" and self.settings.beams == 1
        way: Callable[[Sequence[Row]], list[Found]] = {
            "greedy": self.greedy,
            "beam": self.greedy if narrow else self.beam,
            "sample": self.sample,
        }[self.settings.method]
        return way(rows)

    @cached_property
    def penalty(self) -> Length:
        return self.settings.penalty

    @cached_property
    def alpha(self) -> float:
        """The power of the length that CTranslate2 divides by."""
        return float(getattr(self.penalty, "alpha", 0.0))

    @cached_property
    def barred(self) -> frozenset[int]:
        """What stands nowhere inside an output."""
        return self.banned.union(self.stops)

    @property
    def astray(self) -> bool:
        """Whether it would look for repeats elsewhere than in an output: of prompts in what is longer than the shortest
        of the batch, and never in a prefix."""
        return bool(self.settings.no_repeat) and not self.writer.counts_prefix

    def options(self, rows: Sequence[Row], forbid: bool) -> dict[str, Any]:
        """What CTranslate2 is told, with or without what may not be written."""
        settings = self.settings
        given: dict[str, Any] = {"length_penalty": self.alpha, "beam_size": 1, "end_token": [*self.stops]}
        if settings.method == "beam" and settings.beams > 1:
            given |= {"beam_size": settings.beams, "num_hypotheses": settings.beams, "patience": PATIENCE}
        if settings.method == "sample":
            given |= {
                "num_hypotheses": settings.best,
                "sampling_topk": settings.top_k or 0,
                "sampling_topp": settings.top_p,
                "sampling_temperature": settings.temperature,
            }
        if forbid:
            avoid = {sequence for row in rows for sequence in row.avoid}
            given["suppress_sequences"] = [*((piece,) for piece in sorted(self.banned)), *sorted(avoid)]
            given["no_repeat_ngram_size"] = settings.no_repeat
        return given

    def greedy(self, rows: Sequence[Row]) -> list[Found]:
        """The likeliest pieces; where one may not be written, once more with all of that forbidden."""
        outputs = self.likeliest(rows)
        found = [self.summed(row, output) for row, output in zip(rows, outputs, strict=True)]
        several = len(self.stops) > 1
        bad = [n for n, row in enumerate(rows) if several or row.prefix or not self.allowed(row, outputs[n])]
        if bad:
            for number, outputs_of in zip(bad, self.forbidden([rows[number] for number in bad]), strict=True):
                found[number] = outputs_of
        return found

    def likeliest(self, rows: Sequence[Row]) -> list[Output]:
        """Greedy outputs, none past its own limit; pieces are listened to only where someone wants to know.

        Every piece that is heard of makes CTranslate2 wait for Python.
        """
        options = self.options(rows, forbid=False)
        if not self.settings.probabilities:
            return [one[0] for one in self.write(rows, options, None)]
        heard: list[list[float]] = [[] for _ in rows]
        written = self.write(rows, options, lambda row, piece, value: heard[row].append(value))
        outputs = [one[0]._replace(heard=tuple(values)) for one, values in zip(written, heard, strict=True)]
        return [shortened(output, row.limit) for output, row in zip(outputs, rows, strict=True)]

    def summed(self, row: Row, output: Output) -> Found:
        """A greedy output; of one past its limit the sum is known only where its pieces were listened to."""
        if not output.length:
            return None
        if output.heard:
            return [self.told(output, output.heard)]
        if output.length > row.limit:
            return self.hypotheses([row], [output])
        return [self.counted(output)]

    def forbidden(self, rows: Sequence[Row]) -> list[Found]:
        """Outputs with all forbidden that may not be written, rows that avoid the same together."""
        found: list[Found] = [None] * len(rows)
        if self.astray:
            return found
        for avoid in dict.fromkeys(row.avoid for row in rows):
            some = [number for number, row in enumerate(rows) if row.avoid == avoid]
            alike = [rows[number] for number in some]
            written = self.write(alike, self.options(alike, forbid=True), None)
            for number, outputs in zip(some, written, strict=True):
                if all(output.length for output in outputs):
                    found[number] = self.hypotheses([rows[number]] * len(outputs), outputs)
        return found

    def beam(self, rows: Sequence[Row]) -> list[Found]:
        """The best hypotheses; a piece that may not be written ends the one it is written in.

        So it takes part in the softmax, as with us, and its hypothesis never goes on. Where one is among those that are
        told, our own search is asked. One that is not told had a lower score than all that are, and so had every
        end it kept from being counted, at most one each: our own search ends at the same step with the same best.
        """
        options = self.options((), forbid=False) | {"end_token": [*self.stops, *sorted(self.banned)]}
        written = self.write(rows, options, None)
        whole = [number for number, row in enumerate(rows) if self.finished(row, written[number])]
        ranked = [self.ranked(rows[number], written[number]) for number in whole]
        found: list[Found] = [None] * len(rows)
        for number, told in zip(whole, self.known([rows[number] for number in whole], ranked), strict=True):
            found[number] = told
        return found

    def known(self, rows: Sequence[Row], ranked: Sequence[list[Output] | None]) -> list[Found]:
        """Ranked outputs as ours; measured only where someone wants to know, or the search does not know their sums."""
        if not (self.settings.probabilities or len(self.stops) > 1 or any(row.prefix for row in rows)):
            return [None if order is None else [self.counted(output) for output in order] for order in ranked]
        chosen = [(number, output) for number, order in enumerate(ranked) for output in order or ()]
        told = self.hypotheses([rows[number] for number, _ in chosen], [output for _, output in chosen])
        found: list[Found] = [None if order is None else [] for order in ranked]
        for (number, output), hypothesis in zip(chosen, told, strict=True):
            same = found[number] is not None and self.agrees(rows[number], output, hypothesis)
            found[number] = [*(found[number] or ()), hypothesis] if same else None
        return found

    def agrees(self, row: Row, output: Output, found: Hypothesis) -> bool:
        """Whether the search went by the probabilities that were measured."""
        known = found.piece_log_probabilities[len(row.prefix) :]
        return abs(output.total - sum(known, 0.0)) <= DIFFERENCE * max(len(known), 1)

    def finished(self, row: Row, outputs: Sequence[Output]) -> bool:
        """Whether the search was over before the limit, and nothing was written that may not be.

        Before its last step fewer had ended than there are beams, so one of those that are told ended in that step.
        """
        if row.prefix and not self.writer.counts_prefix:
            return False
        enough = len(outputs) == self.settings.beams and all(one.complete for one in outputs)
        return enough and all(one.length <= row.limit and self.allowed(row, one) for one in outputs)

    def ranked(self, row: Row, outputs: Sequence[Output]) -> list[Output] | None:
        """The best as we rank them; None where one that CTranslate2 left out might be among them."""
        begun, score, alpha = self.begun(row, outputs), self.penalty.score, self.alpha
        lengths = [one.length for one in outputs]
        scored = [(score(begun + one.total, length), one) for one, length in zip(outputs, lengths, strict=True)]
        best = sorted(scored, key=lambda pair: (-pair[0], pair[1].pieces))[: self.settings.best]
        # What was left out has a lower sum for its length; what it begins with weighs least in the longest.
        lowest = min(one.total / length**alpha for one, length in zip(outputs, lengths, strict=True))
        longest = max(lengths)
        reach = score(begun + lowest * longest**alpha, longest)
        # Sums of the same pieces differ by rounding.
        return [one for _, one in best] if reach <= best[-1][0] + self.settings.margin else None

    def begun(self, row: Row, outputs: Sequence[Output]) -> float:
        """The log-probability of what the output had to begin with, which CTranslate2 does not count."""
        if not row.prefix:
            return 0.0
        (known,) = self.measure([row], outputs[:1])
        return sum(known[: len(row.prefix)], 0.0)

    def sample(self, rows: Sequence[Row]) -> list[Found]:
        """Samples in the order of ours: the complete ones first, then by their scores."""
        found = self.forbidden(rows)
        return [told and sorted(told, key=lambda one: (not one.complete, -one.score)) for told in found]

    def write(self, rows: Sequence[Row], options: Options, hear: Callable[..., None] | None) -> list[list[Output]]:
        return self.writer.write(rows, options, self.stops, hear)

    def allowed(self, row: Row, output: Output) -> bool:
        """Whether an output holds nothing that may not be written."""
        if not self.barred.isdisjoint(output.pieces[len(row.prefix) :] if row.prefix else output.pieces):
            return False
        if not (row.avoid or self.settings.no_repeat):
            return True
        blocks: list[Block] = [Avoid(row.avoid)] if row.avoid else []
        blocks += [NoRepeat(self.settings.no_repeat)] if self.settings.no_repeat else []
        steps = range(len(row.prefix), len(output.pieces))
        return not any(
            output.pieces[at] in block.blocked(Live(output.pieces[:at], (), 0.0, 0)) for block in blocks for at in steps
        )

    def hypotheses(self, rows: Sequence[Row], outputs: Sequence[Output]) -> list[Hypothesis]:
        """Outputs as ours, with the probability of each piece as the model has it."""
        cut = [shortened(output, row.limit) for row, output in zip(rows, outputs, strict=True)]
        if not cut:
            return []
        return [self.told(*pair) for pair in zip(cut, self.measure(rows, cut), strict=True)]

    def measure(self, rows: Sequence[Row], outputs: Sequence[Output]) -> list[tuple[float, ...]]:
        """The log-probability of each piece, and of an end that of all pieces that end a text."""
        by_stop = [self.writer.measure(rows, outputs, stop) for stop in self.stops]
        if len(by_stop) == 1:
            return by_stop[0]
        return [_summed(same) if one.complete else same[0] for one, *same in zip(outputs, *by_stop, strict=True)]

    def counted(self, output: Output) -> Hypothesis:
        """An output by the sum that CTranslate2 told of it."""
        score = self.penalty.score(output.total, output.length)
        return Hypothesis(output.pieces, score, output.total, (), output.complete)

    def told(self, output: Output, known: Sequence[float]) -> Hypothesis:
        total = sum(known, 0.0)
        score = self.penalty.score(total, len(known))
        return Hypothesis(output.pieces, score, total, tuple(known), output.complete)


def shortened(output: Output, limit: int) -> Output:
    """An output as it would have been at a lower limit."""
    if output.length <= limit:
        return output
    return Output(output.pieces[:limit], output.total, False, output.heard[:limit])


def _summed(measured: Sequence[tuple[float, ...]]) -> tuple[float, ...]:
    """One output measured with each of its possible ends."""
    ends = torch.tensor([known[-1] for known in measured], dtype=torch.float64)
    return (*measured[0][:-1], float(ends.logsumexp(0)))
