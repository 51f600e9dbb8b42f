"""Rating studies with a known truth, for demos, tests, recovery checks and power analysis.

Item i has a severity V_i ~ N(0, 1). Rater j perceives

    V_ij = V_i + b_j + Σ_{g ∋ j} (β_g + d_gi)·[item i is of g's topic] + e_ij,

with the rater's bias b_j; for each group g of the rater, the group's bias β_g and the deviations d_gi that its
members share; and noise e_ij. The score is the number of cut-points below V_ij, then changed by the rater's
response style. Without groups and noise, this is the model of appendix D of Mishra et al. (arXiv 2503.05609).

A predictor assumes V_ij ~ N(V_i + bias + error, (σ / sharpness)²), where σ² is the variance of b_j + e_ij, and predicts
the probability of each score.
"""

from __future__ import annotations

import functools
import json
import math
import os
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from plurivox.base.arguments import checked
from plurivox.base.cards import card, heading_of, plain_grid
from plurivox.base.csv_files import guarded
from plurivox.base.folders import write_folder
from plurivox.config import FILE_NAME, config_text
from plurivox.domain.ratings import Ratings
from plurivox.domain.raw import label_column
from plurivox.domain.scale import Scale
from plurivox.domain.scale_files import GivenScale, as_scale
from plurivox.read.settings import ReadSettings
from plurivox.simulation.styles import (
    STYLES,
    Effect,
    Floats,
    SimulatedModel,
    SimulatedPredictor,
    check_numbers,
    check_population,
    check_predictors,
    check_trained,
    cut_points,
    plain,
    point_probabilities,
    refusal_probabilities,
    strictness,
)

__all__ = [
    "DEMO", "STYLES", "Effect", "SimulatedModel", "SimulatedPredictor", "Simulation", "cut_points", "simulate",
    "strictness",
]  # fmt: skip

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Texts = npt.NDArray[np.str_]

TRAINED_SCALE = Scale(["safe", "unsafe"])
POLES = ("safe", "unsafe")
DEFAULT_SCALE = Scale.range(0, 4).with_poles(POLES)
DEFAULT_ATTRIBUTES: Mapping[str, Mapping[str, float]] = {
    "gender": {"Man": 0.48, "Woman": 0.48, "Nonbinary": 0.04},
    "age": {"18-29": 0.3, "30-44": 0.3, "45-59": 0.25, "60+": 0.15},
    "ethnicity": {"Asian": 0.2, "Black": 0.2, "Hispanic": 0.2, "Multiracial": 0.1, "White": 0.3},
}
DEFAULT_VIOLATIONS = {"bias": 0.3, "harassment": 0.3, "misinformation": 0.2, "privacy": 0.2}
DEFAULT_STYLES = {"normal": 1.0}

# The position is the number of the seed's child, so new parts go to the end.
_PARTS = (
    *("severity", "violation", "text", "attribute", "withheld", "rater bias", "shared deviation", "noise"),
    *("style", "style draws", "design", "trained", "model", "predictor", "repeats"),
)
_TEXT = (
    ("jokes about", "complains about", "boasts about", "asks about", "spreads a rumour about"),
    ("a late bus", "a lost umbrella", "the neighbour's garden", "the office kettle", "a school play"),
    ("in a chat", "under a holiday photo", "in a product review", "at a street market", "by letter"),
)
DEFAULT_MODELS = (
    SimulatedModel("model-a"),
    SimulatedModel("model-b", bias=0.3, noise_sd=0.5, refusal_rate=0.05, unreadable_rate=0.02),
    SimulatedModel("model-c", bias=-0.3, noise_sd=0.8, refusal_rate=0.15, unreadable_rate=0.05),
)
DEFAULT_PREDICTORS = (
    SimulatedPredictor("careful"),
    SimulatedPredictor("confident", sharpness=3.0),
    SimulatedPredictor("vague", error_sd=0.6, sharpness=0.5),
)

