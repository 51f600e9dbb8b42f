"""How simulated raters and models see and answer: effects, cut-points, response styles, refusals, predictions.

They are separate from :mod:`plurivox.simulation.simulate`, which puts a study together, because they can be used alone:
pure functions of arrays, and the records that describe groups, models and predictors. Checks of arguments come last.

A response style changes a rater's scores without changing what the rater saw. It takes the positions 0..K the
rater chose, the severities the rater perceived, the number of points K + 1 and a random generator, and
returns new positions of the same type. The first three are the patterns of appendix D of Mishra et al. (arXiv
2503.05609); numbers that the paper leaves open are keyword options.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from numbers import Integral
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt

from plurivox.base.arguments import LARGEST, fits, is_text, shown
from plurivox.base.errors import InputError, SelectionError
from plurivox.domain.scale import Scale

Positions = npt.NDArray[np.integer[Any]]
Floats = npt.NDArray[np.float64]
Style = Callable[..., Positions]
Proportions = Mapping[str, float]

MOST = {"n_items": 10_000_000, "n_raters": 10_000_000, "trained": 1_000_000, "seed": LARGEST}
"""The largest whole numbers that :func:`~plurivox.simulation.simulate.simulate` accepts."""
MOST_CELLS = 100_000_000
"""The most ratings, or predicted probabilities, of one study: they are all in memory."""
LEAST_SPREAD = 1e-9  # of a predicted distribution, even if ratings have no spread


@dataclass(frozen=True, slots=True)
class Effect:
    """How the raters who meet a condition see items differently from the others.

    Parameters
    ----------
    condition
        The attribute values that a member must have, all of them: ``{"gender": "Woman", "age": "18-29"}``.
    bias
        What members add to the severity of the items.
    shared_sd
        Spread over items of a deviation that all members share; this is what makes a group cohesive.
    violation
        The only topic on which bias and deviation act; by default they act on all.
    """

    condition: Mapping[str, str]
    bias: float = 0.0
    shared_sd: float = 0.0
    violation: str | None = None


@dataclass(frozen=True, slots=True)
class SimulatedModel:
    """A language model that rates every item once.

    Parameters
    ----------
    name
        The model's name in the answers.
    bias, noise_sd
        What the model adds to the severity of every item, and the spread of its noise.
    refusal_rate
        Share of items refused, on average over the items; see :func:`refusal_probabilities`.
    unreadable_rate
        Among the answers that are not refusals, the share that cannot be read.
    like
        Attribute values of the person through whose eyes the model sees: it gets the bias and the shared deviations of
        each effect whose condition that person meets.
    refusal_slope
        How much likelier severe items are to be refused: the change in log-odds per unit of severity.
    """

    name: str
    bias: float = 0.0
    noise_sd: float = 0.3
    refusal_rate: float = 0.0
    unreadable_rate: float = 0.0
    like: Mapping[str, str] = field(default_factory=dict)
    refusal_slope: float = 1.5


@dataclass(frozen=True, slots=True)
class SimulatedPredictor:
    """A model that predicts for every item how the ratings will be distributed.

    Parameters
    ----------
    name
        The model's name in the predictions.
    error_sd
        Spread of its error in the severity of an item.
    sharpness
        How narrow its predictions are. 1 is the spread that the raters' biases and the noise give the ratings of an
        item, 2 is half of that spread (overconfident), 0.5 is twice as much (vague). It does not foresee effects and
        response styles.
    bias
        What it adds to the severity of every item.
    """

    name: str
    error_sd: float = 0.3
    sharpness: float = 1.0
    bias: float = 0.0


def normal(positions: Positions, severity: Floats, n_points: int, rng: np.random.Generator) -> Positions:
    """Return the scores as they are."""
    return positions.copy()


def downward_shift(
    positions: Positions, severity: Floats, n_points: int, rng: np.random.Generator, *, probability: float = 0.5
) -> Positions:
    """Lower each score of 2 or more by one with the given probability; a scale of 2 points has no such scores."""
    lowered = (positions >= 2) & (rng.random(len(positions)) < probability)
    return np.where(lowered, positions - 1, positions)


def proportional_shift(
    positions: Positions, severity: Floats, n_points: int, rng: np.random.Generator, *, probability: float = 0.5
) -> Positions:
    """Lower each score of the upper half by a quarter of the scale with the given probability.

    On five points, that is :func:`downward_shift`; on longer scales, the shift grows with them, as K/4 points.
    """
    step = max(1, (n_points + 1) // 4)  # K/4, rounded half up
    lowered = (positions >= 2 * step) & (rng.random(len(positions)) < probability)
    return np.where(lowered, positions - step, positions).astype(positions.dtype)


def conservative(
    positions: Positions, severity: Floats, n_points: int, rng: np.random.Generator, *, share: float = 0.3
) -> Positions:
    """Give the most severe share of the items a uniform score in 1..K and all others 0.

    Of n items, ⌊share·n + ½⌋ are scored above 0; among items of equal severity the earlier ones come first.
    """
    n_top = math.floor(share * len(positions) + 0.5 + 1e-9)  # 0.7 · 45 falls short of 31.5 in binary
    top = np.argsort(-severity, kind="stable")[:n_top]
    result = np.zeros_like(positions)
    result[top] = rng.integers(1, n_points, size=n_top)
    return result


def extreme(
    positions: Positions, severity: Floats, n_points: int, rng: np.random.Generator, *, probability: float = 0.8
) -> Positions:
    """Push each interior score to the nearer end with the given probability, the exact middle to either end.

    A scale of 2 points has no interior, so nothing changes.
    """
    top = n_points - 1
    interior = (positions > 0) & (positions < top)
    pushed = interior & (rng.random(len(positions)) < probability)
    coin = rng.random(len(positions)) < 0.5
    doubled = positions.astype(np.int64) * 2
    upward = (doubled > top) | ((doubled == top) & coin)
    return np.where(pushed, np.where(upward, top, 0), positions).astype(positions.dtype)


def central(
    positions: Positions, severity: Floats, n_points: int, rng: np.random.Generator, *, probability: float = 0.8
) -> Positions:
    """Move each score at an end to its inner neighbour with the given probability.

    On 3 points, both ends move to the middle. On 2 points, an end has no inner neighbour, so nothing changes.
    """
    if n_points == 2:
        return positions.copy()
    top = n_points - 1
    moved = rng.random(len(positions)) < probability
    inner = np.clip(positions, 1, top - 1)
    return np.where(moved, inner, positions).astype(positions.dtype)


STYLES: dict[str, Style] = {
    style.__name__: style for style in (normal, downward_shift, proportional_shift, conservative, extreme, central)
}


def cut_points(n_points: int, *, reach: float = 1.5) -> Floats:
    """Return the K cut-points of a scale of K + 1 points: evenly spaced from -reach to reach, both included.

    A scale of 2 points has a single one, which cannot be at both ends and is placed at 0.
    """
    return np.linspace(-reach, reach, n_points - 1) if n_points > 2 else np.zeros(1)


def strictness(
    n: int, rng: np.random.Generator, mean: float = 70.0, sd: float = 12.0, bounds: tuple[float, float] = (50.0, 90.0)
) -> Floats:
    """Return the percentile of severity above which each of n trained raters says unsafe.

    Drawn from a normal distribution truncated to the bounds, by inverting its distribution function.
    """
    curve = NormalDist(mean, sd)
    low, high = (curve.cdf(bound) for bound in bounds)
    shares = np.clip(low + (high - low) * rng.random(n), 1e-300, 1 - 1e-16)
    return np.clip([curve.inv_cdf(share) for share in shares], *bounds)


def refusal_probabilities(severity: Floats, rate: float, slope: float) -> Floats:
    """Return logistic(a + slope·V_i) for each item, with a such that the mean over the items is the rate."""
    if rate == 0:
        return np.zeros_like(severity)
    high = 50.0 + abs(slope) * float(np.abs(severity).max())
    low = -high
    for _ in range(100):
        middle = (low + high) / 2
        if _logistic(middle + slope * severity).mean() < rate:
            low = middle
        else:
            high = middle
    return _logistic(high + slope * severity)


def point_probabilities(perceived: Floats, spread: float, cuts: Floats) -> Floats:
    """Return items × points: the probability of each point if the severity seen is N(perceived, spread²).

    Points far from the centre keep their digits, since a tail is never the difference of two numbers near 1.
    """
    z = (cuts - perceived[:, None]) / max(spread, LEAST_SPREAD)
    z = np.pad(z, ((0, 0), (1, 1)), constant_values=(-np.inf, np.inf))
    tail = np.asarray(np.frompyfunc(math.erfc, 1, 1)(np.abs(z) / math.sqrt(2)), np.float64) / 2
    low, high = tail[:, :-1], tail[:, 1:]
    above, below = z[:, :-1] > 0, z[:, 1:] < 0
    chances = np.select([above, below], [low - high, high - low], 1 - low - high).clip(min=0.0)
    return np.asarray(chances / chances.sum(axis=1, keepdims=True))


def _logistic(x: Floats) -> Floats:
    return 0.5 * (1.0 + np.tanh(x / 2))  # unlike 1 / (1 + exp(-x)), never overflows


def plain(value: Any) -> Any:
    """Return a value in a form that JSON can hold."""
    if isinstance(value, Scale):
        return value.to_dict()
    if is_dataclass(value) and not isinstance(value, type):
        return {part.name: plain(getattr(value, part.name)) for part in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    return value.item() if isinstance(value, np.generic) else value


def check_numbers(given: Mapping[str, Any]) -> None:
    """Raise an error unless sizes, fractions and spreads, by the names of the arguments, are in range."""
    for name, least in {"n_items": 1, "n_raters": 1, "trained": 0, "seed": 0}.items():
        _require_count(name, given[name], least, MOST[name])
    _check("", given, missing="fraction", missing_attributes="fraction", repeated="fraction")
    _check("", given, rater_sd="spread", noise_sd="spread", cut_reach="spread")
    if given["ratings_per_item"] is not None:
        _check_per_item(given["ratings_per_item"], given["n_raters"], given["missing"])
    if "n_rated" in given:
        _require_count("n_rated", given["n_rated"], 1, given["n_items"])
    per_item = given["ratings_per_item"] or given["n_raters"]
    per_item = per_item[-1] if isinstance(per_item, list) else per_item
    for what, number in {
        "the number of ratings": per_item, "the number of ratings of trained raters": given["trained"],
        "the number of predicted probabilities": len(given["predictors"]) * len(given["scale"]["labels"]),
        "the number of models' answers": len(given["models"]),
    }.items():  # fmt: skip
        total = given["n_items"] * number
        _require(total <= MOST_CELLS, what, total, f"at most {MOST_CELLS:,}; simulate fewer items")


def check_population(
    attributes: Mapping[str, Proportions], violations: Proportions, styles: Proportions,
    style_options: Mapping[str, Mapping[str, float]], effects: Sequence[Effect], models: Sequence[SimulatedModel],
) -> None:  # fmt: skip
    """Raise an error unless proportions add up and styles, effects and models name only what exists."""
    for name, proportions in attributes.items():
        _require(name != "rater", "a name in attributes", name, "another name: it is the column of ids")
        _check_proportions(f"attributes[{name!r}]", proportions)
    _check_proportions("violations", violations)
    _check_proportions("styles", styles)
    for name in styles:
        _require_known(f"styles: style {name!r}", name, STYLES)
    for name, options in style_options.items():
        _check_options(name, options)
    for number, effect in enumerate(effects):
        where = f"effects[{number}]"
        _check(f"{where}.", effect, condition="mapping")
        _require(bool(effect.condition), f"{where}.condition", effect.condition, 'like {"gender": "Woman"}')
        _check_person(f"{where}.condition", effect.condition, attributes)
        _check(f"{where}.", effect, bias="finite", shared_sd="spread")
        if effect.violation is not None:
            _check(f"{where}.", effect, violation="text")
            _require_known(f"{where}: violation {effect.violation!r}", effect.violation, violations)
    for number, model in enumerate(models):
        _check_model(f"models[{number}]", model, attributes)
    names = [model.name for model in models]
    _require(len(set(names)) == len(names), "the list of names in models", names, "without repeats")


def check_predictors(predictors: Sequence[SimulatedPredictor], labels: Sequence[object]) -> None:
    """Raise an error unless predictors have usable names and numbers, and the labels can name columns."""
    for number, predictor in enumerate(predictors):
        where = f"predictors[{number}]"
        named = is_text(predictor.name) and bool(predictor.name.strip())
        _require(named, f"{where}.name", predictor.name, "a text that is not blank")
        _check(f"{where}.", predictor, error_sd="spread")
        sharp = _is_real(predictor.sharpness) and predictor.sharpness > 0
        _require(sharp, f"{where}.sharpness", predictor.sharpness, "a finite number above 0")
        _check(f"{where}.", predictor, bias="finite")
    names = [predictor.name for predictor in predictors]
    _require(len(set(names)) == len(names), "the list of names in predictors", names, "without repeats")
    for label in labels if predictors else ():
        allowed = str(label) not in ("model", "item")
        _require(
            allowed, "a label of the scale", label, "another one if there are predictors: it is the name of a column"
        )


def check_trained(mean: float, sd: float, bounds: Sequence[float]) -> None:
    """Raise an error unless the distribution of the trained raters' strictness exists."""
    ordered = len(bounds) == 2 and all(map(_is_real, bounds)) and 0 <= bounds[0] < bounds[1] <= 100
    _require(ordered, "trained_range", bounds, "two percentiles from 0 to 100, the lower one first")
    _require(_is_real(sd) and sd > 0, "trained_sd", sd, "a finite number above 0")
    inside = _is_real(mean) and bounds[0] <= mean <= bounds[1]
    _require(inside, "trained_mean", mean, f"within trained_range, {bounds[0]} to {bounds[1]}")


