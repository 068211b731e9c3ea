"""A store gives back what went in, and notices when it is no longer what it was."""

import json
import multiprocessing
import os
import shutil
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from regard.data import Encoding, Joined, Rows, Store, prepare
from regard.data.building import Building
from regard.data.manifest import DATA_FILES, Manifest, record
from regard.errors import ConfigError, DataError
from regard.files import checksum
from tests.data.encoders import corpus, encoding, sentences


def stored(folder: Path, columns: dict[str, list[list[int]]], vocabulary: int = 100) -> Store:
    """A store of these sequences, made without any text."""
    made = Encoding(lambda texts: columns, tuple(columns), vocabulary, "test")
    folder.mkdir()
    with Building(folder, "test") as building:
        building.add(made({"row": [""] * 3}))
    counts = {"kept": 3, "left_out": {}}
    sizes = {"rows": building.rows, "examples": building.examples, "pieces": building.pieces}
    files = {name: record(folder / name) for name in DATA_FILES}
    Manifest(columns=made.columns, piece=made.piece, fingerprint="test", counts=counts, files=files, **sizes).save(
        folder
    )
    return Store.open(folder, checksum)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    prepare(folder / "store", corpus(folder, sentences(30)), encoding())
    return folder / "store"


@pytest.fixture
def copy(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "copy"))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data(), st.integers(1, 3), st.sampled_from([1, 2**16, 2**16 + 1, 2**32]))
def test_what_goes_in_comes_out(tmp_path: Path, data: st.DataObject, width: int, vocabulary: int) -> None:
    sequence = st.lists(st.integers(0, vocabulary - 1), max_size=8)
    examples = data.draw(st.lists(st.lists(sequence, min_size=width, max_size=width), max_size=8))
    columns = {f"column {number}": [example[number] for example in examples] for number in range(width)}
    shutil.rmtree(tmp_path / "store", ignore_errors=True)
    store = stored(tmp_path / "store", columns, vocabulary)
    assert len(store) == len(examples)
    assert store.columns == tuple(columns)
    assert [[column.tolist() for column in store[number].values()] for number in range(len(store))] == examples
    assert store.lengths.tolist() == [[len(column) for column in example] for example in examples]
    assert all(
        column.dtype.itemsize == (2 if vocabulary <= 2**16 else 4) for example in store for column in example.values()
    )


def test_examples_are_views_that_cannot_be_written(whole: Path) -> None:
    store = Store.open(whole)
    source = store[3]["source"]
    assert not source.flags.owndata
    assert not source.flags.writeable
    assert not store.lengths.flags.writeable


def test_counting_from_the_end_and_beyond(whole: Path) -> None:
    store = Store.open(whole)
    assert store[-1]["target"].tolist() == store[29]["target"].tolist()
    for index in (30, -31):
        with pytest.raises(IndexError, match="of 30"):
            store[index]


def test_another_process_opens_the_same_files(whole: Path) -> None:
    received, sent = multiprocessing.get_context("spawn").Pipe()
    sent.send(Store.open(whole))
    assert received.poll(5)
    again = received.recv()
    assert again[7]["source"].tolist() == Store.open(whole)[7]["source"].tolist()
    assert len(multiprocessing.reduction.ForkingPickler.dumps(again)) < 500


