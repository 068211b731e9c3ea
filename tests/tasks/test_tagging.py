"""Tagging: schemes, words and spans, what a bad row is, long texts, company, and runs from rows to a bundle."""

import json
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from regard.api import Pipeline, load, read, train
from regard.api.checks_bundle import ENDLESS, NASTY
from regard.api.materials import Materials
from regard.errors import ConfigError, DataError, RequestError
from regard.nn import CRF
from regard.starter.entities import rows as starter_rows
from regard.tasks import TASKS, TaggingRecipe, TaggingTask
from regard.tasks.reading import LongSettings, Reading
from regard.tasks.tag_schemes import Tagging, broken, follows, guessed, inventory, moves, taggings, to_iob2, written
from regard.tasks.tagging_reading import WordReading
from regard.tasks.tagging_results import bracketed, entities
from regard.tasks.tagging_rows import TagsSettings, fault, gold, remarks
from regard.tasks.tagging_windows import homes, overlapping, windows
from regard.tasks.tagging_words import Letters, cut
from regard.text import Tokenizer, TokenizerSettings
from regard.text.vectors import first_words
from tests.tasks.places import placed

LENIENT, STRICT = TagsSettings(repair=True), TagsSettings(scheme="iob2")
NAMES = {"PER": ("Ada", "Bo", "Cy", "Di"), "LOC": ("Rome", "Oslo", "Bern", "Kyiv")}
FRAMES = ("{PER} lives in {LOC} .", "{PER} {PER} left {LOC} today .", "it rained in {LOC} .", "{PER} slept .")


@st.composite
def marked(draw: Any) -> tuple[list[Tagging], int]:
    """Entities that do not overlap, some side by side, and how many words there are."""
    place, found = draw(st.integers(0, 2)), []
    for _ in range(draw(st.integers(0, 4))):
        end = place + draw(st.integers(1, 3))
        found.append(Tagging(draw(st.sampled_from(["PER", "LOC"])), place, end))
        place = end + draw(st.integers(0, 2))
    return found, place + draw(st.integers(0, 2))


def in_iob1(found: list[Tagging], words: int) -> list[str]:
    tags = written(found, words)
    ends = {(one.end, one.label) for one in found}
    return [
        "I" + tag[1:] if tag.startswith("B-") and (number, tag[2:]) not in ends else tag
        for number, tag in enumerate(tags)
    ]


@given(marked())
def test_every_scheme_is_read_as_the_same_entities(given: tuple[list[Tagging], int]) -> None:
    found, words = given
    for tags in (written(found, words), written(found, words, "bioes"), in_iob1(found, words)):
        assert not broken(tags, "auto")
        assert taggings(to_iob2(tags)) == found
    assert not broken(in_iob1(found, words), "iob1")
    assert not broken(written(found, words, "bioes"), "bioes")


@given(marked())
def test_a_line_with_entities_tells_its_scheme(given: tuple[list[Tagging], int]) -> None:
    found, words = given
    if found:
        assert guessed(written(found, words)) == "iob2"
        assert guessed(written(found, words, "bioes")) == ("bioes")
        assert guessed(in_iob1(found, words)) == "iob1"


def test_other_letters_of_bioes_are_read() -> None:
    assert to_iob2(["B-X", "M-X", "L-X", "U-Y"]) == ["B-X", "I-X", "I-X", "B-Y"]


@pytest.mark.parametrize("scheme", ["iob2", "bioes"])
def test_the_crf_may_do_what_the_scheme_allows_and_nothing_else(scheme: Any) -> None:
    tags = inventory(["A", "B"], scheme)
    between, start, end = moves(tags, scheme)
    for line in product(range(len(tags)), repeat=3):
        allowed = start[line[0]] and between[line[0], line[1]] and between[line[1], line[2]] and end[line[2]]
        assert bool(allowed) == (not broken([tags[number] for number in line], scheme))
    assert follows(scheme, "O", "O")


@pytest.mark.parametrize(
    ("tags", "told"),
    [
        ("O I-PER O", "tag 2 is I-PER after O"),
        ("B-LOC I-PER O", "tag 2 is I-PER after B-LOC"),
        ("O O", "3 words between spaces, but 2 tags"),
        ("O X-PER O", "tag 2 is 'X-PER'"),
        ("O B O", "tag 2 is 'B'"),
    ],
)
def test_a_line_that_breaks_iob2_is_named(tags: str, told: str) -> None:
    assert told in fault({"text": "one two three", "tags": tags}, STRICT, "auto")


