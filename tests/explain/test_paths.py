"""Rollout and flow: equal to what was worked out by hand, safe from padding, and each output by itself."""

import networkx
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from regard.attention import record, replace
from regard.errors import RequestError
from regard.explain.flow import FlowSettings, flow, flows
from regard.explain.paths import Blend, Step, composed, steps
from regard.explain.rollout import RolloutSettings, rollout
from tests.explain.toys import SMALL, Toy, classifier, language, recurrent, shown, translator


def fixed(toy: Toy, maps: dict[str, list[list[float]]]) -> list[Step]:
    """The toy's layers with maps written down by hand."""
    return list(steps(toy, lambda look: torch.tensor(maps[look.tap]), Blend()))


def by_hand() -> tuple[Toy, list[Step]]:
    """Two layers over two pieces, read by pooling that looks at the first piece with 3/4."""
    toy = shown(classifier(), [5, 7])
    first, second, pool = (look.tap for look in toy.looks)
    return toy, fixed(toy, {first: [[1, 0], [0.5, 0.5]], second: [[0.5, 0.5], [0, 1]], pool: [[0.75, 0.25]]})


def test_rollout_equals_the_example_worked_out_by_hand() -> None:
    # Layer 1 with its residual: [[1, 0], [1/4, 3/4]]; layer 2: [[3/4, 1/4], [0, 1]].
    # Their product: [[13/16, 3/16], [1/4, 3/4]]; seen by pooling: 3/4 of row 1, 1/4 of row 2.
    toy, layers = by_hand()
    torch.testing.assert_close(composed(toy, layers), torch.tensor([[43 / 64, 21 / 64]]))


def test_flow_equals_the_example_worked_out_by_hand() -> None:
    # To piece 1: the pool's 3/4 by state 1 of both layers, and its 1/4 by state 2, which passes on no more than 1/4.
    # To piece 2: from state 1 no more than the 1/4 it has of state 2, and the pool's 1/4 by state 2.
    toy, layers = by_hand()
    np.testing.assert_allclose(flows(toy, layers), [[1.0, 0.5]], atol=1e-6)


def decoder(toy: Toy) -> dict[str, Tensor]:
    with torch.no_grad(), record(toy.model) as seen:
        toy.scores(toy.pieces[None])
    return {entry.name: entry.tensor[0].mean(0) for entry in seen}


def test_rollout_through_cross_attention_is_the_product_written_out() -> None:
    toy = translator()
    maps = decoder(toy)
    states = torch.eye(5)
    for layer in range(2):
        states = (torch.eye(5) + maps[f"encoder.stack.blocks.{layer}.attention.mechanism.weights"]) / 2 @ states
    written = torch.zeros(4, 5)
    for layer in range(2):
        written = (torch.eye(4) + maps[f"decoder.blocks.{layer}.attention.mechanism.weights"]) / 2 @ written
        written = (written + maps[f"decoder.blocks.{layer}.cross.mechanism.weights"] @ states) / 2
    np.testing.assert_allclose(rollout(toy, RolloutSettings()).weights, written, atol=1e-6)


def test_a_layerwise_decoder_is_followed_into_the_layer_it_reads() -> None:
    toy = translator(SMALL | {"cross": "layerwise"})
    maps = decoder(toy)
    inner = [(torch.eye(5) + maps[f"encoder.stack.blocks.{layer}.attention.mechanism.weights"]) / 2 for layer in (0, 1)]
    states, written = [inner[0], inner[1] @ inner[0]], torch.zeros(4, 5)
    for layer in range(2):
        written = (torch.eye(4) + maps[f"decoder.blocks.{layer}.attention.mechanism.weights"]) / 2 @ written
        written = (written + maps[f"decoder.blocks.{layer}.cross.mechanism.weights"] @ states[layer]) / 2
    np.testing.assert_allclose(rollout(toy, RolloutSettings()).weights, written, atol=1e-6)


def test_a_language_model_is_rolled_out_over_its_whole_text() -> None:
    toy = language()
    through = torch.eye(6)
    for found in decoder(toy).values():
        through = (torch.eye(6) + found) / 2 @ through
    np.testing.assert_allclose(rollout(toy, RolloutSettings()).weights, through[3:, :4], atol=1e-6)


