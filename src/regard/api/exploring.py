"""One prediction with all there is to look at: every map of attention, what else could have stood there, the search."""

import json
from collections.abc import Iterable, Mapping, Sequence
from math import exp
from typing import TYPE_CHECKING, Any, NamedTuple

from jaxtyping import Float
from pydantic import NonNegativeInt, PositiveInt
from torch import Tensor

from regard.api.explaining import subject
from regard.api.exploration import Alternative, Exploration
from regard.config import Settings, override
from regard.decode.trace import NODES, Trace, Tree, tracing
from regard.errors import RequestError, unknown
from regard.explain import Subject
from regard.explain.formula import Formula, formula
from regard.explain.grid import Stack, stacks, watch
from regard.tasks import Result
from regard.tasks.choices import Choices, choices
from regard.tasks.generating import OUTPUT_PIECES, PREFIX, PREFIX_PIECES
from regard.tasks.hearing import Said, hearing

if TYPE_CHECKING:
    from regard.api.pipeline import Input, Pipeline

Row = Mapping[str, str]
NO_ATTENTION = "This model has no attention to look at."


class ExploreSettings(Settings):
    """What is shown: `--set layers=[0]`; without names or numbers all attentions and layers that fit in `cells`."""

    attentions: tuple[str, ...] = ()
    layers: tuple[NonNegativeInt, ...] = ()
    # Of a source that is translated in parts, the one that is shown.
    part: NonNegativeInt = 0
    # The most cells of all maps together: layers x heads x rows x columns, a byte each.
    cells: PositiveInt = 1 << 24
    alternatives: PositiveInt = 5
    nodes: PositiveInt = NODES


class At(NamedTuple):
    """A cell as it is drawn: of which attention, which of all its layers, which head, row and column."""

    attention: str
    layer: int
    head: int
    row: int
    column: int


def explored(
    pipeline: "Pipeline", given: "Input", target: str | None = None, changes: Iterable[str] = ()
) -> Exploration:
    """The prediction for an input, or the `target` that is given, with all its attention; `changes` are settings."""
    settings = ExploreSettings.read(override({}, changes), "explore")
    row, parts = part(pipeline, given, settings.part)
    told = target is not None or bool(row.get(OUTPUT_PIECES))
    result, traces = (None, []) if told else _predicted(pipeline, row)
    if parts > 1 and not told and not (row.get(PREFIX) or row.get(PREFIX_PIECES)):
        result = _predicted(pipeline, pipeline.row(given))[0]
    found = subject(pipeline, _with_output(row, traces), target)
    chosen, left = _fitting(_chosen(stacks(found), settings), settings)
    with hearing() as heard:
        grids, scores_O = watch(found, chosen)
    known = choices(pipeline.task, pipeline.model, row, pipeline.recipe)
    said = heard[0] if heard else None
    tree = traces[0].tree(settings.nodes) if traces else None
    return Exploration(
        result=result,
        inputs=found.inputs,
        outputs=found.outputs,
        grids=tuple(grids),
        left_out=tuple(left),
        probabilities=tuple(scores_O.exp().tolist()),
        alternatives=_alternatives(pipeline, row, known, said, settings.alternatives),
        pieces=_pieces(known, said),
        tree=tree,
        branches=() if tree is None else _branches(tree, known),
        part=settings.part,
        parts=parts,
        notes=(*_whole(pipeline, settings.part, parts), *_notes(found, traces, left, settings)),
    )


def cell(pipeline: "Pipeline", given: "Input", at: At, target: str | None = None, number: int = 0) -> Formula:
    """The formula of one cell of attention with its numbers; an input may bring its `output_pieces`."""
    found = subject(pipeline, part(pipeline, given, number)[0], target)
    known = {stack.name: stack for stack in stacks(found)}
    if at.attention not in known:
        raise RequestError(unknown("attention", at.attention, known) if known else NO_ATTENTION)
    return formula(found, known[at.attention], *at[1:])


def part(pipeline: "Pipeline", given: "Input", number: int) -> tuple[Row, int]:
    """That part of a source as an input of its own, and how many there are; what is not translated is one."""
    row = pipeline.row(given)
    task: Any = pipeline.task
    if not hasattr(task, "translating"):
        return row, 1
    bare = {name: text for name, text in row.items() if name not in (PREFIX, PREFIX_PIECES)}
    jobs = task.translating(pipeline.model, pipeline.recipe).work(bare).jobs
    if number >= max(len(jobs), 1):
        raise RequestError(f"There is no part {number}: the source is read in {len(jobs)}, counted from 0.")
    return {**row, "source": jobs[number].text} if len(jobs) > 1 else row, len(jobs)


def _predicted(pipeline: "Pipeline", row: Row) -> tuple[Result, list[Trace]]:
    with tracing() as traces:
        result = next(iter(pipeline.task.predict(pipeline.model, [row], pipeline.recipe)))
    return result, traces


def _with_output(row: Row, traces: Sequence[Trace]) -> Row:
    """The row with what was found for it, lest it be searched again."""
    if not traces or not traces[0].outputs or not traces[0].outputs[0].pieces:
        return row
    return {**row, OUTPUT_PIECES: json.dumps(traces[0].outputs[0].pieces)}


