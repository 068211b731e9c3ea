"""Text that is written for a client: how it asks for it, cut where it wants it to stop, and as it grows."""

import json
from collections import defaultdict
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Annotated, Literal, NamedTuple, TypeVar

from pydantic import Field, PositiveInt

from regard.api import Pipeline
from regard.config import Settings
from regard.decode.settings import Share
from regard.errors import RequestError
from regard.serve.settings import ServeSettings
from regard.serve.shelf import Served
from regard.tasks import Result
from regard.tasks.continuing import Continuation
from regard.tasks.drafting import Drafted
from regard.tasks.language import LanguageTask
from regard.tasks.reading import Reading
from regard.tasks.writing import WritingTask

T = TypeVar("T")
# Below this a temperature leaves nothing to chance.
COLD = 1e-3
# How many stops a request may name, and how long each may be: they are looked for in every piece of text.
STOPS, STOP_CHARACTERS = 16, 200
# How it ended: by itself, at a text it was to stop at, or at the limit.
Reason = Literal["end", "stopped", "limit"]
LANGUAGE, DIALOGUE = "language", "dialogue"


class Ask(NamedTuple):
    """One text to be written: what is given, and under which settings."""

    row: dict[str, str]
    changes: tuple[str, ...]


class Ended(NamedTuple):
    """A text as it is given out in the end, and what the model told of it; nothing where it was stopped on its way."""

    text: str
    reason: Reason
    result: Continuation | Drafted | None


class Writing(Settings):
    """What clients may say about how a text is written; what they leave out is as the bundle has it."""

    # The most new pieces.
    pieces: PositiveInt | None = None
    sample: bool | None = None
    temperature: Annotated[float, Field(ge=0, le=100, allow_inf_nan=False)] | None = None
    top_p: Share | None = None
    top_k: PositiveInt | None = None
    min_p: Annotated[float, Field(ge=0, le=1)] | None = None
    beams: PositiveInt | None = None
    no_repeat: Annotated[int, Field(ge=0)] | None = None
    seed: int | None = None
    # How many outputs; more than one are samples, unless there is nothing random about them.
    count: PositiveInt = 1

    def asks(self, served: Served, row: Mapping[str, str], changes: Sequence[str] = ()) -> list[Ask]:
        """As many asks as outputs are wanted; the first has the seed, the next one more, and so on."""
        recipe = served.pipeline.recipe
        settings = (*changes, *self.changes(recipe.task, recipe.search.method))
        seeds = [self.seed, *((self.seed or 0) + number for number in range(1, self.count))]
        return [seeded(recipe.task, row, settings, seed) for seed in seeds]

    def changes(self, task: str, method: str) -> list[str]:
        """These wishes as settings of a bundle."""
        found = [f"search.method={chosen}" for chosen in self.method(method)]
        wishes = {"temperature": None if self.cold else self.temperature, "top_p": self.top_p, "top_k": self.top_k}
        wishes |= {"min_p": self.min_p, "beams": self.beams, "no_repeat": self.no_repeat}
        found += [f"search.{name}={wish}" for name, wish in wishes.items() if wish is not None]
        if self.pieces is not None:
            limit = "search.longest_extra" if task != LANGUAGE else "predict.pieces"
            found += [f"{limit}={self.pieces}", *(["search.longest_factor=0.0"] if task != LANGUAGE else [])]
        return ["search.best=1", *found] if found else []

    @property
    def cold(self) -> bool:
        return self.temperature is not None and self.temperature < COLD

    def method(self, usual: str) -> list[str]:
        """The search these wishes need, where that is not the usual one."""
        if self.cold:
            return ["greedy"]
        if self.sample is False:
            return ["greedy"] if usual == "sample" else []
        random = (self.temperature, self.top_p, self.top_k, self.min_p, self.sample)
        wanted = any(wish is not None for wish in random) or self.count > 1
        return ["sample"] if wanted and usual != "sample" else []


def limited(wishes: Writing, settings: ServeSettings) -> Writing:
    """The wishes, unless they are for more than a request may ask."""
    asked = (("texts", wishes.count, settings.texts), ("beams", wishes.beams, settings.beams))
    for what, number, most in (*asked, ("pieces", wishes.pieces, settings.pieces)):
        if number is not None and number > most:
            raise RequestError(f"{number} {what} are asked for, and at most {most} may be; ask for fewer.")
    return wishes


def seeded(task: str, row: Mapping[str, str], changes: Sequence[str], seed: int | None) -> Ask:
    """A row with its seed: a field of it where the task reads one, a setting otherwise."""
    if seed is None:
        return Ask(dict(row), tuple(changes))
    if task == LANGUAGE:
        return Ask({**row, "seed": str(seed)}, tuple(changes))
    return Ask(dict(row), (*changes, f"search.seed={seed}"))


