"""Finding taps, asking for parts, replacing what passes, and records that check themselves."""

from dataclasses import replace as changed

import pytest
import torch
from torch import Tensor, nn

from regard.attention import (
    KERNELS,
    LOOK_AHEAD,
    SCOPES,
    Check,
    HeadsSettings,
    Mask,
    Mechanism,
    MultiHeadAttention,
    kernels,
    matching,
    record,
    replace,
    taps,
)
from regard.errors import ModelError, RequestError
from tests.attention.build import Given, Recipe, attend, build, each_recipe, given, masked, near, refused

TURNED = [Recipe(), Recipe(position="rotary"), Recipe("cosine", position="rotary")]
TAPS = ["queries", "keys", "values", "scores", "weights", "context"]
SELECTIONS = [
    {"heads": [1]},
    {"heads": [3, 0]},
    {"rows": [2]},
    {"rows": [-1, 0]},
    {"examples": [1]},
    {"heads": [2], "rows": [1, 4], "examples": [2, 0]},
]


class Stack(nn.Module):
    """Blocks of self-attention, as an encoder of three and a decoder of one would have."""

    def __init__(self, layers: int) -> None:
        super().__init__()
        chosen = HeadsSettings.of(heads=2)
        self.blocks = nn.ModuleList(nn.ModuleDict({"attention": MultiHeadAttention(chosen, 4)}) for _ in range(layers))

    def forward(self, states: Tensor) -> Tensor:
        for block in self.blocks:
            states = states + block["attention"](states, block["attention"].remember(states))
        return states


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder, self.decoder = Stack(3), Stack(1)

    def forward(self, states: Tensor) -> Tensor:
        return self.decoder(self.encoder(states))


STATES = torch.randn(2, 5, 4, generator=torch.Generator().manual_seed(0))


def names(model: nn.Module, *patterns: str, layers: list[int] | None = None) -> list[str]:
    return list(matching(model, patterns, layers))


def whole_and_part(mechanism: Mechanism, asked: Given, selection: dict[str, list[int]]) -> list[dict[str, Tensor]]:
    found = []
    for chosen in ({}, selection):
        torch.manual_seed(5)
        with record(mechanism, "*", **chosen) as seen:
            attend(mechanism, asked)
        found.append({entry.name: entry.tensor for entry in seen})
    return found


# --- where taps are ------------------------------------------------------------------------------------------------


def test_taps_are_found_by_their_place_in_the_model() -> None:
    found = taps(Model())
    assert len(found) == 4 * len(TAPS)
    assert "encoder.blocks.2.attention.mechanism.weights" in found
    assert list(taps(build())) == TAPS


def test_patterns_choose_taps() -> None:
    model = Model()
    assert len(names(model, "*.weights")) == 4
    assert len(names(model, "encoder.*.scores", "decoder.*.weights")) == 4
    assert names(build(), "*.weights") == ["weights"]
    assert names(build(), "weights") == ["weights"]


@pytest.mark.parametrize(
    ("layers", "expected"),
    [
        ([0], ["encoder.blocks.0", "decoder.blocks.0"]),
        ([-1], ["encoder.blocks.2", "decoder.blocks.0"]),
        ([2], ["encoder.blocks.2"]),
        ([1, -3], ["encoder.blocks.0", "encoder.blocks.1"]),
    ],
)
def test_layers_are_counted_in_every_stack_on_its_own(layers: list[int], expected: list[str]) -> None:
    found = names(Model(), "*.weights", layers=layers)
    assert found == [f"{stack}.attention.mechanism.weights" for stack in expected]


def test_what_is_not_there_cannot_be_asked_for() -> None:
    model = Model()
    refused(RequestError, lambda: names(model, "*.weihgts"), "'*.weihgts'", "weights")
    refused(RequestError, lambda: names(model, "*.weights", layers=[3]), "no layer 3", "3 layers")
    refused(RequestError, lambda: names(build(), "*.weights", layers=[0]), "no layer 0", "0 layers")
    for selection, words in (
        ({"heads": []}, "heads=[] asks for nothing"),
        ({"steps": []}, "steps=[] asks for nothing"),
        ({"steps": [0, -1]}, "no step -1"),
    ):
        refused(RequestError, lambda selection=selection: record(model, **selection).__enter__(), words)
    for selection, words in (
        ({"heads": [2]}, "no head 2"),
        ({"rows": [5]}, "no row 5"),
        ({"rows": [-6]}, "no row -6"),
        ({"examples": [2]}, "no example 2"),
    ):
        with record(model, **selection):
            refused(RequestError, lambda: model(STATES), words, "counted from 0")