def _check_per_item(per_item: Any, n_raters: int, missing: float) -> None:
    """Raise an error unless it is a possible number of raters or two of them, and ``missing`` is not given as well."""
    name, most = "ratings_per_item", f"at most n_raters, {n_raters}"
    if isinstance(per_item, list):
        per_item = tuple(per_item)
        _require(len(per_item) == 2, name, per_item, "one whole number or two")
        _require_count(f"{name}[0]", per_item[0], 1)
        _require_count(f"{name}[1]", per_item[1], 1)
        _require(per_item[0] <= per_item[1], name, per_item, "two whole numbers, the lower one first")
        _require(per_item[1] <= n_raters, f"{name}[1]", per_item[1], most)
    else:
        _require_count(name, per_item, 1)
        _require(per_item <= n_raters, name, per_item, most)
    if missing > 0:
        raise InputError(
            f"missing is {missing} and {name} is {per_item}",
            hint="Give only one of them: each determines which ratings there are.",
        )


def _check_proportions(name: str, proportions: Proportions) -> None:
    for key, share in proportions.items():
        _require(isinstance(key, str), f"a name in {name}", key, "text")
        _require(_is_real(share) and share >= 0, f"{name}: the proportion of {key!r}", share, "at least 0")
    total = sum(proportions.values())
    _require(round(abs(total - 1), 9) <= 0.001, f"the sum of the proportions in {name}", round(total, 9), "1")


