"""What every kind of file must do with every shape of explanation and with any text."""

import json
import re
from html.parser import HTMLParser
from io import BytesIO
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image
from rich.cells import cell_len

from regard.errors import ModelError, RequestError
from regard.explain.attribution import Attribution, Axis, Unit
from regard.explain.rendering import RENDERERS, render, terminal
from tests.explain.rendering.shapes import NASTY, SHAPES, axis, explained, numbered

TEXTUAL = [suffix for suffix in RENDERERS if suffix != ".png"]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("suffix", RENDERERS)
def test_every_shape_is_drawn_and_twice_the_same(suffix: str, shape: str) -> None:
    drawn = render(SHAPES[shape], suffix)
    assert drawn
    assert render(SHAPES[shape], suffix) == drawn


@pytest.mark.parametrize("suffix", RENDERERS)
@pytest.mark.parametrize("count", [2, 6])
def test_several_maps_are_drawn(suffix: str, count: int) -> None:
    assert render([SHAPES["matrix"]] * count, suffix)


@pytest.mark.parametrize("suffix", RENDERERS)
@pytest.mark.parametrize("shape", [(1, 1), (5, 1), (1, 30)])
def test_nasty_texts_stay_texts(suffix: str, shape: tuple[int, int]) -> None:
    for start in range(0, len(NASTY), 5):
        words = [*NASTY, *NASTY][start : start + 5]
        outputs, inputs = Axis("", tuple(Unit(word) for word in words[: shape[0]])), axis((words * 6)[: shape[1]])
        named = Attribution(
            words[0], outputs, inputs, np.ones((len(outputs), len(inputs))), source=words[-1], caveat=words[-2],
            check={words[0]: 0.5},
        )  # fmt: skip
        drawn = render(named, suffix)
        CHECKS[suffix](drawn)


def sound_text(drawn: bytes) -> None:
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]", drawn.decode())


def sound_svg(drawn: bytes) -> None:
    tags = {element.tag.split("}")[1] for element in ElementTree.fromstring(drawn).iter()}
    assert tags <= {"svg", "defs", "pattern", "path", "rect", "text", "title", "image"}
    names = {name for element in ElementTree.fromstring(drawn).iter() for name in element.attrib}
    assert not any(name.startswith("on") for name in names)


class Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.opened: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.data = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.opened.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        if self.opened and self.opened[-1] == "script" and data.startswith('{"palette"'):
            self.data = data


def sound_page(drawn: bytes) -> None:
    page = Page()
    page.feed(drawn.decode())
    expected = ["html", "head", *["meta"] * 3, "title", "style", "body", "main", "noscript", "script", "script"]
    assert page.opened == expected
    assert not any(name.startswith("on") or name in {"src", "href"} for name, _ in page.attributes)
    assert "<" not in page.data
    assert json.loads(page.data)["maps"]


CHECKS = {
    ".txt": sound_text,
    ".svg": sound_svg,
    ".png": lambda drawn: Image.open(BytesIO(drawn)).verify(),
    ".html": sound_page,
    ".json": json.loads,
}


def test_the_page_asks_for_nothing_from_outside() -> None:
    page = render(SHAPES["matrix"], ".html").decode()
    assert not re.search(r"https?://|//cdn|@import|url\(|fetch\(|XMLHttp|WebSocket|innerHTML|document\.write", page)
    assert "default-src 'none'" in page
    assert "unsafe" not in page.split("</head>")[0].split("<style>")[0]


def test_json_gives_every_number_back() -> None:
    attribution = SHAPES["signed"]
    found = json.loads(render(attribution, ".json"))
    assert np.array_equal(np.array(found["weights"]), attribution.weights)
    assert [unit["text"] for unit in found["inputs"]["units"]] == [unit.text for unit in attribution.inputs.units]
    assert isinstance(json.loads(render([attribution], ".json")), list)


def test_a_notebook_shows_a_picture_without_script() -> None:
    shown = SHAPES["matrix"]._repr_html_()
    assert "<svg" in shown
    assert "<script" not in shown


@pytest.mark.parametrize("width", [20, 33, 80, 200])
@pytest.mark.parametrize("shape", SHAPES)
def test_no_line_is_wider_than_the_terminal(shape: str, width: int) -> None:
    for colour in (False, True):
        lines = re.sub(r"\x1b\[[0-9;]*m", "", terminal(SHAPES[shape], width, colour)).splitlines()
        assert max(map(cell_len, lines)) <= width


def test_without_colour_there_are_no_escape_codes_and_with_it_there_are() -> None:
    assert "\x1b" not in terminal(SHAPES["signed"])
    assert "\x1b[48;2;" in terminal(SHAPES["signed"], colour=True)


def test_an_unknown_ending_is_refused_with_the_known_ones() -> None:
    with pytest.raises(RequestError, match=r"\.gif.*\.txt, \.svg, \.png, \.html, \.json"):
        render(SHAPES["matrix"], ".gif")
    with pytest.raises(RequestError, match="at least one"):
        render([], ".svg")


@pytest.mark.parametrize(
    ("weights", "told"),
    [(np.ones((2, 2)), "3 outputs"), (np.full((3, 2), np.nan), "no numbers"), (-np.ones((3, 2)), "signed=True")],
)
def test_weights_that_cannot_be_shown_are_refused(weights: np.ndarray, told: str) -> None:
    for suffix in RENDERERS:
        with pytest.raises(ModelError, match=told):
            render(Attribution("x", numbered(3), numbered(2), weights), suffix)


def test_sizes_stay_small() -> None:
    heads = [explained(numbered(62, 2), numbered(62, 2)) for _ in range(144)]
    assert len(render(heads, ".html")) < 1_000_000
    document = explained(numbered(2000), numbered(2000))
    assert len(render(document, ".html")) < 6_000_000
    assert len(render(document, ".svg")) < 15_000_000
