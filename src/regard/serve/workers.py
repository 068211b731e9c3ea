"""Several processes on one socket: each loads the bundles; one that dies is replaced, and all stop together."""

import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

from regard.errors import ConfigError
from regard.serve.settings import ServeSettings

# Seconds before a worker that died is replaced: what dies at once would keep a machine busy otherwise.
PAUSE = 1.0


class Workers:
    """The processes, and the one that looks after them: it never sees a model or a request."""

    def __init__(self, told: dict[str, Any], listening: socket.socket, settings: ServeSettings) -> None:
        self.told, self.listening, self.settings = told, listening, settings
        self.stopping = False
        self.running: list[subprocess.Popen[bytes]] = []

    def run(self, started: Callable[[], None]) -> None:
        """Start all, say so, and keep them until told to stop."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._stop)
        signal.signal(signal.SIGHUP, self._reload)
        try:
            self.running = [self._start() for _ in range(self.settings.workers)]
            heard = [ready(one) for one in self.running]
            if all(heard) and not self.stopping:
                started()
            elif not self.stopping:
                raise ConfigError("A worker could not start; what it said stands above.")
            self._keep()
        finally:
            self._end()

    def _start(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "regard.serve.worker", str(self.listening.fileno())]
        # A worker that does not listen yet must not die of being told to load its bundles again; ignoring is inherited.
        before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
        # In a group of its own: a Ctrl-C reaches the one that looks after it, which tells it to finish.
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            pass_fds=[self.listening.fileno()],
            start_new_session=True,
        )
        signal.signal(signal.SIGHUP, before)
        assert process.stdin is not None
        with process.stdin as given:
            given.write(json.dumps(self.told).encode())
        return process

    def _keep(self) -> None:
        while not self.stopping:
            time.sleep(0.2)
            for place, process in enumerate(self.running):
                if process.poll() is not None and not self.stopping:
                    print(f"A worker ended with {process.returncode}; another takes its place.", file=sys.stderr)
                    time.sleep(PAUSE)
                    self.running[place] = self._start()

    def _end(self) -> None:
        self._tell(signal.SIGTERM)
        until = time.monotonic() + self.settings.drain + 2
        for process in self.running:
            try:
                process.wait(max(0.1, until - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            if process.stdout is not None:
                process.stdout.close()

    def _stop(self, number: int, frame: FrameType | None) -> None:
        self.stopping = True
        self._tell(signal.SIGTERM)

    def _reload(self, number: int, frame: FrameType | None) -> None:
        self._tell(signal.SIGHUP)

    def _tell(self, number: int) -> None:
        for process in self.running:
            if process.poll() is None:
                process.send_signal(number)


def ready(process: subprocess.Popen[bytes]) -> bool:
    """Wait until a worker says that it listens; whether it did."""
    assert process.stdout is not None
    return process.stdout.readline() == b"ready\n"


def told(
    folders: Sequence[Path], settings: ServeSettings, changes: Sequence[str], extensions: Sequence[Path]
) -> dict[str, Any]:
    """All a worker has to know, as JSON."""
    return {
        "folders": list(map(str, folders)),
        "settings": settings.model_dump(mode="json"),
        "changes": list(changes),
        "extensions": list(map(str, extensions)),
    }
