"""How a recurrent decoder uses what was read: by a fixed vector, by attention before or after its step, by its past."""

from contextlib import nullcontext
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from regard.attention import record, replace
from regard.models import RecurrentSequence, SequenceSettings, Vocabulary
from regard.nn import Carry, native
from regard.nn.asking import ask

ONE = Vocabulary(20, 20)
SOURCE = torch.tensor([[3, 4, 5, 6], [7, 8, 0, 0]])
TARGET = torch.tensor([[1, 9, 10], [1, 11, 12]])
REAL = torch.tensor([[True] * 4, [True, True, False, False]])


def sequence(**chosen: Any) -> RecurrentSequence:
    torch.manual_seed(0)
    common = {"encoder": {"width": 16}, "decoder": {"width": 16}}
    return RecurrentSequence(SequenceSettings.read({**common, **chosen}), ONE).eval()


def seen_inputs(model: RecurrentSequence) -> list[Tensor]:
    """What each call of the recurrent layers was given."""
    given: list[Tensor] = []
    handle = model.decoder.register_forward_pre_hook(lambda _, arguments: given.append(arguments[0]))
    with torch.no_grad():
        model(SOURCE, TARGET, REAL)
    handle.remove()
    return given


def test_without_attention_the_summary_is_told_again_at_every_step() -> None:
    model = sequence(attention=None)
    (given,) = seen_inputs(model)
    summary = model.encoder.read(SOURCE, REAL).summary
    assert_close(given[..., 16:], summary[:, None].expand(-1, 3, -1))


def test_without_attention_a_text_is_known_by_its_summary_alone() -> None:
    model = sequence(attention=None)
    with torch.no_grad():
        before = model(SOURCE, TARGET, REAL).hidden
        with replace(model, "encoder.layers.states", torch.zeros_like):
            assert torch.equal(model(SOURCE, TARGET, REAL).hidden, before)
    attending = sequence()
    with torch.no_grad():
        before = attending(SOURCE, TARGET, REAL).hidden
        with replace(attending, "encoder.layers.states", torch.zeros_like):
            assert not torch.allclose(attending(SOURCE, TARGET, REAL).hidden, before)


def test_before_asks_with_the_state_of_the_step_before() -> None:
    model = sequence(attention={"score": "additive"}, attend="before")
    with torch.no_grad(), record(model, "attention.mechanism.queries", "decoder.states") as seen:
        model(SOURCE, TARGET, REAL)
    queries = [entry.tensor[:, 0] for entry in seen if entry.name.endswith("queries")]
    states = [entry.tensor for entry in seen if entry.name.endswith("states")]
    assert len(queries) == len(states) == 3
    for asked, state in zip(queries[1:], states, strict=False):
        assert torch.equal(asked, state)


def test_after_asks_with_the_state_of_the_step_itself() -> None:
    model = sequence(attention={"score": "general"}, attend="after")
    with torch.no_grad(), record(model, "attention.mechanism.queries", "decoder.states") as seen:
        model(SOURCE, TARGET, REAL)
    by_name = {entry.name: entry.tensor for entry in seen}
    assert torch.equal(by_name["attention.mechanism.queries"][:, 0], by_name["decoder.states"])


@pytest.mark.parametrize(("chosen", "calls", "width"), [
    ({"attend": "before"}, 3, 32),
    ({"attend": "after"}, 1, 16),
    ({"attend": "after", "feeding": True}, 3, 32),
    ({"attention": None}, 1, 32),
    ({"attend": "after", "attention": {"score": "coverage"}}, 3, 16),
], ids=str)  # fmt: skip
def test_steps_are_taken_together_where_none_waits_for_another(chosen: dict[str, Any], calls: int, width: int) -> None:
    given = seen_inputs(sequence(**chosen))
    assert [inputs.shape[-1] for inputs in given] == [width] * calls


