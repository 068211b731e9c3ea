"""The same parameters in torch's own modules give the same outputs and the same gradients."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from regard.attention import FREE, LOOK_AHEAD, HeadsSettings, Mask, MultiHeadAttention, real_keys, record
from regard.nn import Block, BlockSettings, Past, Recurrent, RecurrentSettings, Scene

BATCH, LENGTH, SOURCE, WIDTH, HEADS = 3, 6, 5, 16, 4
REAL = torch.arange(SOURCE) < torch.tensor([5, 2, 4])[:, None]
OWN_REAL = torch.arange(LENGTH) < torch.tensor([6, 3, 1])[:, None]
TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-10}
Pairs = list[tuple[Tensor, Tensor]]
Of = Callable[[Tensor], Tensor]

every_type = pytest.mark.parametrize("dtype", list(TOLERANCE), ids=["float32", "float64"])


def randomized(module: nn.Module, dtype: torch.dtype) -> nn.Module:
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.uniform_(-0.3, 0.3)
    return module.to(dtype).eval()


def leaves(dtype: torch.dtype, *shapes: tuple[int, ...]) -> list[Tensor]:
    """Random inputs, each twice: once for us and once for torch."""
    found = []
    for shape in shapes:
        numbers = torch.randn(*shape, dtype=dtype)
        found += [numbers.clone().requires_grad_(), numbers.clone().requires_grad_()]
    return found


def backward(output: Tensor) -> None:
    """From one fixed random projection of the output."""
    toward = torch.randn(output.shape, generator=torch.Generator().manual_seed(0)).to(output)
    (output * toward).sum().backward()


def itself(tensor: Tensor) -> Tensor:
    return tensor.detach()


def gradient(tensor: Tensor) -> Tensor:
    assert tensor.grad is not None
    return tensor.grad


@torch.no_grad()
def copied(pairs: Pairs) -> None:
    for ours, theirs in pairs:
        ours.copy_(theirs)


def assert_alike(pairs: Pairs, dtype: torch.dtype) -> None:
    """Relative to the largest entry of each, where that is above one."""
    for ours, theirs in pairs:
        limit = TOLERANCE[dtype] * max(1.0, float(theirs.detach().abs().max()))
        assert_close(ours, theirs, atol=limit, rtol=0.0)


def attention_pairs(ours: MultiHeadAttention, theirs: nn.MultiheadAttention, of: Of) -> Pairs:
    """Each of our parameters (or its gradient) beside the part of torch's packed ones that means the same."""
    layers = [ours.query, ours.key, ours.value]
    weights, biases = of(theirs.in_proj_weight).chunk(3), of(theirs.in_proj_bias).chunk(3)
    pairs = [(of(layer.weight), weight) for layer, weight in zip(layers, weights, strict=True)]
    pairs += [(of(layer.bias), bias) for layer, bias in zip(layers, biases, strict=True)]
    return pairs + layer_pairs(ours.output, theirs.out_proj, of)


def layer_pairs(ours: nn.Module, theirs: nn.Module, of: Of) -> Pairs:
    return [(of(ours.weight), of(theirs.weight)), (of(ours.bias), of(theirs.bias))]


def block_pairs(ours: Block, theirs: Any, of: Of) -> Pairs:
    """torch numbers its norms in the order of the residuals: self-attention, cross-attention, feed-forward."""
    pairs = attention_pairs(ours.attention, theirs.self_attn, of)
    residuals, norms = [ours.around_attention, ours.around_feedforward], [theirs.norm1, theirs.norm2]
    if ours.cross is not None:
        pairs += attention_pairs(ours.cross, theirs.multihead_attn, of)
        residuals, norms = [ours.around_attention, ours.around_cross, ours.around_feedforward], [*norms, theirs.norm3]
    for residual, norm in zip(residuals, norms, strict=True):
        pairs += layer_pairs(residual.norm, norm, of)
    pairs += layer_pairs(ours.feedforward.inner, theirs.linear1, of)
    return pairs + layer_pairs(ours.feedforward.outer, theirs.linear2, of)


MASKS: dict[str, tuple[Mask, Tensor | None, Tensor | None]] = {
    # Ours; torch's key_padding_mask and attn_mask, in both of which True means that one may not attend.
    "free": (FREE, None, None),
    "padding": (real_keys(REAL), ~REAL, None),
    "causal": (LOOK_AHEAD, None, torch.ones(LENGTH, SOURCE, dtype=torch.bool).triu(1)),
    "both": (LOOK_AHEAD & real_keys(REAL), ~REAL, torch.ones(LENGTH, SOURCE, dtype=torch.bool).triu(1)),
}


@every_type
@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("kernel", ["fused", "chunked", "reference"])
def test_multi_head_attention(kernel: str, mask: str, dtype: torch.dtype) -> None:
    theirs = randomized(nn.MultiheadAttention(WIDTH, HEADS, batch_first=True), dtype)
    ours = MultiHeadAttention(HeadsSettings(heads=HEADS, kernel=kernel), WIDTH).to(dtype).eval()
    copied(attention_pairs(ours, theirs, itself))
    query, query_twin, source, twin = leaves(dtype, (BATCH, LENGTH, WIDTH), (BATCH, SOURCE, WIDTH))
    allowed, padding, forbidden = MASKS[mask]
    found = ours(query, ours.remember(source), allowed)
    expected, _ = theirs(query_twin, twin, twin, key_padding_mask=padding, attn_mask=forbidden, need_weights=False)
    backward(found), backward(expected)
    inputs = [(query.grad, query_twin.grad), (source.grad, twin.grad)]
    assert_alike([(found, expected), *inputs, *attention_pairs(ours, theirs, gradient)], dtype)


