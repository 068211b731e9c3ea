"""A loaded model: what it answers, alone and in company, however long or odd the text."""

import itertools
from pathlib import Path

import jaxtyping
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.api import Materials, Pipeline, load, train
from regard.errors import ConfigError, DataError, RequestError
from regard.nn import native
from regard.tasks import TranslationRecipe, TranslationTask
from tests.api.toy import RECURRENT, TRANSFORMER, book, recipe

TEXTS = ["He reads a book.", "Peter bought a gray scarf for his grandfather yesterday.", "", "Zug", "Is it?", "  "]


def test_every_input_gives_one_output_in_order(model: Pipeline) -> None:
    results = model.predict(TEXTS)
    assert len(results) == len(TEXTS)
    assert [result.text for result in results] == [model.predict([text])[0].text for text in TEXTS]
    assert results[2].status == results[5].status == ("empty",)


def test_alone_is_as_in_company(model: Pipeline) -> None:
    texts = [row.fields["source"] for row in Materials(model.recipe).test("test")]
    together = model.predict(texts)
    for rows in (1, 3):
        apart = model.with_settings(f"predict.rows={rows}").predict(texts)
        assert [one.text for one in apart] == [one.text for one in together]
        assert all(abs(a.score - b.score) < 1e-4 for a, b in zip(apart, together, strict=True))


@settings(max_examples=15)
@given(st.lists(st.text(max_size=60), max_size=5))
def test_whatever_comes_in_something_comes_out(model: Pipeline, texts: list[str]) -> None:
    quick = model.with_settings("search.method=greedy", "search.longest_factor=0", "search.longest_extra=3")
    assert len(quick.predict(texts)) == len(texts)


def test_a_long_text_is_split_and_says_so_or_is_refused(model: Pipeline) -> None:
    text = "Peter bought a scarf. " * 40
    [split] = model.predict([text])
    assert "split" in split.status
    refused, answered = model.with_settings("predict.long=refuse").predict([text, "Zug"])
    assert (refused.text, refused.status) == ("", ("refused",))
    assert answered.text == model.predict(["Zug"])[0].text


def test_a_long_text_loses_no_sentence(model: Pipeline) -> None:
    sentence = "Peter bought a gray scarf."
    [alone] = model.predict([sentence])
    framed = model.task.sides.read(model.task.sides.source.encode(sentence))
    few = model.with_settings(f"predict.longest={len(framed)}")
    [split] = few.predict([" ".join([sentence] * 7)])
    assert split.text == " ".join([alone.text] * 7)


def test_sentences_are_translated_one_by_one_where_asked(model: Pipeline) -> None:
    alone = model.with_settings("predict.long=sentences", "predict.longest=100")
    first, last = alone.predict(["He reads a red book.", "Peter bought a scarf."])
    assert [first, last] == model.predict(["He reads a red book.", "Peter bought a scarf."])
    [both] = alone.predict(["He reads a red book. Peter bought a scarf."])
    [lines] = alone.predict(["He reads a red book.\n\nPeter bought a scarf."])
    assert both.text == f"{first.text} {last.text}"
    assert lines.text == f"{first.text}\n\n{last.text}"
    assert both.status[0] == lines.status[0] == "split"
    assert list(alone.settle("He reads a red book. Peter bought a scarf."))[-1] == both
    [short] = alone.with_settings("predict.longest=5").predict(["He reads a red book."])
    assert short.status[0] == "split"


@pytest.mark.parametrize("alone", ["He reads a book.", b"He reads.", {"source": "He reads a book."}])
def test_one_input_is_not_taken_for_several(model: Pipeline, alone: object, monkeypatch: pytest.MonkeyPatch) -> None:
    # Types are not looked at where users are.
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)
    for run in (model.predict, model.stream, model.embed):
        with pytest.raises(RequestError, match=r"got .*He.* alone; give a list"):
            run(alone)


@pytest.mark.parametrize("nothing", [None, 3, ["He", "reads"]])
def test_an_input_that_is_neither_text_nor_fields_is_told(
    model: Pipeline, nothing: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)
    with pytest.raises(RequestError, match="An input is a text, or a mapping of fields"):
        model.predict([nothing])


def test_probabilities_belong_to_pieces_and_the_score_is_their_mean(model: Pipeline) -> None:
    from math import log

    [result] = model.predict(["He reads a book."])
    told = result.plain()
    counted = len(told["pieces"]) + ("complete" in told["status"])
    assert len(told["probabilities"]) == counted
    assert told["score"] == pytest.approx(sum(map(log, told["probabilities"])) / counted, abs=1e-5)


