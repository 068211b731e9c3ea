"""A bundle as Hugging Face's files, read back by our own importer."""

import json
from pathlib import Path
from typing import Any

from torch import nn

from regard.api.pipeline import Pipeline
from regard.convert import huggingface
from regard.convert.huggingface import exporting, generating, tokenizing
from regard.convert.huggingface.choosing import Choice, Known
from regard.engines.engine import beside
from regard.errors import DataError
from regard.models.embedder import Embedder
from regard.tasks.classification import ClassificationTask
from regard.tasks.ending import Ending
from regard.tasks.prompting import ContinueSettings, Prompting
from regard.tasks.tagging import TaggingTask
from regard.text import Frame, Tokenizing

# Positions that are written down where they are computed; texts are rarely longer, and recipes can say so.
POSITIONS = 1024
TARGET = "target"
POOLING = {"mean": "pooling_mode_mean_tokens", "first": "pooling_mode_cls_token", "maximum": "pooling_mode_max_tokens"}


def write_huggingface(pipeline: Pipeline, folder: Path) -> tuple[Choice, nn.Module, tuple[str, ...]]:
    """All files of a model, the model as our importer reads it again, and what the files cannot say of its search."""
    task: Any = pipeline.task
    recipe: Any = pipeline.recipe
    source, target = (task.sides.source, task.sides.target) if hasattr(task, "sides") else (task.reading.tokenizer,) * 2
    asked = getattr(recipe.predict, "longest", None)
    known = Known(target.padding, target.begin, target.end, max(POSITIONS, asked or 0), _labels(task))
    chosen = exporting.write(pipeline.model, known, folder)
    room = positions(chosen)
    longest = min(asked or room, room)
    _write_tokenizer(source, folder, longest, pipeline, segments="type_vocab_size" in chosen.config)
    if target is not source:
        (folder / TARGET).mkdir()
        _write_tokenizer(target, folder / TARGET, room, pipeline)
    notes = _write_generation(pipeline, chosen, folder)
    if isinstance(pipeline.model, Embedder):
        _write_pooling(pipeline.model, folder)
    return chosen, _again(pipeline.model, huggingface.read(folder)), notes


def positions(chosen: Choice) -> int:
    """How many positions the model has vectors or angles for."""
    return int(chosen.config.get("max_position_embeddings") or chosen.config["n_positions"])


def _frame(pipeline: Pipeline, tokenizer: Tokenizing) -> Frame | None:
    """What stands around a text that is gone on with; None: what the tokenizer itself puts around one."""
    predict: Any = getattr(pipeline.recipe, "predict", None)
    if isinstance(predict, ContinueSettings):
        return Frame((tokenizer.begin,) if predict.begin else (), (), ())
    if getattr(pipeline.task, "continues", False):
        return Frame((tokenizer.begin,), (tokenizer.end,), ())
    return None


def _labels(task: Any) -> tuple[str, ...]:
    """What the classes of the head are called."""
    if isinstance(task, ClassificationTask):
        return task.labels.names
    return task.tags if isinstance(task, TaggingTask) else ()


def _write_tokenizer(
    tokenizer: Tokenizing, folder: Path, longest: int, pipeline: Pipeline, segments: bool = False
) -> None:
    """The tokenizer, after it was seen to cut golden texts as ours does."""
    tokenizing.write(tokenizer, folder, longest, segments, _frame(pipeline, tokenizer))
    made = tokenizing.library(tokenizer)
    for text in (text for entry in pipeline.golden for text in entry["input"].values()):
        ours, theirs = tokenizer.encode(text).ids, made.encode(text, add_special_tokens=False).ids
        if ours != theirs:
            raise DataError(
                f"Hugging Face's tokenizer cuts {text[:60]!r} otherwise than ours; export to ctranslate2 or onnx, "
                "which keep our own."
            )


def _write_generation(pipeline: Pipeline, chosen: Choice, folder: Path) -> tuple[str, ...]:
    """How Transformers' own search comes nearest to ours; what it cannot do, in sentences."""
    search = getattr(pipeline.recipe, "search", None)
    # An encoder alone writes nothing, whatever its recipe says of search.
    if search is None or "bos_token_id" not in chosen.config:
        return ()
    special = {name: chosen.config[name] for name in ("bos_token_id", "eos_token_id", "pad_token_id")}
    start = chosen.config.get("decoder_start_token_id")
    special["eos_token_id"] = _ends(pipeline, special["eos_token_id"])
    named = {**special, **({} if start is None else {"decoder_start_token_id": start})}
    told = generating.written(search, most(pipeline), positions(chosen))
    never = _unwritten(pipeline)
    values = {**named, **told.values, **({"suppress_tokens": never} if never else {})}
    (folder / generating.FILE).write_text(json.dumps(values, indent=2) + "\n", "utf-8")
    return told.notes


def _unwritten(pipeline: Pipeline) -> list[int]:
    """The pieces no output may hold."""
    task: Any = pipeline.task
    model: Any = pipeline.model
    recipe: Any = pipeline.recipe
    ends = {model.vocabulary.end}
    if hasattr(task, "sides"):
        banned = task.sides.banned
    else:
        ends |= Prompting(task.reading.tokenizer, recipe.predict).stops
        banned = Ending(model, task.reading.tokenizer, frozenset(ends)).banned
    return sorted({*banned, model.vocabulary.begin} - ends)


def _ends(pipeline: Pipeline, first: int) -> int | list[int]:
    """The piece that ends a text, or all of them where there are several."""
    recipe: Any = pipeline.recipe
    task: Any = pipeline.task
    further = getattr(recipe.predict, "ends", ())
    return [first, *map(task.reading.tokenizer.id, further)] if further else first


def most(pipeline: Pipeline) -> int | None:
    """The most new pieces of an output, the end counted; None where that depends on the source."""
    recipe: Any = pipeline.recipe
    if hasattr(recipe.predict, "pieces"):
        return int(recipe.predict.pieces)
    return None if recipe.search.longest_factor else int(recipe.search.longest_extra)


def _write_pooling(model: Embedder, folder: Path) -> None:
    """What sentence-transformers wants to know of a model that gives vectors."""
    how = model.settings.pooling.how
    if how not in POOLING:
        raise DataError(f"sentence-transformers cannot pool by {how}; export to onnx.")
    (folder / "1_Pooling").mkdir()
    told = {
        "word_embedding_dimension": model.encoder.width,
        **{name: name == POOLING[how] for name in POOLING.values()},
    }
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(told, indent=2) + "\n", "utf-8")
    kinds = ["Transformer", "Pooling", *(["Normalize"] if model.settings.unit else [])]
    paths = ["" if not number else f"{number}_{kind}" for number, kind in enumerate(kinds)]
    modules = [
        {"idx": number, "name": str(number), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for number, (path, kind) in enumerate(zip(paths, kinds, strict=True))
    ]
    for path in paths[2:]:
        (folder / path).mkdir()
    (folder / "modules.json").write_text(json.dumps(modules, indent=2) + "\n", "utf-8")


def _again(model: nn.Module, found: huggingface.Imported) -> nn.Module:
    """The model with what was read again in the place of its own parameters."""
    if not hasattr(model, "head") and not isinstance(model, Embedder):
        return found.model
    parts: dict[str, Any] = {"encoder": found.model} | ({} if found.head is None else {"head": found.head})
    made: nn.Module = beside(model, **parts)
    return made
