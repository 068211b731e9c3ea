"""Heads against their formulas: pooled labels, tags with and without a CRF, spans, masked and copied pieces."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn import functional as F
from torch.testing import assert_close

from regard.attention import record
from regard.config import Part
from regard.errors import ConfigError, ModelError
from regard.models import (
    HEADS,
    CopyingPiece,
    Decoded,
    Labels,
    MaskedPiece,
    NextPiece,
    Pooling,
    PoolingSettings,
    Spans,
    Tags,
)
from regard.nn import IGNORE, Embedding, EmbeddingSettings

WIDTH, PIECES, CLASSES = 6, 9, 4
REAL = torch.tensor([[True] * 5, [True] * 2 + [False] * 3, [False] * 5])
KINDS = ("attention", "mean", "maximum", "first")


@pytest.fixture
def states() -> Tensor:
    return torch.randn(3, 5, WIDTH)


def pooling(how: str) -> Pooling:
    return Pooling(PoolingSettings.read({"how": how}), WIDTH)


@pytest.mark.parametrize("how", KINDS)
def test_pooling_sees_real_positions_only_and_gives_zeros_for_none(how: str, states: Tensor) -> None:
    pool = pooling(how)
    found = pool(states, REAL)
    assert_close(found[:1], pool(states[:1]))
    assert_close(found[1:2], pool(states[1:2, :2]))
    assert torch.equal(found[2].abs(), torch.zeros(WIDTH))
    garbage = torch.where(REAL[..., None], states, torch.tensor(1e6))
    assert_close(pool(garbage, REAL), found)


@pytest.mark.parametrize("how", KINDS)
def test_padding_gets_no_gradient_from_pooling(how: str, states: Tensor) -> None:
    states.requires_grad_()
    pooling(how)(states, REAL).sum().backward()
    assert states.grad.isfinite().all()
    assert not states.grad[~REAL].any()
    assert states.grad[0].any()


def test_pooling_is_what_its_name_says(states: Tensor) -> None:
    assert_close(pooling("mean")(states), states.mean(1))
    assert_close(pooling("maximum")(states), states.amax(1))
    assert_close(pooling("first")(states), states[:, 0])
    pool = pooling("attention")
    with record(pool, "*.weights") as seen:
        found = pool(states)
    weights = seen[0].tensor[:, 0, 0]
    assert_close(found, (weights[..., None] * states).sum(1))
    assert weights.std() > 0


def test_attention_pooling_takes_any_score(states: Tensor) -> None:
    pool = Pooling(PoolingSettings.read({"attention": {"score": "scaled_dot"}}), WIDTH)
    question = pool.attention.question
    weights = (states @ question[0] / math.sqrt(WIDTH)).softmax(-1)
    assert_close(pool(states), (weights[..., None] * states).sum(1))


@pytest.mark.parametrize("how", KINDS)
def test_labels_are_linear_in_what_was_pooled(how: str, states: Tensor) -> None:
    head = Labels(WIDTH, CLASSES, PoolingSettings.read({"how": how})).eval()
    pooled = head.pooling(states, REAL)
    assert_close(head(states, REAL), pooled @ head.classify.weight.T + head.classify.bias)
    assert_close(head(states, REAL)[2], head.classify.bias)


def test_labels_pool_with_attention_unless_told_otherwise() -> None:
    assert Labels(WIDTH, CLASSES).pooling.how == "attention"


@pytest.mark.parametrize("crf", [False, True])
def test_tags_lose_what_they_should_and_padding_costs_nothing(crf: bool, states: Tensor) -> None:
    head = Tags(WIDTH, CLASSES, crf=crf).eval()
    tags = torch.randint(0, CLASSES, (3, 5))
    loss = head.loss(head(states), tags, REAL)
    alone = head.loss(head(states[:1]), tags[:1], REAL[:1]) + head.loss(
        head(states[1:2, :2]), tags[1:2, :2], REAL[1:2, :2]
    )
    assert int(loss.count) == int(alone.count) == 7
    assert_close(loss.total, alone.total)
    assert_close(loss.nll, loss.total.detach())
    garbage = torch.where(REAL, tags, torch.tensor(99))
    assert torch.equal(head.loss(head(states), garbage, REAL).total, loss.total)


def test_tags_without_a_crf_are_a_softmax_each(states: Tensor) -> None:
    head = Tags(WIDTH, CLASSES).eval()
    emissions, tags = head(states), torch.randint(0, CLASSES, (3, 5))
    assert_close(head.loss(emissions, tags, REAL).total, F.cross_entropy(emissions[REAL], tags[REAL], reduction="sum"))
    best = head.best(emissions, REAL)
    assert torch.equal(best[REAL], emissions.argmax(-1)[REAL])
    assert (best[~REAL] == -1).all()


def test_a_fresh_crf_says_what_the_softmax_says_and_a_taught_one_does_not(states: Tensor) -> None:
    plain, field = Tags(WIDTH, CLASSES).eval(), Tags(WIDTH, CLASSES, crf=True).eval()
    field.load_state_dict(plain.state_dict(), strict=False)
    emissions, tags = plain(states), torch.randint(0, CLASSES, (3, 5))
    assert_close(field.loss(emissions, tags, REAL).total, plain.loss(emissions, tags, REAL).total)
    assert torch.equal(field.best(emissions, REAL), plain.best(emissions, REAL))
    nn.init.constant_(field.crf.start, 0.0)
    with torch.no_grad():
        field.crf.transition.fill_(-50.0).fill_diagonal_(50.0)
    same = field.best(emissions, REAL)
    assert (same[0] == same[0, 0]).all()
    assert not torch.equal(same, plain.best(emissions, REAL))


@given(st.integers(1, 6), st.integers(1, 6), st.integers(0, 1000))
def test_the_best_span_is_that_of_all_spans_tried(length: int, longest: int, seed: int) -> None:
    logits = torch.randn(1, length, 2, generator=torch.Generator().manual_seed(seed))
    spans = {
        (first, last): float(logits[0, first, 0] + logits[0, last, 1])
        for first in range(length)
        for last in range(first, min(first + longest, length))
    }
    places, score = Spans.best(logits, longest)
    best = max(spans, key=lambda span: spans[span])
    assert tuple(places[0].tolist()) == best
    assert float(score[0]) == pytest.approx(spans[best])


def test_a_span_begins_and_ends_where_that_is_allowed(states: Tensor) -> None:
    head, allowed = Spans(WIDTH), torch.tensor([[False, True, True, False, True]] * 3)
    logits = head(states, allowed)
    assert logits.isfinite().all()
    assert_close(logits[allowed], head(states)[allowed])
    places, scores = Spans.best(logits, 5)
    assert allowed.gather(1, places).all()
    assert (places[:, 0] <= places[:, 1]).all()
    assert scores.isfinite().all()
    loss = F.cross_entropy(logits[..., 0], torch.tensor([1, 2, 4]))
    loss.backward()
    assert head.classify.weight.grad.isfinite().all()


def test_a_span_of_no_length_is_refused() -> None:
    with pytest.raises(ModelError, match="longest = 0 leaves no span"):
        Spans.best(torch.randn(1, 3, 2), 0)


def table(width: int = WIDTH) -> Embedding:
    settings = EmbeddingSettings(width=width)
    return Embedding(settings, PIECES, WIDTH, Part(name="none"))


@pytest.mark.parametrize("width", [WIDTH, 4])
def test_a_masked_piece_is_read_back_by_the_table_it_came_from(width: int, states: Tensor) -> None:
    embedding = table(width)
    head = MaskedPiece(WIDTH, embedding)
    nn.init.normal_(head.readout.bias)
    hidden = F.layer_norm(F.gelu(head.transform(states)), (WIDTH,))
    hidden = hidden if head.readout.project is None else head.readout.project(hidden)
    logits = head(states)
    assert_close(logits, hidden @ embedding.vectors.T + head.readout.bias)
    wanted = torch.randint(0, PIECES, (3, 5)).masked_fill(~REAL, IGNORE)
    loss = head.loss(states, wanted)
    assert int(loss.count) == 7
    assert_close(loss.total, F.cross_entropy(logits[REAL], wanted[REAL], reduction="sum"))


def test_an_unknown_activation_of_a_masked_piece_offers_the_nearest() -> None:
    with pytest.raises(ConfigError, match=r"Unknown activation 'gellu'\. Did you mean 'gelu'\?"):
        MaskedPiece(WIDTH, table(), activation="gellu")


@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_the_next_piece_is_a_softmax_of_what_the_table_reads(smoothing: float, states: Tensor) -> None:
    head, decoded = NextPiece(WIDTH, PIECES, table(4), bias=True), Decoded(states)
    logits = head.readout(states)
    assert_close(head.log_probabilities(decoded), logits.log_softmax(-1))
    wanted = torch.randint(0, PIECES, (3, 5)).masked_fill(~REAL, IGNORE)
    expected = F.cross_entropy(logits[REAL], wanted[REAL], reduction="sum", label_smoothing=smoothing)
    assert_close(head.loss(decoded, wanted, smoothing).total, expected)


def test_a_copied_piece_is_generated_or_pointed_at(states: Tensor) -> None:
    """g P(w) + (1 - g) sum of the weights on w, wherever in the source it stands."""
    head = CopyingPiece(WIDTH, PIECES)
    source = torch.tensor([[3, 4, 3], [5, 5, 5], [8, 0, 1]])
    weights = torch.rand(3, 5, 3).softmax(-1)
    found = head.log_probabilities(Decoded(states, weights, source)).exp()
    gate = torch.sigmoid(head.pointer.gate(states))
    generated = head.readout(states).softmax(-1)
    pointed = torch.zeros(3, 5, PIECES)
    for row in range(3):
        for place, piece in enumerate(source[row].tolist()):
            pointed[row, :, piece] += weights[row, :, place]
    assert_close(found, gate * generated + (1 - gate) * pointed)
    wanted = torch.randint(0, PIECES, (3, 5))
    loss = head.loss(Decoded(states, weights, source), wanted)
    assert_close(loss.total, -found.log().gather(2, wanted[..., None]).sum())


def test_every_head_is_known_by_name() -> None:
    assert set(HEADS.values()) == {NextPiece, CopyingPiece, MaskedPiece, Labels, Tags, Spans}
