"""All methods by name: one form of answer, worse when parameters are random, refused where they do not apply."""

from collections.abc import Iterator

import numpy as np
import pytest
import torch

from regard.config import Settings
from regard.errors import RequestError
from regard.explain.asking import WITHOUT_ATTENTION
from regard.explain.methods import METHODS, explain
from regard.explain.weights import WeightsSettings
from regard.models import Classifier
from tests.explain.toys import (
    KEY,
    Toy,
    classified,
    classifier,
    language,
    reader,
    recurrent,
    texts,
    trained,
    translator,
    unchecked,
)

INSIDE = [name for name, method in METHODS.items() if method.needs != "scores"]
# Above two layers of self-attention, pooling need not look at the word itself, which others carry by then; and where a
# model is sure, the gradient at the input alone is noise.
PLAIN = ("weights", "input_gradient")
MAKERS = {"translator": translator, "language": language, "classifier": classifier}


@pytest.fixture(scope="module", autouse=True)
def fast() -> Iterator[None]:
    """The signatures are checked by the tests of each method."""
    with unchecked():
        yield


@pytest.mark.parametrize("name", INSIDE)
@pytest.mark.parametrize("maker", MAKERS)
def test_every_method_answers_in_one_form(maker: str, name: str) -> None:
    toy = MAKERS[maker]()
    found = explain(toy, name, quick(name))
    assert found.method == name
    assert found.weights.shape == (len(found.outputs), len(found.inputs)) == (len(toy.outputs), len(toy.inputs))
    assert np.isfinite(found.weights).all()
    assert found.signed or found.weights.min() >= 0.0
    assert found.source
    assert found.caveat.startswith(METHODS[name].caveat)
    torch.testing.assert_close(
        torch.tensor(found.probabilities), toy.scores(toy.pieces[None])[0].detach().exp(), atol=1e-5, rtol=1e-4
    )


def quick(name: str) -> Settings | None:
    """Settings that cost little; exactness is tested elsewhere."""
    return METHODS[name].settings(steps=4, most=4) if name == "integrated_gradients" else None


def on_the_key(model: Classifier, name: str) -> float:
    """How much of an explanation lies on the one word that decides, the mean over texts that have it."""
    pieces, labels = texts(8, seed=1000)
    shares = []
    for text in pieces[labels == 1].tolist():
        weights = np.abs(explain(classified(model, text), name, quick(name)).weights[0])
        shares.append(weights[text.index(KEY)] / max(weights.sum(), 1e-9))
    return float(np.mean(shares))


@pytest.mark.parametrize("name", INSIDE)
def test_every_method_finds_less_of_the_truth_when_parameters_are_random(name: str) -> None:
    family = "recurrent" if name in PLAIN else "transformer"
    learned, random = on_the_key(trained(family), name), on_the_key(reader(family).eval(), name)
    assert learned > 1.3 * random


def test_what_was_trained_has_learned() -> None:
    for name in ("transformer", "recurrent"):
        pieces, labels = texts(64, seed=2000)
        assert (trained(name)(pieces).argmax(-1) == labels).float().mean() > 0.95


def test_a_name_that_is_none_is_answered_with_the_nearest() -> None:
    with pytest.raises(RequestError, match=r"Unknown method 'rolout'\. Did you mean 'rollout'"):
        explain(classifier(), "rolout")


@pytest.mark.parametrize("name", [name for name, method in METHODS.items() if method.needs == "attention"])
def test_a_model_without_attention_is_told_what_applies(name: str) -> None:
    toy: Toy = classifier("recurrent", pooling="mean")
    with pytest.raises(RequestError, match=f"{name} reads attention, and this model has none; use one of input_grad"):
        explain(toy, name)


def test_the_methods_offered_instead_are_there_and_apply() -> None:
    toy = classifier("recurrent", pooling="mean")
    assert all(METHODS[name].applies(toy) for name in WITHOUT_ATTENTION)


def test_settings_of_another_method_are_refused() -> None:
    with pytest.raises(RequestError, match="WeightsSettings are no settings of rollout; give RolloutSettings"):
        explain(recurrent(), "rollout", WeightsSettings())
