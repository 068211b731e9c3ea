"""Shares of rows and of one long text: nothing in two, everything in one, whatever the order."""

import hashlib
import random
from fractions import Fraction
from itertools import chain, pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from regard.data import Corpus, CorpusSettings, Counts, Row, Rows, Share, Together
from regard.data.shares import cut, divided
from regard.errors import ConfigError

EDGES = st.lists(st.floats(0, 1), unique=True, max_size=4).map(lambda inner: sorted({0.0, 1.0, *inner}))
TEXTS = st.lists(st.text(), max_size=30)


def parts(edges: list[float], salt: str = "regard") -> list[Share]:
    return [Share(low, high, salt=salt) for low, high in pairwise(edges)]


def table(folder: Path, lines: list[str], **options) -> CorpusSettings:
    (folder / "train.tsv").write_text("text\tlabel\tgroup\n" + "".join(f"{line}\n" for line in lines))
    return CorpusSettings(path=str(folder / "train.tsv"), columns={"text": "text", "label": "label"}, **options)


def texts(rows: Rows) -> list[str]:
    return [row.fields["text"] for row in rows]


LINES = [f"text {number}\t{number % 2}\tgroup {number // 10}" for number in range(300)]


@given(EDGES, TEXTS, st.text())
def test_every_row_is_in_exactly_one_of_the_shares_that_cover_all(
    edges: list[float], given_texts: list[str], salt: str
) -> None:
    for text in given_texts:
        assert sum(share.holds({"text": text}) for share in parts(edges, salt)) == 1


@given(st.floats(0, 1), st.text(), st.text(), st.text())
def test_a_row_is_where_its_formula_puts_it(edge: float, salt: str, first: str, second: str) -> None:
    """Exact: a share must stay what it is in every later version."""
    fields = {"a": first, "b": second, "label": "any"}
    for by, value in ((("b",), second), (("b", "a"), f"{second}\0{first}")):
        number = int(hashlib.sha256(f"{salt}\0{value}".encode()).hexdigest()[:16], 16)
        assert Share(0.0, edge, by, salt).holds(fields) == (Fraction(number, 2**64) < Fraction(edge))


@given(EDGES, st.text())
def test_a_long_text_is_the_sum_of_the_shares_that_cover_all(edges: list[float], text: str) -> None:
    whole = [Row("x", {"text": text})]
    pieces = [row.fields["text"] for share in parts(edges) for row in cut(whole, [share], [], Counts())]
    assert "".join(pieces) == text


@given(st.text(), st.floats(0, 1), st.floats(0, 1))
def test_what_is_cut_out_and_what_is_left_make_the_whole(text: str, one: float, other: float) -> None:
    share = Share(min(one, other), max(one, other))
    start, end = int(len(text) * share.low), int(len(text) * share.high)
    whole = [Row("x", {"text": text})]
    assert "".join(row.fields["text"] for row in cut(whole, [share], [], Counts())) == text[start:end]
    left = [row.fields["text"] for row in cut(whole, [], [share], Counts())]
    around = [text[:start], text[end:]] if start < end else [text]
    assert left == [piece for piece in around if piece]


@given(st.lists(st.tuples(st.text(), st.text())), st.randoms(use_true_random=False))
def test_order_and_neighbours_decide_nothing(pairs: list[tuple[str, str]], chance: random.Random) -> None:
    rows = [Row(f"line {number}", {"a": a, "b": b}) for number, (a, b) in enumerate(pairs)]
    mixed = chance.sample(rows, len(rows))
    share = Share(0.2, 0.6)
    kept = list(divided(rows, [share], [], Counts()))
    assert sorted(kept, key=lambda row: row.place) == sorted(
        divided(mixed, [share], [], Counts()), key=lambda row: row.place
    )
    turned = [Row(row.place, dict(reversed(row.fields.items()))) for row in rows]
    assert [row.place for row in divided(turned, [share], [], Counts())] == [row.place for row in kept]


@pytest.mark.parametrize("salt", ["regard", "another"])
@pytest.mark.parametrize(("low", "high"), [(0.0, 0.05), (0.2, 0.4), (0.9, 1.0)])
def test_a_share_is_about_as_large_as_it_says(low: float, high: float, salt: str) -> None:
    share = Share(low, high, salt=salt)
    count = sum(share.holds({"text": f"row {number}"}) for number in range(20_000))
    expected = 20_000 * (high - low)
    assert abs(count - expected) < 5 * expected**0.5


def test_another_salt_is_another_share() -> None:
    rows = [{"text": str(number)} for number in range(1000)]
    one, other = ([row["text"] for row in rows if Share(0.0, 0.5, salt=salt).holds(row)] for salt in "ab")
    assert 150 < len(set(one) & set(other)) < 350


def test_a_corpus_is_what_is_inside_one_share_and_outside_of_others(tmp_path: Path) -> None:
    given = table(tmp_path, LINES)
    valid, test = Share(0.0, 0.1, ("text",)), Share(0.5, 0.7, ("text",))
    train = Corpus(given, outside=[valid, test])
    held = [train.only(valid), train.only(test)]
    found = [texts(train), *map(texts, held)]
    assert sorted(chain(*found)) == sorted(texts(Corpus(given)))
    assert all(found)
    assert train.counts.held_out == len(found[1]) + len(found[2])
    assert train.counts.read == len(LINES)
    assert train.counts.left_out == {}
    assert f"{train.counts.held_out} held out: in another share" in str(train.counts)
    assert Counts.of(train.counts.plain()) == train.counts