def test_bioes_that_breaks_is_named() -> None:
    row = {"text": "one two three", "tags": "B-PER E-PER B-PER"}
    assert "the last tag is B-PER" in fault(row, TagsSettings(), "auto")


def test_repair_reads_what_is_broken_and_tells_how_often() -> None:
    row = {"text": "one two three four", "tags": "B-LOC O I-PER I-PER"}
    assert fault(row, TagsSettings(), "auto")
    assert fault(row, LENIENT, "auto") == ""
    assert gold(row, "auto").tags == ["B-LOC", "O", "B-PER", "I-PER"]
    assert fault({"text": "a", "tags": "?"}, LENIENT, "auto")
    assert any("1 lines of training fit no scheme" in told for told in remarks(placed([row]), "auto"))


def test_types_seen_seldom_or_never_are_remarked() -> None:
    seen, unseen = {"text": "Ada", "tags": "B-PER"}, {"text": "Rome Oslo Ada", "tags": "B-LOC B-LOC B-PER"}
    told = " ".join(remarks(placed([seen]), "auto"))
    assert "PER: 1 entities in training, too few to learn from (rows line 1)." in told
    for kind, model in (("tagging", {"name": "recurrent"}), ("tagging_generative", {"name": "transformer"})):
        corpus = {"path": "x.jsonl", "columns": {"text": "text", "tags": "tags"}}
        task = TASKS[kind]
        plan = task.Recipe.read({"task": kind, "data": {"train": corpus}, "model": model, "tokenizer": {"size": 40}})
        made = task.learn(plan, [seen], {})
        assert (list(made.unseen(unseen)), list(made.unseen(seen))) == (["LOC"], [])


def test_lines_in_several_schemes_are_remarked() -> None:
    mixed = [{"text": "Ada", "tags": "B-PER"}, {"text": "Ada", "tags": "I-PER"}]
    assert any("(1 iob2; 1 iob1: rows line 2)" in told for told in remarks(placed(mixed), "auto"))


def test_a_line_in_another_scheme_than_its_corpus_is_a_bad_one(tmp_path: Path) -> None:
    values = recipe(tmp_path)
    for name in ("train", "valid"):
        with (tmp_path / f"{name}.conll").open("a", encoding="utf-8") as file:
            file.write("\nRome I-LOC\nis O\n")
    for corpus in (Materials(TaggingRecipe.read(values)).train[0], Materials(TaggingRecipe.read(values)).valid):
        told = r"\.conll line \d+: tag 1 is I-LOC after O: in IOB2.*\(by itself this line would be IOB1\).*tags\.repair"
        with pytest.raises(DataError, match=told):
            list(corpus)
        skipped = corpus.skipping()
        kept = len(list(skipped))
        assert skipped.counts.left_out["unusable"].count == 1
        values["tags"] = {"repair": True}
        assert len(list(Materials(TaggingRecipe.read(values)).corpus(corpus.settings))) == kept + 1
        del values["tags"]


def test_a_corpus_in_iob1_is_read_and_its_iob2_is_named(tmp_path: Path) -> None:
    values = recipe(tmp_path)
    file = tmp_path / "train.conll"
    file.write_text(file.read_text("utf-8").replace(" B-", " I-"), "utf-8")
    assert len(list(Materials(TaggingRecipe.read(values)).train[0])) == 60
    with file.open("a", encoding="utf-8") as more:
        more.write("\nRome B-LOC\n")
    with pytest.raises(DataError, match="tag 1 is B-LOC after O: in IOB1"):
        list(Materials(TaggingRecipe.read(values)).train[0])


