"""What every engine is given to decode with, and how it is timed. Run in peers' environments: nothing of ours here.

A folder holds parameters.safetensors (our names, and `positions`, what is added at each place) and facts.json.
"""

import json
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

# Padding, begin, end, unknown: our first four pieces, by the names OpenNMT-py has for them.
SPECIAL = ("<blank>", "<s>", "</s>", "<unk>")
END = 2

Pieces = list[list[int]]
Run = Callable[[Pieces], Pieces]


class Given(NamedTuple):
    """The folder, what is known of the model, and the sources: pieces with their end, shortest first."""

    folder: Path
    facts: dict[str, Any]
    sources: Pieces

    @property
    def parameters(self) -> dict[str, Any]:
        from safetensors.torch import load_file

        return load_file(self.folder / "parameters.safetensors")

    def own(self, name: str) -> Path:
        """A folder of the engine's own, made if need be."""
        folder = self.folder / name
        folder.mkdir(exist_ok=True)
        return folder


def given() -> Given:
    folder = Path(sys.argv[1])
    facts = json.loads((folder / "facts.json").read_text())
    return Given(folder, facts, facts.pop("sources"))


def longest(known: Given, source: int) -> int:
    """The most pieces a translation may have: ours is the same rule."""
    limit: int = known.facts["factor"] * source + known.facts["extra"]
    return limit


def answer(given: Given, prepared: Callable[[int, int], Run]) -> None:
    """Time every kind of decoding asked for, and print what was found as the last line."""
    found = {}
    for name, (batch, beams) in given.facts["kinds"].items():
        run = prepared(batch, beams)
        run(given.sources[:batch])
        began = time.perf_counter()
        outputs = run(given.sources)
        found[name] = {"seconds": time.perf_counter() - began, "outputs": [cut(one) for one in outputs]}
    sys.stderr.flush()
    print("\n" + json.dumps(found), flush=True)


def cut(pieces: Iterable[int]) -> list[int]:
    """What stands before the end."""
    numbers = [int(piece) for piece in pieces]
    return numbers[: numbers.index(END)] if END in numbers else numbers


def word(number: int) -> str:
    return SPECIAL[number] if number < len(SPECIAL) else f"p{number}"


def number(word: str) -> int:
    return SPECIAL.index(word) if word in SPECIAL else int(word[1:])


def lines(sources: Pieces) -> list[str]:
    return [" ".join(word(piece) for piece in source) for source in sources]


def numbers(lines: Iterable[str]) -> Pieces:
    return [[number(word) for word in line.split()] for line in lines]


def vocabularies(given: Given, folder: Path) -> tuple[Path, Path]:
    """Files of the words of both sides."""
    paths = folder / "source.txt", folder / "target.txt"
    for path, side in zip(paths, ("source", "target"), strict=True):
        path.write_text("".join(f"{word(number)}\n" for number in range(given.facts[side])))
    return paths


def apart(given: Given) -> tuple[Any, Any, Any, dict[str, Any]]:
    """Vectors of source and target, what is added at each place, and all other parameters."""
    rest = given.parameters
    source, target = rest.pop("encoder.embedding.vectors"), rest.pop("embedding.vectors")
    return source, target, rest.pop("positions"), rest


def renamed(parameters: dict[str, Any], *changes: dict[str, str]) -> dict[str, Any]:
    """Parameters under a peer's names: the changes are made in order, each replacing one part of a name by another."""
    result = {}
    for name, tensor in parameters.items():
        for change in changes:
            for old, new in change.items():
                name = name.replace(old, new)
        result[name] = tensor
    return result
