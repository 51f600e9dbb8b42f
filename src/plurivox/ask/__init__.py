"""Putting a rating question to language models, and keeping every answer. Needs ``pip install 'plurivox[ask]'``.

>>> from plurivox import ask
>>> ask.read_answer("B) sometimes", [("A", "never"), ("B", "sometimes")]).point
1
"""

from __future__ import annotations

from plurivox.ask.prompts import PROMPTS, Example, Prompt
from plurivox.ask.question import Question
from plurivox.ask.running import Asked, make_plan, run
from plurivox.ask.store import Store
from plurivox.reader import Reading, read_answer

__all__ = [
    "PROMPTS",
    "Asked",
    "Example",
    "Prompt",
    "Question",
    "Reading",
    "Store",
    "make_plan",
    "read_answer",
    "run",
]
