"""From files of text to batches of tokens: readers, cleaning, the prepared store, batching by length. No torch."""

from regard.data.batching import Batch, Batches, BatchSettings, Plan, Position, Report, share
from regard.data.building import Encode, Encoding
from regard.data.cleaning import CLEANERS, Cleaner, cleaned
from regard.data.collating import Padded, collate, padded
from regard.data.corpora import Corpus, CorpusSettings
from regard.data.counts import Counts, LeftOut, Policy
from regard.data.hub import local
from regard.data.preparing import Progress, Rows, prepare
from regard.data.readers import READERS, read
from regard.data.rows import Column, Fault, Row, Source
from regard.data.shuffling import Mixture, shuffled
from regard.data.store import Joined, Store

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
    "Source",
    "Store",
    "cleaned",
    "collate",
    "local",
    "padded",
    "prepare",
    "read",
    "share",
    "shuffled",
]