DEMO: dict[str, Any] = {
    "effects": (
        Effect({"age": "18-29"}, bias=0.3, shared_sd=0.8),
        Effect({"gender": "Woman"}, bias=0.5, violation="harassment"),
        Effect({"gender": "Woman", "ethnicity": "Black"}, shared_sd=0.8),
        Effect({"ethnicity": "White"}, bias=-0.5),
    ),
    "styles": {"normal": 0.8, "extreme": 0.1, "central": 0.05, "conservative": 0.05},
    "models": (SimulatedModel("model-a", like={"age": "18-29"}), *DEFAULT_MODELS[1:]),
}
"""Arguments for a study in which every lens has something to find: ``simulate(**DEMO)``."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Simulation:
    """A simulated study and the truth behind it.

    Attributes
    ----------
    ratings_frame
        ``item``, ``rater``, ``score`` (a label of the scale), sorted by rater and item; if some are rated again, also
        ``time``, with second ratings after all first ones.
    raters, items
        What an analyst would know: ``rater`` and attributes; ``item``, ``text``, ``violation``.
    trained_frame
        ``item``, ``rater``, ``score`` ("safe" or "unsafe") of the trained raters, or None.
    answers
        ``model``, ``item``, ``state``, ``answer`` of the language models, or None.
    predictions
        ``model``, ``item``, and for each point of the scale a column with its probability, or None.
    truth_items, truth_raters
        ``item``, ``severity``; ``rater``, ``bias``, ``style``, ``group_bias``: the sum of the biases of the
        rater's effects, without those that are limited to one violation.
    truth_groups
        One row per effect: ``condition``, ``bias``, ``shared_sd``, ``violation``, and ``n_raters``, the number who meet
        the condition, even if ``raters`` has a null.
    scale, settings
        The scale, and every argument of :func:`simulate` in a form that JSON can hold.
    """

    ratings_frame: pl.DataFrame
    raters: pl.DataFrame
    items: pl.DataFrame
    trained_frame: pl.DataFrame | None
    answers: pl.DataFrame | None
    predictions: pl.DataFrame | None
    truth_items: pl.DataFrame
    truth_raters: pl.DataFrame
    truth_groups: pl.DataFrame
    scale: Scale
    settings: dict[str, Any]

    def __repr__(self) -> str:
        seen = f"{len(self.ratings_frame):,} ratings of {len(self.items):,} items"
        return f"<Simulation: {seen} by {len(self.raters):,} raters, seed {self.settings['seed']}>"

    def _repr_html_(self) -> str:
        """Show the tables in a notebook: their names, and how many rows they have."""
        tables = [(one.name, getattr(self, one.name)) for one in fields(self)]
        rows = [[name, frame.height] for name, frame in tables if isinstance(frame, pl.DataFrame)]
        return card(*heading_of(self), grids=[plain_grid(["table", "rows"], rows)])

    @property
    def ratings(self) -> Ratings:
        """The crowd's ratings with the attributes of raters and items; second ratings are kept with the first."""
        again: Any = {"duplicates": "keep", "time": "time"} if "time" in self.ratings_frame.columns else {}
        return Ratings.from_frame(self.ratings_frame, scale=self.scale, raters=self.raters, items=self.items, **again)

    @property
    def trained(self) -> Ratings | None:
        """The trained raters' ratings, or None if there are none; they have no attributes."""
        if self.trained_frame is None:
            return None
        return Ratings.from_frame(self.trained_frame, scale=TRAINED_SCALE, items=self.items)


class _World(NamedTuple):
    """What every rater and model looks at; ``changes`` is what each effect adds to each severity."""

    severity: Floats
    changes: Floats
    cuts: Floats
    labels: pl.Series
    item_ids: pl.Series
    seed: int


