"""A model without its least important heads: really smaller, and measured again."""

import copy
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from regard.api import recipes
from regard.api.explaining import subject
from regard.attention import MultiHeadAttention
from regard.attention.pruning import prune
from regard.errors import RequestError
from regard.explain import Subject
from regard.explain.heads import Head, HeadTable, by_ablation, by_gradient
from regard.models import MODELS
from regard.nn.parameters import fill, named
from regard.tasks import TASKS

if TYPE_CHECKING:
    from regard.api.pipeline import Evaluation, Pipeline

By = Literal["gradient", "ablation"]
WAYS = {"gradient": by_gradient, "ablation": by_ablation}
NONE = "This model has no attention of several heads, so there is none to remove."


@dataclass(frozen=True)
class Pruned:
    """The smaller model, the heads it has lost, and what all heads were worth before."""

    pipeline: "Pipeline"
    removed: tuple[Head, ...]
    importance: HeadTable
    # Rows that tell nothing of heads, and why the first of them does not.
    left_out: int = 0
    reason: str = ""


@dataclass(frozen=True)
class Measured:
    """How good, how fast and how large a model is."""

    scores: Mapping[str, Any]
    lines_a_second: float
    parameters: int

    def plain(self) -> dict[str, Any]:
        return {"scores": self.scores, "lines_a_second": self.lines_a_second, "parameters": self.parameters}


def pruned(pipeline: "Pipeline", rows: Sequence[Mapping[str, str]], count: int, by: By = "gradient") -> Pruned:
    """The model without the `count` heads that matter least for these rows; each attention keeps at least one."""
    if all(attention.heads == 1 for attention in _attentions(pipeline).values()):
        raise RequestError(NONE)
    subjects, refused = _subjects(pipeline, rows)
    table = WAYS[by](subjects)
    removed = least(pipeline, table, count)
    return Pruned(without(pipeline, removed), removed, table, len(refused), refused[0] if refused else "")


def importance(pipeline: "Pipeline", rows: Sequence[Mapping[str, str]], by: By = "gradient") -> HeadTable:
    """What every head is worth for what should come of these rows, or where that is no text, for what comes of them."""
    return WAYS[by](_subjects(pipeline, rows)[0])


def least(pipeline: "Pipeline", table: HeadTable, count: int) -> tuple[Head, ...]:
    """The heads of least importance, as many as asked for, one left in each attention."""
    room = {head.look: _heads(pipeline, head) - 1 for head in table.heads}
    most = sum(room.values())
    if not 1 <= count <= most:
        raise RequestError(
            f"{count} heads cannot be removed: there are {len(table.heads)} in {len(room)} attentions, each of which "
            f"keeps one, so ask for 1 to {most}."
            if most
            else NONE
        )
    found: list[Head] = []
    for head, _ in sorted(table.column(table.columns[0]).items(), key=lambda entry: entry[1]):
        if len(found) < count and room[head.look]:
            room[head.look] -= 1
            found.append(head)
    return tuple(found)


def without(pipeline: "Pipeline", heads: Iterable[Head]) -> "Pipeline":
    """The same model without these heads; its recipe says which are left, so that it loads like any other."""
    gone: dict[str, set[int]] = {}
    for head in heads:
        gone.setdefault(_place(head), set()).add(head.number)
    small, whole = copy.deepcopy(pipeline.model), _attentions(pipeline)
    left = {name: [n for n in range(whole[name].heads) if n not in numbers] for name, numbers in gone.items()}
    prune(small, left)
    recipe = recipes.read(_with_kept(pipeline, left))
    task = TASKS[recipe.task].load(recipe, pipeline.task.files())
    model = task.model().to(pipeline.device).eval()
    fill(model, named(small), "The pruned model")
    made = replace(pipeline, recipe=recipe, task=task, model=model, scores={}, golden=())
    return made.with_golden([entry["input"] for entry in pipeline.golden]) if pipeline.golden else made


def measured(pipeline: "Pipeline", rows: Sequence[Mapping[str, str]], left_out: int = 0) -> Measured:
    """Scores and speed on rows that say what should come of them, so many lines being left out; the first few go
    unmeasured, to warm up."""
    # Scored too: what a metric imports would be taken for the model's time.
    pipeline.judged(rows[:4], pipeline.recipe.metrics)
    began = time.perf_counter()
    found: Evaluation = pipeline.judged(rows, pipeline.recipe.metrics)
    seconds = time.perf_counter() - began
    scores = replace(found, left_out=left_out).plain()
    return Measured(scores, len(rows) / seconds, sum(one.numel() for one in named(pipeline.model).values()))


def _subjects(pipeline: "Pipeline", rows: Sequence[Mapping[str, str]]) -> tuple[list[Subject], list[str]]:
    """What is to be explained, and why the other rows cannot be: one that is read in parts must not cost the rest."""
    pipeline = replace(pipeline, recipe=pipeline.task.testing(pipeline.recipe))
    found: list[Subject] = []
    refused: list[RequestError] = []
    for row in rows:
        asked = pipeline.asked(row)
        try:
            if any(map(str.strip, asked.values())):
                found.append(subject(pipeline, asked, _wanted(pipeline, row)))
        except RequestError as error:
            refused.append(error)
    if refused and not found:
        raise refused[0]
    return found, list(map(str, refused))


def _wanted(pipeline: "Pipeline", row: Mapping[str, str]) -> str | None:
    return pipeline.references(row)[0] if pipeline.task.two_sides else None


def _attentions(pipeline: "Pipeline") -> dict[str, MultiHeadAttention]:
    modules = pipeline.model.named_modules()
    return {name: module for name, module in modules if isinstance(module, MultiHeadAttention)}


def _heads(pipeline: "Pipeline", head: Head) -> int:
    found = _attentions(pipeline).get(_place(head))
    return 1 if found is None else found.heads


def _place(head: Head) -> str:
    return head.look.tap.removesuffix(".mechanism.weights")


def _with_kept(pipeline: "Pipeline", left: Mapping[str, Sequence[int]]) -> dict[str, Any]:
    """The recipe with what is left; heads go by the numbers they had before anything was pruned."""
    # A task that builds an encoder by itself names places from there.
    root = "" if isinstance(pipeline.model, tuple(MODELS.values())) else "encoder."
    values = pipeline.recipe.plain()
    kept = dict(values["model"].get("kept", {}))
    for name, numbers in left.items():
        inside = name.removeprefix(root)
        before = kept.get(inside)
        kept[inside] = [number if before is None else before[number] for number in numbers]
    return {**values, "model": {**values["model"], "kept": kept}}
