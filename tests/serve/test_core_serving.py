"""Many at once, as if each were alone; nothing dropped by reloading, leaving or stopping."""

import asyncio
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, BinaryIO

import httpx
import pytest

from regard.api import Pipeline
from regard.serve.settings import ServeSettings
from tests.serve.conftest import Server, serving

LONG = {"model": "language", "inputs": ["Once upon a time"] * 4, "settings": {"predict.pieces": 40}}


async def posted(url: str, bodies: list[dict[str, Any]], route: str = "/v1/predict") -> list[httpx.Response]:
    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(base_url=url, timeout=120, limits=limits) as client:
        return list(await asyncio.gather(*(client.post(route, json=body) for body in bodies)))


def counted(url: str, pattern: str) -> float:
    """The sum of the counters whose line begins with a pattern."""
    lines = httpx.get(f"{url}/metrics", timeout=240).text.splitlines()
    return sum(float(line.rsplit(" ", 1)[1]) for line in lines if re.match(pattern, line))


def until(true: Any) -> None:
    """Wait until something holds; a test that hangs is ended by pytest."""
    while not true():
        time.sleep(0.02)


@pytest.mark.parametrize("task", ["tagging", "translation", "classification"])
def test_answers_in_company_are_those_given_alone_and_nobody_gets_anothers(server: Server, task: str) -> None:
    names = ["Austin", "Berlin", "Cairo", "dog", "cat", "red", "the"]
    texts = [f"{names[n % 7]} {n} sees {names[n % 5]}" for n in range(24)]
    pipeline = server.shelf[task].pipeline
    alone = [pipeline.predict([text])[0] for text in texts]
    bodies = [{"model": task, "inputs": [texts[n], texts[(n + 1) % 24]]} for n in range(24)]
    answers = asyncio.run(posted(server.url, bodies))
    for n, answer in enumerate(answers):
        assert answer.status_code == 200
        for result, expected in zip(answer.json()["results"], (alone[n], alone[(n + 1) % 24]), strict=True):
            assert result["text"] == expected.text
            assert result["score"] == pytest.approx(expected.plain()["score"], abs=1e-4)
    assert counted(server.url, rf'regard_batch_rows_sum{{model="{task}"}}') >= 48


def test_requests_that_wait_are_joined(bundles: dict[str, Path]) -> None:
    with serving([bundles["tagging"]], ServeSettings(window_ms=500, batch=16)) as slow:
        asyncio.run(posted(slow.url, [{"inputs": [f"Text {n}"]} for n in range(16)]))
        assert counted(slow.url, "regard_batch_rows_count") < 16


def test_poison_fails_its_own_request_only(bundles: dict[str, Path]) -> None:
    with serving([bundles["translation"]], ServeSettings(window_ms=500)) as one:
        poison = {"source": "the dog runs. the cat runs. the dog sees the cat.", "prefix": "das"}
        bodies = [{"inputs": [poison if n == 5 else f"dog {n}"]} for n in range(12)]
        answers = asyncio.run(posted(one.url, bodies))
        assert [answer.status_code for answer in answers] == [422 if n == 5 else 200 for n in range(12)]
        assert "prefix" in answers[5].json()["error"]["message"]
        pipeline = one.shelf.find(None).pipeline
        for n, answer in enumerate(answers):
            if n != 5:
                assert answer.json()["results"][0]["text"] == pipeline.predict([f"dog {n}"])[0].text


def test_settings_of_a_request_are_its_own(server: Server) -> None:
    bodies = [
        {"inputs": ["the dog runs"], "settings": {"search.beams": 1 + n % 3, "search.best": 1 + n % 3}}
        for n in range(12)
    ]
    for n, answer in enumerate(asyncio.run(posted(server.url, bodies))):
        found = answer.json()["results"][0].get("alternatives")
        assert len(found or [None]) == 1 + n % 3


def test_a_stream_settles_and_ends_with_the_result(server: Server) -> None:
    for task in ("translation", "language", "summarization", "dialogue", "tagging"):
        body = {"model": task, "inputs": ["Once upon a time"], "stream": True}
        answer = httpx.post(f"{server.url}/v1/predict", json=body, timeout=240)
        assert answer.headers["content-type"].startswith("text/event-stream")
        *events, done = [line.removeprefix("data: ") for line in answer.text.split("\n\n") if line]
        assert done == "[DONE]"
        *settled, last = [httpx.Response(200, text=event).json() for event in events]
        alone = server.shelf[task].pipeline.predict(["Once upon a time"])[0].plain()
        assert last["result"]["text"] == alone["text"]
        assert all(list(one) == ["settled"] for one in settled)


