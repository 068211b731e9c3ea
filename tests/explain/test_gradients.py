"""Explanations from gradients: of attention's weights, and of embeddings, at one point and along a way."""

from types import ModuleType

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from regard.attention import replace
from regard.explain import slopes
from regard.explain.gradients import AttentionGradientSettings, attention_gradient
from regard.explain.integrated import (
    InputGradientSettings,
    IntegratedSettings,
    blanked,
    embedded,
    input_gradient,
    integrated_gradients,
    whole,
)
from regard.models import Decoded
from regard.tasks.subjects import picked, said
from tests.explain.toys import SMALL, Toy, classifier, language, recurrent, shown, translator, unchecked


def ends(toy: Toy) -> tuple[Tensor, Tensor]:
    """The embeddings of a toy's inputs, and of blanks in their place."""
    point, base = embedded(toy, torch.stack([toy.pieces, blanked(toy)]))[0]
    return point, base


MAKERS = {
    "translator": translator,
    "joint": lambda: translator(SMALL | {"cross": "joint"}),
    "recurrent": recurrent,
    "copying": lambda: translator(SMALL | {"copying": True}),
    "looking back": lambda: recurrent(attention={"score": "location"}),
    "language": language,
    "classifier": classifier,
    "recurrent classifier": lambda: classifier("recurrent"),
}
SMOOTH = {"feedforward": {"hidden": 32, "activation": "gelu"}}
"""Without corners, so that an integral over it is near in few steps."""


@pytest.mark.parametrize("name", MAKERS)
def test_weights_are_those_of_the_kernel(name: str) -> None:
    toy = MAKERS[name]()
    found = attention_gradient(toy, AttentionGradientSettings())
    assert found.check
    assert max(found.check.values()) < 1e-4
    assert found.weights.shape == (len(toy.outputs), len(toy.inputs))
    assert found.weights.min() >= 0.0
    assert found.weights.max() > 0.0


