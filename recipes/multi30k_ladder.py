"""The ladder: German-English by no attention, by every score of attention, and by the Transformer, three seeds each.

    python recipes/multi30k_ladder.py runs/ladder [--rungs NAME...] [--seeds 1 2 3] [--set NAME=VALUE]...

One tokenizer, one number of epochs and one search for all. A rung that is done is not trained again, one that was
broken off goes on. The table is made of what is there, so several of these may climb different rungs at once.
"""

import argparse
import json
import statistics
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
RECURRENT, TRANSFORMER = HERE / "multi30k-de-en-recurrent.toml", HERE / "multi30k-ladder.toml"
SCORES = (
    "location", "dot", "scaled_dot", "cosine", "general", "query_network", "additive", "concat", "location_aware",
)  # fmt: skip
RUNGS: dict[str, tuple[Path, tuple[str, ...]]] = {
    "none": (RECURRENT, ("model.attention=false",)),
    **{score: (RECURRENT, (f"model.attention.score={score}",)) for score in SCORES},
    "transformer": (TRANSFORMER, ()),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rungs", nargs="*", choices=RUNGS, default=list(RUNGS))
    parser.add_argument("--seeds", nargs="*", type=int, default=[1, 2, 3])
    parser.add_argument("--set", action="append", default=[], dest="changes", metavar="NAME=VALUE")
    asked = parser.parse_args()
    for seed in asked.seeds:
        for rung in asked.rungs:
            climb(rung, seed, asked.folder, asked.changes)
    table(asked.folder)


def climb(rung: str, seed: int, folder: Path, changes: list[str]) -> None:
    """Train and measure one, unless that is done."""
    run = folder / f"{rung}-{seed}"
    scores = run / "ladder.jsonl"
    if scores.exists():
        return
    recipe, own = RUNGS[rung]
    settings = [word for change in (*own, f"seed={seed}", *changes) for word in ("--set", change)]
    resume = ["--resume"] if run.exists() else []
    regard("train", str(recipe), "--out", str(run), *settings, *resume)
    scores.write_text(regard("evaluate", str(run), "--json", captured=True), "utf-8")


def regard(*words: str, captured: bool = False) -> str:
    """The command; what it printed, if that is wanted."""
    output = subprocess.PIPE if captured else None
    done = subprocess.run([sys.executable, "-m", "regard", *words], check=False, stdout=output, text=True)
    if done.returncode:
        # It has said why.
        sys.exit(done.returncode)
    return done.stdout or ""


def table(folder: Path) -> None:
    """Mean and seeds of each rung, lowest first: cased BLEU, and tokenized lower-cased BLEU beside it."""
    found = {rung: [bleus(path) for path in sorted(folder.glob(f"{rung}-[0-9]*/ladder.jsonl"))] for rung in RUNGS}
    there = {rung: list(zip(*rows, strict=True)) for rung, rows in found.items() if rows}
    print("| | cased BLEU | of each seed | tokenized lower-cased |\n|---|---|---|---|")
    for rung, (cased, lower) in sorted(there.items(), key=lambda one: statistics.mean(one[1][0])):
        seeds = ", ".join(f"{one:.2f}" for one in cased)
        print(f"| {rung} | {statistics.mean(cased):.2f} | {seeds} | {statistics.mean(lower):.2f} |")


def bleus(path: Path) -> tuple[float, float]:
    """Cased, and tokenized lower-cased."""
    scores = json.loads(path.read_text("utf-8").splitlines()[0])["scores"]
    values = {name.split("(")[0]: found["value"] for name, found in scores.items()}
    return values["bleu"], values["bleu_lower"]


if __name__ == "__main__":
    main()
