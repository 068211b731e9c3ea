"""Every benchmark by one command, each with what it needs; what lacks its model or its data says so and is passed over.

python benchmarks/run.py [--data data] [--runs runs] [--peers] [NAME...]

DATA holds the corpora under the names the recipes give them, RUNS what the recipes trained (`regard train
recipes/multi30k-en-de.toml --out runs/en-de`; README.md has the commands for the others). With --peers, other toolkits
are installed in `.peers`, each in an environment of its own, and measured beside ours; that takes gigabytes and hours.
"""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from machine import processor

FOLDER = Path(__file__).parent
MODEL, BASE = "{runs}/en-de", "{runs}/en-de-base"
TEST, RIGHT = "{data}/multi30k/test_2016_flickr.en", "{data}/multi30k/test_2016_flickr.de"
PACKAGES = ("torch", "ctranslate2", "transformers", "onnxruntime")

# A script with its words; paths in braces have to be there.
BENCHMARKS: dict[str, tuple[str, ...]] = {
    "multiplying": (),
    "attending": (),
    "kernels": (),
    "attention_memory": (),
    "dropout": (),
    "norms": (),
    "loss": (),
    "recurrent": (),
    "products": (),
    "stepping": (),
    "taps": (),
    "scale": (),
    "preparing": (),
    "length": ("--bundle", MODEL, "--sources", TEST, "--images", "docs/pictures"),
    "cost": (MODEL, "--recipe", "recipes/multi30k-en-de.toml", "--root", "{data}"),
    "training": ("--data", "{data}/multi30k"),
    "engines": (MODEL, TEST, "--file", RIGHT),
    "engines base": (BASE, TEST, "64", "--limit", "20"),
    "company": (MODEL, TEST),
    "serving": (MODEL, TEST, "300"),
    "explaining": (MODEL, TEST),
    "faithfulness": (MODEL, TEST, "20"),
    "alignment": ("regard-demo/en-de",),
    "generation": ("{data}/smollm2",),
    "understanding": (
        "{runs}/sst2-minilm",
        "{data}/sst2/dev.tsv",
        "{runs}/conll-minilm",
        "{data}/conll2003/test.txt",
    ),
}
WHOLE = {"cost", "training", "engines", "generation", "understanding"}
PEERS: dict[str, tuple[str, ...]] = {
    "peers/environments": (),
    "peers/training tiny": ("--data", "{data}/multi30k", "--size", "tiny", "--updates", "20"),
    "peers/training base": ("--data", "{data}/multi30k", "--size", "base", "--updates", "8", "--rounds", "1"),
    "peers/training recurrent": ("--data", "{data}/multi30k", "--size", "recurrent", "--updates", "20"),
    "peers/decoding": (MODEL, TEST, "200", "--references", RIGHT),
    "peers/decoding base": (BASE, TEST, "64", "--limit", "20", "--rounds", "1"),
    "generation peers": ("{data}/smollm2", "--gguf", "{data}/smollm2.gguf", "--peers", ".peers/generation/bin/python"),
}


def missing(words: tuple[str, ...], places: dict[str, str]) -> Iterator[str]:
    """What a benchmark needs and is not there."""
    for word in words:
        path = word.format(**places)
        if "/" in word and not Path(path).exists():
            yield path


def run(name: str, words: tuple[str, ...], places: dict[str, str]) -> bool:
    """Whether it went well, or was passed over."""
    print(f"== {name}", flush=True)
    if lacking := list(missing(words, places)):
        print(f"Not run: there is no {', no '.join(lacking)}.", flush=True)
        return True
    # A script may be run in several ways, each named by a word after its own name.
    script = name.split()[0]
    command = [sys.executable, str(FOLDER / f"{script}.py"), *(word.format(**places) for word in words)]
    # What users run has all processors, one part of it a single thread, unless it is said how many.
    threads = str(os.cpu_count() or 1) if script in WHOLE or name in PEERS else "1"
    return subprocess.run(command, check=False, env={"OMP_NUM_THREADS": threads} | os.environ).returncode == 0


def versions() -> Iterator[str]:
    for name in PACKAGES:
        try:
            yield f"{name} {version(name)}"
        except PackageNotFoundError:
            yield f"no {name}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="these alone")
    parser.add_argument("--data", default="data")
    parser.add_argument("--runs", default="runs")
    parser.add_argument("--peers", action="store_true")
    asked = parser.parse_args()
    known = BENCHMARKS | PEERS
    for name in asked.names:
        if name not in known:
            parser.error(f"no benchmark {name!r}; there are {', '.join(known)}")
    print(f"{time.strftime('%Y-%m-%d')}; {processor()}; {', '.join(versions())}", flush=True)
    names = asked.names or [*BENCHMARKS, *(PEERS if asked.peers else ())]
    places = {"data": asked.data, "runs": asked.runs}
    failed = [name for name in names if not run(name, known[name], places)]
    if failed:
        sys.exit(f"Failed: {', '.join(failed)}.")


if __name__ == "__main__":
    main()
