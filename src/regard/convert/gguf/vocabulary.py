"""The tokenizer in a GGUF file's metadata, written down as the tokenizer.json it once was.

To add a way of cutting text before the merges: one line in SPLITS.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from regard.convert.gguf.file import File
from regard.convert.gguf.metadata import entries, entry, optional
from regard.errors import DataError, unknown
from regard.files import shown
from regard.text import ForeignTokenizer, Specials

UNKNOWN, CONTROL, ADDED = 2, 3, 4

Table = dict[str, Any]

_BYTES: Table = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": True}
_BYTES_ONLY: Table = _BYTES | {"use_regex": False}
_DIGITS: Table = {"type": "Digits", "individual_digits": True}

# Words with what stands before them, numbers of up to so many digits, marks, and spaces.
_WORDS = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}%s| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def _split(pattern: str) -> Table:
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}


# By the name in tokenizer.ggml.pre.
SPLITS: dict[str, list[Table]] = {
    "default": [_BYTES],
    "gpt-2": [_BYTES],
    "smollm": [_DIGITS, _BYTES],
    "starcoder": [_DIGITS, _BYTES],
    "refact": [_DIGITS, _BYTES],
    "command-r": [_DIGITS, _BYTES],
    "llama-bpe": [_split(_WORDS % "{1,3}"), _BYTES_ONLY],
    "llama3": [_split(_WORDS % "{1,3}"), _BYTES_ONLY],
    "qwen2": [_split(_WORDS % ""), _BYTES_ONLY],
}
# Those that take a word which is a piece as that piece, whatever the merges.
WHOLE = {"llama-bpe", "llama3"}


def tokenizer(file: File, size: int) -> ForeignTokenizer:
    """The tokenizer of a file whose model has that many rows."""
    kind = entry(file, "tokenizer.ggml.model", str)
    if kind not in KINDS:
        raise DataError(f"{shown(file.path)}: {unknown('tokenizer.ggml.model', kind, KINDS)}")
    pieces = entries(file, "tokenizer.ggml.tokens", str)
    if not pieces or len(set(pieces)) < len(pieces):
        raise DataError(f"{shown(file.path)} is damaged: it has no tokenizer.ggml.tokens, or one occurs twice.")
    written = KINDS[kind](file, pieces) | {"version": "1.0", "added_tokens": list(_added(file, pieces))}
    return ForeignTokenizer.of(json.dumps(written), _specials(file, kind, size), f"The tokenizer of {shown(file.path)}")


def _gpt2(file: File, pieces: Sequence[str]) -> Table:
    """Byte-pair encoding over bytes."""
    name = optional(file, "tokenizer.ggml.pre", str) or "default"
    if name not in SPLITS:
        raise DataError(f"{shown(file.path)}: {unknown('tokenizer.ggml.pre', name, SPLITS)}")
    merges = [merge.split(" ") for merge in entries(file, "tokenizer.ggml.merges", str)]
    model = _bpe(pieces, merges) | {"ignore_merges": name in WHOLE}
    splits = {"type": "Sequence", "pretokenizers": SPLITS[name]}
    return {"normalizer": None, "pre_tokenizer": splits, "decoder": _BYTES, "model": model}


def _llama(file: File, pieces: Sequence[str]) -> Table:
    """SentencePiece: of two neighbours that make a piece, those first that make the best one."""
    scores = entries(file, "tokenizer.ggml.scores", float)
    if len(scores) != len(pieces):
        raise DataError(f"{shown(file.path)} is damaged: {len(scores)} scores for {len(pieces)} tokens.")
    model = _bpe(pieces, _merges(pieces, scores)) | {"byte_fallback": True, "fuse_unk": True}
    model["unk_token"] = pieces[_token(file, "unknown", 0)]
    leads = optional(file, "tokenizer.ggml.add_space_prefix", bool) is not False
    prepend = [{"type": "Prepend", "prepend": "▁"}] if leads else []
    replace = {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}
    back = {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}
    strip = [{"type": "Strip", "content": " ", "start": 1, "stop": 0}] if leads else []
    decoders = [back, {"type": "ByteFallback"}, {"type": "Fuse"}, *strip]
    return {
        "normalizer": {"type": "Sequence", "normalizers": [*prepend, replace]},
        "pre_tokenizer": None,
        "decoder": {"type": "Sequence", "decoders": decoders},
        "model": model,
    }


KINDS = {"gpt2": _gpt2, "llama": _llama}


def _bpe(pieces: Sequence[str], merges: Sequence[Sequence[str]]) -> Table:
    return {"type": "BPE", "vocab": {piece: token for token, piece in enumerate(pieces)}, "merges": list(merges)}


def _merges(pieces: Sequence[str], scores: Sequence[float]) -> list[tuple[str, str]]:
    """Every pair of pieces that make a piece, the best piece first, of the same piece the longest beginning last."""
    known = dict(zip(pieces, range(len(pieces)), strict=True))
    order = sorted(range(len(pieces)), key=lambda token: (-scores[token], token))
    return [
        (piece[:cut], piece[cut:])
        for piece in (pieces[token] for token in order)
        for cut in range(1, len(piece))
        if piece[:cut] in known and piece[cut:] in known
    ]


def _added(file: File, pieces: Sequence[str]) -> Iterator[Table]:
    """The pieces that are found in a text as they stand, and the special ones."""
    kinds = entries(file, "tokenizer.ggml.token_type", int) if "tokenizer.ggml.token_type" in file.metadata else []
    for token, (piece, kind) in enumerate(zip(pieces, kinds, strict=False)):
        if kind in (UNKNOWN, CONTROL, ADDED):
            plain = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
            yield {"id": token, "content": piece, "special": kind != ADDED, **plain}


def _specials(file: File, kind: str, size: int) -> Specials:
    end = _token(file, "eos", -1)
    if end < 0:
        raise DataError(f"{shown(file.path)} has no entry 'tokenizer.ggml.eos_token_id'; convert the model again.")
    begin = _token(file, "bos", end)
    first = optional(file, "tokenizer.ggml.add_bos_token", bool)
    last = optional(file, "tokenizer.ggml.add_eos_token", bool)
    values = {
        "padding": _token(file, "padding", end),
        "begin": begin,
        "end": end,
        "unknown": _token(file, "unknown", 0 if kind == "llama" else end),
        "opening": (begin,) if (kind == "llama" if first is None else first) else (),
        "closing": (end,) if last else (),
        "size": size,
    }
    return Specials.read(values, shown(file.path))


def _token(file: File, name: str, otherwise: int) -> int:
    found = optional(file, f"tokenizer.ggml.{name}_token_id", int)
    count = len(entries(file, "tokenizer.ggml.tokens", str))
    if found is not None and not 0 <= found < count:
        raise DataError(f"{shown(file.path)} is damaged: its {name}_token_id is {found}, of {count} tokens.")
    return otherwise if found is None else found
