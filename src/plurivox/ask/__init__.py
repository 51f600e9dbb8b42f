"""Putting a rating question to language models, keeping every answer, and checking how it was read.

Needs ``pip install 'plurivox[ask]'``.

>>> from plurivox import ask
>>> ask.read_answer("B) sometimes", [("A", "never"), ("B", "sometimes")]).point
1
"""

from __future__ import annotations

from plurivox.ask.auditing import Accuracy, Share, accuracy, draw_audit
from plurivox.ask.prompts import PROMPTS, Example, Prompt
from plurivox.ask.question import Question
from plurivox.ask.rereading import Rereading, SecondReading, read_by_model, reread
from plurivox.ask.running import Asked, make_plan, run
from plurivox.ask.store import Store
from plurivox.domain.reader import Reading, read_answer

__all__ = [
    "PROMPTS", "Accuracy", "Asked", "Example", "Prompt", "Question", "Reading", "Rereading", "SecondReading", "Share",
    "Store", "accuracy", "draw_audit", "make_plan", "read_answer", "read_by_model", "reread", "run",
]  # fmt: skip
