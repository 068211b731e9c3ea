"""Training speed beside peers, each as its users run it, in its own environment: target tokens a second, peak memory.

python benchmarks/peers/training.py --data FOLDER [--size NAME]... [--updates 30] [--rounds 2] [--only NAME]...

Sizes: tiny and base Transformers, and `recurrent`, an LSTM with additive attention; without one, all of them.

`environments.py` installs the peers. All train on Multi30k en-de, cut beforehand into the pieces of one joint BPE of
10,000; batches of about 4,096 tokens, label smoothing 0.1, dropout 0.1, Adam, float32, OMP_NUM_THREADS threads.
OpenNMT-py, Eole, Joey NMT and Marian are run by their own command and read by their own log, the first updates left
out; x-transformers is a library and gets a hand-written loop; `regard` and `plain` come from benchmarks/training.py.
All by turns, each in a process of its own: figures of one run compare. `others` is what the rest of the machine was
busy with meanwhile; above 5 % a row should be measured again.
"""

import argparse
import json
import shutil
import statistics
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import configs
import environments
import ours
import pieces
from configs import Config, Job, Told
from running import THREADS, Ran, run

HERE = Path(__file__).resolve().parent
WARM = 10


class Found(NamedTuple):
    """Target tokens a second, peak memory in MB, and the share of the machine that others used."""

    rate: float
    memory: float
    others: float


class Timing(NamedTuple):
    """What is timed, with what, and where things lie."""

    data: Path
    size: str
    updates: int
    folder: Path
    environments: Path

    @property
    def every(self) -> int:
        """How often peers log."""
        return min(10, self.updates)


Runner = Callable[[str, Timing], Found]


def own(name: str, timing: Timing) -> Found:
    """One of ours."""
    return answered(run(ours.command(name, timing.data, timing.size, timing.folder, timing.updates)))


def x_transformers(name: str, timing: Timing) -> Found:
    layers, width, heads, hidden = configs.WIDTHS[timing.size]
    settings = {"layers": layers, "width": width, "heads": heads, "hidden": hidden, "pieces": 10_000, "warm": ours.WARM}
    settings |= {"dropout": configs.DROPOUT, "rate": configs.RATE, "smoothing": configs.SMOOTHING}
    script, python = HERE / "inside" / "train_x_transformers.py", environments.python(name, timing.environments)
    return answered(run([python, script, timing.folder, json.dumps(settings)]))


def by_config(told: Told, configure: Callable[[Job], Config], *command: str) -> Runner:
    """A peer run by its own command with a file of settings, read by its own log."""

    def runner(name: str, timing: Timing) -> Found:
        folder = timing.folder / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        updates = WARM + timing.updates
        job = Job(timing.folder / "pieces", folder, timing.size, updates, timing.every)
        (folder / "config.yaml").write_text(json.dumps(configure(job), indent=1))
        program = environments.script(name, command[0], timing.environments)
        return logged(run([program, *command[1:], folder / "config.yaml"], folder=folder), told)

    return runner


def marian(name: str, timing: Timing) -> Found:
    folder = timing.folder / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    job = Job(timing.folder / "pieces", folder, timing.size, WARM + timing.updates, timing.every)
    program = environments.script(name, "pymarian", timing.environments)
    return logged(run([program, *configs.marian(job)], folder=folder), configs.MARIAN)


def answered(ran: Ran) -> Found:
    """What a script of ours printed."""
    if ran.code:
        raise RuntimeError(ran.last)
    found = json.loads(ran.last)
    return Found(found["rate"], found["memory"], ran.others)


def logged(ran: Ran, told: Told) -> Found:
    """What a peer's log says of the updates after the first few: as many tokens each, so rates are averaged as such."""
    rates = told.rates(ran.text, after=WARM)
    if not rates:
        raise RuntimeError(f"left with {ran.code} and logged no speed; its last line: {ran.last}")
    return Found(statistics.harmonic_mean(rates), ran.memory, ran.others)


