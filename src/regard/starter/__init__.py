"""Small corpora that the demo and the tests make for themselves.

task             corpus       rows
translation      phrasebook   a sentence in two languages
classification   reviews      text, label
summarization    reports      document, summary
tagging          entities     text and entities, words and tags
answering        passages     context, question, answers
language         stories      text
dialogue         dialogues    turns, reply
"""

from collections.abc import Callable
from pathlib import Path

from regard.starter.dialogues import write_dialogues
from regard.starter.entities import write_entities
from regard.starter.growing import PARTS, Part
from regard.starter.passages import write_passages
from regard.starter.phrasebook import PAIRS, Phrasebook, phrasebook, possible, write_phrasebook
from regard.starter.reports import write_reports
from regard.starter.reviews import write_reviews
from regard.starter.stories import write_stories
from regard.starter.strings import ALPHABET, reversal

__all__ = [
    "ALPHABET",
    "PAIRS",
    "PARTS",
    "WRITERS",
    "Part",
    "Phrasebook",
    "phrasebook",
    "possible",
    "reversal",
    "write_dialogues",
    "write_entities",
    "write_passages",
    "write_phrasebook",
    "write_reports",
    "write_reviews",
    "write_stories",
]

# By task, what writes its corpus: folder, rows to train on, rows of each held-out part, seed -> paths by name.
WRITERS: dict[str, Callable[[Path, int, int, int], dict[str, Path]]] = {
    "classification": write_reviews,
    "summarization": write_reports,
    "tagging": write_entities,
    "answering": write_passages,
    "language": write_stories,
    "dialogue": write_dialogues,
}
