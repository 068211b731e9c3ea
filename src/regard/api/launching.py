"""Several processes of one command on this machine, started and watched over by torchrun's own agent.

`launched([...], processes=2)` is `torchrun --standalone --nproc-per-node 2 -m regard ...`, but that what went wrong is
told in a sentence. For several machines use torchrun itself.
"""

import logging
import os
import signal
import sys
import uuid
from collections.abc import Mapping, Sequence

from torch.distributed.elastic.multiprocessing.api import SignalException
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError, ProcessFailure
from torch.distributed.launcher.api import LaunchConfig, elastic_launch

from regard.errors import ConfigError, RegardError

NAMED = {signal.SIGKILL: " (out of memory?)", signal.SIGSEGV: " (a fault in native code)"}


class Fallen(RegardError):
    """A process that did not end by itself; the others were ended."""


def launched(words: Sequence[str], processes: int, restarts: int = 0) -> int:
    """Run `regard WORDS` as so many processes; the exit code of all.

    When one fails all are ended and, up to `restarts` times, started again. `Fallen` if one was killed: the others tell
    their own errors.
    """
    if processes < 1 or restarts < 0:
        raise ConfigError(f"processes = {processes}, restarts = {restarts}: give at least 1 process and 0 restarts.")
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, len(os.sched_getaffinity(0)) // processes)))
    _hush()
    try:
        elastic_launch(_config(processes, restarts), sys.executable)("-m", "regard", *words)
    except SignalException as heard:
        return 128 + int(heard.sigval)
    except ChildFailedError as error:
        return _code(error.failures, processes, restarts)
    return 0


def _hush() -> None:
    """Let the agent be silent: its lines on every process it ends say less than the sentence about the first."""
    for name in [*logging.root.manager.loggerDict]:
        if name.startswith("torch.distributed.elastic"):
            logging.getLogger(name).setLevel(logging.CRITICAL)


def _config(processes: int, restarts: int) -> LaunchConfig:
    return LaunchConfig(
        min_nodes=1,
        max_nodes=1,
        nproc_per_node=processes,
        run_id=str(uuid.uuid4()),
        rdzv_backend="c10d",
        rdzv_endpoint="localhost:0",
        max_restarts=restarts,
    )


def _code(failures: Mapping[int, ProcessFailure], processes: int, restarts: int) -> int:
    """The exit code of the first that failed, or the sentence about those that were killed."""
    killed = {rank: failure for rank, failure in failures.items() if failure.exitcode < 0}
    if not killed:
        return failures[min(failures)].exitcode
    # The others were ended by SIGTERM when the first was found dead.
    killed = {rank: failure for rank, failure in killed.items() if failure.exitcode != -signal.SIGTERM} or killed
    told = "; ".join(f"process {rank} of {processes} {_fate(failure)}" for rank, failure in sorted(killed.items()))
    again = f", after {restarts} restart{'s' * (restarts > 1)}" if restarts else ""
    raise Fallen(
        f"The {told}{again}, and the run with it. Its newest checkpoint is whole: the same command with --resume goes "
        f"on from there, and --restarts {restarts + 3} would have done so by itself."
    )


def _fate(failure: ProcessFailure) -> str:
    number = -failure.exitcode
    return f"(pid {failure.pid}) was killed by signal {number}{NAMED.get(signal.Signals(number), '')}"
