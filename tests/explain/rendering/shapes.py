"""Explanations of every shape, for all renderers."""

import numpy as np

from regard.explain.attribution import Attribution, Axis, Unit

NASTY = [
    "</script><script>alert(1)</script>",
    "<script>alert(1)</script>",
    "<!--<script>",
    "-->",
    "]]>",
    "<![CDATA[",
    "&lt;b&gt;",
    "&amp;",
    "&#60;script&#62;",
    "<img src=x onerror=alert(1)>",
    "<svg onload=alert(1)>",
    '" onmouseover="alert(1)',
    "' onmouseover='alert(1)",
    "javascript:alert(1)",
    "</title><script>alert(1)</script>",
    "</style><script>alert(1)</script>",
    "</textarea>",
    "</noscript><b>",
    "</text></svg><script>alert(1)</script>",
    "<?xml version='1.0'?>",
    "<!DOCTYPE html>",
    "<!ENTITY x 'y'>",
    "%3Cscript%3E",
    "\\u003cscript\\u003e",
    "\\",
    '\\"',
    "`${alert(1)}`",
    "{{constructor.constructor('alert(1)')()}}",
    "\x00",
    "a\x00b",
    "\x1b[31mred\x1b[0m",
    "\x1b]0;title\x07",
    "\x1b[2J\x1b[H",
    "\x9b31m",
    "\r\n",
    "\n",
    "\t",
    "\x7f",
    "\u2028",
    "\u2029",
    "\u202etxt.exe",
    "\u2066x\u2069",
    "\ufeff",
    "\ufffe",
    "\uffff",
    "\ud800",
    "a\udc00",
    "\u200d\u200d",
    "e\u0301\u0301\u0301",
    "👩‍👩‍👧‍👦",
    "$x_1^2$",
    "[bold red]markup[/]",
    " ",
    "",
    "北京<b>",
    "x" * 5000,
]


def axis(words: list[str], specials: int = 0) -> Axis:
    """Words with spaces between them, and some units after them that are no text."""
    text, units = " ".join(words), []
    at = 0
    for word in words:
        units.append(Unit(word, (at, at + len(word))))
        at += len(word) + 1
    return Axis(text, (*units, *(Unit(f"<{number}>", special=True) for number in range(specials))))


def numbered(count: int, specials: int = 0) -> Axis:
    return axis([f"w{number}" for number in range(count)], specials)


def explained(outputs: Axis, inputs: Axis, signed: bool = False) -> Attribution:
    """Weights that differ from cell to cell; without signs, rows that sum to one."""
    drawn = np.random.default_rng(len(outputs) * 1009 + len(inputs)).normal(size=(len(outputs), len(inputs)))
    weights = drawn if signed else np.exp(drawn) / np.maximum(np.exp(drawn).sum(1, keepdims=True), 1e-9)
    sure = tuple(np.linspace(0.4, 1, len(outputs)).tolist())
    return Attribution(
        "attention", outputs, inputs, weights, signed, source="layer 1", caveat="Not all.", check={"sums": 1e-7},
        probabilities=sure,
    )  # fmt: skip


SHAPES = {
    "matrix": explained(numbered(5, 1), numbered(7, 2)),
    "signed": explained(numbered(5), numbered(7), signed=True),
    "texts": explained(numbered(2), numbered(40, 1), signed=True),
    "one row": explained(numbered(1), numbered(9, 1)),
    "one cell": explained(numbered(1), numbered(1)),
    "one column": explained(numbered(6), numbered(1)),
    "only special": explained(numbered(4), numbered(0, 2)),
    "special first": explained(numbered(4), Axis("a b", (Unit("<s>", special=True), *axis(["a", "b"], 1).units))),
    "no outputs": explained(numbered(0), numbered(3)),
    "no inputs": explained(numbered(3), numbered(0)),
    "nothing": explained(numbered(0), numbered(0)),
    "all zero": Attribution("occlusion", numbered(4), numbered(5), np.zeros((4, 5)), signed=True),
    "tiny": Attribution("gradient", numbered(4), numbered(5), np.full((4, 5), 1e-30)),
    "huge": Attribution("gradient", numbered(4), numbered(5), np.full((4, 5), 1e30), error=np.full((4, 5), 1e28)),
    "chinese": explained(axis(["北", "京", "很", "大"], 1), axis(list("这是一个很长的句子需要换行显示才行"), 1)),
    "compact": explained(numbered(50, 1), numbered(49, 1)),
}
