"""A bundle in another program's form: written beside its place, run on golden inputs, and only then given its name."""

import json
import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import regard
from regard.api.costing import Cost, costs
from regard.api.exported_huggingface import write_huggingface
from regard.api.exported_settings import LOST, lost, without
from regard.api.exported_transformers import agreeing, unlike
from regard.api.materials import Materials
from regard.api.pipeline import Pipeline
from regard.convert import ctranslate2, onnx
from regard.convert.ctranslate2.library import quietly
from regard.engines import RECORD, Engine, engine, shortlist
from regard.engines.pieces import pieces_of
from regard.errors import ConfigError, DataError, RequestError, unknown
from regard.files import checksum, shown
from regard.metrics import score
from regard.tasks import Recipe, Result
from regard.text.patterns import CJK

# How far a score, a probability or a vector may be from ours.
TOLERANCE = 1e-3
QUANTIZATIONS = ("int8", "int16", "float16", "bfloat16")


@dataclass(frozen=True)
class Differences:
    """How an export's outputs on the golden inputs compare with ours."""

    inputs: int
    # Outputs that are another text.
    others: int
    # The largest difference of any number in outputs that are the same text.
    largest: float
    # One against the other, where texts may differ: of a quantized model, or one that writes with less.
    bleu: float | None = None

    def __str__(self) -> str:
        same = (
            f"{self.inputs - self.others} of {self.inputs} golden outputs the same, numbers within {self.largest:.1e}"
        )
        return same if self.bleu is None else f"{same}; BLEU of its outputs against ours {self.bleu:.1f}"


@dataclass(frozen=True)
class Exported:
    """Where an export is, what it became, how it compares, and what has to be known about it."""

    target: str
    folder: Path
    kind: str
    differences: Differences
    notes: tuple[str, ...] = ()
    # What being quantized or writing with less costs on validation, where its files are there.
    costs: tuple[Cost, ...] = ()

    def plain(self) -> dict[str, Any]:
        told = {"same": self.differences.inputs - self.differences.others, "inputs": self.differences.inputs}
        known = {**told, "largest_difference": self.differences.largest, "bleu_against_ours": self.differences.bleu}
        return {
            "target": self.target,
            "folder": str(self.folder),
            "kind": self.kind,
            **known,
            "costs": [cost.plain() for cost in self.costs],
            "notes": list(self.notes),
        }


@dataclass(frozen=True)
class Written:
    """What was written into a folder: what it is called there, what runs it, and what has to be known about it."""

    kind: str
    engine: Engine
    notes: tuple[str, ...] = ()
    # Whether its outputs may be other texts than ours.
    lossy: bool = False


def export(pipeline: Pipeline, target: str, out: Path, quantize: str = "", root: str = "") -> Exported:
    """The model in the form of `target`, in a new folder, verified on its golden inputs before it is called done.

    What is learned or measured is read in `root`, where training texts are no longer where the recipe has them.
    """
    if target not in TARGETS:
        raise ConfigError(unknown("target", target, TARGETS))
    if quantize and (target != "ctranslate2" or quantize not in QUANTIZATIONS):
        raise ConfigError(f"quantize = {quantize!r}: only ctranslate2 can, as {', '.join(QUANTIZATIONS)}.")
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise ConfigError(f"{shown(out)} is there already; name another with --out.")
    part = out.with_name(f".{out.name}.{secrets.token_hex(4)}.part")
    try:
        part.mkdir(parents=True)
        # Quoted as TOML has it, which knows no pairs of surrogates.
        told = [f"data.root={json.dumps(root, ensure_ascii=False)}"] if root else []
        recipe = pipeline.with_settings(*told).recipe
        written = TARGETS[target](pipeline, part, quantize, recipe)
        lossy = bool(quantize) or written.lossy
        found = verified(pipeline, written, lossy)
        cost = tuple(costs(_steady(pipeline, written.engine, lossy)[-1], written.engine, recipe)) if lossy else ()
        _record(part, target, quantize, written.engine, [found, *cost])
        if out.exists():
            out.rmdir()
        os.replace(part, out)
    except OSError as error:
        raise DataError(f"Cannot export to {shown(out)}: {error.strerror or error}.") from None
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return Exported(target, out, written.kind, found, (*written.notes, *lost(pipeline, target)), cost)


