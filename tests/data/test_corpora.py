"""Corpora as settings, and as rows with counts and a fingerprint."""

from pathlib import Path

import pytest

from regard.data import Corpus, CorpusSettings, Row
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
    ],
)
def test_the_name_tells_the_format(name: str, kind: str) -> None:
    assert CorpusSettings(path=name, columns={"text": "text"}).kind == kind


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
    ]
    prints = {other.fingerprint() for other in [given, *others]}
    assert len(prints) == len(others) + 1
