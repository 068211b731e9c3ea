"""What OpenAI's clients ask for: completions, conversations, both as they grow, and vectors of texts.

Every text is what `Pipeline.predict` gives for the same settings. Without a seed the same request gives the same text
again; with `n` the second text is that of the next seed, and so on.
"""

import base64
import json
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar
from uuid import uuid4

import numpy as np
from fastapi import APIRouter, Response

from regard.api import Pipeline
from regard.errors import RequestError
from regard.serve.client_answers import CompletionResponse, ConversationResponse, EmbeddingResponse
from regard.serve.client_routes import Failure, events
from regard.serve.client_routes import Told as Route
from regard.serve.openai_requests import Asked, Body, Completion, Conversation, Embedding
from regard.serve.problems import Json
from regard.serve.settings import ServeSettings
from regard.serve.shelf import Served, Shelf
from regard.serve.writing import (
    DIALOGUE,
    LANGUAGE,
    Ask,
    Ended,
    Reason,
    counted,
    growing,
    limited,
    plainly,
    turns,
    written,
)

FINISHED: dict[Reason, str] = {"end": "stop", "stopped": "stop", "limit": "length"}


class OpenAIRoute(Route):
    """What is wrong about a request is 400 to these clients."""

    statuses: ClassVar[dict[int, int]] = {422: 400}

    @classmethod
    def shape(cls, found: Failure) -> dict[str, Any]:
        status = cls.statuses.get(found.status, found.status)
        kind = "invalid_request_error" if status in (400, 404, 413, 415) else found.kind
        code = {400: None, 404: "model_not_found"}.get(status, found.kind)
        return {"error": {"message": found.message, "type": kind, "param": None, "code": code}}


@dataclass(frozen=True)
class Job:
    """A request on its way: who answers, what is written, and how it is told."""

    served: Served
    asks: list[Ask]
    # What each text begins with, where the prompt is to be given too.
    echoes: list[str]
    body: Asked
    form: "Form"

    @property
    def head(self) -> Body:
        return {"id": f"{self.form.prefix}-{uuid4().hex}", "created": int(time.time()), "model": self.served.name}

    async def whole(self) -> Json:
        """Everything at once."""
        ends = await written(self.served, self.asks, self.body.stops)
        choices = [
            self.form.choice(number, echo + one.text) | {"logprobs": None, "finish_reason": FINISHED[one.reason]}
            for number, (echo, one) in enumerate(zip(self.echoes, ends, strict=True))
        ]
        usage = self.usage(ends)
        return Json({**self.head, "object": self.form.whole, "choices": choices, "usage": usage})

    async def growing(self) -> AsyncIterator[Body | str]:
        """One text after the other, each as it grows."""
        head, ends = {**self.head, "object": self.form.part}, list[Ended]()

        def chunk(choices: list[Body], usage: Body | None = None) -> Body:
            return {**head, "choices": choices, **({"usage": usage} if self.body.usage_wanted else {})}

        for number, ask in enumerate(self.asks):
            fresh = self.echoes[number]
            begun = False
            async for one in growing(self.served, ask, self.body.stops):
                text = fresh + one if isinstance(one, str) else fresh
                if isinstance(one, Ended):
                    ends.append(one)
                reason = FINISHED[one.reason] if isinstance(one, Ended) else None
                choice = self.form.change(number, text, begun, reason is not None)
                yield chunk([{**choice, "logprobs": None, "finish_reason": reason}])
                begun, fresh = True, ""
        if self.body.usage_wanted:
            yield chunk([], self.usage(ends))
        yield "[DONE]"

    def usage(self, ends: Sequence[Ended]) -> Body:
        pipeline = self.served.pipeline
        # A prompt that several texts go on from is read once.
        rows = {json.dumps({**ask.row, "seed": ""}): ask for ask in self.asks}.values()
        asked = sum(counted(pipeline, ask.row) for ask in rows)
        made = sum(_made(pipeline, one) for one in ends)
        return {"prompt_tokens": asked, "completion_tokens": made, "total_tokens": asked + made}


class Form:
    """How a text is told: as what follows a prompt."""

    prefix, whole, part = "cmpl", "text_completion", "text_completion"

    def choice(self, number: int, text: str) -> Body:
        return {"index": number, "text": text}

    def change(self, number: int, text: str, begun: bool, last: bool) -> Body:
        return self.choice(number, text)


class Reply(Form):
    """How a text is told: as what the assistant says."""

    prefix, whole, part = "chatcmpl", "chat.completion", "chat.completion.chunk"

    def choice(self, number: int, text: str) -> Body:
        return {"index": number, "message": {"role": "assistant", "content": text, "refusal": None}}

    def change(self, number: int, text: str, begun: bool, last: bool) -> Body:
        delta = {} if last and begun and not text else {"content": text}
        return {"index": number, "delta": delta if begun else {"role": "assistant", "content": text}}


