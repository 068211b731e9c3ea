"""Subjects small enough that the truth about them is known: what each word adds can be written down or enumerated."""

from collections.abc import Callable
from itertools import permutations

import numpy as np
import torch
from torch import Tensor, nn

from regard.explain import Axis, Unit
from regard.models import Classifier, ClassifierSettings, encoder

BLANK = 0
END = 1


class Present(nn.Module):
    """Scores from which pieces are there: pieces 2, 3, ... stand for groups 0, 1, ... wherever they are."""

    def __init__(self, rule: Callable[[Tensor], Tensor], groups: int) -> None:
        super().__init__()
        self.rule, self.groups = rule, groups

    def forward(self, pieces: Tensor, real: Tensor | None) -> Tensor:
        real = torch.ones_like(pieces, dtype=torch.bool) if real is None else real
        there = (pieces[:, :, None] == torch.arange(2, 2 + self.groups)) & real[:, :, None]
        return self.rule(there.any(1).double()).float()


class Known:
    """A text of one piece a word, with an end-of-sentence piece that is special, and a rule for its scores."""

    def __init__(self, rule: Callable[[Tensor], Tensor], groups: int, outputs: int = 1) -> None:
        self.model: nn.Module = Present(rule, groups)
        self.inputs = one_piece_words(groups)
        self.outputs = Axis("", tuple(Unit(f"label {number}") for number in range(outputs)))
        self.pieces = torch.tensor([*range(2, 2 + groups), END])
        self.blank, self.looks, self.embedded = BLANK, (), "embedding"

    def scores(self, pieces: Tensor, real: Tensor | None = None) -> Tensor:
        return self.model(pieces, real)


def one_piece_words(groups: int) -> Axis:
    text = " ".join(f"w{number:02d}" for number in range(groups))
    units = [Unit(f"w{number:02d}", (4 * number, 4 * number + 3)) for number in range(groups)]
    return Axis(text, (*units, Unit("</s>", None, special=True)))


def linear(weights: Tensor) -> Known:
    """Scores that are sums: weights[o, g] is what group g adds to output o, whatever else is there."""
    return Known(lambda there: there @ weights.double().T - 1, weights.shape[1], weights.shape[0])


def reads_one_word(word: int, groups: int) -> Known:
    """log p of a classifier that looks whether one word is there, and at nothing else."""
    return Known(lambda there: nn.functional.logsigmoid(4 * there[:, [word]] - 2), groups)


def table(groups: int, outputs: int = 1, seed: int = 0) -> tuple[Known, np.ndarray]:
    """A subject with a score of its own for every subset: words work together in every way there is."""
    values = torch.randn(1 << groups, outputs, generator=torch.Generator().manual_seed(seed)).double()
    places = 2 ** torch.arange(groups)
    return Known(lambda there: values[(there.long() * places).sum(1)], groups, outputs), values.float().double().numpy()


def shapley_by_hand(values: np.ndarray) -> np.ndarray:
    """Mean over every single order; values[n] is the score of subset n."""
    groups = int(np.log2(len(values)))
    totals, orders = np.zeros((values.shape[1], groups)), list(permutations(range(groups)))
    for order in orders:
        there = 0
        for group in order:
            totals[:, group] += values[there | 1 << group] - values[there]
            there |= 1 << group
    return totals / len(orders)


class Labelled:
    """A real classifier, tiny and untrained, and log p of one of its labels."""

    def __init__(self, kind: str = "transformer") -> None:
        torch.manual_seed(3)
        settings = {
            "transformer": {"width": 12, "layers": 1, "attention": {"heads": 2}, "feedforward": {"hidden": 16}},
            "recurrent": {"width": 12, "embedding": {"width": 7}},
        }
        self.model: nn.Module = Classifier(encoder(kind, settings[kind], 20), ClassifierSettings(), 3)
        for parameter in self.model.parameters():
            nn.init.normal_(parameter, 0.0, 0.6)
        # Two pieces to the first word and to the third.
        spans = [(0, 2), (2, 5), (6, 10), (11, 13), (13, 17), (18, 19)]
        text = "Horse rode slowly !"
        units = [Unit(text[slice(*span)], span) for span in spans]
        self.inputs = Axis(text, (Unit("<s>", None, True), *units, Unit("</s>", None, True)))
        self.outputs = Axis("", (Unit("good"), Unit("bad"), Unit("neither")))
        self.pieces = torch.tensor([2, 5, 6, 7, 8, 9, 10, 1])
        self.blank, self.looks, self.embedded = 3, (), "encoder.embedding"

    def scores(self, pieces: Tensor, real: Tensor | None = None) -> Tensor:
        return self.model(pieces, real).log_softmax(-1)
