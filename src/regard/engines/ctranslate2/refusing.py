"""What CTranslate2's search cannot do, each told in one sentence that names the engines that can."""

from collections.abc import Iterator

from regard.decode import Asked, Request, SearchSettings
from regard.errors import RequestError

METHODS = ("greedy", "beam", "sample")
# Both are searched by our own search.
OURS = "torch or onnx"


def refuse(asked: Asked) -> None:
    """A RequestError for the first thing that is asked and cannot be."""
    wishes = [] if asked.requests is None else list(asked.requests)
    found = [*_settings(asked.settings), *(said for wish in wishes for said in _request(wish, asked.settings))]
    # A graph does not show what was looked at either.
    if asked.settings.coverage:
        told = f"weigh what was looked at as we do (search.coverage = {asked.settings.coverage})"
        raise RequestError(f"The engine ctranslate2 cannot {told}; use --engine torch.")
    for said in found:
        raise RequestError(f"The engine ctranslate2 cannot {said}; use --engine {OURS}.")


def _settings(settings: SearchSettings) -> Iterator[str]:
    if settings.method not in METHODS:
        yield f"search by search.method = {settings.method!r} (it can by {', '.join(METHODS)})"
    if settings.method == "beam" and settings.stop != "first":
        yield f"go on until it is sure (search.stop = {settings.stop!r})"
    if settings.method == "beam" and settings.length.name not in ("none", "average"):
        yield f"weigh lengths by search.length = {settings.length} (it can by none and average)"
    if settings.method != "sample":
        return
    if settings.seed:
        yield f"draw by a seed (search.seed = {settings.seed})"
    if settings.min_p:
        yield f"sample by search.min_p = {settings.min_p}"
    if settings.top_k is not None and settings.top_p < 1:
        yield f"judge search.top_k = {settings.top_k} and search.top_p = {settings.top_p} on one distribution (set one)"


def _request(request: Request, settings: SearchSettings) -> Iterator[str]:
    if request.must:
        yield "see to it that words appear (glossary)"
    if request.seed is not None and settings.method == "sample":
        yield f"give an input its own seed ({request.seed})"


def refuse_stream(settings: SearchSettings) -> None:
    """A RequestError where nothing is settled before all is."""
    if settings.method == "beam" and settings.beams > 1:
        raise RequestError(
            f"The engine ctranslate2 cannot show what is settled of {settings.beams} beams while they grow; "
            f"use --engine {OURS}, or search.method=greedy."
        )
    if settings.best > 1:
        raise RequestError(
            f"The engine ctranslate2 cannot show {settings.best} samples while they grow; use --engine {OURS}."
        )
