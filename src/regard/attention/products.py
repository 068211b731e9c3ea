"""Products with one matrix a head."""

from jaxtyping import Float
from torch import Tensor


def by_head(x: Float[Tensor, "B H X I"], weight: Float[Tensor, "_ I O"]) -> Float[Tensor, "B H X O"]:
    """x W, with a matrix for each head or one for all.

    `x @ weight` would give every example a copy of the matrix, and backward a gradient of each copy, to be summed: for
    one query an example, as in a recurrent decoder, that is most of the time of a step.
    """
    if weight.shape[0] == 1:
        return x @ weight[0]
    rows_HRI = x.transpose(0, 1).flatten(1, 2)
    return (rows_HRI @ weight).unflatten(1, (x.shape[0], x.shape[2])).transpose(0, 1)
