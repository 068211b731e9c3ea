"""A recurrent layer that asks additive attention before each of its steps: all steps of a training target in one call.

Step by step, modules would compute a gradient of every matrix at every step, and add them up. Here each step leaves
what it read and the gradient of what it gave, and a matrix gets its gradient in one product over all steps at once; so
does what the steps read of the target. The numbers are those of the modules, to rounding.

Letters: I width of a piece, D of a state, A of a prepared key, W of a value, Y = I + W of what a step reads; F = 4 D
gates, the first M of which have what is read, the last N the state before.
"""

from collections.abc import Callable
from itertools import chain
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from regard.attention import Attention, Memory, Position, replaced
from regard.attention.chunks import first_derivative_only
from regard.attention.normalizers import Softmax, masked_softmax
from regard.attention.outputs import Output
from regard.attention.scopes import Scope
from regard.attention.scores import Additive, Concat
from regard.nn import native
from regard.nn.native import learning
from regard.nn.native.multiplying import add_product, product, product_into
from regard.nn.recurrent import Carry, Recurrent

Rows = Float[Tensor, "B D"]
Gates = Float[Tensor, "B F"]


class Asked(NamedTuple):
    """Of all steps: what they were answered, and their states after."""

    answers: Float[Tensor, "T B W"]
    states: Float[Tensor, "T B D"]


def can_ask(decoder: Recurrent, attention: Attention, *passed: nn.Module) -> bool:
    """Whether `ask` computes what these modules would: one layer, plain additive attention, and nobody hooked into them
    or into what else is passed by."""
    if torch.compiler.is_compiling() or torch.is_autocast_enabled("cpu") or replaced():
        return False
    # What torch.func transforms has to be made of torch's own functions.
    if torch._C._are_functorch_transforms_active():
        return False
    usual = len(decoder.blocks) == 1 and type(decoder.blocks[0]) in (nn.LSTM, nn.GRU) and _plain(attention)
    kinds = {(each.dtype, each.device.type) for each in chain(decoder.parameters(), attention.parameters())}
    readable = kinds in ({(torch.float32, "cpu")}, {(torch.float64, "cpu")})
    return usual and readable and not any(map(_hooked, chain(decoder.modules(), attention.modules(), passed)))


def ask(
    decoder: Recurrent, attention: Attention, embedded: Float[Tensor, "T B I"], carry: Carry, memory: Memory
) -> Asked:
    """All steps, each reading its embedded piece and the answer to the state before."""
    score, layer = attention.mechanism.score, decoder.blocks[0]
    assert isinstance(score, Additive)
    hidden = carry.hidden[:, 0]
    kept = hidden if carry.cells is None else carry.cells[:, 0]
    keys, values = memory.keys[:, 0], memory.values[:, 0]
    real = torch.ones(keys.shape[:2], dtype=torch.bool) if memory.real is None else memory.real
    asking = score.query[0], score.energy[0, :, 0]
    cell = decoder.settings.cell
    return Asked(*_Ask.apply(cell, embedded, hidden, kept, *_sides(layer), *asking, keys, values, real))  # type: ignore[no-untyped-call]


def _plain(attention: Attention) -> bool:
    """Whether it is a softmax of additive scores over all keys and no more, by a kernel of our choice."""
    mechanism = attention.mechanism
    normalizer, parts = mechanism.normalizer, (mechanism.scope, mechanism.position, attention.answer)
    soft = type(normalizer) is Softmax and normalizer.sharpness is None and normalizer.fixed == 1.0
    free = mechanism.settings.kernel == "auto" and not mechanism.explicit and mechanism.dropout == 0.0
    bare = [type(part) for part in parts] == [Scope, Position, Output]
    return type(mechanism.score) in (Additive, Concat) and soft and free and bare


def _hooked(module: nn.Module) -> bool:
    forward = module._forward_hooks or module._forward_pre_hooks or "forward" in vars(module)
    return bool(forward or module._backward_hooks or module._backward_pre_hooks)


def _sides(layer: nn.Module) -> tuple[Float[Tensor, "M Y"], Float[Tensor, "N D"], Float[Tensor, " F"]]:
    """The matrix of what is read, for the first gates, that of states, for the last, and the bias of all.

    A GRU's new state takes from the state before what its reset gate lets pass, so it is two gates: the first has what
    is read, the last has the state. All others have both.
    """
    names = ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")
    read, state, read_bias, state_bias = (getattr(layer, name) for name in names)
    if isinstance(layer, nn.LSTM):
        return read, state, read_bias + state_bias
    # Reset, update, new: as what is read has it, new is to come first.
    width, nothing = state.shape[1], torch.zeros_like(state_bias[: state.shape[1]])
    read, read_bias = read.roll(width, 0), read_bias.roll(width, 0)
    return read, state, torch.cat([read_bias, nothing]) + torch.cat([nothing, state_bias])