@checked
def simulate(
    *,
    n_items: int = 300,
    n_raters: int = 120,
    scale: GivenScale = DEFAULT_SCALE,
    attributes: Mapping[str, Mapping[str, float]] = DEFAULT_ATTRIBUTES,
    violations: Mapping[str, float] = DEFAULT_VIOLATIONS,
    effects: Sequence[Effect] = (),
    styles: Mapping[str, float] = DEFAULT_STYLES,
    style_options: Mapping[str, Mapping[str, float]] | None = None,
    rater_sd: float = 0.5,
    noise_sd: float = 0.5,
    cut_reach: float = 1.5,
    missing: float = 0.0,
    ratings_per_item: int | tuple[int, int] | None = None,
    n_rated: int | None = None,
    missing_attributes: float = 0.0,
    repeated: float = 0.0,
    trained: int = 30,
    trained_mean: float = 70.0,
    trained_sd: float = 12.0,
    trained_range: tuple[float, float] = (50.0, 90.0),
    models: Sequence[SimulatedModel] = DEFAULT_MODELS,
    predictors: Sequence[SimulatedPredictor] = DEFAULT_PREDICTORS,
    seed: int = 0,
) -> Simulation:
    """Simulate a study in which raters, trained raters and language models rate items of known severity.

    Each part draws from its own child of the seed: adding trained raters or a model changes no rating.

    Parameters
    ----------
    n_items, n_raters, scale
        Size of the study, and the scale the crowd and the models use. There are at most 10 million items and raters,
        and 100 million ratings.
    attributes, violations
        For each attribute of the raters, and for the items' topic, the values and their proportions.
    effects
        How groups of raters see items differently; none by default, :data:`DEMO` has some.
    styles, style_options
        Proportions of the response styles in :data:`STYLES`, and options that differ from a style's defaults:
        ``{"conservative": {"share": 0.2}}``.
    rater_sd, noise_sd
        Spread of the raters' biases and of the noise in each rating.
    cut_reach
        The cut-points run from minus to plus this severity; see :func:`cut_points`.
    missing, ratings_per_item
        The fraction of (item, rater) pairs left out at random, or the number of raters drawn for each item;
        with ``(2, 20)`` that number is itself drawn for each item, evenly from 2 to 20.
    n_rated
        How many of the items people rate, counted from the first; the others are answered only by models and trained
        raters. All by default.
    missing_attributes
        The fraction of attribute values that are null. They still act on the ratings.
    repeated
        The fraction of (item, rater) pairs that are rated a second time, with new noise. Ratings then have a ``time``:
        1, 2, 3, … in the order in which each rater answered, with first ratings before second ones.
    trained, trained_mean, trained_sd, trained_range
        The number of trained raters and how their strictness varies; see :func:`strictness`.
    models
        The language models; none with ``()``.
    predictors
        The models that predict how the ratings of each item are distributed; none with ``()``.
    seed
        A whole number of at least 0.

    Raises
    ------
    InputError
        If an argument is not usable; the message names it and what is allowed.

    Examples
    --------
    >>> effect = Effect({"gender": "Woman", "age": "18-29"}, bias=0.4, shared_sd=0.5)
    >>> simulate(n_items=20, n_raters=10, effects=[effect], seed=1)
    <Simulation: 200 ratings of 20 items by 10 raters, seed 1>
    """
    scale = as_scale(scale)
    scale = scale if scale.poles else scale.with_poles(POLES)  # what was simulated is how unsafe items are
    settings: dict[str, Any] = plain(locals())  # first, so that no argument can be forgotten
    if n_rated is None:
        del settings["n_rated"]  # studies without it keep the settings they had before it existed
    check_numbers(settings)
    check_trained(trained_mean, trained_sd, trained_range)
    check_population(attributes, violations, styles, style_options or {}, effects, models)
    check_predictors(predictors, scale.labels)

    severity = _rng(seed, "severity").normal(size=n_items)
    topics = _drawn(violations, n_items, _rng(seed, "violation"))
    people = {name: _drawn(attributes[name], n_raters, _rng(seed, "attribute", name)) for name in attributes}
    bias = _rng(seed, "rater bias").normal(0.0, rater_sd, n_raters)
    habits = _drawn(styles, n_raters, _rng(seed, "style"))
    members = np.zeros((len(effects), n_raters), bool)
    changes = np.zeros((len(effects), n_items))
    for number, effect in enumerate(effects):
        met = [people[name] == value for name, value in effect.condition.items()]
        members[number] = np.all(met, axis=0)
        shared = _rng(seed, "shared deviation", number).normal(0.0, effect.shared_sd, len(topics))
        concerned = True if effect.violation is None else topics == effect.violation
        changes[number] = np.where(concerned, effect.bias + shared, 0.0)
    cuts = cut_points(len(scale), reach=cut_reach)
    world = _World(severity, changes, cuts, label_column(scale), _ids("item", n_items), seed)

    rater, item = _design(n_items, n_raters, missing, ratings_per_item, _rng(seed, "design"))
    perceived = severity[item] + bias[rater]
    for change, belongs in zip(changes, members, strict=True):
        cells = np.flatnonzero(belongs[rater])
        perceived[cells] += change[item[cells]]
    seen = perceived.copy() if repeated else perceived
    if noise_sd > 0:
        perceived += _rng(seed, "noise").normal(0.0, noise_sd, len(perceived))
    positions = np.searchsorted(cuts, perceived).astype(scale.dtype)
    _apply_styles(positions, perceived, rater, habits, len(scale), style_options or {}, seed)

    times = None
    if repeated:
        chosen, more, times = _again(rater, seen, cuts, habits, repeated, noise_sd, style_options or {}, seed)
        rater, item = np.append(rater, rater[chosen]), np.append(item, item[chosen])
        positions = np.append(positions, more.astype(scale.dtype))

    if n_rated is not None:
        kept = item < n_rated
        rater, item, positions, times = rater[kept], item[kept], positions[kept], None if times is None else times[kept]
    rater_ids = _ids("rater", n_raters)
    everywhere = np.array([effect.bias if effect.violation is None else 0.0 for effect in effects])
    truth_raters = {"rater": rater_ids, "bias": bias, "style": habits, "group_bias": everywhere @ members}
    words = _rng(seed, "text")
    picks = zip(*(words.choice(parts, n_items).tolist() for parts in _TEXT), strict=True)
    texts = [f"Someone {' '.join(pick)}." for pick in picks]
    items = pl.DataFrame({"item": world.item_ids, "text": texts, "violation": topics})
    spread = math.hypot(rater_sd, noise_sd)
    percentiles = strictness(trained, _rng(seed, "trained"), trained_mean, trained_sd, trained_range)
    return Simulation(
        ratings_frame=_long(world.item_ids, item, rater_ids, rater, world.labels.gather(positions), times),
        raters=_rater_table(rater_ids, people, missing_attributes, seed), items=items,
        trained_frame=_trained_frame(world, percentiles) if trained else None,
        answers=pl.concat([_answers(world, model, effects) for model in models]) if models else None,
        predictions=pl.concat([_predicted(world, one, spread, scale) for one in predictors]) if predictors else None,
        truth_items=pl.DataFrame({"item": world.item_ids, "severity": severity}),
        truth_raters=pl.DataFrame(truth_raters), truth_groups=_group_table(effects, members), scale=scale,
        settings=settings,
    )  # fmt: skip


