"""A store is built once, whole or not at all, and always the same."""

import fcntl
import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from regard.data import Corpus, Progress, Store, building, prepare, preparing
from regard.errors import DataError
from regard.files import checksum
from tests.data.encoders import FailingAt, Slowly, bytes_of, characters, corpus, encoding, sentences

ROOT = Path(__file__).parents[2]


def pairs_of(store: Store) -> list[tuple[str, str]]:
    return [tuple("".join(map(chr, example[name].tolist())) for name in ("source", "target")) for example in store]


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The folders that were built, in order."""
    folders = []
    publish = preparing._publish

    def noted(building: Path, folder: Path, work: Path) -> None:
        folders.append(folder.name)
        publish(building, folder, work)

    monkeypatch.setattr(preparing, "_publish", noted)
    return folders


def test_every_row_is_an_example(tmp_path: Path) -> None:
    store = prepare(tmp_path / "store", corpus(tmp_path, sentences(100)), encoding(), chunk=7)
    assert pairs_of(store) == sentences(100)
    assert store.counts.kept == store.manifest.rows == 100
    assert sorted(os.listdir(tmp_path / "store")) == ["lengths.bin", "manifest.json", "offsets.bin", "pieces.bin"]
    assert sorted(os.listdir(tmp_path / ".store.work")) == ["inputs.json", "lock"]


def test_the_bytes_do_not_depend_on_processes_or_chunks(tmp_path: Path) -> None:
    given = corpus(tmp_path, sentences(200))
    folders = [tmp_path / name for name in ("one", "two", "large", "again")]
    for folder, processes, chunk in zip(folders, (1, 2, 1, 2), (10, 10, 1000, 64), strict=True):
        prepare(folder, given, encoding(), processes, chunk=chunk)
    assert all(bytes_of(folder) == bytes_of(folders[0]) for folder in folders)


def test_a_store_is_reused_while_nothing_changed(tmp_path: Path, built: list[str]) -> None:
    given = corpus(tmp_path, sentences(20))
    first = prepare(tmp_path / "store", given, encoding())
    again = prepare(tmp_path / "store", given, encoding())
    assert built == ["store"]
    assert again.counts == first.counts


@pytest.mark.parametrize("change", ["rows", "cleaning", "encoding", "vocabulary"])
def test_a_store_is_rebuilt_when_something_changed(tmp_path: Path, built: list[str], change: str) -> None:
    old = prepare(tmp_path / "store", corpus(tmp_path, sentences(20)), encoding())
    given = corpus(
        tmp_path,
        sentences(21 if change == "rows" else 20),
        cleaning=["copies"] if change == "cleaning" else [],
    )
    made = encoding(
        identity="other" if change == "encoding" else "characters",
        vocabulary=2**16 if change == "vocabulary" else 0x110000,
    )
    new = prepare(tmp_path / "store", given, made)
    assert built == ["store", "store"]
    assert pairs_of(new) == sentences(21 if change == "rows" else 20)
    assert pairs_of(old) == sentences(20)  # whoever still has it open keeps it


@pytest.mark.parametrize("name", ["pieces.bin", "offsets.bin", "manifest.json"])
def test_a_damaged_store_is_rebuilt(tmp_path: Path, built: list[str], name: str) -> None:
    given = corpus(tmp_path, sentences(20))
    prepare(tmp_path / "store", given, encoding())
    whole = bytes_of(tmp_path / "store")
    content = whole[name].replace(b'"kept": 20', b'"kept": 21') if name == "manifest.json" else whole[name][:-1]
    (tmp_path / "store" / name).write_bytes(content)
    prepare(tmp_path / "store", given, encoding())
    assert built == ["store", "store"]
    assert bytes_of(tmp_path / "store") == whole


@pytest.mark.parametrize("name", ["pieces.bin", "offsets.bin", "lengths.bin"])
def test_a_store_that_was_altered_without_losing_a_byte_is_rebuilt(tmp_path: Path, built: list[str], name: str) -> None:
    given = corpus(tmp_path, sentences(20))
    prepare(tmp_path / "store", given, encoding())
    whole = bytes_of(tmp_path / "store")
    middle = len(whole[name]) // 2
    (tmp_path / "store" / name).write_bytes(whole[name][:middle] + b"\x07" * (len(whole[name]) - middle))
    prepare(tmp_path / "store", given, encoding())
    assert built == ["store", "store"]
    assert bytes_of(tmp_path / "store") == whole


def test_a_folder_of_somebody_else_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "thesis.txt").write_text("years of work")
    with pytest.raises(DataError, match="store is not a prepared store"):
        prepare(tmp_path / "store", corpus(tmp_path, sentences(3)), encoding())
    assert os.listdir(tmp_path / "store") == ["thesis.txt"]


def test_an_empty_folder_is_taken(tmp_path: Path) -> None:
    (tmp_path / "deep" / "store").mkdir(parents=True)
    assert len(prepare(tmp_path / "deep" / "store", corpus(tmp_path, sentences(3)), encoding())) == 3


def test_a_link_to_a_store_is_followed(tmp_path: Path) -> None:
    (tmp_path / "large disk").mkdir()
    (tmp_path / "store").symlink_to(tmp_path / "large disk")
    for count in (3, 4):
        assert len(prepare(tmp_path / "store", corpus(tmp_path, sentences(count)), encoding())) == count
    assert (tmp_path / "store").is_symlink()
    assert len(Store.open(tmp_path / "large disk")) == 4


def test_no_example_at_all_is_an_error(tmp_path: Path) -> None:
    given = corpus(tmp_path, [("same", "same")], cleaning=["copies"])
    with pytest.raises(DataError, match=r"no example is left\.\n0 of 1 rows kept\n  1 left out: copies"):
        prepare(tmp_path / "store", given, encoding())
    assert not (tmp_path / "store").exists()


def test_a_bad_line_stops_and_leaves_no_store(tmp_path: Path) -> None:
    given = corpus(tmp_path, [*sentences(50), ("x", "")])
    with pytest.raises(DataError, match=r"train\.de line 51: target is empty"):
        prepare(tmp_path / "store", given, encoding(), processes=2, chunk=5)
    assert not (tmp_path / "store").exists()


def test_tokens_outside_the_vocabulary_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="Tokens from 32 to 252 for a vocabulary of 252"):
        prepare(tmp_path / "store", corpus(tmp_path, sentences(20)), encoding(vocabulary=252))


def test_columns_of_different_lengths_are_a_bug(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"inhomogeneous|zip"):
        encoding(lambda texts: {"source": [[1]], "target": []})({"source": ["a"], "target": ["b"]})


def test_progress_rises_to_the_end(tmp_path: Path) -> None:
    told: list[Progress] = []
    prepare(tmp_path / "store", corpus(tmp_path, sentences(100)), encoding(), progress=told.append, chunk=10)
    assert [step.rows for step in told] == list(range(10, 101, 10))
    assert told[-1].share == 1
    assert [step.share for step in told] == sorted(step.share for step in told)


def test_the_time_left_is_told_from_the_first_rows_on_whatever_was_read_before(tmp_path: Path) -> None:
    told: list[Progress] = []
    rows = corpus(tmp_path, sentences(100))
    list(rows)
    prepare(tmp_path / "store", rows, encoding(), progress=told.append, chunk=10)
    assert all(one.seconds_left is not None for one in told)
    assert told[-1].seconds_left == 0.0


def test_an_error_while_telling_progress_ends_the_workers(tmp_path: Path) -> None:
    def fail(_: Progress) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        prepare(tmp_path / "store", corpus(tmp_path, sentences(50)), encoding(), 2, fail, chunk=5)
    assert len(prepare(tmp_path / "store", corpus(tmp_path, sentences(50)), encoding(), chunk=5)) == 50


def test_two_at_once_are_refused(tmp_path: Path) -> None:
    (tmp_path / ".store.work").mkdir()
    with open(tmp_path / ".store.work" / "lock", "wb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(DataError, match=r"is being prepared by another process\. Wait until it is done"):
            prepare(tmp_path / "store", corpus(tmp_path, sentences(5)), encoding())


def test_input_that_changes_meanwhile_is_noticed(tmp_path: Path) -> None:
    given = corpus(tmp_path, sentences(30))

    def change(step: Progress) -> None:
        if step.rows == 30:
            corpus(tmp_path, sentences(31))

    with pytest.raises(DataError, match="changed while being prepared"):
        prepare(tmp_path / "store", given, encoding(), progress=change, chunk=10)
    assert not (tmp_path / "store").exists()


class CountedRows(Corpus):
    """A corpus that can break off, and an encoding that remembers what it was given."""

    def __init__(self, given: Corpus):
        super().__init__(given.settings)
        self.encoded: list[str] = []

    def encode(self, texts: dict[str, list[str]]) -> dict[str, list[list[int]]]:
        self.encoded += texts["source"]
        return characters(texts)


def interrupted(folder: Path, monkeypatch: pytest.MonkeyPatch) -> CountedRows:
    """Rows of which the first 30 were journaled and 10 more written when the work broke off."""
    monkeypatch.setattr(building, "JOURNAL_SECONDS", 0.0)
    rows = CountedRows(corpus(folder, sentences(100)))

    def stop(step: Progress) -> None:
        if step.rows == 30:
            monkeypatch.setattr(building, "JOURNAL_SECONDS", 1e9)
        if step.rows == 40:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        prepare(folder / "store", rows, encoding(rows.encode), progress=stop, chunk=10)
    rows.encoded.clear()
    return rows


def test_what_is_done_is_not_done_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = interrupted(tmp_path, monkeypatch)
    store = prepare(tmp_path / "store", rows, encoding(rows.encode), chunk=10)
    assert rows.encoded == [source for source, _ in sentences(100)[30:]]
    assert pairs_of(store) == sentences(100)
    assert store.counts.kept == 100


@pytest.mark.parametrize("spoil", ["piece", "short", "journal", "chunk", "identity"])
def test_what_cannot_be_vouched_for_is_done_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spoil: str) -> None:
    rows = interrupted(tmp_path, monkeypatch)
    folder = tmp_path / ".store.work" / "building"
    pieces = (folder / "pieces.bin").read_bytes()
    if spoil == "piece":
        (folder / "pieces.bin").write_bytes(pieces[:50] + b"\xff" + pieces[51:])
    elif spoil == "short":
        (folder / "pieces.bin").write_bytes(pieces[:100])
    elif spoil == "journal":
        (folder / "journal.json").write_bytes(b'{"identity"')
    identity, chunk = "other" if spoil == "identity" else "characters", 11 if spoil == "chunk" else 10
    store = prepare(tmp_path / "store", rows, encoding(rows.encode, identity), chunk=chunk)
    assert rows.encoded == [source for source, _ in sentences(100)]
    assert pairs_of(store) == sentences(100)


@pytest.mark.parametrize("moment", ["before the old one is put aside", "before the new one has its name"])
def test_a_kill_between_the_last_byte_and_the_final_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    rename, renamed = os.rename, []

    def failing(old: Path, new: Path) -> None:
        if len(renamed) == (0 if moment.startswith("before the old") else 1):
            raise KeyboardInterrupt
        renamed.append(new)
        rename(old, new)

    prepare(tmp_path / "store", corpus(tmp_path, sentences(5)), encoding())
    rows = CountedRows(corpus(tmp_path, sentences(20)))
    with monkeypatch.context() as patch:
        patch.setattr(os, "rename", failing)
        with pytest.raises(KeyboardInterrupt):
            prepare(tmp_path / "store", rows, encoding(rows.encode))
    rows.encoded.clear()
    assert pairs_of(prepare(tmp_path / "store", rows, encoding(rows.encode))) == sentences(20)
    assert rows.encoded == []
    assert sorted(os.listdir(tmp_path / ".store.work")) == ["inputs.json", "lock"]


def test_a_full_disk_is_named_and_what_is_done_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given, add = corpus(tmp_path, sentences(50)), building.Building.add

    def full(self: building.Building, packed: building.Packed) -> None:
        if self.chunks == 3:
            raise OSError(28, "No space left on device")
        add(self, packed)

    with monkeypatch.context() as patch:
        patch.setattr(building.Building, "add", full)
        with pytest.raises(DataError, match=r"Cannot prepare .*store: No space left on device\."):
            prepare(tmp_path / "store", given, encoding(), chunk=10)
    assert not (tmp_path / "store").exists()
    assert pairs_of(prepare(tmp_path / "store", given, encoding(), chunk=10)) == sentences(50)


def test_an_encoding_that_fails_in_a_worker_is_told(tmp_path: Path) -> None:
    failing = encoding(FailingAt(sentences(50)[33][0], "killed"))
    with pytest.raises(DataError, match="A worker process ended by signal 9"):
        prepare(tmp_path / "store", corpus(tmp_path, sentences(50)), failing, 2, chunk=5)


PROGRAM = """
import sys
from pathlib import Path
from regard.data import building, prepare
from tests.data.encoders import Slowly, corpus, encoding, sentences
if __name__ == "__main__":
    building.JOURNAL_SECONDS = 0.0
    folder = Path(sys.argv[1])
    rows = corpus(folder, sentences(400))
    tell = lambda step: print(step.rows, flush=True)
    prepare(folder / "store", rows, encoding(Slowly(0.02)), int(sys.argv[2]), tell, 10)
