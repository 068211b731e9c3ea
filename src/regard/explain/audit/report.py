"""What an audit found, the figures of all texts put together."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import numpy as np

from regard.explain.asking import stack
from regard.explain.audit.finding import Finding, Word, choice, layers
from regard.explain.audit.leaning import Leaning, leaning
from regard.explain.audit.means import Mean, mean
from regard.explain.audit.removing import RANDOM
from regard.explain.audit.settings import AuditSettings
from regard.explain.audit.shifting import WHOLE, Towards
from regard.explain.heads import HeadTable
from regard.explain.subject import Subject
from regard.explain.weights import told

Trust = Literal["yes", "partly", "no", "unclear", "blunt", "none"]
# A word whose loss changes p by less than this does not matter.
IDLE = 0.01
# A head whose loss lowers log p by less than this could be silent.
SILENT = 0.01
# How many words that are attended to but do not matter are named.
NAMED = 8


@dataclass(frozen=True)
class Exchange:
    """What other weights do: to p and log p of the outputs that were put out, and to what is put out."""

    probability: Mean
    fall: Mean
    # The share of texts that get another output when it is predicted anew, where that was tried.
    flips: float | None


@dataclass(frozen=True)
class Order:
    """Words taken away in an order: how far p falls without the first, and with the first alone."""

    comprehensiveness: Mean
    sufficiency: Mean


@dataclass(frozen=True)
class Heads:
    """How far log p falls without each head, from the head that is missed most; how many could be silent.

    `does` tells of those heads that clearly do something what it is.
    """

    falls: dict[str, float]
    silent: int
    texts: int
    does: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Idle:
    """The share of the attention on words that lies on words which do not matter, and those that have most of it."""

    share: Mean
    words: tuple[Word, ...]


@dataclass(frozen=True)
class Audit:
    """Whether attention is an explanation for a model: figures, each with its 95 % interval over texts."""

    source: str
    judged: str
    texts: int
    settings: Mapping[str, Any]
    orders: dict[str, Order]
    # comprehensiveness above that of random orders of the same text.
    gain: Mean
    exchanges: dict[Towards, Exchange] = field(default_factory=dict)
    distance: Mean | None = None
    farthest: Mean | None = None
    normalized: dict[str, Mean] = field(default_factory=dict)
    agreement: dict[str, Mean] = field(default_factory=dict)
    seeds: dict[str, Mean] = field(default_factory=dict)
    heads: Heads | None = None
    leaning: Leaning | None = None
    idle: Idle | None = None
    # Texts that could not be explained, and why the first could not.
    left_out: int = 0
    reason: str = ""
    passes: int = 0
    seconds: float = 0.0
    trust: Trust = "unclear"
    sentences: tuple[str, ...] = ()
    thresholds: Mapping[str, float] = field(default_factory=dict)

    def plain(self) -> dict[str, Any]:
        """All of it as JSON has it."""
        return asdict(self)


def summed(
    findings: Sequence[Finding], subject: Subject, settings: AuditSettings, flips: Mapping[Towards, float] | None
) -> Audit:
    """The findings of all texts as one audit, without a verdict."""
    looks, spreads = layers(subject, settings), [one.spread for one in findings if one.spread is not None]
    return Audit(
        source=told(subject, stack(subject, settings.kind, settings.queries), choice(settings)) if looks else "",
        judged="attention" if looks else "input_gradient",
        texts=len(findings),
        settings=settings.plain(),
        orders=_orders(findings),
        gain=_sure(mean(_gain(one, "attention" if looks else "input_gradient") for one in findings)),
        exchanges=_exchanges(findings, flips or {}) if looks else {},
        distance=mean(one.shift.distance for one in findings if one.shift is not None),
        farthest=mean(one.shift.farthest for one in findings if one.shift is not None),
        normalized=_means(findings, lambda one: one.normalized),
        agreement=_means(findings, lambda one: one.agreement),
        seeds=_means(findings, lambda one: one.seeds),
        heads=_heads([one.heads for one in findings if one.heads is not None]),
        leaning=leaning(spreads) if spreads else None,
        idle=_idle(findings) if looks else None,
    )


def _gain(finding: Finding, judged: str) -> float:
    return finding.removals[judged].comprehensiveness - finding.removals[RANDOM].comprehensiveness


def _sure(found: Mean | None) -> Mean:
    assert found is not None
    return found


def _orders(findings: Sequence[Finding]) -> dict[str, Order]:
    def over(name: str, figure: str) -> Mean:
        return _sure(mean(getattr(one.removals[name], figure) for one in findings))

    return {name: Order(over(name, "comprehensiveness"), over(name, "sufficiency")) for name in findings[0].removals}


def _exchanges(findings: Sequence[Finding], flips: Mapping[Towards, float]) -> dict[Towards, Exchange]:
    found = {}
    for name in WHOLE:
        changes = [one.shift.changes[name] for one in findings if one.shift is not None]
        probability, fall = (mean(getattr(change, what) for change in changes) for what in ("probability", "fall"))
        found[name] = Exchange(_sure(probability), _sure(fall), flips.get(name))
    return found


def _means(findings: Sequence[Finding], figures: Callable[[Finding], Mapping[str, float | None]]) -> dict[str, Mean]:
    names = dict.fromkeys(name for one in findings for name in figures(one))
    means = {name: mean(figures(one).get(name) for one in findings) for name in names}
    return {name: found for name, found in means.items() if found is not None}


def _heads(tables: Sequence[HeadTable]) -> Heads | None:
    """Of a model that has more than one head."""
    if not tables or len(tables[0].heads) < 2:
        return None
    falls = np.mean([table.figures[:, 0] for table in tables], axis=0)
    named = {str(tables[0].heads[place]): float(falls[place]) for place in np.argsort(-falls, kind="stable")}
    return Heads(named, int((falls < SILENT).sum()), len(tables))


def _idle(findings: Sequence[Finding]) -> Idle:
    shares = [sum((word.weight for word in one.words if word.effect < IDLE), 0.0) for one in findings]
    every = [word for one in findings for word in one.words if word.effect < IDLE and word.weight * len(one.words) > 1]
    most = sorted(every, key=lambda word: -word.weight)
    named = {word.text.casefold(): word for word in reversed(most)}
    return Idle(_sure(mean(shares)), tuple(sorted(named.values(), key=lambda word: -word.weight)[:NAMED]))
