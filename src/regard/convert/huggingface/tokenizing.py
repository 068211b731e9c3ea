"""A tokenizer of ours as tokenizer.json and tokenizer_config.json, for AutoTokenizer."""

import json
from pathlib import Path
from typing import Any

import tokenizers
from tokenizers import AddedToken, Regex, decoders, normalizers, processors

from regard.errors import ConfigError
from regard.text import ForeignTokenizer, Frame, Tokenizer, Tokenizing
from regard.text.kinds import TOKENIZERS
from regard.text.patterns import CJK, CJK_MARKS

# A space before the text, and gone again where its first character needs none: replacing nothing by a space would
# leave the library without the places of what follows.
OPENING = (
    normalizers.Prepend(" "),
    normalizers.Replace(Regex(rf"\A (?=[{CJK}{CJK_MARKS}])"), ""),
)
FORMS = {"nfc": normalizers.NFC, "nfkc": normalizers.NFKC}
# The library's own way to strip a space falls over texts of nothing but spaces.
CLOSED = decoders.Replace(Regex(r"\A "), "")
SPACED = decoders.Sequence([decoders.Replace("▁", " "), decoders.Fuse(), CLOSED])
DECODERS: dict[str, Any] = {
    "bpe": SPACED,
    "unigram": SPACED,
    "byte_bpe": decoders.Sequence([decoders.ByteLevel(), CLOSED]),
    "word_piece": decoders.WordPiece("##"),
    "characters": decoders.Fuse(),
}


def write(
    tokenizer: Tokenizing, folder: Path, longest: int, segments: bool = False, frame: Frame | None = None
) -> None:
    """Both files in a folder that is there; a model with `segments` is told which of two texts a piece is in.

    A text with a `frame` of its own is gone on with.
    """
    made = library(tokenizer, frame)
    made.save(str(folder / "tokenizer.json"))
    config = _config(tokenizer, longest)
    # Transformers goes on after the last place of a row, where padding must not stand.
    config |= {} if frame is None else {"padding_side": "left"}
    config["model_input_names"] += ["token_type_ids"] if segments else []
    (folder / "tokenizer_config.json").write_text(json.dumps(config, indent=2) + "\n", "utf-8")


def library(tokenizer: Tokenizing, frame: Frame | None = None) -> tokenizers.Tokenizer:
    """The tokenizer as the library `tokenizers` has it, framing texts as our encoders want them unless told."""
    if isinstance(tokenizer, Tokenizer):
        made = _own(tokenizer)
    elif isinstance(tokenizer, ForeignTokenizer):
        made = tokenizers.Tokenizer.from_str(json.dumps(json.loads(tokenizer.to_json())["tokenizer"]))
    else:
        raise ConfigError(f"{type(tokenizer).__name__} is no tokenizer that Hugging Face's files can hold.")
    own = Frame(tokenizer.opening, tokenizer.closing, tokenizer.between)
    made.post_processor = _framing(tokenizer, own if frame is None else frame)
    return made


def _own(tokenizer: Tokenizer) -> tokenizers.Tokenizer:
    settings, kind = tokenizer.settings, TOKENIZERS[tokenizer.settings.kind]()
    made = tokenizers.Tokenizer(kind.model(tokenizer.vocabulary))
    made.pre_tokenizer = kind.splitter()
    steps: list[Any] = [FORMS[settings.unicode]()] if settings.unicode in FORMS else []
    steps += [normalizers.Lowercase()] if settings.lower else []
    steps += OPENING if kind.after_space else []
    if steps:
        made.normalizer = normalizers.Sequence(steps)
    if settings.kind in DECODERS:
        made.decoder = DECODERS[settings.kind]
    made.add_special_tokens([AddedToken(piece, special=True, normalized=False) for piece in _special(tokenizer)])
    made.add_tokens([AddedToken(piece, normalized=False, special=False) for piece in settings.extra])
    return made


def _special(tokenizer: Tokenizing) -> list[str]:
    return [tokenizer.piece(number) for number in sorted(tokenizer.special)]


def _framing(tokenizer: Tokenizing, frame: Frame) -> processors.TemplateProcessing:
    opening, closing, between = ([tokenizer.piece(number) for number in numbers] for numbers in frame)
    named = sorted({*frame.opening, *frame.closing, *frame.between})
    return processors.TemplateProcessing(
        single=[*opening, "$A", *closing],
        pair=[*opening, "$A", *between, "$B:1", *(f"{piece}:1" for piece in closing)],
        special_tokens=[(tokenizer.piece(number), number) for number in named],
    )


def _config(tokenizer: Tokenizing, longest: int) -> dict[str, Any]:
    config: dict[str, Any] = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "pad_token": tokenizer.piece(tokenizer.padding),
        "bos_token": tokenizer.piece(tokenizer.begin),
        "eos_token": tokenizer.piece(tokenizer.end),
        "unk_token": tokenizer.piece(tokenizer.unknown),
        "clean_up_tokenization_spaces": False,
        "model_max_length": longest,
        "model_input_names": ["input_ids", "attention_mask"],
    }
    mask = getattr(tokenizer, "mask", None)
    if mask is None and "<mask>" in tokenizer.pieces:
        mask = tokenizer.id("<mask>")
    return config | ({} if mask is None else {"mask_token": tokenizer.piece(mask)})
