"""Maps of single layers as one way from outputs to inputs: through decoder, cross-attention and encoder."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor

from regard.errors import RequestError
from regard.explain.asking import attentive
from regard.explain.subject import Look, Subject
from regard.models import Transformer

# The map of one layer: how much each query has from each key.
Mixing: TypeAlias = Callable[[Look], Tensor]


@runtime_checkable
class Placed(Protocol):
    """A subject that tells where outputs are read off the inputs' last states: a tag at its word, a class at the first.

    read[o, i] is the share of output o that is read at input i; None if it is read everywhere alike.
    """

    @property
    def read(self) -> Float[Tensor, "O S"] | None: ...


@dataclass(frozen=True)
class Blend:
    """How much of a layer's output passes by it on the residual: `kept` in self-attention, `crossed` in crossing."""

    kept: float = 0.5
    crossed: float = 0.5

    def shares(self, look: Look) -> tuple[float, float]:
        kept = self.kept if look.kind == "self" else self.crossed
        return kept, 1.0 - kept


@dataclass(frozen=True)
class Step:
    """One layer: what each position has from its own stream before it, and from the inputs.

    In a text that goes on where the inputs end, both are one stream, of which the inputs come first.
    """

    stream: Literal["inputs", "outputs", "text"]
    own: Float[Tensor, "Q Q"] | None
    inputs: Float[Tensor, "Q S"] | None = None
    # After which layer of the inputs' own they are read; -1 is the last.
    depth: int = -1

    @property
    def queries(self) -> int:
        part = self.inputs if self.own is None else self.own
        assert part is not None
        return len(part)

    def start(self, inputs: int) -> Float[Tensor, "Q S"]:
        """How much of each input is in each position before the stream's first layer."""
        part = self.inputs if self.own is None else self.own
        assert part is not None
        none_QS = part.new_zeros(self.queries, inputs)
        return none_QS.fill_diagonal_(1.0) if self.stream == "text" else none_QS


def followed(subject: Subject) -> Literal["all", -1]:
    """All layers where there are several to be followed through, else the last."""
    return "all" if any(look.kind == "self" for look in attentive(subject)) and not apart(subject) else -1


def apart(subject: Subject) -> bool:
    """Whether two texts are read of which one asks the other: no attention leads from there to the outputs."""
    return any(look.kind == "cross" and look.queries == "inputs" for look in attentive(subject))


def refuse_single(subject: Subject, method: str) -> None:
    """One attention over states that no attention made has nothing to be followed through."""
    if followed(subject) != "all":
        raise RequestError(
            f"{method} follows attention through layers of self-attention up to the outputs, and this model has none; "
            "use weights, attention_gradient or integrated_gradients."
        )


def steps(subject: Subject, mixing: Mixing, blend: Blend) -> Iterator[Step]:
    """The subject's layers, encoder first, each as `mixing` has it when its turn comes."""
    read = False
    for look in sorted(attentive(subject), key=_order):
        step = _step(subject, look, mixing(look), blend)
        read = read or step.stream != "inputs"
        yield step
    if not read:
        assert step.own is not None
        yield _read(subject, step.own)


def composed(subject: Subject, layers: Iterable[Step]) -> Float[Tensor, "O S"]:
    """The product of all layers: how much of each input is in each output."""
    states: list[Tensor] = []
    written: Tensor | None = None
    for step in layers:
        if step.stream == "inputs":
            assert step.own is not None
            after = step.own @ states[-1] if states else step.own
            states = [*states, after] if layerwise(subject) else [after]
        else:
            written = _written(step, states, step.start(len(subject.inputs)) if written is None else written)
    assert written is not None
    return written[-len(subject.outputs) :, : len(subject.inputs)]


def in_shares(found: Float[Tensor, "Q K"]) -> Float[Tensor, "Q K"]:
    """Rows that sum to one; zero where there is nothing."""
    return found / found.sum(-1, keepdim=True).clamp(min=torch.finfo(found.dtype).tiny)


def layerwise(subject: Subject) -> bool:
    """Whether each layer of the decoder reads the same layer of the encoder, and not the last."""
    return isinstance(subject.model, Transformer) and subject.model.settings.cross == "layerwise"


def _written(step: Step, states: list[Tensor], written: Float[Tensor, "Q S"]) -> Float[Tensor, "Q S"]:
    kept = torch.zeros_like(written) if step.own is None else step.own @ written
    if step.inputs is None:
        return kept
    return kept + (step.inputs @ states[step.depth] if states else step.inputs)


def _order(look: Look) -> tuple[bool, bool, int, bool]:
    """Encoder before decoder before pooling; in a decoder's layer, self-attention before cross-attention."""
    return look.queries == "one", look.queries != "inputs", look.layer, look.kind == "cross"


def _step(subject: Subject, look: Look, found: Float[Tensor, "Q K"], blend: Blend) -> Step:
    size = len(subject.inputs)
    if look.queries == "one":
        return Step("outputs", None, found[:, :size].mean(0, keepdim=True).expand(len(subject.outputs), -1))
    kept, given = blend.shares(look)
    stay_QQ = kept * torch.eye(len(found), dtype=found.dtype, device=found.device)
    stream = _stream(look, found)
    if look.keys == "outputs" or stream != "outputs":
        own, _ = _summed(stay_QQ + given * found, None)
        return Step(stream, own)
    # Beyond the inputs stand the outputs before, where a decoder attends to both in one go.
    before_QQ, crossed_QS = given * found[:, size:], given * found[:, :size]
    own, crossed = _summed(stay_QQ + before_QQ if before_QQ.shape[1] else stay_QQ, crossed_QS)
    return Step("outputs", own, crossed, look.layer if layerwise(subject) else -1)


def _stream(look: Look, found: Float[Tensor, "Q K"]) -> Literal["inputs", "outputs", "text"]:
    if look.queries == "inputs":
        return "inputs"
    whole = look.kind == "self" and look.keys == "inputs" and found.shape[0] == found.shape[1]
    return "text" if whole else "outputs"


def _summed(
    own: Float[Tensor, "Q Q"], other: Float[Tensor, "Q S"] | None
) -> tuple[Float[Tensor, "Q Q"], Float[Tensor, "Q S"] | None]:
    """Rows that sum to one over both parts; one with nothing in it stays where it is."""
    total_Q1 = own.sum(-1, keepdim=True) + (0.0 if other is None else other.sum(-1, keepdim=True))
    dead_Q1, total_Q1 = total_Q1 <= 0, total_Q1.clamp(min=torch.finfo(own.dtype).tiny)
    own = torch.where(dead_Q1, torch.eye(len(own), dtype=own.dtype, device=own.device), own / total_Q1)
    return own, None if other is None else other / total_Q1


def _read(subject: Subject, states: Float[Tensor, "S S"]) -> Step:
    """How outputs are read off the inputs' last states where no attention does it: at their places, or everywhere."""
    size = len(states)
    if isinstance(subject, Placed) and subject.read is not None:
        return Step("outputs", None, subject.read.to(states))
    return Step("outputs", None, states.new_full((len(subject.outputs), size), 1.0 / size))
