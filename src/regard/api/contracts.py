"""The contract every part of a kind is held to, ours and the users' own, run on small random numbers.

A clause takes the part's name and its settings. It returns what was compared, or raises: `Broken` with what went
wrong, or whatever the part itself raises.
"""

from collections.abc import Mapping
from typing import Any

import torch

from regard.api.broken import Broken, Clause
from regard.api.contracts_attention import ATTENTION, EMBEDDING
from regard.api.contracts_metrics import METRIC
from regard.api.contracts_models import MODEL, reads
from regard.api.contracts_tasks import TASK
from regard.api.findings import Finding
from regard.attention import POSITIONS
from regard.errors import ConfigError, unknown

CONTRACTS: dict[str, dict[str, Clause]] = {
    "score": ATTENTION,
    "scope": ATTENTION,
    "normalizer": ATTENTION,
    "position": ATTENTION,
    "model": MODEL,
    "metric": METRIC,
    "task": TASK,
}


def contract(kind: str, name: str, options: Mapping[str, Any] | None = None) -> list[Finding]:
    """A finding for each clause of the contract that parts of this kind have to keep."""
    if kind not in CONTRACTS:
        raise ConfigError(unknown("kind of part with a contract", kind, CONTRACTS))
    if kind == "model" and not reads(name):
        told = "its forward takes no `target`, and the contract is for models that read a source"
        return [Finding("note", f"model {name}: contract", f"not run: {told}.")]
    clauses = CONTRACTS[kind]
    if kind == "position" and POSITIONS[name].acts == "embedding":
        clauses = EMBEDDING
    return [_judged(kind, name, sentence, clause, options or {}) for sentence, clause in clauses.items()]


def _judged(kind: str, name: str, sentence: str, clause: Clause, options: Mapping[str, Any]) -> Finding:
    title = f"{kind} {name}: {sentence}"
    try:
        with torch.random.fork_rng():
            torch.manual_seed(0)
            return Finding("ok", title, clause(kind, name, options))
    except Broken as broken:
        return Finding("error", title, str(broken))
    # A part of the user's own may fail in any way there is.
    except Exception as error:
        return Finding("error", title, f"it raised {type(error).__name__}: {error}")
