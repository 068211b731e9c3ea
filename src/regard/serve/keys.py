"""API keys: who may ask."""

import hmac
import json
import re
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from urllib.parse import parse_qs

from regard.errors import ConfigError

# A field of a multipart form. So few lines may follow its name that no body takes long to look through.
PART = re.compile(rb'[; ]name="?api_key"?[^\r\n]{0,200}\r\n(?:[^\r\n]{1,200}\r\n){0,4}\r\n([^\r\n]*)', re.IGNORECASE)


class Keys:
    """The digests of the keys that are let in; without any, everyone is."""

    def __init__(self, keys: Sequence[str] = ()) -> None:
        self.digests = [digest(key) for key in keys]

    @classmethod
    def read(cls, path: Path | None) -> "Keys":
        """The keys of a file, one a line; a line that begins with # is none."""
        if path is None:
            return cls()
        try:
            lines = [line.strip() for line in path.read_text("utf-8").splitlines()]
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"The API keys in {path} cannot be read: {error}.") from None
        keys = [line for line in lines if line and not line.startswith("#")]
        if not keys:
            raise ConfigError(f"{path} holds no API key; write one a line, or leave out --api-key-file.")
        return cls(keys)

    def __bool__(self) -> bool:
        return bool(self.digests)

    def allow(self, given: str | None) -> bool:
        """Whether it is one of ours, in a time that says nothing about them."""
        if not self:
            return True
        found = digest(given or "")
        # Every key is compared, whichever it is.
        return sum(hmac.compare_digest(found, one) for one in self.digests) > 0


def digest(key: str) -> bytes:
    return sha256(key.encode("utf-8", "surrogatepass")).digest()


def carried(headers: dict[bytes, bytes]) -> str | None:
    """The key in the headers of a request."""
    scheme, _, key = headers.get(b"authorization", b"").decode("latin-1").partition(" ")
    if scheme.lower() == "bearer" and key.strip():
        return key.strip()
    return headers[b"x-api-key"].decode("latin-1").strip() if b"x-api-key" in headers else None


def in_body(body: bytes, query: bytes) -> str | None:
    """The `api_key` LibreTranslate's clients put into a form, a JSON object or the address."""
    try:
        values = json.loads(body) if body.lstrip()[:1] == b"{" else None
    except (ValueError, RecursionError):
        return None
    if isinstance(values, dict):
        return values["api_key"] if isinstance(values.get("api_key"), str) else None
    if part := PART.search(body):
        return part[1].decode("utf-8", "replace")
    fields = parse_qs((body if b"api_key=" in body else query).decode("latin-1"))
    return fields.get("api_key", [None])[0]
