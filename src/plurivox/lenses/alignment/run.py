"""Alignment: whose view a language model reflects, from human ratings and the model's answers.

ADA-Met is that of Galarnyk et al. (2025), How Inclusively do LMs Perceive Social and Moral Norms?; uncertainty, equal
group sizes and the companions that keep the spread of votes are additions.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from plurivox.answers import Answers
from plurivox.axis import MIN_GROUP_SIZE, Axis, By, memberships
from plurivox.engine.families import METHODS, corrected
from plurivox.engine.grouping import axes_of, each_axis, overlapping_axes, warn_apart
from plurivox.engine.intervals import percentile_interval
from plurivox.engine.permutation import CONVENTIONS
from plurivox.engine.running import Progress, Running
from plurivox.errors import DifferentItemsWarning, InputError, SelectionError, SharedRatersWarning
from plurivox.lenses.alignment import models
from plurivox.lenses.alignment.closest import CONTRASTS, STANDINGS, Closest
from plurivox.lenses.alignment.matching import ALL, Floats, Matched, as_answers, match
from plurivox.lenses.alignment.result import Alignment
from plurivox.lenses.alignment.sums import STATISTICS, Aligner, Sums
from plurivox.lenses.calls import check_choice, check_draws
from plurivox.lenses.responsiveness.run import responsiveness
from plurivox.ratings import Ratings, label_column
from plurivox.results.result import Row, Table
from plurivox.scale import Label
from plurivox.statistics.alignment import TOLERANCE, check_tolerance
from plurivox.statistics.checks import level_of, prior_of

AS_RATER = ("mpa", "wra")
UNEVEN = 3.0
"""Raters of one group with so many times the items of another's are warned of."""


