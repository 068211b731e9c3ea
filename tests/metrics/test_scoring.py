"""Every metric keeps the same promises, and sacreBLEU's numbers are sacreBLEU's."""

import math
from itertools import zip_longest
from typing import Any

import numpy as np
import pytest
import sacremoses
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from regard.errors import ConfigError, DataError
from regard.metrics import METRICS, Score, metric, score, score_lines
from regard.metrics.metric import Metric
from tests.metrics.examples import GOOD, POOR, REFERENCES, SEVERAL

# Those that compare any text with any other, line by line; what reads tags or likelihoods has tests of its own.
COMPARING = [name for name, kind in METRICS.items() if (kind.of, kind.reads, kind.addable) == ("texts", "text", True)]
CHOICES: dict[str, Any] = {name: name for name in COMPARING} | {"bleu_lower": {"name": "bleu_lower", "language": "en"}}
# rouge-score sees no word in the line that is Chinese, and no pair of words in the one that is "Yes.".
BEST = {"rouge1": 100 * 7 / 8, "rouge2": 100 * 6 / 8, "rougeL": 100 * 7 / 8, "rougeLsum": 100 * 7 / 8}
every_metric = pytest.mark.parametrize("choice", CHOICES.values(), ids=CHOICES.keys())


@every_metric
class TestEveryMetric:
    def test_it_bears_its_name(self, choice: Any) -> None:
        result = score(GOOD, REFERENCES, choice)
        assert METRICS[result.name] is type(metric(choice))
        assert result.name in CHOICES

    def test_what_is_right_scores_best(self, choice: Any) -> None:
        right, good, poor = (score(outputs, REFERENCES, choice) for outputs in (REFERENCES, GOOD, POOR))
        order = [poor.value, good.value, right.value]
        assert order == sorted(order, reverse=not right.higher_is_better)
        assert len(set(order)) == 3
        assert math.isclose(right.value, BEST.get(right.name, 100.0) if right.higher_is_better else 0.0)

    def test_sums_of_lines_decide(self, choice: Any) -> None:
        measure = metric(choice)
        lists = [[line] for line in REFERENCES]
        rows = measure.statistics(POOR, lists)
        assert rows.shape[0] == len(POOR)
        assert rows.dtype == np.float64
        parts = [measure.statistics(POOR[part], lists[part]).sum(axis=0) for part in (slice(3), slice(3, None))]
        # Its columns are the labels of the lines it is given.
        if choice != "macro_f1":
            assert np.allclose(rows.sum(axis=0), parts[0] + parts[1])
        assert measure.value(rows.sum(axis=0)) == score(POOR, REFERENCES, choice).value

    def test_lines_are_scored_alone(self, choice: Any) -> None:
        values = score_lines(GOOD, REFERENCES, choice)
        assert len(values) == len(GOOD)
        best = 100.0 if metric(choice).higher_is_better else 0.0
        assert math.isclose(values[3], best)
        assert not math.isclose(values[7], best)

    def test_more_references_never_hurt(self, choice: Any) -> None:
        one, several = score(GOOD, REFERENCES, choice), score(GOOD, SEVERAL, choice)
        assert (several.value >= one.value) == one.higher_is_better or several.value == one.value

    def test_it_is_signed(self, choice: Any) -> None:
        one, several = score(GOOD, REFERENCES, choice), score(GOOD, SEVERAL, choice)
        assert one.signature.startswith("nrefs:1|")
        assert several.signature.startswith("nrefs:var|")
        assert "version:" in one.signature
        assert score(GOOD, [[line, line] for line in REFERENCES], choice).signature.startswith("nrefs:2|")
        assert score(GOOD, REFERENCES, choice).signature == one.signature

    @given(lines=st.lists(st.tuples(st.text(), st.lists(st.text(), min_size=1, max_size=3)), min_size=1, max_size=4))
    def test_no_text_breaks_it(self, choice: Any, lines: list[tuple[str, list[str]]]) -> None:
        value = score([output for output, _ in lines], [allowed for _, allowed in lines], choice).value
        assert math.isfinite(value)
        assert value >= 0

    def test_outputs_without_references_are_refused(self, choice: Any) -> None:
        with pytest.raises(DataError, match=r"^2 outputs but references for 1; every output needs its own\.$"):
            score(["a", "b"], ["a"], choice)
        with pytest.raises(DataError, match=r"^There is nothing to score"):
            score_lines([], [], choice)
        with pytest.raises(DataError, match=r"^Output 2 has no reference; give at least one\.$"):
            score(["a", "b"], ["a", []], choice)


