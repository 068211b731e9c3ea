"""A real service on loopback over tiny bundles, one of each task."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

import regard
from regard.demo import DEMOS
from regard.serve.running import Service
from regard.serve.settings import ServeSettings
from regard.serve.shelf import Shelf
from regard.starter import WRITERS
from tests.cli.toy import write_data

HURRIED = ("train.updates=3", "train.every=3", "search.longest_factor=0.3", "search.longest_extra=6", "predict.rows=4")


@dataclass(frozen=True)
class Server:
    """A running service."""

    url: str
    shelf: Shelf


def made(task: str, folder: Path) -> Path:
    """The run of a task that hardly learned anything."""
    if task == "translation":
        regard.train(write_data(folder), folder / task)
        return folder / task
    WRITERS[task](folder / "data", 60, 6, 0)
    recipe = DEMOS[task].recipe(folder / "data", 1)
    if task == "answering":
        recipe["head"] = {"name": "spans"}
    if task == "language":
        recipe["predict"] = {"pieces": 8}
    changes = [change for change in HURRIED if task != "language" or not change.startswith("search")]
    regard.train(recipe, folder / task, changes)
    return folder / task


@pytest.fixture(scope="session")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A tiny run of each task, by task."""
    return {task: made(task, tmp_path_factory.mktemp(task)) for task in ("translation", *sorted(DEMOS))}


@contextmanager
def serving(bundles: list[Path], settings: ServeSettings) -> Iterator[Server]:
    """A real server over these, in a thread, while it is needed."""
    shelf = Shelf.load(bundles, settings)
    running = Service(shelf, settings)
    listening = socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(target=running.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    while not running.started:
        time.sleep(0.01)
    try:
        yield Server(f"http://127.0.0.1:{listening.getsockname()[1]}", shelf)
    finally:
        running.should_exit = True
        thread.join(30)
        shelf.close()


@pytest.fixture(scope="session")
def server(bundles: dict[str, Path]) -> Iterator[Server]:
    """The service over every task's tiny bundle, named after the tasks; translation is the first."""
    with serving(list(bundles.values()), ServeSettings(deadline=300)) as running:
        yield running
