"""Lines in, lines out: as many, in the same order, whatever they hold."""

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from regard.api import Pipeline
from regard.cli.printing import STATUSES, json_line, one_line, told
from regard.errors import DataError, RegardError
from regard.files import STANDARD_INPUT, byte_lines, decoded, shown
from regard.tasks import Result

# How many unreadable lines are named; the rest are counted.
NAMED = 10


class Given(NamedTuple):
    """A line as a model is given it: nothing, if it cannot be read; then `fault` says why."""

    text: str
    fault: str = ""
    # What can be shown of a line that cannot be read.
    legible: str = ""


def given(path: str) -> Iterator[Given]:
    """The lines of a file or of standard input."""
    name = "standard input" if path == STANDARD_INPUT else shown(path)
    for number, line in enumerate(byte_lines(path), 1):
        try:
            yield Given(decoded(line, f"{name} line {number}"))
        except DataError as error:
            yield Given("", str(error), line.decode("utf-8", "replace"))


def one_by_one(pipeline: Pipeline, lines: Iterable[Given]) -> Iterator[tuple[Given, Result]]:
    """Each line with its result before the next line is read: for someone who types."""
    for line in lines:
        yield line, pipeline.predict([line.text])[0]


def streamed(pipeline: Pipeline, lines: Iterable[Given]) -> Iterator[tuple[Given, Result]]:
    """Lines with their results, many read at a time; one that cannot be reached ends it after those before it."""
    waiting: deque[Given] = deque()
    trouble: list[RegardError] = []

    def texts() -> Iterator[str]:
        try:
            for line in lines:
                waiting.append(line)
                yield line.text
        except RegardError as error:
            trouble.append(error)

    for result in pipeline.stream(texts()):
        yield waiting.popleft(), result
    for error in trouble:
        raise error


class Answers:
    """Results as lines, and what is to be said about them in the end."""

    def __init__(self, as_json: bool, tell: Callable[[str], None]) -> None:
        self.as_json, self.tell = as_json, tell
        self.count, self.bad = 0, 0
        self.statuses: Counter[str] = Counter()

    def line(self, asked: Given, result: Result) -> bytes:
        """A result as the one line it is written as."""
        self.count += 1
        self.statuses.update(result.status)
        if asked.fault:
            self._note(asked.fault)
        text = json_line(self._plain(asked, result)) if self.as_json else one_line(result.text)
        return text.encode("utf-8", "backslashreplace") + b"\n"

    def summary(self) -> list[str]:
        """What did not simply end, and what could not be read."""
        # An empty line is answered by an empty line; that is no news.
        odd = {status: self.statuses[status] for status in STATUSES if status != "empty"}
        found = [f"{sentence}." for sentence in [told(odd, self.count)] if sentence]
        if self.bad:
            found.append(f"{self.bad:,} of {self.count:,} lines are not UTF-8 and got an empty output.")
        return found

    def _note(self, fault: str) -> None:
        self.bad += 1
        if self.bad <= NAMED:
            self.tell(fault)
        elif self.bad == NAMED + 1:
            self.tell("More lines are not UTF-8; they are counted.")

    def _plain(self, asked: Given, result: Result) -> dict[str, object]:
        if asked.fault:
            return {"source": asked.legible, **result.plain(), "error": asked.fault}
        return {"source": asked.text, **result.plain()}
