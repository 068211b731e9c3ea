"""Long texts cut where it hurts least.

A sentence ends
- at a newline;
- after 。！？； and the closing quotes and brackets behind them; also after ! and ? right behind such a script;
- after . ! ? … (and their Arabic and Indic kin) and the closing quotes and brackets behind them, if white space follows
  and then an opening: a letter that is not small, a digit, a quote, a bracket, a dash or a sign. A lone point is no end
  after one letter (J. Bach), letters with points inside (z.B., U.S.), a known abbreviation (Dr.), one or two digits
  (3. Mai), a Roman number (XIV.), or, before a digit, an abbreviation that counts (No. 5).

White space behind an end belongs to the sentence before it. Where the rule is unsure it does not cut: a long sentence
does less harm than half a one.
"""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable

from regard.text.patterns import CJK, CJK_MARKS

Span = tuple[int, int]

_ABBREVIATIONS = """
abb abs adj adm ass aufl bd bsp bspw bzgl bzw ca capt col dept dipl dr ed eds evtl fam fr ggf gen geb gest gov hon hr
hrn hrsg inc ing inkl insb jh jr lt ltd maj mag med messrs mlle mm mme mr mrs ms mt nr op ph phil pres prof rd rev sen
sgt skr sog sr st std str tel vgl vs zt zzgl
"""
_COUNTING = "art bd ch fig figs kap no nos nr p pp s sec tab vol"
ABBREVIATIONS, COUNTING = frozenset(_ABBREVIATIONS.split()), frozenset(_COUNTING.split())

_MARK = re.compile("\n\\s*|[。！？；｡]+|[.!?…؟۔।॥]+")
_CLOSING = re.compile("[\"'”’“‘»«›‹)\\]}」』）】》〉〕］｝]*")
_CLOSING_CJK = re.compile("[”’」』）】》〉〕］｝)]*")
_SPACE = re.compile(r"\s*")
_WORD = re.compile(r"[^\s()\[\]{}\"'„“”‘’«»‹›/–—-]*\Z")
_NO_END = re.compile(r"[^\W\d_]|(?:[^\W\d_]{1,3}\.)+[^\W\d_]{1,3}|\d{1,2}|[IVX]{2,}")
_TIGHT = re.compile(f"[{CJK}{CJK_MARKS}”’]")
_OPENING = frozenset("\"'¿¡*#@<&")
_OPENING_SORTS = frozenset(("Ps", "Pi", "Pf", "Pd", "Sc", "So", "Nd"))

# A word long enough for any abbreviation.
_REACH = 24

_CLAUSE = re.compile(r"[，、；：]|[,;:](?=\s)")
_GAP = re.compile(r"\s+")
_JOINERS = frozenset("\u200d")
# Surrogates, flags (two letters each), skin colours, and Korean syllables written letter by letter.
_PAIR = re.compile("[\ud800-\udbff].|[\U0001f1e6-\U0001f1ff]{2}|.[\U0001f3fb-\U0001f3ff]|.[\u1160-\u11ff]", re.DOTALL)


def sentences(text: str) -> list[Span]:
    """The spans of the sentences of a text: one begins where another ends, and together they are the text.

    >>> [text[start:end] for text in ["Dr. Roth kam am 3. Mai. Er blieb."] for start, end in sentences(text)]
    ['Dr. Roth kam am 3. Mai. ', 'Er blieb.']
    """
    found: list[Span] = []
    start = 0
    for mark in _MARK.finditer(text):
        end = _end(text, start, mark) if mark.start() >= start else None
        if end is not None and not text[start:end].isspace():
            found.append((start, end))
            start = end
    return [*found, (start, len(text))] if start < len(text) else found


def parts(text: str, fits: Callable[[str], bool], join: bool = True) -> list[Span]:
    """The spans of parts that fit, in order; between them, before and behind stands nothing but white space.

    Sentences of one line are joined as long as they fit together, unless every one is to stand alone. One that does not
    fit alone is cut, again and again, behind the last clause mark (, ; : before a space, ，、；： anywhere) of what
    fits; without one, at the last white space; without that, between two characters, but never inside one that is
    written with several (accents, joined emoji, surrogates). One such character that does not fit stands alone. `fits`
    is asked about every part, and taken to hold for the beginning of what it holds for.
    """
    found: list[Span] = []
    joinable = False
    for start, end in (_trimmed(text, *span) for span in sentences(text)):
        if join and joinable and "\n" not in text[found[-1][1] : start] and fits(text[found[-1][0] : end]):
            found[-1] = (found[-1][0], end)
        elif start < end:
            joinable = fits(text[start:end])
            found += [(start, end)] if joinable else _cut(text, (start, end), fits)
    return found


