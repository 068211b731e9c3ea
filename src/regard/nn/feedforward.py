"""The position-wise network of a Transformer block, plain and gated."""

from collections.abc import Callable

from jaxtyping import Float
from pydantic import PositiveInt
from torch import Tensor, nn
from torch.nn import functional as F

from regard.attention import Tap, linear
from regard.config import Rate, Settings
from regard.errors import ConfigError, unknown
from regard.nn.dropout import Dropout


def _gelu_tanh(x: Tensor) -> Tensor:
    return F.gelu(x, approximate="tanh")


ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "gelu": F.gelu,
    "gelu_tanh": _gelu_tanh,
    "silu": F.silu,
}


def activation(name: str) -> Callable[[Tensor], Tensor]:
    """The activation of that name."""
    if name not in ACTIVATIONS:
        raise ConfigError(unknown("activation", name, ACTIVATIONS))
    return ACTIVATIONS[name]


class FeedForwardSettings(Settings):
    """How wide, what in the middle, and whether a second projection gates the first."""

    hidden: PositiveInt = 2048
    activation: str = "relu"
    gated: bool = False
    bias: bool = True
    dropout: Rate = 0.0


class FeedForward(nn.Module):
    """W2 f(W1 x), or gated W2 (f(W1 x) * W3 x)   (Vaswani et al. 2017, eq. 2; Shazeer 2020)."""

    def __init__(
        self, settings: FeedForwardSettings, width: int, initial: str = "xavier_uniform", gain: float = 1.0
    ) -> None:
        super().__init__()
        self.activation = activation(settings.activation)
        self.inner = linear(width, settings.hidden, settings.bias, initial, gain)
        self.gate = linear(width, settings.hidden, settings.bias, initial, gain) if settings.gated else None
        self.outer = linear(settings.hidden, width, settings.bias, initial, gain)
        self.dropout = Dropout(settings.dropout)
        self.hidden = Tap("BTF")

    def forward(self, x: Float[Tensor, "B T D"]) -> Float[Tensor, "B T D"]:
        hidden_BTF = self.activation(self.inner(x))
        if self.gate is not None:
            hidden_BTF = hidden_BTF * self.gate(x)
        return self.outer(self.dropout(self.hidden(hidden_BTF)))
