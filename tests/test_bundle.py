"""Saved models: what is loaded is what was saved, or one sentence says why not."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from torch import nn

from regard import bundle
from regard.bundle import Bundle, identity
from regard.errors import DataError
from regard.nn import parameters
from regard.train import checkpoints

FILES = [
    "golden.json",
    "manifest.json",
    "parameters.safetensors",
    "recipe.toml",
    "scores.json",
    "source.tokenizer.json",
]

RECIPE = {
    "task": "translation",
    "seed": 1,
    "model": {"name": "transformer", "width": 8, "dropout": 0.1, "layers": [2, 2]},
    "corpora": [{"path": 'a "b"\n\\c', "weight": 1e-9}],
}


def toy(seed: int = 0, **changes: Any) -> Bundle:
    torch.manual_seed(seed)
    values: dict[str, Any] = {
        "recipe": RECIPE,
        "parameters": {"a.weight": torch.randn(3, 4), "steps": torch.tensor(7), "none": torch.empty(0, 2)},
        "files": {"source.tokenizer.json": '{"pieces": ["ä", "北京"]}\r\n'},
        "scores": {"bleu": 41.5, "signature": "nrefs:1"},
        "golden": [{"input": "Ein Hund.", "output": "A dog.", "score": -0.25}],
        "facts": {"fingerprint": "abc", "examples": 29000},
    }
    return Bundle(**{**values, **changes})


def same(one: Bundle, other: Bundle) -> bool:
    plain = ("recipe", "files", "scores", "golden", "facts")
    return (
        all(getattr(one, name) == getattr(other, name) for name in plain)
        and one.parameters.keys() == other.parameters.keys()
        and all(torch.equal(tensor, other.parameters[name]) for name, tensor in one.parameters.items())
        and all(tensor.dtype == other.parameters[name].dtype for name, tensor in one.parameters.items())
    )


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    folder = tmp_path / "runs" / "mine"
    bundle.save(folder, toy())
    return folder


def resigned(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Alter a manifest, as someone would who knows how its checksum is made."""
    path = folder / "manifest.json"
    values = json.loads(path.read_text())
    values.pop("checksum")
    change(values)
    signed = {**values, "checksum": identity.digest(json.dumps(values).encode())}
    path.write_text(json.dumps(signed, indent=1) + "\n")


def test_what_is_saved_is_loaded(saved: Path) -> None:
    assert same(bundle.load(saved), toy())
    assert sorted(os.listdir(saved)) == FILES
    assert os.listdir(saved.parent) == ["mine"]


def test_dtypes_views_and_shared_tensors_survive(tmp_path: Path) -> None:
    whole = torch.arange(24.0).reshape(4, 6)
    tensors = {"turned": whole.T, "part": whole[1:3, 2:], "same": whole, "half": whole.to(torch.bfloat16)}
    tensors |= {"real": whole > 3, "count": torch.tensor(5), "learned": nn.Parameter(whole)}
    bundle.save(tmp_path / "x", toy(parameters=tensors))
    loaded = bundle.load(tmp_path / "x").parameters
    assert all(torch.equal(loaded[name], tensor) for name, tensor in tensors.items())
    assert {name: tensor.dtype for name, tensor in loaded.items()} == {name: t.dtype for name, t in tensors.items()}


def test_a_model_with_tied_parameters_comes_back_tied(tmp_path: Path) -> None:
    def model() -> nn.Sequential:
        tied = nn.Sequential(nn.Embedding(5, 3), nn.Linear(3, 5, bias=False))
        tied[1].weight = tied[0].weight
        return tied

    first, second = model(), model()
    bundle.save(tmp_path / "x", toy(parameters=parameters.named(first)))
    parameters.fill(second, bundle.load(tmp_path / "x").parameters)
    assert torch.equal(second[1].weight, first[0].weight)
    assert second[1].weight is second[0].weight
    assert [parameter.name for parameter in bundle.shapes(tmp_path / "x")] == ["0.weight"]


