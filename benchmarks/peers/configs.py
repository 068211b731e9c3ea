"""What each peer's own program is told: the same sizes, batches, loss and optimizer, in its own words.

Everything is written as JSON, which is also YAML. Saving and validation are put beyond the end of the run.
"""

import re
from pathlib import Path
from typing import Any, NamedTuple

from running import THREADS

WIDTHS = {"tiny": (4, 128, 4, 256), "base": (6, 512, 8, 2048), "recurrent": (1, 256, 0, 0)}
TOKENS, DROPOUT, SMOOTHING, RATE, NEVER = 4096, 0.1, 0.1, 1e-3, 1_000_000
# OpenNMT-py and Eole gather this many pairs to sort before they begin; their own choice is nine times Multi30k.
BUCKET = 29_000
Config = dict[str, Any]


class Job(NamedTuple):
    """A training to be timed: files of pieces, a folder of its own, a size, how long, and how often to log."""

    pieces: Path
    folder: Path
    size: str
    updates: int
    every: int


def opennmt(job: Job) -> Config:
    layers, width, heads, hidden = WIDTHS[job.size]
    common = {
        "save_data": str(job.folder / "samples"),
        "overwrite": True,
        "data": _corpora(job),
        "src_vocab": str(job.pieces / "vocabulary.txt"),
        "tgt_vocab": str(job.pieces / "vocabulary.txt"),
        "share_vocab": True,
        "save_model": str(job.folder / "model"),
        "train_steps": job.updates,
        "report_every": job.every,
        "save_checkpoint_steps": NEVER,
        "valid_steps": NEVER,
        "batch_type": "tokens",
        "batch_size": TOKENS,
        "bucket_size": BUCKET,
        "normalization": "tokens",
        "num_workers": 0,
        "optim": "adam",
        "adam_beta2": 0.98,
        "learning_rate": RATE,
        "decay_method": "none",
        "max_grad_norm": 1.0,
        "label_smoothing": SMOOTHING,
        "dropout": [DROPOUT],
        "attention_dropout": [0.0],
        "hidden_size": width,
        "word_vec_size": width,
        "layers": layers,
        "share_decoder_embeddings": True,
        "share_embeddings": True,
    }
    if job.size == "recurrent":
        return common | OPENNMT_RECURRENT
    return common | OPENNMT_TRANSFORMER | {"heads": heads, "transformer_ff": hidden}


OPENNMT_TRANSFORMER = {"encoder_type": "transformer", "decoder_type": "transformer", "position_encoding": True}
# `brnn` gives each direction half of the width; `mlp` is the additive score; the answer is fed to the next step.
OPENNMT_RECURRENT = {
    "encoder_type": "brnn",
    "decoder_type": "rnn",
    "rnn_type": "LSTM",
    "global_attention": "mlp",
    "input_feed": 1,
}


def eole(job: Job) -> Config:
    layers, width, heads, hidden = WIDTHS[job.size]
    training = {
        "model_path": str(job.folder / "model"),
        "train_steps": job.updates,
        "save_checkpoint_steps": NEVER,
        "valid_steps": NEVER,
        "batch_type": "tokens",
        "batch_size": TOKENS,
        "bucket_size": BUCKET,
        "normalization": "tokens",
        "num_workers": 0,
        "compute_dtype": "fp32",
        # On unless told otherwise, and its attention then leaves the fused kernel.
        "log_attention_entropy": False,
        "optim": "adam",
        "adam_beta2": 0.98,
        "learning_rate": RATE,
        "decay_method": "none",
        "max_grad_norm": 1.0,
        "label_smoothing": SMOOTHING,
        "dropout": [DROPOUT],
        "attention_dropout": [0.0],
    }
    model = {
        "layers": layers,
        "hidden_size": width,
        "share_decoder_embeddings": True,
        "share_embeddings": True,
        "embeddings": {"word_vec_size": width},
    }
    transformer = {"architecture": "transformer", "heads": heads, "transformer_ff": hidden}
    model["embeddings"] |= {"position_encoding_type": "SinusoidalInterleaved"} if job.size != "recurrent" else {}
    return {
        "seed": 1,
        "save_data": str(job.folder / "samples"),
        "overwrite": True,
        "report_every": job.every,
        "data": _corpora(job),
        "src_vocab": str(job.pieces / "vocabulary.txt"),
        "tgt_vocab": str(job.pieces / "vocabulary.txt"),
        "share_vocab": True,
        "training": training,
        "model": model | transformer,
    }


def _corpora(job: Job) -> Config:
    return {
        name: {"path_src": str(job.pieces / f"{part}.en"), "path_tgt": str(job.pieces / f"{part}.de"), "transforms": []}
        for name, part in {"corpus_1": "train", "valid": "valid"}.items()
    }


