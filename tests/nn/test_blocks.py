"""The Transformer's block: its residuals by formula, its depth by the paper, its start by name, and what it refuses."""

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F
from torch.testing import assert_close

from regard.attention import LOOK_AHEAD, HeadsSettings, variances
from regard.errors import ConfigError
from regard.models import StackSettings, TransformerEncoder
from regard.nn import Block, BlockSettings, Depth, Past, Residual, Scene

WIDTH = 8


def settings(**chosen: Any) -> BlockSettings:
    common = {"width": WIDTH, "attention": {"heads": 2}, "feedforward": {"hidden": 12}, "dropout": 0.0}
    return BlockSettings.read({**common, **chosen})


def double(x: Tensor) -> Tensor:
    return 2 * x + 1


def norm(x: Tensor) -> Tensor:
    return F.layer_norm(x, (WIDTH,))


@pytest.fixture
def x() -> Tensor:
    return torch.randn(2, 3, WIDTH)


def test_post_is_norm_of_x_plus_f_of_x(x: Tensor) -> None:
    assert_close(Residual(settings(), Depth(3.0, 0.5))(x, double, None), norm(x + double(x)))


def test_pre_is_x_plus_f_of_norm_of_x(x: Tensor) -> None:
    assert_close(Residual(settings(place="pre"), Depth(3.0, 0.5))(x, double, None), x + double(norm(x)))


def test_deepnorm_is_norm_of_alpha_x_plus_f_of_x(x: Tensor) -> None:
    assert_close(Residual(settings(place="deepnorm"), Depth(3.0, 0.5))(x, double, None), norm(3.0 * x + double(x)))


@pytest.mark.parametrize("place", ["post", "pre", "deepnorm"])
def test_dropout_falls_on_what_is_added_before_it_is_added(place: str, x: Tensor) -> None:
    residual = Residual(settings(place=place, dropout=0.5), Depth(3.0))
    residual.dropout = torch.nn.Dropout(1.0)
    expected = {"post": norm(x), "pre": x, "deepnorm": norm(3.0 * x)}
    assert_close(residual.train()(x, double, None), expected[place])


def test_only_real_positions_reach_the_norm(x: Tensor) -> None:
    real = torch.tensor([[True, True, True], [True, False, False]])
    garbage = torch.where(real[..., None], x, torch.tensor(1e6))
    for place in ("post", "pre"):
        residual = Residual(settings(place=place, norm="batch"), Depth())
        assert_close(residual(garbage, double, real)[real], residual(x, double, real)[real])


def test_depth_constants_are_the_papers() -> None:
    """Wang et al. 2022, figure 2: N encoder and M decoder layers, here 18 and 6, and stacks of 12 alone."""
    both = 18**4 * 6
    papers = {
        Depth.alone(12): ((2 * 12) ** (1 / 4), (8 * 12) ** (-1 / 4)),
        Depth.encoder(18, 6): (0.81 * both ** (1 / 16), 0.87 * both ** (-1 / 16)),
        Depth.decoder(6): ((3 * 6) ** (1 / 4), (12 * 6) ** (-1 / 4)),
    }
    for depth, (alpha, beta) in papers.items():
        assert (depth.alpha, depth.beta) == pytest.approx((alpha, beta))


@pytest.mark.parametrize("place", ["post", "pre", "deepnorm"])
def test_a_block_is_attention_then_cross_attention_then_feedforward(place: str, x: Tensor) -> None:
    block, states = Block(settings(place=place), Depth(2.0, 0.7), HeadsSettings(heads=2)), torch.randn(2, 5, WIDTH)
    source = block.remember(states, None)
    own = lambda y: block.attention(y, block.attention.remember(y), LOOK_AHEAD)  # noqa: E731
    across = lambda y: block.cross(y, source)  # noqa: E731
    expected = x
    for layer in (own, across, block.feedforward):
        if place == "pre":
            expected = expected + layer(norm(expected))
        else:
            expected = norm((2.0 if place == "deepnorm" else 1.0) * expected + layer(expected))
    assert_close(block(x, Scene(None, range(3), LOOK_AHEAD), Past(), source)[0], expected)


def test_a_block_given_a_source_but_no_cross_attention_attends_to_both_at_once(x: Tensor) -> None:
    block, states = Block(settings()), torch.randn(2, 5, WIDTH)
    everything = torch.cat([states, x], dim=1)
    memory = block.attention.remember(everything)
    attended = block.attention(x, memory, LOOK_AHEAD, range(5, 8))
    y = norm(x + attended)
    expected = norm(y + block.feedforward(y))
    found, _ = block(x, Scene(None, range(5, 8), LOOK_AHEAD), Past(), block.remember(states, None))
    assert_close(found, expected)


def test_without_depth_the_block_starts_and_scales_as_if_shallow() -> None:
    block = Block(settings(place="deepnorm"))
    assert block.around_attention.alpha == 1.0


