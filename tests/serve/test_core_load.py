"""Load, overload, stopping and growth, at the sizes the promises name: minutes, so only when asked for.

    pytest -m slow tests/serve/test_core_load.py -s

What each measured is printed; docs/serving.md has the figures of one run.
"""

import asyncio
import os
import re
import socket
import time
from collections import Counter
from pathlib import Path
from statistics import median
from typing import Any

import httpx
import pytest

from tests.serve.test_core_serving import process, stopped_while_asked

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]
# Fewer where a machine is short of time: what was asked for is printed with what came of it.
TIMES, REQUESTS = int(os.environ.get("REGARD_STOPS", "20")), int(os.environ.get("REGARD_REQUESTS", "50000"))
NO_LIMIT = httpx.Limits(max_connections=None)


def memory(pid: int) -> float:
    """Megabytes a process holds."""
    told = Path(f"/proc/{pid}/status").read_text("utf-8")
    return int(re.findall(r"VmRSS:\s+(\d+)", told)[0]) / 1024


class Load:
    """Clients that ask; every answer must be its own."""

    def __init__(self, url: str, expected: dict[str, str]) -> None:
        self.url, self.texts, self.expected = url, list(expected), expected
        self.statuses: Counter[int] = Counter()
        self.seconds: list[float] = []
        self.wrong = 0

    async def run(self, clients: int, seconds: float, pause: float = 0.0) -> "Load":
        """So many clients, each waiting for its answer before it asks again."""
        until = time.monotonic() + seconds
        async with httpx.AsyncClient(base_url=self.url, timeout=120, limits=NO_LIMIT) as client:
            await asyncio.gather(*(self._client(client, number, until, pause) for number in range(clients)))
        return self

    async def _client(self, client: httpx.AsyncClient, number: int, until: float, pause: float) -> None:
        place = number
        while time.monotonic() < until:
            await self._ask(client, place)
            place += 1
            await asyncio.sleep(pause)

    async def offer(self, rate: float, seconds: float) -> "Load":
        """So many requests a second, whatever becomes of those before."""
        async with httpx.AsyncClient(base_url=self.url, timeout=120, limits=NO_LIMIT) as client:
            began, asked = time.monotonic(), list[asyncio.Task[None]]()
            while (now := time.monotonic() - began) < seconds:
                while len(asked) < now * rate:
                    asked.append(asyncio.create_task(self._ask(client, len(asked))))
                await asyncio.sleep(0.005)
            await asyncio.gather(*asked)
        return self

    async def _ask(self, client: httpx.AsyncClient, place: int) -> None:
        text = self.texts[place % len(self.texts)]
        began = time.monotonic()
        answer = await client.post("/v1/predict", json={"inputs": [text]})
        self.statuses[answer.status_code] += 1
        if answer.status_code == 200:
            self.seconds.append(time.monotonic() - began)
            self.wrong += answer.json()["results"][0]["text"] != self.expected[text]

    def told(self, name: str) -> str:
        late = sorted(self.seconds)[int(len(self.seconds) * 0.95) - 1]
        figures = f"{len(self.seconds)} answers, median {median(self.seconds):.2f} s, 95 % within {late:.2f} s"
        return f"{name}: {figures}; {dict(self.statuses)}; {self.wrong} wrong"


def nonces(url: str, count: int = 400) -> dict[str, str]:
    """Texts no two of which are alike, with what the service gives each of them alone."""
    with httpx.Client(base_url=url, timeout=60) as client:
        texts = [f"Anna{number} met Bob in Paris on day {number}." for number in range(count)]
        return {text: one(client, text) for text in texts}


def one(client: httpx.Client, text: str) -> str:
    return str(client.post("/v1/predict", json={"inputs": [text]}).json()["results"][0]["text"])


def test_200_clients_for_three_minutes_lose_nothing_and_get_their_own(bundles: dict[str, Path]) -> None:
    with process([bundles["tagging"]]) as started:
        load = asyncio.run(Load(started.url, nonces(started.url)).run(200, 180, pause=0.5))
    print(load.told("200 clients, 180 s"))
    assert set(load.statuses) == {200}
    assert load.wrong == 0


