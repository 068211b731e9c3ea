"""Question answering: rows, windows, the choice of a span or of none, and the whole way from recipe to answer."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.api import Pipeline, load, train
from regard.errors import ConfigError, DataError
from regard.metrics import score_lines
from regard.starter.passages import rows as questions
from regard.starter.passages import write_passages
from regard.tasks import Answer, AnsweringRecipe, AnsweringTask
from regard.tasks.answers import Right, likeliest, right, written
from regard.tasks.finding import Finding, Scored, best_spans
from regard.tasks.passages import around, covering, shares
from regard.tasks.silence import halves, threshold
from tests.tasks.places import placed

HEADS = {
    "spans": {"model": {"name": "transformer", "width": 16, "layers": 1, "attention": {"heads": 2}}},
    "reader": {"model": {"name": "recurrent", "width": 12}, "head": {"name": "reader", "width": 8}},
}
LONGEST = 48


def recipe(head: str = "spans", **changes: Any) -> AnsweringRecipe:
    data = {"train": {"path": "train.json", "format": "squad"}}
    predict = {"longest": LONGEST, "overlap": 8, **changes.pop("predict", {})}
    windows = {"longest": LONGEST, "overlap": 8, **changes.pop("windows", {})}
    told = {"task": "answering", "data": data, "tokenizer": {"size": 300}, "predict": predict, "windows": windows}
    return AnsweringRecipe.read({**told, **HEADS[head], **changes})


def rows(count: int = 30) -> list[dict[str, str]]:
    """Questions of the starter corpus, as they come out of a file."""
    return [
        {
            "question": one["question"],
            "passage": one["context"],
            "answers": written([Right(answer["text"], answer["answer_start"]) for answer in one["answers"]]),
        }
        for one in questions(count, 3, "train")
    ]


@pytest.fixture(scope="module", params=sorted(HEADS))
def made(request: pytest.FixtureRequest) -> tuple[AnsweringTask, torch.nn.Module]:
    """A task and an untrained model, of each kind."""
    torch.manual_seed(0)
    task = AnsweringTask.learn(recipe(request.param), rows(), {})
    return task, task.model().eval()


def answers(made: tuple[AnsweringTask, torch.nn.Module], given: Any, **predict: Any) -> list[Answer]:
    task, model = made
    chosen = task.recipe.predict.model_copy(update=predict)
    return list(task.predict(model, given, task.recipe.model_copy(update={"predict": chosen})))


# Rows


@pytest.mark.parametrize(
    "given",
    [
        "Oslo",
        " Oslo ",
        '["Oslo"]',
        '[{"text": "Oslo", "start": 13}]',
        '[{"text": "Oslo", "answer_start": 13}]',
        '{"text": ["Oslo"], "answer_start": [13]}',
    ],
)
def test_an_answer_may_be_written_in_several_ways(given: str) -> None:
    assert right({"passage": "It rained in Oslo.", "answers": given}) == [Right("Oslo", 13)]


@pytest.mark.parametrize("given", ["", " ", "[]", '{"text": [], "answer_start": []}'])
def test_no_answer_may_be_written_in_several_ways(given: str) -> None:
    assert right({"passage": "It rained in Oslo.", "answers": given}) == []
    assert AnsweringTask.references({"passage": "It rained.", "answers": given}, None) == [""]


def test_words_that_begin_like_json_are_words() -> None:
    assert right({"passage": "see [1] and [x", "answers": "[1]"}) == [Right("[1]", 4)]
    assert right({"passage": "see [1] and [x", "answers": "[x"}) == [Right("[x", 12)]


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ('[{"text": "Oslo", "start": 12}]', "there stands ' Osl'"),
        ('[{"text": "Oslo", "start": -4}]', "there stands ''"),
        ('[{"text": "Oslo.", "start": 990}]', "there stands ''"),
        ('[{"text": " ", "start": 2}]', "is empty"),
        ('[""]', "is empty"),
        ('[{"text": "Oslo"}]', "number of its start"),
        ('[{"start": 3}]', "number of its start"),
        ('[{"text": "Oslo", "start": true}]', "number of its start"),
        ('{"text": ["Oslo"], "answer_start": []}', "as many numbers"),
        ("Bergen", "does not stand in the passage"),
        ("i", "more than once"),
    ],
)
def test_an_answer_that_cannot_be_is_a_fault_in_words(answer: str, told: str) -> None:
    row = {"question": "Where?", "passage": "It rained in Oslo.", "answers": answer}
    assert told in AnsweringTask.fault(row, None)
    with pytest.raises(DataError):
        right(row)


def test_a_blank_question_or_passage_is_a_fault() -> None:
    good = {"question": "Where?", "passage": "Oslo", "answers": "[]"}
    assert AnsweringTask.fault(good, None) == ""
    assert AnsweringTask.fault({**good, "question": " "}, None) == "question is empty"
    assert AnsweringTask.fault({**good, "passage": "\n"}, None) == "passage is empty"


@given(st.text(min_size=1), st.data())
def test_answers_written_down_are_read_back(passage: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(passage) - 1))
    text = passage[start : data.draw(st.integers(start + 1, len(passage)))]
    found = [Right(text, start)] if text.strip() else []
    assert right({"passage": passage, "answers": written(found)}) == found


def test_training_learns_the_answer_most_people_gave() -> None:
    assert likeliest([Right("a", 0), Right("b", 4), Right("b", 4)]) == Right("b", 4)
    assert likeliest([Right("a", 0), Right("b", 4)]) == Right("a", 0)
    assert likeliest([]) is None


# Windows


def examples(given: list[dict[str, str]], task: AnsweringTask) -> list[dict[str, Any]]:
    columns = task.encoding({}).encode({name: [row[name] for row in given] for name in task.fields})
    return [dict(zip(columns, map(np.array, values), strict=True)) for values in zip(*columns.values(), strict=True)]


def test_every_window_fits_and_every_answer_stands_in_one(made: tuple[AnsweringTask, torch.nn.Module]) -> None:
    task = made[0]
    for row in rows():
        found = examples([row], task)
        assert all(len(one["question"]) + len(one["passage"]) + 2 <= LONGEST for one in found)
        assert any(one["answer"][0] > 0 for one in found) == bool(right(row))


@given(st.integers(0, 40), st.integers(1, 12), st.integers(0, 20))
def test_no_answer_that_a_window_can_hold_is_taught_as_none(start: int, size: int, overlap: int) -> None:
    words = [f"{chr(97 + number % 26)}{chr(97 + number // 26)}" for number in range(60)]
    answer, at = " ".join(words[start : start + size]), len(" ".join([*words[:start], ""]))
    row = {"question": "q", "passage": " ".join(words), "answers": written([Right(answer, at)])}
    plain = recipe(windows={"longest": 16, "overlap": overlap}, tokenizer={"kind": "words", "size": 200})
    task = AnsweringTask.learn(plain, [row], {})
    _, room = shares(1, 16, around(task.reading.tokenizer))
    found = examples([row], task)
    assert any(one["answer"][0] for one in found) == bool(found) == (size <= room)
    for one in found:
        assert len(one["passage"]) <= room
        first, last = one["answer"]
        assert not first or task.reading.tokenizer.decode(one["passage"][first - 1 : last].tolist()) == answer
    assert (task.remarks(placed([row]), placed([row])) == []) == (size <= room)


def test_passages_are_read_in_the_windows_of_training_unless_told_otherwise() -> None:
    plain = recipe().plain()
    bare = {**plain, "windows": {"longest": 16, "overlap": 3}, "predict": {"best": 2}}
    assert AnsweringRecipe.read(bare).predict.model_dump(include={"longest", "overlap", "best"}) == {
        "longest": 16,
        "overlap": 3,
        "best": 2,
    }
    assert AnsweringRecipe.read({**bare, "predict": {"longest": 20}}).predict.longest == 20


def test_the_pieces_marked_as_the_answer_cover_it(made: tuple[AnsweringTask, torch.nn.Module]) -> None:
    task = made[0]
    for row in filter(right, rows()):
        answer = right(row)[0]
        for one in examples([row], task):
            start, end = one["answer"]
            if start:
                text = task.reading.tokenizer.decode(one["passage"][start - 1 : end].tolist())
                assert answer.text in text


@given(st.lists(st.integers(0, 4), min_size=1, max_size=12), st.data())
def test_covering_pieces_are_all_that_share_a_character(widths: list[int], data: st.DataObject) -> None:
    ends = np.cumsum(widths).tolist()
    spans = list(zip([0, *ends[:-1]], ends, strict=True))
    start = data.draw(st.integers(0, ends[-1]))
    end = data.draw(st.integers(start, ends[-1]))
    shared = [number for number, span in enumerate(spans) if set(range(*span)) & set(range(start, end))]
    found = covering(spans, start, end) if end > start else None
    assert found == ((shared[0], shared[-1]) if shared else None)


def test_windows_without_the_answer_teach_as_often_as_is_set() -> None:
    given = rows(24)
    counts = {}
    for share in (0.0, 0.5, 1.0):
        task = AnsweringTask.learn(recipe(windows={"empty": share, "longest": 32}), given, {})
        counts[share] = [sum(one["answer"][0] == 0 for one in examples([row], task)) for row in given]
        assert counts[share] == [sum(one["answer"][0] == 0 for one in examples([row], task)) for row in given]
    told = [bool(right(row)) for row in given]
    assert sum(count for count, known in zip(counts[0.0], told, strict=True) if known) == 0
    assert sum(counts[0.0]) < sum(counts[0.5]) < sum(counts[1.0])
    # Questions without an answer always teach all they can.
    silent = [[count for count, known in zip(counts[share], told, strict=True) if not known] for share in counts]
    assert silent[0] == silent[1] == silent[2]


def test_a_batch_costs_what_its_windows_cost_alone(made: tuple[AnsweringTask, torch.nn.Module]) -> None:
    task, model = made
    found, device = examples(rows(), task)[:12], torch.device("cpu")
    with torch.no_grad():
        whole = task.loss(model, task.batch(found, device), 0.0)
        alone = [task.loss(model, task.batch([one], device), 0.0) for one in found]
    assert int(whole.count) == 12
    assert float(whole.total) == pytest.approx(sum(float(one.total) for one in alone), abs=1e-3)


# Prediction

ODD = [
    ("Who?", "\x00\x00 nul \x00 and Zoë \U0001f600 ate ﬁsh\u200b."),
    ("Ｗho？", "誰が来たか。太郎が来た。" * 5),
    ("\ud800?", "half \udfff a character"),
    ("what " * 100, "It rained in Oslo. " * 5),
    ("Where?", "word " * 60),
    ("Where?", "x" * 200),
    ("", "It rained."),
    ("Where?", ""),
    ("\x00", " \n"),
    ("?", "a"),
]


def mixed() -> list[dict[str, str]]:
    strange = [{"question": question, "passage": passage} for question, passage in ODD]
    return [row for pair in zip(rows(10), strange, strict=True) for row in pair]


def bare(answer: Answer) -> Answer:
    return replace(answer, score=0.0, confidence=0.0, alternatives=None)


def test_an_answer_is_a_stretch_of_its_passage_whatever_the_text(made: tuple[AnsweringTask, torch.nn.Module]) -> None:
    given = mixed()
    found = answers(made, given, no_answer="never")
    assert len(found) == len(given)
    for row, answer in zip(given, found, strict=True):
        if answer.start is None:
            assert answer.text == ""
            assert answer.status in (("empty",), ("no answer",))
        else:
            assert answer.text == row["passage"][answer.start : answer.end] != ""
            assert answer.text == answer.text.strip()
        assert 0.0 <= answer.confidence <= 1.0
        json.dumps(answer.plain())


def test_ten_thousand_characters_are_answered(made: tuple[AnsweringTask, torch.nn.Module]) -> None:
    row = {"question": "Where " * 2000, "passage": ("It rained in Oslo, " * 600)[:10_000]}
    found = answers(made, [row], longest=2048, no_answer="never")[0]
    assert found.status == ("windows", "head")
    assert found.start is not None
    assert row["passage"][found.start : found.end] == found.text


@pytest.mark.parametrize("predict", [{"no_answer": "never"}, {"no_answer": 0.05, "best": 3}])
def test_an_answer_is_the_same_alone_and_in_any_company(
    made: tuple[AnsweringTask, torch.nn.Module], predict: dict[str, Any]
) -> None:
    given = mixed()
    alone = [answers(made, [row], **predict)[0] for row in given]
    for one, other in zip(alone, answers(made, given, rows=5, **predict), strict=True):
        assert bare(one) == bare(other)
        assert one.score == pytest.approx(other.score, abs=1e-4)
        assert one.confidence == pytest.approx(other.confidence, abs=1e-4)
        assert [rest.text for rest in one.alternatives or ()] == [rest.text for rest in other.alternatives or ()]


def test_what_nothing_decides_is_decided_alike_in_any_company(made: tuple[AnsweringTask, torch.nn.Module]) -> None:
    task, _model = made
    flat = task.model().eval()
    with torch.no_grad():
        for parameter in flat.parameters():
            parameter.zero_()
    given = rows(5)
    together = answers((task, flat), given, no_answer="never")
    assert together == [answers((task, flat), [row], no_answer="never")[0] for row in given]


@pytest.mark.parametrize(
    ("question", "passage"), [("", "It rained."), ("  ", "It rained."), ("Where?", ""), ("?", "\n ")]
)
def test_where_there_is_nothing_to_ask_or_to_read_that_is_told(
    made: tuple[AnsweringTask, torch.nn.Module], question: str, passage: str
) -> None:
    found = answers(made, [{"question": question, "passage": passage}], no_answer="never")
    assert found == [Answer("", None, None, 0.0, 0.0, ("empty",))]


@pytest.mark.parametrize(
    ("long", "status"), [("window", "windows"), ("head", "head"), ("tail", "tail"), ("refuse", "refused")]
)
def test_how_a_long_passage_was_read_is_told(
    made: tuple[AnsweringTask, torch.nn.Module], long: str, status: str
) -> None:
    passage = " ".join(row["passage"] for row in rows(8))
    short, found = answers(
        made,
        [{"question": "Who?", "passage": "Anna"}, {"question": "Who?", "passage": passage}],
        long=long,
        no_answer="never",
    )
    assert short.status == ("complete",)
    assert found.status == ((status,) if long != "refuse" else ("refused",))
    assert (found.start is None) == (long == "refuse")
    if long == "head":
        assert found.end is not None
        assert found.end < len(passage) / 2
    if long == "tail":
        assert found.start is not None
        assert found.start > len(passage) / 2


def test_no_setting_reads_more_at_once_than_the_positions_hold() -> None:
    placed = {**HEADS["spans"]["model"], "position": {"name": "learned", "length": 24}}
    torch.manual_seed(0)
    task = AnsweringTask.learn(recipe(model=placed), rows(), {})
    made, row = (task, task.model().eval()), rows(1)[0]
    asked = [row, {**row, "passage": row["passage"] * 5}]
    assert all("windows" in one.status for one in answers(made, asked, longest=200))
    assert answers(made, asked, longest=200) == answers(made, asked, longest=24)


def test_a_long_question_is_read_to_half_the_length_and_that_is_told(
    made: tuple[AnsweringTask, torch.nn.Module],
) -> None:
    row = {"question": "what " * 200, "passage": "It rained."}
    assert answers(made, [row], no_answer="never")[0].status == ("head",)
    assert answers(made, [row], no_answer="never", long="refuse")[0].status == ("refused",)


def test_the_best_of_all_windows_is_given(made: tuple[AnsweringTask, torch.nn.Module]) -> None:
    task, model = made
    passage = " ".join(row["passage"] for row in rows(8))
    settings = task.recipe.predict.model_copy(update={"no_answer": "never"})
    finding = Finding(task.reading.tokenizer, model, task.layout(torch.device("cpu")), settings)
    work = finding.works([{"question": "Who came?", "passage": passage}])[0]
    assert len(work.windows) > 3
    each = [finding.scored([window])[0][0].score for window in work.windows]
    found = answers(made, [{"question": "Who came?", "passage": passage}], no_answer="never")[0]
    assert found.score == pytest.approx(max(each), abs=1e-4)


def test_the_threshold_decides_between_an_answer_and_none(made: tuple[AnsweringTask, torch.nn.Module]) -> None:
    given = rows(6)
    always = answers(made, given, no_answer="never")
    assert all(one.text and one.status == ("complete",) for one in always if "windows" not in one.status)
    for one in answers(made, given, no_answer=1e6):
        assert (one.text, one.start, one.end) == ("", None, None)
        assert one.status[-1] == "no answer"
        assert "complete" not in one.status
    edge = always[0].score
    assert answers(made, given[:1], no_answer=edge - 0.01)[0].text == always[0].text
    assert answers(made, given[:1], no_answer=edge + 0.01)[0].text == ""


def test_alternatives_begin_with_the_answer_and_share_the_probability(
    made: tuple[AnsweringTask, torch.nn.Module],
) -> None:
    for one in answers(made, rows(6), best=5, no_answer=0.0):
        assert one.alternatives is not None
        assert len(one.alternatives) == 5
        assert one.alternatives[0].text == one.text
        assert sum(other.confidence for other in one.alternatives) <= 1 + 1e-9
        assert len({(other.start, other.end) for other in one.alternatives}) == 5


@settings(max_examples=40)
@given(st.integers(1, 7), st.integers(1, 9), st.integers(1, 30), st.integers(0, 2**16))
def test_the_best_spans_are_those_of_trying_all(pieces: int, longest: int, count: int, seed: int) -> None:
    logits = torch.randn(1, pieces + 1, 2, generator=torch.Generator().manual_seed(seed)).double()
    start, end = logits[0, 1:, 0].tolist(), logits[0, 1:, 1].tolist()
    none = float(logits[0, 0].sum())
    tried = [Scored(i, j, start[i] + end[j] - none) for i in range(pieces) for j in range(i, min(i + longest, pieces))]
    wanted = sorted(tried, key=lambda one: -one.score)[:count]
    found = best_spans(logits, longest, count)[0]
    assert [one[:2] for one in found] == [one[:2] for one in wanted]
    assert [one.score for one in found] == pytest.approx([one.score for one in wanted])


# When to be silent


def scored(numbers: list[float], texts: list[str]) -> list[Answer]:
    return [Answer(text, 0, 1, number, 0.5, ("complete",)) for number, text in zip(numbers, texts, strict=True)]


@given(st.lists(st.tuples(st.integers(-3, 3), st.sampled_from("ab"), st.sampled_from(["a", "b", ""])), min_size=1))
def test_no_other_threshold_scores_better(lines: list[tuple[int, str, str]]) -> None:
    results = scored([float(number) for number, _, _ in lines], [said for _, said, _ in lines])
    references = [[right] for _, _, right in lines]

    def total(edge: float) -> float:
        texts = [one.text if one.score >= edge else "" for one in results]
        return sum(score_lines(texts, references, "answer_f1"))

    found = threshold(results, references)
    if found == "never":
        assert all(right for _, _, right in lines)
    else:
        assert total(found) == pytest.approx(max(total(edge / 2) for edge in range(-9, 10)))


def test_halves_are_told_where_there_are_two() -> None:
    found = halves(["Oslo", "", "Oslo"], [["Oslo"], [""], [""]])
    assert found is not None
    assert (found.answerable.questions, found.answerable.f1) == (1, 100.0)
    assert (found.unanswerable.questions, found.unanswerable.exact) == (2, 50.0)
    assert found.silence == pytest.approx(200 / 3)
    assert "always" in str(found)
    assert found.plain()["unanswerable"]["questions"] == 2
    assert halves(["Oslo"], [["Oslo"]]) is None


def test_an_answer_of_which_the_metric_leaves_nothing_is_none() -> None:
    assert halves(["x", ""], [["A"], [""]]) is None
    found = halves(["x", "Oslo"], [["The"], ["Oslo"]])
    assert found is not None
    assert (found.answerable.questions, found.unanswerable.questions) == (1, 1)
    assert (found.answerable.exact, found.unanswerable.exact) == (100, 0)


# Settings


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"head": {"name": "spam"}}, "Did you mean .spans"),
        ({"head": {"name": "spans", "widht": 3}}, "widht"),
        ({"loss": {"smoothing": 0.1}}, "not smoothed"),
        ({"metrics": ["blue"]}, "bleu"),
    ],
)
def test_mistakes_in_a_recipe_are_told_before_training(changes: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        AnsweringTask.check(AnsweringRecipe.read({**recipe().plain(), **changes}))


def test_kinds_of_question_that_training_lacks_are_remarked(made: tuple[AnsweringTask, torch.nn.Module]) -> None:
    told = [row for row in rows() if right(row)]
    silent = [row for row in rows() if not right(row)]
    assert made[0].remarks(placed(told), placed(told)) == []
    assert "without an answer" in made[0].remarks(placed(told), placed(silent))[0]


# The whole way


@pytest.fixture(scope="module", params=sorted(HEADS))
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("answering")
    write_passages(folder / "data", size=40, held_out=10)
    corpora = {part: {"path": str(folder / f"data/{part}.json"), "format": "squad"} for part in ("train", "valid")}
    plan = recipe(
        request.param,
        data={**corpora, "test": {"test": {"path": str(folder / "data/test.json"), "format": "squad"}}},
        optimizer={"rate": 1e-2, "schedule": {"name": "constant"}},
        batches={"tokens": 2000},
        train={"updates": 8, "every": 4, "log": 2, "watch": "answer_f1", "higher": True},
        validation={"metrics": ["answer_f1"]},
    )
    train(plan, folder / "run")
    return folder / "run"


def test_training_learns_and_leaves_a_bundle_that_answers_as_it_did(run: Path) -> None:
    log = [json.loads(line) for line in (run / "log.jsonl").read_text().splitlines()]
    losses = [line["loss"] for line in log if line["kind"] == "train"]
    assert losses[-1] < losses[0]
    model = Pipeline.load(run, verify=True)
    assert {"answer_exact", "answer_f1"} <= set(model.scores["valid"])


def test_the_threshold_left_to_validation_is_the_one_that_scores_best_there(run: Path) -> None:
    model = load(run)
    given = rows(10)
    # What training chose on its own validation is in the bundle.
    assert model.recipe.predict.no_answer is not None
    unset = model.recipe.predict.model_copy(update={"no_answer": None})
    tuned = model.task.tuned(model.model, given, model.recipe.model_copy(update={"predict": unset}))
    chosen = tuned.predict.no_answer
    assert isinstance(chosen, float)
    assert model.task.tuned(model.model, given, tuned) is tuned

    def f1(edge: float | str) -> float:
        return (
            model.with_settings(f"predict.no_answer={edge}")
            .judged(given, model.recipe.metrics)
            .scores["answer_f1"]
            .value
        )

    assert f1(chosen) >= max(f1(edge) for edge in ("never", 0.0, 1e6)) - 1e-9


def test_a_trained_model_answers_lines_and_is_evaluated_in_halves(run: Path) -> None:
    model = load(run)
    row = rows(1)[0]
    line = f"{row['question']}\t{row['passage']}"
    assert model.predict([line]) == model.predict([{"question": row["question"], "passage": row["passage"]}])
    found = model.evaluate(load_test(run, model))
    assert found.details["halves"].answerable.questions + found.details["halves"].unanswerable.questions == 10
    assert set(found.scores) == {"answer_exact", "answer_f1"}
    answered = model.task.answered(row, model.with_settings("predict.no_answer=never").predict([line])[0])
    assert AnsweringTask.fault(answered, None) == ""


def load_test(run: Path, model: Pipeline) -> Any:
    from regard.api import Materials

    return Materials(model.recipe).test("test")
