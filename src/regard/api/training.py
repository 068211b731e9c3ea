"""Training: a recipe and a folder in, a run and its bundle out.

A run's folder: recipe.toml, the tokenizers, `data` (prepared stores), `checkpoints`, `kept` (parameters to average),
log.jsonl, curve.png, and when it is done `bundle`. Everything but the recipe can be found or made again.
"""

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import replace
from functools import cached_property
from itertools import chain, islice
from pathlib import Path
from typing import Any

import tomli_w
import torch
from torch import nn

from regard import train
from regard.api import longest, recipes, starts
from regard.api.devices import device
from regard.api.materials import Materials, Stores
from regard.api.pipeline import Pipeline
from regard.api.preparation import Spoken
from regard.api.spreading import judged
from regard.api.starts import Start
from regard.api.unseen import unseen
from regard.api.watched import check_watched
from regard.api.written import Written
from regard.config import make
from regard.data import Batch, Batches, Position, share
from regard.errors import ConfigError, DataError
from regard.files import claimed, shown, write_atomically
from regard.nn import merge
from regard.nn.parameters import fill
from regard.tasks import TASKS, Recipe, Task
from regard.train import (
    AverageSettings,
    Kept,
    Learner,
    Step,
    averaged,
    distributed,
    distributed_sharding,
    optimizers,
    tuning,
)
from regard.train.distributed import Spare
from regard.train.distributed_checkpoints import save_parts
from regard.train.schedules import SCHEDULES

# What may change when a run goes on: how long it lasts, and what does not touch the parameters.
FREE = (
    "train.updates",
    "train.epochs",
    "train.minutes",
    "train.patience",
    "train.parallel",
    "train.sharded",
    "train.timeout",
    "train.recompute",
    "train.keep_memory",
    "tensorboard",
    "search",
    "predict",
    "metrics",
    "data.root",
    "data.test",
    "device",
)
GOLDEN, PROMPT = 5, 400
# So many rows of a corpus are looked at for what is odd about it.
MOST = 100_000
# So many examples of a batch that cannot be learned from are named.
NAMED = 20
# The name of the job of torchrun that began a run or went on with it, if it was one.
JOB = "job"
BEGUN = {"recipe.toml", "data", "log.jsonl", JOB}


