"""The convolutional encoder-decoder on its parts."""

import math

import torch
from torch.testing import assert_close

from regard.attention import record
from regard.models import ConvolutionalSequence, ConvolutionalSettings, Vocabulary

SOURCE = torch.tensor([[3, 4, 5, 6], [7, 8, 0, 0]])
TARGET = torch.tensor([[1, 9, 10], [1, 11, 12]])
REAL = torch.tensor([[True] * 4, [True, True, False, False]])


def convolutional(**chosen: object) -> ConvolutionalSequence:
    settings = ConvolutionalSettings.read({"width": 16, "layers": 2, **chosen})
    return ConvolutionalSequence(settings, Vocabulary(20, 20)).eval()


@torch.no_grad()
def test_keys_are_states_and_values_states_plus_embeddings() -> None:
    model = convolutional()
    embedded, states = model.encoder.read(SOURCE, REAL)
    memories = model.encode(SOURCE, REAL)
    assert len(memories) == 2
    for memory in memories:
        assert_close(memory.keys[:, 0], states)
        assert_close(memory.values[:, 0], (states + embedded) * math.sqrt(0.5))


@torch.no_grad()
def test_every_layer_asks_with_its_state_and_the_last_piece() -> None:
    model = convolutional()
    with record(model, "embedding.embedded", "blocks.0.convolution.output", "blocks.0.*.queries") as seen:
        model(SOURCE, TARGET, REAL)
    by_name = {entry.name: entry.tensor for entry in seen}
    state, embedded = by_name["blocks.0.convolution.output"], by_name["embedding.embedded"]
    expected = (model.blocks[0].ask(state) + embedded) * math.sqrt(0.5)
    assert_close(by_name["blocks.0.attention.mechanism.queries"][:, 0], expected)


def test_the_decoder_may_be_deeper_than_the_encoder() -> None:
    model = convolutional(decoder_layers=3)
    assert (len(model.encoder.blocks), len(model.blocks)) == (2, 3)


@torch.no_grad()
def test_a_hypothesis_keeps_the_last_inputs_of_each_layer_and_no_more() -> None:
    model = convolutional(kernel=5)
    started = model.start(SOURCE, REAL)
    state = started.state
    for _ in range(7):
        _, state = model.step(started.first, state)
    assert [seen.shape for seen in state.own.seen] == [(2, 4, 16)] * 2
    assert state.own.length == 7
