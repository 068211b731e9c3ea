"""Short reports and their summaries. Names of a held-out part are in no other: they have to be copied."""

from collections.abc import Iterator
from pathlib import Path
from random import Random

from regard.starter.grammars.names import names
from regard.starter.grammars.reports import DETAILS, EVENTS, RULES
from regard.starter.growing import Growth, Part, Rules, different, drawer, sentences, ways
from regard.starter.writing import json_lines, parts, write

__all__ = ["possible", "rows", "write_reports"]

# How many sentences a report has; the facts alone are 2 to 4.
FEWEST, MOST = 4, 10


def rows(count: int, seed: int, part: Part) -> Iterator[dict[str, str]]:
    """`count` different reports: document and summary."""
    draw, rules = drawer(seed, part), {**names(part), **RULES}
    return different(lambda: _report(draw, rules), lambda row: row["document"], count)


def possible() -> int:
    """How many different summaries training could show; of documents there are many more."""
    rules = {**names("train"), **RULES}
    return sum(ways(rules, event.summary) + ways(rules, event.summary + event.also) for event in EVENTS.values())


def write_reports(folder: Path, size: int = 5000, held_out: int = 300, seed: int = 0) -> dict[str, Path]:
    """Writes train, valid and test, a line of JSON with document and summary per report; the paths by name."""
    made = parts(lambda count, part: rows(count, seed, part), size, held_out)
    return write(folder, {f"{part}.jsonl": json_lines(made[part]) for part in made})


def _report(draw: Random, rules: Rules) -> dict[str, str]:
    event = EVENTS[draw.choice(list(EVENTS))]
    growth, longer = Growth(draw, rules), draw.random() < 0.5
    facts = [growth.any(phrasings) for phrasings in (*event.facts, *[event.more] * longer)]
    details = [growth(text) for text in draw.sample(DETAILS, max(1, draw.randint(FEWEST, MOST) - len(facts)))]
    summary = growth(f"{event.summary} {event.also}" if longer else event.summary)
    return {"document": sentences(" ".join(_between(draw, facts, details))), "summary": sentences(summary)}


def _between(draw: Random, facts: list[str], details: list[str]) -> list[str]:
    """Facts in their order, the details anywhere between, before and after."""
    places = set(draw.sample(range(len(facts) + len(details)), len(facts)))
    first, second = iter(facts), iter(details)
    return [next(first if place in places else second) for place in range(len(facts) + len(details))]