@pytest.mark.parametrize(
    ("spans", "told"),
    [
        ([[0, 2, "PER"]], "'Ad', which begins or ends inside a word of 'Ada'"),
        ([[0, 99, "PER"]], "no span of a text of 14 characters"),
        ([[3, 3, "PER"]], "no span"),
        ([[0, 9, "PER"], [4, 9, "PER"]], "PER at 4 begins inside PER at 0 to 9"),
        ([[0, 3, ""]], "the label ''"),
        ([[0, 3]], "expected a list"),
        ({"start": 0}, "expected a list"),
        ([{"start": 0, "end": 3}], "expected a list"),
        ([{"start": 0, "end": 3, "label": "PER", "text": 3}], "expected a list"),
        ([{"start": 0, "end": 3, "label": "PER", "text": "Bykov"}], "0 to 3 is said to be 'Bykov'; there stands 'Ada'"),
        ([{"start": 3, "end": 8, "label": "PER", "text": "Bykov"}], "is said to be 'Bykov'; there stands ' Byko'"),
    ],
)
def test_a_span_that_fits_no_words_is_named(spans: Any, told: str) -> None:
    row = {"text": "Ada Lovelace .", "entities": json.dumps(spans)}
    row["text"] = "Ada Bykov left"
    assert told in fault(row, TagsSettings(), "auto")


def test_spans_and_tags_of_the_same_sentence_agree() -> None:
    spans = {"text": "Ada Bykov left Rome.", "entities": '[{"start":15,"end":19,"label":"LOC"},[0,9,"PER"]]'}
    assert fault(spans, TagsSettings(), "auto") == ""
    found = gold(spans, "auto")
    assert [word.text for word in found.words] == ["Ada", "Bykov", "left", "Rome", "."]
    assert found.tags == ["B-PER", "I-PER", "O", "B-LOC", "O"]


@pytest.mark.parametrize("said", [{}, {"text": None}, {"text": "Ada Bykov"}, {"text": "Ada  Bykov "}])
def test_a_span_may_say_what_stands_there(said: dict[str, Any]) -> None:
    spans = [{"start": 0, "end": 9, "label": "PER", **said}]
    row = {"text": "Ada Bykov left", "entities": json.dumps(spans)}
    assert fault(row, TagsSettings(), "auto") == ""
    assert gold(row, "auto").tags == ["B-PER", "I-PER", "O"]


def test_spans_given_twice_are_no_less_spans_where_one_says_its_text() -> None:
    spans = [{"start": 0, "end": 3, "label": "PER"}, {"start": 0, "end": 3, "label": "PER", "text": "Ada"}]
    assert "begins inside" in fault({"text": "Ada left", "entities": json.dumps(spans)}, TagsSettings(), "auto")


def test_our_cutting_fits_the_spans_of_the_starter_corpus() -> None:
    for row in starter_rows(200, 1, "train"):
        given = {"text": row["text"], "entities": json.dumps(row["entities"])}
        assert fault(given, TagsSettings(), "auto") == ""
        found = gold(given, "auto")
        made = entities(row["text"], found.words, found.tags, [1.0] * len(found.tags))
        assert [(one.start, one.end, one.label) for one in made] == sorted(
            (span["start"], span["end"], span["type"]) for span in row["entities"]
        )


@given(st.text(max_size=60), st.sampled_from(["auto", "spaces", "characters"]))
def test_words_cover_all_but_white_space_once_and_in_order(text: str, how: Any) -> None:
    done = 0
    for word in cut(text, how):
        assert text[word.start : word.end] == word.text
        assert not text[done : word.start].strip()
        assert word.text
        done = word.end
    assert not text[done:].strip()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("He didn't pay $3.5m.", "He did n't pay $ 3.5m ."),
        ("J. Bach's U.S. tour, 1996-08-22!", "J. Bach 's U.S. tour , 1996-08-22 !"),
        ("(AT&T; e-mail: a.b@c.org) ...", "( AT&T ; e-mail : a.b@c.org ) ..."),
        ("北京 Peking", "北 京 Peking"),
        ("Acme Corp. and Dr. No said so.", "Acme Corp. and Dr. No said so ."),
    ],
)
def test_raw_text_is_cut_as_corpora_are(text: str, words: str) -> None:
    assert [word.text for word in cut(text, "auto")] == words.split()


def test_a_no_break_space_is_part_of_a_word_of_a_column() -> None:
    row = {"text": "10\u00a0000 men", "tags": "O O"}
    assert fault(row, STRICT, "auto") == ""
    assert [word.text for word in gold(row, "auto").words] == ["10\u00a0000", "men"]


def test_brackets_stand_where_the_entities_do() -> None:
    words = cut("Ada saw Rome", "auto")
    found = entities("Ada saw Rome", words, ["B-PER", "O", "B-LOC"], [0.9, 0.2, 0.5])
    assert bracketed("Ada saw Rome", found) == "[PER Ada] saw [LOC Rome]"
    assert [one.confidence for one in found] == [0.9, 0.5]


