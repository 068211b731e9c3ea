"""Conversations as a model was taught to read them: a fixed list of known forms, chosen by name.

A file's chat template is a program: it is looked at to recognize a form, and never run. What people say and what marks
whose turn it is stay apart until both are tokens, so that nobody can speak in another's name.

>>> CHATS["chatml"].render([{"role": "user", "content": "<|im_end|>?"}])[:4]
[Mark(piece='<|im_start|>'), 'user\\n<|im_end|>?', Mark(piece='<|im_end|>'), '\\n']
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from itertools import groupby
from typing import NamedTuple, TypeAlias, TypeVar, cast

from pydantic import field_validator

from regard.config import Settings
from regard.errors import DataError, RequestError, unknown
from regard.text.tokenizing import Tokenizing

SYSTEM, USER, ASSISTANT = ROLES = ("system", "user", "assistant")

Message: TypeAlias = Mapping[str, str]


class Mark(NamedTuple):
    """A piece that marks a turn: one special token, or text with a tokenizer that has no such token."""

    piece: str


class Edge(Enum):
    """The token that begins or ends a text, whatever its piece."""

    BEGIN = "begin"
    END = "end"


Part: TypeAlias = str | Mark | Edge
T = TypeVar("T")


@dataclass(frozen=True)
class Chat:
    """A form of conversation: what stands before everything, and before and after each turn.

    "{role}" there becomes the speaker's. `system` is said in the system's name where a conversation does not begin so.
    """

    before: tuple[Part, ...] = ()
    after: tuple[Part, ...] = ()
    opening: tuple[Part, ...] = ()
    system: str | None = None
    stripped: bool = False

    def render(self, messages: Sequence[Message], reply: bool = True) -> list[Part]:
        """The conversation in parts; with `reply`, up to where the assistant's begins."""
        parts = list(self.opening)
        for role, content in self.turns(messages):
            parts += [*self._spoken(self.before, role), content, *self._spoken(self.after, role)]
        return joined(parts + (self._spoken(self.before, ASSISTANT) if reply else []))

    def turns(self, messages: Sequence[Message]) -> list[tuple[str, str]]:
        """Who says what, the default of the system included."""
        said = [_turn(number, message) for number, message in enumerate(messages, 1)]
        if not said:
            raise RequestError("The conversation holds no message; give one of role user.")
        if any(role == SYSTEM for role, _ in said[1:]):
            raise RequestError("The system speaks only in the first message; move what it says there.")
        if self.system is not None and said[0][0] != SYSTEM:
            said = [(SYSTEM, self.system), *said]
        return [(role, content.strip() if self.stripped else content) for role, content in said]

    @property
    def marks(self) -> frozenset[str]:
        """The pieces that mark turns."""
        around = (*self.opening, *self.before, *self.after)
        spoken = (part for role in ROLES for part in self._spoken(around, role))
        return frozenset(part.piece for part in spoken if isinstance(part, Mark))

    @property
    def stop(self) -> Part:
        """What ends a turn, the assistant's too."""
        return next((part for part in self.after if not isinstance(part, str)), Edge.END)

    def _spoken(self, parts: Iterable[Part], role: str) -> list[Part]:
        return [_filled(part, role) for part in parts]


class Thinking(Chat):
    """What the assistant thought before it spoke is left out of what it said before   (Qwen3)."""

    def turns(self, messages: Sequence[Message]) -> list[tuple[str, str]]:
        return [
            (role, _spoken_of(content) if role == ASSISTANT else content) for role, content in super().turns(messages)
        ]


def _spoken_of(content: str) -> str:
    _, thought, spoken = content.rpartition("</think>")
    return spoken.lstrip("\n") if thought else content


class Llama2(Chat):
    """Only the user's turns are marked, and the system speaks inside the first of them   (Touvron et al. 2023b)."""

    def render(self, messages: Sequence[Message], reply: bool = True) -> list[Part]:
        parts: list[Part] = []
        told: list[Part] = []
        for role, content in self._alternating(messages):
            if role == SYSTEM:
                told = [Mark("<<SYS>>"), f"\n{content}\n", Mark("<</SYS>>"), "\n\n"]
            elif role == USER:
                inside, told = [*told, content], []
                parts += [Edge.BEGIN, Mark("[INST]"), " ", *inside, " ", Mark("[/INST]")]
            else:
                parts += [f" {content} ", Edge.END]
        return joined(parts)

    @property
    def marks(self) -> frozenset[str]:
        return frozenset(("[INST]", "[/INST]", "<<SYS>>", "<</SYS>>"))

    def _alternating(self, messages: Sequence[Message]) -> list[tuple[str, str]]:
        turns = self.turns(messages)
        speakers = [role for role, _ in turns if role != SYSTEM]
        if not speakers or any(role != (USER, ASSISTANT)[number % 2] for number, role in enumerate(speakers)):
            raise RequestError(
                f"In this form user and assistant take turns, the user first; here: {', '.join(speakers)}."
            )
        return turns


CHATS: dict[str, Chat] = {
    "chatml": Chat(before=(Mark("<|im_start|>"), "{role}\n"), after=(Mark("<|im_end|>"), "\n")),
    "qwen3": Thinking(before=(Mark("<|im_start|>"), "{role}\n"), after=(Mark("<|im_end|>"), "\n")),
    "llama2": Llama2(stripped=True),
    "llama3": Chat(
        opening=(Edge.BEGIN,),
        before=(Mark("<|start_header_id|>"), "{role}", Mark("<|end_header_id|>"), "\n\n"),
        after=(Mark("<|eot_id|>"),),
        stripped=True,
    ),
    "zephyr": Chat(before=(Mark("<|{role}|>"), "\n"), after=(Edge.END, "\n")),
    # One turn a line, nobody named.
    "plain": Chat(after=("\n",)),
}


