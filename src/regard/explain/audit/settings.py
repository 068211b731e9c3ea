"""How an audit is made: of which attention, on how many texts, and how hard each question is asked."""

from typing import Annotated

from pydantic import Field, NonNegativeInt, PositiveFloat, PositiveInt

from regard.explain.asking import Choice


class AuditSettings(Choice):
    """Which attention is audited, on how many texts, and what each text may cost."""

    rows: PositiveInt = 50
    seed: NonNegativeInt = 0
    # What the audit may take: fewer texts are read where the first tells that all would take longer.
    seconds: PositiveFloat | None = None
    # Texts for which bounds are looked for and every head is silenced, which costs most.
    few: NonNegativeInt = 10
    # Up to so many words of a text bounds are looked for.
    bounded: PositiveInt = 24
    permutations: PositiveInt = 5
    # Other distributions that are tried to move attention without moving the output.
    tries: PositiveInt = 8
    # How far a probability may move for an output to stay what it is.
    epsilon: Annotated[float, Field(gt=0, lt=1)] = 0.01
    # Random orders in which words are taken away.
    randoms: PositiveInt = 10
    # Shares of the words that are taken away, as in DeYoung et al. 2020.
    shares: tuple[Annotated[float, Field(gt=0, le=1)], ...] = (0.01, 0.05, 0.1, 0.2, 0.5)
    # Steps of integrated gradients.
    steps: PositiveInt = 16
