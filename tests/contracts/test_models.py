"""What every model that generates owes to search, training and explanation, whatever it is made of."""

import copy
from collections.abc import Callable, Iterator
from typing import Any

import jaxtyping
import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from regard.attention import Memory, reach, record, replace
from regard.models import MODELS, State
from regard.nn import Loss
from tests.contracts.models import (
    BATCH,
    CASES,
    SOURCE,
    TARGET,
    Batch,
    Case,
    batch,
    begun,
    loss,
    read_embedding,
    stepwise,
    texts,
    wanted,
    whole,
)

BEAMS = 3

every_case = pytest.mark.parametrize("case", [pytest.param(case, id=str(case)) for case in CASES])
quickly = pytest.mark.usefixtures("unchecked")


@pytest.fixture
def unchecked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without checking signatures, which the other tests of the same cases do: three times as fast."""
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)


def assert_near(found: Tensor, expected: Tensor) -> None:
    """Within 1e-5, relative to the largest entry where that is above one."""
    assert_close(found, expected, atol=1e-5 * max(1.0, float(expected.abs().max())), rtol=0.0)


def in_training(model: nn.Module, seed: int, call: Callable[[], Loss]) -> dict[str, Tensor]:
    """The loss and every gradient of one training step with dropout drawn from this seed."""
    model.train()
    return with_gradients(model, seed, call)


def with_gradients(model: nn.Module, seed: int, call: Callable[[], Loss]) -> dict[str, Tensor]:
    model.zero_grad()
    torch.manual_seed(seed)
    found = call()
    found.total.backward()
    gradients = {name: parameter.grad for name, parameter in model.named_parameters() if parameter.grad is not None}
    return {"total": found.total.detach(), "nll": found.nll, **{name: grad.clone() for name, grad in gradients.items()}}


def tensors(tree: Any) -> Iterator[Tensor]:
    """Every tensor that a state holds in common for its hypotheses."""
    if isinstance(tree, Tensor):
        yield tree
    elif isinstance(tree, Memory):
        yield from (tree.keys, tree.values)
    elif isinstance(tree, tuple):
        for branch in tree:
            yield from tensors(branch)


def test_every_model_has_cases() -> None:
    assert {case.model for case in CASES} == set(MODELS)


def test_no_two_cases_share_a_name() -> None:
    assert len({str(case) for case in CASES}) == len(CASES)


@quickly
@every_case
@torch.no_grad()
def test_stepwise_is_whole(case: Case) -> None:
    model, given = case.build(), batch(case)
    assert_near(stepwise(model, given), whole(case, model, given))


@every_case
@torch.no_grad()
def test_hypotheses_that_branch_swap_and_end_go_on_as_if_written_alone(case: Case) -> None:
    """Three to a source; after two steps each source keeps others than it had, then sources end and change places."""
    model, given = case.build(), batch(case, target=TARGET + 1)
    source_of = torch.arange(BATCH).repeat_interleave(BEAMS)
    started = model.start(given.source, given.real)
    state = started.state.select(source_of)
    history = started.first[source_of][:, None]
    seen = torch.zeros(len(source_of), 0, case.vocabulary.target)
    for step in range(TARGET + 1):
        found, state = model.step(history[:, -1], state)
        seen = torch.cat([seen, found[:, None]], dim=1)
        if step == TARGET:
            break
        state, kept, source_of = changed(step, state, source_of)
        new = torch.randint(3, case.vocabulary.target, (len(source_of), 1))
        history, seen = torch.cat([history[kept], new], dim=1), seen[kept]
    assert source_of.tolist() == [2] * BEAMS + [0] * BEAMS
    assert_near(seen, whole(case, model, Batch(given.source[source_of], given.real[source_of], history)))


def changed(step: int, state: State, source_of: Tensor) -> tuple[State, Tensor, Tensor]:
    """What search does to a state: nothing at first, then choose among a source's hypotheses, then drop sources."""
    rows = torch.arange(len(source_of))
    if step == 1:
        rows = torch.tensor([source * BEAMS + beam for source in range(BATCH) for beam in (2, 0, 2)])
        return state.select(rows), rows, source_of
    if step == 2:
        rows = torch.tensor([7, 6, 8, 0, 1, 1])
        return state.select(rows, torch.tensor([2, 0])), rows, source_of[rows]
    return state, rows, source_of