keys = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
numbers = st.one_of(st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False, allow_infinity=False), st.booleans())
plain = st.recursive(
    st.one_of(texts, numbers),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(keys, inner, max_size=3)),
    max_leaves=6,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(recipe=st.dictionaries(keys, plain, max_size=4), scores=st.dictionaries(keys, plain, max_size=3), text=texts)
@example(recipe={"a": "\r\n\x00\x7f\u2028", "b": [{}, []], "": {"": ""}}, scores={"nan": 0.0}, text="\r\n\ufeff\x00")
def test_any_plain_values_come_back(tmp_path: Path, recipe: dict[str, Any], scores: dict[str, Any], text: str) -> None:
    wanted = toy(recipe=recipe, scores=scores, golden=[scores], facts=scores, files={"a.txt": text})
    bundle.save(tmp_path / "x", wanted)
    assert same(bundle.load(tmp_path / "x"), wanted)


def test_what_toml_and_json_cannot_hold(tmp_path: Path) -> None:
    given = toy(recipe={"a": None, "b": {"c": None, "d": (1, 2)}, "path": Path("x")}, scores={"loss": float("nan")})
    bundle.save(tmp_path / "x", given)
    loaded = bundle.load(tmp_path / "x")
    assert loaded.recipe == {"b": {"d": [1, 2]}, "path": "x"}
    assert loaded.scores == {"loss": None}


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"recipe": {"a": [1, None]}}, "holds None"),
        ({"recipe": {"a": object()}}, "recipe cannot be written as TOML"),
        ({"recipe": {"a": "\ud800"}}, "half a character"),
        ({"recipe": {"a": {1: 2}}}, "recipe cannot be written as TOML: the key 1 is no text"),
        ({"scores": {"a": object()}}, "scores.json cannot be written as JSON"),
        ({"facts": {"a": {1, 2}}}, "manifest.json cannot be written as JSON"),
        ({"files": {"a": "\udfff"}}, "a: .* half a character"),
        ({"files": {"../a": ""}}, "'../a' cannot be the name"),
        ({"files": {".a": ""}}, "'.a' cannot be the name"),
        ({"files": {"recipe.toml": ""}}, "'recipe.toml' cannot be the name"),
        ({"files": {"manifest.json": ""}}, "'manifest.json' cannot be the name"),
        ({"parameters": {"a": torch.eye(2).to_sparse()}}, "parameters cannot be stored"),
    ],
)
def test_what_cannot_be_saved_leaves_nothing_behind(tmp_path: Path, change: dict[str, Any], sentence: str) -> None:
    broken = toy()
    for name, value in change.items():
        object.__setattr__(broken, name, value)  # past the checks of the constructor
    with pytest.raises(DataError, match=sentence):
        bundle.save(tmp_path / "x", broken)
    assert os.listdir(tmp_path) == []


def test_the_manifest_says_what_the_bundle_is(saved: Path) -> None:
    known = bundle.manifest(saved)
    assert (known.format, known.task, known.facts["fingerprint"]) == (1, "translation", "abc")
    assert known.versions["torch"] == torch.__version__
    assert sorted(known.files) == [name for name in FILES if name != "manifest.json"]
    (saved / "parameters.safetensors").unlink()
    assert bundle.manifest(saved) == known


def test_the_task_may_be_a_table(tmp_path: Path) -> None:
    bundle.save(tmp_path / "x", toy(recipe={"task": {"name": "tagging", "labels": "iob"}}))
    assert bundle.manifest(tmp_path / "x").task == "tagging"


def test_shapes_are_read_without_the_tensors(saved: Path) -> None:
    found = [("a.weight", (3, 4), "float32"), ("none", (0, 2), "float32"), ("steps", (), "int64")]
    assert bundle.shapes(saved) == found


def damaged(content: bytes, cut: bool, place: int, flip: int) -> bytes:
    place %= len(content)
    return content[:place] if cut else content[:place] + bytes([content[place] ^ flip]) + content[place + 1 :]


