"""English forms of a word: article, agreement with the subject, plural, comparative."""

from collections.abc import Callable
from functools import partial

from regard.starter.phrases.grammar import Fields, Form, sentence_case

__all__ = ["finished", "form"]

BE = {"I": "am", "he": "is", "she": "is", "we": "are", "they": "are"}
# Verbs that templates name themselves, in the plain form: only their third person has to be told.
THIRD = {
    "do": "does",
    "drink": "drinks",
    "have": "has",
    "like": "likes",
    "say": "says",
    "think": "thinks",
    "walk": "walks",
    "want": "wants",
}


def form(name: str) -> Form:
    """The function for a form's name in a template, such as `a` in `{a taste food}`."""
    verb = name.removesuffix("_")  # `drink_` is the verb where `drink` is a slot
    return partial(present, verb) if verb in THIRD else FORMS[name]


def a(*words: Fields) -> str:
    phrase = " ".join(word[0] for word in words)
    return f"{'an' if phrase[0] in 'aeiou' else 'a'} {phrase}"


def plural(*words: Fields) -> str:
    return " ".join([word[0] for word in words[:-1]] + [words[-1][1]])


def verb(subject: Fields, verb: Fields) -> str:
    return verb[1] if is_third(subject) else verb[0]


def present(name: str, subject: Fields) -> str:
    return THIRD[name] if is_third(subject) else name


def is_third(subject: Fields) -> bool:
    """Whether the verb takes -s; a noun, which has no pronoun among its fields, is always third person."""
    return subject[1] not in ("I", "we", "they")


def pronoun(noun: Fields) -> str:
    """He or she, for the family."""
    return "she" if noun[0] in ("mother", "sister", "daughter", "grandmother", "aunt") else "he"


FORMS: dict[str, Callable[..., str]] = {
    "a": a,
    "pl": plural,
    "v": verb,
    "v3": lambda word: word[1],
    "was": lambda word: word[2],
    "ing": lambda word: word[3],
    "more": lambda word: word[1],
    "be": lambda who: BE[who[1]],
    "he": lambda who: who[1],
    "his": lambda who: who[2],
    "es": pronoun,
    "poss": lambda noun: "her" if pronoun(noun) == "she" else "his",
}


def finished(words: str) -> str:
    """The sentence, spaced and capitalized."""
    return sentence_case(words)
