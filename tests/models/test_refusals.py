"""Settings that cannot be and batches that do not fit: each is refused in one sentence that says what to change."""

from typing import Any

import jaxtyping
import pytest
import torch
from torch import Tensor

from regard.errors import ConfigError, ModelError, RegardError
from regard.models import MODELS, Vocabulary, build, encoder

SMALL: dict[str, dict[str, Any]] = {
    "transformer": {"width": 16, "layers": 2, "attention": {"heads": 4}, "feedforward": {"hidden": 24}},
    "recurrent": {"encoder": {"width": 16}, "decoder": {"width": 16}},
    "convolutional": {"width": 16, "layers": 2},
    "transformer_language": {"width": 16, "layers": 2, "attention": {"heads": 4}, "feedforward": {"hidden": 24}},
    "recurrent_language": {"width": 16},
}
ONE, TWO = Vocabulary(20, 20), Vocabulary(20, 17)

REFUSED = [
    ("transformer", {"widht": 16}, "Unknown setting 'widht'. Did you mean 'width'?"),
    ("transformer", {"attention": {"head": 4}}, "Unknown setting 'attention.head'. Did you mean 'attention.heads'?"),
    ("transformer", {"attention": {"heads": 3}}, "3 heads do not divide a width of 16"),
    ("transformer", {"attention": {"heads": 4, "groups": 3}}, "4 heads do not divide into 3 groups"),
    ("transformer", {"width": "wide"}, "width = 'wide'"),
    ("transformer", {"width": 0}, "width = 0"),
    ("transformer", {"width": 15, "attention": {"heads": 5}}, "so width 15 must be even"),
    ("transformer", {"layers": 0}, "layers = 0"),
    ("transformer", {"decoder_layers": 0}, "decoder_layers = 0"),
    ("transformer", {"dropout": 1.0}, "dropout = 1.0"),
    ("transformer", {"embedding": {"width": 0}}, "embedding.width = 0"),
    ("transformer", {"position": "rotery"}, "Unknown position 'rotery'. Did you mean 'rotary'?"),
    ("transformer", {"position": {"name": "learned", "lenght": 9}}, "Unknown setting 'lenght'. Did you mean 'length'?"),
    ("transformer", {"norm": "layr"}, "Unknown norm 'layr'. Did you mean 'layer'?"),
    ("transformer", {"place": "under"}, "place = 'under'"),
    ("transformer", {"cross": "sideways"}, "cross = 'sideways'"),
    ("transformer", {"feedforward": {"activation": "rely"}}, "Unknown activation 'rely'. Did you mean 'relu'?"),
    ("transformer", {"initial": "xavier_unifrom"}, "Did you mean 'xavier_uniform'?"),
    ("transformer", {"attention": {"heads": 4, "score": "dott"}}, "Unknown score 'dott'. Did you mean 'dot'?"),
    ("transformer", {"attention": {"heads": 4, "score": "coverage"}}, "use it in cross_attention"),
    ("transformer", {"attention": {"heads": 4, "scope": "monotonic"}}, "use it in cross_attention"),
    ("transformer", {"attention": {"heads": 4, "scope": "local_p"}}, "attention.scope = local_p"),
    ("transformer", {"cross": "layerwise", "decoder_layers": 1}, "2 encoder and 1 decoder layers must be equal"),
    ("transformer", {"cross": "joint", "cross_attention": {"heads": 2}}, "drop cross_attention"),
    ("transformer", {"cross": "joint", "attention": {"heads": 4, "scope": "local_m"}}, "use global or window"),
    (
        "transformer",
        {"position": "rotary", "attention": {"heads": 4, "position": "alibi"}},
        "position = rotary and attention.position = alibi both act inside attention",
    ),
    ("recurrent", {"decoder": {"width": 16, "both_ways": True}}, "set decoder.both_ways = false"),
    ("recurrent", {"encoder": {"width": 15}}, "width of 15 must be even"),
    ("recurrent", {"encoder": {"cell": "lstn"}}, "encoder.cell = 'lstn'"),
    ("recurrent", {"feeding": True}, "set attend = 'after'"),
    ("recurrent", {"feeding": True, "attend": "after", "attention": None}, "set attend = 'after'"),
    ("recurrent", {"copying": True, "attention": None}, "choose an attention"),
    ("recurrent", {"keys": "cells", "encoder": {"width": 16, "cell": "gru"}}, "A gru has no cell states"),
    ("recurrent", {"keys": "cells", "attention": None}, "choose an attention"),
    ("recurrent", {"attention": {"score": "dot"}, "decoder": {"width": 12}}, "got 12 and 16"),
    ("recurrent", {"own_past": {"score": "location_aware"}}, "own_past grows at every step"),
    ("recurrent", {"own_past": {"scope": "monotonic"}}, "own_past grows at every step"),
    (
        "recurrent",
        {"own_past": {"score": {"name": "mixed", "scores": ["dot", "coverage"]}}},
        "own_past grows at every step",
    ),
    ("recurrent", {"own_past": {"scope": "local_p"}}, "own_past.scope = local_p"),
    ("recurrent", {"tied": "all", "decoder": {"width": 12}}, "need one width or an embedding.width"),
    ("recurrent", {"encoder": {"width": 16, "before": {"heads": 3}}}, "3 heads do not divide a width of 16"),
    ("convolutional", {"kernel": 4}, "kernel = 4 must be odd"),
    ("convolutional", {"layers": 0}, "layers = 0"),
    ("convolutional", {"position": "rotary"}, "position rotary acts inside attention"),
    ("convolutional", {"attention": {"score": "location_aware"}}, "its attention cannot look back"),
    ("convolutional", {"attention": {"scope": "monotonic"}}, "its attention cannot look back"),
    ("transformer_language", {"cross_attention": {"heads": 2}}, "Unknown setting 'cross_attention'"),
    ("transformer_language", {"attention": {"heads": 4, "scope": "local_p"}}, "attention.scope = local_p"),
    ("transformer_language", {"attention": {"heads": 16}, "position": "rotary"}, "must be even"),
    ("recurrent_language", {"both_ways": True}, "cannot read both ways"),
    ("recurrent_language", {"cell": "rnn"}, "cell = 'rnn'"),
]

