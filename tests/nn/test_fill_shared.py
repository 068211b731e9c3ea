"""A start: what two models share is copied, the rest is named, and what almost fits is refused."""

import pytest
import torch
from torch import Tensor, nn

from regard.errors import DataError
from regard.models import encoder
from regard.models.heads import Labels
from regard.nn.parameters import fill_shared, named

STACK = {"width": 8, "layers": 2, "attention": {"heads": 2}, "feedforward": {"hidden": 8}}


class Classifier(nn.Module):
    def __init__(self, vocabulary: int = 11, classes: int = 3) -> None:
        super().__init__()
        self.encoder = encoder("transformer", STACK, vocabulary)
        self.head = Labels(8, classes)


def copied(model: nn.Module) -> dict[str, Tensor]:
    return {name: tensor.clone() for name, tensor in named(model).items()}


def test_an_encoder_fills_the_encoder_of_a_classifier_and_the_head_is_fresh() -> None:
    torch.manual_seed(1)
    start, model = encoder("transformer", STACK, 11), Classifier()
    before = copied(model)
    filled, fresh, unused = fill_shared(model, named(start), {"": "encoder."})
    assert set(filled) == {f"encoder.{name}" for name in named(start)}
    assert set(fresh) == {name for name in before if name.startswith("head.")}
    assert unused == ()
    assert all(torch.equal(named(model)[f"encoder.{name}"], tensor) for name, tensor in named(start).items())
    assert all(torch.equal(named(model)[name], before[name]) for name in fresh)


def test_what_the_model_has_no_place_for_is_told_by_its_own_name() -> None:
    torch.manual_seed(1)
    start, model = Classifier(), encoder("transformer", STACK, 11)
    filled, fresh, unused = fill_shared(model, named(start), {"encoder.": ""})
    assert set(filled) == set(named(model))
    assert fresh == ()
    assert set(unused) == {name for name in named(start) if name.startswith("head.")}


def test_the_longest_prefix_is_changed() -> None:
    model = nn.ModuleDict({"one": nn.Linear(2, 2), "two": nn.Linear(2, 2)})
    stored = {"a.weight": torch.ones(2, 2), "a.b.weight": torch.zeros(2, 2), "c": torch.ones(1)}
    filled, fresh, unused = fill_shared(model, stored, {"a.": "one.", "a.b.": "two."})
    assert filled == ("one.weight", "two.weight")
    assert fresh == ("one.bias", "two.bias")
    assert unused == ("c",)
    assert bool((model["two"].weight == 0).all())


def test_a_start_of_other_precision_is_taken_in_the_model_s_own() -> None:
    model, stored = nn.Linear(2, 2), {"weight": torch.full((2, 2), 0.5, dtype=torch.bfloat16)}
    fill_shared(model, stored)
    assert model.weight.dtype is torch.float32
    assert bool((model.weight == 0.5).all())


@pytest.mark.parametrize(
    ("start", "renamed", "said"),
    [
        (
            named(encoder("transformer", STACK, 12)),
            {"": "encoder."},
            r"holds encoder.embedding.vectors as \(12, 8\), this model has \(11, 8\)",
        ),
        (named(Classifier(classes=4)), {}, r"holds head.classify.weight as \(4, 8\), this model has \(3, 8\)"),
        (named(encoder("transformer", STACK, 11)), {}, "shares no parameter with this model: it holds embedding.vec"),
        ({}, {}, "shares no parameter with this model: it holds nothing"),
        (
            {"a.head.classify.bias": torch.ones(3), "head.classify.bias": torch.ones(3)},
            {"a.": ""},
            "head.classify.bias twice",
        ),
    ],
)
def test_what_almost_fits_is_refused_and_nothing_is_changed(
    start: dict[str, Tensor], renamed: dict[str, str], said: str
) -> None:
    model = Classifier()
    before = copied(model)
    with pytest.raises(DataError, match=said):
        fill_shared(model, start, renamed)
    assert all(torch.equal(before[name], tensor) for name, tensor in named(model).items())