def test_multi_head_attention_weights_are_torchs() -> None:
    theirs = randomized(nn.MultiheadAttention(WIDTH, HEADS, batch_first=True), torch.float32)
    ours = MultiHeadAttention(HeadsSettings(heads=HEADS), WIDTH).eval()
    copied(attention_pairs(ours, theirs, itself))
    query, source = torch.randn(BATCH, LENGTH, WIDTH), torch.randn(BATCH, SOURCE, WIDTH)
    with record(ours, "*.weights") as seen:
        ours(query, ours.remember(source, REAL))
    _, expected = theirs(query, source, source, key_padding_mask=~REAL, average_attn_weights=False)
    assert_close(seen[0].tensor, expected)


def block(place: str, activation: str, dtype: torch.dtype, crossing: bool) -> Block:
    settings = BlockSettings.read(
        {
            "width": WIDTH,
            "attention": {"heads": HEADS},
            "feedforward": {"hidden": 24, "activation": activation},
            "place": place,
        }
    )
    return Block(settings, crossing=HeadsSettings(heads=HEADS) if crossing else None).to(dtype).eval()


every_block = pytest.mark.parametrize(
    ("norm_first", "activation"), [(first, name) for first in (False, True) for name in ("relu", "gelu")]
)


@every_type
@every_block
@pytest.mark.parametrize("padded", [False, True])
def test_transformer_encoder_layer(padded: bool, norm_first: bool, activation: str, dtype: torch.dtype) -> None:
    theirs = nn.TransformerEncoderLayer(
        WIDTH, HEADS, 24, activation=activation, norm_first=norm_first, batch_first=True, dropout=0.0
    )
    # In evaluation torch takes a shortcut that skips autograd; in training, without dropout, it is the same formula.
    theirs = randomized(theirs, dtype).train()
    ours = block("pre" if norm_first else "post", activation, dtype, crossing=False)
    copied(block_pairs(ours, theirs, itself))
    x, twin = leaves(dtype, (BATCH, LENGTH, WIDTH))
    real = OWN_REAL if padded else torch.ones_like(OWN_REAL)
    found, _ = ours(x, Scene(real if padded else None, range(LENGTH)), Past())
    expected = theirs(twin, src_key_padding_mask=~real if padded else None)
    backward(found[real]), backward(expected[real])
    assert_alike([(found[real], expected[real]), (x.grad, twin.grad), *block_pairs(ours, theirs, gradient)], dtype)


@every_type
@every_block
def test_transformer_decoder_layer(norm_first: bool, activation: str, dtype: torch.dtype) -> None:
    theirs = nn.TransformerDecoderLayer(
        WIDTH, HEADS, 24, activation=activation, norm_first=norm_first, batch_first=True, dropout=0.0
    )
    theirs = randomized(theirs, dtype)
    ours = block("pre" if norm_first else "post", activation, dtype, crossing=True)
    copied(block_pairs(ours, theirs, itself))
    x, x_twin, memory, memory_twin = leaves(dtype, (BATCH, LENGTH, WIDTH), (BATCH, SOURCE, WIDTH))
    found, _ = ours(x, Scene(None, range(LENGTH), LOOK_AHEAD), Past(), ours.remember(memory, REAL))
    ahead = torch.ones(LENGTH, LENGTH, dtype=torch.bool).triu(1)
    expected = theirs(x_twin, memory_twin, tgt_mask=ahead, memory_key_padding_mask=~REAL)
    backward(found), backward(expected)
    inputs = [(x.grad, x_twin.grad), (memory.grad, memory_twin.grad)]
    assert_alike([(found, expected), *inputs, *block_pairs(ours, theirs, gradient)], dtype)


@every_type
@pytest.mark.parametrize("cell", ["lstm", "gru"])
@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("both_ways", [False, True])
def test_recurrent_layers(cell: str, layers: int, both_ways: bool, dtype: torch.dtype) -> None:
    kind = {"lstm": nn.LSTM, "gru": nn.GRU}[cell]
    ways = 2 if both_ways else 1
    theirs = kind(WIDTH, WIDTH // ways, layers, batch_first=True, bidirectional=both_ways)
    theirs = randomized(theirs, dtype)
    settings = RecurrentSettings.read({"cell": cell, "width": WIDTH, "layers": layers, "both_ways": both_ways})
    ours = Recurrent(settings, WIDTH).to(dtype).eval()
    named = [
        (parameter, getattr(theirs, name.replace("_l0", f"_l{depth}")))
        for depth, layer in enumerate(ours.blocks)
        for name, parameter in layer.named_parameters()
    ]
    copied(named)
    x, twin = leaves(dtype, (BATCH, LENGTH, WIDTH))
    found, expected = ours(x)[0], theirs(twin)[0]
    backward(found), backward(expected)
    assert_alike([(found, expected), (x.grad, twin.grad), *((a.grad, b.grad) for a, b in named)], dtype)
