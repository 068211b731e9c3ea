"""The loop: what it yields, that splits change nothing, and that a run resumed is a run never stopped."""

import math
import os
import random
import signal
import subprocess
import sys
import time
from contextlib import nullcontext
from itertools import islice
from pathlib import Path

import pytest
import torch
from torch.nn import BatchNorm1d

from regard.errors import DataError
from regard.nn.parameters import named
from regard.train import FitSettings, Learner, NotFinite, Progress, Step, fit, log, newest, save
from tests.train import toy

SETTINGS = FitSettings(updates=toy.UPDATES, every=10)


def same(first: torch.nn.Module, second: torch.nn.Module) -> bool:
    return all(torch.equal(a, b) for a, b in zip(named(first).values(), named(second).values(), strict=True))


def steps(settings: FitSettings = SETTINGS, **changes: object):
    taught = toy.learner(**changes)
    return taught, list(fit(taught, toy.batches((0, 0)), lambda: toy.validation(taught), settings))


def test_every_update_is_told_and_scores_come_when_it_is_time() -> None:
    _, told = steps()
    assert [step.progress.update for step in told] == list(range(1, toy.UPDATES + 1))
    assert [step.progress.update for step in told if step.scores] == [10, 20, 30, 40]
    assert told[-1].last
    assert not any(step.last for step in told[:-1])
    assert [step.rate for step in told[:6]] == pytest.approx([0.004, 0.008, 0.012, 0.016, 0.02, 0.02])
    assert told[-1].progress.position == (toy.UPDATES // toy.EPOCH, toy.UPDATES % toy.EPOCH)


def test_the_loss_comes_down() -> None:
    settings = FitSettings(updates=300, every=300)
    taught = toy.learner(dropout=0.0)
    one = [((0, 1), toy.batch((0, 0)))] * 300
    told = list(fit(taught, one, lambda: {"loss": 0.0}, settings))
    assert told[-1].loss < 0.6 * told[0].loss


MANNERS = {
    "plain": SETTINGS,
    "bfloat16": SETTINGS.model_copy(update={"precision": "bfloat16"}),
    "ema": SETTINGS.model_copy(update={"ema": 0.9}),
    "compiled": SETTINGS.model_copy(update={"compile": "eager"}),
    "told": SETTINGS.model_copy(update={"log": 7, "accumulate": 2}),
}


@pytest.mark.parametrize("stop", [1, 9, 10, 25])
@pytest.mark.parametrize("manner", MANNERS)
def test_resumed_is_never_stopped_to_the_bit(manner: str, stop: int, tmp_path: Path) -> None:
    settings = MANNERS[manner]
    unbroken, told = steps(settings)
    first = toy.learner()
    made = list(islice(fit(first, toy.batches((0, 0)), lambda: toy.validation(first), settings), stop))
    again, rest = resumed(first, made[-1], settings, tmp_path)
    assert rest == told[stop:]
    assert same(unbroken.model, again.model)


def resumed(first: Learner, step: Step, settings: FitSettings, folder: Path) -> tuple[Learner, list[Step]]:
    """What comes of a run that was saved after a step and started anew."""
    save(folder, first.checkpoint(step.progress))
    torch.manual_seed(123)
    again = toy.learner()
    progress = again.restore(newest(folder)[0])
    return again, list(fit(again, toy.batches(progress.position), lambda: toy.validation(again), settings, progress))


def test_a_run_killed_again_and_again_ends_as_if_it_had_not_been(tmp_path: Path) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    unbroken = toy.run(whole, toy.FULL)
    draw, kills = random.Random(3), 0
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2]), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "tests.train.toy", str(killed)]
    while True:
        child = subprocess.Popen(command, env=environment, cwd=Path(__file__).parents[2])
        if kills < 3:
            waited = time.monotonic()
            while not list(killed.glob("update-*")) and child.poll() is None and time.monotonic() - waited < 60:
                time.sleep(0.002)
            time.sleep(draw.uniform(0.0, 0.05))
            child.send_signal(signal.SIGKILL)
            kills += 1
        if child.wait() == 0:
            break
    ended = toy.learner()
    ended.restore(newest(killed)[0])
    assert newest(killed)[0].update == toy.UPDATES
    assert same(unbroken.model, ended.model)
    assert all(torch.equal(value, ended.ema.averages[name]) for name, value in unbroken.ema.averages.items())
    assert sorted(path.name for path in killed.glob("update-*")) == ["update-00000039", "update-00000040"]
    assert timeless(killed) == timeless(whole) != []
    assert contents(toy.kept(killed, "best").paths()) == contents(toy.kept(whole, "best").paths())