def _rng(seed: int, part: str, key: str | int | None = None) -> np.random.Generator:
    """Return the generator of one part of the study, or of one named or numbered member of that part."""
    child = [_PARTS.index(part)]
    if key is not None:
        child.append(zlib.crc32(key.encode()) if isinstance(key, str) else key)
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=child))


def _drawn(proportions: Mapping[str, float], n: int, rng: np.random.Generator) -> Texts:
    bounds = np.cumsum(list(proportions.values()))
    return np.array(list(proportions))[np.searchsorted(bounds[:-1] / bounds[-1], rng.random(n), side="right")]


def _ids(kind: str, n: int, *, width: int = 3) -> pl.Series:
    width = max(width, len(str(n)))
    return pl.Series([f"{kind}-{number:0{width}d}" for number in range(1, n + 1)], dtype=pl.String)


def _design(
    n_items: int, n_raters: int, missing: float, ratings_per_item: int | Sequence[int] | None, rng: np.random.Generator
) -> tuple[Ints, Ints]:
    """Return the rater and the item of each rating, sorted by rater and item."""
    if ratings_per_item is not None:
        if isinstance(ratings_per_item, Sequence):
            low, high = ratings_per_item
            numbers = rng.integers(low, high, n_items, endpoint=True)
        else:
            numbers = np.full(n_items, ratings_per_item, np.int64)
        drawn = [rng.choice(n_raters, number, replace=False, shuffle=False) for number in numbers.tolist()]
        cells = np.sort(np.concatenate(drawn) * n_items + np.repeat(np.arange(n_items), numbers))
    elif missing > 0:
        cells = np.flatnonzero(rng.random(n_items * n_raters) >= missing)
    else:
        cells = np.arange(n_items * n_raters)
    return np.divmod(cells, n_items)


