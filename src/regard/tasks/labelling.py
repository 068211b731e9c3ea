"""The labels texts may have: their names in order, how often training has each, and what is odd about them."""

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from regard.data import Tally
from regard.errors import DataError
from regard.metrics.labels import SEPARATOR, labels

FILE = "labels.json"
# A label so many times as frequent as another is worth a remark; so many names are told, the rest counted.
IMBALANCE, NAMED = 10, 5
# A share is kept as so many of 10,000. Shares of one label a text may miss 1 by this much, as rounded ones do.
WHOLE, SLACK = 10_000, 0.01


@dataclass(frozen=True)
class Labels:
    """Labels sorted by name, and how many training rows have each; with `several` a row may have any number, with
    `soft` a row may have a share of each."""

    names: tuple[str, ...]
    counts: tuple[int, ...]
    several: bool = False
    soft: bool = False

    @classmethod
    def learn(cls, fields: Iterable[str], several: bool, soft: bool = False) -> "Labels":
        """The labels of these rows."""
        found = counted(fields, several, soft)
        if not found:
            raise DataError("No row has a label; there is nothing to learn.")
        names = sorted(found)
        return cls(tuple(names), tuple(found[name] for name in names), several, soft)

    @classmethod
    def load(cls, files: Mapping[str, str], several: bool, soft: bool = False) -> "Labels":
        """The labels as `files` gave them."""
        if FILE not in files:
            raise DataError(f"There is no {FILE}; without it nobody knows what the classes are called.")
        try:
            stored = json.loads(files[FILE])
            names, counts = tuple(map(str, stored["labels"])), tuple(map(int, stored["counts"]))
        except (ValueError, TypeError, KeyError) as error:
            raise DataError(f"{FILE} is damaged ({error}); it has to hold labels and counts.") from None
        if not names or len(names) != len(counts) or len(set(names)) != len(names):
            raise DataError(f"{FILE} is damaged: {len(names)} labels, each to be named once, and {len(counts)} counts.")
        return cls(names, counts, several, soft)

    def files(self) -> dict[str, str]:
        told = {"labels": self.names, "counts": self.counts}
        return {FILE: json.dumps(told, ensure_ascii=False, indent=1) + "\n"}

    @cached_property
    def places(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self.names)}

    @property
    def unseen(self) -> int:
        """What stands for a label that training does not have."""
        return len(self.names)

    def encode(self, field: str) -> list[int]:
        """The numbers of a field's labels; where there may be several, those training has, else always one; where they
        may be soft, each with its share of 10,000 after it."""
        if self.soft:
            parts = {self.places[name]: share for name, share in self._shares_of(field).items() if name in self.places}
            kept = ((place, round(share * WHOLE)) for place, share in sorted(parts.items()))
            return [number for place, amount in kept if amount for number in (place, amount)]
        if not self.several:
            return [self.places.get(field.strip(), self.unseen)]
        return sorted(self.places[label] for label in labels(field) if label in self.places)

    def _shares_of(self, field: str) -> dict[str, float]:
        """The share of each label, those of one label a text made to add up to 1."""
        found = shares(field)
        if found is None:
            return dict.fromkeys(named(field, self.several, soft=True), 1.0)
        total = 1.0 if self.several else sum(found.values())
        return {name: share / total for name, share in found.items()}

    @property
    def weights(self) -> tuple[float, ...]:
        """rows / (classes x rows of the class): each class weighs the same, and a row on average 1."""
        rows = sum(self.counts)
        return tuple(rows / (len(self.counts) * max(count, 1)) for count in self.counts)

    def strange(self, field: str) -> list[str]:
        """The labels of a field that training does not have; of soft ones those that count as right."""
        return sorted({*named(field, self.several, self.soft)} - {*self.names})

    def remarks(self, train: Iterable[tuple[str, str]]) -> list[str]:
        """What is odd about the labels of training, which are given with where they stand."""
        places = dict[str, Tally]()
        for place, field in train:
            for name in named(field, self.several, self.soft):
                places.setdefault(name, Tally()).add(place)
        once = [f"{name!r} ({places[name]})" for name in sorted(places) if places[name].count == 1]
        told = f"Label {few(once)}: one example in training, too few to learn from; find more, or drop the class."
        return [told] * bool(once) + self._shares(Counter({name: found.count for name, found in places.items()}))

    def _shares(self, found: Counter[str]) -> list[str]:
        # Shares tell texts apart even where one label is likeliest in all, and are not balanced.
        if self.several or self.soft:
            return []
        if len(found) == 1:
            return [f"All rows of training have the label {next(iter(found))!r}; there is nothing to tell apart."]
        most, least = max(found, key=lambda name: found[name]), min(found, key=lambda name: found[name])
        if found[most] < IMBALANCE * found[least]:
            return []
        share = found[most] / sum(found.values())
        return [
            f"{most!r} has {found[most]:,} rows of training, {least!r} {found[least]:,}: always saying {most!r} is "
            f"right {share:.0%} of the time. Watch macro_f1, or set head.weights = balanced."
        ]


