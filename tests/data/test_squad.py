"""Questions of SQuAD files."""

import gzip
import json
from pathlib import Path

import pytest

from regard.data import Corpus, CorpusSettings, Row
from regard.errors import DataError

DATA = Path("/work/shared/data/squad")
PASSAGE = "Käse is made in Bern. Bern is a town."


def question(name: str, answers: list[tuple[str, int]], **more) -> dict:
    found = [{"text": text, "answer_start": start} for text, start in answers]
    return {"id": name, "question": f"Where is {name}?", "answers": found, **more}


def written(folder: Path, *questions: dict, pack=bytes) -> str:
    article = {"title": "Cheese", "paragraphs": [{"context": PASSAGE, "qas": list(questions)}]}
    path = folder / "dev.json"
    path.write_bytes(pack(json.dumps({"version": "v2.0", "data": [article]}).encode()))
    return str(path)


def corpus(path: str, policy: str = "stop", **options) -> Corpus:
    return Corpus(CorpusSettings(path=path, format="squad", **options), policy)


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_a_question_is_a_row(tmp_path: Path, pack) -> None:
    path = written(tmp_path, question("q1", [("Bern", 16), ("Bern", 22)]), question("q2", []), pack=pack)
    assert list(corpus(path)) == [
        Row(
            f"{path} question q1",
            {
                "question": "Where is q1?",
                "passage": PASSAGE,
                "answers": '[{"text":"Bern","start":16},{"text":"Bern","start":22}]',
            },
        ),
        Row(f"{path} question q2", {"question": "Where is q2?", "passage": PASSAGE, "answers": "[]"}),
    ]


def test_a_question_that_the_passage_does_not_answer_has_no_answers(tmp_path: Path) -> None:
    path = written(tmp_path, question("q1", [("Bern", 16)], is_impossible=True))
    (row,) = corpus(path)
    assert row.fields["answers"] == "[]"


def test_fields_are_chosen_by_the_names_of_the_file(tmp_path: Path) -> None:
    path = written(tmp_path, {"id": "q1", "question": "Where?"})
    (row,) = corpus(path, columns={"name": "id", "text": "context", "title": "title"})
    assert row.fields == {"name": "q1", "text": PASSAGE, "title": "Cheese"}


@pytest.mark.parametrize(
    ("bad", "sentence", "reason"),
    [
        (
            question("b", [("Bern", 15)]),
            "question b: the answer 'Bern' is said to start at 15, but there stands ' Ber",
            "span",
        ),
        (question("b", [("Bern", -15)]), "question b: the answer 'Bern' is said to start at -15", "span"),
        (question("b", [("town.!", 32)]), "question b: the answer 'town.!' is said to start at 32", "span"),
        (question("b", [("", 3)]), "question b: the answer '' is said to start at 3", "span"),
        (question("b", [("Bern", "16")]), "question b: an answer needs a text and the number answer_start.", "type"),
        ({"id": "b", "question": "Where?", "answers": ["Bern"]}, "question b: an answer needs a text", "type"),
        ({"id": "b", "question": "Where?"}, "question b: it has no list of answers.", "key"),
        ({"id": "b", "answers": []}, "question b: it has no question.", "key"),
        ({"question": " ", "answers": []}, "data[0] paragraphs[0] qas[1]: question is empty.", "empty"),
        ({"id": "b", "question": "\ud800", "answers": []}, "question b: question holds half", "encoding"),
    ],
)
def test_a_bad_question_is_named_or_left_out_and_counted(tmp_path: Path, bad: dict, sentence: str, reason: str) -> None:
    path = written(tmp_path, question("a", []), bad, question("c", []))
    with pytest.raises(DataError) as caught:
        list(corpus(path))
    assert f"{path} {sentence}" in str(caught.value)
    given = corpus(path, "skip")
    assert [row.place for row in given] == [f"{path} question a", f"{path} question c"]
    assert {name: left.count for name, left in given.counts.left_out.items()} == {reason: 1}


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b'{"data": [\n{"title"]}', r"dev\.json line 2 column 9: not JSON"),
        (b"[" * 99999, r"dev\.json: not JSON"),
        (b'{"data":\n "\xff"}', r"dev\.json line 2: byte 0xff at byte 3 is not UTF-8"),
        (b"[]", r"dev\.json: expected an object with a list 'data'"),
        (b'{"data": [{"title": "x"}]}', r"dev\.json data\[0\]: expected an object with a list 'paragraphs'"),
        (
            b'{"data": [{"paragraphs": [{}]}]}',
            r"dev\.json data\[0\] paragraphs\[0\]: expected an object with a list 'qas'",
        ),
        (b'{"data": [{"paragraphs": [{"qas": [1]}]}]}', r"paragraphs\[0\] qas\[0\]: expected a question"),
        (gzip.compress(b"x" * 9999, mtime=0)[:-9], "the gzip data end too early"),
    ],
)
@pytest.mark.parametrize("policy", ["stop", "skip"])
def test_a_file_that_is_no_squad_stops_whatever_the_policy(
    tmp_path: Path, content: bytes, sentence: str, policy: str
) -> None:
    (tmp_path / "dev.json").write_bytes(content)
    with pytest.raises(DataError, match=sentence):
        list(corpus(str(tmp_path / "dev.json"), policy))


@pytest.mark.skipif(not DATA.exists(), reason="the corpus is not here")
@pytest.mark.parametrize(
    ("name", "questions"),
    [
        pytest.param("train-v1.1", 7484, marks=pytest.mark.slow),
        ("test-v1.1", 3086),
        pytest.param("train-v2.0", 7408, marks=pytest.mark.slow),
        ("test-v2.0", 4465),
    ],
)
def test_squad_has_as_many_questions_as_is_told_and_every_answer_stands_where_it_says(
    name: str, questions: int
) -> None:
    given = corpus(str(DATA / f"{name}.json"))
    without = 0
    for row in given:
        answers = json.loads(row.fields["answers"])
        without += not answers
        passage = row.fields["passage"]
        assert all(passage[one["start"] :].startswith(one["text"]) for one in answers)
    assert given.counts.read == questions
    assert (without > 0) == (name.endswith("2.0"))


@pytest.mark.skipif(not DATA.exists(), reason="the corpus is not here")
def test_a_share_by_title_parts_articles() -> None:
    path, columns = str(DATA / "test-v1.1.json"), {"title": "title", "id": "id"}
    titles = []
    for low, high in ((0.0, 0.3), (0.3, 1.0)):
        rows = list(corpus(path, columns=columns, share=(low, high), by="title"))
        hidden = list(corpus(path, columns={"id": "id"}, share=(low, high), by="title"))
        assert [row.fields for row in hidden] == [{"id": row.fields["id"]} for row in rows]
        titles.append({row.fields["title"] for row in rows})
    assert all(titles)
    assert not titles[0] & titles[1]
