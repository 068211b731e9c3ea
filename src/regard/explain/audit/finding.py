"""What one text tells: every question of the audit asked of one prediction."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from jaxtyping import Float

from regard.errors import RequestError
from regard.explain.asking import chosen, stack
from regard.explain.attribution import Attribution, Axis, Unit
from regard.explain.audit.leaning import Spread, spread
from regard.explain.audit.means import mean, rank_correlation
from regard.explain.audit.removing import RANDOM, REVERSED, Removal, removals
from regard.explain.audit.settings import AuditSettings
from regard.explain.audit.shifting import WHOLE, Move, Towards, moved
from regard.explain.contrast import One
from regard.explain.faithfulness import FaithfulnessSettings, faithfulness
from regard.explain.groups import PerturbationSettings
from regard.explain.heads import HeadTable, by_ablation
from regard.explain.integrated import InputGradientSettings, IntegratedSettings, input_gradient, integrated_gradients
from regard.explain.subject import Look, Subject
from regard.explain.versions import Versions
from regard.explain.weights import WeightsSettings, weights
from regard.explain.words import by_words

ATTENTION, GRADIENT, INTEGRATED, OCCLUSION = "attention", "input_gradient", "integrated_gradients", "occlusion"
# How far each distribution that is tried is mixed in.
MIXED = (1.0, 0.5, 0.2)


@dataclass(frozen=True)
class Word:
    """A word, its share of the attention on words, and how far p changes without it."""

    text: str
    weight: float
    effect: float


@dataclass(frozen=True)
class Change:
    """How far p and log p of the outputs move under other weights, the mean over outputs."""

    probability: float
    fall: float


@dataclass(frozen=True)
class Shift:
    """What other weights do to a text's outputs, and how far attention can move while they stay."""

    changes: dict[Towards, Change]
    distance: float
    # The farthest of all that was tried, whatever became of the outputs.
    farthest: float


@dataclass(frozen=True)
class Finding:
    """One text's figures; what a text or model does not have is None or left out."""

    removals: dict[str, Removal]
    agreement: dict[str, float | None]
    shift: Shift | None = None
    spread: Spread | None = None
    words: tuple[Word, ...] = ()
    seeds: dict[str, float | None] = field(default_factory=dict)
    # Only of the first few texts: AOPC between its bounds, and what is lost without each head.
    normalized: dict[str, float | None] = field(default_factory=dict)
    heads: HeadTable | None = None


