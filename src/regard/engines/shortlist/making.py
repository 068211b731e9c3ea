"""A model that writes with what renders its source's pieces in training: faster, and at times with other outputs."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from regard.data import Corpus
from regard.engines.engine import Engine, beside, refuse_looking, refuse_stepwise
from regard.engines.shortlist.lexicon import Lexicon
from regard.engines.shortlist.searching import ShortlistSearcher, refuse_sampling
from regard.errors import ConfigError, DataError
from regard.models import Transformer
from regard.tasks import Task

NAME = "shortlist"
# Rows that are cut into pieces at once, and how many are read of a corpus at most.
AT_ONCE, ROWS = 1_000, 1_000_000


def by_shortlist(task: Task, model: Any, folder: Path | None = None, workers: int | None = None) -> Engine:
    """A task's model that writes with a shortlist, from the folder of an export."""
    if folder is None:
        raise ConfigError(
            "The engine shortlist needs to know what pieces are rendered by; `regard export BUNDLE --to shortlist` "
            "learns it from the training texts, and its folder is run instead of the bundle."
        )
    return run(task, model, Lexicon.load(folder))


def run(task: Task, model: Any, lexicon: Lexicon) -> Engine:
    """A task's model that writes with what this lexicon offers."""
    check(task, model)
    sides: Any = task
    knows, speaks = (len(lexicon.renderings), lexicon.written), sides.sides.vocabulary
    if knows != (speaks.source, speaks.target):
        raise DataError(
            f"The shortlist knows {knows[0]} source and {knows[1]} target pieces, the model {speaks.source} and "
            f"{speaks.target}: it is of another model. Export the bundle again."
        )
    searcher = ShortlistSearcher(model, lexicon, sides.sides.joint)
    return Engine(NAME, beside(model, searcher=searcher), refuse)


def refuse(recipe: Any) -> None:
    """A RequestError for what is predicted past a search, or needs to see more of it."""
    refuse_looking(NAME, recipe)
    refuse_stepwise(NAME, recipe)
    refuse_sampling(recipe.search)


def check(task: Task, model: Any) -> None:
    """Refuse a model that does not render one text by another, or has more ways to write than its pieces."""
    if not isinstance(model, Transformer) or not task.two_sides or model.settings.copying:
        raise ConfigError(
            "A shortlist needs a Transformer that writes text by what it reads, and copies nothing (model.copying = "
            f"false); this is a {type(model).__name__} by a {type(task).__name__}."
        )


def learned(task: Any, corpora: Sequence[Corpus]) -> Lexicon:
    """What pieces are rendered by in these corpora, of each as many rows as of the others."""
    vocabulary = task.sides.vocabulary
    return Lexicon.learn(_pairs(task, corpora), vocabulary.source, vocabulary.target)


def _pairs(task: Any, corpora: Sequence[Corpus]) -> Iterator[tuple[Sequence[int], Sequence[int]]]:
    """Pairs of texts in pieces, a thousand of each corpus in turn."""
    rest = [_encoded(task, corpus) for corpus in corpora]
    while rest:
        going = []
        for one in rest:
            some = next(one, None)
            if some is not None:
                yield from some
                going.append(one)
        rest = going


def _encoded(task: Any, corpus: Corpus) -> Iterator[Iterable[tuple[Sequence[int], Sequence[int]]]]:
    encoding = task.encoding(corpus.settings.languages)
    read, written = task.sides.fields
    rest = islice(corpus, ROWS)
    while rows := list(islice(rest, AT_ONCE)):
        cut = encoding.encode({name: [row.fields[name] for row in rows] for name in (read, written)})
        yield list(zip(cut[read], cut[written], strict=True))
