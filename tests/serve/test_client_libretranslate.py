"""LibreTranslate's own client against a real server, and what its package does not send."""

import json
from collections import Counter
from collections.abc import Iterator
from urllib.error import HTTPError

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from libretranslatepy import LibreTranslateAPI

from regard.api import read
from regard.errors import ConfigError, RequestError
from regard.serve import html, libretranslate
from regard.serve.detecting import detected
from regard.serve.languages import NAMES, split, spoken
from regard.serve.settings import ServeSettings
from tests.serve.client_bundles import ENGLISH, GERMAN, Server, pair, served

TEXT = "The old king sees a cat."


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with served(["story", "en-to-de", "en-to-zh", "several", "spelling"], tmp_path_factory.mktemp("libre")) as running:
        yield running


@pytest.fixture(scope="module")
def client(server: Server) -> LibreTranslateAPI:
    return LibreTranslateAPI(server.url)


def sent(server: Server, values: object, path: str = "translate") -> httpx.Response:
    return httpx.post(f"{server.url}/{path}", json=values, timeout=60)


def expected(server: Server, name: str, text: str, *changes: str) -> str:
    return server.shelf[name].pipeline.with_settings(*changes).predict([text])[0].text


def test_a_translation_is_what_the_model_gives(server: Server, client: LibreTranslateAPI) -> None:
    assert client.translate(TEXT, "en", "de") == expected(server, "en-to-de", TEXT)


def test_source_and_target_choose_the_bundle(server: Server, client: LibreTranslateAPI) -> None:
    found = {target: client.translate(TEXT, "en", target) for target in ("de", "zh")}
    assert found == {target: expected(server, f"en-to-{target}", TEXT) for target in ("de", "zh")}
    for target in ("es", "it"):
        told = expected(server, "several", TEXT, f"predict.language={target}")
        assert client.translate(TEXT, "fr", target) == told


def test_every_language_and_its_targets_are_listed(client: LibreTranslateAPI) -> None:
    found = {one["code"]: one for one in client.languages()}
    assert found["en"] == {"code": "en", "name": "English", "targets": ["de", "en", "zh"]}
    assert found["fr"]["targets"] == ["es", "fr", "it"]
    assert set(found) == {"en", "de", "zh", "fr", "es", "it"}, "a translator without languages is not offered"


@pytest.mark.parametrize(("language", "texts"), [("en", ENGLISH), ("de", GERMAN)])
def test_a_language_is_found_among_those_served(client: LibreTranslateAPI, language: str, texts: list[str]) -> None:
    found = client.detect(" ".join(texts))
    assert found[0]["language"] == language
    assert {one["language"] for one in found} == {"en", "de", "zh", "fr", "es", "it"}
    assert sum(one["confidence"] for one in found) == pytest.approx(100, abs=0.1)
    assert [one["confidence"] for one in found] == sorted((one["confidence"] for one in found), reverse=True)


def test_auto_translates_each_text_from_its_own_language(server: Server) -> None:
    texts = [ENGLISH[0], GERMAN[0]]
    found = sent(server, {"q": texts, "source": "auto", "target": "de"}).json()
    assert found["translatedText"] == [expected(server, "en-to-de", ENGLISH[0]), GERMAN[0]]
    assert [one["language"] for one in found["detectedLanguage"]] == ["en", "de"]


def test_a_form_and_json_are_the_same_request(server: Server) -> None:
    body = {"q": TEXT, "source": "auto", "target": "zh", "alternatives": 1}
    forms = httpx.post(f"{server.url}/translate", data=body, timeout=60)
    parts = httpx.post(
        f"{server.url}/translate", files={name: (None, str(one)) for name, one in body.items()}, timeout=60
    )
    assert forms.json() == parts.json() == sent(server, body).json()


def test_alternatives_are_the_next_best_and_leave_the_best_alone(server: Server) -> None:
    plain = sent(server, {"q": TEXT, "source": "en", "target": "de"}).json()
    more = sent(server, {"q": TEXT, "source": "en", "target": "de", "alternatives": 2}).json()
    assert more["translatedText"] == plain["translatedText"]
    result = server.shelf["en-to-de"].pipeline.with_settings("search.best=3").predict([TEXT])[0]
    assert more["alternatives"] == [one["text"] for one in result.plain()["alternatives"]][1:]


def test_tags_survive_and_text_stays_text(server: Server) -> None:
    text = '<p>Fish &amp; <b class="a&amp;b">chips</b>, <i>she</i> said.</p>'
    found = sent(server, {"q": text, "source": "en", "target": "de", "format": "html"}).json()["translatedText"]
    assert Counter(html._TAG.findall(found)) == Counter(html._TAG.findall(text))


