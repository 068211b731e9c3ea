"""CTranslate2's two kinds of writer as one: rows of pieces in, outputs in pieces out."""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import Any, NamedTuple, Protocol, runtime_checkable

from regard.convert.ctranslate2 import Pieces, library

Options = Mapping[str, Any]


class Row(NamedTuple):
    """One input: what is read, what its output begins with, which sequences it avoids and how long it may become."""

    source: tuple[int, ...]
    prefix: tuple[int, ...]
    avoid: tuple[tuple[int, ...], ...]
    limit: int
    # What was written before the output that may not be repeated in it.
    before: tuple[int, ...] = ()


class Output(NamedTuple):
    """Pieces without the end, CTranslate2's own sum of their log-probabilities, and whether they came to an end.

    `heard` has the log-probability of each piece and of the end, where they were listened to.
    """

    pieces: tuple[int, ...]
    total: float
    complete: bool
    heard: tuple[float, ...] = ()

    @property
    def length(self) -> int:
        """How many log-probabilities there are."""
        return len(self.pieces) + self.complete


Hear = Callable[[int, int, float], None]
"""Called with the number of the row, a piece and its log-probability."""


@runtime_checkable
class Writer(Protocol):
    """What writes."""

    # The most positions it knows, if there is a limit.
    positions: int | None
    # Whether an output and its prefix are a text apart from what was read: a prefix is counted in the length that is
    # ranked, and it is there that repeats are looked for.
    counts_prefix: bool

    def write(
        self, rows: Sequence[Row], options: Options, stops: Sequence[int], hear: Hear | None
    ) -> list[list[Output]]:
        """The outputs of each row, best first; those that end with one of these pieces are complete."""
        ...

    def measure(self, rows: Sequence[Row], outputs: Sequence[Output], end: int) -> list[tuple[float, ...]]:
        """The log-probability of every piece of each output, and of this end if it is complete."""
        ...

    def reach(self, row: Row) -> int:
        """How many positions this row may take."""
        ...


class Names:
    """Pieces by number and by the names CTranslate2 has for them."""

    def __init__(self, pieces: Sequence[str]) -> None:
        self.pieces = pieces
        self.numbers = {piece: number for number, piece in enumerate(pieces)}

    def names(self, numbers: Sequence[int]) -> list[str]:
        return [*map(self.pieces.__getitem__, numbers)]

    def read(self, names: Sequence[str], score: float, stops: Sequence[int], alpha: float) -> Output:
        """An output with the sum that its score was made from; the length counts the end."""
        numbers = tuple(map(self.numbers.__getitem__, names))
        complete = bool(numbers) and numbers[-1] in stops
        total = score * max(len(numbers), 1) ** alpha
        return Output(numbers[:-1] if complete else numbers, total, complete)


class Translator:
    """An encoder-decoder."""

    counts_prefix = True

    def __init__(self, folder: Path, pieces: Pieces, positions: int | None, settings: Options) -> None:
        self.positions = positions
        self.source, self.target = Names(pieces.source), Names(pieces.target)
        self._library = library().Translator(str(folder), **settings)
        self.numbers = str(self._library.compute_type)

    def reach(self, row: Row) -> int:
        return max(len(row.source), row.limit)

    def write(
        self, rows: Sequence[Row], options: Options, stops: Sequence[int], hear: Hear | None
    ) -> list[list[Output]]:
        found = self._library.translate_batch(
            [self.source.names(row.source) for row in rows],
            [self.target.names(row.prefix) for row in rows],
            max_input_length=0,
            min_decoding_length=0,
            max_decoding_length=max(row.limit for row in rows),
            **common(options, self.target, hear),
        )
        alpha = options["length_penalty"]
        return [_outputs(self.target, one.hypotheses, one.scores, stops, alpha) for one in found]

    def measure(self, rows: Sequence[Row], outputs: Sequence[Output], end: int) -> list[tuple[float, ...]]:
        sources = [self.source.names(row.source) for row in rows]
        targets = [self.target.names(output.pieces) for output in outputs]
        found = self._library.score_batch(sources, targets, max_input_length=0)
        # The model's own end, which is the only one here, is always scored; of what was cut it is not told.
        return [tuple(one.log_probs[: output.length]) for one, output in zip(found, outputs, strict=True)]


