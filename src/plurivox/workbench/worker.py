"""The process that computes: it reads what to make and reports its progress, each as lines of JSON.

``python -m plurivox.workbench.worker`` is started only by the server. It ends when nobody writes to it any more, so
that nothing keeps computing after the server is gone.
"""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
import time
import traceback
from pathlib import Path
from typing import Any

from plurivox.base.errors import PlurivoxError
from plurivox.workbench.making import Desk, Source, make, problem_of
from plurivox.workbench.reading import ReadingSettings

OFTEN = 0.2
"""The fewest seconds between two progress messages."""


class Worker:
    """Makes one thing after another, and remembers the last study."""

    def __init__(self, tell: Any) -> None:
        self._tell = tell
        self._desk: Desk | None = None
        self._told = 0.0

    def do(self, job: dict[str, Any]) -> None:
        """Make one thing; report whatever goes wrong."""
        try:
            files = {role: tuple(one) for role, one in job["files"].items()}
            reading = ReadingSettings.from_dict(job["reading"])
            source = Source(files, reading, Path(job["inputs"]), Path(job["made"]))
            if self._desk is None or self._desk.source != source:
                if self._desk is not None:
                    os.chdir("/")
                    self._desk.close()
                self._desk = Desk(source)
            desk = self._desk
            desk.tell = lambda told: self._pass_on(job["id"], told)
            os.chdir(desk.folder)  # where the files are under names that messages can quote
            make(desk, job["kind"], job["asked"], Path(job["out"]))
        except (PlurivoxError, MemoryError, OSError) as error:
            self._tell({"job": job["id"], "event": "failed", "problem": problem_of(error)})
        except Exception as error:
            traceback.print_exc()
            self._tell({"job": job["id"], "event": "failed", "problem": problem_of(error)})
        else:
            self._tell({"job": job["id"], "event": "done"})

    def _pass_on(self, job: str, told: dict[str, Any]) -> None:
        """Tell the server, but report progress no more often than anybody can read."""
        now = time.monotonic()
        if told["event"] == "progress" and now - self._told < OFTEN and told["done"] < told["total"]:
            return
        self._told = now
        self._tell({"job": job, **told})


def main() -> None:
    """Work until nobody asks any more; pages come first, so that they stay quick meanwhile."""
    if hasattr(os, "nice"):
        os.nice(10)
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what anything prints goes where errors go, not between our lines
    lock = threading.Lock()

    def tell(told: dict[str, Any]) -> None:
        with lock:
            out.write(json.dumps(told) + "\n")
            out.flush()

    jobs: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()

    def listen() -> None:
        for line in sys.stdin:
            jobs.put(json.loads(line))
        os._exit(0)  # at once, even in the middle of something: nobody waits for it

    threading.Thread(target=listen, daemon=True).start()
    worker = Worker(tell)
    tell({"event": "ready"})
    while True:
        worker.do(jobs.get())


if __name__ == "__main__":
    main()
