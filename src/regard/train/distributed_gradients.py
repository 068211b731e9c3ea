"""Gradients summed over all processes, some at a time, while those before them are still being computed."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch
import torch.distributed as dist
from jaxtyping import Float
from torch import Tensor, nn

from regard.train.distributed import Team

# Large enough that the wire and not the wait costs; small enough that the first is under way early.
BYTES = 25 * 2**20


@dataclass
class Bucket:
    """Parameters whose gradients travel as one flat tensor."""

    parameters: list[nn.Parameter]
    missing: int = 0
    flat: Float[Tensor, " N"] | None = None
    work: dist.Work | None = None

    @torch.no_grad()
    def send(self) -> None:
        """Start to sum; a parameter this process made no gradient for counts as zeros."""
        pieces = [_gradient(parameter).reshape(-1) for parameter in self.parameters]
        self.flat = torch.cat(pieces)
        self.work = dist.all_reduce(self.flat, async_op=True)

    def receive(self) -> None:
        """Let the gradients be views of the sum."""
        assert self.work is not None
        assert self.flat is not None
        self.work.wait()
        sizes = [parameter.numel() for parameter in self.parameters]
        for parameter, part in zip(self.parameters, self.flat.split(sizes), strict=True):
            parameter.grad = part.view_as(parameter)
        self.flat = self.work = None


class Buckets:
    """The gradients of what learns in a model, last layer first, as backward makes them.

    Buckets are sent in one order that all processes share, whichever is ready first: collectives must match.
    """

    def __init__(self, model: nn.Module, team: Team, size: int = BYTES) -> None:
        self.team = team
        self.buckets = bucketed([parameter for parameter in model.parameters() if parameter.requires_grad], size)
        self._sent = 0

    @property
    def bytes(self) -> int:
        """What a process hands over at each update."""
        return sum(parameter.numel() * parameter.element_size() for parameter in self.parameters)

    @property
    def parameters(self) -> list[nn.Parameter]:
        return [parameter for bucket in self.buckets for parameter in bucket.parameters]

    @contextmanager
    def summing(self) -> Iterator[None]:
        """Around the last backward of an update: afterwards every gradient is the sum over all processes."""
        handles = [
            parameter.register_post_accumulate_grad_hook(lambda _, bucket=bucket: self._ready(bucket))
            for bucket in self.buckets
            for parameter in bucket.parameters
        ]
        self._sent = 0
        for bucket in self.buckets:
            bucket.missing = len(bucket.parameters)
        try:
            yield
            made = self._made()
            self._send(len(self.buckets))
            for bucket in self.buckets:
                bucket.receive()
            self._forget(made)
        finally:
            for handle in handles:
                handle.remove()

    def _ready(self, bucket: Bucket) -> None:
        bucket.missing -= 1
        ready = self._sent
        while ready < len(self.buckets) and self.buckets[ready].missing == 0:
            ready += 1
        self._send(ready)

    def _send(self, until: int) -> None:
        for bucket in self.buckets[self._sent : until]:
            bucket.send()
        self._sent = until

    def _made(self) -> list[float]:
        return [float(parameter.grad is not None) for parameter in self.parameters]

    def _forget(self, made: Sequence[float]) -> None:
        """Take the zeros from parameters that no process made a gradient for: an optimizer must leave them alone."""
        for parameter, times in zip(self.parameters, self.team.sum(made), strict=True):
            if not times:
                parameter.grad = None


def bucketed(parameters: Sequence[nn.Parameter], size: int) -> list[Bucket]:
    """Parameters from the last to the first, in buckets of one type and of at most so many bytes."""
    buckets: list[Bucket] = []
    room = 0
    for parameter in reversed(parameters):
        needed = parameter.numel() * parameter.element_size()
        if not buckets or needed > room or buckets[-1].parameters[0].dtype != parameter.dtype:
            buckets.append(Bucket([]))
            room = size
        buckets[-1].parameters.append(parameter)
        room -= needed
    return buckets


def _gradient(parameter: nn.Parameter) -> Tensor:
    return torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