def router(shelf: Shelf, settings: ServeSettings) -> APIRouter:
    """/v1/completions, /v1/chat/completions and /v1/embeddings."""
    routes = APIRouter(route_class=OpenAIRoute, tags=["OpenAI"])

    @routes.post("/v1/completions", response_model=CompletionResponse)
    async def completions(body: Completion) -> Response:
        """What follows a prompt."""
        served = chosen(shelf, body.model, (LANGUAGE,), "goes on with texts")
        return await answered(completing(served, body, settings))

    @routes.post("/v1/chat/completions", response_model=ConversationResponse)
    async def conversations(body: Conversation) -> Response:
        """What the assistant says next."""
        return await answered(replying(talker(shelf, body.model), body, settings))

    @routes.post("/v1/embeddings", response_model=EmbeddingResponse)
    async def embeddings(body: Embedding) -> Response:
        """One vector for each text."""
        served = shelf.find(body.model)
        rows = served.checked(body.texts)
        vectors = await served.run(lambda pipeline: [vector.tolist() for vector in pipeline.embed(rows)])
        return Json(embedded(served, body, vectors))

    return routes


def chosen(shelf: Shelf, name: str, tasks: tuple[str, ...], does: str) -> Served:
    """The bundle of a name, or the first of these tasks where none is named."""
    able = shelf.of(*tasks)
    served = shelf.find(name) if name or not able else able[0]
    if served.task not in tasks:
        other = f" Such are: {', '.join(one.name for one in able)}." if able else ""
        raise RequestError(
            f"The model {served.name} is for {served.task}, and this asks for one that {does}; "
            f"POST /v1/predict serves every task.{other}"
        )
    return served


def talker(shelf: Shelf, name: str) -> Served:
    """The bundle of a name, if it can talk."""
    served = chosen(shelf, name, (LANGUAGE, DIALOGUE), "talks")
    if served.task == LANGUAGE and not plainly(served):
        raise RequestError(
            f"The model {served.name} was not taught to talk; ask at /v1/completions, or serve it with the form of "
            "conversation it knows: --set predict.chat=chatml."
        )
    return served


def completing(served: Served, body: Completion, settings: ServeSettings) -> Job:
    """What is asked of a model that goes on with texts."""
    writing, plain = limited(body.writing, settings), plainly(served)
    asks = [(prompt, ask) for prompt in body.prompts for ask in writing.asks(served, {"text": prompt}, plain)]
    if len(asks) > settings.texts:
        raise RequestError(f"{len(asks)} texts are asked for, and at most {settings.texts} may be; ask for fewer.")
    return Job(served, [ask for _, ask in asks], [prompt if body.echo else "" for prompt, _ in asks], body, Form())


def replying(served: Served, body: Conversation, settings: ServeSettings) -> Job:
    """What is asked of a model that talks."""
    said = body.said
    row = turns(said) if served.task == DIALOGUE else {"messages": json.dumps(said, ensure_ascii=False)}
    asks = limited(body.writing, settings).asks(served, row)
    return Job(served, asks, [""] * len(asks), body, Reply())


async def answered(job: Job) -> Response:
    return await (events(OpenAIRoute, job.growing()) if job.body.stream else job.whole())


def embedded(served: Served, body: Embedding, vectors: Sequence[Sequence[float]]) -> Body:
    """Vectors as these clients have them: numbers, or their bytes as base64."""
    in_bytes = body.encoding_format == "base64"
    told = [packed(vector) if in_bytes else list(vector) for vector in vectors]
    data = [{"object": "embedding", "index": number, "embedding": one} for number, one in enumerate(told)]
    used = sum(counted(served.pipeline, {"text": text}) for text in body.texts)
    usage = {"prompt_tokens": used, "total_tokens": used}
    return {"object": "list", "data": data, "model": served.name, "usage": usage}


def packed(vector: Sequence[float]) -> str:
    """Numbers as the base64 of 32-bit floats, the lowest byte first.

    >>> packed([1.0, -2.0])
    'AACAPwAAAMA='
    """
    return base64.b64encode(np.asarray(vector, dtype="<f4").tobytes()).decode()


def _made(pipeline: Pipeline, one: Ended) -> int:
    """How many pieces were written; of a text that was cut, those that are left."""
    if one.result is not None and one.reason != "stopped":
        return len(one.result.pieces)
    return counted(pipeline, {"text": one.text})
