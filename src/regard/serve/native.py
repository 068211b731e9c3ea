"""Our own routes: predict, explain, what if, and which models there are."""

from collections.abc import AsyncIterator, Mapping
from typing import Annotated, Any, Literal

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field, NonNegativeInt
from starlette.responses import Response, StreamingResponse

from regard.errors import RegardError, RequestError
from regard.explain.rendering import render
from regard.serve.answers import ExplainResponse, ModelCard, ModelList, PredictResponse, WhatIfResponse
from regard.serve.asking import changes, written
from regard.serve.describing import described
from regard.serve.problems import KINDS, Json, Problem, dumped, told
from regard.serve.settings import ServeSettings
from regard.serve.shelf import Served, Shelf, short
from regard.tasks import Result

__all__ = ["changes", "router"]

Given = str | dict[str, str]
Pieces = Annotated[list[NonNegativeInt], Field(max_length=4096)]
MEDIA = {
    "svg": "image/svg+xml",
    "png": "image/png",
    "html": "text/html; charset=utf-8",
    "txt": "text/plain; charset=utf-8",
}
PICTURES: dict[int | str, dict[str, Any]] = {
    200: {"content": {media.partition(";")[0]: {} for media in MEDIA.values()}}
}

# The most of anything a method may be told to draw, and of what it would do without asking the model.
MOST_DRAWN, MOST = 5_000, {"longest": 128}


class Asked(BaseModel):
    """What all requests have: which model, and under which settings; without a name the first is meant."""

    model_config = ConfigDict(extra="forbid")
    model: str | None = None


class PredictRequest(Asked):
    inputs: list[Given] = Field(min_length=1)
    settings: dict[str, Any] = {}
    stream: bool = False


class ExplainRequest(Asked):
    input: Given
    method: str = ""
    target: str | None = None
    settings: dict[str, Any] = {}
    words: bool = True
    format: Literal["json", "svg", "png", "html", "txt"] = "json"


class WhatIfRequest(Asked):
    input: Given
    source: Given | None = None
    # A text, or the numbers of its very pieces.
    prefix: str | Pieces | None = None
    heads_off: list[tuple[int | str, int]] = []
    cell: list[int | float | str | None] | None = None


def router(shelf: Shelf, settings: ServeSettings) -> APIRouter:
    """The routes of `/v1` that are ours."""
    routes = APIRouter(tags=["regard"])

    @routes.post("/v1/predict", response_model=PredictResponse)
    async def predict(asked: PredictRequest) -> Response:
        """A result for each input; with `stream`, one input's as server-sent events."""
        served, given = shelf.find(asked.model), changes(asked.settings, settings)
        if asked.stream:
            return await streamed(served, asked.inputs, given)
        results = await served.predict(asked.inputs, given)
        return Json({"model": served.name, "results": [result.plain() for result in results]})

    @routes.post("/v1/explain", response_model=ExplainResponse, responses=PICTURES)
    async def explain(asked: ExplainRequest) -> Response:
        """What counted for an output, as numbers or as a picture."""
        served = shelf.find(asked.model)
        row = served.checked([asked.input], settings.explain_characters)[0]
        short("The target", len(asked.target or ""), settings.explain_characters)
        method = method_changes(asked.settings)
        found = await served.run(
            lambda pipeline: pipeline.explain(row, asked.method, asked.target, method, asked.words)
        )
        if asked.format == "json":
            return Json(found.plain())
        content = await served.run(lambda _: render(found, f".{asked.format}"))
        return Response(content, media_type=MEDIA[asked.format])

    @routes.post("/v1/whatif", response_model=WhatIfResponse)
    async def whatif(asked: WhatIfRequest) -> Response:
        """Before and after another source, a forced beginning, heads that are off, a cell that is set."""
        served = shelf.find(asked.model)
        row = served.checked([asked.input], settings.explain_characters)[0]
        other = None if asked.source is None else served.checked([asked.source], settings.explain_characters)[0]
        short("The prefix", len(asked.prefix or ""), settings.explain_characters)
        found = await served.run(
            lambda pipeline: pipeline.whatif(row, other, asked.prefix, asked.heads_off, asked.cell)
        )
        return Json(found.plain())

    @routes.get("/v1/models", response_model=ModelList)
    async def models() -> Response:
        """All models."""
        return Json({"object": "list", "data": [described(one, settings) for one in shelf.values()]})

    @routes.get("/v1/models/{name}", response_model=ModelCard)
    async def model(name: str) -> Response:
        """One model."""
        return Json(described(shelf.find(name), settings))

    @routes.post("/v1/models/{name}/reload", response_model=ModelCard)
    async def reload(name: str) -> Response:
        """Load a bundle again from where it stands; no request is dropped."""
        served = shelf.find(name)
        await served.reload()
        shelf.others()
        return Json(described(served, settings))

    return routes


def method_changes(settings: Mapping[str, Any]) -> list[str]:
    """Settings of a method as `--set explain.` has them."""
    for name, value in settings.items():
        most = MOST.get(name, MOST_DRAWN)
        if isinstance(value, int | float) and not value <= most:
            raise RequestError(f"{name} = {value} is more than this service allows, which is {most}.")
    return [f"{name}={written(name, value)}" for name, value in sorted(settings.items())]


async def streamed(served: Served, inputs: list[Given], given: list[str]) -> Response:
    """Server-sent events: what is settled, the result, and [DONE]."""
    if len(inputs) != 1:
        raise RequestError(f"{len(inputs)} inputs, and one can be streamed; send each in a request of its own.")
    found = served.stream(inputs[0], given)
    # What can be refused is refused before the first byte.
    first = await anext(found)
    return StreamingResponse(
        events(first, found), media_type="text/event-stream", headers={"cache-control": "no-cache"}
    )


async def events(first: str | Result, rest: AsyncIterator[str | Result]) -> AsyncIterator[bytes]:
    """Each as an event; an error after the first is an event too, as the status is long sent."""
    try:
        yield event(first)
        async for one in rest:
            yield event(one)
    except (Problem, RegardError) as error:
        status = error.status if isinstance(error, Problem) else 422
        kind = error.kind if isinstance(error, Problem) else KINDS[422]
        yield b"data: " + dumped(told(str(error), kind, status)) + b"\n\n"
    yield b"data: [DONE]\n\n"


def event(one: str | Result) -> bytes:
    values = {"settled": one} if isinstance(one, str) else {"result": one.plain()}
    return b"data: " + dumped(values) + b"\n\n"
