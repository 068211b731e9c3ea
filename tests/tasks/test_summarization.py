"""Summaries: what is read of a document, what is copied from where, and that company changes nothing."""

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.api import Materials, Pipeline, load, train
from regard.api.preflight import preflight
from regard.errors import ConfigError, RequestError
from regard.nn import IGNORE
from regard.tasks import TASKS, SummarizationRecipe, SummarizationTask
from regard.tasks.lines import Read, Reader
from regard.text import Tokenizer, TokenizerSettings
from tests.tasks.places import placed
from tests.text.foreign_toys import framed

LETTERS = "abdegiklmnoprstu"
PLACES = ("park", "station", "museum", "market")
RECURRENT: dict[str, Any] = {
    "name": "recurrent",
    "encoder": {"width": 32},
    "decoder": {"width": 32},
    "attention": {"score": "coverage"},
    "tied": "all",
    "copying": True,
}
TRANSFORMER: dict[str, Any] = {
    "name": "transformer",
    "width": 32,
    "layers": 1,
    "attention": {"heads": 2},
    "feedforward": {"hidden": 32},
    "place": "pre",
    "copying": True,
}


def name(draw: random.Random) -> str:
    return "".join(draw.choices(LETTERS, k=6)).title()


def row(draw: random.Random) -> dict[str, str]:
    """A chat of two people whose names stand nowhere else, and what it comes to."""
    one, other, place = name(draw), name(draw), draw.choice(PLACES)
    document = f"{one}: shall we meet?\n{other}: yes, at the {place}.\n{one}: see you there!"
    return {"document": document, "summary": f"{one} and {other} meet at the {place}."}


def recipe(folder: Path, model: dict[str, Any], **other: Any) -> dict[str, Any]:
    folder.mkdir(exist_ok=True)
    draw = random.Random(5)
    for part, count in (("train", 120), ("valid", 12), ("test", 6)):
        rows = "".join(f"{json.dumps(row(draw))}\n" for _ in range(count))
        (folder / f"{part}.jsonl").write_text(rows, "utf-8")

    def corpus(part: str) -> dict[str, Any]:
        return {"path": f"{part}.jsonl", "columns": {"document": "document", "summary": "summary"}}

    return {
        "task": "summarization",
        "data": {
            "root": str(folder),
            "train": corpus("train"),
            "valid": corpus("valid"),
            "test": {"test": corpus("test")},
        },
        "tokenizer": {"kind": "words", "least": 5},
        "slots": 3,
        "model": model,
        "batches": {"tokens": 700},
        "loss": {"smoothing": 0.0, "coverage": 0.1},
        "optimizer": {"rate": 1e-2, "schedule": {"name": "linear", "warm_up": 5}},
        "train": {"updates": 70, "every": 70, "log": 10},
        "search": {"beams": 3},
        **other,
    }


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Pipeline:
    """A pointer-generator that has learned who meets where."""
    folder = tmp_path_factory.mktemp("summaries")
    train(recipe(folder / "data", RECURRENT), folder / "run")
    return load(folder / "run")


@pytest.fixture(scope="module")
def rows(model: Pipeline) -> list[dict[str, str]]:
    return [dict(one.fields) for one in Materials(model.recipe).test("test")]


def test_a_name_never_seen_comes_out_as_it_is(model: Pipeline, rows: list[dict[str, str]]) -> None:
    known = model.task.sides.source.pieces
    for given_row, result in zip(rows, model.predict(rows), strict=True):
        names = [line.split(":")[0] for line in given_row["document"].split("\n")][:2]
        assert not set(names) & set(known)
        assert result.text == given_row["summary"]


def test_copied_words_tell_their_place_in_the_document(model: Pipeline, rows: list[dict[str, str]]) -> None:
    for given_row, result in zip(rows, model.predict(rows), strict=True):
        told, document = result.plain()["copied"], given_row["document"]
        assert {document.split(":")[0], given_row["summary"].split()[2]} <= {one["text"] for one in told}
        for one in told:
            assert result.text[slice(*one["span"])] == one["text"]
            assert document[slice(*one["source"])].strip() == one["text"]
            assert 0.5 < one["share"] <= 1.0 + 1e-6


