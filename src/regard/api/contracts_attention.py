"""What a score, scope, normalizer or position has to keep when it works in attention."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from regard.api.broken import Clause, near, require, same
from regard.attention import POSITIONS, Mechanism, MechanismSettings, Sizes, record
from regard.config import make

BATCH, HEADS, QUERIES, WIDTH = 3, 2, 4, 4
LENGTHS = (6, 2, 4)
KEYS = max(LENGTHS)


@dataclass(frozen=True)
class Asked:
    """What a mechanism is asked with: three texts of different lengths."""

    query: Float[Tensor, "B H Q E"]
    keys: Float[Tensor, "B H K E"]
    values: Float[Tensor, "B H K E"]
    real: Bool[Tensor, "B K"]


def mechanism(kind: str, name: str, options: Mapping[str, Any]) -> Mechanism:
    """Attention with this part, every parameter moved off its start."""
    sizes = Sizes(WIDTH, WIDTH, WIDTH, HEADS, HEADS)
    made = Mechanism(MechanismSettings.of(**{kind: {"name": name, **options}}), sizes).eval()
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    return made


def asked() -> Asked:
    query_BHQE = torch.randn(BATCH, HEADS, QUERIES, WIDTH)
    keys_BHKE, values_BHKE = (torch.randn(BATCH, HEADS, KEYS, WIDTH) for _ in range(2))
    return Asked(query_BHQE, keys_BHKE, values_BHKE, torch.arange(KEYS) < torch.tensor(LENGTHS)[:, None])


def context(made: Mechanism, given: Asked) -> Float[Tensor, "B H Q E"]:
    return made(given.query, made.remember(given.keys, given.values, given.real)).context


def shape(kind: str, name: str, options: Mapping[str, Any]) -> str:
    made, given = mechanism(kind, name, options), asked()
    with torch.no_grad(), record(made, "*.scores", "*.weights") as seen:
        found_BHQE = context(made, given)
    require(found_BHQE.shape == given.query.shape, f"the context has shape {tuple(found_BHQE.shape)}.")
    require(bool(found_BHQE.isfinite().all()), "the context holds what is no number.")
    wanted = (BATCH, HEADS, KEYS)
    for entry in seen:
        told = f"{entry.name} has shape {tuple(entry.tensor.shape)}"
        require((*entry.tensor.shape[:2], entry.tensor.shape[3]) == wanted, f"{told}, expected batch, heads, -, keys.")
    return f"{BATCH} texts, {HEADS} heads, {QUERIES} queries, {KEYS} keys: shapes right, all numbers finite"


def deterministic(kind: str, name: str, options: Mapping[str, Any]) -> str:
    made, given = mechanism(kind, name, options), asked()
    with torch.no_grad():
        same(context(made, given), context(made, given), "the same question asked twice")
    return "asked twice, the same bits"


def padding(kind: str, name: str, options: Mapping[str, Any]) -> str:
    made, given = mechanism(kind, name, options), asked()
    hidden_BHK = (~given.real)[:, None].expand(BATCH, HEADS, KEYS)
    spoiled = replace(given, keys=given.keys.clone(), values=given.values.clone())
    spoiled.keys[hidden_BHK], spoiled.values[hidden_BHK] = 1e3, -1e3
    with torch.no_grad():
        expected_BHQE = context(made, given)
        off = near(context(made, spoiled), expected_BHQE, "other numbers in the padding")
        for row, length in enumerate(LENGTHS):
            alone = Asked(*(tensor[row : row + 1] for tensor in (given.query, given.keys, given.values, given.real)))
            cut = Asked(alone.query, alone.keys[:, :, :length], alone.values[:, :, :length], alone.real[:, :length])
            off = max(off, near(context(made, cut), expected_BHQE[row : row + 1], f"text {row} alone, without padding"))
    return f"garbage in the padding, and {BATCH} texts alone: largest difference {off:.1e}"


def gradients(kind: str, name: str, options: Mapping[str, Any]) -> str:
    made, given = mechanism(kind, name, options).train(), asked()
    leaves = replace(given, query=given.query.requires_grad_(), keys=given.keys.requires_grad_())
    context(made, leaves).square().sum().backward()
    own = getattr(made, kind)
    for parameter, value in own.named_parameters():
        if value.requires_grad:
            grad = torch.zeros(()) if value.grad is None else value.grad
            require(bool(grad.any()), f"{parameter} gets no gradient, so it never learns.")
            require(bool(grad.isfinite().all()), f"{parameter} gets a gradient that is no number.")
    got = [leaf.grad for leaf in (leaves.query, leaves.keys) if leaf.grad is not None]
    require(all(bool(grad.isfinite().all()) for grad in got), "queries or keys get a gradient that is no number.")
    require(
        any(bool(grad.any()) for grad in got), "neither queries nor keys get a gradient: nothing learns where to look."
    )
    return f"{sum(1 for _ in own.parameters())} tensors of its own, queries and keys: all finite and some not zero"


def stepwise(kind: str, name: str, options: Mapping[str, Any]) -> str:
    made, given = mechanism(kind, name, options), asked()
    memory, history = made.remember(given.keys, given.values, given.real), None
    steps: list[Tensor] = []
    with torch.no_grad():
        for place in range(QUERIES):
            query_BH1E, at = given.query[:, :, place : place + 1], range(place, place + 1)
            attended = made(query_BH1E, memory, at=at, history=history)
            history = attended.history
            steps.append(attended.context)
        off = near(torch.cat(steps, 2), context(made, given), "step by step against all at once")
    return f"{QUERIES} steps against all at once: largest difference {off:.1e}"


def looking(kind: str, name: str, options: Mapping[str, Any]) -> str:
    made, given = mechanism(kind, name, options), asked()
    with torch.no_grad():
        unwatched_BHQE = context(made, given)
        with record(made, "*.weights") as whole:
            same(context(made, given), unwatched_BHQE, "watched against unwatched")
        with record(made, "*.weights", heads=[1]) as part:
            context(made, given)
    off = near(part[0].tensor, whole[0].tensor[:, 1:2], "one head alone; do its parameters have the heads first?")
    require(all(entry.check is not None for entry in whole), "its maps come without their check.")
    return f"watched, the same bits; the maps pass their check; one head alone is off by {off:.1e}"


def saved(kind: str, name: str, options: Mapping[str, Any]) -> str:
    one, other, given = mechanism(kind, name, options), mechanism(kind, name, options), asked()
    other.load_state_dict(one.state_dict())
    with torch.no_grad():
        same(context(other, given), context(one, given), "with the same parameters loaded")
    return "loaded into another, the same bits"


def embedded(kind: str, name: str, options: Mapping[str, Any]) -> str:
    made = make(kind, POSITIONS, {"name": name, **options}, WIDTH, HEADS).eval()
    given_BTD = torch.randn(BATCH, KEYS, WIDTH)
    with torch.no_grad():
        found_BTD = made.embed(given_BTD, range(KEYS))
        require(found_BTD.shape == given_BTD.shape, f"embeddings come out with shape {tuple(found_BTD.shape)}.")
        require(bool(found_BTD.isfinite().all()), "embeddings come out with what is no number.")
        later_BTD = made.embed(given_BTD[:, 2:], range(2, KEYS))
        off = near(later_BTD, found_BTD[:, 2:], "the end of a text alone, at its own positions")
    return f"{KEYS} positions: shape right, finite; a part at its own positions is off by {off:.1e}"


EMBEDDING: dict[str, Clause] = {"positions are added to embeddings": embedded}
ATTENTION: dict[str, Clause] = {
    "right shape, finite": shape,
    "deterministic": deterministic,
    "padding changes nothing": padding,
    "gradients flow": gradients,
    "stepwise = whole": stepwise,
    "looking changes nothing": looking,
    "saved = loaded": saved,
}
