"""Where to compute."""

import torch

from regard.errors import ConfigError


def device(name: str) -> torch.device:
    """The device of that name; `auto` is the fastest there is."""
    there = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if name == "auto":
        name = next(kind for kind in ("cuda", "mps", "cpu") if there[kind])
    if not there.get(name, False):
        usable = ", ".join(kind for kind, usable in there.items() if usable)
        raise ConfigError(f"device = {name!r} cannot be used here; usable: auto, {usable}.")
    return torch.device(name)
