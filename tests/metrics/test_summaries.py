"""ROUGE's numbers are rouge-score's, and Chinese has characters."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rouge_score.rouge_scorer import RougeScorer

from regard.metrics import compare, score, score_lines, summaries
from regard.metrics.summaries import Characters, characters
from regard.text.patterns import CJK
from tests.metrics.examples import GOOD, POOR, REFERENCES, SEVERAL

KINDS = ["rouge1", "rouge2", "rougeL", "rougeLsum"]
sentences = st.text("abc run running. \n", max_size=25)


@pytest.mark.parametrize("stem", [True, False])
@pytest.mark.parametrize("kind", KINDS)
@given(output=sentences, right=sentences)
def test_the_number_is_rouge_scores(kind: str, stem: bool, output: str, right: str) -> None:
    theirs = RougeScorer([kind], use_stemmer=stem).score(right, output)[kind].fmeasure
    assert score([output], [right], {"name": kind, "stem": stem}).value == pytest.approx(100 * theirs)


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_the_mean_over_lines_and_the_best_reference_counts(kind: str) -> None:
    values = score_lines(GOOD, SEVERAL, kind)
    scorer = RougeScorer([kind], use_stemmer=True)
    theirs = [scorer.score_multi(allowed, line)[kind].fmeasure for line, allowed in zip(GOOD, SEVERAL, strict=True)]
    assert values == pytest.approx([100 * value for value in theirs])
    assert score(GOOD, SEVERAL, kind).value == pytest.approx(sum(values) / len(values))
    wrong_first = score(["a cat"], [["dog", "a cat"]], kind).value
    assert wrong_first == score(["a cat"], [["a cat", "dog"]], kind).value == 100


def test_stemming_makes_forms_of_a_word_one() -> None:
    assert score(["he was running"], ["he was runs"], {"name": "rouge1", "stem": True}).value == pytest.approx(100)
    assert score(["he was running"], ["he was runs"], {"name": "rouge1", "stem": False}).value == pytest.approx(200 / 3)


def test_newlines_separate_sentences_for_lsum_only() -> None:
    output, right = "b c\na", "a\nb c"
    assert score([output], [right], "rougeLsum").value == 100
    assert score([output.replace("\n", " ")], [right.replace("\n", " ")], "rougeLsum").value < 100
    assert score([output], [right], "rougeL").value < 100


def test_chinese_is_cut_into_characters() -> None:
    assert score(["我爱北京"], ["我爱上海"], "rouge1").value == 0
    chinese: dict[str, Any] = {"name": "rouge1", "tokenizer": "characters"}
    assert score(["我爱北京。"], ["我爱上海!"], chinese).value == pytest.approx(50)
    assert score(["我爱北京"], ["我爱上海"], {**chinese, "name": "rouge2"}).value == pytest.approx(100 / 3)
    assert score(["我 爱 Python"], ["我爱python"], chinese).value == 100


def test_other_runs_stay_words() -> None:
    assert Characters(stem=False).tokenize("Ärger mit COVID-19，很 running_1。") == [
        *("ärger", "mit", "covid", "19", "很", "running", "1")
    ]
    assert Characters(stem=True).tokenize("在running") == ["在", "run"]


@given(st.text("abc run09 .,-", max_size=30))
def test_without_chinese_both_tokenizers_agree(text: str) -> None:
    right = "a cab ran 09 bananas"
    words, signs = (score([text], [right], {"name": "rougeL", "tokenizer": cut}) for cut in ("words", "characters"))
    assert words.value == signs.value


@given(st.text(st.characters(categories=["L", "N", "P", "Z"]), max_size=40))
def test_nothing_but_punctuation_is_lost(text: str) -> None:
    assert list("".join(characters(text))) == [sign for sign in text if sign.isalnum()]


def test_a_character_is_chinese_where_the_text_package_says_so() -> None:
    assert summaries._CJK == CJK


def test_the_signature_states_stemming_tokenizer_and_version() -> None:
    assert score(["a"], ["a"], "rougeL").signature == "nrefs:1|stem:porter|tok:words|version:rouge-score.0.1.2"
    plain = {"name": "rougeL", "stem": False, "tokenizer": "characters"}
    assert "|stem:no|tok:characters|" in score(["a"], [["a", "b"]], plain).signature


@pytest.mark.parametrize("kind", KINDS)
def test_systems_can_be_compared(kind: str) -> None:
    result = compare(POOR * 3, GOOD * 3, REFERENCES * 3, kind, samples=100)
    assert result.interval[0] < result.delta < result.interval[1]
    assert result.p_value < 0.05
