"""Which of Hugging Face's architectures a model of ours is, and the config.json that says so; or why it is none."""

from dataclasses import dataclass
from typing import Any

from torch import nn

from regard.attention.positions import Stretch
from regard.convert.huggingface.architecture import ACTIVATIONS
from regard.convert.huggingface.fitting import bert, common, epsilon, one_sided, two_sided
from regard.errors import ConfigError
from regard.models import (
    Classifier,
    LanguageSettings,
    MaskedLanguage,
    SpanReader,
    Tagger,
    Transformer,
    TransformerEncoder,
    TransformerLanguage,
    TransformerSettings,
    Vocabulary,
)
from regard.models.embedder import Embedder
from regard.models.transformer import placed_inside

THEIRS = {ours: theirs for theirs, ours in reversed(ACTIVATIONS.items())}
# What norms stand where, where positions come from and whether embeddings are normed: the encoder-decoders there are.
SEQUENCES: dict[tuple[str, str, bool], str] = {
    ("post", "sinusoidal", False): "marian",
    ("post", "learned", True): "bart",
    ("post", "sinusoidal", True): "bart",
    ("pre", "learned", True): "mbart",
    ("pre", "sinusoidal", True): "mbart",
    ("pre", "sinusoidal", False): "pegasus",
    ("pre", "learned", False): "blenderbot",
}
CLASSES = {
    "marian": "MarianMTModel",
    "bart": "BartForConditionalGeneration",
    "mbart": "MBartForConditionalGeneration",
    "pegasus": "PegasusForConditionalGeneration",
    "blenderbot": "BlenderbotForConditionalGeneration",
    "gpt2": "GPT2LMHeadModel",
    "llama": "LlamaForCausalLM",
    "qwen3": "Qwen3ForCausalLM",
}
READERS: dict[type[nn.Module], str] = {
    MaskedLanguage: "BertForMaskedLM",
    Classifier: "BertForSequenceClassification",
    Tagger: "BertForTokenClassification",
    SpanReader: "BertForQuestionAnswering",
    Embedder: "BertModel",
}


@dataclass(frozen=True)
class Choice:
    """An architecture, Transformers' class for it, its config.json, and how our parameters have to be turned."""

    architecture: str
    kind: str
    config: dict[str, Any]
    # Sinusoids of ours alternate, Hugging Face's stand in halves: the width is put into that order.
    halves: bool = False
    # Rotary planes of ours are neighbours, Llama's stand in halves: queries and keys are put into that order.
    turned: bool = False
    # Sinusoids become the table of positions that this architecture has; so many are written down.
    table: int = 0
    # Vectors are multiplied by this, where the architecture itself does not.
    factor: float = 1.0


@dataclass(frozen=True)
class Known:
    """What a config.json tells beside the network: the special pieces, how many positions there are to be, and what
    the classes of a head are called."""

    padding: int
    begin: int
    end: int
    positions: int
    labels: tuple[str, ...] = ()


def choice(model: nn.Module, known: Known) -> Choice:
    """The architecture for a model; a ConfigError that says in one sentence why there is none."""
    if isinstance(model, Transformer):
        return _sequence(model.settings, model.vocabulary, known)
    if isinstance(model, TransformerLanguage):
        return _language(model.settings, model.vocabulary, known)
    reader = getattr(model, "encoder", None)
    if isinstance(reader, TransformerEncoder):
        return _encoder(model, reader, known)
    read = "" if reader is None else f" on a {type(reader).__name__}"
    raise _refused(f"a {type(model).__name__}{read}", "its classes are Transformers: encoder, decoder or both")


def _sequence(settings: TransformerSettings, vocabulary: Vocabulary, known: Known) -> Choice:
    for setting, why in (*common(settings), *two_sided(settings)):
        raise _refused(setting, why)
    name = SEQUENCES.get((settings.place, settings.position.name, settings.embedding.norm))
    if name is None:
        placed = (
            f"place = {settings.place}, position = {settings.position} and embedding.norm = {settings.embedding.norm}"
        )
        raise _refused(placed, "none of Marian, BART, mBART, Pegasus and Blenderbot is made like this")
    halves = name in ("marian", "pegasus") and settings.position.options.get("layout", "pairs") == "pairs"
    table = known.positions if name in ("bart", "mbart") and settings.position.name == "sinusoidal" else 0
    config = {**_shape(settings, known, table), **_vocabulary(name, settings, vocabulary), **_pieces(known)}
    return Choice(name, CLASSES[name], _named(name, CLASSES[name], config), halves=halves, table=table)