def alignment(
    ratings: Ratings,
    answers: Any,
    by: By | Sequence[By] = (),
    *,
    subset: str | None = None,
    several: Mapping[str, str] | None = None,
    level: str | ArrayLike = "ordinal",
    prior: ArrayLike = 1.0,
    families: Mapping[str, Sequence[str]] | None = None,
    trained: Ratings | None = None,
    threshold: Label | None = None,
    as_rater: bool = True,
    tolerance: float = TOLERANCE,
    bootstrap: int = 1000,
    permutations: int = 1000,
    subsamples: int = 200,
    within: str | tuple[str, ...] | None = None,
    seed: int = 0,
    convention: str = "default",
    correction: str = "bh",
    min_group_size: int = MIN_GROUP_SIZE,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Alignment:
    """Tell whose view language models reflect, and how sure that is.

    Distances are in points of the scale; lower is closer. A refused or unreadable answer costs the whole scale in
    ``ada_met`` and ``voter_distance``, and is left out of ``ada_met_answered`` and ``expected_emd``; a failed or
    missing one is never charged. ``accounts()`` counts all of them.

    Parameters
    ----------
    ratings
        Who rated what, or counts per point (then without groups).
    answers
        A frame with ``model``, ``item`` and ``answer`` (or ``point``, ``text`` or a distribution), and ``prompt``,
        ``sample``, ``state``, ``order``, ``family`` if there are any; a store of ``plurivox ask``; or :class:`Answers`.
    by
        Rater attributes and crossings of several, whose groups are compared.
    subset
        An item attribute, by whose values the distances from all raters are also given.
    several
        Attributes of which a rater may have several values, and what separates them: ``{"race": ";"}``. Their groups
        overlap, so that none is called the closest.
    level
        How XRR between a model and a group weighs points: nominal, ordinal, interval, or a matrix of distances.
        On the nominal level, standing in for a rater is about agreement, not distance.
    prior
        The weight of each point before any vote, for the expected earth mover's distance.
    families
        Models by family, for alpha within families; by default as the answers tell, or by the beginning of their names.
    trained, threshold
        Trained raters against whom models are judged as raters (MPA, WRA), and the lowest point that means unsafe;
        without them, all raters and each group take their place.
    as_rater
        Whether to judge models as raters at all.
    tolerance
        How much less often than a human a model may be the closer one and still stand in.
    bootstrap
        How many times items are drawn anew for 95 % intervals.
    permutations
        How many times raters are shuffled between groups, to test which group is closest.
    subsamples
        How many times raters are drawn so that all groups are as large as the smallest.
    within
        Rater attributes within which raters are shuffled, if they saw different items.
    seed
        Same seed, same result, whatever the threads and the order of rows.
    convention
        ``"published"`` counts refusals as categories in alpha.
    correction
        How p-values are corrected over models, prompts and attributes: bh, by, holm, bonferroni or none.
    min_group_size
        Groups with fewer raters are withheld and counted.
    threads, progress
        How many threads draws use, and who is told how far it is.

    Returns
    -------
    Alignment
        With ``to_frame()``, ``findings()``, ``accounts()``, ``closest()``, ``standings()``, ``contrasts()``,
        ``alphas()``, ``stand_ins()``, ``prompts()``, ``stability()``, ``positions()``, ``distances()``, ``items()`` and
        ``to_json()``.

    Examples
    --------
    >>> import plurivox as pv
    >>> study = pv.simulate(n_items=100, n_raters=60, seed=1)
    >>> found = pv.alignment(study.ratings, study.answers, bootstrap=0, permutations=0, subsamples=0)
    >>> round(found.value("model-a"), 2) < round(found.value("model-c"), 2)
    True
    """
    check_draws(permutations, bootstrap, seed)
    check_choice("convention", convention, CONVENTIONS)
    check_choice("correction", correction, tuple(METHODS))
    if subsamples < 0:
        raise InputError(f"subsamples is {subsamples}", hint="Give 0 or more.")
    check_tolerance(tolerance)
    given = as_answers(answers, ratings)
    matched = match(ratings, given, subset)
    chosen = each_axis(by)
    if ALL in chosen:
        raise SelectionError("an attribute is called 'all', which stands for all raters", hint="Rename it.")
    overlapping = overlapping_axes(chosen, several or {}, pairs=False)
    axes = [axis.counting(_active(ratings)) for axis in axes_of(ratings, chosen, min_group_size)]
    prior_weights = prior_of(prior, matched.top + 1)
    work = _Work(Aligner(matched, prior_weights, seed, Running(threads, progress=progress)), level, bootstrap)
    strata = None if within is None else Axis.of(ratings, within, min_group_size=1).codes
    rows, closest = work.overall(), []
    withheld = {axis.name: axis.n_withheld for axis in axes}
    for axis in axes:
        if axis.name in overlapping:
            each = memberships(ratings, axis.name, overlapping[axis.name], min_group_size=min_group_size)
            each = [one.counting(_active(ratings)) for one in each]
            withheld[axis.name] = sum(bool(one.withheld[0]) for one in each)
            rows += [row for one in each if not one.withheld[0] for row in work.groups(one, only_first=True)]
            continue
        rows += work.groups(axis)
        if np.count_nonzero(~axis.withheld) > 1 and axis.attributes != ("rater",):
            warn_apart(ratings, axis)
            warn_uneven(ratings, axis)
            aligner = work.aligner_telling(f"{axis.name}, closest group")
            closest.append(
                Closest.of(aligner, axis, strata, bootstrap=bootstrap, permutations=permutations, subsamples=subsamples)
            )
    if as_rater:
        rows += work.as_raters([axis for axis in axes if axis.name not in overlapping], trained, threshold)
    rows += corrected([row for one in closest for row in one.rows(matched.voices)], correction)
    tables = _tables(work, given, closest, families, convention, (tolerance, min_group_size))
    settings = {
        "by": [axis.name for axis in axes], "subset": subset, "level": level if isinstance(level, str) else "matrix",
        "prior": prior_weights.tolist(), "bootstrap": bootstrap, "permutations": permutations,
        "subsamples": subsamples, "seed": seed, "convention": convention, "correction": correction,
        "tolerance": tolerance, "min_group_size": min_group_size, "voices": [list(voice) for voice in matched.voices],
        "labels": [str(label) for label in ratings.scale.labels], "subsets": list(matched.subsets),
        "n_items": int(np.count_nonzero(np.diff(matched.rows))), "n_unrated": matched.n_unrated,
        "n_elsewhere": given.n_elsewhere, "n_unsorted": matched.n_unsorted, "n_raters": ratings.n_raters,
    }  # fmt: skip
    outside = {axis.name: axis.n_outside for axis in axes}
    draws = tuple(one.draws(matched.voices) for one in closest)
    return Alignment(tuple(rows), withheld, outside, draws, settings, tables)


def warn_uneven(ratings: Ratings, axis: Axis) -> None:
    """Warn if raters of one group rated many times as many items as those of another: modes of few votes tie."""
    group = axis.codes[ratings.codes_of_raters]
    votes = np.bincount(group[group >= 0], minlength=len(axis)) / np.maximum(axis.sizes, 1)
    shown = np.flatnonzero(~axis.withheld & (votes > 0))
    if len(shown) and votes[shown].max() > UNEVEN * votes[shown].min():
        many, few = (axis.groups[shown[place]] for place in (votes[shown].argmax(), votes[shown].argmin()))
        warnings.warn(
            f"{axis.name}: raters of {many} rated {votes[shown].max() / votes[shown].min():.0f} times as many items as "
            f"those of {few}; modes of few votes tie more, so the closest group may be one of numbers. Compare by "
            "voter_distance, or shuffle within groups of alike raters (within=)",
            DifferentItemsWarning,
            stacklevel=3,
        )


def _active(ratings: Ratings) -> Any:
    """Tell which raters rated anything."""
    return np.bincount(ratings.codes_of_raters, minlength=ratings.n_raters) > 0


class _Name(NamedTuple):
    """A group and its size."""

    axis: str
    group: str
    n_raters: int


class _Work:
    """Makes rows: one for each voice, group, subset and statistic."""

    def __init__(self, aligner: Aligner, level: str | ArrayLike, bootstrap: int) -> None:
        self.aligner, self.bootstrap = aligner, bootstrap
        self.matched: Matched = aligner.matched
        self.level = level_of(level, self.matched.top + 1)

    def aligner_telling(self, what: str) -> Aligner:
        """Return what makes draws, and tells how far it is."""
        how = self.aligner.how.doing(what)
        how.tell(0, 1)
        return replace(self.aligner, how=how)

    def overall(self) -> list[Row]:
        """Return the distances from the votes of all raters, for all items and each subset."""
        everybody = self.aligner.everybody()
        sums = self.aligner.sums(everybody, 1, by_subset=True)
        xrr = self.aligner.xrr(everybody, 1, self.level)
        n_parts = len(self.matched.subsets)
        parts = [(n_parts + 1 if n_parts else 0, ALL), *enumerate(self.matched.subsets)]
        name = _Name(ALL, ALL, self.matched.ratings.n_raters)
        return self._rows(sums, xrr, [name], parts, [0], self._votes(everybody, 1), "all raters, resampling")

    def groups(self, axis: Axis, *, only_first: bool = False) -> list[Row]:
        """Return the distances from the votes of each shown group, or of the first alone."""
        sums = self.aligner.sums(axis.codes, len(axis), by_subset=False)
        xrr = self.aligner.xrr(axis.codes, len(axis), self.level)
        names = [_Name(axis.name, name, int(size)) for name, size in zip(axis.groups, axis.sizes, strict=True)]
        shown = [0] if only_first else np.flatnonzero(~axis.withheld).tolist()
        votes = self._votes(axis.codes, len(axis))
        return self._rows(sums, xrr, names, [(0, ALL)], shown, votes, f"{axis.name}, resampling")

    def _votes(self, codes: Any, n_groups: int) -> Any:
        """Return how many votes each group gave to items with answers, by subset: subsets + 1 × groups."""
        ratings = self.matched.ratings
        asked = np.diff(self.matched.rows)[ratings.item_codes] > 0
        group = np.zeros(len(asked), dtype=np.int64) if ratings.rater_codes is None else codes[ratings.rater_codes]
        kept = asked & (group >= 0)
        times = np.ones(len(asked), dtype=np.int64) if ratings.multiplicity is None else ratings.multiplicity
        cells = self.matched.subset[ratings.item_codes][kept] * n_groups + group[kept]
        n_parts = len(self.matched.subsets) + 1
        return np.bincount(cells, weights=times[kept], minlength=n_parts * n_groups).reshape(n_parts, n_groups)

    def _rows(
        self, sums: Sums, xrr: Floats, names: Sequence[_Name], parts: Sequence[tuple[int, str]], shown: Sequence[int],
        votes: Any, what: str,
    ) -> list[Row]:  # fmt: skip
        from plurivox.kernels.alignment import ANSWERED, ITEMS

        values = sums.values()[0]
        total = sums.totals(np.ones((1, sums.n_units), dtype=np.int64))[0]
        draws = self.aligner_telling(what).draws(sums, self.bootstrap)
        interval = percentile_interval(draws) if len(draws) > 1 else None
        rows = []
        for v, (model, prompt) in enumerate(self.matched.voices):
            for g in shown:
                axis, group, n_raters = names[g]
                for part, subset in parts:
                    n, answered = (round(float(total[part, v, g, at])) for at in (ITEMS, ANSWERED))
                    given = votes[:, g].sum() if subset == ALL else votes[part, g]
                    base = Row(
                        "voice" if axis == ALL else "group", axis, group, "", math.nan, n_raters=n_raters, n_items=n,
                        n_ratings=round(float(given)), subset=subset, model=model, prompt=prompt,
                        note=_answered(n, answered),
                    )  # fmt: skip
                    for at, statistic in enumerate(STATISTICS):
                        row = _with(base, statistic, float(values[part, v, g, at]))
                        if interval is not None and not math.isnan(row.value) and n > 1:
                            low, high, undefined = (
                                float(end[part, v, g, at])
                                for end in (interval.low, interval.high, interval.n_undefined)
                            )
                            row = row.with_interval(low, high, undefined / len(draws))
                        rows.append(row)
                    if subset == ALL:
                        rows.append(_with(base, "xrr", float(xrr[v, g])))
        return rows

    def as_raters(self, axes: Sequence[Axis], trained: Ratings | None, threshold: Label | None) -> list[Row]:
        """Return MPA and WRA of models as raters, against trained raters, or against all raters and each group."""
        models_as_raters = _model_ratings(self.matched)
        ratings = self.matched.ratings
        if trained is not None:
            return self._judged(models_as_raters, trained, ALL, ALL, threshold)
        split = "each" if threshold is None else threshold
        rows = self._judged(models_as_raters, ratings, ALL, ALL, split)
        for axis in axes:
            for g in np.flatnonzero(~axis.withheld).tolist():
                members = ratings.raters["rater"].filter(pl.Series(axis.codes == g)).to_list()
                part = ratings.where(raters={"rater": members})
                rows += self._judged(models_as_raters, part, axis.name, axis.groups[g], split)
        return rows

    def _judged(self, judged: Ratings, reference: Ratings, axis: str, group: str, threshold: Label | None) -> list[Row]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SharedRatersWarning)
            found = responsiveness(
                judged, reference, by="rater", threshold=threshold, permutations=0, bootstrap=0
            )  # fmt: skip
        rows = []
        for row in found.rows:
            if row.axis == "rater" and row.statistic in AS_RATER:
                model, prompt = self.matched.voices[int(row.group)]
                rows.append(
                    Row("voice" if axis == ALL else "group", axis, group, row.statistic, row.value, model=model,
                        prompt=prompt, n_raters=reference.n_raters, n_items=row.n_items, n_ratings=row.n_ratings,
                        note=row.note)
                )  # fmt: skip
        return rows


