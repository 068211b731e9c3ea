"""Decoding with each engine, and by calling CTranslate2 directly: sentences a second as ratios, in one run.

python benchmarks/engines.py BUNDLE SOURCES [SENTENCES] [--limit PIECES] [--batches 32 1] [--onnx] [--file REFERENCES]
    [--without "one worker"]

BUNDLE is a translator, SOURCES a file of sentences (Multi30k's test_2016_flickr.en: 1,000 of them). Everything but the
loading is timed: tokenization, search and statuses, as `regard predict` gives lines of text (the probability of each
piece is not told there, see `search.probabilities`); calling CTranslate2 directly means tokenizing with
our tokenizer, `translate_batch` with the same beams and nothing more, and joining its pieces to text; once with all
threads in one worker and once with a worker a thread. Each has a process of its own, as its users run it, since the
threads of one in the process of another keep it waiting; they take turns, so that only one of them works at a time.
Each is run once to warm up and then three times in turn, and the best time counts. One at a time is measured with the
first 150 sentences, up to ten times, as often as four minutes allow: short runs hit upon other work of the machine more
often. Outputs are compared in passing. With a limit every output is cut there, so that a model that has learned little
can be timed, whose outputs may never end. Contenders whose name holds the words of --without are left out: on some
machines one worker of several threads takes twenty times as long as a worker a thread.

With --file all of SOURCES is one file: `regard predict --engine auto`, its measurement of the engines included, beside
CTranslate2 with the best of several batches and workers, chosen on the first sentences and not timed. In eight bits
both, too: CTranslate2 directly and by `--engine ctranslate2` from an export; the BLEU of all is told, and by how much
that of eight bits differs from `auto`'s.
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

import torch
from sacrebleu import corpus_bleu

from regard.api import Pipeline
from regard.api.choosing import Trying
from regard.api.exporting import export
from regard.cli.loading import loading
from regard.convert import ctranslate2 as converted
from regard.engines import exported
from regard.engines.ctranslate2.making import threads, threads_kept
from regard.engines.pieces import pieces_of

Run = Callable[[list[str]], list[str]]
BATCHES = (32, 1)
SEARCHES = {"greedy": ("search.method=greedy",), "beam 5": ("search.method=beam", "search.beams=5")}
UNTOLD = "search.probabilities=false"
TIMES, ALONE, TIMES_ALONE = 3, 150, 10
# Turns beyond the first few have to be over after so many seconds.
PATIENCE = 240
# How many sentences CTranslate2 is given at once, of a whole file, to see what it likes best, and on how many.
ROWS, TRIED = (32, 64, 128), 256
# Which of the two ways is faster depends on the machine and the model.
WORKERS = torch.get_num_threads()
DIRECTLY = {
    "ctranslate2, one worker": ("float32", 1),
    "ctranslate2, a worker a thread": ("float32", WORKERS),
    "ctranslate2 int8, one worker": ("int8", 1),
    "ctranslate2 int8, a worker a thread": ("int8", WORKERS),
}


class Asked(NamedTuple):
    """What is timed: a bundle with its settings, how many sentences at once, one of `WAYS` and what it takes."""

    bundle: str
    changes: tuple[str, ...]
    batch: int
    way: str
    given: tuple[Any, ...] = ()

    def pipeline(self) -> Pipeline:
        return Pipeline.load(self.bundle, ["device=cpu", UNTOLD, f"predict.rows={self.batch}", *self.changes])

    @property
    def beams(self) -> int:
        return 5 if "search.beams=5" in self.changes else 1


def direct(asked: Asked, compute: str, workers: int) -> Run:
    """CTranslate2 as its own users call it, its threads shared by so many workers."""
    pipeline = asked.pipeline()
    sides, pieces = pipeline.task.sides, pieces_of(pipeline.task)
    with tempfile.TemporaryDirectory() as folder:
        converted.write(pipeline.model, pieces, Path(folder))
        with threads_kept():
            translator = converted.library().Translator(folder, compute_type=compute, **threads(workers))
    numbers = {piece: number for number, piece in enumerate(pieces.target)}
    longest = pipeline.recipe.search.limit

    def run(sentences: list[str]) -> list[str]:
        options = {"max_input_length": 0, "min_decoding_length": 0, "beam_size": asked.beams, "return_scores": True}
        # One at a time, who is next is not known before, and is not cut before.
        groups = [[sentence] for sentence in sentences] if asked.batch == 1 else [sentences]
        found = []
        for group in groups:
            cuts = sides.source.encode_many(group)
            sources = [[pieces.source[number] for number in sides.read(cut)] for cut in cuts]
            # It has one limit for a call, we one for each sentence: outputs without an end are at most the longest.
            options["max_decoding_length"] = max(longest(len(source)) for source in sources)
            found += translator.translate_batch(sources, max_batch_size=asked.batch, **options)
        return [sides.target.decode([numbers[piece] for piece in one.hypotheses[0]]) for one in found]

    return run


def favourite(asked: Asked, compute: str, sample: list[str]) -> Run:
    """CTranslate2 with the batch and the workers that it is fastest with here."""
    tried = {}
    for rows in ROWS:
        for workers in dict.fromkeys((1, WORKERS)):
            run = direct(asked._replace(batch=rows), compute, workers)
            run(sample)
            tried[timed(run, sample)[0]] = run
    return tried[min(tried)]


def through(asked: Asked, engine: str) -> Run:
    """A pipeline with one of its engines."""
    pipeline = asked.pipeline()
    pipeline = pipeline if engine == "torch" else pipeline.with_engine(engine)

    def run(sentences: list[str]) -> list[str]:
        if asked.batch == 1:
            return [pipeline.predict([sentence])[0].text for sentence in sentences]
        return [result.text for result in pipeline.predict(sentences)]

    return run


def automatic(asked: Asked) -> Run:
    """As the command does it, whatever it measures included."""
    pipeline = asked.pipeline()
    return lambda lines: [result.text for result in Trying(pipeline, lambda found: None).stream(lines)]


def rounded(asked: Asked) -> Run:
    """From an export in eight bits."""
    pipeline = asked.pipeline()
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "int8"
        export(pipeline, "ctranslate2", made, "int8")
        by_export = pipeline.with_engine("ctranslate2", exported(made, "ctranslate2"))
    return lambda lines: [result.text for result in by_export.predict(lines)]


WAYS: dict[str, Callable[..., Run]] = {
    "direct": direct,
    "favourite": favourite,
    "through": through,
    "automatic": automatic,
    "rounded": rounded,
}


def timed(run: Run, sentences: list[str]) -> tuple[float, list[str]]:
    began = time.perf_counter()
    outputs = run(sentences)
    return time.perf_counter() - began, outputs


def work(line: Connection, asked: Asked) -> None:
    """In a process of its own: sentences in, how long they took and what they gave out, until there are none."""
    # As every command does it.
    with loading():
        run = WAYS[asked.way](asked, *asked.given)
    line.send("ready")
    while (sentences := line.recv()) is not None:
        line.send(timed(run, sentences))


class Contender:
    """A process that is asked now and then, and waits."""

    def __init__(self, asked: Asked) -> None:
        spawn = get_context("spawn")
        self.line, other = spawn.Pipe()
        self.process = spawn.Process(target=work, args=(other, asked), daemon=True)
        self.process.start()
        other.close()
        self.line.recv()

    def __call__(self, sentences: list[str]) -> tuple[float, list[str]]:
        self.line.send(sentences)
        took, outputs = self.line.recv()
        return took, outputs

    def close(self) -> None:
        self.line.send(None)
        self.process.join()


def compared(asked: dict[str, Asked], sentences: list[str], times: int = TIMES) -> dict[str, tuple[float, list[str]]]:
    """The best time of each and what it gave, all in turn so that a busy machine is busy for all."""
    best: dict[str, tuple[float, list[str]]] = {}
    with ExitStack() as open_ones:
        running = {}
        for name, one in asked.items():
            running[name] = Contender(one)
            open_ones.callback(running[name].close)
        turn = sum(one(sentences)[0] for one in running.values())
        for _ in range(max(TIMES, min(times, int(PATIENCE / turn)))):
            for name, one in running.items():
                found = one(sentences)
                best[name] = min(best.get(name, found), found, key=lambda each: each[0])
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundle")
    parser.add_argument("sources", type=Path)
    parser.add_argument("sentences", type=int, nargs="?")
    parser.add_argument("--limit", type=int, default=0)
    parser.add_argument("--batches", type=int, nargs="+", default=BATCHES)
    parser.add_argument("--onnx", action="store_true")
    parser.add_argument("--file", type=Path, help="references: time the whole file as well")
    parser.add_argument("--without", help="leave out contenders whose name holds these words")
    given = parser.parse_args()
    directly = {name: how for name, how in DIRECTLY.items() if not given.without or given.without not in name}
    sentences = given.sources.read_text("utf-8").splitlines()[: given.sentences]
    cut = ("search.longest_factor=0", f"search.longest_extra={given.limit}") if given.limit else ()
    engines = ["torch", "ctranslate2", *(["onnx"] if given.onnx else [])]
    print(f"{len(sentences)} sentences, {WORKERS} threads; ratios to CTranslate2 float32, the better way of calling it")
    for batch in given.batches:
        some = sentences if batch > 1 else sentences[:ALONE]
        for search, changes in SEARCHES.items():
            plain = Asked(given.bundle, (*changes, *cut), batch, "")
            asked = {name: plain._replace(way="direct", given=how) for name, how in directly.items()} | {
                f"--engine {name}": plain._replace(way="through", given=(name,)) for name in engines
            }
            found = compared(asked, some, TIMES if batch > 1 else TIMES_ALONE)
            base = min(found[name][0] for name, (compute, _) in directly.items() if compute == "float32")
            print(f"\n{f'batch {batch}' if batch > 1 else 'one at a time'}, {search}")
            for name, (took, outputs) in found.items():
                same = told(outputs, found["--engine torch"][1])
                print(f"  {name:40} {len(some) / took:8.1f} a second  x{base / took:.2f}  {same} as torch", flush=True)
    if given.file:
        whole_file(given.bundle, given.sources, given.file)


def whole_file(bundle: str, sources: Path, references: Path) -> None:
    """All lines of a file, in float32 and in eight bits."""
    lines, wanted = (path.read_text("utf-8").splitlines() for path in (sources, references))
    for search, changes in SEARCHES.items():
        plain = Asked(bundle, changes, 32, "")
        asked = {
            "ctranslate2, its best float32": plain._replace(way="favourite", given=("float32", lines[:TRIED])),
            "regard predict --engine auto": plain._replace(way="automatic"),
            "ctranslate2, its best int8": plain._replace(way="favourite", given=("int8", lines[:TRIED])),
            "--engine ctranslate2, int8 export": plain._replace(way="rounded"),
        }
        found = compared(asked, lines)
        exact = found["regard predict --engine auto"][1]
        print(f"\na file of {len(lines):,} lines, {search}; ratios to CTranslate2's best of as many bits")
        for name, (took, outputs) in found.items():
            base = found["ctranslate2, its best int8" if "int8" in name else "ctranslate2, its best float32"][0]
            bleu, ours = (corpus_bleu(each, [wanted]).score for each in (outputs, exact))
            rate = f"{len(lines) / took:8.1f} a second  x{base / took:.2f}"
            print(
                f"  {name:40} {rate}  BLEU {bleu:.2f} ({bleu - ours:+.2f})  {told(outputs, exact)} as auto", flush=True
            )


def told(outputs: list[str], wanted: list[str]) -> str:
    same = sum(one == other for one, other in zip(outputs, wanted, strict=True))
    return f"{same} of {len(wanted)}"


if __name__ == "__main__":
    main()
