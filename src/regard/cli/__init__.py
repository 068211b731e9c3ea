"""Words on a terminal: the `regard` command.

Exit codes: 0 done, 1 an error Regard can explain (one message, no traceback), 2 a command typed wrongly,
130 stopped with Ctrl-C.
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
        print(f"regard: {error}", file=sys.stderr)
        sys.exit(1)