class Examined:
    """One prediction, and one of its outputs, drawn at random, whose words are ranked."""

    def __init__(self, subject: Subject, settings: AuditSettings, number: int) -> None:
        self.subject, self.settings, self.number = subject, settings, number
        self.looks = layers(subject, settings)
        self.output = _drawn(subject, settings.seed, number)
        self.one = One(subject, self.output)
        self.versions = Versions(self.one, PerturbationSettings())

    @property
    def judged(self) -> str:
        """The ranking that the verdict is about."""
        return ATTENTION if self.looks else GRADIENT

    def finding(self, others: Mapping[str, Subject]) -> Finding:
        ranks, seed = self.ranks, self.settings.seed + self.number
        judged_G = np.abs(ranks[self.judged])
        rest = {name: rank for name, rank in ranks.items() if name != self.judged}
        return Finding(
            removals=removals(self.versions, ranks, self.judged, self.settings, seed),
            agreement={name: rank_correlation(judged_G, np.abs(rank_G)) for name, rank_G in rest.items()},
            shift=self._shift(seed) if self.looks else None,
            spread=None if self.shown is None else spread(self.subject, self.looks[0], self.shown),
            words=self._words() if self.looks else (),
            seeds={name: self._alike(other) for name, other in others.items()},
        )

    def normalized(self) -> dict[str, float | None]:
        """AOPC of the judged ranking, its reverse and random orders, between the best and worst order there is."""
        groups = self.versions.groups
        if len(groups) > self.settings.bounded:
            return {}
        settings = FaithfulnessSettings(randoms=self.settings.randoms, seed=self.settings.seed)
        found = faithfulness(self.one, groups.spread(self.ranks[self.judged][None])[0], settings)
        orders = {self.judged: found.given, REVERSED: found.reverse, RANDOM: found.random}
        return {name: figures.normalized for name, figures in orders.items()}

    def heads(self) -> HeadTable | None:
        """What is lost without each head."""
        return by_ablation([self.subject]) if self.looks else None

    @cached_property
    def shown(self) -> Attribution | None:
        """The attention that is audited, as it is shown to people."""
        return weights(self.subject, choice(self.settings)) if self.looks else None

    @cached_property
    def ranks(self) -> dict[str, Float[np.ndarray, " G"]]:
        """What each way to explain the output says of the words."""
        steps = self.settings.steps
        found = {
            GRADIENT: input_gradient(self.one, InputGradientSettings()),
            INTEGRATED: integrated_gradients(self.one, IntegratedSettings(steps=steps, most=2 * steps)),
        }
        if self.shown is not None:
            found = {ATTENTION: _row(self.looks[0], self.shown, self.output)} | found
        places, without = self.versions.groups.places, ~np.eye(len(self.versions.groups), dtype=bool)
        ranks = {name: by_words(one).weights[0][places].astype(np.float64) for name, one in found.items()}
        return ranks | {OCCLUSION: np.exp(self.versions.whole()[0]) - np.exp(self.versions(without)[:, 0])}

    def _words(self) -> tuple[Word, ...]:
        groups, weight_G, effect_G = self.versions.groups, self.ranks[ATTENTION], np.abs(self.ranks[OCCLUSION])
        units = [groups.axis.units[place] for place in groups.places]
        share_G = weight_G / max(float(weight_G.sum()), 1e-12)
        rows = zip(units, share_G.tolist(), effect_G.tolist(), strict=True)
        return tuple(Word(unit.text, weight, effect) for unit, weight, effect in rows)

    def _alike(self, other: Subject) -> float | None:
        """How alike the words are ranked by another model's attention, the mean over what was put out."""
        looks = layers(other, self.settings)
        if self.shown is None or not looks:
            return None
        ours, theirs = _text(self.looks[0], self.shown), _text(looks[0], weights(other, choice(self.settings)))
        if ours is None or theirs is None or ours[0] != theirs[0] or ours[1].shape != theirs[1].shape:
            return None
        found = mean(rank_correlation(a, b) for a, b in zip(ours[1], theirs[1], strict=True))
        return None if found is None else found.value

    def _shift(self, seed: int) -> Shift:
        settings = self.settings
        moves = [Move("uniform"), *[Move("permuted")] * settings.permutations]
        moves += [Move("single", share) for _ in range(settings.tries) for share in MIXED]
        found = moved(self.subject, self.looks, moves, seed, settings.head)
        same = {name: [at for at, move in enumerate(moves) if move.towards == name] for name in WHOLE}
        stays_NO = found.change.abs() <= settings.epsilon
        distance_O = (found.distance * stays_NO).amax(0)
        return Shift(
            changes={
                name: Change(float(found.change[at].abs().mean()), -float(found.log_change[at].mean()))
                for name, at in same.items()
            },
            distance=float(distance_O.mean()),
            farthest=float(found.distance.amax(0).mean()),
        )


def layers(subject: Subject, settings: AuditSettings) -> list[Look]:
    """The layers that are audited; none of a model that has no attention."""
    if not subject.looks:
        return []
    found = chosen(stack(subject, settings.kind, settings.queries), settings.layer)
    if found[0].keys != "inputs":
        raise RequestError(
            f"The {found[0].kind} attention asked by {found[0].queries} looks at outputs, not at inputs, so it cannot "
            "be a reason found in the text; choose a kind that looks at inputs, such as kind=cross."
        )
    return found


def choice(settings: AuditSettings) -> WeightsSettings:
    return WeightsSettings(kind=settings.kind, queries=settings.queries, layer=settings.layer, head=settings.head)


def _drawn(subject: Subject, seed: int, number: int) -> int:
    """One output, of those that are no marks if there are any."""
    outputs = [place for place, unit in enumerate(subject.outputs.units) if not unit.special]
    return int(np.random.default_rng([seed, number]).choice(outputs or len(subject.outputs)))


def _row(look: Look, shown: Attribution, output: int) -> Attribution:
    """What was attended to for one output; where inputs ask, the mean over all that ask."""
    rows = shown.weights.mean(0, keepdims=True) if look.queries == "inputs" else shown.weights[output : output + 1]
    return replace(shown, outputs=Axis("", (Unit(""),)), weights=rows, probabilities=None)


def _text(look: Look, shown: Attribution) -> tuple[list[str], Float[np.ndarray, "O I"]] | None:
    """The words that were read, and the weights of words on words; None where nothing but marks was put out."""
    merged = by_words(_row(look, shown, 0) if look.queries == "inputs" else shown)
    rows, columns = ([not unit.special for unit in axis.units] for axis in (merged.outputs, merged.inputs))
    read = [unit.text for unit in merged.inputs.units if not unit.special]
    return (read, merged.weights[rows][:, columns]) if any(rows) else None
