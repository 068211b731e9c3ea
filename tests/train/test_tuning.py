"""Tuning: what is frozen does not move by a bit, factors act exactly, and runs with either go on where they stopped."""

import copy
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import jaxtyping
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from regard.errors import ConfigError
from regard.models import Vocabulary, build, encoder
from regard.models.heads import Labels
from regard.nn import Lora, Loss, adapt, merge, smoothed_cross_entropy
from regard.nn.lora import LoraSettings
from regard.nn.parameters import fill, named
from regard.train import (
    AverageSettings,
    FitSettings,
    Kept,
    Learner,
    OptimizerSettings,
    Schedule,
    TuningSettings,
    averaged,
    fit,
    newest,
    optimizers,
    save,
)
from regard.train.optimizers import decays
from regard.train.tuning import apply, matches

STACK = {"width": 8, "layers": 3, "attention": {"heads": 2}, "feedforward": {"hidden": 8}}
FULL = FitSettings(updates=6, every=2, log=2, ema=0.8)
Pair = tuple[Tensor, Tensor]


class Classifier(nn.Module):
    """An encoder, which stands for a pretrained one, and a new head."""

    def __init__(self, **changes: Any) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.encoder = encoder("transformer", {**STACK, **changes}, vocabulary=11)
        self.head = Labels(8, 3)

    def forward(self, pieces: Tensor) -> Tensor:
        return self.head(self.encoder(pieces))

    @property
    def fresh(self) -> list[str]:
        return [name for name in named(self) if name.startswith("head.")]


def batch(number: int) -> Pair:
    generator = torch.Generator().manual_seed(number)
    pieces = torch.randint(0, 11, (4, 5), generator=generator)
    return pieces, pieces.sum(1) % 3


def batches(position: tuple[int, ...]) -> Iterator[tuple[tuple[int], Pair]]:
    start = position[0] if position else 0
    while True:
        start += 1
        yield (start,), batch(start)


def learner(tuning: TuningSettings, model: nn.Module, fresh: list[str] | None) -> Learner[Pair]:
    def loss(pair: Pair) -> Loss:
        return smoothed_cross_entropy(model(pair[0]), pair[1])

    factors = apply(tuning, model, fresh)
    optimizer = optimizers.build(OptimizerSettings(name="adamw", rate=0.01, decay=0.1), model, factors)
    return Learner(model, loss, optimizer, Schedule(0.01, 100, warm_up=4))


def tuned(**chosen: Any) -> Learner[Pair]:
    model = Classifier()
    return learner(TuningSettings.read(chosen), model, model.fresh)


def evaluated(taught: Learner[Pair]) -> dict[str, float]:
    taught.model.eval()
    with torch.no_grad():
        return {"loss": float(taught.loss(batch(999)).mean)}


def trained(taught: Learner[Pair]) -> Learner[Pair]:
    list(fit(taught, batches(()), lambda: evaluated(taught), FULL))
    return taught


def copied(model: nn.Module) -> dict[str, Tensor]:
    return {name: tensor.clone() for name, tensor in named(model).items()}


