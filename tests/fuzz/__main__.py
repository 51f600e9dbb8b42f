"""``python -m fuzz``: try cases of all targets in turn until the time is up; ``make fuzz`` calls it.

Each round runs in a process of its own, so that one that dies is a failure of its case, and not the end.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from fuzz.searching import search
from fuzz.targets import TARGETS

EXAMPLES = {"calls": 40, "options": 25, "restored": 40}
DIED = 2


def main() -> int:
    """Fuzz until the time is up; 1 if anything failed."""
    asked = _asked()
    folder = Path(asked.failures)
    if asked.round is not None:
        return _round(asked.target or list(TARGETS), asked.round, folder)
    end, number, seen = time.monotonic() + asked.seconds, asked.seed, set[str]()
    while time.monotonic() < end:
        for target in asked.target or list(TARGETS):
            left = end - time.monotonic()
            if left <= 0:
                break
            seen |= _tried(target, number, folder)
        number += 1
    print(f"{number - asked.seed} rounds from seed {asked.seed}: {len(seen) or 'no'} failures")
    for line in sorted(seen):
        print(f"  {line}")
    return 1 if seen else 0


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=120.0, help="how long to go on")
    parser.add_argument("--seed", type=int, default=0, help="where chance starts")
    parser.add_argument("--target", action="append", choices=list(TARGETS), help="only this one; repeatable")
    parser.add_argument("--failures", default="fuzz-failures", help="where the files of failures go")
    parser.add_argument("--round", type=int, help="one round of this seed, in this process")
    return parser.parse_args()


def _tried(target: str, seed: int, folder: Path) -> set[str]:
    """Run one round of a target in another process, and return what failed."""
    line = [sys.executable, "-m", "fuzz", "--target", target, "--round", str(seed), "--failures", str(folder)]
    done = subprocess.run(line, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode not in (0, 1):
        kept = folder / f"{target}-{seed}-died"
        kept.mkdir(parents=True, exist_ok=True)
        (kept / "output.txt").write_text(done.stdout + done.stderr, encoding="utf-8")
        print(f"{target}, seed {seed}: the process died with {done.returncode}; see {kept}", flush=True)
        return {f"{target}: died with {done.returncode}"}
    print(done.stdout, end="", flush=True)
    lines = [line for line in done.stdout.splitlines() if line.startswith("FAILED ")]
    return {line.removeprefix("FAILED ").partition(", seed")[0] for line in lines}


def _round(targets: list[str], seed: int, folder: Path) -> int:
    """Try one round of cases in this process."""
    failed = 0
    for target in targets:
        with tempfile.TemporaryDirectory() as scratch:
            found = search(target, seed, EXAMPLES.get(target, 100), Path(scratch))
        if found is not None:
            failed += 1
            print(f"FAILED {target}: {found.place}, seed {seed}: {found.case.what[:200]!r}")
            print(f"  kept in {found.keep(folder)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
