"""Where things are in a picture, and what their colours say."""

from itertools import pairwise
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.explain import heat
from regard.explain.attribution import Attribution, Unit
from regard.explain.rendering.bitmap import png_of
from regard.explain.rendering.colours import colours
from regard.explain.rendering.html import quantized
from regard.explain.rendering.labels import label, room, segments, tail, wrapped
from regard.explain.rendering.pictures import picture
from regard.explain.rendering.scene import Cells, Text
from regard.explain.rendering.shown import elsewhere, figure, shown
from regard.explain.rendering.svg import svg
from tests.explain.rendering.shapes import NASTY, SHAPES, axis, explained, numbered

TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=8)
WORDS = st.lists(TEXT, min_size=1, max_size=4)
SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("shape", SHAPES)
def test_everything_is_inside_the_frame(shape: str) -> None:
    scene = picture(SHAPES[shape])
    left, top, right, bottom = scene.frame
    for part in scene.parts:
        x, y, x2, y2 = part.frame
        assert left < x <= x2 < right
        assert top < y <= y2 < bottom


def test_long_slanted_labels_are_inside_the_frame() -> None:
    scene = picture(explained(axis(["Donaudampfschifffahrt" * 2] * 4), axis(["W" * 40] * 4)))
    slanted = [part for part in scene.parts if isinstance(part, Text) and part.angle]
    assert len(slanted) == 4
    assert min(part.frame[1] for part in slanted) > scene.frame[1]
    assert max(part.frame[2] for part in slanted) < scene.frame[2]


def test_cells_never_overlap_and_what_is_no_text_is_behind_a_gap() -> None:
    seen = SHAPES["matrix"]
    blocks = [part for part in picture(seen).parts if isinstance(part, Cells) and part.hints]
    assert sum(part.colours.shape[0] * part.colours.shape[1] for part in blocks) == seen.weights.size
    text = next(part for part in blocks if not part.hatched)
    hatched = [part for part in blocks if part.hatched]
    assert {part.colours.shape[1] for part in hatched} == {2}
    assert min(part.x for part in hatched) > text.frame[2] + 5


def test_what_is_no_text_does_not_set_the_scale() -> None:
    weights = np.array([[0.01, 0.02, 0.97]] * 4)
    found = shown(Attribution("attention", numbered(4), numbered(2, 1), weights))
    assert found.scale == 0.02
    assert found.shares[0].tolist() == [0.5, 1, 1]
    assert elsewhere(found.map) == pytest.approx(0.97)


def test_what_is_no_text_comes_last_wherever_it_was() -> None:
    found = shown(SHAPES["special first"])
    assert found.column_labels == ["a", "b", "<s>", "<0>"]
    assert found.text_columns == 2
    assert np.array_equal(found.weights[:, 2], found.map.weights[:, 0])


def test_few_outputs_over_a_long_text_are_shown_as_texts() -> None:
    assert shown(SHAPES["texts"]).as_texts
    assert shown(SHAPES["one row"]).as_texts
    assert not shown(SHAPES["matrix"]).as_texts


def test_many_cells_become_one_picture_and_few_tell_their_numbers() -> None:
    big, small = svg(SHAPES["compact"]), svg(SHAPES["matrix"])
    # Four blocks, for what is no text is apart on both sides, and the bar of the legend.
    assert big.count("data:image/png") == 5
    assert len(big) < 60_000
    assert "w0 ← w1: " in small


@given(WORDS, WORDS)
def test_a_heat_map_is_well_formed_and_has_a_cell_for_every_pair(rows: list[str], columns: list[str]) -> None:
    weights = np.linspace(0, 1, len(rows) * len(columns)).reshape(len(rows), len(columns))
    root = ElementTree.fromstring(heat(weights, rows, columns, "a < b & c"))
    assert len([rect for rect in root.iter(f"{SVG}rect") if len(rect)]) == weights.size
    written = {text.text for text in root.iter(f"{SVG}text")}
    assert {label(Unit(name)) for name in (*rows, *columns)} <= written
    assert "A < b & c" in written


def test_more_weight_is_darker() -> None:
    brightness = colours(np.linspace(0, 1, 200)).sum(-1, dtype=int)
    against = colours(np.linspace(0, -1, 200)).sum(-1, dtype=int)
    for shades in (brightness, against):
        assert all(one >= other for one, other in pairwise(shades.tolist()))
        assert shades[0] - shades[-1] > 300


def test_for_and_against_differ_for_every_kind_of_colour_vision() -> None:
    """Blue is what all but the rarest kind tell from orange."""
    for share in (0.25, 0.5, 1.0):
        pro, contra = (colours(np.array(sign * share)).astype(int) for sign in (1, -1))
        assert pro[2] - contra[2] > 40


def test_a_bitmap_holds_the_colours_it_was_given() -> None:
    from io import BytesIO

    from PIL import Image

    shades = np.random.default_rng(0).integers(0, 256, (5, 7, 3)).astype(np.uint8)
    with Image.open(BytesIO(png_of(shades))) as image:
        assert np.array_equal(np.asarray(image), shades)


@given(st.booleans(), st.booleans(), st.integers(0, 10_000), st.floats(1e-9, 1e9))
def test_bytes_give_weights_back_to_a_255th_of_their_range(signed: bool, wide: bool, seed: int, size: float) -> None:
    drawn = np.random.default_rng(seed).normal(size=(4, 6)) * size
    values = drawn if signed else np.abs(drawn)
    values[0, 0] = 0
    special = np.array([False] * 4 + [True] * 2)
    found = quantized(values, special, signed, wide)
    assert found.whole.max() <= (65535 if wide else 255)
    back = (found.whole - found.zero) / found.steps * np.where(special, found.ranges[1], found.ranges[0])
    assert back[0, 0] == 0
    for side, largest in ((~special, found.ranges[0]), (special, found.ranges[1])):
        span = largest * (2 if signed else 1)
        assert np.abs(back - values)[:, side].max() < span / 255


@given(st.lists(TEXT, max_size=6))
def test_segments_spell_the_text(words: list[str]) -> None:
    found = axis(words)
    spelled = "".join(one.gap + one.text for one in segments(found)) + tail(found)
    assert spelled == found.text


@given(st.text(max_size=60), st.floats(30, 300))
def test_wrapped_lines_fit_and_lose_no_letter(text: str, width: float) -> None:
    lines = wrapped(text, width, 12)
    assert all(room(line, 12) <= width for line in lines)
    assert sum(len("".join(line.split())) for line in lines) >= len("".join(text.split())) - text.count("\x85")


@pytest.mark.parametrize("text", NASTY)
def test_labels_are_never_empty_nor_long(text: str) -> None:
    assert 0 < len(label(Unit(text)).encode()) < 300


def test_figures_have_the_decimals_of_their_scale() -> None:
    assert [figure(0.5, scale) for scale in (0.001, 0.5, 1, 20, 500)] == ["0.50000", "0.50", "0.50", "0", "0"]