def test_feeding_hands_the_answer_of_one_step_to_the_next_and_nothing_to_the_first() -> None:
    model = sequence(attend="after", feeding=True, attention={"output": "attentional"})
    answers: list[Tensor] = []
    model.attention.register_forward_hook(lambda _, __, focus: answers.append(focus.output))
    given = seen_inputs(model)
    assert not given[0][..., 16:].any()
    for inputs, answer in zip(given[1:], answers, strict=False):
        assert torch.equal(inputs[..., 16:], answer)


def test_keys_may_be_cells_while_values_are_states() -> None:
    model = sequence(keys="cells", attention={"score": "dot"})
    read = model.encoder.read(SOURCE, REAL, with_cells=True)
    memory = model.start(SOURCE, REAL).state.shared.memory
    assert_close(memory.keys[:, 0], read.cells)
    assert_close(memory.values[:, 0], read.states)
    assert not torch.allclose(read.cells, read.states)


def test_own_past_attends_to_the_present_and_what_was_before_it() -> None:
    model = sequence(own_past={"score": "dot"}, attend="after")
    with torch.no_grad(), record(model, "own.mechanism.weights", "decoder.states") as seen:
        model(SOURCE, TARGET, REAL)
    by_name = {entry.name: entry.tensor for entry in seen}
    states = by_name["decoder.states"]
    scores = (states @ states.mT).masked_fill(~torch.ones(3, 3, dtype=torch.bool).tril(), -torch.inf)
    assert_close(by_name["own.mechanism.weights"][:, 0], scores.softmax(-1))


def test_a_hypothesis_keeps_its_own_past() -> None:
    model = sequence(own_past={"score": "dot"})
    started = model.start(SOURCE, REAL)
    _, state = model.step(started.first, started.state)
    assert state.own.past.size == 1
    _, state = model.step(started.first, state.select(torch.tensor([1, 0])))
    assert state.own.past.size == 2
    assert state.own.length == 2


@pytest.mark.parametrize("cell", ["lstm", "gru"])
def test_the_decoder_starts_from_the_summary_through_the_bridge(cell: str) -> None:
    model = sequence(decoder={"width": 12, "layers": 2, "cell": cell})
    carry: Carry = model.start(SOURCE, REAL).state.own.carry
    bridged = torch.tanh(model.bridge(model.encoder.read(SOURCE, REAL).summary))
    states = bridged.unflatten(-1, (-1, 2, 12))
    assert_close(carry.hidden, states[:, 0])
    assert (carry.cells is None) == (cell == "gru")
    if carry.cells is not None:
        assert_close(carry.cells, states[:, 1])


def test_what_is_said_comes_from_state_and_answer_together() -> None:
    model = sequence(attend="after", attention={"score": "general"})
    with torch.no_grad(), record(model, "decoder.states", "attention.mechanism.context", "states") as seen:
        model(SOURCE, TARGET, REAL)
    by_name = {entry.name: entry.tensor for entry in seen}
    both = torch.cat([by_name["decoder.states"], by_name["attention.mechanism.context"][:, 0]], dim=-1)
    assert_close(by_name["states"], torch.tanh(model.combine(both)))


def test_tied_all_shares_vectors_and_each_side_projects_them_to_its_own_width() -> None:
    model = sequence(tied="all", embedding={"width": 8, "scale": False}, decoder={"width": 12}, attend="after",
                     attention={"score": "general"})  # fmt: skip
    assert model.embedding.vectors is model.encoder.embedding.vectors is model.output.readout.weight
    assert model.embedding.project.weight.shape == (12, 8)
    assert model.encoder.embedding.project.weight.shape == (16, 8)


def learned(model: RecurrentSequence, *batches: tuple[Tensor, Tensor, Tensor | None]) -> dict[str, Tensor]:
    """The loss of a training step over batches, dropout drawn from a fixed seed, and every gradient."""
    model.train().zero_grad()
    torch.manual_seed(5)
    total = torch.zeros(())
    for source, target, real in batches:
        loss = model.output.loss(model(source, target, real), target.roll(-1, 1), 0.1).total
        loss.backward()
        total += loss.detach()
    return {"loss": total} | {name: each.grad for name, each in model.named_parameters() if each.grad is not None}


