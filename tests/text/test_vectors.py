"""Reading pretrained vectors."""

import gzip
from pathlib import Path

import numpy as np
import pytest

from regard.errors import DataError
from regard.text import read_vectors

GLOVE = "the 1 2 3\n, 4 5 6\nMöbel 7 8 9\n. . . 0 0 1\nthe 9 9 9\n"
FASTTEXT = "5 3\nthe 1 2 3 \n, 4 5 6 \nMöbel 7 8 9 \n. . . 0 0 1 \nthe 9 9 9 \n"


def written(folder: Path, text: str, name: str = "vectors.txt") -> Path:
    path = folder / name
    content = text.encode()
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    return path


@pytest.mark.parametrize("text", [GLOVE, FASTTEXT, GLOVE.replace("\n", "\r\n"), "\n" + GLOVE])
@pytest.mark.parametrize("name", ["vectors.txt", "vectors.vec.gz"])
def test_words_asked_for_are_found_in_the_order_asked(tmp_path: Path, text: str, name: str) -> None:
    vectors = read_vectors(written(tmp_path, text, name), ["Möbel", "absent", "the", "the", ". . ."])
    assert vectors.words == ("Möbel", "the", ". . .")
    assert vectors.rows.tolist() == [[7, 8, 9], [1, 2, 3], [0, 0, 1]]
    assert vectors.rows.dtype == np.float32
    assert vectors.width == 3
    assert vectors.coverage == 0.75


def test_a_word_that_is_only_there_in_lower_case(tmp_path: Path) -> None:
    path = written(tmp_path, GLOVE + "The 5 5 5\n")
    assert read_vectors(path, ["THE", "The", "möbel"]).rows.tolist() == [[1, 2, 3], [5, 5, 5]]
    assert read_vectors(path, ["THE", "The"], lower=False).words == ("The",)


def test_nothing_found_is_no_error(tmp_path: Path) -> None:
    vectors = read_vectors(written(tmp_path, GLOVE), ["absent", "\ud83d"])
    assert vectors.coverage == 0
    assert vectors.rows.shape == (0, 3)
    assert read_vectors(written(tmp_path, GLOVE), []).coverage == 0


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("the 1 2 3\nof 1 2\n", "line 2: 2 numbers after the word, expected 3."),
        ("3 3\nthe 1 2 3\nof 1\n", "line 3: 1 numbers after the word, expected 3."),
        ("the 1 x 3\n", "line 1: could not convert"),
        ("of 1 2 3\nthe 1 nan 3\n", "line 2: a number that is not finite."),
        ("", "holds no vectors"),
        ("1 300\n", "holds no vectors"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, text: str, reason: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(DataError) as caught:
        read_vectors(path, ["the"])
    assert str(caught.value).startswith(str(path))
    assert reason in str(caught.value)


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"No file .*none\.txt"):
        read_vectors(tmp_path / "none.txt", ["the"])
    cut = tmp_path / "cut.gz"
    cut.write_bytes(gzip.compress(GLOVE.encode())[:-10])
    with pytest.raises(DataError, match=r"cut\.gz line \d+: the gzip data end too early"):
        read_vectors(cut, ["the"])