@given(st.lists(st.integers(1, 4), min_size=1, max_size=40), st.integers(4, 12), st.integers(0, 20))
def test_windows_cover_every_word_and_fit(sizes: list[int], room: int, overlap: int) -> None:
    found = list(overlapping(sizes, room, overlap))
    assert [number for number in range(len(sizes)) if not any(start <= number < end for start, end in found)] == []
    assert all(sum(sizes[start:end]) <= room for start, end in found)
    assert list(homes(found)) == list(range(len(sizes)))


def test_a_word_is_taken_from_where_it_is_farthest_from_an_edge() -> None:
    assert [window for window, _ in homes([(0, 6), (3, 9)]).values()] == [0, 0, 0, 0, 0, 1, 1, 1, 1]
    assert [place for _, place in homes([(2, 6), (4, 9)]).values()] == [0, 1, 2, 1, 2, 3, 4]


def test_head_tail_and_refusal() -> None:
    sizes = [2, 2, 1, 1]
    found = {long: windows(sizes, 3, LongSettings(long=long)) for long in ("head", "tail", "refuse")}
    assert found == {"head": [(0, 1)], "tail": [(2, 4)], "refuse": []}
    assert windows(sizes, 6, LongSettings(long="refuse")) == [(0, 4)]


def test_a_margin_is_what_the_best_path_has_over_the_second() -> None:
    between, start, end = moves(inventory(["A"], "iob2"), "iob2")
    crf = CRF(3, between, start, end).double()
    with torch.no_grad():
        for parameter in crf.parameters():
            parameter.normal_()
    emissions, mask = torch.randn(2, 4, 3, dtype=torch.float64), torch.ones(2, 4, dtype=torch.bool)
    mask[1, 3:] = False
    for row, length in ((0, 4), (1, 3)):
        paths = torch.tensor(list(product(range(3), repeat=length)))
        legal = [path for path in paths if not broken([inventory(["A"], "iob2")[tag] for tag in path], "iob2")]
        lines = emissions[row : row + 1, :length].expand(len(legal), -1, -1)
        scores = crf.score(lines, torch.stack(legal), torch.ones(len(legal), length, dtype=torch.bool))
        best, second = scores.topk(2).values
        assert torch.isclose(crf.margins(emissions, mask)[row], best - second)


def test_the_first_words_of_vectors_are_read(tmp_path: Path) -> None:
    (tmp_path / "v.txt").write_text("3 2\nthe 1 2\nnew york 1 2\nof 3 4\n", "utf-8")
    assert first_words(tmp_path / "v.txt", 2) == ["the", "new york"]


def toy(part: str, count: int) -> list[tuple[list[str], list[str]]]:
    draw = np.random.default_rng(sum(map(ord, part)))
    made = []
    for _ in range(count):
        words, tags, last = [], [], ""
        for token in str(draw.choice(FRAMES)).split():
            label = token.strip("{}") if token.startswith("{") else ""
            words.append(str(draw.choice(NAMES[label])) if label else token)
            tags.append("O" if not label else f"{'I' if last == label else 'B'}-{label}")
            last = label
        made.append((words, tags))
    return made


def written_data(folder: Path) -> dict[str, Any]:
    """The corpora of a recipe, written as columns."""
    for part, count in (("train", 60), ("valid", 10), ("test", 10)):
        blocks = ["".join(f"{word} {tag}\n" for word, tag in zip(*one, strict=True)) for one in toy(part, count)]
        (folder / f"{part}.conll").write_text("\n".join(blocks), "utf-8")
    columns = {"text": 1, "tags": 2}
    return {
        "root": str(folder),
        "train": {"path": "train.conll", "columns": columns},
        "valid": {"path": "valid.conll", "columns": columns},
        "test": {"test": {"path": "test.conll", "columns": columns}},
    }


def recipe(folder: Path, **other: Any) -> dict[str, Any]:
    return {
        "task": "tagging",
        "data": written_data(folder),
        "tokenizer": {"kind": "spaced", "size": 100, "lower": True},
        "model": {"name": "recurrent", "width": 16, "embedding": {"width": 8}},
        "head": {"characters": {"width": 6, "out": 6}, "looks": True},
        "tags": {"learn": "bioes"},
        "batches": {"rows": 8},
        "optimizer": {"rate": 3e-2, "schedule": {"name": "linear"}},
        "train": {"updates": 60, "every": 20, "log": 20, "watch": "entity_f1", "higher": True},
        "validation": {"metrics": ["entity_f1"]},
        **other,
    }


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tagging")
    train(recipe(folder), folder / "run")
    return folder / "run"


