"""Lines as they stand, and files that appear whole or not at all."""

import errno
import gzip
import io
import os
import signal
import subprocess
import sys
import zlib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from regard import files
from regard.errors import DataError
from regard.files import Line, Meter, byte_lines, checksum, count_lines, fingerprint, lines, write_atomically

# None of these ends a line, though `str.splitlines` thinks so.
NO_LINE_END = "\x00\x0b\x0c\x1c\x1d\x1e\x7f\x85\u2028\u2029\r\ufeff\U0010ffff"


def written(folder: Path, content: bytes, name: str = "text") -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


def texts(path: Path) -> list[str]:
    return [line.text for line in lines(path)]


def test_lines_are_numbered_from_one(tmp_path: Path) -> None:
    assert list(lines(written(tmp_path, b"a\nb\n"))) == [Line(1, "a"), Line(2, "b")]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", []),
        (b"\n", [""]),
        (b"a", ["a"]),
        (b"a\n\n", ["a", ""]),
        (b"a\nb", ["a", "b"]),
        (b"a\r\nb\r\n", ["a", "b"]),
        (b"a\r\r\nb\rc\n", ["a\r", "b\rc"]),
        (b"a\r", ["a\r"]),
        (b"\r\n", [""]),
        (b"\xef\xbb\xbf", []),
        (b"\xef\xbb\xbf\n", [""]),
        (b"\xef\xbb\xbfa\n\xef\xbb\xbfb\n", ["a", "\ufeffb"]),
        (f"a{NO_LINE_END}b\n".encode(), [f"a{NO_LINE_END}b"]),
        (b"x" * 10_000 + b"\ny\n", ["x" * 10_000, "y"]),
    ],
)
def test_a_line_ends_at_newline_only(tmp_path: Path, content: bytes, expected: list[str]) -> None:
    plain, packed = written(tmp_path, content, "a.txt"), written(tmp_path, gzip.compress(content), "b.txt")
    assert texts(plain) == texts(packed) == expected
    assert count_lines(plain) == count_lines(packed) == len(expected)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n"))))
@example(list(NO_LINE_END))
def test_what_is_written_is_read(tmp_path: Path, texts_in: list[str]) -> None:
    path = written(tmp_path, "".join(f"{text}\n" for text in ["first", *texts_in]).encode())
    # One "\r" at the end of a line belongs to the line end; that is the rule.
    assert texts(path) == ["first", *(text.removesuffix("\r") for text in texts_in)]
    assert count_lines(path) == len(texts_in) + 1


def test_gzip_is_known_by_its_bytes_not_its_name(tmp_path: Path) -> None:
    assert texts(written(tmp_path, b"plain\n", "misnamed.gz")) == ["plain"]
    two_members = gzip.compress(b"a\nb") + gzip.compress(b"c\n")
    assert texts(written(tmp_path, two_members, "packed.txt")) == ["a", "bc"]


def test_bytes_that_are_not_text_are_named(tmp_path: Path) -> None:
    path = written(tmp_path, b"good\nb\xe4d\n")
    with pytest.raises(DataError, match=rf"{path} line 2: byte 0xe4 at byte 2 is not UTF-8\. Save the file as UTF-8\."):
        list(lines(path))


def test_a_utf_16_file_is_recognized(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"line 1: .* looks like UTF-16"):
        list(lines(written(tmp_path, "text\n".encode("utf-16"))))


@pytest.mark.parametrize("kept", [3, 10, 11, 60, 0.5, -1, -4, -8])
def test_gzip_cut_off_anywhere_is_noticed(tmp_path: Path, kept: float) -> None:
    packed = gzip.compress("".join(f"line {number} {number**7}\n" for number in range(5000)).encode())
    path = written(tmp_path, packed[: int(len(packed) * kept) if kept == 0.5 else int(kept)])
    with pytest.raises(DataError, match=r"line \d+: the gzip data end too early"):
        list(lines(path))
    with pytest.raises(DataError, match="the gzip data end too early"):
        count_lines(path)


@pytest.mark.parametrize("kept", [0.1, 0.5, 0.999])
def test_what_stands_before_the_end_of_cut_off_gzip_is_read(tmp_path: Path, kept: float) -> None:
    content = "".join(f"line {number} {number**7}\n" for number in range(20_000)).encode()
    packed = gzip.compress(content)
    packed = packed[: int(len(packed) * kept)]
    whole = zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(packed).count(b"\n")
    path = written(tmp_path, packed)
    read = []

    def reading() -> None:
        for line in lines(path):
            read.append(line.text)

    with pytest.raises(DataError, match=rf"line {whole + 1}: the gzip data end too early"):
        reading()
    assert read == content.decode().split("\n")[:whole]
    with pytest.raises(DataError, match=rf"line {whole + 1}: the gzip data end too early"):
        count_lines(path)


def test_damaged_gzip_is_noticed(tmp_path: Path) -> None:
    packed = bytearray(gzip.compress(os.urandom(5000)))
    packed[2000] ^= 1
    with pytest.raises(DataError, match=r"damaged gzip data|end too early|not UTF-8"):
        list(lines(written(tmp_path, bytes(packed))))
    with pytest.raises(DataError, match="damaged gzip data"):
        count_lines(written(tmp_path, bytes(packed)))


def test_an_endless_line_does_not_fill_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "LONGEST_LINE", 2**20)
    path = written(tmp_path, b"a\n" + gzip.compress(b""))  # not gzip: it does not begin like it
    assert len(list(byte_lines(path))) == 2
    with pytest.raises(DataError, match=r"line 1: longer than 1 MiB\. Is this a text file\?"):
        list(lines(written(tmp_path, gzip.compress(bytes(2**20 + 1)))))


