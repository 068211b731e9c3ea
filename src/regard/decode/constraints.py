"""What must appear: how far each hypothesis has come with it, and how a beam is shared among those further or less far.

Hypotheses that have met more compete only with each other (dynamic beam allocation, after Post and Vilar 2018):
otherwise a forced word, unlikely at first, would never survive its first piece.
"""

from collections.abc import Mapping

from regard.decode.hypotheses import Pieces, Progress


class Must:
    """Entries, each a choice of piece sequences; an entry is met where one of its sequences stands in the output.

    Entries may overlap in the output: "a b" and "b c" are both met by "a b c".
    """

    def __init__(self, entries: tuple[tuple[Pieces, ...], ...]) -> None:
        self.sequences = [sequence for entry in entries for sequence in entry]
        self.owners = [number for number, entry in enumerate(entries) for _ in entry]
        self.returns = [returns(sequence) for sequence in self.sequences]
        self.least = [min(len(sequence) for sequence in entry) for entry in entries]

    def begin(self) -> Progress:
        return Progress((0,) * len(self.sequences), (False,) * len(self.least))

    def after(self, progress: Progress, piece: int) -> Progress:
        """The progress once this piece is written."""
        met, matched = list(progress.met), []
        for number, (at, sequence) in enumerate(zip(progress.matched, self.sequences, strict=True)):
            at = advanced(sequence, self.returns[number], at, piece)
            if at == len(sequence):
                met[self.owners[number]] = True
                at = self.returns[number][at - 1]
            matched.append(at)
        return Progress(tuple(matched), tuple(met))

    def bank(self, progress: Progress) -> int:
        """How many of the pieces that must appear have: all of a met entry's, else those of its nearest alternative."""
        missing = list(self.least)
        for owner, at, sequence in zip(self.owners, progress.matched, self.sequences, strict=True):
            missing[owner] = min(missing[owner], len(sequence) - at)
        open_ = (0 if met else left for met, left in zip(progress.met, missing, strict=True))
        return sum(self.least) - sum(open_)

    def wanted(self, progress: Progress) -> set[int]:
        """The pieces of all that is still missing; any other piece leaves nothing begun."""
        open_ = (each for owner, each in zip(self.owners, self.sequences, strict=True) if not progress.met[owner])
        return {piece for sequence in open_ for piece in sequence}

    def appeared(self, pieces: Pieces) -> tuple[bool, ...]:
        """Which entries are met by this output."""
        progress = self.begin()
        for piece in pieces:
            progress = self.after(progress, piece)
        return progress.met


def returns(sequence: Pieces) -> list[int]:
    """For each beginning of a sequence, how much of it is again a beginning   (Knuth, Morris and Pratt 1977)."""
    table = [0] * len(sequence)
    for at in range(1, len(sequence)):
        table[at] = advanced(sequence, table, table[at - 1], sequence[at])
    return table


def advanced(sequence: Pieces, table: list[int], at: int, piece: int) -> int:
    """How much of the sequence is matched after one more piece."""
    while at and sequence[at] != piece:
        at = table[at - 1]
    return at + (sequence[at] == piece)


def shares(available: Mapping[int, int], slots: int) -> dict[int, int]:
    """How many slots each bank gets: evenly, the ones further on first, none more than it can use.

    >>> shares({0: 9, 1: 1, 2: 9}, 5)
    {2: 2, 1: 1, 0: 2}
    """
    shared = dict.fromkeys(sorted(available, reverse=True), 0)
    while slots and (open_ := [bank for bank in shared if shared[bank] < available[bank]]):
        for bank in open_[:slots]:
            shared[bank] += 1
        slots -= min(slots, len(open_))
    return shared