def same(one: dict[str, Tensor], other: dict[str, Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def test_without_settings_everything_learns_at_full_rate_as_before() -> None:
    model = Classifier()
    factors = apply(TuningSettings(), model, None)
    assert list(factors) == [name for name, _ in model.named_parameters()]
    assert set(factors.values()) == {1.0}
    plain = optimizers.build(OptimizerSettings(decay=0.1), model)
    grouped = optimizers.build(OptimizerSettings(decay=0.1), model, factors)
    for one, other in zip(plain.param_groups, grouped.param_groups, strict=True):
        assert all(a is b for a, b in zip(one["params"], other["params"], strict=True))
        assert one["lr"] == other["lr"]
    worn = {id(one) for group in plain.param_groups if group["weight_decay"] == 0.1 for one in group["params"]}
    assert worn == {id(one) for name, one in model.named_parameters() if decays(name, one)}


def test_each_layer_learns_so_much_slower_than_the_one_above_and_embeddings_slowest() -> None:
    model = Classifier(place="pre", position="learned")
    factors = apply(TuningSettings(layer_decay=0.5, fresh=4.0), model, model.fresh)
    for name, factor in factors.items():
        if name.startswith("head."):
            assert factor == 4.0
        elif name.startswith("encoder.embedding."):
            assert factor == 0.5**3, name
        elif "blocks." in name:
            assert factor == 0.5 ** (2 - int(name.split("blocks.")[1][0])), name
        else:
            assert (name.startswith("encoder.stack.norm."), factor) == (True, 1.0)


def test_every_stack_counts_from_its_own_top() -> None:
    model = build("transformer", {**STACK, "decoder_layers": 2}, Vocabulary(9, 9))
    factors = apply(TuningSettings(layer_decay=0.5), model, None)
    assert {factors[f"encoder.stack.blocks.{n}.attention.query.weight"] for n in range(3)} == {1.0, 0.5, 0.25}
    assert factors["decoder.blocks.1.cross.query.weight"] == 1.0
    assert factors["decoder.blocks.0.cross.query.weight"] == 0.5
    assert factors["encoder.embedding.vectors"] == 0.125


def test_a_recurrent_encoder_has_layers_too() -> None:
    model = encoder("recurrent", {"width": 8, "layers": 2}, vocabulary=9)
    factors = apply(TuningSettings(layer_decay=0.5), model, None)
    assert factors["layers.blocks.1.weight_ih_l0"] == 1.0
    assert factors["layers.blocks.0.weight_ih_l0"] == 0.5
    assert factors["embedding.vectors"] == 0.25


def test_factors_of_several_patterns_multiply() -> None:
    rates = {"encoder": 0.5, "encoder.stack.blocks.*.attention": 0.1, "head.classify.bias": 3.0}
    model = Classifier()
    factors = apply(TuningSettings(rates=rates, fresh=2.0), model, model.fresh)
    assert factors["encoder.embedding.vectors"] == 0.5
    assert factors["encoder.stack.blocks.2.attention.key.bias"] == 0.5 * 0.1
    assert factors["head.classify.bias"] == 3.0 * 2.0
    assert factors["head.classify.weight"] == 2.0


@settings(max_examples=10)
@given(factor=st.floats(1e-3, 1e3), other=st.floats(1e-3, 1e3))
def test_one_update_moves_each_parameter_by_exactly_its_factor(factor: float, other: float) -> None:
    def moves(factors: dict[str, float]) -> dict[str, Tensor]:
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2)).double()
        before = copied(model)
        optimizer = optimizers.build(OptimizerSettings(rate=1.0), model, factors)

        def loss(x: Tensor) -> Loss:
            total = model(x).square().sum()
            return Loss(total, torch.tensor(1), total.detach())

        taught = Learner(model, loss, optimizer, Schedule(1e-3, 9))
        data = [((1,), torch.ones(2, 3, dtype=torch.float64))]
        list(fit(taught, data, lambda: {"loss": 0.0}, FitSettings(updates=1, every=1)))
        return {name: tensor - before[name] for name, tensor in named(model).items()}

    factors = {"0.weight": factor, "0.bias": other, "1.bias": factor}
    plain, scaled = moves({}), moves(factors)
    for name, move in plain.items():
        assert float(move.abs().min()) > 0
        torch.testing.assert_close(scaled[name], move * factors.get(name, 1.0), rtol=1e-9, atol=1e-15)


def test_every_update_goes_by_the_schedule_times_the_factor() -> None:
    taught = tuned(layer_decay=0.5)
    for step in fit(taught, batches(()), lambda: evaluated(taught), FULL):
        assert step.rate == taught.schedule.rate(step.progress.update)
        rates = dict.fromkeys(group["lr"] for group in taught.optimizer.param_groups)
        assert list(rates) == [step.rate * factor for factor in (1.0, 0.5, 0.25, 0.125)]


def test_what_is_frozen_does_not_move_by_a_bit_has_no_state_and_no_gradient() -> None:
    taught = tuned(frozen=["encoder.embedding", "encoder.stack.blocks.[01]"], rates={"head": 2.0})
    before = copied(taught.model)
    frozen = [name for name, tensor in taught.model.named_parameters() if not tensor.requires_grad]
    assert frozen == [name for name in before if name.startswith(("encoder.embedding", "encoder.stack.blocks.0."))] + [
        name for name in before if name.startswith("encoder.stack.blocks.1.")
    ]
    trained(taught)
    for name, tensor in named(taught.model).items():
        assert torch.equal(tensor, before[name]) == (name in frozen), name
        assert torch.equal(taught.ema.averages[name], before[name]) == (name in frozen), name
    learning = [tensor for tensor in taught.model.parameters() if tensor.requires_grad]
    assert all(tensor.grad is None for name, tensor in taught.model.named_parameters() if name in frozen)
    assert len(taught.optimizer.state) == len(learning)
    assert set(taught.optimizer.state) == set(learning)


