"""Little stories, a paragraph each. A held-out story has somebody wish for what they never wish for in training."""

from collections.abc import Iterator
from math import prod
from pathlib import Path
from random import Random

from regard.starter.grammars.stories import PAIR, RULES, STAGES
from regard.starter.growing import Part, different, drawer, grown_pair, sentences, ways
from regard.starter.writing import parts, write

__all__ = ["possible", "rows", "write_stories"]


def rows(count: int, seed: int, part: Part) -> Iterator[dict[str, str]]:
    """`count` different stories: text."""
    draw = drawer(seed, part)
    return different(lambda: _story(draw, part), lambda row: row["text"], count)


def possible() -> int:
    """How many different stories there are at least: wordings of the stages times heroes, names, wishes, helpers."""
    return prod(len(stage) for stage in STAGES) * ways(RULES, "{hero1} {name1} {wish1} {helper1}")


def write_stories(folder: Path, size: int = 4000, held_out: int = 300, seed: int = 0) -> dict[str, Path]:
    """Writes train, valid and test, a story per line and an empty line between; the paths by name (`train.txt`)."""
    made = parts(lambda count, part: rows(count, seed, part), size, held_out)
    return write(folder, {f"{part}.txt": ["\n".join(row["text"] + "\n" for row in made[part])] for part in made})


def _story(draw: Random, part: Part) -> dict[str, str]:
    growth = grown_pair(draw, RULES, "story", PAIR, part)
    return {"text": sentences(" ".join(growth.any(stage) for stage in STAGES))}
