"""One small run for every task: what is written, what is trained, what is shown."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard.starter import WRITERS

Recipe = dict[str, Any]


@dataclass(frozen=True)
class Demo:
    """A task's corpus in words, its recipe for the files in a folder, and a line to try."""

    corpus: str
    recipe: Callable[[Path, int], Recipe]
    line: str

    def write(self, task: str, folder: Path, seed: int) -> None:
        """The corpus in a folder."""
        WRITERS[task](folder, *SIZES[task], seed)


# Rows to train on and rows of each held-out part.
SIZES: dict[str, tuple[int, int]] = {
    "classification": (6000, 600),
    "summarization": (5000, 300),
    "tagging": (6000, 600),
    "answering": (6000, 400),
    "language": (4000, 300),
    "dialogue": (6000, 500),
}


def _recipe(task: str, data: Path, seed: int, corpus: Callable[[str], Recipe], **settings: Any) -> Recipe:
    """What all demos have alike: three parts of one corpus, a rate that rises and falls."""
    return {
        "task": task,
        "seed": seed,
        "data": {
            "root": str(data),
            "train": corpus("train"),
            "valid": corpus("valid"),
            "test": {"test": corpus("test")},
        },
        "batches": {"tokens": 2048},
        "optimizer": {"rate": 3e-3, "schedule": {"name": "linear", "warm_up": 50}},
        "train": {"epochs": 3, "every": 100, "average": {"what": "last", "count": 1}},
        **settings,
    }


def _classification(data: Path, seed: int) -> Recipe:
    return _recipe(
        "classification",
        data,
        seed,
        lambda part: {"path": f"{part}.tsv", "columns": {"text": "text", "label": "label"}},
        tokenizer={"kind": "words", "size": 2000, "lower": True},
        model={"name": "recurrent", "width": 96, "layers": 1},
    )


def _summarization(data: Path, seed: int) -> Recipe:
    return _recipe(
        "summarization",
        data,
        seed,
        lambda part: {"path": f"{part}.jsonl", "columns": {"document": "document", "summary": "summary"}},
        tokenizer={"size": 1500},
        model={
            "name": "recurrent",
            "encoder": {"width": 128},
            "decoder": {"width": 128},
            "attention": {"score": "additive"},
            "copying": True,
            "tied": "all",
        },
    )


def _tagging(data: Path, seed: int) -> Recipe:
    return _recipe(
        "tagging",
        data,
        seed,
        lambda part: {"path": f"{part}.conll", "columns": {"text": 1, "tags": 2}},
        model={"name": "recurrent", "width": 96, "layers": 1},
        head={"crf": True, "characters": {"kind": "convolution"}},
    )


def _answering(data: Path, seed: int) -> Recipe:
    return _recipe(
        "answering",
        data,
        seed,
        lambda part: {"path": f"{part}.json", "format": "squad"},
        tokenizer={"kind": "words", "size": 3000, "lower": True},
        model={"name": "recurrent", "width": 96, "layers": 1},
        head={"name": "reader"},
    )


def _language(data: Path, seed: int) -> Recipe:
    return _recipe(
        "language",
        data,
        seed,
        lambda part: {"path": f"{part}.txt", "unit": "document"},
        tokenizer={"size": 1000},
        blocks={"length": 128},
        model={
            "name": "transformer_language",
            "width": 128,
            "layers": 2,
            "attention": {"heads": 4},
            "feedforward": {"hidden": 256},
            "place": "pre",
        },
    )


def _dialogue(data: Path, seed: int) -> Recipe:
    return _recipe(
        "dialogue",
        data,
        seed,
        lambda part: {"path": f"{part}.jsonl", "columns": {"turns": "turns", "reply": "reply"}},
        tokenizer={"size": 1000},
        model={
            "name": "transformer",
            "width": 128,
            "layers": 2,
            "attention": {"heads": 4},
            "feedforward": {"hidden": 256},
            "place": "pre",
        },
    )


DEMOS: dict[str, Demo] = {
    "classification": Demo("reviews", _classification, "The soup was not bad at all, and the waiter was friendly."),
    "summarization": Demo("news reports", _summarization, "Newchurch has a new mayor: Paul Borwald."),
    "tagging": Demo("sentences with names", _tagging, "Laura Talgren of Xenomax flew from Austin to Lake Roswell."),
    "answering": Demo("passages with questions", _answering, "Who lives in Ashden?\tEmma Valinsky lives in Ashden."),
    "language": Demo("little stories", _language, "Once upon a time"),
    "dialogue": Demo("talks", _dialogue, "Good morning. I am looking for the station."),
}
