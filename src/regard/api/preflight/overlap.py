"""What training and held-out texts have in common, and whether their sides are the right way round."""

from collections.abc import Iterable, Sequence

from regard.api.findings import Level
from regard.api.preflight.report import Notes
from regard.api.preflight.texts import Fields, Texts, field
from regard.tasks import Recipe

# A share of known held-out sources above which scores on them mean little.
MUCH = 0.01
SAMPLE = 2000


def look_at_overlap(recipe: Recipe, texts: Texts, notes: Notes) -> None:
    """Held-out lines that training has too; case, the amount of white space and blank lines do not count."""
    known = _sides(texts.training, texts.fields)
    cleaned = any(part.name == "overlap" for part in recipe.data.cleaning)
    remedy = "cleaning by overlap has left some" if cleaned else 'add "overlap" to data.cleaning to leave them out'
    unseen = {f"test {name}" for name, corpus in recipe.data.test.items() if corpus.unseen}
    for name, rows in {"valid": texts.valid, **{f"test {name}": rows for name, rows in texts.test.items()}}.items():
        rows = [row for row in rows if row[texts.fields[0]].strip()]
        if not rows:
            continue
        told, level = _common(name, rows, texts, known)
        if level == "ok":
            notes.add(level, "overlap", f"{told}.")
        elif name in unseen:
            notes.add("ok", "overlap", f"{told}; `unseen` leaves such lines out of it.")
        else:
            notes.add(level, "overlap", f"{told}: scores there are partly of memory; {remedy}.")


def _common(name: str, rows: Sequence[Fields], texts: Texts, known: tuple[set[str], set[str]]) -> tuple[str, Level]:
    """How many held-out rows training has too, in words, and how much that matters."""
    seen, pairs = known
    sources = sum(_key([row[texts.fields[0]]]) in seen for row in rows)
    both = sum(any(_key(each[field] for field in texts.fields) in pairs for each in texts.each(row)) for row in rows)
    what, answered = ("sources", f", {both:,} with the same answer") if len(texts.fields) > 1 else ("texts", "")
    told = f"{sources:,} of {len(rows):,} {what} of {name} are also in training{answered}"
    level: Level = "warning" if both or sources > MUCH * len(rows) else "note"
    return told, level if sources else "ok"


def _sides(rows: Sequence[Fields], fields: Sequence[str]) -> tuple[set[str], set[str]]:
    """The sources, and the whole rows, of a corpus."""
    return {_key([row[fields[0]]]) for row in rows}, {_key(row[name] for name in fields) for row in rows}


def _key(texts: Iterable[str]) -> str:
    return "\0".join(" ".join(text.split()).casefold() for text in texts)


def look_at_sides(texts: Texts, notes: Notes) -> None:
    """Fields that say the same, or whose held-out texts look like the other field of training."""
    first, last = texts.fields[0], texts.fields[-1]
    rows = texts.training[:SAMPLE]
    copies = sum(row[first].strip() == row[last].strip() for row in rows)
    if copies > len(rows) / 2:
        told = f"{copies:,} of the first {len(rows):,} training rows have the same text as {first} and {last}"
        notes.add("warning", "sides", f"{told}: is one file named for both? If it is meant, all is well.")
        return
    turned = [name for name, held in _held_out(texts) if _turned(texts, held, first, last)]
    for name in turned:
        notes.add(
            "warning",
            "sides",
            f"The {first} of {name} looks like the {last} of training and the other way round: are its files swapped?",
        )
    if not turned:
        notes.add("ok", "sides", f"{first} and {last} are different texts, the same way round everywhere")


def _held_out(texts: Texts) -> list[tuple[str, list[Fields]]]:
    return [(name, rows) for name, rows in [("valid", texts.valid), *texts.test.items()] if rows]


def _turned(texts: Texts, held: Sequence[Fields], first: str, last: str) -> bool:
    """Whether the words of each held-out field are much more those of the other field of training."""
    known = {name: _words(field(texts.training, name)) for name in (first, last)}
    asked = {name: _words(field(held[:SAMPLE], name)) for name in (first, last)}
    return all(
        _shared(asked[mine], known[other]) > _shared(asked[mine], known[mine]) + 0.2
        for mine, other in ((first, last), (last, first))
    )


def _words(texts: Iterable[str]) -> set[str]:
    """Words, and single characters for scripts without spaces."""
    return {unit for text in texts for unit in (*text.lower().split(), *text.lower())}


def _shared(asked: set[str], known: set[str]) -> float:
    return len(asked & known) / max(len(asked), 1)
