"""Models by name: the one place that knows them all."""

from collections.abc import Mapping
from typing import Any

from torch import nn

from regard.attention.pruning import prune
from regard.errors import ConfigError, unknown
from regard.models.convolutional import ConvolutionalSequence
from regard.models.encoders import ENCODERS
from regard.models.language import RecurrentLanguage, TransformerLanguage
from regard.models.protocols import Vocabulary
from regard.models.recurrent import RecurrentSequence
from regard.models.transformer import Transformer

MODELS: dict[str, Any] = {
    "transformer": Transformer,
    "recurrent": RecurrentSequence,
    "convolutional": ConvolutionalSequence,
    "transformer_language": TransformerLanguage,
    "recurrent_language": RecurrentLanguage,
}

# Where encoders stand in whole models.
ENCODER = "encoder."


def encoder(name: str, settings: Mapping[str, Any], vocabulary: int, beside: int = 0) -> nn.Module:
    """The text encoder of that name from plain settings; `beside`, if any, is what a task puts beside its pieces."""
    chosen = read_encoder(name, settings)
    if beside:
        embedding = chosen.embedding.model_copy(update={"beside": beside})
        chosen = chosen.model_copy(update={"embedding": embedding})
    kind: Any = ENCODERS[name]
    made: nn.Module = kind(chosen, vocabulary)
    prune(made, getattr(chosen, "kept", {}))
    return made


def read_encoder(name: str, settings: Mapping[str, Any]) -> Any:
    """The settings of the encoder of that name, checked before there is a vocabulary to build it for."""
    if name not in ENCODERS:
        raise ConfigError(unknown("encoder", name, ENCODERS))
    kind: Any = ENCODERS[name]
    return kind.Settings.read(settings, "encoder")


def encoder_options(name: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of its encoder alone, out of those of a whole model of that name.

    >>> encoder_options("recurrent", {"encoder": {"width": 8}, "embedding": {"width": 4}, "copying": True})
    {'width': 8, 'embedding': {'width': 4}}
    """
    if name not in ENCODERS:
        raise ConfigError(f"A model of the kind {name} has no encoder of its own.")
    known: Any = ENCODERS[name]
    apart = "encoder" in MODELS[name].Settings.model_fields
    options = settings.get("encoder", {}) if apart else settings
    own = {field: value for field, value in options.items() if field in known.Settings.model_fields}
    # One embedding and one list of heads serve the whole model.
    own |= {"embedding": settings["embedding"]} if "embedding" in settings else {}
    heads = {place: left for place, left in own.pop("kept", {}).items() if place.startswith(ENCODER)}
    return own | ({"kept": {place.removeprefix(ENCODER): left for place, left in heads.items()}} if heads else {})


def build(name: str, settings: Mapping[str, Any], vocabulary: Vocabulary) -> nn.Module:
    """The model of that name from plain settings, every mistake in them told."""
    chosen = read(name, settings)
    made: nn.Module = MODELS[name](chosen, vocabulary)
    prune(made, getattr(chosen, "kept", {}))
    return made


def read(name: str, settings: Mapping[str, Any]) -> Any:
    """The settings of the model of that name, checked before there is a vocabulary to build it for."""
    if name not in MODELS:
        raise ConfigError(unknown("model", name, MODELS))
    return MODELS[name].Settings.read(settings, "model")
