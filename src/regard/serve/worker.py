"""One of several processes: `python -m regard.serve.worker FD`, with what to serve as JSON on standard input."""

import json
import os
import signal
import socket
import sys
import time
from pathlib import Path
from threading import Thread

from regard.api.extending import extend
from regard.errors import RegardError
from regard.serve.running import serve
from regard.serve.settings import ServeSettings
from regard.serve.shelf import Shelf


def main(descriptor: int) -> None:
    """Serve on a socket that was opened before; leaves with 1 where a bundle cannot be loaded."""
    told = json.load(sys.stdin)
    for path in told["extensions"]:
        extend(Path(path))
    listening = socket.socket(fileno=descriptor)
    try:
        serve(
            list(map(Path, told["folders"])), ServeSettings.read(told["settings"]), told["changes"], listening, _ready
        )
    except RegardError as error:
        print(f"regard: {error}", file=sys.stderr)
        sys.exit(1)


def _ready(shelf: Shelf) -> None:
    Thread(target=_orphaned, args=(os.getppid(),), daemon=True).start()
    # Who asked one of us to load a bundle again means all of us; the one above tells the others.
    shelf.others = lambda: os.kill(os.getppid(), signal.SIGHUP)
    print("ready", flush=True)


def _orphaned(above: int) -> None:
    """Stop once nobody looks after us: who was killed cannot tell us to."""
    while os.getppid() == above:
        time.sleep(1.0)
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    main(int(sys.argv[1]))