def test_probabilities_of_a_split_text_belong_to_its_pieces(model: Pipeline) -> None:
    sentences = ["He reads a red book.", "Peter bought a gray scarf."]
    room = max(len(model.task.sides.read(model.task.sides.source.encode(one))) for one in sentences)
    ending = model.with_settings("search.no_repeat=1", "search.longest_extra=60")
    first, last = ending.predict(sentences)
    assert first.status == last.status == ("complete",)
    [split] = ending.with_settings(f"predict.longest={room}").predict([" ".join(sentences)])
    assert split.status == ("split", "complete")
    assert split.pieces == first.pieces + last.pieces
    expected = first.probabilities[: len(first.pieces)] + last.probabilities
    assert split.probabilities == pytest.approx(expected, abs=1e-4)


def test_the_n_best_come_best_first(model: Pipeline) -> None:
    [result] = model.with_settings("search.best=3").predict(["He reads a book."])
    scores = [one["score"] for one in result.plain()["alternatives"]]
    assert len(scores) == 3
    assert scores == sorted(scores, reverse=True)


def test_alignments_are_spans_of_both_texts_and_pharaoh_pairs(model: Pipeline) -> None:
    source = "He reads a red book."
    [result] = model.with_settings("predict.alignment=true").predict([source])
    told = result.plain()
    for (start, end), (first, last), weight in told["links"]:
        assert source[start:end].strip()
        assert result.text[first:last].strip()
        assert 0 < weight <= 1 + 1e-6
    assert len(told["alignment"].split()) == len(told["links"])
    assert all(int(pair.split("-")[0]) < len(source.split()) for pair in told["alignment"].split())


@pytest.mark.skipif(not native.ready(), reason="without kernels groups are searched one after another")
def test_alignments_of_groups_that_several_threads_search_are_those_of_each_text_alone(model: Pipeline) -> None:
    texts = [row.fields["source"] for row in Materials(model.recipe).test("test")]
    asking = model.with_settings("predict.alignment=true")
    alone = [asking.predict([text])[0].links for text in texts]
    before = torch.get_num_threads()
    torch.set_num_threads(4)
    try:
        together = asking.with_settings("predict.rows=2").predict(texts)
    finally:
        torch.set_num_threads(before)
    for found, wanted in zip(together, alone, strict=True):
        assert [link[:2] for link in found.links] == [link[:2] for link in wanted]
        assert [link.weight for link in found.links] == pytest.approx([link.weight for link in wanted], abs=1e-4)


def test_tags_and_placeholders_survive(model: Pipeline) -> None:
    [result] = model.with_settings("predict.marks=true").predict(
        ["<b>Peter</b> bought {count} scarves at https://a.b/c ."]
    )
    for mark in ("<b>", "</b>", "{count}", "https://a.b/c"):
        assert result.text.count(mark) == 1
    assert result.text.index("<b>") < result.text.index("</b>")


def test_alignments_of_a_text_with_marks_are_spans_of_it_and_of_the_output_with_marks(model: Pipeline) -> None:
    source, clean = "<b>Peter</b> bought {count} scarves today.", "Peter bought scarves today."
    told = []
    for text in (clean, source):
        [result] = model.with_settings("predict.marks=true", "predict.alignment=true").predict([text])
        told.append([(text[slice(*link.source)], result.text[slice(*link.target)]) for link in result.links])
    assert told[0]
    assert told[1] == told[0]
    words, written = source.split(), result.text.split()
    for pair in result.alignment.split():
        first, last = map(int, pair.split("-"))
        assert any(one in words[first] and other in written[last] for one, other in told[1])


def test_each_of_the_n_best_has_its_marks(model: Pipeline) -> None:
    asking = model.with_settings("predict.marks=true", "search.best=3")
    [result] = asking.predict(["  <b>Peter</b> bought {count} scarves."])
    assert [one.text.count(mark) for one in result.alternatives for mark in ("<b>", "</b>", "{count}")] == [1] * 9
    assert result.alternatives[0].text == result.text


def test_a_recipe_adds_marks_of_its_own(model: Pipeline) -> None:
    asking = model.with_settings("predict.marks=true", 'predict.patterns=["@\\\\w+"]')
    [result] = asking.predict(["Peter bought @count scarves."])
    assert result.text.count("@count") == 1
    with pytest.raises(ConfigError, match=r"predict.patterns.*placeholder own 1 = '@\(': not a regular expression"):
        model.with_settings('predict.patterns=["@("]')