def _end(text: str, start: int, mark: re.Match[str]) -> int | None:
    """Where the sentence ends that began at `start`, if it ends at this mark."""
    first = mark[0][0]
    if first == "\n":
        return mark.end()
    if first in "。！？；｡" or (first in "!?" and _TIGHT.match(text[max(mark.start() - 1, start) : mark.start()])):
        return _match_end(_SPACE, text, _behind_quotes(text, start, mark.end()))
    closed = _match_end(_CLOSING, text, mark.end())
    end = _match_end(_SPACE, text, closed)
    if end == len(text):
        return end
    lone = mark[0] == "." and closed == mark.end()
    ends = end > closed and _opens(text[end]) and not (lone and _abbreviates(text, start, mark.start(), text[end]))
    return end if ends else None


def _behind_quotes(text: str, start: int, end: int) -> int:
    """Behind the closing quotes at `end`; a straight one closes if the sentence has opened it."""
    end = _match_end(_CLOSING_CJK, text, end)
    for quote in "\"'":
        if text.startswith(quote, end) and text.count(quote, start, end) % 2:
            return end + 1
    return end


def _opens(character: str) -> bool:
    sort = unicodedata.category(character)
    return character in _OPENING or sort in _OPENING_SORTS or (character.isalpha() and not character.islower())


def _abbreviates(text: str, start: int, point: int, following: str) -> bool:
    """Whether the point here belongs to the word before it."""
    found = _WORD.search(text[max(start, point - _REACH) : point])
    word = found[0] if found else ""
    counts = following.isdigit() and word.lower() in COUNTING
    return _NO_END.fullmatch(word) is not None or word.lower() in ABBREVIATIONS or counts


def _match_end(pattern: re.Pattern[str], text: str, start: int) -> int:
    found = pattern.match(text, start)
    return found.end() if found else start


def _trimmed(text: str, start: int, end: int) -> Span:
    part = text[start:end]
    return end - len(part.lstrip()), start + len(part.rstrip()) if part.strip() else end


def _cut(text: str, span: Span, fits: Callable[[str], bool]) -> list[Span]:
    """A sentence that does not fit, in parts that do."""
    start, end = span
    whole = [*(place for place in range(start + 1, end) if _may_cut(text, place)), end]
    better = [
        [match.end() for match in _CLAUSE.finditer(text, start, end)],
        [match.start() for match in _GAP.finditer(text, start, end)],
    ]
    found: list[Span] = []
    while start < end:
        furthest = _furthest(text, start, whole, fits)
        cuts = (_last(places, start, furthest) for places in better)
        stop = furthest if furthest == end else next((cut for cut in cuts if cut and fits(text[start:cut])), furthest)
        found.append(_trimmed(text, start, stop))
        start = _match_end(_SPACE, text, stop)
    return found


def _furthest(text: str, start: int, places: list[int], fits: Callable[[str], bool]) -> int:
    """The last place up to which the text fits; steps double until it does not, so that little is read in vain."""
    low = bisect_right(places, start)
    step, high = 1, len(places)
    while low + step < high:
        if not fits(text[start : places[low + step]].rstrip()):
            high = low + step
            break
        low, step = low + step, step * 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(text[start : places[middle]].rstrip()) else (low, middle)
    return places[low]


def _last(places: list[int], start: int, furthest: int) -> int | None:
    """The last of these places behind `start` that is not too far."""
    number = bisect_right(places, furthest) - 1
    return places[number] if number >= 0 and places[number] > start else None


def _may_cut(text: str, place: int) -> bool:
    """Whether the characters beside a place are two, not parts of one."""
    before, after = text[place - 1], text[place]
    if after < "\u0300":
        return before not in _JOINERS
    continues = unicodedata.category(after).startswith("M") or after in _JOINERS or before in _JOINERS
    return not (continues or _PAIR.fullmatch(before + after))
