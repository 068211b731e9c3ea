"""What can be asked, checked before anything is computed."""

from collections.abc import Collection, Iterator, Sequence
from itertools import compress

from jaxtyping import Bool, Int
from torch import Tensor

from regard.decode.coverage import Looking
from regard.decode.hypotheses import Pieces, Request
from regard.decode.settings import SearchSettings
from regard.errors import ConfigError, ModelError, RequestError
from regard.models.protocols import Vocabulary


def check_looking(settings: SearchSettings, looking: Looking | None) -> None:
    if settings.coverage and looking is None:
        raise ConfigError(
            f"coverage = {settings.coverage} needs the model's attention to its source, and nothing here shows it; "
            "set coverage = 0 or use a model with attention."
        )


def unpadded(source: Int[Tensor, "B S"], real: Bool[Tensor, "B S"] | None) -> list[Pieces]:
    """The pieces of each source."""
    if real is None:
        return [*map(tuple, source.tolist())]
    return [*map(tuple, map(compress, source.tolist(), real.tolist()))]


def check_sources(lengths: Sequence[int]) -> None:
    """A source of padding only cannot be computed alone, so its output would depend on its company."""
    if 0 in lengths:
        raise ModelError(f"Source {lengths.index(0)} of the batch has no real piece; give each at least its end.")


def check_requests(requests: Sequence[Request], sources: int, vocabulary: Vocabulary, settings: SearchSettings) -> None:
    """One request for each source, of pieces there are."""
    if len(requests) != sources:
        raise RequestError(f"{len(requests)} requests for {sources} sources; give one for each, or none at all.")
    for number, request in enumerate(requests):
        _check_pieces(f"Request {number}", request, vocabulary)
        _check_longest(f"Request {number}", request)
        if request.must and settings.method == "sample":
            raise RequestError(
                f"Request {number}: `must` needs a search that looks ahead; use method = 'beam' instead of 'sample'."
            )


def _check_pieces(place: str, request: Request, vocabulary: Vocabulary) -> None:
    for name, sequence in _sequences(request):
        if not sequence and name != "prefix":
            raise RequestError(f"{place}: `{name}` holds an empty sequence of pieces; leave it out.")
        wrong = [piece for piece in sequence if not 0 <= piece < vocabulary.target or piece == vocabulary.end]
        if wrong:
            raise RequestError(
                f"{place}: `{name}` holds piece {wrong[0]}, which is the end or outside the target's vocabulary of "
                f"{vocabulary.target}."
            )
    if any(not entry for entry in request.must):
        raise RequestError(f"{place}: `must` has an entry without alternatives, which nothing can meet; leave it out.")


def check_must(requests: Sequence[Request], banned: Collection[int]) -> None:
    """Nothing has to appear that is never written: the output would wait for it up to its limit."""
    for number, request in enumerate(requests):
        wrong = [piece for entry in request.must for sequence in entry for piece in sequence if piece in banned]
        if wrong:
            raise RequestError(
                f"Request {number}: `must` holds piece {wrong[0]}, which is never written; leave that sequence out."
            )


def _sequences(request: Request) -> Iterator[tuple[str, Pieces]]:
    yield "prefix", request.prefix
    yield from (("must", sequence) for entry in request.must for sequence in entry)
    yield from (("avoid", sequence) for sequence in request.avoid)


def _check_longest(place: str, request: Request) -> None:
    if request.longest is not None and request.longest <= len(request.prefix):
        raise RequestError(
            f"{place}: longest = {request.longest} leaves no room after a prefix of {len(request.prefix)} pieces; "
            f"give {len(request.prefix) + 1} or more."
        )


def unwritten(banned: Collection[int], vocabulary: Vocabulary) -> list[int]:
    """The pieces that are never written: the banned ones, and the one that begins a text unless it also ends it."""
    wrong = [piece for piece in banned if not 0 <= piece < vocabulary.target or piece == vocabulary.end]
    if wrong:
        raise RequestError(
            f"banned holds piece {wrong[0]}, which is the end or outside the target's vocabulary of "
            f"{vocabulary.target}; ban others."
        )
    return sorted({*banned, vocabulary.begin} - {vocabulary.end})