ALL = ("tiny", "base", "recurrent")
# Who runs, how, and at which sizes.
RUNNERS: dict[str, tuple[Runner, tuple[str, ...]]] = {
    "regard": (own, ALL),
    "plain": (own, ALL[:2]),
    "opennmt": (by_config(configs.ONMT, configs.opennmt, "onmt_train", "-config"), ALL),
    "eole": (by_config(configs.ONMT, configs.eole, "eole", "train", "-c"), ALL[:2]),
    "joey": (by_config(configs.JOEY, configs.joey, "python", "-m", "joeynmt", "train", "--skip-test"), ALL),
    "x_transformers": (x_transformers, ALL[:2]),
    "marian": (marian, ALL[:2]),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("data/multi30k"), help="folder of train.en, train.de, val.*")
    parser.add_argument("--size", action="append", choices=ALL, help="may be repeated; all without it")
    parser.add_argument("--updates", type=int, default=30, help="measured, after those to warm up")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--only", action="append", choices=RUNNERS, help="may be repeated")
    parser.add_argument("--environments", type=Path, default=environments.FOLDER, help="where the peers are installed")
    arguments = parser.parse_args()
    if not (arguments.data / "train.en").exists():
        print(f"There is no Multi30k in {arguments.data}; name its folder with --data. Nothing was run.")
        return
    for size in arguments.size or ALL:
        measure(arguments, size)


def measure(arguments: argparse.Namespace, size: str) -> None:
    """All who can train a model of that kind, by turns."""
    names = [name for name, (_, sizes) in RUNNERS.items() if size in sizes]
    names = [name for name in names if name in (arguments.only or names)]
    for name in environments.absent([name for name in names if name in environments.PEERS], arguments.environments):
        print(f"{name} is left out: it is not installed in {arguments.environments}; run environments.py {name}.")
        names.remove(name)
    with tempfile.TemporaryDirectory() as folder:
        timing = Timing(
            arguments.data.resolve(), size, arguments.updates, Path(folder), arguments.environments.resolve()
        )
        compare(names, timing, arguments.rounds)


def compare(names: list[str], timing: Timing, rounds: int) -> None:
    tokenizer = ours.prepared(timing.data, timing.size, timing.folder, timing.updates)
    pieces.write(timing.data, timing.folder / "pieces", tokenizer)
    found: dict[str, list[Found]] = {name: [] for name in names}
    for number in range(rounds):
        for name in names:
            try:
                found[name].append(RUNNERS[name][0](name, timing))
                print(f"round {number + 1}: {name} {found[name][-1].rate:,.0f} tokens/s", flush=True)
            except RuntimeError as error:
                print(f"round {number + 1}: {name} failed: {error}", flush=True)
    table(timing, {name: ones for name, ones in found.items() if ones})


def table(timing: Timing, found: dict[str, list[Found]]) -> None:
    limit = ours.alone.gemm()
    print(f"\n{ours.alone.processor()}, {THREADS} threads, products {limit / 1e9:.0f} GFLOP/s", end=", ")
    print(f"{timing.size}, {timing.updates} updates after {WARM}\n")
    print("| training | target tokens/s | of the limit | regard is | peak memory | others |\n|---|---|---|---|---|---|")
    best = max((one.rate for one in found.get("regard", [])), default=None)
    for name, ones in found.items():
        rates = " / ".join(f"{one.rate:,.0f}" for one in ones)
        ratio = f"x{best / max(one.rate for one in ones):.2f}" if best else ""
        memory, others = max(one.memory for one in ones), max(one.others for one in ones)
        print(f"| {name} | {rates} | {share(timing.size, ones, limit)} | {ratio} | {memory:,.0f} MB | {others:.0%} |")


def share(size: str, ones: list[Found], limit: float) -> str:
    """What part of the machine's rate of products the best round reached; of a Transformer alone it is known."""
    if size not in ours.alone.SIZES:
        return ""
    return f"{6 * ours.alone.touched(size) * max(one.rate for one in ones) / limit:.0%}"


if __name__ == "__main__":
    main()
