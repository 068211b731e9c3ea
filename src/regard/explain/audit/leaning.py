"""Where attention lies whatever the text says: on marks, on places, on rare or frequent pieces, near or far."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from regard.explain.attribution import Attribution
from regard.explain.behaviour import DISTANCES
from regard.explain.subject import Look, Subject

QUARTERS = ("first quarter", "second quarter", "third quarter", "last quarter")
FREQUENCIES = ("rarest", "rare", "frequent", "most frequent")


@dataclass(frozen=True)
class Share:
    """How much of the weight lies there, and how much would if it were spread evenly."""

    weight: float
    evenly: float


@dataclass(frozen=True)
class Spread:
    """What one text's attention put on each piece, the mean of its rows, and by distance where it has one."""

    weights: Float[np.ndarray, " S"]
    pieces: Int[np.ndarray, " S"]
    special: Bool[np.ndarray, " S"]
    near: Float[np.ndarray, "2 F"] | None


@dataclass(frozen=True)
class Leaning:
    """Shares of the weight by what a piece is: the first two of all weight, the others of the weight on text."""

    special: Share
    first: Share
    places: dict[str, Share]
    frequencies: dict[str, Share]
    distances: dict[str, Share]


def spread(subject: Subject, look: Look, shown: Attribution) -> Spread:
    """The columns of an attention map; weight that lies on none of them counts nowhere.

    Where one text asks another, the columns are those of the text that is asked.
    """
    weights_S = shown.weights.mean(0).astype(np.float64)
    special_S = np.array([unit.special for unit in subject.inputs.units], dtype=bool)
    weights_S, pieces_S = weights_S / max(weights_S.sum(), 1e-12), subject.pieces.cpu().numpy()
    asked_S = weights_S > 0 if look.at else np.ones_like(special_S)
    return Spread(weights_S[asked_S], pieces_S[asked_S], special_S[asked_S], _near(look, shown))


def _near(look: Look, shown: Attribution) -> Float[np.ndarray, "2 F"] | None:
    """Weight by distance between who asks and who is asked, found and even; of self-attention alone."""
    if look.kind != "self":
        return None
    rows, columns = shown.weights.shape
    # Outputs of a model that reads and writes one text ask from the place before their own.
    moved = columns - 1 if look.queries == "outputs" else 0
    away_QK = np.abs(np.arange(columns)[None] - np.arange(rows)[:, None] - moved)
    bins = np.stack([(away_QK >= low) & (away_QK <= high) for low, high in DISTANCES.values()])
    total = max(float(shown.weights.sum()), 1e-12)
    return np.stack([(bins * shown.weights).sum((1, 2)) / total, bins.mean((1, 2))])


def leaning(spreads: Sequence[Spread]) -> Leaning:
    """Shares of all texts, each counting alike."""
    pieces = [int(piece) for one in spreads for piece in one.pieces[~one.special]]
    counts = Counter(pieces)
    edges = np.quantile([counts[piece] for piece in pieces], (0.25, 0.5, 0.75))
    near = [one.near for one in spreads if one.near is not None]
    return Leaning(
        special=_share([(one.weights, one.special) for one in spreads]),
        first=_share([(one.weights, _first(one)) for one in spreads]),
        places=_shares([_text(one, _places(one)) for one in spreads], QUARTERS),
        frequencies=_shares([_text(one, _frequencies(one, counts, edges)) for one in spreads], FREQUENCIES),
        distances=_distances(near),
    )


def _share(parts: Sequence[tuple[Float[np.ndarray, " _"], Bool[np.ndarray, " _"]]]) -> Share:
    return Share(
        float(np.mean([weights[inside].sum() for weights, inside in parts])),
        float(np.mean([inside.mean() for _, inside in parts])),
    )


def _shares(
    texts: Sequence[tuple[Float[np.ndarray, " _"], Int[np.ndarray, " _"]]], names: Sequence[str]
) -> dict[str, Share]:
    return {name: _share([(weights, bins == number) for weights, bins in texts]) for number, name in enumerate(names)}


def _text(one: Spread, bins: Int[np.ndarray, " T"]) -> tuple[Float[np.ndarray, " T"], Int[np.ndarray, " T"]]:
    """The weight on the pieces that are text, as shares of it, and the bin of each."""
    weights_T = one.weights[~one.special]
    return weights_T / max(weights_T.sum(), 1e-12), bins


def _first(one: Spread) -> Bool[np.ndarray, " S"]:
    """The first piece that is text."""
    return np.arange(len(one.special)) == int((~one.special).argmax())


def _places(one: Spread) -> Int[np.ndarray, " T"]:
    """The quarter of the text each piece stands in."""
    count = int((~one.special).sum())
    return np.arange(count) * len(QUARTERS) // max(count, 1)


def _frequencies(one: Spread, counts: Mapping[int, int], edges: Float[np.ndarray, " E"]) -> Int[np.ndarray, " T"]:
    """The quartile of each piece by how often it occurs in the texts of the audit."""
    return np.searchsorted(edges, [counts[int(piece)] for piece in one.pieces[~one.special]])


def _distances(near: Sequence[Float[np.ndarray, "2 F"]]) -> dict[str, Share]:
    if not near:
        return {}
    found, even = np.mean(near, axis=0)
    return {name: Share(float(a), float(b)) for name, a, b in zip(DISTANCES, found, even, strict=True)}
