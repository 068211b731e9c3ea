"""Heads: what is lost without each, and what each does, in figures that are known beforehand."""

import json
import re
from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor

from regard.attention import replace
from regard.errors import RequestError
from regard.explain.audit.doing import PLACES, doing
from regard.explain.behaviour import behaviour, distances
from regard.explain.heads import by_ablation, by_gradient, silenced
from tests.explain.toys import SMALL, Toy, classifier, language, recurrent, shown, translator


def test_a_head_that_puts_out_nothing_is_of_no_importance_and_others_are() -> None:
    toy = translator()
    attention = toy.model.decoder.blocks[0].cross
    with torch.no_grad():
        attention.output.weight[:, : attention.output.in_features // 2] = 0.0
    for table in (by_ablation([toy]), by_gradient([toy])):
        found = {str(head): figure for head, figure in zip(table.heads, table.figures[:, 0], strict=True)}
        assert abs(found["cross, layer 0, head 0"]) < 1e-6
        assert abs(found["cross, layer 0, head 1"]) > 1e-4
        assert len(table.heads) == 12


def test_ablation_is_the_fall_of_the_mean_score() -> None:
    toys = [classifier(), shown(classifier(), [8, 4, 4])]
    toys[1].model = toys[0].model
    table = by_ablation(toys)
    for head, figure in zip(table.heads, table.figures[:, 0], strict=True):
        falls = []
        for toy in toys:
            whole = toy.scores(toy.pieces[None]).mean().item()
            with silenced(toy, head.look, [head.number]):
                falls.append(whole - toy.scores(toy.pieces[None]).mean().item())
        assert figure == pytest.approx(np.mean(falls), abs=1e-5)


def test_sensitivity_is_what_a_small_change_of_a_heads_output_does() -> None:
    toy = classifier()
    table = by_gradient([toy])
    for head, figure in zip(table.heads[:4], table.figures[:, 0], strict=False):

        def scaled(factor: float, number: int = head.number) -> Callable[[Tensor], Tensor]:
            size = torch.ones(2, 1, 1)
            size[number] = factor
            return lambda context: context * size

        ends = []
        for factor in (0.99, 1.01):
            with torch.no_grad(), replace(toy.model, head.look.tap.replace("weights", "context"), scaled(factor)):
                ends.append(toy.scores(toy.pieces[None]).sum().item())
        assert abs(ends[1] - ends[0]) / 0.02 == pytest.approx(figure, abs=1e-3)


def test_heads_of_an_output_that_weighs_for_itself_are_silenced_too() -> None:
    toy = recurrent(attention={"score": "additive", "output": "scored"})
    assert abs(by_ablation([toy]).figures[0, 0]) > 1e-4
    assert by_gradient([toy]).figures[0, 0] > 1e-4


def looking(toy: Toy, tap: str, rule: object) -> Toy:
    """The toy with attention that is fixed: rule(query, key) says which cell has a row's weight."""

    def put(weights: Tensor) -> Tensor:
        cells = torch.tensor([[float(rule(q, k)) for k in range(weights.shape[3])] for q in range(weights.shape[2])])
        return (cells / cells.sum(-1, keepdim=True).clamp(min=1)).expand_as(weights)

    plain = toy.score

    def score(model: object, pieces: Tensor, real: Tensor | None) -> Tensor:
        with replace(toy.model, tap, put):
            return plain(model, pieces, real)

    toy.score = score
    return toy


INNER = "encoder.stack.blocks.0.attention.mechanism.weights"
CROSS = "decoder.blocks.1.cross.mechanism.weights"
PLANTED = {
    "previous": (INNER, lambda q, k: k == max(q - 1, 0)),
    "next": (INNER, lambda q, k: k == min(q + 1, 6)),
    "itself": (INNER, lambda q, k: k == q),
    "same_word": (INNER, lambda q, k: k == {0: 3, 3: 0}.get(q, 4)),
    "special": (INNER, lambda q, k: k == 6),
    "first": (CROSS, lambda q, k: k == 0),
    "rarest": (CROSS, lambda q, k: k == 4),
    "alignment": (CROSS, lambda q, k: k == [2, 5, 1, 6][q]),
}


@pytest.mark.parametrize("role", PLANTED)
def test_what_was_planted_is_what_the_head_does(role: str) -> None:
    tap, rule = PLANTED[role]
    toy = looking(translator(source=(5, 7, 9, 5, 8, 6, 2)), tap, rule)
    counts = {5: 50, 7: 40, 9: 30, 8: 1, 6: 20}
    links = frozenset(enumerate([2, 5, 1, 6]))
    found = behaviour([toy], counts, [links])
    for head, name in zip(found.found.heads, found.roles, strict=True):
        if head.look.tap == tap:
            assert name == role
            assert found.found.column(role)[head] > 0.8
            assert found.chance.column(role)[head] < 0.5


@pytest.mark.parametrize("role", sorted(PLANTED.keys() - {"alignment"}))
def test_what_a_head_does_is_told_with_its_figures(role: str) -> None:
    tap, rule = PLANTED[role]
    toys = [looking(translator(source=(5, 7, 9, 5, 8, 6, 2)), tap, rule) for _ in range(2)]
    found = doing(toys, Counter({5: 50, 7: 40, 9: 30, 8: 1, 6: 20}))
    for head in behaviour(toys[:1]).found.heads:
        if head.look.tap == tap:
            assert re.fullmatch(rf"{PLACES[role]}: (100|[89]\d)%, [1-4]?\d% if even", found[str(head)])


def test_even_weight_has_the_figures_of_chance_and_no_role() -> None:
    toy = looking(classifier(), "*.weights", lambda q, k: 1.0)
    assert doing([toy], Counter()) == {}
    found = behaviour([toy])
    np.testing.assert_allclose(found.found.figures, found.chance.figures, atol=1e-6)
    assert set(found.roles) == {""}
    assert found.found.column("entropy")[found.found.heads[0]] == pytest.approx(np.log(5))


def test_distances_are_shares_and_absent_where_positions_do_not_compare() -> None:
    table = distances([translator()])
    sums = table.figures.sum(-1)
    for head, total in zip(table.heads, sums, strict=True):
        assert np.isnan(total) if head.look.kind == "cross" else total == pytest.approx(1.0, abs=1e-5)
    far = distances([looking(shown(classifier(), [5] * 20), INNER, lambda q, k: k == (q + 10) % 20)])
    assert far.column("9-16")[far.heads[0]] == 1.0


def test_a_language_model_reads_its_own_words_as_well() -> None:
    toy = looking(language(), "decoder.blocks.0.*.weights", lambda q, k: k == max(q - 1, 0))
    assert behaviour([toy]).roles[:2] == ("previous", "previous")


def test_a_table_is_plain_and_readable_and_joins_with_another() -> None:
    toys = [translator()]
    table = behaviour(toys).found.beside(by_ablation(toys))
    rows = json.loads(json.dumps(table.plain(), allow_nan=False))
    assert rows[0]["kind"] == "self"
    assert rows[-1]["previous"] is None
    assert "fall" in rows[0]
    lines = str(table).splitlines()
    assert len(lines) == 13
    assert lines[-1].startswith("cross, layer 1, head 1")


def test_texts_of_different_models_or_none_are_refused() -> None:
    with pytest.raises(RequestError, match="different models"):
        by_ablation([classifier(), classifier("recurrent")])
    with pytest.raises(RequestError, match="No texts"):
        by_gradient([])
    with pytest.raises(RequestError, match="1 texts but links of 2"):
        behaviour([translator(SMALL)], None, [frozenset(), frozenset()])