def _chosen(found: Sequence[Stack], settings: ExploreSettings) -> list[Stack]:
    """The attentions and layers that were asked for."""
    names = [stack.name for stack in found]
    for name in settings.attentions:
        if name not in names:
            raise RequestError(unknown("attention", name, names) if names else NO_ATTENTION)
    wanted = [stack for stack in found if not settings.attentions or stack.name in settings.attentions]
    return [_layers(stack, settings.layers) for stack in wanted] if settings.layers else wanted


def _layers(stack: Stack, numbers: Sequence[int]) -> Stack:
    for number in numbers:
        if number >= len(stack.looks):
            raise RequestError(f"There is no layer {number}: {stack.name} has {len(stack.looks)}, counted from 0.")
    looks, heads = zip(*((stack.looks[number], stack.heads[number]) for number in numbers), strict=True)
    return Stack(stack.name, looks, heads, stack.keys, stack.rows, stack.columns)


def _fitting(wanted: Sequence[Stack], settings: ExploreSettings) -> tuple[list[Stack], list[Stack]]:
    """What there is room for, and what is left out; what was asked for by name has to fit."""
    kept: list[Stack] = []
    left: list[Stack] = []
    for stack in wanted:
        fits = sum(one.cells for one in kept) + stack.cells <= settings.cells
        if not fits and settings.attentions:
            raise RequestError(f"{_too_many(stack, settings)} Ask for fewer layers, or give a shorter text.")
        (kept if fits else left).append(stack)
    return kept, left


def _too_many(stack: Stack, settings: ExploreSettings) -> str:
    layers, heads, rows, columns = stack.shape
    return (
        f"{stack.name} has {stack.cells:,} cells ({layers} layers x {heads} heads x {rows} x {columns}), more than "
        f"explore.cells = {settings.cells:,} leaves room for."
    )


def _whole(pipeline: "Pipeline", number: int, parts: int) -> list[str]:
    """What of the prediction is shown; attention is seen where torch runs the model, and other engines round anew."""
    notes = [f"The source is read in {parts} parts; part {number + 1} of them is shown."] if parts > 1 else []
    if pipeline.engine is not None:
        notes.append(f"All this is torch's; predictions are made by {pipeline.engine.name}.")
    return notes


def _notes(found: Subject, traces: Sequence[Trace], left: Sequence[Stack], settings: ExploreSettings) -> list[str]:
    notes = [] if found.looks else [NO_ATTENTION]
    notes += [f"{_too_many(stack, settings)} It is left out; ask for some of its layers." for stack in left]
    if len(traces) > 1:
        notes.append(f"The text was written in {len(traces)} windows; only the first of them is shown.")
    return notes


def _pieces(known: Choices, said: Said | None) -> tuple[int, ...] | None:
    if said is None or known.end is None:
        return None
    pieces = said.wanted.tolist()
    return tuple(pieces[:-1] if pieces[-1:] == [known.end] else pieces)


def _alternatives(
    pipeline: "Pipeline", row: Row, known: Choices, said: Said | None, count: int
) -> tuple[tuple[Alternative, ...], ...] | None:
    if hasattr(pipeline.task, "finding"):
        return (_answers(pipeline, row, count),)
    if said is None:
        return None
    before = said.wanted.tolist()
    return tuple(
        _likeliest(known, log_V, before[:place], count) for place, log_V in enumerate(said.log[0].float().cpu())
    )


def _likeliest(known: Choices, log: Float[Tensor, " V"], before: list[int], count: int) -> tuple[Alternative, ...]:
    """The likeliest choices of one place, but for those that are never put out."""
    values, numbers = log.topk(min(count + len(known.never), len(log)))
    found = [(one, exp(value)) for one, value in zip(numbers.tolist(), values.tolist(), strict=True)]
    return tuple(_alternative(known, before, one, probability) for one, probability in found if one not in known.never)[
        :count
    ]


def _alternative(known: Choices, before: list[int], one: int, probability: float) -> Alternative:
    text = known.name(before, one)
    if known.end is None:
        return Alternative(text, probability)
    joins = bool(before) and one != known.end and not text[:1].isspace()
    return Alternative(text.strip(), probability, one, joins, one == known.end)


def _answers(pipeline: "Pipeline", row: Row, count: int) -> tuple[Alternative, ...]:
    """The best answers that were considered."""
    task: Any = pipeline.task
    recipe: Any = pipeline.recipe
    wide = recipe.model_copy(update={"predict": recipe.predict.model_copy(update={"best": max(count, 2)})})
    answer = next(iter(task.predict(pipeline.model, [row], wide)))
    return tuple(Alternative(one.text or "no answer", one.confidence) for one in answer.alternatives or ())[:count]


def _branches(tree: Tree, known: Choices) -> tuple[str, ...]:
    """The text that each node adds."""
    pieces: list[tuple[int, ...]] = []
    for node in tree.nodes:
        pieces.append((*(() if node.parent is None else pieces[node.parent]), node.piece))
    return tuple(known.name(path[:-1], path[-1]) for path in pieces)
