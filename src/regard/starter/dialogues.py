"""Conversations in which a clerk's reply needs what was said turns before.

A held-out conversation pairs what training never pairs: a colour and a piece of clothing, a dish and a drink.
"""

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import TypedDict

from regard.starter.grammars.dialogues import RULES, SCENES
from regard.starter.grammars.names import names
from regard.starter.growing import Part, Rules, different, drawer, grown_pair, sentences, ways
from regard.starter.writing import json_lines, parts, table, write

__all__ = ["BETWEEN", "Dialogue", "possible", "rows", "write_dialogues"]

# What stands between two turns in a column of a table.
BETWEEN = " | "
# So many of the replies are the last of their conversation.
LAST = 0.7


class Dialogue(TypedDict):
    """What was said, oldest first, and the reply."""

    turns: list[str]
    reply: str


def rows(count: int, seed: int, part: Part) -> Iterator[Dialogue]:
    """`count` different conversations."""
    draw, rules = drawer(seed, part), {**names(part), **RULES}
    return different(lambda: _dialogue(draw, rules, part), lambda row: (*row["turns"], row["reply"]), count)


def possible() -> int:
    """How many different whole conversations there are, in the first wording of each turn."""
    rules = {**names("train"), **RULES}
    return sum(ways(rules, " ".join(turn[0] for turn in scene.turns)) for scene in SCENES.values())


def write_dialogues(folder: Path, size: int = 6000, held_out: int = 500, seed: int = 0) -> dict[str, Path]:
    """Writes train, valid and test as JSON lines and as tables, both with turns and reply; the paths by name.

    In a table the turns are in one column with ` | ` between, which a recipe reads with `between = " | "`.
    """
    made = parts(lambda count, part: rows(count, seed, part), size, held_out)
    lines = {f"{part}.jsonl": json_lines({**row} for row in made[part]) for part in made}
    tables = {f"{part}.tsv": table(("turns", "reply"), map(_columns, made[part])) for part in made}
    return write(folder, {**lines, **tables})


def _dialogue(draw: Random, rules: Rules, part: Part) -> Dialogue:
    name = draw.choice(list(SCENES))
    growth = grown_pair(draw, rules, name, SCENES[name].pair, part)
    phrasings = [draw.choice(turn) for turn in SCENES[name].turns]
    ends = _ends(phrasings, list(growth.kept))
    end = ends[-1] if draw.random() < LAST else draw.choice(ends)
    turns = [sentences(growth(phrasing)) for phrasing in phrasings]
    return {"turns": turns[:end], "reply": turns[end]}


def _ends(phrasings: list[str], pair: list[str]) -> list[int]:
    """The clerk's turns after which the pair has been said: a conversation cut before could be in any part."""
    said = ["".join(phrasings[: end + 1]) for end in range(len(phrasings))]
    return [end for end in range(1, len(phrasings), 2) if all(f"{{{slot}}}" in said[end] for slot in pair)]


def _columns(row: Dialogue) -> dict[str, str]:
    return {"turns": BETWEEN.join(row["turns"]), "reply": row["reply"]}
