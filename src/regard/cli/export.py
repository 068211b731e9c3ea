"""`regard export`."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from regard.cli.options import BundleFolder, Extensions, Json, join
from regard.cli.printing import printed, say
from regard.cli.waiting import waiting
from regard.files import shown


class Target(StrEnum):
    """What a bundle can become."""

    ctranslate2 = "ctranslate2"
    huggingface = "huggingface"
    onnx = "onnx"
    shortlist = "shortlist"


class Quantize(StrEnum):
    """How CTranslate2 may store parameters."""

    int8 = "int8"
    int16 = "int16"
    float16 = "float16"
    bfloat16 = "bfloat16"


def export(
    folder: BundleFolder,
    changes: Annotated[
        list[str],
        typer.Option(
            "--set",
            metavar="data.root=DIR",
            help="Where the texts of training and validation are, if not where they were.",
            default_factory=list,
            show_default=False,
        ),
    ],
    extensions: Extensions,
    target: Annotated[Target, typer.Option("--to", help="The form.", show_default=False)],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Where it goes.", show_default=False)],
    quantize: Annotated[
        Quantize | None,
        typer.Option(help="CTranslate2 only: smaller and faster, with the difference told.", show_default=False),
    ] = None,
    as_json: Json = False,
) -> None:
    """Write a model as CTranslate2, Transformers or ONNX Runtime read it, or with a shortlist.

    The tokenizer goes with it. Before the export gets its name it is run on the
    bundle's golden inputs: the same outputs, numbers within 1e-3, or there is no
    export. What the form cannot express is said in a sentence, exit code 1.
    One to shortlist writes with what the training texts render a source by: other
    outputs at times, with the difference told. All but those to huggingface hold
    their bundle, so `regard predict` runs them; one to huggingface comes back with
    `regard import huggingface`.

    \b
    Examples:
      regard export runs/x --to ctranslate2 --out exports/x
      regard predict exports/x input.txt --engine ctranslate2
      regard export runs/x --to ctranslate2 --quantize int8 --out exports/x-int8
      regard export runs/x --to huggingface --out exports/x-hf
      regard export runs/x --to onnx --out exports/x-onnx
      regard export runs/x --to shortlist --out exports/x-short
      regard export runs/x --to shortlist --out exports/x-short --set data.root=/elsewhere
    """
    from regard.api import Pipeline
    from regard.api.exporting import export as exported
    from regard.errors import ConfigError

    join(extensions)
    # The bundle inside is the model as it was.
    if wrong := [change for change in changes if not change.startswith("data.root=")]:
        raise ConfigError(f"--set {wrong[0]}: an export is told where data are (data.root=DIR), and nothing else.")
    root = changes[-1].partition("=")[2] if changes else ""
    with waiting(f"Exporting {folder}"):
        pipeline = Pipeline.load(folder, ["device=cpu"])
        found = exported(pipeline, target.value, out, quantize.value if quantize else "", root)
    if as_json:
        printed(found.plain())
        return
    say(f"{shown(found.folder)} holds the {found.kind} for {found.target}: {found.differences}.")
    for cost in found.costs:
        say(f"{cost}.")
    for note in found.notes:
        say(note, "dim")
    following = f"regard import huggingface {out} --out ..." if target == "huggingface" else None
    say(f"Next: {following or f'regard predict {out} input.txt --engine {target}'}", "dim")