def test_streams_and_batches_share_a_model_and_change_nothing(server: Server) -> None:
    async def mixed() -> list[httpx.Response]:
        body = {"model": "language", "inputs": ["Once upon a time"]}
        bodies = [{**body, "stream": bool(n % 2)} for n in range(8)]
        return await posted(server.url, bodies)

    expected = server.shelf["language"].pipeline.predict(["Once upon a time"])[0].text
    for n, answer in enumerate(asyncio.run(mixed())):
        if n % 2:
            assert f'"text": "{expected}"' in answer.text
        else:
            assert answer.json()["results"][0]["text"] == expected


def test_heads_switched_off_for_one_are_on_for_the_others(server: Server) -> None:
    """What if changes the model in place; whoever asks meanwhile must not see it."""
    texts = ["the dog", "the cat", "red dog", "cat runs"]
    alone = [server.shelf["translation"].pipeline.predict([text])[0] for text in texts]

    async def both() -> list[httpx.Response]:
        what = [{"input": text, "heads_off": [[0, 0], [0, 1]]} for text in texts]
        asked = [{"inputs": [text]} for text in texts]
        others = posted(server.url, what, "/v1/whatif")
        return (await asyncio.gather(others, posted(server.url, asked)))[1]

    for answer, expected in zip(asyncio.run(both()), alone, strict=True):
        assert answer.json()["results"][0]["text"] == expected.text
        assert answer.json()["results"][0]["score"] == pytest.approx(expected.plain()["score"], abs=1e-4)


@pytest.mark.parametrize("form", ["json", "svg", "png", "html", "txt"])
def test_explanations_come_in_every_form(server: Server, form: str) -> None:
    body = {"model": "classification", "input": "A fine film.", "format": form}
    answer = httpx.post(f"{server.url}/v1/explain", json=body, timeout=240)
    assert answer.status_code == 200
    begins = {"json": b'{"method"', "svg": b"<svg", "png": b"\x89PNG", "html": b"<!doctype", "txt": b""}[form]
    assert answer.content.lstrip().lower().startswith(begins.lower())


def test_models_tell_what_a_client_can_know(server: Server) -> None:
    told = httpx.get(f"{server.url}/v1/models", timeout=240).json()
    assert told["object"] == "list"
    assert [one["id"] for one in told["data"]] == list(server.shelf)
    for one in told["data"]:
        assert one == httpx.get(f"{server.url}/v1/models/{one['id']}", timeout=240).json()
        assert {"task", "fields", "golden", "methods", "scores", "settings", "writes", "looks", "audit"} <= set(one)
        assert one["fields"] == list(server.shelf[one["id"]].pipeline.task.inputs())
        assert one["parameters"] > 0
        assert one["created"] > 1_500_000_000


def test_who_leaves_is_not_waited_for(server: Server) -> None:
    before = counted(server.url, r'regard_requests_total{.*status="499"}')
    with suppress(httpx.TimeoutException):
        httpx.post(f"{server.url}/v1/predict", json=LONG, timeout=httpx.Timeout(240, read=0.3))
    growing = {**LONG, "inputs": ["Once"], "stream": True, "settings": {"predict.pieces": 900}}
    with httpx.stream("POST", f"{server.url}/v1/predict", json=growing, timeout=240) as answer:
        next(answer.iter_lines())
    until(lambda: counted(server.url, r'regard_requests_total{.*status="499"}') >= before + 2)
    until(lambda: server.shelf["language"].streams == 0)
    # The request that asks is the only one left.
    until(lambda: counted(server.url, "regard_requests_running") == 1)


