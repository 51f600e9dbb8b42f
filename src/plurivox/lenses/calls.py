"""What the calls of all lenses check."""

from __future__ import annotations

from collections.abc import Sequence

from plurivox.errors import InputError


def check_choice(name: str, value: str, allowed: Sequence[str]) -> None:
    """Raise unless a word is one of a few."""
    if value not in allowed:
        raise InputError(f"{name} is {value!r}", hint=f"Choose one of {', '.join(allowed)}.")


def check_draws(permutations: int, bootstrap: int, seed: int) -> None:
    """Raise unless the numbers of draws and the seed are usable."""
    if permutations < 0 or bootstrap < 0:
        raise InputError("permutations and bootstrap count draws", hint="Give 0 or more.")
    if not 0 <= seed < 2**63:
        raise InputError(f"seed is {seed}", hint="Give a whole number of at least 0.")
