"""Where the copied words of an output come from.

What was written is read once more, alone and without padding, so that neither the beams of the search nor a batch has a
say: the weights are those of the hypothesis that survived.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from regard.tasks.drafting import Draft, Drafting, joined
from regard.tasks.lines import Reader
from regard.text.encoded import Span
from regard.text.spans import words_of


@dataclass(frozen=True)
class Copied:
    """A word that was copied: its characters in the output, those in the source, and how much of its probability was
    copying, by its least sure piece."""

    text: str
    span: Span
    source: Span
    share: float


@dataclass(frozen=True)
class Pointed:
    """For every written piece how much of it was copied, and the weights over the pieces of the source."""

    shares: list[float]
    weights: Float[Tensor, "T S"]


def copied(drafting: Drafting, drafts: Sequence[Draft], begin: int) -> tuple[Copied, ...] | None:
    """The copied words of a text in one or several parts, each at its place in the whole; None if nothing can be."""
    texts = [draft.text for draft in drafts]
    starts = [len(joined(texts[: place + 1])) - len(text) for place, text in enumerate(texts)]
    found = [_of_part(drafting, draft, begin) for draft in drafts]
    moved = [
        replace(one, span=(one.span[0] + start, one.span[1] + start))
        for part, start in zip(found, starts, strict=True)
        for one in part or ()
    ]
    return None if all(part is None for part in found) else tuple(moved)


def _of_part(drafting: Drafting, draft: Draft, begin: int) -> tuple[Copied, ...] | None:
    """The copied words of a draft: those more likely copied than generated, piece by piece; None if nothing can be.

    What stands in a slot is the source's own word, whichever way the slot was chosen.
    """
    pieces, slots = draft.hypotheses[0].pieces, drafting.reader.tokenizer.size
    pointed = pointing(drafting.generating.model, draft.job.pieces, pieces, begin)
    if pointed is None:
        return None
    shares = [1.0 if piece >= slots else share for piece, share in zip(pieces, pointed.shares, strict=True)]
    pointed = replace(pointed, shares=shares, weights=pointed.weights[:, draft.job.before :])
    ends = spans(drafting.reader, pieces, draft.job.read.words, draft.text)
    found = (_copied(draft, pointed, ends, word) for word in _cores(draft.text, ends))
    return tuple(one for one in found if one is not None)


@torch.inference_mode()
def pointing(model: Any, source: Sequence[int], pieces: Sequence[int], begin: int) -> Pointed | None:
    """How a model that copies wrote these pieces; None of one that does not, or of nothing written."""
    if not pieces or not hasattr(getattr(model, "output", None), "chosen"):
        return None
    device = next(model.parameters()).device
    decoded = model.eval()(*(torch.tensor([row], device=device) for row in (source, [begin, *pieces[:-1]])))
    chosen = model.output.chosen(decoded, torch.tensor([pieces], device=device))
    return Pointed(chosen.copied[0].tolist(), decoded.weights[0].cpu())


def spans(reader: Reader, pieces: Sequence[int], words: Sequence[str], text: str) -> list[Span]:
    """The characters of a text that each of its pieces gave."""
    ends = (min(len(reader.text(pieces[:count], words)), len(text)) for count in range(len(pieces) + 1))
    return list(pairwise(accumulate(ends, max)))


def _cores(text: str, ends: Sequence[Span]) -> Iterator[range]:
    """The pieces of each word without the marks around it; of a word of marks all of them."""
    for word in words_of(text, ends):
        lettered = [piece for piece in word.pieces if any(map(str.isalnum, text[slice(*ends[piece])]))]
        inner = lettered or list(word.pieces)
        if inner:
            yield range(inner[0], inner[-1] + 1)


def _copied(draft: Draft, pointed: Pointed, ends: Sequence[Span], word: range) -> Copied | None:
    share = min(pointed.shares[piece] for piece in word)
    place = _place(draft, pointed, word) if share > 0.5 else None
    if place is None:
        return None
    read, text = draft.job.read, draft.text
    span = _trimmed(text, (ends[word[0]][0], ends[word[-1]][1]))
    return Copied(text[slice(*span)], span, (read.spans[place][0], read.spans[place + len(word) - 1][1]), share)


def _place(draft: Draft, pointed: Pointed, word: range) -> int | None:
    """Where in the source these pieces stand in a row: of several places the one most looked at, then the first."""
    source, wanted = draft.job.read.pieces, draft.hypotheses[0].pieces[word.start : word.stop]
    starts = [one for one in range(len(source) - len(word) + 1) if source[one : one + len(word)] == wanted]
    return max(starts, key=lambda start: float(_along(pointed.weights, word.start, start, len(word))), default=None)


def _along(weights: Float[Tensor, "T S"], row: int, column: int, length: int) -> Float[Tensor, ""]:
    """The sum of the weights on a diagonal."""
    return weights[row : row + length, column : column + length].diagonal().sum()


def _trimmed(text: str, span: Span) -> Span:
    start, end = span
    found = text[start:end]
    return (start + len(found) - len(found.lstrip()), end - len(found) + len(found.rstrip()))
