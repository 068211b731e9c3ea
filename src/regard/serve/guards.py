"""What a request has to pass before anything reads it: who asks, from where, how much, in which form.

Everything here is plain ASGI, so that no route can forget it.
"""

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from regard.serve.keys import Keys, carried, in_body
from regard.serve.problems import (
    LIBRETRANSLATE,
    Leaving,
    LongHead,
    Misdirected,
    Problem,
    TooLarge,
    Unknown,
    Unreadable,
    answer,
)
from regard.serve.settings import ServeSettings

# Routes anybody may read: the page and its files, the description of the routes, health.
OPEN = ("/", "/docs", "/openapi.json", "/favicon.ico")
OPEN_FOLDERS = ("/page/", "/docs/", "/health/")
FORM_TYPES = ("application/x-www-form-urlencoded", "multipart/form-data")
LOOPBACK = ("localhost", "127.0.0.1", "::1")
HEADERS = {
    b"content-security-policy": (
        b"default-src 'self'; object-src 'none'; base-uri 'none'; frame-ancestors 'none'; form-action 'self'"
    ),
    b"x-content-type-options": b"nosniff",
    b"referrer-policy": b"no-referrer",
    b"x-frame-options": b"DENY",
    b"cross-origin-resource-policy": b"same-origin",
}
# Of a body that is too large so much is read and thrown away, lest the client be cut off before it reads why.
PATIENCE = 8


class Guard:
    """Lets through what may pass, whole; what may not is answered here. Who leaves has its request cancelled."""

    def __init__(self, app: ASGIApp, settings: ServeSettings, keys: Keys) -> None:
        self.app, self.settings, self.keys = app, settings, keys

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        # In place: whoever logs the request reads from the same scope which route it took.
        scope["path"] = within(scope["path"], self.settings.root)
        send = self._dressed(scope, headers, send)
        if preflight(scope, headers):
            await send({"type": "http.response.start", "status": 204, "headers": []})
            await send({"type": "http.response.body"})
            return
        try:
            body = await self._admitted(scope, headers, receive)
        except Problem as problem:
            await answer(problem, scope["path"])(scope, receive, send)
            return
        if body is None:
            return
        try:
            await attended(self.app, scope, body, receive, send)
        except asyncio.CancelledError:
            # The service stops and has waited as long as it said; what has not begun to be answered is told so.
            if not scope.get("answered"):
                leaving = Leaving("The service is stopping, and this was not done in time.")
                await answer(leaving, scope["path"])(scope, receive, send)

    async def _admitted(self, scope: Scope, headers: dict[bytes, bytes], receive: Receive) -> bytes | None:
        """The body of a request that may pass; nothing if its sender has left."""
        path = scope["path"]
        self._host(headers)
        self._head(scope)
        # LibreTranslate's clients have it in the body.
        later = path in LIBRETRANSLATE
        if not later and not is_open(scope["method"], path) and not self.keys.allow(carried(headers)):
            raise Unknown("This needs an API key: send it as `Authorization: Bearer KEY`.")
        body = await read(headers, receive, self.settings.body_bytes)
        if body is None:
            return None
        key = carried(headers) or in_body(body, scope["query_string"])
        if later and not self.keys.allow(key):
            raise Unknown("This needs an API key: send it as `api_key` in the body.")
        if body:
            readable(headers, path)
        return body

    def _head(self, scope: Scope) -> None:
        """A head that arrived in one go is as long as one that did not."""
        size = sum(len(name) + len(value) for name, value in scope["headers"])
        if size + len(scope["raw_path"]) + len(scope["query_string"]) > self.settings.header_bytes:
            raise LongHead(f"The head of a request may have {self.settings.header_bytes:,} bytes.")

    def _host(self, headers: dict[bytes, bytes]) -> None:
        """A page on another site can make a browser call its name 127.0.0.1; it cannot make it call itself that."""
        if self.keys or self.settings.public:
            return
        given = headers.get(b"host", b"localhost").decode("latin-1")
        if hostname(given) not in (*LOOPBACK, *self.settings.hosts):
            raise Misdirected(
                f"This service is for its own machine, and {given[:80]!r} is another; "
                "add it with --set serve.hosts, or let callers bring a key."
            )

    def _dressed(self, scope: Scope, headers: dict[bytes, bytes], send: Send) -> Send:
        """Answers with the headers of every answer."""
        extra = {**HEADERS, **self._sharing(headers.get(b"origin", b"").decode("latin-1"))}

        async def dressed(message: Message) -> None:
            if message["type"] == "http.response.start":
                scope["answered"] = True
                own = {name.lower() for name, _ in message.get("headers", [])}
                added = [(name, value) for name, value in extra.items() if name not in own]
                message = {**message, "headers": [*message.get("headers", []), *added]}
            await send(message)

        return dressed

    def _sharing(self, origin: str) -> dict[bytes, bytes]:
        """What lets pages of an allowed origin read answers; none is, unless told."""
        if origin not in self.settings.cors and "*" not in self.settings.cors:
            return {b"vary": b"origin"} if self.settings.cors else {}
        return {
            b"access-control-allow-origin": origin.encode("latin-1"),
            b"access-control-allow-methods": b"GET, POST",
            b"access-control-allow-headers": b"authorization, content-type, x-api-key",
            b"access-control-expose-headers": b"retry-after, x-request-id",
            b"access-control-max-age": b"600",
            b"cross-origin-resource-policy": b"cross-origin",
            b"vary": b"origin",
        }