# --- what is recorded ----------------------------------------------------------------------------------------------


def test_a_record_knows_its_place_its_step_and_its_axes() -> None:
    model = Model()
    with record(model, "*.weights", layers=[-1], steps=[1]) as seen:
        for _ in range(3):
            model(STATES)
    assert [(entry.name.split(".")[0], entry.step) for entry in seen] == [("encoder", 1), ("decoder", 1)]
    assert all(entry.axes == "BHQK" and entry.tensor.shape == (2, 2, 5, 5) for entry in seen)
    assert all(entry.check is not None for entry in seen)


def test_by_default_weights_are_recorded() -> None:
    with record(Model()) as seen:
        pass
    assert seen == []
    model = Model()
    with record(model) as seen:
        model(STATES)
    assert {entry.name.split(".")[-1] for entry in seen} == {"weights"}


@pytest.mark.parametrize("selection", SELECTIONS)
@pytest.mark.parametrize("kernel", KERNELS)
def test_a_part_is_that_part_of_the_whole(kernel: str, selection: dict[str, list[int]]) -> None:
    mechanism = build(Recipe("general", position="alibi"), heads=4, groups=2, kernel=kernel)
    whole, part = whole_and_part(mechanism, masked(given(mechanism), "window and pairs and padding"), selection)
    for name in ("queries", "scores", "weights", "context"):
        expected = whole[name]
        for axis, dimension in (("examples", 0), ("heads", 1), ("rows", 2)):
            expected = expected.index_select(dimension, index(selection.get(axis), expected.shape[dimension]))
        torch.testing.assert_close(part[name], expected)


def index(asked: list[int] | None, size: int) -> Tensor:
    return torch.arange(size)[asked] if asked is not None else torch.arange(size)


@pytest.mark.parametrize("recipe", each_recipe(near(1)))
def test_a_part_is_that_part_of_the_whole_for_every_mechanism(recipe: Recipe) -> None:
    mechanism = build(recipe, heads=4, dropout=0.3).train()
    asked = masked(given(mechanism), "pairs per head")
    whole, part = whole_and_part(mechanism, asked, {"heads": [3, 1], "rows": [4, 0], "examples": [-1]})
    for name in ("scores", "weights"):
        torch.testing.assert_close(part[name], whole[name][-1:][:, [3, 1]][:, :, [4, 0]])


def test_chunks_recorded_in_part_drop_what_the_whole_dropped() -> None:
    mechanism = build(dropout=0.4, kernel="chunked", heads=4).train()
    whole, part = whole_and_part(mechanism, given(mechanism), {"heads": [2], "rows": [3], "examples": [1]})
    assert whole["weights"].eq(0).any()
    torch.testing.assert_close(part["weights"], whole["weights"][1:2, 2:3, 3:4])


@pytest.mark.parametrize("recipe", each_recipe(TURNED))
def test_recorded_queries_and_keys_are_those_that_met(recipe: Recipe) -> None:
    mechanism = build(recipe)
    with record(mechanism, "*") as seen:
        attend(mechanism, given(mechanism))
    found = {entry.name: entry.tensor for entry in seen}
    prepared = mechanism.score.prepare(found["keys"])
    expected = (mechanism.score.ask(found["queries"]) * mechanism.score.scale) @ prepared.mT
    torch.testing.assert_close(found["scores"], expected.detach())


def test_groups_of_keys_are_recorded_as_groups() -> None:
    mechanism = build(heads=4, groups=2)
    with record(mechanism, "*", heads=[3]) as seen:
        attend(mechanism, given(mechanism))
    shapes = {entry.name: (entry.axes, entry.tensor.shape[1]) for entry in seen}
    assert shapes["keys"] == shapes["values"] == ("BGKE", 2)
    assert shapes["weights"] == ("BHQK", 1)


