"""Models as ONNX files: what reads as one graph, what writes as two, with what is kept between steps in plain sight."""

import copy
import json
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import jaxtyping
import torch
from torch import Tensor, nn
from torch.onnx.symbolic_helper import parse_args

from regard.attention.mechanism import Mechanism
from regard.convert.onnx import convolutional, recurrent, transformer
from regard.convert.onnx.library import runtime
from regard.convert.onnx.recurrent import sample
from regard.errors import ConfigError
from regard.models import (
    ConvolutionalSequence,
    Decoder,
    RecurrentLanguage,
    RecurrentSequence,
    Tagger,
    Transformer,
    TransformerEncoder,
    TransformerLanguage,
)
from regard.models.encoders import ConvolutionalEncoder, Encoder
from regard.models.reading import DocumentReader

Kind = Literal["encoder", "sequence", "language"]
DESCRIPTION = "model.json"
OPSET = 17

# For each kind of model what it is, its two graphs, and how many of start's tensors all outputs of a source share.
Graphs = tuple[Kind, Callable[[Any], nn.Module], Callable[[Any], nn.Module], Callable[[Any], int]]
GRAPHS: dict[type[nn.Module], Graphs] = {
    Transformer: (
        "sequence",
        transformer.SequenceStart,
        transformer.SequenceStep,
        lambda model: 1 + 2 * len(model.decoder.blocks),
    ),
    RecurrentSequence: (
        "sequence",
        recurrent.RecurrentStart,
        recurrent.RecurrentStep,
        lambda model: 3 if model.attention is None else 5,
    ),
    ConvolutionalSequence: (
        "sequence",
        convolutional.ConvolutionalStart,
        convolutional.ConvolutionalStep,
        lambda model: 2 + len(model.blocks),
    ),
    TransformerLanguage: ("language", transformer.LanguageStart, transformer.LanguageStep, lambda model: 0),
    RecurrentLanguage: ("language", recurrent.RecurrentLanguageStart, recurrent.RecurrentLanguageStep, lambda model: 0),
}


def write(model: nn.Module, folder: Path) -> Kind:
    """The model's graphs in a folder that is there; what it is."""
    runtime()
    model = _plain(model)
    if type(model) in GRAPHS:
        kind, start, step, shared = GRAPHS[type(model)]
        described = _writing(model, folder, start(model), step(model), shared(model))
    elif isinstance(getattr(model, "encoder", None), Encoder) and not isinstance(model, Decoder):
        kind, described = "encoder", _reading(model, folder)
    else:
        raise ConfigError(f"There is no ONNX graph for a {type(model).__name__}. Use the engine torch.")
    (folder / DESCRIPTION).write_text(json.dumps({"kind": kind, **described}, indent=1) + "\n", "utf-8")
    return kind


def _plain(model: nn.Module) -> nn.Module:
    """A copy whose attentions are computed as they are written: other kernels are no part of a graph."""
    made = copy.deepcopy(model).cpu().eval()
    for mechanism in (each for each in made.modules() if isinstance(each, Mechanism)):
        mechanism.settings = mechanism.settings.model_copy(update={"kernel": "reference"})
    return made


def _reading(model: Any, folder: Path) -> dict[str, Any]:
    """The encoder, and all of the model where it reads pieces alone."""
    encoder = graph_of(model.encoder)
    pieces, real = sample(model.encoder.embedding.vocabulary)
    given: dict[str, Tensor] = {"pieces": pieces, "real": real}
    segments, beside = model.encoder.embedding.segments, model.encoder.embedding.beside
    if segments is not None:
        given["segments"] = torch.zeros_like(pieces)
    if beside:
        given["beside"] = torch.zeros(*pieces.shape, beside)
    _traced(Named(encoder, tuple(given)), folder / "encoder.onnx", given, ["states"], {"states": (0, 1)})
    whole = not beside and not isinstance(model, DocumentReader)
    if whole:
        model.encoder = _Bare(encoder, model.encoder)
        shape = (0,) if not isinstance(model, Tagger) and model(pieces, real).dim() == 2 else (0, 1)
        _traced(model, folder / "model.onnx", {"pieces": pieces, "real": real}, ["outputs"], {"outputs": shape})
    return {"inputs": list(given), "whole": whole}


def graph_of(encoder: nn.Module) -> nn.Module:
    """What is traced for an encoder."""
    if isinstance(encoder, ConvolutionalEncoder):
        return convolutional.ConvolutionalReading(encoder)
    return transformer.EncoderGraph(encoder) if isinstance(encoder, TransformerEncoder) else encoder


class Named(nn.Module):
    """An encoder that takes what it needs, in this order."""

    def __init__(self, encoder: nn.Module, names: Sequence[str]) -> None:
        super().__init__()
        self.encoder, self.names = encoder, list(names)

    def forward(self, *given: Tensor) -> Tensor:
        named = dict(zip(self.names, given, strict=True))
        found: Tensor = self.encoder(named["pieces"], named["real"], named.get("segments"), named.get("beside"))
        return found


