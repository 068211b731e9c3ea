"""Why layer norm won on ragged text: how much a text's output depends on its neighbours, by norm.

One Transformer encoder with each norm reads the same text beside short neighbours and beside long ones. Run with
`.venv/bin/python benchmarks/norms.py`.
"""

import torch

from regard.models import encoder
from regard.nn import NORMS

VOCABULARY, WIDTH, OWN, LONG = 100, 64, 8, 40


def beside(model: torch.nn.Module, text: torch.Tensor, length: int) -> torch.Tensor:
    """The text's states in a batch whose fifteen neighbours have this length."""
    generator = torch.Generator().manual_seed(length)
    size = max(OWN, length)
    pieces = torch.randint(0, VOCABULARY, (16, size), generator=generator)
    pieces[0, :OWN] = text
    lengths = torch.tensor([OWN] + [length] * 15)
    with torch.no_grad():
        return model(pieces, torch.arange(size) < lengths[:, None])[0, :OWN]


def main() -> None:
    text = torch.randint(0, VOCABULARY, (OWN,), generator=torch.Generator().manual_seed(0))
    print(f"{'norm':8} {'training':>12} {'evaluation':>12}   largest change of a text, neighbours 2 -> {LONG} long")
    for name in NORMS:
        torch.manual_seed(0)
        settings = {"width": WIDTH, "layers": 4, "attention": {"heads": 4}, "feedforward": {"hidden": 128}}
        model = encoder(
            "transformer", settings | {"norm": name, "dropout": 0.0, "embedding": {"dropout": 0.0}}, VOCABULARY
        )
        moved = [
            (beside(model.train(training), text, 2) - beside(model, text, LONG)).abs().max()
            for training in (True, False)
        ]
        print(f"{name:8} {moved[0]:12.1e} {moved[1]:12.1e}")


if __name__ == "__main__":
    main()
