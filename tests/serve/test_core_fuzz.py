"""Nonsense of every kind: never a 500, never a file, and health answers throughout."""

import random
from pathlib import Path

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings

from tests.serve.conftest import Server

STEPS = ["..", "%2e%2e", "%252e%252e", "..%2f", "..\\", "%5c..", ".", "", "%00", "....//", "%c0%ae%c0%ae", "~", "/"]
GOALS = ["etc/passwd", "manifest.json", "parameters.safetensors", "pyproject.toml", "recipe.toml", "keys.txt"]
ROOTS = ["/page/", "/docs/", "/v1/models/", "/hf/", "/", "/health/", "/v1/models/translation/../"]

# beartype draws random numbers in the threads of the service, which hypothesis takes for those of a strategy.
DRAWN_ELSEWHERE = pytest.mark.filterwarnings("ignore:Do not use the `random` module inside strategies")


def names(count: int) -> list[str]:
    """Paths that try to leave where they are."""
    chance = random.Random(1)
    found = []
    for _ in range(count):
        steps = "/".join(chance.choices(STEPS, k=chance.randint(1, 8)))
        found.append(f"{chance.choice(ROOTS)}{steps}/{chance.choice(GOALS)}")
    return found


def test_no_name_escapes(server: Server) -> None:
    secrets = [b"root:", b'"sha256"', b"safetensors", b"[build-system]", b"[optimizer]"]
    host = server.url.removeprefix("http://")
    with httpx.Client(base_url=server.url, timeout=60) as client:
        for name in names(500):
            # As it stands: a client that tidied it up would test nothing.
            url = httpx.URL(
                scheme="http", host=host.split(":")[0], port=int(host.split(":")[1]), raw_path=name.encode()
            )
            answer = client.get(url)
            assert answer.status_code in (200, 400, 404, 405), name
            if answer.status_code == 200:
                assert answer.content in own(client), name
            assert not any(secret in answer.content for secret in secrets), name


def own(client: httpx.Client) -> list[bytes]:
    """What may be answered to a path that happens to be one of ours."""
    return [client.get(path).content for path in ("/", "/docs", "/health/live", "/health/ready", "/languages")]


@pytest.mark.parametrize("name", ["../../etc/passwd", "..", "/etc/passwd", "translation/../tagging", "\x00", "C:\\x"])
def test_a_model_is_a_name_and_never_a_path(server: Server, name: str) -> None:
    answer = httpx.post(f"{server.url}/v1/predict", json={"model": name, "inputs": ["a"]}, timeout=60)
    assert answer.status_code == 404


def fuzzed(server: Server, examples: int) -> int:
    """How many requests made from our own description were sent; each was answered, and none by a 500."""
    schema = schemathesis.openapi.from_url(f"{server.url}/openapi.json")
    count = 0
    for found in schema.get_all_operations():
        operation = found.ok()
        sent = 0

        @settings(
            max_examples=examples,
            database=None,
            deadline=None,
            derandomize=True,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(case=operation.as_strategy())
        def one(case: schemathesis.Case) -> None:
            nonlocal sent
            sent += 1
            answer = case.call(timeout=60)
            assert answer.status_code < 500 or answer.status_code in (503, 504), (case.as_curl_command(), answer.text)

        one()
        count += sent
        assert httpx.get(f"{server.url}/health/ready", timeout=60).status_code == 200
    return count


@DRAWN_ELSEWHERE
def test_requests_drawn_from_our_own_description_never_break_it(server: Server) -> None:
    assert fuzzed(server, 4) >= 40


def test_texts_of_every_kind_are_answered(server: Server) -> None:
    nasty = ["", " ", "\\u0000", "\\ud83d", "e\\u0301", "你好", "<script>", "{0} %s", "\\u202e", "x" * 500, "\\n\\t"]
    for name, served in server.shelf.items():
        fields = served.pipeline.task.inputs()
        rows = ", ".join("{" + ", ".join(f'"{field}": "{text}"' for field in fields) + "}" for text in nasty)
        body = f'{{"model": "{name}", "inputs": [{rows}]}}'.encode()
        answer = httpx.post(
            f"{server.url}/v1/predict", content=body, headers={"content-type": "application/json"}, timeout=60
        )
        assert answer.status_code == 200, answer.text
        assert len(answer.json()["results"]) == len(nasty)


def random_requests(count: int) -> list[tuple[str, str, bytes, dict[str, str]]]:
    """Requests that no description would draw: any method, path, header and body."""
    chance = random.Random(7)
    paths = [
        "/v1/predict",
        "/v1/explain",
        "/v1/whatif",
        "/translate",
        "/detect",
        "/v1/completions",
        "/hf/tagging",
        "/v1/explore",
    ]
    bodies = [
        b"",
        b"{}",
        b"[]",
        b"null",
        b'"x"',
        b"0",
        b'{"inputs": 5}',
        b'{"inputs": [{}]}',
        b'{"inputs": [[]]}',
        b'{"input": ""}',
    ]
    kinds = ["application/json", "text/plain", "", "application/x-www-form-urlencoded", "multipart/form-data"]
    found = []
    for _ in range(count):
        body = chance.choice(bodies) if chance.random() < 0.6 else chance.randbytes(chance.randint(0, 200))
        method = chance.choice(["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD"])
        found.append((method, chance.choice(paths), body, {"content-type": chance.choice(kinds)}))
    return found


def test_requests_drawn_from_nowhere_never_break_it(server: Server) -> None:
    with httpx.Client(base_url=server.url, timeout=60) as client:
        for method, path, body, headers in random_requests(200):
            answer = client.request(method, path, content=body, headers=headers)
            assert answer.status_code < 500, (method, path, body, headers, answer.text)
        assert client.get("/health/live").status_code == 200


@pytest.mark.slow
@DRAWN_ELSEWHERE
def test_ten_thousand_fuzzed_requests_never_break_it(server: Server) -> None:
    count = fuzzed(server, 200)
    with httpx.Client(base_url=server.url, timeout=60) as client:
        for method, path, body, headers in random_requests(max(0, 10_000 - count)):
            assert client.request(method, path, content=body, headers=headers).status_code < 500
    print(f"{count} of 10,000 requests from the description")


def test_the_names_of_bundles_can_stand_in_addresses(bundles: dict[str, Path], tmp_path: Path) -> None:
    from regard.serve.shelf import names as safe

    odd = ["a b", "../x", "<script>", "é", "", "x", "x", "x-2"]
    found = safe(odd)
    assert len(set(found)) == len(odd)
    assert all(name and httpx.URL(f"http://h/v1/models/{name}").path == f"/v1/models/{name}" for name in found)