class _Bare(nn.Module):
    """An encoder's graph with what heads ask of an encoder."""

    def __init__(self, graph: nn.Module, encoder: Any) -> None:
        super().__init__()
        self.graph, self.width, self.embedding = graph, encoder.width, encoder.embedding

    def forward(
        self, pieces: Tensor, real: Tensor, segments: Tensor | None = None, beside: Tensor | None = None
    ) -> Tensor:
        found: Tensor = self.graph(pieces, real, segments, beside)
        return found


def _writing(model: Any, folder: Path, start: nn.Module, step: nn.Module, shared: int) -> dict[str, Any]:
    size = model.encoder.embedding.vocabulary if hasattr(model, "encoder") else model.vocabulary.target
    (source, real), pieces = sample(size), torch.arange(2) % model.vocabulary.target
    with torch.no_grad():
        begun, other = start(source, real), start(*sample(size, 3, 5))
        # Traced with a past that has begun: from none at all a graph would learn that there never is any.
        state = (*begun[:shared], *step(pieces, *begun)[1:])
    names = [f"shared_{number}" if number < shared else f"own_{number - shared}" for number in range(len(state))]
    axes = {name: _lively(*pair) for name, *pair in zip(names, state, other, strict=True)}
    _traced(start, folder / "start.onnx", {"source": source, "real": real}, names, axes)
    given = {"pieces": pieces, **dict(zip(names, state, strict=True))}
    after = names[shared:]
    said = {"said": (0,), **{f"new_{name}": axes[name] for name in after}}
    _traced(step, folder / "step.onnx", given, list(said), {**axes, **said})
    return {"shared": names[:shared], "own": after}


def _lively(one: Tensor, other: Tensor) -> tuple[int, ...]:
    """The dimensions that differ from input to input and from step to step: rows, and lengths wherever they stand."""
    return tuple(axis for axis, sizes in enumerate(zip(one.shape, other.shape, strict=True)) if len(set(sizes)) > 1)


def _traced(
    module: nn.Module,
    path: Path,
    given: Mapping[str, Tensor],
    outputs: Sequence[str],
    axes: Mapping[str, tuple[int, ...]],
) -> None:
    free = {name: (0, 1) if tensor.dim() > 1 else (0,) for name, tensor in given.items()} | dict(axes)
    with _quietly(), torch.no_grad():
        torch.onnx.export(
            module.eval(),
            tuple(given.values()),
            str(path),
            input_names=list(given),
            output_names=list(outputs),
            dynamic_axes={name: {axis: f"{name}_{axis}" for axis in free[name]} for name in (*given, *outputs)},
            opset_version=OPSET,
            dynamo=False,
        )


@contextmanager
def _quietly() -> Iterator[None]:
    """Without warnings that what is traced is traced: every export is run on other lengths before it is believed."""
    # Torch exports these names without saying so.
    exporter: Any = torch.onnx
    before = jaxtyping.config.jaxtyping_disable
    for name, symbol in SYMBOLS.items():
        exporter.register_custom_op_symbolic(name, symbol, OPSET)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            # Sizes are tensors while a module is traced, which no signature expects where signatures are checked.
            jaxtyping.config.update("jaxtyping_disable", True)
            yield
    except (torch.onnx.errors.OnnxExporterError, RuntimeError) as error:
        told = str(error).split("\n", 1)[0]
        raise ConfigError(f"There is no ONNX graph for this model: {told} Use the engine torch.") from None
    finally:
        jaxtyping.config.update("jaxtyping_disable", before)
        for name in SYMBOLS:
            exporter.unregister_custom_op_symbolic(name, OPSET)


def _transposed(graph: Any, tensor: Any) -> Any:
    """The exporter knows no `mT`."""
    order = list(range(tensor.type().dim()))
    order[-2:] = order[-1], order[-2]
    return graph.op("Transpose", tensor, perm_i=order)


def _log_sum(graph: Any, first: Any, second: Any) -> Any:
    """log(e^a + e^b), which the exporter does not know either."""
    last = graph.op("Constant", value_t=torch.tensor([-1]))
    both = graph.op("Concat", *(graph.op("Unsqueeze", one, last) for one in (first, second)), axis_i=-1)
    return graph.op("ReduceLogSumExp", both, axes_i=[-1], keepdims_i=0)


def _windows(graph: Any, tensor: Any, axis: int, size: int, stride: int) -> Any:
    """All windows of one size along the last dimension, one place apart; the exporter walks through them one by one."""
    last, end = graph.op("Constant", value_t=torch.tensor([-1])), torch.iinfo(torch.int64).max
    parts = []
    for place in range(size):
        stop = end if place + 1 == size else place + 1 - size
        bounds = (graph.op("Constant", value_t=torch.tensor([bound])) for bound in (place, stop))
        parts.append(graph.op("Unsqueeze", graph.op("Slice", tensor, *bounds, last), last))
    return graph.op("Concat", *parts, axis_i=-1)


SYMBOLS = {
    "aten::mT": _transposed,
    "aten::logaddexp": _log_sum,
    "aten::unfold": parse_args("v", "i", "i", "i")(_windows),
}
