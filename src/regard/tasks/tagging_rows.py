"""Rows of tagging: words with a tag each, or a text with the spans of its entities; both become words and IOB2."""

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, Literal, NamedTuple

from regard.config import Settings
from regard.data import Row, Tally
from regard.tasks.tag_schemes import Scheme, Tagging, broken, guessed, malformed, prevailing, taggings, to_iob2, written
from regard.tasks.tagging_words import Cutting, Word, cut

# Where a row may say how its own text is cut: that of columns of words is cut at spaces.
CUT = "words"
# A type of fewer entities is hard to learn.
FEW = 10


class TagsSettings(Settings):
    """In which scheme tags are read (auto: the one most lines of a corpus are in), and in which they are learned; IOB2
    is put out."""

    scheme: Scheme | Literal["auto"] = "auto"
    # Read a line that breaks its scheme as conlleval does, instead of holding it for a bad one.
    repair: bool = False
    learn: Literal["iob2", "bioes"] = "iob2"


class Gold(NamedTuple):
    """The words of a row and their tags in IOB2."""

    words: list[Word]
    tags: list[str]


def words_of(row: Mapping[str, str], cutting: Cutting) -> list[Word]:
    """The words of a row, with tags or without."""
    return cut(row["text"], "spaces" if "tags" in row or row.get(CUT) == "spaces" else cutting)


def gold(row: Mapping[str, str], cutting: Cutting) -> Gold:
    """The words and tags of a row without fault."""
    words = words_of(row, cutting)
    if "tags" in row:
        return Gold(words, to_iob2(row["tags"].split()))
    return Gold(words, written(_in_words(_spans(row["entities"]), words), len(words)))


def fault(row: Mapping[str, str], settings: TagsSettings, cutting: Cutting) -> str:
    """What is wrong with a row, or nothing."""
    words = words_of(row, cutting)
    if "tags" not in row:
        return _spans_fault(row["text"], row["entities"], words)
    tags = row["tags"].split()
    if len(words) != len(tags):
        return f"{len(words)} words between spaces, but {len(tags)} tags"
    return malformed(tags) or ("" if settings.repair else _broken(tags, settings.scheme))


def _broken(tags: Sequence[str], scheme: Scheme | Literal["auto"]) -> str:
    """Where tags break their scheme, and what to do about it; or nothing."""
    if not (told := broken(tags, scheme)):
        return ""
    alone = "" if broken(tags, "auto") else f" (by itself this line would be {guessed(tags).upper()})"
    return f"{told}{alone}; mend it, or set tags.repair = true to have it read as conlleval does"


def fitted(settings: TagsSettings, rows: Iterable[Mapping[str, str]]) -> TagsSettings:
    """The settings for a corpus of these rows: a scheme that has to be guessed is one for all of them."""
    if settings.scheme != "auto" or settings.repair:
        return settings
    return settings.model_copy(update={"scheme": prevailing(row["tags"].split() for row in rows if "tags" in row)})


def remarks(train: Iterable[Row], cutting: Cutting) -> list[str]:
    """What is odd about the tags of training as a whole."""
    train = list(train)
    told = [
        f"{label}: {found.count} entities in training, too few to learn from ({found})."
        for label, found in _tallies(train, cutting).items()
        if found.count < FEW
    ]
    return told + _mixed((row.place, row.fields["tags"].split()) for row in train if "tags" in row.fields)


def _mixed(lines: Iterable[tuple[str, Sequence[str]]]) -> list[str]:
    """Which lines are in another scheme than most, and which in none."""
    schemes, repaired = dict[str, Tally](), Tally()
    for place, tags in lines:
        if broken(tags, "auto"):
            repaired.add(place)
        elif set(tags) != {"O"}:
            schemes.setdefault(guessed(tags), Tally()).add(place)
    told = []
    if len(schemes) > 1:
        most, *rest = sorted(schemes.items(), key=lambda entry: -entry[1].count)
        mix = [f"{most[1].count:,} {most[0]}", *(f"{found.count:,} {scheme}: {found}" for scheme, found in rest)]
        told = [f"Lines of training are in several schemes ({'; '.join(mix)}); set tags.scheme to refuse the others."]
    if repaired.count:
        count = f"{repaired.count:,} lines of training fit no scheme"
        told.append(f"{count} and are repaired as they are read ({repaired}).")
    return told


def _tallies(rows: Iterable[Row], cutting: Cutting) -> dict[str, Tally]:
    """How many entities there are of each type, and where the first few stand."""
    found = dict[str, Tally]()
    for place, fields in rows:
        for one in taggings(gold(fields, cutting).tags):
            found.setdefault(one.label, Tally()).add(place)
    return found


class _Span(NamedTuple):
    start: int
    end: int
    label: str
    # What is said to stand there; empty where nothing is said.
    text: str = ""


def _spans(text: str) -> list[_Span]:
    """The entities of a JSON text: objects with start, end, label (or type) and maybe text, or lists of three."""
    return sorted(_span(entry) for entry in json.loads(text))


def _span(entry: Any) -> _Span:
    if isinstance(entry, dict):
        label, said = entry.get("label", entry.get("type")), entry.get("text") or ""
        entry = (entry["start"], entry["end"], label)
    else:
        said = ""
    start, end, label = entry
    whole = isinstance(start, int) and isinstance(end, int) and not isinstance(start, bool)
    if not (whole and isinstance(label, str) and isinstance(said, str)):
        raise TypeError
    return _Span(start, end, label, said)


def _spans_fault(text: str, entities: str, words: Sequence[Word]) -> str:
    try:
        spans = _spans(entities)
    except (ValueError, TypeError, KeyError, RecursionError):
        return f"entities is {entities[:60]!r}; expected a list of {{start, end, label}} or [start, end, label]"
    for span in spans:
        if wrong := _misplaced(span, text, words):
            return wrong
    for one, other in pairwise(spans):
        if other.start < one.end:
            return f"{other.label} at {other.start} begins inside {one.label} at {one.start} to {one.end}"
    return ""


def _misplaced(span: _Span, text: str, words: Sequence[Word]) -> str:
    """Why no words of this text are this span, or nothing."""
    start, end, label, said = span
    if not label or any(character.isspace() for character in label):
        return f"the label {label!r} of the span {start} to {end} is empty or has a space in it"
    if not 0 <= start < end <= len(text):
        return f"{label} at {start} to {end} is no span of a text of {len(text)} characters"
    # Spaces within a name may be written otherwise; what else differs stands elsewhere.
    if said and said.split() != text[start:end].split():
        return f"{label} at {start} to {end} is said to be {said[:60]!r}; there stands {text[start:end][:60]!r}"
    if start not in {word.start for word in words} or end not in {word.end for word in words}:
        near = " ".join(word.text for word in words if word.start < end and word.end > start)
        return f"{label} at {start} to {end} is {text[start:end]!r}, which begins or ends inside a word of {near!r}"
    return ""


def _in_words(spans: Iterable[_Span], words: Sequence[Word]) -> list[Tagging]:
    first = {word.start: number for number, word in enumerate(words)}
    end = {word.end: number for number, word in enumerate(words, 1)}
    return [Tagging(span.label, first[span.start], end[span.end]) for span in spans]
