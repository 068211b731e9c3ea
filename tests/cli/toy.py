"""A run small enough for a test, and the command line called in this process."""

import json
import random
from pathlib import Path

from typer.testing import CliRunner, Result

from regard.cli.app import app

WORDS = {"the": "das", "dog": "Hund", "cat": "Katze", "runs": "läuft", "sees": "sieht", "red": "rot"}

RECIPE = """# Word for word
#
# command   regard train toy

task = "translation"

[data]
root = "{root}"
train = {{ files = {{ source = "train.en", target = "train.de" }} }}
valid = {{ files = {{ source = "valid.en", target = "valid.de" }} }}
test.held = {{ files = {{ source = "test.en", target = "test.de" }} }}

[tokenizer]
kind = "characters"
size = 60

[model]
name = "transformer"
width = 16
layers = 1
attention.heads = 2
feedforward.hidden = 16

[batches]
tokens = 256

[optimizer]
rate = 1e-2
schedule = {{ name = "linear", warm_up = 2 }}

[train]
updates = 6
every = 3
log = 2

[search]
beams = 2
longest_factor = 0.0
longest_extra = 8
"""


# Recipes of other tasks, on rows of JSON.
OTHERS = {
    "tagging": """
task = "tagging"
data = {{ root = "{root}", train = {{ path = "names.jsonl", columns = {{ text = "text", tags = "tags" }} }}, \
valid = {{ share = [0.0, 0.3] }} }}
tokenizer = {{ kind = "spaced", size = 40 }}
model = {{ name = "recurrent", width = 8 }}
batches = {{ rows = 4 }}
optimizer = {{ schedule = {{ name = "linear", warm_up = 1 }} }}
train = {{ updates = 2, every = 2 }}
""",
    "language": """
task = "language"
data = {{ root = "{root}", train = {{ path = "train.en", format = "text" }}, \
valid = {{ path = "valid.en", format = "text" }} }}
tokenizer = {{ kind = "characters", size = 40 }}
blocks = {{ length = 16 }}
model = {{ name = "recurrent_language", width = 8 }}
optimizer = {{ schedule = {{ name = "linear", warm_up = 1 }} }}
train = {{ updates = 2, every = 2 }}
""",
}
NAMES = [{"text": f"{who} sees Rome", "tags": "B-PER O B-LOC"} for who in ("Ada", "Bo", "Cy", "Di", "Ed", "Flo")]


def write_data(folder: Path) -> Path:
    """Toy corpora and a recipe for them in `folder/recipes`."""
    randomness = random.Random(0)
    for name, count in (("train", 40), ("valid", 4), ("test", 6)):
        rows = [randomness.choices(list(WORDS), k=randomness.randint(1, 4)) for _ in range(count)]
        (folder / f"{name}.en").write_text("".join(" ".join(row) + "\n" for row in rows), "utf-8")
        targets = (" ".join(WORDS[word] for word in row) for row in rows)
        (folder / f"{name}.de").write_text("".join(f"{target}\n" for target in targets), "utf-8")
    (folder / "names.jsonl").write_text("".join(json.dumps(row) + "\n" for row in NAMES), "utf-8")
    (folder / "recipes").mkdir()
    recipe = folder / "recipes" / "toy.toml"
    recipe.write_text(RECIPE.format(root=folder), "utf-8")
    return recipe


def regard(*arguments: object, given: bytes = b"") -> Result:
    """`regard` with these words after it; an error of ours is the result's `exception`."""
    return CliRunner(env={"NO_COLOR": "1", "TERM": "dumb"}).invoke(app, list(map(str, arguments)), input=given)
