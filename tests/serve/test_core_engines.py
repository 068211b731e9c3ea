"""Bundles that are run by another engine: the answers of `regard predict --engine`, or one sentence."""

import logging
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from regard.api import Pipeline
from regard.errors import ConfigError
from regard.serve.settings import ServeSettings
from regard.serve.shelf import Shelf
from tests.serve.conftest import Server, serving

TEXTS = ["the dog runs", "cat", "", "red cat sees the red dog"]
CTRANSLATE2 = pytest.importorskip("ctranslate2").__name__


@pytest.fixture(scope="module")
def served(bundles: dict[str, Path]) -> Iterator[Server]:
    """A translator and a writer run by CTranslate2, and a tagger it cannot run."""
    settings = ServeSettings(engine=CTRANSLATE2, deadline=300)
    with serving([bundles[task] for task in ("translation", "language", "tagging")], settings) as running:
        yield running


def asked(server: Server, route: str = "predict", **body: object) -> httpx.Response:
    return httpx.post(f"{server.url}/v1/{route}", json=body, timeout=240)


def same(answer: httpx.Response, pipeline: Pipeline, texts: list[str]) -> bool:
    for found, expected in zip(answer.json()["results"], pipeline.predict(texts), strict=True):
        assert found["text"] == expected.text
        assert found["status"] == list(expected.status)
        assert found["score"] == pytest.approx(expected.plain()["score"], abs=1e-4)
    return True


@pytest.mark.parametrize("settings", [{}, {"search.beams": 1}, {"search.best": 2}])
def test_answers_are_those_of_predict_by_the_same_engine(
    served: Server, bundles: dict[str, Path], settings: dict[str, int]
) -> None:
    alone = Pipeline.load(bundles["translation"], [f"{name}={value}" for name, value in settings.items()])
    answer = asked(served, inputs=TEXTS, settings=settings)
    assert same(answer, alone.with_engine(CTRANSLATE2), TEXTS)
    assert same(answer, alone, TEXTS)


def test_what_the_engine_cannot_do_is_refused_in_the_sentence_of_the_command_line(served: Server) -> None:
    answer = asked(served, inputs=["dog"], settings={"search.method": "diverse"})
    assert answer.status_code == 422
    assert answer.json()["error"]["message"].startswith("The engine ctranslate2 cannot search by search.method")
    answer = asked(served, inputs=["dog"], stream=True)
    assert answer.status_code == 422
    assert "while they grow; use --engine torch" in answer.json()["error"]["message"]


@pytest.mark.parametrize(
    ("model", "settings"), [("translation", {"search.method": "greedy"}), ("language", {"search.method": "greedy"})]
)
def test_what_it_can_stream_is_streamed(served: Server, model: str, settings: dict[str, str]) -> None:
    body = {"model": model, "inputs": ["the dog"], "settings": settings}
    whole = asked(served, **body).json()["results"][0]["text"]
    events = asked(served, **body, stream=True).text.split("\n\n")
    assert events[-2] == "data: [DONE]"
    assert f'"text": "{whole}"' in events[-3]


def test_a_bundle_it_cannot_run_is_run_by_torch_and_that_is_told(
    served: Server, bundles: dict[str, Path], caplog: pytest.LogCaptureFixture
) -> None:
    told = httpx.get(f"{served.url}/v1/models", timeout=240).json()["data"]
    assert {one["id"]: one["engine"] for one in told} == {
        "translation": CTRANSLATE2,
        "language": CTRANSLATE2,
        "tagging": "torch",
    }
    assert same(asked(served, model="tagging", inputs=TEXTS), Pipeline.load(bundles["tagging"]), TEXTS)
    with caplog.at_level(logging.WARNING, "regard.serve"):
        Shelf.load([bundles["tagging"], bundles["language"]], ServeSettings(engine=CTRANSLATE2)).close()
    assert "tagging is run by torch. CTranslate2 runs Transformers only" in caplog.text


def test_an_engine_that_can_run_none_of_them_is_an_error(bundles: dict[str, Path]) -> None:
    with pytest.raises(ConfigError, match="CTranslate2 runs Transformers only"):
        Shelf.load([bundles["tagging"]], ServeSettings(engine=CTRANSLATE2))


def test_explanations_stay_with_torch(served: Server, server: Server) -> None:
    body = {"input": "the dog runs"}
    assert (
        asked(served, "explain", **body, method="weights").json()
        == asked(server, "explain", **body, method="weights").json()
    )
    off = asked(served, "whatif", **body, heads_off=[[0, 0]]).json()
    assert off["after"]["text"] == asked(server, "whatif", **body, heads_off=[[0, 0]]).json()["after"]["text"]
    explored = asked(served, "explore", **body).json()
    assert any("ctranslate2" in note for note in explored["notes"])
    assert explored["result"]["text"] == asked(served, inputs=[body["input"]]).json()["results"][0]["text"]


def test_a_reload_keeps_the_engine(served: Server) -> None:
    assert httpx.post(f"{served.url}/v1/models/language/reload", timeout=240).json()["engine"] == CTRANSLATE2


def test_onnx_runs_what_ctranslate2_cannot(bundles: dict[str, Path]) -> None:
    pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    with serving([bundles["tagging"]], ServeSettings(engine="onnx", deadline=300)) as running:
        assert httpx.get(f"{running.url}/v1/models/tagging", timeout=240).json()["engine"] == "onnx"
        assert same(asked(running, inputs=TEXTS), Pipeline.load(bundles["tagging"]), TEXTS)
