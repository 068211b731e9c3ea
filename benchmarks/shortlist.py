"""What a vocabulary shortlist saves: at most, with fewer and fewer pieces to choose from; and really, by an export.

python benchmarks/shortlist.py
python benchmarks/shortlist.py EXPORT SOURCES [REFERENCES] [--batches 32 1] [--limit PIECES]

Without an export: a decoding step of random models, the argmax included, nothing of what it costs to make a shortlist
for a batch; one thread. With one (`regard export BUNDLE --to shortlist`): sentences a second by `--engine shortlist`
and by `--engine torch`, in one process by turns, the best of several; one at a time with the first 150 sentences.
Loading is not timed. Beside it how many pieces a batch is narrowed to, how many outputs are those of torch, and the
BLEU of both. With a limit every output is cut there, so that a model that has learnt nothing can be timed.
"""

import argparse
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from machine import clock, machine
from sacrebleu import corpus_bleu
from stepping import SIZES, seconds

from regard.api import Pipeline
from regard.engines.engine import beside
from regard.engines.shortlist.searching import ShortlistSearcher
from regard.models import Transformer, TransformerSettings, Vocabulary

PIECES, ROWS, ROUNDS = (10_000, 4_000, 2_000, 1_000, 500), (1, 5, 32, 160), 5
SEARCHES = {"greedy": ("search.method=greedy",), "beam 5": ("search.method=beam", "search.beams=5")}
TIMES, ALONE = 5, 150
NARROWED: list[int] = []


@dataclass(frozen=True)
class Noting(ShortlistSearcher):
    """The same, noting how many pieces each batch is narrowed to; what is searched among all is not counted."""

    def narrowed(self, asked: Any) -> Any:
        found = super().narrowed(asked)
        NARROWED.append(len(found[0].pieces))
        return found


def at_most() -> None:
    torch.set_num_threads(1)
    for size, (layers, width, heads, hidden) in SIZES.items():
        settings = {"width": width, "layers": layers, "attention": {"heads": heads}, "feedforward": {"hidden": hidden}}
        read = TransformerSettings.read(settings)
        models = [Transformer(read, Vocabulary(pieces, pieces)).eval() for pieces in PIECES]
        for rows in ROWS:
            times: list[list[float]] = [[] for _ in PIECES]
            for _ in range(ROUNDS):
                for model, some in zip(models, times, strict=True):
                    some.append(seconds(model, rows))
            best = [min(some) for some in times]
            told = "  ".join(f"{pieces:,}: x{best[0] / time:.2f}" for pieces, time in zip(PIECES, best, strict=True))
            print(f"{size:5} {rows:4} rows  {best[0] * 1e3:6.2f} ms  {told}")


def loaded(folder: str, changes: tuple[str, ...]) -> dict[str, Pipeline]:
    """The bundle inside by torch, and the export by its engine."""
    short = Pipeline.load(folder, ["device=cpu", "search.probabilities=false", *changes], engine="shortlist")
    made: Any = short.engine
    known = made.model.searcher
    noting = beside(made.model, searcher=Noting(known.model, known.lexicon, known.joint))
    return {"torch": replace(short, engine=None), "shortlist": replace(short, engine=replace(made, model=noting))}


def written(pipeline: Pipeline, sentences: list[str], batch: int) -> list[str]:
    if batch == 1:
        return [pipeline.predict([sentence])[0].text for sentence in sentences]
    return [result.text for result in pipeline.predict(sentences)]


def really(folder: str, sentences: list[str], references: list[str], batches: list[int], cut: tuple[str, ...]) -> None:
    now = clock()
    for batch in batches:
        some = sentences if batch > 1 else sentences[:ALONE]
        for search, changes in SEARCHES.items():
            ways = loaded(folder, (*changes, *cut, f"predict.rows={batch}"))
            best = dict.fromkeys(ways, float("inf"))
            found = {name: written(way, some, batch) for name, way in ways.items()}
            for _ in range(TIMES):
                for name, way in ways.items():
                    began = now()
                    written(way, some, batch)
                    best[name] = min(best[name], now() - began)
            rates = ", ".join(f"{name} {len(some) / took:.0f}" for name, took in best.items())
            same = sum(one == other for one, other in zip(*found.values(), strict=True))
            pieces = sum(NARROWED) / len(NARROWED)
            NARROWED.clear()
            print(f"{batch:3} at once, {search}: {rates} a second, x{best['torch'] / best['shortlist']:.2f};", end=" ")
            print(f"{pieces:,.0f} pieces a batch; {same} of {len(some)} outputs the same", end="", flush=True)
            if references:
                scores = (corpus_bleu(each, [references[: len(some)]]).score for each in found.values())
                print("; BLEU " + ", ".join(f"{score:.2f}" for score in scores), end="")
            print(flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("export", nargs="?")
    parser.add_argument("sources", type=Path, nargs="?")
    parser.add_argument("references", type=Path, nargs="?")
    parser.add_argument("--batches", type=int, nargs="+", default=[32, 1])
    parser.add_argument("--limit", type=int, default=0)
    given = parser.parse_args()
    print(machine())
    if given.export is None:
        at_most()
        return
    sentences, references = (
        path.read_text("utf-8").splitlines() if path else [] for path in (given.sources, given.references)
    )
    cut = ("search.longest_factor=0", f"search.longest_extra={given.limit}") if given.limit else ()
    really(given.export, sentences, references, given.batches, cut)


if __name__ == "__main__":
    main()