async def written(served: Served, asks: Sequence[Ask], at: Sequence[str] = ()) -> list[Ended]:
    """What is written for each, in order; those with the same settings are asked together."""
    alike: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for place, ask in enumerate(asks):
        alike[ask.changes].append(place)
    found: dict[int, Result] = {}
    for changes, places in alike.items():
        results = await served.predict([asks[place].row for place in places], changes)
        found |= dict(zip(places, results, strict=True))
    return [ended(found[place], at) for place in range(len(asks))]


async def growing(served: Served, ask: Ask, at: Sequence[str] = ()) -> AsyncIterator[str | Ended]:
    """New text as soon as it is settled, and at last all of it."""
    stopping = Stopping(at)
    async with closing(served.stream(ask.row, ask.changes)) as source:
        async for settled in source:
            whole = None if isinstance(settled, str) else ended(settled, at)
            fresh = stopping.fresh(settled) if isinstance(settled, str) else ""
            if stopping.found:
                whole = Ended(stopping.given, "stopped", None)
            elif whole is not None:
                fresh = whole.text[len(stopping.given) :]
            if fresh:
                yield fresh
            if whole is not None:
                yield whole
                return


@asynccontextmanager
async def closing(values: AsyncIterator[T]) -> AsyncIterator[AsyncIterator[T]]:
    """Values that are ended as soon as nobody wants more of them."""
    try:
        yield values
    finally:
        if isinstance(values, AsyncGenerator):
            await values.aclose()


def ended(result: Result, at: Sequence[str]) -> Ended:
    """A result as a client is given it."""
    if not isinstance(result, Continuation | Drafted):
        raise RequestError(f"A {type(result).__name__} is no text that was written; ask at /v1/predict.")
    if "refused" in result.status:
        raise RequestError("The text is longer than this model reads, and was not to be cut; send less.")
    text, found = cut(result.text, at)
    reason: Reason = "stopped" if found else "limit" if "limit" in result.status else "end"
    return Ended(text, reason, result)


def cut(text: str, at: Sequence[str]) -> tuple[str, bool]:
    """The text before the stop that is the first to be complete, and whether there is one.

    >>> cut("One. Two.", ["T", ". "]), cut("One", ["x"])
    (('One', True), ('One', False))
    """
    found = [(place + len(stop), place) for stop in at if (place := text.find(stop)) >= 0]
    return (text[: min(found)[1]], True) if found else (text, False)


def stops(given: str | Sequence[str] | None) -> list[str]:
    """What a text is to stop at; an empty text is nowhere."""
    found = [given] if isinstance(given, str) else list(given or [])
    if len(found) > STOPS or any(len(stop) > STOP_CHARACTERS for stop in found):
        raise RequestError(f"stop may be up to {STOPS} texts of up to {STOP_CHARACTERS} characters each.")
    return [stop for stop in found if stop]


class Stopping:
    """A growing text, given out as far as no stop can begin in it any more."""

    def __init__(self, at: Sequence[str]) -> None:
        self.at, self.given, self.found = tuple(at), "", False

    def fresh(self, text: str) -> str:
        """What can be given out in addition, of all that is settled."""
        sure, self.found = cut(text, self.at)
        if not self.found:
            sure = text[: len(text) - max((_begun(text, stop) for stop in self.at), default=0)]
        fresh, self.given = sure[len(self.given) :], max(self.given, sure, key=len)
        return fresh


def _begun(text: str, stop: str) -> int:
    """How much of a stop stands at the end of the text, as its beginning.

    >>> _begun("wait\\n\\n", "\\n\\nUser"), _begun("wait", "x")
    (2, 0)
    """
    return next((size for size in range(min(len(stop), len(text)), 0, -1) if text.endswith(stop[:size])), 0)


def plainly(served: Served) -> tuple[str, ...]:
    """The settings by which a model that talks goes on with a text as it stands; none for one that does so anyway."""
    talks = getattr(getattr(served.pipeline.recipe, "predict", None), "chat", "")
    return ("predict.chat=", "predict.system=") if talks else ()


def turns(messages: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """A conversation as a dialogue model has it: what was said in turn, whoever said it."""
    for message in messages:
        if message["role"] == "system":
            raise RequestError("This model knows turns of a conversation and nothing said by a system; leave it out.")
    return {"turns": json.dumps([message["content"] for message in messages], ensure_ascii=False)}


def counted(pipeline: Pipeline, row: Mapping[str, str]) -> int:
    """How many pieces there are to a row: a conversation, turns, or a text."""
    task = pipeline.task
    if isinstance(task, LanguageTask) and "messages" in row:
        return len(task.continuing(pipeline.model, task.recipe).prompting.pieces(row))
    if isinstance(task, WritingTask):
        return len(task.reader.read(task.lines(task.recipe)(row.get("turns") or row["text"])).pieces)
    reading = getattr(task, "reading", None)
    return len(reading.tokenizer.encode(row["text"]).ids) if isinstance(reading, Reading) else 0
