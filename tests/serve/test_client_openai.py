"""OpenAI's own client against a real server: the same texts as in Python, at once and as they grow."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import httpx
import numpy as np
import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai import AsyncOpenAI, OpenAI

from regard.api import read
from regard.errors import RequestError
from regard.serve.settings import ServeSettings
from regard.serve.writing import COLD, STOPS, Stopping, Writing, cut, limited
from tests.serve.client_bundles import RECIPES, Server, served

PROMPT = "The old king"
TALK = [{"role": "user", "content": "Who goes there?"}]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    names = ["en-to-de", "story", "talk", "dialogue", "vectors"]
    with served(names, tmp_path_factory.mktemp("openai")) as running:
        yield running


@pytest.fixture(scope="module")
def client(server: Server) -> Iterator[OpenAI]:
    with OpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0) as made:
        yield made


def predicted(server: Server, name: str, row: dict[str, str], *changes: str) -> str:
    return server.shelf[name].pipeline.with_settings(*changes).predict([row])[0].text


def joined(chunks: Any) -> str:
    return "".join(one.choices[0].text for one in chunks if one.choices)


@pytest.mark.parametrize("seed", [None, 0, 7])
def test_python_completions_and_stream_give_the_same_text(server: Server, client: OpenAI, seed: int | None) -> None:
    asked: dict[str, Any] = {"model": "story", "prompt": PROMPT, "temperature": 0.7, "top_p": 0.9, "max_tokens": 5}
    asked |= {} if seed is None else {"seed": seed}
    row = {"text": PROMPT} | ({} if seed is None else {"seed": str(seed)})
    python = predicted(server, "story", row, "search.temperature=0.7", "search.top_p=0.9", "predict.pieces=5")
    whole = client.completions.create(**asked)
    assert whole.choices[0].text == python
    assert joined(client.completions.create(**asked, stream=True)) == python


def test_a_seed_changes_the_text_and_the_same_one_does_not(client: OpenAI) -> None:
    texts = [client.completions.create(model="story", prompt=PROMPT, seed=seed).choices[0].text for seed in (1, 2, 1)]
    assert texts[0] == texts[2] != texts[1]


def test_without_wishes_the_bundles_own_settings_hold(server: Server, client: OpenAI) -> None:
    found = client.completions.create(model="story", prompt=PROMPT)
    assert found.choices[0].text == predicted(server, "story", {"text": PROMPT})


def test_no_temperature_is_greedy(server: Server, client: OpenAI) -> None:
    found = client.completions.create(model="story", prompt=PROMPT, temperature=0)
    assert found.choices[0].text == predicted(server, "story", {"text": PROMPT}, "search.method=greedy")


def test_several_prompts_and_several_texts_keep_their_order(client: OpenAI) -> None:
    alone = {
        (prompt, seed): client.completions.create(model="story", prompt=prompt, seed=seed, max_tokens=3).choices[0].text
        for prompt in ("A dog", "Who")
        for seed in (4, 5)
    }
    found = client.completions.create(model="story", prompt=["A dog", "Who"], n=2, seed=4, max_tokens=3)
    assert [one.index for one in found.choices] == [0, 1, 2, 3]
    assert [one.text for one in found.choices] == list(alone.values())
    grown = ["", "", "", ""]
    for chunk in client.completions.create(
        model="story", prompt=["A dog", "Who"], n=2, seed=4, max_tokens=3, stream=True
    ):
        grown[chunk.choices[0].index] += chunk.choices[0].text
    assert grown == list(alone.values())


def test_the_prompt_comes_first_where_it_is_asked_for(client: OpenAI) -> None:
    text = client.completions.create(model="story", prompt=PROMPT).choices[0].text
    asked: dict[str, Any] = {"model": "story", "prompt": PROMPT, "echo": True}
    assert client.completions.create(**asked).choices[0].text == PROMPT + text
    assert joined(client.completions.create(**asked, stream=True)) == PROMPT + text


def test_a_text_ends_where_it_is_to_stop(client: OpenAI) -> None:
    text = client.completions.create(model="story", prompt=PROMPT).choices[0].text
    stop = text[2:4]
    asked: dict[str, Any] = {"model": "story", "prompt": PROMPT, "stop": ["\u0000", stop]}
    found = client.completions.create(**asked)
    assert found.choices[0].text == text[: text.index(stop)]
    assert found.choices[0].finish_reason == "stop"
    chunks = list(client.completions.create(**asked, stream=True))
    assert joined(chunks) == found.choices[0].text
    assert chunks[-1].choices[0].finish_reason == "stop"


def test_pieces_are_counted_and_the_limit_is_told(server: Server, client: OpenAI) -> None:
    asked: dict[str, Any] = {"model": "story", "prompt": PROMPT, "max_tokens": 3, "temperature": 0}
    found = client.completions.create(**asked)
    tokenizer = server.shelf["story"].pipeline.task.reading.tokenizer  # type: ignore[attr-defined]
    assert found.choices[0].finish_reason == "length"
    assert found.usage is not None
    assert found.usage.prompt_tokens == len(tokenizer.encode(PROMPT).ids)
    assert found.usage.completion_tokens == 3
    *chunks, last = client.completions.create(**asked, stream=True, stream_options={"include_usage": True})
    assert last.choices == []
    assert last.usage == found.usage
    assert all(chunk.usage is None for chunk in chunks)


def test_a_model_that_talks_replies_as_in_python(server: Server, client: OpenAI) -> None:
    row = {"messages": json.dumps(TALK), "seed": "3"}
    python = predicted(server, "talk", row, "search.temperature=0.8")
    asked: dict[str, Any] = {"model": "talk", "messages": TALK, "seed": 3, "temperature": 0.8}
    found = client.chat.completions.create(**asked)
    assert found.choices[0].message.content == python
    assert found.choices[0].message.role == "assistant"
    chunks = list(client.chat.completions.create(**asked, stream=True))
    assert chunks[0].choices[0].delta.role == "assistant"
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == python
    assert chunks[-1].choices[0].finish_reason == found.choices[0].finish_reason


def test_a_message_in_parts_is_the_same_message(client: OpenAI) -> None:
    parts = [{"type": "text", "text": "Who "}, {"type": "text", "text": "goes there?"}]
    asked = [
        client.chat.completions.create(model="talk", messages=[{"role": "user", "content": one}])
        for one in (TALK[0]["content"], parts)
    ]  # type: ignore[arg-type, misc]
    assert asked[0].choices == asked[1].choices


def test_a_developer_speaks_as_the_system(client: OpenAI) -> None:
    made = [
        client.chat.completions.create(model="talk", messages=[{"role": role, "content": "Be long."}, *TALK])  # type: ignore[list-item, misc]
        for role in ("system", "developer")
    ]
    assert made[0].choices == made[1].choices


def test_a_model_that_talks_can_go_on_with_a_text_as_it_stands(server: Server, client: OpenAI) -> None:
    found = client.completions.create(model="talk", prompt=PROMPT)
    assert found.choices[0].text == predicted(server, "talk", {"text": PROMPT}, "predict.chat=", "predict.system=")


def test_a_dialogue_model_replies_to_turns(server: Server, client: OpenAI) -> None:
    talk = [*TALK, {"role": "assistant", "content": "A dog."}, {"role": "user", "content": "Run home!"}]
    row = {"turns": json.dumps([one["content"] for one in talk])}
    found = client.chat.completions.create(model="dialogue", messages=talk)  # type: ignore[arg-type]
    assert found.choices[0].message.content == predicted(server, "dialogue", row)
    drawn = client.chat.completions.create(model="dialogue", messages=talk, temperature=1.5, seed=2, n=2)  # type: ignore[arg-type]
    told = [
        predicted(server, "dialogue", row, "search.method=sample", "search.temperature=1.5", f"search.seed={seed}")
        for seed in (2, 3)
    ]
    assert [one.message.content for one in drawn.choices] == told


def test_vectors_are_those_of_python_in_either_form(server: Server, client: OpenAI) -> None:
    texts = ["A dog", "Who goes there?"]
    python = np.stack([one.numpy() for one in server.shelf["vectors"].pipeline.embed(texts)])
    for form in ("float", "base64"):
        found = client.embeddings.create(model="vectors", input=texts, encoding_format=form)  # type: ignore[arg-type]
        assert [one.index for one in found.data] == [0, 1]
    # Their client asks for base64 by itself, and unpacks it.
    found = client.embeddings.create(model="vectors", input=texts)
    assert np.allclose([one.embedding for one in found.data], python, atol=1e-6)
    assert found.usage.prompt_tokens > 0


def test_their_list_of_models_has_ours(client: OpenAI) -> None:
    assert [one.id for one in client.models.list()] == ["en-to-de", "story", "talk", "dialogue", "vectors"]


def test_many_at_once_get_their_own_answers(server: Server) -> None:
    async def asked() -> tuple[list[str], list[str]]:
        async with AsyncOpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0) as client:
            made = [
                client.completions.create(model="story", prompt=PROMPT, seed=seed % 2, max_tokens=3)
                for seed in range(6)
            ]
            texts = [one.choices[0].text for one in await asyncio.gather(*made)]
            alone = [
                await client.completions.create(model="story", prompt=PROMPT, seed=seed, max_tokens=3)
                for seed in range(2)
            ]
            return texts, [one.choices[0].text for one in alone]

    texts, alone = asyncio.run(asked())
    assert texts == alone * 3


def test_an_unknown_model_is_not_found_and_a_near_one_is_offered(client: OpenAI) -> None:
    with pytest.raises(openai.NotFoundError, match="Did you mean 'story'") as caught:
        client.completions.create(model="storey", prompt=PROMPT)
    assert caught.value.code == "model_not_found"
    with pytest.raises(openai.NotFoundError):
        client.completions.create(model="storey", prompt=PROMPT, stream=True)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"model": "en-to-de"}, "is for translation"),
        ({"logprobs": 3}, "logprobs = 3 is not supported"),
        ({"presence_penalty": 0.5}, "presence_penalty = 0.5 is not supported"),
        ({"best_of": 4}, "best_of = 4"),
        ({"temperature": 3}, "temperature"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"max_tokens": 100_000}, "100000 pieces"),
        ({"n": 1_000}, "1000 texts"),
        ({"stop": ["x"] * (STOPS + 1)}, "stop may be"),
        ({"prompt": [1, 2, 3]}, "prompt"),
        ({"prompt": ["x"] * 40, "n": 2}, "80 texts"),
        ({"extra_body": {"temprature": 1}}, "Did you mean 'temperature'"),
    ],
)
def test_what_cannot_be_done_is_a_bad_request_that_says_so(client: OpenAI, wrong: dict[str, Any], told: str) -> None:
    with pytest.raises(openai.APIStatusError) as caught:
        client.completions.create(**{"model": "story", "prompt": PROMPT, **wrong})
    assert caught.value.status_code in (400, 413)
    assert told in caught.value.message
    assert caught.value.type == "invalid_request_error"


def test_what_asks_for_nothing_is_no_mistake(client: OpenAI) -> None:
    plain = client.completions.create(model="story", prompt=PROMPT)
    more = client.completions.create(
        model="story", prompt=PROMPT, presence_penalty=0, frequency_penalty=0.0, best_of=1, logit_bias={}, user="me"
    )
    assert more.choices == plain.choices


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"model": "story"}, "was not taught to talk"),
        ({"messages": []}, "messages is empty"),
        ({"messages": [{"role": "wizard", "content": "x"}]}, "wizard"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}]}, "text"),
        ({"tools": [{"type": "function", "function": {"name": "f"}}]}, "tools ="),
        ({"response_format": {"type": "json_object"}}, "response_format ="),
        ({"model": "dialogue", "messages": [{"role": "system", "content": "x"}, *TALK]}, "system"),
    ],
)
def test_a_conversation_that_cannot_be_is_a_bad_request(client: OpenAI, wrong: dict[str, Any], told: str) -> None:
    for stream in (False, True):
        with pytest.raises(openai.BadRequestError) as caught:
            client.chat.completions.create(**{"model": "talk", "messages": TALK, "stream": stream, **wrong})
        assert told in caught.value.message


def test_a_body_that_is_no_json_is_told_in_their_shape(server: Server) -> None:
    answer = httpx.post(f"{server.url}/v1/completions", content=b"{", headers={"content-type": "application/json"})
    assert answer.status_code == 400
    assert set(answer.json()["error"]) == {"message", "type", "param", "code"}


@given(st.text("abc", max_size=24), st.lists(st.text("abc", min_size=1, max_size=3), max_size=3), st.data())
def test_a_text_that_grows_is_cut_as_a_whole_one(text: str, stops: list[str], data: st.DataObject) -> None:
    lengths = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=6)))
    stopping = Stopping(stops)
    given_out = "".join(stopping.fresh(text[:length]) for length in [*lengths, len(text)])
    whole, found = cut(text, stops)
    assert whole.startswith(given_out)
    assert stopping.found == found
    assert not found or given_out == whole


WISHES = st.builds(
    Writing,
    pieces=st.none() | st.integers(1, 50),
    sample=st.none() | st.booleans(),
    temperature=st.none() | st.floats(0, 2),
    top_p=st.none() | st.floats(0, 1, exclude_min=True),
    top_k=st.none() | st.integers(1, 9),
    min_p=st.none() | st.floats(0, 1),
    no_repeat=st.none() | st.integers(0, 4),
    count=st.integers(1, 4),
)


@given(WISHES, st.sampled_from(["story", "dialogue", "en-to-de"]))
def test_wishes_are_settings_a_recipe_takes(wishes: Writing, name: str) -> None:
    recipe = read(RECIPES[name])
    changed = read(RECIPES[name], wishes.changes(recipe.task, recipe.search.method))
    # Who asks not to sample gets no sample, however warm.
    if wishes.temperature is not None and wishes.sample is not False:
        assert (changed.search.method == "greedy") == (wishes.temperature < COLD)
        assert wishes.temperature < COLD or changed.search.temperature == wishes.temperature
    if wishes.pieces and name != "story":
        assert changed.search.limit(1_000) == wishes.pieces


def test_more_than_a_request_may_ask_is_refused() -> None:
    with pytest.raises(RequestError, match="at most 1024"):
        limited(Writing(pieces=5_000), ServeSettings())