def _shape(settings: TransformerSettings, known: Known, table: int) -> dict[str, Any]:
    sides = ("encoder", "decoder")
    length = settings.position.options.get("length", 512) if settings.position.name == "learned" else known.positions
    return {
        "d_model": settings.width,
        "encoder_layers": settings.layers,
        "decoder_layers": settings.decoder_layers or settings.layers,
        **{f"{side}_attention_heads": settings.attention.heads for side in sides},
        **{f"{side}_ffn_dim": settings.feedforward.hidden for side in sides},
        "activation_function": THEIRS[settings.feedforward.activation],
        "dropout": settings.dropout,
        "attention_dropout": settings.attention.dropout,
        "activation_dropout": settings.feedforward.dropout,
        "max_position_embeddings": table or length,
        "scale_embedding": settings.embedding.scale,
        "is_encoder_decoder": True,
    }


def _vocabulary(name: str, settings: TransformerSettings, vocabulary: Vocabulary) -> dict[str, Any]:
    source, target, tied = vocabulary.source, vocabulary.target, settings.tied
    if name == "marian":
        return {
            "vocab_size": source,
            "decoder_vocab_size": target,
            "share_encoder_decoder_embeddings": tied == "all",
            "tie_word_embeddings": tied != "none",
        }
    if source != target:
        raise _refused(f"{source} source and {target} target pieces", f"{name} has one number of pieces for both sides")
    if tied != "all" and name in ("bart", "mbart"):
        raise _refused(f"tied = {tied}", f"{name} shares its vectors between source, target and output")
    return {"vocab_size": source, "tie_word_embeddings": tied == "all"}


def _pieces(known: Known) -> dict[str, Any]:
    """The special pieces; nothing is forced that we do not force."""
    return {
        "pad_token_id": known.padding,
        "bos_token_id": known.begin,
        "eos_token_id": known.end,
        "decoder_start_token_id": known.begin,
        "forced_eos_token_id": None,
        "encoder_no_repeat_ngram_size": 0,
    }


def _language(settings: LanguageSettings, vocabulary: Vocabulary, known: Known) -> Choice:
    inside = placed_inside(settings).attention.position
    name = ("qwen3" if settings.attention.normed else "llama") if inside.name == "rotary" else "gpt2"
    for setting, why in (*common(settings, gated=name != "gpt2"), *one_sided(settings, name)):
        raise _refused(setting, why)
    scaled = settings.width**0.5 if settings.embedding.scale else 1.0
    shared = {
        "vocab_size": vocabulary.target,
        "bos_token_id": known.begin,
        "eos_token_id": known.end,
        "pad_token_id": known.padding,
        "tie_word_embeddings": settings.tied and scaled == 1.0,
    }
    if name != "gpt2":
        turned = inside.options.get("layout", "pairs") == "pairs"
        config = {**_llama(settings, inside.options, known), **shared}
        return Choice(name, CLASSES[name], _named(name, CLASSES[name], config), turned=turned, factor=scaled)
    learned = settings.position.name == "learned"
    length = settings.position.options.get("length", 512) if learned else known.positions
    config = {**_gpt2(settings, length), **shared}
    return Choice(
        name, CLASSES[name], _named(name, CLASSES[name], config), table=0 if learned else length, factor=scaled
    )


def _gpt2(settings: LanguageSettings, length: int) -> dict[str, Any]:
    return {
        "n_embd": settings.width,
        "n_layer": settings.layers,
        "n_head": settings.attention.heads,
        "n_inner": settings.feedforward.hidden,
        "n_positions": length,
        "activation_function": THEIRS[settings.feedforward.activation],
        "resid_pdrop": settings.dropout,
        "embd_pdrop": settings.embedding.dropout,
        "attn_pdrop": settings.attention.dropout,
        "layer_norm_epsilon": epsilon(settings),
        "scale_attn_weights": settings.attention.score.name == "scaled_dot",
    }


