"""Tensors that lie in several safetensors files, a piece in each: the first rows in the first file, and so on.

`parameters-00001-of-00004.safetensors` holds what the second of four processes had of the group `parameters`. A tensor
that nobody had in parts lies whole in the first file. The head of each file says which rows it holds, in the words of
torch.distributed.checkpoint, whose reader of Hugging Face files can so read a group by itself.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from regard.errors import DataError
from regard.files import shown

NAME = re.compile(r"([A-Za-z0-9_]+)-(\d{5})-of-(\d{5})\.safetensors")


def file_name(group: str, rank: int, size: int) -> str:
    """The name of a process's file.

    >>> file_name("parameters", 1, 4)
    'parameters-00001-of-00004.safetensors'
    """
    return f"{group}-{rank:05d}-of-{size:05d}.safetensors"


def files(folder: Path, group: str, names: Sequence[str]) -> list[Path]:
    """Those of the names that are files of a group, in the order of the processes."""
    return [folder / name for name in sorted(names) if (found := NAME.fullmatch(name)) and found[1] == group]


def whereabouts(offsets: Mapping[str, Sequence[int]]) -> dict[str, str]:
    """What a file says in its head: where in the whole tensor each of its pieces begins.

    >>> whereabouts({"a": [2, 0]})
    {'DCP_SHARDING_INFO': '{"a": {"saved_offsets": [2, 0]}}'}
    """
    return {"DCP_SHARDING_INFO": json.dumps({name: {"saved_offsets": list(at)} for name, at in offsets.items()})}


class Shards(Mapping[str, Tensor]):
    """The whole tensors of a group, each put together when it is asked for: no more than one need be in memory."""

    def __init__(self, paths: Sequence[Path], shapes: Mapping[str, Sequence[int]]) -> None:
        self.paths, self.shapes = paths, shapes
        self.holders: dict[str, list[Path]] = {name: [] for name in shapes}
        rows: dict[str, int] = dict.fromkeys(shapes, 0)
        for path in paths:
            for name, shape in _shapes(path).items():
                if name not in shapes or len(shape) != len(shapes[name]) or shape[1:] != list(shapes[name][1:]):
                    raise DataError(f"{shown(path)} holds {name} of shape {shape}, which its index does not know.")
                self.holders[name].append(path)
                rows[name] += shape[0] if shape else 0
        for name, whole in shapes.items():
            if not self.holders[name] or (whole and rows[name] != whole[0]):
                raise DataError(f"{shown(paths[0].parent) if paths else 'No file'} lacks a part of {name}.")

    def __getitem__(self, name: str) -> Tensor:
        pieces = [_piece(path, name) for path in self.holders[name]]
        return pieces[0] if len(pieces) == 1 else torch.cat(pieces)

    def __iter__(self) -> Iterator[str]:
        return iter(self.shapes)

    def __len__(self) -> int:
        return len(self.shapes)


def _shapes(path: Path) -> dict[str, list[int]]:
    try:
        with safe_open(path, "pt") as file:
            return {name: list(file.get_slice(name).get_shape()) for name in file.keys()}  # noqa: SIM118
    except (OSError, ValueError, SafetensorError) as error:
        raise DataError(f"{shown(path)} is damaged or no safetensors file ({error}).") from None


def _piece(path: Path, name: str) -> Tensor:
    try:
        with safe_open(path, "pt") as file:
            found: Tensor = file.get_tensor(name)
            return found
    except (OSError, ValueError, SafetensorError) as error:
        raise DataError(f"{shown(path)} is damaged or no safetensors file ({error}).") from None
