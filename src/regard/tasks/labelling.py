"""The labels texts may have: their names in order, how often training has each, and what is odd about them."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from regard.data import Tally
from regard.errors import DataError
from regard.metrics.labels import labels

FILE = "labels.json"
# A label so many times as frequent as another is worth a remark; so many names are told, the rest counted.
IMBALANCE, NAMED = 10, 5


@dataclass(frozen=True)
class Labels:
    """Labels sorted by name, and how many training rows have each; with `several` a row may have any number."""

    names: tuple[str, ...]
    counts: tuple[int, ...]
    several: bool = False

    @classmethod
    def learn(cls, fields: Iterable[str], several: bool) -> "Labels":
        """The labels of these rows."""
        found = counted(fields, several)
        if not found:
            raise DataError("No row has a label; there is nothing to learn.")
        names = sorted(found)
        return cls(tuple(names), tuple(found[name] for name in names), several)

    @classmethod
    def load(cls, files: Mapping[str, str], several: bool) -> "Labels":
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
        return cls(names, counts, several)

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
        """The numbers of a field's labels; where there may be several, those training has, else always one."""
        if not self.several:
            return [self.places.get(field.strip(), self.unseen)]
        return sorted(self.places[label] for label in labels(field) if label in self.places)

    @property
    def weights(self) -> tuple[float, ...]:
        """rows / (classes x rows of the class): each class weighs the same, and a row on average 1."""
        rows = sum(self.counts)
        return tuple(rows / (len(self.counts) * max(count, 1)) for count in self.counts)

    def strange(self, field: str) -> list[str]:
        """The labels of a field that training does not have."""
        return sorted(name for name in counted([field], self.several) if name not in self.places)

    def remarks(self, train: Iterable[tuple[str, str]]) -> list[str]:
        """What is odd about the labels of training, which are given with where they stand."""
        places = dict[str, Tally]()
        for place, field in train:
            for name in counted([field], self.several):
                places.setdefault(name, Tally()).add(place)
        once = [f"{name!r} ({places[name]})" for name in sorted(places) if places[name].count == 1]
        told = f"Label {few(once)}: one example in training, too few to learn from; find more, or drop the class."
        return [told] * bool(once) + self._shares(Counter({name: found.count for name, found in places.items()}))

    def _shares(self, found: Counter[str]) -> list[str]:
        if len(found) == 1 and not self.several:
            return [f"All rows of training have the label {next(iter(found))!r}; there is nothing to tell apart."]
        most, least = max(found, key=lambda name: found[name]), min(found, key=lambda name: found[name])
        if found[most] < IMBALANCE * found[least] or self.several:
            return []
        share = found[most] / sum(found.values())
        return [
            f"{most!r} has {found[most]:,} rows of training, {least!r} {found[least]:,}: always saying {most!r} is "
            f"right {share:.0%} of the time. Watch macro_f1, or set head.weights = balanced."
        ]


def counted(fields: Iterable[str], several: bool) -> Counter[str]:
    """How many rows have each label.

    >>> counted(["a|b", " b "], several=True) == {"a": 1, "b": 2}
    True
    """
    if several:
        return Counter(label for field in fields for label in labels(field))
    return Counter(filter(None, map(str.strip, fields)))


def few(names: Sequence[str]) -> str:
    """The first of several names, and how many more there are.

    >>> few(list("abcdefg"))
    'a, b, c, d, e and 2 more'
    """
    rest = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + rest