def test_evaluation_has_all_rouge_and_a_bundle_gives_the_same(model: Pipeline, tmp_path: Path) -> None:
    found = model.evaluate(Materials(model.recipe).test("test"))
    assert set(found.scores) == {"rouge1", "rouge2", "rougeL", "rougeLsum"}
    assert found.scores["rouge1"].value > 90
    model.save(tmp_path / "bundle")
    again = load(tmp_path / "bundle").evaluate(Materials(model.recipe).test("test"))
    assert [one.plain() for one in again.results] == [one.plain() for one in found.results]


def test_likelihood_is_that_of_the_loss(model: Pipeline, rows: list[dict[str, str]]) -> None:
    told = list(model.task.likelihood(model.model, rows, model.recipe))
    columns = model.task.encoding({}).encode({key: [one[key] for one in rows] for key in rows[0]})
    numbers = zip(*(map(np.array, columns[key]) for key in model.task.fields), strict=True)
    examples = [dict(zip(model.task.fields, pair, strict=True)) for pair in numbers]
    with torch.inference_mode():
        loss = model.task.loss(model.model, model.task.batch(examples, torch.device("cpu")), 0.0)
    assert sum(one.nll for one in told) == pytest.approx(float(loss.nll), abs=1e-3)
    assert sum(one.pieces for one in told) == int(loss.count)
    assert told[0].words == len(rows[0]["summary"].split()) + 1


TEXTS = [
    "",
    "  \n ",
    "Zzz: yes.",
    "\x00\udcff é\u0301 🍩\n\n🍩",
    "a" * 300,
    "<end>: no\n<slot>",
    "你好。\n再见。",
    "park\n" * 90,
]


@pytest.mark.parametrize("search", ["search.method=greedy", "search.beams=4", "search.coverage=0.2"])
def test_alone_is_as_in_company(model: Pipeline, rows: list[dict[str, str]], search: str) -> None:
    texts = [*TEXTS, *(one["document"] for one in rows)]
    chosen = model.with_settings(search, "search.longest_factor=0", "search.longest_extra=12")
    together, apart = chosen.predict(texts), [chosen.predict([text])[0] for text in texts]
    for one, other in zip(together, apart, strict=True):
        assert (one.text, one.status) == (other.text, other.status)
        assert one.score == pytest.approx(other.score, abs=1e-4)
        assert one.plain().get("copied") == other.plain().get("copied")


@settings(max_examples=15)
@given(st.lists(st.text(max_size=60), max_size=4))
def test_whatever_comes_in_something_comes_out(model: Pipeline, texts: list[str]) -> None:
    quick = model.with_settings("search.method=greedy", "search.longest_factor=0", "search.longest_extra=3")
    found = quick.predict(texts)
    assert len(found) == len(texts)
    assert all(one.status for one in found)
    assert all(one.status == ("empty",) for one, text in zip(found, texts, strict=True) if not text.strip())


def test_what_is_settled_stays_and_ends_as_predicted(model: Pipeline, rows: list[dict[str, str]]) -> None:
    long = "\n".join(one["document"] for one in rows)
    for change in ("predict.long=head", "predict.long=window"):
        chosen = model.with_settings(change, "predict.longest=30")
        *grown, result = chosen.settle({"document": long})
        [expected] = chosen.predict([long])
        assert (result.text, result.status, result.copied) == (expected.text, expected.status, expected.copied)
        assert result.score == pytest.approx(expected.score, abs=1e-4)
        assert grown
        assert all(later.startswith(earlier) for earlier, later in zip(grown, [*grown[1:], result.text], strict=True))


def test_a_long_document_is_read_as_asked_and_says_so(model: Pipeline, rows: list[dict[str, str]]) -> None:
    first, last = rows[0], rows[1]
    long = f"{first['document']}\n{last['document']}"
    room = max(len(model.task.reader.read(one["document"].split("\n")).pieces) for one in (first, last)) + 1
    results = {
        how: model.with_settings(f"predict.long={how}", f"predict.longest={room}").predict([long])[0]
        for how in ("head", "tail", "window", "refuse")
    }
    assert results["head"].text == first["summary"]
    assert results["head"].status == ("head", "complete")
    assert results["tail"].text == last["summary"]
    assert results["tail"].status[0] == "tail"
    assert results["window"].text == f"{first['summary']} {last['summary']}"
    assert results["window"].status[0] == "windows"
    # Every piece has its probability, and the end of the last part has one.
    assert len(results["window"].probabilities) == len(results["window"].pieces) + 1
    assert (results["refuse"].text, results["refuse"].status) == ("", ("refused",))


