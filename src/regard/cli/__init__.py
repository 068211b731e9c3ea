"""Words on a terminal: the `regard` command.

Exit codes: 0 done, 1 an error Regard can explain (one message, no traceback) or a promise not kept, 2 a command typed
wrongly, 130 stopped with Ctrl-C, 143 stopped with SIGTERM.
"""

import sys

from regard.cli.app import app
from regard.errors import RegardError
from regard.files import shown

__all__ = ["main"]

# How torch says that there is no memory, on CPU and GPU.
NO_MEMORY = ("can't allocate memory", "out of memory", "Storage size calculation overflowed")
SMALLER = "Lower model.width, model.layers or batches.tokens, or give it fewer lines at a time."
# How much of a name that is itself the trouble is shown.
LONGEST = 200


def main() -> None:
    """Run the command line and leave with its exit code."""
    try:
        app(prog_name="regard")
    except RegardError as error:
        print(f"regard: {_hinted(str(error))}", file=sys.stderr)
        sys.exit(1)
    # What the system refuses is no mistake in the program: a sentence, and no traceback.
    except OSError as error:
        place = "" if error.filename is None else f"{shown(error.filename)[:LONGEST]}: "
        print(f"regard: {place}{error.strerror or error}.", file=sys.stderr)
        sys.exit(1)
    except (MemoryError, RuntimeError) as error:
        if not isinstance(error, MemoryError) and not any(sign in str(error) for sign in NO_MEMORY):
            raise
        print(f"regard: not enough memory. {SMALLER}", file=sys.stderr)
        sys.exit(1)


def _hinted(message: str) -> str:
    """The message; about a name that is not known also how to add a part of one's own."""
    if not message.startswith("Unknown "):
        return message
    from regard.api.extending import hint

    return hint(message)