@pytest.fixture(scope="module")
def model(run: Path) -> Pipeline:
    return load(run, verify=True)


def test_a_run_learns_and_its_bundle_tags_raw_text(model: Pipeline) -> None:
    found = model.evaluate(Materials(model.recipe).test("test"))
    assert found.scores["entity_f1"].value > 90
    assert found.details["per type"].plain().keys() == {"LOC", "PER"}
    assert "LOC" in str(found.details["per type"])
    (result,) = model.predict(["Ada Bo left Rome today."])
    assert result.text == "[PER Ada Bo] left [LOC Rome] today."
    assert [(one.start, one.end, one.label) for one in result.entities] == [(0, 6, "PER"), (12, 16, "LOC")]
    assert all(0 < one.confidence <= 1 for one in result.entities)
    assert result.tags == ("B-PER", "I-PER", "O", "B-LOC", "O", "O")
    json.dumps(result.plain())


def test_the_same_alone_in_company_and_in_another_order(model: Pipeline) -> None:
    texts = ["Ada lives in Rome .", "it rained in Oslo .", "Bo slept .", *NASTY, ENDLESS[-6000:-4000]]
    together, alone = model.predict(texts), [model.predict([text])[0] for text in texts]
    assert [one.text for one in together] == [one.text for one in alone]
    assert [one.entities == () for one in together] == [one.entities == () for one in alone]
    assert all(abs(one.score - other.score) < 1e-4 for one, other in zip(together, alone, strict=True))
    assert [one.text for one in model.predict(texts[::-1])] == [one.text for one in together[::-1]]


def test_long_texts_are_read_as_set_and_say_so(model: Pipeline) -> None:
    text = " ".join(["Ada lives in Rome ."] * 40)
    for long, status in (("window", "windows"), ("head", "head"), ("tail", "tail"), ("refuse", "refused")):
        (result,) = model.with_settings(f"predict.long={long}", "predict.longest=20", "predict.overlap=6").predict(
            [text]
        )
        assert result.status == (status,)
        assert len(result.tags) == len(result.words) == 200
        places = [one.start for one in result.entities]
        assert bool(places and places[0] < 100) == (long in ("window", "head"))
        assert bool(places and places[-1] > len(text) - 100) == (long in ("window", "tail"))
    assert model.predict([""])[0].status == ("empty",)


def test_a_type_never_learned_counts_as_missed(model: Pipeline) -> None:
    rows = [{"text": "Ada met Nato .", "tags": "B-PER O B-ORG O"}, {"text": "Bo slept .", "tags": "B-PER O O"}]
    judged = model.judged(rows, model.recipe.metrics)
    assert judged.details["per type"].found["ORG"].wanted == 1
    assert judged.details["per type"].found["ORG"].right == 0
    columns = model.task.encoding({}).encode({"text": [row["text"] for row in rows], "tags": [r["tags"] for r in rows]})
    example = {name: np.array(column[0]) for name, column in columns.items()}
    assert model.task.loss(model.model, model.task.batch([example], model.device), 0.0).total.isfinite()


def test_a_text_has_one_vector_alone_and_in_company(model: Pipeline) -> None:
    texts = ["Ada lives in Rome .", "", "Bo slept . " * 30]
    together = list(model.embed(texts))
    assert [len(vector) for vector in together] == [16] * 3
    assert not together[1].any()
    for text, vector in zip(texts, together, strict=True):
        torch.testing.assert_close(next(iter(model.embed([text]))), vector, atol=1e-5, rtol=1e-5)


def test_a_text_that_is_refused_has_no_vector(model: Pipeline) -> None:
    refusing = model.with_settings("predict.long=refuse", "predict.longest=5")
    with pytest.raises(RequestError, match=r"A text of 90 pieces, 'Bo slept .*, is longer than 5"):
        list(refusing.embed(["Bo slept .", "Bo slept . " * 30]))


def test_what_was_predicted_can_be_learned_from(model: Pipeline) -> None:
    (result,) = model.predict(["Ada left Rome."])
    row = model.task.answered({"text": "Ada left Rome."}, result)
    assert row == {"text": "Ada left Rome .", "tags": " ".join(result.tags)}
    assert model.task.fault(row, model.recipe) == ""


