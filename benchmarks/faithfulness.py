"""How faithful each method is on a model of one's own: what is lost without the words it names first.

    .venv/bin/python benchmarks/faithfulness.py runs/en-de test.en 20
    .venv/bin/python benchmarks/faithfulness.py runs/en-de test.en 20 occlusion norms      these methods only

For so many sentences one word of each translation is drawn, and every method says which words of the source it came
from. Higher comprehensiveness (p falls without the first words) and lower sufficiency (it does not with them alone) are
better; AOPC stands between the worst order there is (0) and the best (1). Only sentences of at most 14 words are taken,
for which the bounds are found.
"""

import sys
import time
from dataclasses import dataclass, replace

import numpy as np
from machine import machine

import regard
from regard.api.explaining import subject
from regard.errors import RequestError
from regard.explain import Axis
from regard.explain.bounds import Bounds, Drops, bounds
from regard.explain.contrast import One
from regard.explain.faithfulness import FaithfulnessSettings, Figures, faithfulness
from regard.explain.methods import METHODS, explain
from regard.explain.subject import Subject
from regard.explain.versions import Versions
from regard.explain.words import by_words
from regard.files import lines

LONGEST = 14
# Where the default follows all layers, the last layer's own is told too.
ALSO = ("attention_gradient", "norms", "value_zeroing")
SETTINGS = FaithfulnessSettings(randoms=5, beams=3)


@dataclass(frozen=True)
class Drawn:
    """A sentence, one output of it, and the best and worst its order of words can do."""

    subject: Subject
    output: int
    within: Bounds

    def figures(self, weights: np.ndarray) -> tuple[Figures, Figures]:
        """Of the words in the order of their weights, and in random orders."""
        found = faithfulness(self.subject, weights, SETTINGS, self.output, bounded=False)
        return found.given, found.random

    def weights(self, name: str, changes: dict[str, int]) -> np.ndarray | None:
        """What a method says of each word; None where it refuses the text."""
        # Attention has rows for all outputs; of what is asked by scores, the drawn output is enough.
        whole = METHODS[name].needs == "attention"
        try:
            asked = self.subject if whole else One(self.subject, self.output)
            found = explain(asked, name, METHODS[name].settings.model_validate(changes))
        except RequestError:
            return None
        place = self.output if whole else 0
        row, label = found.weights[place : place + 1], found.outputs.units[:1]
        return by_words(replace(found, outputs=Axis("", label), weights=row, error=None, probabilities=None)).weights[0]


def main(folder: str, file: str, count: str = "20", *names: str) -> None:
    print(machine())
    model, random = regard.load(folder), np.random.default_rng(0)
    texts = [line.text for line in lines(file) if len(line.text.split()) <= LONGEST][: int(count)]
    sentences = [drawn(subject(model, text), random) for text in texts]
    print(f"\n{len(sentences)} sentences; of each method seconds to explain a sentence")
    print(f"{'method':<30}{'comprehensive':>14}{'sufficient':>12}{'AOPC 0-1':>10}{'seconds':>9}")
    asked = names or tuple(METHODS)
    runs = [*((name, {}) for name in asked), *((name, {"layer": -1}) for name in ALSO if name in asked)]
    for name, changes in runs:
        began = time.process_time()
        found = [(one, one.weights(name, changes)) for one in sentences]
        seconds = (time.process_time() - began) / len(found)
        known = [(one, one.figures(weights)[0]) for one, weights in found if weights is not None]
        shown(name + (", last layer" if changes else ""), known, f"{seconds:9.2f}")
    chance = [(one, one.figures(np.zeros(len(Versions(one.subject, SETTINGS).groups.axis)))[1]) for one in sentences]
    shown("random order", chance, "")


def drawn(found: Subject, random: np.random.Generator) -> Drawn:
    output = int(random.integers(len(found.outputs) - 1))
    drops = Drops(Versions(One(found, output), SETTINGS), SETTINGS.scale)
    return Drawn(found, output, bounds(drops, SETTINGS.exact, SETTINGS.beams))


def shown(name: str, known: list[tuple[Drawn, Figures]], seconds: str) -> None:
    comprehensive, sufficient = (
        np.mean([getattr(figures, what) for _, figures in known]) for what in ("comprehensiveness", "sufficiency")
    )
    normalized = [share for one, figures in known if (share := one.within.normalized(figures.aopc)) is not None]
    print(f"{name:<30}{comprehensive:>14.3f}{sufficient:>12.3f}{np.mean(normalized):>10.2f}{seconds}", flush=True)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        print("Nothing was run: name a bundle and a file of sources.")
    else:
        main(*sys.argv[1:])
