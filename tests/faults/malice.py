"""Files that would run a command if anything unpickled, unpacked or believed them."""

import bz2
import gzip
import io
import json
import lzma
import os
import pickle
import struct
import subprocess
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np


class Command:
    """Unpickled, it runs a command."""

    def __init__(self, how: str, canary: Path) -> None:
        self.how, self.canary = how, canary

    def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...]]:
        line = f"touch {self.canary}"
        calls: dict[str, tuple[Callable[..., object], tuple[object, ...]]] = {
            "system": (os.system, (line,)),
            "exec": (exec, (f"import os; os.system({line!r})",)),
            "eval": (eval, (f"__import__('os').system({line!r})",)),
            "popen": (subprocess.call, (["touch", str(self.canary)],)),
            "open": (open, (str(self.canary), "w")),
        }
        return calls[self.how]


HOWS = ("system", "exec", "eval", "popen", "open")


def zipped(files: dict[str, bytes], how: int = zipfile.ZIP_DEFLATED) -> bytes:
    put = io.BytesIO()
    with zipfile.ZipFile(put, "w", how) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return put.getvalue()


def tarred(name: str, content: bytes) -> bytes:
    put = io.BytesIO()
    with tarfile.open(fileobj=put, mode="w") as archive:
        entry = tarfile.TarInfo(name)
        entry.size = len(content)
        archive.addfile(entry, io.BytesIO(content))
    return put.getvalue()


def as_array(stored: Command) -> bytes:
    put = io.BytesIO()
    np.save(put, np.array([stored], dtype=object), allow_pickle=True)
    return put.getvalue()


def headed(content: bytes) -> bytes:
    """Behind what safetensors files begin with."""
    header = json.dumps({"a": {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]}}).encode()
    return struct.pack("<Q", len(header)) + header + b"\0" + content


def in_metadata(content: bytes) -> bytes:
    """As the metadata of a safetensors file whose one tensor is missing."""
    header = json.dumps({"__metadata__": {"pickle": content.decode("latin-1")}, "a": {"dtype": "pickle"}}).encode()
    return struct.pack("<Q", len(header)) + header


def pickles(canary: Path) -> dict[str, bytes]:
    """A pickle in every disguise, by what it looks like."""
    found: dict[str, bytes] = {}
    for number, how in enumerate(HOWS):
        for protocol in range(6):
            found[f"{how}, protocol {protocol}"] = pickle.dumps(Command(how, canary), protocol)
        plain = pickle.dumps(Command(how, canary), number)
        torchy = {"archive/data.pkl": plain, "archive/version": b"3\n", "archive/data/0": bytes(16)}
        found |= {
            f"{how}, as torch.save writes it": zipped(torchy, zipfile.ZIP_STORED),
            f"{how}, as TorchScript": zipped({**torchy, "archive/code/__torch__.py": b"import os"}),
            f"{how}, legacy torch": pickle.dumps(0x1950A86A20F9469CFC6C, 2) + pickle.dumps(1001, 2) + plain,
            f"{how}, in a tar": tarred("../../pickle", plain),
            f"{how}, as an array": as_array(Command(how, canary)),
            f"{how}, in npz": zipped({"a.npy": as_array(Command(how, canary))}),
            f"{how}, gzip": gzip.compress(plain),
            f"{how}, bz2": bz2.compress(plain),
            f"{how}, xz": lzma.compress(plain),
            f"{how}, zlib": zlib.compress(plain),
            f"{how}, behind a header": headed(plain),
            f"{how}, in the metadata": in_metadata(plain),
            f"{how}, behind GGUF": b"GGUF" + struct.pack("<IQQ", 3, 1, 1) + plain,
            f"{how}, in JSON": json.dumps({"__reduce__": ["os.system", f"touch {canary}"]}).encode(),
            f"{how}, in YAML": f"!!python/object/apply:os.system ['touch {canary}']\n".encode(),
            f"{how}, as a template": f"{{{{ ''.__class__.__mro__[1].__subclasses__() }}}} touch {canary}".encode(),
            f"{how}, as Python": f"import os\nos.system('touch {canary}')\n".encode(),
        }
    return found


def bombs() -> dict[str, bytes]:
    """Small files that become large, or claim to be."""
    zeros = gzip.compress(bytes(2**23))
    deep = b"[" * 10**6
    huge = {"a": {"dtype": "F64", "shape": [2**31, 2**31], "data_offsets": [0, 2**65]}}
    counts = b"GGUF" + struct.pack("<IQQ", 3, 2**62, 2**62)
    text = b"GGUF" + struct.pack("<IQQ", 3, 1, 1) + struct.pack("<Q", 2**63 - 1)
    return {
        "gzip of gigabytes": zeros * 1000,
        "zip of a bomb": zipped({f"{number}": zeros * 10 for number in range(20)}),
        "deep JSON": deep,
        "deep objects": b'{"a":' * 10**6,
        "deep TOML": b"a = " + deep,
        "long number": b'{"a": ' + b"9" * 10**6 + b"}",
        "long number in TOML": b"a = " + b"9" * 10**6,
        "header of a gigabyte": struct.pack("<Q", 2**30) + b"{",
        "header of everything": struct.pack("<Q", 2**64 - 1) + b"{",
        "tensor of everything": struct.pack("<Q", len(json.dumps(huge))) + json.dumps(huge).encode(),
        "GGUF of everything": counts,
        "GGUF with a long text": text,
        "nothing": b"",
        "zeros": bytes(2**20),
    }
