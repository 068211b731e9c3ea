"""Outputs that leave parts of the source unseen pay for it."""

import math

import pytest
import torch
from torch import Tensor

from regard.decode import Request, SearchSettings, search
from regard.decode.coverage import LEAST
from regard.errors import ConfigError
from tests.decode.toys import END, PAD, Markov, random_tables

SOURCE = torch.tensor([[3, 4, 5], [5, 4, 0]])
REAL = SOURCE > 0


class LooksAtOne(Markov):
    """Looks at source piece 0 when piece 3 came last, at 1 after 4, at 2 (if there is one) after anything else."""

    def start(self, source: Tensor, real: Tensor | None = None):
        self.size = source.shape[1]
        return super().start(source, real)

    def step(self, pieces: Tensor, state):
        width = int(state.shared[1][0])
        at = torch.where(pieces == 3, 0, torch.where(pieces == 4, 1, min(2, width - 1)))
        self.weights = torch.nn.functional.one_hot(at, width).float()
        return super().step(pieces, state)

    def last(self) -> Tensor:
        return self.weights


def test_the_penalty_is_what_the_formula_says() -> None:
    model = LooksAtOne(random_tables(1))
    settings = SearchSettings(beams=30, best=30, length="none", coverage=0.7)
    found = search(model, SOURCE[:1], None, settings, [Request(longest=4)], looking=model, banned=(PAD,))[0]
    for each in (each for each in found if each.complete):
        # The first step looks from `begin`, which points at the last source piece.
        seen = {2, *(0 if piece == 3 else 1 if piece == 4 else 2 for piece in each.pieces)}
        expected = each.log_probability + 0.7 * (3 - len(seen)) * math.log(LEAST)
        assert each.score == pytest.approx(expected, abs=1e-5)


def test_a_strong_penalty_makes_the_output_cover_the_source() -> None:
    tables = random_tables(1)
    tables[..., END] += 2.0
    model = LooksAtOne(tables.log_softmax(-1))
    requests = [Request(longest=5)] * 2
    settings = SearchSettings(beams=60, length="none", stop="sure")
    plain = search(model, SOURCE, REAL, settings, requests, looking=model, banned=(PAD,))
    strong = settings.model_copy(update={"coverage": 5.0})
    covering = search(model, SOURCE, REAL, strong, requests, looking=model, banned=(PAD,))
    assert not {3, 4} <= set(plain[0][0].pieces)
    assert {3, 4} <= set(covering[0][0].pieces)


def test_padding_costs_nothing_and_company_changes_nothing() -> None:
    model = LooksAtOne(random_tables(1), noise=1e-6)
    settings = SearchSettings(beams=4, best=4, coverage=0.3)
    # Both toys look at the last piece of the padded source, so the longer source is the one to compare.
    together = search(model, SOURCE, REAL, settings, [Request(longest=5)] * 2, looking=model, banned=(PAD,))[0]
    single = search(model, SOURCE[:1], None, settings, [Request(longest=5)], looking=model, banned=(PAD,))[0]
    assert [each.pieces for each in together] == [each.pieces for each in single]
    assert [each.score for each in together] == pytest.approx([each.score for each in single], abs=1e-5)


def test_a_penalty_without_attention_to_look_at_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"coverage = 0\.2 needs the model's attention"):
        search(Markov(random_tables(1)), SOURCE, REAL, SearchSettings(coverage=0.2))
