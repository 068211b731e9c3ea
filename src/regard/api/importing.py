"""Models from elsewhere as bundles of ours: which task each kind goes on with, and under which names."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from regard.api import recipes
from regard.api.pipeline import Pipeline
from regard.convert import gguf, huggingface
from regard.convert.huggingface import Imported, generating
from regard.convert.huggingface.folder import config, table
from regard.engines import RECORD
from regard.errors import ConfigError, DataError, RegardError, unknown
from regard.files import shown
from regard.models import Labels, MaskedPiece, Spans, Tags, Vocabulary
from regard.nn.parameters import fill, named
from regard.tasks import TASKS, labelling, tagging
from regard.tasks.tag_schemes import Recognized, recognized
from regard.text import ForeignTokenizer, read_longest, read_template, read_tokenizer
from regard.text import recognized as recognized_chat

# What each architecture is here, and the tasks it can go on with, the usual one first.
ENCODER = ("embedding",)
DECODER = ("language",)
SEQUENCE = ("translation", "summarization", "dialogue")
KINDS = {
    "bert": ("transformer", ENCODER),
    "distilbert": ("transformer", ENCODER),
    "roberta": ("transformer", ENCODER),
    "xlm-roberta": ("transformer", ENCODER),
    "gpt2": ("transformer_language", DECODER),
    "llama": ("transformer_language", DECODER),
    "qwen2": ("transformer_language", DECODER),
    "qwen3": ("transformer_language", DECODER),
    "marian": ("transformer", SEQUENCE),
    "bart": ("transformer", SEQUENCE),
    "mbart": ("transformer", SEQUENCE),
    "pegasus": ("transformer", SEQUENCE),
    "blenderbot": ("transformer", SEQUENCE),
}
# What an encoder with a head is there for.
HEADS: dict[type[nn.Module], str] = {
    MaskedPiece: "masked",
    Labels: "classification",
    Tags: "tagging",
    Spans: "answering",
}
READING = (*ENCODER, *HEADS.values())
# How sentence-transformers sums up a text, and what may stand around that.
POOLING = {
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_cls_token": "first",
    "pooling_mode_max_tokens": "maximum",
}
MODULES = {"Transformer", "Pooling", "Normalize"}


def from_huggingface(folder: Path, task: str = "") -> Pipeline:
    """The model in a folder of config.json, safetensors and tokenizer.json, ready to be saved as a bundle."""
    found = huggingface.read(folder)
    name, tasks = KINDS[found.architecture]
    tags = recognized(found.labels) if isinstance(found.head, Tags) else None
    chosen = _task(task, found, tasks, tags)
    settings = {"model": {"name": name, **found.settings.plain()}, "predict": _predict(found, chosen, folder)}
    settings |= _above(found, chosen, folder, tags)
    left = [*found.left, *(found.above if chosen in ENCODER else ())]
    facts: dict[str, Any] = {"from": "huggingface", "architecture": found.architecture, "left": sorted(left)}
    if chosen in DECODER:
        facts |= _unheard(read_template(folder), settings["predict"])
    if chosen not in READING:
        meant = generating.meant(folder, _positions(found, folder))
        settings["search"] = _search(meant.search, chosen)
        settings["predict"] |= _ending(meant, found.vocabulary, read_tokenizer(folder)) if chosen in DECODER else {}
        written = read_tokenizer(folder / "target" if (folder / "target" / "tokenizer.json").exists() else folder)
        unforced = _unforced(meant.forced, read_tokenizer(folder))
        unsearched = [*meant.left, *unforced, *_allowed(meant.suppressed, written)]
        facts |= {"left_of_search": unsearched} if unsearched else {}
    tokenizers = {"tokenizer.json": read_tokenizer(folder)}
    if isinstance(found.vocabulary, Vocabulary):
        begin, end = found.vocabulary.begin, found.vocabulary.end
        tokenizers = {name: one.beginning(begin, end) for name, one in _sides(folder, tokenizers).items()}
    files = {name: tokenizer.to_json() for name, tokenizer in tokenizers.items()}
    files |= _labels(found, chosen, tags)
    return _pipeline(chosen, settings, files, _parameters(found, chosen, tags), facts)


def from_gguf(path: Path) -> Pipeline:
    """The Llama-type model in a GGUF file, its parameters dequantized."""
    found = gguf.read(path)
    predict = {**_chat(found.template, found.tokenizer), **({"longest": found.length} if found.length else {})}
    settings = {"model": {"name": "transformer_language", **found.settings.plain()}, "predict": predict}
    facts = {"from": "gguf", "architecture": found.architecture} | _unheard(found.template, predict)
    return _pipeline("language", settings, {"tokenizer.json": found.tokenizer.to_json()}, named(found.model), facts)


def _sides(folder: Path, joint: dict[str, ForeignTokenizer]) -> dict[str, ForeignTokenizer]:
    """The tokenizers of both sides, where the target has one of its own: in a folder of that name."""
    if not (folder / "target" / "tokenizer.json").exists():
        return joint
    source, target = joint["tokenizer.json"], read_tokenizer(folder / "target")
    return {"source.tokenizer.json": source, "target.tokenizer.json": target}


def _pipeline(
    task: str,
    settings: Mapping[str, Any],
    files: Mapping[str, str],
    parameters: Mapping[str, Tensor],
    facts: Mapping[str, Any],
) -> Pipeline:
    recipe = recipes.read({"task": task, "data": {}, **settings})
    made = TASKS[task].load(recipe, files)
    model: nn.Module = made.model().eval()
    fill(model, parameters, "The imported model")
    count = sum(parameter.numel() for parameter in model.parameters())
    return Pipeline(recipe, made, model, {**facts, "parameters": count}, {})


def _task(asked: str, found: Imported, usual: tuple[str, ...], tags: Recognized | None) -> str:
    """The task asked for, or that of the head there is, or the usual one of such a model."""
    own = "" if found.head is None else HEADS[type(found.head)]
    if own == "tagging" and tags is None:
        if asked == own:
            raise ConfigError(
                f"config.json: id2label = {', '.join(found.labels)[:80]}: tags are O and of every type B- and I-, or "
                "B-, I-, E- and S-; name them so, or leave them out with --task embedding."
            )
        own = ""
    possible = (own, *usual) if own else usual
    if asked and asked not in possible:
        raise ConfigError(unknown("task for this model", asked, possible))
    return asked or possible[0]


def _above(found: Imported, task: str, folder: Path, tags: Recognized | None) -> dict[str, Any]:
    """The settings of what stands on an encoder."""
    if task == "embedding":
        return {"head": _pooling(folder)}
    if task == "masked":
        layers = found.settings
        return {"head": {"activation": layers.feedforward.activation, "epsilon": layers.embedding.epsilon}}
    if task == "tagging" and tags is not None:
        head: Any = found.head
        return {"head": {"crf": False, "dropout": head.dropout.rate}, "tags": {"learn": tags.scheme}}
    if isinstance(found.head, Labels) and task == "classification":
        head = {"pooling": found.head.pooling.settings.plain(), "dropout": found.head.dropout.rate}
        return {"head": head, "labels": {"several": found.several}}
    return {}


def _labels(found: Imported, task: str, tags: Recognized | None) -> dict[str, str]:
    """The file that says what the classes are called."""
    if task == "tagging" and tags is not None:
        return {tagging.FILE: json.dumps(tags.labels, ensure_ascii=False)}
    if task == "classification":
        # How often training had each is not known.
        return labelling.Labels(found.labels, (0,) * len(found.labels)).files()
    return {}


def _parameters(found: Imported, task: str, tags: Recognized | None) -> dict[str, Tensor]:
    """The parameters under the names the task's model has: an encoder stands under `encoder`, tags in our order."""
    own = named(found.model)
    if task not in READING:
        return own
    head = {} if found.head is None or task in ENCODER else named(found.head)
    if task == "tagging" and tags is not None:
        head = {name: tensor[list(tags.places)] for name, tensor in head.items()}
    tied = {id(tensor): name for name, tensor in own.items()}
    above = {f"head.{name}": tensor for name, tensor in head.items() if id(tensor) not in tied}
    shared = {tensor.data_ptr() for tensor in own.values()}
    return {f"encoder.{name}": tensor for name, tensor in own.items()} | {
        name: tensor for name, tensor in above.items() if tensor.data_ptr() not in shared
    }


