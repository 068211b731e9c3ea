import pytest
import torch

from regard.attention.products import by_head


@pytest.mark.parametrize("matrices", [1, 3], ids=["one for all", "one a head"])
@pytest.mark.parametrize("places", [1, 5])
def test_every_head_meets_its_own_matrix(matrices: int, places: int) -> None:
    x = torch.randn(2, 3, places, 4, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(matrices, 4, 6, dtype=torch.float64, requires_grad=True)
    by_loop = torch.stack([x[:, head] @ weight[head % matrices] for head in range(3)], dim=1)
    torch.testing.assert_close(by_head(x, weight), by_loop)

    probe = torch.randn_like(by_loop)
    wanted = torch.autograd.grad((by_loop * probe).sum(), (x, weight))
    torch.testing.assert_close(torch.autograd.grad((by_head(x, weight) * probe).sum(), (x, weight)), wanted)


def test_no_example_gets_a_copy_of_the_matrix() -> None:
    """Its gradient would be one of every copy, which for one query an example is most of the time of a step."""
    x, weight = torch.randn(7, 2, 1, 4), torch.randn(2, 4, 6, requires_grad=True)
    shapes: list[torch.Size] = []
    with torch.autograd.graph.saved_tensors_hooks(lambda kept: (shapes.append(kept.shape), kept)[1], lambda kept: kept):
        by_head(x, weight)
    assert shapes
    assert all(shape.numel() <= max(x.numel(), weight.numel()) for shape in shapes)
