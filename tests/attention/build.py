"""Toy mechanisms, tensors and masks that the tests of attention share."""

from collections.abc import Callable, Iterable
from dataclasses import astuple, dataclass
from itertools import product
from typing import Any

import pytest
import torch
from torch import Tensor

from regard.attention import (
    FREE,
    LOOK_AHEAD,
    NORMALIZERS,
    POSITIONS,
    SCOPES,
    SCORES,
    Attended,
    Mask,
    Mechanism,
    MechanismSettings,
    Sizes,
    pairs,
    real_keys,
    window,
)
from regard.attention.scores import Additive, Product
from regard.errors import RegardError

WIDTH, HEADS, BATCH, QUERIES, KEYS = 4, 2, 3, 5, 6
TOLERANCE = {torch.float64: 1e-10, torch.float32: 1e-5}

# Small enough that toy lengths reach past every limit; a part that is not named here is built with its defaults.
OPTIONS: dict[str, dict[str, Any]] = {
    "window": {"before": 2, "after": 1},
    "local_m": {"radius": 2},
    "local_p": {"radius": 2},
    "top_softmax": {"count": 2},
    "relative": {"reach": 2},
    "bucketed": {"buckets": 8, "farthest": 16},
    "location": {"length": 16},
    "location_aware": {"kernel": 3, "filters": 2},
    # What kernels lose to rounding grows with the scores; these are then of the size of all the others.
    "cosine": {"temperature": 1.0},
}


@dataclass(frozen=True)
class Recipe:
    """One choice of score, scope, normalizer and position."""

    score: str = "scaled_dot"
    scope: str = "global"
    normalizer: str = "softmax"
    position: str = "none"

    def __str__(self) -> str:
        return "-".join((self.score, self.scope, self.normalizer, self.position))

    def away_from(self, other: "Recipe") -> int:
        return sum(mine != theirs for mine, theirs in zip(astuple(self), astuple(other), strict=True))

    @property
    def looks_back(self) -> bool:
        return SCORES[self.score].recurrent or SCOPES[self.scope].recurrent

    @property
    def legal(self) -> bool:
        """Written out from the papers, not asked of the code: what makes no sense and must be refused."""
        if POSITIONS[self.position].acts == "embedding":
            return False
        if self.scope == "monotonic" and self.normalizer != "softmax":
            return False
        return self.position != "rotary" or issubclass(SCORES[self.score], Product)


def recipes(
    scores: Iterable[str] = SCORES,
    scopes: Iterable[str] = SCOPES,
    normalizers: Iterable[str] = NORMALIZERS,
    positions: Iterable[str] = POSITIONS,
) -> list[Recipe]:
    return [Recipe(*choice) for choice in product(scores, scopes, normalizers, positions)]


def legal_recipes(**choices: Iterable[str]) -> list[Recipe]:
    return [recipe for recipe in recipes(**choices) if recipe.legal]


def near(differing: int, **choices: Iterable[str]) -> list[Recipe]:
    """The legal recipes that differ from scaled dot, global, softmax, none in at most so many parts."""
    plain = Recipe()
    return [recipe for recipe in legal_recipes(**choices) if recipe.away_from(plain) <= differing]


def part(name: str, **options: Any) -> dict[str, Any]:
    return {"name": name, **OPTIONS.get(name, {}), **options}


def build(
    recipe: Recipe | None = None,
    *,
    query: int = WIDTH,
    key: int = WIDTH,
    value: int | None = None,
    heads: int = HEADS,
    groups: int | None = None,
    dtype: torch.dtype = torch.float64,
    explicit: bool = False,
    **settings: Any,
) -> Mechanism:
    """A mechanism in evaluation, all of whose parameters are random: none keeps a start of zero or one."""
    recipe = recipe or Recipe()
    chosen = {name: part(getattr(recipe, name)) for name in ("score", "scope", "normalizer", "position")}
    sizes = Sizes(query, key, key if value is None else value, heads, heads if groups is None else groups)
    made = Mechanism(MechanismSettings.of(**(chosen | settings)), sizes, explicit).to(dtype).eval()
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    return made


def shares_keys(score: str) -> bool:
    """Whether several heads may share one group of keys under this score."""
    return score != "mixed" and not issubclass(SCORES[score], Additive)


def twin(mechanism: Mechanism, **settings: Any) -> Mechanism:
    """The same mechanism with the same parameters but for these settings."""
    chosen = mechanism.settings.model_copy(update=settings)
    made = Mechanism(chosen, mechanism.sizes, mechanism.explicit)
    made.load_state_dict(mechanism.state_dict())
    return made.to(next(iter(mechanism.parameters()), torch.zeros(0)).dtype).train(mechanism.training)


@dataclass(frozen=True)
class Given:
    """What a mechanism is asked with."""

    query: Tensor
    keys: Tensor
    values: Tensor
    real: Tensor | None = None
    mask: Mask = FREE

    def leaves(self) -> "Given":
        """The same numbers as fresh leaves that want gradients."""
        query, keys, values = (t.detach().clone().requires_grad_() for t in (self.query, self.keys, self.values))
        return Given(query, keys, values, self.real, self.mask)

    def example(self, index: int, keys: int | None = None) -> "Given":
        """One example alone, with its first keys only."""
        one, keys = slice(index, index + 1), self.keys.shape[2] if keys is None else keys
        real = None if self.real is None else self.real[one, :keys]
        return Given(self.query[one], self.keys[one, :, :keys], self.values[one, :, :keys], real, self.mask)


