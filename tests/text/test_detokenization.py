"""Words back to text."""

import pytest

from regard.text.detokenization import join_words


@pytest.mark.parametrize(
    ("spaced", "text"),
    [
        ("", ""),
        ("Hello , world !", "Hello, world!"),
        ("( a [ b ] )", "(a [b])"),
        ('" a " and " b "', '"a" and "b"'),
        ("the dogs ' tail ' end '", "the dogs' tail 'end'"),
        ("„ Nein “ , sagte sie", "„Nein“, sagte sie"),
        ("“ No ” , she said", "“No”, she said"),
        ("« Oui » .", "«Oui»."),
        ("5 % of $ 7 / day", "5% of $7/day"),
        ("a – b - c", "a – b - c"),
        ("我 爱 New York 。 你 呢 ？", "我爱New York。你呢？"),
        ("¿ Qué ?", "¿Qué?"),
    ],
)
def test_spaces_come_back_by_rule(spaced: str, text: str) -> None:
    assert join_words(spaced.split()) == text
