"""Products of what changes with every update: torch's numbers whichever way matrices lie, and layers that take them."""

from contextlib import suppress

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from regard.attention import record
from regard.models import Vocabulary, build
from regard.nn import chunked_cross_entropy, native
from regard.nn.native import multiplying
from regard.nn.native.multiplying import Multiplied, add_product, product, product_into
from regard.train.recomputing import Recomputed

needed = pytest.mark.skipif(not native.ready(), reason="there is no compiler here")
sizes = st.integers(1, 90)


@pytest.fixture(autouse=True)
def on_such_a_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(multiplying, "faster", lambda: True)
    monkeypatch.setattr(multiplying, "FEW", 0)


def lying(rows: int, columns: int, way: str) -> Tensor:
    """In rows, in columns, or as a part of something larger."""
    made = {
        "rows": lambda: torch.randn(rows, columns),
        "columns": lambda: torch.randn(columns, rows).T,
        "part": lambda: torch.randn(rows + 2, columns + 3)[1:-1, 2:-1],
    }
    return made[way]()


def near(found: Tensor, wanted: Tensor, inner: int) -> None:
    torch.testing.assert_close(found.double(), wanted, atol=2e-6 * inner**0.5 + 1e-6, rtol=1e-5)


@needed
@given(
    rows=sizes,
    inner=st.integers(1, 600),
    columns=sizes,
    ways=st.tuples(*[st.sampled_from(["rows", "columns", "part"])] * 2),
    bias=st.booleans(),
    seed=st.integers(0, 10**6),
)
@torch.no_grad()
def test_a_product_is_a_product_however_matrices_lie(
    rows: int, inner: int, columns: int, ways: tuple[str, str], bias: bool, seed: int
) -> None:
    torch.manual_seed(seed)
    a, b = lying(rows, inner, ways[0]), lying(inner, columns, ways[1])
    more = torch.randn(columns) if bias else None
    wanted = a.double() @ b.double() + (0.0 if more is None else more.double())
    out, total = torch.full((rows, columns), torch.nan), torch.randn(rows, columns)
    near(product_into(a, b, out, more), wanted, inner)
    near(product(a, b), a.double() @ b.double(), inner)
    before = total.double()
    add_product(total, a, b)
    near(total, before + a.double() @ b.double(), inner)


@needed
@torch.no_grad()
def test_long_sums_round_no_worse_than_torchs() -> None:
    a, b = torch.randn(64, 8000), torch.randn(8000, 64)
    exact = a.double() @ b.double()
    assert (product(a, b) - exact).abs().max() <= 2 * (a @ b - exact).abs().max()