def _llama(settings: LanguageSettings, rotary: dict[str, Any], known: Known) -> dict[str, Any]:
    return {
        "hidden_size": settings.width,
        "intermediate_size": settings.feedforward.hidden,
        "num_hidden_layers": settings.layers,
        "num_attention_heads": settings.attention.heads,
        "num_key_value_heads": settings.attention.groups or settings.attention.heads,
        "head_dim": settings.attention.each or settings.width // settings.attention.heads,
        "hidden_act": THEIRS[settings.feedforward.activation],
        "max_position_embeddings": known.positions,
        "rms_norm_eps": epsilon(settings),
        "attention_bias": settings.attention.bias,
        "mlp_bias": settings.feedforward.bias,
        "attention_dropout": settings.attention.dropout,
        "rope_parameters": {**_stretched(rotary.get("stretch")), "rope_theta": float(rotary.get("base", 10000.0))},
    }


def _stretched(told: dict[str, Any] | None) -> dict[str, Any]:
    """How Llama calls what makes rotary positions slower."""
    if not told:
        return {"rope_type": "default"}
    stretch = Stretch.read(told)
    if not stretch.length:
        return {"rope_type": "linear", "factor": stretch.factor}
    return {
        "rope_type": "llama3",
        "factor": stretch.factor,
        "low_freq_factor": stretch.slow,
        "high_freq_factor": stretch.fast,
        "original_max_position_embeddings": stretch.length,
    }


def _encoder(model: nn.Module, reader: TransformerEncoder, known: Known) -> Choice:
    settings = reader.settings
    for setting, why in (*common(settings), *bert(settings, model)):
        raise _refused(setting, why)
    kind = _head(model)
    learned = settings.position.name == "learned"
    length = settings.position.options.get("length", 512) if learned else known.positions
    config: dict[str, Any] = {
        "vocab_size": reader.embedding.vocabulary,
        "hidden_size": settings.width,
        "num_hidden_layers": settings.layers,
        "num_attention_heads": settings.attention.heads,
        "intermediate_size": settings.feedforward.hidden,
        "hidden_act": THEIRS[settings.feedforward.activation],
        "hidden_dropout_prob": settings.dropout,
        "attention_probs_dropout_prob": settings.attention.dropout,
        "max_position_embeddings": length,
        # Two kinds even where there are none of ours: tokenizers tell the second of two texts from the first.
        "type_vocab_size": settings.embedding.segments or 2,
        "layer_norm_eps": epsilon(settings),
        "pad_token_id": known.padding,
    }
    if isinstance(model, Tagger | Classifier):
        labels = known.labels or tuple(f"LABEL_{number}" for number in range(model.head.classify.out_features))
        config["id2label"] = {str(number): label for number, label in enumerate(labels)}
        config["label2id"] = {label: number for number, label in enumerate(labels)}
        config["classifier_dropout"] = model.settings.dropout
    if isinstance(model, Classifier):
        config["problem_type"] = f"{'multi' if model.settings.several else 'single'}_label_classification"
    factor = settings.width**0.5 if settings.embedding.scale else 1.0
    return Choice("bert", kind, _named("bert", kind, config), table=0 if learned else length, factor=factor)


def _head(model: nn.Module) -> str:
    """Transformers' class with that head."""
    found = next((kind for ours, kind in READERS.items() if isinstance(model, ours)), None)
    if found is None:
        raise _refused(f"a {type(model).__name__}", f"it has {', '.join(READERS.values())}")
    return found


def _named(name: str, kind: str, config: dict[str, Any]) -> dict[str, Any]:
    return {"model_type": name, "architectures": [kind], "dtype": "float32", **config}


def _refused(what: str, why: str) -> ConfigError:
    return ConfigError(f"Hugging Face has no stock class for {what}: {why}. `--to onnx` tells whether ONNX has one.")