class _Ask(torch.autograd.Function):
    """answer = sum_j softmax_j(v . tanh(Q h + k_j)) value_j;   h, kept = cell(R [x; answer] + S h + b, kept)."""

    @staticmethod
    def forward(
        ctx: Any,
        cell: str,
        embedded: Float[Tensor, "T B I"],
        hidden: Float[Tensor, "B D"],
        kept: Float[Tensor, "B D"],
        read: Float[Tensor, "M Y"],
        state: Float[Tensor, "N D"],
        bias: Float[Tensor, " F"],
        query: Float[Tensor, "D A"],
        energy: Float[Tensor, " A"],
        keys: Float[Tensor, "B S A"],
        values: Float[Tensor, "B S W"],
        real: Bool[Tensor, "B S"],
    ) -> tuple[Float[Tensor, "T B W"], Float[Tensor, "T B D"]]:
        by, seen = _parts(cell, read), _Seen(*(each.contiguous() for each in (keys, values, energy, real)))
        (steps, batch, inputs), width = embedded.shape, hidden.shape[1]
        # What each step reads: its piece, and the answer.
        given_TBY = embedded.new_empty(steps, batch, read.shape[1])
        given_TBY[..., :inputs] = embedded
        states_TBD, kept_TBD = embedded.new_empty(2, steps + 1, batch, width)
        states_TBD[0], kept_TBD[0] = hidden, kept
        queries_TBA, weights_TBS = embedded.new_empty(steps, *keys.shape[::2]), embedded.new_empty(steps, *real.shape)
        gates_TBF = bias.repeat(steps, batch, 1)
        add_product(gates_TBF.flatten(0, 1)[:, : len(read)], embedded.flatten(0, 1), read[:, :inputs].T)
        for t in range(steps):
            product_into(states_TBD[t], query, queries_TBA[t])
            by.look(queries_TBA[t], *seen, weights_TBS[t], given_TBY[t, :, inputs:])
            add_product(gates_TBF[t, :, : len(read)], given_TBY[t, :, inputs:], read[:, inputs:].T)
            add_product(gates_TBF[t, :, -len(state) :], states_TBD[t], state.T)
            by.step(gates_TBF[t], kept_TBD[t], kept_TBD[t + 1], states_TBD[t + 1])
        ctx.cell, ctx.inputs = cell, inputs
        ctx.save_for_backward(
            given_TBY, states_TBD, kept_TBD, gates_TBF, queries_TBA, weights_TBS, read, state, query, *seen
        )
        return given_TBY[..., inputs:], states_TBD[1:]

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        first_derivative_only("auto")
        given_TBY, states_TBD, kept_TBD, gates_TBF, queries_TBA, weights_TBS, read, state, query, *rest = (
            ctx.saved_tensors
        )
        by, seen, inputs = _parts(ctx.cell, read), _Seen(*rest), ctx.inputs
        d_answers_TBW, d_states_TBD = gradients[0].clone(memory_format=torch.contiguous_format), gradients[1]
        d_gates_TBF, d_queries_TBA = torch.empty_like(gates_TBF), torch.empty_like(queries_TBA)
        d_reading_TBM, d_state_TBN = d_gates_TBF[..., : len(read)], d_gates_TBF[..., -len(state) :]
        d_keys, d_energy_BA = torch.zeros_like(seen.keys), torch.zeros_like(queries_TBA[0])
        d_kept, d_hidden = torch.zeros_like(kept_TBD[0]), torch.zeros_like(kept_TBD[0])
        for t in reversed(range(len(gates_TBF))):
            d_hidden += d_states_TBD[t]
            by.back(gates_TBF[t], kept_TBD[t], kept_TBD[t + 1], d_hidden, d_kept, d_gates_TBF[t])
            add_product(d_answers_TBW[t], d_reading_TBM[t], read[:, inputs:])
            by.look_back(queries_TBA[t], *seen, weights_TBS[t], d_answers_TBW[t], d_queries_TBA[t], d_keys, d_energy_BA)
            product_into(d_queries_TBA[t], query.T, d_hidden)
            add_product(d_hidden, d_state_TBN[t], state)
        _, of_embedded, _, _, of_read, of_state, of_bias, of_query, *_ = ctx.needs_input_grad
        shape = *d_gates_TBF.shape[:2], inputs
        return (
            None,
            product(d_reading_TBM.flatten(0, 1), read[:, :inputs]).view(shape) if of_embedded else None,
            d_hidden,
            d_kept,
            _over_steps(d_reading_TBM, given_TBY) if of_read else None,
            _over_steps(d_state_TBN, states_TBD[:-1]) if of_state else None,
            d_gates_TBF.sum((0, 1)) if of_bias else None,
            _over_steps(states_TBD[:-1], d_queries_TBA) if of_query else None,
            d_energy_BA.sum(0),
            d_keys,
            torch.bmm(weights_TBS.permute(1, 2, 0), d_answers_TBW.transpose(0, 1)),
            None,
        )


class _Seen(NamedTuple):
    """What every step looks at."""

    keys: Float[Tensor, "B S A"]
    values: Float[Tensor, "B S W"]
    energy: Float[Tensor, " A"]
    real: Bool[Tensor, "B S"]


def _over_steps(left: Float[Tensor, "T B N"], right: Float[Tensor, "T B M"]) -> Float[Tensor, "N M"]:
    """The sum over all steps and rows of left right^T: a matrix's gradient in one product."""
    return product(left.flatten(0, 1).T, right.flatten(0, 1))