class Generator:
    """A decoder by itself; what an output begins with is a part of what it goes on from."""

    counts_prefix = False

    def __init__(self, folder: Path, pieces: Pieces, positions: int | None, settings: Options) -> None:
        self.positions = positions
        self.target = Names(pieces.target)
        self._library = library().Generator(str(folder), **settings)
        self.numbers = str(self._library.compute_type)

    def reach(self, row: Row) -> int:
        return len(row.source) + row.limit

    def write(
        self, rows: Sequence[Row], options: Options, stops: Sequence[int], hear: Hear | None
    ) -> list[list[Output]]:
        """Prompts of one piece apart: in company with longer ones CTranslate2 gives those back with their outputs. With
        beams, those of every length: beside longer ones an output that ends at once may be lost."""
        apart: dict[int, list[int]] = {}
        for number, row in enumerate(rows):
            length = len(row.source) + len(row.prefix)
            apart.setdefault(length if options["beam_size"] > 1 else min(length, 2), []).append(number)
        found: dict[int, list[Output]] = {}
        for some in apart.values():
            heard = None if hear is None else partial(_heard, hear, some)
            found.update(zip(some, self._write([rows[number] for number in some], options, stops, heard), strict=True))
        return [found[number] for number in range(len(rows))]

    def _write(
        self, rows: Sequence[Row], options: Options, stops: Sequence[int], hear: Hear | None
    ) -> list[list[Output]]:
        found = self._library.generate_batch(
            [self.target.names((*row.source, *row.prefix)) for row in rows],
            include_prompt_in_result=False,
            min_length=0,
            max_length=max(row.limit - len(row.prefix) for row in rows),
            **common(options, self.target, hear),
        )
        alpha = options["length_penalty"]
        outputs = [_outputs(self.target, one.sequences, one.scores, stops, alpha) for one in found]
        return [[_after(row.prefix, one) for one in some] for row, some in zip(rows, outputs, strict=True)]

    def measure(self, rows: Sequence[Row], outputs: Sequence[Output], end: int) -> list[tuple[float, ...]]:
        pairs = list(zip(rows, outputs, strict=True))
        texts = [(*row.source, *one.pieces, *((end,) if one.complete else ())) for row, one in pairs]
        found = self._library.score_batch([self.target.names(text) for text in texts], max_input_length=0)
        # Of a text of one piece there is nothing to score.
        return [
            tuple(one.log_probs[len(one.log_probs) - output.length :]) if output.length else ()
            for one, output in zip(found, outputs, strict=True)
        ]


WRITERS: dict[str, type[Translator] | type[Generator]] = {"translator": Translator, "generator": Generator}


def common(options: Options, names: Names, hear: Hear | None) -> dict[str, Any]:
    """What both kinds of writer take."""
    given = {**options, "suppress_sequences": [names.names(one) for one in options.get("suppress_sequences", ())]}
    given |= {"return_scores": True, "return_end_token": True}
    if hear is not None:
        given["callback"] = lambda step: hear(step.batch_id, step.token_id, step.log_prob)
    return given


def _outputs(
    names: Names, found: Sequence[Sequence[str]], scores: Sequence[float], stops: Sequence[int], alpha: float
) -> list[Output]:
    return [names.read(one, score, stops, alpha) for one, score in zip(found, scores, strict=True)]


def _heard(hear: Hear, numbers: Sequence[int], row: int, piece: int, value: float) -> None:
    hear(numbers[row], piece, value)


def _after(prefix: tuple[int, ...], output: Output) -> Output:
    return output._replace(pieces=(*prefix, *output.pieces)) if prefix else output


def listened(run: Callable[[Hear], None]) -> Iterator[int]:
    """The pieces of a single row as they are written, by a run in a thread of its own."""
    heard: SimpleQueue[int | BaseException | None] = SimpleQueue()

    def work() -> None:
        try:
            run(lambda row, piece, value: heard.put(piece))
            heard.put(None)
        # Whatever it is, whoever listens has to know.
        except BaseException as error:
            heard.put(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    while (piece := heard.get()) is not None:
        if isinstance(piece, BaseException):
            raise piece
        yield piece
    thread.join()
