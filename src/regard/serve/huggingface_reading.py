"""What models that read give to Hugging Face's InferenceClient: labels, entities, answers, fill-ins, vectors."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import Response

from regard.api import Pipeline
from regard.errors import RequestError
from regard.serve.huggingface_requests import Body, number
from regard.serve.problems import Json
from regard.serve.settings import ServeSettings
from regard.serve.shelf import Served
from regard.tasks import Result
from regard.tasks.classifying import Classified
from regard.tasks.filling import MARKS, Fill, Filled
from regard.tasks.finding import Answer, Found
from regard.tasks.tagging_results import Tagged


async def classification(served: Served, body: Body, settings: ServeSettings) -> Response:
    wishes = body.wishes("top_k", "function_to_apply")
    several = served.pipeline.task.labels.several  # type: ignore[attr-defined]
    usual = "sigmoid" if several else "softmax"
    if wishes.get("function_to_apply", usual) != usual:
        raise RequestError(f"function_to_apply: this model's probabilities are a {usual}; leave it out.")
    results = await served.predict(body.texts)
    return Json([labelled(result, wishes.get("top_k")) for result in results])


def labelled(result: Result, most: object) -> list[dict[str, Any]]:
    """Every label with its probability, the likeliest first."""
    assert isinstance(result, Classified)
    ranked = sorted(result.probabilities.items(), key=lambda one: -one[1])
    return [{"label": name, "score": chance} for name, chance in ranked[: number("top_k", most)]]


async def tagging(served: Served, body: Body, settings: ServeSettings) -> Response:
    wishes = body.wishes("aggregation_strategy", "ignore_labels")
    if wishes.get("aggregation_strategy") == "none":
        raise RequestError("aggregation_strategy = 'none': entities are given whole; choose simple, or leave it out.")
    ignored = wishes.get("ignore_labels") or []
    if not isinstance(ignored, list) or not all(isinstance(one, str) for one in ignored):
        raise RequestError("ignore_labels is no list of labels.")
    return Json(body.each([marked(result, ignored) for result in await served.predict(body.texts)]))


def marked(result: Result, ignored: Sequence[str]) -> list[dict[str, Any]]:
    """Every entity with the characters it stands at."""
    assert isinstance(result, Tagged)
    return [
        {"entity_group": one.label, "score": one.confidence, "word": one.text, "start": one.start, "end": one.end}
        for one in result.entities
        if one.label not in ignored
    ]


async def answering(served: Served, body: Body, settings: ServeSettings) -> Response:
    names = {"top_k": "best", "max_answer_len": "longest_answer", "max_seq_len": "longest"}
    wishes = body.wishes(*names, "handle_impossible_answer")
    changes = [f"predict.{ours}={number(theirs, wishes[theirs])}" for theirs, ours in names.items() if theirs in wishes]
    if wishes.get("handle_impossible_answer") is False:
        changes.append("predict.no_answer=never")
    given = body.inputs if isinstance(body.inputs, dict) else {}
    question, passage = given.get("question"), given.get("context")
    if not isinstance(question, str) or not isinstance(passage, str):
        raise RequestError("inputs needs a question and a context, both texts.")
    result = (await served.predict([{"question": question, "passage": passage}], changes))[0]
    assert isinstance(result, Answer)
    several = (wishes.get("top_k") or 1) > 1
    return Json([answer(one) for one in result.alternatives or ()] if several else answer(result))


def answer(one: Answer | Found) -> dict[str, Any]:
    """An answer with its place; none is an empty text at the beginning."""
    return {"answer": one.text, "score": one.confidence, "start": one.start or 0, "end": one.end or 0}


async def masked(served: Served, body: Body, settings: ServeSettings) -> Response:
    wishes = body.wishes("top_k")
    changes = [f"predict.best={number('top_k', wishes['top_k'])}"] if wishes else []
    results = await served.predict(body.texts, changes)
    return Json(body.each([filled(served.pipeline, *one) for one in zip(body.texts, results, strict=True)]))


def filled(pipeline: Pipeline, text: str, result: Result) -> Any:
    """What could stand at the mark, the likeliest first; of several marks a list for each."""
    assert isinstance(result, Filled)
    if not result.fills:
        raise RequestError("The text has no mark to be filled; write <mask> or [MASK] where a word is missing.")
    places = [match.span() for match in MARKS.finditer(text)]
    found = [
        [offer(pipeline, one, f"{text[:start]}{one.text}{text[end:]}") for one in fills]
        for (start, end), fills in zip(places, result.fills, strict=True)
    ]
    return found[0] if len(found) == 1 else found


def offer(pipeline: Pipeline, one: Fill, whole: str) -> dict[str, Any]:
    token = pipeline.task.reading.tokenizer.id(one.piece)  # type: ignore[attr-defined]
    return {"score": one.probability, "token": token, "token_str": one.text, "sequence": whole}


async def embedding(served: Served, body: Body, settings: ServeSettings) -> Response:
    wishes = body.wishes("normalize")
    if isinstance(body.inputs, dict):
        return Json(await likeness(served, body.inputs))
    found = await vectors(served, body.texts)
    return Json(body.each([unit(one) for one in found] if wishes.get("normalize") else found))


async def likeness(served: Served, given: Mapping[str, str | list[str]]) -> list[float]:
    """The cosine of a sentence with each of others."""
    sentence, others = given.get("source_sentence"), given.get("sentences")
    if not isinstance(sentence, str) or not isinstance(others, list):
        raise RequestError("inputs needs a source_sentence and a list of sentences.")
    first, *rest = map(unit, await vectors(served, [sentence, *others]))
    return [sum(one * other for one, other in zip(first, each, strict=True)) for each in rest]


async def vectors(served: Served, texts: Sequence[str]) -> list[list[float]]:
    rows = served.checked(texts)
    return await served.run(lambda pipeline: [vector.tolist() for vector in pipeline.embed(rows)])


def unit(vector: Sequence[float]) -> list[float]:
    """The vector with length one; one without a direction stays."""
    length = math.sqrt(sum(one * one for one in vector)) or 1.0
    return [one / length for one in vector]