def _check_options(style: str, options: Mapping[str, float]) -> None:
    _require_known(f"style_options: style {style!r}", style, STYLES)
    known = getattr(STYLES[style], "__kwdefaults__", None) or {}
    for option, value in options.items():
        where = f"style_options[{style!r}]: {option}"
        _require_known(where, option, known)
        _require(_is_real(value) and 0 <= value <= 1, where, value, "a number from 0 to 1")


def _check_model(where: str, model: SimulatedModel, attributes: Mapping[str, Proportions]) -> None:
    _check(f"{where}.", model, name="text", like="mapping")
    _check_person(f"{where}.like", model.like, attributes)
    _check(f"{where}.", model, bias="finite", refusal_slope="finite", noise_sd="spread")
    _check(f"{where}.", model, refusal_rate="fraction", unreadable_rate="fraction")


def _check_person(where: str, person: Mapping[str, str], attributes: Mapping[str, Proportions]) -> None:
    for name, value in person.items():
        _require_known(f"{where}: attribute {name!r}", name, attributes)
        _require_known(f"{where}: {name} {value!r}", value, attributes[name])


def _require(allowed: bool, name: str, value: object, expected: str) -> None:
    if not allowed:
        raise InputError(f"{name} is {shown(value)}, but must be {expected}")


