"""LoRA: nothing changes when it is put on, what is learned is folded in exactly, and what is frozen stays."""

import copy
from collections.abc import Callable
from typing import Any

import jaxtyping
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.testing import assert_close

from regard.errors import ConfigError, ModelError
from regard.nn import Lora, LoraSettings, adapt, merge
from regard.nn.lora import folded
from regard.nn.parameters import named
from tests.contracts import models, test_encoders

# Whatever changes which linear layers there are, or how they are used; and one of every model.
WORDS = ("one_hot", "rotary", "joint, groups", "copying", "gated", "quer", "narrow", "Llama", "GPT", "output")
WORDS += ("batch", "self-attention", "no attention", "own past", "two vocabularies, u", "chunked", "monotonic")
FIRST = {case.model: case for case in reversed(models.CASES)}
CASES = [case for case in models.CASES if case in FIRST.values() or any(word in case.name for word in WORDS)]


class Twice(nn.Module):
    """A layer that stands in two places, and one whose matrix is read directly."""

    def __init__(self) -> None:
        super().__init__()
        self.query = nn.Linear(4, 4)
        self.again = nn.Sequential(self.query, nn.Tanh())
        self.read = nn.Linear(4, 3, bias=False)
        self.head = nn.Linear(3, 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.again(self.query(x)) @ self.read.weight.t())


def moved(model: nn.Module) -> None:
    """Move what adapts off its start, as training would."""
    with torch.no_grad():
        for module in model.modules():
            if isinstance(module, Lora):
                module.up.normal_(0.0, 0.2)
                module.down.add_(0.1 * torch.randn_like(module.down))


def linears(model: nn.Module) -> tuple[str, ...]:
    """The last steps of the names of all linear layers."""
    every = model.named_modules(remove_duplicate=False)
    return tuple(sorted({name.rpartition(".")[2] for name, module in every if isinstance(module, nn.Linear)}))


def same(one: dict[str, Tensor], other: dict[str, Tensor]) -> bool:
    return list(one) == list(other) and all(torch.equal(one[name], other[name]) for name in one)


def copied(model: nn.Module) -> dict[str, Tensor]:
    return {name: tensor.clone() for name, tensor in named(model).items()}


@pytest.mark.parametrize("on", ["query", "read", "head"])
def test_what_was_adapted_computes_and_learns_through_every_use_of_the_matrix(on: str) -> None:
    model, x = Twice().double(), torch.randn(5, 4, dtype=torch.float64)
    plain = model(x)
    adapt(model, LoraSettings(rank=2, on=(on,)))
    assert torch.equal(model(x), plain)
    moved(model)
    adapted = model(x)
    assert (adapted - plain).abs().max() > 1e-3
    adapted.pow(2).sum().backward()
    layer = getattr(model, on)
    assert layer.up.grad.abs().sum() > 0
    assert layer.down.grad.abs().sum() > 0
    assert [name for name, tensor in model.named_parameters() if tensor.grad is not None] == [f"{on}.down", f"{on}.up"]
    merge(model)
    assert_close(model(x), adapted, atol=1e-12, rtol=0.0)


def test_a_layer_in_two_places_is_adapted_once_and_stands_in_both_before_and_after() -> None:
    model = Twice()
    assert adapt(model, LoraSettings(on=("query", "0"))) == ["query", "again.0"]
    assert isinstance(model.query, Lora)
    assert model.query is model.again[0]
    moved(model)
    expected = model.query.weight.detach().clone()
    merge(model)
    assert type(model.query) is nn.Linear
    assert model.query is model.again[0]
    assert torch.equal(model.query.weight, expected)


def test_a_layer_in_two_places_is_adapted_in_both_though_one_name_was_asked_for() -> None:
    model, x = Twice(), torch.randn(5, 4)
    assert adapt(model, LoraSettings(on=("query",))) == ["query", "again.0"]
    assert model.query is model.again[0]
    moved(model)
    adapted = model(x)
    merge(model)
    assert_close(model(x), adapted, atol=1e-6, rtol=1e-6)


@given(
    rank=st.integers(1, 6),
    alpha=st.floats(0.5, 64.0),
    inputs=st.integers(1, 7),
    outputs=st.integers(1, 7),
    bias=st.booleans(),
)
def test_the_layer_is_its_formula_and_merging_is_exact(
    rank: int, alpha: float, inputs: int, outputs: int, bias: bool
) -> None:
    model = nn.Sequential(nn.Linear(inputs, outputs, bias=bias)).double()
    x = torch.randn(3, inputs, dtype=torch.float64)
    plain = copy.deepcopy(model)
    adapt(model, LoraSettings(rank=rank, alpha=alpha, on=("0",)))
    assert torch.equal(model(x), plain(x))
    moved(model)
    adapted = model(x)
    expected = plain(x) + alpha / rank * (x @ model[0].down.T @ model[0].up.T)
    assert_close(adapted, expected, atol=1e-12, rtol=1e-12)
    assert_close(nn.functional.linear(x, model[0].weight, model[0].bias), expected, atol=1e-11, rtol=1e-12)
    told = {name: tensor.clone() for name, tensor in folded(model, named(model)).items()}
    assert merge(model) == ["0"]
    assert same(told, named(model))
    assert list(named(model)) == list(named(plain))
    assert_close(model(x), adapted, atol=1e-11, rtol=1e-12)


