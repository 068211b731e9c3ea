"""Corpora as settings, and as rows with counts and a fingerprint."""

from pathlib import Path

import pytest

from regard.data import Corpus, CorpusSettings, Row, Share
from regard.data.plain import UNITS
from regard.errors import ConfigError, DataError
from tests.data.encoders import corpus, sentences


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({}, "give either files, one for each field, or a path with columns"),
        ({"files": {"text": "a"}, "path": "a.tsv"}, "give either files"),
        ({"path": "a.tsv"}, "columns say where in path each field stands"),
        ({"files": {"text": "a"}, "columns": {"text": 1}}, "columns say where in path"),
        ({"path": "a.dat", "columns": {"text": 1}}, "cannot tell the format of 'a.dat' by its name"),
        ({"path": "a.dat", "columns": {"text": 1}, "format": "tsvv"}, "Unknown format 'tsvv'. Did you mean 'tsv'?"),
        ({"path": "a.tsv", "columns": {"text": 1}, "format": "parallel"}, "'parallel' does not go with path"),
        ({"files": {"text": "a"}, "format": "tsv"}, "'tsv' does not go with files"),
        ({"path": "a.tsv", "columns": {"text": 0}}, "columns.text = 0: columns are numbered from 1"),
        ({"path": "a.jsonl", "columns": {"text": 1}}, "columns.text = 1: JSON lines have keys, not numbers"),
        ({"path": "a.csv", "columns": {"text": "t"}, "header": False}, "columns are named, but header = false"),
        ({"files": {"text": "a"}, "weight": 0}, "weight = 0: "),
        ({"files": {"text": "a"}, "weight": float("inf")}, "weight = inf: "),
        ({"files": {"text": "a"}, "languages": {"txt": "de"}}, "languages names ['txt'], but the fields are ['text']"),
        ({"files": {"text": "a"}, "languages": {"text": "d e"}}, "languages.text = 'd e'"),
        ({"path": "a.txt", "columns": {"text": 1, "tags": 4}}, "cannot tell the format of 'a.txt'"),
        ({"path": "a.conll", "columns": {"text": "word"}}, "columns.text = word: the columns of a CoNLL file"),
        ({"path": "a.conll"}, "columns say where in path each field stands"),
        ({"path": "a", "format": "squad", "columns": {"passage": "contxt"}}, "Unknown column 'contxt'. Did you mean"),
        ({"path": "a.txt", "columns": {"text": 2}}, "columns.text = 2: a file of plain text has no columns"),
        ({"path": "a.tsv", "columns": {"text": 1}, "unit": "file"}, "unit and separator are for plain text"),
        ({"path": "a.txt", "separator": "***"}, "set unit = 'document'"),
        ({"path": "a.txt", "comments": "#"}, "comments are for format = 'conll', not 'text'"),
        ({"files": {"a": "a", "b": "b"}, "unit": "file"}, "format = 'text' does not go with several files"),
        ({"share": [0.5, 0.5]}, "share = [0.5, 0.5]: the second number has to be larger"),
        ({"share": [0.5, 1.5]}, "share.1 = 1.5: "),
        ({"share": [0, 1], "columns": {"text": 1}}, "columns and format need a path"),
        ({"files": {"text": "a"}, "by": "text"}, "there is no share"),
        ({"files": {"text": "a"}, "share": [0, 1], "by": "txt"}, "by = 'txt': the fields are text"),
        ({"path": "a.txt", "unit": "file", "share": [0, 1], "by": "text"}, "shared by position"),
        ({"path": "a", "format": "squad", "share": [0, 1], "by": "titel"}, "by = 'titel': Unknown column 'titel'."),
        ({"files": {"text": "a"}, "wieght": 2}, "Unknown setting 'wieght'. Did you mean 'weight'?"),
    ],
)
def test_settings_that_cannot_be_are_refused(values: dict, sentence: str) -> None:
    with pytest.raises(ConfigError) as caught:
        CorpusSettings.read(values)
    assert sentence in str(caught.value)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("a.tsv", "tsv"),
        ("A.TSV.GZ", "tsv"),
        ("x.tab", "tsv"),
        ("a.csv.gz", "csv"),
        ("a.b.jsonl", "jsonl"),
        ("n.ndjson", "jsonl"),
        ("input.txt.gz", "text"),
    ],
)
def test_the_name_tells_the_format(name: str, kind: str) -> None:
    assert CorpusSettings(path=name, columns={"text": "text"}).kind == kind


def test_plain_text_and_squad_need_no_columns() -> None:
    assert CorpusSettings(path="input.txt").fields == ("text",)
    assert CorpusSettings(files={"document": "input"}, unit="file").fields == ("document",)
    assert CorpusSettings(path="dev.json", format="squad").fields == ("question", "passage", "answers")


