"""Corpora by name: fetched once, then files like any other. A folder stands in for the hub, as the library allows."""

import json
from pathlib import Path

import pytest

from regard.data import Corpus, CorpusSettings, local
from regard.errors import ConfigError, DataError

pytest.importorskip("datasets")
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture
def named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CorpusSettings:
    monkeypatch.setenv("HF_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "captions"
    folder.mkdir()
    rows = [{"translation": {"en": "A dog.", "de": "Ein Hund."}}, {"translation": {"en": "Two", "de": "Zwei\nZeilen"}}]
    (folder / "train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    columns = {"source": "translation.en", "target": "translation.de"}
    return CorpusSettings(dataset=str(folder), columns=columns, languages={"target": "de"})


def test_a_dataset_is_fetched_once_and_read_as_json_lines(named: CorpusSettings, tmp_path: Path) -> None:
    corpus = Corpus(local(named, str(tmp_path)), root=tmp_path)
    assert [row.fields["target"] for row in corpus] == ["Ein Hund.", "Zwei\nZeilen"]
    assert corpus.settings.languages == {"target": "de"}
    [kept] = (tmp_path / "hub").iterdir()
    kept.write_text('{"source": "as", "target": "kept"}\n')
    assert [row.fields["source"] for row in Corpus(local(named, str(tmp_path)), root=tmp_path)] == ["as"]


def test_other_columns_or_another_dataset_are_other_rows(named: CorpusSettings, tmp_path: Path) -> None:
    def sources(settings: CorpusSettings) -> list[str]:
        return [row.fields["source"] for row in Corpus(local(settings, str(tmp_path)), root=tmp_path)]

    turned = named.model_copy(update={"columns": {"source": "translation.de", "target": "translation.en"}})
    assert (sources(named), sources(turned)) == (["A dog.", "Two"], ["Ein Hund.", "Zwei\nZeilen"])
    # A name in which only what stands between its words differs.
    folders = [tmp_path / "a" / "b", tmp_path / "a-b"]
    for folder in folders:
        folder.mkdir(parents=True)
        (folder / "train.jsonl").write_text(json.dumps({"text": str(folder)}) + "\n")
    alike = [CorpusSettings(dataset=str(folder), columns={"source": "text"}) for folder in folders]
    assert [sources(settings) for settings in alike] == [[str(folder)] for folder in folders]


def test_values_that_are_not_text_become_their_json(named: CorpusSettings, tmp_path: Path) -> None:
    row = {"tokens": ["a", "b"], "label": 1, "yes": True}
    (tmp_path / "captions" / "train.jsonl").write_text(json.dumps(row) + "\n")
    settings = CorpusSettings(dataset=named.dataset, columns={"text": "tokens", "label": "label", "yes": "yes"})
    (found,) = Corpus(local(settings, str(tmp_path)), root=tmp_path)
    assert found.fields == {"text": '["a","b"]', "label": "1", "yes": "true"}


def test_a_column_that_is_not_there_is_named_with_those_that_are(named: CorpusSettings, tmp_path: Path) -> None:
    wrong = named.model_copy(update={"columns": {"source": "english"}})
    with pytest.raises(DataError, match=r"Row 1 has no 'english'; its columns are translation"):
        local(wrong, str(tmp_path))
    assert list((tmp_path / "hub").glob("*.jsonl")) == []


def test_a_name_that_cannot_be_fetched_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HOME", str(tmp_path / "cache"))
    with pytest.raises(DataError, match="Cannot fetch dataset"):
        local(CorpusSettings(dataset=str(tmp_path / "nowhere"), columns={"source": "a"}), str(tmp_path))


def test_a_dataset_needs_columns() -> None:
    with pytest.raises(ConfigError, match="columns"):
        CorpusSettings.read({"dataset": "owner/name"})


def test_files_are_left_as_they_are() -> None:
    files = CorpusSettings(files={"source": "a", "target": "b"})
    assert local(files, "x") is files
