"""The tokenizer and the chat template of a folder in Hugging Face's layout."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from tokenizers import Tokenizer

from regard.errors import DataError
from regard.files import shown
from regard.text.foreign import MOST, ForeignTokenizer, Specials, library

TOKENIZER, CONFIG = "tokenizer.json", "config.json"
# The first that has an answer is believed; config.json gives ids where these give pieces.
PIECES = ("tokenizer_config.json", "special_tokens_map.json")
TEMPLATE = "chat_template.jinja"
# Transformers writes 10^30 where there is no limit.
LONGEST = 10**9


class Frame(NamedTuple):
    """What a tokenizer puts around one text, and between two."""

    opening: tuple[int, ...]
    closing: tuple[int, ...]
    between: tuple[int, ...]


def read_tokenizer(folder: Path) -> ForeignTokenizer:
    """The tokenizer of a folder: its tokenizer.json, with the special tokens that the files beside it name."""
    if not folder.is_dir():
        raise DataError(f"{shown(folder)} is not a folder; name the one that holds {TOKENIZER}.")
    if not (folder / TOKENIZER).exists():
        raise DataError(
            f"{shown(folder)} holds no {TOKENIZER}; let Transformers write one: "
            "AutoTokenizer.from_pretrained(FOLDER).save_pretrained(FOLDER)."
        )
    place = shown(folder / TOKENIZER)
    text = _agreeing(_text(folder / TOKENIZER), _table(folder / PIECES[0]))
    return ForeignTokenizer.of(text, _specials(library(text, place), folder), place)


def read_template(folder: Path) -> str | None:
    """The text of a folder's chat template, None if it has none; `chat.recognized` says what it is."""
    if (folder / TEMPLATE).exists():
        return _text(folder / TEMPLATE)
    template = _table(folder / PIECES[0]).get("chat_template")
    if isinstance(template, list):
        named = {entry.get("name"): entry.get("template") for entry in template if isinstance(entry, dict)}
        template = named.get("default")
    return template if isinstance(template, str) else None


def read_longest(folder: Path) -> int | None:
    """The most pieces of a text by a folder's tokenizer; None where it sets no limit, or one beyond any text."""
    told = _table(folder / PIECES[0]).get("model_max_length")
    return told if isinstance(told, int) and not isinstance(told, bool) and 0 < told <= LONGEST else None


def _specials(tokenizer: Tokenizer, folder: Path) -> Specials:
    tables = [_table(folder / name) for name in PIECES]
    config = _table(folder / CONFIG)

    def first(*names: str) -> int | None:
        pieces = (_token(tokenizer, table.get(f"{name}_token")) for name in names for table in tables)
        ids = (_single(config.get(f"{name}_token_id")) for name in names)
        return next((token for token in (*pieces, *ids) if token is not None), None)

    end = first("eos", "sep")
    if end is None:
        raise DataError(f"{shown(folder)} names no token that ends a text; put eos_token into {PIECES[0]}.")
    return Specials(
        padding=_or(first("pad"), end),
        begin=_or(first("bos", "cls"), end),
        end=end,
        unknown=_or(first("unk"), end),
        mask=first("mask"),
        size=_size(config.get("vocab_size")),
        **_frame(tokenizer)._asdict(),
    )


def _or(token: int | None, instead: int) -> int:
    return instead if token is None else token


def _token(tokenizer: Tokenizer, written: Any) -> int | None:
    """The id of a special piece, written as a text or as a table with its content."""
    content = written.get("content") if isinstance(written, Mapping) else written
    return tokenizer.token_to_id(content) if isinstance(content, str) else None


def _single(written: Any) -> int | None:
    first = written[0] if isinstance(written, list) and written else written
    return first if isinstance(first, int) and not isinstance(first, bool) and first >= 0 else None


def _size(written: Any) -> int:
    return written if isinstance(written, int) and 0 <= written <= MOST else 0


def _frame(tokenizer: Tokenizer) -> Frame:
    """Read off two texts that the tokenizer has framed."""
    tokenizer.no_padding()
    tokenizer.no_truncation()
    one, two = tokenizer.encode("a"), tokenizer.encode("a", "a")
    homes = one.sequence_ids
    if 0 not in homes or not {0, 1} <= set(two.sequence_ids):
        return Frame((), (), ())
    start, stop = homes.index(0), len(homes) - homes[::-1].index(0)
    inner = two.sequence_ids.index(1)
    begun = len(two.sequence_ids[:inner]) - two.sequence_ids[:inner][::-1].index(0)
    return Frame(tuple(one.ids[:start]), tuple(one.ids[stop:]), tuple(two.ids[begun:inner]))


# Settings of a BERT's normalizer by their names in tokenizer_config.json, which Transformers believes first.
BERT = {
    "do_lower_case": "lowercase",
    "strip_accents": "strip_accents",
    "tokenize_chinese_chars": "handle_chinese_chars",
}


def _agreeing(text: str, config: Mapping[str, Any]) -> str:
    """The tokenizer.json with a BERT's normalizer as its tokenizer_config.json has it."""
    changes = {ours: config[theirs] for theirs, ours in BERT.items() if theirs in config}
    if not changes or '"BertNormalizer"' not in text:
        return text
    values = _parsed(text, TOKENIZER)
    normalizer = values.get("normalizer")
    if isinstance(normalizer, dict) and normalizer.get("type") == "BertNormalizer":
        values["normalizer"] = normalizer | changes
    return json.dumps(values)


def _table(path: Path) -> dict[str, Any]:
    """The object a JSON file holds; an empty one if there is no file."""
    return _parsed(_text(path), shown(path)) if path.exists() else {}


def _parsed(text: str, place: str) -> dict[str, Any]:
    try:
        values = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{place} is not JSON ({error}); fetch it again.") from None
    if not isinstance(values, dict):
        raise DataError(f"{place} holds a {type(values).__name__}, not an object of settings.")
    return values


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{shown(path)} cannot be read: {error}.") from None