def test_a_missing_file_offers_the_nearest_name(tmp_path: Path) -> None:
    written(tmp_path, b"", "train.de")
    with pytest.raises(DataError, match=rf"No file {tmp_path}/trian.de\. Did you mean 'train.de'\?"):
        next(lines(tmp_path / "trian.de"))


def test_a_missing_folder_is_said_to_be_missing(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    missing = tmp_path / "dta" / "deep" / "train.de"
    with pytest.raises(DataError, match=rf"\({tmp_path}/dta is not a folder\)\. Did you mean 'data'\?"):
        next(lines(missing))


def test_a_file_used_as_a_folder(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"No file .*text/x \(.*text is not a folder\)"):
        next(lines(written(tmp_path, b"") / "x"))


def test_what_is_no_file_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    os.symlink(tmp_path / "round", tmp_path / "round")
    for path, sentence in [
        (tmp_path, "is a folder, not a file"),
        (tmp_path / "pipe", "is a pipe or device, not a file"),
        (Path("/dev/zero"), "is a pipe or device, not a file"),
        (tmp_path / "round", "Cannot read .*round: Too many levels of symbolic links"),
        (tmp_path / ("x" * 300), "Cannot read .*: File name too long"),
        (Path("nul\0byte"), r"Cannot read 'nul\\x00byte': .*null"),
    ]:
        for use in (lambda path: list(lines(path)), count_lines, checksum):
            with pytest.raises(DataError, match=sentence):
                use(path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_one_may_not_read(tmp_path: Path) -> None:
    path = written(tmp_path, b"")
    path.chmod(0)
    with pytest.raises(DataError, match=r"Cannot read .*: Permission denied"):
        next(lines(path))


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_standard_input(monkeypatch: pytest.MonkeyPatch, pack: type[bytes]) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(pack(b"a\nb"))))
    assert [line.text for line in lines("-")] == ["a", "b"]


def test_a_line_typed_at_standard_input_is_read_before_the_next() -> None:
    code = "from regard.files import lines\nfor line in lines('-'): print(line.text, flush=True)"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        for word in (b"one\n", b"two\n"):
            process.stdin.write(word)
            process.stdin.flush()
            assert process.stdout.readline() == word


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_meter_counts_what_is_read_from_disk(tmp_path: Path, pack: type[bytes]) -> None:
    path = written(tmp_path, pack(b"".join(os.urandom(200).hex().encode() + b"\n" for _ in range(4000))))
    meter = Meter(path.stat().st_size)
    reading = lines(path, meter)
    for _ in range(2000):
        next(reading)
    assert 0.4 < meter.share < 0.9
    assert len(list(reading)) == 2000
    assert meter.read == meter.total
    assert meter.share == 1


def interrupted_writing(path: Path, error: BaseException) -> None:
    with write_atomically(path) as file:
        file.write(b"new, but not")
        assert not path.exists() or path.read_bytes() == b"old"
        raise error


def test_writing_replaces_all_or_nothing(tmp_path: Path) -> None:
    path = written(tmp_path, b"old")
    with pytest.raises(KeyboardInterrupt):
        interrupted_writing(path, KeyboardInterrupt())
    assert path.read_bytes() == b"old"
    with write_atomically(path) as file:
        file.write(b"new")
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["text"]


def test_writing_through_a_link_keeps_the_link(tmp_path: Path) -> None:
    target = written(tmp_path, b"old", "target")
    (tmp_path / "link").symlink_to(target)
    with write_atomically(tmp_path / "link") as file:
        file.write(b"new")
    assert target.read_bytes() == b"new"
    assert (tmp_path / "link").is_symlink()


def test_permissions_are_those_of_a_new_file(tmp_path: Path) -> None:
    with write_atomically(tmp_path / "ours") as file:
        file.write(b"")
    written(tmp_path, b"", "theirs")
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "theirs").stat().st_mode


def test_what_keeps_from_writing_is_named(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(DataError, match=r"Cannot write .*x: No such file or directory\."):
        write_atomically(tmp_path / "nowhere" / "x").__enter__()
    with (
        pytest.raises(DataError, match=r"Cannot write .*folder: Is a directory\."),
        write_atomically(tmp_path / "folder"),
    ):
        pass
    with pytest.raises(DataError, match=r"Cannot write .*full: No space left on device\."):
        interrupted_writing(tmp_path / "full", OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
    assert os.listdir(tmp_path) == ["folder"]


def test_an_error_about_another_file_passes(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="other"):
        interrupted_writing(tmp_path / "x", FileNotFoundError(errno.ENOENT, "not there", "other"))


def test_a_kill_while_writing_leaves_the_old_file(tmp_path: Path) -> None:
    path = written(tmp_path, b"old")
    code = (
        "import sys\nfrom regard.files import write_atomically\n"
        "with write_atomically(sys.argv[1]) as file:\n"
        "    file.write(b'x' * 10**6); file.flush(); print('half', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", code, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"half\n"
        process.send_signal(signal.SIGKILL)
    assert path.read_bytes() == b"old"


def test_checksum_is_sha256(tmp_path: Path) -> None:
    assert checksum(written(tmp_path, b"abc")) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


def test_a_fingerprint_is_of_contents_in_order(tmp_path: Path) -> None:
    one, two, copy = (written(tmp_path, text, name) for text, name in [(b"1", "one"), (b"2", "two"), (b"1", "copy")])
    assert fingerprint([one, two]) == fingerprint([copy, two]) != fingerprint([two, one])
    assert fingerprint([one]) != fingerprint([one, one]) != fingerprint([])
