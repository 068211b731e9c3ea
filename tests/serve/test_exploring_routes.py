"""The explorer's routes: the page gets what the pipeline gives, and mistakes are sentences."""

import json
from base64 import b64decode
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from regard.serve.exploring import router
from regard.serve.problems import handle
from regard.serve.settings import ServeSettings
from regard.serve.shelf import Shelf
from tests.serve.client_bundles import ENGLISH, made

NAMES = ("en-to-de", "story", "mood")
TEXT = ENGLISH[0]


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shelf]:
    folder = tmp_path_factory.mktemp("explored")
    loaded = Shelf.load([made(name, folder) for name in NAMES], ServeSettings(characters=3000))
    yield loaded
    loaded.close()


@pytest.fixture(scope="module")
def client(shelf: Shelf) -> TestClient:
    app = FastAPI()
    handle(app)
    app.include_router(router(shelf, ServeSettings(characters=3000)))
    return TestClient(app)


def asked(client: TestClient, path: str = "", **values: Any) -> dict[str, Any]:
    answer = client.post(f"/v1/explore{path}", json=values)
    assert answer.status_code == 200, answer.text
    return answer.json()


def refused(client: TestClient, path: str = "", **values: Any) -> tuple[int, str]:
    answer = client.post(f"/v1/explore{path}", json=values)
    message = answer.json()["error"]["message"]
    assert "\n" not in message
    return answer.status_code, message


@pytest.mark.parametrize("name", NAMES)
def test_the_page_gets_what_the_pipeline_gives(client: TestClient, shelf: Shelf, name: str) -> None:
    found = asked(client, model=name, input=TEXT)
    assert found == json.loads(json.dumps(shelf[name].pipeline.explore(TEXT).plain()))
    for one in found["attentions"]:
        size = one["layers"] * one["heads"] * one["rows"] * one["columns"]
        assert len(b64decode(one["bytes"])) == size


def test_an_alternative_is_clicked(client: TestClient) -> None:
    found = asked(client, input=TEXT)
    other = next(one for one in found["alternatives"][1][1:] if not one["ends"])
    prefix = [*found["pieces"][:1], other["piece"]]
    again = asked(client, input=TEXT, prefix=prefix, settings={"search.beams": 2})
    assert again["pieces"][:2] == prefix
    assert again["tree"]["beams"] == 2
    assert asked(client, input={"source": TEXT}, prefix="Der")["result"]["text"].startswith("Der")


def test_a_cell_is_hovered(client: TestClient) -> None:
    found = asked(client, input=TEXT)
    shown = found["attentions"][0]
    weights = b64decode(shown["bytes"])
    place = {"attention": shown["name"], "layer": 0, "head": 1, "row": 2, "column": 3}
    told = asked(client, "/cell", input=TEXT, pieces=found["pieces"], **place)
    at = (1 * shown["rows"] + 2) * shown["columns"] + 3
    assert told["weight"] == pytest.approx(weights[at] / 255, abs=0.51 / 255)
    assert told["text"].startswith("exp(")
    assert told == asked(client, "/cell", input=TEXT, **place)


def test_a_text_of_five_hundred_pieces_is_explored(client: TestClient) -> None:
    found = asked(client, input="The old king sees a red cat and a dog. " * 30, target="Der alte")
    assert len(found["inputs"]["units"]) > 500
    assert all(one["bytes"] for one in found["attentions"])
    assert found["result"] is None
    some = asked(client, input=TEXT, attentions=["decoder.blocks.*.cross"], layers=[0])
    assert [one["name"] for one in some["attentions"]] == ["decoder.blocks.*.cross"]


@pytest.mark.parametrize(
    ("values", "status", "told"),
    [
        ({"input": " "}, 422, "at least one word"),
        ({"input": TEXT, "model": "en-to-dee"}, 404, "en-to-de"),
        ({"input": TEXT, "attentions": ['"]\nx = 1']}, 422, "Unknown attention"),
        ({"input": TEXT, "layers": [99]}, 422, "no layer 99"),
        ({"input": TEXT, "layers": [-1]}, 422, "layers"),
        ({"input": TEXT, "prefix": [10**30]}, 422, "no JSON list"),
        ({"input": TEXT, "prefix": [2]}, 422, "which is the end"),
        ({"input": TEXT, "pieces": [4096]}, 422, "4096"),
        ({"input": TEXT, "pieces": [5] * 5000}, 422, "pieces"),
        ({"input": TEXT, "model": "mood", "prefix": "a"}, 422, "no beginning"),
        ({"input": TEXT, "settings": {"predict.glossary": "/etc/passwd"}}, 422, "predict.glossary"),
        ({"input": "x" * 3001}, 413, "3000"),
        ({"input": TEXT, "target": "x" * 3001}, 422, "3000"),
        ({"input": {"text": TEXT}}, 422, "lacks source"),
        ({"input": TEXT, "colour": 1}, 422, "colour"),
        ({}, 422, "input"),
    ],
)
def test_what_cannot_be_is_told_in_a_sentence(
    client: TestClient, values: dict[str, Any], status: int, told: str
) -> None:
    code, message = refused(client, **values)
    assert (code, told in message) == (status, True), message


@pytest.mark.parametrize("wrong", [{"head": 2}, {"row": 999}, {"column": 999}, {"layer": 5}, {"attention": "none"}])
def test_a_cell_that_is_not_there_is_told(client: TestClient, wrong: dict[str, Any]) -> None:
    place = {"attention": "decoder.blocks.*.cross", "layer": 0, "head": 0, "row": 0, "column": 0}
    assert refused(client, "/cell", input=TEXT, **place | wrong)[0] == 422
