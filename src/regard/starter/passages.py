"""Passages with questions that they answer, or do not. Names of a held-out part are in no other."""

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, groupby, islice
from pathlib import Path
from random import Random
from typing import TypedDict

from regard.errors import ConfigError, unknown
from regard.starter.grammars.names import names
from regard.starter.grammars.passages import RULES, TOPICS, Fact
from regard.starter.growing import Growth, Part, Rules, different, drawer, sentences, ways
from regard.starter.marks import unmarked
from regard.starter.writing import parts, write

__all__ = ["VERSIONS", "Answer", "Question", "possible", "rows", "write_passages"]

# SQuAD's two forms: the first has no questions without an answer.
VERSIONS = ("1.1", "2.0")
# How many sentences a passage has, and how many questions at most.
FEWEST, MOST, QUESTIONS = 3, 8, 4
UNANSWERABLE = 1 / 3


class Answer(TypedDict):
    """`context[answer_start : answer_start + len(text)]`."""

    text: str
    answer_start: int


class Question(TypedDict):
    """A question about a passage, with SQuAD's names; no answers where it has none."""

    id: str
    title: str
    context: str
    question: str
    answers: list[Answer]
    is_impossible: bool


def rows(count: int, seed: int, part: Part) -> Iterator[Question]:
    """`count` different questions; those about one passage follow each other."""
    draw, rules = drawer(seed, part), {**names(part), **RULES}
    passages = different(lambda: _passage(draw, rules), lambda asked: asked[0]["context"], count)
    asked = islice(chain.from_iterable(passages), count)
    return ({**question, "id": f"{part}-{seed}-{index}"} for index, question in enumerate(asked))


def possible() -> int:
    """How many different sets of facts training could show."""
    rules = {**names("train"), **RULES}
    return sum(ways(rules, " ".join(fact.phrasings[0] for fact in topic.facts)) for topic in TOPICS)


def write_passages(
    folder: Path, size: int = 8000, held_out: int = 600, seed: int = 0, version: str = "2.0"
) -> dict[str, Path]:
    """Writes train, valid and test as SQuAD 2.0, or as 1.1 with those that have an answer; the paths by name."""
    if version not in VERSIONS:
        raise ConfigError(unknown("version", version, VERSIONS))
    made = parts(lambda count, part: rows(count, seed, part), size, held_out)
    return write(folder, {f"{part}.json": [squad(made[part], version)] for part in made})


def squad(questions: Iterable[Question], version: str) -> str:
    """The questions as SQuAD's JSON: an article per title, a paragraph per passage."""
    kept = [question for question in questions if version == "2.0" or not question["is_impossible"]]
    articles = [
        {
            "title": title,
            "paragraphs": [_paragraph(*group, version) for group in groupby(asked, lambda q: q["context"])],
        }
        for title, asked in groupby(kept, lambda question: question["title"])
    ]
    return json.dumps({"version": f"v{version}" if version == "2.0" else version, "data": articles}, ensure_ascii=False)


def _paragraph(context: str, questions: Iterable[Question], version: str) -> dict[str, object]:
    left_out = {"title", "context"} if version == "2.0" else {"title", "context", "is_impossible"}
    asked = [{name: value for name, value in question.items() if name not in left_out} for question in questions]
    return {"context": context, "qas": asked}


def _passage(draw: Random, rules: Rules) -> list[Question]:
    topic = draw.choice(TOPICS)
    growth = Growth(draw, rules)
    told = [topic.facts[0], *draw.sample(topic.facts[1:], draw.randint(FEWEST, MOST) - 1)]
    untold = [fact for fact in topic.facts if fact not in told]
    context, answers = _told(growth, told)
    unanswered = [growth(question) for fact in untold for question in fact.questions.values()]
    asked = _asked(draw, list(answers.items()), [(question, []) for question in unanswered])
    title = growth(topic.title)
    return [
        Question(id="", title=title, context=context, question=question, answers=found, is_impossible=not found)
        for question, found in asked
    ]


def _told(growth: Growth, facts: Sequence[Fact]) -> tuple[str, dict[str, list[Answer]]]:
    """The passage, and every question that it answers."""
    marked = [growth.any(fact.phrasings) for fact in facts]
    context, marks = unmarked(sentences(" ".join(marked)))
    spans = iter(marks)
    answers = {}
    for fact, text in zip(facts, marked, strict=True):
        for mark in islice(spans, len(unmarked(text)[1])):
            found = Answer(text=context[mark.start : mark.end], answer_start=mark.start)
            answers[growth(fact.questions[mark.kind])] = [found]
    return context, answers


def _asked(
    draw: Random, answered: list[tuple[str, list[Answer]]], unanswered: list[tuple[str, list[Answer]]]
) -> list[tuple[str, list[Answer]]]:
    """One question or a few, none twice."""
    draw.shuffle(answered)
    draw.shuffle(unanswered)
    kinds = [unanswered if draw.random() < UNANSWERABLE else answered for _ in range(draw.randint(1, QUESTIONS))]
    return [kind.pop() for kind in kinds if kind] or [answered.pop()]
