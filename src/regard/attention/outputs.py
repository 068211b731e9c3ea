"""What is made of the context: itself, Luong's attentional vector, or values that know their scores."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.attention.initialization import linear
from regard.attention.memory import Attended, Memory


class Output(nn.Module):
    """The weighted sum itself   (Bahdanau et al. 2015)."""

    # Whether the output needs weights and scores themselves, which only the reference kernel holds.
    explicit = False

    def __init__(self, query: int, value: int) -> None:
        super().__init__()
        self.width = value

    def forward(self, attended: Attended, query: Float[Tensor, "B Q D"], memory: Memory) -> Float[Tensor, "B Q W"]:
        return attended.context[:, 0]


class Attentional(Output):
    """tanh(W [context; query])   (Luong et al. 2015, eq. 5)."""

    def __init__(self, query: int, value: int) -> None:
        super().__init__(query, value)
        self.width = query
        self.combine = linear(query + value, query, bias=False)

    def forward(self, attended: Attended, query: Float[Tensor, "B Q D"], memory: Memory) -> Float[Tensor, "B Q W"]:
        return torch.tanh(self.combine(torch.cat([attended.context[:, 0], query], dim=-1)))


class Scored(Output):
    """sum_j weight_j tanh(W [value_j; score_j]): each value beside its score, through a linear layer and tanh."""

    explicit = True

    def __init__(self, query: int, value: int) -> None:
        super().__init__(query, value)
        self.value = linear(value, value)
        self.score = linear(1, value, bias=False)

    def forward(self, attended: Attended, query: Float[Tensor, "B Q D"], memory: Memory) -> Float[Tensor, "B Q W"]:
        assert attended.weights is not None
        assert attended.scores is not None
        # W [v; s] = W_v v + W_s s: the values' half does not depend on the query.
        from_value_BKW = self.value(memory.values[:, 0])
        beams = query.shape[0] // from_value_BKW.shape[0]
        from_value_BKW = from_value_BKW.repeat_interleave(beams, dim=0)
        mixed_BQKW = torch.tanh(from_value_BKW[:, None] + self.score(attended.scores[:, 0, :, :, None]))
        return (attended.weights[:, 0, :, None] @ mixed_BQKW).squeeze(2)


OUTPUTS: dict[str, type[Output]] = {"sum": Output, "attentional": Attentional, "scored": Scored}
