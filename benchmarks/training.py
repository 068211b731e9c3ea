"""Training speed beside others, on the same batches of Multi30k: target tokens a second, and peak memory.

python benchmarks/training.py --data FOLDER [--size tiny|base] [--updates 30] [--rounds 2] [--only NAME]...

Every entry runs in a process of its own, by turns; figures of one run compare, figures of different runs do not.
`returning` is `regard` with `train.keep_memory = false`, `compiled` with `train.compile = true`; `plain` is a
hand-written loop on torch's own modules; `tamed` is that with glibc told to keep freed memory; `marian` is
Transformers' class with that loop, `x_transformers` that library's, if it is installed (pip install x-transformers).
Utilisation: 6 x parameters touched x tokens (embeddings not, the output projection counted) over torch's GEMM rate.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import torch
from machine import processor
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.nn import functional as F

SIZES = {"tiny": (4, 128, 4, 256), "base": (6, 512, 8, 2048)}
VOCABULARY, TOKENS, DROPOUT, SMOOTHING, RATE, PAD = 10_000, 4096, 0.1, 0.1, 1e-3, 0
WARM = 5
KEEP = {"MALLOC_MMAP_THRESHOLD_": str(1 << 32), "MALLOC_TRIM_THRESHOLD_": str(1 << 33), "MALLOC_TOP_PAD_": str(1 << 26)}


class Pair(NamedTuple):
    """A batch: what is read, what was written before, what is to be written; padding is 0."""

    source: Tensor
    before: Tensor
    wanted: Tensor


def recipe(data: Path, size: str) -> dict[str, Any]:
    layers, width, heads, hidden = SIZES[size]
    files = {part: {"files": {"source": f"{name}.en", "target": f"{name}.de"}} for part, name in PARTS.items()}
    return {
        "task": "translation",
        "data": {"root": str(data), **files},
        "tokenizer": {"kind": "bpe", "size": VOCABULARY},
        "model": {
            "name": "transformer",
            "width": width,
            "layers": layers,
            "attention": {"heads": heads},
            "feedforward": {"hidden": hidden},
            "dropout": DROPOUT,
            "embedding": {"dropout": DROPOUT},
        },
        "loss": {"smoothing": SMOOTHING},
        "batches": {"tokens": TOKENS},
        "train": {"updates": 100_000, "every": 100_000},
        "optimizer": {"rate": RATE},
    }


PARTS = {"train": "train", "valid": "val"}


# --- who runs ---------------------------------------------------------------------------------------------------------


def regard(size: str, data: Path, folder: Path) -> Iterator[int]:
    """The whole of `regard train`, freed memory kept as the command keeps it."""
    from regard.train.allocation import keep_freed

    keep_freed()
    return returning(size, data, folder)


def returning(size: str, data: Path, folder: Path) -> Iterator[int]:
    """The data, the loop and the model of `regard train`; freed memory goes back to the system."""
    return steps(data, size, folder / "timed")


def steps(data: Path, size: str, folder: Path, *changes: str) -> Iterator[int]:
    from regard.api import Training, read

    training = Training(read(recipe(data, size), changes), folder, resume=True)
    for step in training.steps():
        yield step.count


def compiled(size: str, data: Path, folder: Path) -> Iterator[int]:
    """The same through torch's compiler, which is at work in the first updates."""
    from regard.train.allocation import keep_freed

    keep_freed()
    return steps(data, size, folder / "compiled", "train.compile=true")


def looped(model: nn.Module, run: Callable[[Pair], Tensor], folder: Path) -> Iterator[int]:
    """The loop people write: forward, smoothed cross-entropy, backward, clip, Adam."""
    optimizer = torch.optim.Adam(model.parameters(), lr=RATE, betas=(0.9, 0.98), fused=True)
    model.train()
    for batch in stored(folder):
        optimizer.zero_grad()
        logits = run(batch)
        F.cross_entropy(
            logits.flatten(0, 1), batch.wanted.flatten(), ignore_index=PAD, label_smoothing=SMOOTHING
        ).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        yield int((batch.wanted != PAD).sum())