def test_marks_survive_where_no_attention_can_be_looked_at(model: Pipeline, tmp_path: Path) -> None:
    plan = recipe(tmp_path / "data", {**RECURRENT, "attention": None}, train={"updates": 1, "every": 1})
    for blind in (model.ensemble([model]), train(plan, tmp_path / "run")):
        asking = blind.with_settings("predict.marks=true", "search.best=2")
        marked, plain = asking.predict(["<b>Peter</b> bought {count} scarves.", "Peter bought scarves."])
        for one in (marked, *marked.alternatives):
            assert [one.text.count(mark) for mark in ("<b>", "</b>", "{count}")] == [1] * 3
        assert list(asking.settle("<b>Peter</b> bought {count} scarves."))[-1].text == marked.text
        assert plain.text
        assert plain.text == blind.predict(["Peter bought scarves."])[0].text
        with pytest.raises(RequestError, match="attention"):
            blind.with_settings("predict.alignment=true").predict(["<b>Peter</b> bought scarves."])


def test_a_glossary_is_kept_and_receipted(model: Pipeline, tmp_path: Path) -> None:
    (tmp_path / "terms.tsv").write_text("book\tBuch\nscarf\tSchal\n", "utf-8")
    kept = model.with_settings(f"predict.glossary={tmp_path / 'terms.tsv'}", "search.longest_extra=20")
    [result] = kept.predict(["He reads a book."])
    [item] = result.plain()["glossary"]
    assert item["source"] == "book"
    assert item["found"] == "Buch"
    assert item["met"] is True
    assert "Buch" in result.text


def test_a_term_that_cannot_be_written_is_missed_and_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "terms.tsv").write_text("a\tzebra\nb\tzebra|c\n", "utf-8")
    plan = {"task": "translation", "data": {}, "model": TRANSFORMER, "tokenizer": {"kind": "words"}}
    plain = TranslationRecipe.model_validate(plan)
    kept = TranslationRecipe.model_validate({**plan, "predict": {"glossary": str(tmp_path / "terms.tsv")}})
    task = TranslationTask.learn(plain, [{"source": "a b c d e", "target": "a b c"}] * 3, {})
    model = task.model()
    [expected] = task.predict(model, [{"source": "a d"}], plain)
    missed, met = task.predict(model, [{"source": "a d"}, {"source": "a b"}], kept)
    assert (missed.text, missed.status, missed.glossary[0].found) == (expected.text, expected.status, None)
    assert "limit" not in missed.status
    assert [item.found for item in met.glossary] == [None, "c"]


def test_a_glossary_is_read_as_the_tokenizers_read_the_texts(tmp_path: Path) -> None:
    (tmp_path / "terms.tsv").write_text("dog\tEis\n", "utf-8")
    plan = {"task": "translation", "data": {}, "model": TRANSFORMER}
    plan |= {"predict": {"glossary": str(tmp_path / "terms.tsv")}, "search": {"longest_extra": 20}}
    for lower in (True, False):
        settings = TranslationRecipe.model_validate({**plan, "tokenizer": {"kind": "words", "lower": lower}})
        rows = [{"source": "The dog runs . Dog DOG", "target": "das Eis eis ."}] * 3
        task = TranslationTask.learn(settings, rows, {})
        asked = [{"source": f"{one} runs"} for one in ("Dog", "The dog", "The DOG")]
        begun, inside, loud = task.predict(task.model(), asked, settings)
        assert begun.glossary[0].found == inside.glossary[0].found == "Eis"
        assert ("eis" in inside.text) == lower
        assert bool(loud.glossary) == lower


def test_a_term_stands_as_a_whole_word_whatever_letters_the_pieces_know(tmp_path: Path) -> None:
    (tmp_path / "terms.tsv").write_text("a\teis\n", "utf-8")
    plan = {
        "task": "translation",
        "data": {},
        "model": TRANSFORMER,
        "predict": {"glossary": str(tmp_path / "terms.tsv")},
    }
    plan |= {"tokenizer": {"kind": "bpe", "size": 40}, "search": {"longest_extra": 40}}
    settings = TranslationRecipe.model_validate(plan)
    task = TranslationTask.learn(settings, [{"source": "a b", "target": "eis eisen seil, insel."}] * 3, {})
    for seed in range(8):
        torch.manual_seed(seed)
        [result] = task.predict(task.model(), [{"source": "a b"}], settings)
        assert result.glossary[0].found == "eis", result.text


def test_a_forced_prefix_begins_the_output(model: Pipeline) -> None:
    [result] = model.predict([{"source": "He reads a book.", "prefix": "Peter hat"}])
    assert result.text.startswith("Peter hat")


