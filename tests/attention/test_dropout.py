"""Dropout from a counter: honest at random, and the same wherever it is drawn again."""

import pytest
import torch
from torch import Tensor

from regard.attention.dropout import Dropout
from regard.errors import ConfigError
from tests.attention.build import attend as attended
from tests.attention.build import build, given, refused

ROWS, COLUMNS = torch.arange(2 * 4 * 80).view(2, 4, 80), torch.arange(128)


def factors(rate: float, seed: int, rows: Tensor = ROWS, columns: Tensor = COLUMNS) -> Tensor:
    return Dropout(rate, seed).factor(rows, columns, torch.float64)


def kept(rate: float = 0.3, seed: int = 12345) -> Tensor:
    return factors(rate, seed) > 0


def correlation(first: Tensor, second: Tensor) -> float:
    pair = torch.stack([first.flatten(), second.flatten()]).double()
    return float(torch.corrcoef(pair)[0, 1])


@pytest.mark.parametrize("rate", [0.0, 0.05, 0.1, 0.5, 0.9, 0.999])
def test_the_rate_is_honoured(rate: float) -> None:
    keep = kept(rate)
    deviation = (rate * (1 - rate) / keep.numel()) ** 0.5
    assert float(keep.double().mean()) == pytest.approx(1 - rate, abs=5 * deviation + 1e-9)


@pytest.mark.parametrize("axis", [0, 1, 2, 3])
def test_the_rate_is_honoured_in_every_row_column_head_and_example(axis: int) -> None:
    shares = kept(0.3).double().transpose(0, axis).flatten(1).mean(1)
    each = kept().numel() / len(shares)
    assert float((shares - 0.7).abs().max()) < 5 * (0.3 * 0.7 / each) ** 0.5


@pytest.mark.parametrize("seed", [0, 2**62])
@pytest.mark.parametrize("shift", [1, 2, 3, 8, 64])
def test_neighbours_are_uncorrelated(seed: int, shift: int) -> None:
    keep = kept(0.5, seed)
    limit = 5 / keep.numel() ** 0.5
    assert abs(correlation(keep[..., :-shift], keep[..., shift:])) < 2 * limit
    assert abs(correlation(keep[:, :, :-shift], keep[:, :, shift:])) < 2 * limit
    assert abs(correlation(keep[:, :, :-shift, :-shift], keep[:, :, shift:, shift:])) < 2 * limit


def test_the_corners_of_a_rectangle_are_independent() -> None:
    """Rows and columns are hashed apart and then joined; a weak join would show in products of four."""
    signs = kept(0.5).flatten(0, 2).double() * 2 - 1
    for down, across in ((1, 1), (1, 64), (32, 2), (256, 16)):
        corners = signs[:-down, :-across] * signs[down:, :-across] * signs[:-down, across:] * signs[down:, across:]
        assert abs(float(corners.mean())) < 6 / corners.numel() ** 0.5


def test_rows_and_columns_of_one_number_are_not_alike() -> None:
    diagonal = factors(0.5, 7, torch.arange(4096).view(1, 1, -1), torch.arange(4096)).diagonal(dim1=-2, dim2=-1)
    assert float((diagonal > 0).double().mean()) == pytest.approx(0.5, abs=0.05)


def test_heads_and_examples_are_uncorrelated() -> None:
    keep = kept(0.5)
    for first, second in ((keep[0], keep[1]), (keep[:, 0], keep[:, 1]), (keep[:, 1], keep[:, 3])):
        assert abs(correlation(first, second)) < 10 / first.numel() ** 0.5


@pytest.mark.parametrize(("first", "second"), [(1, 2), (0, 1 << 40), (5, ~5), (7, 7 + (1 << 32))])
def test_another_seed_is_another_mask(first: int, second: int) -> None:
    one, other = kept(0.5, first), kept(0.5, second)
    assert abs(correlation(one, other)) < 10 / one.numel() ** 0.5


def test_the_same_seed_is_the_same_mask() -> None:
    assert torch.equal(kept(), kept())


def test_no_two_rows_are_alike() -> None:
    rows = kept(0.5).flatten(0, 2)
    assert len(rows.unique(dim=0)) == len(rows)


def test_any_block_is_that_part_of_the_whole() -> None:
    block = factors(0.3, 99, ROWS[:1, 1:3, 17:40], COLUMNS[5:77])
    assert torch.equal(block, factors(0.3, 99)[:1, 1:3, 17:40, 5:77])


def test_the_expectation_is_preserved() -> None:
    grown = factors(0.4, 3)
    assert grown.unique().tolist() == pytest.approx([0.0, 1 / 0.6])
    assert float(grown.mean()) == pytest.approx(1.0, abs=0.01)


def test_on_average_a_mechanism_in_training_gives_what_it_gives_in_evaluation() -> None:
    mechanism = build(dropout=0.3)
    asked = given(mechanism)
    calm = attended(mechanism, asked).context
    mechanism.train()
    average = torch.stack([attended(mechanism, asked).context for _ in range(100)]).mean(0)
    assert float((average - calm).abs().max()) < 0.4
    assert float((average - calm).abs().mean()) < 0.1


def test_the_mask_follows_torchs_seed_and_nothing_is_dropped_in_evaluation() -> None:
    mechanism = build(dropout=0.5).train()
    asked = given(mechanism)
    found = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        found.append(attended(mechanism, asked).context)
    assert torch.equal(found[0], found[1])
    assert not torch.equal(found[0], found[2])
    assert torch.equal(attended(mechanism.eval(), asked).context, attended(build(), asked).context)


@pytest.mark.parametrize("rate", [-0.1, 1.0, 1.5])
def test_a_rate_that_is_no_rate_is_refused(rate: float) -> None:
    refused(ConfigError, lambda: build(dropout=rate), f"dropout={rate}", "0 <= dropout < 1")
