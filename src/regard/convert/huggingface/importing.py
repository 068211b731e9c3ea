"""Reading a model: its settings from config.json, then its parameters, every one of which has to find its place."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from regard.convert.huggingface import folder as files
from regard.convert.huggingface.architecture import Architecture, Config
from regard.convert.huggingface.bert import BERT
from regard.convert.huggingface.distilbert import DISTILBERT
from regard.convert.huggingface.gpt2 import GPT2
from regard.convert.huggingface.llama import LLAMA, QWEN2, QWEN3
from regard.convert.huggingface.roberta import ROBERTA, XLM_ROBERTA
from regard.convert.huggingface.rules import stars
from regard.convert.huggingface.sequence import BART, BLENDERBOT, MARIAN, MBART, PEGASUS
from regard.errors import ConfigError, ModelError, unknown
from regard.models import Labels, StackSettings, Tags, Vocabulary

ARCHITECTURES: dict[str, Architecture] = {
    "bert": BERT,
    "distilbert": DISTILBERT,
    "roberta": ROBERTA,
    "xlm-roberta": XLM_ROBERTA,
    "marian": MARIAN,
    "bart": BART,
    "mbart": MBART,
    "pegasus": PEGASUS,
    "blenderbot": BLENDERBOT,
    "gpt2": GPT2,
    "llama": LLAMA,
    "qwen2": QWEN2,
    "qwen3": QWEN3,
}


@dataclass(frozen=True)
class Imported:
    """A model read from elsewhere, ready to predict; `left` names the tensors that have no place in it, `above` those
    of its head, `labels` the classes of that, and `several` says that a text may be of any number of them."""

    architecture: str
    settings: StackSettings
    vocabulary: Vocabulary | int
    model: nn.Module
    head: nn.Module | None
    left: tuple[str, ...]
    above: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    several: bool = False


def settings(config: Mapping[str, Any]) -> StackSettings:
    """Our settings for the model a config.json describes."""
    return _described(config)[1].settings()


def vocabulary(config: Mapping[str, Any]) -> Vocabulary | int:
    """How many pieces that model knows, and for what generates also which ones begin and end a text."""
    return _described(config)[1].vocabulary()


def read(folder: Path) -> Imported:
    """The model in a folder of config.json and safetensors, in single precision and ready to predict."""
    values = files.config(folder)
    architecture, config = _described(values)
    tensors = architecture.named(files.tensors(folder))
    # Shapes are compared on a model without memory: what config.json claims may be larger than the machine.
    try:
        with torch.device("meta"):
            skeleton = _Built.of(architecture, config, tensors)
    # Torch's, of sizes it cannot even count.
    except (TypeError, RuntimeError) as error:
        raise ModelError("config.json describes a model larger than any machine; correct its sizes.") from error
    ours = skeleton.parameters()
    found = parameters(architecture, tensors, ours)
    built = _Built.of(architecture, config, tensors)
    built.fill(found)
    places = {name: architecture.places(name, ours) for name in sorted(tensors)}
    return Imported(
        values["model_type"],
        config.settings(),
        config.vocabulary(),
        built.model,
        built.head,
        left=tuple(name for name, there in places.items() if not there),
        above=tuple(name for name, there in places.items() if there and there[0].startswith("head.")),
        labels=config.labels() if isinstance(built.head, Tags | Labels) else (),
        several=config.several(),
    )


def parameters(
    architecture: Architecture, tensors: Mapping[str, Tensor], ours: Mapping[str, Tensor]
) -> dict[str, Tensor]:
    """Their tensors under our names, for `ours`: every parameter by name, a tied one by each of its names.

    Nothing may be left over and nothing missing; a tied one is given once, and what a file has more often must agree.
    """
    first = {id(ours[name]): name for name in reversed(list(ours))}
    found: dict[str, Tensor] = {}
    for name, tensor in architecture.named(tensors).items():
        for place, part in _placed(architecture, name, tensor, ours).items():
            once = first[id(ours[place])]
            if once in found and not torch.equal(found[once], part):
                raise ModelError(f"{name!r} differs from {architecture.back(once)[0]!r}, though the model ties them.")
            found[once] = part
    missing = [name for name in ours if first[id(ours[name])] not in found]
    return found | {first[id(ours[name])]: _absent(architecture, name, ours[name]) for name in missing}


class _Built(NamedTuple):
    model: nn.Module
    head: nn.Module | None

    @classmethod
    def of(cls, architecture: Architecture, config: Config, tensors: Mapping[str, Tensor]) -> "_Built":
        """The model, and the head above it if there are parameters for one; as after training."""
        model = architecture.model(config.settings(), config.vocabulary()).eval()
        head = next((one for one in architecture.heads if one.stands(config, tensors)), None)
        return cls(model, None if head is None else head.build(config, model).eval())

    def parameters(self) -> dict[str, nn.Parameter]:
        named = dict(self.model.named_parameters(remove_duplicate=False))
        above = [] if self.head is None else self.head.named_parameters(remove_duplicate=False)
        return named | {f"head.{name}": parameter for name, parameter in above}

    @torch.no_grad()
    def fill(self, found: Mapping[str, Tensor]) -> None:
        named = self.parameters()
        for name, tensor in found.items():
            named[name].copy_(tensor)


def _described(config: Mapping[str, Any]) -> tuple[Architecture, Config]:
    name = config.get("model_type")
    if not isinstance(name, str):
        raise ConfigError(f"config.json: model_type is not given; Regard reads {', '.join(ARCHITECTURES)}.")
    if name not in ARCHITECTURES:
        raise ConfigError(f"config.json: {unknown('model_type', name, ARCHITECTURES)}")
    return ARCHITECTURES[name], ARCHITECTURES[name].config.read(config, "config.json")


def _placed(architecture: Architecture, name: str, tensor: Tensor, ours: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """One of their tensors as one or several of ours; none for what may be left behind."""
    places, rule, left = architecture.places(name, ours), architecture.rule(name), architecture.leaves(name)
    if not places and left is not None and left.harmless(tensor):
        return {}
    if rule is None or not places:
        raise ModelError(f"{name!r} has no place in the model that config.json describes; correct one of the two.")
    _check(name, tensor, rule.form.to_theirs([ours[place] for place in places]))
    return dict(zip(places, rule.form.to_ours(tensor), strict=True))


def _check(name: str, tensor: Tensor, expected: Tensor) -> None:
    if tensor.shape != expected.shape:
        raise ModelError(
            f"{name!r} has shape {list(tensor.shape)}, in the model that config.json describes {list(expected.shape)}; "
            "correct one of the two."
        )
    if not tensor.is_floating_point():
        raise ModelError(
            f"{name!r} holds numbers of type {tensor.dtype}, which are no parameters; give a model not quantized."
        )


def _absent(architecture: Architecture, name: str, like: Tensor) -> Tensor:
    """Zeros for a parameter that may be missing."""
    theirs = architecture.back(name)
    zero = architecture.zero
    if zero is None or all(stars(zero, one) is None for one in theirs):
        raise ModelError(f"{' or '.join(map(repr, theirs))} is missing; the model that config.json describes needs it.")
    return torch.zeros(like.shape)
