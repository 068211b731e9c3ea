"""Our models as CTranslate2's, through its specs: Transformers of every kind, without the heads of tasks."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from torch import nn

from regard.config import Part
from regard.convert.ctranslate2.fitting import check, check_rounded, epsilon
from regard.convert.ctranslate2.layers import fill_embedding, fill_output, fill_stack
from regard.convert.ctranslate2.library import library
from regard.errors import ConfigError
from regard.models import StackSettings, Transformer, TransformerEncoder, TransformerLanguage
from regard.models.transformer import placed_inside

Kind = Literal["translator", "generator", "encoder"]
ACTIVATIONS = {"relu": "RELU", "gelu": "GELU", "gelu_tanh": "GELUTanh", "silu": "SWISH"}


@dataclass(frozen=True)
class Pieces:
    """The names of all pieces by number, and of those with a part to play."""

    source: Sequence[str]
    target: Sequence[str]
    begin: int
    end: int
    unknown: int

    @classmethod
    def of(cls, source: Sequence[str], target: Sequence[str], begin: int, end: int, unknown: int) -> "Pieces":
        return cls(unlike(source), unlike(target), begin, end, unknown)


def unlike(pieces: Sequence[str]) -> list[str]:
    """The pieces, where one has no name or that of another with its number: CTranslate2 tells them apart by names.

    >>> unlike(["a", "", "a"])
    ['a', '<unused 1>', '<unused 2>']
    """
    seen: set[str] = set()
    found = []
    for number, piece in enumerate(pieces):
        found.append(f"<unused {number}>" if not piece or piece in seen else piece)
        seen.add(piece)
    return found


def kind(model: nn.Module) -> Kind:
    """What CTranslate2 calls such a model; a ConfigError for one it has no layers for."""
    if isinstance(model, Transformer):
        return "translator"
    if isinstance(model, TransformerLanguage):
        return "generator"
    if isinstance(getattr(model, "encoder", model), TransformerEncoder):
        return "encoder"
    reader = getattr(model, "encoder", None)
    read = "" if reader is None else f" on a {type(reader).__name__}"
    raise ConfigError(
        f"CTranslate2 runs Transformers only, and this model is a {type(model).__name__}{read}; "
        "use the engine torch or onnx."
    )


def write(model: Any, pieces: Pieces, folder: Path, quantize: str | None = None) -> Kind:
    """The model in CTranslate2's own form, in a folder that is there; what it is."""
    what = kind(model)
    settings = model.encoder.settings if what == "encoder" and hasattr(model, "encoder") else model.settings
    check(settings)
    check_rounded(settings, quantize)
    spec = SPECS[what](model, pieces)
    spec.validate()
    spec.optimize(quantization=quantize)
    spec.save(str(folder))
    return what


def _translator(model: Transformer, pieces: Pieces) -> Any:
    specs, settings = library().specs, model.settings
    encoder = specs.TransformerEncoderSpec(settings.layers, settings.attention.heads, **_options(settings, False))
    layers = settings.decoder_layers or settings.layers
    decoder = specs.TransformerDecoderSpec(layers, settings.attention.heads, **_options(settings, True))
    spec = specs.TransformerSpec(encoder, decoder)
    _fill_encoder(encoder, model.encoder)
    _fill_decoder(decoder, model)
    spec.register_source_vocabulary(list(pieces.source))
    spec.register_target_vocabulary(list(pieces.target))
    _named(spec.config, pieces, settings)
    spec.config.decoder_start_token = pieces.target[pieces.begin]
    return spec


def _generator(model: TransformerLanguage, pieces: Pieces) -> Any:
    specs, settings = library().specs, model.settings
    options = _options(settings, True) | {"with_encoder_attention": False}
    decoder = specs.TransformerDecoderSpec(settings.layers, settings.attention.heads, **options)
    spec = specs.TransformerDecoderModelSpec(decoder)
    _fill_decoder(decoder, model)
    spec.register_vocabulary(list(pieces.target))
    _named(spec.config, pieces, settings)
    return spec


def _encoder(model: Any, pieces: Pieces) -> Any:
    reader: TransformerEncoder = getattr(model, "encoder", model)
    specs, settings = library().specs, reader.settings
    options = _options(settings, False)
    if settings.embedding.segments:
        options |= {"num_source_embeddings": 2, "embeddings_merge": specs.EmbeddingsMerge.ADD}
    encoder = specs.TransformerEncoderSpec(settings.layers, settings.attention.heads, **options)
    spec = specs.TransformerEncoderModelSpec(encoder)
    _fill_encoder(encoder, reader)
    spec.register_vocabulary(list(pieces.source))
    _named(spec.config, pieces, settings)
    return spec


def _fill_encoder(spec: Any, encoder: TransformerEncoder) -> None:
    fill_embedding(spec, encoder.embedding)
    fill_stack(spec, encoder.stack, encoder.embedding)


def _fill_decoder(spec: Any, model: Any) -> None:
    fill_embedding(spec, model.embedding)
    fill_stack(spec, model.decoder, model.embedding)
    fill_output(spec.projection, model.output.readout)


def _named(config: Any, pieces: Pieces, settings: StackSettings) -> None:
    """Which pieces begin, end and stand for the unknown; nothing is added to a source that we have framed already."""
    config.bos_token, config.eos_token = pieces.target[pieces.begin], pieces.target[pieces.end]
    config.unk_token = pieces.target[pieces.unknown]
    config.layer_norm_epsilon = epsilon(settings.norm)


def _options(settings: StackSettings, decoder: bool) -> dict[str, Any]:
    position = placed_inside(settings).attention.position
    options = {
        "pre_norm": settings.place == "pre",
        "activation": getattr(library().specs.Activation, ACTIVATIONS[settings.feedforward.activation]),
        "layernorm_embedding": settings.embedding.norm,
        "ffn_glu": settings.feedforward.gated,
        "rms_norm": settings.norm.name == "rms",
        "relative_position": position.name == "relative",
        # Its encoders know no ALiBi; but its line is a table of distances as well.
        "relative_attention_bias": position.name == "bucketed" or (position.name == "alibi" and not decoder),
        "num_heads_kv": settings.attention.groups,
        "head_dim": settings.attention.each,
        "qk_norm": settings.attention.normed,
    }
    options |= {"alibi": position.name == "alibi"} if decoder else {}
    return options | (_rotary(position, settings) if position.name == "rotary" else {})


def _rotary(position: Part, settings: StackSettings) -> dict[str, Any]:
    each = settings.attention.each or settings.width // settings.attention.heads
    return {
        "rotary_dim": int(each * position.options.get("share", 1.0)),
        "rotary_interleave": position.options.get("layout", "pairs") == "pairs",
        "rotary_base": position.options.get("base", 10000.0),
        "rotary_scaling_type": _scaling().Su if position.options.get("stretch") else None,
    }


def _scaling() -> Any:
    """What rotary positions are stretched by; "Su" gives each plane its own factor."""
    return library().specs.attention_spec.RotaryScalingType


SPECS: dict[Kind, Callable[[Any, Pieces], Any]] = {
    "translator": _translator,
    "generator": _generator,
    "encoder": _encoder,
}
