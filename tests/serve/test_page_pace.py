"""How fast the page answers a pointer where texts are long, and its pictures for the documentation."""

import os
from base64 import b64encode
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Page

from regard.serve.settings import ServeSettings
from tests.serve.conftest import Server, serving
from tests.serve.pages import PHONE, browsing, explored, needs_browser, watching

pytestmark = [needs_browser, pytest.mark.slow]
PIECES, LAYERS, HEADS = 500, 4, 4
PICTURES = Path(__file__).parents[2] / "docs" / "pictures"
TRANSLATOR = os.environ.get("REGARD_TRANSLATOR", "")
SENTENCE = "A man in a blue shirt is standing on a ladder cleaning a window."


def long_answer() -> dict[str, Any]:
    """An exploration of a text of 500 pieces, mostly looked at one after the other."""
    words = [f"piece{number}" for number in range(PIECES)]
    spans = np.cumsum([0, *(len(word) + 1 for word in words)])
    units = [
        {"text": word, "span": [int(start), int(start) + len(word)], "special": False}
        for word, start in zip(words, spans, strict=False)
    ]
    axis = {"text": " ".join(words), "units": units}
    random = np.random.default_rng(0)
    weights = random.dirichlet(np.full(PIECES, 0.02), (LAYERS, HEADS, PIECES)) * 0.5
    weights[..., np.arange(PIECES), np.arange(PIECES)] += 0.5
    attention = {"name": "cross", "title": "", "kind": "cross", "queries": "outputs", "keys": "inputs"}
    sizes = {"layers": LAYERS, "heads": HEADS, "rows": PIECES, "columns": PIECES, "taps": ["tap"] * LAYERS}
    packed = b64encode(np.rint(weights * 255).astype(np.uint8).tobytes()).decode()
    runs = [[number, number + 1] for number in range(PIECES)]
    more = {"probabilities": [0.5] * PIECES, "alternatives": None, "pieces": None, "tree": None, "notes": []}
    maps = {"attentions": [attention | sizes | {"bytes": packed, "check": 0.0}]}
    return {"result": None, "inputs": axis, "outputs": axis, "words": {"inputs": runs, "outputs": runs}} | maps | more


class Pace:
    """How long a pointer waits for an answer, and how much of that the browser works: others may keep it waiting."""

    def __init__(self, page: Page) -> None:
        self.page, self.inside = page, page.context.new_cdp_session(page)
        self.inside.send("Performance.enable")

    def worked(self) -> float:
        """Seconds of a processor that the page took so far."""
        found = self.inside.send("Performance.getMetrics")["metrics"]
        return next(one["value"] for one in found if one["name"] == "ProcessTime")

    def start(self) -> None:
        self.page.evaluate("performance.clearMeasures()")
        self.before = self.worked()

    def tell(self, name: str) -> None:
        found = self.page.evaluate("performance.getEntriesByName('hover to paint').map((one) => one.duration)")
        assert found
        work = 1000 * (self.worked() - self.before) / len(found)
        print(
            f"hover to paint, {PIECES} pieces, {name}: median {median(found):.0f} ms, worst {max(found):.0f} ms, "
            f"{work:.0f} ms of them at work"
        )


def test_500_pieces_stay_smooth(server: Server) -> None:
    answer = long_answer()
    with browsing() as browser, watching(browser) as watched:
        page = watched.page
        page.route("**/v1/explore", lambda route: route.fulfill(json=answer))
        page.route("**/v1/explore/cell", lambda route: route.fulfill(json={"formula": "", "text": ""}))
        page.goto(f"{server.url}/#model=translation&units=pieces")
        explored(page)
        page.wait_for_timeout(1000)
        pace = Pace(page)
        for name, place in {"words": ".queries", "ribbons": ".ribbons .window", "matrix": ".matrix .window"}.items():
            page.locator(place).scroll_into_view_if_needed()
            box = page.locator(place).bounding_box()
            assert box is not None
            pace.start()
            for step in range(30):
                across, down = (step + 0.5) / 30, 0.5 if name == "words" else 0.3 + step / 60
                # A line of words is far wider than the part of it that is seen.
                left, wide = max(box["x"], 80), min(box["width"], 600)
                page.mouse.move(left + wide * across, box["y"] + box["height"] * down)
                page.wait_for_timeout(40)
            pace.tell(name)
        pace.start()
        for number in range(LAYERS * (HEADS + 1)):
            page.locator(".thumb").nth(number).hover()
            page.wait_for_timeout(60)
        pace.tell("thumbnails")
        assert watched.clean()


@pytest.mark.skipif(not os.environ.get("REGARD_SCREENSHOTS"), reason="pictures are taken with REGARD_SCREENSHOTS=1")
def test_pictures_for_the_documentation(bundles: dict[str, Path]) -> None:
    first = [Path(TRANSLATOR)] if TRANSLATOR else [bundles["translation"]]
    others = [folder for task, folder in bundles.items() if task != "translation"]
    PICTURES.mkdir(exist_ok=True)
    with serving([*first, *others], ServeSettings()) as server, browsing() as browser:
        text = f"in.source={SENTENCE.replace(' ', '+')}&layer=1&head=3"
        taken(browser, server, "page-light", f"#{text}&pin=8.10")
        taken(browser, server, "page-dark", f"#{text}&pin=8.10&theme=dark")
        taken(browser, server, "page-chinese", f"#{text}&pin=3.&lang=zh")
        taken(browser, server, "page-what-if", f"#{text}&off=0.1.3&pin=8.10", whole=True)
        taken(browser, server, "page-phone", f"#{text}&pin=3.", size=PHONE, is_mobile=True, device_scale_factor=2)
        for name in list(server.shelf)[1:]:
            taken(browser, server, f"page-{server.shelf[name].task}", f"#model={name}")


def taken(
    browser: Any, server: Server, name: str, address: str, size: Any = None, whole: bool = False, **more: Any
) -> None:
    with watching(browser, size or {"width": 1360, "height": 1400}, **more) as watched:
        watched.page.goto(f"{server.url}/{address}")
        explored(watched.page)
        if "off=" in address:
            watched.page.wait_for_selector(".compare .side")
        if "pin=8.10" in address:
            watched.page.wait_for_selector(".formula .mono")
        watched.page.wait_for_timeout(2500)
        watched.page.screenshot(path=PICTURES / f"{name}.png", full_page=whole)
        assert watched.clean()