def test_a_text_of_several_lines_comes_back(server: Server, client: LibreTranslateAPI) -> None:
    assert client.translate("Who?\nHalf of it", "en", "de") == expected(server, "en-to-de", "Who?\nHalf of it")


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ({"source": "en", "target": "de"}, "missing q"),
        ({"q": "", "source": "en", "target": "de"}, "missing q"),
        ({"q": "x", "target": "de"}, "missing source"),
        ({"q": "x", "source": "en"}, "missing target"),
        ({"q": "x", "source": "tlh", "target": "de"}, "tlh is not supported"),
        ({"q": "x", "source": "en", "target": "auto"}, "auto is not supported"),
        ({"q": "x", "source": "de", "target": "en"}, "English (en) is not available as a target language from German"),
        ({"q": "x", "source": "en", "target": "de", "format": "pdf"}, "pdf format is not supported"),
        ({"q": {"a": 1}, "source": "en", "target": "de"}, "Invalid request: q"),
        ({"q": "x", "source": "en", "target": "de", "alternatives": 999}, "alternatives"),
        ({"q": ["x"] * 999, "source": "en", "target": "de"}, "999 texts"),
        (["x"], "no JSON object"),
    ],
)
def test_what_is_wrong_is_told_as_libretranslate_tells_it(server: Server, body: object, told: str) -> None:
    answer = sent(server, body)
    assert answer.status_code == 400
    assert list(answer.json()) == ["error"]
    assert told in answer.json()["error"]


@pytest.mark.parametrize(("kind", "body"), [("application/json", b"{"), ("text/plain", b"q=x"), ("", b"")])
def test_a_body_of_another_kind_is_refused(server: Server, kind: str, body: bytes) -> None:
    answer = httpx.post(f"{server.url}/translate", content=body, headers={"content-type": kind}, timeout=60)
    assert answer.status_code in (400, 415)
    assert answer.json()["error"]


def test_their_client_raises_what_it_raises_elsewhere(client: LibreTranslateAPI) -> None:
    with pytest.raises(HTTPError) as caught:
        client.translate("x", "en", "tlh")
    assert caught.value.code == 400
    assert json.loads(caught.value.read()) == {"error": "tlh is not supported"}
    caught.value.close()


def test_windows_of_other_programs_are_told_the_limits(server: Server) -> None:
    found = httpx.get(f"{server.url}/frontend/settings", timeout=60).json()
    assert found["charLimit"] == ServeSettings().characters
    assert found["language"]["target"] == {"code": "de", "name": "German"}


def test_what_the_service_was_told_comes_before_what_the_recipe_says() -> None:
    told = list(spoken(read(pair(".en", ".de")), "fr-it", "zh-en"))
    assert told == [("fr", "it", ())]


@pytest.mark.parametrize(
    ("recipe", "name", "languages"),
    [
        (pair(".en", ".de"), "x", [("en", "de")]),
        (pair(".tok.en.gz", ".DE"), "x", [("en", "de")]),
        (pair("", "", languages={"source": "pt-BR", "target": "en"}), "x", [("pt-BR", "en")]),
        ({**pair("", ".x"), "metrics": [{"name": "bleu", "tokenizer": "zh"}]}, "big-en-de", [("en", "zh")]),
        (pair("", ""), "multi30k-en-de", [("en", "de")]),
        (pair(".words", ".sounds"), "spelling-to-sound", []),
    ],
)
def test_languages_are_told_by_the_recipe_and_otherwise_by_the_name(
    recipe: dict[str, object], name: str, languages: list[tuple[str, str]]
) -> None:
    assert [one[:2] for one in spoken(read(recipe), "", name)] == languages


@pytest.mark.parametrize("told", [{"spelling": "words-sounds"}, {"nobody": "en-de"}])
def test_a_pair_that_is_none_is_refused_at_the_start(server: Server, told: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match=next(iter(told.values()))):
        libretranslate.router(server.shelf, ServeSettings(languages=told))


@given(st.sampled_from(sorted(NAMES)), st.sampled_from(sorted(NAMES)), st.sampled_from(["", "big-", "v2_"]))
def test_a_pair_is_read_from_any_name(source: str, target: str, before: str) -> None:
    assert split(f"{before}{source}-{target}") == (source, target)
    assert split(f"{before}{source}{target}") == ("", "")


@given(st.text(max_size=40))
def test_whatever_the_text_there_is_a_first_language(text: str) -> None:
    found = detected(text, ["de", "en"])
    assert {one.language for one in found} == {"de", "en"}
    assert all(0 <= one.confidence <= 100 for one in found)


def test_what_cannot_be_told_is_the_language_named_first() -> None:
    assert detected("", ["zh", "en", "de"])[0].language == "zh"
    assert detected("x", ["pt-BR"])[0].language == "pt-BR"
    with pytest.raises(RequestError, match="tlh"):
        detected("x", ["tlh"])


PARTS = st.sampled_from(
    ["<b>", "</b>", '<a href="x&amp;y">', "</a>", "<br/>", " fish ", "&amp;", "&lt;i&gt;", "&#233;", "<", "&"]
)


@given(st.lists(PARTS, max_size=8), st.lists(PARTS, max_size=8))
def test_nothing_becomes_a_tag_that_was_none_in_the_source(source: list[str], output: list[str]) -> None:
    found = html.closed("".join(output), "".join(source))
    assert not Counter(html._TAG.findall(found)) - Counter(html._TAG.findall("".join(source)))


@given(st.lists(PARTS, max_size=8))
def test_html_that_is_opened_and_closed_says_the_same(parts: list[str]) -> None:
    text = "".join(parts)
    once = html.closed(html.opened(text), text)
    assert html.closed(html.opened(once), once) == once
    assert html._TAG.findall(once) == html._TAG.findall(text)
