"""Ratings from diverse people: who rated what, and what their agreement and disagreement say.

>>> import plurivox as pv
>>> study = pv.simulate(n_items=50, n_raters=20, seed=1)
>>> study.ratings
<Ratings: 1,000 ratings of 50 items by 20 raters on 0 < 1 < 2 < 3 < 4>

Names are imported when they are first used, so that ``import plurivox`` is quick. In addition to the names below, there
are the modules ``plurivox.statistics``, ``plurivox.studies``, ``plurivox.plots``, ``plurivox.data``,
``plurivox.reproduce``, ``plurivox.ask``, ``plurivox.models`` and ``plurivox.torch``. What type checkers know about all
of them is in ``__init__.pyi``, which ``python -m tools.stubs`` writes.
"""

from __future__ import annotations

import importlib
from typing import Any

from plurivox.base import found_in

__version__ = "0.2.0"

found_in(given_population="plurivox.read.population:given_population")

_ANSWERED = {
    "actions.advise": ("advise", "Advice"),
    "actions.curate": ("curate", "Curation"),
    "actions.plan": ("plan", "Plan"),
    "actions.select": ("select_raters", "Selection"),
    "lenses.aggregate": ("aggregate", "Aggregation"),
    "lenses.alignment": ("alignment", "Alignment"),
    "lenses.cohesion": ("cohesion", "Cohesion"),
    "lenses.estimate": ("estimate", "Estimate"),
    "lenses.item": ("item_view", "ItemView"),
    "lenses.items": ("items", "Items"),
    "lenses.judge": ("judge", "JudgeCard"),
    "lenses.psychometrics": ("psychometrics", "Psychometrics"),
    "lenses.responsiveness": ("responsiveness", "Responsiveness"),
    "lenses.soft": ("soft_scores", "SoftScores"),
    "lenses.variation": ("variation", "Variation"),
}
"""Functions, each in the module run of a folder, and their results, in its module result."""
_ELSEWHERE = {
    "actions.advise.settings": ("Thresholds",),
    "domain.answers": ("Answers",),
    "domain.axis": ("Axis",),
    "base.errors": ("InputError", "PlurivoxError", "PlurivoxWarning"),
    "read.parquet": ("write_ratings",),
    "read.read": ("read_predictions", "read_ratings"),
    "ask.read_answers": ("read_answers",),
    "lenses.overview.description": ("Description", "describe"),
    "lenses.overview.run": ("Overview", "overview"),
    "lenses.soft.labels": ("soft_labels", "write_soft_labels"),
    "read.packed.making": ("pack",),
    "domain.predictions": ("Predictions",),
    "domain.questions": ("combine",),
    "domain.ratings": ("Ratings",),
    "report.build": ("write_report",),
    "domain.scale": ("Scale",),
    "simulation.simulate": ("Simulation", "simulate"),
    "simulation.styles": ("Effect", "SimulatedModel", "SimulatedPredictor"),
}
_HOMES = {name: home for home, names in _ELSEWHERE.items() for name in names}
for _folder, (_run, _result) in _ANSWERED.items():
    _HOMES |= {_run: f"{_folder}.run", _result: f"{_folder}.result"}

__all__ = sorted(_HOMES)
_MODULES = ("ask", "data", "errors", "models", "plots", "reproduce", "statistics", "studies", "torch")


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"plurivox.{name}")
    home = _HOMES.get(name)
    if home is None:
        return _of_lens(name)
    value = getattr(importlib.import_module(f"plurivox.{home}"), name)
    globals()[name] = value
    return value


def _of_lens(name: str) -> Any:
    """Return the function or the result class of a lens that only its folder defines."""
    from plurivox.lenses import lenses

    for lens in () if name.startswith("_") else lenses():
        if name == lens.name:
            return lens.load("run")
        if name == lens.result.rpartition(":")[2]:
            return lens.load("result")
    raise AttributeError(f"module 'plurivox' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_MODULES})
