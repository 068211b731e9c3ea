"""What a folder is when it is no bundle, and what to do about it."""

import os
import re
from collections.abc import Callable
from contextlib import suppress
from glob import escape
from itertools import islice
from pathlib import Path

from regard.errors import DataError, nearest
from regard.files import shown

MANIFEST, PARAMETERS, RECIPE = "manifest.json", "parameters.safetensors", "recipe.toml"

# How many names of a folder are looked at.
NAMES = 2000

_CHECKPOINT = re.compile(r"update-\d{8,}")
_RESUME = "Finish the run with `regard train RECIPE --out RUN --resume`; it ends by saving the bundle."

Sort = tuple[Callable[[str, set[str]], bool], str]


def _is_checkpoint(name: str, inside: set[str]) -> bool:
    return "state.json" in inside and (_CHECKPOINT.fullmatch(name) is not None or PARAMETERS in inside)


def _is_hugging_face(_: str, inside: set[str]) -> bool:
    files = {"model.safetensors", "model.safetensors.index.json", "pytorch_model.bin", "tokenizer_config.json"}
    return "config.json" in inside and bool(files & inside)


def _is_store(_: str, inside: set[str]) -> bool:
    return {"pieces.bin", "offsets.bin"} <= inside


def _is_run(_: str, inside: set[str]) -> bool:
    checkpoints = any(map(_CHECKPOINT.fullmatch, inside))
    return PARAMETERS not in inside and (checkpoints or bool({"checkpoints", "log.jsonl", RECIPE} & inside))


# The first that fits is said.
SORTS: tuple[Sort, ...] = (
    (lambda _, inside: not inside, "is an empty folder, not a bundle. Name the folder of a bundle."),
    (_is_checkpoint, f"is a checkpoint, not a bundle. {_RESUME}"),
    (_is_hugging_face, "is a Hugging Face model, not a bundle. Import it first (regard.convert.huggingface)."),
    (_is_store, "is prepared data, not a bundle. Name the folder of a bundle."),
    (_is_run, f"is a run that has no finished bundle yet. {_RESUME}"),
    (lambda _, inside: PARAMETERS in inside, f"has lost its {MANIFEST}. Copy the bundle again."),
)


def require_folder(folder: Path) -> None:
    """A DataError unless the folder is there and has a manifest."""
    try:
        inside = names(folder)
    except FileNotFoundError:
        raise DataError(_missing(folder)) from None
    except NotADirectoryError:
        home = f" It is a file of {shown(folder.parent)}." if (folder.parent / MANIFEST).exists() else ""
        raise DataError(f"{shown(folder)} is a file; a bundle is a folder.{home} Name the folder.") from None
    except (OSError, ValueError) as error:
        raise DataError(f"Cannot read {shown(folder)}: {getattr(error, 'strerror', None) or error}.") from None
    if MANIFEST not in inside:
        raise DataError(described(folder, inside))


def described(folder: Path, inside: set[str]) -> str:
    """The sentence for a folder that is no bundle."""
    if (folder / "bundle" / MANIFEST).exists():
        return f"{shown(folder)} is a run; its bundle is {shown(folder / 'bundle')}. Name that folder."
    found = (sentence for fits, sentence in SORTS if fits(folder.resolve().name, inside))
    return (
        f"{shown(folder)} {next(found, f'is not a bundle (it has no {MANIFEST} of one). Name the folder of a bundle.')}"
    )


def names(folder: Path) -> set[str]:
    """The names in a folder."""
    with os.scandir(folder) as entries:
        return {entry.name for entry in islice(entries, NAMES)}


def leftovers(folder: Path, sort: str) -> list[Path]:
    """What saves of this bundle that were killed left beside it: `part` half-written, `old` put aside."""
    return sorted(folder.parent.glob(f".{escape(folder.name)}.{'[0-9a-f]' * 8}.{sort}"))


def _missing(folder: Path) -> str:
    if old := leftovers(folder, "old"):
        return (
            f"No folder {shown(folder)}: a save of it was killed at the last moment. The bundle before it is whole; "
            f"rename {shown(old[-1])} to {shown(folder)}."
        )
    with suppress(OSError):
        return f"No folder {shown(folder)}.{nearest(folder.name, names(folder.parent))}"
    return f"No folder {shown(folder)} ({shown(folder.parent)} is not a folder either)."
