"""Unigram pieces (Kudo 2018), learned the same way every time.

The library's own trainer sums in the order of a randomly seeded hash table and gives another vocabulary on every run.
So only its fast, deterministic parts are used: byte-pair merges propose candidates, and its best segmentation counts
them (hard EM); then the candidates whose loss costs the text least are dropped, a quarter at a time.
"""

import math
from collections import Counter
from collections.abc import Iterable

from tokenizers import Tokenizer, models

LONGEST = 16
_KEPT = 0.75
# Stands for the unknown while the model learns; runs of text hold a mark where they had a space, never a space.
_OUTSIDE = " "


def learn_scores(words: Counter[str], candidates: Iterable[str], room: int) -> dict[str, float]:
    """The log-probability of each of at most `room` pieces, every single character among them."""
    scores = _scores(_occurrences(words, set(candidates)))
    while True:
        for _ in range(2):
            counts = _used(words, scores)
            scores = _scores(counts)
        if len(scores) <= room:
            return dict(sorted(scores.items(), key=lambda entry: (-entry[1], entry[0])))
        scores = _pruned(scores, counts, max(room, int(len(scores) * _KEPT)))


def _occurrences(words: Counter[str], candidates: set[str]) -> Counter[str]:
    """How often each candidate stands anywhere in the words; overlaps count."""
    counts: Counter[str] = Counter()
    for word, times in words.items():
        for start in range(len(word)):
            for end in range(start + 1, min(start + LONGEST, len(word)) + 1):
                if word[start:end] in candidates:
                    counts[word[start:end]] += times
    return counts


def _scores(counts: Counter[str]) -> dict[str, float]:
    total = math.log(sum(counts.values()))
    return {piece: math.log(count) - total for piece, count in counts.items()}


def _used(words: Counter[str], scores: dict[str, float]) -> Counter[str]:
    """How often each piece is part of the best segmentation of a word."""
    pieces = [_OUTSIDE, *scores]
    model = Tokenizer(models.Unigram([(_OUTSIDE, min(scores.values())), *scores.items()], unk_id=0))
    # A character stays even where longer pieces have taken all its places: some text will need it alone.
    counts = Counter({piece: 1 for piece in scores if len(piece) == 1})
    for encoding, times in zip(model.encode_batch_fast(list(words)), words.values(), strict=True):
        for number in encoding.ids:
            counts[pieces[number]] += times
    return counts


def _pruned(scores: dict[str, float], counts: Counter[str], room: int) -> dict[str, float]:
    """The single characters, and the longer pieces without which the text would become least likely."""
    losses = {piece: counts[piece] * (scores[piece] - _without(piece, scores)) for piece in scores if len(piece) > 1}
    single = [piece for piece in scores if len(piece) == 1]
    kept = sorted(losses, key=lambda piece: (-losses[piece], piece))[: max(room - len(single), 0)]
    return {piece: scores[piece] for piece in [*single, *kept]}


def _without(piece: str, scores: dict[str, float]) -> float:
    """The log-probability of the best way to write a piece with other pieces."""
    best = [0.0] + [-math.inf] * len(piece)
    for end in range(1, len(piece) + 1):
        for start in range(end):
            score = scores.get(piece[start:end])
            if score is not None and end - start < len(piece):
                best[end] = max(best[end], best[start] + score)
    return best[-1]
