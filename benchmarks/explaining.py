"""What explanations cost: memory and time of long texts, attention beside a translation, the size of a page.

    .venv/bin/python benchmarks/explaining.py                          long texts, and a page of 12 x 12 heads
    .venv/bin/python benchmarks/explaining.py runs/en-de test.en       and translations, with and without attention

Long texts: 2,000 pieces through a classifier of 4 layers, 8 heads and width 256, one layer of it explained. Each method
runs in a process of its own: the highest resident memory while it explains, minus what was resident before, model and
text included there. Linux only: figures come from /proc/self/status. Value zeroing takes a pass for each piece, and is
measured on 500 pieces.
"""

import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from attention_memory import resident
from jaxtyping import Float
from machine import clock, machine
from torch import Tensor

import regard
from regard.explain import Attribution, Axis, Unit
from regard.explain.methods import METHODS, explain
from regard.explain.rendering import render
from regard.files import lines
from regard.models import Classifier, ClassifierSettings, encoder
from regard.tasks.subjects import Prediction, labelled

PIECES, LENGTH, SHORT = 1000, 2000, 500
SIZES = {"width": 256, "layers": 4, "attention": {"heads": 8}, "feedforward": {"hidden": 1024}}
LAYER = {"kind": "self", "layer": 0}
# Of each method: the settings it is measured with, and how many pieces.
RUNS: dict[str, tuple[str, dict[str, Any], int]] = {
    "weights": ("weights", LAYER, LENGTH),
    "attention_gradient": ("attention_gradient", LAYER, LENGTH),
    "attention_gradient, all layers": ("attention_gradient", {}, LENGTH),
    "norms": ("norms", LAYER, LENGTH),
    "rollout, all layers": ("rollout", {}, LENGTH),
    "value_zeroing": ("value_zeroing", LAYER, SHORT),
    "input_gradient": ("input_gradient", {}, LENGTH),
}
SENTENCES = 30


def main(*given: str) -> None:
    print(machine())
    print(f"\n{'one layer of a long text':<34}{'pieces':>8}{'MB':>7}{'seconds':>9}   goal: below 300 MB", flush=True)
    for name, (_, _, length) in RUNS.items():
        found = measured_elsewhere(name)
        print(f"{name:<34}{length:>8}{found['megabytes']:>7.0f}{found['seconds']:>9.1f}", flush=True)
    print(f"\nA page of 12 x 12 heads, 64 pieces: {page() / 1e6:.2f} MB   goal: below 1 MB")
    opened()
    if given:
        translations(*given)


def measured_elsewhere(name: str) -> dict[str, float]:
    command = [sys.executable, __file__, "--one", name]
    found: dict[str, float] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return found


def measured(name: str) -> dict[str, float]:
    """Megabytes above the model and its text, and seconds."""
    method, settings, length = RUNS[name]
    chosen = METHODS[method].settings.model_validate(settings)
    explain(subject(20), method, chosen)
    given = subject(length)
    with torch.inference_mode():
        given.scores(given.pieces[None])
    before, start = resident("VmRSS"), clock()()
    peak = resident("VmHWM")
    explain(given, method, chosen)
    # What was higher before, while torch was loaded, tells nothing of the method.
    highest = resident("VmHWM")
    return {"megabytes": highest - before if highest > peak else 0.0, "seconds": clock()() - start}


def subject(length: int) -> Prediction:
    """A text of words drawn at random, and one label of it."""
    torch.manual_seed(0)
    model = Classifier(encoder("transformer", SIZES, PIECES), ClassifierSettings(), 2).eval()
    pieces = torch.randint(4, PIECES, (length,))
    words = [f"w{piece:03d}" for piece in pieces.tolist()]
    inputs = Axis(" ".join(words), tuple(Unit(word, (5 * at, 5 * at + 4)) for at, word in enumerate(words)))

    def score(given: Tensor, real: Tensor | None) -> Float[Tensor, "N 1"]:
        return model(given, real).log_softmax(-1)[:, :1]

    return Prediction(model, inputs, labelled("yes"), pieces, 3, "encoder.embedding.embedded", score)


def page() -> int:
    """Bytes of the page of many heads."""
    random, axis = np.random.default_rng(0), subject(64).inputs
    maps = [
        Attribution("weights", axis, axis, random.dirichlet(np.ones(64), 64), layer=layer, head=head)
        for layer in range(12)
        for head in range(12)
    ]
    return len(render(maps, ".html"))


def opened() -> None:
    """The page of one layer of a long text: its size, and seconds until a browser has drawn it."""
    random, axis = np.random.default_rng(0), subject(LENGTH).inputs
    drawn = render(Attribution("weights", axis, axis, random.dirichlet(np.ones(LENGTH), LENGTH)), ".html")
    told = f"A page of {LENGTH:,} x {LENGTH:,} pieces: {len(drawn) / 1e6:.1f} MB"
    if not (browser := shutil.which("chromium") or shutil.which("google-chrome")):
        print(f"{told}; there is no browser to open it with")
        return
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        file = Path(folder) / "page.html"
        file.write_bytes(drawn)
        tab = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"]).new_page()
        # A browser that is still starting is no part of what the page takes.
        tab.goto("about:blank")
        time.sleep(1)
        start = time.perf_counter()
        tab.goto(file.as_uri())
        # The keys are the last thing the script writes; the frame after them has been painted.
        tab.wait_for_selector("kbd")
        tab.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        print(f"{told}, open after {time.perf_counter() - start:.1f} s   goal: 2 s")


def translations(folder: str, file: str) -> None:
    """Seconds a sentence: translated; translated and shown what was attended to."""
    model = regard.load(folder)
    texts = [line.text for line in lines(file)][: SENTENCES + 3]
    for text in texts[:3]:
        model.explain(text)
    plain, seen = [], []
    # In turn, so that whatever else the machine does meets both alike.
    for text in texts[3:]:
        for found, call in ((plain, lambda: model.predict([text])), (seen, lambda: model.explain(text))):  # noqa: B023
            start = clock()()
            call()
            found.append(clock()() - start)
    ratios = np.array(seen) / np.array(plain)
    print(f"\n{len(plain)} translations: {np.mean(plain):.3f} s each; with raw attention {np.mean(seen):.3f} s")
    print(f"ratio {np.sum(seen) / np.sum(plain):.2f} (median of sentences {np.median(ratios):.2f})   goal: at most 1.3")
    print(f"\n{'method':<24}{'seconds':>9}   for one translation of {len(texts[3].split())} words")
    for name in METHODS:
        start = time.process_time()
        model.explain(texts[3], name)
        print(f"{name:<24}{time.process_time() - start:>9.2f}", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        print(json.dumps(measured(sys.argv[2])))
    else:
        main(*sys.argv[1:])
