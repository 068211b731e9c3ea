"""How a model is meant to be searched: generation_config.json, or in older folders config.json, as our settings, and
our settings as such a file."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from regard.convert.huggingface import folder as files
from regard.decode import SearchSettings

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
    # The most pieces that may follow a prompt, where the file counts them alone.
    pieces: int | None = None
    # Every piece that ends a text, and the one that an output has to begin with.
    ends: tuple[int, ...] = ()
    forced: int | None = None
    # Pieces that are never to be written.
    suppressed: tuple[int, ...] = ()


class Written(NamedTuple):
    """What a generation_config.json says of search, and a sentence for every setting that it cannot hold."""

    values: dict[str, Any]
    notes: tuple[str, ...]


def meant(folder: Path, positions: int | None) -> Meant:
    """What a folder says of search; a limit is one only where it is below the positions there are."""
    config, own = files.config(folder), files.table(folder / FILE) if (folder / FILE).exists() else {}
    told, ends = config | own, (*_ends(config), *_ends(own))
    left = [f"{name} = {told[name]}" for name, neutral in NEUTRAL.items() if told.get(name) not in neutral]
    search = {**_method(told), **_beams(told), **_limit(told, positions)}
    return Meant(
        search,
        tuple(left),
        _pieces(told, positions),
        tuple(dict.fromkeys(ends)),
        told.get("forced_bos_token_id"),
        _numbers(told.get("suppress_tokens")),
    )


def written(search: SearchSettings, most: int | None, positions: int) -> Written:
    """How Transformers' own search comes nearest to ours; `most` new pieces an output, None: it depends on the source.

    Unless told, Transformers ends a text after 20 pieces and samples from the 50 likeliest.
    """
    limit = {"max_length": positions} if most is None else {"max_new_tokens": min(most, positions - 1)}
    several = {"num_return_sequences": search.best} if search.best > 1 else {}
    return Written(
        {**limit, **_way(search), **several, "no_repeat_ngram_size": search.no_repeat},
        tuple(_unsaid(search, most, positions)),
    )


def _way(search: SearchSettings) -> dict[str, Any]:
    """What a method is there; one that is neither greedy nor sampling has beams."""
    if search.method == "greedy":
        return {"num_beams": 1, "do_sample": False}
    if search.method == "sample":
        drawn = {"do_sample": True, "temperature": search.temperature, "top_p": search.top_p}
        return {**drawn, "top_k": search.top_k or 0, **({"min_p": search.min_p} if search.min_p else {})}
    stop = True if search.stop == "first" else "never"
    return {"num_beams": search.beams, "length_penalty": _power(search), "early_stopping": stop}


def _power(search: SearchSettings) -> float:
    """The power of the length that Transformers is to divide by."""
    return float(getattr(search.penalty, "alpha", 0.0))


def _unsaid(search: SearchSettings, most: int | None, positions: int) -> Iterator[str]:
    """What of a search has no counterpart, and what was written instead."""
    beams = search.method not in ("greedy", "sample")
    if beams and search.method != "beam":
        yield f"search.method = {search.method}: Transformers has none such; num_beams = {search.beams} is written."
    if beams and search.length.name not in ("none", "average"):
        yield (
            f"search.length = {search.length}: Transformers divides by a power of the length alone; "
            f"length_penalty = {_power(search)} is written."
        )
    if beams and search.coverage:
        yield f"search.coverage = {search.coverage}: Transformers knows no coverage; it is left out."
    if search.method == "sample" and search.seed:
        yield f"search.seed = {search.seed}: Transformers draws as torch is seeded; it is left out."
    if most is None:
        yield (
            f"search.longest_factor = {search.longest_factor}: no limit of Transformers' grows with the source; "
            f"max_length = {positions}, all positions there are, is written."
        )


def _method(told: Mapping[str, Any]) -> dict[str, Any]:
    """Nothing where nothing is said: what is right then is the task's to know."""
    beams, sampled = told.get("num_beams"), told.get("do_sample")
    if sampled is True:
        named = {"temperature": told.get("temperature"), "top_p": told.get("top_p", 1.0), "min_p": told.get("min_p")}
        top = told.get("top_k", TOP) or False
        drawn = {name: one for name, one in named.items() if one}
        return {"method": "sample", "top_k": top, **drawn, **_several(told)}
    if isinstance(beams, int) and beams > 1:
        return {"method": "beam", "beams": beams, **_several(told)}
    return {"method": "greedy"} if beams == 1 or sampled is False else {}


def _several(told: Mapping[str, Any]) -> dict[str, Any]:
    return {"best": told["num_return_sequences"]} if told.get("num_return_sequences") else {}


def _beams(told: Mapping[str, Any]) -> dict[str, Any]:
    """How hypotheses are compared and what none may hold."""
    found: dict[str, Any] = {}
    alpha = told.get("length_penalty")
    if isinstance(alpha, int | float) and alpha >= 0:
        found["length"] = {"name": "average", "alpha": float(alpha)} if alpha else {"name": "none"}
    if told.get("early_stopping") == "never":
        found["stop"] = "sure"
    if told.get("no_repeat_ngram_size") is not None:
        found["no_repeat"] = told["no_repeat_ngram_size"]
    return found


def _limit(told: Mapping[str, Any], positions: int | None) -> dict[str, Any]:
    """Transformers counts the piece that begins an output, we do not."""
    if (most := _pieces(told, positions)) is not None:
        return {"longest_factor": 0.0, "longest_extra": most}
    longest = told.get("max_length")
    if not isinstance(longest, int) or not 1 < longest < (positions or 0):
        return {}
    return {"longest_factor": 0.0, "longest_extra": longest - 1}


def _ends(told: Mapping[str, Any]) -> tuple[int, ...]:
    return _numbers(told.get("eos_token_id"))


def _numbers(written: Any) -> tuple[int, ...]:
    """One piece or a list of them."""
    listed = written if isinstance(written, list) else [written]
    return tuple(piece for piece in listed if isinstance(piece, int) and not isinstance(piece, bool))


def _pieces(told: Mapping[str, Any], positions: int | None) -> int | None:
    """A limit of new pieces alone, which rules over one of all."""
    most = told.get("max_new_tokens")
    return most if isinstance(most, int) and 0 < most < (positions or 0) else None
