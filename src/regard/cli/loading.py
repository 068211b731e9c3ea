"""How libraries and models come in fast."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def loading() -> Iterator[None]:
    """Around imports and the reading of a model: none of that is rubbish, so Python looks for none among it, neither
    now nor later."""
    looked = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if looked:
            gc.enable()
