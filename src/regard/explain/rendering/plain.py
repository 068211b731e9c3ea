"""Explanations as JSON: one is an object, several are a list of objects."""

import json

from regard.explain.attribution import Attribution
from regard.explain.rendering.shown import Maps, listed


def plain_json(maps: Maps) -> bytes:
    """Everything the explanations hold, every number in full."""
    found = [attribution.plain() for attribution in listed(maps)]
    written = json.dumps(found[0] if isinstance(maps, Attribution) else found, ensure_ascii=False, allow_nan=False)
    # Half a character, which a broken text may hold, has no UTF-8; its JSON escape says what it is.
    return written.encode("utf-8", "backslashreplace") + b"\n"
