"""A stack taken apart steps as its modules do, to the last bit, and steps aside where it cannot."""

from typing import Any

import pytest
import torch
from torch import Tensor

from regard.attention import record, watched
from regard.attention.pruning import prune
from regard.errors import RegardError
from regard.models import Transformer, TransformerLanguage, TransformerSettings, Vocabulary
from regard.models.language import LanguageSettings
from regard.models.protocols import Decoder
from regard.models.transformer import Stack
from regard.nn import native, plans
from regard.nn.compiled import Compiled
from regard.nn.lora import LoraSettings, adapt
from regard.nn.native import building
from regard.nn.stepping import Ordinary

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
    "turned more slowly": {"position": {"name": "rotary", "stretch": {"factor": 8.0, "length": 12}}, "place": "pre"},
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


@pytest.fixture(params=["kernels", "torch"])
def by(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> type:
    """Who takes the steps: the kernels, or torch on a machine without a compiler."""
    if request.param == "torch":
        monkeypatch.setattr(building, "library", lambda: None)
        return Ordinary
    assert native.ready(), "these tests want a C++ compiler"
    return Compiled


@torch.no_grad()
def plan(stack: Stack) -> Any:
    known = plans.known(stack, list(stack.each()), stack.norm)
    return known and known.plan


@pytest.mark.parametrize("real", [REAL, None], ids=["padded", "whole"])
@pytest.mark.parametrize("name", ORDINARY)
def test_an_ordinary_decoder_steps_as_its_modules_do(by: type, name: str, real: Tensor | None) -> None:
    model = translator(ORDINARY[name])
    assert type(plan(model.decoder)) is by
    assert same_watched(model, SOURCE, real)


@pytest.mark.parametrize("heads", [{"normed": True}, {"each": 4}, {"normed": True, "each": 10, "groups": 2}])
@pytest.mark.parametrize("real", [REAL, None], ids=["padded", "whole"])
def test_normed_heads_and_those_of_another_width_step_as_their_modules_do(
    by: type, heads: dict[str, Any], real: Tensor | None
) -> None:
    chosen = {"attention": {"heads": 4, **heads}, "place": "pre", "norm": "rms"}
    turned = language({**chosen, "position": "rotary"})
    for model in (translator(chosen), turned):
        for name, parameter in model.named_parameters():
            if "_norm" in name:
                torch.nn.init.uniform_(parameter, 0.5, 2.0)
        assert type(plan(model.decoder)) is by
        assert same_watched(model, SOURCE, real)


@pytest.mark.parametrize("name", OTHER)
def test_what_is_out_of_the_ordinary_is_left_to_its_modules(by: type, name: str) -> None:
    model = translator(OTHER[name])
    odd = name not in ("copying", "jointly")
    assert (plan(model.decoder) is None) == odd
    assert same_watched(model, SOURCE, REAL)


@pytest.mark.parametrize("name", ["the paper", "norm before", "turned, grouped, rms", "gated, without biases"])
@pytest.mark.parametrize("real", [REAL, None], ids=["padded", "whole"])
def test_a_language_model_steps_as_its_modules_do(by: type, name: str, real: Tensor | None) -> None:
    model = language(ORDINARY[name])
    assert type(plan(model.decoder)) is by
    assert same_watched(model, SOURCE, real)


def test_while_training_or_with_gradients_modules_step(by: type) -> None:
    model = translator({}).decoder
    assert plans.known(model, list(model.each()), model.norm) is None
    assert plan(model.train()) is None


def test_a_hook_is_not_passed_by(by: type) -> None:
    model, called = translator({}), []
    handle = model.decoder.blocks[1].feedforward.register_forward_hook(lambda *_: called.append(1))
    written(model, SOURCE, REAL)
    assert called
    handle.remove()
    called.clear()
    written(model, SOURCE, REAL)
    assert not called


def test_an_adapted_model_keeps_its_adapters(by: type) -> None:
    model = translator({})
    adapt(model, LoraSettings(rank=2))
    assert plan(model.eval().decoder) is None


@pytest.mark.parametrize("kept", [{"attention": [0, 2], "cross": [1]}, {"attention": [1, 2], "cross": [0, 3]}])
def test_heads_that_are_gone_are_not_read(by: type, kept: dict[str, list[int]]) -> None:
    model = translator({})
    written(model, SOURCE, REAL)
    prune(model, {f"decoder.blocks.{block}.{name}": heads for block in (0, 1) for name, heads in kept.items()})
    prune(model, {f"encoder.stack.blocks.{block}.attention": [3] for block in (0, 1)})
    said, whole = written(model, SOURCE, REAL, beams=1), model(SOURCE, SOURCE, REAL).hidden.detach()
    assert same_watched(model, SOURCE, REAL)
    with torch.no_grad():
        torch.testing.assert_close(model(SOURCE, SOURCE, REAL).hidden, whole, atol=1e-5, rtol=1e-5)
    assert len(said) == 4


def test_pieces_and_rows_that_do_not_fit_are_refused_and_not_read(by: type) -> None:
    model = translator({})
    with torch.no_grad():
        state, pieces = model.start(SOURCE, REAL)
        for _ in range(2):
            _, state = model.step(pieces, state)
        for wrong in (torch.tensor([1, 2, 23]), torch.tensor([1, -1, 2]), torch.tensor([1, 2]), torch.tensor([1] * 7)):
            with pytest.raises((RegardError, IndexError, RuntimeError)):
                model.step(wrong, state)


def test_a_listener_that_comes_late_is_heard(by: type) -> None:
    model = translator({})
    with torch.no_grad():
        state, pieces = model.start(SOURCE, REAL)
        _, state = model.step(pieces, state)
        with record(model, "*.cross.mechanism.weights") as seen:
            assert watched()
            slow, _ = model.step(pieces, state)
        fast, _ = model.step(pieces, state)
    assert len(seen) == 2
    assert not watched()
    assert torch.equal(slow, fast)


def test_a_listener_that_leaves_early_changes_nothing(by: type) -> None:
    model = translator(ORDINARY["turned, grouped, rms"])
    with torch.no_grad():
        state, pieces = model.start(SOURCE, REAL)
        with record(model, "*.weights"):
            _, watched_state = model.step(pieces, state)
        _, state = model.step(pieces, state)
        assert torch.equal(model.step(pieces, watched_state)[0], model.step(pieces, state)[0])


@pytest.mark.parametrize("layout", ["halves", "pairs"])
@pytest.mark.parametrize("share", [1.0, 0.5])
def test_turned_in_halves_or_pairs_whole_or_in_part_it_is_what_modules_turn(
    by: type, layout: str, share: float
) -> None:
    position = {"name": "rotary", "layout": layout, "share": share}
    assert same_watched(language({**SMALL, "width": 32, "position": position}), SOURCE, None)


def test_two_may_go_on_from_one_state(by: type) -> None:
    model = translator({"place": "pre"})
    with torch.no_grad():
        state, pieces = model.start(SOURCE, REAL)
        for _ in range(3):
            _, state = model.step(pieces, state)
        first, one = model.step(pieces, state)
        _, other = model.step(pieces + 3, state)
        again, _ = model.step(pieces, state)
        assert torch.equal(first, again)
        alone = model.step(pieces, one)[0]
        model.step(pieces, other)
        assert torch.equal(alone, model.step(pieces, one)[0])


def test_parameters_that_change_are_seen(by: type) -> None:
    model = translator({})
    before = written(model, SOURCE, REAL)
    with torch.no_grad():
        model.decoder.blocks[0].feedforward.inner.weight.data.mul_(1.5)
        model.output.readout.weight.data.add_(0.01)
    after = written(model, SOURCE, REAL)
    assert not any(torch.equal(a, b) for a, b in zip(before, after, strict=True))
    assert same_watched(model, SOURCE, REAL)


def test_in_double_precision_modules_and_torch_do_it() -> None:
    model = translator({}).double()
    assert type(plan(model.decoder)) is Ordinary
    assert same_watched(model, SOURCE, REAL)


@pytest.mark.parametrize("name", [name for name in ORDINARY if name != "narrow vectors"])
def test_kernels_give_a_text_the_same_bits_alone_and_in_company(name: str) -> None:
    model = translator(ORDINARY[name])
    together = written(model, SOURCE, REAL)
    for row in range(len(SOURCE)):
        alone = written(model, SOURCE[row : row + 1, : int(REAL[row].sum())], None)
        for all_rows, own in zip(together, alone, strict=True):
            beams = len(own)
            assert torch.equal(all_rows[row * beams : (row + 1) * beams], own)


@pytest.mark.parametrize("name", ORDINARY)
def test_kernels_and_torch_agree(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = translator(ORDINARY[name])
    ours = written(model, SOURCE, REAL)
    whole = model(SOURCE, SOURCE, REAL).hidden.detach()
    with torch.no_grad():
        size = float(whole.abs().max())
        torch.testing.assert_close(model(SOURCE, SOURCE, REAL).hidden / size, whole / size, atol=1e-5, rtol=0)
    monkeypatch.setattr(building, "library", lambda: None)
    for a, b in zip(ours, written(translator(ORDINARY[name]), SOURCE, REAL), strict=True):
        torch.testing.assert_close(a, b, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("rows", [1, 5, 40])
def test_threads_change_no_bit(threads: int, rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    wide = {"width": 256, "layers": 2, "attention": {"heads": 8}, "feedforward": {"hidden": 1024}, "place": "pre"}
    model = Transformer(TransformerSettings.read(wide), VOCABULARY).eval()
    source = torch.randint(3, 23, (rows, 6))
    monkeypatch.setattr(torch, "get_num_threads", lambda: 1)
    alone = written(model, source, None, beams=1)
    monkeypatch.setattr(torch, "get_num_threads", lambda: threads)
    assert all(torch.equal(a, b) for a, b in zip(alone, written(model, source, None, beams=1), strict=True))
