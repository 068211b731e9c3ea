"""Search over any model that generates; which model it is, it never asks."""

from regard.decode.coverage import Looking
from regard.decode.ensemble import MEANS, Ensemble
from regard.decode.greedy import greedy
from regard.decode.hypotheses import Hypothesis, Request
from regard.decode.lengths import LENGTHS
from regard.decode.methods import SEARCHES
from regard.decode.rescoring import force
from regard.decode.searchers import Asked, Progressing, Searcher, Stepwise, searcher_of
from regard.decode.searching import search, searched, stream
from regard.decode.settings import SearchSettings
from regard.decode.simultaneous import Interpreted, Latency, latency, monotonic, wait_k

__all__ = [
    "LENGTHS",
    "MEANS",
    "SEARCHES",
    "Asked",
    "Ensemble",
    "Hypothesis",
    "Interpreted",
    "Latency",
    "Looking",
    "Progressing",
    "Request",
    "SearchSettings",
    "Searcher",
    "Stepwise",
    "force",
    "greedy",
    "latency",
    "monotonic",
    "search",
    "searched",
    "searcher_of",
    "stream",
    "wait_k",
]
