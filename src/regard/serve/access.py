"""The access log: one JSON line a request, without its texts unless they are asked for; and what is counted of it."""

import json
import logging
import secrets
import time
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from regard.serve.metrics import Metrics
from regard.serve.problems import KINDS, Json, told

LOG = logging.getLogger("regard.access")
FAULTS = logging.getLogger("regard.serve")
# What nginx writes of a request whose sender left before the answer.
LEFT = 499
# What is known of the request that is being answered; whoever learns something adds it.
_told: ContextVar[dict[str, Any] | None] = ContextVar("told", default=None)


def note(name: str, value: Any) -> None:
    """Something for the log line of this request."""
    known = _told.get()
    if known is not None:
        known[name] = value


class Access:
    """Counts and logs what passes, each request under a number that its answer has too."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self.app, self.metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began = time.perf_counter()
        known: dict[str, Any] = {"id": secrets.token_hex(6), "status": LEFT, "bytes": 0}
        _told.set(known)

        async def counted(message: Message) -> None:
            if message["type"] == "http.response.start":
                known["status"] = message["status"]
                own = (b"x-request-id", known["id"].encode())
                message = {**message, "headers": [*message.get("headers", []), own]}
            known["bytes"] += len(message.get("body", b""))
            await send(message)

        with self.metrics.running.track_inprogress():
            try:
                await self.app(scope, receive, counted)
            finally:
                self._written(scope, known, time.perf_counter() - began)

    def _written(self, scope: Scope, known: dict[str, Any], seconds: float) -> None:
        route = getattr(scope.get("route"), "path", "none")
        # A method nobody knows is a name somebody else chose; as a label it would be kept for ever.
        method = scope["method"] if scope["method"] in ("GET", "POST", "HEAD", "OPTIONS") else "other"
        if scope.get("left"):
            known["status"] = LEFT
        self.metrics.requests.labels(route, method, known["status"]).inc()
        self.metrics.seconds.labels(route).observe(seconds)
        if LOG.isEnabledFor(logging.INFO):
            line = {"time": datetime.now(UTC).isoformat(timespec="milliseconds"), "method": method, "route": route}
            client = (scope.get("client") or ("",))[0]
            LOG.info(json.dumps({**line, "client": client, "ms": round(seconds * 1000, 1), **known}, default=str))


class Caught:
    """What nobody foresaw is logged whole, under the number its sender is told."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = False

        async def watched(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            await self.app(scope, receive, watched)
        except Exception:
            number = (_told.get() or {}).get("id", secrets.token_hex(6))
            FAULTS.exception("request %s failed", number)
            if started:
                # Half an answer must not look like a whole one: uvicorn closes what is left unfinished.
                return
            message = f"Something went wrong here; the service's log has it under {number}."
            await Json(told(message, KINDS[500], 500, scope["path"]), 500)(scope, receive, send)
