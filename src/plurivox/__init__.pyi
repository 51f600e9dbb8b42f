"""Ratings from diverse people: who rated what, and what their agreement and disagreement say."""

# Written by python -m tools.stubs.

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

import polars as pl
from numpy.typing import ArrayLike

from plurivox import ask as ask
from plurivox import data as data
from plurivox import errors as errors
from plurivox import models as models
from plurivox import plots as plots
from plurivox import reproduce as reproduce
from plurivox import statistics as statistics
from plurivox import studies as studies
from plurivox import torch as torch
from plurivox.actions.advise.result import Advice as Advice
from plurivox.actions.advise.settings import Thresholds as Thresholds
from plurivox.actions.curate.parts import Decisions
from plurivox.actions.curate.result import Curation as Curation
from plurivox.actions.plan.result import Plan as Plan
from plurivox.actions.select.result import Selection as Selection
from plurivox.ask.read_answers import read_answers as read_answers
from plurivox.base.arguments import FilePath, Frame
from plurivox.base.errors import InputError as InputError
from plurivox.base.errors import PlurivoxError as PlurivoxError
from plurivox.base.errors import PlurivoxWarning as PlurivoxWarning
from plurivox.domain.answers import Answers as Answers
from plurivox.domain.axis import Axis as Axis
from plurivox.domain.axis import By
from plurivox.domain.choices import Conflicts, Duplicates, Layout
from plurivox.domain.points import GivenPoints
from plurivox.domain.predictions import Predictions as Predictions
from plurivox.domain.questions import combine as combine
from plurivox.domain.ratings import Ratings as Ratings
from plurivox.domain.recoding import GivenRecoding
from plurivox.domain.scale import GivenPoles, Label
from plurivox.domain.scale import Scale as Scale
from plurivox.domain.scale_files import GivenScale
from plurivox.engine.pool import Progress
from plurivox.lenses.aggregate.result import Aggregation as Aggregation
from plurivox.lenses.alignment.matching import AnswersLike
from plurivox.lenses.alignment.result import Alignment as Alignment
from plurivox.lenses.cohesion.result import Cohesion as Cohesion
from plurivox.lenses.estimate.result import Estimate as Estimate
from plurivox.lenses.item.result import ItemView as ItemView
from plurivox.lenses.item.run import ItemId
from plurivox.lenses.items.result import Items as Items
from plurivox.lenses.judge.result import JudgeCard as JudgeCard
from plurivox.lenses.overview.description import Description as Description
from plurivox.lenses.overview.run import Overview as Overview
from plurivox.lenses.psychometrics.result import Psychometrics as Psychometrics
from plurivox.lenses.responsiveness.references import ReferenceLike
from plurivox.lenses.responsiveness.result import Responsiveness as Responsiveness
from plurivox.lenses.soft.result import SoftScores as SoftScores
from plurivox.lenses.variation.result import Variation as Variation
from plurivox.read.packed.making import pack as pack
from plurivox.read.parquet import write_ratings as write_ratings
from plurivox.read.read import read_predictions as read_predictions
from plurivox.read.settings import Choice, Format
from plurivox.report.build import write_report as write_report
from plurivox.simulation.simulate import Simulation as Simulation
from plurivox.simulation.simulate import simulate as simulate
from plurivox.simulation.styles import Effect as Effect
from plurivox.simulation.styles import SimulatedModel as SimulatedModel
from plurivox.simulation.styles import SimulatedPredictor as SimulatedPredictor

__all__ = [
    "Advice",
    "Aggregation",
    "Alignment",
    "Answers",
    "Axis",
    "Cohesion",
    "Curation",
    "Description",
    "Effect",
    "Estimate",
    "InputError",
    "ItemView",
    "Items",
    "JudgeCard",
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
    "Variation",
    "advise",
    "aggregate",
    "alignment",
    "cohesion",
    "combine",
    "curate",
    "describe",
    "estimate",
    "item_view",
    "items",
    "judge",
    "overview",
    "pack",
    "plan",
    "psychometrics",
    "read_answers",
    "read_predictions",
    "read_ratings",
    "responsiveness",
    "select_raters",
    "simulate",
    "soft_labels",
    "soft_scores",
    "variation",
    "write_ratings",
    "write_report",
    "write_soft_labels",
]
__version__: str

