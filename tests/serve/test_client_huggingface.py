"""Hugging Face's InferenceClient against a real server, pointed at one address a bundle."""

from collections.abc import Iterator
from typing import Any

import httpx
import numpy as np
import pytest
from huggingface_hub import InferenceClient
from huggingface_hub.errors import HfHubHTTPError

from regard.serve.huggingface_writing import details
from regard.serve.writing import Ended
from regard.tasks import Result
from regard.tasks.continuing import Continuation
from tests.serve.client_bundles import Server, served

TEXT = "The old king sees a cat."
NAMES = ["en-to-de", "several", "summary", "mood", "names", "asking", "gaps", "story", "talk", "dialogue", "vectors"]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with served(NAMES, tmp_path_factory.mktemp("huggingface")) as running:
        yield running


def client(server: Server, name: str) -> InferenceClient:
    return InferenceClient(model=f"{server.url}/hf/{name}", token="none")


def predicted(server: Server, name: str, row: str | dict[str, str], *changes: str) -> Result:
    return server.shelf[name].pipeline.with_settings(*changes).predict([row])[0]


def test_a_translation(server: Server) -> None:
    found = client(server, "en-to-de").translation(TEXT)
    assert found.translation_text == predicted(server, "en-to-de", TEXT).text


def test_a_translation_under_wishes(server: Server) -> None:
    found = client(server, "en-to-de").translation(TEXT, generate_parameters={"num_beams": 2, "max_new_tokens": 3})
    told = predicted(server, "en-to-de", TEXT, "search.beams=2", "search.longest_extra=3", "search.longest_factor=0.0")
    assert found.translation_text == told.text


def test_a_translation_between_the_languages_a_bundle_knows(server: Server) -> None:
    for target in ("es", "it"):
        found = client(server, "several").translation(TEXT, src_lang="fr_XX", tgt_lang=f"{target}_XX")
        assert found.translation_text == predicted(server, "several", TEXT, f"predict.language={target}").text
    with pytest.raises(HfHubHTTPError, match="this model has en-de"):
        client(server, "en-to-de").translation(TEXT, src_lang="de", tgt_lang="en")


def test_a_summary(server: Server) -> None:
    found = client(server, "summary").summarization(TEXT)
    assert found.summary_text == predicted(server, "summary", TEXT).text


def test_labels_the_likeliest_first(server: Server) -> None:
    found = client(server, "mood").text_classification(TEXT)
    told = predicted(server, "mood", TEXT).plain()
    assert {one.label: one.score for one in found} == pytest.approx(told["probabilities"])
    assert found[0].label == told["text"]
    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)
    assert len(client(server, "mood").text_classification(TEXT, top_k=2)) == 2


def test_entities_where_they_stand(server: Server) -> None:
    text = "Ada left Oslo ."
    found = client(server, "names").token_classification(text)
    told = predicted(server, "names", text).plain()["entities"]
    assert [(one.start, one.end, one.entity_group, one.word) for one in found] == [
        (one["start"], one["end"], one["label"], one["text"]) for one in told
    ]
    assert all(text[one.start : one.end] == one.word for one in found)
    labels = {one.entity_group for one in found}
    assert client(server, "names").token_classification(text, ignore_labels=list(filter(None, labels))) == []


def test_an_answer_with_its_place(server: Server) -> None:
    passage = "Anna came late. Oslo was cold."
    row = {"question": "Who came?", "passage": passage}
    found: Any = client(server, "asking").question_answering("Who came?", passage)
    told = predicted(server, "asking", row).plain()
    assert (found.answer, found.start, found.end) == (told["text"], told["start"], told["end"])
    assert found.score == pytest.approx(told["confidence"])
    several: Any = client(server, "asking").question_answering("Who came?", passage, top_k=3)
    told = predicted(server, "asking", row, "predict.best=3").plain()
    assert [one.answer for one in several] == [one["text"] for one in told["alternatives"]]


def test_words_for_a_gap(server: Server) -> None:
    text = "The <mask> sees a cat."
    found = client(server, "gaps").fill_mask(text, top_k=3)
    [told] = predicted(server, "gaps", text, "predict.best=3").plain()["fills"]
    assert [(one.token_str, one.score) for one in found] == [(one["text"], one["probability"]) for one in told]
    assert found[0].sequence == f"The {found[0].token_str} sees a cat."
    tokenizer = server.shelf["gaps"].pipeline.task.reading.tokenizer  # type: ignore[attr-defined]
    assert [tokenizer.piece(one.token) for one in found] == [one["piece"] for one in told]
    with pytest.raises(HfHubHTTPError, match="no mark to be filled"):
        client(server, "gaps").fill_mask("Nothing is missing.")


def test_text_at_once_and_as_it_grows(server: Server) -> None:
    row = {"text": TEXT, "seed": "5"}
    told = predicted(server, "story", row, "search.temperature=0.7", "search.top_k=20", "predict.pieces=5")
    asked: dict[str, Any] = {"temperature": 0.7, "top_k": 20, "max_new_tokens": 5, "seed": 5}
    there = client(server, "story")
    assert there.text_generation(TEXT, **asked) == told.text
    assert "".join(there.text_generation(TEXT, **asked, stream=True)) == told.text
    assert there.text_generation(TEXT, **asked, return_full_text=True) == TEXT + told.text


