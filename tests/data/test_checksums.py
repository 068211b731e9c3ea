"""Checksums are computed again when, and only when, a file may have changed."""

import os
import time
from pathlib import Path

import pytest

from regard.data import checksums
from regard.data.checksums import Checksums
from regard.errors import DataError
from regard.files import checksum


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that were read, as they are."""
    read = []
    monkeypatch.setattr(checksums, "checksum", lambda path: read.append(Path(path).name) or checksum(path))
    return read


def test_a_file_at_rest_is_read_once(tmp_path: Path, counted: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checksums, "SETTLED_NANOSECONDS", 0)
    path = tmp_path / "x"
    path.write_bytes(b"abc")
    time.sleep(0.02)
    first = Checksums(tmp_path / "memory" / "inputs.json")
    assert first(path) == first(path) == checksum(path)
    first.save()
    assert Checksums(tmp_path / "memory" / "inputs.json")(path) == checksum(path)
    assert counted == ["x"]


def test_a_changed_file_is_read_again(tmp_path: Path, counted: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checksums, "SETTLED_NANOSECONDS", 0)
    path = tmp_path / "x"
    path.write_bytes(b"abc")
    times = path.stat().st_mtime_ns
    summing = Checksums(tmp_path / "inputs.json")
    summing(path)
    time.sleep(0.02)
    path.write_bytes(b"abd")
    os.utime(path, ns=(times, times))  # same size, same time: the change of the inode still tells
    assert summing(path) == checksum(path)
    assert counted == ["x", "x"]


def test_a_file_just_written_is_not_trusted(tmp_path: Path, counted: list[str]) -> None:
    summing = Checksums(tmp_path / "inputs.json")
    (tmp_path / "x").write_bytes(b"abc")
    summing(tmp_path / "x")
    summing(tmp_path / "x")
    assert counted == ["x", "x"]


@pytest.mark.parametrize("memory", [b"", b"{", b"[1]", b'{"x": 1}', b"\xff", b"[" * 100_000])
def test_a_spoiled_memory_is_forgotten(tmp_path: Path, memory: bytes) -> None:
    (tmp_path / "inputs.json").write_bytes(memory)
    (tmp_path / "x").write_bytes(b"abc")
    assert Checksums(tmp_path / "inputs.json")(tmp_path / "x") == checksum(tmp_path / "x")


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="No file"):
        Checksums(tmp_path / "inputs.json")(tmp_path / "x")
