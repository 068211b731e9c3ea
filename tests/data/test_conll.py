"""Sentences of CoNLL files."""

import gzip
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from regard.data import Corpus, CorpusSettings, Row
from regard.errors import DataError

DATA = Path("/work/shared/data/conll2003")
TWO = {"text": 1, "tags": 4}
SMALL = """-DOCSTART- -X- -X- O

EU NNP B-NP B-ORG
# . O O
. . O O


Peter NNP B-NP B-PER
"""


def corpus(folder: Path, content: str | bytes, columns: dict[str, int], policy: str = "stop", **options) -> Corpus:
    path = folder / "train.conll"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return Corpus(CorpusSettings(path=str(path), columns=columns, **options), policy)


def fields(given: Corpus) -> list[tuple[str, ...]]:
    return [tuple(row.fields.values()) for row in given]


def test_a_sentence_is_a_row_with_the_place_of_its_first_line(tmp_path: Path) -> None:
    given = corpus(tmp_path, SMALL, TWO)
    assert list(given) == [
        Row(f"{tmp_path}/train.conll line 3", {"text": "EU # .", "tags": "B-ORG O O"}),
        Row(f"{tmp_path}/train.conll line 8", {"text": "Peter", "tags": "B-PER"}),
    ]
    assert given.counts.read == 2


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.replace(" ", "\t"),
        lambda text: text.replace(" ", "   "),
        lambda text: text.replace("\n\n", "\n \t \n"),
        lambda text: text.replace("\n\nPeter", "\n-DOCSTART- -X- -X- O\nPeter"),
        lambda text: text.removesuffix("\n"),
        lambda text: text + "\n\n\n",
        lambda text: gzip.compress(text.encode()),
        lambda text: b"\xef\xbb\xbf" + text.encode(),
    ],
)
def test_the_same_sentences_written_otherwise(tmp_path: Path, change) -> None:
    assert fields(corpus(tmp_path, change(SMALL), TWO)) == [("EU # .", "B-ORG O O"), ("Peter", "B-PER")]


def test_comments_are_words_unless_they_are_named(tmp_path: Path) -> None:
    text = "# sent 1\nEU ORG\n\n# only a comment\n"
    assert fields(corpus(tmp_path, text, {"text": 1}, comments="# ")) == [("EU",)]
    assert fields(corpus(tmp_path, text, {"text": 1})) == [("# EU",), ("#",)]


@pytest.mark.parametrize(
    ("line", "sentence", "reason"),
    [
        (b"b", r"line 4: 1 column, column 2 asked\.", "columns"),
        (b"b\t", r"line 4: columns 'b', ''; a word is not empty", "columns"),
        (b"New York\tI-LOC", r"line 4: columns 'New York', 'I-LOC'; a word is not", "columns"),
        (b"b\xff O", r"line 4: byte 0xff at byte 2 is not UTF-8", "encoding"),
    ],
)
def test_a_line_that_is_no_word_is_named_or_drops_its_sentence(
    tmp_path: Path, line: bytes, sentence: str, reason: str
) -> None:
    text = b"a O\n\na O\n" + line + b"\nworse\n\nc O\n"
    two = {"text": 1, "tags": 2}
    with pytest.raises(DataError, match=sentence):
        list(corpus(tmp_path, text, two))
    given = corpus(tmp_path, text, two, "skip")
    assert fields(given) == [("a", "O"), ("c", "O")]
    assert {name: (left.count, left.places) for name, left in given.counts.left_out.items()} == {
        reason: (1, [f"{tmp_path}/train.conll line 4"])
    }


WORD = st.text(st.characters(exclude_categories=["Cs", "Zs", "Cc"]), min_size=1).filter(
    lambda word: not word.startswith(("-DOCSTART-", "\ufeff"))
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.lists(st.tuples(WORD, WORD), min_size=1), min_size=1))
def test_what_is_written_is_read(tmp_path: Path, sentences: list[list[tuple[str, str]]]) -> None:
    text = "\n".join("".join(f"{word} {tag}\n" for word, tag in sentence) for sentence in sentences)
    found = [(row[0].split(" "), row[1].split(" ")) for row in fields(corpus(tmp_path, text, {"a": 1, "b": 2}))]
    assert found == [tuple(map(list, zip(*sentence, strict=True))) for sentence in sentences]


@pytest.mark.skipif(not DATA.exists(), reason="the corpus is not here")
@pytest.mark.parametrize(
    ("name", "sentences"), [pytest.param("train", 14041, marks=pytest.mark.slow), ("valid", 3250), ("test", 3453)]
)
def test_conll_2003_has_as_many_sentences_as_is_told(name: str, sentences: int) -> None:
    given = Corpus(CorpusSettings(path=str(DATA / f"{name}.txt"), format="conll", columns=TWO))
    rows = list(given)
    assert len(rows) == given.counts.read == sentences
    assert all(len(row.fields["text"].split()) == len(row.fields["tags"].split()) for row in rows)
    kinds = {tag.split("-")[-1] for row in rows for tag in row.fields["tags"].split()}
    assert kinds == {"O", "PER", "ORG", "LOC", "MISC"}
