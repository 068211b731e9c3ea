"""The texts a recipe names, as corpora and as prepared stores."""

import glob
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from regard.data import (
    Corpus,
    CorpusSettings,
    Counts,
    Examples,
    Joined,
    Progress,
    Row,
    Store,
    comparing,
    local,
    prepare,
)
from regard.errors import ConfigError, unknown
from regard.files import FilePath, Meter, checksum
from regard.tasks import TASKS, Recipe, Task

Telling = Callable[[Progress], None]


class Materials:
    """Corpora of a recipe: every iteration reads the files anew."""

    def __init__(self, recipe: Recipe) -> None:
        data, task = recipe.data, TASKS[recipe.task]
        self.recipe = recipe
        held = [one.deciding(task.inputs()) for one in (data.valid, *data.test.values())]
        train = [one.deciding(task.inputs()) for one in data.train]
        for corpus in (*train, *(one for one in held if not one.of_training)):
            _check_fields(corpus, task)
        self.held_out = [self.corpus(one) for one in held if not one.of_training and _there(one, data.root)]
        shares = [one.part for one in held if one.of_training and one.part]
        cleaned_of = self.held_out if data.cleaning else []
        # Where a line has several references, each of them is held out.
        cleaned = [Each(one, task.fields[-1], data.references) for one in cleaned_of] if data.references else cleaned_of
        self.train = [
            Corpus(
                one,
                data.policy,
                comparing(data.cleaning, task.known_by()),
                cleaned,
                data.root,
                outside=shares,
                fault=Fitness(recipe, one, data.root),
            )
            for one in (local(one, data.root) for one in train)
        ]

    @property
    def absent(self) -> list[str]:
        """The test sets that training is to be cleaned of, and whose files are not there."""
        data = self.recipe.data
        asked = any(part.name == "overlap" for part in data.cleaning)
        files = {name: one for name, one in data.test.items() if asked and not one.of_training}
        return [name for name, one in files.items() if not _there(one, data.root)]

    @cached_property
    def valid(self) -> Corpus:
        data, inputs = self.recipe.data, TASKS[self.recipe.task].inputs()
        valid, tests = data.valid.deciding(inputs), [one.deciding(inputs) for one in data.test.values()]
        found = self.corpus(valid)
        # What decides about a share may differ from test set to test set; none of them may be validated on.
        tested = [one.part for one in tests if one.of_training and one.part]
        return self.train[0].only(valid.part, tested) if valid.of_training and valid.part else found

    def corpus(self, settings: CorpusSettings) -> Corpus:
        """A held-out corpus: nothing is cleaned out of it; bad lines follow the policy of training."""
        data, root = self.recipe.data, self.recipe.data.root
        settings = settings.deciding(TASKS[self.recipe.task].inputs())
        if not settings.of_training:
            found = local(settings, root)
            return Corpus(found, data.policy, root=root, fault=Fitness(self.recipe, found, root))
        if len(self.train) != 1 or settings.part is None:
            raise ConfigError(
                f"A share of training is taken from one corpus, and {len(data.train)} are named; "
                "give data.valid and every test set files of their own."
            )
        return self.train[0].only(settings.part)

    def test(self, name: str) -> Corpus:
        """A test set by name."""
        data = self.recipe.data
        if name not in data.test:
            raise ConfigError(unknown("test set", name, data.test))
        found = self.corpus(data.test[name])
        if not data.test[name].unseen:
            return found
        task = TASKS[self.recipe.task]
        # Where a line has several references, none of them may have been seen.
        several = {"several": (task.fields[-1], data.references)} if data.references else {}
        return found.cleaned(comparing(({"name": "overlap", **several},), task.known_by()), self.train)

    def texts(self) -> "Texts":
        """The fields of every training row."""
        return Texts(self.train)

    def stores(self, folder: Path, task: Task, processes: int = 1, progress: Telling = lambda _: None) -> "Stores":
        """Training and validation as tokens, made now or found as they were left."""
        train = [
            prepare(folder / f"train-{number}", corpus, task.training(corpus.settings.languages), processes, progress)
            for number, corpus in enumerate(self.train)
        ]
        encoding = task.encoding(self.valid.settings.languages)
        valid = prepare(folder / "valid", First(self.valid, task.fields[-1], self.recipe.data.references), encoding)
        joined = Joined([task.examples(store) for store in train])
        return Stores(train, joined, task.examples(valid), valid)

    def fingerprint(self) -> list[str]:
        """What the training texts are, whatever their names."""
        return [corpus.fingerprint() for corpus in self.train]