class Plain(nn.Module):
    """torch's own Transformer between tied embeddings."""

    def __init__(self, size: str) -> None:
        super().__init__()
        layers, width, heads, hidden = SIZES[size]
        self.vectors = nn.Embedding(VOCABULARY, width, PAD)
        self.places = nn.Parameter(torch.randn(512, width) * 0.02, requires_grad=False)
        self.inner = nn.Transformer(width, heads, layers, layers, hidden, DROPOUT, batch_first=True)
        self.dropout, self.scale = nn.Dropout(DROPOUT), width**0.5

    def embedded(self, pieces: Tensor) -> Tensor:
        return self.dropout(self.vectors(pieces) * self.scale + self.places[: pieces.shape[1]])

    def forward(self, batch: Pair) -> Tensor:
        hidden_pieces = batch.source == PAD
        ahead = nn.Transformer.generate_square_subsequent_mask(batch.before.shape[1])
        states = self.inner(
            self.embedded(batch.source),
            self.embedded(batch.before),
            tgt_mask=ahead,
            src_key_padding_mask=hidden_pieces,
            memory_key_padding_mask=hidden_pieces,
            tgt_is_causal=True,
        )
        return F.linear(states, self.vectors.weight)


def plain(size: str, data: Path, folder: Path) -> Iterator[int]:
    model = Plain(size)
    return looped(model, model, folder)


def marian(size: str, data: Path, folder: Path) -> Iterator[int]:
    from transformers import MarianConfig, MarianMTModel

    layers, width, heads, hidden = SIZES[size]
    sides = {f"{side}_{name}": value for side in ("encoder", "decoder") for name, value in
             (("layers", layers), ("attention_heads", heads), ("ffn_dim", hidden))}  # fmt: skip
    config = MarianConfig(
        vocab_size=VOCABULARY, d_model=width, dropout=DROPOUT, attention_dropout=0.0, activation_function="relu",
        pad_token_id=PAD, decoder_start_token_id=1, eos_token_id=2, max_position_embeddings=512, scale_embedding=True,
        **sides,
    )  # fmt: skip
    model = MarianMTModel(config)

    def run(batch: Pair) -> Tensor:
        logits: Tensor = model(
            input_ids=batch.source,
            attention_mask=(batch.source != PAD).long(),
            decoder_input_ids=batch.before,
            use_cache=False,
        ).logits
        return logits

    return looped(model, run, folder)


def x_transformers(size: str, data: Path, folder: Path) -> Iterator[int]:
    from x_transformers import Decoder, Encoder, TransformerWrapper

    layers, width, heads, hidden = SIZES[size]
    common = {"dim": width, "depth": layers, "heads": heads, "attn_dim_head": width // heads, "attn_flash": True,
              "ff_mult": hidden / width, "ff_dropout": DROPOUT, "attn_dropout": 0.0}  # fmt: skip
    encoder = TransformerWrapper(
        num_tokens=VOCABULARY, max_seq_len=512, emb_dropout=DROPOUT, attn_layers=Encoder(**common)
    )
    decoder = TransformerWrapper(
        num_tokens=VOCABULARY, max_seq_len=512, emb_dropout=DROPOUT, tie_embedding=True,
        attn_layers=Decoder(**common, cross_attend=True),
    )  # fmt: skip

    def run(batch: Pair) -> Tensor:
        real = batch.source != PAD
        memory = encoder(batch.source, mask=real, return_embeddings=True)
        logits: Tensor = decoder(batch.before, context=memory, context_mask=real)
        return logits

    return looped(nn.ModuleList([encoder, decoder]), run, folder)


RUNNERS: dict[str, Callable[[str, Path, Path], Iterator[int]]] = {
    "regard": regard,
    "returning": returning,
    "compiled": compiled,
    "plain": plain,
    "tamed": plain,
    "marian": marian,
    "x_transformers": x_transformers,
}


# --- how they are timed -----------------------------------------------------------------------------------------------


def prepared(data: Path, size: str, folder: Path, count: int) -> None:
    """The first batches of `regard train`, for the others."""
    from regard.api import Training, read

    training = Training(read(recipe(data, size)), folder / "timed")
    training.claim()
    for number, (_, batch) in zip(range(count), training.walk(()), strict=False):
        names = {"source": batch.source, "before": batch.before, "wanted": batch.wanted}
        save_file({name: _zeroed(tensor) for name, tensor in names.items()}, folder / f"{number:04}.safetensors")


