"""Several processes on one socket, as a user starts them; and what a service keeps of requests long answered."""

import asyncio
import gc
import os
import signal
from collections import Counter
from pathlib import Path

import httpx
import pytest

from regard.serve.batching import Asked, Work
from regard.tasks.tagging_results import Tagged
from tests.serve.conftest import Server
from tests.serve.test_core_serving import posted, process, until


def below(pid: int) -> set[int]:
    """The processes a process has started and not yet lost."""
    return set(map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text("utf-8").split()))


@pytest.mark.slow
def test_a_worker_that_dies_is_replaced_and_all_stop_together(bundles: dict[str, Path]) -> None:
    with process([bundles["tagging"]], "--workers", "2") as started:
        first = below(started.process.pid)
        assert len(first) == 2
        bodies = [{"inputs": [f"Anna {number}"]} for number in range(20)]
        assert {answer.status_code for answer in asyncio.run(posted(started.url, bodies))} == {200}
        os.kill(min(first), signal.SIGKILL)
        until(lambda: len(below(started.process.pid) - first) == 1)
        assert {answer.status_code for answer in asyncio.run(posted(started.url, bodies))} == {200}
        assert "another takes its place" in started.said
        # A worker that is still starting stops too.
        started.process.terminate()
        assert started.process.wait(60) == 0
        assert not any(Path(f"/proc/{pid}").exists() for pid in first)


def kept() -> Counter[str]:
    gc.collect()
    return Counter(type(one).__name__ for one in gc.get_objects() if type(one) in (Asked, Work, Tagged))


def test_nothing_is_kept_of_requests_that_were_answered(server: Server) -> None:
    """The quick form of 50,000 requests, a tenth of them failing."""
    bodies = [{"model": "tagging", "inputs": [f"Anna {number}" if number % 10 else {"no": ""}]} for number in range(60)]
    asyncio.run(posted(server.url, bodies[:10]))
    before = kept()
    answers = asyncio.run(posted(server.url, bodies))
    assert Counter(answer.status_code for answer in answers) == {200: 54, 422: 6}
    assert httpx.get(f"{server.url}/health/live", timeout=60).status_code == 200
    until(lambda: sum((kept() - before).values()) <= 1)
