"""Training: the loop, optimizers, schedules, checkpoints. It knows modules and functions, neither models nor tasks.

Everything a run needs to go on is in one checkpoint. What lies beside it (log, kept parameters, TensorBoard, picture)
is written before the checkpoint of the same update, and cut back or drawn again to match it on `resume`.
"""

from regard.train.averaging import AverageSettings, Kept, averaged
from regard.train.checkpoints import Checkpoint, load, newest, save
from regard.train.ema import Ema
from regard.train.learner import Learner
from regard.train.log import Log
from regard.train.loop import fit
from regard.train.optimizers import OPTIMIZERS, OptimizerSettings
from regard.train.pace import Pace
from regard.train.picture import draw
from regard.train.precision import Scaler
from regard.train.progress import Progress, Step
from regard.train.schedules import SCHEDULES, Schedule
from regard.train.settings import FitSettings
from regard.train.stopping import Stopping
from regard.train.tensorboard import TensorBoard
from regard.train.tuning import TuningSettings
from regard.train.updating import NotFinite

__all__ = [
    "OPTIMIZERS",
    "SCHEDULES",
    "AverageSettings",
    "Checkpoint",
    "Ema",
    "FitSettings",
    "Kept",
    "Learner",
    "Log",
    "NotFinite",
    "OptimizerSettings",
    "Pace",
    "Progress",
    "Scaler",
    "Schedule",
    "Step",
    "Stopping",
    "TensorBoard",
    "TuningSettings",
    "averaged",
    "draw",
    "fit",
    "load",
    "newest",
    "save",
]
