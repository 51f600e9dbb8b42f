"""Recoding: points of a scale become fewer, or other, points (0–2 → no), and numbers of an attribute intervals."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Annotated, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plurivox.base.arguments import Kind, fits, shown
from plurivox.base.errors import ConfigError, ScaleError, few
from plurivox.domain.attributes import clean
from plurivox.domain.code import as_numbers, as_text
from plurivox.domain.scale import ALWAYS_MISSING, MISSING, Label, Scale, numbers_of

_INTO = re.compile(r"into\s+(?P<bins>\d{1,9})", re.IGNORECASE)
_EXAMPLE = "for example --recode '0-2=no,3-4=yes'"
UNSAFE = ("safe", "unsafe")
"""The names of the two points of ``unsafe_from`` if the ends of the scale have no names."""


@dataclass(frozen=True, slots=True)
class Recoding:
    """What becomes of each point of a scale.

    Attributes
    ----------
    old, new
        The scale before and after.
    targets
        For each point of the old scale the position on the new one, -1 where it becomes missing.
    """

    old: Scale
    new: Scale
    targets: tuple[int, ...]

    @classmethod
    def of(cls, old: Scale, rule: GivenRecoding | None = None, unsafe_from: Label | None = None) -> Recoding:
        """Read a rule for a scale, or make two points: below ``unsafe_from``, and from there.

        ``"into 5"`` makes five points, whose numbers of neighbours differ by at most one.

        Raises
        ------
        ScaleError
            If both or neither are given, a point is named twice or not at all, or is not on the scale.

        Examples
        --------
        >>> str(Recoding.of(Scale.range(0, 4), "0-1=no,2=missing,3-4=yes"))
        '0–1 → no, 2 → missing, 3–4 → yes'
        >>> Recoding.of(Scale.range(0, 100), "into 5").new.labels
        ('0–20', '21–40', '41–60', '61–80', '81–100')
        """
        if (rule is None) == (unsafe_from is None):
            raise ScaleError(
                "a recoding is either a rule or the point where unsafe begins", hint="Give one of the two."
            )
        if isinstance(rule, Recoding):
            if rule.old != old:
                raise ScaleError(f"the recoding is for the scale {rule.old}, but this one is {old}")
            return rule
        if rule is None:
            return _split(old, unsafe_from)
        if isinstance(rule, str) and (bins := _INTO.fullmatch(rule.strip())):
            return _binned(old, int(bins["bins"]))
        return _ruled(old, _pairs(rule))

    def __str__(self) -> str:
        """Return the rule in words, runs of points as ranges, in the order of the old scale."""
        return ", ".join(f"{self._run(run)} → {self._label(target)}" for target, run in self._runs())

    @property
    def rule(self) -> str:
        """The rule in the form in which it can be given again: new points in order, then what becomes missing."""
        runs = sorted(self._runs(), key=lambda one: (one[0] == MISSING, one[0]))
        return ",".join(f"{self._run(run, '-')}={self._label(target)}" for target, run in runs)

    def _runs(self) -> list[tuple[int, list[int]]]:
        return [(target, [at for at, _ in run]) for target, run in groupby(enumerate(self.targets), lambda one: one[1])]

    def _run(self, places: Sequence[int], to: str = "–") -> str:
        first, last = str(self.old.labels[places[0]]), str(self.old.labels[places[-1]])
        return first if len(places) == 1 else f"{first}{to}{last}"

    def _label(self, target: int) -> str:
        return "missing" if target == MISSING else str(self.new.labels[target])

    def positions(self, scores: NDArray[Any]) -> NDArray[Any]:
        """Return positions on the new scale for those on the old one, -1 where there is none."""
        return np.array([*self.targets, MISSING], dtype=np.min_scalar_type(-len(self.new) - 1)).take(scores)

    def sums(self, amounts: NDArray[Any]) -> NDArray[Any]:
        """Return values of the old points, in the last dimension, summed for the points of the new scale."""
        found = np.zeros((*amounts.shape[:-1], len(self.new)), dtype=amounts.dtype)
        for at, target in enumerate(self.targets):
            if target != MISSING:
                found[..., target] += amounts[..., at]
        return found

    def shares(self, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return probabilities of the new points, given that the answer is one of them; NaN where none of them is."""
        found = self.sums(shares)
        if MISSING not in self.targets:
            return found
        whole: NDArray[np.float64] = found.sum(axis=-1, keepdims=True)
        whole[whole <= 0] = np.nan
        return found / whole


