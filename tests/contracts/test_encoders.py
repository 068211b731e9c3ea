"""What every text encoder owes to whatever stands on it."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from regard.attention import POSITIONS, record, replace
from regard.models import ENCODERS, encoder

PIECES, WIDTH = 20, 16
LENGTHS = torch.tensor([6, 3, 1, 4])
REAL = torch.arange(6) < LENGTHS[:, None]
HEADS = {"heads": 2}
STACK = {"width": WIDTH, "layers": 2, "attention": {"heads": 4}, "feedforward": {"hidden": 24}}

TABLES: dict[str, dict[str, dict[str, Any]]] = {
    "transformer": {
        **{f"position {position}": {**STACK, "position": position} for position in POSITIONS},
        "pre": {**STACK, "place": "pre"},
        "deepnorm": {**STACK, "place": "deepnorm"},
        "batch norm": {**STACK, "norm": "batch"},
        "local-p": {**STACK, "attention": {"heads": 4, "scope": {"name": "local_p", "radius": 2}}},
        "window": {**STACK, "attention": {"heads": 4, "scope": {"name": "window", "before": 1, "after": 1}}},
        "BERT": {**STACK, "position": "learned", "embedding": {"scale": False, "norm": True, "segments": 2}},
    },
    "recurrent": {
        "lstm": {"width": WIDTH},
        "gru, one way": {"width": WIDTH, "cell": "gru", "both_ways": False},
        "two layers": {"width": WIDTH, "layers": 2},
        "attention before": {"width": WIDTH, "before": HEADS},
        "attention after": {"width": WIDTH, "after": HEADS},
        "attention before and after": {"width": WIDTH, "layers": 2, "before": HEADS, "after": {"groups": 1, **HEADS}},
        "narrow embeddings": {"width": WIDTH, "embedding": {"width": 8, "scale": False}},
        "hidden pieces": {"width": WIDTH, "embedding": {"piece_dropout": 0.5}},
    },
    "convolutional": {
        "plain": {"width": WIDTH, "layers": 2},
        "kernel 5": {"width": WIDTH, "layers": 2, "kernel": 5},
        "no position": {"width": WIDTH, "layers": 2, "position": "none"},
        "narrow embeddings": {"width": WIDTH, "layers": 2, "embedding": {"width": 8, "scale": False}},
        "attention before": {"width": WIDTH, "layers": 2, "before": HEADS},
        "attention after": {"width": WIDTH, "layers": 2, "after": HEADS},
        "attention before and after": {"width": WIDTH, "layers": 2, "before": HEADS, "after": HEADS},
    },
    "wide": {
        "odd and even": {"width": WIDTH, "kernels": [2, 3], "dropout": 0.1},
        "narrow embeddings": {"width": WIDTH, "kernels": [1, 2, 4, 5], "embedding": {"width": 6, "scale": False}},
    },
}
CASES = [
    pytest.param(kind, settings, id=f"{kind}: {name}")
    for kind, table in TABLES.items()
    for name, settings in table.items()
]
every_case = pytest.mark.parametrize(("kind", "settings"), CASES)


@pytest.fixture
def pieces() -> Tensor:
    return torch.randint(0, PIECES, REAL.shape)


def make(kind: str, settings: dict[str, Any]) -> nn.Module:
    torch.manual_seed(0)
    made = encoder(kind, settings, PIECES).eval()
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return made


def assert_near(found: Tensor, expected: Tensor) -> None:
    assert_close(found, expected, atol=1e-5 * max(1.0, float(expected.abs().max())), rtol=0.0)


def test_every_encoder_has_cases() -> None:
    assert set(TABLES) == set(ENCODERS)


@every_case
@torch.no_grad()
def test_a_batch_is_its_texts_alone(kind: str, settings: dict[str, Any], pieces: Tensor) -> None:
    made = make(kind, settings)
    together = made(pieces, REAL)
    assert together.shape == (*pieces.shape, made.width)
    for row, length in enumerate(LENGTHS.tolist()):
        assert_near(made(pieces[row : row + 1, :length])[0], together[row, :length])


@every_case
@torch.no_grad()
def test_padding_changes_nothing(kind: str, settings: dict[str, Any], pieces: Tensor) -> None:
    made = make(kind, settings)
    real = nn.functional.pad(REAL, (0, 4))
    padded = torch.where(real, nn.functional.pad(pieces, (0, 4)), torch.randint(0, PIECES, real.shape))
    assert_near(made(padded, real)[:, :6][REAL], made(pieces, REAL)[REAL])


@every_case
def test_padding_gets_exactly_no_gradient(kind: str, settings: dict[str, Any], pieces: Tensor) -> None:
    made = make(kind, settings).train()
    real = REAL & (torch.arange(4) != 1)[:, None]
    leaves: list[Tensor] = []

    def leaf(embedded: Tensor) -> Tensor:
        leaves.append(embedded.detach().clone().requires_grad_())
        return leaves[-1]

    with replace(made, "embedding.embedded", leaf):
        states = made(pieces, real)
    states[real].square().sum().backward()
    gradient = leaves[0].grad
    assert gradient.isfinite().all()
    assert torch.equal(gradient[~real], torch.zeros_like(gradient[~real]))
    assert (gradient[real] != 0).any(-1).all()
    assert states.isfinite().all()


@every_case
def test_watching_changes_not_a_bit(kind: str, settings: dict[str, Any], pieces: Tensor) -> None:
    for training in (True, False):
        found = []
        for watched in (False, True):
            made = make(kind, settings).train(training)
            torch.manual_seed(1)
            if watched:
                with record(made, "*") as seen:
                    states = made(pieces, REAL)
                assert seen
            else:
                states = made(pieces, REAL)
            states[REAL].square().sum().backward()
            found.append([states, *(parameter.grad for parameter in made.parameters() if parameter.grad is not None)])
        assert len(found[0]) == len(found[1])
        assert all(torch.equal(one, other) for one, other in zip(*found, strict=True))


@every_case
def test_every_parameter_is_learned(kind: str, settings: dict[str, Any], pieces: Tensor) -> None:
    made = make(kind, settings).train()
    (made(pieces, REAL)[REAL] * torch.randn(int(REAL.sum()), WIDTH)).sum().backward()
    learned = {name: parameter.grad for name, parameter in made.named_parameters() if parameter.requires_grad}
    assert [name for name, gradient in learned.items() if gradient is None or not gradient.any()] == []


@torch.no_grad()
def test_without_positions_a_permuted_text_gives_permuted_states(pieces: Tensor) -> None:
    order = torch.tensor([3, 0, 5, 1, 4, 2])
    for position in POSITIONS:
        made = make("transformer", {**STACK, "position": position})
        permuted = torch.allclose(made(pieces[:, order]), made(pieces)[:, order], atol=1e-5)
        assert permuted == (position == "none"), position


@torch.no_grad()
def test_attention_after_recurrent_layers_asks_their_states_and_before_them_the_embeddings(pieces: Tensor) -> None:
    for where, asked in (("before", "embedding.embedded"), ("after", "layers.states")):
        made = make("recurrent", {"width": WIDTH, where: HEADS})
        with record(made, asked, f"{where}.attention.mechanism.queries") as seen:
            made(pieces)
        given, queries = seen[0].tensor, seen[1].tensor
        expected = getattr(made, where).attention.query(given)
        assert_close(queries.transpose(1, 2).flatten(2), expected)


@torch.no_grad()
def test_segments_tell_texts_apart_that_are_otherwise_the_same(pieces: Tensor) -> None:
    made = make("transformer", TABLES["transformer"]["BERT"])
    first, second = torch.zeros_like(pieces), torch.ones_like(pieces)
    assert torch.equal(made(pieces), made(pieces, segments=first))
    assert not torch.allclose(made(pieces), made(pieces, segments=second))


@torch.no_grad()
def test_states_of_every_layer_can_be_had(pieces: Tensor) -> None:
    made = make("transformer", {**STACK, "place": "pre"})
    layers = made.layers(pieces, REAL)
    with record(made, "stack.blocks.*.output") as seen:
        assert torch.equal(made(pieces, REAL), layers[-1])
    assert torch.equal(layers[0], seen[0].tensor)
    torch.testing.assert_close(layers[1], made.stack.norm(seen[1].tensor))
