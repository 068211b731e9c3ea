"""A stack taken apart steps as its modules do, to the last bit, and steps aside where it cannot."""

from typing import Any

import pytest
import torch
from torch import Tensor

from regard.attention import record, watched
from regard.models import Transformer, TransformerLanguage, TransformerSettings, Vocabulary
from regard.models.language import LanguageSettings
from regard.models.protocols import Decoder
from regard.nn import stepping
from regard.nn.lora import LoraSettings, adapt

VOCABULARY = Vocabulary(23, 23)
SOURCE = torch.tensor([[3, 4, 5, 6, 7], [7, 8, 9, 0, 0], [4, 4, 4, 4, 0]])
REAL = SOURCE != 0
SMALL: dict[str, Any] = {"width": 24, "layers": 2, "attention": {"heads": 4}, "feedforward": {"hidden": 20}}

ORDINARY: dict[str, dict[str, Any]] = {
    "the paper": {},
    "norm before": {"place": "pre"},
    "deepnorm": {"place": "deepnorm"},
    "no norm": {"norm": "none", "place": "pre"},
    "layer by layer": {"cross": "layerwise"},
    "learned places": {"position": "learned"},
    "narrow vectors": {"embedding": {"width": 8}},
    "gated, without biases": {
        "feedforward": {"hidden": 20, "gated": True, "activation": "silu", "bias": False},
        "attention": {"heads": 4, "bias": False},
    },
    "turned, grouped, rms": {
        "position": "rotary",
        "norm": "rms",
        "place": "pre",
        "attention": {"heads": 4, "groups": 2},
    },
    "warm": {"attention": {"heads": 4, "normalizer": {"name": "softmax", "temperature": 2.0}}},
    "unscaled": {"attention": {"heads": 4, "score": "dot"}},
}
OTHER: dict[str, dict[str, Any]] = {
    "jointly": {"cross": "joint"},
    "copying": {"copying": True},
    "a bias of distances": {"position": "alibi"},
    "another score": {"attention": {"heads": 4, "score": "additive"}},
    "another scope": {"attention": {"heads": 4, "scope": {"name": "window", "before": 1, "after": 1}}},
    "another normalizer": {"attention": {"heads": 4, "normalizer": "sparsemax"}},
    "another output": {"attention": {"heads": 4, "output": "attentional"}},
    "statistics of the batch": {"norm": "batch"},
}


def translator(chosen: dict[str, Any]) -> Transformer:
    torch.manual_seed(1)
    return Transformer(TransformerSettings.read({**SMALL, **chosen}), VOCABULARY).eval()


def language(chosen: dict[str, Any]) -> TransformerLanguage:
    torch.manual_seed(1)
    return TransformerLanguage(LanguageSettings.read({**SMALL, **chosen}), VOCABULARY).eval()


@torch.no_grad()
def written(model: Decoder, source: Tensor, real: Tensor | None, steps: int = 4, beams: int = 2) -> list[Tensor]:
    """What a model says at every step, beams changing places on the way."""
    (state, pieces), said = model.start(source, real), []
    rows = torch.arange(len(source)).repeat_interleave(beams)
    for step in range(steps):
        told, state = model.step(pieces, state)
        said.append(told)
        rows = rows if step == 0 else torch.arange(len(told)).view(-1, beams).flip(1).flatten()
        state, pieces = state.select(rows), told.argmax(-1)[rows]
    return said


def same_watched(model: Any, source: Tensor, real: Tensor | None, beams: int = 2) -> bool:
    plain = written(model, source, real, beams=beams)
    with record(model, "*.weights") as seen:
        slow = written(model, source, real, beams=beams)
    assert seen
    return all(torch.equal(a, b) for a, b in zip(plain, slow, strict=True))


@pytest.mark.parametrize("real", [REAL, None], ids=["padded", "whole"])
@pytest.mark.parametrize("name", ORDINARY)
def test_an_ordinary_decoder_steps_as_its_modules_do(name: str, real: Tensor | None) -> None:
    model = translator(ORDINARY[name])
    with torch.no_grad():
        assert model.start(SOURCE, real).state.shared.ordinary is not None
    assert same_watched(model, SOURCE, real)


