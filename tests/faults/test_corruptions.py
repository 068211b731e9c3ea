"""Damaged bundles and checkpoints: every one is noticed before it is used, at once and in little memory.

The full form: `pytest -m slow tests/faults/test_corruptions.py`.
"""

import json
import os
import random
import shutil
import struct
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from regard import bundle
from regard.api import Training, read
from regard.errors import RegardError
from regard.train import Checkpoint, checkpoints
from tests.api.toy import recipe
from tests.faults.counted import bounded, draws, quick, refusal, tries

GOLDEN = Path(__file__).parents[1] / "golden" / "bundle-1"
ROOM = 256
SPARSE = 2**40

Damage = Callable[[Path, random.Random], None]


def flip(file: Path, draw: random.Random) -> None:
    """One bit, or a few."""
    content = bytearray(file.read_bytes())
    for place in draw.sample(range(len(content)), k=min(draw.choice((1, 1, 1, 8)), len(content))):
        content[place] ^= 1 << draw.randrange(8)
    file.write_bytes(content)


def truncate(file: Path, draw: random.Random) -> None:
    os.truncate(file, draw.randrange(file.stat().st_size))


def lengthen(file: Path, draw: random.Random) -> None:
    with open(file, "ab") as opened:
        opened.write(draw.randbytes(draw.randint(1, 100)))


def sparse(file: Path, _: random.Random) -> None:
    """More bytes than any machine has, at no cost."""
    os.truncate(file, SPARSE)


def zero(file: Path, draw: random.Random) -> None:
    """A page of zeros, as power cuts leave it."""
    content = file.read_bytes()
    place = draw.randrange(len(content))
    page = content[place : place + 512]
    file.write_bytes(content[:place] + bytes(len(page)) + content[place + 512 :])
    if not any(page):
        flip(file, draw)


def swap(file: Path, draw: random.Random) -> None:
    """Two files of the folder have each other's names."""
    other = draw.choice([path for path in sorted(file.parent.iterdir()) if path != file])
    aside = file.with_name("aside")
    os.rename(file, aside)
    os.rename(other, file)
    os.rename(aside, other)


def header(file: Path, draw: random.Random) -> None:
    """A length of the header, or a shape in it, that nothing could hold."""
    length = draw.choice([2**63, 2**64 - 1, 10**8 + 1, 0, 1])
    rest = json.dumps({"a": {"dtype": "F32", "shape": [2**40, 2**30], "data_offsets": [0, 4]}}).encode()
    file.write_bytes(draw.choice([struct.pack("<Q", length), struct.pack("<Q", len(rest))]) + rest + bytes(4))


def remove(file: Path, _: random.Random) -> None:
    file.unlink()


def pipe(file: Path, _: random.Random) -> None:
    """A pipe nobody writes to: who reads it waits for ever."""
    file.unlink()
    os.mkfifo(file)


def endless(file: Path, _: random.Random) -> None:
    file.unlink()
    file.symlink_to("/dev/zero")


def folder(file: Path, _: random.Random) -> None:
    file.unlink()
    file.mkdir()


def deep(file: Path, draw: random.Random) -> None:
    """JSON nested so deeply that careless readers break."""
    file.write_bytes(draw.choice([b"[", b'{"a":']) * draw.choice([2000, 10**6]))


DAMAGES: tuple[Damage, ...] = (
    *(flip,) * 6,
    *(truncate,) * 3,
    lengthen,
    sparse,
    zero,
    *(swap,) * 2,
    *(header,) * 2,
    remove,
    pipe,
    endless,
    folder,
    deep,
)


def damaged(whole: Path, place: Path, draw: random.Random) -> str:
    """A damaged copy of a folder; what was done to it."""
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(whole, place)
    file, damage = draw.choice(sorted(place.iterdir())), draw.choice(DAMAGES)
    damage(file, draw)
    return f"{damage.__name__} of {file.name}"


@tries(30, 500)
def test_a_damaged_bundle_is_never_loaded(count: int, tmp_path: Path) -> None:
    draw = draws("bundles")
    for _ in range(count):
        done = damaged(GOLDEN, tmp_path / "bundle", draw)
        with quick(), bounded(ROOM):
            told = refusal(lambda: bundle.load(tmp_path / "bundle"))
        assert told.endswith("."), done


def checkpoint(update: int) -> Checkpoint:
    parameters = {f"layer.{number}.weight": torch.randn(16, 24) for number in range(4)}
    optimizer = {f"{number}.{what}": torch.randn(16, 24) for number in range(4) for what in ("exp_avg", "exp_avg_sq")}
    tensors = {"parameters": parameters, "optimizer": optimizer, "random": {"cpu": torch.get_rng_state()}}
    return Checkpoint(update, tensors, {"progress": {"update": update, "best": 0.25 / update, "position": [0, update]}})


@tries(30, 500)
def test_a_damaged_checkpoint_is_passed_over_for_the_newest_intact_one(count: int, tmp_path: Path) -> None:
    draw, run = draws("checkpoints"), tmp_path / "run"
    for update in (1, 2, 3):
        checkpoints.save(run, checkpoint(update), keep=None)
    whole = tmp_path / "whole"
    os.rename(checkpoints.place(run, 3), whole)
    for _ in range(count):
        done = damaged(whole, checkpoints.place(run, 3), draw)
        with quick(), bounded(ROOM):
            found, troubles = checkpoints.newest(run)
        assert found is not None, done
        assert found.update == 2, done
        assert len(troubles) == 1, done
        assert "update-00000003" in troubles[0], done


def test_a_checkpoint_of_other_shapes_is_refused_with_nothing_filled(tmp_path: Path) -> None:
    """Its checksums are right: it is whole, and of another model."""
    training = Training(read(recipe(tmp_path / "data")), tmp_path / "run")
    training.claim()
    made = training.learner.checkpoint(training.restored())
    before = {name: tensor.clone() for name, tensor in made.tensors["parameters"].items()}
    name = min(before)
    for shape in [(3,), (2, 2), (0,), (10**6,)]:
        wrong = {**made.tensors, "parameters": {**before, name: torch.ones(shape)}}
        stored = checkpoints.load(checkpoints.save(tmp_path / "checkpoints", Checkpoint(1, wrong, made.facts)))
        with pytest.raises(RegardError, match=name):
            training.learner.restore(stored)
        assert all(tensor.equal(before[name]) for name, tensor in training.learner.parameters().items())


def test_a_run_whose_newest_checkpoints_are_damaged_goes_on_from_the_newest_intact_one(tmp_path: Path) -> None:
    told: list[str] = []
    plan = recipe(tmp_path / "data", train={"updates": 6, "every": 2, "log": 2})
    for _ in Training(read(plan), tmp_path / "run").steps():
        pass
    newest, *_ = checkpoints.found(tmp_path / "run" / "checkpoints")
    flip(newest / "state.json", draws("run"))
    again = Training(read(plan), tmp_path / "run", resume=True, tell=told.append)
    assert [step.progress.update for step in again.steps()] == [5, 6]
    assert any(newest.name in line for line in told), told
    assert "Going on after update 4." in told


def test_a_checkpoint_of_the_earlier_format_is_still_read() -> None:
    golden = Path(__file__).parents[1] / "golden" / "checkpoint-1"
    found, troubles = checkpoints.newest(golden)
    assert troubles == []
    assert found is not None
    assert (found.update, found.facts["progress"]["position"]) == (12, [1, 2])
    assert found.tensors["parameters"]["weight"].tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