def test_a_record_is_a_copy_that_nothing_changes_later() -> None:
    mechanism = build()
    asked = given(mechanism)
    with record(mechanism, "*.queries", "*.values") as seen:
        attend(mechanism, asked)
    kept = [entry.tensor.clone() for entry in seen]
    asked.query.zero_()
    asked.values.zero_()
    assert all(torch.equal(entry.tensor, copy) for entry, copy in zip(seen, kept, strict=True))
    assert all(not entry.tensor.requires_grad for entry in seen)


def test_two_watchers_see_the_same_and_each_only_what_it_asked_for() -> None:
    mechanism = build()
    asked = given(mechanism)
    with record(mechanism) as all_of_it, record(mechanism, heads=[1], steps=[1]) as some:
        attend(mechanism, asked)
        attend(mechanism, asked)
    assert len(all_of_it) == 2
    assert len(some) == 1
    torch.testing.assert_close(some[0].tensor, all_of_it[1].tensor[:, 1:])


def test_nobody_watches_any_more_when_the_block_is_left_even_by_an_error() -> None:
    model = Model()
    with pytest.raises(ZeroDivisionError), record(model, "*") as seen, replace(model, "*.weights", lambda w: w):
        raise ZeroDivisionError
    model(STATES)
    assert seen == []
    assert all(tap.watches == [] for tap in taps(model).values())


def test_a_pattern_that_fails_leaves_nobody_watching() -> None:
    model = Model()
    with pytest.raises(RequestError), record(model, "*.weights", "*.nothing"):
        pass
    assert all(tap.watches == [] for tap in taps(model).values())


# --- the check that every record carries ---------------------------------------------------------------------------


def broken(kernel: str, monkeypatch: pytest.MonkeyPatch, change: object) -> Mechanism:
    """A mechanism whose kernel reports something else than what it used."""
    honest = KERNELS[kernel]
    monkeypatch.setitem(KERNELS, kernel, lambda problem: change(honest(problem)))
    return build(kernel=kernel)


