"""A Hugging Face export as Transformers itself runs it: the same logits, and golden texts written as we write them."""

import importlib
import importlib.util
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.api.exported_huggingface import most, positions
from regard.api.exported_settings import NOTHING, without
from regard.api.pipeline import Pipeline
from regard.convert.huggingface.choosing import Choice
from regard.errors import DataError
from regard.models.embedder import Embedder
from regard.nn import native
from regard.tasks.tagging_generative import GenerativeTaggingTask
from regard.tasks.task import Row

CLOSE = 1e-4
# So many golden texts, gone on with for so many pieces, show whether texts are cut, framed and padded as ours are.
TEXTS, PIECES = 8, 48
# Transformers takes the likeliest piece by whatever rounding left of it, so that ties are not ours to break here.
LIKELIEST = ("search.method=greedy", "search.best=1", "search.coverage=0", "search.margin=1e-9")
# How a text is read that is not read as one.
PARTLY = {"empty", "refused", "split", "windows", "head", "tail"}


def agreeing(pipeline: Pipeline, chosen: Choice, folder: Path, rows: Sequence[Row]) -> list[str]:
    """Nothing, once Transformers' own class gave the same logits and texts; a sentence where it could not be asked."""
    if importlib.util.find_spec("transformers") is None:
        return ["Transformers is not installed, so only our own importer has read the export again."]
    with _offline() as transformers, torch.no_grad(), native.without():
        theirs = getattr(transformers, chosen.kind).from_pretrained(folder, local_files_only=True).eval()
        for _ in range(2):
            pieces = torch.randint(4, _size(pipeline), (2, 9))
            distance = float((_logits(pipeline.model, pieces) - _their_logits(theirs, pieces)).abs().max())
            if not distance <= CLOSE:
                raise DataError(
                    f"{chosen.kind} gives logits that differ from ours by {distance:.1e}; nothing was written."
                )
        # An encoder alone writes nothing.
        if "bos_token_id" not in chosen.config:
            return []
        if why := _incomparable(pipeline):
            return [f"Transformers was not asked to write golden texts: {why}."]
        load = transformers.AutoTokenizer.from_pretrained
        _same_texts(_likeliest(pipeline, chosen), theirs, load(folder, local_files_only=True), rows)
    return []


def unlike(row: Row, theirs: str, ours: str) -> DataError:
    """That an export gives something else."""
    return DataError(
        f"The export does not give what the model gives: for {str(row)[:80]} {theirs[:80]!r} instead of "
        f"{ours[:80]!r}. Nothing was written; please report it with the recipe."
    )


def _incomparable(pipeline: Pipeline) -> str:
    """Why its texts may well be others than ours, or nothing."""
    recipe: Any = pipeline.recipe
    if isinstance(pipeline.task, GenerativeTaggingTask):
        return "it writes on, where we write one tag for each word"
    if getattr(recipe.predict, "ends", ()):
        return "several pieces end a text, and only we add up their probabilities"
    if getattr(recipe.predict, "language", ""):
        return "what asks for a language is not put before them there"
    if getattr(recipe, "slots", 0):
        return "words that stand for themselves have no pieces there"
    return ""


