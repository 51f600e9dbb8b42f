"""Which runs are alive: processes on this machine, and those on others that send a heartbeat."""

from __future__ import annotations

import os
import platform
import time
from pathlib import Path

LEASE = 60.0
"""How many seconds a run keeps what it has claimed without a heartbeat. Its process may be stopped, or its machine
asleep; a process on this machine that has ended keeps nothing."""


def host_name() -> str:
    """Name the machine, and the part of it within which process numbers are unique (a container has its own)."""
    try:
        return f"{platform.node()} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return platform.node()


def process(pid: int) -> tuple[str, int | None]:
    """Return the state of a process and when it started, as Linux reports them; empty and None elsewhere."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
        return fields[0].decode(), int(fields[19])
    except (OSError, IndexError, ValueError):
        return "", None


def alive(host: str, pid: int, started: int | None, heartbeat: float) -> bool:
    """Return whether a run is still going."""
    if time.time() - heartbeat > LEASE:
        return False
    if host != host_name() or os.name == "nt":  # on Windows os.kill would end the process rather than look at it
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # it exists, and is another user's
        pass
    state, ticks = process(pid)
    return state not in ("Z", "X") and (ticks is None or started is None or ticks == started)
