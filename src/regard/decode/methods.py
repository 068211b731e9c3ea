"""Methods of search by name."""

from regard.decode.beam import by_beam, by_groups, greedily
from regard.decode.sampling import by_chance
from regard.decode.sought import Tracks

SEARCHES: dict[str, Tracks] = {
    "greedy": greedily,
    "beam": by_beam,
    "diverse": by_groups,
    "sample": by_chance,
}
