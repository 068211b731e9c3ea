"""What people do on the page, in a real browser against a real service."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from tests.serve.conftest import Server
from tests.serve.pages import PHONE, Watched, browsing, explored, needs_browser, state, watching

pytestmark = needs_browser
CHOSEN, PINNED = re.compile(r"\bchosen\b"), re.compile(r"\bpinned\b")
OTHERS = ("answering", "classification", "dialogue", "language", "summarization", "tagging")
READABLE = re.compile("^[a-z]")
# The language may follow.
TEXT = re.compile("^Text")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with browsing() as found:
        yield found


@pytest.fixture
def watched(browser: Browser) -> Iterator[Watched]:
    with watching(browser) as found:
        yield found
        assert found.clean()


def test_the_page_opens_on_a_worked_example_before_anything_is_predicted(server: Server, watched: Watched) -> None:
    page, golden = watched.page, server.shelf["translation"].pipeline.golden[0]
    for path in ("predict", "explore"):
        page.route(f"**/v1/{path}", lambda route: None)
    page.goto(server.url)
    expect(page.get_by_label(TEXT)).to_have_value(golden["input"]["source"])
    expect(page.locator(".output")).to_have_text(golden["text"])


def test_every_tab_shows_a_result_and_explains_it(server: Server, watched: Watched) -> None:
    page = watched.page
    page.goto(server.url)
    for name in server.shelf:
        page.get_by_role("tab", name=name).click()
        expect(page.get_by_role("tab", name=name)).to_have_attribute("aria-selected", "true")
        explored(page)
        shown = page.locator(".talk .bubble" if name == "dialogue" else ".output")
        expect(shown.first).not_to_be_empty()
        assert f"model={name}" in state(page)


def test_a_translation_follows_the_typing_and_can_be_several(server: Server, watched: Watched) -> None:
    page = watched.page
    page.goto(f"{server.url}/#model=translation")
    explored(page)
    with page.expect_response("**/v1/predict") as answer:
        page.get_by_label(TEXT).fill("b a d")
    expect(page.locator(".output")).to_have_text(answer.value.json()["results"][0]["text"] or "Nothing was written.")
    with page.expect_response("**/v1/predict"):
        page.get_by_label("Outputs").select_option("3")
    expect(page.locator(".best li")).to_have_count(2)
    assert "in.source=b+a+d" in state(page)
    assert "set.search.best=3" in state(page)


def test_nothing_is_shown_under_an_empty_text(server: Server, watched: Watched) -> None:
    page = watched.page
    page.goto(f"{server.url}/#model=translation")
    explored(page)
    page.get_by_label(TEXT).fill(" ")
    expect(page.locator(".output")).to_be_hidden()
    expect(page.locator(".queries .word").first).to_be_hidden()
    page.get_by_label(TEXT).fill("a b")
    expect(page.locator(".output")).to_be_visible()
    explored(page)


def test_a_service_that_is_gone_is_told_in_a_sentence(server: Server, browser: Browser) -> None:
    with watching(browser) as watched:
        page = watched.page
        page.goto(f"{server.url}/#model=translation&lang=zh")
        explored(page)
        page.route("**/v1/**", lambda route: route.abort("connectionrefused"))
        page.get_by_label(re.compile("^原文")).fill("a b")
        expect(page.locator(".form .problem")).to_have_text("服务没有回应。它还在运行吗？")


def test_words_ribbons_matrix_and_thumbnails_answer_one_another(server: Server, watched: Watched) -> None:
    page = watched.page
    page.goto(f"{server.url}/#model=translation")
    explored(page)
    second = page.locator(".queries .word").nth(1)
    second.hover()
    expect(second).to_have_class(CHOSEN)
    expect(page.locator(".grid")).to_have_class("grid has-row")
    expect(page.locator(".readout .told")).to_contain_text("looks most at")
    assert page.locator(".keys .word").first.evaluate("word => word.style.backgroundColor") != ""
    page.locator(".matrix .window").hover(position={"x": 130, "y": 90})
    expect(page.locator(".readout .told")).to_contain_text("looks at")
    expect(page.locator(".grid")).to_have_class("grid has-row has-column")
    expect(page.locator(".formula .mono").first).to_contain_text("softmax")
    before = page.locator(".legend .numbers").inner_text()
    page.locator(".thumb").nth(1).hover()
    assert page.locator(".legend .numbers").inner_text() != before
    page.locator("h2").hover()
    expect(page.locator(".legend .numbers")).to_have_text(before.replace("\n", ""))


def test_a_ribbon_can_be_pointed_at(server: Server, watched: Watched) -> None:
    page = watched.page
    page.goto(f"{server.url}/#model=translation")
    explored(page)
    page.locator(".queries .word").first.click()
    middle = page.locator(".ribbons .window").bounding_box()
    assert middle is not None
    told = set()
    for step in range(12):
        page.mouse.move(middle["x"] + middle["width"] * (0.3 + step / 30), middle["y"] + middle["height"] * 0.98)
        told.add(page.locator(".readout .told").inner_text())
    assert any("looks at" in one for one in told)


def test_a_click_pins_arrows_step_and_escape_lets_go(server: Server, watched: Watched) -> None:
    page = watched.page
    page.goto(f"{server.url}/#model=translation")
    explored(page)
    words = page.locator(".queries .word")
    words.first.click()
    expect(words.first).to_have_class(PINNED)
    assert "pin=0." in state(page)
    page.keyboard.press("ArrowRight")
    expect(words.nth(1)).to_have_class(PINNED)
    page.keyboard.press("Escape")
    expect(page.locator(".pinned")).to_have_count(0)
    assert "pin" not in state(page)


def test_another_word_can_be_taken_and_the_rest_is_written_anew(server: Server, watched: Watched) -> None:
    page = watched.page
    page.goto(f"{server.url}/#model=translation")
    explored(page)
    page.locator(".word-button").first.click()
    choice = page.get_by_role("menuitem", disabled=False).filter(has_text=READABLE).last
    taken = choice.locator("span").first.inner_text()
    choice.click()
    expect(page.locator(".more .chip")).to_contain_text(taken)
    expect(page.locator(".compare .side")).to_have_count(2)
    assert "prefix=" in state(page)
    page.locator(".more .chip button").click()
    expect(page.locator(".more .chip")).to_have_count(0)


def test_a_candidate_of_the_search_can_be_taken(server: Server, watched: Watched) -> None:
    page = watched.page
    page.goto(f"{server.url}/#model=translation")
    explored(page)
    node = page.locator(".tree .node", has=page.locator("text", has_text=READABLE)).first
    text = node.locator("text").text_content().removesuffix("…")
    node.click()
    expect(page.locator(".more .chip")).to_contain_text(text)


def test_what_if_compares_before_and_after(server: Server, watched: Watched) -> None:
    page = watched.page
    page.goto(f"{server.url}/#model=translation")
    explored(page)
    page.locator(".cell").nth(1).hover()
    page.locator(".power").first.click()
    expect(page.locator(".compare .side")).to_have_count(2)
    expect(page.locator(".verdict")).to_contain_text("×")
    assert "off=0.0.0" in state(page)
    page.locator(".whatif .chip button").click()
    expect(page.locator(".compare .side")).to_have_count(0)
    page.locator(".matrix .window").click(position={"x": 130, "y": 90})
    page.get_by_label("Set this weight").fill("0.9")
    expect(page.locator(".whatif .chip")).to_contain_text("0.90")
    expect(page.locator(".compare .side")).to_have_count(2)
    page.locator(".whatif .chip button").click()
    page.locator(".keys .word").first.dblclick()
    page.locator(".keys input").fill("c")
    page.keyboard.press("Enter")
    expect(page.locator(".whatif .chip")).to_contain_text("c")
    expect(page.locator(".compare .side").nth(1).locator(".source")).to_contain_text("c")


def test_methods_come_with_their_caveat_and_the_audit(server: Server, watched: Watched) -> None:
    page = watched.page
    page.goto(f"{server.url}/#model=translation")
    explored(page)
    expect(page.locator(".trust")).to_contain_text("regard audit")
    page.get_by_label("Explained by").select_option("occlusion")
    expect(page.locator(".trust")).to_contain_text("Occlusion takes away one part at a time")
    expect(page.locator(".legend")).to_contain_text("Against")
    assert "method=occlusion" in state(page)


def test_the_address_holds_the_whole_view(server: Server, watched: Watched) -> None:
    page = watched.page
    page.goto(f"{server.url}/#model=translation&in.source=a+b+c&units=pieces&layer=0&head=1&pin=0.1&lang=zh&theme=dark")
    explored(page)
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    expect(page.locator("html")).to_have_attribute("lang", "zh-CN")
    expect(page.locator("h2")).to_have_text("模型看了什么")
    expect(page.locator(".thumb[aria-pressed=true]")).to_have_attribute("data-at", "0/1")
    expect(page.locator(".keys .pinned")).to_have_count(1)
    page.get_by_role("button", name="English").click()
    page.get_by_role("button", name="Light").click()
    explored(page)
    here = state(page)
    assert "lang=en" in here
    page.reload()
    explored(page)
    assert state(page) == here
    expect(page.get_by_label(TEXT)).to_have_value("a b c")
    expect(page.locator("html")).to_have_attribute("data-theme", "light")


# A switch is pressed, and before the page has written that down another address arrives.
OVERTAKEN = """async hash => {
  const { settle } = await import("/page/state.js");
  document.querySelector(".switches .segments:last-of-type button:last-child").click();
  location.hash = hash;
  settle();
}"""


def test_an_address_that_arrives_while_another_is_written_is_taken(server: Server, watched: Watched) -> None:
    page = watched.page
    page.goto(f"{server.url}/#model=translation&in.source=a+b+c")
    explored(page)
    page.evaluate(OVERTAKEN, "model=translation&in.source=c+b+a")
    expect(page.get_by_label(TEXT)).to_have_value("c b a")
    explored(page)
    assert "in.source=c+b+a" in state(page)


def test_pictures_and_numbers_can_be_taken_away(server: Server, watched: Watched) -> None:
    page = watched.page
    page.goto(f"{server.url}/#model=translation")
    explored(page)
    begins = {"png": b"\x89PNG", "svg": b"<svg", "json": b"{", "html": b"<!doctype html>"}
    for name, first in begins.items():
        with page.expect_download() as found:
            page.get_by_role("button", name=name.upper(), exact=True).click()
        assert found.value.suggested_filename == f"regard-weights.{name}"
        assert found.value.path().read_bytes().lstrip().startswith((first, b"<?xml"))


def test_a_story_is_streamed_and_sampled_again(server: Server, watched: Watched) -> None:
    page = watched.page
    page.goto(f"{server.url}/#model=language")
    explored(page)
    with page.expect_request("**/v1/predict") as asked:
        page.get_by_role("button", name="Another one").click()
    assert asked.value.post_data_json["stream"] is True
    assert asked.value.post_data_json["settings"]["search.seed"] == 1
    assert asked.value.response().header_value("content-type").startswith("text/event-stream")
    with page.expect_request("**/v1/predict") as asked:
        page.get_by_label("Temperature").fill("0.5")
    assert asked.value.post_data_json["settings"]["search.temperature"] == 0.5
    explored(page)


def test_a_message_is_answered(server: Server, watched: Watched) -> None:
    if "dialogue" not in server.shelf:
        pytest.skip("no conversation is served")
    page = watched.page
    page.goto(f"{server.url}/#model=dialogue")
    explored(page)
    page.get_by_role("button", name="Start over").click()
    page.get_by_label("Say something").fill("Hello there")
    page.keyboard.press("Enter")
    expect(page.locator(".bubble.you")).to_contain_text("Hello there")
    expect(page.locator(".bubble.model")).to_have_count(1)
    explored(page)


def test_a_key_is_asked_for_and_sent(server: Server, browser: Browser) -> None:
    with watching(browser) as watched:
        page, sent = watched.page, []

        def guard(route: object) -> None:
            sent.append(route.request.headers.get("authorization"))
            wrong = {"error": {"message": "A key is needed.", "type": "key", "code": 401}}
            route.continue_() if sent[-1] == "Bearer good" else route.fulfill(status=401, json=wrong)

        page.route("**/v1/**", guard)
        page.goto(server.url)
        for key in ("bad", "good"):
            page.get_by_label("Key", exact=True).fill(key)
            page.get_by_role("button", name="Use this key").click()
            expect(page.locator("dialog[open]")).to_have_count(int(key == "bad"))
        explored(page)
        assert sent[:3] == [None, "Bearer bad", "Bearer good"]
        # Only what was refused is complained of.
        assert all("401" in one for one in watched.complaints)


def test_a_refusal_is_shown_in_the_services_words(server: Server, browser: Browser) -> None:
    with watching(browser) as watched:
        page = watched.page
        page.goto(f"{server.url}/#model=translation&set.search.beams=0")
        expect(page.locator(".form .problem")).to_contain_text("search.beams")


def test_tabs_can_be_worked_by_keyboard(server: Server, watched: Watched) -> None:
    page = watched.page
    page.goto(server.url)
    tabs = page.get_by_role("tab")
    tabs.first.focus()
    page.keyboard.press("ArrowRight")
    expect(tabs.nth(1)).to_be_focused()
    expect(tabs.nth(1)).to_have_attribute("aria-selected", "true")


@pytest.mark.parametrize("name", ["translation", *(pytest.param(name, marks=pytest.mark.slow) for name in OTHERS)])
def test_a_phone_needs_no_sideways_scrolling(server: Server, browser: Browser, name: str) -> None:
    with watching(browser, PHONE, is_mobile=True, has_touch=True) as watched:
        watched.page.goto(f"{server.url}/#model={name}")
        explored(watched.page)
        assert watched.page.evaluate("document.scrollingElement.scrollWidth <= innerWidth")
        assert watched.clean()
