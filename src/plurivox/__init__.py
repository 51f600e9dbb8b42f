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
    from plurivox.actions.advise.result import Advice
    from plurivox.actions.advise.rules import Thresholds
    from plurivox.actions.advise.run import advise
    from plurivox.actions.curate.run import Curation, curate
    from plurivox.actions.plan.result import Plan
    from plurivox.actions.plan.run import plan
    from plurivox.actions.select.result import Selection
    from plurivox.actions.select.run import select_raters
    from plurivox.answers import Answers
    from plurivox.axis import Axis
    from plurivox.errors import InputError, PlurivoxError, PlurivoxWarning
    from plurivox.intake.parquet import write_ratings
    from plurivox.intake.read import read_predictions, read_ratings
    from plurivox.intake.read_answers import read_answers
    from plurivox.lenses.alignment.result import Alignment
    from plurivox.lenses.alignment.run import alignment
    from plurivox.lenses.cohesion.result import Cohesion
    from plurivox.lenses.cohesion.run import cohesion
    from plurivox.lenses.item.result import ItemView
    from plurivox.lenses.item.run import item_view
    from plurivox.lenses.items.run import Items, items
    from plurivox.lenses.overview.description import Description, describe
    from plurivox.lenses.overview.run import Overview, overview
    from plurivox.lenses.psychometrics.result import Psychometrics
    from plurivox.lenses.psychometrics.run import psychometrics
    from plurivox.lenses.responsiveness.result import Responsiveness
    from plurivox.lenses.responsiveness.run import responsiveness
    from plurivox.lenses.soft.result import SoftScores
    from plurivox.lenses.soft.run import soft_scores
    from plurivox.predictions import Predictions
    from plurivox.questions import combine
    from plurivox.ratings import Ratings
    from plurivox.report.build import write_report
    from plurivox.scale import Scale
    from plurivox.simulation.simulate import Simulation, simulate
    from plurivox.simulation.styles import Effect, SimulatedModel, SimulatedPredictor

__version__ = "0.1.0"

_HOMES = {
    "Advice": "actions.advise.result",
    "Alignment": "lenses.alignment.result",
    "Answers": "answers",
    "Axis": "axis",
    "Cohesion": "lenses.cohesion.result",
    "Curation": "actions.curate.run",
    "Description": "lenses.overview.description",
    "Effect": "simulation.styles",
    "InputError": "errors",
    "ItemView": "lenses.item.result",
    "Items": "lenses.items.run",
    "Overview": "lenses.overview.run",
    "Plan": "actions.plan.result",
    "PlurivoxError": "errors",
    "PlurivoxWarning": "errors",
    "Predictions": "predictions",
    "Psychometrics": "lenses.psychometrics.result",
    "Ratings": "ratings",
    "Responsiveness": "lenses.responsiveness.result",
    "Scale": "scale",
    "Selection": "actions.select.result",
    "SimulatedModel": "simulation.styles",
    "SimulatedPredictor": "simulation.styles",
    "Simulation": "simulation.simulate",
    "SoftScores": "lenses.soft.result",
    "Thresholds": "actions.advise.rules",
    "advise": "actions.advise.run",
    "alignment": "lenses.alignment.run",
    "cohesion": "lenses.cohesion.run",
    "combine": "questions",
    "curate": "actions.curate.run",
    "describe": "lenses.overview.description",
    "item_view": "lenses.item.run",
    "items": "lenses.items.run",
    "overview": "lenses.overview.run",
    "plan": "actions.plan.run",
    "psychometrics": "lenses.psychometrics.run",
    "read_answers": "intake.read_answers",
    "read_predictions": "intake.read",
    "read_ratings": "intake.read",
    "responsiveness": "lenses.responsiveness.run",
    "select_raters": "actions.select.run",
    "simulate": "simulation.simulate",
    "soft_scores": "lenses.soft.run",
    "write_ratings": "intake.parquet",
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
