"""How order enters attention, which by itself sees a bag of keys.

A scheme acts in one of three places: on the embeddings (`embed`), on queries and keys (`rotate`), or on scores and
values (`bias`, `mix`). Each class says what happens past the trained length. An unknown position (below zero) means the
same everywhere: the scheme adds nothing for it.
"""

import math
from functools import cache, lru_cache
from typing import Literal, NamedTuple, Self

import torch
from jaxtyping import Float, Int
from pydantic import NonNegativeInt, PositiveFloat, PositiveInt, model_validator
from torch import Tensor, nn
from torch.nn import functional as F

from regard.attention.places import At, Place, farthest, positions
from regard.attention.products import by_head
from regard.config import Settings
from regard.errors import ConfigError, ModelError


class Position(nn.Module):
    """No positions: a permuted input gives the permuted output."""

    # Where the scheme acts: "embedding" (on the model's input) or "attention" (inside every layer).
    acts: Literal["nowhere", "embedding", "attention"] = "nowhere"
    # Whether scores get a bias that learns, or values a term of their own: the fused kernel can do neither.
    learned_bias = False
    mixes = False
    # How many positions there are; None: any number.
    length: int | None = None

    def __init__(self, width: int, heads: int = 1) -> None:
        super().__init__()

    def check(self, at: At) -> None:
        """A ModelError where one is past the last there is."""
        if self.length is not None and farthest(at) >= self.length:
            name = next((name for name, kind in POSITIONS.items() if kind is type(self)), type(self).__name__)
            raise ModelError(
                f"Position {farthest(at)} is past the {self.length} that {name} positions were built for; raise their "
                "length, shorten the text, or choose sinusoidal, rotary, alibi, relative or bucketed."
            )

    def embed(self, embedded: Float[Tensor, "B T D"], at: At) -> Float[Tensor, "B T D"]:
        """The embeddings with their positions."""
        return embedded

    def rotate(self, vectors: Float[Tensor, "B H T E"], at: At) -> Float[Tensor, "B H T E"]:
        """Queries or keys as seen from where they stand."""
        return vectors

    def bias(self, query: Float[Tensor, "B H Q E"], place: Place) -> Float[Tensor, "#B #H Q K"] | None:
        """What is added to the scores."""
        return None

    def mix(self, weights: Float[Tensor, "B H Q K"], place: Place) -> Float[Tensor, "B H Q W"] | None:
        """What is added to the weighted sum of the values."""
        return None


class Learned(Position):
    """x + P[t], P learned   (Gehring et al. 2017). Past `length`: refused."""

    acts = "embedding"

    def __init__(self, width: int, heads: int = 1, *, length: PositiveInt = 512) -> None:
        super().__init__(width, heads)
        self.length = length
        self.table = nn.Parameter(torch.empty(length, width).normal_(0.0, 0.02))

    def embed(self, embedded: Float[Tensor, "B T D"], at: At) -> Float[Tensor, "B T D"]:
        self.check(at)
        return embedded + _rows(self.table, at, embedded)


class Sinusoidal(Position):
    """x + (sin(t / b^(2i/D)), cos(t / b^(2i/D)))   (Vaswani et al. 2017, 3.5). Past any length: the same formula.

    `layout` says whether sines and cosines alternate ("pairs", the paper) or stand in halves (tensor2tensor, Marian).
    """

    acts = "embedding"

    def __init__(
        self, width: int, heads: int = 1, *, base: float = 10000.0, layout: Literal["pairs", "halves"] = "pairs"
    ) -> None:
        super().__init__(width, heads)
        if width % 2:
            raise ConfigError(f"Sinusoidal positions come in pairs, so width {width} must be even.")
        self.width, self.base, self.layout = width, base, layout

    def embed(self, embedded: Float[Tensor, "B T D"], at: At) -> Float[Tensor, "B T D"]:
        make = _waves_of_one if _single(at) else _waves
        waves_BTD = make(at, self.width, self.base, self.layout, embedded.device, embedded.dtype)
        if isinstance(at, Tensor):
            waves_BTD = waves_BTD * (at >= 0)[..., None]
        return embedded + waves_BTD


