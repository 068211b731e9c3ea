"""How well a query suits a key: one number a pair, before masking and normalizing.

Every learned parameter of a score has the heads as its first dimension (or 1 where all heads share it): that is how
taps compute one head alone.
"""

import math
from functools import reduce
from typing import Any

import torch
from jaxtyping import Float
from pydantic import PositiveInt
from torch import Tensor, nn
from torch.nn import functional as F

from regard.attention.initialization import matrix
from regard.attention.memory import History
from regard.attention.places import Place, Sizes
from regard.attention.products import by_head
from regard.config import make
from regard.errors import ConfigError, ModelError


class Score(nn.Module):
    """A score of queries against keys that `prepare` has seen once."""

    recurrent = False
    # Whether it goes by a key's number in its memory, so that a memory cannot be taken in parts.
    counts = False

    def prepare(self, key: Float[Tensor, "B G K M"]) -> Float[Tensor, "B G K A"]:
        """What of a key does not depend on the query, computed once per memory."""
        return key

    def forward(
        self,
        query: Float[Tensor, "B H Q E"],
        key: Float[Tensor, "B H K A"],
        place: Place,
        history: History | None = None,
    ) -> Float[Tensor, "B H Q K"]:
        raise NotImplementedError


class Product(Score):
    """scale * ask(q) . k: every score of this form runs on the fused kernel."""

    scale = 1.0

    def ask(self, query: Float[Tensor, "B H Q E"]) -> Float[Tensor, "B H Q A"]:
        """The query as it meets the keys."""
        return query

    def forward(
        self,
        query: Float[Tensor, "B H Q E"],
        key: Float[Tensor, "B H K A"],
        place: Place,
        history: History | None = None,
    ) -> Float[Tensor, "B H Q K"]:
        return (self.ask(query) * self.scale) @ key.mT


class Dot(Product):
    """q . k   (Luong et al. 2015, 3.1)."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        _same_width(sizes, "dot")


class ScaledDot(Product):
    """q . k / sqrt(E)   (Vaswani et al. 2017, eq. 1)."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        _same_width(sizes, "scaled_dot")
        self.scale = 1.0 / math.sqrt(sizes.key)


class General(Product):
    """q W k   (Luong et al. 2015, 3.1)."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.bilinear = matrix(sizes.heads, sizes.query, sizes.key)

    def ask(self, query: Float[Tensor, "B H Q E"]) -> Float[Tensor, "B H Q A"]:
        return by_head(query, self.bilinear)


class Cosine(Product):
    """cos(q, k) / temperature   (Graves et al. 2014, eq. 6), the temperature learned per head."""

    def __init__(self, sizes: Sizes, *, temperature: float = 0.1) -> None:
        super().__init__()
        _same_width(sizes, "cosine")
        if temperature <= 0:
            raise ConfigError(f"cosine temperature={temperature} must be above 0.")
        self.sharpness = nn.Parameter(torch.full((sizes.heads, 1, 1), -math.log(temperature)))

    def prepare(self, key: Float[Tensor, "B G K M"]) -> Float[Tensor, "B G K A"]:
        return F.normalize(key, dim=-1)

    def ask(self, query: Float[Tensor, "B H Q E"]) -> Float[Tensor, "B H Q A"]:
        return F.normalize(query, dim=-1) * self.sharpness.exp()


class QueryNetwork(Product):
    """f(q) . k / sqrt(A), f = W2 tanh(W1 q): a feed-forward network makes the query from the decoder's state."""

    def __init__(self, sizes: Sizes, *, hidden: PositiveInt | None = None) -> None:
        super().__init__()
        hidden = hidden or sizes.query
        self.inner = matrix(sizes.heads, sizes.query, hidden)
        self.inner_bias = nn.Parameter(torch.zeros(sizes.heads, 1, hidden))
        self.outer = matrix(sizes.heads, hidden, sizes.key)
        self.scale = 1.0 / math.sqrt(sizes.key)

    def ask(self, query: Float[Tensor, "B H Q E"]) -> Float[Tensor, "B H Q A"]:
        return by_head(torch.tanh(by_head(query, self.inner) + self.inner_bias), self.outer)


class Additive(Score):
    """v . tanh(W q + U k + b)   (Bahdanau et al. 2015, A.1.2)."""

    def __init__(self, sizes: Sizes, *, hidden: PositiveInt | None = None) -> None:
        super().__init__()
        _own_keys(sizes, "additive")
        hidden = hidden or max(sizes.query, sizes.key)
        self.query = matrix(sizes.heads, sizes.query, hidden)
        self.key = matrix(sizes.heads, sizes.key, hidden)
        self.bias = nn.Parameter(torch.zeros(sizes.heads, 1, hidden))
        self.energy = matrix(sizes.heads, hidden, 1)

    def prepare(self, key: Float[Tensor, "B G K M"]) -> Float[Tensor, "B G K A"]:
        return by_head(key, self.key) + self.bias

    def forward(
        self,
        query: Float[Tensor, "B H Q E"],
        key: Float[Tensor, "B H K A"],
        place: Place,
        history: History | None = None,
    ) -> Float[Tensor, "B H Q K"]:
        hidden_BHQKA = by_head(query, self.query)[:, :, :, None] + key[:, :, None]
        feature = self.feature(history)
        hidden_BHQKA = torch.tanh(hidden_BHQKA if feature is None else hidden_BHQKA + feature)
        return by_head(hidden_BHQKA.flatten(2, 3), self.energy).squeeze(-1).unflatten(2, hidden_BHQKA.shape[2:4])

    def feature(self, history: History | None) -> Tensor | None:
        """What else enters the hidden layer beside query and key."""
        return None


