"""The files of a folder in Hugging Face's layout: config.json and safetensors, and nothing that can run code."""

import json
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from regard.errors import DataError

CONFIG = "config.json"
WHOLE = "model.safetensors"
INDEX = "model.safetensors.index.json"


def config(folder: Path) -> dict[str, Any]:
    """The folder's config.json."""
    if not folder.is_dir():
        raise DataError(f"{folder} is not a folder; name the one that holds {CONFIG} and {WHOLE}.")
    return table(folder / CONFIG)


def tensors(folder: Path) -> dict[str, Tensor]:
    """Every tensor of the folder by its name, from one file or from the shards an index lists."""
    found: dict[str, Tensor] = {}
    for path in _files(folder):
        shard = _shard(path)
        if twice := sorted(found.keys() & shard.keys()):
            raise DataError(f"{path} holds {twice[0]!r}, which another shard holds as well; keep one of them.")
        found |= shard
    return found


def _files(folder: Path) -> list[Path]:
    if (folder / WHOLE).exists():
        return [folder / WHOLE]
    if (folder / INDEX).exists():
        return _shards(folder / INDEX)
    if pickles := sorted(path.name for path in folder.glob("*.bin")):
        raise DataError(
            f"{folder} holds its parameters only as a pickle ({pickles[0]}), which can run code and is never opened; "
            f"store them as {WHOLE}, for example with save_pretrained of Transformers."
        )
    raise DataError(f"{folder} holds no parameters; put {WHOLE} beside {CONFIG}.")


def _shards(index: Path) -> list[Path]:
    """The files an index lists, all of them in its own folder."""
    places = table(index).get("weight_map")
    names = set(places.values()) if isinstance(places, dict) else set()
    for name in names:
        if not isinstance(name, str) or Path(name).name != name:
            raise DataError(f"{index} lists {name!r}, which is no file of its own folder.")
    if not names:
        raise DataError(f"{index} lists no files; its weight_map should name one for each tensor.")
    return [index.parent / name for name in sorted(names)]


def table(path: Path) -> dict[str, Any]:
    """The object a JSON file holds."""
    try:
        values = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise DataError(f"{path} is missing; name a folder that holds it.") from None
    # ValueError: no JSON, no UTF-8, or a number of more digits than Python reads.
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(f"{path} cannot be read as JSON: {error}.") from None
    if not isinstance(values, dict):
        raise DataError(f"{path} holds a {type(values).__name__}, not an object of settings.")
    return values


def _shard(path: Path) -> dict[str, Tensor]:
    try:
        return load_file(path)
    except FileNotFoundError:
        raise DataError(f"{path} is missing, though the index beside it lists it; fetch it.") from None
    except (OSError, SafetensorError) as error:
        raise DataError(f"{path} is damaged or no safetensors file ({error}); fetch it again.") from None
