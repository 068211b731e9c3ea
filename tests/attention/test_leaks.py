"""Which inputs reach which outputs: through causal, bidirectional and windowed attention, and through anything."""

import pytest
import torch
from torch import Tensor

from regard.attention import FREE, LOOK_AHEAD, HeadsSettings, Mask, MultiHeadAttention, padding, reach, window
from regard.errors import ModelError
from tests.attention.build import refused

LENGTH = 6


def self_attention(mask: Mask, **settings: object) -> torch.nn.Module:
    attention = MultiHeadAttention(HeadsSettings.of(heads=2, **settings), 8).eval()
    return lambda states: attention(states, attention.remember(states), mask)


@pytest.mark.parametrize("kernel", ["reference", "chunked", "fused"])
@pytest.mark.parametrize(
    ("mask", "before", "after"), [(FREE, 99, 99), (LOOK_AHEAD, 99, 0), (window(2, 1), 2, 1), (window(0, 3), 0, 3)]
)
def test_attention_reaches_as_far_as_its_mask(mask: Mask, before: int, after: int, kernel: str) -> None:
    found = reach(self_attention(mask, kernel=kernel), torch.randn(2, LENGTH, 8))
    expected = [[t - before <= s <= t + after for s in range(LENGTH)] for t in range(LENGTH)]
    assert found.tolist() == expected


def test_two_layers_reach_twice_as_far() -> None:
    first, second = self_attention(window(1, 0)), self_attention(window(1, 0))
    found = reach(lambda states: second(first(states)), torch.randn(1, LENGTH, 8))
    assert found.tolist() == [[t - 2 <= s <= t for s in range(LENGTH)] for t in range(LENGTH)]


def test_padding_is_reached_only_through_the_query_itself() -> None:
    found = reach(self_attention(padding(torch.tensor([4]), LENGTH)), torch.randn(1, LENGTH, 8))
    assert found.tolist() == [[s < 4 or s == t for s in range(LENGTH)] for t in range(LENGTH)]


def test_a_single_leak_is_found() -> None:
    def leaky(states: Tensor) -> Tensor:
        summed = states.cumsum(1)
        summed[:, 1] = summed[:, 1] + 1e-3 * states[:, 3]
        return summed

    found = reach(leaky, torch.randn(1, 4, 2))
    assert found.int().tolist() == [[1, 0, 0, 0], [1, 1, 0, 1], [1, 1, 1, 0], [1, 1, 1, 1]]


def test_a_change_in_one_example_or_one_number_is_enough() -> None:
    def narrow(states: Tensor) -> Tensor:
        changed = states.clone()
        changed[1, 2, 0] += states[1, 0, 1]
        return changed

    assert reach(narrow, torch.randn(3, 4, 2)).int().tolist() == [
        [1, 0, 0, 0],
        [0, 1, 0, 0],
        [1, 0, 1, 0],
        [0, 0, 0, 1],
    ]


def test_pieces_can_be_varied_too() -> None:
    table = torch.randn(7, 8)
    attend = self_attention(LOOK_AHEAD)
    found = reach(lambda pieces: attend(table[pieces]), torch.tensor([[0, 6, 3, 3]]), vocabulary=7)
    assert torch.equal(found, torch.ones(4, 4, dtype=torch.bool).tril())


def test_what_cannot_be_judged_is_refused() -> None:
    refused(ModelError, lambda: reach(torch.rand_like, torch.randn(1, 3, 2)), "model.eval()")
    refused(ModelError, lambda: reach(lambda pieces: pieces, torch.tensor([[1, 2]])), "vocabulary")
