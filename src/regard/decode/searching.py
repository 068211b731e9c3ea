"""Search over any model that generates."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from regard.decode.batch import Batch, Following
from regard.decode.coverage import Looking
from regard.decode.hypotheses import Hypothesis, Pieces, Request
from regard.decode.requests import unpadded
from regard.decode.searchers import Asked, Progressing, Searcher, searcher_of
from regard.decode.settings import SearchSettings
from regard.decode.swift import Swift, plain
from regard.models.protocols import Decoder


@torch.no_grad()
def search(
    model: Decoder,
    source: Int[Tensor, "B S"],
    real: Bool[Tensor, "B S"] | None,
    settings: SearchSettings,
    requests: Sequence[Request] | None = None,
    looking: Looking | None = None,
    banned: Collection[int] = (),
) -> list[list[Hypothesis]]:
    """The best outputs of each source, best first, at least one of each.

    `banned` pieces are never written, and neither is the one that begins a text. A source gets the same outputs alone
    and in any batch (see `ties`). Outputs that reached their limit stand behind those that are complete.
    """
    if (searcher := searcher_of(model)) is not None:
        return searched(searcher, Asked(unpadded(source, real), settings, requests, tuple(banned)))
    simply = source.device.type == "cpu" and plain(model, settings, requests, banned)
    batch = (Swift if simply else Batch)(model, source, real, settings, requests, looking, banned)
    for _ in batch.steps():
        pass
    return [told(following.outputs, settings) for following in batch.everyone]


def stream(
    model: Decoder,
    source: Int[Tensor, "1 S"],
    real: Bool[Tensor, "1 S"] | None,
    settings: SearchSettings,
    request: Request | None = None,
    looking: Looking | None = None,
    banned: Collection[int] = (),
) -> Iterator[Progressing]:
    """The settled beginning of the best output whenever it has grown, and at last the outputs as of `search`.

    Settled is what everything that can still win begins with; it is never taken back.
    """
    wishes = None if request is None else [request]
    if (searcher := searcher_of(model)) is not None:
        for grown in searcher.stream(Asked(unpadded(source, real), settings, wishes, tuple(banned))):
            yield Progressing(grown.settled, tuple(told(grown.outputs, settings)))
        return
    settled: Pieces = ()
    with torch.no_grad():
        batch = Batch(model, source, real, settings, wishes, looking, banned)
    steps, following = batch.steps(), batch.everyone[0]
    while not following.outputs:
        with torch.no_grad():
            next(steps)
        found = common(contenders(following))
        if len(found) > len(settled):
            settled = found
            yield Progressing(settled)
    yield Progressing(following.outputs[0].pieces, tuple(told(following.outputs, settings)))


def searched(searcher: Searcher, asked: Asked) -> list[list[Hypothesis]]:
    """The same by what searches by itself."""
    return [told(outputs, asked.settings) for outputs in searcher.search(asked)]


def told(outputs: Sequence[Hypothesis], settings: SearchSettings) -> list[Hypothesis]:
    """Outputs with as much as was asked for."""
    if settings.probabilities:
        return list(outputs)
    return [replace(one, piece_log_probabilities=()) if one.piece_log_probabilities else one for one in outputs]


def contenders(following: Following) -> list[Pieces]:
    """All that may still become the best output: what is alive, and of the ended what rounding cannot tell apart."""
    complete = [each for each in following.ended if each.complete]
    best = max((each.score for each in complete), default=0.0) - following.sought.settings.margin
    return [one.pieces for one in following.live] + [each.pieces for each in complete if each.score >= best]


def common(texts: Sequence[Pieces]) -> Pieces:
    """What all of them begin with."""
    if not texts:
        return ()
    low, high = min(texts), max(texts)
    shared = zip(low, high, strict=False)
    return low[: next((at for at, (a, b) in enumerate(shared) if a != b), min(len(low), len(high)))]
