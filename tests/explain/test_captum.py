"""Agreement with captum on the same model."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch

from regard.explain.groups import PerturbationSettings, groups
from regard.explain.lime import LimeSettings, kernel, lime
from regard.explain.occlusion import OcclusionSettings, occlusion
from regard.explain.shapley import ShapleySettings, shapley
from tests.explain.known_truth import Labelled, table

captum = pytest.importorskip("captum.attr", reason="captum is in the extra 'parity'")


def subject_of(kind: str) -> Labelled:
    subject = Labelled(kind)
    subject.model.eval()
    return subject


@pytest.mark.parametrize("kind", ["transformer", "recurrent"])
@pytest.mark.parametrize("of", ["pieces", "words"])
def test_occlusion_is_feature_ablation(kind: str, of: str) -> None:
    subject = subject_of(kind)
    found = occlusion(subject, OcclusionSettings(of=of))
    made = groups(subject.inputs, PerturbationSettings(of=of))
    mask = torch.tensor(made.home + 1)[None]
    for output in range(3):
        theirs = captum.FeatureAblation(subject.scores).attribute(
            subject.pieces[None], baselines=subject.blank, target=output, feature_mask=mask
        )
        ours = found.weights[output][made.units]
        real = made.home >= 0
        np.testing.assert_allclose(ours[real], theirs[0].detach().numpy()[real], atol=1e-5)


@pytest.mark.parametrize(("size", "step"), [(1, 1), (3, 1), (3, 2), (4, 4)])
def test_sliding_spans_are_captums_occlusion(size: int, step: int) -> None:
    subject, _ = table(9)

    def forward(pieces: torch.Tensor) -> torch.Tensor:
        return subject.scores(torch.cat([pieces, subject.pieces[-1:].expand(len(pieces), 1)], dim=1))[:, 0]

    theirs = captum.Occlusion(forward).attribute(
        subject.pieces[None, :-1], sliding_window_shapes=(size,), strides=step, baselines=subject.blank
    )
    found = occlusion(subject, OcclusionSettings(of="spans", size=size, step=step))
    np.testing.assert_allclose(found.weights[0, :-1], theirs[0].numpy(), atol=1e-5)


def captum_lime(subject: Labelled, kept: Iterator[np.ndarray] | None, samples: int, settings: LimeSettings) -> Any:
    """Captum's, with our kernel and ridge, and where given with our draws."""
    from captum._utils.models.linear_model import SkLearnRidge

    made = groups(subject.inputs, settings)

    def near(original: torch.Tensor, changed: torch.Tensor, inner: torch.Tensor, **rest: object) -> torch.Tensor:
        return torch.tensor(kernel(inner.numpy()[:, 1:].astype(bool), settings.width)[0])

    def drawn(original: torch.Tensor, **rest: object) -> torch.Tensor:
        row = next(kept) if kept else np.random.random(len(made)) < 0.5
        return torch.tensor([[1, *row.tolist()]])

    ridge = SkLearnRidge(alpha=settings.ridge * samples)
    method = captum.Lime(subject.scores, interpretable_model=ridge, similarity_func=near, perturb_func=drawn)
    with torch.no_grad():
        coefficients = method.attribute(
            subject.pieces[None],
            baselines=subject.blank,
            target=1,
            feature_mask=torch.tensor(made.home + 1)[None],
            n_samples=samples,
            return_input_shape=False,
            perturbations_per_eval=40,
        )
    return coefficients[0].numpy()[1:]


def test_lime_is_captums_on_the_same_draws() -> None:
    subject, settings = subject_of("transformer"), LimeSettings(samples=120, ridge=0.01)
    ours = lime(subject, settings)
    draws = iter(np.random.default_rng(settings.seed).random((120, 4)) < 0.5)
    theirs = captum_lime(subject, draws, 120, settings)
    np.testing.assert_allclose(ours.weights[1, 1:5], theirs, atol=1e-3)


def test_lime_is_captums_on_other_draws_within_the_stated_error() -> None:
    subject, settings = subject_of("transformer"), LimeSettings(samples=400, ridge=0.01)
    ours = lime(subject, settings)
    theirs = captum_lime(subject, None, 400, settings)
    # Both are off by chance, each by its own error.
    assert (np.abs(ours.weights[1, 1:5] - theirs) <= 2 * ours.error[1, 1:5]).all()


def test_exact_shapley_values_are_captums() -> None:
    subject = subject_of("transformer")
    made = groups(subject.inputs, PerturbationSettings(of="spans", size=2))
    special = torch.tensor(made.home < 0)

    def forward(pieces: torch.Tensor) -> torch.Tensor:
        return subject.scores(torch.where(special, subject.pieces, pieces))[:, 1]

    with torch.no_grad():
        theirs = captum.ShapleyValues(forward).attribute(
            subject.pieces[None],
            baselines=subject.blank,
            feature_mask=torch.tensor(made.home + 1)[None],
            perturbations_per_eval=5,
        )
    ours = shapley(subject, ShapleySettings(of="spans", size=2, exact=True)).weights[1]
    np.testing.assert_allclose(ours[made.units], theirs[0].numpy(), atol=1e-5)