@pytest.mark.parametrize(
    "changes",
    [
        {"head": {"crf": False}, "tags": {"learn": "iob2"}},
        {"tokenizer": {"kind": "bpe", "size": 60}, "head": {"characters": {"kind": "recurrent", "out": 6}}},
        {
            "tokenizer": {"kind": "word_piece", "size": 80},
            "model": {
                "name": "transformer",
                "width": 8,
                "layers": 1,
                "attention": {"heads": 2},
                "position": {"name": "learned", "length": 16},
            },
            "head": {"looks": True},
        },
    ],
    ids=["no crf", "pieces and letters", "transformer of few positions"],
)
def test_every_make_of_tagger_runs_and_gives_a_tag_a_word(tmp_path: Path, changes: dict[str, Any]) -> None:
    made = train(recipe(tmp_path, **changes, train={"updates": 3, "every": 3, "log": 1}), tmp_path / "run")
    text = "Ada lives in Rome and slept today . " * 3
    for result in made.predict([text, "Bo", ""]):
        assert len(result.tags) == len(result.words)
        assert not broken(result.tags, "iob2")
    assert load(tmp_path / "run", verify=True).predict([text])[0] == made.predict([text])[0]


def test_spans_are_learned_from_as_tags_are(tmp_path: Path) -> None:
    lines = []
    for words, tags in toy("train", 40):
        text = " ".join(words)
        found = entities(text, cut(text, "auto"), to_iob2(tags), [1.0] * len(tags))
        spans = [{"start": one.start, "end": one.end, "label": one.label} for one in found]
        lines.append(json.dumps({"text": text, "entities": spans}) + "\n")
    (tmp_path / "rows.jsonl").write_text("".join(lines), "utf-8")
    corpus = {"path": "rows.jsonl", "columns": {"text": "text", "entities": "entities"}}
    values = recipe(tmp_path, train={"updates": 3, "every": 3, "log": 1})
    values["data"] = {"root": str(tmp_path), "train": corpus, "valid": corpus}
    made = train(values, tmp_path / "run")
    spans = Materials(made.recipe).texts()
    columns = recipe(tmp_path)
    tagged = Materials(TaggingRecipe.read({**columns, "data": {**columns["data"], "policy": "stop"}})).texts()
    first = [gold(row, "auto").tags for row in spans]
    assert first == [gold(row, "auto").tags for row in tagged][: len(first)]


def test_bad_rows_stop_a_run_or_are_counted(tmp_path: Path) -> None:
    values = recipe(tmp_path, tags={"scheme": "iob2"})
    with (tmp_path / "train.conll").open("a", encoding="utf-8") as file:
        file.write("\nRome I-LOC\n")
    with pytest.raises(DataError, match=r"train\.conll line \d+: tag 1 is I-LOC after O: in IOB2"):
        list(Materials(TaggingRecipe.read(values)).texts())
    values["data"]["policy"] = "skip"
    materials = Materials(TaggingRecipe.read(values))
    assert len(list(materials.texts())) == 60
    assert materials.train[0].counts.left_out["unusable"].count == 1