def by_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("regard.models.recurrent.can_ask", lambda *_: False)


ASKING = [
    {"decoder": {"width": 16, "cell": cell}, "attention": {"score": score}, **more}
    for cell in ("lstm", "gru")
    for score in ("additive", "concat")
    for more in ({}, {"tied": "all", "embedding": {"dropout": 0.2}}, {"keys": "cells"})
]


@pytest.mark.parametrize("chosen", ASKING, ids=str)
@pytest.mark.parametrize("compiled", [True, False], ids=["kernels", "torch"])
def test_a_target_learned_at_once_is_learned_as_step_by_step(
    chosen: dict[str, Any], compiled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dropout included, over two batches, of which one is padded."""
    model, batches = sequence(**chosen), [(SOURCE, TARGET, REAL), (TARGET, SOURCE, None)]
    with nullcontext() if compiled else native.without():
        found = learned(model, *batches)
    found = {name: tensor.clone() for name, tensor in found.items()}
    by_modules(monkeypatch)
    expected = learned(model, *batches)
    assert found.keys() == expected.keys()
    for name, tensor in expected.items():
        assert_close(found[name], tensor, atol=1e-5, rtol=1e-5, msg=lambda said, name=name: f"{name}: {said}")


def test_training_leaves_a_target_to_one_call_unless_modules_are_hooked(monkeypatch: pytest.MonkeyPatch) -> None:
    model, calls = sequence(), []
    monkeypatch.setattr("regard.models.recurrent.ask", lambda *given: calls.append(given) or ask(*given))
    model(SOURCE, TARGET, REAL)
    assert not calls
    model.train()(SOURCE, TARGET, REAL)
    assert len(calls) == 1
    assert len(seen_inputs(model)) == 3
    states: list[Tensor] = []
    model.states.register_forward_hook(lambda _, __, state: states.append(state))
    model(SOURCE, TARGET, REAL)
    assert len(states) == 3
    assert len(calls) == 1


@pytest.mark.parametrize("cell", ["lstm", "gru"])
def test_watching_training_changes_no_bit_and_shows_what_step_by_step_would(
    cell: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = sequence(decoder={"width": 16, "cell": cell})
    unwatched = {name: tensor.clone() for name, tensor in learned(model, (SOURCE, TARGET, REAL)).items()}
    with record(model, "*") as seen:
        watched = learned(model, (SOURCE, TARGET, REAL))
    assert all(torch.equal(watched[name], tensor) for name, tensor in unwatched.items())
    by_modules(monkeypatch)
    with record(model, "*") as expected:
        learned(model, (SOURCE, TARGET, REAL))
    assert [(entry.name, entry.step, entry.axes) for entry in seen] == [
        (entry.name, entry.step, entry.axes) for entry in expected
    ]
    for entry, other in zip(seen, expected, strict=True):
        assert_close(entry.tensor, other.tensor, atol=1e-5, rtol=1e-5)
        assert (entry.check is None) == (other.check is None)


def test_transforms_of_torch_see_through_a_model_that_learns() -> None:
    sure = {"width": 16, "dropout": 0.0}
    model = sequence(encoder=sure, decoder=sure, embedding={"dropout": 0.0}).train()
    parameters = dict(model.named_parameters())

    def total(given: dict[str, Tensor]) -> Tensor:
        return torch.func.functional_call(model, given, (SOURCE, TARGET, REAL)).hidden.sum()

    found = torch.func.grad(total)(parameters)
    expected = torch.autograd.grad(total(parameters), list(parameters.values()), allow_unused=True)
    asked = [pair for pair in zip(parameters, expected, strict=True) if pair[0].startswith(("attention", "decoder"))]
    assert asked
    for name, gradient in asked:
        assert_close(found[name], gradient, atol=1e-5, rtol=1e-5, msg=lambda said, name=name: f"{name}: {said}")
