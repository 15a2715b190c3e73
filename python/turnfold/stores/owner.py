"""Who holds a lease, and whether that process still runs."""

import os
import sys
import time
from pathlib import Path
from typing import Literal

import msgspec

Life = Literal["runs", "gone", "unknown"]


class Owner(msgspec.Struct, frozen=True):
    """One process: `place` is where process ids mean the same (a boot of a machine, and a namespace in it), `started`
    the process's start in the clock ticks of that boot, which tells it from a later one with its number.
    """

    place: str
    pid: int
    started: int

    def life(self, here: "Owner") -> Life:
        """Whether the process runs, as far as it can be seen from `here`."""
        if self == here:
            return "runs"
        if not self.place or self.place != here.place:
            return "unknown"
        return "runs" if _started(self.pid) == self.started else "gone"

    def __str__(self) -> str:
        return f"process {self.pid}"


class Pending(msgspec.Struct, frozen=True, kw_only=True):
    """A lease as a store holds it: whose it is, and until when nobody else takes it over, in seconds since 1970."""

    token: str
    base_version: int
    owner: Owner
    until: float

    def is_over(self, here: Owner, now: float) -> bool:
        """Whether somebody else may take it over."""
        return now >= self.until or self.owner.life(here) == "gone"


def this_process() -> Owner:
    """Return the running process. Where the system has no /proc only time tells that a process is gone."""
    pid = os.getpid()
    started = _started(pid)
    if started is None:
        return Owner("", pid, time.time_ns() if sys.platform == "win32" else 0)
    boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    return Owner(f"{boot}/{Path('/proc/self/ns/pid').readlink()}", pid, started)


def _started(pid: int) -> int | None:
    """Return a process's start in clock ticks since the boot; None where it does not run, or that cannot be seen."""
    try:
        text = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return None
    # The name of the program stands in brackets and may hold anything.
    fields = text.rpartition(b")")[2].split()
    return None if fields[0] in {b"Z", b"X"} else int(fields[19])
