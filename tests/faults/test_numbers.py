"""NaN and infinity wherever they can come from: the policy of the recipe holds, and the last checkpoint stays.

The policy (`train.nonfinite`): "stop" ends the run with the update, the loss, the norm and the examples, and changes
nothing; "skip" leaves the update out and counts it.
"""

import hashlib
import math
import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from regard.api import Training, read
from regard.errors import RegardError
from regard.nn.parameters import named
from regard.train import FitSettings, Learner, NotFinite, Progress, checkpoints, fit
from tests.api.toy import RECURRENT, TRANSFORMER, recipe
from tests.train import toy

BAD = 3
VALUES = {"nan": math.nan, "inf": math.inf, "minus inf": -math.inf}
PLACES = ("input", "loss", "gradient", "parameter")
Pair = tuple[Tensor, Tensor]


class Poisoned:
    """A learner whose third batch meets a number that is none."""

    def __init__(self, place: str, value: float) -> None:
        self.place, self.value, self.learner = place, value, toy.learner()
        self.seen, plain = 0, self.learner.loss

        def loss(pair: Pair) -> Any:
            self.seen += 1
            found = plain(pair)
            return replace(found, total=found.total * value) if self.now("loss") else found

        self.learner.loss = loss
        self.weight = self.learner.model[3].weight
        self.weight.register_hook(lambda gradient: gradient * value if self.now("gradient") else gradient)

    def now(self, place: str) -> bool:
        return self.place == place and self.seen == BAD

    def batches(self) -> Iterator[tuple[tuple[int, int], Pair]]:
        for number, (position, (inputs, targets)) in enumerate(toy.batches((0, 0)), 1):
            bad = number == BAD
            if bad and self.place == "parameter":
                with torch.no_grad():
                    self.weight[0, 0] = self.value
            yield position, (torch.full_like(inputs, self.value) if bad and self.place == "input" else inputs, targets)


def state(learner: Learner[Pair]) -> dict[str, Tensor]:
    stored = learner.checkpoint(Progress()).tensors
    return {f"{group}.{name}": tensor.clone() for group in stored for name, tensor in stored[group].items()}


def same(one: dict[str, Tensor], other: dict[str, Tensor]) -> bool:
    return all(
        torch.equal(one[name].nan_to_num(7.0), other[name].nan_to_num(7.0)) for name in one if "random" not in name
    )


every_fault = pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
every_place = pytest.mark.parametrize("place", PLACES)


@every_fault
@every_place
def test_a_run_that_is_to_stop_stops_with_nothing_changed(place: str, value: float, tmp_path: Path) -> None:
    poisoned = Poisoned(place, value)
    updates = fit(poisoned.learner, poisoned.batches(), lambda: {"loss": 0.0}, FitSettings(updates=9, every=9))
    last = list(islice(updates, BAD - 1))[-1]
    checkpoints.save(tmp_path, poisoned.learner.checkpoint(last.progress))
    before, stored = state(poisoned.learner), digest(tmp_path)
    with pytest.raises(NotFinite, match=rf"Update {BAD} "):
        next(updates)
    if place == "parameter":
        before["parameters.3.weight"][0, 0] = value
    assert same(before, state(poisoned.learner))
    assert digest(tmp_path) == stored
    found, _ = checkpoints.newest(tmp_path)
    assert found is not None
    assert all(tensor.isfinite().all() for tensor in found.tensors["parameters"].values())


@every_fault
@pytest.mark.parametrize("place", ["input", "loss", "gradient"])
def test_a_run_that_is_to_skip_leaves_it_out_and_counts_it(place: str, value: float) -> None:
    poisoned = Poisoned(place, value)
    settings = FitSettings(updates=6, every=6, nonfinite="skip")
    told = list(fit(poisoned.learner, poisoned.batches(), lambda: {"loss": 0.0}, settings))
    assert [step.progress.skipped for step in told] == [0, 0, 1, 1, 1, 1]
    assert all(tensor.isfinite().all() for tensor in named(poisoned.learner.model).values())


@pytest.mark.parametrize("rate", [1e20, 1e38])
@pytest.mark.parametrize("model", [TRANSFORMER, RECURRENT], ids=["transformer", "recurrent"])
def test_a_huge_rate_ends_the_run_and_every_checkpoint_there_is_holds_numbers(
    model: dict[str, Any], rate: float, tmp_path: Path
) -> None:
    settings = {"updates": 20, "every": 1, "log": 1}
    plan = recipe(tmp_path / "data", model=model, train=settings, optimizer={"rate": rate, "schedule": "constant"})
    try:
        list(Training(read(plan), tmp_path / "run").steps())
        # Everything in a recurrent model saturates; whether a NaN comes of it hangs on the processor's kernels.
        ended = model is RECURRENT and rate < 1e38
    except RegardError as error:
        ended = re.search(r"Update \d+ .*Lower the rate", str(error)) is not None
    assert ended
    for path in checkpoints.found(tmp_path / "run" / "checkpoints"):
        stored = checkpoints.load(path).tensors["parameters"]
        assert all(tensor.isfinite().all() for tensor in stored.values()), path


def digest(folder: Path) -> dict[str, str]:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