def of(block: Block) -> dict[str, Tensor]:
    attention = block.attention
    return {
        "query": attention.query.weight,
        "key": attention.key.weight,
        "value": attention.value.weight,
        "output": attention.output.weight,
        "inner": block.feedforward.inner.weight,
        "outer": block.feedforward.outer.weight,
    }


def wide(**chosen: Any) -> dict[str, Any]:
    return {"width": 256, "attention": {"heads": 4}, "feedforward": {"hidden": 256}, **chosen}


@pytest.mark.parametrize("initial", ["xavier_uniform", "xavier_normal"])
def test_query_key_and_value_each_start_with_xaviers_variance(initial: str) -> None:
    """Packed into one matrix they would have half of it."""
    for name, weight in of(Block(settings(**wide(initial=initial)))).items():
        assert float(weight.detach().var()) == pytest.approx(2 / 512, rel=0.05), name


def test_groups_of_keys_start_with_the_variance_of_their_own_shape() -> None:
    weights = of(Block(settings(**wide(attention={"heads": 4, "groups": 1}))))
    assert float(weights["key"].detach().var()) == pytest.approx(2 / (256 + 64), rel=0.05)
    assert float(weights["query"].detach().var()) == pytest.approx(2 / 512, rel=0.05)


def test_deepnorm_shrinks_what_passes_through_and_not_what_decides_where_to_look() -> None:
    block = Block(settings(**wide(place="deepnorm", initial="deepnorm")), Depth(2.0, 0.5))
    for name, weight in of(block).items():
        gain = 1.0 if name in ("query", "key") else 0.5
        assert float(weight.detach().var()) == pytest.approx(gain**2 * 2 / 512, rel=0.05), name


def test_every_projection_starts_by_the_rule_named() -> None:
    for weight in of(Block(settings(**wide(initial="small_normal")))).values():
        assert float(weight.detach().std()) == pytest.approx(0.02, rel=0.05)


def test_an_attention_that_names_its_own_start_keeps_it() -> None:
    block = Block(settings(**wide(attention={"heads": 4, "initial": "small_normal"})))
    assert float(of(block)["query"].detach().std()) == pytest.approx(0.02, rel=0.05)
    assert float(of(block)["inner"].detach().var()) == pytest.approx(2 / 512, rel=0.05)


@pytest.mark.parametrize("place", ["post", "pre", "deepnorm"])
def test_variances_report_how_a_deep_stack_starts(place: str) -> None:
    """After a norm every layer leaves variance one; before it, the residual stream grows from layer to layer."""
    layers = 8
    stack = StackSettings.read(
        {"width": 64, "layers": layers, "attention": {"heads": 4}, "feedforward": {"hidden": 128}, "place": place}
    )
    encoder = TransformerEncoder(stack, 50).eval()
    report = variances(encoder, lambda: encoder(torch.randint(0, 50, (4, 20))))
    assert list(report) == [f"stack.blocks.{layer}.output" for layer in range(layers)]
    found = list(report.values())
    if place == "pre":
        assert found == sorted(found)
        assert found[-1] > 1.5 * found[0]
    else:
        assert found == pytest.approx([1.0] * layers, rel=0.02)


@pytest.mark.parametrize("part", [{"score": "location_aware"}, {"score": "coverage"}, {"scope": "monotonic"}], ids=str)
def test_self_attention_that_looks_back_at_weights_is_refused(part: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match="use it in cross_attention"):
        Block(settings(attention={"heads": 2, **part}))
    Block(settings(), crossing=HeadsSettings.read({"heads": 2, **part}))


@pytest.mark.parametrize(
    ("chosen", "words"),
    [
        ({"attention": {"heads": 3}}, "3 heads do not divide a width of 8"),
        ({"attention": {"heads": 4, "groups": 3}}, "4 heads do not divide into 3 groups"),
        ({"norm": "layernorm"}, "Unknown norm 'layernorm'. Did you mean 'layer'?"),
        ({"initial": "xavier"}, "Unknown initialisation 'xavier'. Did you mean 'xavier_"),
        ({"feedforward": {"activation": "rellu"}}, "Unknown activation 'rellu'. Did you mean 'relu'?"),
        ({"attention": {"score": "aditive"}}, "Unknown score 'aditive'. Did you mean 'additive'?"),
        (
            {"attention": {"heads": 2, "position": "sinusoidal"}},
            "position sinusoidal is added to embeddings, not inside attention",
        ),
        ({"place": "middle"}, "place = 'middle'"),
        ({"width": 0}, "width = 0"),
        ({"dropout": 1.0}, "dropout = 1.0"),
        ({"widht": 8}, "Unknown setting 'widht'. Did you mean 'width'?"),
    ],
    ids=str,
)
def test_a_block_that_cannot_be_is_refused_in_one_sentence(chosen: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Block(settings(**chosen))
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_deepnorm_starts_smaller_the_deeper_the_stack() -> None:
    assert Depth.alone(100).beta < Depth.alone(10).beta < 1.0 < Depth.alone(10).alpha < Depth.alone(100).alpha
