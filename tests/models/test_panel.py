"""Several models that read as one: the mean they are, with and without a CRF, and what cannot be joined."""

from itertools import product
from typing import Any

import pytest
import torch
from torch import Tensor

from regard.errors import ConfigError
from regard.models import (
    Classifier,
    ClassifierSettings,
    DocumentReader,
    DocumentReaderSettings,
    Panel,
    SpanReader,
    SpanReaderSettings,
    Tagger,
    TaggerSettings,
    encoder,
)

PIECES = torch.tensor([[5, 6, 7, 8], [9, 10, 0, 0]])
REAL = torch.tensor([[True] * 4, [True, True, False, False]])
QUESTION, ASKED = PIECES[:, :2], torch.ones(2, 2, dtype=torch.bool)
ENCODERS: list[tuple[str, dict[str, Any]]] = [
    ("recurrent", {"width": 8}),
    ("transformer", {"width": 8, "layers": 1, "attention": {"heads": 2}}),
    ("wide", {"width": 6, "kernels": [2], "embedding": {"width": 4}}),
]


def members(kind: type[Any], settings: Any, *more: int) -> list[Any]:
    """Models of one kind, each on another encoder."""
    torch.manual_seed(0)
    return [
        kind(encoder(name, options, 12), settings, *more).double().eval().requires_grad_(False)
        for name, options in ENCODERS
    ]


GIVEN: dict[str, tuple[list[Any], tuple[Tensor, ...]]] = {
    "classifier": (members(Classifier, ClassifierSettings(), 3), (PIECES, REAL)),
    "several": (members(Classifier, ClassifierSettings(several=True), 3), (PIECES, REAL)),
    "tagger": (members(Tagger, TaggerSettings(crf=True), 3), (PIECES, REAL)),
    "tagger, each on its own": (members(Tagger, TaggerSettings(crf=False), 3), (PIECES, REAL)),
    "spans": (members(SpanReader, SpanReaderSettings()), (PIECES, REAL)),
    "reader": (members(DocumentReader, DocumentReaderSettings(width=8)), (QUESTION, ASKED, PIECES, REAL)),
}


@pytest.mark.parametrize("name", GIVEN)
def test_one_model_several_times_is_that_model(name: str) -> None:
    models, given = GIVEN[name]
    for model in models:
        alone, together = model(*given), Panel([model] * 3)(*given)
        torch.testing.assert_close(together, alone, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", GIVEN)
def test_what_none_may_choose_stays_forbidden_and_is_a_number(name: str) -> None:
    models, given = GIVEN[name]
    together = Panel(models)(*given)
    assert together.isfinite().all()
    lowest = torch.finfo(together.dtype).min
    assert torch.equal(together == lowest, models[0](*given) == lowest)


def test_classes_have_the_geometric_mean_of_their_probabilities() -> None:
    models, given = GIVEN["classifier"]
    panel = Panel(models)
    each = torch.stack([model.probabilities(model(*given)) for model in models])
    mean = each.log().mean(0).exp()
    torch.testing.assert_close(panel.probabilities(panel(*given)), mean / mean.sum(-1, keepdim=True))


def test_of_several_classes_each_is_a_question_of_its_own() -> None:
    models, given = GIVEN["several"]
    panel = Panel(models)
    each = torch.stack([model.probabilities(model(*given)) for model in models])
    yes, no = each.log().mean(0).exp(), (1 - each).log().mean(0).exp()
    torch.testing.assert_close(panel.probabilities(panel(*given)), yes / (yes + no))


def test_paths_of_crfs_have_the_geometric_mean_of_their_probabilities() -> None:
    models, given = GIVEN["tagger"]
    torch.manual_seed(1)
    for model in models:
        for parameter in model.head.crf.parameters():
            torch.nn.init.normal_(parameter)
    panel, real = Panel(models), REAL[:1]
    given = (PIECES[:1], real)
    paths = list(product(range(3), repeat=4))

    def logs(model: Any, head: Any) -> Tensor:
        emissions = model(*given).expand(len(paths), -1, -1)
        return head.crf.log_likelihood(emissions, torch.tensor(paths), real.expand(len(paths), -1))

    mean = torch.stack([logs(model, model.head) for model in models]).mean(0).log_softmax(-1)
    torch.testing.assert_close(logs(panel, panel.head), mean)
    assert panel.best(panel(*given), real)[0].tolist() == list(paths[int(mean.argmax())])
    told = panel.marginals(panel(*given), real)[0, 1]
    wanted = [mean[[path[1] == tag for path in paths]].exp().sum().item() for tag in range(3)]
    assert told.tolist() == pytest.approx(wanted)
    # The members are as they were.
    assert not torch.equal(panel.head.crf.transition, models[0].head.crf.transition)


def test_an_answer_is_where_the_mean_is_highest() -> None:
    models, given = GIVEN["reader"]
    panel = Panel(models)
    mean = torch.stack([model(*given) for model in models])[:, :1, 1:].mean(0)[0]
    spans = {(i, j): float(mean[i, 0] + mean[j, 1]) for i in range(4) for j in range(i, min(i + 2, 4))}
    found = panel.answers(panel(*given), longest=2)
    best = max(spans, key=lambda span: spans[span])
    assert (found.places[0] - 1).tolist() == list(best)
    assert float(found.score[0]) == pytest.approx(spans[best])


@pytest.mark.parametrize(
    ("one", "other"),
    [("classifier", "several"), ("tagger", "tagger, each on its own"), ("classifier", "tagger"), ("spans", "reader")],
)
def test_only_one_kind_of_head_can_be_joined(one: str, other: str) -> None:
    with pytest.raises(ConfigError, match="one kind of head"):
        Panel([GIVEN[one][0][0], GIVEN[other][0][0]])