_RULES = str | Mapping[Label, Label | None] | Recoding
GivenRecoding = Annotated[
    _RULES,
    Kind(
        "text such as '0-2=no,3-4=yes' or 'into 5', or a mapping such as {'0-2': 'no'}",
        lambda one: fits(one, _RULES),
        ScaleError,
    ),
]
"""What every function and ``--recode`` accept as a recoding."""


def _pairs(rule: str | Mapping[Label, Label | None]) -> list[tuple[str, str | None]]:
    """Return what is recoded into what, as text; None is missing."""
    if not isinstance(rule, str):
        return [(_text(old), None if new is None else _text(new)) for old, new in rule.items()]
    found: list[tuple[str, str | None]] = []
    for part in rule.split(","):
        old, sign, new = part.rpartition("=")
        if not sign:
            raise ScaleError(f"{part.strip()!r} does not say what it becomes", hint=f"Write OLD=NEW, {_EXAMPLE}.")
        found.append((old.strip(), new.strip()))
    return found


def _ruled(old: Scale, pairs: Sequence[tuple[str, str | None]]) -> Recoding:
    names: dict[str, int] = {}
    targets: dict[int, int] = {}
    for points, name in pairs:
        if name == "":
            raise ScaleError(f"{points!r} becomes nothing", hint=f"Name a point or missing, {_EXAMPLE}.")
        gone = name is None or name.casefold() in (*ALWAYS_MISSING, "missing")
        target = MISSING if gone else names.setdefault(str(name), len(names))
        for at in _places(old, points):
            if at in targets:
                raise ScaleError(f"{str(old.labels[at])!r} is recoded twice", hint="Name every point once.")
            targets[at] = target
    left = [str(label) for at, label in enumerate(old.labels) if at not in targets]
    if left:
        raise ScaleError(
            f"the recoding does not say what becomes of {few(left)}",
            hint="Name every point of the scale; to leave one out, make it missing: 2=missing.",
        )
    order = tuple(targets[at] for at in range(len(old)))
    kept, poles = [target for target in order if target != MISSING], old.poles
    if poles is not None and kept != sorted(kept):  # exchanged if the order is reversed, otherwise none
        poles = poles[::-1] if kept == sorted(kept, reverse=True) else None
    return Recoding(old, Scale(numbers_of(list(names)), poles=poles), order)


def _binned(old: Scale, n_bins: int) -> Recoding:
    """Return this many runs of neighbours, named by their range; the lower ones have one point more if necessary."""
    if not 2 <= n_bins <= len(old):
        raise ScaleError(
            f"the {len(old):,} points of the scale {old} cannot become {n_bins:,}",
            hint=f"Write a number from 2 to {len(old):,}: --recode 'into {min(5, len(old))}'.",
        )
    steps = [high - low for low, high in itertools.pairwise(old.values)]
    if max(steps) - min(steps) > 1e-9 * max(steps):
        raise ScaleError(
            f"the points of the scale {old} are not evenly spaced, so bins cannot have equal width",
            hint=f"Name the ranges, {_EXAMPLE}.",
        )
    runs = np.array_split(np.arange(len(old)), n_bins)
    targets = tuple(place for place, run in enumerate(runs) for _ in run)
    names = []
    for run in runs:
        first, last = str(old.labels[run[0]]), str(old.labels[run[-1]])
        between = " to " if "-" in first + last else "–"  # the dash in -10–-1 would look like a sign
        names.append(first if len(run) == 1 else f"{first}{between}{last}")
    return Recoding(old, Scale(numbers_of(names), poles=old.poles), targets)


def _places(scale: Scale, points: str) -> range:
    """Return the positions of a point, or of a range of points from the lower to the higher one."""
    if (one := _place(scale, points)) is not None:
        return range(one, one + 1)
    cuts = [(points[:at], points[at + 1 :]) for at, sign in enumerate(points) if sign in "-–" and at]
    known = [(_place(scale, low), _place(scale, high)) for low, high in cuts]
    found = [(low, high) for low, high in known if low is not None and high is not None]
    if len(found) > 1:
        raise ScaleError(f"{points!r} can be read as more than one range", hint="Name its points one by one.")
    if not found:
        raise ScaleError(
            f"{points!r} is neither a point of the scale {scale} nor a range of them",
            hint="Give the whole scale with --scale, including points that nobody used.",
        )
    low, high = found[0]
    if low >= high:
        raise ScaleError(f"{points!r} runs from high to low", hint="Write the lower point first.")
    return range(low, high + 1)


