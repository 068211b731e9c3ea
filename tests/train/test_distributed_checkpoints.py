"""Checkpoints in parts: the same as whole ones, checked like them, and turned into each other."""

import json
from itertools import pairwise
from pathlib import Path

import pytest
import torch
import torch.distributed.checkpoint as dcp
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from regard.errors import DataError
from regard.train import Checkpoint, load, newest, save
from regard.train.checkpoints import SHARDED, State, place, store, write_state
from regard.train.distributed import ALONE
from regard.train.distributed_checkpoints import save_parts
from regard.train.shards import Shards, file_name, whereabouts

WHOLE = {"a": torch.arange(15.0).reshape(5, 3), "b": torch.arange(2), "step": torch.tensor(7.0)}


def pieces(rows: int, cuts: list[int]) -> list[tuple[int, int]]:
    edges = [0, *sorted(cut % (rows + 1) for cut in cuts), rows]
    return list(pairwise(edges))


def in_parts(folder: Path, cuts: list[int], update: int = 3) -> Path:
    """The checkpoint of `WHOLE` as several processes write it, each so many rows of each tensor."""
    path = place(folder, update)
    path.mkdir(parents=True)
    checksums, sizes = {}, {}
    for rank in range(len(cuts) + 1):
        own: dict[str, Tensor] = {}
        offsets: dict[str, list[int]] = {}
        for name, tensor in WHOLE.items():
            if tensor.dim():
                start, end = pieces(len(tensor), cuts)[rank]
                if start < end:
                    own[name], offsets[name] = tensor[start:end], [start] + [0] * (tensor.dim() - 1)
            elif rank == 0:
                own[name], offsets[name] = tensor, []
        name = file_name("parameters", rank, len(cuts) + 1)
        checksums[name], sizes[name] = store(own, path / name, whereabouts(offsets))
    index = {"parameters": {name: list(tensor.shape) for name, tensor in WHOLE.items()}}
    facts = {"progress": {"update": update}}
    write_state(path, State(format=SHARDED, update=update, facts=facts, checksums=checksums, sizes=sizes, index=index))
    return path


@settings(max_examples=15)
@given(cuts=st.lists(st.integers(0, 5), max_size=3))
def test_parts_of_any_size_make_the_whole(cuts: list[int], tmp_path_factory: pytest.TempPathFactory) -> None:
    stored = load(in_parts(tmp_path_factory.mktemp("parts"), cuts))
    assert (stored.update, stored.facts) == (3, {"progress": {"update": 3}})
    found = stored.tensors["parameters"]
    assert list(found) == list(WHOLE)
    assert all(found[name].equal(tensor) and found[name].dtype == tensor.dtype for name, tensor in WHOLE.items())


@pytest.mark.filterwarnings("ignore:torch.distributed is disabled")
@settings(max_examples=10)
@given(cuts=st.lists(st.integers(0, 5), max_size=3))
def test_torchs_own_reader_reads_parts(cuts: list[int], tmp_path_factory: pytest.TempPathFactory) -> None:
    path = in_parts(tmp_path_factory.mktemp("parts"), cuts)
    found = {name: torch.zeros_like(tensor) for name, tensor in WHOLE.items()}
    dcp.load(found, storage_reader=dcp.HuggingFaceStorageReader(str(path)), no_dist=True)
    assert all(found[name].equal(tensor) for name, tensor in WHOLE.items())


def test_in_parts_and_plain_are_turned_into_each_other(tmp_path: Path) -> None:
    plain = save(tmp_path / "plain", load(in_parts(tmp_path, [2])))
    assert [path.name for path in sorted(plain.iterdir())] == ["parameters.safetensors", "state.json"]
    again = load(save_parts(tmp_path / "again", load(plain), ALONE))
    assert all(again.tensors["parameters"][name].equal(tensor) for name, tensor in WHOLE.items())
    assert isinstance(again.tensors["parameters"], Shards)
    straight = save(tmp_path / "straight", Checkpoint(3, {"parameters": WHOLE}, again.facts))
    assert all((straight / path.name).read_bytes() == path.read_bytes() for path in plain.iterdir())


@pytest.mark.parametrize("damage", ["flip", "cut", "remove", "swap", "index", "more", "fewer"])
def test_a_damaged_one_is_passed_over_with_a_word(damage: str, tmp_path: Path) -> None:
    earlier = in_parts(tmp_path, [2], update=1)
    path = in_parts(tmp_path, [2])
    one, two = (path / file_name("parameters", rank, 2) for rank in range(2))
    state = json.loads((path / "state.json").read_bytes())
    if damage == "flip":
        data = bytearray(two.read_bytes())
        data[-1] ^= 1
        two.write_bytes(data)
    elif damage == "cut":
        two.write_bytes(two.read_bytes()[:-4])
    elif damage == "remove":
        two.unlink()
    elif damage == "swap":
        here, there = one.read_bytes(), two.read_bytes()
        one.write_bytes(there)
        two.write_bytes(here)
    else:
        change = {"index": [6, 3], "more": [5, 4], "fewer": [3]}[damage]
        state["index"]["parameters"]["a"] = change
        state.pop("checksum")
        (path / "state.json").write_bytes(State.read(state).rendered())
    stored, troubles = newest(tmp_path)
    assert stored is not None
    assert stored.update == load(earlier).update == 1
    assert len(troubles) == 1


def test_nothing_is_left_of_a_save_that_fails(tmp_path: Path) -> None:
    before = save_parts(tmp_path, Checkpoint(1, {"parameters": WHOLE}, {}), ALONE)
    (tmp_path / "update-00000002").write_text("in the way")
    with pytest.raises(DataError, match=r"Cannot save a checkpoint .* the one before is untouched"):
        save_parts(tmp_path, Checkpoint(2, {"parameters": WHOLE}, {}), ALONE)
    assert load(before).update == 1
    assert not list(tmp_path.glob(".*"))