class Training:
    """One run. `steps` makes it, one update at a time; `finish` gives the model and writes its bundle."""

    # `preparing`: how many processes prepare the data; with several, a script must not run when it is imported.
    def __init__(
        self,
        recipe: Recipe,
        folder: Path,
        resume: bool = False,
        tell: Callable[[str], None] = lambda _: None,
        preparing: int = 1,
    ) -> None:
        starts.check(recipe)
        recipe = starts.resolved(recipe)
        self.recipe, self.folder, self.preparing = recipe, folder, preparing
        self.resume = resume or self.started_again()
        if not recipe.data.train:
            raise ConfigError("data.train names no corpus to learn from; give it files, or a path and columns.")
        self.settings = recipe.train
        self.team = distributed.joined(device(recipe.device), recipe.seed, self.settings.timeout)
        self.device = self.team.device
        self.tell = tell if self.team.leads else lambda _: None
        TASKS[recipe.task].check(recipe)
        check_watched(recipe)
        optimizers.check(recipe.optimizer)
        make("schedule", SCHEDULES, recipe.optimizer.schedule, recipe.optimizer.rate, 1)
        self.materials = Materials(recipe)
        # The batches of the group last taken and their examples, for the error that must name them.
        self.reading: deque[tuple[Any, list[int]]] = deque(maxlen=self.settings.accumulate)

    def steps(self, stop: Callable[[], bool] | None = None) -> Iterator[Step]:
        """Every update from where the run stands; each is logged and, when evaluated, saved before it is given."""
        with ExitStack() as held:
            with self.team.turn():
                if self.team.leads:
                    held.enter_context(self.claim())
                _ = self.stores
                for remark in self.remarks() if self.team.leads and not self.resume else ():
                    self.tell(remark)
            yield from self._steps(stop)

    def _steps(self, stop: Callable[[], bool] | None) -> Iterator[Step]:
        for name, examples in (("training", self.stores.train), ("validation", self.stores.valid)):
            longest.see(self.task, self.model, examples, self.recipe.batches.longest, name)
        progress = self.restored()
        data = [store.manifest.fingerprint for store in self.stores.each]
        self.team.agree({"update": progress.update, "data": data, "torch": torch.__version__})
        written = Written(self.folder, self.kept, self.recipe.tensorboard) if self.team.leads else None
        if written:
            for trouble in written.resume(progress.update):
                self.tell(trouble)
        batches = self.walk(progress.position)
        for step in train.fit(self.learner, batches, self.evaluate, self.settings, progress, stop):
            parameters = self.learner.parameters() if step.scores else {}
            saved = bool(step.scores) or step.last
            state = self.learner.checkpoint(step.progress) if saved and not self.in_parts else None
            if written:
                written.step(step, (step.scores or {}).get(self.settings.watch), parameters, state)
            if saved and self.in_parts:
                save_parts(self.folder / "checkpoints", self.learner.parts(step.progress), self.team)
            yield step
        if written:
            written.close()

    def finish(self) -> Pipeline:
        """The model with its best or averaged parameters, measured on validation and saved as a bundle."""
        if distributed_sharding.sharded(self.model):
            self.model = self.task.model().to(self.device)
        merge(self.model)
        with self.team.turn():
            fill(self.model, averaged(self.kept.paths()), "The run")
        rows = [row.fields for row in self.materials.valid]
        recipe = self.final_recipe
        task = TASKS[recipe.task].load(recipe, self.task.files())
        recipe = task.tuned(self.model.eval(), rows, recipe)
        made = Pipeline(recipe, task, self.model.eval(), self.facts(), {})
        found = judged(made.speaking(self.materials.valid), rows, self.recipe.metrics, self.team)
        scores = replace(found, left_out=self.materials.valid.counts.lost).plain()
        made = Pipeline(made.recipe, made.task, made.model, made.facts, {"valid": scores})
        return self.saved(made, rows) if self.team.leads else made

    def saved(self, made: Pipeline, rows: Sequence[Mapping[str, str]]) -> Pipeline:
        """The model with golden outputs, written as a bundle, and the curve of how it learned drawn."""
        whole = made.task.inputs() == made.task.fields
        made = made.with_golden([_short(made.asked(row)) if whole else made.asked(row) for row in rows[:GOLDEN]])
        made.save(self.folder / "bundle")
        train.draw(train.log.read(self.folder / "log.jsonl"), self.folder / "curve.png")
        return made

    def started_again(self) -> bool:
        """Whether torchrun goes on with a run that it began itself: when one process fails, all are started again."""
        begun = self.folder / JOB
        return distributed.restarted() and begun.is_file() and begun.read_text("utf-8") == distributed.job()

    def claim(self) -> AbstractContextManager[object]:
        """Make the folder this run's, or refuse what is another's; who holds the claim keeps others out."""
        written = self.folder / "recipe.toml"
        if (self.folder / "manifest.json").exists():
            raise ConfigError(f"{shown(self.folder)} is a bundle, not a run; name another folder with --out.")
        if not self.resume:
            self.require_free()
        elif written.exists():
            self.check_same(recipes.read(written))
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            # A job that is started again names itself in the folder instead.
            held = nullcontext() if distributed.job() else claimed(self.folder)
            with write_atomically(written) as file:
                tomli_w.dump(self.recipe.plain(), file)
            if distributed.job():
                (self.folder / JOB).write_text(distributed.job(), "utf-8")
        except OSError as error:
            raise DataError(f"Cannot write {shown(written)}: {error.strerror}.") from None
        return held

    def require_free(self) -> None:
        """Refuse a folder with anything in it, but for what a run leaves that never came to its first checkpoint."""
        names = {path.name for path in self.folder.iterdir()} if self.folder.is_dir() else set()
        learned = {name for name in names if name.endswith(".json")}
        if (self.folder.exists() and not self.folder.is_dir()) or names - learned - BEGUN:
            raise ConfigError(
                f"{shown(self.folder)} is there already; add --resume to go on with it, or name another with --out."
            )
        for name in learned:
            (self.folder / name).unlink()

    def check_same(self, before: Recipe) -> None:
        """A run goes on with the settings it began with, but for those that do not matter to it."""
        old, new = (_flat(recipe.plain()) for recipe in (before, self.recipe))
        changed = [name for name in sorted(old.keys() | new.keys()) if old.get(name) != new.get(name)]
        strict = [name for name in changed if not name.startswith(FREE)]
        if strict:
            told = "; ".join(f"{name} was {old.get(name)!r}, now {new.get(name)!r}" for name in strict[:5])
            raise ConfigError(f"{shown(self.folder)} was begun otherwise: {told}. Start a new run with --out.")

    @cached_property
    def task(self) -> Task:
        """The task with its tokenizers and labels, learned once and written down at once."""
        kind = TASKS[self.recipe.task]
        try:
            found = {path.name: path.read_text("utf-8") for path in sorted(self.folder.glob("*.json"))}
            loaded: Task = kind.load(self.recipe, found)
            return loaded
        except DataError:
            pass
        self.tell(f"Going on from {self.start}." if self.start else "Learning the tokenizer.")
        learned: Task = kind.learn(self.recipe, self.materials.texts(), self.start.files if self.start else {})
        for name, text in learned.files().items():
            with write_atomically(self.folder / name) as file:
                file.write(text.encode())
        return learned

    @cached_property
    def stores(self) -> Stores:
        task = self.task
        self.tell("Preparing the data.")
        for name in self.materials.absent:
            self.tell(f"The files of data.test.{name} are not there: training is not cleaned of what they hold.")
        stores = self.materials.stores(self.folder / "data", task, self.preparing, Spoken(self.tell))
        for told, corpus in zip(stores.counts(), self.materials.train, strict=True):
            self.tell(f"{corpus}: {told}")
        if stores.held_out and stores.held_out.counts.lost:
            self.tell(f"{self.materials.valid}: {stores.held_out.counts}")
        for told in stores.too_long(self.recipe.batches.longest, task.ways):
            self.tell(told)
        return stores

    def remarks(self) -> Iterator[str]:
        """What is odd about the data as a whole; of a corpus of many rows, about the first of them."""
        materials, task = self.materials, self.task
        yield from task.remarks(
            chain.from_iterable(islice(corpus, MOST) for corpus in materials.train), materials.valid
        )
        if found := unseen(task, materials.valid):
            yield f"{materials.valid}: {found}."

    @cached_property
    def batches(self) -> Batches:
        weights = [corpus.weight for corpus in self.recipe.data.train]
        return Batches(self.stores.train.lengths, self.recipe.batches, self.recipe.seed, weights, self.task.ways)

    @cached_property
    def planned(self) -> int:
        """How many updates the run comes to."""
        # Planning an epoch of 10^10 examples takes hours; only a run that is as long as epochs must do it.
        return self.settings.planned(0 if self.settings.epochs is None else self.batches.report().batches)

    @cached_property
    def model(self) -> nn.Module:
        torch.manual_seed(self.recipe.seed)
        model = self.task.model().to(self.device)
        parameters = sum(parameter.numel() for parameter in model.parameters())
        self.tell(f"A {self.recipe.model.name} of {parameters:,} parameters on {self.device}.")
        if self.recipe.vectors:
            self.tell(starts.vectors(self.task, model, self.recipe.vectors, self.recipe.data.root))
        starts.counted(self.task, model, lambda: self.stores.each)
        return model

    @cached_property
    def start(self) -> Start | None:
        """The model this one goes on from, if there is one."""
        return starts.read(self.recipe.model.start) if self.recipe.model.start else None

    @cached_property
    def factors(self) -> dict[str, float]:
        """How fast each parameter learns, once those of the start are in place and those at rest are frozen."""
        fresh = self.start.fill(self.model, self.task.files(), self.tell) if self.start else None
        return tuning.apply(self.recipe.tuning, self.model, fresh)

    @cached_property
    def learner(self) -> Learner[Any]:
        chosen, smoothing, factors = self.recipe.optimizer, self.recipe.loss.smoothing, self.factors
        if self.settings.parallel == "fsdp" and self.team.size > 1:
            distributed_sharding.shard(self.model, self.team)
        return Learner(
            self.model,
            lambda batch: self.task.loss(self.model, batch, smoothing),
            optimizers.build(chosen, self.model, factors),
            make("schedule", SCHEDULES, chosen.schedule, chosen.rate, self.planned),
            describe=self.described,
            team=self.team,
            data=[store.manifest.checksum for store in self.stores.each],
            validation=self.stores.validation,
        )

    @property
    def in_parts(self) -> bool:
        """Whether every process writes its own part of a checkpoint."""
        return self.settings.sharded and distributed_sharding.sharded(self.model)

    @cached_property
    def kept(self) -> Kept:
        settings = self.settings.average or AverageSettings(what="best", count=1)
        return Kept(self.folder / "kept", settings, self.folder / "checkpoints", self.settings.higher)

    def restored(self) -> train.Progress:
        """Where the run stands: at its newest intact checkpoint, or at the start."""
        checkpoint, troubles = train.newest(self.folder / "checkpoints") if self.resume else (None, [])
        for trouble in troubles:
            self.tell(trouble)
        if checkpoint is None:
            # The model is made first: what it draws comes before all else.
            _ = self.learner
            return train.Progress()
        self.tell(f"Going on after update {checkpoint.update}.")
        if checkpoint.update >= self.planned:
            self.tell(f"No update is left of the {self.planned} that the recipe asks for; the model is saved as it is.")
        return self.learner.restore(checkpoint)

    def walk(self, position: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], Any]]:
        """Batches with the position after each, from a position on."""
        start = Position(**dict(zip(Position.model_fields, position, strict=True))) if position else None
        for batch in self.batches.walk(start):
            yield tuple(batch.next.model_dump().values()), self.taken(batch)

    def taken(self, batch: Batch) -> Any:
        """A batch as it is learned from; its examples are remembered with it."""
        part = self.part(batch)
        self.reading.append((part.batch if isinstance(part, Spare) else part, batch.examples.tolist()))
        return part

    def described(self, batch: Any) -> str:
        """The numbers of a batch's examples, or of the first of them."""
        examples = [one // self.task.ways for one in next(each for taken, each in self.reading if taken is batch)]
        more = f" and {len(examples) - NAMED} more" if len(examples) > NAMED else ""
        return f"{', '.join(map(str, examples[:NAMED]))}{more}"

    def part(self, batch: Batch) -> Any:
        """The rows of a batch that are this process's; where there are none, one of the others', not to be counted."""
        own = share(batch.examples, self.team.rank, self.team.size)
        if len(own):
            return self.tensors(self.stores.train, batch._replace(examples=own))
        return Spare(self.tensors(self.stores.train, batch._replace(examples=batch.examples[:1])))

    def tensors(self, examples: Any, batch: Batch) -> Any:
        return self.task.batch([examples[int(number)] for number in batch.examples], self.device)

    def evaluate(self) -> dict[str, float]:
        """Validation loss per target, and the metrics asked for."""
        self.model.eval()
        valid = self.stores.valid
        batches = list(Batches([valid.lengths], self.recipe.batches, seed=0).epoch())
        with torch.inference_mode():
            losses = [self.task.loss(self.model, self.tensors(valid, batch), 0.0) for batch in self.team.own(batches)]
            sums = self.team.whole([(float(loss.total), int(loss.count)) for loss in losses])
        total, count = sum(total for total, _ in sums), sum(count for _, count in sums)
        if not count:
            raise DataError(
                f"{self.materials.valid}: of nothing in it can be told how well it is learned: what is to be predicted "
                "never occurs in training. Compare the labels of both."
            )
        return {"loss": total / count, **self.measured()}

    def measured(self) -> dict[str, float]:
        asked = self.recipe.validation
        if not asked.metrics:
            return {}
        recipe = self.recipe.model_copy(update={"search": asked.search})
        rows = [row.fields for row in self.materials.valid][: asked.lines]
        made = Pipeline(recipe, self.task, self.model, {}, {}).speaking(self.materials.valid)
        found = judged(made, rows, asked.metrics, self.team)
        return {part.name: found.scores[str(part)].value for part in asked.metrics}

    @property
    def final_recipe(self) -> Recipe:
        """The recipe as the bundle keeps it: with the length up to which the model has seen texts."""
        predict = getattr(self.recipe, "predict", None)
        if predict is None or predict.longest is not None:
            return self.recipe
        longest = max(int(table[:, 0].max()) for table in self.stores.train.lengths)
        if self.recipe.batches.longest is not None:
            longest = min(longest, self.recipe.batches.longest)
        return self.recipe.model_copy(update={"predict": predict.model_copy(update={"longest": longest})})

    def facts(self) -> dict[str, Any]:
        """What the manifest tells of how the model came to be."""
        return {
            "data": self.materials.fingerprint(),
            "examples": len(self.stores.train) // self.task.ways,
            "updates": train.log.read(self.folder / "log.jsonl")[-1]["update"],
            "parameters": sum(parameter.numel() for parameter in self.model.parameters()),
            "threads": torch.get_num_threads(),
            "processes": self.team.size,
            "seconds": round(train.log.read(self.folder / "log.jsonl")[-1]["seconds"]),
        }


def _short(row: Mapping[str, str]) -> dict[str, str]:
    """The row as a prompt: a text that goes on by itself may be a whole book."""
    return {name: text[:PROMPT] for name, text in row.items()}


def _flat(values: Any, prefix: str = "") -> dict[str, Any]:
    """Nested values by their dotted names."""
    if not isinstance(values, dict | list):
        return {prefix: values}
    entries = values.items() if isinstance(values, dict) else enumerate(values)
    return {
        name: value
        for key, inner in entries
        for name, value in _flat(inner, f"{prefix}.{key}" if prefix else str(key)).items()
    }
