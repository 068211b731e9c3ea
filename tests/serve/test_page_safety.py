"""Hostile texts are shown as they are, wherever they come from, and never run."""

import json
import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.serve.conftest import Server
from tests.serve.hostile import FIELDS, TEXTS, answers
from tests.serve.pages import Watched, browsing, explored, needs_browser, watching

pytestmark = needs_browser
# What stands in the page's own elements; a text taken for markup would add others.
KINDS = "script, iframe, object, embed, video, marquee, math, details, template, style, img, body"
# The language may follow.
TEXT = re.compile("^Text")
ALIEN = f"main :is({KINDS}, [onerror], [onload], [onfocus])"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with browsing() as found:
        yield found


@pytest.fixture
def bare(browser: Browser) -> Iterator[Watched]:
    """A page without the guard of its content policy: here only the page itself stands against a text."""
    with watching(browser, bypass_csp=True) as found:
        found.page.on("dialog", lambda dialog: pytest.fail(dialog.message))
        yield found
        assert found.clean()


def harmless(page: Page) -> bool:
    assert page.evaluate("window.hit") is None
    assert page.locator(ALIEN).count() == 0
    return True


def hostile(page: Page) -> None:
    """Every route of the service answers with hostile texts."""
    said = answers()

    def answer(route: Route) -> None:
        name = route.request.url.split("/v1/")[1]
        if route.request.method == "POST" and (route.request.post_data_json or {}).get("stream"):
            events = [{"settled": TEXTS[0]}, {"result": said["predict"]["results"][0]}]
            lines = [f"data: {json.dumps(event)}\n\n" for event in events]
            route.fulfill(body="".join([*lines, "data: [DONE]\n\n"]), content_type="text/event-stream")
        else:
            route.fulfill(json=said[name])

    page.route("**/v1/**", answer)


def test_there_are_300_of_them() -> None:
    assert len(set(TEXTS)) == 300


def test_answers_labels_and_names_of_a_hostile_service_are_only_text(server: Server, bare: Watched) -> None:
    page = bare.page
    hostile(page)
    page.goto(server.url)
    for number, task in enumerate(FIELDS):
        page.get_by_role("tab").nth(number).click()
        page.wait_for_selector(f"#tab-{task}[aria-selected=true]")
        if task not in ("masked", "embedding"):
            explored(page)
        if task == "language":
            page.get_by_role("button", name="Write").click()
        assert harmless(page)
        if task == "classification":
            assert page.locator(".output .bars .name").all_text_contents() == TEXTS
        if task == "tagging":
            assert page.locator(".kinds li").all_text_contents() == [f"{text} 1" for text in sorted(TEXTS)]
        if task == "masked":
            assert page.locator(".output .bars .name").all_text_contents() == TEXTS


def test_the_explorer_of_a_hostile_service_is_only_text(server: Server, bare: Watched) -> None:
    page = bare.page
    hostile(page)
    page.goto(f"{server.url}/#model=translation&off=0.0.0&pin=1.2")
    explored(page)
    expect(page.locator(".compare .unit b")).to_have_count(600)
    assert page.locator(".compare .side").first.locator(".unit b").all_text_contents() == TEXTS
    assert page.locator(".keys .word").all_text_contents() == TEXTS
    assert page.locator(".best li span:first-child").all_text_contents() == TEXTS[1:]
    expect(page.locator(".formula .mono").first).to_have_text(TEXTS[41])
    page.keyboard.press("Escape")
    page.locator(".queries .word").nth(3).click()
    expect(page.locator(".others .alternative").first).to_contain_text(TEXTS[0])
    page.locator(".others .alternative").nth(1).click()
    expect(page.locator(".more .chip")).to_contain_text(TEXTS[1])
    assert harmless(page)


def test_what_the_address_brings_is_only_text(server: Server, bare: Watched) -> None:
    page = bare.page
    page.goto(server.url)
    for text in TEXTS[::60]:
        names = ("model", "lang", "theme", "method", "attention", "layer", "pin", "off", "cell")
        values = dict.fromkeys(names, text)
        values |= {"in.source": text, "in.__proto__": text, "other": json.dumps({"source": text}), "prefix": text}
        page.evaluate("values => { location.hash = new URLSearchParams(values) }", values)
        expect(page.get_by_label(TEXT)).to_have_value(text)
        assert harmless(page)


# Whether what is shown, without the labels that stand in it, is this text.
SHOWN = """text => {
  const copy = document.querySelector(".output .reading").cloneNode(true);
  copy.querySelectorAll("small").forEach((one) => one.remove());
  return copy.textContent === text;
}"""


@pytest.mark.slow
def test_300_texts_typed_in_are_read_and_shown_as_they_are(server: Server, bare: Watched) -> None:
    page = bare.page
    page.goto(f"{server.url}/#model=tagging")
    explored(page)
    for text in TEXTS:
        with page.expect_response("**/v1/predict"):
            page.locator("textarea").fill(text)
        page.wait_for_function(SHOWN, arg=text)
        assert harmless(page)
