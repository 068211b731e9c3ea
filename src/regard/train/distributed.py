"""Several processes that make one run: who they are, and what they tell one another.

All walk the same batches in the same order, and each works on its own rows of every batch. Losses, counts and gradients
are summed over all and divided once, by the targets of all: the update is the one a single process makes, up to the
order in which numbers are added. So all hold the same parameters, and the first alone writes and speaks.

What travels is tensors and JSON, never pickle.
"""

import atexit
import hashlib
import json
import os
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from itertools import count
from typing import Any, Generic, TypeVar

import torch
import torch.distributed as dist
from jaxtyping import UInt8
from torch import Tensor, nn
from torch.distributed.distributed_c10d import PrefixStore, Store
from torch.distributed.rendezvous import rendezvous

from regard.errors import ConfigError, DataError, RegardError
from regard.nn.parameters import named

B = TypeVar("B")
T = TypeVar("T")

# What torchrun tells each process, and torch's own way to meet asks for.
TOLD = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
BACKENDS = {"cpu": "gloo", "cuda": "nccl"}
CPU = torch.device("cpu")
# Seconds between two looks whether the first process has done what the others wait for.
GLANCE = 0.05
DONE, FAILED = "done", "failed"


class Parted(RegardError):
    """Another process of the run ended or cannot be reached; nothing was changed."""


@dataclass(frozen=True)
class Spare(Generic[B]):
    """A batch for a process that has no row of its own: worked on like any, since all take part, but not counted."""

    batch: B


