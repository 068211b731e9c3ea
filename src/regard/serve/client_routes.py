"""Routes for clients written for other servers: what fails is told in the shape that client reads."""

import json
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any, ClassVar, NamedTuple

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import StreamingResponse
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from regard.errors import RegardError
from regard.serve import problems
from regard.serve.problems import Json, Problem

Handler = Callable[[Request], Coroutine[Any, Any, Response]]
FAILURES = (Problem, RegardError, HTTPException, RequestValidationError)


class Failure(NamedTuple):
    """What went wrong: the sentence, what kind of thing it is, and its status with the headers that go with it."""

    message: str
    kind: str
    status: int
    headers: dict[str, str]


def failure(error: Exception) -> Failure:
    """An error as the service tells it; one that nobody foresaw is told without its words."""
    if isinstance(error, Problem):
        return Failure(str(error), error.kind, error.status, error.headers)
    if isinstance(error, RegardError):
        return _read(problems.of_ours(error))
    if isinstance(error, HTTPException):
        return _read(problems.of_http(error))
    if isinstance(error, RequestValidationError):
        return _read(problems.of_shape(error))
    return Failure("Something went wrong here; the server's log has more.", problems.KINDS[500], 500, {})


def _read(answer: Json) -> Failure:
    told = json.loads(bytes(answer.body))["error"]
    kept = {name: value for name, value in answer.headers.items() if name in ("retry-after", "www-authenticate")}
    return Failure(told["message"], told["type"], answer.status_code, kept)


class Told(APIRoute):
    """A route whose failures have one client's shape; heirs say which."""

    # What was refused for what it says, as a status; where that differs from ours.
    statuses: ClassVar[dict[int, int]] = {}

    @classmethod
    def shape(cls, found: Failure) -> dict[str, Any]:
        return {"error": found.message}

    @classmethod
    def answer(cls, error: Exception) -> Json:
        found = failure(error)
        return Json(cls.shape(found), cls.statuses.get(found.status, found.status), found.headers)

    def get_route_handler(self) -> Handler:
        inner = super().get_route_handler()

        async def handle(request: Request) -> Response:
            try:
                return await inner(request)
            except FAILURES as error:
                return self.answer(error)

        return handle


async def events(route: type[Told], values: AsyncIterator[dict[str, Any] | str]) -> StreamingResponse:
    """Values as server-sent events. What fails before the first has a status; what fails later is the last event."""
    first = await anext(values)

    async def lines() -> AsyncIterator[bytes]:
        yield event(first)
        try:
            async for value in values:
                yield event(value)
        except Exception as error:
            yield event(route.shape(failure(error)))
            if not isinstance(error, FAILURES):
                raise

    return StreamingResponse(lines(), media_type="text/event-stream", headers={"cache-control": "no-cache"})


def event(value: dict[str, Any] | str) -> bytes:
    """One server-sent event; a value is one line, since JSON escapes line ends."""
    return b"data: " + (value.encode() if isinstance(value, str) else problems.dumped(value)) + b"\n\n"