def _apply_styles(
    positions: npt.NDArray[Any], perceived: Floats, rater: Ints, habits: Texts, n_points: int,
    options: Mapping[str, Mapping[str, float]], seed: int,
) -> None:  # fmt: skip
    """Change the positions in place, rater by rater."""
    bounds = np.searchsorted(rater, np.arange(len(habits) + 1))
    for number in np.flatnonzero(habits != "normal").tolist():
        own = slice(bounds[number], bounds[number + 1])
        style, rng = str(habits[number]), _rng(seed, "style draws", number)
        chosen = STYLES[style](positions[own], perceived[own], n_points, rng, **options.get(style, {}))
        positions[own] = chosen


def _again(
    rater: Ints, seen: Floats, cuts: Floats, habits: Texts, share: float, noise_sd: float,
    options: Mapping[str, Mapping[str, float]], seed: int,
) -> tuple[Ints, Ints, Ints]:  # fmt: skip
    """Return which ratings are given again, their positions, and the times of all: first ones, then repeats."""
    rng = _rng(seed, "repeats")
    chosen = np.flatnonzero(rng.random(len(rater)) < share)
    perceived = seen[chosen] + rng.normal(0.0, noise_sd, len(chosen))
    positions = np.searchsorted(cuts, perceived)
    _apply_styles(positions, perceived, rater[chosen], habits, len(cuts) + 1, options, int(rng.integers(2**32)))
    times = np.append(_turns(rater, rng), np.bincount(rater)[rater[chosen]] + _turns(rater[chosen], rng))
    return chosen, positions, times


def _turns(rater: Ints, rng: np.random.Generator) -> Ints:
    """Return each rating's place, from 1, in a random order of its rater's ratings, which are sorted by rater."""
    order = np.lexsort((rng.random(len(rater)), rater))
    turns = np.empty(len(rater), np.int64)
    turns[order] = np.arange(len(rater)) - np.searchsorted(rater, rater) + 1
    return turns


def _long(
    items: pl.Series, item: Ints, raters: pl.Series, rater: Ints, score: pl.Series, times: Ints | None = None
) -> pl.DataFrame:
    frame = pl.DataFrame({"item": items.gather(item), "rater": raters.gather(rater), "score": score})
    return frame if times is None else frame.with_columns(time=times)


def _rater_table(ids: pl.Series, people: Mapping[str, Texts], missing: float, seed: int) -> pl.DataFrame:
    table = pl.DataFrame({"rater": ids})
    for name, values in people.items():
        withheld = _rng(seed, "withheld", name).random(len(ids)) < missing
        shown = [None if hidden else value for value, hidden in zip(values.tolist(), withheld, strict=True)]
        table = table.with_columns(pl.Series(name, shown, dtype=pl.String))
    return table


def _trained_frame(world: _World, percentiles: Floats) -> pl.DataFrame:
    n_trained, n_items = len(percentiles), len(world.severity)
    unsafe = world.severity > np.percentile(world.severity, percentiles)[:, None]
    rater, item = np.divmod(np.arange(n_trained * n_items), n_items)
    score = label_column(TRAINED_SCALE).gather(unsafe.ravel().astype(np.uint8))
    return _long(world.item_ids, item, _ids("trained", n_trained, width=2), rater, score)


