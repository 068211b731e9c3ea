"""Command lines, recipes and data files nobody would type, drawn at random from what has broken programs before."""

import copy
import datetime
import gzip
import json
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import tomli_w

from tests.cli.toy import RECIPE, write_data

COMMANDS = ("train", "predict", "evaluate", "compare", "explain", "audit", "preflight", "check", "inspect", "align")
MORE = ("prune", "export", "recipes", "import", "import huggingface", "import gguf", "serve --help", "demo --help", "")
OPTIONS = ("--set", "--out", "--json", "--resume", "--help", "--version", "--verify", "--input", "--with", "--engine")
RARE = ("--extend", "--task", "--method", "--stream", "--embeddings", "-", "--", "-x", "--nope", "--out=", "--set=")
SETTINGS = (
    "model.width=",
    "search.beams=",
    "search.longest_extra=",
    "device=",
    "a.b.c=",
    "train.0=",
    "=",
    "data.root=",
)

ODD_NUMBERS = (0, -1, 1, 2, 3.5, 1e308, float("inf"), float("nan"), 10**9, 10**18, -(2**63), 1e-320)
ODD_TEXTS = ("", " ", "\n", "a" * 10_000, "\x7f\x1b[31m", "﻿", "𝕏" * 50, "../../etc/passwd", "%s%n{0}", "\u202e")
ODD_NAMES = ("pipe", "loop", "dangling", "folder", "empty", "zero", "secret", "latin", "nul", "bomb.gz", "deep.json")
ODD_VALUES = ("9" * 5000, "1e999", "0x" + "f" * 400, "[" * 2000, "{a=" * 500, '"\\ud800"', "1979-05-27", "nan", "''''")


class Try(NamedTuple):
    """What is typed, what is piped in, and what kind of try it is."""

    kind: str
    words: list[str]
    given: bytes = b""


