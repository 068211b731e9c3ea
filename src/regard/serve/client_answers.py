"""What clients written for other servers are answered, as the service describes itself."""

from typing import Any, Literal

from pydantic import BaseModel

from regard.serve.answers import Answer


class Language(Answer):
    """A language, and those it can be translated into."""

    code: str
    name: str
    targets: list[str]


class Detection(Answer):
    confidence: float
    language: str


class TranslateResponse(Answer):
    """Translations: lists where a list was given."""

    translatedText: str | list[str]
    detectedLanguage: Detection | list[Detection] | None = None
    alternatives: list[str] | list[list[str]] | None = None


class FrontendResponse(BaseModel):
    charLimit: int
    frontendTimeout: int
    apiKeys: bool
    keyRequired: bool
    suggestions: bool
    filesTranslation: bool
    supportedFilesFormat: list[str]
    language: dict[str, dict[str, str] | None]


class Usage(Answer):
    """Pieces that were read, and that were written."""

    prompt_tokens: int
    completion_tokens: int = 0
    total_tokens: int


class Choice(Answer):
    index: int
    text: str
    logprobs: None
    finish_reason: Literal["stop", "length"]


class Message(Answer):
    role: Literal["assistant"]
    content: str
    refusal: None


class Reply(Answer):
    index: int
    message: Message
    logprobs: None
    finish_reason: Literal["stop", "length"]


class Written(Answer):
    """What all answers have that were written."""

    id: str
    created: int
    model: str
    usage: Usage


class CompletionResponse(Written):
    object: Literal["text_completion"]
    choices: list[Choice]


class ConversationResponse(Written):
    object: Literal["chat.completion"]
    choices: list[Reply]


class Vector(Answer):
    """Numbers, or the base64 of their bytes where that was asked for."""

    object: Literal["embedding"]
    index: int
    embedding: list[float] | str


class EmbeddingResponse(Answer):
    object: Literal["list"]
    data: list[Vector]
    model: str
    usage: Usage


# What Hugging Face's client reads differs by task: an object, objects, a vector; lists of these for several texts.
HuggingFaceResponse = dict[str, Any] | list[dict[str, Any]] | list[float] | list[list[Any]]