"""


def children(process: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


def running(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return False
    return re.sub(r".*\) ", "", state)[0] != "Z"


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="looks at processes through /proc")
@pytest.mark.parametrize("processes", [1, 2])
def test_killed_again_and_again_the_bytes_are_the_same(tmp_path: Path, processes: int) -> None:
    whole = prepare(tmp_path / "whole", corpus(tmp_path, sentences(400)), encoding(Slowly(0)))
    (tmp_path / "program.py").write_text(PROGRAM)
    command = [sys.executable, str(tmp_path / "program.py"), str(tmp_path), str(processes)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    draw, reached = random.Random(processes), 0
    for kill in [True, True, True, False]:
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
            if kill:
                first = int(process.stdout.readline())
                assert first > reached  # it goes on where it was
                reached = first
                time.sleep(draw.random() * 0.1)
                helpers = children(process.pid)
                process.send_signal(signal.SIGKILL)
            reached = max([reached, *(int(line) for line in process.stdout)])
        assert process.returncode == (-signal.SIGKILL if kill else 0)
        assert (tmp_path / "store").exists() is not kill
        deadline = time.monotonic() + 60
        while any(running(helper) for helper in helpers) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not any(running(helper) for helper in helpers)
    assert bytes_of(tmp_path / "store") == bytes_of(whole.folder)
    Store.open(tmp_path / "store", checksum)
