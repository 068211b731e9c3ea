"""A CRF against the enumeration of all its paths, and what padding, company and constraints may and may not change."""

from itertools import pairwise, product

import jaxtyping
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.autograd import gradcheck
from torch.nn import functional as F

from regard.errors import ModelError
from regard.nn.crf import CRF, NO_TAG

MASKS = st.lists(st.lists(st.booleans(), min_size=4, max_size=4), min_size=1, max_size=3)


def crf(classes: int, seed: int = 0, **constraints: Tensor) -> CRF:
    """A field with random moves in float64."""
    random = torch.Generator().manual_seed(seed)
    field = CRF(classes, **constraints).double()
    for parameter in field.parameters():
        nn.init.normal_(parameter, generator=random)
    return field


def constraints(classes: int, seed: int) -> dict[str, Tensor]:
    """Random ones that leave the path of class 0 alone open."""
    random = torch.Generator().manual_seed(seed)
    allowed = {
        "allowed": torch.rand(classes, classes, generator=random) < 0.5,
        "allowed_start": torch.rand(classes, generator=random) < 0.5,
        "allowed_end": torch.rand(classes, generator=random) < 0.5,
    }
    for flags in allowed.values():
        flags.view(-1)[0] = True
    return allowed


def legal(field: CRF, path: tuple[int, ...]) -> bool:
    moves = all(field.allowed[before, after] for before, after in pairwise(path))
    return bool(moves and field.allowed_start[path[0]] and field.allowed_end[path[-1]])


def score(field: CRF, emissions: Tensor, path: tuple[int, ...]) -> Tensor:
    """By the formula, term by term."""
    emitted = sum(emissions[position, tag] for position, tag in enumerate(path))
    moved = sum((field.transition[before, after] for before, after in pairwise(path)), torch.tensor(0.0))
    return field.start[path[0]] + emitted + moved + field.end[path[-1]]


def enumerate_paths(field: CRF, emissions_TC: Tensor) -> dict[tuple[int, ...], Tensor]:
    """Every legal path of one text without padding, and its score."""
    paths = product(range(emissions_TC.shape[1]), repeat=len(emissions_TC))
    return {path: score(field, emissions_TC, path) for path in paths if legal(field, path)}


