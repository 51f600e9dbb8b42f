"""What the machine offers."""

from __future__ import annotations

import os


def processors() -> int:
    """Return how many processors this process may use, as far as the system can tell."""
    if hasattr(os, "process_cpu_count"):
        return os.process_cpu_count() or 1
    if hasattr(os, "sched_getaffinity"):  # Python before 3.13, on Linux
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