def test_a_bundle_is_loaded_again_without_dropping_a_request(bundles: dict[str, Path], tmp_path: Path) -> None:
    place = tmp_path / "changing"
    shutil.copytree(bundles["classification"] / "bundle", place)
    with serving([place], ServeSettings()) as one:

        async def while_loading() -> list[httpx.Response]:
            async with httpx.AsyncClient(base_url=one.url, timeout=240) as client:
                asked = [client.post("/v1/predict", json={"inputs": ["A fine film."]}) for _ in range(30)]
                again = [client.post("/v1/models/changing/reload") for _ in range(3)]
                return list(await asyncio.gather(*asked, *again))

        first = one.shelf["changing"].pipeline
        assert {answer.status_code for answer in asyncio.run(while_loading())} == {200}
        assert one.shelf["changing"].pipeline is not first
        assert counted(one.url, "regard_reloads_total") == 3

        shutil.rmtree(place)
        answer = httpx.post(f"{one.url}/v1/models/changing/reload", timeout=240)
        assert answer.status_code == 422
        assert httpx.post(f"{one.url}/v1/predict", json={"inputs": ["Fine."]}, timeout=240).status_code == 200


def test_slow_connections_are_dropped_while_others_are_served(bundles: dict[str, Path]) -> None:
    with serving([bundles["tagging"]], ServeSettings(arrival=1.0)) as one:
        host, port = one.url.removeprefix("http://").split(":")
        beginnings = [
            b"",
            b"POST /v1/predict HTTP/1.1\r\nhost: localhost\r\n",
            b"POST /v1/predict HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
            b"content-length: 100\r\n\r\n{",
        ]
        slow = [socket.create_connection((host, int(port)), timeout=60) for _ in range(30)]
        for n, connection in enumerate(slow):
            connection.sendall(beginnings[n % 3])
        assert httpx.post(f"{one.url}/v1/predict", json={"inputs": ["Austin"]}, timeout=60).status_code == 200
        said = [connection.makefile("rb").read() for connection in slow]
        assert [one[:12] for one in said[:3]] == [b"", b"HTTP/1.1 408", b"HTTP/1.1 408"]
        for connection in slow:
            connection.close()


def test_a_connection_may_ask_again_after_the_time_one_request_may_take(bundles: dict[str, Path]) -> None:
    with serving([bundles["tagging"]], ServeSettings(arrival=0.5)) as one, httpx.Client(base_url=one.url) as client:
        for _ in range(3):
            assert client.get("/health/live").status_code == 200
            time.sleep(0.4)


def post(text: str) -> bytes:
    """A request as it goes over the wire."""
    body = json.dumps({"inputs": [text]}).encode()
    head = (
        f"POST /v1/predict HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {len(body)}"
    )
    return head.encode() + b"\r\n\r\n" + body


@pytest.mark.parametrize("cut", [40, -5])
def test_what_comes_behind_a_request_is_not_late_while_that_is_answered(bundles: dict[str, Path], cut: int) -> None:
    """Nothing more is read until the answer is out, so whoever sent half a request behind it cannot hurry."""
    with serving([bundles["tagging"]], ServeSettings(arrival=0.5)) as one:
        host, port = one.url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=60) as both:
            with one.shelf["tagging"].loaded.turn:
                both.sendall(post("Austin") + post("Berlin")[:cut])
                time.sleep(1.5)
            reading = both.makefile("rb")
            assert status_of(reading) == 200
            both.sendall(post("Berlin")[cut:])
            assert status_of(reading) == 200
            # Alone again, it has to be in time.
            both.sendall(post("Cairo")[:cut])
            assert status_of(reading) == 408
            assert reading.read() == b""


def status_of(reading: BinaryIO) -> int:
    """The status of an answer, which is read to its end."""
    first, *head = iter(lambda: reading.readline().strip(), b"")
    length = next(int(line.partition(b":")[2]) for line in head if line.lower().startswith(b"content-length"))
    reading.read(length)
    return int(first.split()[1])


def test_a_head_behind_a_long_body_is_not_taken_for_a_long_head(bundles: dict[str, Path]) -> None:
    with serving([bundles["tagging"]], ServeSettings(header_bytes=1_000)) as one:
        host, port = one.url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=60) as both:
            both.sendall(post("Austin " * 300) + post("Berlin")[:30])
            reading = both.makefile("rb")
            assert status_of(reading) == 200
            both.sendall(post("Berlin")[30:])
            assert status_of(reading) == 200


@dataclass(frozen=True)
class Started:
    """`regard serve` as a user starts it: where it is, its process, and what it has said so far."""

    url: str
    process: subprocess.Popen[bytes]
    output: Path

    @property
    def said(self) -> str:
        return self.output.read_text("utf-8")