@quickly
@every_case
@torch.no_grad()
def test_a_batch_is_its_texts_alone(case: Case) -> None:
    model, given = case.build(), batch(case)
    together = whole(case, model, given)
    for row in range(BATCH):
        assert_near(whole(case, model, given.alone(row)), together[row : row + 1])
    assert_near(stepwise(model, given.alone(1)), together[1:2])


@quickly
@every_case
@torch.no_grad()
def test_padding_changes_nothing(case: Case) -> None:
    """Neither how much of it there is, nor which pieces stand in it."""
    model, given = case.build(), batch(case)
    more = torch.randint(0, min(case.vocabulary.source, case.vocabulary.target), (BATCH, SOURCE + 3))
    real = widened(given.real, 3)
    padded = Batch(torch.where(real, widened(given.source, 3), more), real, given.target)
    assert not torch.equal(padded.source[:, :SOURCE], given.source)
    expected = whole(case, model, given)
    assert_near(whole(case, model, padded), expected)
    assert_near(stepwise(model, padded), expected)


def widened(tensor: Tensor, by: int) -> Tensor:
    return nn.functional.pad(tensor, (0, by))


@quickly
@every_case
def test_the_future_changes_nothing(case: Case) -> None:
    """No bit of an output knows a later piece, and each knows its own."""
    model, given = case.build(), batch(case)

    def written(target: Tensor) -> Tensor:
        return whole(case, model, given._replace(target=target))

    reached = reach(written, given.target, case.vocabulary.target)
    assert not reached.triu(1).any()
    assert reached.diagonal().all()


NARROW = ("window", "local", "monotonic", "hard", "sparsemax")
"""Attention that by design does not look at every piece."""


@quickly
@pytest.mark.parametrize(
    "case", [pytest.param(case, id=str(case)) for case in CASES if not any(word in case.name for word in NARROW)]
)
def test_every_piece_of_the_source_can_reach_the_output(case: Case) -> None:
    model, given = case.build(), batch(case)
    leaves: list[Tensor] = []
    with replace(model, read_embedding(case), lambda embedded: leaf(embedded, leaves)):
        whole(case, model, given).square().sum().backward()
    reached = leaves[0].grad.abs().sum(-1) > 0
    assert reached[:, :SOURCE][given.real].all()


def leaf(embedded: Tensor, leaves: list[Tensor]) -> Tensor:
    """The same numbers with a gradient of their own."""
    leaves.append(embedded.detach().clone().requires_grad_())
    return leaves[-1]


@quickly
@every_case
def test_watching_changes_not_a_bit_of_output_or_gradient(case: Case) -> None:
    model, given = case.build(), batch(case)
    before = copy.deepcopy(model.state_dict())

    def call() -> Loss:
        return loss(case, model, given)

    for training in (True, False):
        model.train(training)
        unwatched = with_gradients(model, 3, call)
        # Batch norm keeps statistics of what it saw.
        model.load_state_dict(before)
        with record(model, "*") as seen:
            watched = with_gradients(model, 3, call)
        model.load_state_dict(before)
        assert unwatched.keys() == watched.keys()
        assert [name for name in unwatched if not torch.equal(unwatched[name], watched[name])] == []
        checked = [entry for entry in seen if entry.name.endswith(".weights")]
        assert len(seen) > len(checked)
        assert all(entry.check is not None for entry in checked)


@quickly
@every_case
@torch.no_grad()
def test_watching_changes_not_a_bit_of_a_step(case: Case) -> None:
    model, given = case.build(), batch(case)
    started = model.start(given.source, given.real)
    rows = torch.arange(BATCH).repeat_interleave(BEAMS)
    first = started.first[rows]
    found, state = model.step(first, started.state.select(rows))
    unwatched = [found, model.step(first, state)[0]]
    with record(model, "*") as seen:
        found, state = model.step(first, started.state.select(rows))
        watched = [found, model.step(first, state)[0]]
    assert all(torch.equal(one, other) for one, other in zip(unwatched, watched, strict=True))
    assert seen


