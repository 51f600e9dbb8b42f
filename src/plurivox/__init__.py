"""Ratings from diverse people: who rated what, and what their agreement and disagreement say.

>>> import plurivox as pv
>>> study = pv.simulate(n_items=50, n_raters=20, seed=1)
>>> study.ratings
<Ratings: 1,000 ratings of 50 items by 20 raters on 0 < 1 < 2 < 3 < 4>

Names are imported when they are first used, so that ``import plurivox`` is quick. In addition to the names below, there
are the modules ``plurivox.statistics``, ``plurivox.studies``, ``plurivox.plots``, ``plurivox.data``,
``plurivox.reproduce``, ``plurivox.ask``, ``plurivox.models`` and ``plurivox.torch``.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from plurivox import ask as ask
    from plurivox import data as data
    from plurivox import models as models
    from plurivox import plots as plots
    from plurivox import reproduce as reproduce
    from plurivox import statistics as statistics
    from plurivox import studies as studies
    from plurivox import torch as torch
    from plurivox.actions.advise.result import Advice as Advice
    from plurivox.actions.advise.run import advise as advise
    from plurivox.actions.advise.settings import Thresholds as Thresholds
    from plurivox.actions.curate.result import Curation as Curation
    from plurivox.actions.curate.run import curate as curate
    from plurivox.actions.plan.result import Plan as Plan
    from plurivox.actions.plan.run import plan as plan
    from plurivox.actions.select.result import Selection as Selection
    from plurivox.actions.select.run import select_raters as select_raters
    from plurivox.answers import Answers as Answers
    from plurivox.axis import Axis as Axis
    from plurivox.errors import InputError as InputError
    from plurivox.errors import PlurivoxError as PlurivoxError
    from plurivox.errors import PlurivoxWarning as PlurivoxWarning
    from plurivox.intake.parquet import write_ratings as write_ratings
    from plurivox.intake.read import read_predictions as read_predictions
    from plurivox.intake.read import read_ratings as read_ratings
    from plurivox.intake.read_answers import read_answers as read_answers
    from plurivox.lenses.aggregate.result import Aggregation as Aggregation
    from plurivox.lenses.aggregate.run import aggregate as aggregate
    from plurivox.lenses.alignment.result import Alignment as Alignment
    from plurivox.lenses.alignment.run import alignment as alignment
    from plurivox.lenses.cohesion.result import Cohesion as Cohesion
    from plurivox.lenses.cohesion.run import cohesion as cohesion
    from plurivox.lenses.estimate.result import Estimate as Estimate
    from plurivox.lenses.estimate.run import estimate as estimate
    from plurivox.lenses.item.result import ItemView as ItemView
    from plurivox.lenses.item.run import item_view as item_view
    from plurivox.lenses.items.result import Items as Items
    from plurivox.lenses.items.run import items as items
    from plurivox.lenses.judge.result import JudgeCard as JudgeCard
    from plurivox.lenses.judge.run import judge as judge
    from plurivox.lenses.overview.description import Description as Description
    from plurivox.lenses.overview.description import describe as describe
    from plurivox.lenses.overview.run import Overview as Overview
    from plurivox.lenses.overview.run import overview as overview
    from plurivox.lenses.psychometrics.result import Psychometrics as Psychometrics
    from plurivox.lenses.psychometrics.run import psychometrics as psychometrics
    from plurivox.lenses.responsiveness.result import Responsiveness as Responsiveness
    from plurivox.lenses.responsiveness.run import responsiveness as responsiveness
    from plurivox.lenses.soft.labels import soft_labels as soft_labels
    from plurivox.lenses.soft.labels import write_soft_labels as write_soft_labels
    from plurivox.lenses.soft.result import SoftScores as SoftScores
    from plurivox.lenses.soft.run import soft_scores as soft_scores
    from plurivox.lenses.variation.result import Variation as Variation
    from plurivox.lenses.variation.run import variation as variation
    from plurivox.packed.making import pack as pack
    from plurivox.predictions import Predictions as Predictions
    from plurivox.questions import combine as combine
    from plurivox.ratings import Ratings as Ratings
    from plurivox.report.build import write_report as write_report
    from plurivox.scale import Scale as Scale
    from plurivox.simulation.simulate import Simulation as Simulation
    from plurivox.simulation.simulate import simulate as simulate
    from plurivox.simulation.styles import Effect as Effect
    from plurivox.simulation.styles import SimulatedModel as SimulatedModel
    from plurivox.simulation.styles import SimulatedPredictor as SimulatedPredictor

__version__ = "0.1.0"

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
    "answers": ("Answers",),
    "axis": ("Axis",),
    "errors": ("InputError", "PlurivoxError", "PlurivoxWarning"),
    "intake.parquet": ("write_ratings",),
    "intake.read": ("read_predictions", "read_ratings"),
    "intake.read_answers": ("read_answers",),
    "lenses.overview.description": ("Description", "describe"),
    "lenses.overview.run": ("Overview", "overview"),
    "lenses.soft.labels": ("soft_labels", "write_soft_labels"),
    "packed.making": ("pack",),
    "predictions": ("Predictions",),
    "questions": ("combine",),
    "ratings": ("Ratings",),
    "report.build": ("write_report",),
    "scale": ("Scale",),
    "simulation.simulate": ("Simulation", "simulate"),
    "simulation.styles": ("Effect", "SimulatedModel", "SimulatedPredictor"),
}
_HOMES = {name: home for home, names in _ELSEWHERE.items() for name in names}
for _folder, (_run, _result) in _ANSWERED.items():
    _HOMES |= {_run: f"{_folder}.run", _result: f"{_folder}.result"}

__all__ = sorted(_HOMES)
_MODULES = ("ask", "data", "models", "plots", "reproduce", "statistics", "studies", "torch")


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
