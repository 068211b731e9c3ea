"""Every status for its own reason, and always as JSON of one shape."""

import asyncio
import json
import socket
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from regard.serve.settings import ServeSettings
from tests.serve.conftest import Server, serving

JSON = {"content-type": "application/json"}


@pytest.fixture(scope="module")
def client(server: Server) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=server.url, timeout=240) as one:
        yield one


def told(answer: httpx.Response, status: int) -> str:
    """The sentence of an error, which has the shape all of them have."""
    assert answer.status_code == status, answer.text
    error = answer.json()["error"]
    assert set(error) == {"message", "type", "code"}
    assert error["code"] == status
    assert error["message"].endswith((".", "!", "?"))
    assert "Traceback" not in answer.text
    return str(error["message"])


def test_400_is_for_what_is_no_json(client: httpx.Client) -> None:
    for body in (b"{", b"\xff\xfe", b"[" * 100_000, b'{"inputs": ["a"'):
        told(client.post("/v1/predict", content=body, headers=JSON), 400)


def test_400_is_for_what_is_no_http(server: Server) -> None:
    host, port = server.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=60) as raw:
        raw.sendall(b"nonsense\r\n\r\n")
        answer = raw.makefile("rb").read()
    assert answer.startswith(b"HTTP/1.1 400")
    assert json.loads(answer.partition(b"\r\n\r\n")[2])["error"]["code"] == 400


def test_404_is_for_names_that_are_not_there_and_offers_the_nearest(client: httpx.Client) -> None:
    told(client.get("/nowhere"), 404)
    assert "Did you mean 'tagging'" in told(client.post("/v1/predict", json={"model": "taging", "inputs": ["a"]}), 404)
    told(client.get("/v1/models/none"), 404)
    told(client.post("/v1/models/none/reload"), 404)
    told(client.get("/docs/none"), 404)


def test_405_is_for_methods_a_route_has_not(client: httpx.Client) -> None:
    answer = client.get("/v1/predict")
    told(answer, 405)
    assert answer.headers["allow"] == "POST"
    told(client.delete("/v1/models"), 405)


def test_413_is_for_too_much(client: httpx.Client) -> None:
    told(client.post("/v1/predict", content=b"x" * 2_000_000, headers=JSON), 413)
    assert "64" in told(client.post("/v1/predict", json={"inputs": ["a"] * 65}), 413)
    assert "Input 1" in told(client.post("/v1/predict", json={"inputs": ["a", "b" * 10_001]}), 413)
    told(client.post("/v1/explain", json={"input": "b" * 2_001}), 413)
    told(client.post("/v1/explain", json={"input": "b", "target": "c" * 2_001}), 413)
    told(client.post("/v1/whatif", json={"input": "b", "prefix": "c" * 2_001}), 413)


def test_415_is_for_bodies_that_are_not_read(client: httpx.Client) -> None:
    for kind in ("text/plain", "application/x-www-form-urlencoded", "application/json; charset=latin-1", ""):
        told(client.post("/v1/predict", content=b'{"inputs": ["a"]}', headers={"content-type": kind}), 415)


@pytest.mark.parametrize("path", ["/translate", "/detect", "/hf/translation"])
def test_clients_of_other_servers_read_what_was_refused_before_their_route(client: httpx.Client, path: str) -> None:
    for answer, status in [
        (client.post(path, content=b"x" * 2_000_000, headers=JSON), 413),
        (client.post(path, content=b"x", headers={"content-type": "text/plain"}), 415),
        (client.put(path, json={}), 405),
        (client.post(path, headers={"host": "evil.example"}), 421),
    ]:
        assert answer.status_code == status
        assert answer.json()["error"].endswith(".")


def test_422_is_for_what_cannot_be_in_the_words_of_the_command_line(client: httpx.Client) -> None:
    assert told(client.post("/v1/predict", json={}), 422) == "inputs is missing."
    assert "input is no field of this request." in told(client.post("/v1/predict", json={"input": "a"}), 422)
    assert "it lacks source" in told(client.post("/v1/predict", json={"inputs": [{"text": "a"}]}), 422)
    told(client.post("/v1/predict", json={"inputs": [{"source": ["a", "b"]}]}), 422)
    spoken = {"model": "dialogue", "inputs": [{"turns": '[{"speaker": "A", "text": "Hi"}]'}]}
    assert "give a JSON list of texts" in told(client.post("/v1/predict", json=spoken), 422)
    for settings, words in [
        ({"search.bems": 2}, "Did you mean 'search.beams'"),
        ({"search.beams": 0}, "greater than"),
        ({"search": {"beams": 10_000}}, "more than this service allows"),
        ({"predict.glossary": "/etc/passwd"}, "names a file"),
        ({"device": "cuda"}, "is no setting of a request"),
        ({"train.updates": 5}, "is no setting of a request"),
        ({"search.beams": [1]}, "no text, number"),
        ({"predict.rows": 10**9}, "the service's to choose"),
    ]:
        assert words in told(client.post("/v1/predict", json={"inputs": ["a"], "settings": settings}), 422)
    assert "Unknown method" in told(client.post("/v1/explain", json={"input": "dog", "method": "magic"}), 422)
    assert "more than this" in told(client.post("/v1/explain", json={"input": "a", "settings": {"samples": 1e9}}), 422)
    assert "Nothing would be otherwise" in told(client.post("/v1/whatif", json={"input": "dog"}), 422)
    told(client.post("/v1/predict", json={"model": "answering", "inputs": ["no tab"]}), 422)
    told(client.post("/v1/predict", json={"inputs": ["a", "b"], "stream": True}), 422)
    assert "Value error" not in client.post("/v1/completions", json={"model": "language", "prompt": []}).text


