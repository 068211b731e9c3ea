"""Graphs say what the models say, at lengths they were not traced with, and search goes on as ever."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from regard.convert import onnx
from regard.engines.onnx.running import Stepping
from regard.errors import ConfigError, ModelError, RequestError
from tests.engines.toys import LANGUAGES, RECURRENT, SEQUENCES, SMALL, made, pipeline, sources

pytest.importorskip("onnxruntime")
pytest.importorskip("onnx")


NEAR = {"score": "additive", "scope": {"name": "window", "before": 1}}


def attending(attention: dict[str, Any] | None, **changes: Any) -> dict[str, Any]:
    """A recurrent encoder-decoder with this attention."""
    return {"encoder": {"width": 16}, "decoder": {"width": 16}, "attention": attention, **changes}


GENERATING: dict[str, tuple[str, dict[str, Any]]] = {
    "pre": ("transformer", SEQUENCES["pre"]),
    "llama-like": ("transformer", SEQUENCES["llama-like"]),
    "deepnorm": ("transformer", {**SMALL, "place": "deepnorm", "embedding": {"width": 8}, "tied": "output"}),
    "normed heads": (
        "transformer",
        {**SEQUENCES["llama-like"], "attention": {"heads": 4, "groups": 2, "each": 6, "normed": True}},
    ),
    "relative": ("transformer", SEQUENCES["relative"]),
    "alibi": ("transformer", {**SMALL, "position": "alibi"}),
    "bucketed": ("transformer", {**SMALL, "position": {"name": "bucketed", "buckets": 4, "farthest": 6}}),
    "relative across": ("transformer", {**SMALL, "cross_attention": {"heads": 4, "position": "relative"}}),
    "relative language": ("transformer_language", {**SMALL, "position": {"name": "relative", "reach": 3}}),
    "alibi language": ("transformer_language", {**SMALL, "position": "alibi"}),
    "bucketed language": (
        "transformer_language",
        {**SMALL, "position": {"name": "bucketed", "buckets": 4, "farthest": 6, "two_sided": False}},
    ),
    "language": ("transformer_language", LANGUAGES["llama-like"]),
    "qwen3-like": ("transformer_language", LANGUAGES["qwen3-like"]),
    "recurrent language": ("recurrent_language", {"width": 16, "layers": 2}),
    "copying": ("recurrent", RECURRENT["additive"]),
    "fed": ("recurrent", RECURRENT["fed"]),
    "without attention": ("recurrent", RECURRENT["without"]),
    "location-aware": ("recurrent", attending({"score": {"name": "location_aware", "kernel": 3}})),
    "location-aware after": (
        "recurrent",
        attending({"score": {"name": "location_aware", "kernel": 1}}, attend="after", copying=True, tied="all"),
    ),
    "coverage": ("recurrent", attending({"score": "coverage"})),
    "mixed": ("recurrent", attending({"score": {"name": "mixed", "scores": ["location_aware", "location"]}})),
    "monotonic": ("recurrent", attending({"score": "additive", "scope": "monotonic"})),
    "monotonic coverage": ("recurrent", attending({"score": "coverage", "scope": "monotonic", "output": "scored"})),
    "window": ("recurrent", attending({"score": "additive", "scope": {"name": "window", "before": 1, "after": 2}})),
    "predicted place": ("recurrent", attending({"score": "general", "scope": {"name": "local_p", "radius": 2}})),
    "relative source": ("recurrent", attending({"score": "dot", "position": {"name": "relative", "reach": 2}})),
    "rotary source": ("recurrent", attending({"score": "dot", "position": "rotary"})),
    "own past": ("recurrent", attending({"score": "additive"}, own_past={"score": "additive"})),
    "own past near by": (
        "recurrent",
        attending(None, own_past={"score": "general", "scope": {"name": "window", "before": 1}, "position": "alibi"}),
    ),
    "convolutional": ("convolutional", {"width": 16, "layers": 2}),
    "convolutional by sinusoids": (
        "convolutional",
        {"width": 16, "layers": 1, "decoder_layers": 3, "kernel": 5, "position": "sinusoidal", "attention": NEAR},
    ),
    "convolutional of single places": ("convolutional", {"width": 16, "layers": 1, "kernel": 1, "position": "none"}),
    "cells": ("recurrent", attending({"score": "additive"}, keys="cells")),
    "cells of a second layer one way": (
        "recurrent",
        {
            **attending({"score": "location_aware"}, keys="cells"),
            "encoder": {"width": 16, "layers": 2, "both_ways": False},
        },
    ),
    "all that looks back": ("recurrent", attending({"score": "location_aware"}, own_past={}, attend="after")),
}


@pytest.mark.parametrize("name", GENERATING)
@torch.no_grad()
def test_steps_of_the_graphs_are_those_of_the_model(name: str, tmp_path: Path) -> None:
    model = made(*GENERATING[name])
    onnx.write(model, tmp_path)
    graphs = Stepping(tmp_path, json.loads((tmp_path / onnx.DESCRIPTION).read_text()), model)
    for lengths in ((9, 2, 5), (1,)):
        source, real = sources(*lengths)
        (ours, first), (theirs, also_first) = model.start(source, real), graphs.start(source, real)
        assert torch.equal(first, also_first)
        for _ in range(4):
            (said, ours), (also, theirs) = model.step(first, ours), graphs.step(first, theirs)
            torch.testing.assert_close(also, said, atol=2e-5, rtol=1e-4)
            first = torch.randint(4, 14, first.shape)
        # Two hypotheses of each source, in another order.
        rows = torch.arange(len(lengths)).repeat_interleave(2)
        ours, theirs, first = ours.select(rows), theirs.select(rows), torch.randint(4, 14, rows.shape)
        torch.testing.assert_close(graphs.step(first, theirs)[0], model.step(first, ours)[0], atol=2e-5, rtol=1e-4)


BERT = (
    "model.name=transformer",
    "model.layers=1",
    "model.width=16",
    "model.attention.heads=2",
    "model.feedforward.hidden=16",
)

LOOKS_BACK = (
    "model.encoder.width=16",
    "model.decoder.width=16",
    'model.attention.score="location_aware"',
    'model.own_past={score="additive"}',
)


@pytest.mark.parametrize(
    ("task", "changes"),
    [
        ("translation", ("model.width=16", "search.method=diverse", "search.beams=2", "search.best=2")),
        ("summarization", ("model.encoder.width=16", "model.decoder.width=16")),
        ("summarization", (*LOOKS_BACK, "search.beams=3", "search.best=3")),
        ("summarization", (*LOOKS_BACK, "model.keys=cells")),
        ("summarization", (*LOOKS_BACK, 'model.attention.scope="monotonic"', 'model.attention.score="coverage"')),
        ("classification", ("model.width=16",)),
        ("classification", (*BERT, "model.embedding.segments=2")),
        ("tagging", ("model.width=16",)),
        ("translation", ('model={name="convolutional",width=16,layers=2}', "search.beams=3")),
        ("tagging", ("model.name=convolutional", "model.width=16", "model.layers=1")),
        ("classification", ("model.name=convolutional", "model.width=16", "model.layers=1")),
        ("answering", ("model.width=16", "head.width=16")),
    ],
)
def test_results_of_a_task_are_those_of_torch(task: str, changes: tuple[str, ...]) -> None:
    ours = pipeline(task, *changes)
    theirs = ours.with_engine("onnx")
    rows = [entry["input"] for entry in ours.golden]
    for one, other in zip(ours.predict(rows), theirs.predict(rows), strict=True):
        assert (other.text, other.status) == (one.text, one.status)


def test_what_was_looked_at_is_not_told_so_that_coverage_is_refused() -> None:
    theirs = pipeline("translation", "model.width=16", "search.coverage=0.2").with_engine("onnx")
    with pytest.raises(RequestError, match=r"onnx cannot see what was looked at .*coverage = 0\.2.*--engine torch"):
        theirs.predict(["He reads."])


def test_a_text_past_the_positions_there_are_is_told_as_by_torch() -> None:
    learned = 'model.position={name="learned",length=80}'
    ours = pipeline("translation", "model.width=16", learned, "predict.longest=500")
    for one in (ours, ours.with_engine("onnx")):
        with pytest.raises(ModelError, match=r"Position \d+ is past the 80 that learned positions were built for"):
            one.predict(["word " * 200])


@pytest.mark.parametrize(
    ("name", "settings", "said"),
    [
        ("transformer", {**SMALL, "attention": {"heads": 4, "scope": {"name": "window", "before": 3}}}, "scope = "),
        ("transformer", {**SMALL, "attention": {"heads": 4, "normalizer": "sparsemax"}}, "sparsemax"),
        ("transformer", {**SMALL, "cross": "layerwise"}, "cross = layerwise"),
    ],
)
def test_what_there_is_no_graph_for_is_said(name: str, settings: dict[str, Any], said: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=rf"no ONNX graph for .*{said}.*(?<!\.)\. Use the engine torch\.$"):
        onnx.write(made(name, settings), tmp_path)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (attending({"score": "location_aware", "scope": "monotonic"}), "location_aware beside scope = monotonic"),
    ],
)
def test_what_we_do_not_write_is_said(settings: dict[str, Any], said: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=rf"^Regard does not write .*{said} to ONNX.*Use the engine torch\.$"):
        onnx.write(made("recurrent", settings), tmp_path)
