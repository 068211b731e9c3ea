"""Which language a text is in, among a few, without asking anybody: py3langid's model comes with its package."""

from collections.abc import Sequence
from copy import copy
from functools import lru_cache
from typing import NamedTuple

from py3langid.langid import MODEL_FILE, LanguageIdentifier  # type: ignore[import-untyped]

from regard.errors import RequestError

# The beginning of a text tells its language as well as all of it.
READ = 2_000


class Detected(NamedTuple):
    """A language, and its probability among those that were asked about, in percent."""

    language: str
    confidence: float

    def plain(self) -> dict[str, str | float]:
        return {"confidence": self.confidence, "language": self.language}


def detected(text: str, among: Sequence[str]) -> list[Detected]:
    """These languages, the likeliest first; of equals, the one that was named first."""
    codes = {_known(code): code for code in reversed(among) if _known(code)}
    if not codes:
        named = ", ".join(among) or "none"
        raise RequestError(f"The languages served here ({named}) are none the detector knows; name the source.")
    places = {code: place for place, code in enumerate(among)}
    ranked = [(codes[base], chance) for base, chance in _identifier(tuple(sorted(codes))).rank(text[:READ])]
    ranked.sort(key=lambda one: (-one[1], places[one[0]]))
    return [Detected(code, round(100 * chance, 2)) for code, chance in ranked]


def _known(code: str) -> str:
    """The detector's name of a language, or nothing.

    >>> _known("pt-BR"), _known("tlh")
    ('pt', '')
    """
    base = code.replace("_", "-").split("-")[0].lower()
    return base if base in _everything().labels else ""


@lru_cache(maxsize=1)
def _everything() -> LanguageIdentifier:
    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)


@lru_cache(maxsize=32)
def _identifier(languages: tuple[str, ...]) -> LanguageIdentifier:
    """One that knows only these; a copy, since restricting it changes it."""
    found = copy(_everything())
    found.set_languages(languages)
    return found
