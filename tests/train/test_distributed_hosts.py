"""Two hosts: network namespaces of this machine with a wire between them, torchrun in each, and the wire is cut.

Slow, for root only; `python -m tests.train.test_distributed_hosts` prints the bytes an update moves.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import tomli_w

from tests.api.toy import recipe
from tests.train.distributed_ranks import EIGHT, SECONDS
from tests.train.distributed_runs import same

HOSTS = {"regard-a": "10.77.0.1", "regard-b": "10.77.0.2"}
PORT = 29477
# Run in every process; the first cuts the wire before an update and brings it back after some seconds.
CUTTER = """
import os, subprocess, threading
from regard.attention.scores import SCORES as KNOWN
from regard.train import updating

update = updating.Updater.update
CUT, SECONDS = (os.environ.get("CUT") or "0:0").split(":")

def wire(state):
    subprocess.run(["ip", "link", "set", "wire-a", state], check=True)

def cutting(self, group, progress):
    if os.environ["RANK"] == "0" and progress.update + 1 == int(CUT):
        wire("down")
        threading.Timer(float(SECONDS), wire, ["up"]).start()
    return update(self, group, progress)

updating.Updater.update = cutting

class Own(KNOWN["scaled_dot"]):
    "A part, since a file must have one."

SCORES = {"own": Own}
"""


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


@contextmanager
def hosts() -> Iterator[None]:
    """Inside, there are two hosts with a wire between them."""
    first, second = HOSTS
    try:
        for host in HOSTS:
            ip("netns", "add", host)
        ip("link", "add", "wire-a", "netns", first, "type", "veth", "peer", "name", "wire-b", "netns", second)
        for (host, address), wire in zip(HOSTS.items(), ("wire-a", "wire-b"), strict=True):
            ip("-n", host, "addr", "add", f"{address}/24", "dev", wire)
            ip("-n", host, "link", "set", wire, "up")
            ip("-n", host, "link", "set", "lo", "up")
        yield
    finally:
        for host in HOSTS:
            subprocess.run(["ip", "netns", "del", host], check=False, capture_output=True)


def possible() -> bool:
    try:
        with hosts():
            return True
    except (OSError, subprocess.CalledProcessError):
        return False


def trained(folder: Path, run: str, *more: str, cut: str = "") -> list[tuple[int, str]]:
    """A run made by a torchrun on each host; `cut` is update:seconds. How each ended, and what it said."""
    started = []
    for (host, address), wire in zip(HOSTS.items(), ("wire-a", "wire-b"), strict=True):
        torchrun = [
            *("-m", "torch.distributed.run", "--nnodes", "2", "--nproc-per-node", "1", "--rdzv-backend", "c10d"),
            *("--rdzv-endpoint", f"{HOSTS['regard-a']}:{PORT}", "--rdzv-id", run, "--local-addr", address),
            *("--rdzv-conf", f"is_host={int(host == 'regard-a')}"),
        ]
        words = ["-m", "regard", "train", str(folder / "plan.toml"), "--out", str(folder / run)]
        words += ["--extend", str(folder / "cutter.py"), *more]
        started.append(
            subprocess.Popen(
                ["ip", "netns", "exec", host, sys.executable, *torchrun, *words],
                env={**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": wire, "CUT": cut},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
        )
    try:
        outputs = [process.communicate(timeout=SECONDS)[0] for process in started]
    finally:
        for process in started:
            process.kill()
    return [(process.returncode, output) for process, output in zip(started, outputs, strict=True)]


def write_plan(folder: Path) -> None:
    (folder / "plan.toml").write_text(tomli_w.dumps(recipe(folder / "data", **EIGHT)), "utf-8")
    (folder / "cutter.py").write_text(CUTTER, "utf-8")


def finished(folder: Path, run: str, *more: str, cut: str = "") -> None:
    ends = trained(folder, run, *more, cut=cut)
    assert [code for code, _ in ends] == [0, 0], "\n".join(output for _, output in ends)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_host_cut_off_and_brought_back_changes_nothing(tmp_path: Path) -> None:
    if not possible():
        pytest.skip("making network namespaces needs root and iproute2")
    write_plan(tmp_path)
    with hosts():
        finished(tmp_path, "whole")
        finished(tmp_path, "short", cut="4:4")
        assert same(tmp_path / "short", tmp_path / "whole")
        ends = trained(tmp_path, "long", "--set", "train.timeout=8", cut="4:20")
        assert all(code for code, _ in ends)
        assert any("lost the others" in output for _, output in ends), ends
        finished(tmp_path, "long", "--resume")
        assert same(tmp_path / "long", tmp_path / "whole")


def counted(wire: str = "wire-a") -> int:
    """Bytes that have left a host."""
    told = subprocess.run(
        ["ip", "netns", "exec", "regard-a", "cat", f"/sys/class/net/{wire}/statistics/tx_bytes"],
        check=True,
        capture_output=True,
        text=True,
    )
    return int(told.stdout)


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as place, hosts():
        write_plan(Path(place))
        for updates in (2, 42):
            before = counted()
            settings = (f"train.updates={updates}", "train.every=1000", f"train.parallel={sys.argv[1]}")
            finished(Path(place), f"run-{updates}", *(word for one in settings for word in ("--set", one)))
            print(f"{updates} updates: {counted() - before:,} bytes left the first host", flush=True)
