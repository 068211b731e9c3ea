"""Links of words from attention, their error against gold links that are known, and confidence from attention."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from regard.api import Pipeline
from regard.api.aligning import align, choose, confidence, judged
from regard.attention import replace
from regard.errors import ConfigError, DataError, RequestError
from regard.explain import Attribution, Axis, Unit
from regard.explain.alignment import AlignmentSettings, Gold, aligned, best, error, linked, read_gold
from regard.explain.confidence import Signals, calibrated, correlation, signals
from regard.starter.phrases.linking import linked as phrasebook_links
from tests.api.toy import book
from tests.cli.toy import regard
from tests.explain.test_pruning import translating
from tests.explain.toys import Toy, classifier, translator


def axis(text: str) -> Axis:
    """A piece a word, and the end."""
    units, at = [], 0
    for word in text.split():
        start = text.index(word, at)
        at = start + len(word)
        units.append(Unit(word, (start, at)))
    return Axis(text, (*units, Unit("</s>", None, True)))


def explained(weights: Sequence[Sequence[float]], signed: bool = False) -> Attribution:
    return Attribution("weights", axis("der Hund"), axis("the dog"), np.array(weights), signed)


def worded(toy: Toy) -> Toy:
    toy.inputs, toy.outputs = axis("a b c d"), axis("x y z")
    return toy


def test_what_goes_to_the_end_is_no_link() -> None:
    found = linked(explained([[0.3, 0.1, 0.6], [0.1, 0.2, 0.7], [0, 0, 1.0]]))
    assert str(found) == "0-0 1-1"
    assert found.links[0].source == (0, 3)
    assert found.links[0].target == (0, 3)


def test_the_row_after_is_the_row_that_has_read_the_word() -> None:
    given = explained([[0.9, 0.1, 0], [0.1, 0.9, 0], [0.9, 0.1, 0]])
    assert str(linked(given)) == "0-0 1-1"
    assert str(linked(given, AlignmentSettings(after=True))) == "0-1 1-0"


def test_what_speaks_against_an_output_counts_by_its_size() -> None:
    assert str(linked(explained([[-0.9, 0.1, 0], [0.1, 0.3, 0], [0, 0, 1]], signed=True))) == "0-0 1-1"


def test_one_head_is_the_same_by_name_and_by_explaining() -> None:
    toy = worded(translator())
    one = aligned(toy, AlignmentSettings(layer=1, head=0))
    assert one == linked_by_method(toy)
    assert len(one.links) == 3


def linked_by_method(toy: Toy) -> object:
    from regard.explain.weights import WeightsSettings, weights

    return linked(weights(toy, WeightsSettings(layer=1, head=0)))


def test_the_head_that_was_made_to_align_is_chosen() -> None:
    toy = worded(translator())
    wanted = {(2, 0), (0, 1), (1, 2)}

    def put(weights: torch.Tensor) -> torch.Tensor:
        changed = weights.clone()
        changed[:, 1] = 0.0
        for source, target in wanted:
            changed[:, 1, target, source] = 1.0
        changed[:, 1, 3, 4] = 1.0
        return changed

    plain = toy.score

    def score(model: torch.nn.Module, pieces: torch.Tensor, real: torch.Tensor | None) -> torch.Tensor:
        with replace(model, "decoder.blocks.1.cross.mechanism.weights", put):
            return plain(model, pieces, real)

    toy.score = score
    found = best([toy], [Gold(frozenset(wanted))])
    assert found[0].error == 0.0
    assert (found[0].settings.layer, found[0].settings.head, found[0].settings.after) == (1, 1, False)
    assert [one.error for one in found] == sorted(one.error for one in found)
    # Two layers of two heads and a mean, and the mean of all: two rows, two ways.
    assert len(found) == (2 * 3 + 1) * 4


@given(st.lists(st.frozensets(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1), min_size=1, max_size=5))
def test_right_links_have_no_error_and_links_of_another_sentence_do_not_count(
    links: list[frozenset[tuple[int, int]]],
) -> None:
    gold = [Gold(one) for one in links]
    assert error(links, gold) == pytest.approx(0.0)
    assert error([frozenset[tuple[int, int]]()] * len(links), gold) == 1.0
    turned = [*links[1:], links[0]]
    assert (error(turned, gold) < 1e-9) == (turned == links)


def test_gold_links_are_read_and_mistakes_in_them_told() -> None:
    gold = read_gold("0-0 1?2 2p1 1-1 1?1")
    assert gold == Gold(frozenset({(0, 0), (1, 1)}), frozenset({(1, 2), (2, 1)}))
    assert read_gold("") == Gold(frozenset())
    for line in ("0-", "a-b", "0:1", "-1-0", "0-9999999"):
        with pytest.raises(DataError, match="line 7"):
            read_gold(line, "gold line 7")
    with pytest.raises(DataError, match="counted from 0"):
        best([worded(translator())], [Gold(frozenset({(4, 0)}))])
    with pytest.raises(DataError, match="as many"):
        best([], [])


def test_what_cannot_be_aligned_is_told() -> None:
    with pytest.raises(RequestError, match="no layer 9"):
        aligned(worded(translator()), AlignmentSettings(layer=9, head=0))
    with pytest.raises(RequestError, match="no head to choose"):
        aligned(worded(translator()), AlignmentSettings(method="integrated_gradients", head=0))
    with pytest.raises(RequestError, match="nothing"):
        aligned(worded(translator()), AlignmentSettings(method="nothing"))
    with pytest.raises(RequestError, match="another method"):
        aligned(classifier(), AlignmentSettings(layer=0, head=0))


def test_the_phrasebook_knows_its_links() -> None:
    [one] = phrasebook_links([("Five sausages cost fifteen euros.", "Fünf Würste kosten fünfzehn Euro.")])
    assert str(one) == "0-0 1-1 2-2 3-3 4-4"
    [two] = phrasebook_links(
        [("She ate a cookie in the bakery this morning.", "Sie hat heute Morgen in der Bäckerei einen Keks gegessen.")]
    )
    assert {(0, 0), (1, 9), (2, 7), (3, 8), (4, 4), (5, 5), (6, 6)} == two.sure
    assert (1, 1) in two.possible
    assert (7, 2) in two.possible
    with pytest.raises(ConfigError, match="Sentence 1"):
        phrasebook_links([("A sentence of nobody.", "Ein Satz von niemand.")])


def test_every_link_of_the_phrasebook_is_between_words_that_are_there() -> None:
    pairs = [*book().valid, *book().test]
    for pair, one in zip(pairs, phrasebook_links(pairs), strict=True):
        assert (one.source, one.target) == pair
        assert not one.sure & one.possible
        assert all(s < len(pair[0].split()) and t < len(pair[1].split()) for s, t in one.sure | one.possible)
        assert len(one.sure) >= 1


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Pipeline:
    return translating(tmp_path_factory.mktemp("aligning"), heads=2)


PAIRS = [("Five sausages cost fifteen euros.", "Fünf Würste kosten fünfzehn Euro."), ("Four", "Vier")]


def test_the_best_is_chosen_on_one_half_and_measured_on_the_other(model: Pipeline) -> None:
    gold = [read_gold("0-0 1-1 2-2 3-3 4-4"), read_gold("0-0")]
    choice = choose(model, PAIRS, gold)
    assert choice.chosen_on == 1
    assert choice.there == choice.tried[0].error
    rest = [align(model, *PAIRS[1], choice.settings)]
    assert choice.elsewhere == judged(rest, gold[1:]) == 0.0
    with pytest.raises(DataError, match="as many"):
        choose(model, PAIRS, gold[:1])


def test_nothing_is_linked_to_nothing(model: Pipeline) -> None:
    assert str(align(model, "  ")) == ""
    assert str(align(model, "Four", "")) == ""


def test_the_command_writes_a_line_for_each_line(model: Pipeline, tmp_path: Path) -> None:
    model.save(tmp_path / "b")
    (tmp_path / "en").write_text("Four\n\nFive sausages\n")
    (tmp_path / "de").write_text("Vier\n\nFünf Würste\n")
    (tmp_path / "gold").write_text("0-0\n\n0-0 1?1\n")
    result = regard("align", tmp_path / "b", tmp_path / "en", "--target", tmp_path / "de", "--gold", tmp_path / "gold")
    assert result.exit_code == 0, result.output
    lines = result.stdout.split("\n")
    assert len(lines) == 4
    assert lines[:2] == ["0-0", ""]
    assert "Best of" in result.stderr
    assert "Alignment error rate" in result.stderr
    asked = ("align", tmp_path / "b", tmp_path / "en", "--layer", 0, "--head", 1)
    assert regard(*asked).stdout.count("\n") == 3


def test_the_command_tells_files_that_do_not_fit(model: Pipeline, tmp_path: Path) -> None:
    model.save(tmp_path / "b")
    (tmp_path / "en").write_text("Four\nFive\n")
    (tmp_path / "de").write_text("Vier\n")
    result = regard("align", tmp_path / "b", tmp_path / "en", "--target", tmp_path / "de")
    assert "ends before line 2" in str(result.exception)
    result = regard("align", tmp_path / "b", tmp_path / "en", "--gold", tmp_path / "de")
    assert "--target" in str(result.exception)
    result = regard("align", tmp_path / "b", tmp_path / "en", "--layer", "top")
    assert isinstance(result.exception, ConfigError)


def test_signals_are_shares_and_even_attention_has_no_focus() -> None:
    toy = worded(translator())
    even = "decoder.blocks.1.cross.mechanism.weights"
    found = signals(toy)
    assert all(0.0 <= one <= 1.0 for one in found.row())
    with torch.no_grad():
        assert found.probability == pytest.approx(float(toy.scores(toy.pieces[None]).mean().exp()), rel=1e-4)
    plain = toy.score

    def score(model: torch.nn.Module, pieces: torch.Tensor, real: torch.Tensor | None) -> torch.Tensor:
        with replace(model, even, lambda weights: torch.full_like(weights, 1 / weights.shape[-1])):
            return plain(model, pieces, real)

    toy.score = score
    flat = signals(toy)
    assert flat.focus == pytest.approx(0.0, abs=1e-6)
    assert flat.coverage == pytest.approx(4 / 5, abs=1e-6)


def drawn(count: int, noise: float) -> tuple[list[Signals], list[float]]:
    draw = np.random.default_rng(0)
    rows = [Signals(*draw.uniform(size=3)) for _ in range(count)]
    return rows, [float(np.clip(one.probability + noise * draw.normal(), 0, 1)) for one in rows]


def test_confidence_is_calibrated_where_quality_follows_a_signal() -> None:
    found = calibrated(*drawn(600, 0.05))
    assert found.correlations["together"] > 0.9
    assert found.correlations["probability"] > 0.9
    assert abs(found.correlations["coverage"]) < 0.2
    assert found.error < 0.05
    assert "not a proof" in found.verdict
    assert found.expected(Signals(0.5, 0.5, 0.9)) > found.expected(Signals(0.5, 0.5, 0.1))
    assert sum(one.count for one in found.table) == 300
    assert "expected  found" in str(found)


def test_confidence_that_is_worth_little_says_so() -> None:
    rows, _ = drawn(200, 0.0)
    noise = np.random.default_rng(1).uniform(size=200).tolist()
    assert "weak" in calibrated(rows, noise).verdict
    always = calibrated(rows, [1.0] * 200)
    assert always.correlations["together"] == 0.0
    assert always.expected(rows[0]) == pytest.approx(1.0)


def test_quality_that_cannot_be_is_refused() -> None:
    rows, quality = drawn(30, 0.1)
    for wrong in (quality[:-1], [50.0] * 30, [float("nan")] * 30):
        with pytest.raises(DataError):
            calibrated(rows, wrong)
    with pytest.raises(DataError, match="20 or more"):
        calibrated(rows[:5], quality[:5])


def test_equal_values_share_their_rank() -> None:
    assert correlation(np.array([1.0, 2.0, 2.0, 3.0]), np.array([1.0, 5.0, 5.0, 9.0])) == pytest.approx(1.0)
    assert correlation(np.array([1.0, 2.0, 3.0]), np.array([3.0, 2.0, 1.0])) == pytest.approx(-1.0)


def test_confidence_of_a_model_is_held_against_its_real_errors(model: Pipeline) -> None:
    rows = [{"source": source, "target": target} for source, target in book().valid]
    found = confidence(model, rows)
    assert set(found.plain()) == {"correlations", "error", "table", "verdict"}
    assert all(-1 <= one <= 1 for one in found.correlations.values())
