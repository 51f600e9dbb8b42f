"""What can be asked of cohesion."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CohesionSettings:
    """What was asked for."""

    permutations: int
    bootstrap: int
    resample: str
    seed: int
    convention: str
    ties: str
