"""Curation: training data from the scores of selected raters, group by group, without imposing one group's view on all.

After section 6 of Mishra et al., *Decoding Safety Feedback from Diverse Raters: A Data-driven Lens on Responsiveness to
Severity* (arXiv 2503.05609): choose the most responsive raters of every group and items at all severities by their
scores, and let a person look at what a group sees quite differently from the reference.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plurivox.actions.advise.seen import HabitsSeen, Looking
from plurivox.actions.advise.settings import Thresholds
from plurivox.actions.curate.parts import (
    EXCLUDE,
    Decisions,
    GroupScores,
    ItemPairs,
    Places,
    Texts,
    chosen_raters,
    drawing_order,
    high_against_low,
    named_raters,
    nearest_points,
    pair_key,
    pairs_of_all,
    pairs_within_prompts,
    stratified,
)
from plurivox.actions.curate.result import Curation
from plurivox.actions.curate.settings import CurationSettings
from plurivox.actions.select.result import OWN_GROUP
from plurivox.actions.select.run import select_raters
from plurivox.base.arguments import Frame
from plurivox.base.errors import InputError, SelectionError, few
from plurivox.base.wording import counted, why_withheld
from plurivox.domain.axis import Axis
from plurivox.domain.code import as_text
from plurivox.domain.ratings import Ratings
from plurivox.domain.scale_names import poles_in
from plurivox.engine.pool import Running
from plurivox.infer.grouping import Compared, axes_of
from plurivox.infer.lens import keywords
from plurivox.infer.result import Table
from plurivox.lenses.responsiveness.references import CROWD, ReferenceLike, resolve
from plurivox.lenses.responsiveness.result import DIFFERENT, UNKNOWN, Responsiveness, verdicts
from plurivox.lenses.responsiveness.run import responsiveness


@keywords(CurationSettings)
def curate(
    ratings: Ratings,
    reference: ReferenceLike = "crowd",
    *,
    raters: Sequence[object] | None = None,
    decisions: Decisions | Frame | None = None,
    settings: CurationSettings,
    how: Running,
) -> Curation:
    """Make training data from ratings: each group's preferences, those shared by all groups, and weights.

    A group's score of an item is the mean of what its selected raters gave. Its standing says how its scores relate to
    the reference, by the verdict of :func:`plurivox.responsiveness`: ``"in line"``; ``"granular"``, low MPA only, so
    that its fine steps mean something else; ``"broad"``, low WRA only, so that it draws the line elsewhere;
    ``"different"``, both, or scores that run against the reference.

    Everything weighs 1, except that what lies within a range of scores over which the reference does not follow a
    group's steps weighs ``range_weight``; a pair's weight is multiplied by its certainty, the share of the selected
    raters of both items who order them this way, equal scores counting half. The preferences of a different group are
    written like all others, marked as ``open``, and listed for a person, who may include or exclude each pair. Distance
    from the reference is not a fault: the reference has a view of its own.

    Parameters
    ----------
    ratings
        Who rated what. Higher points mean more severe.
    reference
        What groups are compared with, as in :func:`plurivox.responsiveness`. A group's raters are also chosen by it,
        unless it is the crowd: then by the other raters of their own group, as in :func:`plurivox.select_raters`.
    raters
        Ids of the raters to use instead of the most responsive ones.
    decisions
        The listed pairs of an earlier call as a frame with the columns ``pair`` and ``decision``: include, exclude, or
        blank.

    Raises
    ------
    InputError
        If there is nothing to curate: no group has an eligible rater, or no pair or point is left.

    Examples
    --------
    >>> import plurivox as pv
    >>> study = pv.simulate(n_items=60, n_raters=40, seed=1)
    >>> found = pv.curate(study.ratings, study.trained, by="gender", per_point=10, permutations=99)
    >>> found
    <Curation: 39 points of 1 group>
    >>> found.to_frame().columns
    ['item', 'text', 'score', 'weight', 'group', 'n_votes', 'standing', 'decision']
    """
    axis = _axis(ratings, settings)
    form, texts = _texts(ratings, settings)
    shared = ("threshold", "permutations", "max_permutations", "within", "seed", "min_group_size")
    same = {name: getattr(settings, name) for name in shared}
    running = {"threads": how.threads, "executor": how.executor, "progress": how.progress}
    judged = responsiveness(ratings, reference, [axis.attributes], **same, **running)
    if raters is None:
        kept = {name: same[name] for name in ("threshold", "within", "seed", "min_group_size")}
        found_raters = select_raters(
            ratings, OWN_GROUP if reference == CROWD else reference, [axis.attributes], per_group=settings.per_group,
            min_ratings=settings.min_ratings, **kept, **running,
        )  # fmt: skip
        selected, chosen_by = chosen_raters(found_raters, ratings, axis), _reference_name(found_raters.settings)
    else:
        selected, chosen_by = named_raters(raters, ratings, axis), ""
    if not any(selected.values()):
        hint = "raters= must list rater ids from the ratings, in groups large enough to show."
        raise InputError(f"none of the given raters belongs to a group of {axis.name} that may be shown", hint=hint)
    against = resolve(ratings, reference, threshold=settings.threshold, min_group_size=settings.min_group_size)
    groups = [Compared(axis, (axis,), overlapping=False)]
    seen = Looking(judged, ratings, against, Thresholds(), how).seen(groups)
    work = Work(
        ratings, axis, form, texts, selected, standings(judged, axis, seen), settings,
        drawing_order(texts, settings.seed), None if decisions is None else Decisions.of(decisions),
    )  # fmt: skip
    asked = {name: value for name, value in settings.as_dict().items() if name not in ("prompt", "response", "text")}
    asked = dict.fromkeys(("by", "form", "reference", "threshold", "raters")) | asked | {
        "by": list(axis.attributes), "form": form, "reference": _reference_name(judged.settings),
        "raters": f"most responsive to {chosen_by}" if raters is None else "given", "n_withheld": axis.n_withheld,
        "n_revealing": int(axis.revealing.sum()),
        "n_outside": axis.n_outside, "across": work.across, "points": [str(label) for label in ratings.scale.labels],
        "poles": poles_in(ratings.scale),
        "values": [float(value) for value in ratings.scale.values], "has_text": texts.texts is not None,
        **texts.unpaired(),
    }  # fmt: skip
    found = Curation(work.tables(), asked)
    if not found.to_frame().height:
        raise _nothing(found, texts)
    return found


def _axis(ratings: Ratings, settings: CurationSettings) -> Axis:
    least = settings.min_group_size
    axis = axes_of(ratings, settings.by[:1], least)[0]
    if axis.attributes == ("rater",):
        raise InputError("by is 'rater', but data are curated for groups", hint="Name a rater attribute.")
    if not axis.shown:
        why = why_withheld(axis.n_withheld, int(axis.revealing.sum()), least)
        raise InputError(
            f"no group of {axis.name} can be shown, since all {len(axis)} are withheld{why}",
            hint="Group the raters by another attribute, or lower min_group_size if these raters may be identified.",
        )
    return axis


def _texts(ratings: Ratings, settings: CurationSettings) -> tuple[str, Texts]:
    """Return the form and what it needs to know about the items."""
    columns, form = ratings.items.columns, settings.form
    prompt, response, text = settings.prompt, settings.response, settings.text
    for option, name in {"prompt": prompt, "response": response, "text": text}.items():
        if name is not None and name not in columns:
            known = few(columns[1:]) or "none; give them with --items"
            raise SelectionError(f"items have no attribute '{name}' for {option}; they have: {known}")
    both = (prompt or "prompt") in columns and (response or "response") in columns
    asked = form == "pairs" or prompt is not None or response is not None
    if form != "points" and asked and not both:
        raise SelectionError(
            f"pairs need items with '{prompt or 'prompt'}' and '{response or 'response'}'; they have: "
            f"{few(columns[1:]) or 'no attributes'}",
            hint="Name both columns with prompt= and response= (--prompt, --response), or ask for form='points'.",
        )
    ids = as_text(ratings.items["item"]).to_list()

    def column(name: str) -> list[str | None] | None:
        return as_text(ratings.items[name]).to_list() if name in columns else None

    if form != "points" and both:
        return "pairs", Texts(ids, column(prompt or "prompt"), column(response or "response"))
    return "points", Texts(ids, None, column(text or "text"))


def _reference_name(settings: Mapping[str, Any]) -> str:
    """Return the name of the reference, without rater ids."""
    name: str = settings["reference"]["name"]
    of_a_rater = settings["reference"]["kind"] == "group" and "rater = " in name
    return "the raters named as reference" if of_a_rater else name


def _nothing(found: Curation, texts: Texts) -> InputError:
    groups = found.table("groups")
    listed = found.table("decisions").height
    if listed:
        return InputError(
            f"there is no {found.form[:-1]} to curate: all {listed} listed pairs are excluded, and there are no others",
            hint="Include some of them, or use another reference.",
        )
    least = found.settings["min_votes"]
    if not groups["n_items"].sum():
        return InputError(
            f"there is nothing to curate: no item has scores from {least} selected raters of a group",
            hint="Lower min_votes (--min-votes), or select more raters with per_group (--per-group).",
        )
    prompts = [one for one in texts.prompts or () if one]
    if len(prompts) == len(set(prompts)):
        return InputError(
            "there are no pairs to curate: no prompt has two responses",
            hint="Ask for form='points' (--form points), or check the prompt column.",
        )
    return InputError(
        f"there are no pairs to curate: no two responses to a prompt are {found.settings['min_margin']:g} or more "
        "apart in the scores of a group",
        hint="Lower min_margin (--min-margin), or use more items with per_point (--per-point).",
    )


# Rows of the tables ---------------------------------------------------------------------------------------------------


ACROSS = "all"
"""The group of pairs on which all groups agree."""
OPEN_PAIR = "open"
"""The mark of a different group's preferences until a person has decided on them."""
REACHED = 0.1
"""A note says if a group's selected raters score a smaller share of the items that it rated."""
_TEXT = pl.String
SCHEMAS: dict[str, dict[str, Any]] = {
    "pairs": dict.fromkeys(("prompt", "chosen", "rejected"), pl.String)
    | dict.fromkeys(("margin", "weight"), pl.Float64)
    | dict.fromkeys(("group", "chosen_item", "rejected_item", "standing", "decision"), pl.String),
    "points": {"item": _TEXT, "text": _TEXT, "score": pl.Float64, "weight": pl.Float64, "group": _TEXT}
    | {"n_votes": pl.Int64, "standing": _TEXT, "decision": _TEXT},
    "groups": {"axis": _TEXT, "group": _TEXT, "standing": _TEXT}
    | dict.fromkeys(("mpa", "mpa_low", "mpa_high", "wra", "wra_low", "wra_high"), pl.Float64)
    | {"ranges": _TEXT}
    | dict.fromkeys(("n_raters", "n_raters_selected", "n_items", "n_items_chosen", "n_written"), pl.Int64)
    | {"note": _TEXT},
    "items": {"group": _TEXT, "item": _TEXT, "score": pl.Float64, "n_votes": pl.Int64, "point": _TEXT}
    | {"weight": pl.Float64},
    "decisions": dict.fromkeys(("pair", "group", "item_high", "item_low"), pl.String)
    | dict.fromkeys(("score_high", "score_low"), pl.Float64)
    | dict.fromkeys(("prompt", "text_high", "text_low", "decision"), pl.String),
}  # fmt: skip
"""The tables and their columns."""