@pytest.mark.parametrize("name", FILES)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(cut=st.booleans(), place=st.integers(0, 10**5), flip=st.integers(1, 255))
@example(cut=True, place=-1, flip=1)
@example(cut=False, place=30, flip=1)
@example(cut=False, place=-1, flip=0x0A ^ 0x20)
def test_a_changed_byte_is_never_loaded(tmp_path: Path, name: str, cut: bool, place: int, flip: int) -> None:
    folder = tmp_path / "x"
    if not folder.exists():
        bundle.save(folder, toy())
    intact = (folder / name).read_bytes()
    (folder / name).write_bytes(damaged(intact, cut, place, flip))
    try:
        # A changed format number is taken at its word.
        with pytest.raises(DataError, match=rf"{name}|x has format|newer Regard"):
            bundle.load(folder)
        look(folder)
    finally:
        (folder / name).write_bytes(intact)
    assert same(bundle.load(folder), toy())


def look(folder: Path) -> None:
    """Reading less than all of it may not notice, but never fails in another way."""
    for read in (bundle.shapes, bundle.manifest):
        with suppress(DataError):
            read(folder)


@pytest.mark.parametrize("name", ["parameters.safetensors", "recipe.toml", "scores.json", "golden.json"])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.one_of(st.binary(max_size=40), st.sampled_from([b"[1]", b"[" * 100_000, b"\xff", b"1", b"a = 1"])))
def test_odd_content_with_right_checksums_is_a_sentence_too(tmp_path: Path, name: str, content: bytes) -> None:
    folder = tmp_path / "x"
    if not folder.exists():
        bundle.save(folder, toy())
    (folder / name).write_bytes(content)
    record = {"bytes": len(content), "sha256": identity.digest(content)}
    resigned(folder, lambda values: values["files"].update({name: record}))
    look(folder)
    with suppress(DataError):  # a few of these are valid
        bundle.load(folder)


@pytest.mark.parametrize("name", [name for name in FILES if name != "manifest.json"])
def test_a_missing_file_is_named(saved: Path, name: str) -> None:
    (saved / name).unlink()
    for read in (bundle.load, bundle.shapes):
        with pytest.raises(DataError, match=rf"mine lacks {name}\. Copy the bundle again"):
            read(saved)


def test_an_extra_file_is_named(saved: Path) -> None:
    (saved / "notes.txt").write_text("")
    with pytest.raises(DataError, match=r"mine holds notes.txt, which is no part of the bundle\. Move it elsewhere\."):
        bundle.load(saved)


def test_a_truncated_file_is_told_from_an_altered_one(saved: Path) -> None:
    path = saved / "golden.json"
    content = path.read_bytes()
    path.write_bytes(content[:-3])
    with pytest.raises(DataError, match=rf"golden.json is cut short: it has {len(content) - 3} bytes"):
        bundle.load(saved)
    path.write_bytes(content.replace(b"dog", b"cat"))
    with pytest.raises(DataError, match=r"golden.json was altered: its checksum is not the one in manifest.json"):
        bundle.load(saved)


def test_a_newer_format_asks_for_an_update(saved: Path) -> None:
    (saved / "manifest.json").write_text('{"kind": "regard bundle", "format": 2, "unheard": []}')
    with pytest.raises(DataError, match=r"made by a newer Regard \(format 2, this one reads 1\): update regard\."):
        bundle.load(saved)


@pytest.mark.parametrize("number", [0, True, None, "1", 1.5])
def test_a_format_that_never_was_is_refused(saved: Path, number: object) -> None:
    resigned(saved, lambda values: values.update(format=number))
    with pytest.raises(DataError, match="has format"):
        bundle.manifest(saved)


def test_a_manifest_that_is_no_json(saved: Path) -> None:
    for content in (b"", b"{", b"\xff\xfe", b"[" * 100_000):
        (saved / "manifest.json").write_bytes(content)
        with pytest.raises(DataError, match=r"manifest.json is no JSON: it was cut short or altered\."):
            bundle.load(saved)


@pytest.mark.parametrize(
    "name", ["../secret", "/etc/passwd", "a/b", "a\\b", "..", "", ".hidden", "manifest.json", "a\0"]
)
def test_names_that_lead_elsewhere_are_refused(saved: Path, name: str) -> None:
    resigned(saved, lambda values: values["files"].update({name: values["files"]["scores.json"]}))
    with pytest.raises(DataError, match="may be meant to harm"):
        bundle.load(saved)


