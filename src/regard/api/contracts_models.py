"""What a model that generates owes to search, training and explanation."""

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from pydantic import BaseModel
from torch import Tensor, nn

from regard.api.broken import Clause, near, require, same
from regard.attention import reach, record, taps
from regard.errors import ConfigError
from regard.models import MODELS, Vocabulary, build
from regard.nn import Loss

PIECES = 20
# Pieces below this are padding, begin and end.
SPECIAL = 3
LENGTHS = (5, 2, 3)
BATCH, SOURCE, TARGET = len(LENGTHS), max(LENGTHS), 4
# Where a model's settings have these, it is made this small.
SMALL = {"width": 16, "layers": 1, "hidden": 32}
UPDATES = 80


@dataclass(frozen=True)
class Pairs:
    """Sources, which of their pieces are real, and what is written, `begin` first."""

    source: Int[Tensor, "B S"]
    real: Bool[Tensor, "B S"]
    target: Int[Tensor, "B T"]

    def alone(self, row: int) -> "Pairs":
        """One pair without its padding."""
        length, one = int(self.real[row].sum()), slice(row, row + 1)
        return Pairs(self.source[one, :length], self.real[one, :length], self.target[one])


def reads(name: str) -> bool:
    """Whether a model reads a source; the contract is for those that do."""
    return "target" in inspect.signature(MODELS[name].forward).parameters


def small(settings: type[BaseModel]) -> dict[str, Any]:
    """Settings that make a model small, as far as it has settings of the usual names."""
    found: dict[str, Any] = {name: value for name, value in SMALL.items() if name in settings.model_fields}
    for name, field in settings.model_fields.items():
        if inspect.isclass(field.annotation) and issubclass(field.annotation, BaseModel):
            found |= {name: inside} if (inside := small(field.annotation)) else {}
    return found


def made(name: str, options: Mapping[str, Any]) -> Any:
    """The model, small where it can be, with every parameter moved off its start."""
    vocabulary = Vocabulary(PIECES, PIECES)
    try:
        model = build(name, options or small(MODELS[name].Settings), vocabulary)
    except ConfigError:
        model = build(name, options, vocabulary)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return model.eval()


def pairs() -> Pairs:
    source_BS = torch.randint(SPECIAL, PIECES, (BATCH, SOURCE))
    target_BT = torch.randint(SPECIAL, PIECES, (BATCH, TARGET))
    target_BT[:, 0] = Vocabulary(PIECES, PIECES).begin
    return Pairs(source_BS, torch.arange(SOURCE) < torch.tensor(LENGTHS)[:, None], target_BT)


def whole(model: Any, given: Pairs) -> Float[Tensor, "B T V"]:
    """Log-probabilities of what follows each piece of the target, all at once."""
    return model.output.log_probabilities(model(given.source, given.target, given.real))


def steps(model: Any, given: Pairs) -> Float[Tensor, "B T V"]:
    """The same, one step at a time."""
    started = model.start(given.source, given.real)
    state, found = started.state, []
    for pieces_B in given.target.unbind(1):
        log_probabilities_BV, state = model.step(pieces_B, state)
        found.append(log_probabilities_BV)
    return torch.stack(found, 1)


def loss(model: Any, given: Pairs) -> Loss:
    end_B1 = torch.full_like(given.target[:, :1], Vocabulary(PIECES, PIECES).end)
    wanted_BT = torch.cat([given.target[:, 1:], end_B1], 1)
    return model.output.loss(model(given.source, given.target, given.real), wanted_BT, 0.0)


def distribution(kind: str, name: str, options: Mapping[str, Any]) -> str:
    model, given = made(name, options), pairs()
    with torch.no_grad():
        found_BTV = whole(model, given)
    require(found_BTV.shape == (BATCH, TARGET, PIECES), f"log-probabilities of shape {tuple(found_BTV.shape)}.")
    off = near(found_BTV.exp().sum(-1), torch.ones(BATCH, TARGET), "probabilities do not sum to one")
    return f"{BATCH * TARGET} distributions over {PIECES} pieces; their sums are off by {off:.1e}"


def stepwise(kind: str, name: str, options: Mapping[str, Any]) -> str:
    model, given = made(name, options), pairs()
    with torch.no_grad():
        off = near(steps(model, given), whole(model, given), "step by step against all at once")
    return f"{TARGET} steps of {BATCH} texts: largest difference {off:.1e}"


