"""The demo: from a phrasebook that Regard writes itself to a small translator, in under two minutes."""

import os
import shutil
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from regard.api import Materials, Pipeline, Training, read
from regard.errors import ConfigError, DataError, unknown
from regard.explain import heat
from regard.files import count_lines, shown, write_atomically
from regard.starter import write_phrasebook
from regard.tasks.links import attention, spans
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


def run(out: Path, seed: int, pair: str = "en-de", changes: tuple[str, ...] = ()) -> None:
    """Write the corpus, train, measure on what was never seen, show, draw, and say what to type next."""
    if pair not in EXAMPLES:
        raise ConfigError(unknown("pair", pair, EXAMPLES))
    console, began = Console(), time.monotonic()
    folder = _fresh(out / pair)
    written = write_phrasebook(folder / "data", pair, seed=seed)
    lines = count_lines(written["train.en"])
    console.print(
        f"A phrasebook of {lines:,} English sentences and their {LANGUAGES[pair[3:]]} is in {folder / 'data'}."
    )
    training = Training(read(recipe(pair, folder / "data", seed), changes), folder / "run", tell=console.print)
    for step in training.steps():
        if step.scores:
            done = f"{step.progress.update:>5} of {training.planned} updates"
            console.print(f"  {done}   loss {step.recent or step.loss:.3f}   on validation {step.scores['loss']:.3f}")
    model = training.finish()
    judged = model.evaluate(Materials(model.recipe).test("test"))
    bleu, exact = judged.scores.values()
    console.print(
        f"BLEU [bold]{bleu.value:.1f}[/bold] on {len(judged.results)} sentences made of combinations it never saw, "
        f"{exact.value:.0f} % of them word for word ({time.monotonic() - began:.0f} s in all)."
    )
    console.print(f"[dim]{bleu.signature}[/dim]")
    console.print(examples(model, EXAMPLES[pair]))
    picture = draw(model, EXAMPLES[pair][0], folder / "attention.svg")
    console.print(f"Where it looked while it wrote the first of them: [bold]{picture}[/bold] (open it in a browser)")
    console.print("Next, type:")
    for line in following(shown(folder / "run")):
        console.print(f"  {line}", highlight=False, soft_wrap=True)


def following(run: str) -> list[str]:
    """The commands to type next, with the command's path where it is not on the path."""
    regard = "regard" if shutil.which("regard") else os.path.relpath(Path(sys.executable).with_name("regard"))
    return [
        f'echo "Maria rode a bike with her aunt on Friday." | {regard} predict {run}',
        f"{regard} evaluate {run}",
        f"{regard} inspect {run}",
        f"{regard} recipes",
    ]


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
    target = words_of(found.text, spans(sides, found.hypotheses[0].pieces, found.text))
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


def _fresh(folder: Path) -> Path:
    """The demo's folder without what an earlier demo left in it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(folder / "run", ignore_errors=True)
    except OSError as error:
        raise DataError(f"Cannot write {folder}: {error.strerror}; give another folder with --out.") from None
    return folder