@quickly
@every_case
def test_a_text_of_nothing_but_padding_harms_nobody(case: Case) -> None:
    model = case.build()
    given = begun(case, batch(case, (SOURCE, 3, 0)))
    found = with_gradients(model, 0, lambda: loss(case, model, given))
    assert all(gradient.isfinite().all() for gradient in found.values())
    with torch.no_grad():
        together = whole(case, model, given)
        assert together.isfinite().all()
        assert_near(together[:2], whole(case, model, given.rows([0, 1])))
        assert_near(stepwise(model, given), together)


@quickly
@every_case
@pytest.mark.parametrize("lengths", [(SOURCE, 2, 3), (SOURCE, 2, 0)], ids=["ragged", "one empty"])
def test_padding_gets_exactly_no_gradient(case: Case, lengths: tuple[int, ...]) -> None:
    model = case.build().train()
    given = begun(case, batch(case, lengths))
    leaves: list[Tensor] = []
    with replace(model, read_embedding(case), lambda embedded: leaf(embedded, leaves)):
        loss(case, model, given).total.backward()
    real = given.real if case.reads else texts(given).real
    gradient = leaves[0].grad
    assert gradient.isfinite().all()
    assert torch.equal(gradient[~real], torch.zeros_like(gradient[~real]))
    assert gradient[real].abs().sum() > 0


@quickly
@every_case
@torch.no_grad()
def test_what_a_source_shares_is_never_copied_for_its_hypotheses(case: Case) -> None:
    model, given = case.build(), batch(case)
    started = model.start(given.source, given.real)
    shared = list(tensors(started.state.shared))
    assert bool(shared) == case.reads
    assert all(tensor.shape[0] == BATCH for tensor in shared)
    rows = torch.arange(BATCH).repeat_interleave(BEAMS)
    state = started.state.select(rows)
    assert state.shared is started.state.shared
    _, state = model.step(started.first[rows], state)
    assert state.shared is started.state.shared
    assert all(one is other for one, other in zip(tensors(state.shared), shared, strict=True))


@quickly
@every_case
@torch.no_grad()
def test_parameters_and_the_seed_make_the_model(case: Case) -> None:
    given = batch(case)
    first, same, other = case.build(0), case.build(0), case.build(1)
    expected = whole(case, first, given)
    assert torch.equal(whole(case, same, given), expected)
    assert not torch.allclose(whole(case, other, given), expected)
    other.load_state_dict(first.state_dict())
    assert torch.equal(whole(case, other, given), expected)


@quickly
@every_case
def test_the_loss_of_a_batch_is_the_sum_of_its_parts(case: Case) -> None:
    """In float64, where rounding does not hide a difference."""
    model, given = case.build().double(), batch(case)
    together = with_gradients(model, 0, lambda: loss(case, model, given))
    apart = with_gradients(model, 0, lambda: loss(case, model, given.rows([0, 2])) + loss(case, model, given.alone(1)))
    assert together.keys() == apart.keys()
    for name, expected in together.items():
        assert_close(apart[name], expected, atol=1e-9, rtol=1e-9)


@quickly
@every_case
def test_the_loss_is_that_of_the_log_probabilities(case: Case) -> None:
    model, given = case.build(), batch(case)
    with torch.no_grad():
        found, expected = loss(case, model, given, smoothing=0.0), whole(case, model, given)
    after = torch.cat([given.target[:, 1:], torch.full((BATCH, 1), case.vocabulary.end)], dim=1)
    assert_near(found.total, -expected.gather(2, after[..., None]).sum())
    assert int(found.count) == int((wanted(case, given) >= 0).sum()) == BATCH * TARGET


@quickly
@every_case
@torch.no_grad()
def test_log_probabilities_are_those_of_a_distribution(case: Case) -> None:
    model, given = case.build(), begun(case, batch(case, (SOURCE, 2, 0)))
    found = whole(case, model, given)
    assert_near(found.exp().sum(-1), torch.ones(BATCH, TARGET))


@every_case
def test_every_parameter_is_learned(case: Case) -> None:
    model, given = case.build(), batch(case)
    in_training(model, 0, lambda: loss(case, model, given))
    learned = {name: parameter.grad for name, parameter in model.named_parameters() if parameter.requires_grad}
    assert [name for name, gradient in learned.items() if gradient is None] == []
    assert [name for name, gradient in learned.items() if not gradient.any()] == []
