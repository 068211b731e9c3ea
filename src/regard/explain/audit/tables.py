"""An audit's figures as tables, the same for a terminal and a page."""

from collections.abc import Iterator
from dataclasses import dataclass

from regard.explain.audit.leaning import Share
from regard.explain.audit.means import Mean
from regard.explain.audit.report import Audit
from regard.explain.audit.verdict import BETTER, LEANING, LEAST_TEXTS, MOVED, STILL

EXCHANGED = {"permuted": "shuffled", "uniform": "made even"}
# Heads named in a table, those that are missed most first.
MANY = 12

# A share of one is a float, a count is not.
Cell = str | int | float


@dataclass(frozen=True)
class Table:
    """Rows of figures under a title and a sentence that says what they are; a float is a share."""

    title: str
    told: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


def tables(audit: Audit) -> Iterator[Table]:
    """Every part of the audit that has figures."""
    found = (_exchanges(audit), _orders(audit), _normalized(audit), _agreement(audit), _heads(audit), *_leaning(audit))
    yield from (table for table in (*found, _idle(audit)) if table.rows)


def how(audit: Audit) -> str:
    """On what the audit stands, and from where on it says what it says."""
    left = f" {audit.left_out} were left out, such as: {audit.reason}" if audit.left_out else ""
    return (
        f"{audit.texts} texts drawn with seed {audit.settings['seed']}, {audit.passes:,} versions scored in "
        f"{audit.seconds:.0f} s.{left} Intervals are 95 % over texts. Attention is an explanation here if shuffling it "
        f"moves p by at least {MOVED} (below {STILL}: not at all) and losing the words it names first hurts at least "
        f"{BETTER} times as much as losing random words, beyond chance; below {LEAST_TEXTS} texts nothing is said. A "
        f"bias is a share over {LEANING:g} times the even one."
    )


def _exchanges(audit: Audit) -> Table:
    rows = [
        (EXCHANGED[name], str(one.probability), str(one.fall), "" if one.flips is None else f"{one.flips:.0%}")
        for name, one in audit.exchanges.items()
    ]
    told = "Other weights in the place of attention's own. The change of p is the least total variation there can be."
    return Table(
        "Does the output hang on attention?",
        told,
        ("weights", "change of p", "fall of log p", "other outputs"),
        tuple(rows),
    )


def _orders(audit: Audit) -> Table:
    rows = [(_named(name), str(one.comprehensiveness), str(one.sufficiency)) for name, one in audit.orders.items()]
    told = "One output a text. Without the first words p should fall much; with them alone it should fall little."
    return Table("Do the words it names matter?", told, ("order", "fall without", "fall with them alone"), tuple(rows))


def _normalized(audit: Audit) -> Table:
    rows = [(_named(name), str(one), one.texts) for name, one in audit.normalized.items()]
    told = "Area over the curve, 0 for the worst order of this text and 1 for the best."
    return Table("Between the worst and the best order", told, ("order", "normalized", "texts"), tuple(rows))


def _agreement(audit: Audit) -> Table:
    rows = [(_named(name), *_correlated(one)) for name, one in (audit.agreement | audit.seeds).items()]
    told = "Rank correlation of the words: 1 the same order, 0 none, -1 the opposite."
    return Table("Does anything else say the same?", told, ("with", "correlation", "texts"), tuple(rows))


def _correlated(one: Mean) -> tuple[str, int]:
    return str(one), one.texts


def _heads(audit: Audit) -> Table:
    falls = list(audit.heads.falls.items())[:MANY] if audit.heads else []
    does = audit.heads.does if audit.heads else {}
    rows = [(name, f"{fall:.3f}", does.get(name, "")) for name, fall in falls]
    told = (
        "How far log p falls when a head puts out nothing, those that are missed most; and where its weight lies, if "
        "one place has clearly more than even weight would put there."
    )
    return Table("Which heads matter, and what do they do?", told, ("head", "fall of log p", "looks at"), tuple(rows))


def _leaning(audit: Audit) -> Iterator[Table]:
    if audit.leaning is None:
        return
    leaning, columns = audit.leaning, ("where", "share", "if even")
    marks = {"marks (end, separators)": leaning.special, "first piece of text": leaning.first}
    yield Table("Where does it lie anyway?", "Shares of all weight on inputs.", columns, _shares(marks))
    yield Table("By place", "Shares of the weight on text.", columns, _shares(leaning.places))
    told = "Shares of the weight on text, by how often a piece occurs in these texts."
    yield Table("By frequency", told, columns, _shares(leaning.frequencies))
    yield Table("By distance", "Pieces between who asks and who is asked.", columns, _shares(leaning.distances))


def _shares(shares: dict[str, Share]) -> tuple[tuple[Cell, ...], ...]:
    return tuple((name, share.weight, share.evenly) for name, share in shares.items())


def _idle(audit: Audit) -> Table:
    words = audit.idle.words if audit.idle else ()
    rows = [(safe(word.text), word.weight, f"{word.effect:.4f}") for word in words]
    told = "Words with more than an even share of attention without which p hardly changes."
    return Table("Looked at, yet of no effect", told, ("word", "share", "change of p without"), tuple(rows))


def _named(name: str) -> str:
    return safe(name.replace("_", " "))


def safe(text: str) -> str:
    """Text with a sign for what cannot be printed or would turn what stands around it."""
    return "".join(sign if sign.isprintable() else "\ufffd" for sign in text)
