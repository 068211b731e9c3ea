"""`regard predict --on ray`: a file or a folder answered part by part on a cluster."""

import json
import os
import platform
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import torch

from regard import __version__
from regard.api import Pipeline
from regard.api.clustering import spread
from regard.api.parts import Part, Work, cut
from regard.api.pipeline import inside
from regard.cli.lines import Answers, called, embedded, read, streamed
from regard.cli.options import join
from regard.cli.printing import say
from regard.cli.waiting import counting
from regard.engines import RECORD
from regard.errors import ConfigError, DataError
from regard.files import STANDARD_INPUT, fingerprint, shown
from regard.tasks.grouping import WINDOW


@dataclass(frozen=True)
class Job:
    """Which model answers, and how. Every process of a cluster must find the files under the names they have here."""

    bundles: list[str]
    changes: list[str]
    extensions: list[str]
    engine: str
    # "text" or "json"; where nothing is said, the name of a file decides.
    form: str
    json_out: bool
    embeddings: bool

    def pipeline(self, verify: bool = False) -> Pipeline:
        """The model, or several that decide together."""
        join(map(Path, self.extensions))
        loaded = Pipeline.load(self.bundles[0], self.changes, verify, self.engine)
        others = [Pipeline.load(other, self.changes, verify) for other in self.bundles[1:]]
        return loaded.ensemble(others) if others else loaded

    def json_in(self, name: str) -> bool:
        return self.form == "json" or (not self.form and name.endswith((".jsonl", ".jsonl.gz")))

    def text(self) -> str:
        """The job as it travels, with what decides its answers: other machines may have other files or versions."""
        return json.dumps([asdict(self), self.identity()])

    def identity(self) -> str:
        """All that decides the answers: the bytes of the models, wherever they lie, the settings, the versions."""
        records = [inside(Path(bundle)) / name for bundle in self.bundles for name in ("manifest.json", RECORD)]
        models = fingerprint([*filter(os.path.isfile, records), *self.extensions])
        how = [self.changes, self.engine, self.form, self.json_out, self.embeddings]
        return json.dumps([models, how, __version__, torch.__version__])


class File(NamedTuple):
    """A file to be answered, and where the answers go."""

    path: str
    output: Path


def on_ray(job: Job, given: str, out: Path | None, size: int = WINDOW) -> int:
    """Write an output for every line of a file, or of every file of a folder; how many lines could not be answered.

    With parts of `WINDOW` lines the model sees the very batches it sees on one machine.
    """
    if out is None:
        raise ConfigError("--on ray writes a file, or a folder of them: name it with --out.")
    files = _files(given, out)
    work, counts = Work(out, job.identity()), Counter[int]()
    with counting(given, hidden=True) as advance:
        coming = _missing(work, files, size, counts, advance)
        for part, done in spread(answered, job.text(), coming):
            work.keep(part, done)
            for _ in part.lines:
                advance()
    answers = _joined(work, files, counts, job.json_out)
    work.close()
    return answers.bad


def answered(job: str, name: str, first: int, lines: list[bytes]) -> tuple[bytes, str]:
    """The output for some lines of a file, and what is to be told about them, as JSON. This is what runs elsewhere."""
    wanted, pipeline = _ready(job)
    answers = Answers(wanted.json_out, lambda _: None)
    asked = read(lines, name, first, wanted.json_in(name))
    if wanted.embeddings:
        found = [(line, answers.vector(line, vector)) for line, vector in embedded(pipeline, asked)]
    else:
        found = [(line, answers.line(line, result)) for line, result in streamed(pipeline, asked)]
    output, faults = b"".join(text for _, text in found), [line.fault for line, _ in found if line.fault]
    return output, json.dumps({"count": answers.count, "statuses": answers.statuses, "faults": faults})


@lru_cache(1)
def _ready(job: str) -> tuple[Job, Pipeline]:
    """The job and its model, kept for the next part."""
    told, identity = json.loads(job)
    wanted = Job(**told)
    pipeline = wanted.pipeline()
    if wanted.identity() != identity:
        raise DataError(
            f"{platform.node()} has another {shown(wanted.bundles[0])} than the machine that asks, or other versions "
            "of regard or torch, or it was changed meanwhile. Every machine needs the same."
        )
    return wanted, pipeline


def _files(given: str, out: Path) -> list[File]:
    folder = Path(given)
    if given == STANDARD_INPUT or not folder.is_dir():
        if out.exists() and not out.is_file():
            raise DataError(f"--out {shown(out)} is no file; the answers to one file are one file.")
        return [File(given, out)]
    if out.exists() and not out.is_dir():
        raise DataError(f"--out {shown(out)} is a file; the answers to a folder are a folder.")
    if out.resolve().is_relative_to(folder.resolve()):
        raise ConfigError(f"--out {shown(out)} lies in the folder that is read; name one outside of it.")
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    if not paths:
        raise DataError(f"{shown(given)} holds no file.")
    return [File(str(path), out / path.relative_to(folder)) for path in paths]


def _missing(
    work: Work, files: list[File], size: int, counts: Counter[int], advance: Callable[[], None]
) -> Iterator[Part]:
    """The parts that are not answered yet; all are counted, by file."""
    for number, file in enumerate(files):
        for part in cut(file.path, called(file.path), size, number):
            counts[number] += 1
            if work.kept(part) is None:
                yield part
                continue
            for _ in part.lines:
                advance()


def _joined(work: Work, files: list[File], counts: Counter[int], json_out: bool) -> Answers:
    """Write every output from its parts, and say about all lines what is said about those of one machine."""
    answers = Answers(json_out, lambda text: say(text, "red"))
    for number, file in enumerate(files):
        for told in work.join(number, counts[number], file.output):
            answers.count += told["count"]
            answers.statuses.update(told["statuses"])
            for fault in told["faults"]:
                answers.fault(fault)
    for sentence in answers.summary():
        say(sentence)
    return answers
