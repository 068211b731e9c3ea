"""Alone = in company: every line of a file translated alone and in batches, compared.

python benchmarks/company.py runs/en-de data/multi30k/test_2016_flickr.en
"""

import sys
import time

import regard
from regard.files import lines


def main(bundle: str, path: str, batch: int = 64) -> None:
    model = regard.load(bundle)
    texts = [line.text for line in lines(path)]
    outputs = {}
    for rows in (1, batch):
        began = time.monotonic()
        outputs[rows] = model.with_settings(f"predict.rows={rows}").predict(texts)
        print(f"batches of {rows}: {len(texts) / (time.monotonic() - began):.1f} lines a second")
    pairs = list(zip(*outputs.values(), strict=True))
    same = sum(alone.text == together.text for alone, together in pairs)
    apart = max(abs(alone.score - together.score) for alone, together in pairs)
    beams = model.recipe.search.beams
    print(f"{same} of {len(texts)} outputs identical, scores at most {apart:.1e} apart ({beams} beams)")


if __name__ == "__main__":
    if len(sys.argv) < 3:
        print("Nothing was run: name a bundle and a file of sources.")
    else:
        main(*sys.argv[1:3])
