"""Search over any model that generates; which model it is, it never asks."""

from regard.decode.greedy import greedy

__all__ = ["greedy"]