def timeless(folder: Path) -> list[dict[str, object]]:
    return [{name: line[name] for name in line.keys() - log.CLOCK} for line in log.read(folder / "log.jsonl")]


def contents(paths: list[Path]) -> dict[str, bytes]:
    return {path.name: (path / "parameters.safetensors").read_bytes() for path in paths}


def test_a_batch_split_in_parts_gives_the_same_update() -> None:
    inputs, targets = (torch.cat(parts) for parts in zip(toy.batch((0, 0)), toy.batch((0, 3)), strict=True))
    models = []
    for parts in ([(inputs, targets)], [(inputs[:2], targets[:2]), (inputs[2:], targets[2:])]):
        taught = toy.learner(dropout=0.0)
        taught.model.double()
        group = [((0, 1), (x.double(), y)) for x, y in parts]
        settings = FitSettings(updates=1, every=1, accumulate=len(parts))
        (step,) = fit(taught, group, lambda: {"loss": 0.0}, settings)
        models.append((taught.model, step.loss))
    assert models[0][1] == pytest.approx(models[1][1], abs=1e-12)
    for a, b in zip(models[0][0].parameters(), models[1][0].parameters(), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-12)


def test_gradients_are_clipped_at_the_norm() -> None:
    taught = toy.learner(dropout=0.0)
    (step,) = fit(taught, [((0, 1), toy.batch((0, 0)))], lambda: {"loss": 0.0}, FitSettings(updates=1, clip=1e-3))
    clipped = torch.nn.utils.get_total_norm([parameter.grad for parameter in taught.model.parameters()])
    assert float(clipped) == pytest.approx(1e-3, rel=1e-4)
    assert step.norm > 1e-2


def test_the_best_is_told_and_patience_ends() -> None:
    taught = toy.learner()
    scores = iter([3.0, 5.0, 4.0, 5.0, 9.0])
    settings = FitSettings(updates=40, every=2, watch="bleu", higher=True, patience=2)
    told = list(fit(taught, toy.batches((0, 0)), lambda: {"bleu": next(scores)}, settings))
    assert [step.best for step in told if step.scores] == [True, True, False, False]
    assert (told[-1].progress.best, told[-1].progress.best_update, told[-1].last) == (5.0, 4, True)


def test_a_score_that_is_no_number_is_never_the_best() -> None:
    taught = toy.learner()
    scores = iter([math.nan, 3.0, math.nan, 2.0])
    told = list(fit(taught, toy.batches((0, 0)), lambda: {"loss": next(scores)}, FitSettings(updates=4, every=1)))
    assert [step.best for step in told] == [False, True, False, True]


def test_epochs_end_a_run_with_an_evaluation_and_updates_then_do_not() -> None:
    settings = FitSettings(epochs=2, every=100)
    _, told = steps(settings)
    assert len(told) == settings.planned(toy.EPOCH) == 2 * toy.EPOCH
    assert (told[-1].ending, told[-1].progress.epoch, told[-1].last) == ("epochs", 2, True)
    assert told[-1].scores is not None
    assert FitSettings.read(settings.model_dump()) == settings


@pytest.mark.parametrize(("accumulate", "updates", "planned"), [(1, 5, 5), (1, 100, 14), (4, 100, 4)])
def test_what_comes_first_ends_the_run(accumulate: int, updates: int, planned: int) -> None:
    settings = FitSettings(epochs=2, updates=updates, accumulate=accumulate)
    _, told = steps(settings)
    assert len(told) == settings.planned(toy.EPOCH) == planned


@pytest.mark.parametrize("how", ["stop", "minutes"])
def test_a_run_stopped_in_between_goes_on_as_if_it_had_not_been(how: str, tmp_path: Path) -> None:
    _, told = steps()
    taught = toy.learner()
    halted = SETTINGS.model_copy(update={"minutes": 1e-9} if how == "minutes" else {})
    count = iter(range(100))
    stop = (lambda: next(count) == 12) if how == "stop" else None
    made = list(fit(taught, toy.batches((0, 0)), lambda: toy.validation(taught), halted, stop=stop))
    assert (len(made), made[-1].ending, made[-1].last) == (13 if how == "stop" else 1, how, True)
    _, rest = resumed(taught, made[-1], SETTINGS, tmp_path)
    assert rest == told[len(made) :]