def test_a_gradient_left_on_what_is_frozen_neither_counts_nor_changes() -> None:
    def first_norm(left: bool) -> float:
        model = Classifier()
        if left:
            model(batch(1)[0]).sum().backward()
        taught = learner(TuningSettings(frozen=("encoder",)), model, model.fresh)
        if left:
            model.encoder.embedding.vectors.grad = torch.ones_like(model.encoder.embedding.vectors)
        torch.manual_seed(3)
        norm = next(fit(taught, batches(()), lambda: {"loss": 0.0}, FULL)).norm
        if left:
            assert bool((model.encoder.embedding.vectors.grad == 1).all())
            assert model.encoder.stack.blocks[0].attention.query.weight.grad is None
        return norm

    assert first_norm(True) == first_norm(False)


def test_frozen_batch_norm_keeps_its_statistics() -> None:
    model = Classifier(norm="batch")
    taught = learner(TuningSettings(frozen=("encoder.stack.blocks.0",)), model, model.fresh)
    before = copied(model)
    trained(taught)
    for name, tensor in named(model).items():
        if "running" in name or "tracked" in name:
            assert torch.equal(tensor, before[name]) == name.startswith("encoder.stack.blocks.0."), name


def test_a_tied_parameter_is_frozen_by_any_of_its_names() -> None:
    model = build("transformer_language", STACK, Vocabulary(9, 9))
    assert "output.readout.weight" not in named(model)
    factors = apply(TuningSettings(frozen=("output.readout",)), model, None)
    assert "embedding.vectors" not in factors
    assert not model.output.readout.weight.requires_grad


