"""What Hugging Face's InferenceClient sends to the address of a bundle."""

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict

from regard.errors import RequestError, unknown
from regard.serve.client_routes import Told


class Body(BaseModel):
    """What is given, and how it is to be done."""

    model_config = ConfigDict(extra="allow")
    inputs: str | list[str] | dict[str, str | list[str]]
    parameters: dict[str, Any] | None = None
    stream: bool | None = None

    def wishes(self, *names: str) -> dict[str, Any]:
        """The parameters that ask for something; one of another name is refused."""
        beside = {name: value for name, value in (self.model_extra or {}).items() if name != "options"}
        found = {name: value for name, value in {**(self.parameters or {}), **beside}.items() if value is not None}
        for name, value in found.items():
            if name not in names and value is not False:
                raise RequestError(unknown("parameter", name[:60], names))
        return {name: value for name, value in found.items() if name in names}

    @property
    def texts(self) -> list[str]:
        if isinstance(self.inputs, dict):
            raise RequestError(f"inputs has the fields {', '.join(self.inputs)[:80]}; here it is a text, or several.")
        return [self.inputs] if isinstance(self.inputs, str) else self.inputs

    def each(self, found: Sequence[Any]) -> Any:
        """What one text gives, or a list where a list was given."""
        return found[0] if isinstance(self.inputs, str) else list(found)


class HuggingFaceRoute(Told):
    """Errors as {"error": "..."}, with our statuses."""


def number(name: str, value: Any) -> int | None:
    """A whole number above zero, or nothing."""
    if value is not None and (not isinstance(value, int) or isinstance(value, bool) or not 0 < value <= 1_000):
        raise RequestError(f"{name} = {str(value)[:40]} is no number from 1 to 1,000.")
    return value
