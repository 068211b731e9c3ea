"""The translation demo: from a phrasebook that Regard writes itself to a small translator, in under two minutes."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from regard.api import Pipeline
from regard.errors import DataError
from regard.explain import heat
from regard.files import count_lines, write_atomically
from regard.starter import write_phrasebook
from regard.tasks.links import attention
from regard.tasks.subjects import spans_of
from regard.text.alignment import word_weights
from regard.text.spans import words_of

EXAMPLES = {
    "en-de": [
        "Peter bought a gray scarf for his grandfather yesterday.",
        "While he is ironing the shirts, his grandfather is taking pictures.",
        "Is there a cinema across from the hotel?",
    ],
    "en-zh": [
        "Peter bought a gray scarf for his grandfather yesterday.",
        "Is there a cinema across from the hotel?",
        "My daughter says that her nose has been hurting since Monday.",
    ],
}
LANGUAGES = {"de": "German", "zh": "Chinese"}


def recipe(pair: str, data: Path, seed: int) -> dict[str, Any]:
    """A small Transformer for the starter corpus."""
    _, target = pair.split("-")

    def side(part: str) -> dict[str, Any]:
        return {"files": {"source": f"{part}.en", "target": f"{part}.{target}"}}

    return {
        "task": "translation",
        "seed": seed,
        "data": {"root": str(data), "train": side("train"), "valid": side("valid"), "test": {"test": side("test")}},
        "tokenizer": {"size": 1000},
        "target_tokenizer": {"size": 1000},
        "model": {
            "name": "transformer",
            "width": 128,
            "layers": 2,
            "attention": {"heads": 4},
            "feedforward": {"hidden": 256},
            "place": "pre",
            "tied": "output",
            "dropout": 0.1,
        },
        "batches": {"tokens": 2048},
        "optimizer": {"rate": 4e-3, "schedule": {"name": "linear", "warm_up": 200}},
        "train": {"epochs": 4, "every": 200, "average": {"what": "last", "count": 1}},
        "metrics": [{"name": "bleu", "tokenizer": "zh"} if target == "zh" else "bleu", "exact"],
    }


def write(folder: Path, seed: int, pair: str) -> str:
    """The corpus in a folder, and what it is in words."""
    written = write_phrasebook(folder, pair, seed=seed)
    lines = count_lines(written["train.en"])
    return f"A phrasebook of {lines:,} English sentences and their {LANGUAGES[pair[3:]]} is in {folder}."


def show(model: Pipeline, pair: str, folder: Path, console: Console) -> None:
    """A few translations, and where the model looked."""
    console.print(examples(model, EXAMPLES[pair]))
    picture = draw(model, EXAMPLES[pair][0], folder / "attention.svg")
    told = f"Where it looked while it wrote the first of them: [bold]{picture}[/bold] (open it in a browser)"
    console.print(told, soft_wrap=True)


def examples(model: Pipeline, texts: list[str]) -> Table:
    table = Table("English", "what the model makes of it", "sure of each piece, at least")
    for text, result in zip(texts, model.predict(texts), strict=True):
        told: Mapping[str, Any] = result.plain()
        table.add_row(text, result.text, f"{min(told['probabilities'], default=0):.0%}")
    return table


def draw(model: Pipeline, text: str, path: Path) -> Path:
    """The attention of every written word over the words read, as a picture; the map has passed its own check."""
    sides: Any = model.task.sides  # type: ignore[attr-defined]
    translating = model.task.translating(model.model, model.recipe)  # type: ignore[attr-defined]
    found = translating.done(translating.work({"source": text}).jobs)[0]
    [weights] = attention(model.model, sides, (), [(text, found.text, found.hypotheses[0])])
    source = words_of(text, sides.source.encode(text).spans)
    target = words_of(found.text, spans_of(sides.target, found.hypotheses[0].pieces, found.text))
    grid = word_weights(weights, source, target)
    title = "What the model looks at: written downwards, read across"
    note = "Cross-attention, mean of the heads of the layer before the last; what went to the end sign is left out."
    picture = heat(grid, [word.text for word in target], [word.text for word in source], title, note)
    try:
        with write_atomically(path) as file:
            file.write(picture.encode())
    except OSError as error:
        raise DataError(f"Cannot write {path}: {error.strerror}; give another folder with --out.") from None
    return path
