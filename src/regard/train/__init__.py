"""Training: the loop, optimizers, schedules, checkpoints. It knows modules and functions, neither models nor tasks."""

from regard.train.checkpoints import Checkpoint, load, newest, save
from regard.train.loop import FitSettings, Learner, NotFinite, Progress, Step, fit
from regard.train.optimizers import OPTIMIZERS, OptimizerSettings
from regard.train.schedules import SCHEDULES, Schedule

__all__ = [
    "OPTIMIZERS",
    "SCHEDULES",
    "Checkpoint",
    "FitSettings",
    "Learner",
    "NotFinite",
    "OptimizerSettings",
    "Progress",
    "Schedule",
    "Step",
    "fit",
    "load",
    "newest",
    "save",
]
