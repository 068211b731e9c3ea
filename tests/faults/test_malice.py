"""Model files made to harm: refused one and all, with nothing run; and nothing a run writes could be one.

The full form: `pytest -m slow tests/faults/test_malice.py`.
"""

import hashlib
import json
import os
import pickletools
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from safetensors import safe_open

from regard import api
from regard.api.importing import from_gguf, from_huggingface
from regard.errors import RegardError
from regard.text import read_tokenizer, read_vectors
from regard.train import checkpoints
from tests.cli.toy import regard, write_data
from tests.faults.counted import bounded, draws, refusal, tries
from tests.faults.malice import bombs, pickles

GOLDEN = Path(__file__).parents[1] / "golden"
BERT = {
    "model_type": "bert",
    "vocab_size": 20,
    "hidden_size": 8,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 8,
    "max_position_embeddings": 16,
}

# Where a file is put and who then reads it.
Place = Callable[[Path, bytes], object]


def in_bundle(name: str) -> Place:
    """A file of a bundle whose manifest vouches for it, as someone would make it who knows the format."""

    def put(folder: Path, content: bytes) -> object:
        shutil.copytree(GOLDEN / "bundle-1", folder)
        (folder / name).write_bytes(content)
        values = json.loads((folder / "manifest.json").read_text())
        values.pop("checksum")
        values["files"][name] = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        signed = {**values, "checksum": hashlib.sha256(json.dumps(values).encode()).hexdigest()}
        (folder / "manifest.json").write_text(json.dumps(signed, indent=1) + "\n")
        return api.load(folder)

    return put


def as_manifest(folder: Path, content: bytes) -> object:
    shutil.copytree(GOLDEN / "bundle-1", folder)
    (folder / "manifest.json").write_bytes(content)
    return api.load(folder)


def in_checkpoint(folder: Path, content: bytes) -> object:
    """A group of a checkpoint of the earlier format, which has no checksum of itself."""
    shutil.copytree(GOLDEN / "checkpoint-1" / "update-00000012", folder)
    (folder / "random.safetensors").write_bytes(content)
    values = json.loads((folder / "state.json").read_text())
    values["checksums"]["random.safetensors"] = hashlib.sha256(content).hexdigest()
    (folder / "state.json").write_text(json.dumps(values))
    return checkpoints.load(folder)


def as_state(folder: Path, content: bytes) -> object:
    shutil.copytree(GOLDEN / "checkpoint-1" / "update-00000012", folder)
    (folder / "state.json").write_bytes(content)
    return checkpoints.load(folder)


def in_huggingface(name: str) -> Place:
    def put(folder: Path, content: bytes) -> object:
        folder.mkdir()
        (folder / "config.json").write_text(json.dumps({**BERT, "auto_map": {"AutoModel": "modeling.Evil"}}))
        (folder / "modeling.py").write_bytes(content)
        (folder / name).write_bytes(content)
        return from_huggingface(folder)

    return put


def as_tokenizer(folder: Path, content: bytes) -> object:
    folder.mkdir()
    (folder / "tokenizer.json").write_bytes(content)
    return read_tokenizer(folder)


def as_gguf(folder: Path, content: bytes) -> object:
    folder.mkdir()
    (folder / "model.gguf").write_bytes(content)
    return from_gguf(folder / "model.gguf")


def as_vectors(folder: Path, content: bytes) -> object:
    folder.mkdir()
    (folder / "vectors.txt").write_bytes(content)
    found = read_vectors(folder / "vectors.txt", ["the", "touch", "Csystem"])
    assert len(found.words) == 0
    raise RegardError("No word was found, which is as good.")


PLACES: dict[str, Place] = {
    "parameters of a bundle": in_bundle("parameters.safetensors"),
    "recipe of a bundle": in_bundle("recipe.toml"),
    "tokenizer of a bundle": in_bundle("tokenizer.json"),
    "golden outputs of a bundle": in_bundle("golden.json"),
    "manifest of a bundle": as_manifest,
    "tensors of a checkpoint": in_checkpoint,
    "state of a checkpoint": as_state,
    "parameters of Hugging Face": in_huggingface("model.safetensors"),
    "pickle of Hugging Face": in_huggingface("pytorch_model.bin"),
    "index of Hugging Face": in_huggingface("model.safetensors.index.json"),
    "config of Hugging Face": in_huggingface("config.json"),
    "tokenizer of Hugging Face": as_tokenizer,
    "GGUF": as_gguf,
    "word vectors": as_vectors,
}