def streams(references: list[Any]) -> list[Any]:
    """One list per reference, as sacreBLEU wants them."""
    return list(zip_longest(*([line] if isinstance(line, str) else line for line in references)))


@pytest.mark.parametrize("references", [REFERENCES, SEVERAL], ids=["one", "several"])
@pytest.mark.parametrize("outputs", [GOOD, POOR], ids=["good", "poor"])
@pytest.mark.parametrize(
    ("choice", "scorer"),
    [
        ("bleu", BLEU()),
        ({"name": "bleu", "tokenizer": "zh"}, BLEU(tokenize="zh")),
        ({"name": "bleu", "tokenizer": "intl"}, BLEU(tokenize="intl")),
        ({"name": "bleu", "tokenizer": "char"}, BLEU(tokenize="char")),
        ("chrf", CHRF()),
        ({"name": "chrf", "words": 2}, CHRF(word_order=2)),
        ("ter", TER()),
    ],
)
def test_the_number_and_its_signature_are_sacrebleus(
    choice: Any, scorer: Any, outputs: list[str], references: list[Any]
) -> None:
    theirs = scorer.corpus_score(outputs, streams(references))
    ours = score(outputs, references, choice)
    assert math.isclose(ours.value, theirs.score, abs_tol=1e-9)
    assert ours.signature == scorer.get_signature().format()


def test_bleu_of_a_line_is_sacrebleus_sentence_bleu() -> None:
    scorer = BLEU(effective_order=True)
    theirs = [scorer.sentence_score(output, [line]).score for output, line in zip(GOOD, REFERENCES, strict=True)]
    assert score_lines(GOOD, REFERENCES) == pytest.approx(theirs)


def test_lower_bleu_is_sacrebleu_on_moses_tokens_in_lower_case() -> None:
    cut = sacremoses.MosesTokenizer(lang="en").tokenize
    lowered = [[cut(line, return_str=True).lower() for line in side] for side in (GOOD, REFERENCES)]
    theirs = BLEU(tokenize="none", force=True).corpus_score(lowered[0], [lowered[1]])
    ours = score(GOOD, REFERENCES, CHOICES["bleu_lower"])
    assert ours.value == pytest.approx(theirs.score)
    assert f"case:lc|eff:no|tok:moses.en-{sacremoses.__version__}|smooth:exp" in ours.signature
    assert ours.value > score(GOOD, REFERENCES).value


@pytest.mark.parametrize(
    ("choice", "reason"),
    [
        ("bleuu", "Unknown metric 'bleuu'. Did you mean 'bleu'?"),
        ("bleu_lower", 'bleu_lower needs the language of the text: { name = "bleu_lower", language = "de" }.'),
        ({"name": "bleu", "tokenizer": "14a"}, "tokenizer = '14a'"),
        ({"name": "chrf", "wrds": 2}, "Did you mean 'words'?"),
    ],
)
def test_a_metric_that_cannot_be_is_explained(choice: Any, reason: str) -> None:
    with pytest.raises(ConfigError) as caught:
        score(GOOD, REFERENCES, choice)
    assert reason in str(caught.value)


def test_a_metric_of_ones_own_is_taken_as_it_is() -> None:
    class Length(Metric):
        name = "length"

        def statistics(self, outputs: Any, references: Any) -> Any:
            return np.array([[float(len(output))] for output in outputs])

        def value(self, totals: Any) -> float:
            return float(totals[0])

        def signature(self, references: Any) -> str:
            return "unit:character"

    assert score(["abc", "d"], ["", ""], Length()) == Score("length", 4.0, "unit:character")


def test_a_score_shows_how_it_was_made() -> None:
    assert str(Score("bleu", 41.0249, "nrefs:1|tok:13a")) == "bleu 41.02 (nrefs:1|tok:13a)"
