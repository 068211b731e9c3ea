"""Muon: the matrices inside a model move by their momentum made orthogonal, everything else as Adam moves it.

    momentum = beta momentum + (1 - beta) gradient
    matrix  -= rate * 0.2 sqrt(longer side) * orthogonal(beta momentum + (1 - beta) gradient)

(Jordan et al. 2024, https://kellerjordan.github.io/posts/muon; the factor, which makes a step as large as Adam's, so
that one rate and one decay serve both: Liu et al. 2025, https://arxiv.org/abs/2502.16982.)
"""

import inspect
from collections.abc import Iterable
from typing import Any, cast

import torch
from jaxtyping import Float
from torch import Tensor, nn

# The quintic whose repetition drives all singular values near one, and how often it is repeated.
QUINTIC, ROUNDS = (3.4445, -4.7750, 2.0315), 5
AS_ADAM = 0.2
# The step itself, without what torch wraps around it.
ADAM = inspect.unwrap(torch.optim.AdamW.step)


def matrices(model: nn.Module) -> dict[Tensor, int]:
    """The weights that map states to states, and of how many matrices one above the other each is made.

    Linear layers have one, recurrent layers one for every gate. What an embedding is made of too is none of them.
    """
    found: dict[Tensor, int] = {}
    for module in model.modules():
        if isinstance(module, nn.Linear):
            found[module.weight] = 1
        elif isinstance(module, nn.RNNBase):
            weights = (one for name, one in module.named_parameters() if name.startswith("weight"))
            found |= {weight: len(weight) // module.hidden_size for weight in weights}
    inside = nn.Linear, nn.RNNBase
    others = (module for module in model.modules() if not isinstance(module, inside))
    shared = {parameter for module in others for parameter in module.parameters(recurse=False)}
    return {weight: count for weight, count in found.items() if weight not in shared}


def orthogonal(matrices_NRC: Float[Tensor, "N R C"]) -> Float[Tensor, "N R C"]:
    """Each matrix with its singular values brought to about one (0.7 to 1.2) and its singular vectors kept."""
    tall = matrices_NRC.shape[1] > matrices_NRC.shape[2]
    x = matrices_NRC.mT if tall else matrices_NRC
    x = x / (x.norm(dim=(1, 2), keepdim=True) + 1e-7)
    a, b, c = QUINTIC
    for _ in range(ROUNDS):
        square = x @ x.mT
        x = torch.baddbmm(x, torch.baddbmm(square, square, square, beta=b, alpha=c), x, beta=a)
    return x.mT if tall else x


class Muon(torch.optim.AdamW):
    """Muon over the groups that say of how many `matrices` each parameter is made, AdamW over the others."""

    param_groups: list[dict[str, Any]]

    def step(self, closure: Any = None) -> Any:
        everything = self.param_groups
        self.param_groups = [group for group in everything if not group["matrices"]]
        try:
            told = ADAM(self, closure)
        finally:
            self.param_groups = everything
        for group in everything:
            if group["matrices"]:
                self._turn(group)
        return told

    def _turn(self, group: dict[str, Any]) -> None:
        for same in _alike(parameter for parameter in group["params"] if parameter.grad is not None):
            ahead = torch.cat([self._ahead(parameter, group["momentum"]) for parameter in same])
            apart = ahead.unflatten(0, (len(same) * group["matrices"], -1))
            step = -group["lr"] * AS_ADAM * max(apart.shape[1:]) ** 0.5
            for parameter, direction in zip(same, orthogonal(apart).flatten(0, 1).chunk(len(same)), strict=True):
                parameter.mul_(1.0 - group["lr"] * group["weight_decay"]).add_(direction, alpha=step)

    def _ahead(self, parameter: Tensor, beta: float) -> Tensor:
        """The gradient where momentum, which takes it in here, is about to lead."""
        state, gradient = self.state[parameter], cast(Tensor, parameter.grad)
        if "momentum" not in state:
            # Adam's own loading wants to find how many steps were made.
            state |= {"step": torch.zeros(()), "momentum": torch.zeros_like(parameter)}
        state["step"] += 1
        state["momentum"].lerp_(gradient, 1.0 - beta)
        return gradient.lerp(state["momentum"], beta)


def _alike(parameters: Iterable[Tensor]) -> Iterable[list[Tensor]]:
    """Parameters of one shape together."""
    shapes: dict[torch.Size, list[Tensor]] = {}
    for parameter in parameters:
        shapes.setdefault(parameter.shape, []).append(parameter)
    return shapes.values()