def flip(path: Path, place: int) -> None:
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize("name", DATA_FILES)
def test_a_flipped_bit_is_found_when_asked(copy: Path, name: str) -> None:
    flip(copy / name, (copy / name).stat().st_size // 2)
    with pytest.raises(DataError, match=rf"{name} was altered: its checksum does not match. Prepare the data again"):
        Store.open(copy, checksum)


@pytest.mark.parametrize("change", [-1, 1, -(10**9)])
@pytest.mark.parametrize("name", DATA_FILES)
def test_another_size_is_found_at_once(copy: Path, name: str, change: int) -> None:
    size = (copy / name).stat().st_size
    os.truncate(copy / name, max(size + change, 0))
    with pytest.raises(DataError, match=rf"{name} has [\d,]+ bytes, expected {size:,}"):
        Store.open(copy)


@pytest.mark.parametrize("name", DATA_FILES)
def test_a_missing_file_is_found_at_once(copy: Path, name: str) -> None:
    (copy / name).unlink()
    with pytest.raises(DataError, match=rf"Cannot read .*{name}: No such file"):
        Store.open(copy)


def test_a_flipped_bit_of_a_manifest_changes_nothing_unnoticed(copy: Path) -> None:
    path = copy / "manifest.json"
    whole, before = path.read_bytes(), Manifest.load(copy)
    for place in range(0, len(whole), 3):
        flip(path, place)
        with suppress(DataError):
            assert Manifest.load(copy) == before, f"byte {place}"  # as with white space
        path.write_bytes(whole)


def test_damaged_offsets_are_found_before_they_mislead(copy: Path) -> None:
    offsets = np.fromfile(copy / "offsets.bin", "<u8")
    offsets[5] += 1
    offsets.tofile(copy / "offsets.bin")
    store = Store.open(copy)
    with pytest.raises(DataError, match="example 5 is damaged"):
        store[5]
    offsets[-1] += 1
    offsets.tofile(copy / "offsets.bin")
    with pytest.raises(DataError, match=r"offsets\.bin is damaged"):
        Store.open(copy)


def rewritten(folder: Path, **changes) -> None:
    values = json.loads((folder / "manifest.json").read_bytes())
    (folder / "manifest.json").write_text(json.dumps({**values, **changes}))


def test_a_newer_store_is_told_from_a_damaged_one(copy: Path) -> None:
    rewritten(copy, format=2)
    with pytest.raises(DataError, match=r"prepared by a newer Regard \(format 2, this one reads 1\)\. Update Regard"):
        Store.open(copy)


@pytest.mark.parametrize("changes", [{"format": "1"}, {"format": 0}, {"examples": 31}, {"counts": {}}, {"more": 1}])
def test_an_altered_manifest_is_refused(copy: Path, changes: dict) -> None:
    rewritten(copy, **changes)
    with pytest.raises(DataError, match=r"Prepare the data again"):
        Store.open(copy)


@pytest.mark.parametrize("content", [b"", b"{", b"{}", b"[]", b'{"kind": "web app"}', b"[" * 10**6, b" " * (5 * 2**20)])
def test_a_foreign_manifest_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "manifest.json").write_bytes(content)
    with pytest.raises(DataError, match="is not that of a prepared store"):
        Store.open(tmp_path)


def test_a_folder_that_is_no_store(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"is not a prepared store \(it has no manifest\.json\)"):
        Store.open(tmp_path)
    with pytest.raises(DataError, match=r"No file .*nowhere"):
        Store.open(tmp_path / "nowhere")


def test_joined_stores_are_numbered_through(tmp_path: Path) -> None:
    one = stored(tmp_path / "one", {"source": [[1], [2, 3]], "target": [[4], []]})
    none = stored(tmp_path / "none", {"source": [], "target": []})
    two = stored(tmp_path / "two", {"source": [[5]], "target": [[6]]})
    joined = Joined([one, none, two])
    assert len(joined) == 3
    assert [example["source"].tolist() for example in joined.take(np.array([2, 0, 1]))] == [[5], [1], [2, 3]]
    assert [len(table) for table in joined.lengths] == [2, 0, 1]
    for index in (-1, 3):
        with pytest.raises(IndexError, match="of 3"):
            joined[index]


def test_stores_of_different_columns_are_not_joined(tmp_path: Path) -> None:
    one, two = stored(tmp_path / "one", {"source": [[1]]}), stored(tmp_path / "two", {"text": [[1]]})
    with pytest.raises(ConfigError, match=r"one has source, .*two has text"):
        Joined([one, two])
    with pytest.raises(ConfigError, match="there is none"):
        Joined([])


def test_a_corpus_is_what_can_be_prepared(tmp_path: Path) -> None:
    assert isinstance(corpus(tmp_path, sentences(1)), Rows)


def test_tokens_are_counted_column_by_column(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("regard.data.store.SOME", 2)
    store = stored(tmp_path / "store", {"first": [[1, 1, 3], [], [3]], "second": [[2], [5, 5], []]})
    assert store.occurrences("first", 6).tolist() == [0, 2, 0, 2, 0, 0]
    assert store.occurrences("second", 6).tolist() == [0, 0, 1, 0, 0, 2]
