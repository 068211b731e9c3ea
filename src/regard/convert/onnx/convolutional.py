"""Convolutional models as graphs: their own reading and steps, the last inputs of every layer kept between these."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from regard.attention import Memory
from regard.convert.onnx.transformer import positions
from regard.models import ConvolutionalSequence, State
from regard.models.convolutional import Own
from regard.models.encoders import ConvolutionalEncoder


class ConvolutionalReading(nn.Module):
    """pieces, real (and segments, and what stands beside) -> states."""

    def __init__(self, encoder: ConvolutionalEncoder) -> None:
        super().__init__()
        self.encoder = encoder

    def forward(
        self,
        pieces: Int[Tensor, "B T"],
        real: Bool[Tensor, "B T"],
        segments: Int[Tensor, "B T"] | None = None,
        beside: Float[Tensor, "B T X"] | None = None,
    ) -> Float[Tensor, "B T D"]:
        return self.encoder.read(pieces, real, segments, beside, positions(pieces))[1]


class ConvolutionalStart(nn.Module):
    """source, real -> real, the values, each layer's keys, how long each output is and what its layers have seen."""

    def __init__(self, model: ConvolutionalSequence) -> None:
        super().__init__()
        self.model = model

    def forward(self, source: Int[Tensor, "B S"], real: Bool[Tensor, "B S"]) -> tuple[Tensor, ...]:
        memories, at = self.model.encode(source, real, positions(source)), positions(source)[:, :1]
        reach, width = self.model.settings.kernel - 1, self.model.settings.width
        nothing_BPD = torch.zeros_like(at, dtype=memories[0].values.dtype)[..., None].expand(-1, reach, width)
        return (real, memories[0].values, *(memory.keys for memory in memories), at, *(nothing_BPD for _ in memories))


class ConvolutionalStep(nn.Module):
    """pieces and all that start gave -> log-probabilities of the next piece, and what each output has after it."""

    def __init__(self, model: ConvolutionalSequence) -> None:
        super().__init__()
        self.model = model

    def forward(self, pieces: Int[Tensor, " R"], *state: Tensor) -> tuple[Tensor, ...]:
        count = len(self.model.blocks)
        real, values, keys = state[0], state[1], state[2 : 2 + count]
        length, seen = state[2 + count], state[3 + count :]
        memories = tuple(Memory(one, values, real, positions(real)) for one in keys)
        said_RV, after = self.model.step(pieces, State(memories, Own(seen, length)))
        return (said_RV, after.own.length, *after.own.seen)