def test_the_loss_told_is_that_of_all_targets_since_the_last_time() -> None:
    _, told = steps(FitSettings(updates=20, every=100, log=8))
    assert [step.progress.update for step in told if step.recent is not None] == [8, 16, 20]
    part = told[8:16]
    assert told[15].recent == pytest.approx(sum(s.loss * s.count for s in part) / sum(s.count for s in part))


def poisoned():
    for position, (inputs, targets) in toy.batches((0, 0)):
        yield position, (inputs * (torch.nan if position == (0, 3) else 1.0), targets)


def test_a_loss_that_is_no_number_stops_with_the_batch_named_and_changes_nothing() -> None:
    taught = toy.learner()
    updates = fit(taught, poisoned(), lambda: {"loss": 0.0}, SETTINGS)
    assert [step.progress.update for step in islice(updates, 2)] == [1, 2]
    before = {name: tensor.clone() for name, tensor in named(taught.model).items()}
    with pytest.raises(NotFinite, match=r"Update 3 \(data up to 0, 3\).*nonfinite = 'skip'"):
        next(updates)
    assert all(torch.equal(before[name], tensor) for name, tensor in named(taught.model).items())


def test_the_examples_of_the_bad_batch_of_a_group_are_named() -> None:
    taught = toy.learner()
    taught.describe = lambda pair: f"{len(pair[1])} rows"
    settings = FitSettings(updates=5, accumulate=3)
    with pytest.raises(NotFinite, match=r"Update 1 \(data up to 0, 3\).*changed\. The examples: 5 rows\. Lower"):
        list(fit(taught, poisoned(), lambda: {"loss": 0.0}, settings))


def test_or_is_left_out_and_counted() -> None:
    taught = toy.learner()
    settings = FitSettings(updates=5, every=5, nonfinite="skip")
    told = list(fit(taught, poisoned(), lambda: {"loss": 0.0}, settings))
    assert told[-1].progress.skipped == 1
    assert all(tensor.isfinite().all() for tensor in named(taught.model).values())


@pytest.mark.parametrize("nonfinite", ["stop", "skip"])
def test_a_batch_that_is_not_learned_from_leaves_no_trace_in_running_statistics(nonfinite: str) -> None:
    taught = toy.learner()
    taught.model.insert(1, BatchNorm1d(8, affine=False))
    updates = fit(taught, poisoned(), lambda: {"loss": 0.0}, FitSettings(updates=5, nonfinite=nonfinite))
    list(islice(updates, 2))
    before = {name: buffer.clone() for name, buffer in taught.model.named_buffers()}
    with pytest.raises(NotFinite) if nonfinite == "stop" else nullcontext():
        next(updates)
    assert all(torch.equal(before[name], buffer) for name, buffer in taught.model.named_buffers())
    if nonfinite == "skip":
        next(updates)
        assert taught.model[1].num_batches_tracked == 3
        assert not torch.equal(before["1.running_mean"], taught.model[1].running_mean)


def test_a_score_nobody_computes_is_named() -> None:
    taught = toy.learner()
    with pytest.raises(DataError, match="watch = 'blue' is none of the scores there are: bleu"):
        list(fit(taught, toy.batches((0, 0)), lambda: {"bleu": 1.0}, FitSettings(updates=1, watch="blue")))


def test_the_loop_ends_with_the_data() -> None:
    taught = toy.learner()
    few = list(islice(toy.batches((0, 0)), 5))
    assert len(list(fit(taught, few, lambda: {"loss": 0.0}, FitSettings(updates=9, accumulate=2)))) == 3


def test_progress_survives_being_stored() -> None:
    progress = Progress(7, (2, 0, 3), 1.5, 6, 1, 2, 3, 0.1, 4)
    assert Progress.read(progress.facts()) == progress
    assert progress.epoch == 2


def test_progress_of_earlier_versions_is_read() -> None:
    old = {"update": 7, "position": [2, 0], "best": None, "best_update": 0, "waited": 0, "skipped": 1}
    assert Progress.read(old) == Progress(7, (2, 0), skipped=1)
