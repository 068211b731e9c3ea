"""Promises that a loaded model keeps from the outside: what goes in, what comes out."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from regard.api.broken import require, same
from regard.api.materials import Materials
from regard.api.pipeline import Pipeline
from regard.api.rehearsal import first, tokenizers
from regard.errors import RegardError, RequestError
from regard.nn.parameters import named
from regard.tasks import Result
from regard.text import Tokenizer, Tokenizing

Row = dict[str, str]

# How far a score may move with the company a text is in.
SCORES = 1e-4
LINES = 8
SIZES = (2, 5)
# Where a model has nothing of its own to be asked with.
PLAIN = ("a", "one two three", "This is a sentence of a few words.", "2 + 2 = 4, they say!")
LONG = 10_000
NASTY = (
    "",
    " ",
    "\t",
    "\u3000\u2009",
    "a",
    "\x00\x01\x1f\x7f",
    "line\nline\r\nline\u2028line\u0085line",
    "\ufeffbyte order mark",
    "e\u0301\u0323\u0302\u0308\u030a\u0334" * 5,
    "\u202eright to left \u05e9\u05dc\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627\u202c",
    "\U0001f469\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466\U0001f3f4\U000e0067\U000e0062\U000e007f",
    "\u4f60\u597d\uff0c\u4e16\u754c\u3002\u6ca1\u6709\u7a7a\u683c",
    "half a character \ud83d",
    "<padding> <begin> <end> <unknown> <2de> {0} %s \\n",
    "\uffff\U0010ffff\ue000",
)
ENDLESS = "word " * (LONG // 10) + "x" * (LONG // 2)


@dataclass(frozen=True)
class Subject:
    """A model, where it is stored, a few inputs for it, and a folder to work in."""

    pipeline: Pipeline
    bundle: Path
    rows: list[Row]
    folder: Path

    @cached_property
    def results(self) -> list[Result]:
        return self.pipeline.predict(self.rows)


def subject(bundle: Path, changes: Sequence[str], folder: Path) -> Subject:
    """The model in a bundle with its golden inputs and, if they are at hand, lines of its validation data."""
    pipeline = Pipeline.load(bundle, changes)
    golden = [dict(entry["input"]) for entry in pipeline.golden]
    rows = [*golden, *(row for row in _validation(pipeline) if row not in golden)]
    plain = [dict.fromkeys(pipeline.task.inputs(), text) for text in PLAIN]
    return Subject(pipeline, bundle, rows or plain, folder)


def _validation(pipeline: Pipeline) -> list[Row]:
    try:
        return list(map(pipeline.asked, first(Materials(pipeline.recipe).valid, LINES)))
    # The data a model was made from need not be where it is used.
    except RegardError:
        return []


def batch(given: Subject) -> str:
    """Alone = in company."""
    rows, pipeline = given.rows, given.pipeline
    neighbour = {
        name: f"{text} {text}" for name, text in max(rows, key=lambda row: sum(map(len, row.values()))).items()
    }
    alone, worst = [pipeline.predict([row])[0] for row in rows], 0.0
    for size in SIZES:
        found = [result for chunk in _chunks(rows, size) for result in pipeline.predict(chunk)]
        worst = max(worst, _compared(found, alone, rows, f"in batches of {size}"))
    worst = max(worst, _compared(given.results, alone, rows, f"all {len(rows)} together"))
    turned = pipeline.predict([neighbour, *rows[::-1]])[1:][::-1]
    worst = max(worst, _compared(turned, alone, rows, "in another order beside a text twice as long"))
    return (
        f"{len(rows)} texts alone, in batches of {', '.join(map(str, SIZES))} and {len(rows)}, and beside a longer "
        f"one: the same texts, scores apart by at most {worst:.1e}"
    )


def _compared(found: Sequence[Result], alone: Sequence[Result], rows: Sequence[Row], how: str) -> float:
    worst = 0.0
    for one, other, row in zip(found, alone, rows, strict=True):
        require(one.text == other.text, f"{row!r} gave {other.text!r} alone and {one.text!r} {how}.")
        off = abs(_score(one) - _score(other))
        require(off <= SCORES, f"{row!r}: the score alone and {how} differ by {off:.1e}, more than {SCORES:.0e}.")
        worst = max(worst, off)
    return worst


def _score(result: Any) -> float:
    return float(getattr(result, "score", 0.0))


def _chunks(rows: Sequence[Row], size: int) -> Iterator[Sequence[Row]]:
    yield from (rows[start : start + size] for start in range(0, len(rows), size))


def round_trip(given: Subject) -> str:
    """Saved = loaded, and the golden outputs are what they were."""
    Pipeline.load(given.bundle, verify=True)
    elsewhere = given.folder / "elsewhere"
    given.pipeline.save(elsewhere)
    loaded = Pipeline.load(elsewhere)
    before, after = named(given.pipeline.model), named(loaded.model)
    require(before.keys() == after.keys(), "the loaded model has other parameters.")
    for name, tensor in before.items():
        same(after[name].to(tensor.device), tensor, name)
    require(loaded.task.files() == given.pipeline.task.files(), "the tokenizers are not the same text.")
    for row, one, other in zip(given.rows, loaded.predict(given.rows), given.results, strict=True):
        require(one.plain() == other.plain(), f"{row!r} gave {other.text!r} before, {one.text!r} after loading.")
    return (
        f"{sum(tensor.numel() for tensor in before.values()):,} parameters bit for bit, {len(given.rows)} outputs and "
        f"{len(given.pipeline.golden)} golden ones the same; {_restored(given)}"
    )


def _restored(given: Subject) -> str:
    """How many texts come back from their pieces as they were: what a tokenizer keeps is no promise of storing it."""
    cutters = tokenizers(given.pipeline.task)
    texts = [(cutters[name], text) for row in given.rows for name, text in row.items() if name in cutters]
    kept = sum(_comes_back(tokenizer, text) for tokenizer, text in texts)
    return f"{kept} of {len(texts)} texts come back whole from their pieces"


def _comes_back(tokenizer: Tokenizing, text: str) -> bool:
    if isinstance(tokenizer, Tokenizer):
        return tokenizer.round_trip(text)
    return tokenizer.decode(tokenizer.encode(text).ids) == text


def lines(given: Subject) -> str:
    """Inputs in = outputs out, whatever the inputs are."""
    names = given.pipeline.task.inputs()
    nasty = [dict.fromkeys(names, text) for text in NASTY]
    found = given.pipeline.predict(nasty)
    require(len(found) == len(nasty), f"{len(nasty)} inputs gave {len(found)} outputs.")
    for row, result in zip(nasty, found, strict=True):
        require(isinstance(result.text, str) and bool(result.status), f"{row!r} gave {result!r}, no text and status.")
    alone = [given.pipeline.predict([row])[0].text for row in nasty]
    require([result.text for result in found] == alone, "the outputs are not in the order of the inputs.")
    return f"{len(nasty)} odd inputs, empty ones and all, gave {len(found)} outputs in order; {_long(given, names)}"


def _long(given: Subject, names: tuple[str, ...]) -> str:
    """A text far longer than any seen is answered, and the answer says how, or refused in a sentence."""
    try:
        (found,) = given.pipeline.predict([dict.fromkeys(names, ENDLESS)])
    except RequestError:
        return f"one of {LONG:,} characters is refused, as set"
    require(bool(found.status), f"one of {LONG:,} characters was answered without a status.")
    return f"one of {LONG:,} characters was answered ({', '.join(found.status)})"
