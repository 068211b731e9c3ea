"""What a mask allows, how it is put together, how it prints, and what it refuses to be."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from regard.attention import FREE, LOOK_AHEAD, Mask, look_ahead, padding, pairs, real_keys, window
from regard.attention.places import Place
from regard.errors import ConfigError, ModelError
from tests.attention.build import refused

QUERIES, KEYS, BATCH = 5, 6, 2
reaches = st.none() | st.integers(0, 4)


@st.composite
def masks(draw: st.DrawFn) -> Mask:
    torch.manual_seed(draw(st.integers(0, 2**31)))
    keys = torch.rand(BATCH, KEYS) < 0.7 if draw(st.booleans()) else None
    shape = (
        draw(st.sampled_from([1, BATCH])),
        draw(st.sampled_from([1, 2])),
        draw(st.sampled_from([1, QUERIES])),
        KEYS,
    )
    arbitrary = torch.rand(shape) < 0.7 if draw(st.booleans()) else None
    return Mask(keys, arbitrary, draw(reaches), draw(reaches))


def by_hand(mask: Mask, example: int, head: int, row: int, key: int, at_query: int, at_key: int) -> bool:
    """The definition, one pair at a time."""
    if mask.keys is not None and not mask.keys[example, key]:
        return False
    if mask.pairs is not None:
        sizes = mask.pairs.shape
        if not mask.pairs[example % sizes[0], head % sizes[1], row % sizes[2], key]:
            return False
    if mask.before is None and mask.after is None:
        return True
    known = at_query >= 0 and at_key >= 0
    back = mask.before is None or at_query - at_key <= mask.before
    return known and back and (mask.after is None or at_key - at_query <= mask.after)


def whole(mask: Mask, at_query: list[int], at_key: list[int]) -> Tensor:
    found = [
        by_hand(mask, example, head, row, key, at_query[row], at_key[key])
        for example in range(BATCH)
        for head in range(2)
        for row in range(QUERIES)
        for key in range(KEYS)
    ]
    return torch.tensor(found).view(BATCH, 2, QUERIES, KEYS)


def full(block: Tensor | None, *shape: int) -> Tensor:
    return torch.ones(shape, dtype=torch.bool) if block is None else block.expand(shape)


@given(masks())
def test_a_mask_allows_what_its_definition_says(mask: Mask) -> None:
    expected = whole(mask, list(range(QUERIES)), list(range(KEYS)))
    assert torch.equal(mask.dense(QUERIES, KEYS).expand(expected.shape), expected)


@given(masks(), masks())
def test_two_masks_joined_allow_what_both_allow(first: Mask, second: Mask) -> None:
    both, one, other = (mask.dense(QUERIES, KEYS) for mask in (first & second, first, second))
    assert torch.equal(*torch.broadcast_tensors(both, one & other))


@given(masks(), st.data())
def test_a_block_is_that_part_of_the_whole(mask: Mask, data: st.DataObject) -> None:
    rows, columns = (
        slice(start := data.draw(st.integers(0, size - 1)), data.draw(st.integers(start + 1, size)))
        for size in (QUERIES, KEYS)
    )
    place = Place(range(QUERIES)[rows], range(KEYS)[columns], rows, columns, torch.device("cpu"))
    part = mask.dense(QUERIES, KEYS)[:, :, rows, columns]
    assert torch.equal(full(mask.block(place), *part.shape), part)


@given(masks(), st.data())
def test_what_stands_anywhere_is_masked_by_its_position(mask: Mask, data: st.DataObject) -> None:
    places = st.integers(-1, 7)
    at_query = data.draw(st.lists(places, min_size=QUERIES, max_size=QUERIES))
    at_key = data.draw(st.lists(places, min_size=KEYS, max_size=KEYS))
    place = Place(
        torch.tensor([at_query]), torch.tensor([at_key]), slice(0, QUERIES), slice(0, KEYS), torch.device("cpu")
    )
    expected = whole(mask, at_query, at_key)
    assert torch.equal(full(mask.block(place), *expected.shape), expected)


@given(before=reaches, after=reaches, start=st.integers(0, 9), size=st.integers(1, 5), keys=st.integers(1, 9))
def test_what_a_kernel_may_skip_is_masked(
    before: int | None, after: int | None, start: int, size: int, keys: int
) -> None:
    mask = Mask(before=before, after=after)
    rows = range(start, start + size)
    seen = mask.visible(rows, range(keys))
    block = mask.block(Place(rows, range(keys), slice(0, size), slice(0, keys), torch.device("cpu")))
    attended = full(block, 1, 1, size, keys)[0, 0].any(0).nonzero().flatten().tolist()
    assert set(attended) <= set(range(keys)[seen])
    assert mask.all_in_band(rows, range(keys)) == bool(full(block, 1, 1, size, keys).all())


@settings(max_examples=10)
@given(masks())
def test_the_mask_of_some_examples_is_theirs(mask: Mask) -> None:
    rows = torch.tensor([1, 0, 1])
    expected = mask.dense(QUERIES, KEYS).expand(BATCH, -1, -1, -1)[rows]
    assert torch.equal(mask.select(rows).dense(QUERIES, KEYS).expand(expected.shape), expected)


def test_look_ahead_draws_a_staircase() -> None:
    assert look_ahead() is LOOK_AHEAD
    assert LOOK_AHEAD.draw(3, 4) == "Mask 1 x 1 x 3 x 4 (■ may attend), 0 dead rows\n■···\n■■··\n■■■·"


def test_a_window_draws_a_band() -> None:
    assert window(1, 0).draw(4, 4).splitlines()[1:] == ["■···", "■■··", "·■■·", "··■■"]
    assert window(before=1).draw(3, 3).splitlines()[1:] == ["■■■", "■■■", "·■■"]
    assert window(after=1).draw(3, 3).splitlines()[1:] == ["■■·", "■■■", "■■■"]


def test_padding_prints_its_keys_and_counts_dead_rows() -> None:
    assert str(padding(torch.tensor([2, 0]), 3)) == "Mask 2 x 1 x 1 x 3 (■ may attend), 1 dead row\n■■·"


def test_pairs_print_themselves() -> None:
    mask = pairs(torch.tensor([[True, False], [False, False]]))
    assert str(mask) == "Mask 1 x 1 x 2 x 2 (■ may attend), 1 dead row\n■·\n··"


def test_a_free_mask_and_a_band_print_themselves() -> None:
    assert str(FREE) == "Mask 1 x 1 x 1 x 8 (■ may attend), 0 dead rows\n■■■■■■■■"
    assert str(LOOK_AHEAD).count("\n") == 8


def test_long_masks_print_their_first_rows_only() -> None:
    assert LOOK_AHEAD.draw(1000, 3).count("\n") == 24


@pytest.mark.parametrize(
    ("mask", "dead"),
    [
        (FREE, 0),
        (LOOK_AHEAD, 0),
        (padding(torch.tensor([4, 0, 0])), 2 * 4),
        (pairs(torch.eye(4, dtype=torch.bool) & torch.tensor([True, True, False, False])), 2),
        (window(0, 0) & padding(torch.tensor([1, 4])), 3),
    ],
)
def test_dead_rows_are_counted(mask: Mask, dead: int) -> None:
    assert mask.dead_rows(4, 4) == dead


def test_padding_follows_lengths() -> None:
    assert padding(torch.tensor([1, 3])).keys.tolist() == [[True, False, False], [True, True, True]]
    assert padding(torch.tensor([1]), 2).keys.tolist() == [[True, False]]


def test_a_mask_of_a_long_text_costs_nothing_until_it_is_drawn() -> None:
    size = 1 << 40
    last = Place(range(size - 1, size), range(4), slice(size - 1, size), slice(0, 4), torch.device("cpu"))
    assert LOOK_AHEAD.block(last) is None
    assert LOOK_AHEAD.visible(range(5, 7), range(size)) == slice(0, 7)


@pytest.mark.parametrize("make", [pairs, real_keys])
@pytest.mark.parametrize("dtype", [torch.int64, torch.float32])
def test_a_mask_of_numbers_is_refused(make: object, dtype: torch.dtype) -> None:
    refused(ModelError, lambda: make(torch.ones(2, 3, dtype=dtype)), str(dtype), "torch.bool", "True = may attend")


@pytest.mark.parametrize("make", [pairs, real_keys])
def test_a_mask_that_leaves_every_row_dead_is_refused(make: object) -> None:
    refused(ModelError, lambda: make(torch.zeros(2, 3, dtype=torch.bool)), "every row dead", "inverted")


@pytest.mark.parametrize(
    ("make", "shape"), [(real_keys, (3,)), (real_keys, (2, 3, 4)), (pairs, (3,)), (pairs, (1, 1, 1, 2, 2))]
)
def test_a_mask_of_the_wrong_shape_is_refused(make: object, shape: tuple[int, ...]) -> None:
    refused(ModelError, lambda: make(torch.ones(shape, dtype=torch.bool)), str(shape), "expected")


def test_masks_that_do_not_fit_together_are_refused() -> None:
    first, second = (pairs(torch.ones(size, 4, dtype=torch.bool)) for size in (3, 5))
    refused(ModelError, lambda: first & second, "(1, 1, 3, 4)", "(1, 1, 5, 4)")


@pytest.mark.parametrize(("before", "after"), [(-1, None), (None, -2)])
def test_a_window_below_zero_is_refused(before: int | None, after: int | None) -> None:
    refused(ConfigError, lambda: window(before, after), str(before if before is not None else after), "0 or more")


def test_lengths_that_make_no_mask_are_refused() -> None:
    refused(ModelError, lambda: padding(torch.tensor([0, 0])), "Every length is 0")
    refused(ModelError, lambda: padding(torch.tensor([], dtype=torch.long)), "Every length is 0")
    refused(ModelError, lambda: padding(torch.tensor([5]), 3), "5", "3 keys")


def test_a_mask_is_drawn_only_for_the_keys_it_has() -> None:
    refused(ModelError, lambda: padding(torch.tensor([2, 3])).draw(2, 5), "(2, 3)", "5 keys")
    refused(ModelError, lambda: pairs(torch.ones(2, 3) > 0).dead_rows(4, 3), "(1, 1, 2, 3)", "4 queries")
