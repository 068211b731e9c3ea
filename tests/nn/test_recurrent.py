"""Recurrent layers against torch's own, over ragged batches, and an LSTM's cells against an LSTM run by hand."""

import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from torch.testing import assert_close

from regard.errors import ConfigError, ModelError
from regard.nn import Carry, Recurrent, RecurrentSettings
from regard.nn.recurrent import _padded

INPUTS, WIDTH = 5, 8
LENGTHS = torch.tensor([6, 2, 4])
REAL = torch.arange(6) < LENGTHS[:, None]

SHAPES = [
    pytest.param({"cell": cell, "layers": layers, "both_ways": both_ways}, id=f"{cell}-{layers}-{ways}")
    for cell in ("lstm", "gru")
    for layers in (1, 3)
    for both_ways, ways in ((False, "one way"), (True, "both ways"))
]


def recurrent(**settings: object) -> Recurrent:
    return Recurrent(RecurrentSettings.read({"width": WIDTH, "dropout": 0.0, **settings}), INPUTS)


def theirs(ours: Recurrent) -> nn.LSTM | nn.GRU:
    """torch's layers in one module, with our parameters."""
    kind = {"lstm": nn.LSTM, "gru": nn.GRU}[ours.settings.cell]
    ways = 2 if ours.settings.both_ways else 1
    made = kind(INPUTS, WIDTH // ways, len(ours.blocks), batch_first=True, bidirectional=ours.settings.both_ways)
    parameters = {
        name.replace("_l0", f"_l{depth}"): parameter
        for depth, block in enumerate(ours.blocks)
        for name, parameter in block.state_dict().items()
    }
    made.load_state_dict(parameters)
    return made


def side_by_side(end: Tensor, ways: int) -> Tensor:
    """torch's (layers x ways) x batch x width as batch x layers x (ways x width)."""
    return end.unflatten(0, (-1, ways)).permute(2, 0, 1, 3).flatten(2)


def randomized(made: Recurrent) -> Recurrent:
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.uniform_(-0.7, 0.7)
    return made


@pytest.mark.parametrize("settings", SHAPES)
def test_states_and_ends_are_torchs(settings: dict[str, object]) -> None:
    ours = randomized(recurrent(**settings))
    x, other = torch.randn(3, 6, INPUTS), theirs(ours)
    states, carry = ours(x)
    expected, end = other(x)
    hidden, cells = end if isinstance(end, tuple) else (end, None)
    assert_close(states, expected)
    assert_close(carry.hidden, side_by_side(hidden, 2 if settings["both_ways"] else 1))
    assert (carry.cells is None) == (cells is None)
    if cells is not None:
        assert_close(carry.cells, side_by_side(cells, 2 if settings["both_ways"] else 1))


@pytest.mark.parametrize("settings", SHAPES)
def test_a_ragged_batch_is_torchs_packed_one(settings: dict[str, object]) -> None:
    ours = randomized(recurrent(**settings))
    x, other = torch.randn(3, 6, INPUTS), theirs(ours)
    packed, end = other(pack_padded_sequence(x, LENGTHS, batch_first=True, enforce_sorted=False))
    expected, _ = pad_packed_sequence(packed, batch_first=True)
    states, carry = ours(x, REAL)
    assert_close(states, expected)
    hidden = end[0] if isinstance(end, tuple) else end
    assert_close(carry.hidden, side_by_side(hidden, 2 if settings["both_ways"] else 1))


@pytest.mark.parametrize("settings", SHAPES)
def test_a_text_in_a_ragged_batch_is_the_text_alone(settings: dict[str, object]) -> None:
    ours, x = randomized(recurrent(**settings)), torch.randn(3, 6, INPUTS)
    states, carry = ours(x, REAL)
    for row, length in enumerate(LENGTHS.tolist()):
        alone, end = ours(x[row : row + 1, :length])
        assert_close(states[row, :length], alone[0])
        assert_close(carry.hidden[row], end.hidden[0])
        assert torch.equal(states[row, length:], torch.zeros(6 - length, WIDTH))


@pytest.mark.parametrize("settings", SHAPES)
def test_padding_gets_no_gradient(settings: dict[str, object]) -> None:
    ours, x = recurrent(**settings), torch.randn(3, 6, INPUTS, requires_grad=True)
    states, carry = ours(x, REAL & (torch.arange(3) < 2)[:, None])
    (states.sum() + carry.hidden.sum()).backward()
    padding = ~REAL
    padding[2] = True
    assert torch.equal(x.grad[padding], torch.zeros_like(x.grad[padding]))
    assert (x.grad[~padding] != 0).any(-1).all()


@pytest.mark.parametrize("settings", SHAPES)
def test_an_empty_text_gives_zeros(settings: dict[str, object]) -> None:
    real = REAL & (torch.arange(3) != 1)[:, None]
    states, carry = recurrent(**settings)(torch.randn(3, 6, INPUTS), real)
    assert not states[1].any()
    assert not carry.hidden[1].any()
    assert carry.cells is None or not carry.cells[1].any()


@pytest.mark.parametrize("cell", ["lstm", "gru"])
@pytest.mark.parametrize("layers", [1, 3])
def test_going_on_from_a_carry_is_never_having_stopped(cell: str, layers: int) -> None:
    ours, x = randomized(recurrent(cell=cell, layers=layers)), torch.randn(3, 6, INPUTS)
    expected, end = ours(x)
    first, carry = ours(x[:, :4])
    second, after = ours(x[:, 4:], None, carry)
    assert_close(torch.cat([first, second], dim=1), expected)
    assert_close(after.hidden, end.hidden)


def test_a_carry_selects_its_rows() -> None:
    rows = torch.tensor([2, 0, 0])
    carry = Carry(torch.randn(3, 2, 4), torch.randn(3, 2, 4))
    chosen = carry.select(rows)
    assert torch.equal(chosen.hidden, carry.hidden[rows])
    assert torch.equal(chosen.cells, carry.cells[rows])
    assert Carry(carry.hidden).select(rows).cells is None


def walked(cell: nn.LSTMCell, x: Tensor) -> Tensor:
    """The cell states of one text, step by step."""
    state, cells = None, []
    for step in x:
        state = cell(step[None], state)
        cells.append(state[1])
    return torch.cat(cells)


@pytest.mark.parametrize("both_ways", [False, True])
def test_cells_are_those_of_an_lstm_run_by_hand(both_ways: bool) -> None:
    ours, x = randomized(recurrent(both_ways=both_ways)), torch.randn(3, 6, INPUTS)
    _, _, found = ours.with_cells(x, REAL)
    ends = ["", "_reverse"] if both_ways else [""]
    for row, length in enumerate(LENGTHS.tolist()):
        for way, end in enumerate(ends):
            cell = nn.LSTMCell(INPUTS, WIDTH // len(ends))
            names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
            cell.load_state_dict({name: getattr(ours.blocks[0], f"{name}_l0{end}") for name in names})
            text = x[row, :length]
            expected = walked(cell, text.flip(0)).flip(0) if end else walked(cell, text)
            assert_close(found[row, :length].chunk(len(ends), dim=-1)[way], expected)
        assert not found[row, length:].any()


@pytest.mark.parametrize("both_ways", [False, True])
@pytest.mark.parametrize("layers", [1, 2])
def test_the_last_cells_are_the_carry_and_belong_to_the_states(both_ways: bool, layers: int) -> None:
    """h = o tanh(c) with a gate below one: no hidden state can lie beyond its cell."""
    ours, x = randomized(recurrent(both_ways=both_ways, layers=layers)), torch.randn(3, 6, INPUTS)
    states, carry, cells = ours.with_cells(x, REAL)
    assert torch.equal(states, ours(x, REAL)[0])
    last = cells[torch.arange(3), LENGTHS - 1]
    forward = WIDTH // 2 if both_ways else WIDTH
    assert_close(last[:, :forward], carry.cells[:, -1, :forward])
    assert_close(cells[:, 0, forward:], carry.cells[:, -1, forward:])
    assert (states.abs() <= cells.tanh().abs() + 1e-6).all()


def test_cells_and_states_come_from_one_pass_even_under_dropout() -> None:
    ours, x = randomized(recurrent(layers=2, dropout=0.5)).train(), torch.randn(3, 6, INPUTS)
    _, carry, cells = ours.with_cells(x, REAL)
    assert_close(cells[torch.arange(3), LENGTHS - 1], carry.cells[:, -1])


def test_dropout_stands_between_layers_only() -> None:
    x = torch.randn(2, 3, INPUTS)
    single, double = recurrent(dropout=0.9).train(), recurrent(layers=2, dropout=0.9).train()
    assert torch.equal(single(x)[0], single(x)[0])
    assert not torch.equal(double(x)[0], double(x)[0])


def test_matrices_start_orthogonal_and_the_forget_gate_open() -> None:
    layer = recurrent(width=16).blocks[0]
    for gate in layer.weight_hh_l0.chunk(4):
        assert_close(gate @ gate.T, torch.eye(16))
    assert_close((layer.bias_ih_l0 + layer.bias_hh_l0).chunk(4)[1], torch.ones(16))
    assert not layer.bias_ih_l0.chunk(4)[0].any()


@pytest.mark.parametrize("cell", ["lstm", "gru"])
def test_every_gates_matrix_starts_with_xaviers_variance_of_its_own(cell: str) -> None:
    made = Recurrent(RecurrentSettings(cell=cell, width=200), 300)
    for gate in made.blocks[0].weight_ih_l0.chunk(4 if cell == "lstm" else 3):
        assert float(gate.detach().var()) == pytest.approx(2 / (200 + 300), rel=0.05)


def test_padding_within_a_text_is_refused() -> None:
    real = REAL.clone()
    real[0, 2] = False
    with pytest.raises(ModelError, match="padding must follow the text"):
        recurrent()(torch.randn(3, 6, INPUTS), real)


def test_both_ways_an_odd_width_is_refused() -> None:
    with pytest.raises(ConfigError, match="width of 7 must be even"):
        recurrent(width=7, both_ways=True)


def test_a_gru_has_no_cells() -> None:
    with pytest.raises(ModelError, match="A gru has no cell states; set cell = 'lstm'"):
        recurrent(cell="gru").with_cells(torch.randn(1, 2, INPUTS))


@pytest.mark.parametrize("settings", [{"cell": "lstn"}, {"width": 0}, {"layers": 0}, {"dropout": 1.0}], ids=str)
def test_settings_that_cannot_be_are_refused(settings: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match=next(iter(settings))):
        recurrent(**settings)


@pytest.mark.parametrize("both_ways", [True, False])
@pytest.mark.parametrize("cell", ["lstm", "gru"])
def test_padding_held_still_is_what_packed_batches_give(cell: str, both_ways: bool) -> None:
    settings = RecurrentSettings.read({"cell": cell, "width": 8, "both_ways": both_ways, "dropout": 0.0})
    layer = Recurrent(settings, 6).double().blocks[0]
    x = torch.randn(4, 7, 6, dtype=torch.float64)
    lengths = torch.tensor([7, 3, 1, 5])
    packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
    expected, end = layer(packed)
    expected, _ = pad_packed_sequence(expected, batch_first=True)
    found, (hidden, cells) = _padded(layer, x, lengths, None)
    real = torch.arange(7) < lengths[:, None]
    torch.testing.assert_close(found * real[..., None], expected)
    ends = end if isinstance(end, tuple) else (end,)
    for one, other in zip((hidden, cells), ends, strict=False):
        torch.testing.assert_close(one, other)
