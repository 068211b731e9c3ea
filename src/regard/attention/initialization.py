"""How learned matrices start, by name.

Query, key and value projections are each initialised as a matrix of their own: packed into one tall matrix, Xavier's
rule would give them half the variance it means.
"""

import math
from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.errors import ConfigError, unknown


def xavier_uniform(weight: Float[Tensor, "*H O I"], gain: float = 1.0) -> None:
    """U(-a, a), a = gain sqrt(6 / (in + out))   (Glorot and Bengio 2010)."""
    bound = gain * math.sqrt(6.0 / (weight.shape[-1] + weight.shape[-2]))
    nn.init.uniform_(weight, -bound, bound)


def xavier_normal(weight: Float[Tensor, "*H O I"], gain: float = 1.0) -> None:
    """N(0, s^2), s = gain sqrt(2 / (in + out))   (Glorot and Bengio 2010)."""
    nn.init.normal_(weight, 0.0, gain * math.sqrt(2.0 / (weight.shape[-1] + weight.shape[-2])))


def kaiming_uniform(weight: Float[Tensor, "*H O I"], gain: float = 1.0) -> None:
    """U(-a, a), a = gain sqrt(3 / in), and sqrt(2) more before a rectifier   (He et al. 2015)."""
    bound = gain * math.sqrt(6.0 / weight.shape[-1])
    nn.init.uniform_(weight, -bound, bound)


def small_normal(weight: Float[Tensor, "*H O I"], gain: float = 1.0) -> None:
    """N(0, (0.02 gain)^2), as GPT-2 and BERT start."""
    nn.init.normal_(weight, 0.0, 0.02 * gain)


INITIALIZERS: dict[str, Callable[[Tensor, float], None]] = {
    "xavier_uniform": xavier_uniform,
    "xavier_normal": xavier_normal,
    "kaiming_uniform": kaiming_uniform,
    "small_normal": small_normal,
    # DeepNorm is Xavier's normal start with a gain below one, which the model works out from its depth.
    "deepnorm": xavier_normal,
}


def start(weight: Tensor, name: str, gain: float = 1.0) -> None:
    """Fill a matrix (or one matrix a head) in place by the rule of that name."""
    if name not in INITIALIZERS:
        raise ConfigError(unknown("initialisation", name, INITIALIZERS))
    with torch.no_grad():
        INITIALIZERS[name](weight, gain)


def linear(inputs: int, outputs: int, bias: bool = True, name: str = "xavier_uniform", gain: float = 1.0) -> nn.Linear:
    """A linear layer whose matrix starts by name and whose bias starts at zero."""
    layer = nn.Linear(inputs, outputs, bias=bias)
    start(layer.weight, name, gain)
    if bias:
        nn.init.zeros_(layer.bias)
    return layer


def matrix(*shape: int) -> nn.Parameter:
    """A learned matrix (one a head, heads first) that starts by Xavier's uniform rule."""
    weight = nn.Parameter(torch.empty(*shape))
    start(weight.data, "xavier_uniform")
    return weight
