"""Our parameters in the order and with the factors that an architecture of Hugging Face's expects."""

import re

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.attention import POSITIONS
from regard.config import make
from regard.convert.huggingface.choosing import Choice
from regard.nn.parameters import named

# Which side of a parameter is the width that all layers share: its rows or its columns.
ROWS = re.compile(r"(\.output|\.outer)\.(weight|bias)$|norm\.(weight|bias)$")
COLUMNS = re.compile(r"(\.query|\.key|\.value|\.inner|\.gate)\.weight$|(^|\.)vectors$|readout\.weight$")
TURNED = re.compile(r"\.(query|key)(_norm)?\.(weight|bias)$")


def shaped(model: nn.Module, choice: Choice) -> dict[str, Tensor]:
    """The parameters by our names, an encoder's without where it stands, ready for the architecture's rules."""
    found = {_bare(name, choice): tensor.float() for name, tensor in named(model).items()}
    if choice.architecture != "bert":
        found = _untied(found)
    if choice.table:
        found |= _tables(found, choice)
    if choice.factor != 1.0:
        found["embedding.vectors"] = found["embedding.vectors"] * choice.factor
    if choice.halves:
        found = {name: _in_halves(name, tensor) for name, tensor in found.items()}
    if choice.turned:
        found = {name: _turned(name, tensor, choice.config["head_dim"]) for name, tensor in found.items()}
    return found


def _bare(name: str, choice: Choice) -> str:
    return name.removeprefix("encoder.") if choice.architecture == "bert" else name


def _untied(found: dict[str, Tensor]) -> dict[str, Tensor]:
    """What is tied, under each of its names."""
    first = found.get("encoder.embedding.vectors")
    vectors = found.get("embedding.vectors", first)
    assert vectors is not None
    return {"embedding.vectors": vectors, "output.readout.weight": vectors, **found}


def _tables(found: dict[str, Tensor], choice: Choice) -> dict[str, Tensor]:
    """Sinusoids written down, for each embedding."""
    width = found["embedding.vectors"].shape[1]
    waves = make("position", POSITIONS, "sinusoidal", width)
    table_TD = waves.embed(torch.zeros(1, choice.table, width), range(choice.table))[0]
    places = ["embedding."] + (["encoder.embedding."] if "encoder.embedding.vectors" in found else [])
    return {f"{place}position.table": table_TD for place in places}


def halves(size: int) -> Int[Tensor, " X"]:
    """What stands where once pairs are put into halves.

    >>> halves(6).tolist()
    [0, 2, 4, 1, 3, 5]
    """
    return torch.cat([torch.arange(0, size, 2), torch.arange(1, size, 2)])


def _in_halves(name: str, tensor: Tensor) -> Tensor:
    if ROWS.search(name):
        return tensor[halves(tensor.shape[0])]
    return tensor[:, halves(tensor.shape[1])] if COLUMNS.search(name) else tensor


def _turned(name: str, tensor: Float[Tensor, "..."], each: int) -> Float[Tensor, "..."]:
    if not TURNED.search(name):
        return tensor
    return tensor.unflatten(0, (-1, each))[:, halves(each)].flatten(0, 1)
