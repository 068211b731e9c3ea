"""Parts of a text: each line in exactly one, kept while they are the answer, joined in order."""

import json
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.api.clustering import library
from regard.api.parts import Done, Part, Work, cut
from regard.cli.spread import Job, answered, on_ray
from regard.errors import ConfigError, DataError
from regard.tasks.grouping import WINDOW
from tests.cli.toy import regard

BUNDLE = Path(__file__).parents[1] / "golden" / "bundle-1"


def backwards(part: Part) -> Done:
    return Done(b"".join(line[::-1] + b"\n" for line in part.lines), {"first": part.first})


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "in.txt"
    path.write_bytes(b"".join(b"line %d\n" % number for number in range(1, 11)))
    return path


@settings(max_examples=30)
@given(st.lists(st.binary(max_size=4).filter(lambda line: b"\n" not in line and b"\r" not in line)), st.integers(1, 5))
def test_every_line_is_in_one_part_and_comes_out_once_in_order(lines: list[bytes], size: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path, out = Path(folder, "in.txt"), Path(folder, "out.txt")
        path.write_bytes(b"x\n" + b"".join(line + b"\n" for line in lines))
        parts, work = list(cut(path, "in.txt", size)), Work(out, "job")
        for part in reversed(parts):
            work.keep(part, backwards(part))
        told = list(work.join(0, len(parts), out))
        assert out.read_bytes() == b"".join(line[::-1] + b"\n" for line in [b"x", *lines])
        assert [one["first"] for one in told] == [part.first for part in parts] == [*range(1, len(lines) + 2, size)]
        work.close()
        assert not work.folder.exists()


def test_a_part_is_kept_until_its_job_or_a_line_of_it_changes(text: Path, tmp_path: Path) -> None:
    work = Work(tmp_path / "out.txt", "job")
    for part in cut(text, "in.txt", 4):
        work.keep(part, backwards(part))
    assert [work.kept(part) for part in cut(text, "in.txt", 4)] == [backwards(part) for part in cut(text, "in.txt", 4)]
    text.write_bytes(text.read_bytes().replace(b"line 6", b"line six"))
    assert [work.kept(part) is None for part in cut(text, "in.txt", 4)] == [False, True, False]
    assert [work.kept(part) is None for part in cut(text, "in.txt", 3)] == [True] * 4
    work.claim.release()
    assert all(Work(tmp_path / "out.txt", "another").kept(part) is None for part in cut(text, "in.txt", 4))


def test_a_part_that_is_not_byte_for_byte_what_it_was_is_made_again(text: Path, tmp_path: Path) -> None:
    work = Work(tmp_path / "out.txt", "job")
    [part] = cut(text, "in.txt", 10)
    work.keep(part, backwards(part))
    [path] = work.folder.iterdir()
    whole = path.read_bytes()
    for damaged in (b"", whole[:-1], whole + b"\n", whole.replace(b"01 enil", b"02 enil"), b"[" * 10**5, b"null\n"):
        path.write_bytes(damaged)
        assert work.kept(part) is None
        with pytest.raises(DataError, match="changed or removed"):
            list(work.join(0, 1, tmp_path / "out.txt"))
    assert not (tmp_path / "out.txt").exists()


def test_nobody_works_on_an_output_someone_else_is_making(tmp_path: Path) -> None:
    work = Work(tmp_path / "out.txt", "job")
    with pytest.raises(DataError, match="in use by another process"):
        Work(tmp_path / "out.txt", "job")
    work.claim.release()
    Work(tmp_path / "out.txt", "job")


def test_too_few_lines_are_never_kept(text: Path, tmp_path: Path) -> None:
    work = Work(tmp_path / "out.txt", "job")
    with pytest.raises(AssertionError):
        work.keep(next(cut(text, "in.txt", 4)), Done(b"a\nb\nc\n", {}))


@pytest.mark.parametrize(("options", "size"), [([], 2), (["--json"], WINDOW)], ids=["texts", "scores too"])
def test_parts_are_answered_as_the_whole_is(options: list[str], size: int, tmp_path: Path) -> None:
    # Scores are the same to the last bit where the batches are, and those go by windows.
    path, out = tmp_path / "in.txt", tmp_path / "out.txt"
    path.write_bytes(b"a dog\n\n\xff\ntwo dogs run\na dog runs fast")
    plain = regard("predict", BUNDLE, path, *options)
    job = Job([str(BUNDLE)], [], [], "torch", "", bool(options), False)
    work = Work(out, job.identity())
    parts = list(cut(path, str(path), size))
    for part in parts:
        output, _ = answered(job.text(), part.name, part.first, part.lines)
        work.keep(part, Done(output, {}))
    list(work.join(0, len(parts), out))
    assert out.read_bytes() == plain.stdout_bytes
    assert out.read_bytes().count(b"\n") == 5


def test_a_machine_with_another_model_answers_nothing(tmp_path: Path) -> None:
    job = Job([str(BUNDLE)], [], [], "torch", "", False, False)
    told, identity = json.loads(job.text())
    with pytest.raises(DataError, match="Every machine needs the same"):
        answered(json.dumps([told, identity.replace("torch", "tensors")]), "in.txt", 1, [b"a dog"])


def test_what_cannot_be_spread_is_refused_in_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job = Job([str(BUNDLE)], [], [], "torch", "", False, False)
    (tmp_path / "texts").mkdir()
    for given_, out, told in (
        (tmp_path / "texts", None, "--out"),
        (tmp_path / "texts", tmp_path / "texts" / "out", "lies in the folder"),
        (tmp_path / "texts", tmp_path / "out", "holds no file"),
        (tmp_path / "in.txt", tmp_path / "texts", "is no file"),
        (tmp_path / "texts", BUNDLE / "recipe.toml", "is a file"),
        (tmp_path / "in.txt", tmp_path / "missing" / "out", "Cannot make the folder"),
        (tmp_path / "in.txt", tmp_path / "out", "No file"),
    ):
        with pytest.raises((ConfigError, DataError), match=told):
            on_ray(job, str(given_), out)
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ConfigError, match=r"pip install 'regard\[ray\]'"):
        library()
