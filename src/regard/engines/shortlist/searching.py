"""Our own search over the pieces that texts like these were rendered by."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np
import torch

from regard.decode import Asked, Hypothesis, Progressing, Request, search, stream
from regard.decode.requests import check_requests, check_sources, unwritten
from regard.engines.shortlist.lexicon import Lexicon
from regard.engines.shortlist.narrow import Narrow
from regard.errors import RequestError
from regard.models import Decoder, Transformer
from regard.nn import native
from regard.tasks.sides import sources

CPU = torch.device("cpu")


@dataclass(frozen=True)
class ShortlistSearcher:
    """A model, and the lexicon that says what a text is written with; `joint`: whether it may copy what it reads."""

    model: Transformer
    lexicon: Lexicon
    joint: bool

    @property
    def callers(self) -> int:
        return native.threads() if native.ready() else 1

    def ending(self, model: Decoder, stops: Sequence[int]) -> "ShortlistSearcher":
        raise RequestError("The engine shortlist cannot end a text with any of several pieces; use --engine torch.")

    @torch.inference_mode()
    def search(self, asked: Asked) -> list[list[Hypothesis]]:
        narrow, requests, banned = self.narrowed(asked)
        source, real = sources(asked.sources, CPU)
        found = search(narrow, source, real, asked.settings, requests, None, banned)
        return [[replace(one, pieces=narrow.names(one.pieces)) for one in outputs] for outputs in found]

    def stream(self, asked: Asked) -> Iterator[Progressing]:
        narrow, (request,), banned = self.narrowed(asked)
        source, real = sources(asked.sources, CPU)
        for grown in stream(narrow, source, real, asked.settings, request, None, banned):
            outputs = tuple(replace(one, pieces=narrow.names(one.pieces)) for one in grown.outputs)
            yield Progressing(narrow.names(grown.settled), outputs)

    def narrowed(self, asked: Asked) -> tuple[Narrow, list[Request], tuple[int, ...]]:
        """The model for these texts, and what is asked in its numbers."""
        if asked.settings.method == "sample":
            # What is drawn hangs on what there is to draw from, and that on who is in the batch.
            raise RequestError("The engine shortlist cannot draw samples; use --engine torch.")
        requests = [Request()] * len(asked.sources) if asked.requests is None else list(asked.requests)
        check_sources([*map(len, asked.sources)])
        check_requests(requests, len(asked.sources), self.model.vocabulary, asked.settings)
        barred = set(unwritten(asked.banned, self.model.vocabulary))
        offered = [self.offered(source, one, barred) for source, one in zip(asked.sources, requests, strict=True)]
        narrow = Narrow(self.model, offered)
        known = barred.intersection(narrow.pieces.tolist()) - {self.model.vocabulary.begin}
        return narrow, [_numbered(one, narrow) for one in requests], narrow.numbers(sorted(known))

    def offered(self, source: Sequence[int], request: Request, barred: set[int]) -> np.ndarray:
        """What the rendering of a source may be written with."""
        begin, end = self.model.vocabulary.begin, self.model.vocabulary.end
        wanted = chain(request.prefix, request.before, *request.avoid, *chain.from_iterable(request.must))
        copied = [piece for piece in source if piece not in barred] if self.joint else []
        return self.lexicon.offered(source, {begin, end, *wanted, *copied})


def _numbered(request: Request, narrow: Narrow) -> Request:
    """What is asked in a narrow model's numbers."""
    inside = request.inside.intersection(narrow.pieces.tolist())
    return replace(
        request,
        prefix=narrow.numbers(request.prefix),
        must=tuple(tuple(map(narrow.numbers, entry)) for entry in request.must),
        inside=frozenset(narrow.numbers(sorted(inside))),
        avoid=tuple(map(narrow.numbers, request.avoid)),
        before=narrow.numbers(request.before),
    )
