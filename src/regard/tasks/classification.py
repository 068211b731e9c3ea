"""Classification: a text in, its label out; of two classes or many, or any number of labels at once."""

import hashlib
import inspect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from jaxtyping import Bool, Float, Int, UInt, UInt32
from torch import Tensor, nn

from regard.attention import POSITIONS
from regard.config import Part, Rate, Settings
from regard.data import Encoding, Examples, Store, Structure, collate
from regard.data import Row as Placed
from regard.errors import ConfigError
from regard.explain import Subject
from regard.metrics import Confusion, confusion, metric
from regard.metrics.labels import SEPARATOR, listed
from regard.models import encoder
from regard.models.build import read_encoder
from regard.models.heads import PoolingSettings
from regard.models.understanding import Classifier, ClassifierSettings
from regard.nn import IGNORE, Loss
from regard.tasks import explained
from regard.tasks.classifying import Classified, Classifying, ClassifySettings
from regard.tasks.labelling import WHOLE, Labels, named, shares, unfit
from regard.tasks.reading import Reading, ReadingRecipe
from regard.tasks.recipe import AgreeingLoss, Recipe
from regard.tasks.task import Row, Task


class LabelsSettings(Settings):
    """With `several` a text has any number of labels, separated by `|` or as a list of texts or whole numbers in JSON;
    a corpus where it may be none needs blank = "keep", unless that is an empty list.

    With `soft` a label may be an object in JSON, how likely each is: {"good": 0.9, "bad": 0.1}, as people who disagree
    give it, or another model (`probabilities` of `regard predict --json`). Shares below 1 in 20,000 count as none.
    """

    several: bool = False
    soft: bool = False


class HeadSettings(Settings):
    """What stands on the encoder; `balanced` lets every class weigh the same in the loss, however rare it is."""

    pooling: PoolingSettings = PoolingSettings()
    dropout: Rate = 0.1
    weights: Literal["none", "balanced"] = "none"


class SharpSettings(AgreeingLoss):
    """Targets as they are, unless told otherwise."""

    smoothing: Rate = 0.0


class ClassificationRecipe(ReadingRecipe):
    """Data have the fields `text` and `label`; `model` is an encoder by name."""

    labels: LabelsSettings = LabelsSettings()
    head: HeadSettings = HeadSettings()
    loss: SharpSettings = SharpSettings()
    metrics: tuple[Part, ...] = (Part(name="accuracy"), Part(name="macro_f1"))
    predict: ClassifySettings = ClassifySettings()


@dataclass(frozen=True)
class Texts:
    """A batch: texts in a rectangle, which of it is real, and the class of each, whether it is of each class, or how
    likely that is."""

    pieces: Int[Tensor, "B T"]
    real: Bool[Tensor, "B T"]
    wanted: Int[Tensor, " B"] | Bool[Tensor, "B C"] | Float[Tensor, "B C"]


