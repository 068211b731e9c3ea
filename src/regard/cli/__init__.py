"""Words on a terminal: the `regard` command.

Exit codes: 0 done, 1 an error Regard can explain (one message, no traceback) or a promise not kept, 2 a command typed
wrongly, 130 stopped with Ctrl-C, 143 stopped with SIGTERM.
"""

import sys

from regard.cli.app import app
from regard.errors import RegardError

__all__ = ["main"]


def main() -> None:
    """Run the command line and leave with its exit code."""
    try:
        app(prog_name="regard")
    except RegardError as error:
        print(f"regard: {_hinted(str(error))}", file=sys.stderr)
        sys.exit(1)


def _hinted(message: str) -> str:
    """The message; about a name that is not known also how to add a part of one's own."""
    if not message.startswith("Unknown "):
        return message
    from regard.api.extending import hint

    return hint(message)
