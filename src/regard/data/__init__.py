"""From files of text to batches of tokens: readers, cleaning, the prepared store, batching by length. No torch."""

from regard.data.batching import Batch, Batches, BatchSettings, Plan, Position, Report, share
from regard.data.building import Encode, Encoding
from regard.data.cleaning import CLEANERS, Cleaner, cleaned, comparing
from regard.data.collating import Padded, collate, padded
from regard.data.corpora import Corpus
from regard.data.counts import Counts, LeftOut, Policy, Tally
from regard.data.hub import local
from regard.data.jsonlines import Structure
from regard.data.preparing import Progress, prepare
from regard.data.readers import READERS, read
from regard.data.rows import Column, Fault, Row, Rows, Source
from regard.data.settings import CorpusSettings
from regard.data.shares import Share
from regard.data.shuffling import Mixture, shuffled
from regard.data.store import Examples, Joined, Store
from regard.data.together import Together

__all__ = [
    "CLEANERS",
    "READERS",
    "Batch",
    "BatchSettings",
    "Batches",
    "Cleaner",
    "Column",
    "Corpus",
    "CorpusSettings",
    "Counts",
    "Encode",
    "Encoding",
    "Examples",
    "Fault",
    "Joined",
    "LeftOut",
    "Mixture",
    "Padded",
    "Plan",
    "Policy",
    "Position",
    "Progress",
    "Report",
    "Row",
    "Rows",
    "Share",
    "Source",
    "Store",
    "Structure",
    "Tally",
    "Together",
    "cleaned",
    "collate",
    "comparing",
    "local",
    "padded",
    "prepare",
    "read",
    "share",
    "shuffled",
]