def joey(job: Job) -> Config:
    layers, width, heads, hidden = WIDTHS[job.size]
    side = {
        "level": "word",
        "tokenizer_type": "none",
        "voc_file": str(job.pieces / "vocabulary.txt"),
        "max_length": 250,
    }
    stack = {"num_layers": layers, "hidden_size": width, "dropout": DROPOUT}
    stack |= {"embeddings": {"embedding_dim": width, "scale": job.size != "recurrent", "dropout": DROPOUT}}
    transformer = {"type": "transformer", "num_heads": heads, "ff_size": hidden, "layer_norm": "pre"}
    # Each direction of its encoder has the whole of `hidden_size`.
    reads = {"type": "recurrent", "rnn_type": "lstm", "bidirectional": True, "hidden_size": width // 2}
    writes = {"type": "recurrent", "rnn_type": "lstm", "attention": "bahdanau", "input_feeding": True,
              "init_hidden": "bridge", "hidden_dropout": DROPOUT}  # fmt: skip
    recurrent = job.size == "recurrent"
    return {
        "name": "timed",
        "joeynmt_version": "2.3.0",
        "model_dir": str(job.folder / "model"),
        "use_cuda": False,
        "random_seed": 1,
        "data": {
            "train": str(job.pieces / "train"),
            "dev": str(job.pieces / "valid"),
            "dataset_type": "plain",
            "src": {"lang": "en", **side},
            "trg": {"lang": "de", **side},
        },
        "testing": {"beam_size": 1, "batch_size": 32, "max_output_length": 100, "eval_metrics": ["bleu"]},
        "training": {
            "optimizer": "adam",
            "adam_betas": [0.9, 0.98],
            "learning_rate": RATE,
            "learning_rate_min": 0.0,
            # It takes none that leaves the rate alone; this one moves it between epochs.
            "scheduling": "exponential",
            "clip_grad_norm": 1.0,
            "label_smoothing": SMOOTHING,
            "normalization": "tokens",
            "batch_size": TOKENS,
            "batch_type": "token",
            "epochs": 100,
            "updates": job.updates,
            "logging_freq": job.every,
            "validation_freq": NEVER * job.every,
            "overwrite": True,
            "shuffle": True,
        },
        "model": {
            "initializer": "xavier_uniform",
            "tied_embeddings": True,
            "tied_softmax": True,
            "encoder": stack | (reads if recurrent else transformer),
            "decoder": stack | (writes if recurrent else transformer),
        },
    }


def marian(job: Job) -> list[str]:
    """Its command line. It makes its vocabulary of the words it is shown, and counts its target tokens as words."""
    layers, width, heads, hidden = WIDTHS[job.size]
    told = {
        "model": job.folder / "model.npz",
        "type": "transformer",
        "dim-vocabs": "10000 10000",
        "tied-embeddings-all": "true",
        "enc-depth": layers,
        "dec-depth": layers,
        "dim-emb": width,
        "transformer-heads": heads,
        "transformer-dim-ffn": hidden,
        "transformer-dropout": DROPOUT,
        "transformer-preprocess": "n",
        "transformer-postprocess": "da",
        "transformer-postprocess-top": "n",
        "label-smoothing": SMOOTHING,
        "optimizer": "adam",
        "optimizer-params": "0.9 0.98 1e-09",
        "learn-rate": RATE,
        "clip-norm": 1,
        "mini-batch-words": TOKENS,
        "maxi-batch": 100,
        "mini-batch": 1000,
        "after-batches": job.updates,
        "disp-freq": f"{job.every}u",
        "save-freq": f"{NEVER}u",
        "cpu-threads": THREADS,
        "workspace": 2000,
        "seed": 1,
        "train-sets": f"{job.pieces / 'train.en'} {job.pieces / 'train.de'}",
        "vocabs": f"{job.folder / 'vocabulary.yml'} {job.folder / 'vocabulary.yml'}",
    }
    return ["train", *(word for name, value in told.items() for word in (f"--{name}", *str(value).split()))]


class Told(NamedTuple):
    """How a peer's log tells updates and target tokens a second."""

    pattern: re.Pattern[str]

    def rates(self, log: str, after: int) -> list[float]:
        """What was logged of the updates after the first few."""
        found = [(int(step), float(rate.replace(",", ""))) for step, rate in self.pattern.findall(log)]
        return [rate for step, rate in found if step > after]


ONMT = Told(re.compile(r"Step\s+(\d+)/.*?\d+/\s*(\d+) tok/s"))
JOEY = Told(re.compile(r"Step:\s+(\d+),.*?Tokens per Sec:\s+([\d.]+)"))
MARIAN = Told(re.compile(r"Up\. (\d+) :.*?([\d.,]+) words/s"))
