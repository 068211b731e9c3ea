"""Language tags as pieces of their own."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.errors import ConfigError
from regard.text import tag, tagged, tags
from tests.text.corpus import KINDS, learned


def test_tags_are_what_a_tokenizer_takes_as_extra_pieces() -> None:
    assert tags(["de", "en", "de", "zh-CN"]) == ("<2de>", "<2en>", "<2zh-CN>")
    tokenizer = learned("bpe", extra=tags(["de", "zh"]))
    assert tokenizer.encode("<2de> The dog").pieces[0] == tag("de")


@pytest.mark.parametrize("kind", KINDS)
@given(text=st.one_of(st.text(max_size=12), st.sampled_from(["The dog sleeps", "我们在北京", "  x", "", "!"])))
def test_a_tag_changes_nothing_of_the_pieces_behind_it(kind: str, text: str) -> None:
    tokenizer = learned(kind, extra=tags(["de", "zh"]))
    space = tokenizer.encode(" ").ids if kind == "characters" and tagged(text, "de").startswith("<2de> ") else []
    assert tokenizer.encode(tagged(text, "de")).ids == [tokenizer.id("<2de>"), *space, *tokenizer.encode(text).ids]


@pytest.mark.parametrize("code", ["", "d", "de fr", "<2de>", "de>", "1", "deutschland"])
def test_what_is_no_code_is_refused(code: str) -> None:
    with pytest.raises(ConfigError, match=r"is no language code\. Write one like 'de'"):
        tag(code)
