"""One prediction explained: what counted for what, by the method that is named."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from regard.config import override
from regard.errors import RequestError
from regard.explain import Attribution, Subject
from regard.explain.contrast import instead as set_against
from regard.explain.methods import METHODS, explain, method
from regard.explain.words import by_words

if TYPE_CHECKING:
    from regard.api.pipeline import Input, Pipeline

# What is shown if nobody says what: attention where the model has it, otherwise what a gradient tells.
WITH_ATTENTION, WITHOUT = "weights", "integrated_gradients"


def explained(
    pipeline: "Pipeline",
    given: "Input",
    name: str = "",
    target: str | None = None,
    changes: Iterable[str] = (),
    words: bool = True,
    instead: str | None = None,
) -> Attribution:
    """How much each word of an input counts for each word of its output, or of the `target` that is given.

    `changes` are settings of the method, such as `layer=0`; without `words` pieces stay pieces. With `instead`, what
    speaks for the output and against that one, where they first differ.
    """
    found = subject(pipeline, given, target)
    if instead is not None:
        found = set_against(found, subject(pipeline, given, instead))
        _refuse_attention(name)
    chosen = name or (WITH_ATTENTION if found.looks else WITHOUT)
    settings = method(chosen, found).settings.read(override({}, changes), f"method {chosen}")
    made = explain(found, chosen, settings)
    return by_words(made) if words else made


def _refuse_attention(name: str) -> None:
    """Attention is the same whichever output it is held against."""
    if name in METHODS and METHODS[name].needs == "attention":
        others = ", ".join(other for other, one in METHODS.items() if one.needs != "attention")
        raise RequestError(
            f"Method {name} shows attention, which does not tell two outputs apart; use one of {others}."
        )


def subject(pipeline: "Pipeline", given: "Input", target: str | None = None) -> Subject:
    """A prediction as methods ask for it."""
    row = pipeline.row(given)
    if not any(text.strip() for text in row.values()):
        raise RequestError("There is no text to explain: give at least one word.")
    return pipeline.task.subject(pipeline.model, row, pipeline.recipe, target)


def methods() -> dict[str, str]:
    """Every method by name, with what it cannot tell."""
    return {name: found.caveat for name, found in METHODS.items()}
