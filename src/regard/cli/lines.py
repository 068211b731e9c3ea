"""Lines in, lines out: as many, in the same order, whatever they hold."""

import json
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, TypeVar

from jaxtyping import Float
from torch import Tensor

from regard.api import Pipeline
from regard.cli.printing import STATUSES, json_line, one_line, told
from regard.data import Structure
from regard.errors import DataError, ModelError, RegardError, RequestError
from regard.files import STANDARD_INPUT, byte_lines, decoded, shown
from regard.tasks import Result

Asked = str | Mapping[str, str]
Run = Callable[[Iterable[Asked]], Iterator[Result]]
T = TypeVar("T")

# How many lines without an answer are named; the rest are counted.
NAMED = 10


class Given(NamedTuple):
    """A line as a model is given it: a text, or fields by name; empty, if it has no answer: then `fault` says why."""

    asked: Asked
    # The file and the number of the line.
    place: str = ""
    fault: str = ""
    # What can be shown of a line that has no answer.
    legible: str = ""

    def refused(self, error: RegardError) -> "Given":
        """The same line, once it is known that the model cannot answer it."""
        legible = self.asked if isinstance(self.asked, str) else json_line(dict(self.asked))
        return Given("", self.place, f"{self.place}: {error}" if self.place else str(error), legible)

    def plain(self) -> dict[str, object]:
        """What was given, as JSON has it."""
        if self.fault:
            return {"source": self.legible}
        return {"source": self.asked} if isinstance(self.asked, str) else {"input": dict(self.asked)}


def given(path: str, as_json: bool = False) -> Iterator[Given]:
    """The lines of a file or of standard input, each a text or a JSON object of fields."""
    yield from read(byte_lines(path), called(path), as_json=as_json)


def called(path: str) -> str:
    """How a file is spoken of."""
    return "standard input" if path == STANDARD_INPUT else shown(path)


def read(lines: Iterable[bytes], name: str, first: int = 1, as_json: bool = False) -> Iterator[Given]:
    """Lines of the file of this name, the first of which has this number."""
    for number, line in enumerate(lines, first):
        place = f"{name} line {number}"
        try:
            text = decoded(line, place)
            yield Given(_fields(text, place) if as_json else text, place)
        except DataError as error:
            yield Given("", place, str(error), line.decode("utf-8", "replace"))


