"""Trying cases of a target, the same for the same seed."""

from __future__ import annotations

from pathlib import Path

import hypothesis
from hypothesis import HealthCheck, Phase, given
from hypothesis import strategies as st

from fuzz.cases import Case, Failure, attempt
from fuzz.targets import TARGETS


def search(target: str, seed: int, examples: int, folder: Path, tried: list[int] | None = None) -> Failure | None:
    """Try so many cases of a target, and return the first that fails; ``tried`` gets how many were tried."""
    n_cases = 0
    last: list[Case] = []

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=examples, database=None, deadline=None, derandomize=False, phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck), report_multiple_bugs=False, print_blob=False,
    )  # fmt: skip
    @given(st.data())
    def tries(data: st.DataObject) -> None:
        nonlocal n_cases
        n_cases += 1
        case = TARGETS[target](data.draw)
        last[:] = [case]
        attempt(case, folder)

    try:
        tries()
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # polars raises panics past Exception
        if not last:
            raise
        return Failure(target, seed, last[0], error)
    finally:
        if tried is not None:
            tried.append(n_cases)
    return None