def test_counts_written_before_there_were_shares_are_read() -> None:
    assert Counts.of({"kept": 3, "left_out": {}}) == Counts(3)


def test_rows_with_the_same_input_are_on_the_same_side(tmp_path: Path) -> None:
    lines = [f"text {number % 50}\t{number}\tx" for number in range(300)]
    given = table(tmp_path, lines, share=(0.0, 0.5)).deciding(["text"])
    assert given.by == ("text",)
    inside = texts(Corpus(given))
    assert len(inside) == 6 * len(set(inside))
    assert 0 < len(inside) < 300


def test_a_column_that_is_no_field_may_decide_and_is_not_in_the_rows(tmp_path: Path) -> None:
    given = table(tmp_path, LINES, share=(0.0, 0.5), by="group")
    rows = list(Corpus(given))
    groups = {int(row.fields["text"].split()[1]) // 10 for row in rows}
    assert len(rows) == 10 * len(groups)
    assert 0 < len(groups) < 30
    assert all(list(row.fields) == ["text", "label"] for row in rows)
    numbered = CorpusSettings(path=given.path, columns={"text": 1}, header=True, share=(0.0, 0.5), by=3)
    assert texts(Corpus(numbered)) == [row.fields["text"] for row in rows]


def test_a_share_of_a_share_is_in_both(tmp_path: Path) -> None:
    given = table(tmp_path, LINES, share=(0.0, 0.6))
    both = texts(Corpus(given, inside=Share(0.5, 1.0)))
    assert both == texts(Corpus(table(tmp_path, LINES, share=(0.5, 0.6))))
    assert both


def test_bad_lines_are_faults_on_whatever_side_they_are(tmp_path: Path) -> None:
    given = Corpus(table(tmp_path, [*LINES, "bad"]), "skip", cleaning=["duplicates"], outside=[Share(0.0, 0.5)])
    kept = texts(given)
    assert {reason: left.count for reason, left in given.counts.left_out.items()} == {"columns": 1}
    assert given.counts.read == len(kept) + given.counts.held_out + 1 == 301


def test_a_share_alone_is_of_what_is_trained_on() -> None:
    given = CorpusSettings.read({"share": [0.0, 0.05], "by": "title"})
    assert given.of_training
    assert given.fields == ()
    assert given.part == Share(0.0, 0.05, ("title",))
    assert given.deciding(["text"]) == given
    with pytest.raises(ConfigError, match="give the corpus it is of"):
        Corpus(given)


@pytest.mark.parametrize(
    ("values", "by"),
    [
        ({"files": {"text": "x.txt"}}, "title"),
        ({"path": "x.txt"}, "title"),
        ({"path": "x.conll", "columns": {"text": 1}}, "title"),
        ({"path": "x.jsonl", "columns": {"text": "text"}}, 3),
    ],
)
def test_a_column_that_cannot_decide_is_told_with_the_corpus(tmp_path: Path, values: dict, by: str | int) -> None:
    for name in ("x.txt", "x.conll", "x.jsonl"):
        (tmp_path / name).write_text("x\n")
    with pytest.raises(ConfigError, match=r"x\.\w+: a share by "):
        list(Corpus(CorpusSettings(**values), root=tmp_path, inside=Share(0.0, 1.0, (by,))))


def test_a_column_is_not_named_where_the_first_line_is_a_row(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("text,title\none,A\n")
    values = {"path": "a.csv", "columns": {"text": 1}, "share": [0.0, 1.0], "by": "title"}
    with pytest.raises(ConfigError, match=r"by = 'title': columns are numbered.*header = true"):
        CorpusSettings.read(values)
    corpus = Corpus(CorpusSettings.read({**values, "header": True}), root=tmp_path)
    assert [row.fields for row in corpus] == [{"text": "one"}]


def test_one_long_text_is_left_in_pieces_around_what_is_held_out(tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text("0123456789")
    given = CorpusSettings(path=str(tmp_path / "x.txt"), unit="file")
    # A share decided by the inputs of a task is by position all the same.
    train = Corpus(given, outside=[Share(0.4, 0.5, ("text",)), Share(0.5, 0.6), Share(0.9, 1.0)])
    assert list(train) == [
        Row(f"{tmp_path}/x.txt characters 1 to 4", {"text": "0123"}),
        Row(f"{tmp_path}/x.txt characters 7 to 9", {"text": "678"}),
    ]
    assert (train.counts.kept, train.counts.held_out) == (2, 2)
    assert texts(train.only(Share(0.9, 1.0))) == ["9"]


def test_several_corpora_read_as_one(tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    one = Corpus(table(tmp_path, LINES[:5]), outside=[Share(0.0, 0.5)])
    other = Corpus(table(tmp_path / "more", [*LINES[5:7], "bad"]), "skip")
    both = Together([one, other])
    assert isinstance(both, Rows)
    assert texts(both) == texts(one) + texts(other)
    assert both.counts.read == 8
    assert both.counts.held_out == one.counts.held_out
    assert both.counts.left_out == other.counts.left_out
    assert both.meter.share == 1
    assert str(both) == f"{one} and {other}"
    assert both.fingerprint() != Together([other, one]).fingerprint()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=20)
@given(EDGES)
def test_folds_of_a_file_are_all_of_it_once(tmp_path: Path, edges: list[float]) -> None:
    given = table(tmp_path, LINES[:20])
    folds = [texts(Corpus(given, inside=share)) for share in parts(edges)]
    assert sorted(chain(*folds)) == sorted(texts(Corpus(given)))
