"""Our side of the comparison of trainings, by way of benchmarks/training.py; run alone, the recurrent model's timing.

python benchmarks/peers/ours.py DATA FOLDER UPDATES
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from configs import DROPOUT, WIDTHS

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

# The file of that name one folder up, not the one beside this.
import training as alone

from regard.api import Training, read
from regard.text import Tokenizing, restored
from regard.train.allocation import keep_freed

SCRIPT = Path(alone.__file__)
WARM = alone.WARM


def prepared(data: Path, size: str, folder: Path, updates: int) -> Tokenizing:
    """Our run made ready in `folder`, with the batches of its first updates as files; the joint tokenizer of it."""
    alone.prepared(data, "tiny" if size == "recurrent" else size, folder, WARM + updates)
    name = "tokenizer.json"
    return restored((folder / "timed" / name).read_text("utf-8"), name)


def command(name: str, data: Path, size: str, folder: Path, updates: int) -> list[str]:
    """What times one of our runners in a process of its own."""
    if size == "recurrent":
        return [sys.executable, __file__, str(data), str(folder), str(updates)]
    told = ["--runner", name, "--folder", str(folder), "--data", str(data), "--size", size, "--updates", str(updates)]
    return [sys.executable, str(SCRIPT), *told]


def recipe(data: Path) -> dict[str, Any]:
    """An LSTM that reads both ways, one that writes, and additive attention between them."""
    layers, width, _, _ = WIDTHS["recurrent"]
    stack = {"cell": "lstm", "width": width, "layers": layers, "dropout": DROPOUT}
    model = {
        "name": "recurrent",
        "encoder": stack | {"both_ways": True},
        "decoder": stack,
        "attention": {"score": "additive"},
        "embedding": {"dropout": DROPOUT},
        "tied": "all",
    }
    return alone.recipe(data, "tiny") | {"model": model}


def recurrent(size: str, data: Path, folder: Path) -> Iterator[int]:
    """As `regard train` runs it, freed memory kept."""
    keep_freed()
    training = Training(read(recipe(data)), folder / "recurrent", resume=True)
    for step in training.steps():
        yield step.count


def main(data: str, folder: str, updates: str) -> None:
    alone.RUNNERS["recurrent"] = recurrent
    print(json.dumps(alone.timed("recurrent", "recurrent", Path(data), Path(folder), int(updates))))


if __name__ == "__main__":
    main(*sys.argv[1:4])