@pytest.mark.parametrize(
    ("chosen", "said"),
    [
        ({"frozen": ["encoder.embeding"]}, "tuning.frozen: .*'encoder.embeding'. Did you mean 'encoder.embedding'"),
        ({"frozen": ["encoder.stack.blocks.3"]}, "Did you mean 'encoder.stack.blocks.[0-2]'.*begin with encoder, head"),
        ({"rates": {"encoder.stack.blocks.*.atention": 0.1}}, "tuning.rates: no parameter's name begins with"),
        ({"lora": {"on": ["qeury"]}}, "Did you mean 'query'"),
        ({"lora": {}, "frozen": ["encoder"]}, "frozen or learns as a whole"),
    ],
)
def test_names_that_mean_nothing_are_refused_with_the_nearest(chosen: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        tuned(**chosen)


@pytest.mark.parametrize(
    ("chosen", "said"),
    [
        ({"lora": {}}, "tuning.lora adapts what was learned before.*model.start"),
        ({"fresh": 10.0}, "tuning.fresh = 10.0 .*model.start"),
    ],
)
def test_what_needs_a_start_is_refused_without_one(chosen: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        apply(TuningSettings.read(chosen), Classifier(), None)


def test_layers_that_are_not_there_are_not_decayed_in_silence() -> None:
    with pytest.raises(ConfigError, match=r"layer_decay = 0.9: nothing that came from the start stands in layers"):
        apply(TuningSettings(layer_decay=0.9), nn.Linear(2, 2), None)


@pytest.mark.parametrize("chosen", [{"layer_decay": 0.0}, {"layer_decay": 1.1}, {"rates": {"a": 0.0}}, {"fresh": -1}])
def test_rates_that_cannot_be_are_refused(chosen: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        TuningSettings.read(chosen)


def test_settings_are_what_toml_can_hold() -> None:
    chosen = TuningSettings.read({"rates": {"encoder.embedding": 0.1}, "lora": {"rank": 4}, "frozen": ["head"]})
    assert TuningSettings.read(chosen.plain()) == chosen
    assert TuningSettings.read(TuningSettings().plain()) == TuningSettings()


def test_a_rate_for_what_does_not_learn_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"bais, which does not learn in this model. Did you mean 'bias'"):
        optimizers.build(OptimizerSettings(), nn.Linear(2, 2), {"bais": 2.0})


@pytest.mark.parametrize(
    ("name", "pattern", "expected"),
    [
        ("a.b.c", "a", True),
        ("a.b.c", "a.b.c", True),
        ("a.b.c", "a.b.c.d", False),
        ("a.b.c", "*.b", True),
        ("a.b.c", "*.c", False),
        ("a.b10.c", "a.b1", False),
        ("a.b10.c", "a.b1*", True),
        ("a.3.c", "a.[0-3]", True),
    ],
)
def test_a_pattern_is_the_beginning_of_a_name_step_by_step(name: str, pattern: str, expected: bool) -> None:
    assert matches(name, pattern) == expected


def test_with_lora_the_head_and_the_adapters_learn_and_nothing_else() -> None:
    taught = tuned(lora={"rank": 2}, fresh=3.0, frozen=["encoder.stack.blocks.0"], rates={"encoder.*.*.*.*.*.up": 5.0})
    before = copied(taught.model)
    factors = {
        name: group["factor"]
        for group in taught.optimizer.param_groups
        for name, tensor in taught.model.named_parameters()
        if any(tensor is other for other in group["params"])
    }
    adapters = [f"encoder.stack.blocks.{n}.attention.{what}." for n in (1, 2) for what in ("query", "value")]
    assert factors == {
        **{f"{adapter}down": 1.0 for adapter in adapters},
        **{f"{adapter}up": 5.0 for adapter in adapters},
        **{name: 3.0 for name, _ in taught.model.named_parameters() if name.startswith("head.")},
    }
    trained(taught)
    moved = [name for name, tensor in named(taught.model).items() if not torch.equal(tensor, before[name])]
    assert sorted(moved) == sorted(factors)


def test_a_run_with_lora_leaves_a_plain_model_that_gives_what_was_evaluated() -> None:
    taught = trained(tuned(lora={"rank": 2, "alpha": 8.0, "dropout": 0.1}))
    with taught.smoothed():
        expected = evaluated(taught)
    plain = Classifier()
    fill(plain, taught.parameters())
    again = learner(TuningSettings(), plain, None)
    assert evaluated(again)["loss"] == pytest.approx(expected["loss"], abs=1e-6)
    taught.ema = None
    held = {name: tensor.clone() for name, tensor in taught.parameters().items()}
    merge(taught.model)
    assert same(held, named(taught.model))
    assert not any(isinstance(module, Lora) for module in taught.model.modules())


def test_what_is_averaged_are_whole_matrices_and_not_their_factors(tmp_path: Path) -> None:
    taught = tuned(lora={"rank": 2, "on": ["query"]})
    kept, held = Kept(tmp_path, AverageSettings(count=3)), []
    for step in fit(taught, batches(()), lambda: evaluated(taught), FULL.model_copy(update={"ema": None})):
        if step.scores:
            kept.add(step.progress.update, step.scores["loss"], taught.parameters())
            held.append(taught.model.encoder.stack.blocks[1].attention.query.weight.detach().double())
    assert len(held) == 3
    merge(taught.model)
    fill(taught.model, averaged(kept.paths()))
    found = taught.model.encoder.stack.blocks[1].attention.query.weight
    assert torch.equal(found, (torch.stack(held).sum(0) / 3).float())
    start = Classifier()
    same_bits = torch.equal(taught.model.encoder.embedding.vectors, start.encoder.embedding.vectors)
    assert same_bits


MANNERS: dict[str, dict[str, Any]] = {
    "frozen": {"frozen": ["encoder.embedding"]},
    "groups": {"layer_decay": 0.7, "fresh": 5.0, "rates": {"head.classify.bias": 0.3}},
    "lora": {"lora": {"rank": 2, "dropout": 0.2}},
    "all": {
        "lora": {"rank": 2, "on": ["key", "inner"]},
        "layer_decay": 0.7,
        "fresh": 5.0,
        "frozen": ["encoder.stack.blocks.0"],
    },
}


@pytest.fixture
def unchecked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without checking signatures, which the other tests do."""
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("stop", [1, 4])
@pytest.mark.parametrize("manner", MANNERS)
def test_resumed_is_never_stopped_to_the_bit(manner: str, stop: int, tmp_path: Path) -> None:
    unbroken = tuned(**MANNERS[manner])
    told = list(fit(unbroken, batches(()), lambda: evaluated(unbroken), FULL))
    first = tuned(**MANNERS[manner])
    made = list(islice(fit(first, batches(()), lambda: evaluated(first), FULL), stop))
    save(tmp_path, first.checkpoint(made[-1].progress))
    torch.manual_seed(123)
    again = tuned(**MANNERS[manner])
    progress = again.restore(newest(tmp_path)[0])
    rest = list(fit(again, batches(progress.position), lambda: evaluated(again), FULL, progress))
    assert rest == told[stop:]
    assert same(named(unbroken.model), named(again.model))
    assert same(unbroken.ema.averages, again.ema.averages)
    assert same(dict(unbroken.parameters()), dict(again.parameters()))
    assert same(optimizers.tensors(unbroken.optimizer), optimizers.tensors(again.optimizer))


def test_a_copy_of_an_adapted_model_is_adapted() -> None:
    model = Classifier()
    adapt(model, LoraSettings())
    assert same(named(copy.deepcopy(model)), named(model))
