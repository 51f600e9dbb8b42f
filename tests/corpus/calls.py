"""Cases that call plurivox from Python: results with all their draws, and the tables behind charts."""

from __future__ import annotations

from corpus.running import Case

CASES: tuple[Case, ...] = ()
