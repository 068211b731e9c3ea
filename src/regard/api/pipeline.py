"""A model ready to work: what `regard.load` gives."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard import bundle
from regard.api import explaining, exploring, recipes, whatif
from regard.api.devices import device
from regard.api.exploration import Exploration
from regard.api.joining import joined
from regard.api.unseen import Unseen, unseen
from regard.bundle import Bundle
from regard.config import Part
from regard.data import Corpus
from regard.engines import Engine, exported
from regard.engines import engine as made_engine
from regard.errors import ConfigError, DataError, RequestError
from regard.explain import Attribution
from regard.explain.whatif import WhatIf
from regard.metrics import Likelihood, Score, metric, score, score_likelihood
from regard.nn.parameters import fill, named
from regard.nn.small import shrink
from regard.tasks import TASKS, Recipe, Result, Task
from regard.tasks.looking import is_ensemble

Input = str | Mapping[str, str]


@dataclass(frozen=True)
class Evaluation:
    """Scores of one corpus with their signatures, the outputs they were taken from, and what else there is to tell."""

    scores: dict[str, Score]
    # None where only likelihoods were asked for, and nothing was put out.
    results: list[Result]
    # What the scores were taken from: of each result, or of the model's own belief.
    texts: list[str]
    told: list[Likelihood]
    details: dict[str, Any]
    # How many lines of the corpus were left out, bad ones or such as training has: the scores are not of them.
    left_out: int = 0
    # Lines with labels that training never had.
    unseen: Unseen = field(default_factory=Unseen)

    def score(self, part: Part, references: Sequence[Sequence[str]]) -> Score:
        if metric(part).of == "likelihood":
            return score_likelihood(self.told, part)
        return score(self.texts, references, part)

    def outputs(self, part: Part) -> Sequence[str] | Sequence[Likelihood]:
        """What a metric compares."""
        return self.told if metric(part).of == "likelihood" else self.texts

    def plain(self) -> dict[str, Any]:
        """Each score by its name; where lines were left out, with how many."""
        lost = {"left_out": self.left_out} if self.left_out else {}
        return {
            name: {"value": found.value, "signature": found.signature, **lost} for name, found in self.scores.items()
        }


@dataclass(frozen=True)
class Pipeline:
    """A task with its trained model."""

    recipe: Recipe
    task: Task
    model: nn.Module
    facts: Mapping[str, Any]
    scores: Mapping[str, Any]
    golden: Sequence[Mapping[str, Any]] = ()
    # What predicts; torch where there is none. Explanations, likelihoods and training are always torch's.
    engine: Engine | None = None

    @classmethod
    def load(
        cls, folder: str | Path, changes: Iterable[str] = (), verify: bool = False, engine: str = "torch"
    ) -> "Pipeline":
        """The model of a bundle, or of the bundle in a run; `changes` are settings such as `search.beams=1`."""
        stored = bundle.load(inside(Path(folder)))
        recipe = recipes.read(stored.recipe, changes)
        task = TASKS[recipe.task].load(recipe, stored.files)
        model = task.model().to(device(recipe.device)).eval()
        fill(model, stored.parameters, f"The bundle {folder}")
        loaded = cls(recipe, task, model, stored.facts, stored.scores, stored.golden)
        # Rounded parameters may well give other outputs, and there is nothing wrong with the bundle then.
        if verify:
            loaded.verify(recipes.read(stored.recipe))
        if recipe.weights == "int8":
            shrink(model)
        return loaded if engine == "torch" else loaded.with_engine(engine, exported(Path(folder), engine))

    def save(self, folder: str | Path) -> None:
        """Write the model as a bundle."""
        model = self.alone("saved as one").model
        stored = Bundle(self.recipe.plain(), named(model), self.task.files(), self.scores, self.golden, self.facts)
        bundle.save(Path(folder), stored)

    def with_settings(self, *changes: str) -> "Pipeline":
        """The same model under other settings: `with_settings("search.beams=1")`."""
        recipe = recipes.read(self.recipe, changes)
        for name in ("device", "weights"):
            if (asked := getattr(recipe, name)) != getattr(self.recipe, name):
                raise ConfigError(f"{name} = {asked!r} is chosen when a model is loaded; load it with that setting.")
        task = TASKS[recipe.task].load(recipe, self.task.files())
        return replace(self, recipe=recipe, task=task)

    def with_engine(self, name: str, folder: Path | None = None, workers: int | None = None) -> "Pipeline":
        """The same, predicted by another engine: from the folder of an export, or from what is made of it now."""
        made = None if name == "torch" else made_engine(name, self.task, self.model, folder, workers)
        return replace(self, engine=made)

    @property
    def running(self) -> nn.Module:
        """The model as the engine runs it, where the engine can do what the settings ask."""
        if self.engine is None:
            return self.model
        self.engine.check(self.recipe)
        return self.engine.model

    def predict(self, inputs: Iterable[Input]) -> list[Result]:
        """A result for each input, in order."""
        return list(self.stream(inputs))

    def stream(self, inputs: Iterable[Input]) -> Iterator[Result]:
        """Results one by one, for inputs that may not all fit in memory."""
        return iter(self.task.predict(self.running, map(self.row, several(inputs)), self.recipe))

    def row(self, given: Input) -> Mapping[str, str]:
        """An input by its fields; a line of text is taken apart as the task has it."""
        if not isinstance(given, str | Mapping):
            raise RequestError(f"An input is a text, or a mapping of fields to texts; got {str(given)[:40]!r}.")
        row = self.task.row(given) if isinstance(given, str) else given
        lacking = [name for name in self.task.inputs() if name not in row]
        # A conversation stands for a prompt.
        talks = "messages" in row and hasattr(getattr(self.recipe, "predict", None), "chat")
        if lacking and not talks:
            raise RequestError(f"The input has the fields {', '.join(row) or 'none'}; it lacks {', '.join(lacking)}.")
        if wrong := self.task.unreadable({name: row[name] for name in self.task.inputs() if name in row}):
            raise RequestError(f"In the input, {wrong}.")
        return row

    def embed(self, inputs: Iterable[Input]) -> Iterator[Float[Tensor, " D"]]:
        """One vector for each input, in order."""
        running = self.alone("asked for one vector").running
        return iter(self.task.embed(running, map(self.row, several(inputs)), self.recipe))

    def settle(self, given: Input) -> Iterator[str | Result]:
        """What is settled of one result while the search goes on, and at last the result."""
        return self.task.settle(self.running, self.row(given), self.recipe)

    def explain(
        self,
        given: Input,
        method: str = "",
        target: str | None = None,
        changes: Iterable[str] = (),
        words: bool = True,
        instead: str | None = None,
    ) -> Attribution:
        """How much each word of an input counts for each word of its output, or of the `target` that is given.

        With `instead`: for that output rather than this other one.
        """
        return explaining.explained(self.alone("explained"), given, method, target, changes, words, instead)

    def whatif(
        self,
        given: Input,
        source: Input | None = None,
        prefix: str | Sequence[int] | None = None,
        heads_off: Sequence[tuple[int | str, int]] = (),
        cell: Sequence[int | str | float | None] | None = None,
    ) -> WhatIf:
        """Before and after another source, a forced beginning, heads that are off, a cell of attention that is set."""
        return whatif.whatif(self.alone("asked what if"), given, source, prefix, heads_off, cell)

    def explore(self, given: Input, target: str | None = None, changes: Iterable[str] = ()) -> Exploration:
        """The result of an input, or the `target` that is given, with all attention, alternatives and the search."""
        return exploring.explored(self.alone("explored"), given, target, changes)

    def ensemble(self, others: Sequence["Pipeline"]) -> "Pipeline":
        """This model and others as one; all must have learned from the same pieces."""
        if ran := next((each.engine.name for each in (self, *others) if each.engine is not None), ""):
            raise ConfigError(f"The engine {ran} cannot join models in an ensemble; use --engine torch.")
        for other in others:
            if other.task.files() != self.task.files():
                raise ConfigError(
                    "Only models trained with the very same tokenizer and labels can be joined in an ensemble."
                )
        together = joined([self.model, *(other.model for other in others)])
        return Pipeline(self.recipe, self.task, together, self.facts, self.scores)

    def alone(self, what: str) -> "Pipeline":
        """This, where it is one model: several that decide together have no insides in common."""
        if is_ensemble(self.model):
            raise RequestError(f"Models that decide together cannot be {what}; take one of them alone.")
        return self

    def evaluate(self, corpus: Corpus, metrics: Sequence[Part] | None = None) -> Evaluation:
        """The model's scores on a corpus, with their signatures."""
        rows = list(corpus)
        if not rows:
            lost = f"\n{corpus.counts}" if corpus.counts.lost else ""
            raise DataError(f"{corpus}: there is no line to evaluate on.{lost}")
        asked = self.recipe.metrics if metrics is None else metrics
        found = self.speaking(corpus).judged([row.fields for row in rows], asked)
        return replace(found, left_out=corpus.counts.lost, unseen=unseen(self.task, rows))

    def speaking(self, corpus: Corpus) -> "Pipeline":
        """The same model, asked in the languages of a corpus, where it knows several."""
        return replace(self, recipe=self.task.spoken(self.recipe, corpus.settings.languages))

    def judged(self, rows: Sequence[Mapping[str, str]], metrics: Sequence[Part]) -> Evaluation:
        """Scores of rows that have what is to be predicted."""
        kinds = {metric(part).of for part in metrics} or {"texts"}
        results = self.predict(self.asked(row) for row in rows) if "texts" in kinds else []
        told = list(self.likelihood(rows)) if "likelihood" in kinds else []
        texts = [self.task.compared(result) for result in results]
        details = self.task.details(results, rows, self.recipe) if results else {}
        found = Evaluation({}, results, texts, told, details)
        references = [self.references(row) for row in rows]
        return replace(found, scores={str(part): found.score(part, references) for part in metrics})

    def likelihood(self, rows: Sequence[Mapping[str, str]]) -> Iterable[Likelihood]:
        """How likely the model holds what rows have to be predicted."""
        return self.task.likelihood(self.alone("asked how likely a text is").model, rows, self.recipe)

    def asked(self, row: Mapping[str, str]) -> dict[str, str]:
        """A row without what is to be predicted."""
        return self.task.asked(row)

    def references(self, row: Mapping[str, str]) -> Sequence[str]:
        """What counts as right for a row."""
        return self.task.references(row, self.recipe)

    def verify(self, recipe: Recipe) -> None:
        """The golden inputs still give their outputs, under the settings they were made with."""
        rows = [entry["input"] for entry in self.golden]
        for entry, result in zip(self.golden, self.task.predict(self.model, rows, recipe), strict=True):
            if result.text != entry["text"]:
                raise DataError(
                    f"The bundle does not do what it did: {entry['input']!r} gave {entry['text']!r} when it was made, "
                    f"and {result.text!r} now. Another version of torch or Regard may be the cause; see the manifest."
                )

    def with_golden(self, rows: Sequence[Mapping[str, str]]) -> "Pipeline":
        """The same with these inputs and what they give now as golden ones."""
        results = self.predict(rows)
        golden = [{"input": dict(row), "text": result.text} for row, result in zip(rows, results, strict=True)]
        return Pipeline(self.recipe, self.task, self.model, self.facts, self.scores, golden)

    @property
    def device(self) -> torch.device:
        return next(self.model.parameters()).device


def several(inputs: Iterable[Input]) -> Iterable[Input]:
    """The inputs, unless they are a single one: whoever walks that has letters, or names of fields."""
    if isinstance(inputs, str | bytes | Mapping):
        raise RequestError(f"Several inputs are asked for, got {str(inputs)[:40]!r} alone; give a list: [...].")
    return inputs


def inside(folder: Path) -> Path:
    """The bundle a folder is, or has: a run keeps its own in `bundle`."""
    return folder / "bundle" if (folder / "bundle").is_dir() else folder
