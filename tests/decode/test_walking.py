"""Models whose kernels take several steps at once write what they write step by step."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.attention import POSITIONS, record
from regard.decode import Request, SearchSettings, Stepwise, search
from regard.models import Vocabulary, build
from regard.nn import native
from regard.tasks.ending import Ending
from regard.text import Tokenizer, TokenizerSettings

pytestmark = pytest.mark.skipif(not native.ready(), reason="there is no compiler for the kernels")
PIECES = 40
MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "sinusoidal": ("transformer", {"place": "pre"}),
    "rotary": ("transformer", {"position": "rotary", "norm": "rms", "place": "pre", "decoder_layers": 1}),
    "learned": ("transformer", {"position": {"name": "learned", "length": 64}}),
    "language": ("transformer_language", {"position": "rotary", "place": "pre"}),
}
WAYS = [
    SearchSettings(method="greedy", longest_factor=0, longest_extra=40),
    SearchSettings(beams=3, best=3, longest_factor=0, longest_extra=40),
    SearchSettings(beams=4, best=2, margin=0.5, longest_factor=0, longest_extra=12),
]


def made(name: str, seed: int, end: float) -> Any:
    """A model that has learned nothing, sure enough of what it writes, and more or less likely to end."""
    kind, given_settings = MODELS[name]
    torch.manual_seed(seed)
    small = {"width": 16, "layers": 2, "attention": {"heads": 2}, "feedforward": {"hidden": 32}, "output_bias": True}
    model = build(kind, small | given_settings, Vocabulary(source=PIECES, target=PIECES, begin=1, end=2)).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(2.0)
        model.output.readout.bias.normal_()[2] = end
    return model


class Counting:
    """A model that counts the steps it is asked for, and hides that it can take several."""

    def __init__(self, model: Any) -> None:
        self.model, self.vocabulary, self.start, self.steps = model, model.vocabulary, model.start, 0

    def step(self, *given_: Any) -> Any:
        self.steps += 1
        return self.model.step(*given_)


class Walking(Counting):
    """The same, and hides nothing."""

    def walk(self, *given_: Any) -> Any:
        return self.model.walk(*given_)


def sources(seed: int, rows: int = 5) -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(seed)
    lengths = torch.randint(3, 8, (rows,))
    return torch.randint(3, PIECES, (rows, 7)), torch.arange(7) < lengths[:, None]


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("way", WAYS, ids=str)
@settings(max_examples=12)
@given(seed=st.integers(0, 10**6), end=st.sampled_from([-3.0, 0.0, 3.0]))
def test_several_steps_at_once_are_those_steps(name: str, way: SearchSettings, seed: int, end: float) -> None:
    model = made(name, seed, end)
    source, real = sources(seed)
    real = None if name == "language" else real
    alone, several = Counting(model), Walking(model)
    wanted, found = search(alone, source, real, way), search(several, source, real, way)
    assert found == wanted
    longest = max(len(one.pieces) for outputs in wanted for one in outputs)
    assert several.steps <= alone.steps
    if longest > 5 and way.margin < 0.1:
        assert several.steps < alone.steps


@pytest.mark.parametrize("name", MODELS)
def test_a_limit_is_kept_to_the_piece(name: str) -> None:
    model = made(name, 3, -50.0)
    source, real = sources(3)
    real = None if name == "language" else real
    requests = [Request(longest=one) for one in (1, 2, 9, 33, 35)]
    found = search(Walking(model), source, real, SearchSettings(method="greedy"), requests)
    assert [len(outputs[0].pieces) for outputs in found] == [1, 2, 9, 33, 35]
    assert found == search(Counting(model), source, real, SearchSettings(method="greedy"), requests)


def test_who_watches_sees_every_step() -> None:
    model = made("sinusoidal", 5, -3.0)
    source, real = sources(5)
    way = SearchSettings(method="greedy", longest_factor=0, longest_extra=10)
    with record(model, "decoder.*.cross.*.weights", layers=[-1]) as seen:
        watched = search(model, source, real, way)
    assert len(seen) >= 10
    assert watched == search(model, source, real, way)


def test_positions_that_run_out_later_are_not_asked_for() -> None:
    model = made("learned", 1, 0.0)
    model.embedding.position = POSITIONS["learned"](16, length=20)
    source, real = sources(1)
    short, long = (SearchSettings(method="greedy", longest_factor=0, longest_extra=extra) for extra in (18, 200))
    for end in range(20):
        # The first that lets every text come to its end within the 20 positions there are.
        with torch.no_grad():
            model.output.readout.bias[2] = end
        wanted = search(Counting(model), source, real, short)
        if all(outputs[0].complete for outputs in wanted):
            break
    assert max(len(outputs[0].pieces) for outputs in wanted) > 1
    assert search(Counting(model), source, real, long) == search(Walking(model), source, real, long) == wanted


def test_a_step_of_ones_own_is_not_walked_past() -> None:
    model = made("sinusoidal", 2, -3.0)
    source, real = sources(2)
    way = SearchSettings(method="greedy", longest_factor=0, longest_extra=12)
    wanted = search(model, source, real, way)

    class Mine(type(model)):  # type: ignore[misc]
        def step(self, *given_: Any) -> Any:
            said, state = super().step(*given_)
            return said.flip(-1), state

    model.__class__ = Mine
    other = search(model, source, real, way)
    assert other != wanted
    model.__class__ = Mine.__base__
    counted, own = [], model.step
    model.step = lambda *given_: (counted.append(1), own(*given_))[1]
    assert search(model, source, real, way) == wanted
    assert len(counted) >= 12


# The four special pieces, and a word for every other number.
WORDS = Tokenizer.learn(
    TokenizerSettings(kind="words", size=PIECES), [" ".join(f"word{number}" for number in range(4, PIECES))], 1
)


WRAPPED: dict[str, Callable[[Any], Any]] = {
    "stepwise": Stepwise,
    "one end": lambda model: Ending(model, WORDS, frozenset((2,))),
    "another end": lambda model: Ending(model, WORDS, frozenset((7,))),
}


@pytest.mark.parametrize("name", ["sinusoidal", "language"])
@pytest.mark.parametrize("way", WAYS[:2], ids=str)
@pytest.mark.parametrize("wrapped", WRAPPED)
def test_who_stands_before_a_model_takes_several_steps_of_it(name: str, way: SearchSettings, wrapped: str) -> None:
    model = made(name, 4, -3.0)
    source, real = sources(4)
    real = None if name == "language" else real
    alone, several = Counting(model), Walking(model)
    wanted, found = (search(WRAPPED[wrapped](each), source, real, way) for each in (alone, several))
    assert found == wanted
    assert several.steps < alone.steps


def test_several_ends_are_summed_up_step_by_step() -> None:
    assert Ending(Walking(made("language", 4, -3.0)), WORDS, frozenset((2, 7))).walk is None
