"""The heart: one attention, put together from a score, a scope, a normalizer and a position scheme.

Heads are folded into the second dimension throughout; what projects into heads and out of them stands in `heads`.
"""

from dataclasses import replace
from typing import Any, Self

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from regard.attention import kernels
from regard.attention.beams import as_is, fold, fold_history, fold_mask, fold_places, spread_back, unfold
from regard.attention.checks import check_memory, check_query
from regard.attention.dropout import Dropout, checked_rate
from regard.attention.kernels import Result
from regard.attention.looking import explicit_check, look
from regard.attention.masks import FREE, Mask
from regard.attention.memory import Attended, History, Memory
from regard.attention.normalizers import NORMALIZERS
from regard.attention.places import At, Sizes
from regard.attention.positions import POSITIONS, embedding_only
from regard.attention.problem import Formula, Problem
from regard.attention.scopes import SCOPES
from regard.attention.scores import SCORES, Product
from regard.attention.taps import Tap
from regard.config import Part, Settings, make
from regard.errors import ConfigError, ModelError, unknown


class MechanismSettings(Settings):
    """What a mechanism is made of, by name."""

    score: Part = Part(name="scaled_dot")
    scope: Part = Part(name="global")
    normalizer: Part = Part(name="softmax")
    position: Part = Part(name="none")
    dropout: float = 0.0
    kernel: str = "auto"

    @classmethod
    def of(cls, **choices: Any) -> Self:
        """Settings from names, tables or parts, as a recipe would give them."""
        return cls.read(choices)


