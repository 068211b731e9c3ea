"""What the service says of itself is what it does: real answers against the kinds it describes."""

from typing import Any

import httpx
import pytest

from regard.serve import answers, client_answers
from tests.serve.conftest import Server

WITHOUT = {"/health/live", "/health/ready", "/metrics", "/hf/{name}/health"}
INPUTS: dict[str, Any] = {
    "translation": "the dog runs",
    "summarization": "A dog ran. It was red.",
    "classification": "A fine film.",
    "tagging": "Anna lives in Austin.",
    "answering": {"question": "Who came?", "passage": "Anna came late."},
    "language": "Once upon",
    "dialogue": "Hello there",
}


def asked(server: Server, route: str, **body: Any) -> Any:
    answer = httpx.post(f"{server.url}{route}", json=body, timeout=240)
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.fixture(scope="module")
def described(server: Server) -> dict[str, Any]:
    found: dict[str, Any] = httpx.get(f"{server.url}/openapi.json", timeout=240).json()
    return found


def test_every_route_says_what_it_answers_and_how_it_refuses(described: dict[str, Any]) -> None:
    for path, methods in described["paths"].items():
        for told in methods.values():
            if path not in WITHOUT:
                assert told["responses"]["200"]["content"]["application/json"]["schema"], path
            assert "422" not in told["responses"], path
            plain = "LibreTranslate" in told["tags"] or "Hugging Face" in told["tags"]
            refusal = told["responses"]["default"]["content"]["application/json"]["schema"]["$ref"]
            assert refusal.endswith("/PlainError" if plain else "/Error"), path


@pytest.mark.parametrize("model", INPUTS)
def test_answers_of_every_task_are_of_the_kind_that_is_described(server: Server, model: str) -> None:
    given = INPUTS[model]
    answers.PredictResponse.model_validate(asked(server, "/v1/predict", model=model, inputs=[given]))
    told = answers.ExploreResponse.model_validate(asked(server, "/v1/explore", model=model, input=given))
    answers.ExplainResponse.model_validate(asked(server, "/v1/explain", model=model, input=given))
    for found in told.attentions[:1]:
        cell = {"attention": found.name, "layer": 0, "head": 0, "row": 0, "column": 0}
        answers.CellResponse.model_validate(asked(server, "/v1/explore/cell", model=model, input=given, **cell))


def test_other_answers_are_too(server: Server) -> None:
    off = asked(server, "/v1/whatif", input="the dog", heads_off=[[0, 0]])
    answers.WhatIfResponse.model_validate(off)
    answers.ModelList.model_validate(httpx.get(f"{server.url}/v1/models", timeout=240).json())
    translated = asked(server, "/translate", q=["the dog", "cat"], source="auto", target="de", alternatives=1)
    client_answers.TranslateResponse.model_validate(translated)
    for one in httpx.get(f"{server.url}/languages", timeout=240).json():
        client_answers.Language.model_validate(one)
    for one in asked(server, "/detect", q="the dog"):
        client_answers.Detection.model_validate(one)
    client_answers.FrontendResponse.model_validate(httpx.get(f"{server.url}/frontend/settings", timeout=240).json())
    written = asked(server, "/v1/completions", model="language", prompt="Once", max_tokens=3)
    client_answers.CompletionResponse.model_validate(written)
    said = asked(
        server, "/v1/chat/completions", model="dialogue", messages=[{"role": "user", "content": "Hi"}], max_tokens=3
    )
    client_answers.ConversationResponse.model_validate(said)


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/v1/predict", answers.Error),
        ("/v1/completions", answers.Error),
        ("/nowhere", answers.Error),
        ("/translate", answers.PlainError),
        ("/hf/tagging", answers.PlainError),
        ("/hf/none", answers.PlainError),
    ],
)
def test_refusals_are_too(server: Server, path: str, kind: type[answers.Answer]) -> None:
    for body in ({}, {"inputs": 5, "prompt": 5, "q": 5}, []):
        answer = httpx.post(f"{server.url}{path}", json=body, timeout=240)
        assert 400 <= answer.status_code < 500
        kind.model_validate(answer.json())