def test_links_in_a_bundle_are_refused(saved: Path, tmp_path: Path) -> None:
    for name in ("scores.json", "parameters.safetensors", "manifest.json"):
        shutil.move(saved / name, tmp_path / name)
        (saved / name).symlink_to(tmp_path / name)
        with pytest.raises(DataError, match=f"{name} is a link; a bundle holds plain files only"):
            bundle.load(saved)
        os.replace(tmp_path / name, saved / name)
    (saved / "scores.json").unlink()
    (saved / "scores.json").mkdir()
    with pytest.raises(DataError, match=r"scores.json is not a file"):
        bundle.load(saved)


def test_a_link_to_a_bundle_is_followed(saved: Path, tmp_path: Path) -> None:
    link = tmp_path / "latest"
    link.symlink_to(saved)
    bundle.save(link, toy(seed=1))
    assert link.is_symlink()
    assert same(bundle.load(link), toy(seed=1))
    assert same(bundle.load(saved), toy(seed=1))


def test_a_missing_folder_offers_the_nearest_name(saved: Path) -> None:
    with pytest.raises(DataError, match=r"No folder .*/mien\. Did you mean 'mine'\?"):
        bundle.load(saved.parent / "mien")
    with pytest.raises(DataError, match=r"No folder .* \(.*nowhere is not a folder either\)"):
        bundle.load(saved.parent / "nowhere" / "mine")


def test_a_file_of_a_bundle_is_not_the_bundle(saved: Path) -> None:
    with pytest.raises(
        DataError, match=r"is a file; a bundle is a folder\. It is a file of .*mine\. Name the folder\."
    ):
        bundle.load(saved / "parameters.safetensors")


def hugging_face(folder: Path) -> None:
    (folder / "config.json").write_text("{}")
    (folder / "model.safetensors").write_text("")


def checkpoint(folder: Path) -> None:
    made = checkpoints.save(folder, checkpoints.Checkpoint(3, {"parameters": {"a": torch.zeros(1)}}, {}))
    for path in made.iterdir():
        os.replace(path, folder / path.name)
    made.rmdir()


def run(folder: Path) -> None:
    (folder / "recipe.toml").write_text("seed = 1")
    checkpoints.save(folder / "checkpoints", checkpoints.Checkpoint(3, {}, {}))


def store(folder: Path) -> None:
    for name in ("pieces.bin", "offsets.bin", "lengths.bin"):
        (folder / name).write_bytes(b"")
    (folder / "manifest.json").write_text('{"kind": "regard prepared store", "format": 1}')


def beheaded(folder: Path) -> None:
    bundle.save(folder, toy())
    (folder / "manifest.json").unlink()


def run_with_bundle(folder: Path) -> None:
    run(folder)
    bundle.save(folder / "bundle", toy())


def other(folder: Path) -> None:
    (folder / "readme.txt").write_text("")


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda _: None, r"is an empty folder, not a bundle"),
        (hugging_face, r"is a Hugging Face model, not a bundle\. Import it first"),
        (checkpoint, r"is a checkpoint, not a bundle\. Finish the run with `regard train RECIPE --out RUN --resume`"),
        (run, r"is a run that has no finished bundle yet\. Finish the run"),
        (run_with_bundle, r"is a run; its bundle is .*/bundle\. Name that folder\."),
        (store, r"is prepared data, not a bundle"),
        (beheaded, r"has lost its manifest.json\. Copy the bundle again\."),
        (other, r"is not a bundle \(it has no manifest.json of one\)"),
    ],
)
def test_what_is_no_bundle_is_recognized(tmp_path: Path, make: Callable[[Path], object], sentence: str) -> None:
    folder = tmp_path / "x"
    folder.mkdir()
    make(folder)
    for read in (bundle.load, bundle.manifest, bundle.shapes):
        with pytest.raises(DataError, match=sentence):
            read(folder)


