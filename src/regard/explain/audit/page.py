"""An audit as a file: one page that needs no network, JSON, or plain text."""

import json
from collections.abc import Callable
from html import escape

from regard.errors import RequestError
from regard.explain.audit.report import Audit, Trust
from regard.explain.audit.tables import Cell, Table, how, safe, tables

TITLE = "Is attention an explanation for this model?"
ANSWERS: dict[Trust, str] = {
    "yes": "Yes",
    "partly": "In part",
    "no": "No",
    "unclear": "Too few texts",
    "blunt": "This cannot tell",
    "none": "It has none",
}
STYLE = """
:root { color-scheme: light dark; --ink: #1c1c1c; --paper: #fff; --faint: #666; --line: #ddd; --bar: #4c78a8; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e6e6; --paper: #161616; --faint: #a0a0a0; --line: #3a3a3a; --bar: #7ba6d6; }
}
body { color: var(--ink); background: var(--paper); font: 15px/1.5 system-ui, sans-serif; max-width: 50rem;
  margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.4rem; margin: 0; } h2 { font-size: 1rem; margin: 1.6rem 0 0; }
.answer { font-size: 2rem; font-weight: 700; margin: .2rem 0 .6rem; }
p.told, footer { color: var(--faint); font-size: .85rem; margin: .1rem 0 .4rem; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .15rem .6rem .15rem 0; border-bottom: 1px solid var(--line);
  overflow-wrap: anywhere; }
th { font-weight: 600; font-size: .85rem; }
.bar { display: inline-block; height: .6rem; background: var(--bar); margin-right: .4rem; }
footer { margin-top: 2rem; }
"""


def page(audit: Audit) -> str:
    """One self-contained page: the answer, its reasons, and the figures."""
    first, *rest = (escape(safe(sentence)) for sentence in audit.sentences)
    reasons = "".join(f"<li>{sentence}</li>" for sentence in rest)
    body = "".join(map(_section, tables(audit)))
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<title>{TITLE}</title><style>{STYLE}</style></head>\n<body><h1>{TITLE}</h1>"
        f'<p class="answer">{ANSWERS[audit.trust]}.</p><p>{first}</p><ul>{reasons}</ul>{body}'
        f"<footer>{escape(safe(how(audit)))}</footer></body></html>\n"
    )


def text(audit: Audit) -> str:
    """The answer and its reasons for a terminal, then the figures."""
    lines = [f"{TITLE} {ANSWERS[audit.trust]}.", ""]
    lines += [safe(sentence) if place == 0 else f"- {safe(sentence)}" for place, sentence in enumerate(audit.sentences)]
    for table in tables(audit):
        lines += ["", table.title, *_aligned(table)]
    return "\n".join([*lines, "", safe(how(audit)), ""])


def data(audit: Audit) -> str:
    """All of it as JSON."""
    return json.dumps(audit.plain(), allow_nan=False, indent=1) + "\n"


FORMS: dict[str, Callable[[Audit], str]] = {".html": page, ".json": data, ".txt": text}


def form(suffix: str) -> Callable[[Audit], str]:
    """What writes a file with this ending."""
    if suffix.lower() not in FORMS:
        raise RequestError(f"An audit cannot be written as {suffix or 'a file without an ending'}; use {_endings()}.")
    return FORMS[suffix.lower()]


def _endings() -> str:
    *most, last = FORMS
    return f"{', '.join(most)} or {last}"


def _section(table: Table) -> str:
    head = "".join(f"<th>{escape(column)}</th>" for column in table.columns)
    rows = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in table.rows)
    told = f'<p class="told">{escape(table.told)}</p>'
    return f"<section><h2>{escape(table.title)}</h2>{told}<table><tr>{head}</tr>{rows}</table></section>\n"


def _cell(value: Cell) -> str:
    if not isinstance(value, float):
        return f"<td>{escape(str(value))}</td>"
    return f'<td><span class="bar" style="width:{min(max(value, 0.0), 1.0) * 8:.2f}rem"></span>{value:.1%}</td>'


def _aligned(table: Table) -> list[str]:
    rows = [table.columns, *([_shown(value) for value in row] for row in table.rows)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  " + "  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in rows]


def _shown(value: Cell) -> str:
    return f"{value:.1%}" if isinstance(value, float) else str(value)
