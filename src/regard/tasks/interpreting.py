"""Simultaneous translation: writing begins before all is read."""

from typing import Any, Literal

import torch
from jaxtyping import Int
from pydantic import PositiveInt
from torch import Tensor

from regard.attention import matching
from regard.config import Settings
from regard.decode import Hypothesis, Interpreted, Latency, SearchSettings, force, latency, monotonic, wait_k
from regard.errors import ConfigError
from regard.models.protocols import room
from regard.tasks.looking import Looking
from regard.tasks.sides import Sides, sources
from regard.text import words


class SimultaneousSettings(Settings):
    """`wait`: read `words` words, then write and read by turns (Ma et al. 2019). `monotonic`: attention decides."""

    policy: Literal["wait", "monotonic"] = "wait"
    words: PositiveInt = 3


def interpret(
    model: Any,
    sides: Sides,
    opening: tuple[str, ...],
    text: str,
    settings: SimultaneousSettings,
    search: SearchSettings,
) -> tuple[Hypothesis, Latency]:
    """The output written while reading, as search would give it, and how late it was, in words (monotonic: pieces)."""
    encoded = sides.source.encode(text)
    pieces = sides.read(encoded, opening)
    source, real = sources([pieces], next(model.parameters()).device)
    longest, most = search.limit(len(pieces)), room(model, len(pieces))
    longest = longest if most is None else min(longest, most)
    if settings.policy == "wait":
        before = len(opening) + len(sides.source.opening)
        ends = [before + word.pieces[-1] + 1 for word in words(text, encoded) if word.pieces]
        units = [*ends[:-1], len(pieces)]
        written = wait_k(model, source, units, settings.words, longest, sides.banned)
    else:
        units = list(range(len(pieces)))
        with Looking(model) as looking:
            _check_forward(model)
            written = monotonic(model, source, looking, longest, sides.banned)
    return _hypothesis(model, source, real, written), latency(written.reads, max(len(units), *written.reads, 1))


def _check_forward(model: Any) -> None:
    """Refuse attention that may go back: where it points says nothing about what could be written when."""
    looking = [model.get_submodule(name.rpartition(".")[0]) for name in matching(model, model.looks)]
    free = next((mechanism for mechanism in looking if not mechanism.scope.recurrent), None)
    if free is not None:
        raise ConfigError(
            "predict.simultaneous.policy = 'monotonic' follows attention that only goes forward, scope = 'monotonic'; "
            f"this model attends with scope = '{free.settings.scope}'. Use policy = 'wait'."
        )


def _hypothesis(model: Any, source: Int[Tensor, "1 S"], real: Tensor, written: Interpreted) -> Hypothesis:
    """What was written, with the probabilities the whole source gives it."""
    with torch.inference_mode():
        scores = tuple(force(model, source, real, [written.pieces])[0])
    scores = scores if written.complete else scores[: len(written.pieces)]
    total = sum(scores)
    return Hypothesis(written.pieces, total / max(len(scores), 1), total, scores, written.complete)
