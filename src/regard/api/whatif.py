"""What would have come of it if something were otherwise: the source, how the output begins, a head, a weight."""

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from regard.api.explaining import subject
from regard.errors import RequestError
from regard.explain import Subject
from regard.explain.whatif import Cell, WhatIf, Where, off, rescored, told
from regard.tasks.generating import PREFIX, PREFIX_PIECES

if TYPE_CHECKING:
    from regard.api.pipeline import Input, Pipeline

Off = Sequence[tuple[Where, int]]
# How an output has to begin: a text, or the numbers of its very pieces.
Prefix = str | Sequence[int]


def whatif(
    pipeline: "Pipeline",
    given: "Input",
    source: "Input | None" = None,
    prefix: Prefix | None = None,
    heads_off: Off = (),
    cell: Sequence[int | str | float | None] | None = None,
) -> WhatIf:
    """Before and after another source, a forced beginning, heads that are off, a cell of attention that is set.

    Any of them together. A cell is of the new output and moves probabilities; what is written stays as it would be
    without it.
    """
    if source is None and prefix is None and not heads_off and cell is None:
        raise RequestError("Nothing would be otherwise: give a source, a prefix, heads_off or a cell.")
    before = subject(pipeline, given)
    row = begun(pipeline, given if source is None else source, prefix)
    after = before
    if source is not None or prefix is not None or heads_off:
        with off(before, heads_off):
            after = subject(pipeline, row)
    set_cell = _cell(cell)
    was, now = told(before, rescored(before)), told(after, rescored(after, heads_off, set_cell))
    if source is not None:
        return WhatIf(was, now, *_elsewhere(pipeline, before, (pipeline.row(given), pipeline.row(source)), heads_off))
    same = after.outputs == before.outputs
    kept = rescored(before, heads_off, set_cell if same else None)
    changes = tuple(new - old for new, old in zip(kept, was.scores, strict=True))
    return WhatIf(was, now, changes, "" if same or cell is None else OF_THE_NEW)


OF_THE_NEW = "The cell is of the new output; what was put out before is scored without it."


def _cell(given: Sequence[int | str | float | None] | None) -> Cell | None:
    if given is None:
        return None
    look, row, column, value, head = (*given, *[None] * (5 - len(given)))[:5]
    numbers = isinstance(row, int) and isinstance(column, int) and isinstance(value, int | float)
    if len(given) > 5 or not numbers or not isinstance(look, int | str) or not isinstance(head, int | None):
        raise RequestError(f"{given!r} is no cell; give an attention, a row, a column and a weight, and a head if one.")
    assert isinstance(row, int)
    assert isinstance(column, int)
    assert isinstance(value, int | float)
    return Cell(look, row, column, float(value), head)


def begun(pipeline: "Pipeline", given: "Input", prefix: Prefix | None) -> Mapping[str, str]:
    """The input with how its output has to begin."""
    row = pipeline.row(given)
    if prefix is None:
        return row
    if not any(hasattr(pipeline.task, name) for name in ("translating", "drafting", "continuing")):
        raise RequestError(
            f"The task {pipeline.recipe.task} writes no text after another, so no beginning can be given; leave out "
            "the prefix."
        )
    if isinstance(prefix, str):
        return {**row, PREFIX: prefix}
    return {**row, PREFIX_PIECES: json.dumps(list(prefix))}


def _elsewhere(
    pipeline: "Pipeline", before: Subject, rows: tuple[Mapping[str, str], Mapping[str, str]], heads_off: Off
) -> tuple[tuple[float, ...] | None, str]:
    """How log p of what was put out before moves with another source; both are read with the text given."""
    text = before.outputs.text
    try:
        old, new = (subject(pipeline, row, text) for row in rows)
    except RequestError as error:
        return None, f"What was put out before has no score with the new source: {error}"
    was, now = rescored(old), rescored(new, heads_off)
    if old.outputs != new.outputs:
        return None, "What was put out before cannot be put out with the new source."
    return tuple(b - a for a, b in zip(was, now, strict=True)), ""