def _require_known(what: str, name: str, known: Mapping[str, Any]) -> None:
    if name not in known:
        raise SelectionError(f"{what} is unknown", hint=f"Known: {', '.join(known) or 'none'}.")


def _require_count(name: str, value: object, least: int, most: int | None = None) -> None:
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    enough = whole and int(value) >= least  # type: ignore[call-overload]
    _require(enough, name, value, f"a whole number of at least {least}")
    if most is not None:
        _require(int(value) <= most, name, value, f"at most {most:,}")  # type: ignore[call-overload]


def _is_real(value: object) -> bool:
    return fits(value, float) and math.isfinite(value)  # type: ignore[arg-type]


_RULES: dict[str, tuple[Callable[[Any], bool], str]] = {
    "text": (is_text, "a text"),
    "mapping": (lambda value: fits(value, Mapping[str, str]), 'a mapping such as {"gender": "Woman"}'),
    "finite": (_is_real, "a finite number"),
    "spread": (lambda value: _is_real(value) and value >= 0, "a finite number of at least 0"),
    "fraction": (lambda value: _is_real(value) and 0 <= value < 1, "a fraction from 0 to below 1"),
}


def _check(where: str, given: Any, **rules: str) -> None:
    """Raise an error unless values of a mapping or a record, by the names of their rules, are allowed."""
    for name, rule in rules.items():
        value = given[name] if isinstance(given, Mapping) else getattr(given, name)
        allowed, expected = _RULES[rule]
        _require(allowed(value), f"{where}{name}", value, expected)
