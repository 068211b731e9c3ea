"""What a person or a program is shown: results on standard output, everything else on standard error."""

import json
import math
import shlex
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from textwrap import wrap
from typing import Any, TypeAlias

import typer
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

# How a result that did not simply end is spoken of.
STATUSES = {
    "split": "made in parts",
    "limit": "stopped at the length limit",
    "looped": "repeating itself",
    "copied": "a copy of the source",
    "refused": "refused as too long",
    "windows": "read in overlapping windows",
    "head": "read only at the head",
    "tail": "read only at the tail",
    "no answer": "without an answer",
    "no mask": "without a mask to fill in",
    "empty": "empty",
}
Row: TypeAlias = Sequence[str]


def errors() -> Console:
    """Standard error: no markup, no wrapping, no colours where they are not wanted."""
    return Console(stderr=True, markup=False, highlight=False, emoji=False, soft_wrap=True)


def say(text: str, style: str = "") -> None:
    """A line beside the results."""
    errors().print(text, style=style or None)


def printed(values: Mapping[str, Any]) -> None:
    """One JSON object as a line on standard output, at once."""
    written(json_line(values))


def written(line: str) -> None:
    """A line on standard output in UTF-8, whatever the terminal is set to, at once."""
    sys.stdout.flush()
    sys.stdout.buffer.write(line.encode("utf-8", "backslashreplace") + b"\n")
    sys.stdout.buffer.flush()


def json_line(values: Mapping[str, Any]) -> str:
    return json.dumps(finite(values), ensure_ascii=False, allow_nan=False)


def finite(value: Any) -> Any:
    """The value with null for what JSON has no number for."""
    if isinstance(value, Mapping):
        return {str(name): finite(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [finite(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def one_line(text: str) -> str:
    r"""The text with its line ends written as \n and \r, so that an output is one line.

    >>> one_line("a\nb\u2028c")
    'a\\nb\u2028c'
    """
    return text.replace("\r", "\\r").replace("\n", "\\n")


def columns(rows: Iterable[Row], right: Sequence[int] = (), bold: int | None = None) -> None:
    """Rows on standard output, their columns aligned; the last is wrapped on a terminal, and nothing is ever cut."""
    console = Console(markup=False, highlight=False, emoji=False, soft_wrap=True)
    rows = list(rows)
    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)][:-1]
    indent = sum(widths) + 2 * len(widths)
    room = max(console.width - indent, 20) if console.is_terminal else sys.maxsize
    for *cells, last in rows:
        line = Text()
        for number, (cell, width) in enumerate(zip(cells, widths, strict=True)):
            filler = " " * (width - cell_len(cell))
            padded = filler + cell if number in right else cell + filler
            line.append(f"{padded}  ", "bold" if number == bold else "")
        folded = [part for given in last.split("\n") for part in wrap(given, room) or [""]]
        line.append(("\n" + " " * indent).join(folded))
        line.rstrip()
        console.print(line)


def _value(value: float | None) -> str:
    return "no number" if value is None else f"{value:.2f}"


def _signature(found: Mapping[str, Any]) -> str:
    """The signature of a score, and how many lines it is not of."""
    lost = found.get("left_out", 0)
    return f"{found['signature']}, {lost:,} {'line' if lost == 1 else 'lines'} left out" if lost else found["signature"]


def scored(scores: Mapping[str, Mapping[str, Any]]) -> None:
    """Scores with their signatures, a line each; what a bundle keeps of one that was no number is None."""
    columns(
        ((f"  {name}", _value(found["value"]), _signature(found)) for name, found in scores.items()),
        right=[1],
        bold=1,
    )


def told(counts: Mapping[str, int], total: int) -> str:
    """What became of inputs that did not simply end, or nothing.

    >>> told({"complete": 997, "split": 2, "limit": 1}, 1000)
    '2 of 1,000 made in parts, 1 stopped at the length limit'
    """
    odd = [(count, STATUSES.get(status, status)) for status, count in counts.items() if status != "complete" and count]
    first, *rest = [f"{count:,} {words}" for count, words in odd] or [""]
    return ", ".join([first.replace(" ", f" of {total:,} ", 1), *rest])


def counted(statuses: Iterable[Iterable[str]]) -> Counter[str]:
    """How often each status occurs."""
    return Counter(status for each in statuses for status in each)


def duration(seconds: float | None) -> str:
    """Seconds as people say them.

    >>> duration(8.2), duration(95.0), duration(7320.0), duration(None)
    ('8 s', '1 min 35 s', '2 h 2 min', '')
    """
    if seconds is None or not math.isfinite(seconds):
        return ""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def size(count: int) -> str:
    """Bytes as people say them.

    >>> size(512), size(10_400_000)
    ('512 bytes', '10.4 MB')
    """
    for unit, scale in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= scale:
            return f"{count / scale:.1f} {unit}"
    return f"{count} bytes"


def typed(*words: object) -> str:
    """A command as it can be typed."""
    return shlex.join(["regard", *map(str, words)])


def next_commands(intro: str, commands: Sequence[str]) -> None:
    """The commands to type next, the last of them on the last line."""
    typer.echo(intro)
    for command in commands:
        typer.echo(f"  {command}")
