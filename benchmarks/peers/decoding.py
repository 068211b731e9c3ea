"""Decoding beside peers with the same parameters: sentences a second, and how many outputs are ours.

python benchmarks/peers/decoding.py BUNDLE SOURCES [SENTENCES] [--references FILE] [--limit N] [--rounds 2] [--only X]

BUNDLE is a translator (a pre-norm Transformer), SOURCES a file of sentences; with references, BLEU of all is told, for
engines break off a beam and choose among hypotheses by rules of their own. Transformers and CTranslate2 run our
exports; OpenNMT-py, Eole and Joey NMT run checkpoints of their own form that hold our parameters. All are given the
same sentences, shortest first, 32 at a time or one at a time, greedily or with 5 beams and the average of
log-probabilities as the score (Joey NMT has another rule for lengths). Peers are given pieces and give pieces; ours
reads and writes text. With a limit every output is cut there, so that a model that has learnt nothing can be timed:
its outputs never end. Loading is not timed, and each is warmed up with one batch. All by turns, each in a process of
its own; the better round counts.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import environments
import torch
from running import THREADS, run
from sacrebleu import corpus_bleu
from safetensors.torch import save_file

from regard.api import Pipeline
from regard.convert.ctranslate2.fitting import epsilon

HERE = Path(__file__).resolve().parent
INSIDE = HERE / "inside"
sys.path.append(str(INSIDE))


KINDS = {
    "batch 32, greedy": (32, 1),
    "batch 32, beam 5": (32, 5),
    "one at a time, greedy": (1, 1),
    "one at a time, beam 5": (1, 5),
}
PLACES = 5000
# Engines of our own environment, and what their script is told after the folder; peers have a script of their name.
HERE_TOO: dict[str, tuple[str, ...]] = {
    "transformers": ("decode_transformers.py",),
    "ctranslate2": ("decode_ctranslate2.py", "float32", str(THREADS), "1"),
    "ctranslate2, one worker": ("decode_ctranslate2.py", "float32", "1", str(THREADS)),
    "ctranslate2, int8": ("decode_ctranslate2.py", "int8", str(THREADS), "1"),
}
PEERS = ("opennmt", "eole", "joey")
ENGINES = ("regard", *HERE_TOO, *PEERS)


class Found(NamedTuple):
    """The best time of one engine at one kind of decoding, what it wrote, and what others used of the machine."""

    seconds: float
    texts: list[str]
    others: float


# --- what all are given -----------------------------------------------------------------------------------------------


def prepare(bundle: str, sentences: Sequence[str], folder: Path, limit: int) -> tuple[Pipeline, list[int]]:
    """Parameters, facts and sources in `folder`; our pipeline, and which sentences are the sources, in their order."""
    pipeline = Pipeline.load(bundle, ["device=cpu"])
    model, sides = pipeline.model, pipeline.task.sides
    settings = model.settings
    if settings.place != "pre" or settings.position.name != "sinusoidal" or settings.tied != "output":
        raise SystemExit(f"{bundle} is no pre-norm Transformer with sinusoids and tied output: peers cannot load it.")
    cuts = [sides.read(cut) for cut in sides.source.encode_many(sentences)]
    order = sorted(range(len(cuts)), key=lambda at: len(cuts[at]))
    # What is longer is cut into parts by ours, and by no peer.
    order = [at for at in order if len(cuts[at]) <= pipeline.recipe.predict.longest]
    facts = {
        "layers": settings.layers,
        "width": settings.width,
        "heads": settings.attention.heads,
        "hidden": settings.feedforward.hidden,
        "epsilon": epsilon(settings.norm),
        "source": sides.source.size,
        "target": sides.target.size,
        "source_pieces": sides.source.pieces,
        "target_pieces": sides.target.pieces,
        "kinds": KINDS,
        "factor": 0 if limit else 2,
        "extra": limit or 20,
        "sources": [cuts[at] for at in order],
        "sentences": [sentences[at] for at in order],
    }
    (folder / "facts.json").write_text(json.dumps(facts))
    with torch.no_grad():
        places = model.embedding.position.embed(torch.zeros(1, PLACES, settings.width), range(PLACES))[0]
    parameters = {name: tensor.clone().contiguous() for name, tensor in named(model)}
    save_file(parameters | {"positions": places.contiguous()}, folder / "parameters.safetensors")
    return pipeline, order


def named(model: Any) -> list[tuple[str, torch.Tensor]]:
    """Every parameter once, by the name the bundle has for it."""
    return [(name, parameter.detach()) for name, parameter in model.named_parameters()]


def export(bundle: str, form: str, folder: Path) -> None:
    command = [sys.executable, "-m", "regard", "export", bundle, "--to", form, "--out", str(folder / form)]
    ran = run(command)
    if ran.code:
        raise SystemExit(ran.last)


# --- who runs ---------------------------------------------------------------------------------------------------------


def ours(bundle: str, folder: Path) -> None:
    """Our own engine, from text to text."""
    facts = json.loads((folder / "facts.json").read_text())
    pipeline, sentences, found = Pipeline.load(bundle, ["device=cpu"]), facts["sentences"], {}
    for name, (batch, beams) in KINDS.items():
        changes = ("search.method=greedy",) if beams == 1 else ("search.method=beam", f"search.beams={beams}")
        limits = f"search.longest_factor={facts['factor']}", f"search.longest_extra={facts['extra']}"
        settled = pipeline.with_settings(*changes, *limits, f"predict.rows={batch}")
        calls = [sentences] if batch > 1 else [[sentence] for sentence in sentences]
        settled.predict(sentences[:batch])
        began = time.perf_counter()
        texts = [result.text for call in calls for result in settled.predict(call)]
        found[name] = {"seconds": time.perf_counter() - began, "texts": texts}
    print("\n" + json.dumps(found))


def command(name: str, bundle: str, folder: Path, installed: Path) -> list[str | Path]:
    if name == "regard":
        return [sys.executable, __file__, bundle, str(folder), "--ours"]
    if name in HERE_TOO:
        script, *told = HERE_TOO[name]
        return [sys.executable, INSIDE / script, folder, *told]
    return [environments.python(name, installed), INSIDE / f"decode_{name}.py", folder]


def measured(name: str, bundle: str, folder: Path, pipeline: Pipeline, installed: Path) -> dict[str, Found]:
    """What one engine, in a process of its own, took and wrote."""
    ran = run(command(name, bundle, folder, installed))
    if ran.code:
        raise RuntimeError(ran.last)
    decode = pipeline.task.sides.target.decode
    found = {}
    for kind, one in json.loads(ran.last).items():
        texts = one["texts"] if "texts" in one else [decode(pieces) for pieces in one["outputs"]]
        found[kind] = Found(one["seconds"], texts, ran.others)
    return found


# --- the table --------------------------------------------------------------------------------------------------------


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundle", nargs="?")
    parser.add_argument("sources", nargs="?", type=Path)
    parser.add_argument("sentences", nargs="?", type=int)
    parser.add_argument("--references", type=Path)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--limit", type=int, default=0, help="pieces after which every output is cut")
    parser.add_argument("--only", action="append", choices=ENGINES, help="may be repeated")
    parser.add_argument("--environments", type=Path, default=environments.FOLDER, help="where the peers are installed")
    parser.add_argument("--ours", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.sources is None:
        print("Nothing was run: name a bundle and a file of sources.")
        return
    if arguments.ours:
        ours(arguments.bundle, arguments.sources)
        return
    installed = arguments.environments.resolve()
    names = [name for name in ENGINES if name in (arguments.only or ENGINES) or name == "regard"]
    if THREADS == 1 and "ctranslate2, one worker" in names:
        names.remove("ctranslate2, one worker")
    for name in environments.absent([name for name in names if name in PEERS], installed):
        print(f"{name} is left out: it is not installed in {installed}; run environments.py {name}.")
        names.remove(name)
    sentences = arguments.sources.read_text("utf-8").splitlines()[: arguments.sentences]
    with tempfile.TemporaryDirectory() as folder:
        pipeline, order = prepare(arguments.bundle, sentences, Path(folder), arguments.limit)
        found = compare(names, arguments.bundle, Path(folder), pipeline, installed, arguments.rounds)
    references = arguments.references.read_text("utf-8").splitlines() if arguments.references else []
    table(found, [references[at] for at in order] if references else [])


def compare(
    names: list[str], bundle: str, folder: Path, pipeline: Pipeline, installed: Path, rounds: int
) -> dict[str, dict[str, Found]]:
    """What each engine found at each kind of decoding."""
    for form, engine in (("huggingface", "transformers"), ("ctranslate2", "ctranslate2")):
        if any(name.startswith(engine) for name in names):
            export(bundle, form, folder)
    found: dict[str, dict[str, Found]] = {}
    for number in range(rounds):
        for name in names:
            try:
                latest = measured(name, bundle, folder, pipeline, installed)
            except RuntimeError as error:
                print(f"round {number + 1}: {name} failed: {error}", flush=True)
                continue
            found[name] = {kind: min(one, found.get(name, latest)[kind]) for kind, one in latest.items()}
            print(f"round {number + 1}: {name}", flush=True)
    return found


def table(found: dict[str, dict[str, Found]], references: list[str]) -> None:
    for kind in KINDS:
        wanted = found["regard"][kind]
        many = len(wanted.texts)
        print(f"\n{kind}: {many} sentences, {THREADS} threads\n")
        print("| engine | sentences/s | regard is | outputs the same | BLEU | others |\n|---|---|---|---|---|---|")
        for name, kinds in found.items():
            one = kinds[kind]
            same = sum(text == other for text, other in zip(one.texts, wanted.texts, strict=True))
            ratio = f"x{one.seconds / wanted.seconds:.2f}"
            bleu = f"{corpus_bleu(one.texts, [references]).score:.1f}" if references else ""
            print(f"| {name} | {many / one.seconds:,.1f} | {ratio} | {same} | {bleu} | {one.others:.0%} |")


if __name__ == "__main__":
    main()
