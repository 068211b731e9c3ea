"""How a model is meant to be searched: generation_config.json, or in older folders config.json, as our settings."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from regard.convert.huggingface import folder as files

FILE = "generation_config.json"
# What changes outputs and has no setting of ours, unless it has the value that changes nothing.
NEUTRAL: dict[str, tuple[Any, ...]] = {
    "min_length": (None, 0),
    "min_new_tokens": (None, 0),
    "repetition_penalty": (None, 1.0),
    "encoder_no_repeat_ngram_size": (None, 0),
    "num_beam_groups": (None, 1),
    "typical_p": (None, 1.0),
    "penalty_alpha": (None, 0.0),
}
# So many of the likeliest pieces Transformers samples from where nothing is said.
TOP = 50


class Meant(NamedTuple):
    """Settings of a [search] table, and what was left of the file because there is nothing like it here."""

    search: dict[str, Any]
    left: tuple[str, ...]


def meant(folder: Path, positions: int | None) -> Meant:
    """What a folder says of search; a limit is one only where it is below the positions there are."""
    told = files.config(folder) | (files.table(folder / FILE) if (folder / FILE).exists() else {})
    left = [f"{name} = {told[name]}" for name, neutral in NEUTRAL.items() if told.get(name) not in neutral]
    return Meant({**_method(told), **_beams(told), **_limit(told, positions)}, tuple(left))


def _method(told: Mapping[str, Any]) -> dict[str, Any]:
    """Nothing where nothing is said: what is right then is the task's to know."""
    beams, sampled = told.get("num_beams"), told.get("do_sample")
    if sampled is True:
        named = {"temperature": told.get("temperature"), "top_p": told.get("top_p", 1.0), "min_p": told.get("min_p")}
        top = told.get("top_k", TOP) or False
        return {"method": "sample", "top_k": top, **{name: one for name, one in named.items() if one}}
    if isinstance(beams, int) and beams > 1:
        return {"method": "beam", "beams": beams}
    return {"method": "greedy"} if beams == 1 or sampled is False else {}


def _beams(told: Mapping[str, Any]) -> dict[str, Any]:
    """How hypotheses are compared and what none may hold."""
    found: dict[str, Any] = {}
    alpha = told.get("length_penalty")
    if isinstance(alpha, int | float) and alpha >= 0:
        found["length"] = {"name": "average", "alpha": float(alpha)} if alpha else {"name": "none"}
    if told.get("early_stopping") == "never":
        found["stop"] = "sure"
    if told.get("no_repeat_ngram_size"):
        found["no_repeat"] = told["no_repeat_ngram_size"]
    return found


def _limit(told: Mapping[str, Any], positions: int | None) -> dict[str, Any]:
    """Transformers counts the piece that begins an output, we do not."""
    longest = told.get("max_length")
    if not isinstance(longest, int) or not 1 < longest < (positions or 0):
        return {}
    return {"longest_factor": 0.0, "longest_extra": longest - 1}
