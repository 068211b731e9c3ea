"""Every example once an epoch, within the budget, in an order that can be entered anywhere."""

import time
from collections import Counter
from itertools import chain, islice, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.data import Batches, BatchSettings, Position, share
from regard.data.packing import by_length, cuts, padded_tokens
from regard.errors import ConfigError, DataError

seeds = st.integers(0, 2**63)
settings_of_batches = st.builds(
    BatchSettings,
    tokens=st.integers(1, 120),
    rows=st.none() | st.integers(1, 9),
    window=st.sampled_from([4, 11, 10_000]),
)


@st.composite
def tables(draw: st.DrawFn, corpora: int = 1) -> list[np.ndarray]:
    """Lengths of the examples of some corpora, up to 25 examples each."""
    width = draw(st.integers(1, 3))
    sizes = draw(st.lists(st.integers(1, 25), min_size=corpora, max_size=corpora))
    random = np.random.default_rng(draw(seeds))
    return [random.integers(0, draw(st.sampled_from([2, 12, 60])), (size, width)).astype("<u4") for size in sizes]


def epoch(batches: Batches, number: int = 0) -> list[list[int]]:
    return [batch.examples.tolist() for batch in batches.epoch(number)]


def like_multi30k(examples: int) -> np.ndarray:
    """Lengths spread and correlated as those of captions in two languages (mean 15, deviation 5, correlation 0.8)."""
    random = np.random.default_rng(0)
    common, own = random.normal(0, 0.28, (examples, 1)), random.normal(0, 0.14, (examples, 2))
    return np.exp(np.log(14) + common + own).round().clip(2).astype("<u4")


@given(tables(), settings_of_batches, seeds, st.integers(0, 1000))
def test_every_example_comes_once_an_epoch(lengths, settings: BatchSettings, seed: int, number: int) -> None:
    seen = Counter(example for batch in epoch(Batches(lengths, settings, seed), number) for example in batch)
    assert seen == Counter(range(len(lengths[0])))


@given(tables(), settings_of_batches, seeds)
def test_no_batch_is_over_the_budget_unless_it_is_one_example(lengths, settings: BatchSettings, seed: int) -> None:
    batches = Batches(lengths, settings, seed)
    oversized = 0
    for batch in epoch(batches):
        padded = len(batch) * int(lengths[0][batch].max(0).sum())
        assert padded <= settings.tokens or len(batch) == 1
        assert len(batch) <= (settings.rows or len(batch))
        assert len(batch) <= settings.tokens
        oversized += padded > settings.tokens
    assert batches.report().oversized == oversized


@given(tables(2), settings_of_batches, seeds, st.integers(0, 25))
def test_going_on_anywhere_equals_having_come_there(lengths, settings: BatchSettings, seed: int, steps: int) -> None:
    batches = Batches(lengths, settings, seed, [1.0, 0.5])
    whole = list(islice(batches.walk(), steps + 10))
    start = whole[steps - 1].next if steps else Position()
    start = Position.read(start.model_dump(mode="json"))
    again = list(islice(Batches(lengths, settings, seed, [1.0, 0.5]).walk(start), 10))
    assert [batch.examples.tolist() for batch in again] == [batch.examples.tolist() for batch in whole[steps:]]
    assert [batch.next for batch in again] == [batch.next for batch in whole[steps:]]


@given(tables(), settings_of_batches, seeds)
def test_a_walk_is_epoch_after_epoch(lengths, settings: BatchSettings, seed: int) -> None:
    batches = Batches(lengths, settings, seed)
    two = [*epoch(batches, 0), *epoch(batches, 1)]
    assert [batch.examples.tolist() for batch in islice(batches.walk(), len(two))] == two


def test_the_order_depends_on_seed_and_epoch() -> None:
    lengths = [like_multi30k(500)]
    orders = {
        str(epoch(Batches(lengths, BatchSettings(tokens=200), seed), number)) for seed in (0, 1) for number in (0, 1)
    }
    assert len(orders) == 4
    assert str(epoch(Batches(lengths, BatchSettings(tokens=200), 0), 1)) in orders


def test_the_order_is_a_promise() -> None:
    """A run that goes on under a later version must see the same batches."""
    lengths = [np.array([[3, 4], [9, 9], [1, 2], [3, 3], [30, 2], [2, 2], [8, 9]])]
    assert epoch(Batches(lengths, BatchSettings(tokens=24, window=4), seed=1), 2) == [[5], [6], [1], [4], [2, 3, 0]]


def test_batches_are_shuffled() -> None:
    longest = [
        int(like_multi30k(5000)[batch].sum(1).max())
        for batch in epoch(Batches([like_multi30k(5000)], BatchSettings(tokens=1000), 0))
    ]
    assert abs(np.corrcoef(longest[:-1], longest[1:])[0, 1]) < 0.3


@given(tables(3), settings_of_batches, seeds, st.lists(st.sampled_from([0.5, 1.0, 2.0]), min_size=3, max_size=3))
def test_weighted_corpora(lengths, settings: BatchSettings, seed: int, weights: list[float]) -> None:
    lengths = [table[:, :1] for table in lengths]
    seen = Counter(example for batch in epoch(Batches(lengths, settings, seed, weights)) for example in batch)
    start = 0
    for table, weight in zip(lengths, weights, strict=True):
        counts = [seen[start + example] for example in range(len(table))]
        assert sum(counts) == max(int(weight * len(table) + 0.5), 1)
        assert max(counts) <= max(weight, 1)
        start += len(table)


def test_examples_that_are_too_long_are_left_out_and_counted() -> None:
    lengths = [np.array([[1, 1], [5, 1], [1, 6], [5, 5]])]
    batches = Batches(lengths, BatchSettings(longest=5, window=2), 0)
    assert sorted(example for batch in epoch(batches) for example in batch) == [0, 1, 3]
    assert batches.report().left_out == 1
    assert batches.report().examples == 3


