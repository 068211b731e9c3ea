"""Bad input, told in one sentence; also as users meet it, without checked signatures in between."""

import json
import subprocess
import sys

import pytest
import torch

from regard.attention import FREE, LOOK_AHEAD, Mask, pairs, real_keys
from regard.attention.checks import check_memory, check_query
from regard.attention.places import Sizes
from regard.errors import ModelError
from tests.attention.build import build, given, refused

SIZES = Sizes(4, 4, 6, heads=2, groups=1)


def keys(*shape: int) -> torch.Tensor:
    return torch.zeros(shape)


@pytest.mark.parametrize(
    ("memory", "words"),
    [
        ((keys(3, 1, 0, 4), keys(3, 1, 0, 6), None, range(0)), ["no keys", "length 0"]),
        ((keys(3, 1, 5, 3), keys(3, 1, 5, 6), None, range(5)), ["widths 3 and 6", "4 and 6"]),
        ((keys(3, 2, 5, 4), keys(3, 2, 5, 6), None, range(5)), ["(3, 2, 5)", "1 groups"]),
        ((keys(3, 1, 5, 4), keys(3, 1, 4, 6), None, range(5)), ["(3, 1, 5)", "(3, 1, 4)", "every key"]),
        ((keys(3, 1, 5, 4), keys(3, 1, 5, 6), keys(3, 4) > 0, range(5)), ["(3, 4)", "(3, 5)"]),
        ((keys(3, 1, 5, 4), keys(3, 1, 5, 6), keys(3, 5), range(5)), ["torch.float32", "torch.bool"]),
        ((keys(3, 1, 5, 4), keys(3, 1, 5, 6), None, range(4)), ["keys are range(0, 4)", "range of 5"]),
        ((keys(3, 1, 5, 4), keys(3, 1, 5, 6), None, range(-1, 4)), ["range(-1, 4)", "0 or above"]),
        ((keys(3, 1, 5, 4), keys(3, 1, 5, 6), None, range(0, 10, 2)), ["range(0, 10, 2)", "steps of 1"]),
        ((keys(3, 1, 5, 4), keys(3, 1, 5, 6), None, torch.zeros(2, 5).long()), ["shape (2, 5)", "1 or 3 x 5"]),
    ],
)
def test_a_memory_that_cannot_be_is_refused(memory: tuple[object, ...], words: list[str]) -> None:
    refused(ModelError, lambda: check_memory(*memory, SIZES), *words)


def query_is_refused(*words: str, query: tuple[int, ...] = (3, 2, 5, 4), mask: Mask = FREE, at: object = None) -> None:
    mechanism = build(heads=2, groups=1)
    asked = given(mechanism)
    memory = mechanism.remember(asked.keys, asked.values)
    at = range(query[2]) if at is None else at
    refused(ModelError, lambda: check_query(keys(*query), memory, mask, at, mechanism.sizes), *words)


def test_a_query_that_cannot_be_is_refused() -> None:
    query_is_refused("3 heads of width 4", "2 of width 4", query=(3, 3, 5, 4))
    query_is_refused("2 heads of width 5", query=(3, 2, 5, 5))
    query_is_refused("no query", query=(3, 2, 0, 4))
    query_is_refused("4 rows", "3 memories", query=(4, 2, 5, 4))


def test_a_mask_of_the_wrong_shape_is_refused() -> None:
    yes = torch.ones(3, 2, 5, 6) > 0
    query_is_refused("(3, 5)", "(3, 6)", mask=real_keys(yes[:, 0, 0, :5]))
    query_is_refused("(2, 6)", "(3, 6)", mask=real_keys(yes[:2, 0, 0]) & LOOK_AHEAD)
    query_is_refused("(1, 1, 4, 6)", "(3, 2, 5, 6)", mask=pairs(yes[0, 0, :4]))
    query_is_refused("(1, 1, 5, 1)", "(3, 2, 5, 6)", mask=pairs(yes[0, 0, :, :1]))
    query_is_refused("(2, 1, 5, 6)", "(3, 2, 5, 6)", mask=pairs(yes[:2, 0]))


def test_positions_that_do_not_fit_the_queries_are_refused() -> None:
    query_is_refused("queries are range(0, 4)", "range of 5", at=range(4))
    query_is_refused("shape (1, 1)", "1 or 3 x 5", at=torch.zeros(1, 1).long())


AS_USERS_DO = """
import json, torch
from regard.attention import *
from regard.errors import RegardError

attention = MultiHeadAttention(HeadsSettings.of(heads=2), 4)
states, yes = torch.zeros(3, 5, 4), torch.ones(3, 5) > 0
memory = attention.remember(states)
calls = [
    lambda: attention.remember(states[:, :0]),
    lambda: attention.remember(states, yes[:, :4]),
    lambda: attention.remember(states, yes.long()),
    lambda: attention.remember(states, at=range(4)),
    lambda: attention.remember(states[..., :3]),
    lambda: attention(states[:, :0], memory),
    lambda: attention(states[:0], memory),
    lambda: attention(states[:2], memory),
    lambda: attention(states[..., :3], memory),
    lambda: attention(states, memory, pairs(torch.ones(4, 5) > 0)),
    lambda: attention(states, memory, real_keys(yes[:, :4])),
    lambda: attention(states, memory, Mask(keys=yes.float())),
    lambda: attention(states, memory, at=torch.zeros(2, 5, dtype=torch.long)),
    lambda: MultiHeadAttention(HeadsSettings.of(heads=3), 4),
    lambda: MultiHeadAttention(HeadsSettings.of(score="dott"), 8),
]
told = []
for call in calls:
    try:
        call()
        told.append("nothing was said")
    except RegardError as error:
        told.append(str(error))
print(json.dumps(told))
"""


def test_users_are_told_in_one_sentence_too() -> None:
    """Tests check every signature, users do not: what they meet first are our own checks."""
    done = subprocess.run([sys.executable, "-c", AS_USERS_DO], capture_output=True, text=True, check=True)
    told = json.loads(done.stdout)
    assert len(told) == AS_USERS_DO.count("lambda:")
    assert [sentence for sentence in told if "\n" in sentence or not sentence.endswith(".")] == []
