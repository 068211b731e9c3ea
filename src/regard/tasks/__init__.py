"""Tasks: what each reads, learns and gives, on the parts all of them share."""

from regard.tasks.recipe import DataSettings, LossSettings, Recipe, ValidationSettings
from regard.tasks.results import Status, Written
from regard.tasks.sides import Batch, Sides
from regard.tasks.task import TASKS, Result, Task
from regard.tasks.translating import PredictSettings, Translation
from regard.tasks.translation import TranslationRecipe, TranslationTask

__all__ = [
    "TASKS",
    "Batch",
    "DataSettings",
    "LossSettings",
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
    "Written",
]
