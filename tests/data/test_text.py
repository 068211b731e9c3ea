"""Plain text by lines, documents and files."""

import gzip
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from regard.data import Corpus, CorpusSettings, Row, rows
from regard.errors import DataError

DATA = Path("/work/shared/data")
TEXT = "one\ntwo\n\n \nthree\n"


def corpus(path: Path, policy: str = "stop", **options) -> Corpus:
    return Corpus(CorpusSettings(path=str(path), **options), policy)


def texts(given: Corpus) -> list[str]:
    return [row.fields["text"] for row in given]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "input.txt").write_text(TEXT)
    return tmp_path / "input.txt"


def test_a_row_is_a_line_a_document_or_a_file(path: Path) -> None:
    assert texts(corpus(path, blank="keep")) == ["one", "two", "", " ", "three"]
    assert list(corpus(path, unit="document")) == [
        Row(f"{path} line 1", {"text": "one\ntwo"}),
        Row(f"{path} line 5", {"text": "three"}),
    ]
    assert list(corpus(path, unit="file")) == [Row(str(path), {"text": TEXT})]


@pytest.mark.parametrize("unit", ["line", "document", "file"])
@pytest.mark.parametrize(
    "change",
    [gzip.compress, lambda raw: raw.replace(b"\n", b"\r\n"), lambda raw: b"\xef\xbb\xbf" + raw],
    ids=["gzip", "windows", "marked"],
)
def test_packed_and_windows_files_read_the_same(path: Path, unit: str, change) -> None:
    before = texts(corpus(path, unit=unit, blank="keep"))
    path.write_bytes(change(TEXT.encode()))
    assert texts(corpus(path, unit=unit, blank="keep")) == before


def test_a_blank_line_is_a_bad_line_unless_it_is_kept(path: Path) -> None:
    with pytest.raises(DataError, match=r"input\.txt line 3: text is empty"):
        list(corpus(path))
    given = corpus(path, "skip")
    assert texts(given) == ["one", "two", "three"]
    assert given.counts.left_out["empty"].count == 2


def test_documents_may_be_separated_by_a_line_of_ones_own(path: Path) -> None:
    path.write_text("<end>\na\n\nb\n<end>\n<end>\n \n<end>\nc <end>\n<end>\n")
    given = corpus(path, "skip", unit="document", separator="<end>")
    assert texts(given) == ["a\n\nb", "c <end>"]
    assert given.counts.left_out["empty"].places == [f"{path} line 7"]


def test_one_named_file_may_be_plain_text(path: Path) -> None:
    (row,) = Corpus(CorpusSettings(files={"document": str(path)}, unit="file"))
    assert row.fields == {"document": TEXT}


def test_files_of_a_pattern_are_rows(path: Path) -> None:
    (path.parent / "a.txt").write_text("first")
    assert texts(corpus(path.parent / "*.txt", unit="file")) == ["first", TEXT]


@pytest.mark.parametrize(("unit", "left"), [("line", ["a", "c"]), ("document", ["c"]), ("file", [])])
def test_a_byte_that_is_no_text_is_named_by_its_line(path: Path, unit: str, left: list[str]) -> None:
    path.write_bytes(b"a\nb\xff\n\nc\n" if unit != "line" else b"a\nb\xff\nc\n")
    with pytest.raises(DataError, match=r"input\.txt line 2: byte 0xff at byte 2 is not UTF-8"):
        list(corpus(path, unit=unit))
    given = corpus(path, "skip", unit=unit)
    assert texts(given) == left
    assert given.counts.left_out["encoding"].places == [f"{path} line 2"]


def test_an_empty_file_is_named(path: Path) -> None:
    path.write_bytes(b"")
    with pytest.raises(DataError, match=r"input\.txt: text is empty"):
        list(corpus(path, unit="file"))
    assert texts(corpus(path, unit="document")) == texts(corpus(path)) == []


@pytest.mark.parametrize(
    ("raw", "sentence"),
    [
        (gzip.compress(b"x" * 9999, mtime=0)[:-9], "end too early"),
        (gzip.compress(b"x", mtime=0)[:-8] + b"y" * 8, "damaged gzip"),
    ],
)
def test_a_damaged_file_stops_even_when_skipping(path: Path, raw: bytes, sentence: str) -> None:
    path.write_bytes(raw)
    with pytest.raises(DataError, match=sentence):
        list(corpus(path, "skip", unit="file"))


def test_a_file_too_large_for_one_row_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "LARGEST", len(TEXT))
    assert texts(corpus(path, unit="file")) == [TEXT]
    monkeypatch.setattr(rows, "LARGEST", len(TEXT) - 1)
    with pytest.raises(DataError, match="too much for one row"):
        list(corpus(path, unit="file"))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r"), min_size=1))
def test_units_lose_nothing(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.txt"
    path.write_bytes(b"." + text.encode())
    (whole,) = texts(corpus(path, unit="file"))
    assert whole == f".{text}"
    assert "\n".join(texts(corpus(path, blank="keep"))) == whole.removesuffix("\n")
    documents = texts(corpus(path, "skip", unit="document"))
    assert "".join("".join(documents).split()) in "".join(whole.split())


@pytest.mark.skipif(not DATA.exists(), reason="the corpora are not here")
def test_shakespeare_is_one_text_cut_where_others_cut_it() -> None:
    path = DATA / "shakespeare" / "input.txt"
    (whole,) = texts(corpus(path, unit="file"))
    (train,) = texts(corpus(path, unit="file", share=(0.0, 0.9)))
    (valid,) = texts(corpus(path, unit="file", share=(0.9, 1.0)))
    assert (len(whole), len(train), len(valid)) == (1115394, 1003854, 111540)
    assert train + valid == whole


@pytest.mark.skipif(not DATA.exists(), reason="the corpora are not here")
def test_wikitext_has_as_many_lines_as_is_told() -> None:
    given = corpus(DATA / "wikitext2" / "valid.txt", blank="keep")
    words = sum(len(text.split()) for text in texts(given))
    assert given.counts.kept == 3760
    assert sum(len(text.split()) for text in texts(corpus(DATA / "wikitext2" / "valid.txt", unit="document"))) == words


@pytest.mark.skipif(not DATA.exists(), reason="the corpora are not here")
def test_samsum_has_as_many_dialogues_as_is_told() -> None:
    columns = {"source": "dialogue", "target": "summary"}
    given = corpus(DATA / "samsum" / "validation.jsonl", "skip", columns=columns)
    assert sum(1 for _ in given) == 818
