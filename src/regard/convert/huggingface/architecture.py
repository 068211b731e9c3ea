"""What an architecture is: the config.json it comes with, our model for it, and the names of its parameters.

A config class lists every field that shapes the network, with Transformers' own default for it. A value we cannot
express is refused by the field's type; fields that are not listed shape no network (names, generation, bookkeeping).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, ConfigDict, PositiveInt
from torch import Tensor, nn

from regard.config import Settings
from regard.convert.huggingface.rules import Rule, stars
from regard.errors import ConfigError, ModelError
from regard.models import StackSettings, Vocabulary

ACTIVATIONS = {
    "relu": "relu",
    "gelu": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_fast": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "silu": "silu",
    "swish": "silu",
}

OLD = {"gamma": "weight", "beta": "bias"}


def only(*allowed: Any) -> AfterValidator:
    """A field of which we can read these values alone."""

    def check(value: Any) -> Any:
        if value not in allowed:
            raise ValueError(f"Regard can read this only as {' or '.join(map(repr, allowed))}")
        return value

    return AfterValidator(check)


def _activation(theirs: str) -> str:
    if theirs not in ACTIVATIONS:
        raise ValueError(f"Regard has no such activation; it can read {', '.join(sorted(ACTIVATIONS))}")
    return ACTIVATIONS[theirs]


def _single(piece: Any) -> Any:
    if isinstance(piece, list):
        raise ValueError("a text of Regard's has one such piece; name the one to use")
    return piece


def _first(pieces: Any) -> Any:
    return pieces[0] if isinstance(pieces, list) and pieces else pieces


Activation = Annotated[str, AfterValidator(_activation)]
Piece = Annotated[int | None, BeforeValidator(_single)]
# Any of several may end what a decoder writes: the first is the model's, and prediction is told of the others.
Ends = Annotated[int | None, BeforeValidator(_first)]
Never = Annotated[bool, only(False)]
Always = Annotated[bool, only(True)]
Nothing = Annotated[Any, only(None, {}, [])]


class Config(Settings, ABC):
    """What all architectures have in common."""

    model_config = ConfigDict(extra="ignore", validate_default=True)

    # Transformers' own classes for the model.
    architectures: list[str] | None = None
    vocab_size: PositiveInt
    eos_token_id: Piece = None
    tie_word_embeddings: bool = True
    quantization_config: Nothing = None
    pruned_heads: Nothing = None

    @abstractmethod
    def settings(self) -> StackSettings:
        """These values as ours."""

    @abstractmethod
    def vocabulary(self) -> Vocabulary | int:
        """How many pieces there are, and for what generates also which ones begin and end a text."""

    def labels(self) -> tuple[str, ...]:
        """What the classes of a head are called, by their numbers."""
        return ()

    def several(self) -> bool:
        """Whether a text may be of any number of them."""
        return False

    def piece(self, name: str, size: int) -> int:
        """The special piece of that name, which there has to be."""
        piece = getattr(self, name)
        if piece is None:
            raise ConfigError(f"config.json: {name} is not given; set it to the piece that plays this part.")
        if not 0 <= piece < size:
            raise ConfigError(f"config.json: {name} = {piece} is outside the vocabulary of {size} (0 to {size - 1}).")
        return int(piece)


class LanguageConfig(Config):
    """A decoder by itself. Where no piece begins a text, the one that ends it does, as in GPT-2."""

    bos_token_id: Piece = None
    eos_token_id: Ends = None

    def vocabulary(self) -> Vocabulary:
        begin = "eos_token_id" if self.bos_token_id is None else "bos_token_id"
        size = self.vocab_size
        return Vocabulary(size, size, self.piece(begin, size), self.piece("eos_token_id", size))


@dataclass(frozen=True)
class Left:
    """A tensor of theirs that has no place with us, and what it must be for that to lose nothing."""

    theirs: str
    harmless: Callable[[Tensor], bool] = lambda tensor: True


@dataclass(frozen=True)
class Head:
    """What stands on a model where a file has parameters whose names begin like this, and Transformers' class of it."""

    prefix: str
    kind: str
    build: Callable[[Any, Any], nn.Module]
    # Whether other classes have parameters of these names, for another head: config.json has to name this one then.
    named: bool = False
    # Whether ours can be what config.json says of it.
    fits: Callable[[Any], bool] = lambda config: True

    def stands(self, config: Config, tensors: Mapping[str, Tensor]) -> bool:
        """Whether these are parameters of a model with this head."""
        told = not self.named or self.kind in (config.architectures or ())
        return told and self.fits(config) and any(name.startswith(self.prefix) for name in tensors)


@dataclass(frozen=True)
class Architecture:
    """One kind of model: its config, our class for it, and the names of its parameters on both sides."""

    config: type[Config]
    model: Callable[..., nn.Module]
    # What names begin with where there is a head above; a model without one leaves it out.
    prefix: str
    # Ours are names within the model, or after "head." within the head.
    rules: tuple[Rule, ...]
    left: tuple[Left, ...] = ()
    # Its name, stars and all, if one may be missing; it is zero then.
    zero: str | None = None
    heads: tuple[Head, ...] = ()

    def named(self, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """The tensors under the names they have today and below a head, whatever they were saved as."""
        prefix = "" if any(name.startswith(self.prefix) for name in tensors) else self.prefix
        named = {prefix + _renewed(name): tensor for name, tensor in tensors.items()}
        if len(named) < len(tensors):
            twice = next(name for name in tensors if name != _renewed(name) in tensors)
            raise ModelError(f"{twice!r} is the old name of {_renewed(twice)!r}, which is stored as well; keep one.")
        return named

    def rule(self, theirs: str) -> Rule | None:
        return next((rule for rule in self.rules if rule.into(theirs)), None)

    def places(self, theirs: str, ours: Mapping[str, Tensor]) -> list[str]:
        """Our names for one of theirs; none where the model has no such parameters."""
        rule = self.rule(theirs)
        found = [] if rule is None else rule.into(theirs)
        return found if ours.keys() >= set(found) else []

    def leaves(self, theirs: str) -> Left | None:
        return next((left for left in self.left if stars(left.theirs, theirs) is not None), None)

    def back(self, ours: str) -> list[str]:
        """Their names for one of ours."""
        return [name for rule in self.rules if (name := rule.back(ours)) is not None]


def _renewed(name: str) -> str:
    """Norms called their parameters otherwise in files older than Transformers."""
    before, _, last = name.rpartition(".")
    return f"{before}.{OLD[last]}" if last in OLD else name
