"""Raw attention: what is shown is what the layer used, of any layer and head, for every kind of model."""

import threading
import time
from collections.abc import Callable

import numpy as np
import pytest
import torch

from regard.attention import record
from regard.errors import RequestError
from regard.explain import asking
from regard.explain.attribution import Attribution
from regard.explain.norms import NormsSettings, norms
from regard.explain.weights import WeightsSettings, weights
from regard.train.allocation import resident
from tests.explain.toys import SMALL, Toy, classifier, language, recurrent, shown, translator


def maps(toy: Toy, tap: str) -> np.ndarray:
    """All weights of a tap, heads x queries x keys, calls in turn."""
    with torch.no_grad(), record(toy.model, tap) as seen:
        toy.scores(toy.pieces[None])
    return torch.cat([entry.tensor[0] for entry in seen], dim=1).numpy()


@pytest.mark.parametrize("layer", [0, 1, -1, -2])
@pytest.mark.parametrize("head", [0, 1, -1])
def test_any_layer_and_head_of_cross_attention_is_shown_as_it_was_used(layer: int, head: int) -> None:
    toy = translator()
    found = weights(toy, WeightsSettings(layer=layer, head=head))
    expected = maps(toy, f"decoder.blocks.{layer % 2}.cross.mechanism.weights")[head]
    np.testing.assert_array_equal(found.weights, expected)
    assert found.weights.shape == (len(toy.outputs), len(toy.inputs))
    assert max(found.check.values()) < 1e-5


@pytest.mark.parametrize(("put", "by"), [("mean", np.mean), ("max", np.max)])
def test_heads_and_layers_are_put_together_by_name(put: str, by: object) -> None:
    toy = translator()
    every = np.stack([maps(toy, f"decoder.blocks.{layer}.cross.mechanism.weights") for layer in range(2)])
    found = weights(toy, WeightsSettings(layer=put, head=put)).weights
    np.testing.assert_allclose(found, by(by(every, axis=1), axis=0), atol=1e-6)


def test_self_attention_of_either_side_is_shown_on_its_own_axes() -> None:
    toy = translator()
    inner = weights(toy, WeightsSettings(kind="self", queries="inputs"))
    assert (inner.outputs, inner.inputs) == (toy.inputs, toy.inputs)
    outer = weights(toy, WeightsSettings(kind="self"))
    assert [unit.text for unit in outer.inputs.units] == ["<begin>", "p8", "p4", "p10"]
    assert np.triu(outer.weights, 1).max() == 0.0


def test_a_decoder_that_goes_step_by_step_is_shown_as_a_whole() -> None:
    toy = recurrent()
    found = weights(toy, WeightsSettings())
    np.testing.assert_array_equal(found.weights, maps(toy, "attention.mechanism.weights")[0])
    np.testing.assert_allclose(found.weights.sum(-1), 1.0, atol=1e-6)


def test_a_past_that_grows_is_shown_as_a_triangle() -> None:
    toy = recurrent(own_past={"score": "scaled_dot"})
    found = weights(toy, WeightsSettings(kind="self"))
    assert found.weights.shape == (4, 4)
    assert np.triu(found.weights, 1).max() == 0.0
    np.testing.assert_allclose(found.weights.sum(-1), 1.0, atol=1e-6)


@pytest.mark.parametrize("encoder", ["transformer", "recurrent"])
def test_pooling_gives_the_label_one_row(encoder: str) -> None:
    found = weights(classifier(encoder), WeightsSettings())
    assert found.weights.shape == (1, 5)
    assert found.source.startswith("pooling")


def test_what_a_language_model_puts_on_its_own_words_is_told_apart() -> None:
    toy = language()
    found = weights(toy, WeightsSettings())
    whole = maps(toy, "decoder.blocks.1.attention.mechanism.weights").mean(0)
    np.testing.assert_allclose(found.weights, whole[3:, :4], atol=1e-6)
    assert "on earlier outputs" in found.source


def test_probabilities_are_those_of_the_prediction() -> None:
    toy = translator()
    found = weights(toy, WeightsSettings()).probabilities
    torch.testing.assert_close(torch.tensor(found), toy.scores(toy.pieces[None])[0].exp().detach())


def test_a_model_in_training_is_explained_without_dropout_and_left_in_training() -> None:
    toy = translator(SMALL | {"dropout": 0.5})
    expected = weights(toy, WeightsSettings()).weights
    toy.model.train()
    toy.model.encoder.eval()
    np.testing.assert_array_equal(weights(toy, WeightsSettings()).weights, expected)
    assert toy.model.decoder.training
    assert not toy.model.encoder.training


@pytest.mark.parametrize(
    ("choice", "said"),
    [
        ({"layer": 2}, "There is no layer 2: this attention has 0 to 1, or -1 for the last."),
        ({"head": -3}, "There is no head -3: this attention has 0 to 1, or -1 for the last."),
        ({"kind": "pool"}, "This model has no pool attention; it has cross and self."),
        ({"kind": "self", "queries": "one"}, "No self attention of this model is asked by one; it is by inputs and "),
    ],
)
def test_what_is_not_there_is_refused_with_what_is(choice: dict[str, object], said: str) -> None:
    with pytest.raises(RequestError) as refused:
        weights(translator(), WeightsSettings.model_validate(choice))
    assert str(refused.value).startswith(said)


def test_an_empty_text_is_refused() -> None:
    with pytest.raises(RequestError, match="There is no text to explain: give at least one word"):
        weights(shown(classifier(), [2]), WeightsSettings())


def test_a_model_without_attention_is_sent_elsewhere() -> None:
    toy = classifier("recurrent", pooling="mean")
    with pytest.raises(RequestError, match=r"no attention.*use one of input_gradient, integrated_gradients"):
        weights(toy, WeightsSettings())


@pytest.mark.parametrize("method", [weights, norms])
def test_a_document_of_two_thousand_pieces_stays_under_300_megabytes(method: Callable[..., Attribution]) -> None:
    toy = shown(classifier(pooling="mean", attention={"heads": 4}), [5, 7, 9, 6] * 500)
    settings = NormsSettings(layer=0) if method is norms else WeightsSettings(layer=0)
    with torch.no_grad():
        toy.scores(toy.pieces[None])
    before, peak, done = resident(), 0, threading.Event()

    def watch() -> None:
        nonlocal peak
        while not done.is_set():
            peak = max(peak, resident())
            time.sleep(0.002)

    watcher = threading.Thread(target=watch)
    watcher.start()
    found = method(toy, settings)
    done.set()
    watcher.join()
    assert found.weights.shape == (2000, 2000)
    assert peak - before < 300e6


def test_one_layer_and_head_are_told_by_number_and_several_are_not() -> None:
    toy = translator()
    one = weights(toy, WeightsSettings(layer=-1, head=1))
    assert (one.layer, one.head) == (1, 1)
    several = weights(toy, WeightsSettings(layer="mean", head="max"))
    assert (several.layer, several.head) == (None, None)


@pytest.mark.parametrize("make", [translator, recurrent, language, classifier])
def test_heads_looked_at_in_turn_are_those_of_one_pass(
    make: Callable[[], Toy], monkeypatch: pytest.MonkeyPatch
) -> None:
    toy = make()
    at_once = weights(toy, WeightsSettings(layer="mean"))
    monkeypatch.setattr(asking, "MANY_WEIGHTS", 1)
    one_by_one = weights(toy, WeightsSettings(layer="mean"))
    np.testing.assert_allclose(one_by_one.weights, at_once.weights, atol=1e-6)
    assert one_by_one.probabilities == at_once.probabilities