def _answers(world: _World, model: SimulatedModel, effects: Sequence[Effect]) -> pl.DataFrame:
    rng, n_items = _rng(world.seed, "model", model.name), len(world.severity)
    shared = [effect.condition.items() <= model.like.items() for effect in effects]
    perceived = world.severity + model.bias + np.array(shared, float) @ world.changes
    perceived += rng.normal(0.0, model.noise_sd, n_items)
    refusal = refusal_probabilities(world.severity, model.refusal_rate, model.refusal_slope)
    refused, unreadable = rng.random(n_items) < refusal, rng.random(n_items) < model.unreadable_rate
    state = np.select([refused, unreadable], ["refused", "unreadable"], "answered")
    answer = world.labels.gather(np.searchsorted(world.cuts, perceived))
    frame = pl.DataFrame({"model": model.name, "item": world.item_ids, "state": state, "answer": answer})
    return frame.with_columns(answer=pl.when(pl.col("state") == "answered").then(pl.col("answer")))


def _predicted(world: _World, predictor: SimulatedPredictor, spread: float, scale: Scale) -> pl.DataFrame:
    error = _rng(world.seed, "predictor", predictor.name).normal(0.0, predictor.error_sd, len(world.severity))
    perceived = world.severity + predictor.bias + error
    chances = point_probabilities(perceived, spread / predictor.sharpness, world.cuts)
    points = {str(label): column for label, column in zip(scale.labels, chances.T, strict=True)}
    return pl.DataFrame({"model": predictor.name, "item": world.item_ids, **points})


def _group_table(effects: Sequence[Effect], members: Bools) -> pl.DataFrame:
    schema = {"condition": pl.String, "bias": pl.Float64, "shared_sd": pl.Float64, "violation": pl.String,
              "n_raters": pl.Int64}  # fmt: skip
    rows = [
        (", ".join(f"{name}={value}" for name, value in one.condition.items()), float(one.bias), float(one.shared_sd),
         one.violation, n)
        for one, n in zip(effects, members.sum(axis=1).tolist(), strict=True)
    ]  # fmt: skip
    return pl.DataFrame(rows, schema=schema, orient="row")


# Files ----------------------------------------------------------------------------------------------------------------
#
# A simulated study as files: what an analyst would have and, separately, the truth.


TABLES = (
    "ratings.csv", "raters.csv", "items.csv", "trained.csv", "answers.csv", "predictions.csv", "truth_items.csv",
    "truth_raters.csv", "truth_groups.csv",
)  # fmt: skip
NAMES = (*TABLES, "settings.json", FILE_NAME)
"""All files that a study may have."""


def _write(frame: pl.DataFrame, path: Path) -> None:
    with path.open("wb") as file:  # polars accepts only names in UTF-8
        guarded(frame).write_csv(file)


def write_study(study: Simulation, folder: str | os.PathLike[str], *, force: bool = False) -> list[Path]:
    """Write the study to a folder, all files or none, and return them.

    ``ratings.csv``, ``raters.csv``, ``items.csv``, ``trained.csv``, ``answers.csv`` and ``predictions.csv`` are the
    data; ``truth_items.csv``, ``truth_raters.csv`` and ``truth_groups.csv`` are what they were made from;
    ``settings.json`` reproduces them; ``plurivox.toml`` tells every command how to read them. An existing study is
    replaced; a folder with other files, or with files changed since, is an error unless ``force`` is set.
    """
    frames = (
        study.ratings_frame, study.raters, study.items, study.trained_frame, study.answers, study.predictions,
        study.truth_items, study.truth_raters, study.truth_groups,
    )  # fmt: skip
    writers: dict[str, Callable[[Path], object]] = {
        name: functools.partial(_write, frame) for name, frame in zip(TABLES, frames, strict=True) if frame is not None
    }
    settings = json.dumps(study.settings, ensure_ascii=False, indent=2) + "\n"
    config = config_text(study.ratings, ReadSettings(raters="raters.csv", items="items.csv"))
    for name, text in (("settings.json", settings), (FILE_NAME, config)):
        writers[name] = functools.partial(Path.write_text, data=text, encoding="utf-8")
    return write_folder(folder, dict(sorted(writers.items())), gone=set(TABLES) - set(writers), force=force)
