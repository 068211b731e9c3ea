"""The page's files: what is served, what is not, and that both languages say everything."""

import json
import re
from importlib.resources import files
from pathlib import Path

import httpx
import pytest

from regard.api.exploring import NO_ATTENTION
from regard.explain.rendering import colours
from regard.serve.page import FILES, SCRIPTS
from tests.serve.conftest import Server

PAGE = Path(str(files("regard.serve") / "page"))
SOURCES = {path.name: path.read_text("utf-8") for path in PAGE.glob("*.js")}
ENTRY = re.compile(r'^  (?:"([\w. ]+)"|(\w+)): (".*"),$', re.M)


def sentences(name: str) -> dict[str, str]:
    return {quoted or plain: json.loads(text) for quoted, plain, text in ENTRY.findall(SOURCES[name])}


def test_every_file_is_served_and_known_again(server: Server) -> None:
    with httpx.Client(base_url=server.url) as client:
        for path in ("/", *(f"/page/{name}" for name in FILES)):
            found = client.get(path)
            assert found.status_code == 200
            assert found.content == FILES[path.removeprefix("/page/").strip("/") or "index.html"].content
            assert client.get(path, headers={"If-None-Match": found.headers["etag"]}).status_code == 304


@pytest.mark.parametrize("name", ["page.py", "../page.py", "%2e%2e/page.py", "..%2fpage.py", "APP.JS", "%00"])
def test_nothing_else_is(server: Server, name: str) -> None:
    found = httpx.get(f"{server.url}/page/{name}")
    assert found.status_code in (400, 404)


def test_the_list_of_files_is_the_folder() -> None:
    assert {path.name for path in PAGE.iterdir() if path.is_file()} == set(FILES)
    assert len(SCRIPTS) == len(SOURCES)


def test_both_languages_say_everything() -> None:
    english, chinese = sentences("english.js"), sentences("chinese.js")
    assert set(english) == {name for name in chinese if not name.startswith("caveat.")}
    used = {name for text in SOURCES.values() for name in re.findall(r'\b(?:say|sayOr|heading|line)\("([\w.]+)"', text)}
    assert used <= set(english)
    for name, text in chinese.items():
        assert set(re.findall(r"\{\w+\}", text)) == set(re.findall(r"\{\w+\}", english.get(name, text))), name


def test_colours_are_those_of_every_other_picture() -> None:
    for palette in (colours.FOR, colours.AGAINST, colours.FOR_DARK, colours.AGAINST_DARK):
        assert json.dumps(palette) in SOURCES["colours.js"]


@pytest.mark.parametrize("name", [*SOURCES, "index.html"])
def test_no_markup_is_made_of_text_and_nothing_comes_from_elsewhere(name: str) -> None:
    text = (PAGE / name).read_text("utf-8")
    markup = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|srcdoc"
    assert not re.search(rf"{markup}| on\w+=|<style|style=\"", text)
    assert set(re.findall(r"https?://[\w./]+", text)) <= {"http://www.w3.org/2000/svg"}


def test_notes_of_the_service_are_known_word_for_word() -> None:
    notes = {name: text for name, text in sentences("english.js").items() if name.startswith("note.")}
    written = re.sub(r'"\s+f?"', "", Path(str(files("regard.api") / "exploring.py")).read_text("utf-8"))
    told = re.sub(r"\{[^{}]*\}", "{}", written)
    assert notes["note.no_attention"] == NO_ATTENTION
    for name in ("note.part", "note.windows", "note.engine"):
        assert re.sub(r"\{\w+\}", "{}", notes[name]) in told
    # It is put together from two.
    for half in re.sub(r"\{\w+\}", "{}", notes["note.room"]).split(" It is "):
        assert half in told
