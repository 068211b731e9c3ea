"""Where a model begins when it does not begin at random: another model, or word vectors learned elsewhere."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from regard import bundle
from regard.api.pipeline import inside
from regard.api.recipes import merged
from regard.bundle import Bundle
from regard.data import Store
from regard.errors import ConfigError, DataError
from regard.models.build import encoder_options
from regard.nn.embeddings import Embedding
from regard.nn.parameters import fill_shared, named
from regard.tasks import TASKS, Recipe, Task, VectorsSettings
from regard.text import read_vectors

# What numbers mean to a model that reads; and what heads are learned for.
READS_BY = ("tokenizer.json", "letters.json")
LABELS = ("labels.json", "tags.json")
# The vectors by which an encoder knows its pieces.
FIXED = "embedding.fixed"
VECTORS, FIXED_VECTORS = "encoder.embedding.vectors", f"encoder.{FIXED}"
# The column of what is read.
READ = "text"
# So many names of parameters are told; the rest are counted.
NAMED = 4


@dataclass(frozen=True)
class Start:
    """A model that another goes on from."""

    path: str
    stored: Bundle

    def __str__(self) -> str:
        return self.path

    @cached_property
    def files(self) -> dict[str, str]:
        """What it reads by, its tokenizers and letters: labels are the new task's own."""
        return {name: text for name, text in self.stored.files.items() if name.endswith(READS_BY)}

    def fill(self, model: nn.Module, files: Mapping[str, str], tell: Callable[[str], None]) -> tuple[str, ...]:
        """Put its parameters where the model has the same; the names of those that begin afresh.

        `files` are those of the new task: a head that was learned for other labels is left behind.
        """
        same = all(self.stored.files.get(name) == files.get(name) for name in LABELS)
        kept = {name: one for name, one in self.stored.parameters.items() if same or not name.startswith("head.")}
        found = fill_shared(model, kept | self.pieces_alone(model))
        if not found.filled:
            raise ConfigError(f"Nothing of {self.path} fits this model; name a start of the same kind.")
        if lacking := [name for name in found.fresh if name.endswith(FIXED)]:
            raise ConfigError(
                f"{self.path} has no fixed vectors for {lacking[0]}, and a model that goes on from another is given "
                "none; leave embedding.fixed out."
            )
        tell(f"{len(found.filled)} of its tensors taken over; new: {_few(found.fresh)}; left: {_few(found.unused)}.")
        return tuple(found.fresh)

    def pieces_alone(self, model: nn.Module) -> dict[str, Tensor]:
        """The vectors of its pieces without those of slots, which stand behind them, where the model has none."""
        slots, stored, own = self.stored.recipe.get("slots", 0), self.stored.parameters, named(model)
        both = [name for name in (VECTORS, FIXED_VECTORS) if name in stored and name in own]
        alone = {name: stored[name][: len(stored[name]) - slots] for name in both}
        return {name: vectors for name, vectors in alone.items() if len(own[name]) == len(vectors)}


def read(path: str) -> Start:
    """The model in a run or bundle."""
    return Start(path, bundle.load(inside(Path(path))))


def resolved(recipe: Recipe) -> Recipe:
    """The recipe with the settings of the model it goes on from; what it says itself comes first."""
    start = recipe.model.start
    if not start or recipe.model.name:
        return recipe
    own = {"start": start, **recipe.model.options}
    values = merged(_model_of_start(recipe), own)
    return type(recipe).read(recipe.plain() | {"model": values})


def _model_of_start(recipe: Recipe) -> dict[str, Any]:
    """The settings of the start's model; of its encoder alone, where that is all the task goes on from."""
    start = recipe.model.start
    told = bundle_recipe(Path(start))
    model = {name: value for name, value in told.get("model", {}).items() if name != "start"}
    before = TASKS.get(told.get("task", ""))
    if before is None or not TASKS[recipe.task].encodes or before.encodes:
        return model
    name = model.pop("name")
    try:
        return {"name": name, **encoder_options(name, model)}
    except ConfigError as error:
        raise ConfigError(
            f"model.start = {start!r}: {error} This task goes on from an encoder; name a start that is or has one."
        ) from None


def check(recipe: Recipe) -> None:
    """Refuse two beginnings of the same embeddings, of which one would be lost in silence."""
    if recipe.model.start and recipe.vectors is not None:
        raise ConfigError(
            f"vectors.path = {recipe.vectors.path!r} begins embeddings, and so does model.start = "
            f"{recipe.model.start!r}, which brings its own; leave one of the two out."
        )
    kind = TASKS[recipe.task]
    for name in ("fixed", "seldom"):
        if (value := _asked(recipe.model.options, name)) and not kind.encodes:
            raise ConfigError(
                f"embedding.{name} = {value} is for models that only read; the task {recipe.task} writes."
            )
    if (width := _asked(recipe.model.options, "fixed")) and recipe.vectors is None and not recipe.model.start:
        raise ConfigError(
            f"embedding.fixed = {width} has room for vectors learned elsewhere, and there are none; name a file with "
            "vectors.path, or leave embedding.fixed out."
        )
    if (rate := _asked(recipe.model.options, "seldom")) and READ not in kind.fields:
        raise ConfigError(
            f"embedding.seldom = {rate} counts the words of `{READ}`, which the task {recipe.task} does not have; "
            "set it to 0."
        )


def _asked(options: Mapping[str, Any], name: str) -> int | float:
    """The highest number that a setting of this name has in any embedding of these settings."""
    own = options.get("embedding")
    wanted = own.get(name, 0) if isinstance(own, Mapping) else 0
    # What is no number is told where the model's settings are read.
    here = wanted if isinstance(wanted, int | float) else 0
    return max([here, *(_asked(part, name) for part in options.values() if isinstance(part, Mapping))])


def bundle_recipe(path: Path) -> dict[str, Any]:
    """The recipe a bundle keeps."""
    return dict(bundle.load(inside(path)).recipe)


def vectors(task: Task, model: nn.Module, settings: VectorsSettings, root: str) -> str:
    """Put word vectors into a model's embeddings, and say how many words have one."""
    told, how = [], "frozen" if settings.frozen else "learned further"
    for tokenizer, embedding in task.embeddings(model):
        words = {piece.removeprefix("▁"): number for number, piece in enumerate(tokenizer.pieces)}
        found = read_vectors(Path(root) / settings.path, words, settings.lower)
        if not found.words:
            raise DataError(f"{settings.path}: no piece of the vocabulary has a vector; is it the language?")
        rows = torch.tensor([words[word] for word in found.words])
        embedding.load(torch.from_numpy(found.rows).to(embedding.vectors.device), rows, settings.frozen)
        told.append(f"{len(found.words):,} of {found.asked:,} pieces ({found.coverage:.1%})")
        how = how if embedding.fixed is None else "beside vectors of their own, and as they are"
    return f"{settings.path}: vectors for {' and '.join(told)}, {how}."


def counted(task: Task, model: nn.Module, stores: Callable[[], Sequence[Store]]) -> None:
    """Tell the embeddings that want to know how often training has each piece."""
    if not any(module.seldom for module in model.modules() if isinstance(module, Embedding)):
        return
    for tokenizer, embedding in task.embeddings(model):
        found = sum(store.occurrences(READ, embedding.vocabulary) for store in stores())
        embedding.count(torch.as_tensor(found).to(embedding.vectors.device), tokenizer.unknown)


def _few(names: tuple[str, ...] | list[str]) -> str:
    if not names:
        return "none"
    rest = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(list(names)[:NAMED]) + rest
