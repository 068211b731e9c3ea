"""Pieces merged into words: nothing is lost, nothing crosses a separator."""

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from regard.explain.attribution import Attribution, Axis, Unit
from regard.explain.words import by_words

SEPARATOR = Unit("<sep>", special=True)


def pieces(text: str, cuts: set[int]) -> list[Unit]:
    """The text cut at these places."""
    edges = [0, *sorted(cut for cut in cuts if 0 < cut < len(text)), len(text)]
    spans = list(pairwise(edges)) if text else []
    return [Unit(text[start:end], (start, end)) for start, end in spans]


def attribution(outputs: Axis, inputs: Axis, error: bool = False) -> Attribution:
    weights = np.arange(1.0, 1 + len(outputs) * len(inputs)).reshape(len(outputs), len(inputs))
    return Attribution("x", outputs, inputs, weights, error=weights / 10 if error else None)


TEXTS = st.text("ab 北。", min_size=1, max_size=14)
CUTS = st.sets(st.integers(1, 14))


@given(TEXTS, CUTS, TEXTS, CUTS)
def test_sums_over_inputs_and_means_over_outputs_are_kept(one: str, cuts: set[int], other: str, more: set[int]) -> None:
    outputs, inputs = Axis(one, tuple(pieces(one, cuts))), Axis(other, (*pieces(other, more), SEPARATOR))
    before = attribution(outputs, inputs)
    after = by_words(before)
    assert np.allclose(by_words(Attribution("x", Axis("", (Unit("y"),)), inputs, before.weights[:1])).weights.sum(),
                       before.weights[:1].sum())  # fmt: skip
    assert after.weights.min() >= before.weights.min()
    assert after.weights.sum(1).max() <= before.weights.sum(1).max() + 1e-9
    assert after.weights.sum(1).min() >= before.weights.sum(1).min() - 1e-9
    assert np.allclose(after.weights[:, -1].max(initial=0), after.weights[-1, -1])


@given(TEXTS, CUTS)
def test_words_are_in_order_and_cover_what_their_pieces_did(text: str, cuts: set[int]) -> None:
    found = by_words(attribution(Axis("", (Unit("label"),)), Axis(text, (SEPARATOR, *pieces(text, cuts)))))
    units = found.inputs.units[1:]
    assert found.inputs.units[0] is SEPARATOR
    assert all(text[slice(*unit.span)] == unit.text for unit in units if unit.span)
    assert "".join("".join(unit.text.split()) for unit in units) == "".join(text.split())


def test_a_hand_worked_example() -> None:
    text = "un believable fun"
    inputs = Axis(text, (*pieces(text, {2, 3, 7, 13}), SEPARATOR))
    outputs = Axis("sehr gut", tuple(pieces("sehr gut", {2, 4, 5})))
    before = Attribution(
        "x", outputs, inputs, np.tile([1.0, 10, 100, 1000, 10000, 5], (4, 1)) * [[1], [3], [2], [2]],
        error=np.full((4, 6), 0.5), probabilities=(0.5, 0.5, 0.9, 1.0),
    )  # fmt: skip
    after = by_words(before)
    assert [unit.text for unit in after.inputs.units] == ["un", "believable", "fun", "<sep>"]
    assert [unit.text for unit in after.outputs.units] == ["sehr", "gut"]
    # The space before "believable" is a piece of its own and goes with that word; likewise before "fun" and "gut".
    assert after.weights.tolist() == [[2, 2 * 1110, 20000, 10], [2, 2 * 1110, 20000, 10]]
    assert after.probabilities == (0.25, 0.9)
    assert after.error is not None
    assert after.error[0].tolist() == [0.5, 1.5, 0.5, 0.5]


def test_a_separator_is_never_crossed_and_labels_stay() -> None:
    inputs = Axis("ab", (Unit("a", (0, 1)), SEPARATOR, Unit("b", (1, 2))))
    outputs = Axis("", (Unit("good"), Unit("bad")))
    after = by_words(attribution(outputs, inputs))
    assert [unit.text for unit in after.inputs.units] == ["a", "<sep>", "b"]
    assert after.outputs == outputs
    assert after.weights.tolist() == attribution(outputs, inputs).weights.tolist()


def test_two_texts_after_one_another_are_merged_each_for_itself() -> None:
    inputs = Axis("ab cd", (Unit("c", (3, 4)), Unit("d", (4, 5)), Unit("a", (0, 1)), Unit("b", (1, 2))))
    after = by_words(attribution(Axis("", (Unit("y"),)), inputs))
    assert [unit.text for unit in after.inputs.units] == ["cd", "ab"]
    assert after.weights.tolist() == [[3, 7]]


def test_bytes_of_one_character_are_one_word() -> None:
    inputs = Axis("北a", (Unit("x", (0, 1)), Unit("y", (0, 1)), Unit("z", (0, 1)), Unit("a", (1, 2))))
    after = by_words(attribution(Axis("", (Unit("l"),)), inputs))
    assert [unit.text for unit in after.inputs.units] == ["北", "a"]
    assert after.weights.tolist() == [[6, 4]]


def test_nothing_gives_nothing() -> None:
    empty = Axis("", ())
    assert by_words(attribution(empty, empty)).weights.shape == (0, 0)
    assert by_words(attribution(empty, Axis("a", (Unit("a", (0, 1)),)))).weights.shape == (0, 1)
