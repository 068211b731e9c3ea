"""German forms of a word: gender, case and number of articles, adjectives and pronouns; the parts of a verb.

`der.A` in a template is a determiner and a case (N, A, D); see `noun_phrase`.
"""

from collections.abc import Callable
from functools import partial

from regard.starter.phrases.grammar import Fields, Form, sentence_case

__all__ = ["finished", "form"]

GENDERS = {"der": 0, "der+": 0, "die": 1, "das": 2}  # column of the tables below: masculine, feminine, neuter
THE = {"N": ("der", "die", "das"), "A": ("den", "die", "das"), "D": ("dem", "der", "dem")}
THIS = {"N": ("er", "e", "es"), "A": ("en", "e", "es"), "D": ("em", "er", "em")}
A = {"N": ("", "e", ""), "A": ("en", "e", ""), "D": ("em", "er", "em")}
PRONOUN = {"N": ("er", "sie", "es"), "A": ("ihn", "sie", "es"), "D": ("ihm", "ihr", "ihm")}

# Endings of an adjective after `der` and its kind, and after `ein` and its kind.
WEAK = {"N": ("e", "e", "e"), "A": ("en", "e", "e"), "D": ("en", "en", "en")}
MIXED = {"N": ("er", "e", "es"), "A": ("en", "e", "es"), "D": ("en", "en", "en")}

# A preposition and `dem` or `der`, in one word where German does so.
CONTRACTIONS = {
    "im": ("im", "in der", "im"),
    "am": ("am", "an der", "am"),
    "beim": ("beim", "bei der", "beim"),
    "zum": ("zum", "zur", "zum"),
    "vom": ("vom", "von der", "vom"),
}

# Verbs that templates name themselves, by their third person: ich, er, plural.
VERBS = {
    "bleibt": ("bleibe", "bleibt", "bleiben"),
    "findet": ("finde", "findet", "finden"),
    "geht": ("gehe", "geht", "gehen"),
    "hat": ("habe", "hat", "haben"),
    "ist": ("bin", "ist", "sind"),
    "kann": ("kann", "kann", "können"),
    "lernt": ("lerne", "lernt", "lernen"),
    "mag": ("mag", "mag", "mögen"),
    "möchte": ("möchte", "möchte", "möchten"),
    "muss": ("muss", "muss", "müssen"),
    "musste": ("musste", "musste", "mussten"),
    "nimmt": ("nehme", "nimmt", "nehmen"),
    "reist": ("reise", "reist", "reisen"),
    "sagt": ("sage", "sagt", "sagen"),
    "sucht": ("suche", "sucht", "suchen"),
    "trinkt": ("trinke", "trinkt", "trinken"),
    "versteht": ("verstehe", "versteht", "verstehen"),
    "weiß": ("weiß", "weiß", "wissen"),
    "will": ("will", "will", "wollen"),
}


def form(name: str) -> Form:
    """The function for a form's name in a template: `der.A`, `zum`, `kann`, or one of FORMS."""
    if "." in name:
        determiner, case = name.split(".")
        return partial(DETERMINED.get(determiner, partial(noun_phrase, determiner)), case)
    if name in CONTRACTIONS:
        return partial(contracted, name)
    return partial(conjugated, name) if name in VERBS else FORMS[name]


def noun_phrase(determiner: str, case: str, *words: Fields) -> str:
    """A determiner, an adjective if there are two words, and the noun, agreeing in gender and case."""
    noun = words[-1]
    column = GENDERS[noun[1]]
    if determiner == "der":
        first, endings = THE[case][column], WEAK
    elif determiner == "dieser":
        first, endings = "dies" + THIS[case][column], WEAK
    else:
        first, endings = determiner + A[case][column], MIXED
    return " ".join([first, *(stem(word) + endings[case][column] for word in words[:-1]), inflected(noun, case)])


def inflected(noun: Fields, case: str) -> str:
    """The noun in the singular; a weak one looks like its plural outside the nominative."""
    return noun[2] if noun[1] == "der+" and case != "N" else noun[0]


def stem(adjective: Fields) -> str:
    return adjective[2] if len(adjective) > 2 else adjective[0]


