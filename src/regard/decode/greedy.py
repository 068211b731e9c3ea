"""The likeliest piece at every step."""

from jaxtyping import Bool, Int
from torch import Tensor

from regard.decode.hypotheses import Request
from regard.decode.searching import search
from regard.decode.settings import SearchSettings
from regard.models.protocols import Decoder


def greedy(
    model: Decoder, source: Int[Tensor, "B S"], real: Bool[Tensor, "B S"] | None, longest: int
) -> list[list[int]]:
    """The pieces of each output without its end; one that has not ended after `longest` pieces is cut there."""
    requests = [Request(longest=longest)] * source.shape[0]
    found = search(model, source, real, SearchSettings(method="greedy"), requests)
    return [list(outputs[0].pieces) for outputs in found]
