"""Every kind of tokenizer keeps the same promises."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from regard.errors import ConfigError, DataError
from regard.text import BEGIN, END, PADDING, SPECIALS, UNKNOWN, Tokenizer, TokenizerSettings
from tests.text.corpus import CHINESE, ENGLISH, KINDS, LINES, SPACED, learned

every_kind = pytest.mark.parametrize("kind", KINDS)

# Anything Python calls a text, with what tokenizers trip over made likely.
ODD = [
    "</s>",
    "<pad>",
    *SPECIALS,
    "▁",
    "##",
    "Ġ",
    "é",
    "e\u0301",
    "ﬁ",
    "½",
    "İ",
    "ς",
    "\ud83d",
    "𠀀",
    "👩‍👩‍👧",
    "\u3000",
    "\x00",
    "한글",
]
texts = st.lists(st.one_of(st.text(), st.sampled_from(ODD), st.sampled_from(LINES))).map("".join)
known = st.text(st.sampled_from(sorted(set("".join(LINES)))))


@every_kind
class TestEveryKind:
    def test_special_pieces_come_first_and_then_the_extra_ones(self, kind: str) -> None:
        tokenizer = learned(kind, extra=("<2de>", "<2zh>"))
        assert tokenizer.pieces[:6] == (*SPECIALS, "<2de>", "<2zh>")
        assert (tokenizer.padding, tokenizer.begin, tokenizer.end, tokenizer.unknown) == (PADDING, BEGIN, END, UNKNOWN)
        assert (PADDING, BEGIN, END, UNKNOWN) == (0, 1, 2, 3)

    @given(text=texts)
    @example(text="")
    @example(text=" ")
    @example(text="a" * 2000)
    def test_no_text_breaks_it(self, kind: str, text: str) -> None:
        tokenizer = learned(kind)
        encoded = tokenizer.encode(text)
        assert len(encoded) == len(encoded.ids) == len(encoded.pieces) == len(encoded.spans)
        assert [tokenizer.piece(token) for token in encoded.ids] == encoded.pieces
        tokenizer.decode(encoded.ids)

    @pytest.mark.parametrize("unicode", ["none", "nfc", "nfkc"])
    @given(text=texts)
    def test_spans_run_forwards_and_cover_all_but_space(self, kind: str, unicode: str, text: str) -> None:
        spans = learned(kind, lower=unicode != "none", unicode=unicode, extra=("<2de>",)).encode(text).spans
        assert all(0 <= start <= end <= len(text) for start, end in spans)
        assert spans == sorted(spans)
        assert [end for _, end in spans] == sorted(end for _, end in spans)
        covered = {place for start, end in spans for place in range(start, end)}
        assert all(text[place].isspace() for place in range(len(text)) if place not in covered)

    @given(batch=st.lists(texts, max_size=4))
    def test_many_at_once_is_one_after_another(self, kind: str, batch: list[str]) -> None:
        tokenizer = learned(kind, unicode="nfkc", extra=("<2de>",))
        assert tokenizer.encode_many(batch) == [tokenizer.encode(text) for text in batch]
        assert tokenizer.ids_many(batch) == [tokenizer.encode(text).ids for text in batch]

    @given(text=texts)
    def test_saved_is_loaded(self, kind: str, text: str) -> None:
        tokenizer = learned(kind, lower=True, unicode="nfc", extra=("<2de>",))
        loaded = Tokenizer.from_json(tokenizer.to_json())
        assert loaded.to_json() == tokenizer.to_json()
        assert loaded.encode(text) == tokenizer.encode(text)
        assert loaded.decode(tokenizer.encode(text).ids) == tokenizer.decode(tokenizer.encode(text).ids)

    @pytest.mark.parametrize("literal", ["</s>", "<s>", "<pad>", "<unk>", "[MASK]", *SPECIALS])
    def test_text_that_looks_special_is_text(self, kind: str, literal: str) -> None:
        """Also where the tokenizer saw it in every line it learned from."""
        settings = TokenizerSettings(kind=kind, size=400)
        tokenizer = Tokenizer.learn(settings, [f"a {literal} b{literal} {literal}"] * 50, seed=1)
        encoded = tokenizer.encode(f"{literal} b{literal}")
        assert not set(encoded.ids) & {PADDING, BEGIN, END, UNKNOWN}
        assert tokenizer.decode(encoded.ids).replace(" ", "") == f"{literal}b{literal}"

    @given(text=texts)
    def test_no_text_gives_padding_begin_or_end(self, kind: str, text: str) -> None:
        assert not set(learned(kind).encode(text).ids) & {PADDING, BEGIN, END}

    def test_extra_pieces_are_never_cut(self, kind: str) -> None:
        tokenizer = learned(kind, lower=True, unicode="nfkc", extra=("<2DE>", "⟦1⟧"))
        encoded = tokenizer.encode("<2DE> The dog⟦1⟧sleeps")
        assert encoded.ids[0] == 4
        assert encoded.ids.count(5) == 1
        place = encoded.pieces.index("⟦1⟧")
        assert encoded.spans[0] == (0, 5)
        assert encoded.spans[place] == (13, 16)
        assert tokenizer.decode(encoded.ids).startswith("<2DE> the dog")

    def test_decoding_leaves_special_pieces_out(self, kind: str) -> None:
        tokenizer = learned(kind)
        ids = tokenizer.encode("The small dog is running, isn't it?").ids
        padded = [BEGIN, *ids, END, PADDING, PADDING]
        assert tokenizer.decode(padded) == tokenizer.decode(ids)
        assert tokenizer.decode([]) == tokenizer.decode([BEGIN, END]) == ""

    def test_an_unknown_piece_can_be_shown(self, kind: str) -> None:
        tokenizer = learned(kind)
        ids = [*tokenizer.encode("The dog").ids, UNKNOWN]
        assert tokenizer.decode(ids) == "The dog"
        assert tokenizer.decode(ids, unknown="⁇").replace(" ", "") == "Thedog⁇"

    def test_the_texts_it_learned_from_are_known(self, kind: str) -> None:
        assert learned(kind).unknown_rate(LINES) == 0
        assert learned(kind).unknown_rate([]) == 0

    @pytest.mark.parametrize("line", LINES[::5])
    def test_ordinary_lines_come_back_as_they_were(self, kind: str, line: str) -> None:
        assert learned(kind).change(line) is None
        assert learned(kind).round_trip(line)

    def test_lower_casing_is_no_loss_but_what_was_asked_for(self, kind: str) -> None:
        tokenizer = learned(kind, lower=True)
        assert tokenizer.decode(tokenizer.encode("THE DOG").ids) == "the dog"
        assert tokenizer.round_trip("The Small Dog")

    def test_a_character_has_all_pieces_it_became(self, kind: str) -> None:
        """One character of the text that is two after normalization: ﬁ is f and i."""
        encoded = learned(kind, unicode="nfkc").encode("ﬁsh 1")
        assert encoded.spans[0][0] == 0
        assert encoded.spans[-1][1] == 5

    def test_composed_and_decomposed_letters_are_the_same_pieces(self, kind: str) -> None:
        tokenizer = learned(kind, unicode="nfc")
        composed, decomposed = tokenizer.encode("schön!"), tokenizer.encode("scho\u0308n!")
        assert composed.ids == decomposed.ids
        assert decomposed.spans[-1][1] == 7

    def test_the_size_is_never_more_than_asked(self, kind: str) -> None:
        assert learned(kind, size=270).size <= 270
        assert learned(kind, size=100_000).size < 2_000

    def test_a_vocabulary_of_too_little_text_is_smaller_and_says_so(self, kind: str) -> None:
        tokenizer = learned(kind, size=100_000)
        assert f"{tokenizer.size} pieces of 100000 asked for" in str(tokenizer)
        assert f"learned from {len(LINES)} of {len(LINES)} lines" in str(tokenizer)

    @pytest.mark.parametrize("empty", [[], ["", "  "], ["<2de>", " <2de>"]])
    def test_nothing_to_learn_from(self, kind: str, empty: list[str]) -> None:
        with pytest.raises(DataError, match=f"nothing to learn a tokenizer from: {len(empty)} lines"):
            Tokenizer.learn(TokenizerSettings(kind=kind, extra=("<2de>",)), empty, seed=1)

    def test_rare_pieces_are_left_out_when_asked(self, kind: str) -> None:
        lines = ["aa bb aa bb aa bb ☃"] * 3 + ["zz"]
        tokenizer = Tokenizer.learn(TokenizerSettings(kind=kind, size=300, least=3), lines, seed=1)
        assert "zz" not in tokenizer.pieces
        # Bytes are all known; a snowman is not learned only because there is a zz.
        assert (tokenizer.encode("zz").ids.count(UNKNOWN) > 0) == (kind != "byte_bpe")
        assert tokenizer.encode("☃ aa").ids.count(UNKNOWN) == 0

    def test_a_seeded_sample_is_learned_from(self, kind: str) -> None:
        settings = TokenizerSettings(kind=kind, size=400, sample=10)
        one, same, other = (Tokenizer.learn(settings, iter(LINES), seed).to_json() for seed in (1, 1, 2))
        assert one == same != other
        assert Tokenizer.from_json(one).origin.used == 10
        assert Tokenizer.from_json(one).origin.lines == len(LINES)

    def test_another_process_learns_the_same(self, kind: str) -> None:
        """Hash tables are seeded anew in every process."""
        assert learned_elsewhere()[kind] == learned(kind).to_json()

    def test_lone_surrogates_are_learned_from_and_read_as_replacement_characters(self, kind: str) -> None:
        tokenizer = Tokenizer.learn(TokenizerSettings(kind=kind, size=300), ["a \ud83d b"] * 3, seed=1)
        assert tokenizer.encode("a \ud83d").ids == tokenizer.encode("a \ufffd").ids
        assert tokenizer.decode(tokenizer.encode("a \ud83d").ids) == "a \ufffd"
        assert not tokenizer.round_trip("\ud83d")

    def test_it_says_what_it_keeps(self, kind: str) -> None:
        assert learned(kind).keeps

    def test_pieces_and_tokens_name_each_other(self, kind: str) -> None:
        tokenizer = learned(kind)
        assert [tokenizer.id(piece) for piece in tokenizer.pieces] == list(range(tokenizer.size))
        assert [tokenizer.piece(token) for token in range(tokenizer.size)] == list(tokenizer.pieces)

    @pytest.mark.parametrize("token", [-1, 100_000])
    def test_a_token_that_is_none_of_its_own(self, kind: str, token: int) -> None:
        with pytest.raises(DataError, match=f"No token {token} in this vocabulary"):
            learned(kind).decode([4, token])


ELSEWHERE = """
import json
from tests.text.corpus import KINDS, learned
print(json.dumps({kind: learned(kind).to_json() for kind in KINDS}))
"""
_elsewhere: dict[str, str] = {}


def learned_elsewhere() -> dict[str, str]:
    """What a process of its own learns, of every kind."""
    if not _elsewhere:
        root = Path(__file__).parents[2]
        run = subprocess.run([sys.executable, "-c", ELSEWHERE], cwd=root, capture_output=True, text=True, check=True)
        _elsewhere.update(json.loads(run.stdout))
    return _elsewhere


@given(text=texts.filter(lambda text: "\ud83d" not in text))
@example(text="  two  spaces  ")
@example(text="\n\ttabs\r\n")
@example(text=" 北京")
def test_bytes_restore_every_text(text: str) -> None:
    assert learned("byte_bpe").change(text) is None


@pytest.mark.parametrize("kind", SPACED)
@given(text=known)
@example(text="  The  dog ")
@example(text=" 我们")
@example(text=" ")
def test_known_characters_come_back_with_all_their_spaces(kind: str, text: str) -> None:
    assert learned(kind).decode(learned(kind).encode(text).ids) == text


@pytest.mark.parametrize("kind", SPACED)
@given(parts=st.lists(st.one_of(known, st.just("<2de>"))))
def test_spaces_around_extra_pieces_come_back(kind: str, parts: list[str]) -> None:
    assert learned(kind, extra=("<2de>",)).change("".join(parts)) is None


@pytest.mark.parametrize("kind", ["words", "word_piece"])
@pytest.mark.parametrize(
    "text",
    [
        'He said: "don\'t (ever) do that!"',
        "It's 3,000.50 € for the dogs' well-known U.S. friends.",
        "我们在北京看书，喝茶。",
        "Sie sagte: „Obst- und Gemüse“, und/oder nichts…",
        "«Oui» costs $5 & 10% — “really”?",
    ],
)
def test_words_come_back_by_rule(kind: str, text: str) -> None:
    tokenizer = Tokenizer.learn(TokenizerSettings(kind=kind, size=300), [text], seed=1)
    assert tokenizer.decode(tokenizer.encode(text).ids) == text


@pytest.mark.parametrize("kind", ["words", "word_piece", "spaced"])
def test_words_forget_how_many_spaces_there_were(kind: str) -> None:
    change = learned(kind).change("The  dog")
    assert change is not None
    assert (change.start, change.before, change.after) == (4, " ", "")


def test_what_is_lost_is_shown() -> None:
    change = learned("bpe").change("The ☃ dog")
    assert change is not None
    assert (change.start, change.before, change.after) == (4, "☃", "")


def test_whole_words_are_pieces_of_their_own() -> None:
    encoded = learned("words").encode("The dog doesn't cost 3,000.50!")
    assert [(encoded.text[start:end]) for start, end in encoded.spans] == [
        "The", "dog", "doesn't", "cost", "3,000.50", "!",
    ]  # fmt: skip
    assert encoded.pieces == ["The", "dog", "doesn't", "<unknown>", "3,000.50", "!"]


def test_text_cut_into_words_already_stays_so() -> None:
    line = "the <unk> @-@ B-PER , AH0"
    tokenizer = Tokenizer.learn(TokenizerSettings(kind="spaced", size=50), [line], seed=1)
    assert tokenizer.encode(line).pieces == line.split()
    assert tokenizer.round_trip(line)


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_chinese_is_learned_in_words_without_spaces(kind: str) -> None:
    tokenizer = Tokenizer.learn(TokenizerSettings(kind=kind, size=60), CHINESE, seed=1)
    pieces = tokenizer.encode("我们在北京工作。").pieces
    assert "".join(pieces) == "我们在北京工作。"
    assert len(pieces) < 8


def test_characters_are_characters() -> None:
    encoded = learned("characters").encode("a  书")
    assert encoded.pieces == ["a", " ", " ", "书"]
    assert encoded.spans == [(0, 1), (1, 2), (2, 3), (3, 4)]


def test_every_byte_piece_spans_its_whole_character() -> None:
    encoded = learned("byte_bpe").encode("👍🏽é")
    assert set(encoded.spans) <= {(0, 0), (0, 1), (1, 2), (0, 2), (1, 3), (2, 3)}
    assert encoded.spans[-1] == (2, 3)


def test_a_word_has_the_same_pieces_first_and_later() -> None:
    for kind in ("bpe", "byte_bpe", "unigram"):
        tokenizer = learned(kind)
        first, later = tokenizer.encode("dog").ids, tokenizer.encode("The dog").ids
        assert later[-len(first) :] == first


def test_rare_characters_give_way_when_there_is_no_room() -> None:
    for kind in ("bpe", "unigram", "characters"):
        tokenizer = Tokenizer.learn(TokenizerSettings(kind=kind, size=8), ["aaa bbb ccc", "aab ☃"], seed=1)
        assert tokenizer.size == 8
        assert {"a", "b"} <= {piece.strip("▁") for piece in tokenizer.pieces}
        assert tokenizer.encode("☃").ids.count(UNKNOWN) == 1


def test_it_is_saved_as_a_file(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    learned("unigram").save(path)
    assert Tokenizer.load(path).to_json() == learned("unigram").to_json()
    with pytest.raises(DataError, match=r"none\.json cannot be read"):
        Tokenizer.load(tmp_path / "none.json")
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(DataError, match=r"tokenizer\.json cannot be read"):
        Tokenizer.load(path)


def altered(kind: str, **changes: Any) -> str:
    return json.dumps(json.loads(learned(kind).to_json()) | changes)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        (learned("bpe").to_json()[:1000], "is not JSON"),
        ("[]", "is not a tokenizer Regard wrote"),
        ('{"version": "1.0", "model": {"type": "BPE"}}', "is not a tokenizer Regard wrote"),
        (altered("bpe", version=99), "has format 99, and this Regard reads format 1"),
        (altered("bpe", format="other"), "is not a tokenizer Regard wrote"),
        (altered("bpe", more=1), "is damaged: Unknown setting 'more'"),
        (altered("bpe", pieces=["a", "b"]), "do not begin with <padding>"),
        (altered("bpe", pieces=[*SPECIALS, "a", "a"]), "one occurs twice"),
        (altered("bpe", pieces=[*SPECIALS, ""]), "is damaged: pieces.4"),
        (altered("bpe", pieces=[*SPECIALS, "\ud83d"]), "is damaged"),
        (altered("bpe", merges=["x y z"]), "is damaged: merges.0"),
        (altered("bpe", merges=["never there"]), "is damaged"),
        (altered("byte_bpe", pieces=[*SPECIALS, "a"], merges=[]), "no piece for 255 of the 256 bytes"),
        (altered("unigram", scores=[]), "is damaged"),
        (altered("unigram", scores=[float("nan")]), "is damaged: scores.0"),
        (altered("words", settings={"kind": "wordz"}), "Did you mean 'words'"),
    ],
)
def test_a_foreign_or_damaged_tokenizer_is_one_sentence(text: str, reason: str) -> None:
    with pytest.raises(DataError) as caught:
        Tokenizer.from_json(text, place="x.json")
    message = str(caught.value)
    assert message.startswith("x.json ")
    assert message.endswith(".")
    assert "\n" not in message
    assert reason in message


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"kind": "bpee"}, "Unknown tokenizer 'bpee'. Did you mean 'bpe'?"),
        ({"size": 0}, "size = 0"),
        ({"size": 4}, "size = 4 is too small; bpe needs 5 or more"),
        ({"kind": "byte_bpe", "size": 200, "extra": ["<2de>"]}, "byte_bpe needs 261 or more"),
        ({"unicode": "nfd"}, "unicode = 'nfd'"),
        ({"extra": ["<a b>"]}, "'<a b>' cannot be a piece"),
        ({"extra": [""]}, "'' cannot be a piece"),
        ({"extra": ["\ud83d"]}, "cannot be a piece"),
        ({"extra": ["<end>"]}, "there already is a piece '<end>'"),
        ({"extra": ["<x>", "<x>"]}, "there already is a piece '<x>'"),
        ({"sise": 3}, "Did you mean 'size'?"),
    ],
)
def test_settings_that_cannot_be_are_explained(values: dict[str, Any], reason: str) -> None:
    with pytest.raises(ConfigError) as caught:
        TokenizerSettings.read(values, "tokenizer")
    assert reason in str(caught.value)


def test_a_piece_that_is_not_there_is_named() -> None:
    with pytest.raises(DataError, match=r"No piece '<2dd>' in this vocabulary of \d+. Did you mean '<2de>'"):
        learned("bpe", extra=("<2de>",)).id("<2dd>")


def test_the_longer_of_two_extra_pieces_wins() -> None:
    tokenizer = learned("bpe", lower=True, extra=("<a", "<a>"))
    assert tokenizer.encode("<a>").pieces == ["<a>"]
    assert tokenizer.encode("<aX").pieces[0] == "<a"


def test_an_encoded_text_shows_itself() -> None:
    encoded = learned("characters").encode("Ein")
    assert repr(encoded) == f"Encoded(ids={encoded.ids}, pieces=['E', 'i', 'n'], spans=[(0, 1), (1, 2), (2, 3)])"
    assert encoded != "Ein"


def test_english_survives_a_chinese_vocabulary_without_room() -> None:
    tokenizer = Tokenizer.learn(TokenizerSettings(kind="word_piece", size=30), CHINESE + ENGLISH, seed=1)
    assert tokenizer.size <= 30
