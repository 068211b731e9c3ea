"""The same loss and gradients in every form, in chunks of any size, and however a batch is split."""

from itertools import pairwise

import jaxtyping
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.autograd import gradcheck
from torch.nn import functional as F
from torch.utils._python_dispatch import TorchDispatchMode

from regard.errors import ModelError
from regard.nn.agreement import agreeing_cross_entropy
from regard.nn.losses import IGNORE, Loss, chunked_cross_entropy, distribution_loss, smoothed_cross_entropy

TOLERANCE = {torch.float64: {"rtol": 1e-12, "atol": 1e-12}, torch.float32: {"rtol": 1e-5, "atol": 1e-5}}


def output_layer(
    positions: int = 7, width: int = 3, pieces: int = 5, dtype: torch.dtype = torch.float64, seed: int = 0
) -> list[Tensor]:
    """Hidden states, weight and bias that ask for gradients, and targets of which one is ignored."""
    random = torch.Generator().manual_seed(seed)
    shapes = [(positions, width), (pieces, width), (pieces,)]
    tensors = [torch.randn(shape, dtype=dtype, generator=random).requires_grad_() for shape in shapes]
    targets_N = torch.randint(pieces, (positions,), generator=random)
    targets_N[positions // 2] = IGNORE
    return [*tensors, targets_N]


def plain(hidden: Tensor, weight: Tensor, bias: Tensor | None, targets: Tensor, smoothing: float = 0.0) -> Loss:
    return smoothed_cross_entropy(F.linear(hidden, weight, bias), targets, smoothing)


def gradients(loss: Loss, *inputs: Tensor) -> tuple[Tensor, ...]:
    return torch.autograd.grad(loss.total, inputs)


def assert_same(left: Loss, right: Loss, dtype: torch.dtype = torch.float64) -> None:
    torch.testing.assert_close(left.total, right.total, **TOLERANCE[dtype])
    torch.testing.assert_close(left.nll, right.nll, **TOLERANCE[dtype])
    assert left.count == right.count


class Shapes(TorchDispatchMode):
    """Notes the shape of every tensor any operation makes."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: set[tuple[int, ...]] = set()

    def __torch_dispatch__(self, function, types, arguments=(), keywords=None):
        result = function(*arguments, **(keywords or {}))
        self.seen |= {tuple(made.shape) for made in torch.utils._pytree.tree_leaves(result) if isinstance(made, Tensor)}
        return result


@pytest.fixture
def unchecked(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a user sees: outside tests nobody checks the shapes in signatures."""
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_plain_form_means_what_torch_means(smoothing: float) -> None:
    hidden_ND, weight_VD, bias_V, targets_N = output_layer()
    logits_NV = F.linear(hidden_ND, weight_VD, bias_V)
    loss = smoothed_cross_entropy(logits_NV, targets_N, smoothing)
    expected = F.cross_entropy(logits_NV, targets_N, reduction="sum", label_smoothing=smoothing)
    torch.testing.assert_close(loss.total, expected)
    torch.testing.assert_close(loss.nll, F.cross_entropy(logits_NV, targets_N, reduction="sum").detach())
    torch.testing.assert_close(loss.mean, F.cross_entropy(logits_NV, targets_N, label_smoothing=smoothing))
    assert loss.count == 6


@given(
    positions=st.integers(1, 9),
    chunk=st.none() | st.integers(1, 10),
    smoothing=st.sampled_from([0.0, 0.1, 0.9]),
    biased=st.booleans(),
    dtype=st.sampled_from([torch.float64, torch.float32]),
    seed=st.integers(0, 9),
)
def test_chunks_of_any_size_give_the_plain_loss_and_gradients(positions, chunk, smoothing, biased, dtype, seed) -> None:
    hidden_ND, weight_VD, bias_V, targets_N = output_layer(positions, dtype=dtype, seed=seed)
    bias_V = bias_V if biased else None
    inputs = [tensor for tensor in (hidden_ND, weight_VD, bias_V) if tensor is not None]
    expected = plain(hidden_ND, weight_VD, bias_V, targets_N, smoothing)
    loss = chunked_cross_entropy(hidden_ND, weight_VD, bias_V, targets_N, smoothing, chunk=chunk)
    assert_same(loss, expected, dtype)
    for ours, theirs in zip(gradients(loss, *inputs), gradients(expected, *inputs), strict=True):
        torch.testing.assert_close(ours, theirs, **TOLERANCE[dtype])


@given(cuts=st.lists(st.integers(0, 12), max_size=4), chunk=st.integers(1, 5), smoothing=st.sampled_from([0.0, 0.2]))
def test_parts_of_a_batch_add_up_to_the_batch(cuts: list[int], chunk: int, smoothing: float) -> None:
    hidden_ND, weight_VD, bias_V, targets_N = output_layer(positions=12)
    whole = chunked_cross_entropy(hidden_ND, weight_VD, bias_V, targets_N, smoothing, chunk=chunk)
    edges = sorted({0, 12, *cuts})
    parts = [
        chunked_cross_entropy(hidden_ND[start:stop], weight_VD, bias_V, targets_N[start:stop], smoothing, chunk=chunk)
        for start, stop in pairwise(edges)
    ]
    assert_same(sum(parts[1:], parts[0]), whole)
    accumulated = [torch.zeros_like(tensor) for tensor in (hidden_ND, weight_VD, bias_V)]
    for part in parts:
        for total, gradient in zip(accumulated, gradients(part, hidden_ND, weight_VD, bias_V), strict=True):
            total += gradient
    for total, gradient in zip(accumulated, gradients(whole, hidden_ND, weight_VD, bias_V), strict=True):
        torch.testing.assert_close(total, gradient, **TOLERANCE[torch.float64])


@pytest.mark.parametrize("smoothing", [0.0, 0.3])
@pytest.mark.parametrize("biased", [True, False])
def test_chunked_gradients_are_the_numerical_ones(smoothing: float, biased: bool) -> None:
    hidden_ND, weight_VD, bias_V, targets_N = output_layer(positions=5)

    def total(hidden: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        return chunked_cross_entropy(hidden, weight, bias, targets_N, smoothing, chunk=2).total

    assert gradcheck(total, (hidden_ND, weight_VD, bias_V) if biased else (hidden_ND, weight_VD))


def test_gradients_grow_with_what_the_loss_is_multiplied_by_and_survive_a_second_backward() -> None:
    hidden_ND, weight_VD, bias_V, targets_N = output_layer()
    loss = chunked_cross_entropy(hidden_ND, weight_VD, bias_V, targets_N, 0.1, chunk=2)
    once = torch.autograd.grad(loss.total, [hidden_ND, weight_VD, bias_V], retain_graph=True)
    thrice = torch.autograd.grad(3 * loss.total, [hidden_ND, weight_VD, bias_V])
    for small, large in zip(once, thrice, strict=True):
        torch.testing.assert_close(3 * small, large)


@pytest.mark.parametrize("frozen", [{0}, {1}, {2}, {0, 1}, {1, 2}])
def test_frozen_inputs_get_no_gradient_and_change_no_other(frozen: set[int]) -> None:
    *inputs, targets_N = output_layer()
    expected = gradients(plain(*inputs, targets_N, 0.1), *inputs)
    for index in frozen:
        inputs[index] = inputs[index].detach()
    chunked_cross_entropy(*inputs, targets_N, 0.1, chunk=3).total.backward()
    for index, (tensor, gradient) in enumerate(zip(inputs, expected, strict=True)):
        if index in frozen:
            assert tensor.grad is None
        else:
            torch.testing.assert_close(tensor.grad, gradient)


def test_ignored_positions_get_exactly_no_gradient_whatever_stands_there() -> None:
    hidden_ND, weight_VD, bias_V, targets_N = output_layer()
    ignored_N = targets_N == IGNORE
    spoiled_ND = hidden_ND.detach().masked_fill(ignored_N[:, None], torch.nan).requires_grad_()
    loss = chunked_cross_entropy(spoiled_ND, weight_VD, bias_V, targets_N, 0.1, chunk=2)
    assert_same(loss, plain(hidden_ND, weight_VD, bias_V, targets_N, 0.1))
    gradient_ND, *others = gradients(loss, spoiled_ND, weight_VD, bias_V)
    assert (gradient_ND[ignored_N] == 0).all()
    assert all(gradient.isfinite().all() for gradient in [gradient_ND, *others])


def test_the_ignored_number_can_be_a_piece() -> None:
    hidden_ND, weight_VD, bias_V, targets_N = output_layer()
    padded_N = targets_N.masked_fill(targets_N == IGNORE, 0)
    marked_N = targets_N.masked_fill(targets_N == 0, IGNORE)
    assert_same(
        chunked_cross_entropy(hidden_ND, weight_VD, bias_V, padded_N, 0.1, ignore=0),
        plain(hidden_ND, weight_VD, bias_V, marked_N, 0.1),
    )


@pytest.mark.parametrize("form", [plain, chunked_cross_entropy])
def test_nothing_counted_gives_zero_loss_zero_mean_and_zero_gradients(form) -> None:
    *inputs, targets_N = output_layer()
    loss = form(*inputs, torch.full_like(targets_N, IGNORE), 0.1)
    assert (loss.total, loss.count, loss.nll, loss.mean) == (0, 0, 0, 0)
    assert all((gradient == 0).all() for gradient in gradients(loss, *inputs))


def test_no_tensor_holds_the_logits_of_all_positions() -> None:
    *inputs, targets_N = output_layer(positions=64, width=3, pieces=50)
    with Shapes() as shapes:
        chunked_cross_entropy(*inputs, targets_N, 0.1, chunk=4).total.backward()
    rows_of_logits = {shape[0] for shape in shapes.seen if shape[1:] == (50,)}
    assert rows_of_logits == {3, 4}  # 63 targets count


def test_evaluation_computes_no_gradient() -> None:
    hidden_ND, weight_VD, bias_V, targets_N = output_layer(positions=4)
    with torch.no_grad(), Shapes() as shapes:
        loss = chunked_cross_entropy(hidden_ND, weight_VD, bias_V, targets_N, 0.1, chunk=2)
    assert not loss.total.requires_grad
    assert weight_VD.shape not in shapes.seen
    assert_same(loss, plain(hidden_ND, weight_VD, bias_V, targets_N, 0.1))


def test_a_second_derivative_is_refused_with_a_way_out() -> None:
    hidden_ND, weight_VD, bias_V, targets_N = output_layer()
    loss = chunked_cross_entropy(hidden_ND, weight_VD, bias_V, targets_N)
    with pytest.raises(ModelError, match="no second derivative; use smoothed_cross_entropy on the logits"):
        torch.autograd.grad(loss.total, hidden_ND, create_graph=True)


@pytest.mark.parametrize("form", [plain, chunked_cross_entropy])
def test_huge_logits_stay_finite(form) -> None:
    hidden_ND, weight_VD, bias_V, targets_N = output_layer(dtype=torch.float32)
    loss = form(hidden_ND * 1e6, weight_VD, bias_V, targets_N, 0.1)
    assert loss.total.isfinite()
    assert all(gradient.isfinite().all() for gradient in gradients(loss, hidden_ND, weight_VD, bias_V))


def test_a_confident_prediction_keeps_the_digits_of_its_small_loss() -> None:
    hidden_ND = torch.ones(1, 1)
    weight_VD = torch.tensor([[1000.0], [990.0]])
    loss = chunked_cross_entropy(hidden_ND, weight_VD, None, torch.tensor([0]))
    torch.testing.assert_close(loss.nll, torch.tensor(-10.0).exp().log1p(), rtol=0.01, atol=0)


def test_the_same_call_twice_gives_the_same_bits() -> None:
    *inputs, targets_N = output_layer(positions=64, width=16, pieces=100, dtype=torch.float32)
    losses = [chunked_cross_entropy(*inputs, targets_N, 0.1, chunk=16) for _ in range(2)]
    assert losses[0].total == losses[1].total
    for first, second in zip(*(gradients(loss, *inputs) for loss in losses), strict=True):
        assert torch.equal(first, second)


def test_autocast_gives_what_a_linear_layer_under_autocast_gives() -> None:
    *inputs, targets_N = output_layer(positions=40, width=16, pieces=30, dtype=torch.float32)
    with torch.autocast("cpu", torch.bfloat16):
        expected = plain(*inputs, targets_N, 0.1)
        loss = chunked_cross_entropy(*inputs, targets_N, 0.1, chunk=8)
    assert loss.total.dtype == torch.float32
    torch.testing.assert_close(loss.total, expected.total, rtol=1e-2, atol=0)
    for ours, theirs in zip(gradients(loss, *inputs), gradients(expected, *inputs), strict=True):
        assert ours.dtype == torch.float32
        torch.testing.assert_close(ours, theirs, rtol=3e-2, atol=3e-2)


def test_many_small_chunks_lose_no_digits_in_half_precision() -> None:
    hidden_ND = torch.ones(600, 1, dtype=torch.bfloat16)
    weight_VD = torch.zeros(2, 1, dtype=torch.bfloat16, requires_grad=True)
    loss = chunked_cross_entropy(hidden_ND, weight_VD, None, torch.zeros(600, dtype=torch.long), chunk=1)
    assert gradients(loss, weight_VD)[0].flatten().tolist() == [-300, 300]


def agreeing(hidden, weight, bias, targets, agreement: float, smoothing: float) -> Loss:
    """As the paper writes it, by torch's own divergence."""
    half = len(hidden) // 2
    counted = targets != IGNORE
    logits = [F.linear(one, weight, bias)[counted] for one in (hidden[:half], hidden[half:])]
    losses = [smoothed_cross_entropy(one, targets[counted], smoothing) for one in logits]
    p, q = (one.log_softmax(-1) for one in logits)
    apart = sum(F.kl_div(one, other, reduction="sum", log_target=True) for one, other in ((p, q), (q, p)))
    total = (losses[0].total + losses[1].total + agreement * apart / 2) / 2
    return Loss(total, losses[0].count, (losses[0].nll + losses[1].nll) / 2)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("chunk", [1, 4, None])
def test_two_readings_cost_what_both_cost_and_what_sets_them_apart(chunk: int | None, smoothing: float) -> None:
    torch.manual_seed(4)
    inputs = [torch.randn(12, 3), torch.randn(7, 3), torch.randn(7)]
    targets = torch.tensor([0, 6, IGNORE, 2, 2, 5])
    twice = [[one.clone().double().requires_grad_() for one in inputs] for _ in range(2)]
    found = agreeing_cross_entropy(*twice[0], targets, 5.0, smoothing, chunk=chunk)
    wanted = agreeing(*twice[1], targets, 5.0, smoothing)
    torch.testing.assert_close((found.total, found.count, found.nll), (wanted.total, wanted.count, wanted.nll.detach()))
    (3 * found.total).backward()
    (3 * wanted.total).backward()
    torch.testing.assert_close([one.grad for one in twice[0]], [one.grad for one in twice[1]])


def test_two_equal_readings_cost_what_one_costs() -> None:
    hidden, weight, targets = torch.randn(5, 3), torch.randn(7, 3), torch.tensor([0, 6, IGNORE, 2, 2])
    found = agreeing_cross_entropy(torch.cat([hidden, hidden]), weight, None, targets, 5.0, 0.1)
    wanted = chunked_cross_entropy(hidden, weight, None, targets, 0.1)
    torch.testing.assert_close((found.total, found.count, found.nll), (wanted.total, wanted.count, wanted.nll))


def test_two_readings_have_every_position_twice() -> None:
    with pytest.raises(ModelError, match=r"5 states are not two readings of 3 targets"):
        agreeing_cross_entropy(torch.randn(5, 3), torch.randn(7, 3), None, torch.tensor([0, 1, 2]), 5.0)


def test_log_probabilities_give_the_loss_of_their_logits() -> None:
    hidden_ND, weight_VD, bias_V, targets_N = output_layer()
    logits_NV = F.linear(hidden_ND, weight_VD, bias_V)
    loss = distribution_loss(logits_NV.log_softmax(-1), targets_N, 0.1)
    assert_same(loss, smoothed_cross_entropy(logits_NV, targets_N, 0.1))
    assert gradcheck(lambda logits: distribution_loss(logits.log_softmax(-1), targets_N, 0.1).total, logits_NV)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_impossible_pieces_change_nothing(smoothing: float) -> None:
    log_NV = torch.randn(4, 5, dtype=torch.float64).log_softmax(-1).requires_grad_()
    targets_N = torch.tensor([0, 4, 2, IGNORE])
    wider_NV = F.pad(log_NV, (0, 3), value=-torch.inf)
    expected, loss = distribution_loss(log_NV, targets_N, smoothing), distribution_loss(wider_NV, targets_N, smoothing)
    assert_same(loss, expected)
    torch.testing.assert_close(gradients(loss, log_NV), gradients(expected, log_NV))


def test_an_impossible_target_costs_a_hundred_nats_and_no_gradient() -> None:
    log_NV = torch.tensor([[-torch.inf, 0.0]], requires_grad=True)
    loss = distribution_loss(log_NV, torch.tensor([0]))
    assert loss.total == 100
    assert (gradients(loss, log_NV)[0] == 0).all()


def test_an_unlikely_target_keeps_its_gradient() -> None:
    log_NV = torch.tensor([[-300.0, 0.0]], requires_grad=True)
    assert gradients(distribution_loss(log_NV, torch.tensor([0])), log_NV)[0].tolist() == [[-1.0, 0.0]]


def test_a_nan_is_not_hidden() -> None:
    assert distribution_loss(torch.full((1, 2), torch.nan), torch.tensor([0]), 0.1).total.isnan()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"targets": torch.zeros(3)}, r"Targets of type torch\.float32 cannot name pieces; give whole numbers"),
        ({"targets": torch.zeros(4, dtype=torch.long)}, r"3 positions but targets of shape \[4\]; give one per"),
        ({"targets": torch.tensor([0, 5, 1])}, "Target 5 names none of the 5 pieces, which count from 0 to 4; mark"),
        ({"targets": torch.tensor([0, -1, 1])}, "Target -1 names none of the 5 pieces"),
        ({"smoothing": 1.0}, r"smoothing = 1\.0 is no share of the probability; give at least 0 and less than 1"),
        ({"smoothing": -0.1}, r"smoothing = -0\.1"),
        ({"hidden": torch.zeros(3, 4)}, r"Hidden states of width 4 but an output weight of shape \[5, 2\]; give"),
        ({"hidden": torch.zeros(1, 3, 2)}, r"hidden states have shape \[1, 3, 2\]; flatten the positions"),
        ({"hidden": torch.zeros(3, 2).double()}, r"Hidden states are torch\.float64 but the output weight is"),
        ({"bias": torch.zeros(4)}, r"5 pieces but a bias of shape \[4\]; give one number per piece"),
        ({"chunk": 0}, "chunk = 0 holds no position; give 1 or more"),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_what_cannot_be_is_refused_in_one_sentence(change: dict[str, object], message: str) -> None:
    fitting = {
        "hidden": torch.zeros(3, 2),
        "weight": torch.zeros(5, 2),
        "bias": torch.zeros(5),
        "targets": torch.tensor([0, 4, 1]),
    }
    assert chunked_cross_entropy(**fitting).count == 3
    with pytest.raises(ModelError, match=message):
        chunked_cross_entropy(**(fitting | change))


@pytest.mark.usefixtures("unchecked")
def test_the_plain_form_refuses_the_same_mistakes() -> None:
    with pytest.raises(ModelError, match=r"log-probabilities have shape \[1, 3, 2\]"):
        smoothed_cross_entropy(torch.zeros(1, 3, 2), torch.zeros(3, dtype=torch.long))
    with pytest.raises(ModelError, match="Target 2 names none of the 2 pieces"):
        smoothed_cross_entropy(torch.zeros(1, 2), torch.tensor([2]))
