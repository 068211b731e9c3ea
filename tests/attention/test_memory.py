"""Memories that grow, are chosen from and are shared: step by step = whole, beams = copies."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from regard.attention import FREE, LOOK_AHEAD, Mechanism, Memory, padding, pairs, record, window
from regard.errors import ModelError
from tests.attention.build import Given, Recipe, attend, build, each_recipe, given, near, refused

# Local-p predicts a share of a text whose length it knows, which no text has while it is still being written.
STEPWISE = [recipe for recipe in near(1) if not recipe.looks_back and recipe.scope != "local_p"]
LOOKING_BACK = [recipe for recipe in near(2) if recipe.looks_back]


def grown(mechanism: Mechanism, asked: Given, step: int, before: Memory | None) -> Memory:
    """The memory after one step more."""
    one = slice(step, step + 1)
    real = None if asked.real is None else asked.real[:, one]
    new = mechanism.remember(asked.keys[:, :, one], asked.values[:, :, one], real, range(step, step + 1))
    return new if before is None else before.extend(new)


@pytest.mark.parametrize("recipe", each_recipe(STEPWISE))
def test_causal_attention_step_by_step_is_causal_attention_at_once(recipe: Recipe) -> None:
    mechanism = build(recipe)
    asked = given(mechanism, 2, 5, 5, LOOK_AHEAD)
    whole, memory = attend(mechanism, asked).context, None
    for step in range(5):
        memory = grown(mechanism, asked, step, memory)
        at = range(step, step + 1)
        found = mechanism(asked.query[:, :, step : step + 1], memory, LOOK_AHEAD, at).context
        torch.testing.assert_close(found[:, :, 0], whole[:, :, step])


def test_step_by_step_padding_stays_padding() -> None:
    mechanism = build(Recipe(position="rotary"))
    real = torch.tensor([[True] * 5, [True, True, False, True, False]])
    asked = given(mechanism, 2, 5, 5, LOOK_AHEAD, real)
    whole, memory = attend(mechanism, asked).context, None
    for step in range(5):
        memory = grown(mechanism, asked, step, memory)
        found = mechanism(asked.query[:, :, step : step + 1], memory, LOOK_AHEAD, range(step, step + 1)).context
        torch.testing.assert_close(found[:, :, 0], whole[:, :, step])


@pytest.mark.parametrize("recipe", each_recipe(LOOKING_BACK))
def test_looking_back_step_by_step_is_looking_back_at_once(recipe: Recipe) -> None:
    mechanism = build(recipe).train(recipe.position == "none")
    asked = given(mechanism, mask=padding(torch.tensor([6, 3, 4])))
    whole = attend(mechanism, asked)
    memory, history = mechanism.remember(asked.keys, asked.values), None
    for step in range(5):
        one = slice(step, step + 1)
        found = mechanism(asked.query[:, :, one], memory, asked.mask, range(step, step + 1), history)
        history = found.history
        torch.testing.assert_close(found.context, whole.context[:, :, one])
    torch.testing.assert_close(history.weights, whole.history.weights)
    torch.testing.assert_close(history.total, whole.history.total)


def test_history_holds_the_last_weights_and_the_sum_of_all() -> None:
    mechanism = build(Recipe("coverage"), dropout=0.5).eval()
    asked = given(mechanism)
    found = attend(mechanism, asked)
    torch.testing.assert_close(found.history.weights, found.weights[:, :, -1:])
    torch.testing.assert_close(found.history.total, found.weights.sum(2, keepdim=True))


def test_a_memory_is_extended_and_chosen_from() -> None:
    mechanism = build()
    first, second = given(mechanism, 3, 1, 2), given(mechanism, 3, 1, 4)
    left = mechanism.remember(first.keys, first.values)
    right = mechanism.remember(second.keys, second.values, torch.rand(3, 4) < 0.5, range(2, 6))
    both = left.extend(right)
    assert both.size == 6
    assert both.at == range(6)
    assert both.real[:, :2].all()
    assert torch.equal(both.real[:, 2:], right.real)
    chosen = both.select(torch.tensor([2, 0, 2]))
    assert torch.equal(chosen.keys, both.keys[[2, 0, 2]])
    assert torch.equal(chosen.real, both.real[[2, 0, 2]])
    assert left.real is None
    assert left.extend(left).real is None


def test_positions_that_do_not_follow_one_another_are_kept_one_by_one() -> None:
    mechanism = build()
    asked = given(mechanism, 3, 1, 2)
    left = mechanism.remember(asked.keys, asked.values)
    apart = mechanism.remember(asked.keys, asked.values, at=range(7, 9))
    own = mechanism.remember(asked.keys, asked.values, at=torch.tensor([[1, -1], [2, 3], [4, 5]]))
    assert left.extend(apart).at.tolist() == [[0, 1, 7, 8]]
    assert left.extend(own).at.tolist() == [[0, 1, 1, -1], [0, 1, 2, 3], [0, 1, 4, 5]]
    assert left.extend(own).select(torch.tensor([2])).at.tolist() == [[0, 1, 4, 5]]


# --- beams ---------------------------------------------------------------------------------------------------------

BEAMS = 3


def copies(memory: Memory) -> Memory:
    return memory.select(torch.arange(memory.keys.shape[0]).repeat_interleave(BEAMS))


def beams_of(mechanism: Mechanism, sources: int = 2, queries: int = 1) -> tuple[Tensor, Memory]:
    real = torch.tensor([[True] * 6, [True] * 4 + [False] * 2])
    asked = given(mechanism, sources, queries)
    query = torch.randn(sources * BEAMS, mechanism.sizes.heads, queries, mechanism.sizes.query, dtype=torch.float64)
    return query, mechanism.remember(asked.keys, asked.values, real)


@pytest.mark.parametrize("recipe", each_recipe(near(1)))
def test_beams_that_share_a_memory_see_what_copies_of_it_would_show_them(recipe: Recipe) -> None:
    mechanism = build(recipe, explicit=True)
    query, memory = beams_of(mechanism)
    history = None
    for _ in range(2):
        shared = mechanism(query, memory, at=range(2, 3), history=history)
        copied = mechanism(query, copies(memory), at=range(2, 3), history=history)
        torch.testing.assert_close(shared.context, copied.context)
        torch.testing.assert_close(shared.weights, copied.weights)
        torch.testing.assert_close(shared.scores, copied.scores)
        history = shared.history
        if history is not None:
            torch.testing.assert_close(history.total, copied.history.total)


@pytest.mark.parametrize("kernel", ["reference", "chunked", "fused"])
@pytest.mark.parametrize("mask", [FREE, LOOK_AHEAD, window(1, 1)])
def test_beams_may_ask_several_questions_from_places_of_their_own(kernel: str, mask: object) -> None:
    mechanism = build(Recipe(position="alibi"), kernel=kernel)
    query, memory = beams_of(mechanism, queries=4)
    for at in (range(1, 5), torch.randint(-1, 6, (2 * BEAMS, 4))):
        shared = mechanism(query, memory, mask, at).context
        torch.testing.assert_close(shared, mechanism(query, copies(memory), mask, at).context)


def test_gradients_of_beams_gather_in_the_memory_they_share() -> None:
    mechanism = build()
    query, memory = beams_of(mechanism)
    found = []
    for spread in (lambda shared: shared, copies):
        keys = memory.keys.clone().requires_grad_()
        mechanism(query, spread(replace(memory, keys=keys))).context.pow(2).sum().backward()
        found.append(keys.grad)
    torch.testing.assert_close(*found)


@pytest.mark.parametrize("selection", [{}, {"examples": [4, 1]}, {"heads": [1], "examples": [-1]}, {"rows": [1]}])
def test_what_is_recorded_of_beams_counts_each_as_an_example(selection: dict[str, list[int]]) -> None:
    mechanism = build(Recipe(position="alibi"))
    query, memory = beams_of(mechanism, queries=2)
    found = []
    for chosen in (memory, copies(memory)):
        with record(mechanism, "*", **selection) as seen:
            mechanism(query, chosen)
        found.append({entry.name: entry.tensor for entry in seen})
    assert found[0].keys() == found[1].keys() == {"queries", "scores", "weights", "context"}
    for name in ("queries", "scores", "weights"):
        torch.testing.assert_close(found[0][name], found[1][name])


def test_what_beams_share_unevenly_is_refused() -> None:
    mechanism = build()
    query, memory = beams_of(mechanism)
    refused(ModelError, lambda: mechanism(query[:5], memory), "5 rows", "2 memories")
    refused(ModelError, lambda: mechanism(query[:1], memory), "1 rows", "2 memories")


def test_beams_refuse_what_only_one_row_can_have() -> None:
    looking = build(Recipe("coverage"))
    query, memory = beams_of(looking, queries=2)
    refused(ModelError, lambda: looking(query, memory), "one query per beam")
    mechanism = build()
    query, memory = beams_of(mechanism, queries=2)
    refused(ModelError, lambda: mechanism(query, memory, pairs(torch.ones(2, 6) > 0)), "pairs", "padding")


# --- two memories at once ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("recipe", each_recipe(near(1)))
def test_attention_over_two_memories_is_attention_over_both_in_a_row(recipe: Recipe) -> None:
    mechanism = build(recipe)
    query, shared = beams_of(mechanism)
    own = given(mechanism, 2 * BEAMS, 1, 3)
    own = mechanism.remember(own.keys, own.values, torch.rand(2 * BEAMS, 3) < 0.8, range(3))

    def joined() -> Tensor:
        return mechanism.joint(query, shared, own, at=range(2, 3)).context

    if recipe.looks_back or recipe.scope == "local_p" or recipe.score in ("location", "mixed"):
        refused(ModelError, joined, recipe.score, recipe.scope, "two memories")
    else:
        torch.testing.assert_close(joined(), mechanism(query, copies(shared).extend(own), at=range(2, 3)).context)