class Mechanism(nn.Module):
    """weights = normalize(score(q, k) + bias, mask), context = weights v."""

    # Positions are ranges, which torch.compile cannot trace when lengths vary; all around these methods it can.
    untraced = ("remember", "forward")

    def __init__(self, settings: MechanismSettings, sizes: Sizes, explicit: bool = False) -> None:
        super().__init__()
        self.settings, self.sizes, self.explicit = settings, sizes, explicit
        self.score = make("score", SCORES, settings.score, sizes)
        self.scope = make("scope", SCOPES, settings.scope, sizes)
        self.normalizer = make("normalizer", NORMALIZERS, settings.normalizer, sizes)
        self.position = make("position", POSITIONS, settings.position, sizes.key, sizes.heads)
        self.dropout = checked_rate(settings.dropout)
        self.recurrent = self.score.recurrent or self.scope.recurrent
        self.queries, self.keys, self.values = Tap("BHQE"), Tap("BGKE"), Tap("BGKE")
        self.scores, self.weights, self.context = Tap("BHQK"), Tap("BHQK"), Tap("BHQE")
        refuse_nonsense(self)

    @property
    def formula(self) -> Formula:
        return Formula(self.score, self.scope, self.normalizer, self.position)

    def remember(
        self,
        keys: Float[Tensor, "B G K E"],
        values: Float[Tensor, "B G K W"],
        real: Bool[Tensor, "B K"] | None = None,
        at: At | None = None,
    ) -> Memory:
        """Keys and values prepared once, to be attended to any number of times."""
        at = range(keys.shape[2]) if at is None else at
        check_memory(keys, values, real, at, self.sizes)
        prepared = self.score.prepare(self.keys(self.position.rotate(keys, at)))
        return Memory(prepared, self.values(values), real, at)

    def forward(
        self,
        query: Float[Tensor, "R H Q E"],
        memory: Memory,
        mask: Mask = FREE,
        at: At | None = None,
        history: History | None = None,
    ) -> Attended:
        """Rows may be several beams of each source in memory, side by side: they share its keys and values."""
        at = range(query.shape[2]) if at is None else at
        check_query(query, memory, mask, at, self.sizes)
        query = self.queries(self.position.rotate(query, at))
        beams = query.shape[0] // memory.keys.shape[0]
        if beams > 1:
            attended = self._folded(query, memory, mask, at, history)
        elif self.recurrent and query.shape[2] > 1:
            attended = self._one_by_one(self._problem(query, memory, mask, at, history))
        else:
            attended = self._at_once(self._problem(query, memory, mask, at, history))
        return replace(attended, context=self.context(attended.context))

    def show(self, query: Float[Tensor, "B H Q E"], memory: Memory, at: At, context: Float[Tensor, "B H Q W"]) -> None:
        """Let watchers see a call that somebody else computed: what was asked, what came of it, and the weights of it,
        rebuilt and checked against it."""
        query = self.queries(query)
        look(self.scores, self.weights, self._problem(query, memory, FREE, at, None), Result(context))
        self.context(context)

    def joint(
        self, query: Float[Tensor, "R H Q E"], shared: Memory, own: Memory, mask: Mask = FREE, at: At | None = None
    ) -> Attended:
        """One softmax over two memories: what the beams of a source share, and what each row has of its own."""
        if self.recurrent or self.score.counts or self.scope.counts:
            raise ModelError(
                f"score {self.settings.score} and scope {self.settings.scope} go by the number or the past of a "
                "memory's keys and cannot take two memories for one; choose others."
            )
        if shared.keys.shape[0] == own.keys.shape[0]:
            return self(query, shared.extend(own), mask, at)
        at = range(query.shape[2]) if at is None else at
        query, beams = self.queries(self.position.rotate(query, at)), query.shape[0] // shared.keys.shape[0]
        places = fold_places(at, query.shape[0], beams, query.device)
        ours = self._problem(query, own, mask, at, None)
        theirs = self._problem(fold(query, beams), shared, fold_mask(mask), places, None)
        context, used = self._jointly(ours, theirs, beams)
        return Attended(self.context(context), weights=used, used=used)

    def _jointly(self, ours: Problem, theirs: Problem, beams: int) -> tuple[Tensor, Tensor]:
        """Scores side by side, normalized together, each part's values mixed where they lie."""
        parts = [(theirs, fold, spread_back, beams), (ours, as_is, as_is, 1)]
        scores = self.scores(torch.cat([back(one.whole_scores(), n) for one, _, back, n in parts], dim=-1))
        allowed = torch.cat([back(one.whole_allowed(), n) for one, _, back, n in parts], dim=-1)
        used = self.scope.normalize(scores, allowed, self.normalizer, None)
        used = self.weights(used, explicit_check(used, allowed) if self.weights.watches else None)
        split = used.split([theirs.keys.shape[2], ours.keys.shape[2]], dim=-1)
        mixed = [
            back(one.mixed(there(part, n), one.values, one.whole), n)
            for (one, there, back, n), part in zip(parts, split, strict=True)
        ]
        return mixed[0] + mixed[1], used

    def _problem(self, query: Tensor, memory: Memory, mask: Mask, at: At, history: History | None) -> Problem:
        mask = mask & self.scope.band()
        if memory.real is not None:
            mask = mask & Mask(keys=memory.real)
        drop = Dropout.draw(self.dropout) if self.training and self.dropout else None
        return Problem(
            self.formula, query, memory.keys, memory.values, mask, at, memory.at, memory.lengths, history, drop
        )

    def _at_once(self, problem: Problem) -> Attended:
        if self.scores.replaced or self.weights.replaced:
            result = self._replaced(problem)
        elif self.explicit or self.recurrent:
            result = kernels.reference(problem)
        else:
            result = kernels.run(problem, self.settings.kernel)
        look(self.scores, self.weights, problem, result)
        history = self._history(problem, result) if self.recurrent else None
        return Attended(result.context, history, self._pointing(problem, result), result.used, result.scores)

    def _folded(self, query: Tensor, memory: Memory, mask: Mask, at: At, history: History | None) -> Attended:
        """Several beams as several rows of one query, so that the memory is never copied."""
        beams = query.shape[0] // memory.keys.shape[0]
        if self.recurrent and query.shape[2] > 1:
            raise ModelError("A mechanism that looks back takes beams one step at a time; give one query per beam.")
        places = fold_places(at, query.shape[0], beams, query.device)
        folded = self._problem(fold(query, beams), memory, fold_mask(mask), places, fold_history(history, beams))
        return unfold(self._at_once(replace(folded, beams=beams)), beams)

    def _one_by_one(self, problem: Problem) -> Attended:
        """Queries in turn, each seeing the weights of the one before; dropout and taps as for the whole."""
        results, history = [], problem.history
        for row in range(problem.queries):
            step = replace(_row(problem, row), history=history)
            results.append(kernels.from_scores(step, self._step_scores(step)))
            history = self._history(step, results[-1])
        whole = _joined(results)
        if self.weights.replaced:
            whole = self._reweighted(problem, whole)
        look(self.scores, self.weights, problem, whole)
        return Attended(whole.context, history, self._pointing(problem, whole), whole.used, whole.scores)

    def _step_scores(self, step: Problem) -> Float[Tensor, "B H 1 K"]:
        scores = step.scores(step.query, step.keys, step.whole)
        return self.scores.replace(scores) if self.scores.replaced else scores

    def _replaced(self, problem: Problem) -> Result:
        """The reference kernel with somebody else's scores or weights in their places."""
        scores = self.scores.replace(spread_back(problem.whole_scores(), problem.beams))
        return self._reweighted(problem, kernels.from_scores(problem, fold(scores, problem.beams)))

    def _reweighted(self, problem: Problem, result: Result) -> Result:
        assert result.used is not None
        used = fold(self.weights.replace(spread_back(result.used, problem.beams)), problem.beams)
        return replace(result, used=used, context=problem.mixed(used, problem.values, problem.whole))

    def _pointing(self, problem: Problem, result: Result) -> Tensor | None:
        """Weights that sum to what the scope promises: what was used, but for dropout."""
        return result.used if problem.dropout is None else self._undropped(problem, result)

    def _undropped(self, problem: Problem, result: Result) -> Tensor | None:
        factor = self.scope.factor(problem.query, problem.whole)
        return result.weights if factor is None or result.weights is None else result.weights * factor

    def _history(self, problem: Problem, result: Result) -> History:
        weights = self._undropped(problem, result)
        assert weights is not None
        return History(weights, weights) if problem.history is None else problem.history.after(weights)


