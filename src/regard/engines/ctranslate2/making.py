"""A model handed to CTranslate2: written down in a folder of its own, read from there, and the folder removed."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from regard.convert import ctranslate2
from regard.convert.ctranslate2 import Kind, Pieces
from regard.convert.ctranslate2.layers import places
from regard.convert.ctranslate2.positions import LINE
from regard.engines.ctranslate2.encoding import Encoding
from regard.engines.ctranslate2.running import WRITERS, Options
from regard.engines.ctranslate2.searching import CTranslate2Searcher
from regard.engines.ctranslate2.sharing import Sharing
from regard.engines.engine import Engine, beside, refuse_stepwise
from regard.engines.pieces import pieces_of
from regard.errors import ConfigError
from regard.tasks import Task
from regard.tasks.tagging_generative import GenerativeTaggingTask

NAME = "ctranslate2"


def by_ctranslate2(task: Task, model: Any, folder: Path | None = None, workers: int | None = None) -> Engine:
    """A task's model run by CTranslate2, from the folder of an export if there is one."""
    if isinstance(task, GenerativeTaggingTask):
        raise ConfigError(f"The engine {NAME} cannot write exactly one tag for each word; use --engine torch.")
    return run(model, pieces_of(task), folder, workers)


def run(model: Any, pieces: Pieces, folder: Path | None = None, workers: int | None = None) -> Engine:
    """A model run by CTranslate2, its pieces by these names."""
    kind = ctranslate2.kind(model)
    workers = workers or usual(kind)
    if folder is not None:
        return _engine(kind, model, pieces, folder, {"compute_type": "default", **threads(workers)})
    with tempfile.TemporaryDirectory(prefix="regard-") as made:
        ctranslate2.write(model, pieces, Path(made))
        return _engine(kind, model, pieces, Path(made), {"compute_type": "float32", **threads(workers)})


@contextmanager
def threads_kept() -> Iterator[None]:
    """Afterwards torch has the threads it had: a worker of one thread leaves it one as well."""
    count = torch.get_num_threads()
    try:
        yield
    finally:
        torch.set_num_threads(count)


def usual(kind: Kind) -> int:
    """How many workers there are unless told otherwise: one for every thread where they write.

    Where torch has used threads of its own, several threads of one worker crawl: 21 sentences a second were written
    where they wrote 336 beside a torch of one thread (docs/lab.md).
    """
    return 1 if kind == "encoder" else torch.get_num_threads()


def threads(workers: int) -> dict[str, int]:
    """The threads there are, shared by workers."""
    return {"inter_threads": workers, "intra_threads": max(torch.get_num_threads() // workers, 1)}


@threads_kept()
def _engine(kind: Kind, model: Any, pieces: Pieces, folder: Path, settings: Options) -> Engine:
    if kind == "encoder":
        encoder = model.encoder
        run = Encoding(folder, encoder, positions(encoder), settings)
        return Engine(NAME, beside(model, encoder=beside(encoder, forward=run)), numbers=run.numbers)
    one = WRITERS[kind](folder, pieces, positions(model), settings)
    writer = Sharing(one, settings["inter_threads"])
    # One caller more than workers: while they write, the batch before is put into words.
    searcher = CTranslate2Searcher(writer, model, (pieces.end,), settings["inter_threads"] + 1, _device(model))
    return Engine(NAME, beside(model, searcher=searcher), lambda recipe: refuse_stepwise(NAME, recipe), one.numbers)


def _device(model: Any) -> torch.device:
    device: torch.device = next(model.parameters()).device
    return device


def positions(model: Any) -> int | None:
    """The most positions there are vectors for; None where they are computed."""
    inside = {model.settings.attention.position.name, model.settings.position.name}
    if "alibi" in inside:
        return LINE
    return None if {"rotary", "relative", "bucketed"} & inside else len(places(model.embedding))
