"""Ratings from diverse people: who rated what, and what their agreement and disagreement say.

>>> import plurivox as pv
>>> study = pv.simulate(n_items=50, n_raters=20, seed=1)
>>> study.ratings
<Ratings: 1,000 ratings of 50 items by 20 raters on 0 < 1 < 2 < 3 < 4>

Names are imported when they are first used, so that ``import plurivox`` is quick. Beside the names below there are the
modules ``plurivox.statistics``, ``plurivox.studies``, ``plurivox.plots``, ``plurivox.ask``, ``plurivox.models`` and
``plurivox.torch``.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from plurivox import ask as ask
    from plurivox import models as models
    from plurivox import plots as plots
    from plurivox import statistics as statistics
    from plurivox import studies as studies
    from plurivox import torch as torch
    from plurivox._styles import Effect, SimulatedModel, SimulatedPredictor
    from plurivox.answers import Answers
    from plurivox.axis import Axis
    from plurivox.description import Description, describe
    from plurivox.errors import InputError, PlurivoxError, PlurivoxWarning
    from plurivox.io.answers import read_answers
    from plurivox.io.reading import read_predictions, read_ratings
    from plurivox.io.store import write_ratings
    from plurivox.lenses.advice import advise
    from plurivox.lenses.advice_result import Advice
    from plurivox.lenses.alignment import alignment
    from plurivox.lenses.alignment_result import Alignment
    from plurivox.lenses.cohesion import cohesion
    from plurivox.lenses.cohesion_result import Cohesion
    from plurivox.lenses.collecting import plan
    from plurivox.lenses.collecting_result import Plan
    from plurivox.lenses.curation import Curation, curate
    from plurivox.lenses.habits import Thresholds
    from plurivox.lenses.item_view_result import ItemView
    from plurivox.lenses.item_views import item_view
    from plurivox.lenses.items import Items, items
    from plurivox.lenses.overview import Overview, overview
    from plurivox.lenses.psychometrics import psychometrics
    from plurivox.lenses.psychometrics_result import Psychometrics
    from plurivox.lenses.responsiveness import responsiveness
    from plurivox.lenses.responsiveness_result import Responsiveness
    from plurivox.lenses.selection import select_raters
    from plurivox.lenses.selection_result import Selection
    from plurivox.lenses.soft_result import SoftScores
    from plurivox.lenses.soft_scores import soft_scores
    from plurivox.predictions import Predictions
    from plurivox.questions import combine
    from plurivox.ratings import Ratings
    from plurivox.report.build import write_report
    from plurivox.scale import Scale
    from plurivox.simulation import Simulation, simulate

__version__ = "0.1.0"

_HOMES = {
    "Advice": "lenses.advice_result",
    "Alignment": "lenses.alignment_result",
    "Answers": "answers",
    "Axis": "axis",
    "Cohesion": "lenses.cohesion_result",
    "Curation": "lenses.curation",
    "Description": "description",
    "Effect": "_styles",
    "InputError": "errors",
    "ItemView": "lenses.item_view_result",
    "Items": "lenses.items",
    "Overview": "lenses.overview",
    "Plan": "lenses.collecting_result",
    "PlurivoxError": "errors",
    "PlurivoxWarning": "errors",
    "Predictions": "predictions",
    "Psychometrics": "lenses.psychometrics_result",
    "Ratings": "ratings",
    "Responsiveness": "lenses.responsiveness_result",
    "Scale": "scale",
    "Selection": "lenses.selection_result",
    "SimulatedModel": "_styles",
    "SimulatedPredictor": "_styles",
    "Simulation": "simulation",
    "SoftScores": "lenses.soft_result",
    "Thresholds": "lenses.habits",
    "advise": "lenses.advice",
    "alignment": "lenses.alignment",
    "cohesion": "lenses.cohesion",
    "combine": "questions",
    "curate": "lenses.curation",
    "describe": "description",
    "item_view": "lenses.item_views",
    "items": "lenses.items",
    "overview": "lenses.overview",
    "plan": "lenses.collecting",
    "psychometrics": "lenses.psychometrics",
    "read_answers": "io.answers",
    "read_predictions": "io.reading",
    "read_ratings": "io.reading",
    "responsiveness": "lenses.responsiveness",
    "select_raters": "lenses.selection",
    "simulate": "simulation",
    "soft_scores": "lenses.soft_scores",
    "write_ratings": "io.store",
    "write_report": "report.build",
}

__all__ = [
    "Advice",
    "Alignment",
    "Answers",
    "Axis",
    "Cohesion",
    "Curation",
    "Description",
    "Effect",
    "InputError",
    "ItemView",
    "Items",
    "Overview",
    "Plan",
    "PlurivoxError",
    "PlurivoxWarning",
    "Predictions",
    "Psychometrics",
    "Ratings",
    "Responsiveness",
    "Scale",
    "Selection",
    "SimulatedModel",
    "SimulatedPredictor",
    "Simulation",
    "SoftScores",
    "Thresholds",
    "advise",
    "alignment",
    "cohesion",
    "combine",
    "curate",
    "describe",
    "item_view",
    "items",
    "overview",
    "plan",
    "psychometrics",
    "read_answers",
    "read_predictions",
    "read_ratings",
    "responsiveness",
    "select_raters",
    "simulate",
    "soft_scores",
    "write_ratings",
    "write_report",
]


_MODULES = ("ask", "models", "plots", "statistics", "studies", "torch")


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
    """Return the function or the result class of a lens that only its folder names."""
    from plurivox.lenses import lenses

    for lens in () if name.startswith("_") else lenses():
        if name == lens.name:
            return lens.load("run")
        if name == lens.result.rpartition(":")[2]:
            return lens.load("result")
    raise AttributeError(f"module 'plurivox' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_MODULES})