def _predict(found: Imported, task: str, folder: Path) -> dict[str, Any]:
    """How far the model can read, and how it is talked to; windows of a passage are those a reader is taught by."""
    if task == "answering":
        return {}
    # Of others' models a tokenizer's limit says little; of an export of ours it is what was read at once.
    limits = (_positions(found, folder), read_longest(folder) if (folder / RECORD).exists() else None)
    known = [limit for limit in limits if limit is not None]
    room = {"longest": min(known)} if known else {}
    if task in DECODER:
        return {**_chat(read_template(folder), read_tokenizer(folder)), **room}
    return room


def _positions(found: Imported, folder: Path) -> int | None:
    """How many positions the model has; None where nothing says so."""
    position = found.settings.position
    told = config(folder).get("max_position_embeddings")
    limit = position.options.get("length") if position.name == "learned" else told
    return limit if isinstance(limit, int) and limit > 0 else None


def _ending(meant: generating.Meant, vocabulary: Any, tokenizer: ForeignTokenizer) -> dict[str, Any]:
    """How far a text goes on, and by which pieces besides the model's own it may end."""
    others = [name for piece in meant.ends if piece != vocabulary.end and (name := tokenizer.piece(piece))]
    return ({"pieces": meant.pieces} if meant.pieces else {}) | ({"ends": others} if others else {})