def test_settings_survive_being_written_down() -> None:
    for given in (
        CorpusSettings(share=(0.0, 0.05), by="title"),
        CorpusSettings(path="a/*.txt", unit="document", separator="***", share=(0.0, 0.5)),
        CorpusSettings(path="a.tsv", columns={"text": 1}, share=(0.0, 0.5), by=[3, 1]),
    ):
        assert CorpusSettings.read(given.plain()) == given


def test_a_pattern_stands_for_its_files_in_the_order_of_their_names(tmp_path: Path) -> None:
    for name in ("b.tsv", "a.tsv", "c.csv"):
        (tmp_path / name).write_text(f"{name}\n")
    given = Corpus(CorpusSettings(path="*.tsv", columns={"text": 1}), root=tmp_path)
    assert list(given) == [Row(f"{tmp_path}/{name} line 1", {"text": name}) for name in ("a.tsv", "b.tsv")]
    assert given.meter.share == 1
    before = given.fingerprint()
    (tmp_path / "d.tsv").write_text("more\n")
    assert given.fingerprint() != before
    with pytest.raises(DataError, match=r"No file is like .*\*\.jsonl"):
        list(Corpus(CorpusSettings(path="*.jsonl", columns={"text": "text"}), root=tmp_path))


def test_names_ask_for_a_header_and_numbers_do_not() -> None:
    assert CorpusSettings(path="a.tsv", columns={"text": "sentence"}).headed
    assert not CorpusSettings(path="a.tsv", columns={"text": 1}).headed
    assert CorpusSettings(path="a.tsv", columns={"text": 1}, header=True).headed


def test_a_corpus_can_be_read_again_and_again(tmp_path: Path) -> None:
    pairs = sentences(20)
    given = corpus(tmp_path, [*pairs, pairs[0]], cleaning=["duplicates"])
    for _ in range(2):
        assert [(row.fields["source"], row.fields["target"]) for row in given] == pairs
        assert given.counts.kept == 20
        assert given.counts.read == 21
        assert given.counts.left_out["duplicates"].places == [f"{tmp_path}/train.en line 21"]
        assert given.meter.share == 1


def test_paths_are_taken_from_the_root(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_bytes(b"x\n")
    given = Corpus(CorpusSettings(path="a.tsv", columns={"text": 1}), root=tmp_path)
    assert list(given) == [Row(f"{tmp_path}/a.tsv line 1", {"text": "x"})]
    assert str(given) == f"{tmp_path}/a.tsv"


def test_a_missing_file_is_told_before_the_first_row(tmp_path: Path) -> None:
    (tmp_path / "train.en").write_bytes(b"x\n")
    files = {"source": str(tmp_path / "train.en"), "target": str(tmp_path / "train.dee")}
    with pytest.raises(DataError, match="No file"):
        next(iter(Corpus(CorpusSettings(files=files))))


def test_the_fingerprint_is_of_what_the_rows_depend_on(tmp_path: Path) -> None:
    (tmp_path / "moved").mkdir()
    given = corpus(tmp_path, sentences(3))
    settings = given.settings
    moved = corpus(tmp_path / "moved", sentences(3))
    swapped = {"source": settings.files["target"], "target": settings.files["source"]}
    weighed = settings.model_copy(update={"weight": 3.0, "languages": {"source": "en"}})
    assert given.fingerprint() == moved.fingerprint() == Corpus(weighed).fingerprint()
    others = [
        Corpus(CorpusSettings(files=swapped)),
        Corpus(settings.model_copy(update={"blank": "keep"})),
        Corpus(settings, policy="skip"),
        Corpus(settings, cleaning=["copies"]),
        Corpus(settings, cleaning=[{"name": "long", "most": 10}]),
        Corpus(settings, cleaning=["copies"], held_out=[given]),
        Corpus(CorpusSettings(files={"text": settings.files["source"], "more": settings.files["target"]})),
        Corpus(settings.model_copy(update={"share": (0.0, 0.5)})),
        Corpus(settings.model_copy(update={"share": (0.0, 0.5), "salt": "other"})),
        Corpus(settings, inside=Share(0.5, 1.0)),
        Corpus(settings, outside=[Share(0.5, 1.0)]),
        Corpus(settings, outside=[Share(0.5, 1.0, ("source",))]),
        *(Corpus(CorpusSettings(path=settings.files["source"], format="text", unit=unit)) for unit in UNITS),
    ]
    prints = {other.fingerprint() for other in [given, *others]}
    assert len(prints) == len(others) + 1
