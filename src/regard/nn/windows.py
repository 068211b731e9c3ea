"""A convolution as one product of matrices: at the sizes of text several times as fast on a CPU as torch's own."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.attention import linear


class Windows(nn.Module):
    """W [x_t-a; ...; x_t+b] + c with a + b + 1 = kernel: as many positions as were given, zeros beyond either edge.

    Where a kernel is even, it looks one position further ahead than back.
    """

    def __init__(self, inputs: int, outputs: int, kernel: int) -> None:
        super().__init__()
        self.kernel = kernel
        self.product = linear(kernel * inputs, outputs)

    def forward(self, x: Float[Tensor, "B T X"]) -> Float[Tensor, "B T D"]:
        length = x.shape[1]
        around = nn.functional.pad(x, (0, 0, (self.kernel - 1) // 2, self.kernel // 2))
        return self.product(torch.cat([around[:, place : place + length] for place in range(self.kernel)], dim=-1))