@needed
@pytest.mark.parametrize("threads", [2, 3, 5])
@torch.no_grad()
def test_threads_change_no_bit(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for rows, inner, columns in [(300, 70, 130), (9, 2000, 300), (2000, 128, 64)]:
        a, b = torch.randn(rows, inner), torch.randn(inner, columns)
        monkeypatch.setattr(torch, "get_num_threads", lambda: 1)
        alone = product(a, b)
        monkeypatch.setattr(torch, "get_num_threads", lambda: threads)
        assert torch.equal(product(a, b), alone)


@needed
@torch.no_grad()
def test_what_is_no_number_stays_none_and_alone() -> None:
    a, b = torch.randn(20, 30), torch.randn(30, 40)
    a[3, 4], b[5, 6] = torch.nan, torch.inf
    found = product(a, b)
    assert torch.equal(found.isfinite(), (a @ b).isfinite())


@pytest.mark.parametrize("maker", ["GenuineIntel", ""])
def test_where_mkl_is_at_home_it_multiplies(maker: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    monkeypatch.setattr(multiplying, "_maker", lambda: maker)
    monkeypatch.setattr(torch.cpu, "_is_avx2_supported", lambda: True)
    assert not multiplying.faster.__wrapped__()


# --- layers -----------------------------------------------------------------------------------------------------------


def small() -> nn.Module:
    settings = {"width": 16, "layers": 1, "attention": {"heads": 2}, "feedforward": {"hidden": 32}}
    return build("transformer", settings, Vocabulary(30, 30, 1, 2))


SOURCE, TARGET = torch.randint(3, 30, (4, 7)), torch.randint(3, 30, (4, 5))


def learned(model: nn.Module) -> list[Tensor]:
    model.zero_grad()
    hidden = model(SOURCE, TARGET).hidden.flatten(0, 1)
    torch.manual_seed(0)
    weight = torch.randn(30, 16, requires_grad=True)
    loss = chunked_cross_entropy(hidden, weight, None, TARGET.flatten(), 0.1).total
    loss.backward()
    assert weight.grad is not None
    # Those of what only reads logits are none here.
    return [loss.detach(), weight.grad, *(each.grad for each in model.parameters() if each.grad is not None)]


@needed
def test_layers_that_take_them_learn_what_they_would_and_being_watched_changes_no_bit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model, taken, made = small().eval(), [], multiplying._made
    monkeypatch.setattr(multiplying, "_made", lambda *given, **rest: taken.append(given) or made(*given, **rest))
    with native.without():
        wanted = learned(model)
    assert not taken
    with Multiplied(model).used():
        found = learned(model)
        # Each layer forward and back, twice over, and the loss.
        assert len(taken) == 3 * sum(type(each) is nn.Linear for each in model.modules()) + 3
        with record(model, "*.weights") as seen:
            watched = learned(model)
    for one, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-4)
    assert all(map(torch.equal, found, watched))
    assert seen


@needed
def test_hooks_are_called_and_nothing_stays_behind() -> None:
    layer = nn.Linear(8, 8)
    shapes: list[torch.Size] = []
    layer.register_forward_hook(lambda module, given, out: shapes.append(out.shape))
    with suppress(ZeroDivisionError), Multiplied(layer).used():
        layer(torch.randn(3, 2, 8))
        _ = 1 // 0
    assert shapes == [torch.Size([3, 2, 8])]
    assert "forward" not in vars(layer)


@needed
def test_a_second_derivative_is_the_right_one() -> None:
    layer, x = nn.Linear(5, 4), torch.randn(3, 5)

    def second() -> Tensor:
        given = x.clone().requires_grad_()
        (first,) = torch.autograd.grad(layer(given).pow(3).sum(), given, create_graph=True)
        return torch.autograd.grad(first.square().sum(), given)[0]

    wanted = second()
    with Multiplied(layer).used():
        torch.testing.assert_close(second(), wanted)


@needed
@pytest.mark.parametrize("given", [torch.randn(3, 8).double(), torch.randn(8), torch.randn(0, 8)])
def test_what_they_are_not_for_is_torchs(given: Tensor) -> None:
    layer = nn.Linear(8, 4).to(given.dtype)
    wanted = layer(given)
    with Multiplied(layer).used():
        assert torch.equal(layer(given), wanted)


@needed
def test_frozen_layers_and_inputs_without_gradient_get_none() -> None:
    layer, x = nn.Linear(8, 4), torch.randn(3, 8, requires_grad=True)
    layer.weight.requires_grad_(False)
    with Multiplied(layer).used():
        layer(x).sum().backward()
    assert layer.weight.grad is None
    assert layer.bias.grad is not None
    torch.testing.assert_close(x.grad, layer.weight.sum(0).expand(3, -1))


@needed
@torch.no_grad()
def test_what_does_not_fit_is_left_to_torch_to_tell() -> None:
    a, b = torch.randn(20, 30), torch.randn(30, 40)
    assert multiplying.multiplies(a, b)
    assert multiplying._holds(torch.empty(20, 40), a, b)
    assert not multiplying.multiplies(a, b[1:])
    assert not multiplying._holds(torch.empty(20, 39), a, b)


@needed
def test_a_layer_refuses_vectors_of_another_width() -> None:
    layer = nn.Linear(30, 40)
    with Multiplied(layer).used(), pytest.raises(RuntimeError, match="cannot be multiplied"):
        layer(torch.randn(20, 29))


@needed
@pytest.mark.parametrize("shape", [(3, 8), (2, 3, 8)])
def test_what_layers_give_may_be_written_to(shape: tuple[int, ...]) -> None:
    layer, x = nn.Linear(8, 8), torch.randn(shape, requires_grad=True)
    wanted = torch.autograd.grad(torch.relu(layer(x)).sum(), [x, layer.weight])
    with Multiplied(layer).used():
        found = torch.autograd.grad(torch.relu_(layer(x)).sum(), [x, layer.weight])
    for one, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(one, other)


@needed
def test_a_layer_with_a_way_of_its_own_keeps_it() -> None:
    layer = nn.Linear(8, 8)
    layer.forward = lambda x: x + 1  # type: ignore[method-assign]
    with Multiplied(layer).used():
        assert torch.equal(layer(torch.zeros(2, 8)), torch.ones(2, 8))
    assert torch.equal(layer(torch.zeros(2, 8)), torch.ones(2, 8))


@needed
def test_layers_that_are_computed_twice_multiply_by_them_both_times(monkeypatch: pytest.MonkeyPatch) -> None:
    stack, taken, made = nn.ModuleList([nn.Linear(8, 8)]), [], multiplying._made
    monkeypatch.setattr(multiplying, "_made", lambda *given, **rest: taken.append(given) or made(*given, **rest))
    multiplied, recomputed = Multiplied(stack), Recomputed(stack)
    with multiplied.used(), multiplied.used():
        for _ in range(2):
            with recomputed.used():
                stack[0](torch.randn(3, 8)).square().sum().backward()
    # Forward, again, and the weights' gradient, for two batches.
    assert len(taken) == 6
    assert "forward" not in vars(stack[0])


@needed
def test_a_frozen_layer_keeps_nothing_of_what_it_read() -> None:
    layer, x = nn.Linear(8, 8).requires_grad_(False), torch.randn(3, 8, requires_grad=True)
    kept: list[torch.Size] = []

    def keep(tensor: Tensor) -> Tensor:
        kept.append(tensor.shape)
        return tensor

    with Multiplied(layer).used(), torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        layer(x)
    assert kept == [layer.weight.shape]


@needed
def test_what_torch_func_transforms_is_torchs() -> None:
    layer, x = nn.Linear(8, 4), torch.randn(5, 3, 8)
    with Multiplied(layer).used():
        found = torch.vmap(layer)(x)
        slope = torch.func.grad(lambda given: layer(given).sum())(x)
    torch.testing.assert_close(found, layer(x))
    torch.testing.assert_close(slope, layer.weight.sum(0).expand_as(x))


@needed
@torch.no_grad()
def test_the_usual_kind_of_number_is_not_asked() -> None:
    a, b, layer = torch.randn(20, 30), torch.randn(30, 40), nn.Linear(30, 40)
    wanted = a @ b, layer(a)
    torch.set_default_dtype(torch.float64)
    try:
        with Multiplied(layer).used():
            found = product(a, b), layer(a)
    finally:
        torch.set_default_dtype(torch.float32)
    for one, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(one, other)
