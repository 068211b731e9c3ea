"""Embeddings: what they add up, how they share, and how vectors from elsewhere get in."""

import math

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from regard.attention import record
from regard.config import Part
from regard.errors import ConfigError, ModelError
from regard.nn import Embedding, EmbeddingSettings, Readout

WIDTH, PIECES = 8, 11
NOWHERE = Part(name="none")
LEARNED = Part(name="learned", length=6)


def embedding(position: Part = NOWHERE, **settings: object) -> Embedding:
    chosen = EmbeddingSettings.read({"dropout": 0.0, **settings})
    return Embedding(chosen, PIECES, WIDTH, position)


@pytest.fixture
def pieces() -> torch.Tensor:
    return torch.tensor([[3, 4, 3], [0, 10, 5]])


def test_vectors_are_scaled_by_the_root_of_the_width(pieces: torch.Tensor) -> None:
    made = embedding()
    assert_close(made(pieces, range(3)), made.vectors[pieces] * math.sqrt(WIDTH))


def test_vectors_come_as_they_are_without_scale(pieces: torch.Tensor) -> None:
    made = embedding(scale=False)
    assert_close(made(pieces, range(3)), made.vectors[pieces])


@pytest.mark.parametrize("width", [1, 5, 20])
def test_vectors_of_any_width_are_projected_to_the_models(width: int, pieces: torch.Tensor) -> None:
    made = embedding(width=width)
    assert made.vectors.shape == (PIECES, width)
    assert_close(made(pieces, range(3)), made.vectors[pieces] @ made.project.weight.T * math.sqrt(WIDTH))


def test_vectors_of_the_models_own_width_are_not_projected() -> None:
    assert embedding(width=WIDTH).project is None


def test_positions_are_added_after_scaling(pieces: torch.Tensor) -> None:
    made = embedding(LEARNED)
    expected = made.vectors[pieces] * math.sqrt(WIDTH) + made.position.table[2:5]
    assert_close(made(pieces, range(2, 5)), expected)


def test_segments_norm_and_dropout_follow_in_the_order_of_bert(pieces: torch.Tensor) -> None:
    made = embedding(LEARNED, scale=False, segments=2, norm=True, epsilon=1e-12, dropout=0.5)
    segments = torch.tensor([[0, 0, 1], [0, 1, 1]])
    summed = made.vectors[pieces] + made.position.table[:3] + made.segments[segments]
    expected = nn.functional.layer_norm(summed, (WIDTH,), made.norm.weight, made.norm.bias, 1e-12)
    with record(made, "embedded") as seen:
        dropped = made(pieces, range(3), segments)
    assert_close(seen[0].tensor, expected)
    assert_close(dropped[dropped != 0], 2 * expected[dropped != 0])
    assert (dropped == 0).any()


def test_every_piece_is_of_the_first_segment_unless_told_otherwise(pieces: torch.Tensor) -> None:
    made = embedding(segments=2)
    assert_close(made(pieces, range(3)), made(pieces, range(3), torch.zeros_like(pieces)))
    assert not torch.allclose(made(pieces, range(3)), made(pieces, range(3), torch.ones_like(pieces)))


@pytest.mark.parametrize(("known", "given"), [(0, 0), (2, 2), (2, -1)])
def test_segments_it_does_not_know_are_refused(known: int, given: int, pieces: torch.Tensor) -> None:
    with pytest.raises(ModelError, match=f"knows the first {known}"):
        embedding(segments=known)(pieces, range(3), torch.full_like(pieces, given))


def test_vectors_start_with_unit_variance_once_scaled() -> None:
    made = Embedding(EmbeddingSettings(), 2000, 64, NOWHERE)
    assert float((made.vectors * made.factor).detach().var()) == pytest.approx(1.0, rel=0.05)


def test_positions_that_act_inside_attention_are_refused_here() -> None:
    with pytest.raises(ConfigError, match=r"rotary acts inside attention.*choose none, one_hot, learned or sinusoidal"):
        embedding(Part(name="rotary"))


def test_pretrained_vectors_arrive_as_they_were_trained() -> None:
    made, trained = embedding(width=5), torch.randn(3, 5)
    rows = torch.tensor([7, 2, 9])
    made.load(trained, rows)
    assert_close(made.vectors[rows] * made.factor, trained)
    assert_close(made(rows[None], range(3)), (trained @ made.project.weight.T)[None])


