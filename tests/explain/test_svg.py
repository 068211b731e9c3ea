"""Pictures that any browser can open, whatever the words are."""

from xml.etree import ElementTree

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from regard.explain import heat

WORDS = st.lists(
    st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=8), min_size=1, max_size=4
)


@given(WORDS, WORDS)
def test_a_picture_is_well_formed_and_has_a_cell_for_every_pair(rows: list[str], columns: list[str]) -> None:
    weights = np.linspace(0, 1, len(rows) * len(columns)).reshape(len(rows), len(columns))
    root = ElementTree.fromstring(heat(weights, rows, columns, "a < b & c"))
    cells = [rect for rect in root.iter("{http://www.w3.org/2000/svg}rect") if len(rect)]
    assert len(cells) == weights.size
    written = [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")]
    assert {*rows, *columns, "a < b & c"} <= set(written)


def test_more_weight_is_darker() -> None:
    root = ElementTree.fromstring(heat(np.array([[0.0, 0.5, 1.0]]), ["r"], ["a", "b", "c"], "t"))
    fills = [rect.get("fill") for rect in root.iter("{http://www.w3.org/2000/svg}rect") if len(rect)]
    brightness = [sum(bytes.fromhex(str(fill)[1:])) for fill in fills]
    assert brightness == sorted(brightness, reverse=True)
    assert len(set(brightness)) == 3