def refuse_nonsense(mechanism: Mechanism) -> None:
    """Combinations of parts that have no meaning, each refused in one sentence."""
    settings = mechanism.settings
    if mechanism.position.acts == "embedding":
        raise embedding_only(settings.position.name)
    if settings.scope.name == "monotonic" and settings.normalizer.name != "softmax":
        raise ConfigError(
            f"scope monotonic stops by a sigmoid of its own and leaves normalizer {settings.normalizer.name} nothing "
            "to do; drop the normalizer or the scope."
        )
    if mechanism.position.mixes and mechanism.sizes.value != mechanism.sizes.key:
        raise ConfigError(
            f"position {settings.position.name} adds to the values what it adds to the keys, so values of width "
            f"{mechanism.sizes.value} must be as wide as keys ({mechanism.sizes.key})."
        )
    if mechanism.position.acts == "attention" and mechanism.sizes.query != mechanism.sizes.key:
        raise ConfigError(
            f"position {settings.position.name} compares queries and keys of one width, got {mechanism.sizes.query} "
            f"and {mechanism.sizes.key}; make them equal or use position none."
        )
    if settings.position.name == "rotary" and not isinstance(mechanism.score, Product):
        raise ConfigError(
            f"position rotary acts through a product of query and key, which score {settings.score.name} is not; "
            "choose dot, scaled_dot, cosine, or another position."
        )
    _refuse_kernel(mechanism)


def _refuse_kernel(mechanism: Mechanism) -> None:
    name = mechanism.settings.kernel
    if name not in ("auto", *kernels.KERNELS):
        raise ConfigError(unknown("kernel", name, ["auto", *kernels.KERNELS]))
    if name not in ("auto", "reference") and (mechanism.explicit or mechanism.recurrent):
        raise ConfigError(
            f"kernel {name} never holds the weights themselves, which this output, or a mechanism that looks back at "
            "them, needs; choose kernel 'reference' or 'auto'."
        )


def _row(problem: Problem, row: int) -> Problem:
    """One query of the problem, with the dropout of its own row."""
    mask = problem.mask
    if mask.pairs is not None and mask.pairs.shape[2] > 1:
        mask = replace(mask, pairs=mask.pairs[:, :, row : row + 1])
    at = problem.at_query[row : row + 1] if isinstance(problem.at_query, range) else problem.at_query[:, row : row + 1]
    query, rows = problem.query[:, :, row : row + 1], problem.row_numbers[:, :, row : row + 1]
    return replace(problem, query=query, mask=mask, at_query=at, rows=rows)


def _joined(results: list[Result]) -> Result:
    """Results of queries in turn, as one."""
    return Result(
        context=torch.cat([one.context for one in results], dim=2),
        weights=torch.cat([one.weights for one in results if one.weights is not None], dim=2),
        scores=torch.cat([one.scores for one in results if one.scores is not None], dim=2),
        used=torch.cat([one.used for one in results if one.used is not None], dim=2),
    )