APART = [
    ("transformer", {}, "learn one joint vocabulary or set tied = 'output'"),
    ("transformer", {"tied": "none", "copying": True}, "one joint vocabulary"),
    ("recurrent", {"tied": "all"}, "one joint vocabulary"),
    ("recurrent", {"copying": True}, "one joint vocabulary"),
    ("convolutional", {"tied": "all"}, "one joint vocabulary"),
]


def sentence(caught: pytest.ExceptionInfo[RegardError]) -> str:
    text = str(caught.value)
    assert "\n" not in text
    assert text.endswith((".", "?"))
    return text


@pytest.mark.parametrize(("name", "settings", "words"), REFUSED, ids=lambda value: str(value)[:60])
def test_settings_that_cannot_be_are_refused(name: str, settings: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        build(name, {**SMALL[name], **settings}, ONE)
    assert words in sentence(caught)


@pytest.mark.parametrize(("name", "settings", "words"), APART, ids=lambda value: str(value)[:60])
def test_what_needs_one_vocabulary_refuses_two(name: str, settings: dict[str, Any], words: str) -> None:
    build(name, {**SMALL[name], **settings}, ONE)
    with pytest.raises(ConfigError) as caught:
        build(name, {**SMALL[name], **settings}, TWO)
    assert words in sentence(caught)


def test_an_unknown_model_or_encoder_offers_the_nearest() -> None:
    with pytest.raises(ConfigError, match=r"Unknown model 'transfomer'\. Did you mean 'transformer'[?]"):
        build("transfomer", {}, ONE)
    with pytest.raises(ConfigError, match=r"Unknown encoder 'recurent'\. Did you mean 'recurrent'[?]"):
        encoder("recurent", {}, 20)


def test_several_mistakes_are_told_together() -> None:
    with pytest.raises(ConfigError) as caught:
        build("transformer", {"widht": 16, "layers": -1, "dropout": 7}, ONE)
    assert len(str(caught.value).splitlines()) == 3


@pytest.fixture
def unchecked(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a user sees: outside tests nobody checks the shapes in signatures."""
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)


PIECES = torch.full((2, 3), 5)
WRONG: dict[str, tuple[Tensor, Tensor | None, str]] = {
    "a piece too high": (PIECES + 15, None, "Piece 20 is outside the vocabulary of 20"),
    "a piece below zero": (PIECES - 6, None, "Piece -1 is outside the vocabulary of 20"),
    "no pieces": (PIECES[:, :0], None, "shape (2, 0)"),
    "no texts": (PIECES[:0], None, "shape (0, 3)"),
    "numbers that are not whole": (PIECES.float(), None, "torch.float32"),
    "a mask of another length": (PIECES, torch.ones(2, 4, dtype=torch.bool), "expected torch.bool of shape (2, 3)"),
    "a ragged mask of another length": (PIECES, torch.eye(2, 4) > 0, "expected torch.bool of shape (2, 3)"),
    "a mask of numbers": (PIECES, torch.ones(2, 3), "True = real"),
    "a mask with nothing in it": (PIECES, torch.zeros(2, 3, dtype=torch.bool), "perhaps it is inverted"),
}


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("name", MODELS)
def test_a_batch_that_cannot_be_read_is_refused(name: str, wrong: str) -> None:
    model = build(name, SMALL[name], ONE)
    pieces, real, words = WRONG[wrong]
    calls = [lambda: model.start(pieces, real)]
    calls.append((lambda: model(pieces, real)) if "language" in name else (lambda: model(pieces, PIECES, real)))
    for call in calls:
        with pytest.raises(ModelError) as caught:
            call()
        # Without any text there is none to be the source of a target either.
        assert words in sentence(caught) or "0 sources but 2 targets" in str(caught.value)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("name", [name for name in MODELS if "language" not in name])
def test_a_target_that_cannot_be_written_is_refused(name: str) -> None:
    model = build(name, {**SMALL[name], "tied": "none"}, TWO)
    for target, words in ((PIECES + 12, "Piece 17"), (PIECES[:, :0], "shape (2, 0)"), (PIECES[:1], "2 sources but 1")):
        with pytest.raises(ModelError) as caught:
            model(PIECES, target)
        assert words in sentence(caught)


@pytest.mark.parametrize("name", ["transformer", "convolutional", "transformer_language"])
def test_a_text_past_the_positions_it_was_built_for_is_refused(name: str) -> None:
    model = build(name, {**SMALL[name], "position": {"name": "learned", "length": 2}}, ONE)
    with pytest.raises(ModelError, match="Position 2 is past the 2 that learned positions were built for"):
        model(PIECES) if "language" in name else model(PIECES, PIECES)
