"""The error tree, the sentences it is raised with, and that signatures are checked in tests at all."""

import inspect

import jaxtyping
import pytest

from regard import errors

OURS = {name: kind for name, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, Exception)}


def test_every_error_hangs_on_one_tree() -> None:
    assert len(OURS) == 5
    assert all(issubclass(kind, errors.RegardError) for kind in OURS.values())


def test_the_tree_in_the_docstring_names_every_error() -> None:
    assert errors.__doc__ is not None
    assert set(OURS) <= set(errors.__doc__.split())


@pytest.mark.parametrize(
    ("typed", "suffix"),
    [
        ("aditive", " Did you mean 'additive'?"),
        ("ADDITIVE", " Did you mean 'additive'?"),
        ("alibi", " Did you mean 'ALiBi'?"),
        ("nothing like it", ""),
        (7, ""),
        (None, ""),
    ],
)
def test_the_nearest_known_name_is_offered(typed: object, suffix: str) -> None:
    assert errors.nearest(typed, ["dot", "additive", "ALiBi"]) == suffix


def test_an_unknown_name_lists_the_known_ones_in_order() -> None:
    assert errors.unknown("score", "zzz", iter(["dot", "additive"])) == "Unknown score 'zzz'. Known: additive, dot."


def test_an_unknown_name_with_nothing_known_says_so() -> None:
    assert errors.unknown("score", "dot", []) == "Unknown score 'dot'. No score is known."


def test_signatures_are_checked_while_testing() -> None:
    with pytest.raises(jaxtyping.TypeCheckError):
        errors.unknown(3, "dot", [])  # type: ignore[arg-type]