def test_a_prefix_that_cannot_be_written_is_refused(model: Pipeline) -> None:
    with pytest.raises(RequestError, match="prefix = 'Ωmega' holds what no piece of this model can write"):
        model.predict([{"source": "He reads a book.", "prefix": "Ωmega"}])


def test_simultaneous_translation_tells_how_late_it_is(model: Pipeline) -> None:
    [late] = model.with_settings("predict.simultaneous.words=100").predict(["He reads a red book."])
    [early] = model.with_settings("predict.simultaneous.words=1").predict(["He reads a red book."])
    assert late.latency.average_proportion == 1.0
    assert early.latency.average_lagging < late.latency.average_lagging


def test_simultaneous_translation_is_aligned_and_in_parts_still_tells_how_late_it_is(model: Pipeline) -> None:
    asking = model.with_settings("predict.simultaneous.words=2", "predict.alignment=true")
    [whole] = asking.predict(["He reads a red book."])
    assert whole.links
    assert whole.alignment
    [parts] = asking.with_settings("predict.longest=12").predict(["He reads a red book. " * 3])
    assert "split" in parts.status
    assert 0 < parts.latency.average_proportion <= 1


def test_simultaneous_translation_is_the_same_when_it_is_settled(model: Pipeline) -> None:
    early = model.with_settings("predict.simultaneous.words=1")
    for text in TEXTS:
        assert list(early.settle(text))[-1] == early.predict([text])[0]


def test_simultaneous_translation_is_aligned(model: Pipeline) -> None:
    greedy = model.with_settings("search.method=greedy", "predict.alignment=true")
    [whole], [waited], [early] = (
        each.predict(["He reads a red book."])
        for each in (
            greedy,
            greedy.with_settings("predict.simultaneous.words=100"),
            greedy.with_settings("predict.simultaneous.words=1"),
        )
    )
    assert whole.text == waited.text
    assert (waited.links, waited.alignment) == (whole.links, whole.alignment)
    assert early.links


def test_simultaneous_translation_refuses_what_needs_a_search(model: Pipeline, tmp_path: Path) -> None:
    (tmp_path / "terms.tsv").write_text("book\tBuch\n", "utf-8")
    early = model.with_settings("predict.simultaneous.words=1")
    with pytest.raises(RequestError, match="cannot be given a prefix"):
        early.predict([{"source": "He reads a book.", "prefix": "Peter hat"}])
    with pytest.raises(ConfigError, match="glossary needs a search"):
        early.with_settings(f"predict.glossary={tmp_path / 'terms.tsv'}")


def test_monotonic_attention_that_stops_nowhere_has_read_everything(tmp_path: Path) -> None:
    attention = {"score": "additive", "scope": "monotonic"}
    plan = recipe(tmp_path / "data", {**RECURRENT, "attention": attention}, train={"updates": 1, "every": 1})
    hard = train(plan, tmp_path / "run").with_settings("predict.simultaneous.policy=monotonic")
    [result] = hard.predict(["He reads a red book."])
    assert 0 < result.latency.average_proportion <= 1


def test_attention_that_may_go_back_does_not_write_while_reading(model: Pipeline) -> None:
    with pytest.raises(ConfigError, match=r"this model attends with scope = 'global'\. Use policy = 'wait'"):
        model.with_settings("predict.simultaneous.policy=monotonic").predict(["He reads a red book."])


def test_what_is_settled_is_never_taken_back(model: Pipeline) -> None:
    *growing, result = list(model.settle("Peter bought a gray scarf for his grandfather yesterday."))
    assert growing
    assert all(isinstance(text, str) for text in growing)
    assert all(later.startswith(earlier) for earlier, later in itertools.pairwise(growing))
    assert (
        result.text
        == growing[-1]
        == model.predict(["Peter bought a gray scarf for his grandfather yesterday."])[0].text
    )


@pytest.mark.parametrize("source", ["一只狗。\n两只狗！三只狗？", "一只狗。两只狗！", "A dog. Two dogs! Three?"])
def test_what_is_settled_of_several_parts_stands_as_in_the_whole(source: str) -> None:
    """Neither the space between parts, which Chinese has not, nor half a character is ever taken back."""
    plan = {"task": "translation", "data": {}, "model": TRANSFORMER, "tokenizer": {"kind": "byte_bpe", "size": 290}}
    plan |= {"predict": {"longest": 4}, "search": {"method": "sample", "longest_extra": 12}}
    settings = TranslationRecipe.model_validate(plan)
    task = TranslationTask.learn(settings, [{"source": "一二三 dogs", "target": "一二三只狗两只猫。"}] * 3, {})
    *growing, result = task.settle(task.model(), {"source": source}, settings)
    assert "split" in result.status
    assert len(growing) > 2
    assert all(later.startswith(earlier) for earlier, later in itertools.pairwise([*growing, result.text]))