@dataclass(frozen=True)
class ClassificationTask(Task):
    """All that classification adds to encoders and training."""

    recipe: ClassificationRecipe
    reading: Reading
    labels: Labels

    Recipe: ClassVar = ClassificationRecipe
    encodes: ClassVar = True
    fields: ClassVar = ("text", "label")
    plain: ClassVar = ("text",)

    @classmethod
    def check(cls, recipe: ClassificationRecipe) -> None:
        read_encoder(recipe.model.name, recipe.model.options)
        for part in (*recipe.metrics, *recipe.validation.metrics):
            metric(part)
        if (recipe.labels.several or recipe.labels.soft) and recipe.head.weights == "balanced":
            raise ConfigError(
                "head.weights = balanced is for one label a text; leave it out where there are several or soft ones."
            )
        _check_weights(recipe)

    @classmethod
    def learn(cls, recipe: ClassificationRecipe, rows: Iterable[Row], start: Mapping[str, str]) -> "ClassificationTask":
        """The task with the labels of these rows and a tokenizer for them, which are read once for each."""
        labels = Labels.learn((row["label"] for row in rows), recipe.labels.several, recipe.labels.soft)
        return cls(recipe, Reading.learn((row["text"] for row in rows), recipe, start), labels)

    @classmethod
    def load(cls, recipe: ClassificationRecipe, files: Mapping[str, str]) -> "ClassificationTask":
        return cls(recipe, Reading.load(files), Labels.load(files, recipe.labels.several, recipe.labels.soft))

    @classmethod
    def sample(cls) -> list[Row]:
        return [{"text": f"a {word} film", "label": label} for word, label in (("fine", "good"), ("dull", "bad"))]

    @classmethod
    def fault(cls, row: Row, recipe: ClassificationRecipe) -> str:
        found, soft = listed(row["label"]), shares(row["label"])
        if soft is not None and recipe.labels.soft:
            return unfit(soft, recipe.labels.several)
        if recipe.labels.soft and row["label"].lstrip().startswith("{"):
            return f"the label is {row['label'][:40]}, no share of each label; give a number for each label, each once"
        if soft is not None and isinstance(row["label"], Structure):
            return f"the label is {row['label'][:40]}, a share of each; set labels.soft = true"
        if found is None and isinstance(row["label"], Structure):
            told = "give a text or a whole number, or a list of such with labels.several = true"
            return f"the label is {row['label'][:40]}, which names no class; {told}"
        if not recipe.labels.several and found is not None:
            return "the label is a list; set labels.several = true"
        if any(SEPARATOR in label for label in found or ()):
            return f"a label has {SEPARATOR} in it, which stands between labels; write it otherwise"
        if recipe.labels.several:
            return ""
        if SEPARATOR in row["label"]:
            return f"{SEPARATOR} stands between labels; set labels.several = true, or write the label otherwise"
        return "" if row["label"].strip() else "the label is empty"

    def remarks(self, train: Iterable[Placed], held_out: Iterable[Placed]) -> list[str]:
        train = list(train)
        told = self.labels.remarks((row.place, row.fields["label"]) for row in train)
        return told + self._cut([row.fields["text"] for row in train])

    def unseen(self, row: Row) -> Sequence[str]:
        return self.labels.strange(row["label"])

    def _cut(self, texts: list[str]) -> list[str]:
        """How many training texts are longer than what is read of them."""
        limit = self.longest
        if limit is None:
            return []
        room = max(limit - self.reading.around, 1)
        count = sum(len(cut) > room for cut in self.reading.tokenizer.encode_many(texts))
        kept = "tail" if self.recipe.predict.long == "tail" else "head"
        told = f"{count:,} of {len(texts):,} training texts have more than {room} pieces; their {kept} is learned from."
        return [told] if count else []

    @classmethod
    def references(cls, row: Row, recipe: ClassificationRecipe) -> Sequence[str]:
        """What counts as right: of soft labels the likeliest."""
        if recipe.labels.soft and shares(row["label"]) is not None:
            return [SEPARATOR.join(named(row["label"], recipe.labels.several, soft=True))]
        return super().references(row, recipe)

    @property
    def longest(self) -> int | None:
        """The most pieces of a training text; none beyond what the encoder can read."""
        return least(self.recipe.batches.longest, readable(self.recipe))

    def files(self) -> dict[str, str]:
        return self.reading.files() | self.labels.files()

    def examples(self, store: Store) -> Examples:
        """The examples of a store; a soft label counts as one number, as any label does, however many shares it has."""
        return Labelled(store) if self.labels.soft else store

    def encoding(self, languages: Mapping[str, str]) -> Encoding:
        """How rows become examples; a text that is too long is cut as prediction would cut it."""
        long = self.recipe.predict.long
        told = f"{self.reading.identity} {self.labels} {long} {self.longest}"
        size = max(self.reading.tokenizer.size, self.labels.unseen + 1, WHOLE + 1 if self.labels.soft else 0)
        identity = hashlib.sha256(told.encode()).hexdigest()
        return Encoding(_Encode(self), self.fields, size, f"labelled {identity}")

    def embeddings(self, model: Any) -> list[tuple[Any, Any]]:
        return [(self.reading.tokenizer, model.encoder.embedding)]

    def model(self) -> nn.Module:
        made = encoder(self.recipe.model.name, self.recipe.model.options, self.reading.tokenizer.size)
        head = self.recipe.head
        settings = ClassifierSettings(pooling=head.pooling, dropout=head.dropout, several=self.labels.several)
        return Classifier(made, settings, len(self.labels.names))

    def batch(self, examples: Sequence[Mapping[str, Any]], device: torch.device) -> Texts:
        """Examples of a store as tensors; what is padding is told by lengths, never by ids."""
        text = collate(examples, {"text": self.reading.tokenizer.padding})["text"]
        real = np.arange(text.tokens.shape[1]) < text.lengths[:, None]
        tensors = (torch.from_numpy(text.tokens), torch.from_numpy(real), self._wanted(examples))
        return Texts(*(tensor.to(device, non_blocking=True) for tensor in tensors))

    def _wanted(self, examples: Sequence[Mapping[str, Any]]) -> Tensor:
        found = [torch.from_numpy(example["label"].astype(np.int64)) for example in examples]
        if self.labels.soft:
            shares_BC = torch.zeros(len(found), len(self.labels.names))
            for row, parts in enumerate(found):
                shares_BC[row, parts[::2]] = parts[1::2] / WHOLE
            return shares_BC
        if not self.labels.several:
            wanted_B = torch.cat(found)
            return wanted_B.masked_fill(wanted_B == self.labels.unseen, IGNORE)
        wanted_BC = torch.zeros(len(found), len(self.labels.names), dtype=torch.bool)
        for row, places in enumerate(found):
            wanted_BC[row, places] = True
        return wanted_BC

    def loss(self, model: Any, batch: Texts, smoothing: float) -> Loss:
        """Summed over texts; one whose label training does not have counts for nothing here."""
        agreement = self.recipe.loss.agreement
        if not agreement or not model.training:
            return self._loss(model, model(batch.pieces, batch.real), batch.wanted, smoothing)
        logits_2BC = model(batch.pieces.repeat(2, 1), batch.real.repeat(2, 1))
        first_BC, second_BC = logits_2BC.chunk(2)
        first, second = (self._loss(model, logits, batch.wanted, smoothing) for logits in (first_BC, second_BC))
        apart = model.apart(first_BC, second_BC)
        return Loss((first.total + second.total + agreement / 2 * apart) / 2, first.count, (first.nll + second.nll) / 2)

    def _loss(self, model: Any, logits: Float[Tensor, "B C"], wanted: Tensor, smoothing: float) -> Loss:
        if self.recipe.head.weights == "none":
            return model.loss(logits, wanted, smoothing)
        return self._balanced(model, logits, wanted, smoothing)

    def _balanced(self, model: Any, logits: Float[Tensor, "B C"], wanted: Int[Tensor, " B"], smoothing: float) -> Loss:
        """The loss with each text weighed by its class."""
        total = Loss(logits.new_zeros(()), wanted.new_zeros(()), logits.new_zeros(()))
        for place in wanted.unique().tolist():
            mine = wanted == place
            loss = model.loss(logits[mine], wanted[mine], smoothing)
            weight = 1.0 if place == IGNORE else self.labels.weights[place]
            total = total + Loss(loss.total * weight, loss.count, loss.nll)
        return total

    def predict(self, model: nn.Module, rows: Iterable[Row], recipe: ClassificationRecipe) -> Iterator[Classified]:
        """A result for each row, in order, as prediction is set in `recipe`."""
        _check_weights(recipe)
        return self.classifying(model, recipe)(row["text"] for row in rows)

    def embed(
        self, model: nn.Module, rows: Iterable[Row], recipe: ClassificationRecipe
    ) -> Iterator[Float[Tensor, " D"]]:
        """The vector each row is classified by."""
        return self.classifying(model, recipe).vectors(row["text"] for row in rows)

    def subject(self, model: nn.Module, row: Row, recipe: ClassificationRecipe, target: str | None) -> Subject:
        return explained.classified(self, model, row, recipe, target)

    def classifying(self, model: nn.Module, recipe: ClassificationRecipe) -> Classifying:
        longest = least(recipe.predict.longest or recipe.batches.longest, readable(recipe))
        return Classifying(self.reading, self.labels, model, recipe.predict, longest)

    def details(self, results: Sequence[Any], rows: Sequence[Row], recipe: Any) -> dict[str, Confusion]:
        wanted = [self.references(row, recipe) for row in rows]
        return {"confusion": confusion([self.compared(result) for result in results], wanted)}