def to_ctranslate2(pipeline: Pipeline, folder: Path, quantize: str, recipe: Recipe) -> Written:
    """model.bin with its vocabulary and config, and the bundle it was made from."""
    kind = ctranslate2.write(pipeline.model, pieces_of(pipeline.task), folder, quantize or None)
    _with_bundle(pipeline, folder)
    with quietly():
        run = engine("ctranslate2", pipeline.task, pipeline.model, folder)
    note = (
        "Its encoder carries no head of a task; `regard predict` puts ours on it."
        if kind == "encoder"
        else "Called without Regard, it may write <unk> and other pieces that are no text; give it suppress_sequences."
    )
    other = f"quantize = {quantize}: this processor has no such numbers; it was run and compared with {run.numbers}."
    return Written(kind, run, (note, other) if _others(run, quantize) else (note,))


def _others(run: Engine, quantize: str) -> bool:
    """Whether an engine computes with other numbers than were asked for; int8 beside float32 is called int8_float32."""
    return bool(quantize) and not run.numbers.startswith(quantize)


def to_onnx(pipeline: Pipeline, folder: Path, quantize: str, recipe: Recipe) -> Written:
    """Graphs with a model.json that names their inputs, and the bundle they were made from."""
    kind = onnx.write(pipeline.model, folder)
    _with_bundle(pipeline, folder)
    notes = () if kind == "encoder" else ("start.onnx reads, step.onnx writes one piece; search is Regard's.",)
    return Written(kind, engine("onnx", pipeline.task, pipeline.model, folder), notes)


def to_huggingface(pipeline: Pipeline, folder: Path, quantize: str, recipe: Recipe) -> Written:
    """config.json, safetensors and tokenizer, as stock classes of Transformers read them."""
    chosen, again, unsaid = write_huggingface(pipeline, folder)
    notes = agreeing(pipeline, chosen, folder, _rows(pipeline))
    return Written(chosen.kind, Engine("huggingface", again), (*notes, *unsaid))


def to_shortlist(pipeline: Pipeline, folder: Path, quantize: str, recipe: Recipe) -> Written:
    """What pieces are rendered by in the recipe's training texts, and the bundle."""
    shortlist.check(pipeline.task, pipeline.model)
    try:
        lexicon = shortlist.learned(pipeline.task, Materials(recipe).train)
    except DataError as error:
        told = f"A shortlist is learned from the training texts, in data.root = {recipe.data.root!r}"
        raise DataError(f"{error} {told}; if they are elsewhere, --set data.root=DIR.") from None
    lexicon.save(folder)
    _with_bundle(pipeline, folder)
    notes = (
        "It writes with what its source's pieces were rendered by in training; other words it cannot choose.",
        f"It was learned from texts that have {lexicon.share:.0%} of a source's pieces; "
        "a text with others is searched among all.",
    )
    return Written("lexicon", engine("shortlist", pipeline.task, pipeline.model, folder), notes, lossy=True)


TARGETS: dict[str, Callable[[Pipeline, Path, str, Recipe], Written]] = {
    "ctranslate2": to_ctranslate2,
    "huggingface": to_huggingface,
    "onnx": to_onnx,
    "shortlist": to_shortlist,
}


def verified(pipeline: Pipeline, written: Written, lossy: bool) -> Differences:
    """How an export compares; a DataError where it should give the same and does not.

    Greedy search is compared as well: an engine that searches by beams may have asked our own search.
    """
    return worst([_compared(each, written, lossy) for each in _steady(pipeline, written.engine, lossy)])


def worst(found: Sequence[Differences]) -> Differences:
    """What can be said of all of several comparisons."""
    bleus = [one.bleu for one in found if one.bleu is not None]
    return Differences(
        found[0].inputs,
        max(one.others for one in found),
        max(one.largest for one in found),
        min(bleus, default=None),
    )


