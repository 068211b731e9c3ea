"""One run, however many processes make it. All of them are real; see `distributed_ranks` for what each does."""

import json
import shutil
import subprocess
from collections import Counter
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed.checkpoint as dcp
from torch import Tensor

from regard.api import Training, read
from regard.bundle import load
from regard.train import load as read_checkpoint
from regard.train import newest
from regard.train.checkpoints import found
from regard.train.distributed import joined
from tests.api.toy import recipe
from tests.train.distributed_ranks import PLAN, TWICE, Noting, in_parts, made, ranks, split, stopped
from tests.train.distributed_runs import same, told, trained, write_plan


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What two processes left."""
    folder = tmp_path_factory.mktemp("two")
    recipe(folder / "data")
    ranks(folder)
    return folder


@pytest.fixture(scope="module")
def alone(folder: Path) -> Path:
    """The run `split` as one process makes it."""
    torch.set_num_threads(1)
    split(folder / "alone", folder / "data")
    return folder / "alone"


def known(folder: Path) -> list[dict[str, Any]]:
    return [json.loads((folder / f"known-{rank}.json").read_text()) for rank in range(2)]


def logged(run: Path, kind: str) -> list[dict[str, Any]]:
    lines = map(json.loads, (run / "log.jsonl").read_text().splitlines())
    return [line for line in lines if line["kind"] == kind]


def tensors(run: Path) -> dict[str, Tensor]:
    """Everything of the newest checkpoint that learning changes."""
    stored, troubles = newest(run / "checkpoints")
    assert stored is not None
    assert not troubles
    groups = ("parameters", "optimizer")
    return {f"{group}.{name}": tensor for group in groups for name, tensor in stored.tensors[group].items()}


def test_sums_and_gathered_items_are_the_same_for_all(folder: Path) -> None:
    for mine in known(folder):
        assert mine["sum"] == [2.0, 1.0]
        assert mine["most"] == 10
        assert mine["whole"] == [f"ä{number}" for number in range(5)]


def test_each_process_draws_its_own(folder: Path) -> None:
    one, two = known(folder)
    assert one["drawn"] != two["drawn"]


def test_processes_that_differ_do_not_train_together(folder: Path) -> None:
    assert all("Process 1 has update 1, process 0 has 0" in mine["disagreed"] for mine in known(folder))


def test_losses_and_gradient_norms_do_not_depend_on_the_number_of_processes(folder: Path, alone: Path) -> None:
    one, two = logged(alone, "train"), logged(folder / "split", "train")
    assert len(one) == PLAN["train"]["updates"]
    for name in ("loss", "norm", "targets", "rate", "epoch"):
        assert [line[name] for line in two] == pytest.approx([line[name] for line in one], rel=1e-9)


def test_parameters_and_optimizer_do_not_depend_on_the_number_of_processes(folder: Path, alone: Path) -> None:
    one, two = tensors(alone), tensors(folder / "split")
    assert one.keys() == two.keys()
    for name, tensor in one.items():
        torch.testing.assert_close(two[name], tensor, rtol=0, atol=1e-6, msg=name)


def test_validation_and_search_do_not_depend_on_the_number_of_processes(folder: Path, alone: Path) -> None:
    one, two = logged(alone, "valid"), logged(folder / "split", "valid")
    assert [line["best"] for line in two] == [line["best"] for line in one]
    for here, there in zip(one, two, strict=True):
        assert there["scores"] == pytest.approx(here["scores"], rel=1e-6)


def test_the_bundle_is_the_one_a_single_process_makes(folder: Path, alone: Path) -> None:
    one, two = load(alone / "bundle"), load(folder / "split" / "bundle")
    assert (two.scores, two.golden) == (one.scores, one.golden)
    assert (one.facts["processes"], two.facts["processes"]) == (1, 2)


def test_a_model_in_parts_learns_what_a_whole_one_does(folder: Path, alone: Path) -> None:
    one, two = tensors(alone), tensors(folder / "sharded")
    assert one.keys() == two.keys()
    for name, tensor in one.items():
        torch.testing.assert_close(two[name], tensor, rtol=0, atol=1e-6, msg=name)
    for here, there in zip(logged(alone, "valid"), logged(folder / "sharded", "valid"), strict=True):
        assert there["scores"] == pytest.approx(here["scores"], rel=1e-6)
    assert load(folder / "sharded" / "bundle").golden == load(alone / "bundle").golden


def test_resumed_is_unbroken_bit_for_bit_with_dropout(folder: Path) -> None:
    assert same(folder / "unbroken", folder / "resumed")
    assert _without_clock(folder / "unbroken") == _without_clock(folder / "resumed")


def _without_clock(run: Path) -> list[dict[str, Any]]:
    lines = map(json.loads, (run / "log.jsonl").read_text().splitlines())
    return [{name: value for name, value in line.items() if name not in ("seconds", "per_second")} for line in lines]


def test_resumed_on_another_number_of_processes_every_example_is_seen_once_an_epoch(
    folder: Path, tmp_path: Path
) -> None:
    run = tmp_path / "seen"
    shutil.copytree(folder / "seen", run)
    training = made(run, folder / "data", TWICE, Noting)
    counted = seen(run)
    assert {path.name for path in run.glob("seen-*")} == {"seen-2-0.jsonl", "seen-2-1.jsonl", "seen-1-0.jsonl"}
    assert counted == [Counter(range(len(training.stores.train)))] * 2


def seen(run: Path) -> list[Counter[int]]:
    """How often each example was counted in each of two epochs."""
    counted = [Counter[int](), Counter[int]()]
    for path in run.glob("seen-*.jsonl"):
        for (epoch, window, batch), examples in map(json.loads, path.read_text().splitlines()):
            counted[epoch - (window == batch == 0)].update(examples)
    return counted


def test_the_split_run_had_batches_of_which_one_process_got_no_row(folder: Path, alone: Path) -> None:
    batches = Training(read(recipe(folder / "data", **PLAN)), alone, resume=True).batches.walk()
    sizes = {len(batch.examples) for batch in islice(batches, 12)}
    assert sizes >= {1, 2}


def test_a_process_alone_tells_nobody() -> None:
    team = joined(torch.device("cpu"))
    assert (team.sum([1.5]), team.most(3), team.whole(["a"]), team.own("ab")) == ([1.5], 3, ["a"], "ab")
    with team.turn():
        assert team.leads


@pytest.fixture(scope="module")
def parts(folder: Path) -> Path:
    """Runs of two processes with checkpoints in parts; one was gone on with by one process for a while."""
    shutil.copytree(folder / "parts" / "checkpoints", folder / "begun")
    stopped(folder / "seen-parts", folder / "data", in_parts(TWICE), 4, Noting)
    ranks(folder, "parts")
    return folder


def test_every_process_writes_its_own_part_of_a_checkpoint(parts: Path) -> None:
    [path] = found(parts / "begun")
    groups = ("optimizer", "parameters")
    files = {f"{group}-0000{rank}-of-00002.safetensors" for group in groups for rank in range(2)}
    assert {file.name for file in path.iterdir()} == {*files, "random-00000-of-00002.safetensors", "state.json"}
    sizes = [sum(file.stat().st_size for file in path.glob(f"[op]*-0000{rank}-of-00002*")) for rank in range(2)]
    assert max(sizes) < 1.2 * min(sizes)


@pytest.mark.filterwarnings("ignore:torch.distributed is disabled")
def test_torchs_own_reader_finds_in_the_parts_what_ours_does(parts: Path) -> None:
    [path] = found(parts / "begun")
    wanted = read_checkpoint(path).tensors["parameters"]
    given = {name: torch.zeros_like(tensor) for name, tensor in wanted.items()}
    dcp.load(given, storage_reader=dcp.HuggingFaceStorageReader(str(path)), no_dist=True)
    assert all(given[name].equal(tensor) for name, tensor in wanted.items())


def test_a_run_with_checkpoints_in_parts_learns_what_a_plain_one_does(parts: Path, alone: Path) -> None:
    one, two = tensors(alone), tensors(parts / "parts")
    assert one.keys() == two.keys()
    for name, tensor in one.items():
        torch.testing.assert_close(two[name], tensor, rtol=0, atol=1e-6, msg=name)
    assert load(parts / "parts" / "bundle").golden == load(alone / "bundle").golden


def test_resumed_in_parts_on_two_processes_on_one_and_on_two_every_example_is_seen_once(parts: Path) -> None:
    run = parts / "seen-parts"
    assert {path.name for path in run.glob("seen-*")} == {"seen-2-0.jsonl", "seen-2-1.jsonl", "seen-1-0.jsonl"}
    [counted, again] = seen(run)
    assert counted == again == Counter(range(len(counted)))


@pytest.fixture(scope="module")
def fallen(folder: Path) -> subprocess.CompletedProcess[str]:
    """A run whose second process is killed at update 4, started again, and whose first is killed at update 7."""
    write_plan(folder)
    return trained(folder, folder / "killed", "--restarts", "1", killed="1:0:4,0:1:7")


def test_a_killed_process_ends_the_run_with_a_reason(fallen: subprocess.CompletedProcess[str]) -> None:
    assert fallen.returncode == 1
    assert "process 0 of 2" in fallen.stderr
    assert "killed by signal 9" in fallen.stderr
    assert "Traceback" not in fallen.stderr


def test_the_run_was_started_again_from_its_checkpoint_once(fallen: subprocess.CompletedProcess[str]) -> None:
    notes = [line["text"] for line in told(fallen) if line["kind"] == "note"]
    assert notes.count("Going on after update 2.") == 1


def test_only_the_first_process_speaks(fallen: subprocess.CompletedProcess[str]) -> None:
    updates = [line["update"] for line in told(fallen) if line["kind"] == "train"]
    assert updates == [1, 2, 3, 3, 4, 5, 6]


def test_killed_twice_and_resumed_is_unbroken_bit_for_bit(
    folder: Path, fallen: subprocess.CompletedProcess[str]
) -> None:
    done = trained(folder, folder / "killed", "--resume")
    assert done.returncode == 0, done.stderr
    assert told(done)[-1]["kind"] == "done"
    assert same(folder / "killed", folder / "unbroken")
