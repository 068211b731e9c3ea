"""Batching against one at a time: the same texts, the same clients, over real HTTP on loopback.

python benchmarks/serving.py runs/en-de data/multi30k/test_2016_flickr.en 300
"""

import asyncio
import os
import re
import subprocess
import sys
import time
from itertools import islice
from pathlib import Path

import httpx
from machine import machine

from regard.files import lines

CLIENTS = 64


async def asked(url: str, wanted: list[str]) -> tuple[float, list[str]]:
    """Seconds for all texts by many clients at once, and what came of them."""
    found: dict[int, str] = {}
    async with httpx.AsyncClient(base_url=url, timeout=600, limits=httpx.Limits(max_connections=None)) as client:

        async def many(first: int) -> None:
            for number in range(first, len(wanted), CLIENTS):
                answer = (await client.post("/v1/predict", json={"inputs": [wanted[number]]})).raise_for_status()
                found[number] = answer.json()["results"][0]["text"]

        began = time.perf_counter()
        await asyncio.gather(*map(many, range(CLIENTS)))
        return time.perf_counter() - began, [found[number] for number in range(len(wanted))]


def spent(pid: int) -> float:
    """Seconds of the processor a process has used: what else runs on the machine does not count."""
    fields = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measured(bundle: str, wanted: list[str], *options: str) -> tuple[float, float, list[str]]:
    """The same of a service started for it, and the processor's seconds it took."""
    command = [sys.executable, "-m", "regard", "serve", bundle, "--port", "0", "--set", "serve.deadline=600", *options]
    # Nobody reads its log: in a pipe it would fill up, and the service would wait.
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as service:
        assert service.stdout is not None
        told = next(line for line in service.stdout if "curl" in line)
        url = re.findall(r"http://[\d.:]+", told)[0]
        try:
            asyncio.run(asked(url, wanted[:8]))
            before = spent(service.pid)
            seconds, found = asyncio.run(asked(url, wanted))
            return seconds, spent(service.pid) - before, found
        finally:
            service.kill()


def main(bundle: str, path: str, count: int) -> None:
    print(machine())
    wanted = [line.text for line in islice(lines(path), count)]
    count = len(wanted)
    single, alone_cpu, alone = measured(bundle, wanted, "--set", "serve.batch=1")
    print(f"one at a time: {count / single:.1f} texts a second, {count / alone_cpu:.1f} a second of the processor")
    joined, together_cpu, together = measured(bundle, wanted)
    print(f"batched:       {count / joined:.1f} texts a second, {count / together_cpu:.1f} a second of the processor")
    same = sum(a == b for a, b in zip(alone, together, strict=True))
    ratios = f"{single / joined:.2f} x by the clock, {alone_cpu / together_cpu:.2f} x by the processor"
    print(f"{ratios}; {same} of {count} outputs identical; {CLIENTS} clients")


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    if len(sys.argv) < 3:
        print("Nothing was run: name a bundle and a file of sources.")
    else:
        main(sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 300)
