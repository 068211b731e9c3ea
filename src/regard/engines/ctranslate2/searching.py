"""Search by CTranslate2, with the outputs, scores and probabilities our own search would give.

Its beam search follows the same hypotheses as ours: the likeliest sums go on, what ends is set aside and another takes
its place, and it is over once as many have ended as there are beams. Five things differ, and each is seen to here:

- To a source of nothing but the end it gives nothing at all. Our own search does.
- A limit holds for its whole batch, ours for each input. What went past its own limit is searched again by our own.
- What it may not write it takes out before the softmax, so that the rest grows; ours leaves probabilities as they are.
  So it may write everything: greedy search is repeated with what was written and may not be forbidden, which changes no
  choice, and measured; a beam is ended by such a piece, and where one is told, or a sequence that may not be written
  (`no_repeat`, `avoid`), our own search is asked.
- Several pieces that end a text are one to us, with the probability of all; it looks at each by itself. Where one is
  written, all are measured.
- It ranks without the log-probabilities of a prefix and divides by length^alpha only. So all it found are ranked again,
  and where one that it threw away might have won, our own search decides.

What is left are steps at which more than half of the continuations it looks at (two a beam) would end, one of them with
a piece that may not be written: it then goes on with what has ended. And near-ties: two hypotheses whose scores differ
by rounding alone, of which we take the canonically better one (`regard.decode.ties`) and CTranslate2 whichever its
arithmetic made larger.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import torch

from regard.decode import Asked, Hypothesis, Progressing, Request, SearchSettings, Stepwise, search
from regard.decode.requests import check_requests, check_sources, unwritten
from regard.engines.ctranslate2.refusing import refuse, refuse_stream
from regard.engines.ctranslate2.running import Output, Row, Writer, listened
from regard.engines.ctranslate2.ways import Found, Searching
from regard.models import Decoder
from regard.tasks.sides import sources

CPU = torch.device("cpu")


@dataclass(frozen=True)
class CTranslate2Searcher:
    """A writer, the model that is asked where it cannot be and where that is, the pieces that end an output, and how
    many may call."""

    writer: Writer
    model: Decoder
    stops: tuple[int, ...]
    callers: int = 1
    device: torch.device = CPU
    # What was asked last and how it is searched, which most calls have in common with the one before.
    last: list[tuple[Asked, Searching]] = field(default_factory=list, compare=False, repr=False)

    def ending(self, model: Decoder, stops: Sequence[int]) -> "CTranslate2Searcher":
        return CTranslate2Searcher(self.writer, model, tuple(stops), self.callers, self.device)

    def search(self, asked: Asked) -> list[list[Hypothesis]]:
        rows = self.rows(asked)
        known = [number for number, row in enumerate(rows) if self.fits(row)]
        found: list[Found] = [None] * len(rows)
        searching = self.searching(asked)
        for number, outputs in zip(known, searching([rows[number] for number in known]), strict=True):
            found[number] = outputs
        again = [number for number, outputs in enumerate(found) if outputs is None]
        for number, outputs in zip(again, self.ours(asked, again), strict=True):
            found[number] = outputs
        return [outputs for outputs in found if outputs is not None]

    def stream(self, asked: Asked) -> Iterator[Progressing]:
        """What is written, piece by piece, of one greedy output or one sample."""
        refuse_stream(asked.settings)
        (row,) = self.rows(asked)
        searching = self.searching(asked)
        if not self.fits(row) or (searching.astray and row.prefix):
            yield self.whole(asked)
            return
        done: list[list[Output]] = []
        pieces: list[int] = []
        options = searching.options([row], forbid=True)
        for piece in listened(lambda hear: done.extend(self.writer.write([row], options, self.stops, hear))):
            if piece not in self.stops:
                pieces.append(piece)
                yield Progressing(tuple(pieces))
        if not done[0][0].length:
            yield self.whole(asked)
            return
        (output,) = searching.hypotheses([row], [done[0][0]])
        yield Progressing(output.pieces, (output,))

    def searching(self, asked: Asked) -> Searching:
        for last, searching in self.last:
            if last.settings is asked.settings and last.banned == asked.banned:
                return searching
        banned = frozenset(unwritten(asked.banned, self.model.vocabulary)) - set(self.stops)
        made = Searching(self.writer, self.stops, asked.settings, banned)
        self.last[:] = [(Asked((), asked.settings, None, asked.banned), made)]
        return made

    def whole(self, asked: Asked) -> Progressing:
        (outputs,) = self.search(asked)
        return Progressing(outputs[0].pieces, tuple(outputs))

    def rows(self, asked: Asked) -> list[Row]:
        """The inputs, after all that can be wrong with them was looked for."""
        requests = [Request()] * len(asked.sources) if asked.requests is None else asked.requests
        check_sources([*map(len, asked.sources)])
        check_requests(requests, len(asked.sources), self.model.vocabulary, asked.settings)
        refuse(asked)
        return [_row(tuple(source), one, asked.settings) for source, one in zip(asked.sources, requests, strict=True)]

    def fits(self, row: Row) -> bool:
        """Whether CTranslate2 has positions for it, and nothing came before that it could repeat unseen."""
        return not row.before and (self.writer.positions is None or self.writer.reach(row) <= self.writer.positions)

    def ours(self, asked: Asked, numbers: Sequence[int]) -> list[list[Hypothesis]]:
        """What our own search finds for some of the inputs."""
        if not numbers:
            return []
        source, real = sources([asked.sources[number] for number in numbers], self.device)
        requests = None if asked.requests is None else [asked.requests[number] for number in numbers]
        return search(Stepwise(self.model), source, real, asked.settings, requests, None, asked.banned)


def _row(source: tuple[int, ...], request: Request, settings: SearchSettings) -> Row:
    computed = max(settings.limit(len(source)), len(request.prefix) + 1)
    limit = computed if request.longest is None else request.longest
    return Row(source, request.prefix, request.avoid, limit, request.before if settings.no_repeat else ())