@pytest.fixture
def unchecked(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a user sees: outside tests nobody checks the shapes in signatures."""
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)


@given(mask=MASKS, classes=st.integers(1, 3), constrained=st.booleans(), seed=st.integers(0, 99))
def test_everything_equals_the_enumeration_of_all_paths(mask, classes, constrained, seed) -> None:
    field = crf(classes, seed, **(constraints(classes, seed) if constrained else {}))
    mask_BT = torch.tensor(mask)
    emissions_BTC = torch.randn(*mask_BT.shape, classes, dtype=torch.float64)
    log_partition_B, marginals_BTC = (
        field.log_partition(emissions_BTC, mask_BT),
        field.marginals(emissions_BTC, mask_BT),
    )
    tags_BT, score_B = field.decode(emissions_BTC, mask_BT)
    for row, real_T in enumerate(mask_BT):
        if not real_T.any():
            continue
        paths = enumerate_paths(field, emissions_BTC[row, real_T])
        scores_Y = torch.stack(list(paths.values()))
        torch.testing.assert_close(log_partition_B[row], scores_Y.logsumexp(0))
        best = max(paths, key=paths.__getitem__)
        assert tuple(tags_BT[row, real_T].tolist()) == best
        torch.testing.assert_close(score_B[row], paths[best].detach())
        onehot_YTC = F.one_hot(torch.tensor(list(paths)), classes).double()
        expected_TC = torch.einsum("y,ytc->tc", scores_Y.softmax(0), onehot_YTC)
        torch.testing.assert_close(marginals_BTC[row, real_T], expected_TC)


@given(mask=MASKS, seed=st.integers(0, 99))
def test_the_likelihoods_of_all_paths_sum_to_one(mask, seed) -> None:
    field = crf(2, seed)
    mask_BT = torch.tensor(mask)
    emissions_BTC = torch.randn(*mask_BT.shape, 2, dtype=torch.float64)
    total_B = torch.zeros(len(mask_BT), dtype=torch.float64)
    for path in product(range(2), repeat=4):
        tags_BT = torch.tensor(path).expand_as(mask_BT)
        # Paths that differ only at masked positions are one path.
        once_B = (tags_BT.masked_fill(mask_BT, 0) == 0).all(1)
        total_B += field.log_likelihood(emissions_BTC, tags_BT, mask_BT).exp() * once_B
    torch.testing.assert_close(total_B, torch.ones_like(total_B))


def test_the_best_path_scores_what_decode_reports() -> None:
    field = crf(3)
    emissions_BTC = torch.randn(5, 6, 3, dtype=torch.float64)
    mask_BT = torch.arange(6) < torch.tensor([6, 1, 4, 3, 0])[:, None]
    tags_BT, score_B = field.decode(emissions_BTC, mask_BT)
    torch.testing.assert_close(field.score(emissions_BTC, tags_BT, mask_BT).detach(), score_B)


def test_without_moves_a_crf_is_a_softmax_at_each_position() -> None:
    field = CRF(4)
    emissions_BTC, tags_BT = torch.randn(2, 3, 4), torch.randint(4, (2, 3))
    mask_BT = torch.ones(2, 3, dtype=torch.bool)
    expected_B = -F.cross_entropy(emissions_BTC.mT, tags_BT, reduction="none").sum(1)
    torch.testing.assert_close(field.log_likelihood(emissions_BTC, tags_BT, mask_BT), expected_B)
    torch.testing.assert_close(field.marginals(emissions_BTC, mask_BT), emissions_BTC.softmax(-1))
    assert torch.equal(field.decode(emissions_BTC, mask_BT)[0], emissions_BTC.argmax(-1))


def test_gradients_are_the_numerical_ones() -> None:
    field = crf(3, **constraints(3, seed=1))
    emissions_BTC = torch.randn(3, 3, 3, dtype=torch.float64, requires_grad=True)
    mask_BT = torch.tensor([[True, True, True], [True, False, True], [False, False, False]])
    tags_BT = field.decode(emissions_BTC, mask_BT)[0]

    def likelihood(emissions: Tensor, *_: Tensor) -> Tensor:
        return field.log_likelihood(emissions, tags_BT, mask_BT)

    # gradcheck changes the parameters in place, so the field sees each change.
    assert gradcheck(likelihood, (emissions_BTC, *field.parameters()))
    assert gradcheck(lambda emissions: field.marginals(emissions, mask_BT), emissions_BTC)


def test_a_text_alone_gets_what_it_gets_in_company() -> None:
    field = crf(3)
    lengths_B = torch.tensor([5, 2, 1, 4])
    emissions_BTC, tags_BT = torch.randn(4, 5, 3, dtype=torch.float64), torch.randint(3, (4, 5))
    mask_BT = torch.arange(5) < lengths_B[:, None]
    together = field.log_likelihood(emissions_BTC, tags_BT, mask_BT)
    marginals_BTC, (best_BT, score_B) = field.marginals(emissions_BTC, mask_BT), field.decode(emissions_BTC, mask_BT)
    for row, length in enumerate(lengths_B.tolist()):
        alone = emissions_BTC[row : row + 1, :length]
        real = torch.ones(1, length, dtype=torch.bool)
        assert field.log_likelihood(alone, tags_BT[row : row + 1, :length], real) == together[row]
        assert torch.equal(field.marginals(alone, real)[0], marginals_BTC[row, :length])
        tags, score = field.decode(alone, real)
        assert torch.equal(tags[0], best_BT[row, :length])
        assert score == score_B[row]


@given(mask=MASKS, junk=st.sampled_from([0.0, 1e30, torch.inf, torch.nan]))
def test_padding_changes_nothing_and_gets_exactly_no_gradient(mask, junk) -> None:
    field = crf(3)
    mask_BT = torch.tensor(mask)
    clean_BTC = torch.randn(*mask_BT.shape, 3, dtype=torch.float64)
    tags_BT = torch.randint(3, mask_BT.shape)
    spoiled_BTC = clean_BTC.masked_fill(~mask_BT[..., None], junk).requires_grad_()
    likelihood_B = field.log_likelihood(spoiled_BTC, tags_BT.masked_fill(~mask_BT, -100), mask_BT)
    assert torch.equal(likelihood_B, field.log_likelihood(clean_BTC, tags_BT, mask_BT))
    likelihood_B.sum().backward()
    assert (spoiled_BTC.grad[~mask_BT] == 0).all()
    assert all(tensor.grad.isfinite().all() for tensor in (spoiled_BTC, *field.parameters()))
    assert torch.equal(field.marginals(spoiled_BTC, mask_BT), field.marginals(clean_BTC, mask_BT))
    assert torch.equal(field.decode(spoiled_BTC, mask_BT)[0], field.decode(clean_BTC, mask_BT)[0])


def test_an_empty_row_gives_zeros_no_tags_and_no_gradient() -> None:
    field = crf(3)
    emissions_BTC = torch.randn(1, 4, 3, dtype=torch.float64, requires_grad=True)
    tags_BT, mask_BT = torch.zeros(1, 4, dtype=torch.long), torch.zeros(1, 4, dtype=torch.bool)
    likelihood_B = field.log_likelihood(emissions_BTC, tags_BT, mask_BT)
    assert likelihood_B.tolist() == [0]
    likelihood_B.sum().backward()
    assert all((tensor.grad == 0).all() for tensor in (emissions_BTC, *field.parameters()))
    assert (field.marginals(emissions_BTC, mask_BT) == 0).all()
    tags_BT, score_B = field.decode(emissions_BTC, mask_BT)
    assert tags_BT.tolist() == [[NO_TAG] * 4]
    assert score_B.tolist() == [0]


def test_a_long_text_is_decoded_within_the_constraints_whatever_the_emissions() -> None:
    """Class 1 may only go on, never start: with strong emissions for it all along, the path still obeys."""
    field = CRF(
        3, allowed=torch.tensor([[1, 0, 1], [1, 1, 1], [1, 1, 1]]).bool(), allowed_start=torch.tensor([1, 0, 0]) == 1
    )
    emissions_BTC = torch.tensor([0.0, 50.0, 0.0]).expand(1, 1000, 3)
    mask_BT = torch.ones(1, 1000, dtype=torch.bool)
    tags_T = field.decode(emissions_BTC, mask_BT)[0][0].tolist()
    assert tags_T == [0, 2] + [1] * 998
    assert legal(field, tuple(tags_T))
    marginals_BTC = field.marginals(emissions_BTC, mask_BT)
    assert marginals_BTC[0, 0].tolist() == [1, 0, 0]
    torch.testing.assert_close(marginals_BTC.sum(-1), torch.ones(1, 1000))


def test_where_no_path_is_allowed_results_and_gradients_stay_finite() -> None:
    field = crf(2, allowed=torch.zeros(2, 2).bool(), allowed_start=torch.tensor([True, False]))
    emissions_BTC = torch.randn(1, 3, 2, dtype=torch.float64, requires_grad=True)
    mask_BT = torch.ones(1, 3, dtype=torch.bool)
    marginals_BTC = field.marginals(emissions_BTC, mask_BT)
    (marginals_BTC[..., 0].sum() + field.log_partition(emissions_BTC, mask_BT).sum()).backward()
    torch.testing.assert_close(marginals_BTC.sum(-1), torch.ones(1, 3, dtype=torch.float64))
    assert all(tensor.grad.isfinite().all() for tensor in (emissions_BTC, *field.parameters()))
    assert (field.decode(emissions_BTC, mask_BT)[0] != NO_TAG).all()


def test_of_equal_paths_the_lowest_tags_win() -> None:
    tags_BT, _ = CRF(3).decode(torch.zeros(1, 4, 3), torch.ones(1, 4, dtype=torch.bool))
    assert tags_BT.tolist() == [[0, 0, 0, 0]]


def test_constraints_are_saved_with_the_parameters() -> None:
    saved = crf(3, **constraints(3, seed=2))
    loaded = CRF(3).double()
    loaded.load_state_dict(saved.state_dict())
    emissions_BTC, mask_BT = torch.randn(2, 5, 3, dtype=torch.float64), torch.ones(2, 5, dtype=torch.bool)
    assert torch.equal(loaded.marginals(emissions_BTC, mask_BT), saved.marginals(emissions_BTC, mask_BT))


def test_half_precision_parameters_are_summed_in_full_precision() -> None:
    field = CRF(2, allowed_start=torch.tensor([True, False])).half()
    marginals_BTC = field.marginals(torch.ones(1, 300, 2).half(), torch.ones(1, 300, dtype=torch.bool))
    assert marginals_BTC.dtype == torch.float32
    torch.testing.assert_close(marginals_BTC[0, 1:], torch.full((299, 2), 0.5))


def test_learns_a_rule_that_no_word_alone_can_tell() -> None:
    """The first word says which of two tags comes first; all other words are alike, and the tags take turns."""
    words_BT = torch.cat([torch.tensor([[0], [1]]), torch.full((2, 5), 2)], dim=1)
    tags_BT = (torch.arange(6) + torch.tensor([[0], [1]])) % 2
    mask_BT = torch.ones(2, 6, dtype=torch.bool)
    emit, field = nn.Embedding(3, 2), CRF(2)
    optimizer = torch.optim.Adam([*emit.parameters(), *field.parameters()], lr=0.1)
    for _ in range(60):
        optimizer.zero_grad()
        loss = -field.log_likelihood(emit(words_BT), tags_BT, mask_BT).mean()
        loss.backward()
        optimizer.step()
    assert loss < 0.2
    assert torch.equal(field.decode(emit(words_BT), mask_BT)[0], tags_BT)
    alone_BT = emit(words_BT).argmax(-1)
    assert (alone_BT == tags_BT).float().mean() <= 7 / 12


ONES = torch.ones(1, 2, dtype=torch.bool)
TAGS = torch.zeros(1, 2, dtype=torch.long)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"emissions": torch.zeros(1, 2, 4)},
            r"Emissions have shape \[1, 2, 4\], expected \[batch, positions, 3 classes",
        ),
        ({"emissions": torch.zeros(2, 3)}, r"Emissions have shape \[2, 3\]"),
        ({"emissions": torch.zeros(1, 0, 3)}, "with at least one position"),
        ({"mask": torch.ones(1, 2)}, r"The mask is torch\.float32 of shape \[1, 2\], expected torch\.bool"),
        (
            {"mask": torch.ones(1, 3).bool()},
            r"shape \[1, 3\], expected torch\.bool of shape \[1, 2\] where True = real",
        ),
        ({"tags": torch.zeros(1, 2)}, r"The tags are torch\.float32 of shape \[1, 2\], expected whole numbers"),
        ({"tags": TAGS[:, :1]}, r"shape \[1, 1\], expected whole numbers \(torch\.int64\) of shape \[1, 2\]"),
        ({"tags": torch.tensor([[0, 3]])}, "Row 0, position 1: tag 3 is none of the 3 classes; correct it or mask it"),
        ({"tags": torch.tensor([[-1, 0]])}, "Row 0, position 0: tag -1 is none of the 3 classes"),
        ({"tags": torch.tensor([[1, 0]])}, "Row 0, position 0: tag 1 is not allowed after what comes before it"),
        ({"tags": torch.tensor([[0, 1]])}, "Row 0, position 1: tag 1 is not allowed after what comes before it"),
        ({"tags": torch.tensor([[0, 2]])}, "Row 0, position 1: tag 2 is not allowed at the end; correct the tags or"),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_what_cannot_be_is_refused_in_one_sentence(change: dict[str, Tensor], message: str) -> None:
    field = CRF(
        3,
        allowed=torch.tensor([[True, False, True], [True, True, True], [True, True, True]]),
        allowed_start=torch.tensor([True, False, True]),
        allowed_end=torch.tensor([True, True, False]),
    )
    fitting = {"emissions": torch.zeros(1, 2, 3), "tags": TAGS, "mask": ONES}
    assert field.log_likelihood(**fitting).isfinite().all()
    with pytest.raises(ModelError, match=message):
        field.log_likelihood(**(fitting | change))


@pytest.mark.usefixtures("unchecked")
def test_constraints_that_cannot_be_are_refused_in_one_sentence() -> None:
    with pytest.raises(
        ModelError, match=r"allowed is torch\.bool of shape \[2, 2\], expected torch\.bool of shape \[3, 3\]"
    ):
        CRF(3, allowed=torch.ones(2, 2).bool())
    with pytest.raises(ModelError, match=r"allowed_end is torch\.float32"):
        CRF(3, allowed_end=torch.ones(3))
    with pytest.raises(
        ModelError, match="allowed_start is False for every class, so no path is allowed; let at least one"
    ):
        CRF(3, allowed_start=torch.zeros(3).bool())