@pytest.mark.parametrize("name", OTHER)
def test_what_is_out_of_the_ordinary_is_left_to_its_modules(name: str) -> None:
    model = translator(OTHER[name])
    with torch.no_grad():
        assert model.start(SOURCE, REAL).state.shared.ordinary is None
    assert same_watched(model, SOURCE, REAL)


@pytest.mark.parametrize("name", ["the paper", "norm before", "turned, grouped, rms", "gated, without biases"])
@pytest.mark.parametrize("real", [REAL, None], ids=["padded", "whole"])
def test_a_language_model_steps_as_its_modules_do(name: str, real: Tensor | None) -> None:
    model = language(ORDINARY[name])
    with torch.no_grad():
        assert model.start(SOURCE[:, :1]).state.shared is not None
    assert same_watched(model, SOURCE, real)


def test_while_training_or_with_gradients_modules_step() -> None:
    model = translator({})
    assert model.start(SOURCE, REAL).state.shared.ordinary is None
    with torch.no_grad():
        assert model.train().start(SOURCE, REAL).state.shared.ordinary is None


def test_a_hook_is_not_passed_by() -> None:
    model, called = translator({}), []
    handle = model.decoder.blocks[1].feedforward.register_forward_hook(lambda *_: called.append(1))
    written(model, SOURCE, REAL)
    assert called
    handle.remove()
    called.clear()
    written(model, SOURCE, REAL)
    assert not called


def test_an_adapted_model_keeps_its_adapters() -> None:
    model = translator({})
    adapt(model, LoraSettings(rank=2))
    model.eval()
    with torch.no_grad():
        assert model.start(SOURCE, REAL).state.shared.ordinary is None


def test_a_listener_that_comes_late_is_heard() -> None:
    model = translator({})
    with torch.no_grad():
        state, pieces = model.start(SOURCE, REAL)
        _, state = model.step(pieces, state)
        with record(model, "*.cross.mechanism.weights") as seen:
            assert watched()
            model.step(pieces, state)
    assert len(seen) == 2
    assert not watched()


@pytest.mark.parametrize("layout", ["halves", "pairs"])
@pytest.mark.parametrize("share", [1.0, 0.5])
def test_turned_in_halves_or_pairs_whole_or_in_part_it_is_what_modules_turn(layout: str, share: float) -> None:
    position = {"name": "rotary", "layout": layout, "share": share}
    assert same_watched(language({**SMALL, "width": 32, "position": position}), SOURCE, None)


@pytest.mark.parametrize("bias", [True, False])
def test_a_single_row_shared_out_among_threads_is_watched_without_a_bit_of_change(
    monkeypatch: pytest.MonkeyPatch, bias: bool
) -> None:
    monkeypatch.setattr(stepping, "WORTH_SHARING", 1)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 2)
    shared = {"attention": {"heads": 4, "bias": bias}, "feedforward": {"hidden": 20, "bias": bias}, "place": "pre"}
    model = language({**SMALL, **shared})
    assert same_watched(model, SOURCE[:1], None, beams=1)


@pytest.mark.parametrize("threads", [1, 2, 3, 7])
def test_what_is_shared_out_is_the_product(threads: int) -> None:
    weight, x, bias = torch.randn(42, 5), torch.randn(1, 5), torch.randn(42)
    for added in (bias, None):
        found = stepping.shared_out(x, weight, added, threads)
        torch.testing.assert_close(found, torch.nn.functional.linear(x, weight, added))


def test_only_the_products_of_a_single_row_of_a_large_matrix_are_shared_out(monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[int] = []
    monkeypatch.setattr(torch, "get_num_threads", lambda: 4)
    monkeypatch.setattr(stepping, "shared_out", lambda x, weight, bias, threads: called.append(threads) or x)
    large, small = torch.nn.Linear(1024, 1022, bias=False), torch.nn.Linear(8, 8)
    with torch.no_grad(), stepping.Sharing():
        small(torch.ones(1, 8))
        large(torch.ones(2, 1024))
        large.double()(torch.ones(1, 1024, dtype=torch.float64))
        assert called == []
        large.float()(torch.ones(1, 1024))
    assert called == [2]
