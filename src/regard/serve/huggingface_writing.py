"""Texts written for Hugging Face's InferenceClient: translations, summaries, and what follows a text."""

import math
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from itertools import chain, repeat
from typing import Any

from fastapi import Response
from pydantic import ValidationError

from regard.api import Pipeline
from regard.errors import RequestError, unknown
from regard.serve.client_routes import events
from regard.serve.huggingface_requests import Body, HuggingFaceRoute
from regard.serve.languages import spoken
from regard.serve.problems import Json
from regard.serve.settings import ServeSettings
from regard.serve.shelf import Served
from regard.serve.writing import DIALOGUE, Ask, Ended, Reason, Writing, growing, limited, plainly, stops, turns, written

FINISHED: dict[Reason, str] = {"end": "eos_token", "stopped": "stop_sequence", "limit": "length"}
# How transformers calls what we call otherwise.
WRITING = {
    "max_new_tokens": "pieces",
    "do_sample": "sample",
    "temperature": "temperature",
    "top_k": "top_k",
    "top_p": "top_p",
    "min_p": "min_p",
    "num_beams": "beams",
    "no_repeat_ngram_size": "no_repeat",
    "seed": "seed",
}


async def translation(served: Served, body: Body, settings: ServeSettings) -> Response:
    wishes = body.wishes("src_lang", "tgt_lang", "generate_parameters")
    wanted = wishes.get("src_lang"), wishes.get("tgt_lang")
    found = await rewritten(served, body, wishes, settings, into(served, settings, *wanted))
    return Json([{"translation_text": text} for text in found])


async def summarization(served: Served, body: Body, settings: ServeSettings) -> Response:
    wishes = body.wishes("generate_parameters")
    return Json([{"summary_text": text} for text in await rewritten(served, body, wishes, settings)])


async def rewritten(
    served: Served, body: Body, wishes: Mapping[str, Any], settings: ServeSettings, changes: Sequence[str] = ()
) -> list[str]:
    """What is written for each text, under the wishes of `generate_parameters`."""
    given = wishes.get("generate_parameters", {})
    if not isinstance(given, dict):
        raise RequestError('generate_parameters is no object; give one such as {"num_beams": 2}.')
    wanted = wished(given, settings)
    recipe, field = served.pipeline.recipe, served.pipeline.task.inputs()[0]
    told = [*changes, *wanted.changes(recipe.task, recipe.search.method)]
    told += [] if wanted.seed is None else [f"search.seed={wanted.seed}"]
    return [result.text for result in await served.predict([{field: text} for text in body.texts], told)]


def into(served: Served, settings: ServeSettings, source: object, target: object) -> tuple[str, ...]:
    """The settings for a pair of languages, which the bundle has to know; `en_XX` and `en` are one."""
    if source is None and target is None:
        return ()
    told = settings.languages.get(served.name, "")
    known = {(one, other): changes for one, other, changes in spoken(served.pipeline.recipe, told, served.name)}
    asked = tuple(str(code).split("_")[0] for code in (source, target))
    for pair, changes in known.items():
        if pair == asked:
            return changes
    listed = ", ".join("-".join(pair) for pair in known) or "none that is known"
    raise RequestError(f"src_lang and tgt_lang ask for {'-'.join(asked)[:60]}; this model has {listed}.")


def wished(given: Mapping[str, Any], settings: ServeSettings) -> Writing:
    """Wishes about how to write, in our words."""
    for name in given:
        if name not in WRITING:
            raise RequestError(unknown("parameter", name[:60], WRITING))
    try:
        found = Writing.model_validate({WRITING[name]: value for name, value in given.items() if value is not None})
    except ValidationError as error:
        first = error.errors()[0]
        names = {ours: theirs for theirs, ours in WRITING.items()}
        raise RequestError(f"{names[str(first['loc'][0])]} = {first['input']!r}: {first['msg']}.") from None
    return limited(found, settings)


async def generation(served: Served, body: Body, settings: ServeSettings) -> Response:
    beside = ("stop", "details", "return_full_text")
    wishes = body.wishes(*beside, *WRITING)
    writing = wished({name: value for name, value in wishes.items() if name not in beside}, settings)
    at = stopping(wishes.get("stop") or [])
    asks = [writing.asks(served, row, plainly(served))[0] for row in map(prompted(served), body.texts)]
    echoes = [text if wishes.get("return_full_text") else "" for text in body.texts]
    if body.stream:
        if len(asks) != 1:
            raise RequestError(f"{len(asks)} texts, and one can be streamed; send each in a request of its own.")
        return await events(HuggingFaceRoute, growing_text(served, asks[0], at, echoes[0]))
    ends = await written(served, asks, at)
    texts = [{"generated_text": echo + one.text} for echo, one in zip(echoes, ends, strict=True)]
    told = [{"details": details(served.pipeline, one)} if wishes.get("details") else {} for one in ends]
    return Json([{**text, **more} for text, more in zip(texts, told, strict=True)])


def stopping(given: Any) -> list[str]:
    if not isinstance(given, str | list) or not all(isinstance(one, str) for one in given):
        raise RequestError("stop is no text and no list of texts.")
    return stops(given)


def prompted(served: Served) -> Callable[[str], dict[str, str]]:
    """A text as the model is given it: a prompt, or what somebody said."""
    if served.task == DIALOGUE:
        return lambda text: turns([{"role": "user", "content": text}])
    return lambda text: {"text": text}


async def growing_text(served: Served, ask: Ask, at: Sequence[str], echo: str) -> AsyncIterator[dict[str, Any]]:
    """The events of TGI: text that is new, and in the last all of it. What is new need not be one piece."""
    place = 0
    async for one in growing(served, ask, at):
        if isinstance(one, str):
            place += 1
            yield {"index": place, "token": piece(one), "generated_text": None, "details": None}
            continue
        made = None if one.result is None else len(one.result.pieces)
        told = {"finish_reason": FINISHED[one.reason], "generated_tokens": made, "seed": None}
        yield {"index": place + 1, "token": piece(""), "generated_text": echo + one.text, "details": told}


def piece(text: str) -> dict[str, Any]:
    """New text where others have a token; which pieces it is made of need not be known."""
    return {"id": None, "text": text, "logprob": None, "special": False}


def details(pipeline: Pipeline, end: Ended) -> dict[str, Any]:
    """Every piece that was written, and its log-probability."""
    assert end.result is not None
    reading = getattr(pipeline.task, "reading", None)
    tokens = [
        piece(text) | {"id": reading and reading.tokenizer.id(text), "logprob": math.log(chance) if chance else None}
        # The end has a probability too, and is no piece of the text; none is told where search.probabilities is off.
        for text, chance in zip(end.result.pieces, chain(end.result.probabilities, repeat(None)), strict=False)
    ]
    made = {"finish_reason": FINISHED[end.reason], "generated_tokens": len(tokens), "seed": None}
    return {**made, "prefill": [], "tokens": tokens}
