"""What a language has to say in reviews: the tables that `reviews_english` and `reviews_chinese` fill."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

from regard.starter.growing import Rules, listed

__all__ = ["ReviewTables"]

Classes: TypeAlias = tuple[str, str]


@dataclass(frozen=True)
class ReviewTables:
    """Words and sentences, as they are written down; see `reviews_english`."""

    aspects: Mapping[str, str]
    words: Mapping[str, tuple[str, str, str]]
    clauses: Mapping[str, Sequence[str]]
    sentences: Sequence[str]
    contrasts: Mapping[str, Mapping[str, Classes]]
    closings: Mapping[str, Sequence[str]]
    hearsay: Sequence[str]
    facts: Mapping[str, Sequence[str]]
    rules: Rules
    space: str

    @cached_property
    def domains(self) -> dict[str, list[tuple[str, str]]]:
        """What can be judged in every domain, each with its kind."""
        lines = {domain: "|".join(text.strip().splitlines()).split("|") for domain, text in self.aspects.items()}
        return {domain: [_pair(entry) for entry in entries] for domain, entries in lines.items()}

    @cached_property
    def kinds(self) -> dict[str, dict[str, list[str]]]:
        """The good, bad and mild words of every kind."""
        return {
            kind: dict(zip(("good", "bad", "mild"), map(listed, lines), strict=True))
            for kind, lines in self.words.items()
        }


def _pair(entry: str) -> tuple[str, str]:
    aspect, kind = entry.split(":")
    return aspect.strip(), kind.strip()