def _compared(pipeline: Pipeline, written: Written, lossy: bool) -> Differences:
    ours, theirs = _outputs(pipeline), _outputs(replace(pipeline, engine=written.engine))
    pairs = [(row, one, other) for (row, one), (_, other) in zip(ours, theirs, strict=True)]
    for row, one, other in pairs:
        if not lossy and (one.text != other.text or farthest(one.plain(), other.plain()) > TOLERANCE):
            raise unlike(row, other.text, one.text)
    alike = [farthest(one.plain(), other.plain()) for _, one, other in pairs if one.text == other.text]
    return Differences(len(pairs), len(pairs) - len(alike), max(alike, default=0.0), _bleu(pairs) if lossy else None)


def _bleu(pairs: Sequence[tuple[Mapping[str, str], Result, Result]]) -> float:
    """Of an export's texts against ours; where words are not set apart, of their characters."""
    theirs, ours = [other.text for _, _, other in pairs], [one.text for _, one, _ in pairs]
    # Texts of three words have no four in a row, and no BLEU even if they are the same.
    if theirs == ours:
        return 100.0
    cut = "char" if re.search(f"[{CJK}]", "".join(ours)) else "13a"
    return score(theirs, [[text] for text in ours], {"name": "bleu", "tokenizer": cut}).value


def _steady(pipeline: Pipeline, run: Engine, lossy: bool) -> list[Pipeline]:
    """With greedy search, and with the recipe's own where the engine knows it and it leaves nothing to luck, nor to
    rules of another program unless outputs may differ; without what an engine cannot do around it."""
    search = getattr(pipeline.recipe, "search", None)
    # Our importer reads a model again for our own search, which can do everything.
    pipeline = pipeline if run.name == "huggingface" else without(pipeline, LOST[run.name])
    if search is None:
        return [pipeline]
    greedy = pipeline.with_settings("search.method=greedy", "search.best=1", "search.coverage=0")
    try:
        run.check(pipeline.recipe)
    except RequestError:
        return [greedy]
    ruled = search.method == "beam" and search.length.name in ("none", "average") and search.stop == "first"
    known = search.method != "sample" if lossy else ruled and not search.coverage
    return [greedy, pipeline] if known else [greedy]


def _rows(pipeline: Pipeline) -> list[Mapping[str, str]]:
    """The golden inputs; where a bundle has none, inputs of its task's kind."""
    rows: list[Mapping[str, str]] = [entry["input"] for entry in pipeline.golden]
    return rows or [pipeline.asked(row) for row in pipeline.task.sample()]


def _outputs(pipeline: Pipeline) -> list[tuple[Mapping[str, str], Result]]:
    """The golden inputs with what they give now.

    Under the settings of a test: of a text in which nothing is hidden a masked model would say nothing.
    """
    rows = _rows(pipeline)
    tested = replace(pipeline, recipe=pipeline.task.testing(pipeline.recipe))
    return list(zip(rows, tested.predict(rows), strict=True))


def farthest(one: Any, other: Any) -> float:
    """The largest difference of two numbers in the same place; infinite where anything else differs."""
    if isinstance(one, bool) or not isinstance(one, int | float | Mapping | Sequence) or isinstance(one, str):
        return 0.0 if one == other else float("inf")
    if isinstance(one, int | float):
        return float(abs(one - other))
    if len(one) != len(other):
        return float("inf")
    if isinstance(one, Mapping):
        return max((farthest(value, other.get(name)) for name, value in one.items()), default=0.0)
    return max((farthest(*pair) for pair in zip(one, other, strict=True)), default=0.0)


def _with_bundle(pipeline: Pipeline, folder: Path) -> None:
    """The bundle beside what was made of it, so that the folder can be predicted with; its tokenizers once more."""
    replace(pipeline, engine=None).save(folder / "bundle")
    for name, text in pipeline.task.files().items():
        (folder / name).write_text(text, "utf-8")


def _record(folder: Path, target: str, quantize: str, run: Engine, found: Sequence[Differences | Cost]) -> None:
    """What was made, by what, and the checksum of every file."""
    files = {str(path.relative_to(folder)): checksum(path) for path in _files(folder)}
    told = {
        "target": target,
        "quantize": quantize,
        **({"compute_type": run.numbers} if _others(run, quantize) else {}),
        "regard": regard.__version__,
        "verified": "; ".join(map(str, found)),
        "files": files,
    }
    (folder / RECORD).write_text(json.dumps(told, indent=1) + "\n", "utf-8")


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*")) if path.is_file())
