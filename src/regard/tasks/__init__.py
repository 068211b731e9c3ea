"""Tasks: what each reads, learns and gives, on the parts all of them share."""

from regard.tasks.known import TASKS
from regard.tasks.recipe import DataSettings, LossSettings, ModelPart, Recipe, ValidationSettings, VectorsSettings
from regard.tasks.results import Status, Written
from regard.tasks.sides import Batch, Sides
from regard.tasks.task import Result, Task
from regard.tasks.translating import PredictSettings, Translation
from regard.tasks.translation import TranslationRecipe, TranslationTask

__all__ = [
    "TASKS",
    "Batch",
    "DataSettings",
    "LossSettings",
    "ModelPart",
    "PredictSettings",
    "Recipe",
    "Result",
    "Sides",
    "Status",
    "Task",
    "Translation",
    "TranslationRecipe",
    "TranslationTask",
    "ValidationSettings",
    "VectorsSettings",
    "Written",
]
