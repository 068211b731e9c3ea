"""Every model of MODELS in every way it can be set up, and one way to ask them all.

A new model fails `test_every_model_has_cases` until it has a table here; a new score, scope, normalizer, position or
norm is picked up by the tables that are written over their dicts.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from regard.attention import NORMALIZERS, POSITIONS, SCORES
from regard.models import Decoded, Vocabulary, build
from regard.nn import IGNORE, NORMS, Loss

BATCH, SOURCE, TARGET = 3, 5, 4
PIECES = 20
JOINT = Vocabulary(PIECES, PIECES)
APART = Vocabulary(PIECES, PIECES - 3)
SPECIAL = 3
"""Pieces below this are padding, begin and end; texts are drawn from the others."""


@dataclass(frozen=True)
class Case:
    """One model by name and settings."""

    model: str
    name: str
    settings: Mapping[str, Any]
    vocabulary: Vocabulary = JOINT

    def __str__(self) -> str:
        return f"{self.model}: {self.name}"

    @property
    def reads(self) -> bool:
        """Whether it reads a source; what does not goes on from a prompt."""
        return "language" not in self.model

    def build(self, seed: int = 0) -> nn.Module:
        """The model with every parameter moved off its start, so that none is zero and none like another."""
        torch.manual_seed(seed)
        model = build(self.model, self.settings, self.vocabulary).eval()
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.add_(0.1 * torch.randn_like(parameter))
        return model


class Batch(NamedTuple):
    """Sources (or prompts), which of their pieces are real, and what is written after them.

    The first target piece is the one a generator takes its first step with: `begin`, or the last piece of the prompt.
    """

    source: Tensor
    real: Tensor
    target: Tensor

    def rows(self, rows: list[int] | Tensor) -> "Batch":
        return Batch(self.source[rows], self.real[rows], self.target[rows])

    def alone(self, row: int) -> "Batch":
        """One row without its padding."""
        length = int(self.real[row].sum())
        one = self.rows([row])
        return Batch(one.source[:, :length], one.real[:, :length], one.target)


def batch(case: Case, lengths: tuple[int, ...] = (SOURCE, 2, 3), target: int = TARGET, seed: int = 1) -> Batch:
    random = torch.Generator().manual_seed(seed)
    source = torch.randint(SPECIAL, case.vocabulary.source, (len(lengths), max(lengths)), generator=random)
    written = torch.randint(SPECIAL, case.vocabulary.target, (len(lengths), target), generator=random)
    real = torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]
    if not case.reads:
        source %= case.vocabulary.target
    return begun(case, Batch(source, real, written))


def begun(case: Case, given: Batch) -> Batch:
    """The batch with the right first piece in every target."""
    target = given.target.clone()
    target[:, 0] = case.vocabulary.begin
    if not case.reads:
        last = (given.real.sum(1) - 1).clamp(min=0)
        ends = given.source.gather(1, last[:, None])[:, 0]
        target[:, 0] = torch.where(given.real.any(1), ends, case.vocabulary.begin)
    return given._replace(target=target)


class Texts(NamedTuple):
    """Prompts with what is written after them as single texts, and where the written part stands."""

    pieces: Tensor
    real: Tensor
    written: Tensor


def texts(given: Batch) -> Texts:
    lengths = (given.real.sum(1) - 1).clamp(min=0)
    written = lengths[:, None] + torch.arange(given.target.shape[1])
    size = int(written.max()) + 1
    pieces = torch.zeros(len(lengths), size, dtype=torch.long)
    prompt = min(given.source.shape[1], size)
    pieces[:, :prompt] = given.source[:, :prompt]
    pieces.scatter_(1, written, given.target)
    return Texts(pieces, torch.arange(size) <= written[:, -1:], written)


def decoded(case: Case, model: nn.Module, given: Batch) -> Decoded:
    """What the model knows of every next piece, all at once."""
    if case.reads:
        return model(given.source, given.target, given.real)
    joined = texts(given)
    return model(joined.pieces, joined.real)


def whole(case: Case, model: nn.Module, given: Batch) -> Tensor:
    """Log-probabilities of what follows each piece of the target, in one pass: batch x target x vocabulary."""
    found = model.output.log_probabilities(decoded(case, model, given))
    if case.reads:
        return found
    written = texts(given).written
    return found.gather(1, written[..., None].expand(-1, -1, found.shape[-1]))


def stepwise(model: nn.Module, given: Batch) -> Tensor:
    """The same, one step at a time."""
    first, steps = model.start(given.source, given.real), []
    state = first.state
    assert torch.equal(first.first, given.target[:, 0])
    for pieces in given.target.unbind(1):
        found, state = model.step(pieces, state)
        steps.append(found)
    return torch.stack(steps, dim=1)


def wanted(case: Case, given: Batch) -> Tensor:
    """What should follow each position: the next piece of the target, then `end`; nothing anywhere else."""
    after = torch.cat([given.target[:, 1:], torch.full_like(given.target[:, :1], case.vocabulary.end)], dim=1)
    if case.reads:
        return after
    joined = texts(given)
    return torch.full_like(joined.pieces, IGNORE).scatter(1, joined.written, after)


def loss(case: Case, model: nn.Module, given: Batch, smoothing: float = 0.1) -> Loss:
    return model.output.loss(decoded(case, model, given), wanted(case, given), smoothing)


def read_embedding(case: Case) -> str:
    """The tap of the embedding through which the source, or the prompt, is read."""
    return "encoder.embedding.embedded" if case.reads else "embedding.embedded"


STACK = {"width": 16, "layers": 2, "attention": {"heads": 4}, "feedforward": {"hidden": 24}}
LLAMA = {
    "position": {"name": "rotary", "layout": "halves"},
    "norm": "rms",
    "place": "pre",
    "attention": {"heads": 4, "groups": 2, "bias": False},
    "feedforward": {"hidden": 24, "gated": True, "activation": "silu", "bias": False},
    "embedding": {"scale": False},
    "tied": False,
}
GPT2 = {
    "position": "learned",
    "place": "pre",
    "feedforward": {"hidden": 24, "activation": "gelu_tanh"},
    "embedding": {"scale": False},
    "initial": "small_normal",
}
READ, WRITE = {"width": 16, "layers": 1}, {"width": 16, "layers": 1}
ATTEND = {
    "before": {"attend": "before"},
    "after": {"attend": "after"},
    "feeding": {"attend": "after", "feeding": True},
}
SMALL_SCOPES = {
    "window": {"name": "window", "before": 1, "after": 2},
    "local_m": {"name": "local_m", "radius": 2},
    "local_p": {"name": "local_p", "radius": 2},
    "monotonic": {"name": "monotonic", "offset": 0.0},
}


def cross(**attention: Any) -> dict[str, Any]:
    return {"cross_attention": {"heads": 4, **attention}}


def transformers() -> Iterator[tuple[str, dict[str, Any]]]:
    for position in POSITIONS:
        yield f"position {position}", {"position": position}
    for position in ("sinusoidal", "learned", "rotary", "relative", "bucketed", "alibi"):
        yield f"joint, {position}", {"cross": "joint", "position": position}
    yield "joint, window", {"cross": "joint", "attention": {"heads": 4, "scope": SMALL_SCOPES["window"]}}
    yield "joint, groups, pre", {"cross": "joint", "place": "pre", "attention": {"heads": 4, "groups": 2}}
    yield "layerwise", {"cross": "layerwise"}
    yield "layerwise, pre", {"cross": "layerwise", "place": "pre"}
    for norm in NORMS:
        yield f"post, {norm}", {"norm": norm}
        yield f"pre, {norm}", {"norm": norm, "place": "pre"}
    yield "deepnorm", {"place": "deepnorm", "initial": "deepnorm"}
    yield "post and a final norm", {"final_norm": True}
    yield "grouped queries", {"attention": {"heads": 4, "groups": 2}}
    yield "multi-query", {"attention": {"heads": 4, "groups": 1}}
    yield "wide heads", {"attention": {"heads": 3, "each": 6}}
    yield "normed heads", {"attention": {"heads": 4, "groups": 2, "normed": True}, "position": "rotary"}
    yield "normed heads, joint", {"attention": {"heads": 4, "each": 6, "normed": True}, "cross": "joint"}
    yield "one decoder layer", {"decoder_layers": 1}
    yield "gated", {"feedforward": {"hidden": 24, "gated": True, "activation": "silu"}}
    yield "copying", {"copying": True}
    yield "copying, joint, pre", {"copying": True, "cross": "joint", "place": "pre"}
    for tied in ("all", "output", "none"):
        yield f"narrow embeddings, tied {tied}", {"embedding": {"width": 8}, "tied": tied}
    yield "embeddings with norm", {"embedding": {"norm": True, "scale": False}, "output_bias": True}
    for score in ("additive", "location_aware", "coverage", "mixed"):
        yield f"cross {score}", cross(score=score)
    for name, scope in SMALL_SCOPES.items():
        yield f"cross {name}", cross(scope=scope)
    for normalizer in NORMALIZERS:
        yield f"cross {normalizer}", cross(normalizer=normalizer)
    yield "self cosine", {"attention": {"heads": 4, "score": "cosine"}}
    yield "self additive", {"attention": {"heads": 4, "score": "additive"}}
    yield "self window", {"attention": {"heads": 4, "scope": SMALL_SCOPES["window"]}}
    yield "self learned temperature", {"attention": {"heads": 4, "normalizer": {"name": "softmax", "learned": True}}}
    yield "dropped weights", {"attention": {"heads": 4, "dropout": 0.3}}
    yield "chunked kernel", {"attention": {"heads": 4, "kernel": "chunked"}}


def recurrents() -> Iterator[tuple[str, dict[str, Any]]]:
    yield "no attention", {"attention": None}
    yield "no attention, gru, two layers", {"attention": None, "decoder": {"cell": "gru", "width": 16, "layers": 2}}
    for score in SCORES:
        for when, attend in ATTEND.items():
            yield f"{score} {when}", {"attention": {"score": score}, **attend}
    for name, scope in SMALL_SCOPES.items():
        for when in ("before", "after"):
            yield f"{name} {when}", {"attention": {"scope": scope}, **ATTEND[when]}
    for normalizer in NORMALIZERS:
        yield f"{normalizer}", {"attention": {"normalizer": normalizer}, "attend": "after"}
    yield "learned temperature", {"attention": {"normalizer": {"name": "softmax", "learned": True}}, "attend": "after"}
    for output in ("attentional", "scored"):
        yield f"output {output}", {"attention": {"output": output}, "attend": "after"}
        yield f"output {output} fed", {"attention": {"output": output}, **ATTEND["feeding"]}
    yield "dropped weights", {"attention": {"dropout": 0.3}, "attend": "after"}
    yield "keys are cells", {"attention": {"score": "dot"}, "keys": "cells"}
    yield "keys are cells, one way, two layers", {"keys": "cells", "encoder": {**READ, "both_ways": False, "layers": 2}}
    yield "own past", {"own_past": {"score": "additive"}}
    yield "own past at once", {"own_past": {"score": "dot"}, "attend": "after"}
    yield "own past without attention", {"own_past": {"score": "dot", "position": "alibi"}, "attention": None}
    yield "gru", {"encoder": {**READ, "cell": "gru"}, "decoder": {**WRITE, "cell": "gru"}}
    yield "gru reads, lstm writes", {"encoder": {**READ, "cell": "gru"}, "attend": "after"}
    yield "one way", {"encoder": {**READ, "both_ways": False}}
    yield "two layers", {"encoder": {**READ, "layers": 2}, "decoder": {**WRITE, "layers": 2}}
    yield "two layers at once", {"encoder": {**READ, "layers": 2}, "decoder": {**WRITE, "layers": 2}, "attend": "after"}
    yield "different widths", {"decoder": {"width": 12}, "attention": {"score": "general"}, "attend": "after"}
    yield "self-attention before and after", {"encoder": {**READ, "before": {"heads": 2}, "after": {"heads": 2}}}
    yield "positions in attention", {"attention": {"position": "relative"}, "attend": "after"}
    for when, attend in ATTEND.items():
        yield f"copying {when}", {"copying": True, **attend}
    yield "copying, coverage", {"copying": True, "attention": {"score": "coverage"}}
    yield "copying, monotonic", {"copying": True, "attention": {"scope": SMALL_SCOPES["monotonic"]}}
    for tied in ("all", "output"):
        yield f"tied {tied}", {"tied": tied}
        yield f"narrow embeddings, tied {tied}", {"tied": tied, "embedding": {"width": 8, "scale": False}}


def convolutionals() -> Iterator[tuple[str, dict[str, Any]]]:
    yield "plain", {}
    for kernel in (1, 5):
        yield f"kernel {kernel}", {"kernel": kernel}
    yield "one decoder layer", {"decoder_layers": 1}
    for position in ("none", "one_hot", "sinusoidal"):
        yield f"position {position}", {"position": position}
    for score in SCORES:
        if not SCORES[score].recurrent:
            yield f"score {score}", {"attention": {"score": score}}
    for scope in ("window", "local_m", "local_p"):
        yield scope, {"attention": {"scope": SMALL_SCOPES[scope]}}
    yield "sparsemax", {"attention": {"normalizer": "sparsemax"}}
    yield "output attentional", {"attention": {"output": "attentional"}}
    yield "self-attention before and after", {"before": {"heads": 2}, "after": {"heads": 2}}
    for tied in ("all", "none"):
        yield f"narrow embeddings, tied {tied}", {"tied": tied, "embedding": {"width": 8, "scale": False}}


def transformer_languages() -> Iterator[tuple[str, dict[str, Any]]]:
    for position in POSITIONS:
        yield f"position {position}", {"position": position}
    yield "GPT-2", GPT2
    yield "Llama", LLAMA
    yield "Qwen3", {**LLAMA, "attention": {"heads": 4, "groups": 2, "each": 6, "bias": False, "normed": True}}
    yield "multi-query", {"attention": {"heads": 4, "groups": 1}}
    yield "window", {"attention": {"heads": 4, "scope": SMALL_SCOPES["window"]}}
    yield "deepnorm", {"place": "deepnorm"}
    yield "batch norm", {"norm": "batch"}
    yield "sparsemax", {"attention": {"heads": 4, "normalizer": "sparsemax"}}
    for tied in (True, False):
        yield f"narrow embeddings, tied {tied}", {"embedding": {"width": 8}, "tied": tied, "output_bias": True}


def recurrent_languages() -> Iterator[tuple[str, dict[str, Any]]]:
    for cell in ("lstm", "gru"):
        for layers in (1, 2):
            yield f"{cell}, {layers} layers", {"cell": cell, "layers": layers}
    for tied in (True, False):
        settings = {"embedding": {"width": 8, "scale": False}, "tied": tied, "output_bias": True}
        yield f"narrow embeddings, tied {tied}", settings


TABLES: dict[str, tuple[dict[str, Any], Iterator[tuple[str, dict[str, Any]]]]] = {
    "transformer": (STACK, transformers()),
    "recurrent": ({"encoder": READ, "decoder": WRITE}, recurrents()),
    "convolutional": ({"width": 16, "layers": 2}, convolutionals()),
    "transformer_language": (STACK, transformer_languages()),
    "recurrent_language": ({"width": 16}, recurrent_languages()),
}

SEPARATE = [
    Case("transformer", "two vocabularies, tied output", {**STACK, "tied": "output"}, APART),
    Case("transformer", "two vocabularies, untied", {**STACK, "tied": "none"}, APART),
    Case("recurrent", "two vocabularies", {"encoder": READ, "decoder": WRITE}, APART),
    Case("convolutional", "two vocabularies", {"width": 16, "layers": 2}, APART),
]

CASES = [
    Case(model, name, {**common, **settings}) for model, (common, table) in TABLES.items() for name, settings in table
] + SEPARATE