def _zeroed(tensor: Tensor) -> Tensor:
    """Padding as 0, whatever marks it."""
    return tensor.where(tensor >= 0, 0).contiguous()


def stored(folder: Path) -> Iterator[Pair]:
    for path in sorted(folder.glob("*.safetensors")):
        yield Pair(**load_file(path))


def timed(name: str, size: str, data: Path, folder: Path, updates: int) -> dict[str, float]:
    """Tokens a second after a few updates to warm up, and peak memory in MB."""
    torch.manual_seed(0)
    running = RUNNERS[name](size, data, folder)
    for _ in range(WARM):
        next(running)
    began = time.perf_counter()
    tokens = sum(next(running) for _ in range(updates))
    taken = time.perf_counter() - began
    return {"rate": tokens / taken, "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


def elsewhere(name: str, arguments: argparse.Namespace, folder: Path) -> dict[str, float] | None:
    command = [sys.executable, __file__, "--runner", name, "--folder", str(folder), "--data", str(arguments.data)]
    command += ["--size", arguments.size, "--updates", str(arguments.updates)]
    environment = os.environ | (KEEP if name == "tamed" else {})
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if done.returncode:
        print(f"{name}: {done.stderr.strip().splitlines()[-1]}")
        return None
    found: dict[str, float] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def gemm() -> float:
    """What torch's matrix product reaches here, in multiply-adds and adds a second."""
    a, b = torch.randn(2048, 2048), torch.randn(2048, 2048)
    best = 0.0
    for _ in range(5):
        began = time.perf_counter()
        a @ b
        best = max(best, 2 * 2048**3 / (time.perf_counter() - began))
    return best


def touched(size: str) -> int:
    """Parameters a target token passes, its source token with it: both stacks and the output projection."""
    layers, width, _, hidden = SIZES[size]
    return (
        layers * (4 * width**2 + 2 * width * hidden) + layers * (8 * width**2 + 2 * width * hidden) + VOCABULARY * width
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("data/multi30k"), help="folder of train.en, train.de, val.*")
    parser.add_argument("--size", choices=SIZES, default="tiny")
    parser.add_argument("--updates", type=int, default=30)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--only", action="append", choices=RUNNERS, help="may be repeated")
    parser.add_argument("--runner", choices=RUNNERS, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.runner:
        print(json.dumps(timed(arguments.runner, arguments.size, arguments.data, arguments.folder, arguments.updates)))
        return
    if not (arguments.data / "train.en").exists():
        print(f"There is no Multi30k in {arguments.data}; name its folder with --data. Nothing was run.")
        return
    compared(arguments)


def compared(arguments: argparse.Namespace) -> None:
    limit, names = gemm(), arguments.only or list(RUNNERS)
    print(
        f"{processor()}, torch {torch.__version__}, {torch.get_num_threads()} threads, GEMM {limit / 1e9:.0f} GFLOP/s"
    )
    found: dict[str, list[dict[str, float]]] = {name: [] for name in names}
    with tempfile.TemporaryDirectory() as folder:
        prepared(arguments.data.resolve(), arguments.size, Path(folder), WARM + arguments.updates)
        for _ in range(arguments.rounds):
            for name in names:
                one = elsewhere(name, arguments, Path(folder))
                found[name] += [] if one is None else [one]
    ours = max((one["rate"] for one in found.get("regard", [])), default=None)
    for name, ones in found.items():
        if ones:
            rates, most = [one["rate"] for one in ones], max(one["memory"] for one in ones)
            share = 6 * touched(arguments.size) * max(rates) / limit
            ratio = f"regard x{ours / max(rates):.2f}" if ours and name != "regard" else ""
            told = " / ".join(f"{rate:,.0f}" for rate in rates)
            print(f"{name:<15} {told} tokens/s  {share:.0%} of the machine  {most:,.0f} MB  {ratio}")


if __name__ == "__main__":
    main()
