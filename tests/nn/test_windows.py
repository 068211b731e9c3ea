"""Windows are a convolution."""

import pytest
import torch
from torch.nn import functional as F
from torch.testing import assert_close

from regard.nn.windows import Windows


@pytest.mark.parametrize("length", [1, 2, 6])
@pytest.mark.parametrize("kernel", [1, 2, 3, 4, 7])
def test_windows_give_what_torchs_convolution_gives(kernel: int, length: int) -> None:
    made, x = Windows(3, 5, kernel), torch.randn(2, length, 3)
    weight = made.product.weight.unflatten(1, (kernel, 3)).transpose(1, 2)
    padded = F.pad(x.transpose(1, 2), ((kernel - 1) // 2, kernel // 2))
    assert_close(made(x), F.conv1d(padded, weight, made.product.bias).transpose(1, 2))
