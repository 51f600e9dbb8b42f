"""Freeze what plurivox does today, or compare with what was frozen.

::

    python tests/corpus/freeze.py                      # freeze all
    python tests/corpus/freeze.py cohesion             # freeze anew the cases whose names begin so
    python tests/corpus/freeze.py --check              # compare all; exits with 1 if anything differs
    python tests/corpus/freeze.py --check --threads 1 responsiveness/dense

Cases on real data need PLURIVOX_TEST_DATA. It tests the plurivox that Python imports, so set PYTHONPATH=src in a
checkout that is not installed.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import json
import math
import os
import re
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if __name__ == "__main__":
    os.environ["OPENBLAS_CORETYPE"] = "Haswell"  # as conftest.py has it
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

if TYPE_CHECKING:
    from corpus.running import Case

FROZEN = Path(__file__).parent / "frozen"
SHOWN = 12
"""Differences of a case to print."""


def load(group: str) -> dict[str, Any]:
    """Return the frozen records of a group of cases by name, and the environment they were made in."""
    path = FROZEN / f"{group}.json.gz"
    if not path.is_file():
        return {"environment": {}, "cases": {}}
    found: dict[str, Any] = json.loads(gzip.decompress(path.read_bytes()))
    return found


def save(group: str, frozen: dict[str, Any]) -> None:
    """Write the records of a group; the same records make the same bytes."""
    FROZEN.mkdir(exist_ok=True)
    text = json.dumps(frozen, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    (FROZEN / f"{group}.json.gz").write_bytes(gzip.compress(text.encode(), compresslevel=9, mtime=0))


def group_of(name: str) -> str:
    """Return the file that a case belongs to."""
    return name.partition("/")[0]


def through_json(value: Any) -> Any:
    """Return a record as it is when it has been written and read."""
    return json.loads(json.dumps(value, ensure_ascii=False, allow_nan=False))


def freeze(cases: Sequence[Case], threads: int | None) -> int:
    """Run cases and write what they left behind; cases that are no more are dropped with it."""
    from corpus.cases import CASES
    from corpus.running import environment, new_world

    known = {case.name for case in CASES}
    with new_world(threads) as world:
        for group, members in itertools.groupby(cases, key=lambda case: group_of(case.name)):
            frozen = load(group)
            for case in members:
                begun = time.process_time()
                frozen["cases"][case.name] = case.run(world)
                ended = f" ended with {code}" if (code := frozen["cases"][case.name].get("code")) else ""
                print(f"{time.process_time() - begun:6.2f} s  {case.name}{ended}", flush=True)
            frozen["environment"] = environment()
            frozen["cases"] = {name: frozen["cases"][name] for name in sorted(known & set(frozen["cases"]))}
            save(group, frozen)
    size = sum(path.stat().st_size for path in FROZEN.iterdir())
    print(f"{len(cases)} cases; {size / 1e6:.2f} MB in {FROZEN}")
    return 0


def close(line: str) -> bool:
    """Tell whether a difference is of last digits, of a new setting, or of the text of JSON that is compared."""
    if re.search(r"(^|\.)text: '|settings\.\w+: new: |settings: other order", line):
        return True
    numbers = re.search(r": (-?[\d.e+-]+) → (-?[\d.e+-]+)$", line)
    return numbers is not None and math.isclose(float(numbers[1]), float(numbers[2]), rel_tol=1e-12, abs_tol=1e-13)


def check(cases: Sequence[Case], threads: int | None, *, lenient: bool) -> int:
    """Run cases and print how they differ from what was frozen; return 1 if any does."""
    from corpus.records import differences
    from corpus.running import environment, new_world

    begun, n_wrong = time.process_time(), 0
    with new_world(threads) as world:
        for group, members in itertools.groupby(cases, key=lambda case: group_of(case.name)):
            frozen = load(group)
            _tell_environment(group, list(differences(frozen["environment"], environment())))
            for case in members:
                if case.name not in frozen["cases"]:
                    found = ["it was never frozen"]
                else:
                    found = list(differences(frozen["cases"][case.name], through_json(case.run(world))))
                    found = [line for line in found if not (lenient and close(line))]
                n_wrong += bool(found)
                _tell(case.name, found)
    print(f"{len(cases)} cases in {time.process_time() - begun:.0f} s, {n_wrong} differ")
    return int(n_wrong > 0)


def _tell_environment(group: str, found: Iterable[str]) -> None:
    for one in found:
        print(f"{group}: frozen in another environment: {one}")


def _tell(name: str, found: Sequence[str]) -> None:
    if found:
        print(f"\n{name}")
        for line in found[:SHOWN]:
            print(f"  {line}")
        if len(found) > SHOWN:
            print(f"  … and {len(found) - SHOWN} more")


def main() -> int:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="names of cases, or how they begin; all without any")
    parser.add_argument("--check", action="store_true", help="compare instead of freezing")
    parser.add_argument("--lenient", action="store_true", help="pass over last digits and new settings")
    parser.add_argument("--threads", type=int, help="threads to ask for where there is an option")
    parser.add_argument("--list", action="store_true", help="only print the names of the cases")
    given = parser.parse_args()
    import plurivox
    from corpus.cases import CASES
    from corpus.data import real_data

    chosen = [case for case in CASES if not given.names or case.name.startswith(tuple(given.names))]
    if given.list:
        print("\n".join(case.name for case in chosen))
        return 0
    if not chosen:
        parser.error("no case is called so")
    print(f"plurivox at {Path(plurivox.__file__).parent}")
    if real_data() is None:
        skipped = [case for case in chosen if case.needs_real_data]
        chosen = [case for case in chosen if not case.needs_real_data]
        print(f"PLURIVOX_TEST_DATA does not name a folder with real data: {len(skipped)} cases are left out")
    return check(chosen, given.threads, lenient=given.lenient) if given.check else freeze(chosen, given.threads)


if __name__ == "__main__":
    raise SystemExit(main())