class ChatSettings(Settings):
    """A form by name; `system` is said where a conversation does not begin with the system's words."""

    name: str = "plain"
    system: str | None = None

    @field_validator("name")
    @classmethod
    def _known(cls, name: str) -> str:
        if name not in CHATS:
            raise ValueError(unknown("chat", name, CHATS).removesuffix("."))
        return name

    @property
    def chat(self) -> Chat:
        return CHATS[self.name] if self.system is None else replace(CHATS[self.name], system=self.system)


def encode_chat(tokenizer: Tokenizing, messages: Sequence[Message], chat: Chat, reply: bool = True) -> list[int]:
    """The tokens of a conversation; with `reply`, up to where the assistant's begins."""
    parts = chat.render(messages, reply)
    _refuse_marks(tokenizer, messages, chat)
    tokens: list[int] = []
    for part in joined([_token(tokenizer, part) for part in parts]):
        tokens += tokenizer.encode(part).ids if isinstance(part, str) else [part]
    return tokens


def ends(tokenizer: Tokenizing, chat: Chat) -> frozenset[int]:
    """The tokens after which the assistant has finished."""
    stop = _token(tokenizer, chat.stop)
    return frozenset((tokenizer.end, *([stop] if isinstance(stop, int) else [])))


def joined(parts: Iterable[T]) -> list[T]:
    """The parts with neighbouring texts made one, and empty ones left out."""
    found: list[T] = []
    for is_text, group in groupby(parts, key=lambda part: isinstance(part, str)):
        together = list(group)
        found += [cast(T, "".join(map(str, together)))] if is_text else together
    return [part for part in found if part != ""]


def _turn(number: int, message: Message) -> tuple[str, str]:
    role, content = message.get("role"), message.get("content")
    if role not in ROLES:
        raise RequestError(f"Message {number}: {unknown('role', role, ROLES)}")
    if not isinstance(content, str):
        raise RequestError(f"Message {number}: content is {type(content).__name__}, not text; give a text.")
    return role, content


def _filled(part: Part, role: str) -> Part:
    if isinstance(part, Mark):
        return Mark(part.piece.replace("{role}", role))
    return part.replace("{role}", role) if isinstance(part, str) else part


def _token(tokenizer: Tokenizing, part: Part) -> int | str:
    """The id of a mark, or its text where the tokenizer has no special token for it."""
    if isinstance(part, Edge):
        return tokenizer.begin if part is Edge.BEGIN else tokenizer.end
    if isinstance(part, str):
        return part
    token = _special(tokenizer, part.piece)
    return part.piece if token is None else token


def _special(tokenizer: Tokenizing, piece: str) -> int | None:
    return next((token for token in tokenizer.special if tokenizer.piece(token) == piece), None)


def _refuse_marks(tokenizer: Tokenizing, messages: Sequence[Message], chat: Chat) -> None:
    """A RequestError for words that would read as a mark, where marks are text."""
    text = [mark for mark in sorted(chat.marks) if _special(tokenizer, mark) is None]
    for number, message in enumerate(messages, 1):
        for mark in text:
            if mark in message["content"]:
                raise RequestError(f"Message {number} holds {mark!r}, which marks a turn in this form; leave it out.")


class _Signs(NamedTuple):
    """By what a template is known: the marks it must have, those it may have, and words by which it is another."""

    must: frozenset[str]
    may: frozenset[str] = frozenset()
    never: tuple[str, ...] = ()


_MARK = re.compile(r"<\|[^<>|]+\|>|\[/?[A-Z_]+\]|<</?[A-Z]+>>|</?think>")
# Trimmed contents or a first token would make another form of them.
_BARE = ("bos_token", "trim", "strip(")
_SIGNS = {
    "chatml": _Signs(CHATS["chatml"].marks, never=_BARE),
    # The other way about: what is stripped are thoughts, unless all white space goes or a thought is begun for it.
    "qwen3": _Signs(
        CHATS["qwen3"].marks | {"<think>", "</think>"},
        never=("bos_token", "trim", "strip()", "assistant\n<think>", "assistant\\n<think>"),
    ),
    "llama2": _Signs(CHATS["llama2"].marks),
    "llama3": _Signs(CHATS["llama3"].marks, frozenset(["<|begin_of_text|>"])),
    "zephyr": _Signs(frozenset(["<|user|>", "<|assistant|>"]), frozenset(["<|system|>"]), _BARE),
}
# What a template says as the system itself; a quotation mark right away is the end of a string, and no words.
_SYSTEM = re.compile(r"<\|im_start\|>system(?:\n|\\n)([^{}'\"][^{}]*?)<\|im_end\|>")


def recognized(template: str) -> ChatSettings:
    """The known form a chat template writes, with what it says as the system by default."""
    marks = frozenset(_MARK.findall(template))
    for name, signs in _SIGNS.items():
        fits = signs.must <= marks <= signs.must | signs.may
        if fits and not any(word in template for word in signs.never):
            return ChatSettings(name=name, system=_default(template))
    raise _unrecognized()


def _default(template: str) -> str | None:
    found = {match.replace("\\n", "\n") for match in _SYSTEM.findall(template)}
    if len(found) > 1 or any(sign in words for words in found for sign in "\\'\""):
        raise _unrecognized()
    return next(iter(found), None)


def _unrecognized() -> DataError:
    return DataError(f"This chat template is none that Regard knows; name the form to use: {', '.join(CHATS)}.")
