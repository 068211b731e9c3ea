"""What the Transformer's settings mean, shown on its parts."""

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from regard.attention import record
from regard.models import Transformer, TransformerSettings, Vocabulary

ONE, TWO = Vocabulary(20, 20), Vocabulary(20, 17)
SOURCE = torch.tensor([[3, 4, 5, 6], [7, 8, 0, 0]])
TARGET = torch.tensor([[1, 9, 10], [1, 11, 12]])
REAL = torch.tensor([[True] * 4, [True, True, False, False]])


def transformer(vocabulary: Vocabulary = ONE, **chosen: Any) -> Transformer:
    torch.manual_seed(0)
    common = {"width": 16, "layers": 2, "attention": {"heads": 4}, "feedforward": {"hidden": 24}}
    return Transformer(TransformerSettings.read({**common, **chosen}), vocabulary).eval()


def recorded(model: Transformer, *patterns: str) -> dict[str, Tensor]:
    with torch.no_grad(), record(model, *patterns) as seen:
        model(SOURCE, TARGET, REAL)
    return {entry.name: entry.tensor for entry in seen}


def test_tied_all_is_one_parameter_in_three_places() -> None:
    model = transformer(embedding={"width": 8})
    vectors = model.encoder.embedding.vectors
    assert model.embedding.vectors is vectors
    assert model.output.readout.weight is vectors
    assert model.embedding.project is model.encoder.embedding.project
    assert sum(parameter.shape == vectors.shape for parameter in model.parameters()) == 1


def test_tied_output_shares_target_and_output_only() -> None:
    model = transformer(TWO, tied="output")
    assert model.output.readout.weight is model.embedding.vectors
    assert model.embedding.vectors is not model.encoder.embedding.vectors
    assert model.encoder.embedding.vectors.shape[0] == 20
    assert model.embedding.vectors.shape[0] == 17


def test_untied_shares_nothing() -> None:
    model = transformer(tied="none")
    tables = {id(model.embedding.vectors), id(model.encoder.embedding.vectors), id(model.output.readout.weight)}
    assert len(tables) == 3


def test_a_tied_table_learns_from_every_side() -> None:
    model = transformer()
    model.output.loss(model(SOURCE, TARGET, REAL), TARGET).total.backward()
    assert (model.embedding.vectors.grad != 0).any(-1).all()


def keys_of(model: Transformer, layer: int) -> Tensor:
    return recorded(model, f"decoder.blocks.{layer}.cross.mechanism.keys")[
        f"decoder.blocks.{layer}.cross.mechanism.keys"
    ]


def projected(model: Transformer, layer: int, states: Tensor) -> Tensor:
    keys: Tensor = model.decoder.blocks[layer].cross.key(states)
    return keys.unflatten(-1, (4, 4)).transpose(1, 2)


@pytest.mark.parametrize("place", ["post", "pre"])
def test_last_reads_the_last_encoder_layer_everywhere_and_layerwise_each_its_own(place: str) -> None:
    for cross in ("last", "layerwise"):
        model = transformer(cross=cross, place=place)
        with torch.no_grad():
            layers = model.encoder.layers(SOURCE, REAL)
            below = model.encoder.stack.norm(layers[0])
            expected = [layers[-1], layers[-1]] if cross == "last" else [below, layers[-1]]
            for layer in range(2):
                assert_close(keys_of(model, layer), projected(model, layer, expected[layer]))


def test_joint_has_no_cross_attention_and_one_softmax_over_source_and_target() -> None:
    model = transformer(cross="joint")
    assert model.decoder.blocks[0].cross is None
    weights = recorded(model, "decoder.blocks.*.attention.mechanism.weights")
    for found in weights.values():
        assert found.shape == (2, 4, 3, 4 + 3)
        assert_close(found.sum(-1), torch.ones(2, 4, 3))
        assert not found[1, :, :, 2:4].any()
        assert not found[:, :, 0, 5:].any()
        assert (found[:, :, :, :2] > 0).all()


def test_joint_target_positions_go_on_where_each_source_ends() -> None:
    model = transformer(cross="joint", position="learned", embedding={"scale": False})
    embedded = recorded(model, "embedding.embedded")["embedding.embedded"]
    places = torch.tensor([[4, 5, 6], [2, 3, 4]])
    assert_close(embedded, model.embedding.vectors[TARGET].detach() + model.embedding.position.table[places].detach())


@pytest.mark.parametrize("position", ["rotary", "alibi", "relative", "bucketed"])
def test_positions_inside_attention_stay_out_of_cross_attention_and_embeddings(position: str) -> None:
    model = transformer(position=position)
    kinds = {type(block.attention.mechanism.position).__name__.lower() for block in model.decoder.blocks}
    assert kinds == {position}
    assert {type(block.attention.mechanism.position).__name__.lower() for block in model.encoder.stack.blocks} == kinds
    assert {block.cross.mechanism.settings.position.name for block in model.decoder.blocks} == {"none"}
    assert type(model.embedding.position).__name__ == "Position"


def test_cross_attention_is_like_self_attention_unless_told_otherwise() -> None:
    alike = transformer(attention={"heads": 4, "groups": 2, "dropout": 0.3})
    assert (alike.decoder.blocks[0].cross.groups, alike.decoder.blocks[0].cross.mechanism.dropout) == (2, 0.3)
    other = transformer(cross_attention={"heads": 2, "score": "additive"})
    assert other.decoder.blocks[0].cross.heads == 2
    assert other.decoder.blocks[0].attention.heads == 4
    assert other.encoder.stack.blocks[0].attention.heads == 4


def test_pre_ends_in_a_norm_and_post_does_not_unless_told() -> None:
    for place, final, expected in (
        ("pre", None, True),
        ("post", None, False),
        ("deepnorm", None, False),
        ("post", True, True),
        ("pre", False, False),
    ):
        model = transformer(place=place, final_norm=final)
        for stack in (model.encoder.stack, model.decoder):
            assert bool(list(stack.norm.parameters())) == expected


def test_deepnorm_takes_its_constants_from_both_depths() -> None:
    model = transformer(place="deepnorm", layers=6, decoder_layers=3)
    assert len(model.encoder.stack.blocks) == 6
    assert len(model.decoder.blocks) == 3
    assert model.encoder.stack.blocks[0].around_attention.alpha == pytest.approx(0.81 * (6**4 * 3) ** (1 / 16))
    assert model.decoder.blocks[0].around_cross.alpha == pytest.approx((3 * 3) ** 0.25)


def test_copying_can_only_write_what_the_source_holds_once_the_gate_is_shut() -> None:
    model = transformer(copying=True)
    torch.nn.init.zeros_(model.output.pointer.gate.weight)
    torch.nn.init.constant_(model.output.pointer.gate.bias, -100.0)
    with torch.no_grad():
        found = model.output.log_probabilities(model(SOURCE, TARGET, REAL)).exp()
    for row in range(2):
        inside = SOURCE[row][REAL[row]].unique()
        assert_close(found[row][:, inside].sum(-1), torch.ones(3))


def test_the_source_is_read_once_however_many_steps_follow() -> None:
    model = transformer()
    started = model.start(SOURCE, REAL)
    state = started.state.select(torch.arange(2).repeat_interleave(3))
    with torch.no_grad(), record(model, "encoder.*", "decoder.blocks.*.cross.mechanism.keys") as seen:
        for _ in range(4):
            _, state = model.step(torch.full((6,), 5), state)
    assert seen == []
