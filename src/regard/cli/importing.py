"""`regard import`: models from elsewhere as bundles."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regard.cli.printing import say
from regard.cli.waiting import waiting
from regard.errors import ConfigError

if TYPE_CHECKING:
    from regard.api import Pipeline

importing = typer.Typer(
    no_args_is_help=True, help="Make a bundle of a model from elsewhere; nothing of its code is run."
)

# So many names are told, the rest counted.
NAMED = 8

Out = Annotated[Path, typer.Option("--out", metavar="BUNDLE", help="Where the bundle goes.", show_default=False)]


@importing.command()
def huggingface(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="PATH", help="A folder of config.json, safetensors and tokenizer.json.", show_default=False
        ),
    ],
    out: Out,
    task: Annotated[
        str,
        typer.Option(
            help="What it goes on with, where there is a choice: an encoder-decoder with translation, summarization or "
            "dialogue, an encoder with its head's task or with embedding."
        ),
    ] = "",
) -> None:
    """BERT, DistilBERT, RoBERTa; GPT-2, Llama, Qwen2, Qwen3; Marian, BART, mBART, Pegasus.

    An encoder becomes a bundle that gives vectors; with the head it has for that,
    one that classifies, fills in hidden pieces, tags entities or answers
    questions. Name it as model.start in a recipe of any task that reads.

    \b
    Examples:
      regard import huggingface ~/all-MiniLM-L6-v2 --out data/minilm
      regard predict data/minilm input.txt
    """
    from regard.api.importing import from_huggingface

    with waiting(f"Reading {folder}"):
        made = from_huggingface(folder, task)
    _saved(made, out)


@importing.command()
def gguf(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A .gguf file of a Llama-type model.")],
    out: Out,
) -> None:
    """Llama-type decoders from a GGUF file, dequantized to single precision.

    \b
    Examples:
      regard import gguf SmolLM2-135M-Instruct.Q4_1.gguf --out data/smollm2
      regard predict data/smollm2
    """
    from regard.api.importing import from_gguf

    with waiting(f"Reading {file}"):
        made = from_gguf(file)
    _saved(made, out)


def _saved(made: "Pipeline", out: Path) -> None:
    if out.exists() and any(out.iterdir()) if out.is_dir() else out.exists():
        raise ConfigError(f"{out} is there already; name another with --out.")
    made.save(out)
    say(f"{made.facts['architecture']}, {made.facts['parameters']:,} parameters, task {made.recipe.task}: {out}")
    if left := made.facts.get("left"):
        more = f" and {len(left) - NAMED} more" if len(left) > NAMED else ""
        say(f"Left out, as a model of this task has no place for them: {', '.join(left[:NAMED])}{more}.")
    if left := made.facts.get("left_of_search"):
        say(f"Its search is meant to have {', '.join(left)}; nothing here does that, so it was left out.")
    if made.facts.get("chat") == "unknown":
        from regard.text import CHATS

        say("Its chat template is none that is known here, and templates are never run: it goes on with texts.")
        say(f"To talk with it, name the form it was taught: --set predict.chat=NAME, one of {', '.join(CHATS)}.")
    say(f"Next: echo text | regard predict {out}", "dim")