@pytest.mark.parametrize("kernel", ["fused", "chunked"])
def test_a_wrong_log_sum_exp_is_found_out(kernel: str, monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = broken(kernel, monkeypatch, lambda result: changed(result, lse=result.lse + 0.01))
    with record(mechanism):
        refused(ModelError, lambda: attend(mechanism, given(mechanism)), "recorded at weights", "rows do not sum")


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_context_that_the_weights_did_not_make_is_found_out(kernel: str, monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = broken(kernel, monkeypatch, lambda result: changed(result, context=result.context * 1.01))
    with record(mechanism):
        refused(ModelError, lambda: attend(mechanism, given(mechanism)), "is not what the layer put out")
    attend(mechanism, given(mechanism))


def test_not_a_number_is_found_out() -> None:
    mechanism = build()
    asked = given(mechanism)
    asked.query[0, 0, 0, 0] = torch.nan
    for kernel in KERNELS:
        with record(watched := build(kernel=kernel)):
            refused(ModelError, lambda watched=watched: attend(watched, asked), "fail their own check")


@pytest.mark.parametrize(
    ("figures", "trouble"),
    [
        ((1.0, 0.0, 0.0), "rows do not sum to what their scope promises"),
        ((0.0, 1e-3, 0.0), "weight lies where the mask forbids"),
        ((0.0, 0.0, 2e-4), "weights x values is not what the layer put out"),
        ((float("nan"), 0.0, 0.0), "rows do not sum"),
    ],
)
def test_a_check_that_fails_says_what_is_wrong(figures: tuple[float, float, float], trouble: str) -> None:
    refused(ModelError, lambda: Check(*figures, 1e-4).verify("here"), "recorded at here", trouble, "do not trust")


def test_a_check_within_its_tolerance_passes() -> None:
    Check(1e-5, 0.0, 9e-5, 1e-4).verify("here")


@pytest.mark.parametrize("scope", SCOPES)
def test_recorded_rows_sum_to_what_their_scope_promises(scope: str) -> None:
    mechanism = build(Recipe(scope=scope))
    asked = masked(given(mechanism), "causal and padding")
    with record(mechanism) as seen:
        attend(mechanism, asked)
    sums = seen[0].tensor.sum(-1)
    assert (sums <= 1 + 1e-9).all()
    assert sums[0].eq(0).all()
    if SCOPES[scope].total == "one":
        torch.testing.assert_close(sums[-1], torch.ones_like(sums[-1]))


@pytest.mark.parametrize("size", [1.0, 30.0, 300.0])
@pytest.mark.parametrize("kernel", KERNELS)
def test_large_scores_do_not_fail_the_check_by_rounding_alone(kernel: str, size: float) -> None:
    mechanism = build(kernel=kernel, dtype=torch.float32)
    asked = given(mechanism, queries=20, keys=20, dtype=torch.float32)
    with record(mechanism) as seen:
        attend(mechanism, Given(asked.query * size, asked.keys * size, asked.values))
    torch.testing.assert_close(seen[0].tensor.sum(-1), torch.ones(3, 2, 20), atol=1e-2, rtol=0)


@pytest.mark.parametrize("kernel", KERNELS)
def test_half_precision_can_be_watched(kernel: str) -> None:
    mechanism = build(kernel=kernel, dtype=torch.bfloat16)
    asked = given(mechanism, mask=LOOK_AHEAD, dtype=torch.bfloat16)
    with record(mechanism) as seen:
        watched = attend(mechanism, asked).context
    assert torch.equal(watched, attend(mechanism, asked).context)
    torch.testing.assert_close(seen[0].tensor.float().sum(-1), torch.ones(3, 2, 5), atol=2e-2, rtol=0)


def test_weights_of_a_half_precision_kernel_are_rebuilt_in_single_precision() -> None:
    """A score of 30 is known to bfloat16 only within 0.06, and the weight made of it within 6 %."""
    mechanism = build(kernel="fused", dtype=torch.bfloat16)
    asked = given(mechanism, dtype=torch.bfloat16)
    with record(mechanism) as seen:
        attend(mechanism, Given(asked.query * 10, asked.keys * 10, asked.values))
    torch.testing.assert_close(seen[0].tensor.sum(-1), torch.ones(3, 2, 5), atol=1e-4, rtol=0)


@pytest.mark.parametrize("kernel", KERNELS)
def test_mixed_precision_can_be_watched(kernel: str) -> None:
    attention, states = MultiHeadAttention(HeadsSettings.of(heads=2, kernel=kernel), 4), STATES
    with torch.autocast("cpu", dtype=torch.bfloat16):
        plain = attention(states, attention.remember(states))
        with record(attention) as seen:
            watched = attention(states, attention.remember(states))
    assert torch.equal(plain, watched)
    torch.testing.assert_close(seen[0].tensor.float().sum(-1), torch.ones(2, 2, 5), atol=2e-2, rtol=0)


# --- replacing -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("recipe", each_recipe([*near(1, positions=["none"]), Recipe(position="alibi")]))
def test_uniform_weights_give_the_average_of_the_values(recipe: Recipe) -> None:
    mechanism = build(recipe)
    asked = given(mechanism)
    with replace(mechanism, "*.weights", lambda weights: torch.full_like(weights, 1 / 6)):
        found = attend(mechanism, asked).context
    torch.testing.assert_close(found, asked.values.mean(2, keepdim=True).expand_as(found))


def test_replaced_scores_are_normalized_like_any_other() -> None:
    mechanism = build(normalizer="sparsemax")
    asked = masked(given(mechanism), "causal")
    first = torch.tensor([50.0, 0, 0, 0, 0, 0], dtype=torch.float64)
    with replace(mechanism, "*.scores", lambda scores: first.expand_as(scores)), record(mechanism) as seen:
        found = attend(mechanism, asked).context
    torch.testing.assert_close(found, asked.values[:, :, :1].expand_as(found))
    assert seen[0].tensor[..., 0].eq(1).all()


def test_scores_of_a_mechanism_that_looks_back_are_replaced_row_by_row() -> None:
    mechanism = build(Recipe("coverage"))
    asked = given(mechanism)
    with replace(mechanism, "*.scores", torch.zeros_like):
        found = attend(mechanism, asked).context
    torch.testing.assert_close(found, asked.values.mean(2, keepdim=True).expand_as(found))


@pytest.mark.parametrize("tap", ["queries", "keys", "values", "context"])
def test_any_tensor_can_be_replaced(tap: str) -> None:
    mechanism = build()
    asked = given(mechanism)
    with replace(mechanism, f"*.{tap}", torch.zeros_like):
        found = attend(mechanism, asked).context
    expected = asked.values.mean(2, keepdim=True) if tap in ("queries", "keys") else torch.zeros(1, dtype=torch.float64)
    torch.testing.assert_close(found, expected.expand_as(found))


@pytest.mark.parametrize("kernel", KERNELS)
def test_what_is_replaced_by_itself_changes_nothing(kernel: str) -> None:
    mechanism = build(kernel=kernel)
    asked = given(mechanism)
    plain = attend(mechanism, asked).context
    for tap in TAPS:
        with replace(mechanism, f"*.{tap}", lambda tensor: tensor):
            torch.testing.assert_close(attend(mechanism, asked).context, plain)


def test_gradients_pass_through_what_was_replaced() -> None:
    mechanism = build()
    asked = given(mechanism).leaves()
    scale = torch.tensor(1.0, dtype=torch.float64, requires_grad=True)
    with replace(mechanism, "*.weights", lambda weights: weights * scale):
        attend(mechanism, asked).context.sum().backward()
    assert scale.grad.item() == pytest.approx(attend(mechanism, asked).context.sum().item())


def test_only_the_steps_and_layers_asked_for_are_replaced() -> None:
    mechanism = build()
    asked = given(mechanism)
    plain = attend(mechanism, asked).context
    with replace(mechanism, "*.weights", torch.zeros_like, steps=[1]):
        found = [attend(mechanism, asked).context for _ in range(3)]
    assert found[1].eq(0).all()
    for step in (0, 2):
        torch.testing.assert_close(found[step], plain)
    model = Model()
    with record(model, "*.context") as seen, replace(model, "*.weights", torch.zeros_like, layers=[2]):
        model(STATES)
    assert [bool(entry.tensor.eq(0).all()) for entry in seen] == [False, False, True, False]


def test_a_replacement_of_another_shape_is_refused() -> None:
    mechanism = build()
    with replace(mechanism, "*.weights", lambda weights: weights[..., :1]):
        refused(RequestError, lambda: attend(mechanism, given(mechanism)), "(3, 2, 5, 6)", "(3, 2, 5, 1)")


def test_weights_replaced_for_beams_come_one_example_a_beam() -> None:
    mechanism = build()
    asked = given(mechanism, 2, 1)
    memory, shapes = mechanism.remember(asked.keys, asked.values), []
    beams = torch.randn(6, 2, 1, 4, dtype=torch.float64)

    def only_first(weights: Tensor) -> Tensor:
        shapes.append(tuple(weights.shape))
        chosen = torch.zeros_like(weights)
        chosen[0, :, :, 0] = 1.0
        return chosen

    with replace(mechanism, "*.weights", only_first):
        found = mechanism(beams, memory).context
    assert shapes == [(6, 2, 1, 6)]
    torch.testing.assert_close(found[0, :, 0], asked.values[0, :, 0])
    assert found[1:].eq(0).all()


def test_a_mask_still_shows_in_the_check_of_weights_that_were_not_replaced() -> None:
    mechanism = build()
    asked = given(mechanism, mask=Mask(keys=torch.arange(6).expand(3, 6) < 4))
    with record(mechanism) as seen:
        attend(mechanism, asked)
    assert seen[0].check.padding == 0.0
    assert seen[0].tensor[..., 4:].eq(0).all()


def test_the_kernels_named_here_are_all_there_are() -> None:
    assert set(kernels.REFUSALS) == set(KERNELS)
