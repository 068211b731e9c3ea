"""What every part of attention must do, whatever dict it is added to: a new entry is picked up by itself."""

import inspect
from collections.abc import Mapping

import pytest
import torch
from hypothesis import given as drawing
from hypothesis import strategies as st

from regard.attention import (
    INITIALIZERS,
    KERNELS,
    LOOK_AHEAD,
    NORMALIZERS,
    OUTPUTS,
    POSITIONS,
    SCOPES,
    SCORES,
    Mechanism,
    MechanismSettings,
    Sizes,
    kernels,
)
from regard.attention.normalizers import Normalizer
from regard.attention.outputs import Output
from regard.attention.positions import Position
from regard.attention.scopes import Scope
from regard.attention.scores import Score
from regard.config import make
from regard.errors import ConfigError
from tests.attention.build import (
    Given,
    Recipe,
    attend,
    build,
    each_recipe,
    given,
    legal_recipes,
    near,
    part,
    recipes,
    refused,
    shares_keys,
)

KINDS: dict[str, tuple[Mapping[str, type], type]] = {
    "score": (SCORES, Score),
    "scope": (SCOPES, Scope),
    "normalizer": (NORMALIZERS, Normalizer),
    "position": (POSITIONS, Position),
    "output": (OUTPUTS, Output),
}
CLASSES = [pytest.param(kind, name, id=f"{kind}-{name}") for kind, (known, _) in KINDS.items() for name in known]


def settings(recipe: Recipe) -> MechanismSettings:
    chosen = {kind: part(getattr(recipe, kind)) for kind in ("score", "scope", "normalizer", "position")}
    return MechanismSettings.of(**chosen)


# --- every combination ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("score", SCORES)
def test_every_combination_is_built_or_refused_in_one_sentence(score: str) -> None:
    sizes = Sizes(4, 4, 4, 2, 2)
    for recipe in recipes(scores=[score]):
        if recipe.legal:
            Mechanism(settings(recipe), sizes)
        else:
            refused(ConfigError, lambda recipe=recipe: Mechanism(settings(recipe), sizes))


@pytest.mark.parametrize("score", SCORES)
def test_heads_share_keys_where_the_score_lets_them(score: str) -> None:
    sizes, chosen = Sizes(4, 4, 4, 4, 2), settings(Recipe(score))
    if shares_keys(score):
        Mechanism(chosen, sizes)
    else:
        refused(ConfigError, lambda: Mechanism(chosen, sizes), "4 heads", "2 groups")


@drawing(data=st.data())
def test_every_legal_combination_attends_and_learns(data: st.DataObject) -> None:
    torch.manual_seed(data.draw(st.integers(0, 2**31), label="seed"))
    mechanism = build(data.draw(st.sampled_from(legal_recipes()), label="recipe")).train()
    asked = given(mechanism, *(data.draw(st.integers(1, 4), label=name) for name in "BQK")).leaves()
    context = attend(mechanism, asked).context
    context.sum().backward()
    assert context.shape == asked.query.shape
    learned = [parameter.grad for parameter in mechanism.parameters() if parameter.grad is not None]
    assert all(gradient.isfinite().all() for gradient in (context, asked.values.grad, *learned))


# --- every part ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "name"), CLASSES)
def test_a_part_is_of_its_kind_and_says_what_it_is(kind: str, name: str) -> None:
    known, base = KINDS[kind]
    assert issubclass(known[name], base)
    assert known[name].__doc__
    assert known[name].__doc__.splitlines()[0].rstrip().endswith((".", ":"))


@pytest.mark.parametrize(("kind", "name"), CLASSES)
def test_the_settings_of_a_part_are_keyword_only_and_have_defaults(kind: str, name: str) -> None:
    parameters = inspect.signature(KINDS[kind][0][name]).parameters.values()
    for parameter in parameters:
        if parameter.kind is parameter.KEYWORD_ONLY:
            assert parameter.default is not parameter.empty
            assert parameter.annotation is not parameter.empty


@pytest.mark.parametrize(("kind", "name"), CLASSES)
def test_a_part_refuses_a_setting_it_does_not_know(kind: str, name: str) -> None:
    taken = {"position": (4, 2), "output": (Sizes(4, 4, 4, 2, 2), 4, 4)}.get(kind, (Sizes(4, 4, 4, 2, 2),))
    refused(ConfigError, lambda: make(kind, KINDS[kind][0], {"name": name, "wrong": 1}, *taken), kind, name, "'wrong'")


@pytest.mark.parametrize("kind", KINDS)
def test_a_name_close_to_a_known_one_is_answered_with_it(kind: str) -> None:
    known = KINDS[kind][0]
    for name in known:
        refused(ConfigError, lambda name=name: make(kind, known, f"{name}x"), f"'{name}x'", f"'{name}'", "Known: ")


