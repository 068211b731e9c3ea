"""Question answering: a question and a passage in, the stretch of the passage that answers out, or no answer."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from jaxtyping import Float
from pydantic import model_validator
from torch import Tensor, nn

from regard.config import Part
from regard.data import Encoding
from regard.data import Row as Placed
from regard.errors import ConfigError, DataError, unknown
from regard.explain import Subject
from regard.metrics import metric
from regard.models import encoder, read_encoder
from regard.nn import Loss
from regard.tasks import explained_answers, passages, silence
from regard.tasks.answers import Right, likeliest, right, written
from regard.tasks.classification import least, readable
from regard.tasks.finding import Answer, AnswerSettings, Finding
from regard.tasks.passages import READERS, Batch, Layout, Reader, Window, WindowsSettings, around
from regard.tasks.reading import Reading, ReadingRecipe
from regard.tasks.recipe import LossSettings
from regard.tasks.silence import Halves
from regard.tasks.task import Result, Row, Task


class AnsweringRecipe(ReadingRecipe):
    """`model` is an encoder. `head` says how it reads: "spans", question and passage as one text, or "reader", each
    alone and the passage then in the light of the question."""

    head: Part = Part(name="spans")
    windows: WindowsSettings = WindowsSettings()
    loss: LossSettings = LossSettings(smoothing=0.0)
    metrics: tuple[Part, ...] = (Part(name="answer_exact"), Part(name="answer_f1"))
    predict: AnswerSettings = AnswerSettings()

    @model_validator(mode="before")
    @classmethod
    def _read_as_learned(cls, given: Any) -> Any:
        """Passages are read in the windows of training unless `predict` says otherwise."""
        if not isinstance(given, Mapping) or not isinstance(given.get("windows"), Mapping):
            return given
        learned = {name: given["windows"][name] for name in ("longest", "overlap") if name in given["windows"]}
        predict = given.get("predict", {})
        return {**given, "predict": {**learned, **predict}} if isinstance(predict, Mapping) else given


@dataclass(frozen=True)
class AnsweringTask(Task):
    """All that answering adds to encoders and training."""

    recipe: AnsweringRecipe
    reading: Reading

    Recipe: ClassVar = AnsweringRecipe
    encodes: ClassVar = True
    fields: ClassVar = ("question", "passage", "answers")
    plain: ClassVar = ("question", "passage")

    @classmethod
    def check(cls, recipe: AnsweringRecipe) -> None:
        read_encoder(recipe.model.name, recipe.model.options)
        reader(recipe).kind.Settings.read(recipe.head.options, "head")
        if recipe.loss.smoothing:
            raise ConfigError(f"loss.smoothing = {recipe.loss.smoothing}: where an answer stands is not smoothed; 0.")
        if recipe.data.references:
            raise ConfigError("data.references: the answers of a row are a list already; leave it out.")
        for part in (*recipe.metrics, *recipe.validation.metrics):
            metric(part)

    @classmethod
    def sample(cls) -> list[Row]:
        return [{"question": "Who came?", "passage": "Anna came late.", "answers": written([Right("Anna", 0)])}]

    @classmethod
    def fault(cls, row: Row, recipe: Any) -> str:
        """An answer that does not stand where it is said to, or a question or passage that is blank."""
        for name in cls.inputs():
            if not row[name].strip():
                return f"{name} is empty"
        try:
            right(row)
        except DataError as error:
            return str(error).removesuffix(".")
        return ""

    @classmethod
    def learn(cls, recipe: AnsweringRecipe, rows: Iterable[Row], start: Mapping[str, str]) -> "AnsweringTask":
        texts = (row[name] for row in rows for name in cls.inputs())
        return cls(recipe, Reading.learn(texts, recipe, start))

    @classmethod
    def load(cls, recipe: AnsweringRecipe, files: Mapping[str, str]) -> "AnsweringTask":
        return cls(recipe, Reading.load(files))

    def files(self) -> dict[str, str]:
        return self.reading.files()

    def encoding(self, languages: Mapping[str, str]) -> Encoding:
        return passages.encoding(self.reading, self.recipe.windows)

    def model(self) -> nn.Module:
        made = encoder(self.recipe.model.name, self.recipe.model.options, self.reading.tokenizer.size)
        kind = reader(self.recipe).kind
        built: nn.Module = kind(made, kind.Settings.read(self.recipe.head.options, "head"))
        return built

    def layout(self, device: torch.device) -> Callable[[Sequence[Window]], Layout]:
        """How the model is given windows."""
        made = reader(self.recipe).layout
        return lambda windows: made(windows, self.reading.tokenizer, device)

    def batch(self, examples: Sequence[Mapping[str, Any]], device: torch.device) -> Batch:
        return Batch.of(examples, self.layout(device))

    def loss(self, model: nn.Module, batch: Batch, smoothing: float) -> Loss:
        return batch.loss(model)

    def predict(self, model: nn.Module, rows: Iterable[Row], recipe: AnsweringRecipe) -> Iterator[Answer]:
        return self.finding(model, recipe)(rows)

    def embed(self, model: nn.Module, rows: Iterable[Row], recipe: AnsweringRecipe) -> Iterator[Float[Tensor, " D"]]:
        """The mean of the states of each question with its passage, window by window."""
        return self.finding(model, recipe).vectors(rows, recipe)

    def finding(self, model: nn.Module, recipe: AnsweringRecipe) -> Finding:
        layout = self.layout(next(model.parameters()).device)
        longest = least(recipe.predict.longest, readable(recipe))
        return Finding(self.reading.tokenizer, model, layout, recipe.predict.model_copy(update={"longest": longest}))

    def subject(self, model: nn.Module, row: Row, recipe: AnsweringRecipe, target: str | None) -> Subject:
        return explained_answers.found(self, model, row, recipe, target)

    def tuned(self, model: nn.Module, rows: Sequence[Row], recipe: AnsweringRecipe) -> AnsweringRecipe:
        """The recipe with the score a span must reach, where it leaves that to validation."""
        if recipe.predict.no_answer is not None:
            return recipe
        always = recipe.predict.model_copy(update={"no_answer": "never"})
        results = list(self.predict(model, rows, recipe.model_copy(update={"predict": always})))
        chosen = silence.threshold(results, [self.references(row, recipe) for row in rows])
        predict = recipe.predict.model_copy(update={"no_answer": chosen})
        return recipe.model_copy(update={"predict": predict})

    @classmethod
    def references(cls, row: Row, recipe: Any) -> Sequence[str]:
        """The answers people gave; the empty text where there is none."""
        return [answer.text for answer in right(row)] or [""]

    def answered(self, row: Row, result: Result) -> dict[str, str]:
        found = [Right(result.text, result.start)] if isinstance(result, Answer) and result.start is not None else []
        return {**row, self.fields[-1]: written(found)}

    def details(self, results: Sequence[Result], rows: Sequence[Row], recipe: Any) -> dict[str, Halves]:
        """The scores of questions with and without an answer, where there are both."""
        references = [self.references(row, recipe) for row in rows]
        halves = silence.halves([result.text for result in results], references)
        return {"halves": halves} if halves else {}

    def remarks(self, train: Iterable[Placed], held_out: Iterable[Placed]) -> list[str]:
        taught, asked = set[bool](), {bool(right(fields)) for _, fields in held_out}
        beyond = 0
        for _, row in train:
            answer = likeliest(right(row))
            taught.add(answer is not None)
            beyond += answer is not None and self.beyond(row["question"], answer.text)
        told = {True: "has an answer", False: "is without an answer"}
        lacking = [
            f"No question in training {told[kind]}, in validation some are; it cannot be learned."
            for kind in asked - taught
        ]
        longest = f"windows.longest = {self.recipe.windows.longest}"
        return lacking + [f"{beyond:,} answers are longer than {longest} has room for; raise it."] * bool(beyond)

    def beyond(self, question: str, answer: str) -> bool:
        """Whether no window has room for an answer, so that nothing is learned from its question."""
        cut = self.reading.tokenizer.encode
        _, room = passages.shares(len(cut(question)), self.recipe.windows.longest, around(self.reading.tokenizer))
        return len(cut(answer)) > room

    def embeddings(self, model: Any) -> list[tuple[Any, Any]]:
        return [(self.reading.tokenizer, model.encoder.embedding)]


def reader(recipe: AnsweringRecipe) -> Reader:
    if recipe.head.name not in READERS:
        raise ConfigError(unknown("head", recipe.head.name, READERS))
    return READERS[recipe.head.name]
