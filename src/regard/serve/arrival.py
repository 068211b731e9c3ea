"""How slowly a request may arrive, how long its head may be, and how many may connect: uvicorn has no such limits."""

import asyncio
from asyncio import TimerHandle, Transport

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from regard.serve.problems import Leaving, LongHead, Problem, Slow, dumped, told
from regard.serve.settings import ServeSettings

# Once the service is told to stop, what has connected and not yet asked may do so for this long.
LAST_WORDS = 1.0


class Arriving(HttpToolsProtocol):
    """A connection whose requests arrive whole within the time they have, or are dropped."""

    settings = ServeSettings()
    # Until when the request that is arriving has to be here, until when the client has to take what was written, and
    # how long the head is so far; nothing where nothing is arriving.
    arriving: TimerHandle | None = None
    taking: TimerHandle | None = None
    head: int | None = None
    # How many requests have arrived whole.
    whole = 0
    leaving = False

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > self.settings.connections:
            self.refuse(Leaving(f"More than {self.settings.connections} connections; try again later."))
            return
        self._expect()

    def data_received(self, data: bytes) -> None:
        if self.arriving is None and (self.cycle is None or self.cycle.response_complete):
            self._expect()
        whole = self.whole
        super().data_received(data)
        if self.head is not None and whole == self.whole:
            # Where another request ended in the same data, nobody knows how much of it is of this head.
            self.head += len(data)
            if self.head > self.settings.header_bytes and not self.transport.is_closing():
                self.refuse(LongHead(f"The head of a request may have {self.settings.header_bytes:,} bytes."))

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.head = 0
        if self.arriving is None:
            self._expect()

    def on_headers_complete(self) -> None:
        self.head = None
        super().on_headers_complete()
        if self.leaving and self.cycle is not None:
            self.cycle.keep_alive = False

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self.whole += 1
        self._arrived()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.arriving is not None:
            # What came behind the request that is answered now was not read until here.
            self._arrived()
            self._expect()

    def connection_lost(self, exc: Exception | None) -> None:
        self._arrived()
        self._taken()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        self.taking = self.loop.call_later(self.settings.arrival, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._taken()

    def shutdown(self) -> None:
        """Finish what is here; a request that is still arriving has a moment to."""
        self.leaving = True
        if self.arriving is not None and (self.cycle is None or self.cycle.response_complete):
            self.loop.call_later(LAST_WORDS, self._silent)
        else:
            super().shutdown()

    def send_400_response(self, msg: str) -> None:
        self.refuse(Problem("This is no HTTP request."))

    def refuse(self, problem: Problem) -> None:
        """Say why, and hang up."""
        body = dumped(told(str(problem), problem.kind, problem.status))
        named = {"content-type": "application/json", "content-length": str(len(body)), "connection": "close"}
        lines = [f"{name}: {value}\r\n".encode() for name, value in {**named, **problem.headers}.items()]
        self.transport.write(b"".join([STATUS_LINE[problem.status], *lines, b"\r\n", body]))
        self.transport.close()

    def _expect(self) -> None:
        self.arriving = self.loop.call_later(self.settings.arrival, self._late)

    def _arrived(self) -> None:
        if self.arriving is not None:
            self.arriving.cancel()
            self.arriving = None

    def _taken(self) -> None:
        if self.taking is not None:
            self.taking.cancel()
            self.taking = None

    def _behind(self) -> bool:
        """Whether what is arriving came behind a request that is still being answered."""
        return bool(self.pipeline) or (
            self.head is not None and self.cycle is not None and not self.cycle.response_complete
        )

    def _late(self) -> None:
        self.arriving = None
        if self._behind():
            self._expect()
            return
        begun = self.head is not None or (self.cycle is not None and not self.cycle.response_started)
        if begun and not self.transport.is_closing():
            self.refuse(Slow(f"The request did not arrive within {self.settings.arrival:g} seconds."))
        else:
            self.transport.close()

    def _silent(self) -> None:
        if self.cycle is None or self.cycle.response_complete:
            self.transport.close()


def limited(settings: ServeSettings) -> type[asyncio.Protocol]:
    """Connections under these settings."""
    chosen = settings

    class Limited(Arriving):
        settings = chosen

    return Limited
