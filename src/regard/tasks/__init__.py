"""Tasks: what each reads, learns and gives, on the parts all of them share."""

from regard.tasks.answering import AnsweringRecipe, AnsweringTask
from regard.tasks.classification import ClassificationRecipe, ClassificationTask
from regard.tasks.classifying import Classified, ClassifySettings, WordWeight
from regard.tasks.continuing import Continuation
from regard.tasks.copying import Copied
from regard.tasks.dialogue import DialogueRecipe, DialogueTask, Reply, ReplySettings
from regard.tasks.drafting import DraftSettings
from regard.tasks.filling import Filled, FillSettings
from regard.tasks.finding import Answer, AnswerSettings
from regard.tasks.known import TASKS
from regard.tasks.language import LanguageRecipe, LanguageTask
from regard.tasks.masked import MaskedRecipe, MaskedTask
from regard.tasks.prompting import ContinueSettings
from regard.tasks.recipe import DataSettings, LossSettings, ModelPart, Recipe, ValidationSettings, VectorsSettings
from regard.tasks.results import Status, Written
from regard.tasks.sides import Batch, Sides
from regard.tasks.summarization import SummarizationRecipe, SummarizationTask, Summary, SummaryLoss
from regard.tasks.tagging import TaggingRecipe, TaggingTask
from regard.tasks.tagging_generative import GenerativeTaggingRecipe, GenerativeTaggingTask
from regard.tasks.tagging_results import Entity, Tagged
from regard.tasks.task import Result, Task
from regard.tasks.translating import PredictSettings, Translation
from regard.tasks.translation import TranslationRecipe, TranslationTask

__all__ = [
    "TASKS",
    "Answer",
    "AnswerSettings",
    "AnsweringRecipe",
    "AnsweringTask",
    "Batch",
    "ClassificationRecipe",
    "ClassificationTask",
    "Classified",
    "ClassifySettings",
    "Continuation",
    "ContinueSettings",
    "Copied",
    "DataSettings",
    "DialogueRecipe",
    "DialogueTask",
    "DraftSettings",
    "Entity",
    "FillSettings",
    "Filled",
    "GenerativeTaggingRecipe",
    "GenerativeTaggingTask",
    "LanguageRecipe",
    "LanguageTask",
    "LossSettings",
    "MaskedRecipe",
    "MaskedTask",
    "ModelPart",
    "PredictSettings",
    "Recipe",
    "Reply",
    "ReplySettings",
    "Result",
    "Sides",
    "Status",
    "SummarizationRecipe",
    "SummarizationTask",
    "Summary",
    "SummaryLoss",
    "Tagged",
    "TaggingRecipe",
    "TaggingTask",
    "Task",
    "Translation",
    "TranslationRecipe",
    "TranslationTask",
    "ValidationSettings",
    "VectorsSettings",
    "WordWeight",
    "Written",
]