class OneHot(Position):
    """x + W one_hot(t): the position as a coordinate of its own, through a matrix without bias. Past `length`: refused.

    Adding a projected one-hot vector is what concatenating it to the embedding before a linear layer comes to.
    """

    acts = "embedding"

    def __init__(self, width: int, heads: int = 1, *, length: PositiveInt = 512) -> None:
        super().__init__(width, heads)
        self.length = length
        self.projection = nn.Linear(length, width, bias=False)

    def embed(self, embedded: Float[Tensor, "B T D"], at: At) -> Float[Tensor, "B T D"]:
        self.check(at)
        return embedded + _rows(self.projection.weight.t(), at, embedded)


class Stretch(Settings):
    """Rotary rates made slower by `factor`, so that a model trained on texts of `length` reads longer ones.

    With `length`, only planes that turn less than `slow` times within it are, those that turn more than `fast` times
    stay, and those between are mixed, as in Llama 3.1; without, all of them are   (Chen et al. 2023). `planes` gives
    each plane a factor of its own besides.
    """

    factor: PositiveFloat = 1.0
    length: NonNegativeInt = 0
    slow: PositiveFloat = 1.0
    fast: PositiveFloat = 4.0
    planes: tuple[PositiveFloat, ...] = ()

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.slow >= self.fast:
            raise ValueError(f"slow = {self.slow} has to be less than fast = {self.fast}")
        return self

    def __call__(self, rates: Float[Tensor, " F"]) -> Float[Tensor, " F"]:
        if self.planes:
            rates = rates / rates.new_tensor(self.planes)
        if not self.length:
            return rates / self.factor
        times_F = self.length * rates / (2 * math.pi)
        kept_F = ((times_F - self.slow) / (self.fast - self.slow)).clamp(0, 1)
        return (1 - kept_F) * rates / self.factor + kept_F * rates


class Rates(NamedTuple):
    """By what the planes of so many dimensions are turned from one position to the next."""

    width: int
    base: float
    stretch: Stretch | None = None