@pytest.mark.parametrize("name", [name for name in MAKERS if name not in ("copying", "looking back")])
def test_slopes_through_the_context_are_those_of_weights_held_in_the_graph(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    toy = MAKERS[name]()
    found = attention_gradient(toy, AttentionGradientSettings()).weights
    monkeypatch.setattr(slopes, "acts_otherwise", lambda subject, look: True)
    np.testing.assert_allclose(found, attention_gradient(toy, AttentionGradientSettings()).weights, atol=1e-6)


def test_one_weight_times_its_gradient_is_what_a_small_change_of_it_does() -> None:
    toy = classifier("recurrent")
    (look,) = toy.looks
    found = attention_gradient(toy, AttentionGradientSettings(layer=0)).weights[0]
    step, expected = 1e-2, []
    for place in range(len(toy.inputs)):

        def nudge(weights: Tensor, place: int = place) -> Tensor:
            more = torch.zeros_like(weights)
            more[..., place] = step * weights[..., place]
            return weights + more

        with torch.no_grad():
            whole = toy.scores(toy.pieces[None]).item()
            with replace(toy.model, look.tap, nudge):
                expected.append((toy.scores(toy.pieces[None]).item() - whole) / step)
    np.testing.assert_allclose(found, np.maximum(expected, 0.0), atol=5e-4)
    assert max(expected) > 0.01


def test_one_layer_of_a_decoder_over_itself_is_shown_on_what_it_wrote() -> None:
    found = attention_gradient(translator(), AttentionGradientSettings(layer=0, kind="self"))
    assert [unit.text for unit in found.inputs.units] == ["<begin>", "p8", "p4", "p10"]
    assert np.triu(found.weights, 1).max() == 0.0


def test_frozen_parameters_are_explained_all_the_same_and_get_no_gradient() -> None:
    toy = translator()
    expected = attention_gradient(toy, AttentionGradientSettings()).weights
    toy.model.requires_grad_(False)
    with torch.inference_mode():
        found = attention_gradient(toy, AttentionGradientSettings())
        integrated_gradients(toy, IntegratedSettings(most=32))
    np.testing.assert_allclose(found.weights, expected, atol=1e-6)
    assert all(parameter.grad is None for parameter in toy.model.parameters())


def test_explaining_leaves_no_gradient_and_no_watcher_behind() -> None:
    toy = translator()
    before = toy.scores(toy.pieces[None])
    attention_gradient(toy, AttentionGradientSettings(layer=0, kind="self", queries="inputs"))
    input_gradient(toy, InputGradientSettings())
    assert all(parameter.grad is None for parameter in toy.model.parameters())
    assert torch.equal(toy.scores(toy.pieces[None]), before)


@pytest.mark.parametrize("name", ["translator", "recurrent", "language", "classifier", "recurrent classifier"])
def test_integrated_gradients_sum_to_the_change_or_say_that_they_do_not(name: str) -> None:
    toy = MAKERS[name]() if "recurrent" in name else smooth(name)
    with unchecked():
        found = integrated_gradients(toy, IntegratedSettings())
    assert found.check["completeness"] <= 0.01
    change = whole(toy, *ends(toy)).numpy()
    assert np.abs(found.weights.sum(-1) - change).max() <= 0.01 * max(np.abs(change).max(), 0.01)
    assert "still miss" not in found.caveat


def smooth(name: str) -> Toy:
    if name == "classifier":
        return classifier(**SMOOTH)
    return translator(SMALL | SMOOTH) if name == "translator" else language(settings=SMALL | SMOOTH)


def test_too_few_steps_are_told_in_the_caveat() -> None:
    found = integrated_gradients(translator(), IntegratedSettings(steps=1, most=1))
    assert found.check["completeness"] > 0.01
    assert "After 1 steps the parts still miss the whole by" in found.caveat


def test_marks_stay_in_a_baseline_of_blanks_and_count_for_nothing() -> None:
    toy = classifier()
    assert integrated_gradients(toy, IntegratedSettings(most=32)).weights[0, -1] == 0.0
    assert integrated_gradients(toy, IntegratedSettings(baseline="zero", most=32)).weights[0, -1] != 0.0


def test_the_gradient_times_the_input_is_that_of_a_linear_model_exactly() -> None:
    toy = classifier(pooling="mean")
    table = toy.model.encoder.embedding.vectors.detach()
    toy.score = lambda model, pieces, _: model.encoder.embedding(pieces, range(pieces.shape[1])).sum((1, 2))[:, None]
    found = input_gradient(toy, InputGradientSettings()).weights[0]
    np.testing.assert_allclose(found, embedded(toy, toy.pieces[None])[0][0].sum(-1), rtol=1e-5)
    assert table.shape[0] > 0


class Scored(nn.Module):
    """A toy as captum wants it: embeddings in, scores out."""

    def __init__(self, toy: Toy) -> None:
        super().__init__()
        self.toy = toy

    def forward(self, embedded: Tensor) -> Tensor:
        size = embedded.shape[1]
        with replace(self.toy.model, self.toy.embedded, lambda old: torch.cat([embedded, old[:, size:]], dim=1)):
            return self.toy.scores(self.toy.pieces.expand(len(embedded), -1))


@pytest.mark.parametrize("name", ["classifier", "translator"])
def test_captum_finds_the_same(name: str) -> None:
    attr = pytest.importorskip("captum.attr")
    with unchecked():
        _compare(smooth(name), attr)


def _compare(toy: Toy, attr: ModuleType) -> None:
    point, base = (end[None] for end in ends(toy))
    ours = integrated_gradients(toy, IntegratedSettings(steps=64, most=64)).weights
    at_once = input_gradient(toy, InputGradientSettings()).weights
    for output in range(len(toy.outputs)):
        theirs = attr.IntegratedGradients(Scored(toy)).attribute(point, base, target=output, n_steps=64)
        np.testing.assert_allclose(ours[output], theirs.sum(-1)[0].detach().numpy(), atol=1e-3)
        plain = attr.InputXGradient(Scored(toy)).attribute(point.clone().requires_grad_(), target=output)
        np.testing.assert_allclose(at_once[output], plain.sum(-1)[0].detach().numpy(), atol=1e-3)


def test_a_longer_text_is_taken_a_few_versions_at_a_time_with_the_same_result(monkeypatch: pytest.MonkeyPatch) -> None:
    toy = shown(classifier(), [5, 7, 9, 6, 8, 4, 2])
    settings = IntegratedSettings(steps=8, most=8)
    at_once = integrated_gradients(toy, settings).weights
    monkeypatch.setattr("regard.explain.integrated.MANY_PIECES", 21)
    np.testing.assert_allclose(integrated_gradients(toy, settings).weights, at_once, atol=1e-6)


def test_steps_go_only_to_outputs_that_still_miss_something() -> None:
    toy = translator()
    with unchecked():
        few = integrated_gradients(toy, IntegratedSettings(steps=8, most=512))
        many = integrated_gradients(toy, IntegratedSettings(steps=512, most=512))
    assert few.check["completeness"] <= 0.01
    np.testing.assert_allclose(few.weights, many.weights, atol=0.03)


def test_log_probabilities_that_go_around_the_vocabulary_have_the_same_values_and_gradients() -> None:
    toy, wanted = translator(), torch.tensor([8, 4, 10])
    hidden = torch.randn(2, 3, 16, requires_grad=True)
    weights = torch.tensor([0.3, -1.0, 2.0])
    plain = picked(toy.model.output.log_probabilities(Decoded(hidden)), wanted)
    around = said(toy.model.output, Decoded(hidden), wanted)
    torch.testing.assert_close(around, plain, atol=1e-6, rtol=0)
    expected, found = (torch.autograd.grad((one * weights).sum(), hidden)[0] for one in (plain, around))
    torch.testing.assert_close(found, expected, atol=1e-6, rtol=0)
