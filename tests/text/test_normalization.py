"""Normal text, and where every character of it came from."""

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from regard.text.normalization import Form, Normalization, without_surrogates

forms = st.sampled_from(["none", "nfc", "nfkc"])
# Letters that join, marks that change places, Hangul that composes, characters that become several.
JOINING = "aeo\u0301\u0323\u0308\u1100\u1161\u11a8가ﬁ½İΣςﷺ\u09c7\u09be\u0344 \u212b①"
texts = st.one_of(st.text(), st.text(st.sampled_from(JOINING)))


@given(form=forms, lower=st.booleans(), text=texts)
@example(form="nfc", lower=False, text="e\u0301x")
@example(form="nfkc", lower=True, text="İﬁ")
def test_origins_run_forwards_and_account_for_every_character(form: Form, lower: bool, text: str) -> None:
    normalization = Normalization(form, lower)
    normal, origins = normalization(text), normalization.origins(text)
    assert len(origins) == len(normal)
    assert origins == sorted(origins)
    covered = {place for start, end in origins for place in range(start, end)}
    assert covered == set(range(len(text)))


@given(form=st.sampled_from(["nfc", "nfkc"]), text=texts)
def test_each_stretch_normalizes_on_its_own(form: Form, text: str) -> None:
    normalization = Normalization(form, lower=False)
    stretches = sorted(set(normalization.origins(text)))
    parts = [unicodedata.normalize(form.upper(), text[start:end]) for start, end in stretches]
    assert "".join(parts) == unicodedata.normalize(form.upper(), text) == normalization(text)


@pytest.mark.parametrize(
    ("form", "text", "normal", "origins"),
    [
        ("nfc", "e\u0301a", "éa", [(0, 2), (2, 3)]),
        ("nfkc", "aﬁb", "afib", [(0, 1), (1, 2), (1, 2), (2, 3)]),
        ("nfc", "\u1100\u1161\u11a8.", "각.", [(0, 3), (3, 4)]),
        ("none", "e\u0301", "e\u0301", [(0, 1), (1, 2)]),
    ],
)
def test_characters_remember_where_they_came_from(
    form: Form, text: str, normal: str, origins: list[tuple[int, int]]
) -> None:
    normalization = Normalization(form, lower=False)
    assert normalization(text) == normal
    assert normalization.origins(text) == origins


def test_a_letter_that_is_two_in_lower_case() -> None:
    normalization = Normalization("none", lower=True)
    assert normalization("İX") == "i\u0307x"
    assert normalization.origins("İX") == [(0, 1), (0, 1), (1, 2)]


def test_kept_pieces_stay_as_they_are() -> None:
    normalization = Normalization("nfkc", lower=True, keep=("<NAME>", "<Ⅳ>"))
    assert normalization("Ⅳ <NAME> <Ⅳ> <name>") == "iv <NAME> <Ⅳ> <name>"
    assert normalization.origins("ⅣA<Ⅳ>") == [(0, 1), (0, 1), (1, 2), (2, 3), (3, 4), (4, 5)]
    assert normalization.outside("a<NAME>b<Ⅳ>") == ["a", "b"]


def test_half_a_pair_becomes_a_replacement_character() -> None:
    assert without_surrogates("a\udc00😀") == "a\ufffd😀"