class Rotary(Position):
    """q and k turned by t / b^(2i/E) in each plane i   (Su et al. 2021). Past any length: the same formula.

    Only differences of positions reach the scores. `layout` as in sinusoidal: neighbours ("pairs", the paper) or halves
    (Llama); `share` of each head is turned, the rest stays; `stretch` lets a trained model read farther.
    """

    acts = "attention"

    def __init__(
        self,
        width: int,
        heads: int = 1,
        *,
        base: float = 10000.0,
        layout: Literal["pairs", "halves"] = "pairs",
        share: float = 1.0,
        stretch: Stretch | None = None,
    ) -> None:
        super().__init__(width, heads)
        self.turned = int(width * share)
        if self.turned < 2 or self.turned % 2:
            raise ConfigError(
                f"Rotary positions turn planes, so the {self.turned} of {width} dimensions a head turns must be even."
            )
        if stretch is not None and len(stretch.planes) not in (0, self.turned // 2):
            raise ConfigError(f"stretch.planes has {len(stretch.planes)} factors for {self.turned // 2} planes.")
        self.rates, self.layout = Rates(self.turned, base, stretch), layout

    def rotate(self, vectors: Float[Tensor, "B H T E"], at: At) -> Float[Tensor, "B H T E"]:
        make = _turns_of_one if _single(at) else _turns
        cos, sin = make(at, self.rates, vectors.device, vectors.dtype)
        first, second = _split(vectors[..., : self.turned], self.layout)
        turned = _joined(first * cos - second * sin, first * sin + second * cos, self.layout)
        return torch.cat([turned, vectors[..., self.turned :]], dim=-1) if self.turned < vectors.shape[-1] else turned


class Alibi(Position):
    """score - m_h |distance|, slopes m_h = 2^(-8h/H)   (Press et al. 2022). Past any length: the same line."""

    acts = "attention"

    def __init__(self, width: int, heads: int = 1) -> None:
        super().__init__(width, heads)
        slopes = torch.tensor(_slopes(heads))
        self.register_buffer("slopes", slopes[:, None, None], persistent=False)
        self.slopes: Tensor

    def bias(self, query: Float[Tensor, "B H Q E"], place: Place) -> Float[Tensor, "#B #H Q K"] | None:
        bias_BHQK = -self.slopes.to(query) * place.distance.abs()[:, None].to(query.dtype)
        return _silent(bias_BHQK, place)


class Relative(Position):
    """q . (k + a_K[d]) / sqrt(E) and weights . (v + a_V[d]), d the distance   (Shaw et al. 2018, eq. 3-4).

    Distances are clipped at `reach`, so past any length the outermost vectors serve. Tables are shared by all heads.
    """

    acts = "attention"
    learned_bias = True
    mixes = True

    def __init__(self, width: int, heads: int = 1, *, reach: int = 16) -> None:
        super().__init__(width, heads)
        if reach < 1:
            raise ConfigError(f"relative reach={reach} must be 1 or more.")
        self.reach = reach
        self.keys = nn.Parameter(torch.empty(1, 2 * reach + 1, width).normal_(0.0, width**-0.5))
        self.values = nn.Parameter(torch.empty(1, 2 * reach + 1, width).normal_(0.0, width**-0.5))

    def bias(self, query: Float[Tensor, "B H Q E"], place: Place) -> Float[Tensor, "#B #H Q K"] | None:
        along_BHQX = by_head(query, self.keys.mT) * query.shape[-1] ** -0.5
        # Not by the sizes of a shape, which are constants to whoever draws a graph of this.
        index_BHQK, _ = torch.broadcast_tensors(self._index(place)[:, None], query[..., :1])
        return _silent(along_BHQX.gather(-1, index_BHQK), place)

    def mix(self, weights: Float[Tensor, "B H Q K"], place: Place) -> Float[Tensor, "B H Q W"] | None:
        if place.unknown is not None:
            weights = weights * ~place.unknown[:, None]
        mass_BHQX = F.pad(weights[..., :0], (0, 2 * self.reach + 1))
        mass_BHQX = mass_BHQX.scatter_add(-1, self._index(place)[:, None].expand_as(weights), weights)
        return by_head(mass_BHQX, self.values)

    def _index(self, place: Place) -> Int[Tensor, "#B Q K"]:
        return place.distance.clamp(-self.reach, self.reach) + self.reach


class Bucketed(Position):
    """score + b_h[bucket(distance)], buckets widening with distance   (Raffel et al. 2020, T5).

    Half of the buckets hold one distance each, the rest grow evenly in the logarithm up to `farthest`; everything
    beyond shares the last. Two-sided schemes keep one half of the buckets for keys ahead.
    """

    acts = "attention"
    learned_bias = True

    def __init__(
        self, width: int, heads: int = 1, *, buckets: int = 32, farthest: int = 128, two_sided: bool = True
    ) -> None:
        super().__init__(width, heads)
        if buckets < 4 or buckets % 4:
            raise ConfigError(f"bucketed buckets={buckets} must be a multiple of 4.")
        if farthest <= buckets:
            raise ConfigError(f"bucketed farthest={farthest} must be above buckets={buckets}.")
        self.buckets, self.farthest, self.two_sided = buckets, farthest, two_sided
        self.table = nn.Parameter(torch.empty(heads, buckets).normal_(0.0, 0.02))

    def bias(self, query: Float[Tensor, "B H Q E"], place: Place) -> Float[Tensor, "#B #H Q K"] | None:
        # table[:, index] comes as heads x batch x queries x keys.
        bias_BHQK = self.table[:, self._bucket(place.distance)].transpose(0, 1)
        return _silent(bias_BHQK.to(query.dtype), place)

    def _bucket(self, distance: Int[Tensor, "#B Q K"]) -> Int[Tensor, "#B Q K"]:
        side = self.buckets // 2 if self.two_sided else self.buckets
        ahead = (distance > 0) * side if self.two_sided else torch.zeros_like(distance)
        away = distance.abs() if self.two_sided else (-distance).clamp(min=0)
        exact = side // 2
        growth = (away.clamp(min=1).to(torch.float32) / exact).log() / math.log(self.farthest / exact)
        wide = (exact + (growth * (side - exact)).long()).clamp(max=side - 1)
        return ahead + torch.where(away < exact, away, wide)


POSITIONS: dict[str, type[Position]] = {
    "none": Position,
    "one_hot": OneHot,
    "learned": Learned,
    "sinusoidal": Sinusoidal,
    "rotary": Rotary,
    "alibi": Alibi,
    "relative": Relative,
    "bucketed": Bucketed,
}


@cache
def _rates(rates: Rates, device: torch.device, exact: torch.dtype) -> Float[Tensor, " F"]:
    """1 / b^(2i/D), never in the model's own precision: rounded to bfloat16, a position is another one.

    Divided at the end, as everyone's rotary models were trained: the other order of rounding turns position 2000 by
    1e-4 more.
    """
    width, base, stretch = rates
    plain_F = 1.0 / base ** (torch.arange(0, width, 2, dtype=exact, device=device) / width)
    return plain_F if stretch is None else stretch(plain_F)


def _waves(
    at: At, width: int, base: float, layout: str, device: torch.device, dtype: torch.dtype
) -> Float[Tensor, "#B T D"]:
    # In single precision the waves at position 500 would be off by 3e-5. Apple's GPU knows no better one.
    exact = torch.float32 if device.type == "mps" else torch.float64
    angles_BTD = positions(at, device)[..., None] * _rates(Rates(width, base), device, exact)
    return _joined(angles_BTD.sin(), angles_BTD.cos(), layout).to(dtype)


def _turns(
    at: At, rates: Rates, device: torch.device, dtype: torch.dtype
) -> tuple[Float[Tensor, "#B 1 T F"], Float[Tensor, "#B 1 T F"]]:
    """Cosine and sine of every plane at these positions."""
    # An unknown position is not turned, which is how position zero looks: where only one of two is known, the other one
    # counts as zero.
    known_B1T1 = positions(at, device).clamp(min=0)[:, None, :, None]
    angles_B1TF = known_B1T1 * _rates(rates, device, torch.float32)
    return angles_B1TF.cos().to(dtype), angles_B1TF.sin().to(dtype)


# Writing goes on from place to place, in every layer of every text the same ones. What is kept must be fit for
# gradients too, whoever asks first.
_waves_of_one = lru_cache(maxsize=4096)(torch.inference_mode(False)(_waves))
_turns_of_one = lru_cache(maxsize=4096)(torch.inference_mode(False)(_turns))


def _single(at: At) -> bool:
    # A compiled model's lengths are symbols, which nothing can be kept by.
    return not torch.compiler.is_compiling() and isinstance(at, range) and len(at) == 1


def _split(vectors: Tensor, layout: str) -> tuple[Tensor, Tensor]:
    if layout == "pairs":
        return vectors[..., 0::2], vectors[..., 1::2]
    first, second = vectors.chunk(2, dim=-1)
    return first, second


def _joined(first: Tensor, second: Tensor, layout: str) -> Tensor:
    if layout == "pairs":
        return torch.stack([first, second], dim=-1).flatten(-2)
    return torch.cat([first, second], dim=-1)


def _rows(table: Float[Tensor, "L D"], at: At, like: Tensor) -> Float[Tensor, "#B T D"]:
    """The table's rows at these positions, zeros at unknown ones."""
    if isinstance(at, range):
        return table[at.start : at.stop][None].to(like.dtype)
    return (table[at.clamp(min=0)] * (at >= 0)[..., None]).to(like.dtype)


def _silent(bias: Tensor, place: Place) -> Tensor:
    """The bias, zero where a position is unknown."""
    return bias if place.unknown is None else bias.masked_fill(place.unknown[:, None], 0.0)


def _slopes(heads: int) -> list[float]:
    """2^(-8h/H) for a power of two; otherwise the next lower power's, then every second of the next higher's."""
    power = 2 ** int(math.log2(heads))
    if power == heads:
        return [2.0 ** (-8.0 * (head + 1) / heads) for head in range(heads)]
    return _slopes(power) + _slopes(2 * power)[0::2][: heads - power]


def embedding_only(name: str) -> ConfigError:
    """The error for a scheme that acts on embeddings but was asked for inside attention."""
    return ConfigError(
        f"position {name} is added to embeddings, not inside attention; give it to the model, "
        "or choose none, rotary, alibi, relative or bucketed here."
    )