def _likeliest(pipeline: Pipeline, chosen: Choice) -> Pipeline:
    """The same with greedy search for a few pieces, and nothing around it.

    Not with beams: of hypotheses that nearly tie, which are many among beams, rounding chooses there and a rule of ours
    here, and one choice changes all that follows.
    """
    predict: Any = getattr(pipeline.recipe, "predict", None)
    longest = getattr(predict, "longest", None) or positions(chosen)
    # Half of what is looked at is left to the text before.
    length = max(min(most(pipeline) or PIECES, PIECES, longest // 2), 1)
    new = (f"predict.pieces={length}",) if hasattr(predict, "pieces") else ()
    # Transformers looks for what is repeated in the prompt as well, where that is of one text with the output.
    repeated = () if chosen.config.get("is_encoder_decoder") else ("search.no_repeat=0",)
    changes = (*LIKELIEST, "search.longest_factor=0", f"search.longest_extra={length}", *new, *repeated)
    return without(pipeline.with_settings(*changes), NOTHING)


def _same_texts(asked: Pipeline, theirs: Any, tokenizer: Any, rows: Sequence[Row]) -> None:
    """A DataError unless Transformers writes after golden texts, padded to one batch, the pieces that we write."""
    plain = [row for row in rows if set(row) == set(asked.task.inputs())][:TEXTS]
    told = [(row, one) for row, one in zip(plain, asked.predict(plain), strict=True) if not PARTLY & {*one.status}]
    if not told:
        return
    written = _written(
        asked, theirs, tokenizer([_text(asked, row) for row, _ in told], padding=True, return_tensors="pt")
    )
    for (row, one), pieces in zip(told, written, strict=True):
        _compared(asked, row, one, pieces)


def _written(asked: Pipeline, theirs: Any, given: Mapping[str, Tensor]) -> list[list[int]]:
    """The pieces that Transformers writes after each, up to what ends them."""
    recipe: Any = asked.recipe
    found = theirs.generate(
        **given,
        max_new_tokens=recipe.search.longest_extra,
        no_repeat_ngram_size=recipe.search.no_repeat,
        num_beams=1,
        num_return_sequences=1,
        do_sample=False,
    )
    start = 1 if theirs.config.is_encoder_decoder else given["input_ids"].shape[1]
    end = theirs.config.eos_token_id
    rows = found[:, start:].tolist()
    return [row[: row.index(end)] if end in row else row for row in rows]


def _compared(asked: Pipeline, row: Row, one: Any, pieces: Sequence[int]) -> None:
    tokenizer = _target(asked.task)
    # Where words are pieces, Transformers puts spaces between them where we do not: pieces are compared, not texts.
    if tuple(map(tokenizer.piece, pieces)) != one.pieces:
        raise unlike(row, tokenizer.decode(pieces), one.text)


def _target(task: Any) -> Any:
    """The tokenizer of what is written."""
    return task.sides.target if hasattr(task, "sides") else task.reading.tokenizer


def _text(asked: Pipeline, row: Row) -> str:
    """The one text that is read of a row: its lines with the piece between them that stands there for us."""
    task: Any = asked.task
    (text,) = (row[name] for name in task.inputs())
    if not hasattr(task, "lines"):
        return text
    source = task.sides.source
    between = "".join(map(source.piece, source.between))
    return between.join(line for line in task.lines(asked.recipe)(text) if line.strip())


def _size(pipeline: Pipeline) -> int:
    model: Any = pipeline.model
    vocabulary = getattr(model, "vocabulary", None)
    return model.encoder.embedding.vocabulary if vocabulary is None else min(vocabulary.source, vocabulary.target)


def _logits(model: Any, pieces: Int[Tensor, "B T"]) -> Float[Tensor, "B *X V"]:
    """What stands above the last states of ours: logits of pieces, tags or labels, or the states themselves."""
    if hasattr(model, "output") and hasattr(model, "encoder"):
        return model.output.readout(model(pieces, pieces[:, :5]).hidden)
    if hasattr(model, "output"):
        return model.output.readout(model(pieces).hidden)
    if isinstance(model, Embedder):
        return model.encoder(pieces)
    return model(pieces)


def _their_logits(model: Any, pieces: Int[Tensor, "B T"]) -> Float[Tensor, "B *X V"]:
    if model.config.is_encoder_decoder:
        return model(input_ids=pieces, decoder_input_ids=pieces[:, :5]).logits
    found = model(input_ids=pieces)
    if "start_logits" in found:
        return torch.stack([found.start_logits, found.end_logits], dim=-1)
    return found.logits if "logits" in found else found.last_hidden_state


@contextmanager
def _offline() -> Iterator[Any]:
    """Transformers without the network, and without its words about what it loads."""
    before = os.environ.get("HF_HUB_OFFLINE")
    os.environ["HF_HUB_OFFLINE"] = "1"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            transformers: Any = importlib.import_module("transformers")
            logging = transformers.utils.logging
            level = logging.get_verbosity()
            logging.set_verbosity_error()
            logging.disable_progress_bar()
            yield transformers
            logging.set_verbosity(level)
    finally:
        if before is None:
            del os.environ["HF_HUB_OFFLINE"]
        else:
            os.environ["HF_HUB_OFFLINE"] = before