def possessed(case: str, who: Fields, *words: Fields) -> str:
    """Mein, sein, ihr ..., as the subject wants it, and the noun."""
    return noun_phrase(who[2], case, *words)


def owned(case: str, owner: Fields, *words: Fields) -> str:
    return noun_phrase(owner[0], case, *words)


def its(case: str, holder: Fields, *words: Fields) -> str:
    """Sein or ihr, as the gender of the one who has it wants."""
    return noun_phrase(("sein", "ihr", "sein")[GENDERS[holder[1]]], case, *words)


def pronoun(case: str, noun: Fields) -> str:
    return PRONOUN[case][GENDERS[noun[1]]]


def relative(case: str, noun: Fields) -> str:
    return THE[case][GENDERS[noun[1]]]


def governed(determiner: str, verb: Fields, *words: Fields) -> str:
    """The object in the case its verb asks for, after the preposition it asks for."""
    *preposition, case = verb[4].split()
    return " ".join([*preposition, form(f"{determiner}.{case}")(*words)])


def contracted(name: str, noun: Fields) -> str:
    return f"{CONTRACTIONS[name][GENDERS[noun[1]]]} {inflected(noun, 'D')}"


def plural(*words: Fields) -> str:
    """Adjective and noun without an article, nominative or accusative."""
    return " ".join([stem(word) + "e" for word in words[:-1]] + [words[-1][2]])


def weak_plural(*words: Fields) -> str:
    """Adjective and noun after keine, nominative or accusative."""
    return " ".join([stem(word) + "en" for word in words[:-1]] + [words[-1][2]])


def person(subject: Fields) -> int:
    """0 for ich, 1 for er, 2 for the plural; a noun, which has no fourth field, is an er."""
    return "13p".index(subject[3]) if len(subject) > 3 else 1


def conjugated(name: str, subject: Fields) -> str:
    return VERBS[name][person(subject)]


def finite(subject: Fields, verb: Fields) -> tuple[str, str]:
    """The conjugated verb and its separable prefix, which may be empty."""
    prefix = verb[1].partition(" ")[2]
    ending = person(subject)
    return (verb[0].removeprefix(prefix) if ending == 2 else verb[ending + 1].partition(" ")[0]), prefix


def at_the_end(subject: Fields, verb: Fields) -> str:
    """The conjugated verb where a subordinate clause ends: the prefix is not separated."""
    word, prefix = finite(subject, verb)
    return prefix + word


def auxiliary(subject: Fields, verb: Fields) -> str:
    return conjugated("ist" if verb[3].startswith("ist ") else "hat", subject)


def with_zu(verb: Fields) -> str:
    prefix = verb[1].partition(" ")[2]
    return f"{prefix}zu{verb[0].removeprefix(prefix)}" if prefix else f"zu {verb[0]}"


def rest(verb: Fields) -> str:
    """What stands before the verb at the end of the clause, or nothing."""
    return verb[4] if len(verb) > 4 else ""


def negated(verb: Fields) -> str:
    """The same with a negation: nicht after a definite object and before anything else, unless the table says how."""
    if len(verb) > 5:
        return verb[5]
    before = rest(verb)
    return f"{before} nicht" if before.startswith(("der ", "die ", "das ", "den ")) else f"nicht {before}"


DETERMINED: dict[str, Callable[..., str]] = {
    "his": possessed,
    "own": owned,
    "its": its,
    "es": pronoun,
    "rel": relative,
}

FORMS: dict[str, Callable[..., str]] = {
    "pl": plural,
    "pl_weak": weak_plural,
    "Cap": lambda word: word[0].capitalize(),
    "more": lambda word: word[1],
    "he": lambda who: who[1],
    "mich": lambda who: who[1],
    "v": lambda subject, verb: finite(subject, verb)[0],
    "prefix": lambda verb: verb[1].partition(" ")[2],
    "rest": rest,
    "not": negated,
    "end": at_the_end,
    "part": lambda verb: verb[3].removeprefix("ist "),
    "aux": auxiliary,
    "zu": with_zu,
    "to": partial(governed, "der"),
    "to_his": partial(governed, "his"),
}


def finished(words: str) -> str:
    """The sentence, spaced and capitalized."""
    return sentence_case(words)