def test_text_with_its_details(server: Server) -> None:
    there, told = client(server, "story"), predicted(server, "story", TEXT, "search.method=greedy").plain()
    found = there.text_generation(TEXT, do_sample=False, details=True)
    assert found.generated_text == told["text"]
    assert found.details is not None
    assert [one.text for one in found.details.tokens] == list(told["pieces"])
    assert np.exp([one.logprob for one in found.details.tokens]) == pytest.approx(list(told["probabilities"]))
    *_, last = there.text_generation(TEXT, do_sample=False, details=True, stream=True)
    assert last.generated_text == told["text"]
    assert last.details is not None
    assert last.details.finish_reason == found.details.finish_reason


def test_the_end_of_a_text_is_no_piece_of_it(server: Server) -> None:
    ended = Ended("cat", "end", Continuation("cat", 0.0, ("complete",), ("\u2581cat",), (0.5, 0.9)))
    told = details(server.shelf["story"].pipeline, ended)
    assert [one["text"] for one in told["tokens"]] == ["\u2581cat"]
    assert told["finish_reason"] == "eos_token"


def test_pieces_are_told_where_their_probabilities_are_not(server: Server) -> None:
    told = details(
        server.shelf["story"].pipeline, Ended("cat", "end", Continuation("cat", 0.0, (), ("\u2581cat",), ()))
    )
    assert [(one["text"], one["logprob"]) for one in told["tokens"]] == [("\u2581cat", None)]
    assert told["generated_tokens"] == 1


def test_text_stops_where_it_is_to(server: Server) -> None:
    there = client(server, "story")
    text = there.text_generation(TEXT)
    found = there.text_generation(TEXT, stop=[text[2:4]], details=True)
    assert found.generated_text == text[: text.index(text[2:4])]
    assert found.details is not None
    assert found.details.finish_reason == "stop_sequence"
    assert "".join(there.text_generation(TEXT, stop=[text[2:4]], stream=True)) == found.generated_text


def test_a_conversation(server: Server) -> None:
    talk = [{"role": "user", "content": "Who goes there?"}]
    for name in ("talk", "dialogue"):
        there = client(server, name)
        found = there.chat_completion(talk, max_tokens=5).choices[0].message.content
        parts = there.chat_completion(talk, max_tokens=5, stream=True)
        assert "".join(one.choices[0].delta.content or "" for one in parts) == found
    told = predicted(server, "dialogue", "Who goes there?").text
    assert client(server, "dialogue").text_generation("Who goes there?") == told


def test_vectors_and_likeness(server: Server) -> None:
    python = next(server.shelf["vectors"].pipeline.embed([TEXT])).numpy()
    there = client(server, "vectors")
    assert np.allclose(there.feature_extraction(TEXT), python, atol=1e-6)
    assert there.sentence_similarity(TEXT, [TEXT, "Who?"])[0] == pytest.approx(1.0, abs=1e-5)


def test_several_texts_give_several_answers(server: Server) -> None:
    texts = [TEXT, "Who?"]
    for name, key in (("en-to-de", "translation_text"), ("summary", "summary_text"), ("story", "generated_text")):
        found = httpx.post(f"{server.url}/hf/{name}", json={"inputs": texts}, timeout=60).json()
        assert [one[key] for one in found] == [predicted(server, name, text).text for text in texts]


def test_an_address_that_is_there_is_healthy(server: Server) -> None:
    there = InferenceClient(provider="hf-inference", token="none")
    assert there.health_check(f"{server.url}/hf/story")
    assert not there.health_check(f"{server.url}/hf/nothing")


@pytest.mark.parametrize(
    ("name", "parameters", "told"),
    [
        ("story", {"repetition_penalty": 1.2}, "repetition_penalty"),
        ("story", {"max_new_tokens": 10**6}, "1000000 pieces"),
        ("story", {"temperature": -1}, "temperature"),
        ("story", {"stop": [3]}, "stop"),
        ("mood", {"function_to_apply": "sigmoid"}, "softmax"),
        ("mood", {"top_k": 0}, "top_k"),
        ("names", {"aggregation_strategy": "none"}, "aggregation_strategy"),
        ("names", {"ignore_labels": 3}, "ignore_labels"),
        ("summary", {"generate_parameters": []}, "generate_parameters"),
        ("en-to-de", {"generate_parameters": {"num_beam": 2}}, "num_beams"),
        ("asking", {}, "question"),
        ("nothing", {}, "no model"),
    ],
)
def test_errors_are_one_sentence(server: Server, name: str, parameters: dict[str, Any], told: str) -> None:
    body = {"inputs": TEXT, "parameters": parameters}
    answer = httpx.post(f"{server.url}/hf/{name}", json=body, timeout=60)
    assert answer.status_code == (404 if name == "nothing" else 422)
    assert list(answer.json()) == ["error"]
    assert told in answer.json()["error"]
    with pytest.raises(HfHubHTTPError):
        client(server, "nothing").text_generation(TEXT)