@pytest.mark.parametrize("recipe", each_recipe(near(1)))
def test_every_learned_tensor_has_the_heads_first_or_is_shared_by_all(recipe: Recipe) -> None:
    """That is how taps compute one head alone."""
    mechanism = build(recipe, heads=5)
    held = [*mechanism.named_parameters(), *mechanism.named_buffers()]
    assert [name for name, tensor in held if tensor.shape[0] not in (1, 5)] == []


@pytest.mark.parametrize("recipe", each_recipe(near(1)))
def test_saved_is_loaded(recipe: Recipe) -> None:
    mechanism, other = build(recipe), build(recipe)
    asked = given(mechanism)
    other.load_state_dict(mechanism.state_dict())
    assert torch.equal(attend(other, asked).context, attend(mechanism, asked).context)


@pytest.mark.parametrize("name", INITIALIZERS)
def test_an_initializer_fills_in_place_what_it_is_given(name: str) -> None:
    weight = torch.full((3, 4, 5), torch.nan)
    INITIALIZERS[name](weight, 1.0)
    assert weight.isfinite().all()
    assert weight.std() > 0


def test_every_kernel_is_documented_beside_the_others() -> None:
    assert all(f"| {name}" in kernels.__doc__ for name in KERNELS)


# --- alone = in company --------------------------------------------------------------------------------------------

LENGTHS = (6, 2, 4)


def ragged(mechanism: Mechanism) -> Given:
    return given(mechanism, real=torch.arange(6) < torch.tensor(LENGTHS)[:, None])


@pytest.mark.parametrize("recipe", each_recipe(near(1)))
def test_an_example_gets_the_same_context_alone_and_in_a_batch(recipe: Recipe) -> None:
    for training in (True, False):
        mechanism = build(recipe).train(training)
        asked = ragged(mechanism)
        together = attend(mechanism, asked).context
        for index, length in enumerate(LENGTHS):
            alone = attend(mechanism, asked.example(index, length)).context
            torch.testing.assert_close(together[index], alone[0], atol=1e-6, rtol=0)


@drawing(data=st.data())
def test_an_example_is_alone_in_any_company(data: st.DataObject) -> None:
    torch.manual_seed(data.draw(st.integers(0, 2**31), label="seed"))
    mechanism = build(data.draw(st.sampled_from(legal_recipes()), label="recipe"))
    asked = ragged(mechanism)
    index = data.draw(st.integers(0, 2), label="example")
    alone = attend(mechanism, asked.example(index, LENGTHS[index])).context
    torch.testing.assert_close(attend(mechanism, asked).context[index], alone[0], atol=1e-6, rtol=0)


@pytest.mark.parametrize("recipe", each_recipe(near(1)))
def test_more_padding_changes_nothing(recipe: Recipe) -> None:
    mechanism = build(recipe)
    asked = ragged(mechanism)
    pad = [0, 0, 0, 5]
    longer = Given(
        asked.query,
        torch.nn.functional.pad(asked.keys, pad, value=3.0),
        torch.nn.functional.pad(asked.values, pad, value=-7.0),
        torch.nn.functional.pad(asked.real, [0, 5]),
    )
    torch.testing.assert_close(attend(mechanism, longer).context, attend(mechanism, asked).context, atol=1e-6, rtol=0)


@pytest.mark.parametrize("recipe", each_recipe(near(1)))
def test_the_order_of_a_batch_does_not_matter(recipe: Recipe) -> None:
    mechanism, order = build(recipe), torch.tensor([2, 0, 1])
    asked = ragged(mechanism)
    other = Given(asked.query[order], asked.keys[order], asked.values[order], asked.real[order])
    torch.testing.assert_close(attend(mechanism, other).context, attend(mechanism, asked).context[order])


@pytest.mark.parametrize("recipe", each_recipe([recipe for recipe in near(1) if recipe.scope != "local_p"]))
def test_the_future_changes_nothing_under_a_causal_mask(recipe: Recipe) -> None:
    mechanism = build(recipe)
    asked = given(mechanism, queries=6, mask=LOOK_AHEAD)
    other = Given(asked.query, asked.keys.clone(), asked.values.clone(), None, LOOK_AHEAD)
    other.keys[:, :, 3:] += 1.0
    other.values[:, :, 3:] += 1.0
    found, changed = attend(mechanism, asked).context, attend(mechanism, other).context
    torch.testing.assert_close(changed[:, :, :3], found[:, :, :3])
    if recipe.scope != "monotonic":
        assert not torch.allclose(changed[:, :, 3:], found[:, :, 3:])


@pytest.mark.parametrize("recipe", each_recipe([recipe for recipe in near(1) if not recipe.looks_back]))
def test_queries_do_not_hear_one_another(recipe: Recipe) -> None:
    mechanism = build(recipe)
    asked = given(mechanism)
    memory = mechanism.remember(asked.keys, asked.values)
    whole = attend(mechanism, asked).context
    alone = mechanism(asked.query[:, :, 3:4], memory, at=range(3, 4)).context
    torch.testing.assert_close(whole[:, :, 3:4], alone)
