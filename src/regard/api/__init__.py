"""The Python interface: train, load, predict, evaluate."""

from regard.api.materials import Materials, Stores
from regard.api.pipeline import Evaluation, Pipeline
from regard.api.recipes import at_hand, header, read
from regard.api.starting import load, train
from regard.api.training import Training

__all__ = [
    "Evaluation",
    "Materials",
    "Pipeline",
    "Stores",
    "Training",
    "at_hand",
    "header",
    "load",
    "read",
    "train",
]