def chosen(count: int, canary: Path, draw: random.Random) -> list[tuple[str, bytes, str]]:
    """Every bomb and as many pickles, each in one of the places; all places in turn."""
    made = pickles(canary)
    files = [*bombs().items(), *draw.sample(sorted(made.items()), len(made))]
    places = [place for _ in range(count) for place in draw.sample(sorted(PLACES), len(PLACES))]
    endless = (files[number % len(files)] for number in draw.sample(range(10 * len(files)), count))
    return [(name, content, place) for (name, content), place in zip(endless, places, strict=False)]


@tries(28, 200)
def test_a_file_made_to_harm_is_refused_and_nothing_is_run(count: int, tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    for number, (name, content, place) in enumerate(chosen(count, canary, draws("malice"))):
        folder = tmp_path / str(number)
        with bounded(768):
            told = refusal(lambda place=place, folder=folder, content=content: PLACES[place](folder, content))
        assert told, (name, place)
        assert not canary.exists(), (name, place)
        shutil.rmtree(folder)


@pytest.mark.parametrize("place", PLACES)
def test_a_number_longer_than_python_reads_is_refused_in_a_sentence(place: str, tmp_path: Path) -> None:
    assert refusal(lambda: PLACES[place](tmp_path / "made", b'{"a": ' + b"9" * 5000 + b"}"))


@pytest.mark.parametrize("protocol", range(6))
def test_the_canary_would_have_died(protocol: int, tmp_path: Path) -> None:
    """The files are as dangerous as they should be: unpickled, they run their command."""
    import pickle

    pickle.loads(pickles(tmp_path / "canary")[f"system, protocol {protocol}"])
    assert (tmp_path / "canary").exists()


ELSEWHERE = ["../secret.safetensors", "/etc/passwd", "..", ".", "", "a/b.safetensors", "\0", "a\\..\\b", "secret\n"]


@pytest.mark.parametrize("name", ELSEWHERE)
def test_names_that_lead_elsewhere_are_refused(name: str, tmp_path: Path) -> None:
    shutil.copyfile(GOLDEN / "bundle-1" / "parameters.safetensors", tmp_path / "secret.safetensors")
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(BERT))
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"a": name}}))
    with pytest.raises(RegardError):
        from_huggingface(folder)
    shutil.copytree(GOLDEN / "checkpoint-1" / "update-00000012", tmp_path / "checkpoint")
    state = json.loads((tmp_path / "checkpoint" / "state.json").read_text())
    secret = hashlib.sha256((tmp_path / "secret.safetensors").read_bytes()).hexdigest()
    (tmp_path / "checkpoint" / "state.json").write_text(json.dumps({**state, "checksums": {name: secret}}))
    with pytest.raises(RegardError, match=r"damaged"):
        checkpoints.load(tmp_path / "checkpoint")


MAGICS = (b"PK\x03\x04", b"\x93NUMPY", b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"ustar", b"\x7fELF", b"#!")
GLOBALS = (
    b"cposix\n",
    b"c__builtin__\n",
    b"cbuiltins\n",
    b"ctorch",
    b"\x8c\x05posix",
    b"__reduce__",
    b"\x8c\x08builtins",
)
KINDS = {".json", ".jsonl", ".toml", ".safetensors", ".png", ".bin", ".en", ".de", "", ".lock"}


def test_nothing_a_run_writes_is_or_holds_a_pickle(tmp_path: Path) -> None:
    result = regard("train", write_data(tmp_path), "--out", tmp_path / "run", "--set", "tensorboard=false")
    assert result.exit_code == 0, result.output
    written = [Path(place) / name for place, _, names in os.walk(tmp_path / "run") for name in names]
    assert {path.parent.name for path in written} >= {"run", "bundle", "data", "train-0"} - {"data"}
    for path in written:
        content = path.read_bytes()
        assert path.suffix in KINDS, path
        assert not content.startswith(MAGICS), path
        assert not any(name in content for name in GLOBALS), path
        assert not unpickles(content), path
        if path.suffix == ".safetensors":
            with safe_open(path, "pt") as stored:
                assert stored.keys()


def unpickles(content: bytes) -> bool:
    """Whether these bytes are a pickle that could do something: one that names or builds what is no plain value."""
    try:
        return any(opcode.name in ("GLOBAL", "STACK_GLOBAL", "REDUCE", "INST") for opcode, _, _ in walked(content))
    except Exception:
        return False


def walked(content: bytes) -> list[tuple[pickletools.OpcodeInfo, object, int | None]]:
    return list(pickletools.genops(content))


def test_the_scan_knows_a_pickle_when_it_sees_one(tmp_path: Path) -> None:
    for name, content in pickles(tmp_path / "canary").items():
        if "protocol" in name:
            assert unpickles(content), name
