"""What Hugging Face's architectures cannot express of a model of ours: the setting, and why."""

from collections.abc import Iterator

from torch import nn

from regard.models import (
    Classifier,
    LanguageSettings,
    MaskedLanguage,
    StackSettings,
    Tagger,
    TransformerSettings,
)
from regard.models.transformer import placed_inside, placed_outside

EPSILON = {"layer": 1e-5, "rms": 1e-6}

Fault = tuple[str, str]


def common(settings: StackSettings, gated: bool = False) -> Iterator[Fault]:
    attention = settings.attention
    plain = {"score": ("scaled_dot", "dot"), "scope": ("global",), "normalizer": ("softmax",), "output": ("sum",)}
    for what, allowed in plain.items():
        part = getattr(attention, what)
        if part.name not in allowed or part.options:
            yield f"attention.{what} = {part}", "its attention is Vaswani et al.'s"
    if settings.feedforward.gated != gated:
        yield (
            f"feedforward.gated = {settings.feedforward.gated}",
            f"this architecture has {'a' if gated else 'no'} gate",
        )
    if settings.place == "deepnorm":
        yield "place = deepnorm", "its residuals are plain sums"
    if settings.norm.name not in ("layer", "rms"):
        yield f"norm = {settings.norm}", "it knows layer and rms"
    if settings.final_norm not in (None, settings.place == "pre"):
        yield f"final_norm = {settings.final_norm}", "it norms the end of pre-norm stacks only"
    if settings.kept:
        yield "pruned heads", "all its layers have the same number of heads"
    if settings.embedding.width not in (None, settings.width) or settings.embedding.beside or settings.embedding.fixed:
        yield "embedding.width, embedding.fixed or embedding.beside", "its vectors have the width of the model"
    if settings.position.name == "sinusoidal" and settings.position.options.get("base", 10000.0) != 10000.0:
        yield f"position = {settings.position}", "its sinusoids have base 10000"


def _plain_heads(settings: StackSettings) -> Iterator[Fault]:
    attention = settings.attention
    if attention.normed or attention.each not in (None, settings.width // attention.heads):
        told = f"attention.normed = {attention.normed} and attention.each = {attention.each}"
        yield told, "its heads share the width of the model, and nothing norms them"


def two_sided(settings: TransformerSettings) -> Iterator[Fault]:
    yield from _plain_heads(settings)
    if settings.attention.score.name != "scaled_dot" or settings.cross_attention is not None:
        yield "another score or cross_attention", "all its attentions are alike and scaled"
    if settings.attention.groups not in (None, settings.attention.heads):
        yield f"attention.groups = {settings.attention.groups}", "each of its heads has its own keys"
    if settings.cross != "last":
        yield f"cross = {settings.cross}", "its decoder reads the last encoder layer"
    if settings.copying:
        yield "copying", "it writes from its vocabulary only"
    if settings.norm.name != "layer" or epsilon(settings) != 1e-5 or settings.embedding.epsilon != 1e-5:
        yield f"norm = {settings.norm}", "its norms are layer norms with epsilon 1e-5"
    if settings.attention.position.name != "none":
        yield f"attention.position = {settings.attention.position}", "its positions are added to the embeddings"
    if settings.embedding.segments:
        yield f"embedding.segments = {settings.embedding.segments}", "it has no segments"


def one_sided(settings: LanguageSettings, name: str) -> Iterator[Fault]:
    if name == "gpt2":
        yield from _plain_heads(settings)
    if name == "qwen3" and settings.attention.epsilon != epsilon(settings):
        yield f"attention.epsilon = {settings.attention.epsilon}", "qwen3 has one epsilon for all norms"
    if name == "qwen3" and settings.feedforward.bias:
        yield "feedforward.bias = True", "qwen3 has none there"
    norm = "layer" if name == "gpt2" else "rms"
    if settings.place != "pre" or settings.norm.name != norm:
        yield f"place = {settings.place} and norm = {settings.norm}", f"{name} has {norm} norms, before"
    if settings.embedding.norm or settings.embedding.segments or settings.output_bias:
        yield "embedding.norm, embedding.segments or output_bias", f"{name} has none of them"
    if name == "gpt2" and settings.position.name not in ("learned", "sinusoidal"):
        yield f"position = {settings.position}", "gpt2 has a table of positions, llama rotary ones"
    if name == "gpt2" and settings.attention.groups not in (None, settings.attention.heads):
        yield f"attention.groups = {settings.attention.groups}", "each of gpt2's heads has its own keys"
    if name != "gpt2":
        yield from _rotary(settings, name)


def _rotary(settings: LanguageSettings, name: str) -> Iterator[Fault]:
    turned = placed_inside(settings).attention.position.options
    if turned.get("share", 1.0) != 1.0:
        yield "a share of each head turned", f"{name} turns all of it"
    if (turned.get("stretch") or {}).get("planes"):
        yield "a factor for each plane that is turned", f"{name} stretches its angles by a formula"
    if placed_outside(settings).name != "none":
        yield f"position = {settings.position}", f"{name} adds no positions to its embeddings"
    if settings.attention.score.name != "scaled_dot":
        yield f"attention.score = {settings.attention.score}", f"{name} scales its products"


def bert(settings: StackSettings, model: nn.Module) -> Iterator[Fault]:
    yield from _plain_heads(settings)
    if settings.place != "post" or settings.norm.name != "layer" or not settings.embedding.norm:
        told = f"place = {settings.place}, norm = {settings.norm} and embedding.norm = {settings.embedding.norm}"
        yield told, "BERT has layer norms, after each part and after its embeddings"
    if epsilon(settings) != settings.embedding.epsilon:
        yield f"embedding.epsilon = {settings.embedding.epsilon}", "BERT has one epsilon for all norms"
    if settings.position.name not in ("learned", "sinusoidal") or settings.attention.position.name != "none":
        yield f"position = {settings.position}", "BERT has a table of positions"
    if (
        settings.attention.groups not in (None, settings.attention.heads)
        or settings.attention.score.name != "scaled_dot"
    ):
        yield "attention.groups or attention.score", "BERT's heads have keys of their own and scale their products"
    if isinstance(model, MaskedLanguage) and (settings.embedding.scale or model.settings.epsilon != epsilon(settings)):
        yield (
            "embedding.scale or another head.epsilon",
            "BERT reads with the vectors it guesses by, and has one epsilon",
        )
    if isinstance(model, MaskedLanguage) and model.settings.activation != settings.feedforward.activation:
        yield f"head.activation = {model.settings.activation}", "BERT has one activation"
    if isinstance(model, Tagger) and (model.head.crf is not None or model.settings.beside):
        yield "a CRF, letters or looks", "BERT's tagger chooses each tag by itself, from pieces alone"
    if isinstance(model, Classifier):
        pooling = model.settings.pooling
        if (pooling.how, pooling.layer) != ("first", "tanh"):
            told = f"head.pooling.how = {pooling.how} and head.pooling.layer = {pooling.layer}"
            yield told, "BERT's classifier reads the first state (how = first) through a layer (layer = tanh)"


def epsilon(settings: StackSettings) -> float:
    return float(settings.norm.options.get("epsilon", EPSILON.get(settings.norm.name, 0.0)))
