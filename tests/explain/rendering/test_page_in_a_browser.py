"""The page as a browser runs it, where one is installed."""

import shutil
import subprocess
from html import unescape
from pathlib import Path

import pytest

from regard.explain.attribution import Axis, Unit
from regard.explain.rendering import render
from tests.explain.rendering.shapes import NASTY, SHAPES, axis, explained

BROWSER = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), ""
)

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not BROWSER, reason="no browser is installed")]


def opened(page: bytes, folder: Path) -> str:
    """The document after its script has run."""
    (folder / "page.html").write_bytes(page)
    flags = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder / 'profile'}", "--dump-dom"]
    told = subprocess.run(
        [BROWSER, *flags, (folder / "page.html").as_uri()], capture_output=True, timeout=120, check=True
    )
    return unescape(told.stdout.decode().split('<script type="application/json"')[0])


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_opens(shape: str, tmp_path: Path) -> None:
    seen = opened(render(SHAPES[shape], ".html"), tmp_path)
    assert "<canvas" in seen
    assert SHAPES[shape].caveat in seen
    # The keys are the last thing the script writes.
    assert "<kbd>Esc</kbd>" in seen


def test_nasty_texts_are_shown_and_not_run(tmp_path: Path) -> None:
    # What the browser itself may not show as it is: the null character, half characters, and line ends.
    shown = [text for text in NASTY if not set(text) & set("\x00\r\ud800\udc00")]
    outputs = Axis("", tuple(Unit(text) for text in shown))
    seen = opened(render(explained(outputs, axis(NASTY)), ".html"), tmp_path)
    assert "<kbd>Esc</kbd>" in seen
    assert all(text in seen for text in ("<script>alert(1)</script>", "👩‍👩‍👧‍👦", "北京<b>"))


def test_several_maps_can_be_chosen(tmp_path: Path) -> None:
    seen = opened(render([SHAPES["matrix"]] * 5, ".html"), tmp_path)
    assert seen.count('role="option"') == 5