def test_the_coverage_penalty_looks_without_a_trace(model: Pipeline) -> None:
    covering = model.with_settings("search.coverage=0.2")
    assert [one.text for one in covering.predict(TEXTS)] == [covering.predict([text])[0].text for text in TEXTS]


@pytest.mark.parametrize("asked", ["predict.alignment=true", "search.coverage=0.5"])
def test_an_ensemble_says_that_it_has_no_attention_in_common(model: Pipeline, run: Path, asked: str) -> None:
    with pytest.raises(RequestError, match="decide together have no attention in common; ask one of them"):
        model.ensemble([load(run)]).with_settings(asked).predict(["He reads a book."])


def test_an_ensemble_of_one_model_twice_is_that_model(model: Pipeline, run: Path) -> None:
    twice = model.ensemble([load(run)])
    assert [one.text for one in twice.predict(TEXTS)] == [one.text for one in model.predict(TEXTS)]


def test_samples_depend_on_the_text_and_the_seed_alone(model: Pipeline) -> None:
    sampling = model.with_settings("search.method=sample")
    together = sampling.predict(TEXTS)
    assert [one.text for one in together] == [sampling.predict([text])[0].text for text in TEXTS]
    assert [one.text for one in together] != [
        one.text for one in model.with_settings("search.method=sample", "search.seed=1").predict(TEXTS)
    ]


def test_evaluation_carries_the_signature(model: Pipeline) -> None:
    judged = model.evaluate(Materials(model.recipe).test("test"))
    assert "tok:13a" in judged.plain()["bleu"]["signature"]
    assert len(judged.results) == 20


def test_golden_outputs_are_checked(model: Pipeline, run: Path) -> None:
    from dataclasses import replace

    wrong = replace(model, golden=[{"input": {"source": "He reads."}, "text": "Unsinn"}])
    with pytest.raises(DataError, match="does not do what it did"):
        wrong.verify(model.recipe)


def test_unknown_settings_are_refused_with_the_nearest(model: Pipeline) -> None:
    with pytest.raises(ConfigError, match=r"search\.beam.*search\.beams"):
        model.with_settings("search.beam=3")


def test_in_eight_bits_it_is_nearly_the_same_model_and_says_the_same_alone_in_company_and_watched(
    run: Path, model: Pipeline
) -> None:
    small = load(run, "weights=int8")
    lines = [line["input"]["source"] for line in model.golden] * 5
    together, alone = small.predict(lines), [small.predict([line])[0] for line in lines]
    assert [each.text for each in together] == [each.text for each in alone]
    assert together[0].score == pytest.approx(alone[0].score, abs=1e-5)
    assert together[0].score != model.predict(lines[:1])[0].score
    assert together[0].score == pytest.approx(model.predict(lines[:1])[0].score, abs=0.05)
    watched = small.with_settings("predict.alignment=true").predict(lines[:1])[0]
    assert (watched.text, watched.score) == (alone[0].text, alone[0].score)
    with native.without():
        assert small.predict(lines[:1])[0].score == pytest.approx(alone[0].score, abs=1e-4)


def test_a_bundle_is_verified_as_it_was_stored_and_rounded_then(model: Pipeline, tmp_path: Path) -> None:
    lines = [source for source, _ in book().train[:100]]
    torch.manual_seed(0)
    # What has learned nothing writes something else as soon as it is rounded.
    made = Pipeline(model.recipe, model.task, model.task.model().eval(), {}, {})
    made.save(tmp_path / "made")
    small = load(tmp_path / "made", "weights=int8").predict(lines)
    pairs = zip(lines, made.predict(lines), small, strict=True)
    others = [{"source": line} for line, whole, rounded in pairs if whole.text != rounded.text]
    assert others
    made.with_golden(others[:3]).save(tmp_path / "bundle")
    assert load(tmp_path / "bundle", "weights=int8", verify=True).predict(lines) == small


def test_what_is_chosen_at_loading_cannot_be_chosen_afterwards(model: Pipeline) -> None:
    with pytest.raises(ConfigError, match="weights = 'int8' is chosen when a model is loaded"):
        model.with_settings("weights=int8")