def _model_ratings(matched: Matched) -> Ratings:
    """Return the first answers of every voice as ratings, the number of the voice being the rater."""
    answered = matched.point >= 0
    cell = matched.item * len(matched.voices) + matched.voice
    _, first = np.unique(cell[answered], return_index=True)
    kept = np.flatnonzero(answered)[first]
    frame = pl.DataFrame({
        "item": matched.ratings.items["item"].gather(matched.item[kept]),
        "rater": [str(v) for v in matched.voice[kept].tolist()],
        "score": label_column(matched.ratings.scale).gather(matched.point[kept]),
    })  # fmt: skip
    return Ratings.from_frame(frame, scale=matched.ratings.scale)


def _with(base: Row, statistic: str, value: float) -> Row:
    """Return a row with a value, and why there is none."""
    row = replace(base, statistic=statistic, value=value)
    return row.with_note(_undefined(statistic, base.n_items)) if math.isnan(value) else row


def _undefined(statistic: str, n_items: int) -> str:
    """Tell why a value is undefined."""
    if statistic == "xrr":
        return "expected disagreement is 0, or no item has both"
    return "no item has both votes and an answer" if n_items == 0 else "no answer can be read"


def _answered(n: int, answered: int) -> str:
    return "" if n == answered else f"answered {answered:,} of {n:,} items"


def _tables(
    work: _Work, answers: Answers, closest: Sequence[Closest], families: Mapping[str, Sequence[str]] | None,
    convention: str, standing: tuple[float, int],
) -> tuple[Table, ...]:  # fmt: skip
    matched, voices = work.matched, work.matched.voices
    sets = models.guessed_families(answers.models, answers.families) if families is None else families
    frames = {
        "accounts": matched.accounts,
        "standings": pl.DataFrame(
            [row for one in closest for row in one.standings(voices)], schema=STANDINGS, orient="row"
        ),
        "contrasts": pl.DataFrame(
            [row for one in closest for row in one.contrasts(voices)], schema=CONTRASTS, orient="row"
        ),
        "alphas": models.alphas(answers, matched, sets, published=convention == "published"),
        "stand ins": models.stand_ins(
            work.aligner, *standing, nominal=isinstance(work.level, str) and work.level == "nominal"
        ),
        "prompts": models.between_prompts(answers),
        "stability": models.stability(answers),
        "positions": models.positions(matched),
        "distances": models.distances(matched),
        "items": models.item_table(matched),
    }
    return tuple(Table(name, frame) for name, frame in frames.items())
