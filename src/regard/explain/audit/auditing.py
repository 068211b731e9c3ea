"""An audit walked through, text by text: what it will cost is told after the first, and time is kept to."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import Any

from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.errors import RequestError
from regard.explain.asking import heads
from regard.explain.audit.doing import doing
from regard.explain.audit.finding import Examined, Finding, layers
from regard.explain.audit.report import Audit, summed
from regard.explain.audit.settings import AuditSettings
from regard.explain.audit.shifting import flips
from regard.explain.audit.verdict import judged
from regard.explain.budget import Progress
from regard.explain.subject import Subject


@dataclass(frozen=True)
class Case:
    """A prediction, and the same text and output as other models see it, by their names."""

    subject: Subject
    others: Mapping[str, Subject] = field(default_factory=dict)


@dataclass(frozen=True)
class Cost:
    """What an audit will take, as its first text tells: texts, versions of them that models score, seconds."""

    texts: int
    passes: int
    seconds: float


@dataclass(frozen=True)
class Watch:
    """Who is told of the cost once it is known, and of every text that is done."""

    cost: Callable[[Cost], None] = lambda _: None
    progress: Progress = lambda _, __: None


class Counted:
    """A subject that counts the versions it scores."""

    def __init__(self, subject: Subject) -> None:
        self._subject, self.passes = subject, 0
        self.model, self.inputs, self.outputs = subject.model, subject.inputs, subject.outputs
        self.pieces, self.blank = subject.pieces, subject.blank
        self.looks, self.embedded = subject.looks, subject.embedded

    def scores(self, pieces: Int[Tensor, "N S"], real: Bool[Tensor, "N S"] | None = None) -> Float[Tensor, "N O"]:
        self.passes += len(pieces)
        return self._subject.scores(pieces, real)


def audit(
    cases: Iterable[Case | RequestError],
    settings: AuditSettings,
    count: int | None = None,
    again: Callable[[], Sequence[str]] | None = None,
    watch: Watch | None = None,
) -> Audit:
    """Whether attention is an explanation for the model of these cases, of which there are `count`.

    An error among them says why one could not be made.
    `again` gives what the model puts out for every case drawn so far; without it no output is predicted anew.
    """
    walk = Walk(settings, settings.rows if count is None else min(settings.rows, count), watch or Watch())
    for case in cases:
        walk.take(case)
        if walk.over:
            break
    if walk.first is None:
        why = walk.reasons[0] if walk.reasons else "None was given."
        raise RequestError(f"There is no text to audit with; give some that can be explained. {why}")
    looks = layers(walk.first, settings)
    found = flips(walk.first, looks, again, settings.seed, settings.head) if again is not None and looks else None
    made = summed(walk.findings, walk.first, settings, found)
    if made.heads is not None:
        made = replace(made, heads=replace(made.heads, does=doing(walk.few, walk.counts)))
    return judged(replace(made, **walk.told()))


class Walk:
    """The texts done so far, and how many there will be."""

    def __init__(self, settings: AuditSettings, wanted: int, watch: Watch) -> None:
        self.settings, self.wanted, self.watch = settings, wanted, watch
        self.findings: list[Finding] = []
        self.first: Subject | None = None
        # Those whose heads are looked at, and how often each piece was read in all.
        self.few: list[Subject] = []
        self.counts: Counter[int] = Counter()
        self.reasons: list[str] = []
        self.began, self.passes = monotonic(), 0

    def told(self) -> dict[str, Any]:
        """What it took, and what was left out."""
        reason = self.reasons[0] if self.reasons else ""
        seconds = monotonic() - self.began
        return {"passes": self.passes, "seconds": seconds, "left_out": len(self.reasons), "reason": reason}

    @property
    def over(self) -> bool:
        if self.settings.seconds is None or not self.findings:
            return len(self.findings) >= self.wanted
        return len(self.findings) >= self.wanted or monotonic() - self.began >= self.settings.seconds

    def take(self, case: Case | RequestError) -> None:
        """One text, unless it cannot be explained; that a layer or head does not exist is no text's fault."""
        if isinstance(case, RequestError):
            self.reasons.append(str(case))
            return
        for look in layers(case.subject, self.settings):
            heads(case.subject, look, self.settings.head)
        try:
            self._take(case)
        except RequestError as error:
            self.reasons.append(str(error))

    def _take(self, case: Case) -> None:
        """Everything that is asked of one text."""
        subject, number = Counted(case.subject), len(self.findings)
        examined = Examined(subject, self.settings, number)
        found = examined.finding(case.others)
        plain = (monotonic() - self.began, subject.passes)
        if number < self.settings.few:
            found = replace(found, normalized=examined.normalized(), heads=examined.heads())
            self.few.append(case.subject)
        self.findings.append(found)
        self.counts.update(case.subject.pieces.tolist())
        self.passes += subject.passes
        if self.first is None:
            self.first = case.subject
            self._plan(plain, (monotonic() - self.began, subject.passes))
        self.watch.progress(len(self.findings), self.wanted)

    def _plan(self, plain: tuple[float, int], whole: tuple[float, int]) -> None:
        """Cost from what the first text took, without and with what only a few are asked; fewer texts if it is much."""
        cost = self._cost(plain, whole)
        while self.settings.seconds is not None and cost.texts > 1 and cost.seconds > self.settings.seconds:
            self.wanted -= 1
            cost = self._cost(plain, whole)
        self.watch.cost(cost)

    def _cost(self, plain: tuple[float, int], whole: tuple[float, int]) -> Cost:
        few = min(self.settings.few, self.wanted)
        seconds, passes = (few * b + (self.wanted - few) * a for a, b in zip(plain, whole, strict=True))
        return Cost(self.wanted, int(passes), seconds)
