"""Read what a language model answered: a point, a refusal, or nothing readable. The package needs no other.

>>> read_answer("B) sometimes", [("A", "never"), ("B", "sometimes")]).point
1
"""

from __future__ import annotations

from plurivox.domain.reader.options import STATES, Options, Reading, State
from plurivox.domain.reader.rules import read_answer

__all__ = ["STATES", "Options", "Reading", "State", "read_answer"]
