"""Words by their letters: against the plain formula, alone and in company, with and without letters."""

import jaxtyping
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.testing import assert_close

from regard.attention import record
from regard.errors import ConfigError, ModelError
from regard.nn import Characters, CharactersSettings

LETTERS, OUT = 7, 6
KINDS = ("convolution", "recurrent")
WORDS = st.lists(st.lists(st.integers(0, LETTERS - 1), max_size=5), min_size=1, max_size=8)
every_kind = pytest.mark.parametrize("kind", KINDS)


def characters(kind: str, **settings: object) -> Characters:
    torch.manual_seed(0)
    return Characters(CharactersSettings.read({"kind": kind, "width": 4, "out": OUT, **settings}), LETTERS).eval()


def rectangle(words: list[list[int]], extra: int = 0, filler: int = 0) -> tuple[Tensor, Tensor]:
    """One text of these words, with so many places too many."""
    longest = max(1, *map(len, words)) + extra
    letters = torch.tensor([[word + [filler] * (longest - len(word)) for word in words]])
    return letters, torch.tensor([[[place < len(word) for place in range(longest)] for word in words]])


@every_kind
@given(words=WORDS)
@torch.no_grad()
def test_a_word_is_the_same_alone_and_in_any_company(kind: str, words: list[list[int]]) -> None:
    made = characters(kind)
    together = made(*rectangle(words))
    assert together.shape == (1, len(words), OUT)
    for place, word in enumerate(words):
        assert_close(together[:, place : place + 1], made(*rectangle([word])), atol=1e-6, rtol=0)
        assert bool(together[0, place].any()) == bool(word)


@every_kind
@given(words=WORDS, extra=st.integers(1, 4), filler=st.integers(-3, LETTERS + 3))
@torch.no_grad()
def test_padding_changes_nothing(kind: str, words: list[list[int]], extra: int, filler: int) -> None:
    made = characters(kind)
    assert torch.equal(made(*rectangle(words, extra, filler)), made(*rectangle(words)))


@pytest.mark.parametrize("kernel", [1, 2, 3, 4])
@torch.no_grad()
def test_a_convolution_gives_its_highest_answer(kernel: int) -> None:
    made, word = characters("convolution", kernel=kernel), [3, 1, 4, 1]
    before, after = (kernel - 1) // 2, kernel // 2
    row = torch.cat([torch.zeros(before, 4), made.vectors[word], torch.zeros(after, 4)])
    answers = [made.read.convolve.product(row[place : place + kernel].flatten()) for place in range(len(word))]
    assert_close(made(*rectangle([word, [2], []]))[0, 0], torch.stack(answers).amax(0))


@torch.no_grad()
def test_a_recurrent_word_is_where_torchs_lstm_ends_either_way() -> None:
    made, word = characters("recurrent"), [3, 1, 4]
    _, (ends, _) = made.read.layers.blocks[0](made.vectors[word][None])
    assert_close(made(*rectangle([word, [2, 2, 2, 2], []]))[0, 0], ends[:, 0].flatten())


@every_kind
def test_letters_that_are_not_there_get_no_gradient_and_nothing_turns_nan(kind: str) -> None:
    made = characters(kind).train()
    letters, real = rectangle([[1, 2], [], [1, 2], [3]], extra=2, filler=5)
    made(letters, real).square().sum().backward()
    assert all(parameter.grad.isfinite().all() for parameter in made.parameters())
    assert made.vectors.grad.any(1).nonzero().flatten().tolist() == [1, 2, 3]


@every_kind
def test_a_batch_of_empty_words_is_zeros_and_can_be_trained_on(kind: str) -> None:
    made = characters(kind)
    found = made(torch.zeros(2, 3, 4, dtype=torch.long), torch.zeros(2, 3, 4, dtype=torch.bool))
    assert torch.equal(found, torch.zeros(2, 3, OUT))
    found.sum().backward()
    assert all(parameter.grad.isfinite().all() for parameter in made.parameters())


@every_kind
def test_watching_changes_not_a_bit(kind: str) -> None:
    letters, real = rectangle([[1, 2], [], [4, 2, 6]])
    found = []
    for watched in (False, True):
        made = characters(kind, dropout=0.3).train()
        torch.manual_seed(1)
        if watched:
            with record(made, "*") as seen:
                words = made(letters, real)
            assert torch.equal(seen[-1].tensor, words)
        else:
            words = made(letters, real)
        words.sum().backward()
        found.append([words, *(parameter.grad for parameter in made.parameters())])
    assert all(torch.equal(one, other) for one, other in zip(*found, strict=True))


def test_letters_that_cannot_be_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)
    made, (letters, real) = characters("convolution"), rectangle([[1, 2, 3]])
    for wrong, mask, words in (
        (letters + 4, real, "Letter 7 is none of the 7 letters"),
        (letters - 2, real, "Letter -1 is none of the 7 letters"),
        (letters, real.long(), "True = real"),
        (letters, real[..., :2], "expected torch.bool of shape"),
        (letters[..., :0], real[..., :0], "at least one text, word and place"),
    ):
        with pytest.raises(ModelError, match=words):
            made(wrong, mask)
    with pytest.raises(ConfigError, match="kind = 'convolutional'"):
        characters("convolutional")


def test_one_letter_of_difference_is_seen() -> None:
    for kind in KINDS:
        one, other = characters(kind)(*rectangle([[1, 2, 3], [1, 2, 4]]))[0]
        assert not torch.allclose(one, other)
