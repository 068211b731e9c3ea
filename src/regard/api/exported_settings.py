"""What a recipe asks around its search that an export cannot do: told in a sentence each, put aside to be verified."""

from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import Any

from regard.api.pipeline import Pipeline

# Settings of [predict], and what they are where nothing is asked.
NOTHING: dict[str, Any] = {
    "glossary": "",
    "simultaneous": None,
    "alignment": False,
    "marks": False,
    "echo": False,
    "chat": "",
    "system": "",
}
# For each target what it cannot do, and why; --engine torch can, with the bundle beside an export or inside it.
LOST = {
    "ctranslate2": {
        "glossary": "CTranslate2 cannot see to it that words appear",
        "simultaneous": "CTranslate2 cannot write while it reads",
    },
    "onnx": {"simultaneous": "its graphs are not asked to write while they read"},
    "shortlist": {"simultaneous": "what is written while reading is not searched"},
    "huggingface": {
        "glossary": "Transformers cannot see to it that words appear",
        "simultaneous": "Transformers cannot write while it reads",
        "alignment": "Transformers tells no alignment",
        "marks": "Transformers takes nothing out of a text",
        "chat": "no template of a conversation is written",
    },
}


def lost(pipeline: Pipeline, target: str) -> tuple[str, ...]:
    """A sentence for every such setting that the recipe has and this target cannot keep."""
    return tuple(_lost(pipeline.recipe, target))


def _lost(recipe: Any, target: str) -> Iterator[str]:
    predict: Any = getattr(recipe, "predict", None)
    # Beside the others stands the bundle.
    kept = "" if target == "huggingface" else ", and --engine torch has it"
    for name, why in LOST[target].items():
        if getattr(predict, name, NOTHING[name]) != NOTHING[name]:
            yield f"predict.{name}: {why}; it is left out{kept}."
    if target == "huggingface" and hasattr(recipe, "history") and recipe.history:
        yield f"history = {recipe.history}: no file of Transformers' says how many turns are read; it is left out."


def without(pipeline: Pipeline, names: Collection[str]) -> Pipeline:
    """The same with nothing asked of these settings."""
    recipe: Any = pipeline.recipe
    predict = getattr(recipe, "predict", None)
    asked = {name: NOTHING[name] for name in names if hasattr(predict, name)}
    if predict is None or not asked:
        return pipeline
    return replace(pipeline, recipe=recipe.model_copy(update={"predict": predict.model_copy(update=asked)}))
