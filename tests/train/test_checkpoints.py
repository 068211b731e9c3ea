"""Checkpoints: whole or not there, checked before use, the newest intact one taken."""

import json
from pathlib import Path

import pytest
import torch

from regard.errors import DataError
from regard.train import Checkpoint, load, newest, save


def checkpoint(update: int) -> Checkpoint:
    tensors = {
        "parameters": {"a": torch.full((3,), float(update)), "b": torch.arange(4)},
        "random": {"cpu": torch.get_rng_state()},
    }
    return Checkpoint(update, tensors, {"progress": {"update": update}})


def test_what_is_saved_is_loaded(tmp_path: Path) -> None:
    stored = load(save(tmp_path / "new", checkpoint(12)))
    assert (stored.update, stored.facts) == (12, {"progress": {"update": 12}})
    assert stored.tensors["parameters"]["a"].tolist() == [12.0] * 3
    assert torch.equal(stored.tensors["random"]["cpu"], torch.get_rng_state())


def test_only_the_newest_are_kept_and_leftovers_go(tmp_path: Path) -> None:
    (tmp_path / ".update-00000001.abc.part").mkdir()
    for update in (1, 2, 10):
        save(tmp_path, checkpoint(update), keep=2)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["update-00000002", "update-00000010"]
    assert newest(tmp_path)[0].update == 10


def test_saving_the_same_update_again_replaces_it(tmp_path: Path) -> None:
    save(tmp_path, checkpoint(1))
    again = Checkpoint(1, {"parameters": {"a": torch.zeros(1)}}, {})
    assert load(save(tmp_path, again)).tensors["parameters"]["a"].tolist() == [0.0]


@pytest.mark.parametrize("damage", ["flip", "cut", "remove", "state", "foreign", "newer", "swap"])
def test_a_damaged_one_is_passed_over_with_a_word(damage: str, tmp_path: Path) -> None:
    save(tmp_path, checkpoint(1))
    path = save(tmp_path, checkpoint(2))
    file, state = path / "parameters.safetensors", path / "state.json"
    if damage == "flip":
        data = bytearray(file.read_bytes())
        data[-1] ^= 1
        file.write_bytes(data)
    elif damage == "cut":
        file.write_bytes(file.read_bytes()[:-4])
    elif damage == "remove":
        file.unlink()
    elif damage == "state":
        state.write_text(state.read_text()[:-5])
    elif damage == "foreign":
        state.write_text("[1, 2]")
    elif damage == "newer":
        state.write_text(json.dumps(json.loads(state.read_text()) | {"format": 99}))
    else:
        file.write_bytes((tmp_path / "update-00000001" / "parameters.safetensors").read_bytes())
    stored, troubles = newest(tmp_path)
    assert stored.update == 1
    assert len(troubles) == 1
    assert "\n" not in troubles[0]
    with pytest.raises(DataError):
        load(path)


def test_a_folder_that_cannot_be_written_is_named_and_the_last_checkpoint_stays(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(DataError, match=r"Cannot save a checkpoint in .*file.*the one before is untouched"):
        save(tmp_path / "file", checkpoint(1))


def test_no_folder_means_no_checkpoint(tmp_path: Path) -> None:
    assert newest(tmp_path / "nowhere") == (None, [])
