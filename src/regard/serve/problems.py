"""What cannot be answered, as HTTP tells it: a status, and one sentence in JSON.

    Problem
    ├── Unknown    401    no key, or not one of ours
    ├── Missing    404    nothing of that name
    ├── Slow       408    did not arrive in time
    ├── TooLarge   413    more than a request may hold
    ├── Unreadable 415    a kind of body that is not read
    ├── Misdirected 421   meant for another host
    ├── Busy       429    too much waits already; Retry-After says for how long
    ├── Leaving    503    the service is about to stop
    └── Late       504    not done in time

What `regard.errors` has to say is 422, in the sentence the command line would print.
"""

import json
import math
import re
from collections.abc import Mapping
from typing import Any, ClassVar

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.responses import Response

from regard.errors import RegardError
from regard.serve.answers import Error


class Problem(Exception):
    """Something that cannot be answered, and why."""

    status: ClassVar[int] = 400
    kind: ClassVar[str] = "invalid_request"

    @property
    def headers(self) -> dict[str, str]:
        return {}


class Unknown(Problem):
    """No key, or not one of ours."""

    status, kind = 401, "invalid_api_key"

    @property
    def headers(self) -> dict[str, str]:
        return {"www-authenticate": "Bearer"}


class Missing(Problem):
    """Nothing of that name."""

    status, kind = 404, "not_found"


class Slow(Problem):
    """A request that did not arrive in time."""

    status, kind = 408, "request_timeout"


class TooLarge(Problem):
    """More than a request may hold."""

    status, kind = 413, "too_large"


class LongHead(Problem):
    """More headers than are read."""

    status, kind = 431, "headers_too_large"


class Unreadable(Problem):
    """A kind of body that is not read."""

    status, kind = 415, "unsupported_media_type"


class Misdirected(Problem):
    """Meant for another host."""

    status, kind = 421, "misdirected"


class Busy(Problem):
    """Too much waits already; it may be less in `seconds`."""

    status, kind = 429, "busy"

    def __init__(self, message: str, seconds: float = 1.0) -> None:
        super().__init__(message)
        self.seconds = seconds

    @property
    def headers(self) -> dict[str, str]:
        return {"retry-after": str(max(1, math.ceil(self.seconds)))}


class Leaving(Problem):
    """The service is about to stop."""

    status, kind = 503, "unavailable"

    @property
    def headers(self) -> dict[str, str]:
        return {"retry-after": "5"}


class Late(Problem):
    """Not done in time."""

    status, kind = 504, "timeout"


# What is wrong with a field, where Pydantic's own words need explaining.
SHAPES = {"missing": "is missing", "extra_forbidden": "is no field of this request"}
# Where clients read {"error": "..."}, by their servers' names.
LIBRETRANSLATE = ("/translate", "/detect", "/languages", "/frontend/settings")
HUGGING_FACE = "/hf/"
KINDS = {404: "not_found", 405: "method_not_allowed", 422: "unprocessable", 500: "internal_error"}


class Json(Response):
    """Values as JSON in UTF-8; what JSON has no number for is null, half a character is written as its escape."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        return dumped(content)


def dumped(values: Any) -> bytes:
    """JSON of anything our results hold.

    >>> dumped({"a": float("nan"), "b": "half \\ud83d"})
    b'{"a": null, "b": "half \\\\ud83d"}'
    """
    return json.dumps(finite(values), ensure_ascii=False, allow_nan=False).encode("utf-8", "backslashreplace")


def finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(name): finite(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [finite(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def told(message: str, kind: str, status: int, path: str = "") -> dict[str, Any]:
    """The body of an error: in the shape OpenAI's clients read, or that of the clients who ask at this path.

    >>> told("No.", "busy", 429), told("No.", "busy", 429, "/hf/en-de")
    ({'error': {'message': 'No.', 'type': 'busy', 'code': 429}}, {'error': 'No.'})
    """
    if path in LIBRETRANSLATE or path.startswith(HUGGING_FACE):
        return {"error": message}
    return {"error": {"message": message, "type": kind, "code": status}}


def answer(problem: Problem, path: str = "") -> Json:
    return Json(told(str(problem), problem.kind, problem.status, path), problem.status, problem.headers)


def of_ours(error: RegardError, path: str = "") -> Json:
    return Json(told(str(error), KINDS[422], 422, path), 422)


def of_http(error: HTTPException, path: str = "") -> Json:
    """What the framework refuses: no such route, no such method, a body that is no JSON."""
    status = error.status_code
    kind = KINDS.get(status, Problem.kind)
    return Json(told(sentence(str(error.detail)), kind, status, path), status, dict(error.headers or {}))


def of_shape(error: RequestValidationError, path: str = "") -> Json:
    """A body that is no JSON (400), or has not the fields it should (422)."""
    found = error.errors()
    if any(one["type"] == "json_invalid" for one in found):
        return Json(told("The body is no JSON.", Problem.kind, 400, path), 400)
    return Json(told(" ".join(map(shape, found)), KINDS[422], 422, path), 422)


def shape(one: Mapping[str, Any]) -> str:
    place = ".".join(str(step) for step in one["loc"] if step not in ("body", "query", "path"))
    if place and one["type"] in SHAPES:
        return f"{place} {SHAPES[one['type']]}."
    # Pydantic puts this before a sentence of ours.
    message = str(one["msg"]).removeprefix("Value error, ")
    return sentence(f"{place}: {message}" if place else f"The body: {message}")


def sentence(text: str) -> str:
    r"""The text as one line that ends with a full stop.

    >>> sentence("Not Found"), sentence("a\nb.")
    ('Not Found.', 'a b.')
    """
    text = re.sub(r"\s+", " ", text).strip()
    return text if text.endswith((".", "!", "?")) else f"{text}."


def refusing(body: type[BaseModel] = Error) -> dict[int | str, dict[str, Any]]:
    """What every route may answer instead, as the service describes itself."""
    return {"default": {"model": body, "description": "What cannot be answered, and why"}}


def handle(app: FastAPI) -> None:
    """Let an app answer with these."""

    async def ours(request: Request, error: Exception) -> Response:
        assert isinstance(error, RegardError)
        return of_ours(error, request.scope["path"])

    async def problem(request: Request, error: Exception) -> Response:
        assert isinstance(error, Problem)
        return answer(error, request.scope["path"])

    async def http(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        return of_http(error, request.scope["path"])

    async def invalid(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        return of_shape(error, request.scope["path"])

    app.add_exception_handler(RegardError, ours)
    app.add_exception_handler(Problem, problem)
    app.add_exception_handler(HTTPException, http)
    app.add_exception_handler(RequestValidationError, invalid)
