"""What each head does, in words and figures: where more of its weight lies than even weight would have there."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from regard.explain.behaviour import CLEARLY, SHARES, behaviour
from regard.explain.subject import Subject

# What stands where a share is of, in words.
PLACES = {
    "previous": "the piece before",
    "next": "the piece after",
    "itself": "the piece itself",
    "same_word": "the same word elsewhere",
    "special": "marks such as the end",
    "first": "the first piece",
    "rarest": "the rarest piece",
    "alignment": "the linked piece",
}


def doing(subjects: Sequence[Subject], counts: Counter[int]) -> dict[str, str]:
    """Of each head that clearly does something: where its weight lies, how much of it, and how much if it were even.

    Texts are looked at one by one, for those that are read in several goes have looks of their own.
    """
    texts = [behaviour([subject], counts) for subject in subjects]
    found, chance = (_mean([getattr(one, part).figures for one in texts]) for part in ("found", "chance"))
    return {str(head): told for head, told in zip(texts[0].found.heads, _told(found, chance), strict=True) if told}


def _mean(figures: Sequence[Float[np.ndarray, "heads F"]]) -> Float[np.ndarray, "heads shares"]:
    """The mean over the texts that have a figure; 0 where none has, so that it is nobody's most."""
    stacked = np.stack(figures)[:, :, : len(SHARES)]
    known = ~np.isnan(stacked)
    return np.where(known, stacked, 0.0).sum(0) / np.maximum(known.sum(0), 1)


def _told(found: Float[np.ndarray, "heads F"], chance: Float[np.ndarray, "heads F"]) -> list[str]:
    best = (found - chance).argmax(-1)
    return [
        f"{PLACES[SHARES[most]]}: {found[head, most]:.0%}, {chance[head, most]:.0%} if even"
        if found[head, most] - chance[head, most] >= CLEARLY
        else ""
        for head, most in enumerate(best.tolist())
    ]
