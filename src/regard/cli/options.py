"""Arguments and options that several commands share, spelled once."""

from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from regard.cli import completing
from regard.files import require_file

RecipeName: TypeAlias = Annotated[
    str,
    typer.Argument(
        metavar="RECIPE",
        help="A TOML file, the name of one in recipes/, or the folder of a run.",
        show_default=False,
        autocompletion=completing.recipes,
    ),
]

BundleFolder: TypeAlias = Annotated[
    Path,
    typer.Argument(
        metavar="BUNDLE",
        help="A bundle, or the run that made it.",
        show_default=False,
        autocompletion=completing.bundles,
    ),
]

Others: TypeAlias = Annotated[
    list[Path],
    typer.Option(
        "--with",
        metavar="BUNDLE",
        help="Another bundle to decide together with; may be repeated.",
        default_factory=list,
        show_default=False,
        autocompletion=completing.bundles,
    ),
]

Changes: TypeAlias = Annotated[
    list[str],
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Change a setting, such as search.beams=1 or device=cpu; may be repeated.",
        default_factory=list,
        show_default=False,
        autocompletion=completing.settings,
    ),
]

Extensions: TypeAlias = Annotated[
    list[Path],
    typer.Option(
        "--extend",
        metavar="FILE",
        help="A Python file with parts of your own; may be repeated. It is run, so name only files you trust.",
        default_factory=list,
        show_default=False,
    ),
]


class Engines(StrEnum):
    """What runs a model; auto: what a short measurement finds fastest, where there is much to do."""

    torch = "torch"
    ctranslate2 = "ctranslate2"
    onnx = "onnx"
    shortlist = "shortlist"
    auto = "auto"


def own(engine: Engines, folder: Path) -> Engines:
    """The engine that is asked for; auto of an export is the one it was made for.

    It may be quantized, and whoever names it wants its results, not those of the bundle inside.
    """
    if engine is not Engines.auto:
        return engine
    from regard.engines import made_for

    made = made_for(folder)
    return Engines(made) if made is not None and made in Engines.__members__ else engine


EngineName: TypeAlias = Annotated[
    Engines,
    typer.Option(
        "--engine",
        help="What runs the model; the results are the same, but for a shortlist's, or it says why not. "
        "auto: the fastest for a long file.",
    ),
]

Json: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON, one object a line.")]


def join(extensions: Iterable[Path]) -> None:
    """Let the parts in these files join those of Regard."""
    for path in extensions:
        from regard.api.extending import extend

        if path.exists():
            # A pipe would be waited for.
            require_file(path)
        extend(path)