def test_words_copied_from_any_part_of_a_long_document_tell_their_place(
    model: Pipeline, rows: list[dict[str, str]]
) -> None:
    documents, long = [one["document"] for one in rows[:3]], "\n".join(one["document"] for one in rows[:3])
    room = max(len(model.task.reader.read(one.split("\n")).pieces) for one in documents) + 1
    [result] = model.with_settings("predict.long=window", f"predict.longest={room}").predict([long])
    assert result.status[0] == "windows"
    names = [name for one in rows[:3] for name in (one["document"].split(":")[0], one["summary"].split()[2])]
    assert set(names) <= {one.text for one in result.copied}
    assert [one.span for one in result.copied] == sorted(one.span for one in result.copied)
    for one in result.copied:
        assert result.text[slice(*one.span)] == one.text
        assert long[slice(*one.source)].strip() == one.text
    apart = [one.text for part in model.predict(documents) for one in part.copied]
    assert [one.text for one in result.copied] == apart


def test_a_summary_can_be_begun_for_it(model: Pipeline, rows: list[dict[str, str]]) -> None:
    other = rows[0]["summary"].split()[2]
    [result] = model.predict([{"document": rows[0]["document"], "prefix": f"{other} and"}])
    assert result.text.startswith(f"{other} and ")
    with pytest.raises(RequestError, match="prefix"):
        model.with_settings("predict.long=window", "predict.longest=9").predict(
            [{"document": rows[0]["document"], "prefix": "x"}]
        )


def test_alternatives_come_best_first(model: Pipeline, rows: list[dict[str, str]]) -> None:
    [result] = model.with_settings("search.best=3").predict(rows[:1])
    told = result.plain()["alternatives"]
    assert told[0]["text"] == result.text
    assert [one["score"] for one in told] == sorted((one["score"] for one in told), reverse=True)


@pytest.mark.parametrize("kind", [RECURRENT, TRANSFORMER], ids=["recurrent", "transformer"])
def test_coverage_adds_what_is_looked_at_twice_and_sums_over_a_split_batch(
    kind: dict[str, Any], tmp_path: Path
) -> None:
    plain = SummarizationRecipe.read(recipe(tmp_path, kind, loss={"coverage": 0.0}))
    covered = SummarizationRecipe.read(recipe(tmp_path, kind, loss={"coverage": 2.0}))
    rows = [row(random.Random(seed)) for seed in range(4)]
    tasks = [SummarizationTask.learn(one, rows, {}) for one in (plain, covered)]
    torch.manual_seed(1)
    model = tasks[0].model().eval()
    columns = tasks[0].encoding({}).encode({key: [one[key] for one in rows] for key in rows[0]})
    examples = [{key: np.array(columns[key][number]) for key in columns} for number in range(4)]
    batch = tasks[0].batch(examples, torch.device("cpu"))
    with torch.no_grad():
        without, whole = (task.loss(model, batch, 0.1) for task in tasks)
    weights = model(batch.source, batch.before, batch.real).weights.detach()
    expected = 0.0
    for one, wanted in zip(weights, batch.wanted, strict=True):
        seen = torch.zeros_like(one[0])
        for step, piece in zip(one, wanted, strict=True):
            expected += float(torch.minimum(step, seen).sum()) * (piece != IGNORE)
            seen = seen + step
    assert float(whole.total - without.total) == pytest.approx(2.0 * float(expected), rel=1e-4)
    assert torch.equal(whole.nll, without.nll)
    split = [tasks[1].batch(part, torch.device("cpu")) for part in (examples[:1], examples[1:])]
    with torch.no_grad():
        parts = [tasks[1].loss(model, part, 0.1) for part in split]
    assert float(parts[0].total + parts[1].total) == pytest.approx(float(whole.total), rel=1e-5)


def test_coverage_without_copying_is_refused_before_training(tmp_path: Path) -> None:
    asked = SummarizationRecipe.read(recipe(tmp_path, {**RECURRENT, "copying": False}))
    with pytest.raises(ConfigError, match=r"loss.coverage = 0.1 .* set model.copying = true"):
        SummarizationTask.check(asked)


def test_a_model_that_cannot_copy_tells_of_no_copying(tmp_path: Path) -> None:
    asked = SummarizationRecipe.read(recipe(tmp_path, {**TRANSFORMER, "copying": False}, loss={}))
    rows = [row(random.Random(seed)) for seed in range(4)]
    task = SummarizationTask.learn(asked, rows, {})
    [result] = task.predict(task.model(), rows[:1], asked)
    assert result.copied is None
    assert "copied" not in result.plain()


