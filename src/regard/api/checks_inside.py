"""Promises about the inside of a model: who looks, and what reaches what."""

import copy
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from regard.api.broken import near, require, same
from regard.api.checks_bundle import Subject
from regard.attention import Check, reach, record, taps
from regard.nn.embeddings import Embedding
from regard.tasks import Batch, Result

# Looking at every tensor of every step takes memory; a few texts prove as much as many.
WATCHED = 2
PLACES = 10


def looking(given: Subject) -> str:
    """Outputs, loss and gradients with and without a recorder at every tap."""
    model = copy.deepcopy(given.pipeline.model)
    if not taps(model):
        return "this model has no taps, so there is nothing to look at"
    batch, task = examples(given), given.pipeline.task
    unwatched = learned(model, task, batch)
    with record(model, "*") as seen:
        watched = learned(model, task, batch)
    for name, tensor in unwatched.items():
        same(watched[name], tensor, f"{name} of a training step, watched and unwatched")
    checks = [entry.check for entry in seen if entry.check is not None]
    written = _searched(given)
    return (
        f"{len(seen)} tensors at {len(taps(model))} taps in a training step, {written} in search: outputs, loss and "
        f"{len(unwatched) - 1} gradients bit for bit; {len(checks)} maps pass their check, off by at most "
        f"{max(map(_worst, checks), default=0.0):.1e}"
    )


def learned(model: nn.Module, task: Any, batch: Any) -> dict[str, Tensor]:
    """The loss of a training step, dropout drawn from a fixed seed, and every gradient."""
    before = copy.deepcopy(model.state_dict())
    for embedding in (module for module in model.modules() if isinstance(module, Embedding) and module.seldom):
        # How often training had each piece is not kept; here any number does.
        embedding.count(torch.ones(embedding.vocabulary, dtype=torch.long), embedding.unknown)
    model.train().zero_grad()
    torch.manual_seed(0)
    loss = task.loss(model, batch, 0.0).total
    loss.backward()
    gradients = {name: each.grad for name, each in model.named_parameters() if each.grad is not None}
    # A layer may keep statistics of what it saw.
    model.load_state_dict(before)
    return {"loss": loss.detach(), **{name: gradient.clone() for name, gradient in gradients.items()}}


def _searched(given: Subject) -> int:
    """How many tensors were watched while a few texts were written, not a bit of which changed."""
    rows = given.rows[:WATCHED]
    unwatched = given.pipeline.predict(rows)
    with record(given.pipeline.model, "*") as seen:
        watched = given.pipeline.predict(rows)
    for row, one, other in zip(rows, watched, unwatched, strict=True):
        require(_told(one) == _told(other), f"{row!r} gave {other.text!r} unwatched and {one.text!r} watched.")
    return len(seen)


def _told(result: Result) -> dict[str, Any]:
    return result.plain()


def _worst(check: Check) -> float:
    return max(check.row_sum, check.padding, check.output)


def masks(given: Subject) -> str:
    """Neither what stands in the padding nor what comes later moves an output."""
    batch = examples(given) if given.pipeline.task.two_sides else None
    if not isinstance(batch, Batch):
        return "this task's batches have no source and target; nothing to prove here"
    model = given.pipeline.model.eval()
    with torch.inference_mode():
        off = _padding(model, batch)
        places, later = _future(model, batch)
    return (
        f"{len(batch.source)} texts with other pieces in longer padding: largest difference {off:.1e}; {places} pieces "
        f"of the target changed one by one: not a bit of any earlier output moved, {later} of {places} moved their own"
    )


def written(
    model: Any, source: Int[Tensor, "B S"], before: Int[Tensor, "B T"], real: Bool[Tensor, "B S"]
) -> Float[Tensor, "B T V"]:
    """Log-probabilities of what follows each piece."""
    return model.output.log_probabilities(model(source, before, real))


def _padding(model: Any, batch: Batch) -> float:
    real_BS = nn.functional.pad(batch.real, (0, 3))
    source_BS = nn.functional.pad(batch.source, (0, 3))
    garbage_BS = torch.randint(0, model.vocabulary.source, source_BS.shape, device=source_BS.device)
    spoiled_BS = torch.where(real_BS, source_BS, garbage_BS)
    expected_BTV = written(model, batch.source, batch.before, batch.real)
    return near(written(model, spoiled_BS, batch.before, real_BS), expected_BTV, "other pieces in longer padding")


def _future(model: Any, batch: Batch) -> tuple[int, int]:
    """How many places were tried, and how many of them reach the output that follows them."""
    before_BT = batch.before[:, :PLACES]
    reached_TT = reach(
        lambda changed_BT: written(model, batch.source, changed_BT, batch.real), before_BT, model.vocabulary.target
    )
    early = reached_TT.triu(1).nonzero()
    require(not len(early), f"an output changes with a piece after it: places {early[:3].tolist()}.")
    reaching = int(reached_TT.diagonal().sum())
    require(reaching > 0, "no output changes with the piece before it: the model does not read what it has written.")
    return before_BT.shape[1], reaching


def examples(given: Subject) -> Any:
    """The inputs with what the model made of them, as a batch to learn from."""
    pipeline = given.pipeline
    rows = [pipeline.task.answered(row, result) for row, result in zip(given.rows, given.results, strict=True)]
    columns = pipeline.task.encoding(_languages(given)).encode(_texts(rows, pipeline.task.fields))
    made = [
        {name: np.array(column[number], dtype=np.int64) for name, column in columns.items()}
        for number in range(len(rows))
    ]
    return pipeline.task.batch(made, pipeline.device)


def _texts(rows: list[dict[str, str]], fields: tuple[str, ...]) -> dict[str, list[str]]:
    return {name: [row[name] for row in rows] for name in fields}


def _languages(given: Subject) -> Mapping[str, str]:
    recipe = given.pipeline.recipe
    return recipe.data.valid.languages or (recipe.data.train[0].languages if recipe.data.train else {})
