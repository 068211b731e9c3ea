"""Disks that are full, read-only or broken: what was saved stays, the cause is named, no half has a whole's name.

The full form: `pytest -m slow tests/faults/test_disks.py`. Mounting needs root; without it the limit on a file's size
stands in for the full disk, and the rest is skipped.
"""

import os
import resource
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch

from regard import bundle
from regard.errors import DataError
from regard.files import lines, write_atomically
from regard.train import Checkpoint, checkpoints
from tests.faults.counted import refusal, tries

GOLDEN = Path(__file__).parents[1] / "golden" / "bundle-1"
PAGE = 4096
WHOLE = 40 * PAGE


def mounted(place: Path, *options: str) -> bool:
    place.mkdir(exist_ok=True)
    call = ["mount", "-t", "tmpfs", "-o", ",".join(options), "tmpfs", str(place)]
    return subprocess.run(call, capture_output=True, check=False).returncode == 0


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of its own, small enough to be filled."""
    if os.geteuid() != 0 or not mounted(tmp_path / "disk", "size=1m"):
        pytest.skip("mounting needs root")
    yield tmp_path / "disk"
    subprocess.run(["umount", "-l", str(tmp_path / "disk")], check=True)


@contextmanager
def no_file_above(size: int) -> Iterator[None]:
    """Inside, writing past so many bytes of a file fails."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)


def free(place: Path) -> int:
    status = os.statvfs(place)
    return status.f_bavail * status.f_frsize


@contextmanager
def filled(disk: Path, left: int) -> Iterator[None]:
    """Inside, so many bytes of a disk are free."""
    with open(disk / "ballast", "wb") as ballast:
        os.posix_fallocate(ballast.fileno(), 0, max(free(disk) - left, 1))
    try:
        yield
    finally:
        os.unlink(disk / "ballast")


def checkpoint(update: int) -> Checkpoint:
    groups = ("parameters", "optimizer", "random")
    return Checkpoint(update, {name: {"a": torch.full((WHOLE // 16,), update)} for name in groups}, {"update": update})


def stored(update: int) -> bundle.Bundle:
    whole = bundle.load(GOLDEN)
    return bundle.Bundle(
        whole.recipe, {"a": torch.full((WHOLE // 4,), update)}, whole.files, whole.scores, whole.golden, {"of": update}
    )


def save_checkpoint(place: Path, update: int) -> None:
    checkpoints.save(place / "checkpoints", checkpoint(update))


def save_bundle(place: Path, update: int) -> None:
    bundle.save(place / "bundle", stored(update))


def newest_checkpoint(place: Path) -> int:
    found, troubles = checkpoints.newest(place / "checkpoints")
    assert troubles == []
    assert found is not None
    return found.update


def newest_bundle(place: Path) -> int:
    return int(bundle.load(place / "bundle").facts["of"])


SAVES = {"checkpoint": (save_checkpoint, newest_checkpoint), "bundle": (save_bundle, newest_bundle)}
every_save = pytest.mark.parametrize(("save", "newest"), SAVES.values(), ids=SAVES)
Save, Newest = Callable[[Path, int], None], Callable[[Path], int]


def leftovers(place: Path) -> list[str]:
    return [name for _, folders, files in os.walk(place) for name in (*folders, *files) if name.endswith(".part")]


@every_save
@tries(5, 20)
def test_a_disk_that_is_full_at_any_byte_of_a_save(count: int, save: Save, newest: Newest, disk: Path) -> None:
    save(disk, 1)
    room = free(disk)
    save(disk, 2)
    needed = max(room - free(disk), PAGE)
    for number in range(count):
        with filled(disk, left=number * needed // count):
            told = refusal(lambda: save(disk, 3))
        assert "No space left on device" in told, (number, told)
        assert "untouched" in told, told
        assert newest(disk) == 2
        assert leftovers(disk) == []
    save(disk, 3)
    assert newest(disk) == 3


@every_save
@tries(5, 20)
def test_a_file_that_cannot_grow_at_any_byte_of_a_save(count: int, save: Save, newest: Newest, tmp_path: Path) -> None:
    save(tmp_path, 1)
    for number in range(count):
        with no_file_above(number * WHOLE // count // 4):
            told = refusal(lambda: save(tmp_path, 2))
        assert "File too large" in told, (number, told)
        assert newest(tmp_path) == 1
        assert leftovers(tmp_path) == []


@every_save
def test_a_disk_that_has_become_read_only(save: Save, newest: Newest, disk: Path) -> None:
    save(disk, 1)
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    told = refusal(lambda: save(disk, 2))
    assert "Read-only file system" in told
    assert newest(disk) == 1


@every_save
def test_a_disk_without_room_for_another_name(save: Save, newest: Newest, tmp_path: Path) -> None:
    if os.geteuid() != 0 or not mounted(tmp_path / "disk", "size=1m,nr_inodes=14"):
        pytest.skip("mounting needs root")
    disk = tmp_path / "disk"
    try:
        save(disk, 1)
        taken = 0
        while not refusal(lambda: save(disk, 2)):
            (disk / f"name-{taken}").touch()
            taken += 1
        assert "No space left on device" in refusal(lambda: save(disk, 3))
        assert newest(disk) in (1, 2)
        assert leftovers(disk) == []
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


def test_what_a_device_says_is_told_and_the_device_stays() -> None:
    def written(path: str) -> None:
        with write_atomically(path) as file:
            file.write(b"text\n")

    assert refusal(lambda: written("/dev/full")) == "Cannot write /dev/full: No space left on device."
    assert refusal(lambda: written("/dev/null")) == ""
    assert all(Path(device).is_char_device() for device in ("/dev/full", "/dev/null"))


def test_a_pipe_nobody_reads_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(DataError, match="pipe"), write_atomically(tmp_path / "pipe"):
        pass


def test_a_disk_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    """The system answers any reading of this file's first bytes with an input/output error."""
    (tmp_path / "broken.txt").symlink_to("/proc/self/mem")
    with pytest.raises(DataError, match=r"broken\.txt line 1: Input/output error"):
        next(lines(tmp_path / "broken.txt"))