def test_a_list_is_no_text_to_find_entities_in(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text('{"text": ["Ada", "left"], "entities": []}\n', "utf-8")
    corpus = {"path": "rows.jsonl", "columns": {"text": "text", "entities": "entities"}}
    values = recipe(tmp_path) | {"data": {"root": str(tmp_path), "train": corpus, "valid": corpus}}
    with pytest.raises(DataError, match=r"rows\.jsonl line 1: text is .*no text"):
        list(Materials(TaggingRecipe.read(values)).valid)


def test_fields_that_are_neither_tags_nor_spans_are_refused() -> None:
    assert TaggingTask.unfit(("text", "tags")) == TaggingTask.unfit(("entities", "text")) == ""
    assert "text and tags, or text and entities" in TaggingTask.unfit(("source", "target"))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"loss": {"smoothing": 0.1}}, "tags are not smoothed"),
        ({"lexicon": 5}, "give vectors.path"),
        ({"model": {"name": "nothing"}}, "encoder"),
    ],
)
def test_settings_that_cannot_be_are_refused(tmp_path: Path, change: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        TaggingTask.check(TaggingRecipe.read({**recipe(tmp_path), **change}))


def test_words_of_the_vectors_are_known_beyond_training(tmp_path: Path) -> None:
    (tmp_path / "v.txt").write_text("zanzibar 1 2 3 4 5 6 7 8\nada 1 2 3 4 5 6 7 8\n", "utf-8")
    values = recipe(tmp_path, vectors={"path": "v.txt", "frozen": True}, lexicon=2)
    values["tokenizer"]["least"] = 2
    values["train"] = {"updates": 2, "every": 2, "log": 1}
    made = train(values, tmp_path / "run")
    known = made.task.reading.tokenizer.pieces
    assert "zanzibar" in known
    assert made.model.encoder.embedding.vectors[known.index("zanzibar")].tolist() == [1, 2, 3, 4, 5, 6, 7, 8]


def test_every_piece_of_a_word_is_given_its_letters_and_only_its_first_is_asked() -> None:
    tokenizer = Tokenizer.learn(TokenizerSettings(kind="characters", size=30), ["abc de"], 1)
    reading = WordReading(Reading(tokenizer), Letters(("a", "b", "c", "d", "e")), True)
    (one, other) = reading.read([["abc", "d"], ["e"]])
    words = reading.tensors([one, other], torch.device("cpu"))
    assert words.first.tolist() == [[0, 3], [0, 0]]
    assert words.words_real.tolist() == [[True, True], [True, False]]
    assert words.letters is not None
    assert words.letters_real is not None
    assert words.letters[0].tolist() == [[1, 2, 3]] * 3 + [[4, 0, 0], [0, 0, 0]]
    assert words.letters_real[0].sum(-1).tolist() == [3, 3, 3, 1, 0]
    columns = reading.columns([one, other])
    example = {name: np.array(column[0]) for name, column in columns.items()}
    assert reading.sentence(example) == one


@pytest.fixture(scope="module")
def writer(tmp_path_factory: pytest.TempPathFactory) -> Pipeline:
    folder = tmp_path_factory.mktemp("writing")
    values = {
        "task": "tagging_generative",
        "data": written_data(folder),
        "tokenizer": {"kind": "spaced", "size": 100},
        "model": {
            "name": "transformer",
            "width": 24,
            "layers": 1,
            "attention": {"heads": 2},
            "feedforward": {"hidden": 32},
            "dropout": 0.0,
            "tied": "output",
        },
        "batches": {"rows": 8},
        "optimizer": {"rate": 1e-2, "schedule": {"name": "linear"}},
        "train": {"updates": 60, "every": 30, "log": 20, "watch": "entity_f1", "higher": True},
        "validation": {"metrics": ["entity_f1"]},
    }
    train(values, folder / "run")
    return load(folder / "run", verify=True)


def test_tags_that_are_written_are_as_many_as_the_words(writer: Pipeline) -> None:
    texts = ["Ada lives in Rome .", "Bo", "", "it rained in Oslo . " * 30, *NASTY]
    for result in writer.predict(texts):
        assert len(result.tags) == len(result.words)
        assert not broken(result.tags, "iob2")
    assert writer.predict(texts)[3].status == ("windows",)
    assert writer.with_settings("search.method=beam", "search.beams=3").predict(texts[:1])[0].tags
    # Tags are repeated, and how sure each is belongs to it, whatever is asked of texts.
    otherwise = writer.with_settings("search.no_repeat=1", "search.probabilities=false")
    assert otherwise.predict(texts) == writer.predict(texts)


def test_written_tags_are_the_same_alone_and_in_company(writer: Pipeline) -> None:
    texts = ["Ada lives in Rome .", "it rained in Oslo .", "Cy Di left Kyiv today . Bo slept ."]
    together = writer.predict(texts)
    for text, result in zip(texts, together, strict=True):
        (alone,) = writer.predict([text])
        assert alone.tags == result.tags
        assert abs(alone.score - result.score) < 1e-4


def test_writing_learns_to_tag(writer: Pipeline) -> None:
    scores = writer.evaluate(Materials(writer.recipe).test("test")).scores
    assert scores["entity_f1"].value > 60


def test_recipes_of_both_tasks_can_be_read_back(model: Pipeline, writer: Pipeline) -> None:
    for made in (model, writer):
        assert read(made.recipe.plain()).plain() == made.recipe.plain()
        assert TASKS[made.recipe.task].sample()