def given(
    mechanism: Mechanism,
    batch: int = BATCH,
    queries: int = QUERIES,
    keys: int = KEYS,
    mask: Mask = FREE,
    real: Tensor | None = None,
    dtype: torch.dtype = torch.float64,
) -> Given:
    sizes = mechanism.sizes
    return Given(
        torch.randn(batch, sizes.heads, queries, sizes.query, dtype=dtype),
        torch.randn(batch, sizes.groups, keys, sizes.key, dtype=dtype),
        torch.randn(batch, sizes.groups, keys, sizes.value, dtype=dtype),
        real,
        mask,
    )


def attend(mechanism: Mechanism, asked: Given) -> Attended:
    memory = mechanism.remember(asked.keys, asked.values, asked.real)
    return mechanism(asked.query, memory, asked.mask)


def answers(mechanism: Mechanism, asked: Given, seed: int = 7) -> dict[str, Tensor]:
    """The context and every gradient of a random projection of it, from a fixed seed for dropout and noise."""
    asked = asked.leaves()
    mechanism.zero_grad()
    torch.manual_seed(seed)
    context = attend(mechanism, asked).context
    toward = torch.randn(context.shape, generator=torch.Generator().manual_seed(seed), dtype=context.dtype)
    (context * toward).sum().backward()
    inputs = {"query": asked.query, "keys": asked.keys, "values": asked.values}
    learned = {name: parameter for name, parameter in mechanism.named_parameters() if parameter.requires_grad}
    return {"context": context.detach()} | {name: grad_of(tensor) for name, tensor in (inputs | learned).items()}


def grad_of(tensor: Tensor) -> Tensor:
    """A gradient that was never needed is zero."""
    return torch.zeros_like(tensor) if tensor.grad is None else tensor.grad.clone()


def gradients_hold(mechanism: Mechanism, asked: Given) -> bool:
    """Whether the gradients of queries, keys, values and parameters are those that finite differences find."""
    asked = asked.leaves()
    learned = [parameter for parameter in mechanism.parameters() if parameter.requires_grad]

    def context(query: Tensor, keys: Tensor, values: Tensor, *parameters: Tensor) -> Tensor:
        return mechanism(query, mechanism.remember(keys, values, asked.real), asked.mask).context

    return torch.autograd.gradcheck(context, (asked.query, asked.keys, asked.values, *learned), fast_mode=True)


def assert_close(found: dict[str, Tensor], expected: dict[str, Tensor], tolerance: float | None = None) -> None:
    """Equal within the tolerance of their type, relative to the largest entry."""
    assert found.keys() == expected.keys()
    for name, wanted in expected.items():
        limit = TOLERANCE[wanted.dtype] if tolerance is None else tolerance
        off = float((found[name] - wanted).abs().max()) if wanted.numel() else 0.0
        assert off <= limit * max(1.0, float(wanted.abs().max())), f"{name} is off by {off:.1e}"


def assert_same_bits(found: dict[str, Tensor], expected: dict[str, Tensor]) -> None:
    assert found.keys() == expected.keys()
    assert [name for name in expected if not torch.equal(found[name], expected[name])] == []


def some_pairs(asked: Given, per_head: bool = False) -> Tensor:
    """Any mask at all, with a dead row in the first example."""
    batch, heads, queries, _ = asked.query.shape
    allowed = torch.rand(batch, heads if per_head else 1, queries, asked.keys.shape[2]) < 0.6
    allowed[0, :, -1] = False
    allowed[-1, :, 0, 0] = True
    return allowed


def lengths_mask(asked: Given) -> Mask:
    """Padding, where the first example has nothing to attend to at all and the last one everything."""
    batch, size = asked.keys.shape[0], asked.keys.shape[2]
    lengths = [0, *(1 + (3 * index) % size for index in range(1, batch - 1)), size][-batch:]
    return real_keys(torch.arange(size) < torch.tensor(lengths)[:, None])


MASKS: dict[str, Callable[[Given], Mask]] = {
    "free": lambda asked: FREE,
    "padding": lengths_mask,
    "causal": lambda asked: LOOK_AHEAD,
    "window": lambda asked: window(1, 2),
    "pairs": lambda asked: pairs(some_pairs(asked)),
    "pairs per head": lambda asked: pairs(some_pairs(asked, per_head=True)),
    "causal and padding": lambda asked: LOOK_AHEAD & lengths_mask(asked),
    "window and pairs and padding": lambda asked: window(3, 1) & pairs(some_pairs(asked)) & lengths_mask(asked),
}


def masked(asked: Given, name: str) -> Given:
    return Given(asked.query, asked.keys, asked.values, asked.real, MASKS[name](asked))


def drawn(asked: Given) -> Tensor:
    """Which pairs the call may attend to, as a full tensor: batch x heads x queries x keys."""
    batch, heads, queries, _ = asked.query.shape
    keys = asked.keys.shape[2]
    mask = asked.mask if asked.real is None else asked.mask & real_keys(asked.real)
    return mask.dense(queries, keys).expand(batch, heads, queries, keys)


def refused(kind: type[RegardError] | tuple[type[RegardError], ...], call: Callable[[], object], *words: str) -> None:
    """The call is refused in one sentence that holds these words."""
    with pytest.raises(kind) as caught:
        call()
    sentence = str(caught.value)
    assert "\n" not in sentence
    assert sentence.endswith(".")
    assert [word for word in words if word not in sentence] == [], sentence


def each_recipe(found: list[Recipe]) -> list[Any]:
    return [pytest.param(recipe, id=str(recipe)) for recipe in found]
