"""Alignment error of every attention and method on the starter phrasebook, whose links are known; and confidence.

    regard demo --out /tmp/demo
    .venv/bin/python benchmarks/alignment.py /tmp/demo/en-de            all of it
    .venv/bin/python benchmarks/alignment.py /tmp/demo/en-de 40         with 40 lines
    .venv/bin/python benchmarks/alignment.py runs/en-de 200 source target   confidence only, on files of one's own

The best way is chosen on the first half of validation and measured on the second; methods are told side by side on the
second half. Goal: an alignment error of at most 0.15.
"""

import sys
import time
from collections.abc import Sequence
from pathlib import Path

from machine import machine

import regard
from regard.api.aligning import align, choose, confidence, judged
from regard.explain.alignment import AlignmentSettings, Gold
from regard.explain.methods import METHODS
from regard.files import lines
from regard.starter.phrases.linking import linked


def main(folder: str, count: str = "100", *files: str) -> None:
    print(machine())
    model = regard.load(Path(folder) / "run" if (Path(folder) / "run").is_dir() else folder)
    if files:
        rows = [{"source": one, "target": other} for one, other in pairs(*files)[: int(count)]]
        print(confidence(model, rows))
        return
    held = pairs(f"{folder}/data/valid.en", f"{folder}/data/valid.de")[: int(count)]
    gold = [Gold(one.sure, one.possible) for one in linked(held)]
    choice = choose(model, held, gold)
    print(f"Chosen on {choice.chosen_on} lines: {choice.settings}, error {choice.there:.3f}")
    print(f"On the {len(held) - choice.chosen_on} others: {choice.elsewhere:.3f}   goal: at most 0.15\n")
    for one in choice.tried[:10]:
        print(f"{one.error:6.3f}  {one.settings}")
    print()
    side_by_side(model, held[choice.chosen_on :], gold[choice.chosen_on :])
    rows = [
        {"source": one, "target": other} for one, other in pairs(f"{folder}/data/test.en", f"{folder}/data/test.de")
    ]
    print(f"\n{confidence(model, rows[: 2 * int(count)])}")


def side_by_side(model: regard.api.Pipeline, held: Sequence[tuple[str, str]], gold: Sequence[Gold]) -> None:
    print(f"{'method':<24}{'target':>8}{'intersection':>14}{'seconds':>9}   links by the target's words, or by both")
    for name in METHODS:
        began, errors = time.perf_counter(), []
        for way in ("target", "intersection"):
            settings = AlignmentSettings(method=name, way=way)
            errors.append(judged([align(model, one, other, settings) for one, other in held], gold))
        print(f"{name:<24}{errors[0]:>8.3f}{errors[1]:>14.3f}{time.perf_counter() - began:>9.1f}", flush=True)


def pairs(source: str, target: str) -> list[tuple[str, str]]:
    return [(one.text, other.text) for one, other in zip(lines(source), lines(target), strict=True)]


if __name__ == "__main__":
    if len(sys.argv) < 2:
        print("Nothing was run: name the folder of a demo.")
    else:
        main(*sys.argv[1:])
