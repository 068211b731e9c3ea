"""Which languages the served translators know, and which of them serves a pair.

Of a bundle, the first of these that tells both languages:

1. what the service was told: `languages = { NAME = "en-de" }`;
2. the recipe's `languages` of its corpora; of a model that writes several, each pair;
3. the names of its files (`train.en`, `train.de`) or columns (`en`, `de`);
4. for the target, the language its metrics are set for;
5. a pair in the bundle's own name, such as `multi30k-en-de`.

A translator of which nothing tells the languages is not offered to clients that ask by language.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import NamedTuple

from regard.config import Part
from regard.data import CorpusSettings
from regard.serve.shelf import Served, Shelf
from regard.tasks.recipe import Recipe

NAMES: dict[str, str] = {
    "af": "Afrikaans",
    "am": "Amharic",
    "ar": "Arabic",
    "az": "Azerbaijani",
    "be": "Belarusian",
    "bg": "Bulgarian",
    "bn": "Bengali",
    "bs": "Bosnian",
    "ca": "Catalan",
    "cs": "Czech",
    "cy": "Welsh",
    "da": "Danish",
    "de": "German",
    "el": "Greek",
    "en": "English",
    "eo": "Esperanto",
    "es": "Spanish",
    "et": "Estonian",
    "eu": "Basque",
    "fa": "Persian",
    "fi": "Finnish",
    "fr": "French",
    "ga": "Irish",
    "gl": "Galician",
    "gu": "Gujarati",
    "ha": "Hausa",
    "he": "Hebrew",
    "hi": "Hindi",
    "hr": "Croatian",
    "hu": "Hungarian",
    "hy": "Armenian",
    "id": "Indonesian",
    "ig": "Igbo",
    "is": "Icelandic",
    "it": "Italian",
    "ja": "Japanese",
    "ka": "Georgian",
    "kk": "Kazakh",
    "km": "Khmer",
    "kn": "Kannada",
    "ko": "Korean",
    "ky": "Kyrgyz",
    "la": "Latin",
    "lo": "Lao",
    "lt": "Lithuanian",
    "lv": "Latvian",
    "mk": "Macedonian",
    "ml": "Malayalam",
    "mn": "Mongolian",
    "mr": "Marathi",
    "ms": "Malay",
    "mt": "Maltese",
    "my": "Burmese",
    "ne": "Nepali",
    "nl": "Dutch",
    "no": "Norwegian",
    "pa": "Punjabi",
    "pl": "Polish",
    "ps": "Pashto",
    "pt": "Portuguese",
    "ro": "Romanian",
    "ru": "Russian",
    "si": "Sinhala",
    "sk": "Slovak",
    "sl": "Slovenian",
    "so": "Somali",
    "sq": "Albanian",
    "sr": "Serbian",
    "sv": "Swedish",
    "sw": "Swahili",
    "ta": "Tamil",
    "te": "Telugu",
    "th": "Thai",
    "tl": "Tagalog",
    "tr": "Turkish",
    "uk": "Ukrainian",
    "ur": "Urdu",
    "uz": "Uzbek",
    "vi": "Vietnamese",
    "xh": "Xhosa",
    "yo": "Yoruba",
    "zh": "Chinese",
    "zu": "Zulu",
}
_PAIR = re.compile(r"(?<![A-Za-z])([a-z]{2})-([a-z]{2})(?![A-Za-z])")
# What a metric says of the target, and the tokenizers of BLEU that are for one language.
_TOKENIZERS = {"zh": "zh", "ja-mecab": "ja", "ko-mecab": "ko"}


class Pair(NamedTuple):
    """A source and a target language, who translates between them, and the settings that ask it to."""

    source: str
    target: str
    served: Served
    changes: tuple[str, ...] = ()


def pairs(shelf: Shelf, told: Mapping[str, str]) -> list[Pair]:
    """Every pair that is served, in the order of the bundles; `told` has pairs by the names of bundles."""
    found: dict[tuple[str, str], Pair] = {}
    for served in shelf.of("translation"):
        for source, target, changes in spoken(served.pipeline.recipe, told.get(served.name, ""), served.name):
            found.setdefault((source, target), Pair(source, target, served, changes))
    return list(found.values())


def spoken(recipe: Recipe, told: str, name: str) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """The pairs one translator knows, each with the settings that ask for it."""
    stated = [_stated(corpus) for corpus in recipe.data.train]
    if len({target for _, target in stated} - {""}) > 1:
        yield from ((*pair, (f"predict.language={pair[1]}",)) for pair in dict.fromkeys(stated) if all(pair))
        return
    guesses = [split(told), *_of_recipe(recipe, stated), split(name)]
    source = next((guess[0] for guess in guesses if guess[0]), "")
    target = next((guess[1] for guess in guesses if guess[1]), "")
    if source and target:
        yield source, target, ()


def split(text: str) -> tuple[str, str]:
    """The pair of languages a name tells.

    >>> split("multi30k-en-de"), split("captions")
    (('en', 'de'), ('', ''))
    """
    for source, target in _PAIR.findall(text):
        if source in NAMES and target in NAMES:
            return source, target
    return "", ""


def name_of(code: str) -> str:
    """What a language is called in English; its code where nobody told us."""
    return NAMES.get(code) or NAMES.get(code.replace("_", "-").split("-")[0].lower(), code)


def _of_recipe(recipe: Recipe, stated: Sequence[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    corpora = [*recipe.data.train, recipe.data.valid, *recipe.data.test.values()]
    yield from stated
    yield from map(_stated, corpora)
    yield from ((_named(corpus, "source"), _named(corpus, "target")) for corpus in corpora)
    yield from (("", _measured(part)) for part in recipe.metrics)


def _stated(corpus: CorpusSettings) -> tuple[str, str]:
    return corpus.languages.get("source", ""), corpus.languages.get("target", "")


def _named(corpus: CorpusSettings, field: str) -> str:
    """The language a file's endings or a column's name tell."""
    file, column = corpus.files.get(field, ""), str(corpus.columns.get(field, ""))
    told = [ending[1:].lower() for ending in reversed(PurePath(file).suffixes)] or [column.lower()]
    return next((code for code in told if code in NAMES), "")


def _measured(part: Part) -> str:
    language = str(part.options.get("language", ""))
    return language if language in NAMES else _TOKENIZERS.get(str(part.options.get("tokenizer", "")), "")