@pytest.mark.parametrize("window", [1, 2, 3])
@pytest.mark.parametrize("seed", range(4))
def test_the_last_batch_of_an_epoch_leads_to_the_next(seed: int, window: int) -> None:
    """Whatever windows hold nothing but examples that are too long."""
    lengths = [np.array([[1], [9], [9], [2], [9], [9]])]
    batches = Batches(lengths, BatchSettings(rows=1, longest=5, window=window), seed)
    first, second, third, *_ = walked = list(islice(batches.walk(), 4))
    assert (second.next, walked[3].next) == (Position(epoch=1), Position(epoch=2))
    assert (first.next.epoch, third.next.epoch) == (0, 1)
    for batch, after in pairwise(walked):
        assert next(batches.walk(batch.next)).examples.tolist() == after.examples.tolist()


def test_nothing_left_is_an_error_not_an_endless_wait() -> None:
    batches = Batches([np.array([[9], [9]])], BatchSettings(longest=5), 0)
    with pytest.raises(DataError, match="No example has at most 5 tokens a column; raise longest"):
        next(batches.walk())


@pytest.mark.parametrize("start", [Position(window=1), Position(batch=3), Position(epoch=4, batch=9)])
def test_a_position_of_other_data_is_refused(start: Position) -> None:
    batches = Batches([np.full((6, 1), 2)], BatchSettings(tokens=4), 0)
    assert len(epoch(batches)) == 3
    with pytest.raises(
        DataError, match=r"no batch \d in window \d of epoch \d: the data or the batch settings are not"
    ):
        next(batches.walk(start))


def test_empty_corpora_and_missing_weights_are_refused() -> None:
    for lengths in ([], [np.empty((0, 1), int)]):
        with pytest.raises(DataError, match="a corpus has no examples"):
            Batches(lengths, BatchSettings(), 0)
    with pytest.raises(ConfigError, match="1 weights for 2 corpora"):
        Batches([np.ones((1, 1), int)] * 2, BatchSettings(), 0, [1.0])


@given(tables(), st.integers(1, 100), st.none() | st.integers(1, 5))
def test_cuts_are_those_of_the_plain_loop(lengths, tokens: int, rows: int | None) -> None:
    (table,) = lengths
    ends, batch = [], np.empty((0, table.shape[1]), int)
    for number, example in enumerate(table):
        grown = np.vstack([batch, example])
        if len(batch) and (len(grown) * max(grown.max(0).sum(), 1) > tokens or len(grown) > (rows or len(grown))):
            ends.append(number)
            grown = example[None]
        batch = grown
    assert cuts(table.astype(np.int64), tokens, rows).tolist() == [*ends, len(table)]


@given(tables(), st.integers(1, 100))
def test_an_order_by_length_is_an_order(lengths, tokens: int) -> None:
    table = lengths[0].astype(np.int64)
    assert sorted(by_length(table, tokens).tolist()) == list(range(len(table)))


def test_little_is_wasted_on_padding() -> None:
    report = Batches([like_multi30k(29_000)], BatchSettings(tokens=4096), 0).report()
    assert report.examples == 29_000
    assert report.waste < 0.06


def test_the_report_counts_what_the_batches_have() -> None:
    lengths = [like_multi30k(2000)]
    batches = Batches(lengths, BatchSettings(tokens=500, window=300), 3)
    report = batches.report(1)
    made = epoch(batches, 1)
    assert report.batches == len(made)
    assert report.tokens == lengths[0].sum()
    assert report.padded == sum(len(batch) * lengths[0][batch].max(0).sum() for batch in made)
    assert padded_tokens(lengths[0].astype(np.int64), np.array([2000])) == 2000 * lengths[0].max(0).sum()


def test_planning_and_seeking_are_quick() -> None:
    """A fraction of a second for a window of the 131,072 examples, whatever the size of the corpus."""
    table = np.broadcast_to(np.array([[14, 15]], "<u4"), (10**9, 2))  # a billion examples, 8 bytes of memory
    batches = Batches([table], BatchSettings(), 0)
    start = time.process_time()
    batch = next(batches.walk(Position(epoch=3, window=5000, batch=17)))
    assert time.process_time() - start < 2
    assert len(batch.examples) == 4096 // 29


@given(st.integers(0, 40), st.integers(1, 9))
def test_every_row_of_a_batch_belongs_to_one_process(rows: int, processes: int) -> None:
    examples = np.arange(rows) * 3
    shares = [share(examples, rank, processes).tolist() for rank in range(processes)]
    assert sorted(chain.from_iterable(shares)) == examples.tolist()
    assert max(map(len, shares)) - min(map(len, shares)) <= 1


@pytest.mark.parametrize("rank", [-1, 2])
def test_a_rank_that_cannot_be_is_refused(rank: int) -> None:
    with pytest.raises(ConfigError, match=r"rank = .* below the number of processes, 2"):
        share(np.arange(3), rank, 2)


def test_the_order_is_the_same_however_many_processes_share_it() -> None:
    """Half an epoch by two processes, the rest by three: every example once."""
    batches = Batches([like_multi30k(400)], BatchSettings(tokens=300), 0)
    seen: list[int] = []
    steps, position = len(epoch(batches)), Position()
    for processes, count in ((2, steps // 2), (3, steps - steps // 2)):
        walks = [batches.walk(position) for _ in range(processes)]
        for _ in range(count):
            for rank, walk in enumerate(walks):
                batch = next(walk)
                seen += share(batch.examples, rank, processes).tolist()
            position = batch.next
    assert sorted(seen) == list(range(400))
