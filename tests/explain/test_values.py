"""Norms and value zeroing: what attention moves, and what a layer loses without it."""

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from regard.attention import record, replace
from regard.errors import RequestError
from regard.explain.norms import NormsSettings, norms
from regard.explain.zeroing import ZeroingSettings, value_zeroing
from tests.explain.toys import SMALL, Toy, classifier, recurrent, translator


def passed(toy: Toy, *names: str) -> list[torch.Tensor]:
    with torch.no_grad(), record(toy.model, *names) as seen:
        toy.scores(toy.pieces[None])
    return [entry.tensor[0] for name in names for entry in seen if entry.name == name]


def test_norms_are_the_lengths_of_what_the_formula_adds_up() -> None:
    toy = translator(SMALL | {"attention": {"heads": 4, "groups": 2}})
    place = "decoder.blocks.1.cross"
    weights, values = passed(toy, f"{place}.mechanism.weights", f"{place}.mechanism.values")
    project = toy.model.decoder.blocks[1].cross.output.weight.detach().unflatten(1, (4, -1))
    given = torch.einsum("dhe,hke->hkd", project, values.repeat_interleave(2, dim=0))
    moved = weights[..., None] * given[:, None]
    np.testing.assert_allclose(norms(toy, NormsSettings(layer=-1)).weights, moved.sum(0).norm(dim=-1), atol=1e-5)
    one = norms(toy, NormsSettings(layer=1, head=2)).weights
    np.testing.assert_allclose(one, moved[2].norm(dim=-1), atol=1e-5)


def test_what_is_moved_and_the_bias_make_the_output() -> None:
    """With one key there is one weight of 1, and its length is that of the layer's output without bias."""
    toy = classifier("recurrent")
    context = passed(toy, "head.pooling.attention.attention.mechanism.context")[0]
    toy.pieces, toy.inputs = toy.pieces[:1], type(toy.inputs)("", toy.inputs.units[:1])
    context = passed(toy, "head.pooling.attention.attention.mechanism.context")[0]
    np.testing.assert_allclose(norms(toy, NormsSettings()).weights, [[float(context.norm())]], rtol=1e-5)


def test_norms_through_all_layers_are_shares() -> None:
    found = norms(classifier(), NormsSettings(layer="all")).weights
    np.testing.assert_allclose(found.sum(), 1.0, atol=1e-5)


def test_values_that_depend_on_the_query_have_no_norm() -> None:
    toy = classifier(attention={"heads": 2}, position="relative")
    with pytest.raises(RequestError, match="use weights, attention_gradient or value_zeroing"):
        norms(toy, NormsSettings(kind="self"))


def test_value_zeroing_is_the_turn_of_the_layers_output() -> None:
    toy = translator()
    found = value_zeroing(toy, ZeroingSettings(layer=1)).weights
    place = "decoder.blocks.1"
    for key in range(len(toy.inputs)):
        (whole,) = passed(toy, f"{place}.output")

        def zero(values: torch.Tensor, key: int = key) -> torch.Tensor:
            values = values.clone()
            values[:, :, key] = 0.0
            return values

        with replace(toy.model, f"{place}.cross.mechanism.values", zero):
            (without,) = passed(toy, f"{place}.output")
        np.testing.assert_allclose(found[:, key], 1 - F.cosine_similarity(whole, without, dim=-1), atol=1e-5)


def test_value_zeroing_differs_from_layer_to_layer() -> None:
    toy = classifier()
    first, last = (value_zeroing(toy, ZeroingSettings(layer=layer, kind="self")).weights for layer in (0, 1))
    assert np.abs(first - last).max() > 0.01
    assert first.min() >= 0.0


@pytest.mark.parametrize("many", [5, 4096])
def test_value_zeroing_gives_the_same_however_many_are_taken_at_once(
    many: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    toy = recurrent(own_past={"score": "scaled_dot"})
    expected = value_zeroing(toy, ZeroingSettings(layer=-1)).weights
    monkeypatch.setattr("regard.explain.zeroing.MANY_PIECES", many)
    np.testing.assert_allclose(value_zeroing(toy, ZeroingSettings(layer=-1)).weights, expected, atol=1e-6)
    grown = value_zeroing(toy, ZeroingSettings(layer=-1, kind="self"))
    assert np.triu(grown.weights, 1).max() < 1e-6
    assert np.diag(grown.weights).min() > 1e-4


def test_zeroing_through_all_layers_gives_shares() -> None:
    found = value_zeroing(classifier(), ZeroingSettings()).weights
    np.testing.assert_allclose(found.sum(-1), 1.0, atol=1e-5)
