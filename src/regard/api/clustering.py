"""Work spread over a Ray cluster: the one that `RAY_ADDRESS` names, or else one of this machine's cores alone.

What Ray starts here listens on the loopback only, wants a token that nobody else has, tells nobody of its use and is
gone with this process. Arguments and results travel in Ray's own form, from one process of the user's to another.
"""

import json
import logging
import os
import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, redirect_stdout
from importlib import import_module
from itertools import chain, islice
from typing import Any, TypeAlias

from regard.api.parts import Done, Part
from regard.errors import ConfigError, RegardError

# (job, name of the file, number of the first line, lines) -> (output, what is to be told, as JSON)
Answering: TypeAlias = Callable[[str, str, int, list[bytes]], tuple[bytes, str]]

# How often a part is tried again whose process died under it.
AGAIN = 3
# How often a cluster of our own is tried to be started; Ray gives up after 30 s, which a busy machine may need.
STARTS = 3
STORE = 256 * 2**20
# Read by Ray when it is imported. The first keeps it on the loopback on any system, not only on those it names.
ALONE = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0", "RAY_AUTH_MODE": "token", "RAY_worker_niceness": "0"}
QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}


class Unfinished(RegardError):
    """A part that could not be answered; those that were are kept."""


def library() -> Any:
    """The package ray, which is there only where someone wants it."""
    os.environ.update(QUIET)
    if "RAY_ADDRESS" not in os.environ:
        os.environ.update(ALONE)
        # Ray reads it once in a process.
        os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))
    try:
        return import_module("ray")
    except ImportError:
        raise ConfigError("ray is not installed; pip install 'regard[ray]' brings it.") from None


def spread(answering: Answering, job: str, parts: Iterable[Part]) -> Iterator[tuple[Part, Done]]:
    """Every part with its answer as soon as that is there; a few parts a core are under way at any time."""
    coming: Iterator[Part] = iter(parts)
    if (first := next(coming, None)) is None:
        return  # nothing to start a cluster for
    with _hushed(), cluster() as ray:
        task, most = _task(ray, answering)
        coming, under_way = chain([first], coming), dict[Any, Part]()
        while True:
            for part in islice(coming, most - len(under_way)):
                under_way[task.remote(job, part.name, part.first, part.lines)] = part
            if not under_way:
                return
            [done], _ = ray.wait(list(under_way), num_returns=1)
            part = under_way.pop(done)
            output, told = _outcome(ray, done, part)
            yield part, Done(output, json.loads(told))


@contextmanager
def _hushed() -> Iterator[None]:
    """Inside, what Ray says about workers that died and are replaced goes nowhere; it says it on standard output."""
    with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere):
        yield


@contextmanager
def cluster() -> Iterator[Any]:
    """The package ray, connected."""
    ray = library()
    logging.getLogger("ray").setLevel(logging.ERROR)
    if address := os.environ.get("RAY_ADDRESS"):
        _joined(ray, address)
        try:
            yield ray
        finally:
            ray.shutdown()
        return
    # Sockets lie in it, whose paths may not be long.
    folder = tempfile.mkdtemp(prefix="ray-", dir="/tmp")
    try:
        _started(ray, folder)
        yield ray
    finally:
        ray.shutdown()
        shutil.rmtree(folder, ignore_errors=True)


def _joined(ray: Any, address: str) -> None:
    try:
        ray.init(address, configure_logging=False, log_to_driver=False)
    except (ConnectionError, ValueError, RuntimeError) as error:
        told = str(error).strip().splitlines()[0]
        raise ConfigError(f"No Ray cluster answers at RAY_ADDRESS = {address!r}: {told}") from None


def _started(ray: Any, folder: str) -> None:
    for _ in range(STARTS):
        try:
            ray.init(
                "local",
                num_cpus=len(os.sched_getaffinity(0)),
                include_dashboard=False,
                configure_logging=False,
                log_to_driver=False,
                object_store_memory=STORE,
                _temp_dir=folder,
            )
            return
        # Ray raises no narrower one when its processes take too long.
        except Exception as error:
            told = str(error).strip().splitlines()[0]
            ray.shutdown()
    raise Unfinished(f"Ray did not start on this machine in {STARTS} tries: {told}")


def _task(ray: Any, answering: Answering) -> tuple[Any, int]:
    """What answers one part on a core (or on a GPU, where the cluster has any), and how many are asked at a time."""
    there = ray.cluster_resources()
    kind = "num_gpus" if there.get("GPU") else "num_cpus"
    places = int(there.get("GPU") or there.get("CPU") or 1)
    return ray.remote(max_retries=AGAIN, **{kind: 1})(answering), 2 * max(places, 1)


def _outcome(ray: Any, done: Any, part: Part) -> tuple[bytes, str]:
    place = f"{part.name} lines {part.first} to {part.first + len(part.lines) - 1}"
    kept = "What was answered is kept; the same command goes on from there."
    try:
        output, told = ray.get(done)
        return output, told
    except ray.exceptions.RayTaskError as error:
        if isinstance(error.cause, RegardError):
            raise error.cause from None
        raise Unfinished(f"{place}: {type(error.cause).__name__}: {error.cause}. {kept}") from error
    except ray.exceptions.RayError as error:
        told = str(error).strip().splitlines()[0]
        raise Unfinished(f"{place}: {AGAIN + 1} processes died of them ({told}) {kept}") from error
