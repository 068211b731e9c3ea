"""What is made of the context: itself, Luong's attentional vector, or values that know their scores.

An output has two places to act: where each head's values are gathered (`gather`), and on all heads together beside the
query (`finish`).
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.attention.initialization import linear, matrix
from regard.attention.memory import Attended, Memory
from regard.attention.places import Sizes
from regard.attention.problem import spread
from regard.attention.products import by_head


class Output(nn.Module):
    """The weighted sum itself   (Bahdanau et al. 2015)."""

    # Whether the output needs weights and scores themselves, which only the reference kernel holds.
    explicit = False

    def __init__(self, sizes: Sizes, query: int, context: int) -> None:
        super().__init__()
        self.width = context

    def gather(self, attended: Attended, memory: Memory) -> Float[Tensor, "R H Q W"]:
        return attended.context

    def finish(self, context: Float[Tensor, "R Q C"], query: Float[Tensor, "R Q D"]) -> Float[Tensor, "R Q X"]:
        return context


class Attentional(Output):
    """tanh(W [context; query])   (Luong et al. 2015, 3)."""

    def __init__(self, sizes: Sizes, query: int, context: int) -> None:
        super().__init__(sizes, query, context)
        self.width = query
        self.combine = linear(context + query, query, bias=False)

    def finish(self, context: Float[Tensor, "R Q C"], query: Float[Tensor, "R Q D"]) -> Float[Tensor, "R Q X"]:
        return torch.tanh(self.combine(torch.cat([context, query], dim=-1)))


class Scored(Output):
    """sum_j weight_j tanh(W [value_j; score_j] + b): each value beside its score, through a linear layer and tanh."""

    explicit = True

    def __init__(self, sizes: Sizes, query: int, context: int) -> None:
        super().__init__(sizes, query, context)
        self.value = matrix(sizes.heads, sizes.value, sizes.value)
        self.score = matrix(sizes.heads, 1, sizes.value)
        self.bias = nn.Parameter(torch.zeros(sizes.heads, 1, sizes.value))

    def gather(self, attended: Attended, memory: Memory) -> Float[Tensor, "R H Q W"]:
        assert attended.used is not None
        assert attended.scores is not None
        rows, heads = attended.used.shape[:2]
        # W [v; s] = W_v v + W_s s, and the values' half does not depend on the query.
        from_value_BHKW = by_head(spread(memory.values, heads), self.value) + self.bias
        beams = rows // from_value_BHKW.shape[0]
        from_value_RHKW = from_value_BHKW if beams == 1 else from_value_BHKW.repeat_interleave(beams, dim=0)
        from_score_RHQKW = attended.scores[..., None] * self.score[:, None]
        known_RHQKW = torch.tanh(from_value_RHKW[:, :, None] + from_score_RHQKW)
        return (attended.used[..., None, :] @ known_RHQKW).squeeze(-2)


OUTPUTS: dict[str, type[Output]] = {"sum": Output, "attentional": Attentional, "scored": Scored}
