"""Chinese forms of a word: measure words, 的 after an adjective, 了 and objects inside a verb."""

from collections.abc import Callable

from regard.starter.phrases.grammar import Fields, Form

__all__ = ["finished", "form"]


def form(name: str) -> Form:
    """The function for a form's name in a template, such as `one` in `{one colour wear}`."""
    return FORMS[name]


def counted(number: str, *words: Fields) -> str:
    """A number or 这, the measure word, an adjective if there are two words, and the noun."""
    noun = words[-1]
    return " ".join([number, noun[1], *map(attribute, words[:-1]), noun[0]])


def attribute(adjective: Fields) -> str:
    return adjective[1] if len(adjective) > 1 else f"{adjective[0]} 的"


def enclosing(verb: str, *words: Fields) -> str:
    """A verb around its object: somebody's relative (a subject and a noun), or a noun alone."""
    *owner, noun = words
    return verb.replace("_", f"{owner[0][1]} {noun[0]}" if owner else definite(noun))


def definite(noun: Fields) -> str:
    """Somebody known by a profession needs no 那; a man, a girl or a tourist does."""
    return noun[0] if noun[1] == "位" else counted("那", noun)


FORMS: dict[str, Callable[..., str]] = {
    "one": lambda *words: counted("一", *words),
    "this": lambda *words: counted("这", *words),
    "that": lambda *words: counted("那", *words),
    "the": definite,
    "m": lambda noun: noun[1],
    "attr": attribute,
    "his": lambda who: who[1],
    "ta": lambda noun: "她" if noun[0] in ("妈妈", "姐姐", "女儿", "奶奶", "姑姑") else "他",
    "le": lambda verb: verb[1],
    "to": lambda verb, *words: enclosing(verb[0], *words),
    "le_to": lambda verb, *words: enclosing(verb[1], *words),
}


def finished(words: str) -> str:
    """The sentence without the spaces between its words."""
    return "".join(words.split())
