"""What CTranslate2 cannot express, each told in one sentence before anything is written."""

from collections.abc import Iterator

from regard.attention import HeadsSettings
from regard.config import Part
from regard.convert.ctranslate2.positions import HALVES
from regard.convert.onnx import expresses
from regard.errors import ConfigError
from regard.models import LanguageSettings, StackSettings, TransformerSettings
from regard.models.transformer import placed_inside, placed_outside

# Part, the names it may have, and what CTranslate2 has instead.
PLAIN: tuple[tuple[str, tuple[str, ...], str], ...] = (
    ("score", ("scaled_dot", "dot"), "its attention is a product of queries and keys"),
    ("scope", ("global",), "its attention sees everything; its windows bound what is kept, not what is seen"),
    ("normalizer", ("softmax",), "its attention is a softmax"),
    ("output", ("sum",), "its attention gives the weighted sum"),
)
POSITIONS = ("none", "learned", "one_hot", "sinusoidal", "rotary", "relative", "alibi", "bucketed")


def check(settings: StackSettings) -> None:
    """A ConfigError that names the first setting CTranslate2 has no word for."""
    for setting, why in (*_stack(settings), *_decoder(settings)):
        others = "torch or onnx" if expresses(settings) else "torch"
        raise ConfigError(f"CTranslate2 cannot run a model with {setting}: {why}. Use the engine {others}.")


def check_rounded(settings: StackSettings, quantize: str | None) -> None:
    """A ConfigError for numbers so short that positions are others by them."""
    if quantize in HALVES and placed_inside(settings).attention.position.options.get("stretch"):
        raise ConfigError(
            f"quantize = {quantize} and stretched rotary positions: how much slower each plane turns would be "
            "rounded too. Use quantize = int8, or none."
        )


def _stack(settings: StackSettings) -> Iterator[tuple[str, str]]:
    yield from _attention("attention", settings.attention, settings.norm)
    if settings.position.name not in POSITIONS or settings.attention.position.name not in (
        *POSITIONS[:1],
        *POSITIONS[4:],
    ):
        both = f"position = {settings.position} and attention.position = {settings.attention.position}"
        yield both, f"it knows {', '.join(POSITIONS)}"
    elif placed_outside(settings).name != "none" and settings.attention.position.name != "none":
        both = f"position = {settings.position} and attention.position = {settings.attention.position}"
        yield both, "its positions are either added to the embeddings or inside attention"
    elif placed_inside(settings).attention.position.name == "relative" and settings.attention.score.name == "dot":
        yield "attention.score = dot and relative positions", "it scales what these add as it scales its products"
    if settings.place == "deepnorm":
        yield "place = deepnorm", "its residuals are plain sums"
    if settings.norm.name not in ("layer", "rms"):
        yield f"norm = {settings.norm}", "it knows layer and rms"
    if settings.final_norm not in (None, settings.place == "pre"):
        yield (
            f"final_norm = {settings.final_norm} and place = {settings.place}",
            "it norms the end of pre-norm stacks only",
        )
    if settings.kept:
        yield "pruned heads", "all its layers have the same number of heads"
    yield from _embedding(settings)


def _embedding(settings: StackSettings) -> Iterator[tuple[str, str]]:
    embedding = settings.embedding
    if embedding.beside:
        yield f"embedding.beside = {embedding.beside}", "it knows nothing of a piece but its number"
    if embedding.fixed:
        yield f"embedding.fixed = {embedding.fixed}", "its pieces have one vector each"
    if embedding.norm and settings.norm.name != "layer":
        yield f"embedding.norm and norm = {settings.norm}", "it has one kind of norm"
    if embedding.norm and embedding.epsilon != epsilon(settings.norm):
        yield f"embedding.epsilon = {embedding.epsilon} and norm = {settings.norm}", "it has one epsilon for all norms"


def _decoder(settings: StackSettings) -> Iterator[tuple[str, str]]:
    if isinstance(settings, LanguageSettings) and settings.embedding.segments:
        yield f"embedding.segments = {settings.embedding.segments}", "its decoders have no segments"
    if isinstance(settings, LanguageSettings) and placed_inside(settings).attention.position.name == "bucketed":
        # CTranslate2 4.8: the offset of a query is that of the last one, whichever it is.
        yield "bucketed positions", "its decoders take every piece of a prompt to be the last one"
    if not isinstance(settings, TransformerSettings):
        return
    if settings.embedding.segments:
        yield f"embedding.segments = {settings.embedding.segments}", "its encoder-decoders have no segments"
    if settings.attention.normed:
        # Built as its specs have it, its decoders wrote other pieces than ours (CTranslate2 4.8).
        yield "attention.normed = True", "it norms heads otherwise where a decoder reads a source"
    if settings.cross != "last":
        yield f"cross = {settings.cross}", "its decoder reads the last encoder layer"
    if settings.copying:
        yield "copying", "it writes from its vocabulary only"
    if settings.cross_attention is not None:
        yield from _attention("cross_attention", settings.cross_attention, settings.norm)
        here, there = (
            (one.heads, one.groups, one.each, one.normed) for one in (settings.attention, settings.cross_attention)
        )
        if here != there:
            yield "other heads in cross_attention", "it has one number and one kind of heads"
        if settings.cross_attention.position.name != "none":
            yield f"cross_attention.position = {settings.cross_attention.position}", "it has no positions there"


def _attention(name: str, settings: HeadsSettings, norm: Part) -> Iterator[tuple[str, str]]:
    for what, known, why in PLAIN:
        part: Part = getattr(settings, what)
        if part.name not in known or part.options:
            yield f"{name}.{what} = {part}", why
    if settings.position.name == "relative" and (settings.groups or settings.heads) != settings.heads:
        yield f"{name}.groups = {settings.groups}", "with relative positions each head has its own keys"
    if settings.normed and settings.epsilon != epsilon(norm):
        yield f"{name}.epsilon = {settings.epsilon} and norm = {norm}", "it has one epsilon for all norms"


def epsilon(norm: Part) -> float:
    """What keeps a norm from dividing by zero."""
    default = {"layer": 1e-5, "rms": 1e-6}[norm.name]
    return float(norm.options.get("epsilon", default))