class Concat(Additive):
    """v . tanh(W [q; k])   (Luong et al. 2015, 3.1): W split in two, so that the key's half is computed once."""

    def __init__(self, sizes: Sizes, *, hidden: PositiveInt | None = None) -> None:
        super().__init__(sizes, hidden=hidden)
        joint_HXA = matrix(sizes.heads, sizes.query + sizes.key, self.bias.shape[-1])
        self.query = nn.Parameter(joint_HXA[:, : sizes.query].detach().clone())
        self.key = nn.Parameter(joint_HXA[:, sizes.query :].detach().clone())
        self.bias.requires_grad_(False)


class LocationAware(Additive):
    """v . tanh(W q + U k + V (F * a) + b), a the preceding weights   (Chorowski et al. 2015, eq. 8-9)."""

    recurrent = True

    def __init__(
        self, sizes: Sizes, *, hidden: PositiveInt | None = None, filters: PositiveInt = 8, kernel: PositiveInt = 15
    ) -> None:
        super().__init__(sizes, hidden=hidden)
        if kernel % 2 == 0:
            raise ConfigError(f"location_aware kernel={kernel} has no middle; give an odd number.")
        self.filters = matrix(sizes.heads, filters, kernel)
        self.location = matrix(sizes.heads, filters, self.bias.shape[-1])

    def feature(self, history: History | None) -> Tensor | None:
        return None if history is None else self._spread(self.seen(history))

    def seen(self, history: History) -> Float[Tensor, "B H Q K"]:
        return history.weights

    def _spread(self, seen: Float[Tensor, "B H Q K"]) -> Float[Tensor, "B H Q K A"]:
        side = self.filters.shape[-1] // 2
        around_BHQKX = F.pad(seen, (side, side)).unfold(-1, self.filters.shape[-1], 1)
        filtered = by_head(around_BHQKX.flatten(2, 3), self.filters.mT)
        return by_head(filtered, self.location).unflatten(2, seen.shape[2:])


class Coverage(LocationAware):
    """v . tanh(W q + U k + V c + b), c the sum of all weights so far   (See et al. 2017, eq. 11)."""

    def __init__(self, sizes: Sizes, *, hidden: PositiveInt | None = None) -> None:
        super().__init__(sizes, hidden=hidden, filters=1, kernel=1)

    def seen(self, history: History) -> Float[Tensor, "B H Q K"]:
        return history.total


class Location(Score):
    """W q: the place is told by the query alone   (Luong et al. 2015, 3.1); up to `length` keys."""

    counts = True

    def __init__(self, sizes: Sizes, *, length: PositiveInt = 128) -> None:
        super().__init__()
        self.places = matrix(sizes.heads, sizes.query, length)

    def forward(
        self,
        query: Float[Tensor, "B H Q E"],
        key: Float[Tensor, "B H K A"],
        place: Place,
        history: History | None = None,
    ) -> Float[Tensor, "B H Q K"]:
        if place.columns.stop > self.places.shape[-1]:
            raise ModelError(
                f"The location score was built for {self.places.shape[-1]} keys and got {place.columns.stop}; "
                "raise its length or choose a score that reads the keys."
            )
        return by_head(query, self.places[..., place.columns])


class Mixed(Score):
    """sum_i g_i score_i(q, k): content and location together, each gate learned per head from one."""

    def __init__(self, sizes: Sizes, *, scores: tuple[Any, ...] = ("additive", "location")) -> None:
        super().__init__()
        if not scores:
            raise ConfigError("mixed needs at least one score, for instance scores = ['additive', 'location'].")
        self.scores = nn.ModuleList(make("score", SCORES, choice, sizes) for choice in scores)
        self.gates = nn.Parameter(torch.ones(sizes.heads, len(self.scores), 1, 1))
        self.recurrent = any(score.recurrent for score in self._parts())
        self.counts = any(score.counts for score in self._parts())
        probe = torch.zeros(1, sizes.heads, 1, sizes.key)
        self.widths = [score.prepare(probe).shape[-1] for score in self._parts()]

    def _parts(self) -> list[Score]:
        return [score for score in self.scores if isinstance(score, Score)]

    def prepare(self, key: Float[Tensor, "B G K M"]) -> Float[Tensor, "B G K A"]:
        return torch.cat([score.prepare(key) for score in self._parts()], dim=-1)

    def forward(
        self,
        query: Float[Tensor, "B H Q E"],
        key: Float[Tensor, "B H K A"],
        place: Place,
        history: History | None = None,
    ) -> Float[Tensor, "B H Q K"]:
        keys = key.split(self.widths, dim=-1)
        parts = [score(query, part, place, history) for score, part in zip(self._parts(), keys, strict=True)]
        return reduce(torch.add, (self.gates[:, i] * part for i, part in enumerate(parts)))


SCORES: dict[str, type[Score]] = {
    "dot": Dot,
    "scaled_dot": ScaledDot,
    "general": General,
    "cosine": Cosine,
    "query_network": QueryNetwork,
    "additive": Additive,
    "concat": Concat,
    "location": Location,
    "location_aware": LocationAware,
    "coverage": Coverage,
    "mixed": Mixed,
}


def _same_width(sizes: Sizes, name: str) -> None:
    if sizes.query != sizes.key:
        raise ConfigError(
            f"score {name} multiplies queries and keys of one width, got {sizes.query} and {sizes.key}; "
            "make them equal or choose general, query_network or additive."
        )


def _own_keys(sizes: Sizes, name: str) -> None:
    if sizes.groups != sizes.heads:
        raise ConfigError(
            f"score {name} has parameters for every head's keys, so {sizes.heads} heads cannot share {sizes.groups} "
            "groups of keys; drop groups or choose dot, scaled_dot, general, cosine or query_network."
        )