def counted(fields: Iterable[str], several: bool, soft: bool = False) -> Counter[str]:
    """How many rows have each label; one that is likeliest nowhere is counted as zero.

    >>> counted(["a|b", " b "], several=True) == {"a": 1, "b": 2}
    True
    >>> counted(['{"a": 0.7, "b": 0.3}', "a"], several=False, soft=True) == {"a": 2, "b": 0}
    True
    """
    found = Counter[str]()
    for field in fields:
        for name in shares(field) or () if soft else ():
            found[name] += 0
        found.update(named(field, several, soft))
    return found


def named(field: str, several: bool, soft: bool = False) -> list[str]:
    """The labels of a field; of soft ones the likeliest, or where there may be several those more likely than not.

    >>> named('{"a": 0.2, "b": 0.8}', several=False, soft=True), named(" b ", several=False), named("", several=False)
    (['b'], ['b'], [])
    """
    found = shares(field) if soft else None
    if found is None:
        return sorted(labels(field)) if several else list(filter(None, [field.strip()]))
    if several:
        return sorted(name for name, share in found.items() if share >= 0.5)
    return [min(found, key=lambda name: (-found[name], name))]


def shares(field: str) -> dict[str, float] | None:
    """The share of each label where a field is an object of numbers in JSON; None where it is not.

    >>> shares('{"good": 0.9, "bad": 0.1}'), shares("good"), shares('{"good": "very"}'), shares("{}")
    ({'good': 0.9, 'bad': 0.1}, None, None, None)
    >>> shares('{"good": 0.9, "good ": 0.1}') is None
    True
    """
    if not field.lstrip().startswith("{"):
        return None
    try:
        # Pairs are told from lists, and a name that stands there twice is seen.
        found = json.loads(field, object_pairs_hook=lambda pairs: tuple(map(tuple, pairs)))
        names, numbers = [name.strip() for name, _ in found], [_number(share) for _, share in found]
    except (ValueError, TypeError, OverflowError, RecursionError):
        return None
    return dict(zip(names, numbers, strict=True)) if len(set(names)) == len(names) > 0 else None


def _number(share: object) -> float:
    if isinstance(share, bool) or not isinstance(share, int | float):
        raise TypeError(share)
    return float(share)


def unfit(found: Mapping[str, float], several: bool) -> str:
    """Why these are no shares of a text's labels, or nothing.

    >>> unfit({"a": 0.5, "b": 0.7}, several=False)
    'the shares of its labels add up to 1.2, not to 1'
    >>> unfit({"a": 0.5, "b": 0.7}, several=True)
    ''
    """
    if "" in found:
        return "a share belongs to a label without a name"
    if any(SEPARATOR in name for name in found):
        return f"a label has {SEPARATOR} in it, which stands between labels; write it otherwise"
    for name, share in found.items():
        if not 0 <= share <= 1:
            return f"the share of {name!r} is {share}; give a number from 0 to 1"
    total = math.fsum(found.values())
    return "" if several or abs(total - 1) <= SLACK else f"the shares of its labels add up to {total:.6g}, not to 1"


def few(names: Sequence[str]) -> str:
    """The first of several names, and how many more there are.

    >>> few(list("abcdefg"))
    'a, b, c, d, e and 2 more'
    """
    rest = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + rest