def test_dropout_falls_on_what_learns_only_and_only_in_training() -> None:
    model, x = nn.Sequential(nn.Linear(4, 3)), torch.randn(5, 4)
    plain = model(x)
    adapt(model, LoraSettings(dropout=0.5, on=("0",)))
    assert torch.equal(model.train()(x), plain)
    moved(model)
    torch.manual_seed(1)
    first = model(x)
    assert not torch.equal(model(x), first)
    torch.manual_seed(1)
    assert torch.equal(model(x), first)
    assert torch.equal(model.eval()(x), model(x))


def test_all_else_is_frozen_but_what_is_named() -> None:
    model = Twice()
    model(torch.randn(2, 4)).sum().backward()
    adapt(model, LoraSettings(on=("read",)), learning=["head.weight", "head.bias"])
    learning = [name for name, tensor in model.named_parameters() if tensor.requires_grad]
    assert learning == ["read.down", "read.up", "head.weight", "head.bias"]
    frozen = [tensor for tensor in model.parameters() if not tensor.requires_grad]
    assert all(tensor.grad is None for tensor in frozen)


def test_a_frozen_layer_and_one_that_learns_as_a_whole_are_not_adapted() -> None:
    model = Twice()
    model.query.weight.requires_grad_(False)
    assert adapt(model, LoraSettings(on=("query", "read", "head")), ["head.weight"]) == ["read"]
    assert not model.query.weight.requires_grad
    assert model.head.weight.requires_grad
    assert not model.head.bias.requires_grad


def frozen_whole(model: Twice) -> None:
    model.requires_grad_(False)


def shared(model: Twice) -> None:
    model.other = nn.Linear(4, 3, bias=False)
    model.other.weight = model.read.weight


@pytest.mark.parametrize(
    ("before", "on", "said"),
    [
        (lambda model: None, "qeury", "'qeury'. Did you mean 'query'.*Known: 0, head, query, read"),
        (frozen_whole, "query", "query: each of these layers is frozen.*Linear layers: 0, head, query, read"),
        (shared, "read", "read shares its matrix with another layer; leave read out"),
    ],
)
def test_what_cannot_be_adapted_is_named_with_what_can(before: Callable[[Twice], None], on: str, said: str) -> None:
    model = Twice()
    before(model)
    with pytest.raises(ConfigError, match=said):
        adapt(model, LoraSettings(on=(on,)))


def test_a_model_is_adapted_once_only() -> None:
    model = Twice()
    adapt(model, LoraSettings(on=("query",)))
    with pytest.raises(ModelError, match="merge it before"):
        adapt(model, LoraSettings(on=("query",)))


def test_what_is_not_adapted_merges_and_folds_to_itself() -> None:
    model = Twice()
    before = copied(model)
    assert merge(model) == []
    assert same(folded(model, before), before)
    assert same(before, named(model))


@pytest.fixture
def unchecked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without checking signatures, which the contracts of the same cases do."""
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)


def check_contract(model: nn.Module, call: Callable[[], Tensor]) -> None:
    """Adapted at the start = plain; every adapter learns, nothing else does; merged = adapted; names as before."""
    before, on = copied(model), linears(model)
    if not on:
        with pytest.raises(ConfigError, match="No linear layer is known"):
            adapt(model, LoraSettings())
        return
    # Frozen, torch's LSTM computes in another order; that is not what is asked here.
    plain = computed(model.requires_grad_(False), call)
    adapt(model.requires_grad_(True), LoraSettings(rank=2, on=on))
    assert torch.equal(computed(model, call), plain)
    moved(model)
    model.train()
    call().square().sum().backward()
    learned = [name for name, tensor in model.named_parameters() if tensor.grad is not None]
    assert learned == [name for name in named(model) if name.endswith((".down", ".up"))]
    adapted = computed(model, call)
    assert (adapted - plain).abs().max() > 1e-6
    told = {name: tensor.clone() for name, tensor in folded(model, named(model)).items()}
    merge(model)
    assert list(named(model)) == list(before)
    assert same(told, named(model))
    assert_close(computed(model, call), adapted, atol=1e-10 * max(1.0, float(adapted.abs().max())), rtol=0.0)


@torch.no_grad()
def computed(model: nn.Module, call: Callable[[], Tensor]) -> Tensor:
    model.eval()
    return call()


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("case", [pytest.param(case, id=str(case)) for case in CASES])
def test_every_model_can_be_adapted_and_merged(case: models.Case) -> None:
    model, given_batch = case.build().double(), models.batch(case)
    check_contract(model, lambda: models.whole(case, model, given_batch))


@pytest.mark.usefixtures("unchecked")
@test_encoders.every_case
def test_every_encoder_can_be_adapted_and_merged(kind: str, settings: dict[str, Any]) -> None:
    model = test_encoders.make(kind, settings).double()
    pieces = torch.randint(0, test_encoders.PIECES, test_encoders.REAL.shape)
    check_contract(model, lambda: model(pieces, test_encoders.REAL))
