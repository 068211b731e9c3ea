"""x-transformers in the loop its users write, over stored batches; run in its own environment.

python train_x_transformers.py FOLDER '{"layers": 4, ...}'

Prints one JSON object: tokens a second and peak memory in MB.
"""

import json
import resource
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn import functional as F
from x_transformers import Decoder, Encoder, TransformerWrapper

PAD, LONGEST = 0, 512


class Model(nn.Module):
    """Its encoder and decoder between one table of vectors."""

    def __init__(self, layers: int, width: int, heads: int, hidden: int, pieces: int, dropout: float) -> None:
        super().__init__()
        # Its own attention layers without dropout inside, as everyone here has it.
        common = {"dim": width, "depth": layers, "heads": heads, "attn_dim_head": width // heads, "attn_flash": True}
        common |= {"ff_mult": hidden / width, "ff_dropout": dropout, "attn_dropout": 0.0}
        sizes = {"num_tokens": pieces, "max_seq_len": LONGEST, "emb_dropout": dropout}
        self.encoder = TransformerWrapper(**sizes, attn_layers=Encoder(**common))
        self.decoder = TransformerWrapper(**sizes, tie_embedding=True, attn_layers=Decoder(**common, cross_attend=True))
        self.decoder.token_emb = self.encoder.token_emb

    def forward(self, source: Tensor, before: Tensor) -> Tensor:
        real = source != PAD
        memory = self.encoder(source, mask=real, return_embeddings=True)
        logits: Tensor = self.decoder(before, context=memory, context_mask=real)
        return logits


def trained(model: Model, folder: Path, rate: float, smoothing: float) -> Iterator[int]:
    """One update after another, as the number of its target tokens."""
    optimizer = torch.optim.Adam(model.parameters(), lr=rate, betas=(0.9, 0.98), fused=True)
    model.train()
    for path in sorted(folder.glob("*.safetensors")):
        batch = load_file(path)
        optimizer.zero_grad()
        logits, wanted = model(batch["source"], batch["before"]), batch["wanted"]
        F.cross_entropy(logits.flatten(0, 1), wanted.flatten(), ignore_index=PAD, label_smoothing=smoothing).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        yield int((wanted != PAD).sum())


def main(folder: str, told: str) -> None:
    settings = json.loads(told)
    torch.manual_seed(0)
    sizes = {name: settings[name] for name in ("layers", "width", "heads", "hidden", "pieces", "dropout")}
    running = trained(Model(**sizes), Path(folder), settings["rate"], settings["smoothing"])
    for _ in range(settings["warm"]):
        next(running)
    began = time.perf_counter()
    tokens = sum(running)
    taken = time.perf_counter() - began
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"rate": tokens / taken, "memory": memory}))


if __name__ == "__main__":
    main(*sys.argv[1:3])
