"""The service as a process: listen, answer, and stop without dropping what has been taken on."""

import asyncio
import logging
import os
import resource
import signal
import socket
import sys
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import uvicorn

from regard.errors import ConfigError, RegardError
from regard.serve.app import build
from regard.serve.arrival import limited
from regard.serve.settings import ServeSettings
from regard.serve.shelf import Shelf

LOG = logging.getLogger("regard.serve")
# Connections the system keeps for us until we take them.
BACKLOG = 2048


def listen(settings: ServeSettings) -> socket.socket:
    """The socket the service will answer on."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    try:
        return socket.create_server((settings.host, settings.port), family=family, backlog=BACKLOG)
    except (OSError, OverflowError) as error:
        raise ConfigError(
            f"Cannot listen on {settings.host} port {settings.port}: {error}. Choose another with --port or --host."
        ) from None


def address(listening: socket.socket) -> str:
    """Where a browser finds what listens there."""
    host, port = listening.getsockname()[:2]
    shown = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)
    return f"http://{shown}:{port}"


class Service(uvicorn.Server):
    """A server over a shelf: SIGTERM and Ctrl-C stop it when all is answered, SIGHUP loads the bundles again."""

    def __init__(self, shelf: Shelf, settings: ServeSettings, started: Callable[[], None] = lambda: None) -> None:
        self.shelf, self.told = shelf, started
        super().__init__(
            uvicorn.Config(
                build(shelf, settings),
                http=limited(settings),
                ws="none",
                lifespan="off",
                loop="asyncio",
                log_config=None,
                access_log=False,
                server_header=False,
                backlog=BACKLOG,
                timeout_keep_alive=settings.idle,
                # What was cut off is still told so, within the time that was promised.
                timeout_graceful_shutdown=max(1, int(settings.drain - 1)),
            )
        )

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.loop = asyncio.get_running_loop()
        self.told()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self.shelf.leaving = True
        await super().shutdown(sockets)
        self.shelf.close()

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """As uvicorn does, but a stop that was asked for is no failure: the signal is not raised again at the end."""
        if threading.current_thread() is not threading.main_thread():
            # Signals reach nobody else.
            yield
            return
        handlers = {one: signal.signal(one, self.handle_exit) for one in (signal.SIGTERM, signal.SIGINT)}
        if not sys.stdin or not sys.stdin.isatty():
            # At a terminal the signal means that it was closed, and the service goes with it.
            handlers[signal.SIGHUP] = signal.signal(signal.SIGHUP, self.handle_reload)
        try:
            yield
        finally:
            for one, handler in handlers.items():
                signal.signal(one, handler)

    def handle_reload(self, number: int, frame: FrameType | None) -> None:
        asyncio.run_coroutine_threadsafe(reload(self.shelf), self.loop)


async def reload(shelf: Shelf) -> None:
    """Load every bundle again; one that cannot be loaded stays as it is, and is named."""
    for served in shelf.values():
        try:
            await served.reload()
            LOG.warning("%s was loaded again.", served.name)
        except (RegardError, OSError) as error:
            LOG.error("%s stays as it was: %s", served.name, error)


def serve(
    folders: Sequence[Path],
    settings: ServeSettings,
    changes: Sequence[str],
    listening: socket.socket,
    started: Callable[[Shelf], None],
) -> None:
    """Serve bundles on a socket until told to stop, in this process."""
    prepare()
    shelf = Shelf.load(folders, settings, changes)
    Service(shelf, settings, lambda: started(shelf)).run([listening])


def prepare() -> None:
    """Log lines to standard error, one each; as many files open at once as the system lets us have."""
    lines = logging.StreamHandler()
    lines.setFormatter(logging.Formatter("%(message)s"))
    for name, level in (("regard.access", logging.INFO), ("regard.serve", logging.INFO), ("uvicorn", logging.ERROR)):
        logger = logging.getLogger(name)
        logger.setLevel(level)
        logger.propagate = False
        logger.handlers = [lines]
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