class Fuzz:
    """Tries drawn for a folder that holds toys, traps and a bundle."""

    def __init__(self, folder: Path, bundle: Path, draw: random.Random) -> None:
        self.folder, self.draw = folder, draw
        self.golden, self.bundle = bundle, folder / "bundle"
        write_data(folder)
        self.recipe = RECIPE.format(root=folder).replace("updates = 6", "updates = 1")
        lay_traps(folder)

    def one(self) -> Try:
        """Something to try, with the bundle as it was before the last one."""
        shutil.rmtree(self.bundle, ignore_errors=True)
        shutil.copytree(self.golden, self.bundle)
        kinds: tuple[Callable[[], Try], ...] = (self.command_line, self.asked, self.recipe_file, self.data_file)
        return self.draw.choices(kinds, (3, 3, 3, 2))[0]()

    def command_line(self) -> Try:
        """Words in an order that hardly makes sense."""
        command = self.draw.choice(COMMANDS * 3 + MORE).split()
        rest = [word for _ in range(self.draw.randint(0, 5)) for word in self.words()]
        return Try("command line", [*command, *rest], self.content() if self.draw.random() < 0.2 else b"")

    def asked(self) -> Try:
        """A command as it should be, but for one name or one setting."""
        draw = self.draw
        name = draw.choice((str(self.bundle), str(self.bundle), *ODD_NAMES, "test.en", *ODD_TEXTS))
        words = [draw.choice(COMMANDS), name, *draw.choice(([], [], ["test.en"], ["test.en", "test.de"], ["pipe"]))]
        if draw.random() < 0.7:
            words += ["--set", draw.choice(SETTINGS) + self.value()]
        return Try("asked", words, b"dog runs\n")

    def words(self) -> list[str]:
        draw = self.draw
        return draw.choices(
            (
                [draw.choice(OPTIONS + RARE)],
                [draw.choice(OPTIONS), self.value()],
                ["--set", draw.choice(SETTINGS) + self.value()],
                ["--out", draw.choice(("out", "folder", "pipe", "loop", "/dev/full", "a/b/c", "out\0"))],
                [draw.choice((str(self.bundle), "train.en", "test.en", *ODD_NAMES))],
                [draw.choice((*ODD_TEXTS, "\udcff\udc80", "a\0b", *COMMANDS))],
            ),
            (2, 3, 3, 1, 3, 2),
        )[0]

    def value(self) -> str:
        return self.draw.choice((*map(str, ODD_NUMBERS), *ODD_TEXTS, *ODD_NAMES, *ODD_VALUES))

    def recipe_file(self) -> Try:
        """A recipe with something changed: a value, or bytes anywhere."""
        path = self.folder / "fuzzed.toml"
        path.write_bytes(self.changed_values() if self.draw.random() < 0.5 else self.changed_bytes())
        command = self.draw.choice(("train", "train", "train", "preflight"))
        # A thousand million updates are a wish like any other.
        more = ["--out", f"run-{self.draw.random()}", "--set", "train.minutes=0.05"]
        return Try("recipe", [command, str(path), *(more if command == "train" else [])])

    def changed_values(self) -> bytes:
        import tomllib

        values = copy.deepcopy(tomllib.loads(self.recipe))
        tables = [table for table in tables_of(values) if table]
        for _ in range(self.draw.choice((1, 1, 1, 3))):
            table = self.draw.choice(tables)
            table[self.draw.choice(sorted(table))] = self.odd_value(3)
        try:
            return tomli_w.dumps(values).encode("utf-8", "surrogatepass")
        except (TypeError, ValueError, RecursionError):
            return self.changed_bytes()

    def odd_value(self, depth: int) -> Any:
        draw = self.draw
        if depth and draw.random() < 0.2:
            return [self.odd_value(depth - 1) for _ in range(draw.randint(0, 3))]
        if depth and draw.random() < 0.2:
            return {draw.choice(("name", "a", "", "path", "files")): self.odd_value(depth - 1)}
        return draw.choice((*ODD_NUMBERS, *ODD_TEXTS, *ODD_NAMES, True, False, datetime.date(1979, 5, 27)))

    def changed_bytes(self) -> bytes:
        draw, content = self.draw, bytearray(self.recipe.encode())
        for _ in range(draw.randint(1, 4)):
            place = draw.randrange(len(content))
            odd = draw.choice(
                (*(value.encode() for value in ODD_VALUES), b"\0", b"\xff", b"[[", b"=", b"\r", b'"', b"#")
            )
            content[place : place + draw.choice((0, 0, 1, 20))] = odd
        return bytes(content[: draw.randrange(len(content))] if draw.random() < 0.2 else content)

    def data_file(self) -> Try:
        """Texts with anything in them, for a model that works."""
        draw = self.draw
        for name in ("fuzzed.txt", "fuzzed.de", "fuzzed.jsonl"):
            (self.folder / name).write_bytes(self.content())
        few = ["--set", "search.beams=1", "--set", "search.longest_extra=3"]
        words = draw.choice(
            (
                ["predict", "B", "fuzzed.txt", *few],
                ["predict", "B", "fuzzed.txt", "--json", *few],
                ["predict", "B", "fuzzed.jsonl", "--input", "json", *few],
                ["predict", "B", "-", "--out", "answers", *few],
                ["predict", "B", draw.choice(ODD_NAMES), *few],
                ["evaluate", "B", "fuzzed.txt", "fuzzed.de", *few],
                ["evaluate", "B", draw.choice(ODD_NAMES), draw.choice(ODD_NAMES), *few],
                ["import", "gguf", "fuzzed.txt", "--out", "imported"],
                ["inspect", "fuzzed.txt"],
            )
        )
        return Try("data", [str(self.bundle) if word == "B" else word for word in words], self.content())

    def content(self) -> bytes:
        """A few lines, most of them odd."""
        draw = self.draw
        lines = [self.line() for _ in range(draw.randint(0, 4))]
        content = draw.choice((b"\n", b"\r\n", b"\r", b"\0")).join(lines)
        if draw.random() < 0.1:
            content = gzip.compress(content)[: draw.choice((None, -3, 12))]
        return draw.choice((b"", b"\xef\xbb\xbf", b"\xff\xfe", b"PK\x03\x04", b"GGUF")) + content

    def line(self) -> bytes:
        draw = self.draw
        return draw.choice(
            (
                b"dog runs",
                b"the red cat sees",
                draw.randbytes(draw.randint(0, 20)),
                draw.choice(ODD_TEXTS).encode()[:300],
                json.dumps({"source": draw.choice(ODD_TEXTS)[:300]}).encode(),
                json.dumps({"source": draw.choice(ODD_NUMBERS), "b": [[{}]]}).encode(),
                draw.choice(ODD_VALUES).encode(),
                b"\t" * draw.randint(1, 5),
                "\u2028\x85\x0c\x00".encode(),
            )
        )


def tables_of(value: Any) -> list[dict[str, Any]]:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return ([value] if isinstance(value, dict) else []) + [table for one in inner for table in tables_of(one)]


def lay_traps(folder: Path) -> None:
    """Names that are no ordinary files."""
    os.mkfifo(folder / "pipe")
    (folder / "loop").symlink_to("loop")
    (folder / "dangling").symlink_to("nowhere")
    (folder / "folder").mkdir()
    (folder / "empty").touch()
    (folder / "zero").symlink_to("/dev/zero")
    (folder / "secret").symlink_to("/proc/self/mem")
    (folder / "latin").write_bytes("Stra\xdfe\n".encode("latin-1"))
    (folder / "nul").write_bytes(bytes(1000))
    (folder / "bomb.gz").write_bytes(gzip.compress(bytes(2**23)) * 40)
    (folder / "deep.json").write_bytes(b"[" * 10**5)