def test_at_three_times_what_it_can_do_it_refuses_and_recovers(bundles: dict[str, Path]) -> None:
    """A model that takes longer than HTTP does; a tagger of this size is done before its request is read."""
    options = ("serve.queue=48", "serve.batch=4", "predict.pieces=60", "search.method=greedy")
    with process([bundles["language"]], *(word for one in options for word in ("--set", one))) as started:
        expected = nonces(started.url, 60)
        normal = asyncio.run(Load(started.url, expected).run(48, 20))
        rate = len(normal.seconds) / 20
        over = asyncio.run(Load(started.url, expected).offer(3 * rate, 30))
        time.sleep(5)
        after = asyncio.run(Load(started.url, expected).run(8, 5))
    for name, load in (("48 clients", normal), (f"{3 * rate:.0f} requests a second", over), ("5 s later", after)):
        print(load.told(name))
    ratio = median(over.seconds) / median(normal.seconds)
    print(f"{rate:.1f} a second can be done; median of what was accepted at three times as many: {ratio:.2f} x")
    assert set(over.statuses) <= {200, 429, 503}
    assert over.statuses[429] > 0
    assert set(after.statuses) == {200}
    assert normal.wrong + over.wrong + after.wrong == 0
    assert ratio < 2


def test_twenty_times_told_to_stop_with_100_in_flight_all_are_answered(bundles: dict[str, Path]) -> None:
    for turn in range(TIMES):
        with process([bundles["language"]], "--set", "serve.batch=4") as started:
            assert stopped_while_asked(started, 100) == [200] * 100, turn
            assert started.process.wait(60) == 0
    print(f"{TIMES} x 100 of 100 answered")


def test_500_slow_connections_are_dropped_within_15_seconds_while_others_are_served(bundles: dict[str, Path]) -> None:
    with process([bundles["tagging"]]) as started:
        host, port = started.url.removeprefix("http://").split(":")
        began = time.monotonic()
        slow = [socket.create_connection((host, int(port)), timeout=30) for _ in range(500)]
        for connection in slow:
            connection.sendall(b"POST /v1/predict HTTP/1.1\r\nhost: localhost\r\n")
        statuses = Counter[int]()
        with httpx.Client(base_url=started.url, timeout=60) as client:
            while time.monotonic() - began < 8:
                statuses[client.post("/v1/predict", json={"inputs": ["Anna"]}).status_code] += 1
        ended = [(connection.makefile("rb").read()[:12], time.monotonic() - began) for connection in slow]
        for connection in slow:
            connection.close()
    print(f"500 slow connections gone after {ended[-1][1]:.1f} s; others meanwhile: {dict(statuses)}")
    assert {said for said, _ in ended} == {b"HTTP/1.1 408"}
    assert ended[-1][1] < 15
    assert set(statuses) == {200}


def test_memory_stays_after_50_000_requests_a_tenth_of_them_failing(bundles: dict[str, Path]) -> None:
    with process([bundles["tagging"]]) as started:
        body: list[dict[str, Any]] = [{"inputs": [f"Anna met Bob {number}."]} for number in range(9)]
        body.append({"inputs": [{"no": "text"}]})

        async def some(count: int) -> Counter[int]:
            found = Counter[int]()
            async with httpx.AsyncClient(base_url=started.url, timeout=60, limits=NO_LIMIT) as client:

                async def many(first: int) -> None:
                    for number in range(first, count, 32):
                        found[(await client.post("/v1/predict", json=body[number % 10])).status_code] += 1

                await asyncio.gather(*map(many, range(32)))
            return found

        # What is made once, is made in the first of them.
        asyncio.run(some(2_000))
        before = memory(started.process.pid)
        statuses = asyncio.run(some(REQUESTS))
        after = memory(started.process.pid)
    print(f"{REQUESTS} requests {dict(statuses)}: {before:.0f} MB before, {after:.0f} MB after")
    assert set(statuses) == {200, 422}
    assert after - before < 50
