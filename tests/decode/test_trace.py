"""The tree of a search: looking changes nothing, and the path that won is the output."""

import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from regard.decode import Hypothesis, Request, SearchSettings, search, stream
from regard.decode.trace import Trace, Tree, tracing
from tests.decode.toys import END, PAD, Markov, alone, random_tables, small_recurrent, small_transformer, texts

METHODS = {
    "greedy": SearchSettings(method="greedy"),
    "beam": SearchSettings(beams=3, best=3),
    "sure": SearchSettings(beams=3, stop="sure", length={"name": "wu"}),
    "diverse": SearchSettings(method="diverse", beams=4, groups=2),
    "sample": SearchSettings(method="sample", best=2),
    "no repeat": SearchSettings(beams=3, no_repeat=2),
}
REQUEST = Request(longest=7)


def traced(model, source, real, settings, requests) -> tuple[list[list[Hypothesis]], list[Trace]]:
    with tracing() as traces:
        found = search(model, source, real, settings, requests, banned=(PAD,))
    return found, traces


def path(tree: Tree) -> tuple[int, ...]:
    return tuple(node.piece for node in tree.won)


def whole(output: Hypothesis) -> tuple[int, ...]:
    return (*output.pieces, END) if output.complete else output.pieces


@pytest.mark.parametrize("name", METHODS)
@examples(max_examples=4)
@given(seed=st.integers(0, 10_000), forced=st.lists(st.integers(3, 5), max_size=2))
def test_a_traced_search_finds_the_very_same(name: str, seed: int, forced: list[int]) -> None:
    model = Markov(random_tables(seed), noise=1e-7)
    source, real = texts(4, 3, 6, seed)
    requests = [replace(REQUEST, prefix=tuple(forced))] * len(source)
    plain = search(model, source, real, METHODS[name], requests, banned=(PAD,))
    found, traces = traced(model, source, real, METHODS[name], requests)
    assert found == plain
    assert [list(trace.outputs) for trace in traces] == found


@pytest.mark.parametrize("name", METHODS)
@examples(max_examples=4)
@given(seed=st.integers(0, 10_000), forced=st.lists(st.integers(3, 5), max_size=2))
def test_the_path_that_won_is_the_output_with_its_scores(name: str, seed: int, forced: list[int]) -> None:
    model, source = Markov(random_tables(seed)), torch.tensor([[3, 4]])
    requests = [replace(REQUEST, prefix=tuple(forced))]
    [[best, *_]], [trace] = traced(model, source, None, METHODS[name], requests)
    tree = trace.tree()
    assert path(tree) == whole(best)
    assert tuple(node.log_probability for node in tree.won) == best.piece_log_probabilities
    assert tree.won[-1].score == best.score
    for at, node in enumerate(tree.won[:-1]):
        assert node.score == pytest.approx(math.fsum(best.piece_log_probabilities[: at + 1]), abs=1e-5)


@pytest.mark.parametrize("name", METHODS)
def test_nodes_hang_together(name: str) -> None:
    _, [trace] = traced(Markov(random_tables(1)), torch.tensor([[3, 4]]), None, METHODS[name], [REQUEST])
    tree = trace.tree()
    assert not tree.cut
    for number, node in enumerate(tree.nodes):
        assert node.step == 0 if node.parent is None else tree.nodes[node.parent].step == node.step - 1
        assert node.parent is None or node.parent < number
        assert node.parent is None or tree.nodes[node.parent].fate in ("kept", "won", "finished")
        assert len(tree.pieces(number)) == node.step + 1


def test_what_was_kept_and_what_was_lost_are_told_apart() -> None:
    found, [trace] = traced(Markov(random_tables(5, size=12)), torch.tensor([[3, 4]]), None, METHODS["beam"], [REQUEST])
    tree = trace.tree()
    first = [node for node in tree.nodes if node.step == 0]
    going = [node for node in first if node.fate in ("kept", "won") and node.piece != END]
    assert len(going) == 3
    lost = [node for node in first if node.fate == "lost"]
    assert lost
    assert max(node.score for node in lost) <= min(node.score for node in going)
    finished = {tree.pieces(number) for number, node in enumerate(tree.nodes) if node.fate in ("finished", "won")}
    assert {whole(output) for output in found[0]} <= finished


def test_a_tree_that_is_too_large_keeps_the_path_that_won() -> None:
    [[best, *_]], [trace] = traced(
        Markov(random_tables(5)), torch.tensor([[3, 4]]), None, METHODS["beam"], [Request(longest=12)]
    )
    small = trace.tree(len(whole(best)) + 4)
    assert small.cut
    assert len(small.nodes) == len(whole(best)) + 4
    assert path(small) == whole(best)
    assert all(node.parent is None or node.parent < number for number, node in enumerate(small.nodes))
    assert len(trace.tree(2).nodes) == 2


@pytest.mark.parametrize("model", [small_transformer(), small_recurrent()], ids=["transformer", "recurrent"])
def test_the_tree_is_the_same_alone_and_in_company(model) -> None:
    source, real = texts(4, 5, 12, 3)
    settings = SearchSettings(beams=3)
    _, company = traced(model, source, real, settings, [REQUEST] * 4)
    for row, trace in enumerate(company):
        _, [single] = traced(model, alone(source, real, row), None, settings, [REQUEST])
        ours, theirs = (
            {(t.pieces(n), node.fate) for n, node in enumerate(t.nodes)} for t in (trace.tree(), single.tree())
        )
        assert ours == theirs
        assert [node.score for node in trace.tree().won] == pytest.approx(
            [node.score for node in single.tree().won], abs=1e-4
        )


def test_nobody_looks_outside_and_streams_can_be_traced_too() -> None:
    model, source = Markov(random_tables(2)), torch.tensor([[3, 4]])
    with tracing() as outer, tracing() as traces:
        last = list(stream(model, source, None, SearchSettings(beams=2), REQUEST, banned=(PAD,)))[-1]
    search(model, source, None, SearchSettings(beams=2), [REQUEST], banned=(PAD,))
    assert outer == []
    assert len(traces) == 1
    assert path(traces[0].tree()) == whole(last.outputs[0])