@contextmanager
def process(folders: list[Path], *options: str) -> Iterator[Started]:
    """The service while it is needed; its log goes to a file, as a pipe that nobody reads would stop it."""
    command = [sys.executable, "-m", "regard", "serve", *map(str, folders), "--port", "0", *options]
    with NamedTemporaryFile(suffix=".log") as output:
        running = subprocess.Popen(
            command,
            stdout=output,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
        started = Started("", running, Path(output.name))
        try:
            until(lambda: "curl" in started.said or running.poll() is not None)
            found = re.search(r"http://127.0.0.1:\d+", started.said)
            assert found is not None, started.said
            yield replace(started, url=found[0])
        finally:
            running.kill()
            running.wait(30)


def stopped_while_asked(started: Started, count: int) -> list[int]:
    """The statuses of requests that were being answered when the service was told to stop."""

    async def asked() -> list[httpx.Response]:
        limits = httpx.Limits(max_connections=None)
        async with httpx.AsyncClient(base_url=started.url, timeout=120, limits=limits) as client:
            tasks = [
                asyncio.ensure_future(client.post("/v1/predict", json={**LONG, "inputs": ["a"]})) for _ in range(count)
            ]
            while counted_now(await client.get("/metrics")) < count + 1:
                await asyncio.sleep(0.01)
            started.process.send_signal(signal.SIGTERM)
            return list(await asyncio.gather(*tasks))

    return [answer.status_code for answer in asyncio.run(asked())]


def counted_now(answer: httpx.Response) -> float:
    return float(re.findall(r"^regard_requests_running ([\d.]+)", answer.text, re.MULTILINE)[0])


def test_told_to_stop_it_answers_all_it_has_taken_on_and_leaves_with_0(bundles: dict[str, Path]) -> None:
    with process([bundles["language"]], "--set", "serve.batch=1") as started:
        assert stopped_while_asked(started, 20) == [200] * 20
        assert started.process.wait(60) == 0
        with pytest.raises(httpx.ConnectError):
            httpx.get(f"{started.url}/health/live", timeout=60)


def test_the_log_has_a_line_a_request_and_no_text_unless_asked(bundles: dict[str, Path]) -> None:
    with process([bundles["tagging"], bundles["tagging"]]) as started:
        for name in ("tagging", "tagging-2"):
            body = {"model": name, "inputs": ["A secret stays secret."]}
            assert httpx.post(f"{started.url}/v1/predict?q=secret", json=body, timeout=240).status_code == 200
        httpx.get(f"{started.url}/secret", timeout=240)
        started.process.terminate()
        started.process.wait(60)
        said = started.said
    lines = [httpx.Response(200, text=line).json() for line in said.splitlines() if line.startswith("{")]
    assert [(line["route"], line["status"]) for line in lines] == [
        ("/v1/predict", 200),
        ("/v1/predict", 200),
        ("none", 404),
    ]
    assert [line.get("model") for line in lines] == ["tagging", "tagging-2", None]
    assert "secret" not in said


@pytest.mark.parametrize("log", [True, False])
def test_texts_are_logged_when_asked(bundles: dict[str, Path], log: bool, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", "regard.access"), serving([bundles["tagging"]], ServeSettings(log_texts=log)) as one:
        httpx.post(f"{one.url}/v1/predict", json={"inputs": ["A secret."]}, timeout=240)
    assert ("A secret." in caplog.text) == log


def test_the_model_of_a_reload_is_what_a_fresh_load_gives(bundles: dict[str, Path], server: Server) -> None:
    body = {"model": "tagging", "inputs": ["Anna lives in Austin."]}
    before = httpx.post(f"{server.url}/v1/predict", json=body, timeout=240).json()["results"]
    assert httpx.post(f"{server.url}/v1/models/tagging/reload", timeout=240).status_code == 200
    assert httpx.post(f"{server.url}/v1/predict", json=body, timeout=240).json()["results"] == before
    # This thread may have more cores than one of the service, and then it rounds otherwise.
    fresh = Pipeline.load(bundles["tagging"]).predict(["Anna lives in Austin."])[0].plain()
    assert before[0]["tags"] == list(fresh["tags"])
    assert before[0]["score"] == pytest.approx(fresh["score"], abs=1e-5)
