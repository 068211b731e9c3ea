"""Tokenizers and what they make of the texts: sizes, unknown pieces, round trips, lengths."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Integer

from regard.api.findings import Level
from regard.api.preflight.report import Notes
from regard.api.preflight.texts import Texts, field
from regard.api.rehearsal import tokenizers
from regard.api.training import Training
from regard.tasks import Task
from regard.text import SPECIALS, Tokenizer, Tokenizing

SAMPLE = 2000
# Shares and counts beyond which something is worth a warning.
UNKNOWN, CHANGED, RARE, FEW = 0.01, 0.05, 0.3, 5
BARS, WIDE = 8, 30


def look_at_tokenizers(task: Task, texts: Texts, notes: Notes) -> None:
    """Sizes, unknown pieces on validation, and whether texts come back as they were, for each side."""
    rows = [texts.each(row)[0] for row in texts.valid[:SAMPLE]]
    for name, tokenizer in tokenizers(task).items():
        valid = field(rows, name)
        _look_at_unknown(name, tokenizer, valid, notes)
        if not isinstance(tokenizer, Tokenizer):
            notes.add("ok", _named("tokenizer", name, task), f"{tokenizer.size:,} pieces, came with the model.")
            continue
        small = tokenizer.size < tokenizer.settings.size
        remedy = f" Set the size to {tokenizer.size} or less." if small else ""
        notes.add("warning" if small else "ok", _named("tokenizer", name, task), f"{tokenizer}.{remedy}")
        _look_at_round_trip(name, tokenizer, valid, notes)


def _look_at_unknown(name: str, tokenizer: Tokenizing, valid: Sequence[str], notes: Notes) -> None:
    counts = [(encoded.ids.count(tokenizer.unknown), len(encoded.ids)) for encoded in tokenizer.encode_many(valid)]
    rate = sum(unknown for unknown, _ in counts) / max(sum(length for _, length in counts), 1)
    notes.facts[f"unknown_{name}"] = rate
    told = f"{rate:.2%} of the pieces of {len(valid):,} validation lines are unknown"
    if rate > UNKNOWN:
        remedy = "what they stand for is lost; raise the size, lower `least`, or choose kind = byte_bpe"
        notes.add("warning", f"unknown {name}", f"{told}: {remedy}.")
    else:
        notes.add("ok", f"unknown {name}", f"{told}.")


def _look_at_round_trip(name: str, tokenizer: Tokenizer, valid: Sequence[str], notes: Notes) -> None:
    changes = [(text, change) for text in valid if (change := tokenizer.change(text)) is not None]
    share = 1 - len(changes) / max(len(valid), 1)
    notes.facts[f"round_trip_{name}"] = share
    told = f"{share:.1%} of {len(valid):,} validation lines come back from their pieces as they were"
    if not changes:
        notes.add("ok", f"round trip {name}", f"{told}.")
        return
    text, change = changes[0]
    around = text[max(change.start - 15, 0) : change.start + len(change.before) + 15]
    level: Level = "warning" if len(changes) > CHANGED * len(valid) else "note"
    example = f"in {around!r} {change.before!r} became {change.after!r}"
    notes.add(level, f"round trip {name}", f"{told}; {example}. This tokenizer keeps {tokenizer.keeps}.")


def look_at_pieces(run: Training, notes: Notes) -> None:
    """Pieces that training never or hardly shows: they cost parameters and are learned from nothing."""
    for name, tokenizer in tokenizers(run.task).items():
        if not isinstance(tokenizer, Tokenizer) or not _columns(run, name):
            continue
        counts = _counts(run, _columns(run, name), tokenizer.size)
        own = counts[len(SPECIALS) + len(tokenizer.settings.extra) :]
        never, rarely = int((own == 0).sum()), int((own < FEW).sum())
        told = f"{never:,} of {len(own):,} pieces never occur in training, {rarely:,} fewer than {FEW} times"
        if rarely > RARE * len(own):
            remedy = "the vocabulary is larger than the data can teach; lower the size"
            notes.add("warning", _named("pieces", name, run.task), f"{told}: {remedy}.")
        else:
            notes.add("ok", _named("pieces", name, run.task), f"{told}.")


def _is_joint(task: Task) -> bool:
    return "tokenizer.json" in task.files()


def _named(what: str, name: str, task: Task) -> str:
    """What a finding is about; of a joint tokenizer the same is found for every field, and told once."""
    return what if _is_joint(task) else f"{what} {name}"


def _columns(run: Training, name: str) -> list[str]:
    """The columns of the store cut by the tokenizer of a field: its own, or all where it is joint."""
    columns = [column for column in run.stores.train.columns if column in run.task.cut()]
    return columns if _is_joint(run.task) or name not in columns else [name]


def _counts(run: Training, columns: Sequence[str], size: int) -> Integer[np.ndarray, " V"]:
    """How often each piece occurs in training."""
    store = run.stores.train
    pieces = [store[number][name] for number in range(0, len(store), run.task.ways) for name in columns]
    return np.bincount(np.concatenate(pieces), minlength=size)


def look_at_lengths(run: Training, notes: Notes) -> None:
    """How long the examples are, and what the limit would cut."""
    # Of what stands there in several ways, the first of them.
    lengths = np.concatenate([table[:: run.task.ways] for table in run.stores.train.lengths])
    longest = run.recipe.batches.longest
    for place, name in enumerate(run.stores.train.columns):
        column = lengths[:, place]
        half, most = (int(np.quantile(column, share)) for share in (0.5, 0.99))
        told = f"half have at most {half} pieces, 99 of 100 at most {most}, the longest {int(column.max())}"
        notes.add("ok", f"lengths {name}", f"{told}\n{histogram(column)}")
        notes.facts[f"longest_{name}"] = int(column.max())
    if longest is not None:
        cut = int((lengths.max(1) > longest).sum())
        level: Level = "error" if cut == len(lengths) else "warning" if cut > 0.01 * len(lengths) else "ok"
        told = f"batches.longest = {longest} leaves out {cut:,} of {len(lengths):,} examples"
        notes.add(level, "longest", f"{told}; raise it to keep them." if cut else f"{told}.")


def histogram(lengths: Integer[np.ndarray, " N"]) -> str:
    """Lengths as bars of text, the last range open to the longest.

    >>> print(histogram(np.array([1, 2, 2, 9])))
      1 to   2  ##############################  3
      9 to   9  ##########                      1
    """
    step = max(1, -(-int(np.quantile(lengths, 0.99)) // (BARS - 1)))
    places = np.minimum((lengths.astype(np.int64) - 1).clip(min=0) // step, BARS - 1)
    counts = np.bincount(places, minlength=BARS)
    lines = []
    for place in np.flatnonzero(counts).tolist():
        inside = lengths[places == place]
        bar = "#" * max(1, round(WIDE * counts[place] / counts.max()))
        lines.append(f"{int(inside.min()):3} to {int(inside.max()):3}  {bar:{WIDE}}  {counts[place]:,}")
    return "\n".join(lines)
