"""A phrasebook run of seconds: real sentences, a small model, every part of the walk."""

from functools import cache
from pathlib import Path
from typing import Any

from regard.starter import Phrasebook, phrasebook


@cache
def book() -> Phrasebook:
    return phrasebook("en-de", size=600, held_out=20)


def write(folder: Path) -> None:
    folder.mkdir(parents=True)
    for part in ("train", "valid", "test"):
        for column, language in enumerate(("en", "de")):
            lines = "".join(f"{pair[column]}\n" for pair in getattr(book(), part))
            (folder / f"{part}.{language}").write_text(lines, "utf-8")


def recipe(folder: Path, model: dict[str, Any] | None = None, **other: Any) -> dict[str, Any]:
    """A recipe over a small phrasebook written to `folder`; `other` tables replace its own."""
    if not (folder / "train.en").exists():
        write(folder)

    def side(part: str) -> dict[str, Any]:
        return {"files": {"source": f"{part}.en", "target": f"{part}.de"}}

    return {
        "task": "translation",
        "data": {"root": str(folder), "train": side("train"), "valid": side("valid"), "test": {"test": side("test")}},
        "tokenizer": {"size": 400},
        "model": model or TRANSFORMER,
        "batches": {"tokens": 600},
        "optimizer": {"rate": 1e-2, "schedule": {"name": "linear", "warm_up": 5}},
        "train": {"updates": 24, "every": 8, "log": 4},
        "search": {"beams": 3, "longest_factor": 1.0, "longest_extra": 4},
        **other,
    }


TRANSFORMER: dict[str, Any] = {
    "name": "transformer",
    "width": 16,
    "layers": 2,
    "attention": {"heads": 2},
    "feedforward": {"hidden": 24},
}
RECURRENT: dict[str, Any] = {
    "name": "recurrent",
    "encoder": {"width": 16},
    "decoder": {"width": 16},
    "attention": {"score": "additive"},
}