class GroupStanding(NamedTuple):
    """How a group relates to the reference, and the ranges of scores whose steps are its own, as positions."""

    name: str
    why: str
    ranges: tuple[tuple[int, int], ...]
    mpa: tuple[float, float | None, float | None]
    wra: tuple[float, float | None, float | None]

    def within(self, points: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Return for each range and each point whether the point lies in the range."""
        first, last = np.array(self.ranges, dtype=np.intp).reshape(-1, 2).T[:, :, np.newaxis]
        return np.asarray((first <= points) & (points <= last))


def standings(
    judged: Responsiveness, axis: Axis, seen: Mapping[tuple[str, str], HabitsSeen]
) -> dict[str, GroupStanding]:
    """Return the standing of each group shown: the verdict of the lens, with the ranges that advice names."""
    found = {}
    for (name, group), verdict in verdicts(judged.rows, judged.settings).items():
        if name == axis.name and group in axis.shown:
            ranges = [one.scores for one, _ in seen[name, group].habits if one.name in ("still", "falling")]
            areas = [(row.value, row.ci_low, row.ci_high) for row in (verdict.mpa, verdict.wra)]
            found[group] = GroupStanding(verdict.name, verdict.why, tuple((one[0], one[-1]) for one in ranges), *areas)
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Work:
    """Everything that the tables are made of."""

    ratings: Ratings
    axis: Axis
    form: str
    texts: Texts
    selected: Mapping[str, list[int]]
    standings: dict[str, GroupStanding]
    settings: CurationSettings
    order: Any
    decisions: Decisions | None

    @property
    def across(self) -> str:
        """The name of pairs of all groups; no group has it."""
        name = ACROSS
        while name in self.axis.groups:
            name += " groups"
        return name

    def tables(self) -> tuple[Table, ...]:
        """Return all tables, the pairs or points first."""
        values = self.ratings.scale.values
        views = {
            group: GroupScores.of(self.ratings, group, raters, self.settings.min_votes)
            for group, raters in self.selected.items()
        }
        chosen = {group: stratified(view, values, self.order, self.settings.per_point) for group, view in views.items()}
        apart, paired = self.settings.min_margin, self.form == "pairs"
        made = {
            group: pairs_within_prompts(view, chosen[group], self.texts, apart)
            for group, view in views.items()
            if paired
        }
        listed = {  # the high–low pairs of the groups that see things quite differently
            group: made[group] if paired else high_against_low(view, self.order, apart)
            for group, view in views.items()
            if self.standings[group].name == DIFFERENT
        }
        rows = [row for group in listed for row in self._decision_rows(views[group], listed[group])]
        decisions = _frame("decisions", rows)
        if self.decisions is not None:
            self.decisions.check(decisions["pair"])
        records = self._pair_rows(views, made) if paired else self._point_rows(views, chosen, listed)
        frame = _frame(self.form, records)
        if not paired and self.texts.texts is None:
            frame = frame.drop("text")
        groups, items = self._groups(views, chosen, frame), self._items(views, chosen)
        each = {self.form: frame, "groups": groups, "items": items, "decisions": decisions}
        return tuple(Table(name, own) for name, own in each.items())

    def _decided(self, group: str, low: int, high: int) -> tuple[str, str]:
        """Return the key of a pair, and a person's decision on it."""
        key = pair_key(group, self.texts.ids[high], self.texts.ids[low])
        return key, "" if self.decisions is None else self.decisions.of_pair(key)

    def _decision_rows(self, view: GroupScores, pairs: ItemPairs) -> list[tuple[Any, ...]]:
        texts, rows = self.texts, []
        for low, high in _items_of(pairs):
            key, decision = self._decided(view.group, low, high)
            scores = (float(view.mean[high]), float(view.mean[low]))
            told = (texts.prompt(low), texts.text(high), texts.text(low), decision)
            rows.append((key, view.group, texts.ids[high], texts.ids[low], *scores, *told))
        return rows

    def _marks(self, group: str, pairs: ItemPairs) -> list[str]:
        """Return the mark of each pair: a person's decision for a different group, otherwise none."""
        if self.standings[group].name != DIFFERENT:
            return [""] * len(pairs.low)
        return [self._decided(group, low, high)[1] or OPEN_PAIR for low, high in _items_of(pairs)]

    def _weights(self, group: str, *items: Places, view: GroupScores) -> NDArray[np.float64]:
        """Return a weight for each item, or each pair of items: more where all of it lies in one of the ranges."""
        standing, values = self.standings[group], self.ratings.scale.values
        each = [standing.within(nearest_points(view.mean[own], values)) for own in items]
        return np.where(np.logical_and.reduce(each).any(axis=0), self.settings.range_weight, 1.0)

    def _pair_rows(self, views: dict[str, GroupScores], made: dict[str, ItemPairs]) -> list[tuple[Any, ...]]:
        records = []
        for group, pairs in made.items():
            weight = self._weights(group, pairs.low, pairs.high, view=views[group]) * pairs.certainty
            records += self._pairs(group, pairs, weight, self.standings[group].name, self._marks(group, pairs))
        common = pairs_of_all(list(views.values()), list(made.values()), self.settings.min_margin)
        return records + self._pairs(self.across, common, common.certainty, "", [""] * len(common.low))

    def _pairs(
        self, group: str, pairs: ItemPairs, weight: Any, standing: str, marks: Sequence[str]
    ) -> list[tuple[Any, ...]]:
        texts = self.texts
        rows = []
        for at, (low, high) in enumerate(_items_of(pairs)):
            best, worst = (high, low) if self.settings.higher_is_better else (low, high)
            if marks[at] != EXCLUDE:
                rows.append((
                    texts.prompt(best), texts.text(best), texts.text(worst), float(pairs.margin[at]),
                    float(weight[at]), group, texts.ids[best], texts.ids[worst], standing, marks[at],
                ))  # fmt: skip
        return rows

    def _point_rows(
        self, views: dict[str, GroupScores], chosen: dict[str, Places], listed: dict[str, ItemPairs]
    ) -> list[tuple[Any, ...]]:
        """Return the items with their scores; a different group's are marked like the pair they are listed in."""
        records = []
        for group, view in views.items():
            items, standing = chosen[group], self.standings[group].name
            mark = dict.fromkeys(items.tolist(), OPEN_PAIR if standing == DIFFERENT else "")
            if group in listed:
                for pair, word in zip(_items_of(listed[group]), self._marks(group, listed[group]), strict=True):
                    mark |= dict.fromkeys(pair, word)
            weights = dict(zip(items.tolist(), self._weights(group, items, view=view).tolist(), strict=True))
            records += [
                (self.texts.ids[i], self.texts.text(i), float(view.mean[i]), weights[i], group, int(view.votes[i]),
                 standing, mark[i])
                for i in items.tolist() if mark[i] != EXCLUDE
            ]  # fmt: skip
        return records

    def _groups(self, views: dict[str, GroupScores], chosen: dict[str, Places], frame: pl.DataFrame) -> pl.DataFrame:
        written = dict(frame.group_by("group").len().iter_rows())
        rows = []
        for group, view in views.items():
            standing, n_selected = self.standings[group], len(self.selected[group])
            labels = self.ratings.scale.labels
            ranges = ", ".join(f"{labels[first]} to {labels[last]}" for first, last in standing.ranges)
            rows.append((
                self.axis.name, group, standing.name, *standing.mpa, *standing.wra, ranges,
                int(self.axis.sizes[self.axis.groups.index(group)]), n_selected, len(view.scored()),
                len(chosen[group]), written.get(group, 0), self._note(group, view),
            ))  # fmt: skip
        return _frame("groups", rows)

    def _note(self, group: str, view: GroupScores) -> str:
        """Say what keeps a group from being represented."""
        n_selected, least = len(self.selected[group]), self.settings.min_votes
        if not n_selected:
            return "none of its raters is eligible or among those given, so nothing is made from its scores"
        if not len(view.scored()):
            return f"no item has scores from {least} of its {counted(n_selected, 'selected rater')}"
        own = self.axis.codes[self.ratings.codes_of_raters] == self.axis.groups.index(group)
        n_rated = len(np.unique(self.ratings.item_codes[own]))
        if len(view.scored()) < REACHED * n_rated:
            return (
                f"{len(view.scored()):,} of the {n_rated:,} items that it rated have the scores of {least} of "
                f"its {counted(n_selected, 'selected rater')}; selecting more raters would cover more items"
            )
        if self.standings[group].name == UNKNOWN:
            return f"how it relates to the reference is unknown: {self.standings[group].why}"
        return ""

    def _items(self, views: dict[str, GroupScores], chosen: dict[str, Places]) -> pl.DataFrame:
        scale, rows = self.ratings.scale, []
        for group, view in views.items():
            items = chosen[group]
            points = nearest_points(view.mean[items], scale.values).tolist()
            weights = self._weights(group, items, view=view).tolist()
            rows += [
                (group, self.texts.ids[i], float(view.mean[i]), int(view.votes[i]), str(scale.labels[p]), weight)
                for i, p, weight in zip(items.tolist(), points, weights, strict=True)
            ]
        return _frame("items", rows)


def _items_of(pairs: ItemPairs) -> list[tuple[int, int]]:
    return list(zip(pairs.low.tolist(), pairs.high.tolist(), strict=True))


def _frame(name: str, rows: list[tuple[Any, ...]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=SCHEMAS[name], orient="row")
