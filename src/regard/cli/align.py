"""`regard align`."""

import sys
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from regard.cli.options import BundleFolder, Changes, Extensions, join
from regard.cli.printing import one_line, say
from regard.cli.waiting import counting, waiting
from regard.errors import DataError
from regard.files import lines, shown, write_atomically

if TYPE_CHECKING:
    from regard.api import Pipeline
    from regard.explain.alignment import AlignmentSettings, Gold


def align(
    folder: BundleFolder,
    changes: Changes,
    extensions: Extensions,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Sources, one a line.", show_default=False)],
    target: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Outputs to link, instead of the model's.", show_default=False)
    ] = None,
    method: Annotated[str, typer.Option(help="What links are read off.")] = "weights",
    layer: Annotated[str | None, typer.Option(help="A layer, mean or max.", show_default=False)] = None,
    head: Annotated[str | None, typer.Option(help="A head, mean or max.", show_default=False)] = None,
    after: Annotated[bool, typer.Option("--after", help="Read the row after the one that wrote a word.")] = False,
    way: Annotated[str, typer.Option(help="target, source, intersection or union.")] = "target",
    calibrate: Annotated[
        tuple[Path, Path] | None,
        typer.Option(
            metavar="SOURCES REFERENCES",
            help="Tell instead how good each output probably is, as learned on these.",
            show_default=False,
        ),
    ] = None,
    gold: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Right links of --target, to measure or choose by.", show_default=False),
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write here.", show_default=False)] = None,
) -> None:
    """Write which word of the source each word of the output comes from, a line each: 0-0 1-2.

    With --gold (0-0 is sure, 0?0 possible) the alignment error rate is told.
    Where no method, layer or head is named, the best is chosen first.
    With --calibrate each line is an expected quality from 0 to 1 and the output:
    from what its attention left unread, how thin it is spread, and how likely
    the output is. How far that can be trusted is told.

    \b
    Examples:
      regard align runs/x input.txt
      regard align runs/x test.en --target test.de --layer 0 --head 3
      regard align runs/x dev.en --target dev.de --gold dev.links
      regard align runs/x input.txt --calibrate dev.en dev.de
    """
    from regard.api import Pipeline
    from regard.api.aligning import align as link
    from regard.api.aligning import judged

    join(extensions)
    pairs = list(_pairs(file, target))
    right = _gold(gold, target, len(pairs))
    pipeline = Pipeline.load(folder, changes)
    if calibrate is not None:
        _given_out("".join(_trusted(pipeline, file, [source for source, _ in pairs], calibrate)), out)
        return
    settings = _settings(method, layer, head, after, way)
    if right and settings == type(settings)():
        settings = _chosen(pipeline, pairs, right)
    found = []
    with counting(str(file), out is not None or gold is not None) as done:
        for source, given in pairs:
            found.append(link(pipeline, source, given, settings))
            done()
    _given_out("".join(f"{one}\n" for one in found), out)
    if right:
        say(f"Alignment error rate of {settings}: {judged(found, right):.3f} on all {len(found):,} lines.")


def _given_out(text: str, out: Path | None) -> None:
    if out is None:
        sys.stdout.write(text)
        return
    with write_atomically(out) as written:
        written.write(text.encode("utf-8", "backslashreplace"))


def _trusted(pipeline: "Pipeline", file: Path, sources: list[str], known: tuple[Path, Path]) -> Iterator[str]:
    """A line for each source: the quality to expect of its output, and the output."""
    from regard.api.trusting import Trust

    fields = (*pipeline.task.inputs(), pipeline.task.fields[-1])
    if len(fields) != 2:
        raise DataError(f"--calibrate is for tasks with one text in and one out; this one reads {', '.join(fields)}.")
    with waiting(f"Learning from {known[0]}"):
        rows = [dict(zip(fields, (one, other or ""), strict=True)) for one, other in _pairs(*known)]
        trust = Trust.learn(pipeline, [row for row in rows if all(text.strip() for text in row.values())])
    say(str(trust.calibration))
    with counting(str(file), True) as done:
        for source in sources:
            found = trust(source)
            yield f"{'' if found.expected is None else format(found.expected, '.3f')}\t{one_line(found.text)}\n"
            done()


def _settings(method: str, layer: str | None, head: str | None, after: bool, way: str) -> "AlignmentSettings":
    from regard.explain.alignment import AlignmentSettings

    numbers: dict[str, Any] = {"layer": _number(layer), "head": _number(head)}
    return AlignmentSettings.read({"method": method, "after": after, "way": way, **numbers}, "align")


def _number(text: str | None) -> int | str | None:
    return int(text) if text is not None and text.removeprefix("-").isascii() and text.lstrip("-").isdigit() else text


def _pairs(file: Path, target: Path | None) -> Iterator[tuple[str, str | None]]:
    sources = (line.text for line in lines(file))
    if target is None:
        yield from ((source, None) for source in sources)
        return
    for number, (source, given) in enumerate(zip_longest(sources, (line.text for line in lines(target))), 1):
        if source is None or given is None:
            shorter = file if source is None else target
            raise DataError(f"{shown(shorter)} ends before line {number}; give a target for each source.")
        yield source, given


def _gold(path: Path | None, target: Path | None, count: int) -> "list[Gold]":
    from regard.explain.alignment import read_gold

    if path is None:
        return []
    if target is None:
        raise DataError("--gold has links of given texts; name those with --target.")
    found = [read_gold(line.text, f"{shown(path)} line {number}") for number, line in enumerate(lines(path), 1)]
    if len(found) != count:
        raise DataError(f"{shown(path)} has {len(found)} lines, the texts {count}; give links for each line.")
    return found


def _chosen(pipeline: "Pipeline", pairs: list[tuple[str, str | None]], gold: "list[Gold]") -> "AlignmentSettings":
    """The best there is, and how far it can be trusted."""
    from regard.api.aligning import choose

    kept = [(source, given or "", one) for (source, given), one in zip(pairs, gold, strict=True) if source.strip()]
    choice = choose(pipeline, [(source, given) for source, given, _ in kept], [one for *_, one in kept])
    elsewhere = "" if choice.elsewhere is None else f", {choice.elsewhere:.3f} on the rest, where it was not chosen"
    there = f"error {choice.there:.3f} on {choice.chosen_on:,} lines"
    say(f"Best of {len(choice.tried)}: {choice.settings}; {there}{elsewhere}.")
    return choice.settings
