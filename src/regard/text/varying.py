"""The same text cut in other ways: merges are left out by chance   (BPE-dropout, Provilkov et al. 2020).

    at each step:  of the pairs that could be merged, each is passed over with probability `dropout`;
                   the first by rank that is not is merged; where all are passed over, the word stays as it is

What is drawn depends on the text, the seed and the number of the cut, on nothing else: not on what was cut before, nor
on how many processes cut.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from hashlib import blake2b
from itertools import pairwise
from random import Random

from regard.text.kinds import UNKNOWN, Vocabulary


class Varying:
    """The words of a vocabulary of merges, each cut as chance has it."""

    def __init__(self, vocabulary: Vocabulary, dropout: float, extra: Collection[str] = ()) -> None:
        self.dropout, self.extra = dropout, frozenset(extra)
        self.ids: Mapping[str, int] = vocabulary.ids
        self.ranks = {pair: rank for rank, pair in enumerate(vocabulary.merges)}

    def cut(self, words: Iterable[str], draw: Callable[[], float]) -> list[int]:
        """The tokens of these words, one word after the other."""
        return [self.ids.get(piece, UNKNOWN) for word in words for piece in self.pieces(word, draw)]

    def pieces(self, word: str, draw: Callable[[], float]) -> list[str]:
        """A word in pieces; an extra piece, which no word can be, is one."""
        pieces = [word] if word in self.extra else list(word)
        while (place := self._merged(pieces, draw)) is not None:
            pieces[place : place + 2] = [pieces[place] + pieces[place + 1]]
        return pieces

    def _merged(self, pieces: Sequence[str], draw: Callable[[], float]) -> int | None:
        """Where the next merge is; drawing in the order of ranks, until one is kept, is drawing for all of them."""
        ranks = self.ranks
        found = [(ranks[pair], place) for place, pair in enumerate(pairwise(pieces)) if pair in ranks]
        return next((place for _, place in sorted(found) if draw() >= self.dropout), None)


def chance(seed: int, number: int, text: str) -> Callable[[], float]:
    """Draws from [0, 1) that belong to a text and to the number of its cut."""
    told = f"{seed} {number} {text}".encode(errors="surrogatepass")
    return Random(blake2b(told, digest_size=8).digest()).random