def company(kind: str, name: str, options: Mapping[str, Any]) -> str:
    model, given = made(name, options), pairs()
    with torch.no_grad():
        together_BTV = whole(model, given)
        found = [whole(model, given.alone(row)) for row in range(BATCH)]
    off = max(near(one, together_BTV[row : row + 1], f"text {row} alone") for row, one in enumerate(found))
    return f"{BATCH} texts of lengths {LENGTHS}, together and alone: largest difference {off:.1e}"


def padding(kind: str, name: str, options: Mapping[str, Any]) -> str:
    model, given = made(name, options), pairs()
    real_BS = nn.functional.pad(given.real, (0, 3))
    garbage_BS = torch.randint(0, PIECES, real_BS.shape)
    padded = replace(
        given, real=real_BS, source=torch.where(real_BS, nn.functional.pad(given.source, (0, 3)), garbage_BS)
    )
    with torch.no_grad():
        expected_BTV = whole(model, given)
        off = near(whole(model, padded), expected_BTV, "with more padding and other pieces in it")
        off = max(off, near(steps(model, padded), expected_BTV, "the same, step by step"))
    return f"three more places of padding with any pieces in it: largest difference {off:.1e}"


def future(kind: str, name: str, options: Mapping[str, Any]) -> str:
    model, given = made(name, options), pairs()
    reached_TT = reach(lambda target_BT: whole(model, replace(given, target=target_BT)), given.target, PIECES)
    require(not bool(reached_TT.triu(1).any()), "an output changes with a piece that comes after it.")
    require(bool(reached_TT.diagonal().all()), "an output does not change with the piece before it.")
    return f"each of {TARGET} pieces changed: not a bit of an earlier output moved, and every later one can"


def watched(kind: str, name: str, options: Mapping[str, Any]) -> str:
    model, given = made(name, options), pairs()
    if not taps(model):
        return "it has no taps, so there is nothing to look at"
    with torch.no_grad():
        unwatched_BTV = whole(model, given)
        with record(model, "*") as seen:
            same(whole(model, given), unwatched_BTV, "watched against unwatched")
    return f"{len(seen)} tensors watched at {len(taps(model))} taps, the same bits"


def saved(kind: str, name: str, options: Mapping[str, Any]) -> str:
    one, other, given = made(name, options), made(name, options), pairs()
    other.load_state_dict(one.state_dict())
    with torch.no_grad():
        same(whole(other, given), whole(one, given), "with the same parameters loaded")
    return f"{sum(parameter.numel() for parameter in one.parameters()):,} parameters loaded, the same bits"


def sums(kind: str, name: str, options: Mapping[str, Any]) -> str:
    model, given = made(name, options), pairs()
    with torch.no_grad():
        together = loss(model, given)
        alone = [loss(model, given.alone(row)) for row in range(BATCH)]
    require(int(together.count) == BATCH * TARGET, f"{int(together.count)} targets counted of {BATCH * TARGET}.")
    off = near(sum(one.total for one in alone) + torch.zeros(()), together.total, "losses of single texts, summed")
    return f"{BATCH} losses summed against the loss of all: off by {off:.1e}"


def learns(kind: str, name: str, options: Mapping[str, Any]) -> str:
    """Eight strings to be copied, for a few updates: a model that learns at all learns these."""
    model = made(name, options)
    source_BS = torch.randint(SPECIAL, PIECES, (8, TARGET))
    begin_B1 = torch.full((8, 1), Vocabulary(PIECES, PIECES).begin)
    given = Pairs(source_BS, torch.ones_like(source_BS, dtype=torch.bool), torch.cat([begin_B1, source_BS], 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    with torch.no_grad():
        before = float(loss(model, given).total / loss(model, given).count)
    model.train()
    for _ in range(UPDATES):
        optimizer.zero_grad()
        found = loss(model, given)
        (found.total / found.count).backward()
        optimizer.step()
    with torch.no_grad():
        after = float(loss(model.eval(), given).total / found.count)
    require(after < before / 2, f"after {UPDATES} updates on 8 strings the loss is {after:.2f}, it was {before:.2f}.")
    return f"8 strings to be copied: loss {before:.2f} before, {after:.2f} after {UPDATES} updates"


MODEL: dict[str, Clause] = {
    "log-probabilities are those of a distribution": distribution,
    "stepwise = whole": stepwise,
    "a batch is its texts alone": company,
    "padding changes nothing": padding,
    "the future changes nothing": future,
    "looking changes nothing": watched,
    "saved = loaded": saved,
    "the loss of a batch is the sum of its parts": sums,
    "learns to copy": learns,
}
