"""Fonts on this machine that have the letters of a picture, for where the picture is painted here."""

import re
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache

from PIL import ImageFont

# Tried before all others, for they have many scripts and are plain. The first comes with matplotlib.
USUAL = (
    "DejaVu Sans",
    "Noto Sans CJK SC",
    "Noto Sans CJK JP",
    "Noto Sans SC",
    "Source Han Sans SC",
    "WenQuanYi Micro Hei",
    "PingFang SC",
    "Hiragino Sans GB",
    "Microsoft YaHei",
    "Arial Unicode MS",
    "Unifont",
)
BOLD = "DejaVu Sans"
# Colour emoji are pictures of one size only; the others have a box for every letter there is.
_UNFIT = re.compile("Emoji|Last ?Resort|Blank")


def fonts_for(texts: Iterable[str]) -> dict[str, str]:
    """For every letter of these texts the file of the first font that has it; letters that no font has are missing."""
    missing = {letter for text in texts for letter in text}
    found: dict[str, str] = {}
    for path in _files():
        if not missing:
            break
        here = {letter for letter in missing if ord(letter) in _letters(path)}
        found |= dict.fromkeys(here, path)
        missing -= here
    return found


@lru_cache(256)
def font(path: str, size: float, bold: bool = False) -> ImageFont.FreeTypeFont:
    """The font at a size; only the first one has bold letters."""
    return ImageFont.truetype(_bold() if bold and path == _files()[0] else path, size)


@cache
def _files() -> tuple[str, ...]:
    """Fonts of ordinary weight, the usual ones first, and one file of each."""
    first: dict[str, str] = {}
    for name, path in _named(bold=False):
        first.setdefault(name, path)
    return tuple(first.values())


@cache
def _bold() -> str:
    return next((path for name, path in _named(bold=True) if name == BOLD), _files()[0])


def _named(bold: bool) -> Iterator[tuple[str, str]]:
    from matplotlib.font_manager import fontManager

    order = {name: number for number, name in enumerate(USUAL)}
    weights = (700, "bold") if bold else (400, "normal", "regular")
    upright = [entry for entry in fontManager.ttflist if entry.style == "normal" and entry.weight in weights]
    # Condensed letters have the name of the plain ones.
    plain = [one for one in upright if one.stretch in (400, "normal") and not _UNFIT.search(one.name)]
    for entry in sorted(plain, key=lambda entry: (order.get(entry.name, len(order)), entry.name, entry.fname)):
        yield entry.name, entry.fname


@cache
def _letters(path: str) -> frozenset[int]:
    from matplotlib.ft2font import FT2Font

    try:
        return frozenset(FT2Font(path).get_charmap())
    except (OSError, RuntimeError):
        # A file that is gone, or a kind of font that cannot be read here.
        return frozenset()
