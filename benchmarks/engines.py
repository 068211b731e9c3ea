"""Decoding with each engine, and by calling CTranslate2 directly: sentences a second as ratios, in one run.

python benchmarks/engines.py BUNDLE SOURCES [SENTENCES] [--onnx]

BUNDLE is a translator, SOURCES a file of sentences (Multi30k's test_2016_flickr.en: 1,000 of them). Everything but the
loading is timed: tokenization, search, probabilities and statuses; calling CTranslate2 directly means tokenizing with
our tokenizer, `translate_batch` with the same beams and nothing more, and joining its pieces to text. Each is run once
to warm up and then twice in turn, and the better time counts. Outputs are compared in passing.
"""

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import torch

from regard.api import Pipeline
from regard.convert import ctranslate2 as converted
from regard.engines.ctranslate2.making import threads
from regard.engines.pieces import pieces_of

Run = Callable[[list[str]], list[str]]
BATCHES = (32, 1)
SEARCHES = {"greedy": ("search.method=greedy",), "beam 5": ("search.method=beam", "search.beams=5")}
TIMES = 2


def direct(pipeline: Pipeline, batch: int, beams: int, compute: str) -> Run:
    """CTranslate2 as its own users call it."""
    sides, pieces = pipeline.task.sides, pieces_of(pipeline.task)
    with tempfile.TemporaryDirectory() as folder:
        converted.write(pipeline.model, pieces, Path(folder))
        translator = converted.library().Translator(folder, compute_type=compute, **threads())
    numbers = {piece: number for number, piece in enumerate(pieces.target)}

    def run(sentences: list[str]) -> list[str]:
        sources = [[pieces.source[number] for number in sides.read(cut)] for cut in sides.source.encode_many(sentences)]
        options = {"max_input_length": 0, "min_decoding_length": 0, "beam_size": beams, "return_scores": True}
        found = []
        if batch == 1:
            found = [translator.translate_batch([source], **options)[0] for source in sources]
        else:
            found = translator.translate_batch(sources, max_batch_size=batch, **options)
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
    arguments = [argument for argument in sys.argv[1:] if not argument.startswith("--")]
    if len(arguments) < 2:
        raise SystemExit(__doc__)
    sentences = Path(arguments[1]).read_text("utf-8").splitlines()[: int(arguments[2]) if arguments[2:] else None]
    ours = Pipeline.load(arguments[0], ["device=cpu"])
    engines = {"torch": ours, "ctranslate2": ours.with_engine("ctranslate2")}
    if "--onnx" in sys.argv:
        engines["onnx"] = ours.with_engine("onnx")
    print(
        f"{len(sentences)} sentences, {torch.get_num_threads()} threads; ratios to CTranslate2 float32 called directly"
    )
    for batch in BATCHES:
        for search, changes in SEARCHES.items():
            beams = 5 if search == "beam 5" else 1
            runs = {
                "ctranslate2 directly": direct(ours, batch, beams, "float32"),
                "ctranslate2 directly, int8": direct(ours, batch, beams, "int8"),
            }
            for name, pipeline in engines.items():
                runs[name] = through(pipeline.with_settings(*changes, f"predict.rows={batch}"), batch)
            found = timed(runs, sentences)
            base, wanted = found["ctranslate2 directly"][0], found["torch"][1]
            print(f"\n{'batch 32' if batch > 1 else 'one at a time'}, {search}")
            for name, (took, outputs) in found.items():
                same = sum(one == other for one, other in zip(outputs, wanted, strict=True))
                rate = len(sentences) / took
                print(f"  {name:28} {rate:8.1f} a second  x{base / took:.2f}  {same} of {len(wanted)} as torch")


if __name__ == "__main__":
    main()
