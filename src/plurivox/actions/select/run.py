"""Selection: the most responsive raters of every group, for tasks in which every group should have a voice."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from plurivox.actions.select.choosing import (
    JudgedRater,
    Ranked,
    chosen_of,
    groups_of,
    judge,
    names_of,
    others_per_item,
    places,
    rated_what,
)
from plurivox.actions.select.look import alarm_rows, listed_rows, not_looked_for, read_log, signs_of
from plurivox.actions.select.result import OWN_GROUP, SCHEMAS, VALUES, Selection, ordering
from plurivox.actions.select.settings import SelectionSettings
from plurivox.actions.select.views import fairness_rows
from plurivox.base.arguments import Frame
from plurivox.base.errors import InputError, SelectionError, SharedRatersWarning
from plurivox.base.wording import counted, why_withheld
from plurivox.domain.axis import rater_name
from plurivox.domain.ratings import Ratings
from plurivox.engine.pool import Running
from plurivox.infer.call import Call
from plurivox.infer.lens import keywords
from plurivox.infer.result import Table
from plurivox.lenses.responsiveness.references import Reference, ReferenceLike, resolve


@keywords(SelectionSettings)
def select_raters(
    ratings: Ratings,
    reference: ReferenceLike = OWN_GROUP,
    *,
    log: Frame | None = None,
    settings: SelectionSettings,
    how: Running,
) -> Selection:
    """Choose the most responsive raters of every group.

    Every rater is compared with the reference individually, as :func:`plurivox.responsiveness` does with
    ``by="rater"``; then the first few of each group are chosen, in proportion from each block of raters who saw the
    same items. Every group large enough to show appears in the result, even if nobody in it is eligible. The chosen
    raters are named, since that is the purpose.

    Without trained raters, a rater is compared with the other raters of the same group. Compared with the crowd, the
    members of a minority who least share its view would come first; ``table("fairness")`` shows how much of its view a
    group keeps.

    Ordered by the lower end of their 95 % intervals, raters with few ratings come later, so that luck does not win.
    That pays if groups are large and raters similar. If raters differ widely, or groups are small, it can miss good
    raters with few ratings, and ``order="value"`` finds as many of the best or more.

    Parameters
    ----------
    ratings
        Who rated what. Higher points mean more severe.
    reference
        What the scores are compared with: ``"own group"``, or as in :func:`plurivox.responsiveness` other Ratings, such
        as those of trained raters, ``"crowd"``, or a group. Nobody is ever compared with themselves.
    log
        What is known about single ratings, to look for straight lines and haste: a frame with ``item``, ``rater``, and
        ``time`` (when a rating was given), ``seconds`` (how long it took), or both. Without ``time``, its rows are
        assumed to be in the order of answering.

    Returns
    -------
    Selection
        With ``to_frame()``, ``table("groups")``, ``table("candidates")``, ``table("fairness")``, ``table("look_at")``,
        ``table("alarms")``, ``findings()`` and ``to_json()``.

    Raises
    ------
    SelectionError
        If no group has an eligible rater.

    Examples
    --------
    >>> import plurivox as pv
    >>> study = pv.simulate(n_items=100, n_raters=30, seed=1)
    >>> found = pv.select_raters(study.ratings, study.trained, by="age", per_group=2, bootstrap=99)
    >>> found
    <Selection: 4 raters of 2 groups by HM>
    >>> found.to_frame()["rater"].to_list()[:2]
    ['rater-016', 'rater-013']
    """
    call = Call.of(ratings, settings, how)
    groups = groups_of(ratings, call.axes)
    kept = call.kept()
    asked = {**kept.pop("settings"), **kept}
    if not groups:
        raise _nobody_shown(asked)
    if settings.keep is not None and call.overlapping:
        raise InputError(
            "keep makes one panel, in which raters of several groups would count twice",
            hint="Give per_group, or an attribute of which each rater has one value.",
        )
    known_log = read_log(ratings, log)
    exchange = call.inference.exchange
    asked["compared"] = exchange.as_dict()
    judged, asked["reference"] = judge(ratings, reference, groups, settings, how, exchange)
    wanted = places(judged, settings.per_group, settings.keep)
    ranked = {
        key: chosen_of([one for one in own if not one.reason], wanted[key], settings.seed)
        for key, own in judged.items()
    }  # fmt: skip
    others = {one.key: others_per_item(ratings, one.members) for one in groups}
    rows = _rows(judged, ranked, wanted, others, asked)
    if not any(found.chosen for found in ranked.values()):
        raise _nobody_eligible(pl.DataFrame(rows["candidates"], SCHEMAS["candidates"], orient="row"), asked)
    signs = signs_of(ratings, exchange, _trained(ratings, reference, settings), known_log, settings.seed)
    given = {
        "order": known_log.order is not None, "seconds": known_log.seconds is not None,
        "gold": asked["reference"]["kind"] == "ratings" and len(asked["reference"]["boundaries"]) == 1,
    }  # fmt: skip
    asked["looked_for"] = [one.kind for one in signs]
    asked["not_looked_for"] = not_looked_for(signs, given)
    may = np.logical_or.reduce([one.members for one in groups])
    names, chosen = names_of(ratings), {one.rater for found in ranked.values() for one in found.chosen}
    rows |= {
        "fairness": fairness_rows(ratings, groups, judged, ranked, settings.min_group_size),
        "look_at": listed_rows(signs, names, may), "alarms": alarm_rows(signs, groups),
        "raters": [(name, rater_name(code)) for code, name in enumerate(names) if name in chosen],
    }  # fmt: skip
    frames = {name: pl.DataFrame(own, SCHEMAS[name], orient="row") for name, own in rows.items()}
    return Selection(tuple(Table(name, frame) for name, frame in frames.items()), asked)


def _trained(ratings: Ratings, reference: ReferenceLike, settings: SelectionSettings) -> Reference | None:
    """Return the ratings of trained raters, if there are any."""
    if not isinstance(reference, Ratings):
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SharedRatersWarning)  # was reported already
        return resolve(ratings, reference, threshold=settings.threshold)


def _rows(
    judged: Mapping[tuple[str, str], Sequence[JudgedRater]], ranked: Mapping[tuple[str, str], Ranked],
    wanted: Mapping[tuple[str, str], int], others: Mapping[tuple[str, str], float], settings: Mapping[str, Any],
) -> dict[str, list[tuple[Any, ...]]]:  # fmt: skip
    """Return the rows of the three tables of the selection itself."""
    chosen: list[tuple[Any, ...]] = []
    counts: list[tuple[Any, ...]] = []
    candidates: list[tuple[Any, ...]] = []
    for (axis, name), own in judged.items():
        found = ranked[axis, name]
        excluded = sorted((one for one in own if one.reason), key=lambda one: one.rater)
        n_few = sum(one.n_ratings < settings["min_ratings"] for one in excluded)
        n_chosen, n_eligible = len(found.chosen), len(own) - len(excluded)
        why = _why_short(n_eligible, n_few, len(excluded) - n_few, wanted[axis, name], settings)
        counts.append((
            axis, name, len(own), n_eligible, n_few, len(excluded) - n_few, wanted[axis, name], n_chosen,
            others[axis, name], why,
        ))  # fmt: skip
        for rank, one in enumerate([*found.chosen, *found.others], start=1):
            cells = (axis, name, rank, one.rater, *one.values)
            tied, note = one.rater in found.tied, "; ".join(filter(None, (found.notes.get(one.rater), one.note)))
            candidates.append((*cells, True, rank <= n_chosen, tied, note))
            if rank <= n_chosen:
                chosen.append((*cells, tied, note))
        if not n_chosen:
            chosen.append((axis, name, *[None] * (2 + len(VALUES)), False, why))
        candidates += [(axis, name, None, one.rater, *one.values, False, False, False, one.reason) for one in excluded]
    return {"chosen": chosen, "groups": counts, "candidates": candidates}


def _why_short(n_eligible: int, n_few: int, n_undefined: int, wanted: int, settings: Mapping[str, Any]) -> str:
    """Say why a group has fewer eligible raters than requested; empty if it has enough."""
    if n_eligible >= max(wanted, 1):
        return "" if wanted else f"{n_eligible:,} eligible, but none of the {settings['keep']:,} places is left for it"
    reasons = []
    if n_few:
        have = "has" if n_few == 1 else "have"
        reasons.append(
            f"{counted(n_few, 'rater')} {have} fewer than {settings['min_ratings']:,} ratings {rated_what(settings)}"
        )
    if n_undefined:
        what = ordering(settings)
        reasons.append(f"{counted(n_undefined, 'rater')} {'has' if n_undefined == 1 else 'have'} no defined {what}")
    because = " and ".join(reasons) or "it has no more raters"
    return f"{n_eligible:,} eligible, {because}" if n_eligible else because


def _nobody_shown(settings: Mapping[str, Any]) -> SelectionError:
    n_withheld = sum(settings["withheld"].values())
    if not n_withheld:
        return SelectionError("no rater has a value on any axis of by", hint="Give the table of raters.")
    groups = "the only group is" if n_withheld == 1 else f"all {n_withheld:,} groups are"
    why = why_withheld(n_withheld, sum(settings["revealing"].values()), settings["min_group_size"])
    return SelectionError(
        f"there is nobody to choose from, since {groups} withheld{why}",
        hint="Cross fewer attributes, or lower min_group_size if these raters may be identified.",
    )


def _nobody_eligible(candidates: pl.DataFrame, settings: Mapping[str, Any]) -> SelectionError:
    own = candidates.unique("rater")
    n_few = own.filter(pl.col("n_ratings") < settings["min_ratings"]).height
    why = _why_short(0, n_few, own.height - n_few, 1, settings)
    hint = f"Lower min_ratings, or collect more ratings {rated_what(settings)}."
    if n_few < own.height:
        hint = "See pv.responsiveness(…, by='rater') for the values of raters and why they are undefined."
    return SelectionError(f"no group has an eligible rater: {why}", hint=hint)
