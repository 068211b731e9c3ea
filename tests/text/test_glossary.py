"""Glossaries, and the receipt for what was kept."""

from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from regard.errors import DataError
from regard.text import Entry, Glossary, receipt
from regard.text.glossary import contains

FILE = """# our terms
Hund\tdog|hound

heavy metal\tSchwermetall
Bank\t!bench|seat
北京\tBeijing
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "terms.tsv"
    path.write_text(text, "utf-8")
    return path


def test_a_file_is_read_in_order(tmp_path: Path) -> None:
    assert Glossary.read(written(tmp_path, FILE)).entries == (
        Entry("Hund", ("dog", "hound")),
        Entry("heavy metal", ("Schwermetall",)),
        Entry("Bank", ("bench", "seat"), forbidden=True),
        Entry("北京", ("Beijing",)),
    )


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("Katze", "line 7: 1 column, expected 2: source term, tab, target term"),
        ("a\tb\tc", "line 7: 3 columns, expected 2"),
        ("\tcat", "line 7: the source term is empty"),
        ("Katze\t", "line 7: the target term is empty"),
        ("Katze\t!", "line 7: the target term is empty"),
        ("Katze\tcat||tom", "line 7: the target term is empty"),
        ("Hund\tpuppy", r"line 7: 'Hund' is on line 2 already\. Join the targets with \|"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, line: str, sentence: str) -> None:
    with pytest.raises(DataError, match=rf"terms.tsv {sentence}"):
        Glossary.read(written(tmp_path, f"{FILE}{line}\n"))


def test_a_term_may_be_wanted_and_another_forbidden(tmp_path: Path) -> None:
    assert len(Glossary.read(written(tmp_path, "Bank\tbank\nBank\t!bench\n")).entries) == 2


@pytest.mark.parametrize(
    ("text", "sources"),
    [
        ("Der Hund schläft.", ["Hund"]),
        ("Der Hundekorb, der Jagdhund", []),
        ("(Hund) und Bank!", ["Hund", "Bank"]),
        ("heavy  metal", ["heavy metal"]),
        ("heavy metals", []),
        ("我爱北京烤鸭", ["北京"]),
        ("Hund们", ["Hund"]),
        ("hund", []),
        ("Heavy metal is loud.", ["heavy metal"]),
        ("It is loud. “Heavy metal” is.", ["heavy metal"]),
        ("It is loud, Heavy metal", []),
        ("Heavy Metal is loud.", []),
        ("", []),
    ],
)
def test_terms_match_as_whole_words(tmp_path: Path, text: str, sources: list[str]) -> None:
    assert [entry.source for entry in Glossary.read(written(tmp_path, FILE)).matches(text)] == sources


def test_case_can_be_ignored_on_each_side(tmp_path: Path) -> None:
    glossary = Glossary.read(written(tmp_path, FILE), cased_source=False, cased_target=False)
    found = glossary.matches("Ein HUND")
    assert [entry.source for entry in found] == ["Hund"]
    assert receipt("A Dog", found).met
    assert not receipt("A Dog", Glossary.read(written(tmp_path, FILE), cased_source=False).matches("Ein HUND")).met
    assert not Glossary.read(written(tmp_path, FILE), cased_target=False).matches("Ein HUND")


def test_a_target_may_have_a_capital_where_the_term_begins_a_sentence() -> None:
    entry = Entry("please", ("veuillez", "SVP"))
    assert entry.forms("Please wait.") == ("veuillez", "SVP", "Veuillez")
    assert entry.forms("Wait, please.") == ("veuillez", "SVP")
    assert receipt("Veuillez patienter.", [entry]).met
    assert not receipt("Le Veuillez", [entry]).met


def test_two_spellings_of_an_accent_are_one() -> None:
    assert contains("un caf\u00e9", "cafe\u0301")
    assert not contains("un cafe\u0301", "cafe")
    assert not contains("x\u0323y x\u0323", "x")


def test_the_receipt_lists_every_entry() -> None:
    entries = [Entry("Hund", ("dog", "hound")), Entry("Katze", ("cat",)), Entry("Bank", ("bench",), forbidden=True)]
    given = receipt("The hound sits on the bench.", entries)
    assert [(item.source, item.found, item.met) for item in given.items] == [
        ("Hund", "hound", True),
        ("Katze", None, False),
        ("Bank", "bench", False),
    ]
    assert not given.met
    assert list(map(str, given.items)) == [
        "met: Hund -> dog or hound",
        "missed: Katze -> cat",
        "missed: Bank -> not bench",
    ]
    assert receipt("dog and cat", entries).met
    assert receipt("anything", []).met


@given(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="|!#"), min_size=1).filter(str.strip),
    st.text(max_size=5),
    st.text(max_size=5),
)
@example(" 1", "0", "")
def test_a_term_between_spaces_is_found(term: str, before: str, after: str) -> None:
    assert contains(f"{before} {term} {after}", term)
