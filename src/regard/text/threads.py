"""Forking after tokenizing: a child must not wait for threads that stayed behind with its parent.

The tokenizers library sees to that itself, except where TOKENIZERS_PARALLELISM insists on threads; then a forked child
would wait for ever. So in a child the variable is put right. Its parent keeps what it has.
"""

import os

_VARIABLE = "TOKENIZERS_PARALLELISM"


def _in_child() -> None:
    if _VARIABLE in os.environ:
        os.environ[_VARIABLE] = "false"


# Systems without fork have no such hook, and no need of it.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