class Labelled:
    """A store whose last column, the label, is told to be of one number."""

    def __init__(self, store: Store) -> None:
        self.store, self.columns, self.folder = store, store.columns, store.folder
        self.lengths: UInt32[np.ndarray, "N C"] = store.lengths.copy()
        self.lengths[:, -1] = 1

    def __len__(self) -> int:
        return len(self.store)

    def __getitem__(self, index: int) -> dict[str, UInt[np.ndarray, " _"]]:
        return self.store[index]


@dataclass(frozen=True)
class _Encode:
    task: ClassificationTask

    def __call__(self, texts: Mapping[str, Sequence[str]]) -> Mapping[str, Sequence[Sequence[int]]]:
        reading, longest, long = self.task.reading, self.task.longest, self.task.recipe.predict.long
        cuts = reading.tokenizer.encode_many(texts["text"])
        return {
            "text": [reading.wrapped(reading.limited(cut.ids, long, longest)) for cut in cuts],
            "label": [self.task.labels.encode(field) for field in texts["label"]],
        }


def readable(recipe: Recipe) -> int | None:
    """How many pieces the encoder of a recipe can read at once; None where its positions have no end."""
    position = getattr(read_encoder(recipe.model.name, recipe.model.options), "position", Part(name="none"))
    length = inspect.signature(POSITIONS[position.name]).parameters.get("length")
    return None if length is None else int(position.options.get("length", length.default))


def least(*limits: int | None) -> int | None:
    """The lowest of several limits, some of which may not be set.

    >>> least(None, 5, 3), least(None, None)
    (3, None)
    """
    return min((limit for limit in limits if limit is not None), default=None)


def _check_weights(recipe: ClassificationRecipe) -> None:
    how = recipe.head.pooling.how
    if recipe.predict.weights and how != "attention":
        raise ConfigError(
            f"predict.weights = true needs attention to look at, and head.pooling.how = {how}; "
            "train with attention, or leave it out."
        )