def advise(
    ratings: Ratings,
    reference: ReferenceLike = "crowd",
    by: By | Sequence[By] = "rater",
    *,
    several: Mapping[str, str] | None = ...,
    min_group_size: int = 5,
    threshold: Label | None = None,
    thresholds: Thresholds | None = ...,
    group_score: str = "plurality",
    ties: str = "share",
    max_pairs: int = 10,
    permutations: int = 1000,
    max_permutations: int | None = None,
    interval: str | None = None,
    bootstrap: int = 0,
    min_support: float = 5.0,
    within: str | tuple[str, ...] | None = "auto",
    seed: int = 0,
    ids: bool = False,
    threads: int | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> Advice:
    """Show what stands out in the scores of each rater or group, and what to look at next."""

def aggregate(
    ratings: Ratings,
    by: By | Sequence[By] = ...,
    *,
    several: Mapping[str, str] | None = ...,
    min_group_size: int = 5,
    methods: str | Sequence[str] = ...,
    prior: ArrayLike | str = 1.0,
    max_iterations: int = 1000,
    starts: int = 10,
    permutations: int = 1000,
    max_permutations: int | None = None,
    n_lenses: int = 1,
    interval: str | None = None,
    resample: str = "both",
    within: str | tuple[str, ...] | None = "auto",
    correction: str = "maxt",
    seed: int = 0,
    threads: int | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> Aggregation:
    """Give each item one label by several methods, and show what that hides."""

def alignment(
    ratings: Ratings | None,
    answers: AnswersLike,
    by: By | Sequence[By] = ...,
    *,
    several: Mapping[str, str] | None = ...,
    min_group_size: int = 5,
    subset: str | None = None,
    level: str | ArrayLike = "ordinal",
    prior: ArrayLike = 1.0,
    families: Mapping[str, Sequence[str]] | None = None,
    threshold: Label | None = None,
    as_rater: bool = True,
    tolerance: float = 0.1,
    bootstrap: int = 1000,
    permutations: int = 1000,
    max_permutations: int | None = None,
    n_lenses: int = 1,
    closest_by: str = "auto",
    subsamples: int = 200,
    within: str | tuple[str, ...] | None = "auto",
    convention: str = "default",
    correction: str = "maxt",
    seed: int = 0,
    ids: bool = False,
    trained: Ratings | None = None,
    scale: GivenScale | None = None,
    threads: int | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> Alignment:
    """Find out whose view language models reflect, and how sure that is."""

def cohesion(
    ratings: Ratings,
    by: By | Sequence[By] = ...,
    *,
    several: Mapping[str, str] | None = ...,
    min_group_size: int = 5,
    level: str | ArrayLike = "auto",
    permutations: int = 1000,
    max_permutations: int | None = None,
    n_lenses: int = 1,
    interval: str | None = None,
    bootstrap: int = 0,
    resample: str = "both",
    within: str | tuple[str, ...] | None = "auto",
    correction: str = "maxt",
    convention: str = "default",
    ties: str = "share",
    gai: str | Sequence[str] = ...,
    pairs: bool = False,
    contrast: tuple[str, str] | None = None,
    same_view: float = 0.9,
    ids: bool = False,
    seed: int = 0,
    threads: int | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> Cohesion:
    """Find the groups of raters who agree among themselves more than with the others."""

def curate(
    ratings: Ratings,
    reference: ReferenceLike = "crowd",
    by: By = ...,
    *,
    form: str = "auto",
    prompt: str | None = None,
    response: str | None = None,
    text: str | None = None,
    threshold: Label | None = None,
    per_group: int = 5,
    min_ratings: int = 20,
    min_votes: int = 2,
    min_margin: float = 0.5,
    per_point: int = 50,
    range_weight: float = 2.0,
    higher_is_better: bool = False,
    permutations: int = 1000,
    max_permutations: int | None = None,
    within: str | tuple[str, ...] | None = "auto",
    seed: int = 0,
    min_group_size: int = 5,
    raters: Sequence[object] | None = None,
    decisions: Decisions | Frame | None = None,
    threads: int | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> Curation:
    """Make training data from ratings: each group's preferences, those shared by all groups, and weights."""

def describe(
    ratings: Ratings,
    by: By | Sequence[By] | None = None,
    *,
    several: Mapping[str, str] | None = ...,
    min_group_size: int = 5,
    threads: int | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> Description:
    """Describe a table of ratings."""

def estimate(
    ratings: Ratings,
    answers: AnswersLike,
    by: By | Sequence[By] = ...,
    *,
    several: Mapping[str, str] | None = ...,
    min_group_size: int = 5,
    subset: str | None = None,
    what: str | Sequence[str] = ...,
    threshold: Label | None = None,
    width: float | None = None,
    resample: str = "both",
    unanswered: str = "kept",
    ids: bool = False,
    threads: int | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> Estimate:
    """Estimate what people think of all items that a model answered, from the few they rated."""

def item_view(
    ratings: Ratings,
    item: ItemId,
    by: By | Sequence[By] = ...,
    *,
    several: Mapping[str, str] | None = ...,
    min_group_size: int = 5,
    permutations: int = 1000,
    seed: int = 0,
    within: str | tuple[str, ...] | None = "auto",
    fixed: bool = False,
    threads: int | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> ItemView:
    """Show one item: the scores it got, from which groups, and which groups stand apart by more than chance."""

def items(
    ratings: Ratings,
    by: By | Sequence[By] = ...,
    *,
    several: Mapping[str, str] | None = ...,
    min_group_size: int = 5,
    uncertain: bool = False,
    permutations: int = 1000,
    max_permutations: int | None = None,
    n_lenses: int = 1,
    seed: int = 0,
    within: str | tuple[str, ...] | None = "auto",
    prior: ArrayLike | str = "auto",
    precision: float | None = None,
    threads: int | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> Items:
    """Find the items that divide groups, and those about which one more rating would reveal most."""

def judge(
    ratings: Ratings,
    answers: AnswersLike,
    by: By | Sequence[By] = ...,
    *,
    several: Mapping[str, str] | None = ...,
    min_group_size: int = 5,
    subset: str | None = None,
    models: str | Sequence[str] | None = None,
    require: str | Sequence[str] = ...,
    level: str | ArrayLike = "ordinal",
    tolerance: float = 0.1,
    resample: str = "both",
    seed: int = 0,
    threads: int | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> JudgeCard:
    """Weigh the case for and against trusting a language model as a judge."""

def overview(
    ratings: Ratings,
    by: By | Sequence[By] = ...,
    *,
    several: Mapping[str, str] | None = ...,
    min_group_size: int = 5,
    threads: int | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> Overview:
    """Show how a study is designed and how its raters use the scale."""

def plan(
    ratings: Ratings,
    by: By | Sequence[By] = ...,
    *,
    several: Mapping[str, str] | None = ...,
    min_group_size: int = 5,
    gai: float = 1.2,
    power: float = 0.8,
    simulations: int = 60,
    within: str | tuple[str, ...] | None = "auto",
    permutations: int = 3000,
    seed: int = 0,
    threads: int | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> Plan:
    """Show which lenses apply to a table of ratings, which groups are too small for which, and what to collect next."""

def psychometrics(
    ratings: Ratings,
    by: By | Sequence[By] = "rater",
    *,
    several: Mapping[str, str] | None = ...,
    min_group_size: int = 5,
    items_by: str | None = None,
    group_score: str = "plurality",
    ties: str = "lowest",
    lower_bound: float = 0.3,
    ids: bool = False,
    seed: int = 0,
    threads: int | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> Psychometrics:
    """Check whether raters order items alike (Mokken's H), and how sharply each one's scores follow severity (GRM)."""

def read_ratings(
    source: FilePath,
    *,
    item: str | None = None,
    rater: str | None = None,
    score: str | None = None,
    point_columns: GivenPoints | None = None,
    scale: GivenScale | None = None,
    poles: GivenPoles | None = None,
    missing: Iterable[Label] = ...,
    recode: GivenRecoding | None = None,
    unsafe_from: Label | None = None,
    duplicates: Duplicates = "error",
    time: str | None = None,
    raters: FilePath | Frame | None = None,
    items: FilePath | Frame | None = None,
    by: Sequence[str] = ...,
    rater_attributes: Sequence[str] = ...,
    item_attributes: Sequence[str] = ...,
    conflicts: Conflicts = "missing",
    unknown: Sequence[str] = ...,
    layout: Layout | None = None,
    questions: str | None = None,
    rejected: Choice | None = None,
    unfinished: Choice | None = None,
    format: Format | None = None,
    encoding: str = "utf-8",
    connection: Any = None,
) -> Ratings:
    """Read ratings from a file, a folder, standard input (``"-"``) or a database."""

def responsiveness(
    ratings: Ratings,
    reference: ReferenceLike = "crowd",
    by: By | Sequence[By] = ...,
    *,
    several: Mapping[str, str] | None = ...,
    min_group_size: int = 5,
    threshold: Label | None = None,
    items_by: str | None = None,
    group_score: str = "plurality",
    ties: str = "share",
    permutations: int = 1000,
    max_permutations: int | None = None,
    n_lenses: int = 1,
    interval: str | None = None,
    bootstrap: int = 0,
    resample: str = "both",
    within: str | tuple[str, ...] | None = "auto",
    correction: str = "maxt",
    convention: str = "default",
    pairs: bool = False,
    contrast: tuple[str, str] | None = None,
    family: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = ...,
    psychometrics: bool | str = False,
    min_support: float = 5,
    ids: bool = False,
    seed: int = 0,
    threads: int | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> Responsiveness:
    """Find out whose higher scores mean more severe, and who tells unsafe from safe."""

def select_raters(
    ratings: Ratings,
    reference: ReferenceLike = "own group",
    by: By | Sequence[By] = ...,
    *,
    several: Mapping[str, str] | None = ...,
    min_group_size: int = 5,
    per_group: int = 3,
    keep: int | None = None,
    metric: str = "hm",
    order: str = "lower",
    min_ratings: int = 20,
    threshold: Label | None = None,
    bootstrap: int = 1000,
    within: str | tuple[str, ...] | None = "auto",
    seed: int = 0,
    ids: bool = False,
    log: Frame | None = None,
    threads: int | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> Selection:
    """Choose the most responsive raters of every group."""

def soft_labels(
    ratings: Ratings,
    by: By | Sequence[By] = ...,
    *,
    several: Mapping[str, str] | None = ...,
    min_group_size: int = 5,
    threads: int | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> pl.DataFrame:
    """Return the share of each item's raters who gave each point."""

def soft_scores(
    ratings: Ratings,
    predictions: Predictions | Frame,
    prior: ArrayLike | str = "auto",
    *,
    by: By | Sequence[By] = ...,
    several: Mapping[str, str] | None = ...,
    min_group_size: int = 5,
    bins: str | Iterable[str] | None = None,
    items_by: str | None = None,
    metrics: Sequence[str] = ...,
    floor: float | None = None,
    normalized: bool = True,
    min_ratings: int = 0,
    strict: bool = False,
    curve: bool = True,
    bootstrap: int = 1000,
    permutations: int = 1000,
    max_permutations: int | None = None,
    n_lenses: int = 1,
    within: str | tuple[str, ...] | None = "auto",
    correction: str = "maxt",
    seed: int = 0,
    ids: bool = False,
    train: Ratings | None = None,
    threads: int | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> SoftScores:
    """Score predicted rating distributions, and say how sure the ranking is."""

def variation(
    ratings: Ratings,
    by: By | Sequence[By] = ...,
    *,
    several: Mapping[str, str] | None = ...,
    min_group_size: int = 5,
    items_by: str | None = None,
    adjust: bool = False,
    reference: Mapping[str, str] | None = ...,
    target: float = 0.8,
    level: str | ArrayLike = "auto",
    permutations: int = 1000,
    max_permutations: int | None = None,
    n_lenses: int = 1,
    interval: str | None = None,
    bootstrap: int = 0,
    resample: str = "both",
    within: str | tuple[str, ...] | None = "auto",
    correction: str = "maxt",
    pairs: bool = False,
    contrast: tuple[str, str] | None = None,
    ids: bool = False,
    seed: int = 0,
    threads: int | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> Variation:
    """Find out who rates higher on the same items, and how much variation lies in items, raters and groups."""

def write_soft_labels(
    ratings: Ratings,
    path: FilePath,
    by: By | Sequence[By] = ...,
    *,
    several: Mapping[str, str] | None = ...,
    min_group_size: int = 5,
    ids: bool = False,
    threads: int | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> Path:
    """Write the soft labels of ratings, for LeWiDi or as a table."""
