"""Every way to explain a prediction, by name."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from regard.config import Settings
from regard.errors import RequestError, unknown
from regard.explain import flow, gradients, integrated, lime, norms, occlusion, rollout, shapley, weights, zeroing
from regard.explain.attribution import Attribution
from regard.explain.subject import Subject

Needs = Literal["attention", "gradients", "scores"]


@dataclass(frozen=True)
class Method:
    """What it calls, what can be set, what it cannot tell, and what it needs of a model."""

    call: Callable[[Subject, Any], Attribution]
    settings: type[Settings]
    caveat: str
    needs: Needs

    def applies(self, subject: Subject) -> bool:
        """Whether the model has what the method needs; a text may still be too long for it."""
        return self.needs != "attention" or bool(subject.looks)


METHODS: dict[str, Method] = {
    "weights": Method(weights.weights, weights.WeightsSettings, weights.CAVEAT, "attention"),
    "rollout": Method(rollout.rollout, rollout.RolloutSettings, rollout.CAVEAT, "attention"),
    "flow": Method(flow.flow, flow.FlowSettings, flow.CAVEAT, "attention"),
    "attention_gradient": Method(
        gradients.attention_gradient, gradients.AttentionGradientSettings, gradients.CAVEAT, "attention"
    ),
    "norms": Method(norms.norms, norms.NormsSettings, norms.CAVEAT, "attention"),
    "value_zeroing": Method(zeroing.value_zeroing, zeroing.ZeroingSettings, zeroing.CAVEAT, "attention"),
    "input_gradient": Method(
        integrated.input_gradient, integrated.InputGradientSettings, integrated.GRADIENT_CAVEAT, "gradients"
    ),
    "integrated_gradients": Method(
        integrated.integrated_gradients, integrated.IntegratedSettings, integrated.INTEGRATED_CAVEAT, "gradients"
    ),
    "occlusion": Method(occlusion.occlusion, occlusion.OcclusionSettings, occlusion.CAVEAT, "scores"),
    "lime": Method(lime.lime, lime.LimeSettings, lime.CAVEAT, "scores"),
    "shapley": Method(shapley.shapley, shapley.ShapleySettings, shapley.CAVEAT, "scores"),
}


def method(name: str, subject: Subject | None = None) -> Method:
    """The method of that name, if the subject's model has what it needs."""
    if name not in METHODS:
        raise RequestError(unknown("method", name, METHODS))
    found = METHODS[name]
    if subject is not None and not found.applies(subject):
        others = ", ".join(other for other, one in METHODS.items() if one.applies(subject))
        raise RequestError(f"Method {name} reads attention, and this model has none; use one of {others}.")
    return found


def explain(subject: Subject, name: str, settings: Settings | None = None) -> Attribution:
    """The prediction explained by the method of that name, with its default settings if none are given."""
    found = method(name, subject)
    chosen = found.settings() if settings is None else settings
    if not isinstance(chosen, found.settings):
        raise RequestError(f"{type(chosen).__name__} are no settings of {name}; give {found.settings.__name__}.")
    return found.call(subject, chosen)