def test_pieces_without_pretrained_vectors_keep_their_start() -> None:
    made = embedding()
    before = made.vectors.detach().clone()
    made.load(torch.randn(2, WIDTH), torch.tensor([1, 4]))
    changed = (made.vectors != before).any(1)
    assert changed.nonzero().flatten().tolist() == [1, 4]


@pytest.mark.parametrize("frozen", [True, False])
def test_frozen_vectors_do_not_learn(frozen: bool, pieces: torch.Tensor) -> None:
    made = embedding(width=5)
    made.load(torch.randn(1, 5), torch.tensor([3]), frozen=frozen)
    made(pieces, range(3)).sum().backward()
    assert (made.vectors.grad is None) == frozen
    assert made.project.weight.grad is not None


def test_pretrained_vectors_of_another_width_are_refused_with_the_setting_that_takes_them() -> None:
    with pytest.raises(ModelError, match=r"width 300.*8.*set embedding\.width = 300"):
        embedding().load(torch.randn(1, 300), torch.tensor([3]))


def test_fixed_vectors_stand_beside_own_ones_that_begin_at_nothing(pieces: torch.Tensor) -> None:
    made, trained, rows = embedding(width=5, fixed=4), torch.randn(3, 4), torch.tensor([7, 2, 9])
    before = made.vectors.detach().clone()
    made.load(trained, rows)
    assert_close(made(rows[None], range(3)), (trained @ made.project.weight[:, 5:].T)[None])
    others = [piece for piece in range(PIECES) if piece not in rows.tolist()]
    assert torch.equal(made.vectors[others], before[others])
    made(pieces, range(3)).sum().backward()
    assert made.fixed.grad is None
    assert made.vectors.grad is not None
    assert "fixed" in made.state_dict()


def test_what_hides_a_piece_leaves_its_fixed_vector() -> None:
    made, rows = embedding(width=5, fixed=4, piece_dropout=0.5, scale=False), torch.arange(PIECES)
    made.load(torch.ones(PIECES, 4), rows)
    with torch.no_grad():
        made.vectors.fill_(1.0)
        made.project.weight.copy_(torch.cat([torch.ones(WIDTH, 5), torch.full((WIDTH, 4), 100.0)], dim=1))
    made.train()
    found = made(torch.arange(PIECES).repeat(20, 1), range(PIECES))
    assert set(found.unique().round().tolist()) == {400.0, 410.0}


def test_fixed_vectors_of_another_width_are_refused_with_the_setting_that_takes_them() -> None:
    with pytest.raises(ModelError, match=r"width 300.*4.*set embedding\.fixed = 300"):
        embedding(width=5, fixed=4).load(torch.randn(1, 300), torch.tensor([3]))


def test_a_pretrained_vector_for_no_piece_is_refused() -> None:
    with pytest.raises(ModelError, match="11"):
        embedding().load(torch.randn(1, WIDTH), torch.tensor([PIECES]))


def test_a_tied_readout_is_the_same_parameter() -> None:
    made = embedding()
    readout = Readout(WIDTH, PIECES, made)
    assert readout.weight is made.vectors
    assert "weight" in dict(readout.named_parameters())
    hidden = torch.randn(2, 3, WIDTH)
    assert_close(readout(hidden), hidden @ made.vectors.T)


def test_a_tied_readout_of_another_width_is_projected_first() -> None:
    made = embedding(width=5)
    readout = Readout(WIDTH, PIECES, made, bias=True)
    nn.init.normal_(readout.bias)
    hidden = torch.randn(2, 3, WIDTH)
    assert_close(readout(hidden), hidden @ readout.project.weight.T @ made.vectors.T + readout.bias)


def test_an_untied_readout_has_a_matrix_of_its_own() -> None:
    readout = Readout(WIDTH, PIECES)
    assert readout.weight.shape == (PIECES, WIDTH)
    assert readout.project is None
    assert readout.bias is None


@pytest.mark.parametrize(("width", "beside"), [(None, 3), (5, 3), (2, 6)])
@pytest.mark.parametrize("scale", [True, False])
def test_what_stands_beside_a_piece_arrives_as_it_is(
    width: int | None, beside: int, scale: bool, pieces: torch.Tensor
) -> None:
    made, known = embedding(width=width, beside=beside, scale=scale), torch.randn(2, 3, beside)
    together = torch.cat([made.vectors[pieces] * made.factor, known], dim=-1)
    assert (made.project is None) == (together.shape[-1] == WIDTH)
    expected = together if made.project is None else together @ made.project.weight.T
    assert_close(made(pieces, range(3), None, known), expected)


