"""Tokenizers as others make them, at toy size: one of every kind that cuts, normalizes or decodes in its own way."""

import json
from functools import cache
from typing import Any

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from regard.text import ForeignTokenizer, Specials
from tests.text.corpus import LINES

BERT = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
CHATML = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
SENTENCES = ["<unk>", "<s>", "</s>", "<pad>", "<a▁b>"]


def word_piece() -> Tokenizer:
    made = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer(lowercase=True)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.decoder = decoders.WordPiece()
    made.train_from_iterator(LINES, trainers.WordPieceTrainer(vocab_size=200, special_tokens=BERT, show_progress=False))
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    made.enable_truncation(4)
    made.enable_padding(length=4)
    return made


def byte_bpe() -> Tokenizer:
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=400, special_tokens=CHATML, initial_alphabet=alphabet, show_progress=False)
    made.train_from_iterator(LINES, trainer)
    made.add_tokens([AddedToken("<think>", normalized=False)])
    return made


def unigram() -> Tokenizer:
    """Its model would itself find "</s>", which is a piece like any other to it."""
    found = sorted({character for line in LINES for character in line} | set("<>/s▁"))
    scored = [(piece, 0.0) for piece in SENTENCES] + [(piece, -5.0) for piece in found] + [("▁the", -2.0)]
    made = Tokenizer(models.Unigram(scored, unk_id=0))
    made.normalizer = normalizers.NFKC()
    made.pre_tokenizer = pre_tokenizers.Metaspace()
    made.decoder = decoders.Metaspace()
    made.add_special_tokens(SENTENCES[:4])
    return made


def words() -> Tokenizer:
    """A word that spells a special piece would be that piece to its model."""
    made = Tokenizer(
        models.WordLevel({piece: i for i, piece in enumerate([*SENTENCES, "the", "<"])}, unk_token="<unk>")
    )
    made.pre_tokenizer = pre_tokenizers.Split(Regex(r"\s+"), "removed")
    return made


def byte_fallback() -> Tokenizer:
    """As Llama had it: characters, and bytes for those it does not know."""
    pieces = [*SENTENCES, *(f"<0x{byte:02X}>" for byte in range(256)), "▁", *"abehlotcs", "th", "the", "▁the", "\n"]
    merges = [("t", "h"), ("th", "e"), ("▁", "the")]
    vocabulary = {piece: i for i, piece in enumerate(pieces)}
    made = Tokenizer(models.BPE(vocabulary, merges, byte_fallback=True, fuse_unk=True, unk_token="<unk>"))
    made.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    made.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    return made


MAKERS: dict[str, Any] = {
    "word_piece": (word_piece, {"padding": 0, "begin": 2, "end": 3, "unknown": 1, "mask": 4}),
    "byte_bpe": (byte_bpe, {"padding": 2, "begin": 1, "end": 2, "unknown": 0}),
    "unigram": (unigram, {"padding": 3, "begin": 1, "end": 2, "unknown": 0, "mask": 4}),
    "words": (words, {"padding": 3, "begin": 1, "end": 2, "unknown": 0, "mask": 4}),
    "byte_fallback": (byte_fallback, {"padding": 3, "begin": 1, "end": 2, "unknown": 0, "size": 300}),
}
TOYS = list(MAKERS)
SPELLED = [*BERT, *CHATML, *SENTENCES, "<a b>", "＜/s＞", "<think>"]


@cache
def written(name: str) -> str:
    """The tokenizer.json of a toy."""
    return str(MAKERS[name][0]().to_str())


@cache
def foreign(name: str) -> ForeignTokenizer:
    return ForeignTokenizer.of(written(name), Specials(**MAKERS[name][1]))


def changed(name: str, **fields: Any) -> str:
    """What `to_json` writes of a toy, with other values in it."""
    return json.dumps(json.loads(foreign(name).to_json()) | fields)


def framed() -> ForeignTokenizer:
    """As BART has it: <s> before a text and </s> after it, which also begins what is written."""
    made = {"padding": 3, "begin": 2, "end": 2, "unknown": 0, "opening": (1,), "closing": (2,)}
    return ForeignTokenizer.of(written("words"), Specials(**made))
