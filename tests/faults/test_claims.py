"""Two at once: a folder two trainings want, a bundle read while it is replaced."""

import inspect
import os
import signal
import time
from pathlib import Path

import pytest

from regard import api, bundle
from regard.errors import DataError
from regard.files import claimed
from tests.api.toy import TRANSFORMER
from tests.faults.counted import draws, refusal, tries
from tests.faults.runs import Run, context, finished, logged, write_plan

GOLDEN = Path(__file__).parents[1] / "golden" / "bundle-1"


def hold(folder: str, ready: str) -> None:
    with claimed(folder):
        Path(ready).touch()
        time.sleep(600)


def test_a_folder_belongs_to_one_and_is_free_when_that_one_dies(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    holder = context.Process(target=hold, args=(str(tmp_path / "run"), str(tmp_path / "ready")))
    holder.start()
    while not (tmp_path / "ready").exists():
        assert holder.is_alive()
        time.sleep(0.01)
    with pytest.raises(DataError, match=r"run is in use by another process"):
        claimed(tmp_path / "run")
    holder.kill()
    holder.join()
    with claimed(tmp_path / "run"):
        assert os.listdir(tmp_path / "run") == []


def test_a_claim_ends_with_its_block_and_with_whoever_holds_it(tmp_path: Path) -> None:
    with claimed(tmp_path):
        assert "in use" in refusal(lambda: claimed(tmp_path))
    held = claimed(tmp_path)
    del held
    claimed(tmp_path).release()
    assert "No such file" in refusal(lambda: claimed(tmp_path / "nowhere"))


@pytest.mark.skipif("claimed" not in inspect.getsource(api.training), reason="a run does not claim its folder yet")
def test_the_second_of_two_trainings_into_one_folder_is_refused(tmp_path: Path) -> None:
    plan, run = write_plan(tmp_path, TRANSFORMER, updates=100_000), tmp_path / "run"
    first = Run(tmp_path / "first.txt", "train", plan, "--out", run)
    try:
        assert first.awaited(lambda: logged(run) > 0), first.words
        for options in ((), ("--resume",)):
            second = Run(tmp_path / f"second{len(options)}.txt", "train", plan, "--out", run, *options)
            assert second.ended() == 1, second.words
            assert "in use by another process" in second.words or "is there already" in second.words
        before = logged(run)
        assert first.awaited(lambda: logged(run) > before), first.words
    finally:
        first.send(signal.SIGTERM)
        assert first.ended() == 128 + signal.SIGTERM


def replace(folder: str, count: int) -> None:
    whole = bundle.load(GOLDEN)
    for number in range(count):
        bundle.save(
            Path(folder),
            bundle.Bundle(whole.recipe, whole.parameters, whole.files, whole.scores, whole.golden, {"n": number}),
        )


@tries(60, 2000)
def test_a_bundle_read_while_it_is_replaced_is_one_of_the_two(count: int, tmp_path: Path) -> None:
    replace(str(tmp_path / "bundle"), 1)
    writer = context.Process(target=replace, args=(str(tmp_path / "bundle"), count))
    writer.start()
    seen = set()
    while writer.is_alive():
        seen.add(bundle.load(tmp_path / "bundle").facts["n"])
    assert writer.exitcode == 0
    assert bundle.load(tmp_path / "bundle").facts["n"] == count - 1
    assert seen <= set(range(count))


@pytest.mark.slow
def test_predicting_while_training_gives_what_the_finished_bundle_gives(tmp_path: Path) -> None:
    """A run made longer, with its first bundle asked all the while."""
    plan, run = write_plan(tmp_path, TRANSFORMER), tmp_path / "run"
    finished(tmp_path / "whole.txt", "train", plan, "--out", run)
    texts = ["A dog.", "the red cat", ""]
    before = [found.text for found in api.load(run).predict(texts)]
    training = Run(tmp_path / "longer.txt", "train", run, "--set", "train.updates=60")
    given = []
    while training.process.is_alive():
        given.append([found.text for found in api.load(run).predict(texts)])
    assert training.ended() == 0, training.words
    after = [found.text for found in api.load(run).predict(texts)]
    assert given[0] == before
    assert all(found in (before, after) for found in given)


def test_draws_are_the_same_each_time() -> None:
    assert draws("x").random() == draws("x").random() != draws("y").random()