def test_preflight_tells_of_documents_that_will_be_cut(tmp_path: Path) -> None:
    asked = SummarizationRecipe.read(recipe(tmp_path, RECURRENT, predict={"longest": 12}))
    assert any("longer than predict.longest = 12" in told for told in map(str, preflight(asked).findings))


def test_chinese_summaries_need_a_metric_that_can_cut_them(tmp_path: Path) -> None:
    rows = [{"document": "小明：你好。", "summary": "小明问好。"}] * 3
    asked = SummarizationRecipe.read(recipe(tmp_path, RECURRENT))
    task = SummarizationTask.learn(asked, rows, {})
    assert any("characters" in told for told in task.remarks(placed(rows), placed(rows)))
    metrics = [{"name": "rouge1", "tokenizer": "characters"}]
    fitting = SummarizationRecipe.read(recipe(tmp_path, RECURRENT, metrics=metrics))
    assert not SummarizationTask(fitting, task.sides).remarks(placed(rows), placed(rows))


TOKENIZERS = {
    kind: Tokenizer.learn(
        TokenizerSettings(kind=kind, size=80, least=2), ["a cat sat on a mat", "the cat, the mat"] * 2, 1
    )
    for kind in ("bpe", "words", "word_piece", "characters")
}


@pytest.mark.parametrize("kind", TOKENIZERS)
@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=20), max_size=4))
def test_spans_count_the_characters_of_the_lines_together(kind: str, lines: list[str]) -> None:
    reader, text = Reader(TOKENIZERS[kind], slots=2), "\n".join(lines)
    read = reader.numbered(reader.read(lines))
    assert read.text == text
    assert len(read.pieces) == len(read.spans)
    assert all(0 <= start <= end <= len(text) for start, end in read.spans)
    assert len(read.words) == len(set(read.words)) <= 2
    first = reader.tokenizer.size
    for piece, span in zip(read.pieces, read.spans, strict=True):
        if piece >= first:
            assert text[slice(*span)].strip() == read.words[piece - first]


@pytest.mark.parametrize("kind", ["words", "word_piece"])
def test_unknown_words_come_back_from_their_slots(kind: str) -> None:
    reader = Reader(TOKENIZERS[kind], slots=2)
    read = reader.numbered(reader.read(["the Ωmega cat", "ẞeta, Ωmega ñandu"]))
    assert read.words == ("Ωmega", "ẞeta")
    [written] = reader.write_many(["ẞeta on Ωmega, ñandu"], [read.words])
    assert reader.text(written, read.words) == "ẞeta on Ωmega,"
    assert written[0] == reader.tokenizer.size + 1
    assert reader.names(written, read.words)[:3] == ("ẞeta", "on", "Ωmega")
    assert reader.free(read.words) == ()
    assert reader.free(()) == (reader.tokenizer.size, reader.tokenizer.size + 1)


@given(st.lists(st.integers(0, 3), max_size=40), st.integers(1, 9))
def test_parts_cover_a_source_and_fit(pieces: list[int], room: int) -> None:
    read = Read("." * len(pieces), tuple(pieces), tuple((place, place + 1) for place in range(len(pieces))))
    parts = read.parts(room, (0,))
    kept = [place for part in parts for place, _ in part.spans]
    assert kept == sorted(set(kept))
    assert all(pieces[place] == 0 for place in set(range(len(pieces))) - set(kept))
    assert all(0 < len(part.pieces) <= room and part.pieces[0] and part.pieces[-1] for part in parts)


def test_the_task_is_known_by_its_name() -> None:
    assert TASKS["summarization"] is SummarizationTask


def test_a_foreign_tokenizer_frames_both_sides() -> None:
    settings = SummarizationRecipe.model_validate(
        {"task": "summarization", "data": {}, "model": TRANSFORMER, "predict": {"longest": 4}}
    )
    task = SummarizationTask.load(settings, {"tokenizer.json": framed().to_json()})
    columns = task.encoding({}).encode({"document": ["the the the"], "summary": ["the"]})
    assert columns == {"document": [(1, 5, 5, 2)], "summary": [(1, 5, 2)]}
    drafting = task.drafting(task.model(), settings)
    [job] = drafting.work({"document": "the the the"}, "document").jobs
    assert (job.pieces, job.before) == ((1, 5, 5, 2), 1)
