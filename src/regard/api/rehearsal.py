"""A recipe cut short: the same model and settings on a few lines for a few updates, in a folder of its own."""

import json
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from itertools import islice
from pathlib import Path

import torch

from regard.api.materials import Materials
from regard.data import Corpus, CorpusSettings
from regard.errors import DataError
from regard.files import write_atomically
from regard.tasks import Recipe, Task
from regard.text import Tokenizing, restored

Fields = Mapping[str, str]
# What a model that has learned nothing writes has no end of its own; so long it may become.
FACTOR, EXTRA = 1.0, 5
ROWS, LINES, UPDATES = 200, 8, 6


def shortened(recipe: Recipe, folder: Path, rows: int = ROWS, lines: int = LINES) -> Recipe:
    """The recipe on the first rows of each of its corpora, written into a folder."""
    materials = Materials(recipe)
    train = [
        stored(folder / f"train-{number}.jsonl", corpus.settings, first(corpus, rows))
        for number, corpus in enumerate(materials.train)
    ]
    valid = stored(folder / "valid.jsonl", recipe.data.valid, first(materials.valid, lines))
    data = {"root": "", "train": tuple(train), "valid": valid, "test": {}, "cleaning": ()}
    return hurried(recipe.model_copy(update={"data": recipe.data.model_copy(update=data)}))


def hurried(recipe: Recipe, updates: int = UPDATES) -> Recipe:
    """The recipe for a few updates, judged after every second, its outputs kept short."""
    limit = {"longest_factor": FACTOR, "longest_extra": EXTRA}
    search = recipe.validation.search.model_copy(update=limit)
    few = {"updates": updates, "epochs": None, "minutes": None, "patience": None, "every": 2, "log": 1}
    return recipe.model_copy(
        update={
            "train": recipe.train.model_copy(update=few),
            "validation": recipe.validation.model_copy(update={"search": search}),
            "search": recipe.search.model_copy(update=limit),
        }
    )


def stored(path: Path, settings: CorpusSettings, rows: Sequence[Fields]) -> CorpusSettings:
    """The settings of a corpus whose rows these are, written as JSON lines."""
    lines = [json.dumps(dict(row), ensure_ascii=False) + "\n" for row in rows]
    with write_atomically(path) as file:
        file.write("".join(lines).encode())
    kept = settings.model_dump(include={"languages", "weight", "blank"})
    names = dict.fromkeys(name for row in rows for name in row)
    return CorpusSettings.read({"path": str(path), "columns": {name: name for name in names}, **kept})


def first(corpus: Corpus, count: int) -> Sequence[Fields]:
    """The fields of its first rows."""
    rows = [row.fields for row in islice(corpus, count)]
    if not rows:
        raise DataError(f"{corpus}: there is no line in it.")
    return rows


def tokenizers(task: Task) -> dict[str, Tokenizing]:
    """The tokenizer of each field that is cut, by what the task writes down: one for all, or `FIELD.tokenizer.json`."""
    found = {name: text for name, text in task.files().items() if name.endswith("tokenizer.json")}
    made = {name: restored(text, name) for name, text in found.items()}
    joint = made.get("tokenizer.json")
    each = {field: made.get(f"{field}.tokenizer.json", joint) for field in task.cut()}
    return {field: tokenizer for field, tokenizer in each.items() if tokenizer is not None}


def undisturbed() -> AbstractContextManager[None]:
    """Inside, torch's random numbers may be drawn at will; outside they go on as if none had been."""
    guarded: AbstractContextManager[None] = torch.random.fork_rng()
    return guarded