def test_source_and_target_in_one_go_lose_nothing() -> None:
    toy = translator(SMALL | {"cross": "joint"})
    layers = list(steps(toy, lambda look: decoder(toy)[look.tap], Blend()))
    for step in layers:
        rows = step.own.sum(-1) + (0.0 if step.inputs is None else step.inputs.sum(-1))
        torch.testing.assert_close(rows, torch.ones(len(rows)))
    assert layers[-1].inputs is not None


def test_only_the_residual_leaves_everything_where_it_is() -> None:
    toy = classifier(pooling="mean")
    found = rollout(toy, RolloutSettings(residual=1.0)).weights
    np.testing.assert_allclose(found, np.full((1, 5), 0.2), atol=1e-6)


def test_padding_gets_nothing_and_changes_nothing() -> None:
    toy = classifier()
    padded = shown(toy, [5, 7, 9, 6, 2, 0, 0])
    real = torch.tensor([[True] * 5 + [False] * 2])
    plain = toy.score
    padded.score = lambda model, pieces, _: plain(model, pieces, real.expand(len(pieces), -1))
    for method, settings in ((rollout, RolloutSettings()), (flow, FlowSettings())):
        found, alone = method(padded, settings).weights, method(toy, settings).weights
        np.testing.assert_allclose(found[:, :5], alone, atol=1e-5)
        assert found[:, 5:].max() == 0.0


def test_a_tag_is_read_at_its_own_place() -> None:
    toy = classifier(pooling="mean")
    toy.read = torch.eye(5)[[2]]
    maps = list(decoder(toy).values())
    through = (torch.eye(5) + maps[1]) / 2 @ ((torch.eye(5) + maps[0]) / 2)
    np.testing.assert_allclose(rollout(toy, RolloutSettings()).weights, through[2:3], atol=1e-6)


def networkx_flow(layers: list[Step], output: int, piece: int) -> float:
    """The same graph in networkx, nodes named by layer and place."""
    graph = networkx.DiGraph()
    for depth, step in enumerate(layers, 1):
        below = step.inputs if step.own is None else step.own
        for row, column in np.ndindex(*below.shape):
            graph.add_edge((depth, row), (depth - 1, column), capacity=float(below[row, column]))
    return networkx.maximum_flow_value(graph, (len(layers), output), (0, piece))


@given(seed=st.integers(0, 1000))
def test_flow_is_that_of_another_solver(seed: int) -> None:
    random = torch.Generator().manual_seed(seed)
    toy = TOY
    layers = list(steps(toy, lambda look: torch.rand(5, 5, generator=random).softmax(-1), Blend()))
    expected = [networkx_flow(layers, 0, piece) for piece in range(5)]
    np.testing.assert_allclose(flows(toy, layers)[0], expected, atol=1e-6)


TOY = classifier()


def test_flow_through_cross_attention_is_at_least_what_rolls_out() -> None:
    toy = translator()
    assert (flow(toy, FlowSettings()).weights >= rollout(toy, RolloutSettings()).weights - 1e-6).all()


def test_flow_over_a_long_text_is_refused_with_the_limit() -> None:
    with pytest.raises(RequestError, match=r"Flow over 81 pieces .* it is for 64 or fewer\. Use rollout"):
        flow(shown(classifier(), [5] * 80), FlowSettings())


@pytest.mark.parametrize("method", [(rollout, RolloutSettings()), (flow, FlowSettings())], ids=["rollout", "flow"])
def test_a_model_without_layers_of_self_attention_is_refused(method: tuple) -> None:
    with pytest.raises(RequestError, match="this model has none; use weights, attention_gradient or integrated"):
        method[0](recurrent(), method[1])


def test_attention_that_is_dead_stays_where_it_is() -> None:
    toy = classifier(pooling="mean")
    with replace(toy.model, "*blocks*.weights", torch.zeros_like):
        found = rollout(toy, RolloutSettings()).weights
    np.testing.assert_allclose(found, np.full((1, 5), 0.2), atol=1e-6)
