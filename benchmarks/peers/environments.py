"""The peers, each installed in a virtual environment of its own: torch first, then the peer under that as a constraint.

python benchmarks/peers/environments.py [NAME...] [--folder .peers]

What is there already, at these versions, is left as it is. A particular build of torch:
TORCH_OPTIONS='--index-url https://download.pytorch.org/whl/cpu' python benchmarks/peers/environments.py
"""

import argparse
import json
import os
import shlex
import subprocess
import sys
import venv
from collections.abc import Sequence
from pathlib import Path

TORCH = "torch==2.13.0"
FOLDER = Path(__file__).resolve().parents[2] / ".peers"
STAMP = "installed.json"

# A peer and the calls of pip that install it, in order; what a peer leaves undeclared is named here.
PEERS: dict[str, list[list[str]]] = {
    # A plain install falls back to 3.0.4, because 3.5.1 asks for torch < 2.3.
    "opennmt": [
        ["--no-deps", "OpenNMT-py==3.5.1"],
        ["configargparse", "tensorboard", "flask", "waitress", "pyonmttok<2", "pyyaml", "sacrebleu", "rapidfuzz"],
        ["pyahocorasick", "fasttext-wheel", "spacy", "six", "ctranslate2==4.8.4", "safetensors"],
    ],
    "eole": [["eole==0.6.4", "aiohttp"]],
    "joey": [["joeynmt==2.3.0", "importlib_metadata", "safetensors"]],
    "x_transformers": [["x-transformers==2.31.10", "safetensors", "numpy"]],
    "marian": [["pymarian==1.12.42"]],
    # What goes on with a text: llama.cpp, and ONNX Runtime GenAI with what it makes its models with.
    "generation": [["xllamacpp==2026.10.11549", "onnxruntime-genai==0.18.0"], ["transformers", "onnx", "onnx-ir"]],
}
WITHOUT_TORCH = {"marian"}


def python(name: str, folder: Path = FOLDER) -> Path:
    """The interpreter of a peer's environment."""
    return folder / name / "bin" / "python"


def script(name: str, command: str, folder: Path = FOLDER) -> Path:
    """A program the peer installed."""
    return folder / name / "bin" / command


def ready(name: str, folder: Path = FOLDER) -> bool:
    """Whether the environment holds what is named above."""
    stamp = folder / name / STAMP
    return stamp.exists() and json.loads(stamp.read_text()) == wanted(name)


def wanted(name: str) -> list[list[str]]:
    first = [] if name in WITHOUT_TORCH else [[TORCH]]
    return first + PEERS[name]


def install(name: str, folder: Path = FOLDER) -> None:
    """Make the environment, unless it is there."""
    if ready(name, folder):
        return
    venv.create(folder / name, with_pip=True)
    constraints = folder / name / "constraints.txt"
    constraints.write_text(f"{TORCH}\n")
    pip = [str(python(name, folder)), "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    for packages in wanted(name):
        # A chosen index has torch and may have nothing else.
        options = shlex.split(os.environ.get("TORCH_OPTIONS", "")) if packages == [TORCH] else []
        subprocess.run([*pip, *options, "-c", str(constraints), *packages], check=True)
    (folder / name / STAMP).write_text(json.dumps(wanted(name)))


def absent(names: Sequence[str], folder: Path) -> list[str]:
    """Peers not installed."""
    return [name for name in names if not ready(name, folder)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(PEERS)}; all if none is named")
    parser.add_argument("--folder", type=Path, default=FOLDER)
    arguments = parser.parse_args()
    unknown = set(arguments.names) - set(PEERS)
    if unknown:
        parser.error(f"there is no peer {', '.join(sorted(unknown))}: there are {', '.join(PEERS)}")
    folder, failed = arguments.folder.resolve(), []
    for name in arguments.names or PEERS:
        try:
            install(name, folder)
            print(f"{name}: {folder / name}", flush=True)
        except subprocess.CalledProcessError as error:
            failed.append(name)
            print(f"{name}: not installed, pip left with {error.returncode}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