def test_what_stands_beside_a_piece_is_learned_through(pieces: torch.Tensor) -> None:
    known = torch.randn(2, 3, 4, requires_grad=True)
    embedding(beside=4)(pieces, range(3), beside=known).square().sum().backward()
    assert known.grad.all()


def test_pretrained_vectors_arrive_beside_other_features_too() -> None:
    made, trained, known = embedding(width=4, beside=3), torch.randn(3, 4), torch.randn(1, 3, 3)
    rows = torch.tensor([7, 2, 9])
    made.load(trained, rows, frozen=True)
    expected = torch.cat([trained[None], known], dim=-1) @ made.project.weight.T
    assert_close(made(rows[None], range(3), beside=known), expected)


def test_features_that_do_not_fit_are_refused(pieces: torch.Tensor) -> None:
    with pytest.raises(ModelError, match=r"takes 3 features beside each piece and was given none"):
        embedding(beside=3)(pieces, range(3))
    with pytest.raises(ModelError, match=r"takes 3 a piece; set embedding\.beside = 2"):
        embedding(beside=3)(pieces, range(3), beside=torch.randn(2, 3, 2))
    with pytest.raises(ModelError, match=r"takes 0 a piece; set embedding\.beside = 2"):
        embedding()(pieces, range(3), beside=torch.randn(2, 3, 2))


def test_a_hidden_piece_loses_its_own_vector_and_keeps_what_stands_beside_it() -> None:
    made, pieces = embedding(width=4, beside=3, piece_dropout=0.5, scale=False), torch.ones(40, 6, dtype=torch.long)
    known = torch.ones(40, 6, 3)
    vector, rest = made.vectors[1], made.project.weight[:, 4:].sum(1)
    hidden, kept = rest, made.project.weight[:, :4] @ (2 * vector) + rest
    found = made(pieces, range(6), beside=known).flatten(0, 1)
    was_hidden = (found - hidden).abs().amax(1) < 1e-5
    assert_close(found[~was_hidden], kept.expand(int((~was_hidden).sum()), -1))
    assert 0.35 < float(was_hidden.float().mean()) < 0.65
    assert_close(made.eval()(pieces, range(6), beside=known)[0, 0], made.project.weight[:, :4] @ vector + rest)


def test_seldom_pieces_are_now_and_then_unknown_while_training() -> None:
    torch.manual_seed(0)
    made, occurrences = embedding(width=5, seldom=2.0, scale=False), torch.zeros(PIECES, dtype=torch.long)
    occurrences[3], occurrences[4], occurrences[5] = 2, 6, 10**9
    made.count(occurrences, unknown=1)
    pieces = torch.tensor([[3, 4, 5]]).repeat(4000, 1)
    unknown, own = made.vectors[1] @ made.project.weight.T, made.vectors[3:6] @ made.project.weight.T
    made.train()
    found = made(pieces, range(3))
    taken = (found - unknown).abs().amax(-1) < 1e-6
    assert_close(taken.float().mean(0), torch.tensor([0.5, 0.25, 0.0]), atol=0.03, rtol=0.0)
    assert_close(found[~taken], own.expand(4000, -1, -1)[~taken])
    assert_close(made.eval()(pieces, range(3)), own.expand(4000, -1, -1))
    assert "mistaken" not in made.state_dict()


def test_a_piece_taken_for_unknown_keeps_its_fixed_vector() -> None:
    made = embedding(width=5, fixed=4, seldom=1e9, scale=False)
    made.load(torch.randn(PIECES, 4), torch.arange(PIECES))
    with torch.no_grad():
        made.fixed[5], made.vectors[:] = 0.0, 7.0
    made.count(torch.ones(PIECES, dtype=torch.long), unknown=1)
    made.train()
    # As a piece that training never shows: nothing of its own, unless it has no fixed vector either.
    wanted = made.fixed @ made.project.weight[:, 5:].T
    wanted[5] = made.vectors[1] @ made.project.weight[:, :5].T
    assert_close(made(torch.arange(PIECES)[None], range(PIECES))[0], wanted)


def test_what_is_seldom_has_to_be_told() -> None:
    made = embedding(seldom=0.5)
    made.train()
    with pytest.raises(ModelError, match=r"embedding\.seldom = 0\.5 hangs on how often"):
        made(torch.tensor([[3]]), range(1))
    with pytest.raises(ModelError, match=f"of 3 pieces, where this embedding has {PIECES}"):
        made.count(torch.ones(3, dtype=torch.long), 1)
