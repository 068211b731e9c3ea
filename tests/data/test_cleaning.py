"""Each step leaves out what it says, and counts it."""

import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.data import CLEANERS, Cleaner, Counts, Row, cleaned, comparing
from regard.data.cleaning import Seen
from regard.errors import ConfigError
from tests.data.encoders import corpus, sentences


def rows(*pairs: tuple[str, str]) -> list[Row]:
    return [
        Row(f"line {number}", {"source": source, "target": target}) for number, (source, target) in enumerate(pairs, 1)
    ]


def kept(pairs: list[tuple[str, str]], *steps, held_out: list[Row] = ()) -> tuple[list[int], dict[str, int]]:
    """The numbers of the lines that stay, and the counts of the others."""
    counts = Counts()
    stay = [int(row.place.split()[1]) for row in cleaned(rows(*pairs), steps, counts, lambda: held_out)]
    return stay, {name: entry.count for name, entry in counts.left_out.items()}


def test_duplicates_keep_the_first() -> None:
    pairs = [("a", "b"), ("a", "c"), ("a", "b"), ("A ", "b"), ("ab", ""), ("a", "b")]
    assert kept(pairs, "duplicates") == ([1, 2, 4, 5], {"duplicates": 2})
    assert kept(pairs, {"name": "duplicates", "loose": True}) == ([1, 2, 5], {"duplicates": 3})


def test_ratio() -> None:
    pairs = [("aaaa", "bb"), ("aaaaa", "bb"), ("a", "bbb"), ("", "x")]
    assert kept(pairs, {"name": "ratio", "most": 2}) == ([1, 4], {"ratio": 2})
    assert kept([("a b c", "x"), ("abc", "x")], {"name": "ratio", "most": 2, "unit": "words"}) == ([2], {"ratio": 1})


def test_long() -> None:
    assert kept([("a" * 5, "b"), ("a", "b" * 6)], {"name": "long", "most": 5}) == ([1], {"long": 1})
    assert kept([("a b", "c"), ("a b c", "d")], {"name": "long", "most": 2, "unit": "words"}) == ([1], {"long": 1})


def test_copies() -> None:
    assert kept([("a", "b"), ("a", " a "), ("A", "a")], "copies") == ([1, 3], {"copies": 1})


def test_overlap_with_held_out_rows() -> None:
    pairs = [("a", "b"), ("x", "Held  Out"), ("held out", "x"), ("in", "held out")]
    held_out = rows(("in", "held out"))
    assert kept(pairs, "overlap", held_out=held_out) == ([1, 3], {"overlap": 2})
    assert kept(pairs, {"name": "overlap", "match": "all"}, held_out=held_out) == ([1, 2, 3], {"overlap": 1})
    assert kept(pairs, {"name": "overlap", "loose": False}, held_out=held_out) == ([1, 2, 3], {"overlap": 1})


def test_overlap_by_some_fields() -> None:
    pairs = [("a", "b"), ("x", "held out"), ("in", "x")]
    held_out = rows(("in", "held out"))
    by_source = {"name": "overlap", "by": ["source"]}
    assert kept(pairs, by_source, held_out=held_out) == ([1, 2], {"overlap": 1})
    assert kept(pairs, {**by_source, "match": "all"}, held_out=held_out) == ([1, 2], {"overlap": 1})
    with pytest.raises(ConfigError, match=r"overlap: by: Unknown field 'sorce'\. Did you mean 'source'\?"):
        kept(pairs, {"name": "overlap", "by": ["sorce"]}, held_out=held_out)


@pytest.mark.parametrize("match", ["any", "all"])
def test_blank_texts_are_no_overlap(match: str) -> None:
    pairs = [("", " "), ("", "b"), ("in", "held out")]
    step = {"name": "overlap", "match": match}
    assert kept(pairs, step, held_out=rows((" ", ""), ("in", "held out"))) == ([1, 2], {"overlap": 1})


def test_an_overlap_compares_what_it_is_told_to_unless_it_says_so_itself() -> None:
    own = ["duplicates", {"name": "overlap", "by": ["target"]}, {"name": "overlap", "match": "all"}]
    assert [part.options for part in comparing(own, ["source"])] == [{}, {"by": ["target"]}, {"match": "all"}]
    (strict,) = comparing([{"name": "overlap", "loose": False}], ["source"])
    assert strict.options == {"loose": False, "by": ("source",)}
    (all_fields,) = comparing(["overlap"], [])
    assert all_fields.options == {}


def test_the_order_of_columns_says_nothing_about_a_row() -> None:
    there, turned = Row("line 1", {"source": "a", "target": "b"}), Row("line 2", {"target": "b", "source": "a"})
    swapped = Row("line 3", {"target": "a", "source": "b"})
    assert list(cleaned([there, turned, swapped], ["duplicates"], Counts())) == [there, swapped]
    overlap = {"name": "overlap", "match": "all"}
    assert list(cleaned([there, swapped], [overlap], Counts(), lambda: [turned])) == [swapped]


def test_a_row_is_counted_under_the_first_step_that_refuses_it() -> None:
    pairs = [("a", "a"), ("a", "a"), ("b", "b" * 50)]
    assert kept(pairs, "copies", "duplicates", "ratio") == ([], {"copies": 2, "ratio": 1})
    assert kept(pairs, "duplicates", "copies", "ratio") == ([], {"copies": 1, "duplicates": 1, "ratio": 1})


def test_no_step_keeps_everything() -> None:
    assert kept([("a", "a")]) == ([1], {})


def test_an_unknown_step_or_setting_offers_the_nearest() -> None:
    with pytest.raises(ConfigError, match=r"Unknown cleaning step 'duplicate'\. Did you mean 'duplicates'\?"):
        kept([], "duplicate")
    with pytest.raises(ConfigError, match=r"cleaning step long: Unknown setting 'mots'\. Did you mean 'most'\?"):
        kept([], {"name": "long", "mots": 3})


def test_a_step_of_ones_own(monkeypatch: pytest.MonkeyPatch) -> None:
    class Shouting(Cleaner):
        def keeps(self, fields) -> bool:
            return not fields["source"].isupper()

    monkeypatch.setitem(CLEANERS, "shouting", Shouting)
    assert kept([("A", "a"), ("a", "a")], "shouting") == ([2], {"shouting": 1})


def test_held_out_corpora_are_read_for_overlap(tmp_path: Path) -> None:
    (tmp_path / "held").mkdir()
    held_out = corpus(tmp_path / "held", sentences(50)[40:])
    train = corpus(tmp_path, sentences(60), cleaning=["overlap"], held_out=[held_out])
    assert len(list(train)) == 50
    assert train.counts.left_out["overlap"].count == 10


@given(st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(-3, 3)))
def test_what_was_seen_is_known(keys: list[int]) -> None:
    seen = Seen()
    known: set[int] = set()
    for key in keys:
        assert seen.add(key) == (key not in known)
        known.add(key)


def test_memory_does_not_grow_with_what_was_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a cache of 1 MiB, 300,000 keys (2.4 MB and more in any form) cost a fraction of that."""
    resource = pytest.importorskip("resource")
    monkeypatch.setattr(sys.modules["regard.data.cleaning"], "CACHE_KIBIBYTES", 1024)
    seen = Seen()
    add = seen._cursor.execute
    for key in range(0, 2**62, 2**62 // 20_000):
        add("INSERT OR IGNORE INTO seen VALUES (?)", (key,))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for key in range(1, 2**62, 2**62 // 300_000):
        add("INSERT OR IGNORE INTO seen VALUES (?)", (key,))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 2048
    assert not seen.add(1)
