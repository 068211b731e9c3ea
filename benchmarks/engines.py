"""Decoding with each engine, and by calling CTranslate2 directly: sentences a second as ratios, in one run.

python benchmarks/engines.py BUNDLE SOURCES [SENTENCES] [--limit PIECES] [--onnx] [--file REFERENCES]

BUNDLE is a translator, SOURCES a file of sentences (Multi30k's test_2016_flickr.en: 1,000 of them). Everything but the
loading is timed: tokenization, search and statuses, as `regard predict` gives lines of text (the probability of each
piece is not told there, see `search.probabilities`); calling CTranslate2 directly means tokenizing with
our tokenizer, `translate_batch` with the same beams and nothing more, and joining its pieces to text; once with all
threads in one worker and once with a worker a thread. Each is run once to warm up and then twice in turn, and the
better time counts. Outputs are compared in passing. With a limit every output is cut there, so that a model that has
learnt nothing yet can be timed: its outputs never end.

With --file all of SOURCES is one file: `regard predict --engine auto`, its measurement of the engines included, beside
CTranslate2 with the best of several batches and workers, chosen on the first sentences and not timed. In eight bits
both, too: CTranslate2 directly and by `--engine ctranslate2` from an export; the BLEU of all is told.
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import torch
from sacrebleu import corpus_bleu

from regard.api import Pipeline
from regard.api.choosing import Trying
from regard.api.exporting import export
from regard.convert import ctranslate2 as converted
from regard.engines import exported
from regard.engines.ctranslate2.making import threads, threads_kept
from regard.engines.pieces import pieces_of

Run = Callable[[list[str]], list[str]]
BATCHES = (32, 1)
SEARCHES = {"greedy": ("search.method=greedy",), "beam 5": ("search.method=beam", "search.beams=5")}
UNTOLD = "search.probabilities=false"
TIMES = 2
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


def direct(pipeline: Pipeline, batch: int, beams: int, limit: int, compute: str, workers: int) -> Run:
    """CTranslate2 as its own users call it, its threads shared by so many workers."""
    sides, pieces = pipeline.task.sides, pieces_of(pipeline.task)
    with tempfile.TemporaryDirectory() as folder:
        converted.write(pipeline.model, pieces, Path(folder))
        with threads_kept():
            translator = converted.library().Translator(folder, compute_type=compute, **threads(workers))
    numbers = {piece: number for number, piece in enumerate(pieces.target)}

    def run(sentences: list[str]) -> list[str]:
        options = {"max_input_length": 0, "min_decoding_length": 0, "beam_size": beams, "return_scores": True}
        options |= {"max_decoding_length": limit} if limit else {}
        # One at a time, who is next is not known before, and is not cut before.
        groups = [[sentence] for sentence in sentences] if batch == 1 else [sentences]
        found = []
        for group in groups:
            cuts = sides.source.encode_many(group)
            sources = [[pieces.source[number] for number in sides.read(cut)] for cut in cuts]
            found += translator.translate_batch(sources, max_batch_size=batch, **options)
        return [sides.target.decode([numbers[piece] for piece in one.hypotheses[0]]) for one in found]

    return run


def through(pipeline: Pipeline, batch: int) -> Run:
    """A pipeline with one of its engines."""

    def run(sentences: list[str]) -> list[str]:
        if batch == 1:
            return [pipeline.predict([sentence])[0].text for sentence in sentences]
        return [result.text for result in pipeline.predict(sentences)]

    return run


def timed(runs: dict[str, Run], sentences: list[str]) -> dict[str, tuple[float, list[str]]]:
    """The best time of each and what it gave, all in turn so that a busy machine is busy for all."""
    best: dict[str, tuple[float, list[str]]] = {}
    for run in runs.values():
        run(sentences[:32])
    for _ in range(TIMES):
        for name, run in runs.items():
            began = time.perf_counter()
            outputs = run(sentences)
            took = time.perf_counter() - began
            if name not in best or took < best[name][0]:
                best[name] = took, outputs
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundle")
    parser.add_argument("sources", type=Path)
    parser.add_argument("sentences", type=int, nargs="?")
    parser.add_argument("--limit", type=int, default=0)
    parser.add_argument("--onnx", action="store_true")
    parser.add_argument("--file", type=Path, help="references: time the whole file as well")
    given = parser.parse_args()
    sentences = given.sources.read_text("utf-8").splitlines()[: given.sentences]
    cut = ["search.longest_factor=0", f"search.longest_extra={given.limit}"] if given.limit else []
    ours = Pipeline.load(given.bundle, ["device=cpu", *cut])
    engines = {"--engine torch": ours, "--engine ctranslate2": ours.with_engine("ctranslate2")}
    if given.onnx:
        engines["--engine onnx"] = ours.with_engine("onnx")
    print(f"{len(sentences)} sentences, {WORKERS} threads; ratios to CTranslate2 float32, the better way of calling it")
    for batch in BATCHES:
        for search, changes in SEARCHES.items():
            beams = 5 if search == "beam 5" else 1
            runs = {name: direct(ours, batch, beams, given.limit, *how) for name, how in DIRECTLY.items()}
            for name, pipeline in engines.items():
                runs[name] = through(pipeline.with_settings(*changes, UNTOLD, f"predict.rows={batch}"), batch)
            found = timed(runs, sentences)
            base = min(found[name][0] for name, (compute, _) in DIRECTLY.items() if compute == "float32")
            wanted = found["--engine torch"][1]
            print(f"\n{'batch 32' if batch > 1 else 'one at a time'}, {search}")
            for name, (took, outputs) in found.items():
                same = sum(one == other for one, other in zip(outputs, wanted, strict=True))
                rate = len(sentences) / took
                print(f"  {name:40} {rate:8.1f} a second  x{base / took:.2f}  {same} of {len(wanted)} as torch")
    if given.file:
        whole_file(ours, given.sources, given.file)


def whole_file(ours: Pipeline, sources: Path, references: Path) -> None:
    """All lines of a file, in float32 and in eight bits."""
    lines, wanted = (path.read_text("utf-8").splitlines() for path in (sources, references))
    for search, changes in SEARCHES.items():
        pipeline, beams = ours.with_settings(*changes, UNTOLD), 5 if search == "beam 5" else 1
        with tempfile.TemporaryDirectory() as folder:
            rounded = Path(folder) / "int8"
            export(pipeline, "ctranslate2", rounded, "int8")
            by_export = pipeline.with_engine("ctranslate2", exported(rounded, "ctranslate2"))
            runs = {
                "ctranslate2, its best float32": favourite(pipeline, lines, beams, "float32"),
                "regard predict --engine auto": partial(automatic, pipeline),
                "ctranslate2, its best int8": favourite(pipeline, lines, beams, "int8"),
                "--engine ctranslate2, int8 export": through(by_export, 32),
            }
            found = timed(runs, lines)
        base = found["ctranslate2, its best float32"][0]
        print(f"\na file of {len(lines):,} lines, {search}")
        for name, (took, outputs) in found.items():
            same = sum(
                one == other for one, other in zip(outputs, found["regard predict --engine auto"][1], strict=True)
            )
            bleu = corpus_bleu(outputs, [wanted]).score
            print(
                f"  {name:40} {len(lines) / took:8.1f} a second  x{base / took:.2f}  BLEU {bleu:.2f}  "
                f"{same} of {len(lines)} as auto"
            )


def automatic(pipeline: Pipeline, lines: list[str]) -> list[str]:
    """As the command does it: each engine predicts some of the first lines, the faster one the rest."""
    return [result.text for result in Trying(pipeline, Path(), lambda found: None).stream(lines)]


def favourite(pipeline: Pipeline, lines: list[str], beams: int, compute: str) -> Run:
    """CTranslate2 with the batch and the workers that it is fastest with here."""
    tried = {}
    for rows in ROWS:
        for workers in dict.fromkeys((1, WORKERS)):
            run = direct(pipeline, rows, beams, 0, compute, workers)
            tried[timed({"": run}, lines[:TRIED])[""][0]] = run
    return tried[min(tried)]


if __name__ == "__main__":
    main()
