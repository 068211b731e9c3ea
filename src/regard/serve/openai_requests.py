"""What OpenAI's clients send. What would change the answer and cannot be done is refused, never left out in silence."""

import json
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, PositiveInt, model_validator

from regard.decode.settings import Share
from regard.errors import RequestError, nearest
from regard.serve.writing import Writing, stops

# Sent along by clients, and nothing the answer depends on.
HARMLESS = frozenset(
    ("user", "metadata", "store", "service_tier", "safety_identifier", "prompt_cache_key", "parallel_tool_calls")
)
# What is not done here, with the values that ask for nothing.
NEUTRAL: Mapping[str, tuple[object, ...]] = {
    "presence_penalty": (0,),
    "frequency_penalty": (0,),
    "logit_bias": ({},),
    "logprobs": (False,),
    "top_logprobs": (0,),
    "best_of": (1,),
    "suffix": ("",),
    "tools": ([],),
    "functions": ([],),
    "tool_choice": ("none", "auto"),
    "function_call": ("none", "auto"),
    "response_format": ({"type": "text"},),
    "modalities": (["text"],),
    "reasoning_effort": ("none",),
}


class Told(BaseModel):
    """A body that says what it may; the first word that is not understood is refused."""

    model_config = ConfigDict(extra="allow", frozen=True)
    neutral: ClassVar[Mapping[str, tuple[object, ...]]] = NEUTRAL

    @model_validator(mode="after")
    def _understood(self) -> "Told":
        for name, value in (self.model_extra or {}).items():
            if value is None or name in HARMLESS or value in self.neutral.get(name, ()):
                continue
            if name in self.neutral:
                raise ValueError(f"{name} = {json.dumps(value)[:60]} is not supported here; leave it out")
            raise ValueError(f"unknown field {name[:60]!r}.{nearest(name, type(self).model_fields)}")
        return self


class StreamOptions(BaseModel):
    """Whether the last event tells how many pieces it took."""

    include_usage: bool = False
    include_obfuscation: bool = False


class Asked(Told):
    """What completions and conversations may say alike; top_k, min_p and no_repeat are ours (`extra_body`)."""

    model: str = ""
    max_tokens: PositiveInt | None = None
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    top_p: Share | None = None
    top_k: PositiveInt | None = None
    min_p: Annotated[float, Field(ge=0, le=1)] | None = None
    no_repeat: Annotated[int, Field(ge=0)] | None = None
    n: PositiveInt | None = None
    seed: int | None = None
    stop: str | list[str] | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None

    @property
    def stops(self) -> list[str]:
        return stops(self.stop)

    @property
    def pieces(self) -> int | None:
        return self.max_tokens

    @property
    def writing(self) -> Writing:
        return Writing(
            pieces=self.pieces,
            temperature=self.temperature,
            top_p=self.top_p,
            top_k=self.top_k,
            min_p=self.min_p,
            no_repeat=self.no_repeat,
            seed=self.seed,
            count=self.n or 1,
        )

    @property
    def usage_wanted(self) -> bool:
        return self.stream_options is not None and self.stream_options.include_usage


class Completion(Asked):
    """Texts to go on with."""

    prompt: str | list[str]
    echo: bool | None = None

    @property
    def prompts(self) -> list[str]:
        return [self.prompt] if isinstance(self.prompt, str) else self.prompt


class Content(BaseModel):
    """A part of a message; only text is read."""

    type: Literal["text"]
    text: str


class Message(BaseModel):
    """What somebody said."""

    role: str
    content: str | list[Content]

    def plain(self) -> dict[str, str]:
        """The message as our chats have it; a developer speaks as the system."""
        role = "system" if self.role == "developer" else self.role
        said = self.content if isinstance(self.content, str) else "".join(part.text for part in self.content)
        return {"role": role, "content": said}


class Conversation(Asked):
    """What was said so far."""

    messages: list[Message]
    max_completion_tokens: PositiveInt | None = None

    @property
    def pieces(self) -> int | None:
        return self.max_completion_tokens or self.max_tokens

    @property
    def said(self) -> list[dict[str, str]]:
        if not self.messages:
            raise RequestError("messages is empty; give one of role user.")
        return [message.plain() for message in self.messages]


class Embedding(Told):
    """Texts whose vectors are wanted."""

    model: str = ""
    input: str | list[str]
    encoding_format: Literal["float", "base64"] = "float"
    neutral: ClassVar[Mapping[str, tuple[object, ...]]] = {"dimensions": ()}

    @property
    def texts(self) -> list[str]:
        return [self.input] if isinstance(self.input, str) else self.input


Body = dict[str, Any]
