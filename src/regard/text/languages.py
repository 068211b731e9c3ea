"""Language tags: the pieces that tell a multilingual model which language to write."""

import re
from collections.abc import Iterable

from regard.errors import ConfigError
from regard.text.patterns import starts_cjk

_CODE = re.compile(r"[A-Za-z]{2,8}(?:[-_][A-Za-z0-9]{1,8})*")


def tag(code: str) -> str:
    """The piece that asks for a language.

    >>> tag("de"), tag("zh-CN")
    ('<2de>', '<2zh-CN>')
    """
    if not _CODE.fullmatch(code):
        raise ConfigError(f"{code!r} is no language code. Write one like 'de', 'zh' or 'pt-BR'.")
    return f"<2{code}>"


def tags(codes: Iterable[str]) -> tuple[str, ...]:
    """The tags of languages, each once, as `TokenizerSettings.extra` takes them."""
    return tuple(dict.fromkeys(map(tag, codes)))


def tagged(text: str, code: str) -> str:
    """The text with its tag before it, spaced so that its first word is cut as it would be without.

    (A tokenizer of characters has one piece more: the space.)

    >>> tagged("A dog.", "de"), tagged("一只狗", "en")
    ('<2de> A dog.', '<2en>一只狗')
    """
    return f"{tag(code)}{'' if not text or starts_cjk(text) else ' '}{text}"
