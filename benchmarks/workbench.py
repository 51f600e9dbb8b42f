"""Twenty browsers' worth of page views on a running workbench, idle and while an analysis runs, measured side by side.

``python benchmarks/workbench.py [SECONDS]`` starts a server in a temporary folder and prints the 95 % quantile of page
views of both, errors, and the memory of the server before and after.
"""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import httpx
import numpy as np

BROWSERS = 20
PAUSE = 0.5
"""Seconds that somebody looks at a page before the next."""


def memory(pid: int) -> float:
    """Return the memory of a process in megabytes."""
    found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    return int(found[1]) / 1024 if found else float("nan")


def views(client: httpx.Client, paths: list[str], seconds: float) -> tuple[list[float], int]:
    """Return how long page views of all browsers took, and how many failed."""
    taken: list[float] = []
    failed = 0
    end = time.monotonic() + seconds

    def browse(number: int) -> None:
        nonlocal failed
        at = number
        while time.monotonic() < end:
            start = time.monotonic()
            done = client.get(paths[at % len(paths)])
            taken.append(time.monotonic() - start)
            failed += done.status_code != 200
            at += 1
            time.sleep(PAUSE)

    threads = [threading.Thread(target=browse, args=(number,)) for number in range(BROWSERS)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    return taken, failed


def main() -> None:
    """Measure, and print."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 60.0
    with tempfile.TemporaryDirectory() as folder:
        line = [sys.executable, "-m", "plurivox", "serve", "--folder", folder, "--no-open"]
        process = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        home = address.partition("/?")[0]
        limits = httpx.Limits(max_connections=BROWSERS + 2)
        client = httpx.Client(base_url=home, headers={"origin": home}, timeout=30, follow_redirects=True, limits=limits)
        client.get(address)
        study = client.post("/studies/simulated").url.path
        while 'id="stream"' in client.get(study).text:
            time.sleep(0.2)
        asked = {"by": ["gender", "age"], "permutations": "20", "max_permutations": "20"}
        results = client.post(f"{study}/ask", data=asked).url.raw_path.decode()
        while "In short" not in client.get(results).text:
            time.sleep(0.5)
        paths = ["/", study, f"{study}/ask", results, f"{results}&part=cohesion", f"{study}/groups", f"{study}/export"]
        views(client, paths, 5)
        before = memory(process.pid)
        idle, failed = views(client, paths, seconds)
        long = {"permutations": "50000", "max_permutations": "50000", "seed": "1"}
        client.post(f"{study}/ask", data={"by": ["gender", "age"], **long})
        busy, failed_busy = views(client, paths, seconds)
        after = memory(process.pid)
        for name, taken, errors in (("idle", idle, failed), ("while an analysis runs", busy, failed_busy)):
            low, high = np.quantile(taken, [0.5, 0.95])
            told = f"median {low * 1000:.0f} ms, p95 {high * 1000:.0f} ms, {errors} errors"
            print(f"{name}: {len(taken):,} page views, {told}")
        print(f"memory of the server: {before:.0f} MB before, {after:.0f} MB after")
        process.send_signal(signal.SIGINT)
        process.wait(30)


if __name__ == "__main__":
    main()