def preflight(scope: Scope, headers: dict[bytes, bytes]) -> bool:
    """Whether a browser asks if it may ask."""
    return scope["method"] == "OPTIONS" and b"origin" in headers and b"access-control-request-method" in headers


def is_open(method: str, path: str) -> bool:
    """Whether no key is needed: what carries no data of anybody."""
    return method in ("GET", "HEAD", "OPTIONS") and (path in OPEN or path.startswith(OPEN_FOLDERS))


def within(path: str, root: str) -> str:
    """A path as routes know it, without what a proxy put before it."""
    return path[len(root) :] if root and path.startswith(f"{root}/") else path


def hostname(host: str) -> str:
    """The name in a Host header.

    >>> hostname("localhost:8000"), hostname("[::1]:80"), hostname("a b@c:x")
    ('localhost', '::1', '')
    """
    try:
        split = urlsplit(f"//{host}")
        return "" if split.username is not None or split.path else (split.hostname or "")
    except ValueError:
        return ""


async def read(headers: dict[bytes, bytes], receive: Receive, most: int) -> bytes | None:
    """The whole body, if it is no more than it may be; nothing if its sender has left."""
    declared = headers.get(b"content-length", b"0")
    if declared.isdigit() and int(declared) > PATIENCE * most:
        raise too_large(most)
    body, count = bytearray(), 0
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return None
        count += len(message.get("body", b""))
        if count <= most:
            body += message.get("body", b"")
        if not message.get("more_body", False) or count > PATIENCE * most:
            break
    if count > most:
        raise too_large(most)
    return bytes(body)


def too_large(most: int) -> TooLarge:
    return TooLarge(f"The body is more than {most:,} bytes, which is all this service reads; send it in parts.")


def readable(headers: dict[bytes, bytes], path: str) -> None:
    """Refuse a body that is no JSON in UTF-8, nor a form where forms are read."""
    kind, *parameters = headers.get(b"content-type", b"").decode("latin-1").lower().split(";")
    kind = kind.strip()
    known = kind == "application/json" or kind.endswith("+json") or (path in LIBRETRANSLATE and kind in FORM_TYPES)
    charsets = [one.split("=")[1].strip(' "') for one in parameters if one.strip().startswith("charset=")]
    if not known or any(charset not in ("utf-8", "utf8") for charset in charsets):
        raise Unreadable(f"A body of {kind[:80] or 'no'} type cannot be read here; send application/json in UTF-8.")


async def attended(app: ASGIApp, scope: Scope, body: bytes, receive: Receive, send: Send) -> None:
    """Run the app with a body already read, and cancel it once whoever asked has left."""
    left = asyncio.Event()
    coming: list[MutableMapping[str, Any]] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replayed() -> MutableMapping[str, Any]:
        if coming:
            return coming.pop()
        await left.wait()
        return {"type": "http.disconnect"}

    running = asyncio.ensure_future(as_coroutine(app(scope, replayed, send)))
    watching = asyncio.ensure_future(gone(receive))
    try:
        await asyncio.wait({running, watching}, return_when=asyncio.FIRST_COMPLETED)
        if not running.done():
            scope["left"] = True
            left.set()
            running.cancel()
            await asyncio.wait({running})
    finally:
        running.cancel()
        watching.cancel()
    if not running.cancelled():
        running.result()


async def as_coroutine(awaited: Awaitable[None]) -> None:
    await awaited


async def gone(receive: Callable[[], Awaitable[Message]]) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