@dataclass(frozen=True)
class Team:
    """The processes of a run, seen from one of them. One alone sums, gathers and waits for nothing."""

    rank: int = 0
    size: int = 1
    device: torch.device = CPU
    seed: int = 0

    @property
    def leads(self) -> bool:
        """Whether this is the process that writes and speaks."""
        return self.rank == 0

    def sum(self, numbers: Sequence[float]) -> list[float]:
        """Each number summed over all processes."""
        if self.size == 1:
            return list(numbers)
        told = torch.tensor(numbers, dtype=torch.float64, device=self.device)
        with self.together():
            dist.all_reduce(told)
        return [float(number) for number in told.tolist()]

    def most(self, number: int) -> int:
        """The largest of all processes' numbers."""
        if self.size == 1:
            return number
        told = torch.tensor(number, device=self.device)
        with self.together():
            dist.all_reduce(told, dist.ReduceOp.MAX)
        return int(told)

    def own(self, items: Sequence[T]) -> Sequence[T]:
        """The items that are this process's to work on."""
        return items[self.rank :: self.size]

    def whole(self, own: Sequence[Any]) -> list[Any]:
        """What all processes made of their own items, in the order of the items; each must be as JSON has it."""
        parts = self.gathered(list(own))
        total = sum(map(len, parts))
        return [parts[number % self.size][number // self.size] for number in range(total)]

    def gathered(self, value: Any) -> list[Any]:
        """The values of all processes, the first's first; they travel as JSON."""
        if self.size == 1:
            return [value]
        told = torch.frombuffer(bytearray(json.dumps(value).encode()), dtype=torch.uint8)
        return [json.loads(bytes(part.tolist())) for part in self._texts(told)]

    def agree(self, facts: Mapping[str, object]) -> None:
        """Refuse to go on where processes differ in what must be the same for all."""
        first, *others = self.gathered({name: str(value) for name, value in facts.items()})
        for rank, other in enumerate(others, 1):
            for name in first:
                if other[name] != first[name]:
                    raise DataError(
                        f"Process {rank} has {name} {other[name]}, process 0 has {first[name]}. All processes of a run "
                        "need the same data, versions and folder; start them where they share these."
                    )

    def alike(self, model: nn.Module) -> None:
        """Give all processes the first one's parameters: other hardware may draw others from the same seed."""
        if self.size > 1:
            with self.together():
                for tensor in named(model).values():
                    dist.broadcast(tensor, 0)

    def reseed(self, update: int) -> None:
        """Let this process draw what is its own at this update, whatever was drawn before.

        So a run that goes on draws what the unbroken one does, and a checkpoint need not hold every process's state.
        """
        if self.size > 1:
            told = hashlib.blake2b(repr((self.seed, update, self.rank)).encode(), digest_size=8)
            torch.manual_seed(int.from_bytes(told.digest(), "big") >> 1)

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Inside goes the first process alone; the others when it is through, however long that takes."""
        if self.size == 1:
            yield
            return
        meeting = _meeting()
        name = f"turn-{next(meeting.turns)}"
        if not self.leads:
            meeting.wait(name)
            yield
            return
        outcome = FAILED
        try:
            yield
            outcome = DONE
        finally:
            meeting.store.set(name, outcome)

    @contextmanager
    def together(self) -> Iterator[None]:
        """Inside, what torch says when another process is gone becomes a sentence."""
        try:
            yield
        except RuntimeError as error:
            if self.size == 1 or not _of_others(error):
                raise
            told = str(error).strip().splitlines()[0]
            raise Parted(
                f"Process {self.rank} of {self.size} has lost the others ({told}). One of them ended, or none answered "
                "in time; nothing was changed, and the newest checkpoint is whole."
            ) from error

    def _texts(self, own: UInt8[Tensor, " N"]) -> list[Tensor]:
        with self.together():
            sizes = [torch.zeros(1, dtype=torch.int64, device=self.device) for _ in range(self.size)]
            dist.all_gather(sizes, torch.tensor([len(own)], device=self.device))
            longest = max(int(size) for size in sizes)
            padded = torch.zeros(longest, dtype=torch.uint8, device=self.device)
            padded[: len(own)] = own
            parts = [torch.empty_like(padded) for _ in range(self.size)]
            dist.all_gather(parts, padded)
        return [part[: int(size)].cpu() for part, size in zip(parts, sizes, strict=True)]


ALONE = Team()


def joined(device: torch.device, seed: int = 0, seconds: float = 600.0) -> Team:
    """The team torchrun made this process part of, on the device that is this one's; alone if nobody did.

    `seconds` is how long a process waits for the others at any step before it gives up.
    """
    if not _told():
        return Team(device=device, seed=seed)
    if device.type not in BACKENDS:
        raise ConfigError(f"device = {device.type!r} cannot be shared by several processes; use cpu or cuda.")
    if device.type == "cuda":
        device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))
        torch.cuda.set_device(device)
    meeting = _meeting()
    if not dist.is_initialized():
        _begin(meeting, device, seconds)
    return Team(meeting.rank, meeting.size, device, seed)


def leading() -> bool:
    """Whether this process is the one that speaks; known before the others are met."""
    return not _told() or os.environ["RANK"] == "0"


def job() -> str:
    """The name of the job torchrun has made this process part of; empty if it has not."""
    return os.environ.get("TORCHELASTIC_RUN_ID", "")


def restarted() -> bool:
    """Whether torchrun has started this process again after another one failed."""
    return int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")) > 0


def _told() -> bool:
    """Whether there are others."""
    return all(name in os.environ for name in TOLD) and os.environ["WORLD_SIZE"] != "1"


@dataclass(frozen=True)
class _Meeting:
    """Where processes find each other and leave word."""

    store: Store
    rank: int
    size: int
    turns: Iterator[int]

    def wait(self, name: str) -> None:
        while not self.store.check([name]):
            time.sleep(GLANCE)
        if self.store.get(name).decode() == FAILED:
            raise Parted("Process 0 could not make the run ready.")


@cache
def _meeting() -> _Meeting:
    store, rank, size = next(rendezvous("env://"))
    return _Meeting(PrefixStore(met(store, rank, size), store), rank, size, count())


def met(store: Store, rank: int, size: int, seconds: float = 600.0) -> str:
    """A name that the processes of this attempt have in common, and those of no earlier one.

    torchrun keeps one store for all its attempts, with every word the earlier ones left in it, and counts attempts on
    each machine for itself. So each process says a word nobody has said before; the first process repeats what it
    hears, and they have met when everyone has heard the first one repeat their own word.
    """
    own, until = uuid.uuid4().hex, time.monotonic() + seconds
    others = [str(other) for other in range(1, size)]
    while time.monotonic() < until:
        if rank:
            store.set(f"word-{rank}", own)
            repeated = _said(store, "repeated").split()
            if own in repeated[1:]:
                store.set(f"heard-{rank}", repeated[0])
                return repeated[0]
        else:
            store.set("repeated", " ".join([own, *(_said(store, f"word-{other}") for other in others)]))
            if all(_said(store, f"heard-{other}") == own for other in others):
                return own
        time.sleep(GLANCE)
    raise Parted(f"Process {rank} of {size} did not meet the others in {seconds:.0f} seconds; are they all started?")


def _said(store: Store, name: str) -> str:
    return store.get(name).decode() if store.check([name]) else ""


def _begin(meeting: _Meeting, device: torch.device, seconds: float) -> None:
    try:
        dist.init_process_group(
            BACKENDS[device.type],
            store=PrefixStore("group", meeting.store),
            rank=meeting.rank,
            world_size=meeting.size,
            timeout=timedelta(seconds=seconds),
            device_id=device if device.type == "cuda" else None,
        )
    except RuntimeError as error:
        told = str(error).strip().splitlines()[0]
        raise Parted(f"Process {meeting.rank} of {meeting.size} could not reach the others: {told}.") from error
    atexit.register(_end)


def _end() -> None:
    if dist.is_initialized():
        dist.destroy_process_group()


def _of_others(error: RuntimeError) -> bool:
    """Whether this is torch's way of saying that another process is gone."""
    words = ("gloo", "nccl", "connection closed", "connection reset", "timed out")
    return isinstance(error, dist.DistError) or any(word in str(error).lower() for word in words)