class _Parts(NamedTuple):
    """One step of a cell and one look at a source, and their gradients; what they give is written where they are told.

    A step turns sums into gates, and kept numbers (an LSTM's cells, a GRU's states) into those after it.
    """

    step: Callable[..., None]
    back: Callable[..., None]
    look: Callable[..., None]
    look_back: Callable[..., None]


def _parts(cell: str, like: Tensor) -> _Parts:
    return (NATIVE if native.ready() and like.dtype == torch.float32 else PLAIN)[cell]


def _lstm(gates: Gates, before: Rows, after: Rows, out: Rows) -> None:
    """c' = f c + i g, h = o tanh(c')   (Hochreiter and Schmidhuber 1997; Gers et al. 2000)."""
    enter, forget, new, leave = gates.chunk(4, 1)
    enter.sigmoid_(), forget.sigmoid_(), new.tanh_(), leave.sigmoid_()
    after.copy_(torch.addcmul(forget * before, enter, new))
    out.copy_(leave * after.tanh())


def _lstm_back(gates: Gates, before: Rows, after: Rows, d_out: Rows, d_kept: Rows, d_gates: Gates) -> None:
    enter, forget, new, leave = gates.chunk(4, 1)
    bent = after.tanh()
    d_kept += d_out * leave * (1 - bent**2)
    parts = d_kept * new * _slope(enter), d_kept * before * _slope(forget), d_kept * enter * (1 - new**2)
    torch.cat([*parts, d_out * bent * _slope(leave)], 1, out=d_gates)
    d_kept *= forget


def _gru(gates: Gates, before: Rows, after: Rows, out: Rows) -> None:
    """h' = (1 - z) n + z h, n = tanh(x + r s), x and s what is read and the state before   (Cho et al. 2014)."""
    new, reset, update, state = gates.chunk(4, 1)
    reset.sigmoid_(), update.sigmoid_(), new.addcmul_(reset, state).tanh_()
    after.copy_(torch.lerp(new, before, update))
    out.copy_(after)


def _gru_back(gates: Gates, before: Rows, after: Rows, d_out: Rows, d_kept: Rows, d_gates: Gates) -> None:
    new, reset, update, state = gates.chunk(4, 1)
    d_kept += d_out
    d_new = d_kept * (1 - update) * (1 - new**2)
    parts = d_new, d_new * state * _slope(reset), d_kept * (before - new) * _slope(update), d_new * reset
    torch.cat(parts, 1, out=d_gates)
    d_kept *= update


def _slope(gate: Tensor) -> Tensor:
    return gate * (1 - gate)


def _look(
    query: Float[Tensor, "B A"],
    keys: Float[Tensor, "B S A"],
    values: Float[Tensor, "B S W"],
    energy: Float[Tensor, " A"],
    real: Bool[Tensor, "B S"],
    weights: Float[Tensor, "B S"],
    answer: Float[Tensor, "B W"],
) -> None:
    """softmax(v . tanh(q + k)) values   (Bahdanau et al. 2015, A.1.2)."""
    scores_BS = _tanh_(query[:, None] + keys) @ energy
    weights.copy_(masked_softmax(scores_BS[:, None, None], real[:, None, None])[:, 0, 0])
    answer.copy_(torch.bmm(weights[:, None], values)[:, 0])


def _look_back(
    query: Float[Tensor, "B A"],
    keys: Float[Tensor, "B S A"],
    values: Float[Tensor, "B S W"],
    energy: Float[Tensor, " A"],
    real: Bool[Tensor, "B S"],
    weights: Float[Tensor, "B S"],
    d_answer: Float[Tensor, "B W"],
    d_query: Float[Tensor, "B A"],
    d_keys: Float[Tensor, "B S A"],
    d_energy: Float[Tensor, "B A"],
) -> None:
    hidden_BSA = _tanh_(query[:, None] + keys)
    d_weights = torch.bmm(values, d_answer[..., None])[..., 0]
    d_scores = weights * (d_weights - (weights * d_weights).sum(1, keepdim=True))
    d_energy += torch.bmm(d_scores[:, None], hidden_BSA)[:, 0]
    d_hidden = hidden_BSA.square_().neg_().add_(1.0).mul_(d_scores[..., None]).mul_(energy)
    d_keys += d_hidden
    torch.sum(d_hidden, 1, out=d_query)


def _tanh_(x: Float[Tensor, "B S A"]) -> Float[Tensor, "B S A"]:
    """tanh(x) = 2 sigmoid(2 x) - 1, in place: torch's own takes more than twice as long."""
    return x.mul_(2.0).sigmoid_().mul_(2.0).sub_(1.0)


PLAIN = {"lstm": _Parts(_lstm, _lstm_back, _look, _look_back), "gru": _Parts(_gru, _gru_back, _look, _look_back)}
NATIVE = {
    "lstm": _Parts(learning.lstm, learning.lstm_back, learning.look, learning.look_back),
    "gru": _Parts(learning.gru, learning.gru_back, learning.look, learning.look_back),
}
