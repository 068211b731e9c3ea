"""Our own search over the pieces that texts like these were rendered by."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, compress

import torch

from regard.attention import watched
from regard.decode import Asked, Hypothesis, Progressing, Request, SearchSettings, search, stream
from regard.decode.requests import check_must, check_requests, check_sources, unwritten
from regard.engines.shortlist.lexicon import Lexicon
from regard.engines.shortlist.narrow import Narrow
from regard.errors import RequestError
from regard.models import Decoder, Transformer
from regard.nn import native
from regard.tasks.sides import sources


@dataclass(frozen=True)
class ShortlistSearcher:
    """A model, and the lexicon that says what a text is written with; `joint`: whether it may copy what it reads."""

    model: Transformer
    lexicon: Lexicon
    joint: bool

    @property
    def callers(self) -> int:
        ours = not watched() and native.ready() and self.device.type == "cpu"
        return native.threads() if ours else 1

    @property
    def device(self) -> torch.device:
        return self.model.embedding.vectors.device

    def ending(self, model: Decoder, stops: Sequence[int]) -> "ShortlistSearcher":
        raise RequestError("The engine shortlist cannot end a text with any of several pieces; use --engine torch.")

    @torch.inference_mode()
    def search(self, asked: Asked) -> list[list[Hypothesis]]:
        asked = self.checked(asked)
        known = [self.lexicon.knows(source) for source in asked.sources]
        # Nobody is searched among all pieces for another's sake.
        short, whole = (_some(asked, [one is kind for one in known]) for kind in (True, False))
        found = {True: iter(self.shortly(short)), False: iter(self.wholly(whole))}
        return [next(found[one]) for one in known]

    def shortly(self, asked: Asked) -> list[list[Hypothesis]]:
        """Outputs of texts of which it is known what they may be written with."""
        if not asked.sources:
            return []
        narrow, requests, banned = self.narrowed(asked)
        source, real = sources(asked.sources, self.device)
        found = search(narrow, source, real, asked.settings, requests, None, banned)
        return [[replace(one, pieces=narrow.names(one.pieces)) for one in outputs] for outputs in found]

    def wholly(self, asked: Asked) -> list[list[Hypothesis]]:
        """Outputs of texts of which it is not, as they would be without a shortlist."""
        if not asked.sources:
            return []
        source, real = sources(asked.sources, self.device)
        return search(self.model, source, real, asked.settings, asked.requests, None, asked.banned)

    def stream(self, asked: Asked) -> Iterator[Progressing]:
        asked = self.checked(asked)
        source, real = sources(asked.sources, self.device)
        if not self.lexicon.knows(asked.sources[0]):
            request = None if asked.requests is None else asked.requests[0]
            yield from stream(self.model, source, real, asked.settings, request, None, asked.banned)
            return
        narrow, (request,), banned = self.narrowed(asked)
        for grown in stream(narrow, source, real, asked.settings, request, None, banned):
            outputs = tuple(replace(one, pieces=narrow.names(one.pieces)) for one in grown.outputs)
            yield Progressing(narrow.names(grown.settled), outputs)

    def checked(self, asked: Asked) -> Asked:
        """The same with a request for each, if it can be done; what is wrong is told in the model's numbers."""
        refuse_sampling(asked.settings)
        requests = [Request()] * len(asked.sources) if asked.requests is None else list(asked.requests)
        check_sources([*map(len, asked.sources)])
        check_requests(requests, len(asked.sources), self.model.vocabulary, asked.settings)
        check_must(requests, unwritten(asked.banned, self.model.vocabulary))
        return replace(asked, requests=requests)

    def narrowed(self, asked: Asked) -> tuple[Narrow, list[Request], tuple[int, ...]]:
        """The model for these texts, and what is asked in its numbers."""
        requests = asked.requests or ()
        barred = set(unwritten(asked.banned, self.model.vocabulary))
        besides = [self.besides(*pair, barred) for pair in zip(asked.sources, requests, strict=True)]
        narrow = Narrow(self.model, self.lexicon.offered(asked.sources, besides))
        known = frozenset(narrow.pieces.tolist())
        banned = sorted(known.intersection(barred) - {self.model.vocabulary.begin})
        return narrow, [_numbered(one, narrow, known) for one in requests], narrow.numbers(banned)

    def besides(self, source: Sequence[int], request: Request, barred: set[int]) -> set[int]:
        """What a text may need that its lexicon does not know of."""
        asked = chain(request.prefix, request.before, *chain.from_iterable(request.must))
        copied = set(source) - barred if self.joint else ()
        return {self.model.vocabulary.begin, self.model.vocabulary.end, *asked, *copied}


def _some(asked: Asked, which: Sequence[bool]) -> Asked:
    """What is asked of some of the sources."""
    requests = asked.requests or ()
    return replace(asked, sources=[*compress(asked.sources, which)], requests=[*compress(requests, which)])


def refuse_sampling(settings: SearchSettings) -> None:
    """A RequestError for what hangs on how many pieces there are to draw from, and so on who is in the batch."""
    if settings.method == "sample":
        raise RequestError("The engine shortlist cannot draw samples; use --engine torch.")


def _numbered(request: Request, narrow: Narrow, known: frozenset[int]) -> Request:
    """What is asked in a narrow model's numbers; what nobody is offered need not be avoided."""
    if not (request.prefix or request.must or request.avoid or request.before):
        return request
    return replace(
        request,
        prefix=narrow.numbers(request.prefix),
        must=tuple(tuple(map(narrow.numbers, entry)) for entry in request.must),
        inside=frozenset(narrow.numbers(sorted(known & request.inside))),
        avoid=tuple(narrow.numbers(one) for one in request.avoid if known.issuperset(one)),
        before=narrow.numbers(request.before),
    )