@pytest.mark.parametrize("make", [hugging_face, run, store, beheaded, other])
def test_a_folder_that_is_no_bundle_is_never_replaced(tmp_path: Path, make: Callable[[Path], object]) -> None:
    folder = tmp_path / "x"
    folder.mkdir()
    make(folder)
    before = sorted(folder.rglob("*"))
    with pytest.raises(DataError, match=r"x is not replaced: .* To save there, remove it first\."):
        bundle.save(folder, toy())
    assert sorted(folder.rglob("*")) == before


def test_a_file_is_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("mine")
    with pytest.raises(DataError, match=r"x is not replaced: .* is a file"):
        bundle.save(tmp_path / "x", toy())
    assert (tmp_path / "x").read_text() == "mine"


def test_a_bundle_with_notes_in_it_is_not_replaced(saved: Path) -> None:
    (saved / "notes.txt").write_text("mine")
    with pytest.raises(DataError, match=r"notes.txt is no part of the bundle and would be lost"):
        bundle.save(saved, toy(seed=1))
    assert (saved / "notes.txt").read_text() == "mine"


def test_a_bundle_and_an_empty_folder_are_replaced_whole(saved: Path, tmp_path: Path) -> None:
    bundle.save(saved, toy(seed=1, files={"other.txt": ""}))
    assert same(bundle.load(saved), toy(seed=1, files={"other.txt": ""}))
    (tmp_path / "empty").mkdir()
    bundle.save(tmp_path / "empty", toy())
    assert same(bundle.load(tmp_path / "empty"), toy())
    assert sorted(os.listdir(saved.parent)) == ["mine"]


@pytest.mark.parametrize("failing", range(2))
def test_a_save_that_fails_at_the_end_leaves_the_bundle_before(
    saved: Path, monkeypatch: pytest.MonkeyPatch, failing: int
) -> None:
    replace, calls = os.replace, []

    def sometimes(source: Path, target: Path) -> None:
        calls.append(target)
        if len(calls) == failing + 1:
            raise OSError(28, "No space left on device")
        replace(source, target)

    monkeypatch.setattr(os, "replace", sometimes)
    with pytest.raises(DataError, match=r"Cannot save a bundle as .*mine: No space left on device; what was there is"):
        bundle.save(saved, toy(seed=1))
    assert os.listdir(saved.parent) == ["mine"]
    assert same(bundle.load(saved), toy())


KILLED = """
import os, shutil, sys, torch
from pathlib import Path
from regard import bundle
calls = 0
def dying(function, step):
    def call(*given, **named):
        global calls
        calls += 1
        if calls == step:
            os._exit(9)
        return function(*given, **named)
    return call
for folder in map(Path, sys.argv[1:]):
    if not (child := os.fork()):
        step = int(folder.parent.name)
        os.replace, os.fsync, os.rmdir = (dying(function, step) for function in (os.replace, os.fsync, os.rmdir))
        bundle.save(folder, bundle.Bundle({"seed": 2}, {"a": torch.ones(2)}, {}, {}, [], {}))
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9, folder
"""


def test_a_kill_at_any_step_leaves_a_whole_bundle(tmp_path: Path) -> None:
    # A save over another: 5 files and their folder synced, two renames, the parent synced, the old one removed.
    folders = [tmp_path / str(step) / "mine" for step in range(1, 11)]
    for folder in folders:
        bundle.save(folder, toy())
    subprocess.run([sys.executable, "-c", KILLED, *map(str, folders)], check=True, timeout=250)
    for step, folder in enumerate(folders, 1):
        if step == 8:  # between the two renames
            with pytest.raises(DataError, match=r"killed at the last moment.*rename .*\.old to .*mine") as refusal:
                bundle.load(folder)
            os.replace(str(refusal.value).split("rename ")[1].split(" to ")[0], folder)
        assert bundle.load(folder).recipe["seed"] == (2 if step > 8 else 1)
        bundle.save(folder, toy(seed=3))
        assert os.listdir(folder.parent) == ["mine"]


def test_a_name_no_folder_can_have() -> None:
    with pytest.raises(DataError, match="Cannot read"):
        bundle.load(Path("nul\0byte"))