def _unforced(piece: int | None, tokenizer: ForeignTokenizer) -> list[str]:
    """A piece that every output is to begin with: nothing here forces one, and only what opens any text is written."""
    if piece is None or piece in tokenizer.opening:
        return []
    return [f"forced_bos_token_id = {piece} (give inputs prefix_pieces = [{piece}])"]


def _allowed(suppressed: Sequence[int], tokenizer: ForeignTokenizer) -> list[str]:
    """Pieces of text that are never to be written there; all that is no text is never written here either."""
    text = [piece for piece in suppressed if 0 <= piece < tokenizer.size and piece not in tokenizer.special]
    further = [piece for piece in text if tokenizer.piece(piece)]
    return [f"suppress_tokens = {further}"] if further else []


def _search(meant: Mapping[str, Any], task: str) -> dict[str, Any]:
    """How it is meant to be searched; what a decoder may write is counted otherwise here."""
    return {name: one for name, one in meant.items() if task not in DECODER or not name.startswith("longest")}


def _chat(template: str | None, tokenizer: ForeignTokenizer) -> dict[str, Any]:
    """The known chat a template is, and whether prompts begin with a piece of their own."""
    begin = {"begin": bool(tokenizer.opening)}
    try:
        known = recognized_chat(template) if template else None
    # A template nobody knows is never run; the model can still go on with texts, and a known chat be named.
    except RegardError:
        known = None
    return begin | ({"chat": known.name, "system": known.system or ""} if known else {})


def _unheard(template: str | None, predict: Mapping[str, Any]) -> dict[str, Any]:
    """That there is a form of conversation, and it is none that is known."""
    return {"chat": "unknown"} if template and not predict.get("chat") else {}


def _pooling(folder: Path) -> dict[str, Any]:
    """How sentence-transformers sums up a text, if the folder says so; otherwise the mean."""
    path = folder / "1_Pooling" / "config.json"
    if not path.exists():
        return {"pooling": {"how": "mean"}, "unit": False}
    told = table(path)
    asked = [name for name, on in told.items() if name.startswith("pooling_mode_") and on is True]
    if len(asked) > 1 or not set(asked) <= POOLING.keys():
        known = ", ".join(POOLING)
        raise DataError(f"{shown(path)} asks for {', '.join(asked)}; a text is summed up by one of {known} here.")
    return {"pooling": {"how": POOLING[asked[0]] if asked else "mean"}, "unit": "Normalize" in _modules(folder)}


def _modules(folder: Path) -> set[str]:
    """What a vector goes through by the list of sentence-transformers, if there is one."""
    path = folder / "modules.json"
    try:
        listed = json.loads(path.read_text("utf-8")) if path.exists() else []
        kinds = {str(entry["type"]).rpartition(".")[2] for entry in listed}
    except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
        raise DataError(f"{shown(path)} cannot be read: {error}.") from None
    if strangers := sorted(kinds - MODULES):
        raise DataError(f"{shown(path)}: a vector goes through {', '.join(strangers)}, which is not known here.")
    return kinds
