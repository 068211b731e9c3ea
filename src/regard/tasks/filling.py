"""What stands where a text has a mark: the likeliest pieces for each, and the text with the first of them put in."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal, NamedTuple

import torch
from jaxtyping import Float
from pydantic import PositiveInt
from torch import Tensor

from regard.nn import IGNORE
from regard.tasks.grouping import GroupSettings, blocks, in_groups
from regard.tasks.masking import MARK, Masking
from regard.tasks.reading import Reading, rectangle
from regard.tasks.results import plain
from regard.text import TOKENIZERS, Tokenizer

MARKS = re.compile(r"<mask>|\[MASK\]")
# Log-probabilities that differ by less may be in another order beside other texts; then the text is read alone.
CLOSE = 1e-3


class FillSettings(GroupSettings):
    """How many pieces are offered for each mark, and how much text is read around it."""

    best: PositiveInt = 5
    # The most pieces read at once; by default as many as the longest text of training has. Of a longer text as much as
    # that is read around each mark, or nothing.
    longest: PositiveInt | None = None
    long: Literal["window", "refuse"] = "window"
    # A text without a mark gets some, always the same ones, and `found` says how often the piece was found again.
    hide: bool = False


class Fill(NamedTuple):
    """A piece for a mark."""

    text: str
    piece: str
    probability: float


@dataclass(frozen=True)
class Filled:
    """A text with the likeliest piece at every mark; `fills` has the likeliest few of each."""

    text: str
    # The mean log-probability of the pieces put in.
    score: float
    status: tuple[str, ...]
    fills: tuple[tuple[Fill, ...], ...] = ()
    # Of pieces hidden on purpose: whether each was found.
    found: tuple[bool, ...] | None = None

    def plain(self) -> dict[str, Any]:
        return plain(self) | {"fills": [[one._asdict() for one in each] for each in self.fills]}


class Stretch(NamedTuple):
    """Pieces as the encoder reads them, and where in them something is asked for."""

    pieces: list[int]
    asked: list[int]


@dataclass(frozen=True)
class Work:
    """A text on its way: what it is read as, its marks, and how it had to be cut."""

    text: str
    stretches: list[Stretch]
    status: tuple[str, ...]
    # What stood at each place, where pieces were hidden on purpose.
    wanted: tuple[int, ...] | None = None


@dataclass(frozen=True)
class Filling:
    """Rows in, filled texts out, in order."""

    model: Any
    reading: Reading
    masking: Masking
    settings: FillSettings

    def __call__(self, rows: Iterable[Mapping[str, str]]) -> Iterator[Filled]:
        for window in blocks(rows):
            works = [self.work(row["text"]) for row in window]
            asked = [stretch for work in works for stretch in work.stretches]
            done = iter(in_groups(asked, lambda one: len(one.pieces), self.settings, self.told))
            for work in works:
                offered = [fills for found in islice(done, len(work.stretches)) for fills in found]
                yield self.whole(work, offered)

    def work(self, text: str) -> Work:
        """A text taken apart."""
        if not text.strip():
            return Work(text, [], ("empty",))
        ids = self.pieces(text) if MARKS.search(text) else self.reading.tokenizer.encode(text).ids
        places = [place for place, piece in enumerate(ids) if piece == self.masking.mask]
        if not places:
            return self.hidden(text, ids) if self.settings.hide else Work(text, [], ("no mask",))
        if len(ids) <= self.room:
            return Work(text, [self.stretch(ids, places)], ("complete",))
        if self.settings.long == "refuse":
            return Work("", [], ("refused",))
        return Work(text, [self.around(ids, place) for place in places], ("windows",))

    def hidden(self, text: str, ids: list[int]) -> Work:
        """A text of which pieces are hidden on purpose; of a long one only the head is read."""
        read = ids[: self.room]
        given, wanted = self.masking.fixed(*rectangle([read], self.reading.tokenizer.padding))
        places = (wanted[0] != IGNORE).nonzero()[:, 0].tolist()
        status = "complete" if len(read) == len(ids) else "head"
        if not places:
            return Work(text, [], ("no mask",))
        return Work(text, [self.stretch(given[0].tolist(), places)], (status,), tuple(wanted[0, places].tolist()))

    @property
    def room(self) -> int:
        longest = self.settings.longest or self.masking.settings.longest
        return max(longest - self.reading.around, 1)

    def pieces(self, text: str) -> list[int]:
        """The pieces of a text with the mask at every mark; the space before a mark belongs to what it hides."""
        tokenizer = self.reading.tokenizer
        spaced = isinstance(tokenizer, Tokenizer) and not TOKENIZERS[tokenizer.settings.kind].after_space
        if not spaced:
            text = re.sub(rf" +(?={MARKS.pattern})", "", text)
        if isinstance(tokenizer, Tokenizer):
            return tokenizer.encode(MARKS.sub(MARK, text)).ids
        first, *rest = tokenizer.encode_many(MARKS.split(text))
        return [*first.ids, *(piece for part in rest for piece in (self.masking.mask, *part.ids))]

    def around(self, ids: list[int], place: int) -> Stretch:
        """As much text around a place as can be read."""
        start = min(max(place - self.room // 2, 0), len(ids) - self.room)
        return self.stretch(ids[start : start + self.room], [place - start])

    def stretch(self, ids: Sequence[int], places: Sequence[int]) -> Stretch:
        opening = len(self.reading.tokenizer.opening)
        return Stretch(self.reading.wrapped(ids), [place + opening for place in places])

    def told(self, given: list[Stretch]) -> list[list[list[Fill]]]:
        """The likeliest pieces of every place of each stretch."""
        found = self.scores(given)
        alone = {number for number, scores in enumerate(found) if len(given) > 1 and self.close(scores)}
        told = [self.scores([given[number]])[0] if number in alone else scores for number, scores in enumerate(found)]
        return [[self.best(scores_V) for scores_V in scores_MV] for scores_MV in told]

    def scores(self, given: list[Stretch]) -> list[Float[Tensor, "M V"]]:
        """Log-probabilities of the pieces that are text, at every place of each stretch."""
        self.model.eval()
        device = next(self.model.parameters()).device
        pieces, real = rectangle([one.pieces for one in given], self.reading.tokenizer.padding, device)
        with torch.inference_mode():
            states_BTD = self.model.encoder(pieces, real)
            asked = [states[one.asked] for states, one in zip(states_BTD, given, strict=True)]
            log_NV = self.model.head(torch.cat(asked)[None])[0].log_softmax(-1).double().cpu()
        return list(self.text_only(log_NV).split([len(one.asked) for one in given]))

    def text_only(self, scores: Float[Tensor, "N V"]) -> Float[Tensor, "N V"]:
        """The scores with everything that is no text out of the question."""
        open_NV = torch.full_like(scores, -torch.inf)
        open_NV[:, self.masking.ordinary] = scores[:, self.masking.ordinary]
        return open_NV

    def close(self, scores: Float[Tensor, "M V"]) -> bool:
        """Whether what else is in a batch could change the order of the best."""
        best_MK = scores.topk(min(self.settings.best + 1, scores.shape[1]), dim=-1).values
        return bool((best_MK.diff(dim=-1) > -CLOSE).any())

    def best(self, scores: Float[Tensor, " V"]) -> list[Fill]:
        count = min(self.settings.best, len(self.masking.ordinary))
        # Of equals the lower number: a stable sort keeps their order.
        order = scores.argsort(descending=True, stable=True)[:count].tolist()
        tokenizer = self.reading.tokenizer
        chances = scores.exp().tolist()
        return [Fill(tokenizer.decode([one]).strip(), tokenizer.piece(one), chances[one]) for one in order]

    def whole(self, work: Work, offered: list[list[Fill]]) -> Filled:
        if not offered:
            return Filled(work.text, 0.0, work.status)
        first = [fills[0] for fills in offered]
        score = sum(torch.tensor([one.probability for one in first], dtype=torch.float64).log().tolist()) / len(first)
        fills = tuple(map(tuple, offered))
        if work.wanted is not None:
            pieces = map(self.reading.tokenizer.piece, work.wanted)
            found = tuple(one.piece == piece for one, piece in zip(first, pieces, strict=True))
            return Filled(work.text, score, work.status, fills, found)
        coming = iter(first)
        return Filled(MARKS.sub(lambda _: next(coming).text, work.text), score, work.status, fills)
