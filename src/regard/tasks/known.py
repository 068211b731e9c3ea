"""All tasks by name. To add one: write its file, add a line."""

from typing import Any

from regard.tasks.answering import AnsweringTask
from regard.tasks.classification import ClassificationTask
from regard.tasks.dialogue import DialogueTask
from regard.tasks.embedding import EmbeddingTask
from regard.tasks.language import LanguageTask
from regard.tasks.masked import MaskedTask
from regard.tasks.summarization import SummarizationTask
from regard.tasks.tagging import TaggingTask
from regard.tasks.tagging_generative import GenerativeTaggingTask
from regard.tasks.translation import TranslationTask

TASKS: dict[str, Any] = {
    "answering": AnsweringTask,
    "classification": ClassificationTask,
    "dialogue": DialogueTask,
    "embedding": EmbeddingTask,
    "language": LanguageTask,
    "masked": MaskedTask,
    "summarization": SummarizationTask,
    "tagging": TaggingTask,
    "tagging_generative": GenerativeTaggingTask,
    "translation": TranslationTask,
}
