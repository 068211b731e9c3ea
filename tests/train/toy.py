"""A tiny run with dropout whose data depend on seed and position only; as a script, one that can be killed."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import torch
from torch import Tensor, nn

from regard.nn import Loss, smoothed_cross_entropy
from regard.train import (
    AverageSettings,
    FitSettings,
    Kept,
    Learner,
    Log,
    OptimizerSettings,
    Progress,
    Schedule,
    fit,
    newest,
    optimizers,
    save,
)

EPOCH = 7
UPDATES = 40
FULL = FitSettings(updates=UPDATES, every=5, log=4, ema=0.9)


def batch(position: tuple[int, int]) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(1000 * position[0] + position[1])
    size = 3 + position[1] % 4
    return torch.randn(size, 6, generator=generator), torch.randint(0, 5, (size,), generator=generator)


def batches(position: tuple[int, ...]) -> Iterator[tuple[tuple[int, int], tuple[Tensor, Tensor]]]:
    epoch, place = position or (0, 0)
    while True:
        after = (epoch, place + 1) if place + 1 < EPOCH else (epoch + 1, 0)
        yield after, batch((epoch, place))
        epoch, place = after


def learner(dropout: float = 0.3) -> Learner[tuple[Tensor, Tensor]]:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Dropout(dropout), nn.Linear(8, 5))

    def loss(pair: tuple[Tensor, Tensor]) -> Loss:
        return smoothed_cross_entropy(model(pair[0]), pair[1], smoothing=0.1)

    return Learner(
        model, loss, optimizers.build(OptimizerSettings(rate=0.02), model), Schedule(0.02, UPDATES, warm_up=5)
    )


def validation(taught: Learner[tuple[Tensor, Tensor]]) -> dict[str, float]:
    taught.model.eval()
    with torch.no_grad():
        return {"loss": float(taught.loss(batch((999, 0))).mean)}


def run(folder: Path, settings: FitSettings) -> Learner[tuple[Tensor, Tensor]]:
    """Go on from the newest checkpoint of the folder, or begin; save after every third update."""
    taught = learner()
    stored, _ = newest(folder)
    progress = Progress() if stored is None else taught.restore(stored)
    log, best = Log(folder / "log.jsonl"), kept(folder, "best")
    log.resume(progress.update)
    best.resume(progress.update)
    for step in fit(taught, batches(progress.position), lambda: validation(taught), settings, progress):
        log.write(step)
        if step.scores:
            best.add(step.progress.update, step.scores["loss"], taught.parameters())
        if step.progress.update % 3 == 0 or step.last:
            save(folder, taught.checkpoint(step.progress))
    return taught


def kept(folder: Path, what: Literal["last", "best"]) -> Kept:
    return Kept(folder / what, AverageSettings(what=what, count=2), folder)


if __name__ == "__main__":
    run(Path(sys.argv[1]), FULL)