def _fields(line: str, place: str) -> str | dict[str, str]:
    """The fields of a JSON object; what is no text among them stays JSON, null is not there. A JSON text is a text."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{place}: no JSON ({error}); every line is an object of fields, or a text.") from None
    if isinstance(value, str):
        return value
    if not isinstance(value, dict):
        raise DataError(f"{place}: {line[:40]!r} is no JSON object of fields and no text.")
    return {name: _field(one) for name, one in value.items() if one is not None}


def _field(value: Any) -> str:
    """A JSON value as a field has it; of a list or an object it stays known that it is one."""
    if isinstance(value, str):
        return value
    text = json.dumps(value, ensure_ascii=False)
    return Structure(text) if isinstance(value, list | dict) else text


def one_by_one(pipeline: Pipeline, lines: Iterable[Given]) -> Iterator[tuple[Given, Result]]:
    """Each line with its result before the next line is read: for someone who types."""
    for line in lines:
        yield from _apart(pipeline.stream, [line])


def streamed(pipeline: Pipeline, lines: Iterable[Given], run: Run | None = None) -> Iterator[tuple[Given, Result]]:
    """Lines with their results, many read at a time; one that cannot be reached ends it after those before it.

    What predicts is the pipeline, unless it is given.
    """
    return _in_turn(run or pipeline.stream, fitting(pipeline, lines))


def embedded(pipeline: Pipeline, lines: Iterable[Given]) -> Iterator[tuple[Given, Float[Tensor, " D"]]]:
    """Lines with their vectors, in the same way."""
    return _in_turn(pipeline.embed, fitting(pipeline, lines))


def fitting(pipeline: Pipeline, lines: Iterable[Given]) -> Iterator[Given]:
    """Lines, of which those that lack a field or have one that is no text are seen to have no answer."""
    for line in lines:
        try:
            pipeline.row(line.asked)
            yield line
        except RequestError as error:
            yield line.refused(error)


def _in_turn(run: Callable[[Iterable[Asked]], Iterator[T]], lines: Iterator[Given]) -> Iterator[tuple[Given, T]]:
    """Each line with what comes of it; where some at once cannot be answered, those that can be still are."""
    waiting: deque[Given] = deque()
    trouble: list[RegardError] = []

    def texts() -> Iterator[Asked]:
        try:
            for line in lines:
                waiting.append(line)
                yield line.asked
        except RegardError as error:
            trouble.append(error)

    going = True
    while going:
        try:
            for found in run(texts()):
                yield waiting.popleft(), found
            going = False
        except (RequestError, ModelError):
            if not waiting:
                raise
            some = list(waiting)
            waiting.clear()
            yield from _apart(run, some)
    for error in trouble:
        raise error


def _apart(run: Callable[[Iterable[Asked]], Iterator[T]], lines: list[Given]) -> Iterator[tuple[Given, T]]:
    """Lines at once if that can be, else by halves, down to the one that cannot; that one is answered as empty."""
    try:
        found = list(run(line.asked for line in lines))
    except (RequestError, ModelError) as error:
        if len(lines) > 1:
            middle = len(lines) // 2
            yield from _apart(run, lines[:middle])
            yield from _apart(run, lines[middle:])
        else:
            yield lines[0].refused(error), next(run([""]))
        return
    yield from zip(lines, found, strict=True)


def settling(pipeline: Pipeline, line: Given, put: Callable[[str], None]) -> tuple[Given, Result]:
    """A line and its result, whose text is handed out as soon as it is settled; of one without an answer nothing is."""
    try:
        if not line.fault:
            return line, _settled(pipeline, line.asked, put)
    except (RequestError, ModelError) as error:
        line = line.refused(error)
    return line, next(pipeline.stream([""]))


def typed(pipeline: Pipeline, line: Given, put: Callable[[str], None]) -> tuple[Given, Result]:
    """The same for someone who did not ask to see it grow: where that cannot be, the text comes at its end."""
    found, result = settling(pipeline, line, put)
    if line.fault or not found.fault:
        return found, result
    ((found, result),) = _apart(pipeline.stream, [line])
    if not found.fault:
        put(one_line(result.text))
    return found, result


def _settled(pipeline: Pipeline, asked: Asked, put: Callable[[str], None]) -> Result:
    shown_so_far = ""
    for found in pipeline.settle(asked):
        text = one_line(found if isinstance(found, str) else found.text)
        if text.startswith(shown_so_far):
            put(text[len(shown_so_far) :])
        elif not isinstance(found, str):
            # What was put back into the finished text is not where the settled one ended.
            put("\r" + text)
        shown_so_far = text
        if not isinstance(found, str):
            return found
    raise AssertionError("A result comes last.")


class Talk:
    """What someone who types has said and heard, where the model was made for conversations."""

    def __init__(self, pipeline: Pipeline) -> None:
        self.talks = bool(getattr(getattr(pipeline.recipe, "predict", None), "chat", ""))
        # All that was said and answered, and the same with what was just asked.
        self.messages: list[dict[str, str]] = []
        self.saying: list[dict[str, str]] = []

    def asked(self, line: Given) -> Given:
        """The line with all that went before it; an empty line begins anew."""
        self.saying = []
        if not self.talks or not isinstance(line.asked, str) or line.fault:
            return line
        if not line.asked.strip():
            self.messages = []
            return line
        self.saying = [*self.messages, {"role": "user", "content": line.asked}]
        return line._replace(asked={"messages": json.dumps(self.saying, ensure_ascii=False)})

    def heard(self, line: Given, result: Result) -> None:
        """Remember what was said with its answer; what had none was never said."""
        if self.saying and not line.fault:
            self.messages = [*self.saying, {"role": "assistant", "content": result.text}]


class Answers:
    """Results as lines, and what is to be said about them in the end."""

    def __init__(self, as_json: bool, tell: Callable[[str], None]) -> None:
        self.as_json, self.tell = as_json, tell
        self.count, self.bad = 0, 0
        self.statuses: Counter[str] = Counter()
        # Terms of a glossary, by whether they were kept.
        self.terms: Counter[bool] = Counter()

    def line(self, asked: Given, result: Result) -> bytes:
        """A result as the one line it is written as."""
        self.note(asked)
        if asked.fault:
            # A model that goes on with nothing has a result even so; it is no answer to this line.
            return self._written(asked, {"text": "", "status": ["empty"]}, "")
        self.statuses.update(result.status)
        self.terms.update(item.met for item in getattr(result, "glossary", None) or ())
        return self._written(asked, result.plain(), one_line(result.text))

    def vector(self, asked: Given, vector: Float[Tensor, " D"]) -> bytes:
        """The vector of a line as a JSON list, an empty one if it could not be answered."""
        self.note(asked)
        numbers = [] if asked.fault else [round(number, 6) for number in vector.tolist()]
        return self._written(asked, {"embedding": numbers}, json.dumps(numbers))

    def summary(self) -> list[str]:
        """What did not simply end, and what could not be answered."""
        # An empty line is answered by an empty line; that is no news.
        odd = {status: self.statuses[status] for status in STATUSES if status != "empty"}
        found = [f"{sentence}." for sentence in [told(odd, self.count)] if sentence]
        if self.terms[False]:
            which = "" if self.as_json else "; --json tells which"
            found.append(f"{self.terms[False]:,} of {self.terms.total():,} terms are not as the glossary says{which}.")
        if self.bad:
            found.append(f"{self.bad:,} of {self.count:,} lines could not be answered and got an empty output.")
        return found

    def note(self, asked: Given) -> None:
        """Count a line, and name it if it could not be answered."""
        self.count += 1
        if not asked.fault:
            return
        self.fault(asked.fault)

    def fault(self, sentence: str) -> None:
        """Count a line that could not be answered, and name it if it is one of the first."""
        self.bad += 1
        if self.bad <= NAMED:
            self.tell(sentence)
        elif self.bad == NAMED + 1:
            self.tell("More lines cannot be answered; they are counted.")

    def _written(self, asked: Given, found: Mapping[str, object], text: str) -> bytes:
        """One line: all that was found, or its text."""
        error = {"error": asked.fault} if asked.fault else {}
        line = json_line({**asked.plain(), **found, **error}) if self.as_json else text
        return line.encode("utf-8", "backslashreplace") + b"\n"
