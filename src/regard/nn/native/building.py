"""The kernels' library: compiled on the machine that runs it, once, and kept in the user's cache.

Where there is no compiler, or it fails, there is no library, and torch computes everything. `REGARD_NATIVE=0` says so
by hand; `python -m regard.nn.native` says what there is.
"""

import ctypes
import hashlib
import os
import platform
import shutil
import stat
import subprocess
import tempfile
from functools import lru_cache
from pathlib import Path

import torch  # noqa: F401  its libgomp has to be there when ours is loaded: two pools of threads would fight

SOURCE = Path(__file__).with_name("kernels.cpp")
PARTS = SOURCE, SOURCE.with_name("learning.h"), SOURCE.with_name("products.h")
FLAGS = ("-O3", "-march=native", "-ffp-contract=off", "-fopenmp", "-fPIC", "-std=c++17", "-Wno-psabi")
COMPILERS = ("c++", "g++", "clang++")
LONGEST = 120
VERSION = 11


class Missing(Exception):
    """Why there is no library."""


@lru_cache(maxsize=1)
def library() -> ctypes.CDLL | None:
    """The kernels, or None where they cannot be had."""
    try:
        return found()
    except Missing:
        return None


def found() -> ctypes.CDLL:
    if os.environ.get("REGARD_NATIVE", "1") == "0":
        raise Missing("REGARD_NATIVE=0 asks for torch alone.")
    compiler = next(filter(None, map(shutil.which, (os.environ.get("CXX", ""), *COMPILERS))), None)
    if compiler is None:
        raise Missing(f"There is no C++ compiler ({', '.join(COMPILERS)}) on this machine; install one, or set CXX.")
    try:
        path = kept() / f"kernels-{_identity(compiler)}.so"
        if not path.exists():
            _compile(compiler, path)
        loaded = ctypes.CDLL(str(path))
        loaded.regard_sample.restype = ctypes.c_uint64
        loaded.regard_top.restype = loaded.regard_choose.restype = loaded.regard_walk.restype = ctypes.c_int64
        version = loaded.regard_version()
    except subprocess.CalledProcessError as problem:
        said = problem.stderr.decode("utf-8", "replace").strip().splitlines()
        raise Missing(f"{compiler} could not compile the kernels: {' '.join(said[:3])[:500]}") from problem
    # No home, no user numbers, no room, no such symbol: whatever it is, torch is there.
    except (OSError, RuntimeError, AttributeError, subprocess.SubprocessError) as problem:
        raise Missing(f"The kernels could not be compiled or loaded: {problem}.") from problem
    if version != VERSION:
        raise Missing(f"{path} holds version {version} of the kernels instead of {VERSION}; delete it.")
    return loaded


def kept() -> Path:
    """The folder for what is compiled; nobody else may write there."""
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = base / "regard"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    about = folder.stat()
    if about.st_uid != os.getuid() or about.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise Missing(f"Others may write into {folder}, so nothing is run from there; chmod 700 it.")
    return folder


def _identity(compiler: str) -> str:
    """The same for the same source, compiler and processor."""
    about = Path(compiler).resolve().stat()
    made_by = repr((FLAGS, compiler, about.st_size, about.st_mtime_ns, _processor())).encode()
    return hashlib.sha256(b"".join([*map(Path.read_bytes, PARTS), made_by])).hexdigest()[:24]


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() + platform.machine()
    return next((line for line in lines if line.startswith(("flags", "Features"))), platform.machine())


def _compile(compiler: str, path: Path) -> None:
    """In a folder of its own, then put in its place at once: others may be doing the same."""
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        object_file, made = Path(folder) / "kernels.o", Path(folder) / "kernels.so"
        # Linked without OpenMP's library: torch has brought one.
        for command in (
            [compiler, *FLAGS, "-c", str(SOURCE), "-o", str(object_file)],
            [compiler, "-shared", str(object_file), "-o", str(made)],
        ):
            subprocess.run(command, check=True, capture_output=True, timeout=LONGEST, stdin=subprocess.DEVNULL)
        made.replace(path)