class Fitness:
    """What the task of a recipe finds wrong with a row of a corpus, or nothing."""

    def __init__(self, recipe: Recipe, settings: CorpusSettings, root: str = "") -> None:
        self.recipe, self.settings, self.root, self.task = recipe, settings, root, TASKS[recipe.task]

    def __call__(self, fields: Mapping[str, str]) -> str:
        told: str = self.task.unreadable(fields) or self.task.fault(fields, self.fitted)
        return told

    @cached_property
    def fitted(self) -> Any:
        """The recipe for this corpus; its files are read for that only where something has to be guessed."""
        return self.task.fitted(self.recipe, (row.fields for row in Corpus(self.settings, "skip", root=self.root)))


class First:
    """The rows of a corpus with the first of several references, the one a loss is taken of."""

    def __init__(self, corpus: Corpus, field: str, separator: str) -> None:
        self.corpus, self.field, self.separator = corpus, field, separator

    @property
    def counts(self) -> Counts:
        return self.corpus.counts

    @property
    def meter(self) -> Meter:
        return self.corpus.meter

    def __iter__(self) -> Iterator[Row]:
        for row in self.corpus:
            if self.separator:
                row = Row(row.place, row.fields | {self.field: row.fields[self.field].split(self.separator)[0]})
            yield row

    def fingerprint(self, summing: Callable[[FilePath], str] = checksum) -> str:
        return f"{self.corpus.fingerprint(summing)} {self.separator}"

    def __str__(self) -> str:
        return str(self.corpus)


class Each(First):
    """The rows of a corpus, one with each of several references."""

    def __iter__(self) -> Iterator[Row]:
        for row in self.corpus:
            for text in row.fields[self.field].split(self.separator):
                yield Row(row.place, row.fields | {self.field: text})


class Stores:
    """Prepared examples: each corpus of training, all of them as one, and validation with the store it is from."""

    def __init__(self, each: Sequence[Store], train: Joined, valid: Examples, held_out: Store | None = None) -> None:
        self.each, self.train, self.valid, self.held_out = list(each), train, valid, held_out

    @property
    def validation(self) -> str:
        """The checksum of what is validated on."""
        return self.held_out.manifest.checksum if self.held_out else ""

    def counts(self) -> list[str]:
        """What became of the lines of each corpus, in words."""
        return [str(store.counts) for store in self.each]

    def too_long(self, longest: int | None, ways: int = 1) -> list[str]:
        """What no batch will hold because it is longer, in words; what stands there in several ways counts as one."""
        if longest is None:
            return []
        tables = {"training": [table[::ways] for table in self.train.lengths], "validation": [self.valid.lengths]}
        found = {
            name: (sum(int((table.max(1) > longest).sum()) for table in several), sum(map(len, several)))
            for name, several in tables.items()
        }
        return [
            f"batches.longest = {longest} leaves out {cut:,} of {total:,} examples of {name}."
            for name, (cut, total) in found.items()
            if cut
        ]


class Texts:
    """The rows of several corpora one after the other, as often as asked for."""

    def __init__(self, corpora: Sequence[Corpus]) -> None:
        self.corpora = corpora

    def __iter__(self) -> Iterator[Mapping[str, str]]:
        for corpus in self.corpora:
            for row in corpus:
                yield row.fields


def _there(settings: CorpusSettings, root: str) -> bool:
    """Whether the files of a held-out corpus are at hand; a test set may come later."""
    if settings.dataset is not None:
        return True
    paths = [str(Path(root) / path) for path in (settings.files.values() or [str(settings.path)])]
    return all(Path(path).exists() or glob.glob(path, recursive=True) for path in paths)


def _check_fields(settings: CorpusSettings, task: Any) -> None:
    if reason := task.unfit(settings.fields):
        place = settings.dataset or settings.path or ", ".join(settings.files.values())
        raise ConfigError(f"{place}: the fields are {', '.join(settings.fields)}; {reason}.")
