"""What a language model is asked: a prompt or a conversation, in pieces."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, Self

from pydantic import PositiveInt, field_validator, model_validator

from regard.decode import SearchSettings
from regard.decode.settings import Share
from regard.errors import RequestError, unknown
from regard.tasks.grouping import GroupSettings
from regard.text import CHATS, Chat, ChatSettings, Tokenizing, encode_chat
from regard.text.chat import ends

TEXT, MESSAGES, SEED = "text", "messages", "seed"


class WritingSettings(SearchSettings):
    """Search for text to be read, not compared: sampled from what is likely, unless told otherwise."""

    method: str = "sample"
    top_p: Share = 0.95


class ContinueSettings(GroupSettings):
    """What is done around the search; the padded pieces of a batch count each beam or sample."""

    # The most new pieces, an end counted.
    pieces: PositiveInt = 100
    # The most pieces a model looks at, old and new; by default as many as a block of training has. What is to become
    # longer is written in windows. A recurrent model has no such limit. Of several outputs (search.best), found in the
    # first window, each goes on by itself, and they stay in that order.
    longest: PositiveInt | None = None
    # What is kept of a prompt that leaves no room for what follows: at least half of what the model looks at.
    long: Literal["tail", "head", "refuse"] = "tail"
    # Of a likelihood: how many pieces at least are seen before each; by default half of what can be.
    context: PositiveInt | None = None
    # Whether the piece that begins a text stands before a prompt.
    begin: bool = True
    # Further pieces that end a text, by what they are called, such as ["<|eot_id|>"].
    ends: tuple[str, ...] = ()
    # Give the prompt with what follows it.
    echo: bool = False
    # A known form of conversation: a prompt is then what the user says, and `system` what is said before.
    chat: str = ""
    system: str = ""

    @field_validator("chat")
    @classmethod
    def _known(cls, name: str) -> str:
        if name and name not in CHATS:
            raise ValueError(unknown("chat", name, CHATS).removesuffix("."))
        return name

    @model_validator(mode="after")
    def _fitting(self) -> Self:
        if self.system and not self.chat:
            raise ValueError('system speaks in a conversation; name its form, such as chat = "chatml"')
        if self.echo and self.chat:
            raise ValueError("echo repeats a prompt, and a reply repeats nothing; set only one of echo and chat")
        return self


@dataclass(frozen=True)
class Prompting:
    """Rows in, pieces to go on from out."""

    tokenizer: Tokenizing
    settings: ContinueSettings

    def pieces(self, row: Mapping[str, str]) -> list[int]:
        """The prompt of a row, or what was said so far, up to where the reply begins."""
        if self.form is not None:
            return encode_chat(self.tokenizer, self.messages(row), self.form)
        opening = [self.tokenizer.begin] if self.settings.begin else []
        return [*opening, *self.tokenizer.encode(self.text(row)).ids]

    def text(self, row: Mapping[str, str]) -> str:
        if TEXT not in row:
            raise RequestError(f"A row has the fields {', '.join(row) or 'none'}; a prompt stands in the field text.")
        return row[TEXT]

    def messages(self, row: Mapping[str, str]) -> list[dict[str, str]]:
        """A conversation, written as JSON; a text alone is what the user says."""
        if MESSAGES not in row:
            return [{"role": "user", "content": self.text(row)}]
        try:
            found = json.loads(row[MESSAGES])
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
            raise RequestError(f"messages = {row[MESSAGES][:40]!r} is no JSON list of objects with role and content.")
        return found

    @cached_property
    def form(self) -> Chat | None:
        """The form of conversation, with what the system says; none where texts are gone on with."""
        if not self.settings.chat:
            return None
        return ChatSettings(name=self.settings.chat, system=self.settings.system or None).chat

    @property
    def stops(self) -> frozenset[int]:
        """The pieces after which nothing follows."""
        told = frozenset(map(self.tokenizer.id, self.settings.ends))
        return told | (frozenset((self.tokenizer.end,)) if self.form is None else ends(self.tokenizer, self.form))

    def seed(self, row: Mapping[str, str]) -> int | None:
        """The seed a row asks for; without one its pieces decide."""
        if not row.get(SEED):
            return None
        try:
            return int(row[SEED])
        except ValueError:
            raise RequestError(f"seed = {row[SEED][:40]!r} is no whole number.") from None
