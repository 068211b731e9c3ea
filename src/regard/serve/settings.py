"""What `regard serve` may be told; the only place where its defaults stand."""

from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt

from regard.config import Settings


class ServeSettings(Settings):
    """Where to listen, who may ask, and how much: `--set serve.queue=512`."""

    host: str = "127.0.0.1"
    # 0: any that is free.
    port: Annotated[int, Field(ge=0, le=65535)] = 8000
    # How many processes; each loads every bundle.
    workers: PositiveInt = 1
    # A file of API keys, one a line; without one anybody who reaches the port may ask.
    api_key_file: Path | None = None
    # What runs the models: of each bundle that it can run; the others are run by torch.
    engine: Literal["torch", "ctranslate2", "onnx", "shortlist"] = "torch"
    # Origins whose pages may ask from a browser, such as https://example.org.
    cors: tuple[str, ...] = ()
    # How many bundles may compute at once; the rest of the cores is shared by them. None: all, as far as cores go.
    threads: PositiveInt | None = None
    # Names by which callers on this machine may call it, besides localhost, where no key is needed.
    hosts: tuple[str, ...] = ()
    # Requests a proxy in front of us hands on begin with this path.
    root: str = ""

    # What one request may hold.
    body_bytes: PositiveInt = 1_000_000
    header_bytes: PositiveInt = 32_768
    texts: PositiveInt = 64
    characters: PositiveInt = 10_000
    # An explanation asks the model many times over, so of less text.
    explain_characters: PositiveInt = 2_000
    # The most beams, outputs and pieces a request may ask for.
    beams: PositiveInt = 32
    pieces: PositiveInt = 1_024

    # What may wait and be joined: rows of text waiting for one bundle, rows and characters computed together, how long
    # the first waits for company, streams of one bundle at once.
    queue: PositiveInt = 256
    batch: PositiveInt = 32
    batch_characters: PositiveInt = 8_000
    window_ms: NonNegativeFloat = 2.0
    streams: PositiveInt = 16
    # How many ways of asking a bundle (settings of requests) are kept ready.
    variants: PositiveInt = 8

    # Connections at once, and the seconds a request may take to arrive, to be answered, to stay open unused, and to
    # finish when the service is told to stop.
    connections: PositiveInt = 1_000
    arrival: PositiveFloat = 10.0
    deadline: PositiveFloat = 60.0
    idle: PositiveInt = 30
    drain: PositiveFloat = 30.0

    # Whether texts are written into the access log.
    log_texts: bool = False
    # What languages a translator knows where its recipe does not say: { NAME = "en-de" }.
    languages: dict[str, str] = Field(default={})
    # How many examples of a bundle are told at /v1/models.
    golden: NonNegativeInt = 8

    @property
    def public(self) -> bool:
        """Whether other machines can reach it."""
        if self.host == "localhost":
            return False
        try:
            return not ip_address(self.host).is_loopback
        except ValueError:
            return True
