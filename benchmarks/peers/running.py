"""One process, watched: what it printed, its peak memory, and how much of the machine others used meanwhile."""

import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

# All get the same number of threads: what is asked for, or as many as there are cores.
THREADS = int(os.environ.setdefault("OMP_NUM_THREADS", str(os.cpu_count() or 1)))
TICKS = os.sysconf("SC_CLK_TCK")


class Ran(NamedTuple):
    """Everything printed, both streams in order; peak memory in MB; the share of the machine that others used."""

    code: int
    text: str
    memory: float
    others: float

    @property
    def last(self) -> str:
        """The last line that says something: an answer, or what went wrong."""
        lines = [line for line in self.text.splitlines() if line.strip()]
        return lines[-1] if lines else ""


def run(command: Sequence[str | Path], changes: Mapping[str, str] | None = None, folder: Path | None = None) -> Ran:
    """Run it to its end."""
    before = machine()
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            [str(part) for part in command],
            stdout=output,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            env=os.environ | (changes or {}),
            cwd=folder,
        )
        # Unlike `Popen.wait`, this tells what this one process, with its children, has used.
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        text = output.read().decode("utf-8", "replace")
    busy, all_of_it = (now - then for now, then in zip(machine(), before, strict=True))
    own = used.ru_utime + used.ru_stime
    return Ran(process.returncode, text, used.ru_maxrss / 1024, max(0.0, busy - own) / max(all_of_it, 1e-9))


def machine() -> tuple[float, float]:
    """Seconds that all cores have worked, and that they have had, since the machine was started."""
    stat = Path("/proc/stat")
    if not stat.exists():
        return 0.0, 0.0
    ticks = stat.read_text().splitlines()[0].split()[1:9]
    user, nice, system, idle, waiting, *rest = (int(one) / TICKS for one in ticks)
    busy = user + nice + system + sum(rest)
    return busy, busy + idle + waiting