def _place(scale: Scale, point: str) -> int | None:
    try:
        found = scale.position(point)
    except ScaleError:
        return None
    return None if found == MISSING else found


def _text(label: Label | None) -> str:
    try:
        return str(label).strip()
    except ValueError:  # a whole number of thousands of digits
        return shown(label)


def _split(old: Scale, first: Label | None) -> Recoding:
    at = _place(old, _text(first))
    if at is None:
        raise ScaleError(
            f"{_text(first)!r} is not a point of the scale {old}", hint="Name the lowest point that is unsafe."
        )
    if at == 0:
        raise ScaleError(
            f"{_text(first)!r} is the lowest point, so every rating would be unsafe", hint="Name a higher one."
        )
    low, high = old.poles or UNSAFE
    return Recoding(old, Scale([low, high], poles=(low, high)), tuple(int(place >= at) for place in range(len(old))))


# Numbers in intervals -------------------------------------------------------------------------------------------------

Edges = Annotated[
    Sequence[float],
    Kind("a list of numbers", lambda given: fits(given, Sequence[float]) and all(map(math.isfinite, given))),
]
Names = Annotated[
    Sequence[str],
    Kind("a list of texts that differ", lambda given: fits(given, Sequence[str]) and len(set(given)) == len(given)),
]


def bin_numbers(column: pl.Series, edges: Sequence[float], labels: Sequence[str] | None = None) -> pl.Series:
    """Sort numbers into intervals that start at the edges; the last one is open-ended.

    If edges and numbers are whole, intervals are named by what they hold: edges 18, 30, 50 give ``18–29``, ``30–49``
    and ``50+``, and ``<18`` if anyone is in it. ``65+`` and ``<16`` are sorted, too, if everything they may mean is in
    one interval. Values that are not numbers become missing.

    Examples
    --------
    >>> bin_numbers(pl.Series("age", ["18", "29,5", "30", "65+", "18+", None]), [18, 30, 50]).to_list()
    ['18 to <30', '18 to <30', '30 to <50', '50+', None, None]
    """
    if len(edges) < 1 or any(b <= a for a, b in itertools.pairwise(edges)):
        raise ConfigError(f"the bins of '{column.name}' need increasing edges, not {list(edges)}")
    numbers = _numbers(column, edges)
    whole = bool((numbers.drop_nulls() == numbers.drop_nulls().round()).all())
    names = [f"<{edges[0]:g}", *(labels or _bin_names(edges, whole=whole))]
    if len(names) != len(edges) + 1:
        raise ConfigError(f"the bins of '{column.name}' have {len(edges)} edges and {len(names) - 1} labels")
    places = np.searchsorted(np.asarray(edges, dtype=float), numbers.fill_null(math.nan).to_numpy(), side="right")
    binned = pl.Series(column.name, names).gather(places).set(numbers.is_null(), None)
    return binned.cast(pl.Enum(names))


_OPEN = re.compile(r"(?P<below>[<≤])?\s*(?P<number>\d{1,9}([.,]\d{1,9})?)\s*(?P<above>\+)?")


def _numbers(column: pl.Series, edges: Sequence[float]) -> pl.Series:
    """Return numbers, also those with decimal commas, ``65+`` from the last edge on, and ``<16`` up to the first."""
    column = clean(column)
    if column.dtype.is_numeric():
        return as_numbers(column)
    texts = as_text(column).str.strip_chars()
    found: dict[str, float] = {}
    for text in texts.unique().drop_nulls():
        if not (match := _OPEN.fullmatch(text)):
            continue
        number = float(match["number"].replace(",", "."))
        too_low = match["above"] and (match["below"] or number < edges[-1])
        if too_low or (match["below"] and number > edges[0]):
            continue
        found[text] = math.nextafter(edges[0], -math.inf) if match["below"] else number
    written = texts.replace_strict(list(found), list(found.values()), default=None, return_dtype=pl.Float64)
    return as_numbers(column).fill_null(written) if found else as_numbers(column)


def _bin_names(edges: Sequence[float], *, whole: bool) -> list[str]:
    names = []
    for low, high in itertools.pairwise(edges):
        if whole and high == int(high):
            last = int(high) - 1
            names.append(f"{low:g}–{last}" if last > low else f"{low:g}")
        else:
            names.append(f"{low:g} to <{high:g}")
    return [*names, f"{edges[-1]:g}+"]
