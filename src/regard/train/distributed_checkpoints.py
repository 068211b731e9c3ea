"""Checkpoints of a model in parts: every process writes its own files at the same time, and nobody holds the whole.

What comes of it is a checkpoint like any other, whole or not there, which any number of processes can go on from.
"""

import secrets
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from torch import Tensor

from regard.errors import DataError
from regard.files import shown
from regard.train.checkpoints import SHARDED, Checkpoint, State, place, put, store, write_state
from regard.train.distributed import Team
from regard.train.distributed_sharding import in_parts, own_part
from regard.train.shards import file_name, whereabouts


def save_parts(folder: Path, checkpoint: Checkpoint, team: Team, keep: int | None = 2) -> Path:
    """Write a checkpoint whose tensors lie in parts on all processes; all must call it, and the first finishes it."""
    final = place(folder, checkpoint.update)
    part = Path(_told(team, lambda: _begun(final) if team.leads else "", folder)[0])
    try:
        records = _told(team, lambda: _written(part, checkpoint, team), folder)
        if team.leads:
            write_state(part, _state(checkpoint, records))
            put(part, final, keep)
    except OSError as error:
        raise _refusal(folder, error.strerror or str(error)) from error
    finally:
        if team.leads:
            shutil.rmtree(part, ignore_errors=True)
    return final


def _begun(final: Path) -> str:
    part = final.with_name(f".{final.name}.{secrets.token_hex(4)}.part")
    part.mkdir(parents=True)
    return str(part)


def _written(part: Path, checkpoint: Checkpoint, team: Team) -> dict[str, tuple[str, int]]:
    """This process's files with their checksums and sizes."""
    found = {}
    for group, tensors in checkpoint.tensors.items():
        own = {name: own_part(tensor) for name, tensor in tensors.items() if team.leads or in_parts(tensor)}
        # Of few rows some processes have none.
        own = {name: piece for name, piece in own.items() if team.leads or len(piece)}
        if own:
            name = file_name(group, team.rank, team.size)
            offsets = {key: _begins(tensors[key], team) for key in own}
            found[name] = store(own, part / name, whereabouts(offsets))
    return found


def _begins(tensor: Tensor, team: Team) -> list[int]:
    """Where in the whole tensor the rows of this process begin: all have as many, but for the last."""
    if not in_parts(tensor):
        return [0] * tensor.dim()
    rows = len(tensor)
    return [min(rows, -(-rows // team.size) * team.rank)] + [0] * (tensor.dim() - 1)


def _state(checkpoint: Checkpoint, records: list[dict[str, tuple[str, int]]]) -> State:
    stored = {name: record for each in records for name, record in each.items()}
    return State(
        format=SHARDED,
        update=checkpoint.update,
        facts=dict(checkpoint.facts),
        checksums={name: checksum for name, (checksum, _) in stored.items()},
        sizes={name: size for name, (_, size) in stored.items()},
        index={
            group: {name: list(tensor.shape) for name, tensor in tensors.items()}
            for group, tensors in checkpoint.tensors.items()
        },
    )


def _told(team: Team, action: Callable[[], Any], folder: Path) -> list[Any]:
    """What the action gave in every process; if it failed in one it did in all, so that none waits for another."""
    try:
        outcome = {"value": action()}
    except OSError as error:
        outcome = {"error": error.strerror or str(error)}
    outcomes = team.gathered(outcome)
    for each in outcomes:
        if "error" in each:
            raise _refusal(folder, each["error"])
    return [each["value"] for each in outcomes]


def _refusal(folder: Path, reason: str) -> DataError:
    return DataError(f"Cannot save a checkpoint in {shown(folder)}: {reason}; the one before is untouched.")
