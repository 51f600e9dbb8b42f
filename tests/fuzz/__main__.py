"""``python -m fuzz``: try cases of all targets in turn until the time is up; ``make fuzz`` calls it.

Cases run in another process, so that one that kills it is a failure of its own, and not the end.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import time
from pathlib import Path

from fuzz.searching import search
from fuzz.targets import TARGETS

EXAMPLES = {"calls": 20, "options": 10, "restored": 20, "packed": 200}
USUAL = 60
"""How many cases of a target are tried in a row."""


def main() -> int:
    """Fuzz until the time is up; 1 if anything failed."""
    asked = _asked()
    targets, folder = asked.target or list(TARGETS), Path(asked.failures)
    if asked.worker:
        return _work(targets, asked.seed, asked.seconds, folder)
    end, seed, seen, tried = time.monotonic() + asked.seconds, asked.seed, set[str](), list[int]()
    while (left := end - time.monotonic()) > 0:
        seed = _watch(targets, seed, left, folder, seen, tried)
    failures = f"{len(seen) or 'no'} failure{'s' if len(seen) != 1 else ''}"
    print(f"seeds {asked.seed} to {seed - 1}: {sum(tried):,} cases, {failures}")
    for line in sorted(seen):
        print(f"  {line}")
    return 1 if seen else 0


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=120.0, help="how long to go on; 0 for one seed")
    parser.add_argument("--seed", type=int, default=0, help="where chance starts")
    parser.add_argument("--target", action="append", choices=list(TARGETS), help="only this one; repeatable")
    parser.add_argument("--failures", default="fuzz-failures", help="where the files of failures go")
    parser.add_argument("--worker", action="store_true", help="in this process, without one that watches")
    return parser.parse_args()


def _watch(targets: list[str], seed: int, seconds: float, folder: Path, seen: set[str], tried: list[int]) -> int:
    """Let another process work until the time is up or it dies, and return the seed to go on with."""
    line = [
        sys.executable, "-X", "faulthandler", "-m", "fuzz", "--worker", "--seed", str(seed), "--seconds", str(seconds),
    ]  # fmt: skip
    line += ["--failures", str(folder), *(text for target in targets for text in ("--target", target))]
    folder.mkdir(parents=True, exist_ok=True)
    log = (folder / "stderr.txt").open("ab")  # where polars tells of its panics, and Python of a crash
    with log, subprocess.Popen(line, stdout=subprocess.PIPE, stderr=log, text=True, errors="replace") as worker:
        assert worker.stdout is not None
        for said in worker.stdout:
            if said.startswith("seed "):
                seed = int(said.split()[1]) + 1
                tried.append(int(said.split()[2]))
                continue
            print(said, end="", flush=True)
            if said.startswith("FAILED "):
                seen.add(said.removeprefix("FAILED ").partition(", seed")[0])
    if worker.returncode not in (0, 1):
        died = folder / f"died-{seed}"
        shutil.rmtree(died, ignore_errors=True)
        shutil.move(folder / "running", died)
        print(f"FAILED a process died with {worker.returncode}, seed {seed}\n  kept in {died}", flush=True)
        seen.add(f"a process died with {worker.returncode}")
        return seed + 1
    return seed


def _work(targets: list[str], seed: int, seconds: float, folder: Path) -> int:
    """Try cases of each target with one seed after another until the time is up."""
    end, failed, scratch = time.monotonic() + seconds, False, folder / "running"
    while True:
        tried: list[int] = []
        for target in targets:
            shutil.rmtree(scratch, ignore_errors=True)
            found = search(target, seed, EXAMPLES.get(target, USUAL), scratch / target, tried)
            if found is not None:
                failed = True
                print(f"FAILED {target}: {found.place}, seed {seed}: {found.case.what[:200]!r}")
                print(f"  kept in {found.keep(folder)}", flush=True)
            if 0 < seconds < time.monotonic() - end + seconds:
                break
        print(f"seed {seed} {sum(tried)}", flush=True)
        seed += 1
        if time.monotonic() >= end:
            shutil.rmtree(scratch, ignore_errors=True)
            return int(failed)


if __name__ == "__main__":
    sys.exit(main())
