"""Files: are they there, can every line be read, what do reading and cleaning leave out?"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

from regard.api.materials import Materials
from regard.api.preflight.report import Notes
from regard.api.training import MOST
from regard.data import Corpus, CorpusSettings, Row
from regard.errors import DataError
from regard.tasks import TASKS, Recipe

Fields = dict[str, str]


@dataclass(frozen=True)
class Texts:
    """The rows of each corpus, as far as they were read, and how much of the training data that is."""

    fields: tuple[str, ...]
    trained: list[list[Row]]
    validated: list[Row]
    tested: dict[str, list[Row]]
    share: float
    # What separates several references on a line of what is held out.
    references: str = ""

    def each(self, row: Fields) -> list[Fields]:
        """A held-out row with each of its references."""
        texts = row[self.fields[-1]].split(self.references) if self.references else [row[self.fields[-1]]]
        return [{**row, self.fields[-1]: text} for text in texts]

    @cached_property
    def train(self) -> list[list[Fields]]:
        return list(map(_fields, self.trained))

    @cached_property
    def valid(self) -> list[Fields]:
        return _fields(self.validated)

    @cached_property
    def test(self) -> dict[str, list[Fields]]:
        return {name: _fields(rows) for name, rows in self.tested.items()}

    @cached_property
    def training(self) -> list[Fields]:
        return [row for rows in self.train for row in rows]

    @property
    def held_out(self) -> dict[str, list[Row]]:
        """Validation and every test set, by the names they are spoken of."""
        return {"valid": self.validated, **{f"test {name}": rows for name, rows in self.tested.items()}}


def look_at_files(recipe: Recipe, notes: Notes) -> Texts | None:
    """Every corpus read, bad lines named; None where training or validation cannot be."""
    materials: Materials | None = None
    with notes.watching("data"):
        materials = Materials(recipe)
    if materials is None:
        return None
    read = [_train(corpus, number, notes) for number, corpus in enumerate(materials.train)]
    valid = _held_out(materials.corpus(recipe.data.valid), "valid", notes)
    test = {name: _test(materials, name, settings, notes) for name, settings in recipe.data.test.items()}
    train = [rows for rows, _ in read]
    if not all(train) or not valid:
        return None
    share = min(share for _, share in read)
    if share < 1:
        notes.add(
            "note",
            "sample",
            f"Only the first {MOST:,} lines of a corpus are looked at here, {share:.0%} of the largest; the tokenizer "
            "is learned from them alone, and what is told of batches and minutes is carried over to all.",
        )
    # A task may take what is to be predicted from another field.
    fields = tuple(name for name in TASKS[recipe.task].fields if name in train[0][0].fields)
    return Texts(fields, train, valid, test, share, recipe.data.references)


def _train(corpus: Corpus, number: int, notes: Notes) -> tuple[list[Row], float]:
    """The rows of a training corpus, and which share of it they are."""
    name = f"train {number + 1}" if number else "train"
    # Whatever the policy: all bad lines are worth more than the first.
    lenient, rows = corpus.skipping(), list[Row]()
    with notes.watching(name):
        rows = list(islice(lenient, MOST))
        if not rows:
            raise DataError(f"{corpus}: no line is left to learn from.\n{lenient.counts}")
        _tell(lenient, corpus.policy, name, str(lenient.counts), notes)
    return rows, lenient.meter.share if len(rows) == MOST else 1.0


def _tell(corpus: Corpus, policy: str, name: str, good: str, notes: Notes) -> None:
    """What was read: `good` where no line of it is bad."""
    counts = corpus.counts
    bad = {reason: left for reason, left in counts.left_out.items() if reason not in _steps(corpus)}
    if bad and policy == "stop":
        told = "; ".join(f"{left.count:,} {reason} ({', '.join(left.places)})" for reason, left in bad.items())
        text = f"{corpus}: bad lines: {told}. Mend them, or set data.policy = skip to leave them out and count them."
        notes.add("error", name, text)
    else:
        notes.add("warning" if bad else "ok", name, f"{corpus}: {counts if bad else good}")


def _steps(corpus: Corpus) -> set[str]:
    return {part.name for part in corpus.cleaning}


def _held_out(corpus: Corpus, name: str, notes: Notes) -> list[Row]:
    lenient, rows = corpus.skipping(), list[Row]()
    with notes.watching(name):
        rows = list(islice(lenient, MOST))
        if not rows:
            lost = f"\n{lenient.counts}" if lenient.counts.lost else ""
            raise DataError(f"{corpus}: there is no line in it; validation needs at least one.{lost}")
        _tell(lenient, corpus.policy, name, f"{len(rows):,} lines", notes)
    return rows


def _test(materials: Materials, name: str, settings: CorpusSettings, notes: Notes) -> list[Row]:
    """The rows of a test corpus; one that is not there yet is no obstacle to training."""
    corpus, inner = materials.corpus(settings), Notes(lambda _: None)
    rows = _held_out(corpus, f"test {name}", inner)
    cleaned = "; but training is not cleaned of what it holds" if name in materials.absent else ""
    for finding in inner.findings:
        needed = f" It is not needed before `regard evaluate`{cleaned}." if finding.level == "error" else ""
        told = f"{finding.text}{needed}"
        notes.add("warning" if finding.level == "error" else finding.level, finding.name, told)
    return rows


def field(rows: Sequence[Fields], name: str) -> list[str]:
    return [row[name] for row in rows]


def _fields(rows: Sequence[Row]) -> list[Fields]:
    return [row.fields for row in rows]