def test_431_is_for_a_head_without_end(server: Server) -> None:
    host, port = server.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=60) as raw:
        raw.sendall(b"GET / HTTP/1.1\r\nx: " + b"a" * 40_000)
        assert raw.makefile("rb").read().startswith(b"HTTP/1.1 431")
    # One that ends, too.
    told(httpx.get(f"{server.url}/health/live", headers={"x": "a" * 40_000}, timeout=240), 431)
    told(httpx.get(f"{server.url}/health/live?{'a' * 40_000}", timeout=240), 431)


def test_429_is_for_a_full_queue_and_says_when_to_come_back(bundles: dict[str, Path]) -> None:
    with serving([bundles["language"]], ServeSettings(queue=1, batch=1)) as busy:
        slow = {"inputs": ["Once upon a time"] * 3, "settings": {"predict.pieces": 20}}
        answers = asyncio.run(posted(busy.url, [slow] * 6))
    statuses = {answer.status_code for answer in answers}
    assert statuses == {200, 429}
    for answer in answers:
        if answer.status_code == 429:
            told(answer, 429)
            assert int(answer.headers["retry-after"]) >= 1


async def posted(url: str, bodies: list[dict[str, object]]) -> list[httpx.Response]:
    async with httpx.AsyncClient(base_url=url, timeout=240) as client:
        return list(await asyncio.gather(*(client.post("/v1/predict", json=body) for body in bodies)))


def test_503_is_for_a_service_that_stops_and_for_too_many_connections(bundles: dict[str, Path]) -> None:
    with serving([bundles["tagging"]], ServeSettings(connections=2)) as small:
        host, port = small.url.removeprefix("http://").split(":")
        kept = [socket.create_connection((host, int(port)), timeout=60) for _ in range(2)]
        with socket.create_connection((host, int(port)), timeout=60) as third:
            assert third.makefile("rb").read().startswith(b"HTTP/1.1 503")
        for one in kept:
            one.close()
        small.shelf.leaving = True
        with httpx.Client(base_url=small.url) as client:
            answer = client.get("/health/ready")
            told(answer, 503)
            assert client.get("/health/live").status_code == 200


def test_504_is_for_what_is_not_done_in_time_and_frees_the_model(bundles: dict[str, Path]) -> None:
    with serving([bundles["language"]], ServeSettings(deadline=0.5)) as hurried:
        client = httpx.Client(base_url=hurried.url, timeout=240)
        long = {"inputs": ["Once upon a time"] * 16, "settings": {"predict.pieces": 1000}}
        assert "0.5 seconds" in told(client.post("/v1/predict", json=long), 504)
        short = {"inputs": ["Once"], "settings": {"predict.pieces": 1}}
        # The rest of the long one would take minutes; whoever comes now does not wait for it.
        assert any(client.post("/v1/predict", json=short).status_code == 200 for _ in range(40))
        client.close()


def test_504_in_a_stream_is_an_event(bundles: dict[str, Path]) -> None:
    with serving([bundles["language"]], ServeSettings(deadline=2)) as hurried:
        long = {"inputs": ["Once upon a time"], "stream": True, "settings": {"predict.pieces": 1000, "search.seed": 3}}
        answer = httpx.post(f"{hurried.url}/v1/predict", json=long, timeout=240)
        if answer.status_code == 200:
            *_, last, done = [line.removeprefix("data: ") for line in answer.text.split("\n\n") if line]
            assert done == "[DONE]"
            assert json.loads(last)["error"]["code"] == 504
        else:
            # Not even the first piece came in time.
            told(answer, 504)


def test_every_error_has_the_headers_every_answer_has(client: httpx.Client) -> None:
    for answer in (client.get("/nowhere"), client.get("/health/live"), client.post("/v1/predict", content=b"x")):
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["x-frame-options"] == "DENY"
        assert "default-src 'self'" in answer.headers["content-security-policy"]
        assert "access-control-allow-origin" not in answer.headers
        assert len(answer.headers["x-request-id"]) == 12
        assert "server" not in answer.headers
