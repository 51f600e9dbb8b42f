"""What :func:`plurivox.alignment` found, as tables, sentences and JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from textwrap import shorten
from typing import Any, ClassVar

import polars as pl

from plurivox.base.errors import SelectionError
from plurivox.base.wording import counted
from plurivox.domain.answers import Voice
from plurivox.infer.result import Row, Statement, frame_of
from plurivox.infer.tables import ModelResult, typed
from plurivox.infer.view import Column, P, View, columns, filled, view_of
from plurivox.lenses.alignment.matching import ALL, N_RANDOM
from plurivox.lenses.alignment.sums import REFERENCE
from plurivox.lenses.alignment.words import AlignmentFindings
from plurivox.statistics.registry import LABELS, of_role


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Alignment(ModelResult):
    """Whose view models reflect.

    In addition to what every result has:

    Attributes
    ----------
    draws
        The permutation draws of the gap between the closest and the second group of each axis.
    """

    KIND: ClassVar[str] = "alignment"
    ROLES: ClassVar[tuple[str, ...]] = ("distance",)

    def __repr__(self) -> str:
        beside = "and humans on" if self.settings["humans"] else "without humans, on"
        return f"<Alignment: {counted(len(self.voices), 'voice')} {beside} {counted(self.settings['n_items'], 'item')}>"

    def to_frame(self) -> pl.DataFrame:
        """Return one row per model, prompt, axis, group, subset and statistic.

        Answers without judgement, such as a constant, are marked by ``reference``.
        """
        own = [(row.model, row.prompt, row.kind == REFERENCE) for row in self.rows]
        return pl.DataFrame(own, schema=typed("model prompt reference"), orient="row").hstack(frame_of(self.rows))

    def row(
        self, model: str, statistic: str = "ada_met", *, prompt: str | None = None, axis: str = ALL, group: str = ALL,
        subset: str = ALL,
    ) -> Row:  # fmt: skip
        """Return one row; the prompt may be left out if the model has only one."""
        key = (model, statistic, axis, group, subset)
        found = [
            row for row in self.rows if prompt in (None, row.prompt)
            and (row.model, row.statistic, row.axis, row.group, row.subset) == key
        ]  # fmt: skip
        if len(found) != 1:
            several = "several prompts have it" if found else "there is no such value"
            raise SelectionError(
                f"{statistic} of {model!r} for {group!r} on {axis!r}: {several}", hint="to_frame() lists what there is."
            )
        return found[0]

    def references(self, statistic: str = "ada_met") -> list[str]:
        """Return answers without judgement to compare models with: the constant closest to all raters, and random ones.

        Further constants are in ``to_frame()`` and ``stand_ins()``.
        """
        names = list(self.settings["references"])
        key = (REFERENCE, ALL, ALL, statistic)
        whole = {row.model: row.value for row in self.rows if (row.kind, row.axis, row.subset, row.statistic) == key}
        constants = [name for name in names[:-N_RANDOM] if not math.isnan(whole.get(name, math.nan))]
        best = min(constants, key=lambda name: whole[name], default=None)
        return [] if best is None else [best, *names[-N_RANDOM:]]

    def compared_with(self) -> list[str]:
        """Return the answers without judgement that models are compared with."""
        return self.references()

    def value(self, model: str, statistic: str = "ada_met", **key: Any) -> float:
        """Return one value; see :meth:`row`."""
        return self.row(model, statistic, **key).value

    def accounts(self) -> pl.DataFrame:
        """Return for each voice and subset how many rated items it answered, refused, lacks and so on."""
        return self._table("accounts")

    def closest(self) -> pl.DataFrame:
        """Return the closest group of each voice on each axis, and how sure that is.

        ``gap`` is how much farther the ``next`` group is by the distance ``by``; ``beyond_order`` is by how much it is
        at least closer than any other group beyond what the same answers give in random order; ``over_items`` and
        ``follows`` say whether intervals over items exclude 0 for the two. ``claim`` needs both, and a corrected p
        below .05.
        """
        keys = ["model", "prompt", "axis", "group"]
        tested = ("null_median", "p_value", "p_adjusted", "claim", "n_permutations")
        frame = self.to_frame().filter(statistic="closest_gap").select(*keys, *tested)
        found = self._table("closest").join(frame, on=keys, how="left", maintain_order="left")
        return found.join(self.standings().drop("by", "margin", "n_items"), on=keys, how="left", maintain_order="left")

    def standings(self) -> pl.DataFrame:
        """Return every group of every axis for each voice.

        ``value`` is the group's mean distance on all items that it rated; ``margin`` is by how much it is closer than
        every other group, each on the items of both, negative where another is closer; ``wins`` is how often its margin
        is the largest when items are resampled, ``matched`` the margin at equal group sizes, and ``n_items`` the fewest
        items on which it is compared with another group.
        """
        return self._table("standings")

    def contrasts(self) -> pl.DataFrame:
        """Return for each pair of groups, on the items of both, how much farther the second is than the first.

        As it is and beyond random order, with intervals over items; also at equal sizes. The groups are in the order of
        the axis, regardless of the values: no pair is chosen by its size.
        """
        return self._table("contrasts")

    def alphas(self) -> pl.DataFrame:
        """Return Krippendorff's alpha among models, within families, of models and humans together, and of humans."""
        return self._table("alphas")

    def stand_ins(self) -> pl.DataFrame:
        """Return the share of humans that each voice may stand in for (ω), and how often it wins or ties (ρ).

        ``stands_in`` is True where ω is one half or more and ρ is above that of the best constant; ``p_adjusted`` is
        Holm's correction over models; ``why`` says what it depends on. References are also listed, but never stand in.
        """
        return self._table("stand ins")

    def prompts(self) -> pl.DataFrame:
        """Return how alike the answers of a model to different prompts are."""
        return self._table("prompts")

    def stability(self) -> pl.DataFrame:
        """Return how alike repeated answers to the same question are."""
        return self._table("stability")

    def positions(self) -> pl.DataFrame:
        """Return how often the option at each position was chosen, where options were shuffled."""
        return self._table("positions")

    def distances(self) -> pl.DataFrame:
        """Return how many answers of each voice lie at each distance from the mode of all votes."""
        return self._table("distances")

    def items(self) -> pl.DataFrame:
        """Return the items, starting with those that models and humans see most differently.

        Numbers are values of the scale, and labels are its points; tied ones are averaged, or named together.
        """
        return self._table("items")

    def bands(self) -> pl.DataFrame:
        """Return the mean answer of each voice to bands of items, from the lowest mean rating to the highest.

        With few items, each is a band of its own and has its name; otherwise items are combined until the bands are few
        enough to draw. Numbers are values of the scale; ``n_silent`` counts items without a readable answer, including
        refused ones.
        """
        return self._table("bands")

    def statements(self) -> list[Statement]:
        """Return which group each model's answers lie closest to, how sure that is, and what was left out."""
        return AlignmentFindings(self).statements()

    @property
    def in_numbers(self) -> bool:
        """Whether the points of the scale are called by their values."""
        return bool(self.settings["labels"] == [f"{value:g}" for value in self.settings["values"]])

    @property
    def numbered_ends(self) -> str:
        """The two ends of the scale with their numbers."""
        labels = [shorten(label, 40, placeholder=" …") for label in self.settings["labels"]]
        values = self.settings["values"]
        return f"from {labels[0]} = {values[0]:g} to {labels[-1]} = {values[-1]:g}"


# Tables ---------------------------------------------------------------------------------------------------------------

DISTANCES = ("ada_met", "ada_met_answered", "voter_distance", "expected_emd")
AS_RATER = ("xrr", "mpa", "wra")
MOST_ITEMS = 10
MOST_REFERENCES = 9
ENDS = ".3f [.3f]"


def tables(found: Alignment) -> list[View]:
    """Return all tables of a result."""
    shown = [accounts(found), *filled(silent(found))]
    more = filled(alphas(found), *asked(found))
    if not found.settings["humans"]:
        return [*shown, *more]
    values = [*overall(found), *_subsets(found), *_groups(found)]
    return [*shown, *values, *filled(closest(found), stand_ins(found)), *more, items(found)]


def brief(found: Alignment) -> list[View]:
    """Return what became of the items, how far models are from all raters, and which groups they are closest to."""
    if not found.settings["humans"]:
        return [accounts(found), *filled(alphas(found))]
    kept = ("model", "attribute", "closest group", "next", "gap", "p corrected", "claimed")
    first = ("model", *(record.label for record in of_role("distance") if record.interval_shown))
    near = [_only(view, kept) for view in filled(closest(found))]
    return [accounts(found), _only(overall(found)[0], first), *_subsets(found), *near]


def _only(view: View, names: Sequence[str]) -> View:
    """Return a view with some of its columns."""
    places = [list(view.header).index(name) for name in names]
    rows = [[row[at] for at in places] for row in view.rows]
    return view._replace(header=[view.header[at] for at in places], rows=rows)


def accounts(found: Alignment, *, parts: bool = False) -> View:
    """Return what became of the items, and of each part of them if wanted."""
    states = ("answered", "refused", "unreadable", "failed", "missing")
    title = "Rated items, and what became of them" if found.settings["humans"] else "Items, and what became of them"
    names: dict[str, str] = {"model": "model", "n_items": "items", **{state: state for state in states}}
    if found.settings["subsets"]:
        names["subset"] = Column("part of the items", extra=True)
    return view_of(title, found.accounts() if parts else found.accounts().filter(subset=ALL), names)


def silent(found: Alignment) -> View:
    """Return how many items of each subset have no readable answer, as charged by distances."""
    subsets, lines = found.settings["subsets"], []
    for voice in found.voices if subsets else ():
        own = found.accounts().filter(model=voice.model, prompt=voice.prompt)
        counts = dict(own.select("subset", pl.col("refused") + pl.col("unreadable")).iter_rows())
        lines.append([str(voice), *(counts[name] for name in subsets)])
    return View(f"Items refused or answered unreadably, by {found.settings['subset']}", ["model", *subsets], lines)


def overall(found: Alignment) -> list[View]:
    """Return how far models are from all raters, and how they do as one more rater."""
    rows = {(row.model, row.prompt, row.statistic): row for row in found.rows if (row.axis, row.subset) == (ALL, ALL)}
    there = {key[2] for key in rows}
    distances, as_rater = ({name: LABELS[name] for name in names if name in there} for names in (DISTANCES, AS_RATER))
    return [
        _values(found, "Distance from all raters, with 95 % intervals", distances, rows),
        _values(found, "Each model as one more rater among all raters", as_rater, rows, references=False),
    ]


def _subsets(found: Alignment) -> list[View]:
    return _by(found, ALL, found.settings["subset"], "subset")


def _groups(found: Alignment) -> list[View]:
    return [view for axis in found.settings["by"] for view in _by(found, axis, axis, "group")]


def _by(found: Alignment, axis: str, what: str, part: str) -> list[View]:
    """Return how far models are on each part of the items or from each group, nothing if there are none."""
    rows = {(row.model, row.prompt, getattr(row, part)): row for row in found.rows
            if row.axis == axis and row.statistic == "ada_met"}  # fmt: skip
    names = found.settings["subsets"] if part == "subset" else [key[2] for key in rows]
    title = f"{LABELS['ada_met']} by {what}"
    return [_values(found, title, {name: name for name in names}, rows)] if names else []


def _values(
    found: Alignment, title: str, names: Mapping[str, str], rows: dict[tuple[str, str, str], Row], *,
    references: bool = True,
) -> View:  # fmt: skip
    """Return a line for each model, and for answers without judgement, and a column for each of these names."""
    voices = [*found.voices, *(Voice(name, "") for name in (found.references() if references else ()))]
    lines = [[str(voice), *(rows.get((*voice, name), "") for name in names)] for voice in voices]
    return View(title, ["model", *columns(ENDS, names.values())], lines)


def closest(found: Alignment) -> View:
    """Return which group each model is closest to, and how sure that is."""
    names = {
        "model": "model", "axis": "attribute", "group": "closest group", "next": "next", "by": "by", "gap": "gap",
        "beyond_order": "beyond order", "p_adjusted": "p corrected", "over_items": "over items", "follows": "follows",
        "claim": "claimed", "n_items": "items", "null_median": Column("chance", extra=True),
        "p_value": Column("p", P, extra=True), "wins": Column("wins", ".2f", extra=True),
        "matched": Column("at equal sizes", extra=True),
    }  # fmt: skip
    title = "The closest group; each pair is compared on the items that both rated"
    return view_of(title, found.closest().with_columns(pl.col("by").replace(LABELS)), names)


def stand_ins(found: Alignment) -> View:
    """Return for which models a human could be exchanged."""
    frame = found.stand_ins()
    named = found.settings["references"]
    if len(named) > MOST_REFERENCES:
        closest = frame.filter("reference", pl.col("model").is_in(named[:-N_RANDOM])).sort("advantage")["model"].tail(1)
        frame = frame.filter(~pl.col("reference") | pl.col("model").is_in([*closest, *named[-N_RANDOM:]]))
    names = {
        "model": "model", "omega": "ω", "advantage": "ρ", "constant_advantage": "best constant's ρ",
        "p_adjusted": "p corrected", "n_humans": "humans", "n_few": "too few items", "standing": "stands in",
        "constant": Column("best constant", extra=True), "why": Column("why", extra=True),
    }  # fmt: skip
    known = pl.when("reference").then(pl.lit("reference")).when(pl.col("n_humans") == 0).then(pl.lit("–"))
    standing = known.when("stands_in").then(pl.lit("yes")).otherwise(pl.lit("no"))
    title = (
        "Standing in for a rater: the share of humans it holds its own against (ω), and of items it wins or ties "
        f"(ρ), tolerance {found.settings['tolerance']:g}"
    )
    return view_of(title, frame.with_columns(standing=standing), names)


def alphas(found: Alignment) -> View:
    """Return how far models, and humans, agree among themselves."""
    names = {
        "models": "among", "prompt": "prompt", "level": "level", "value": "alpha", "n_models": "models",
        "n_raters": "raters", "n_items": "items",
    }  # fmt: skip
    title = f"Agreement among models{', and among humans' if found.settings['humans'] else ''} (Krippendorff's alpha)"
    return view_of(title, found.alphas(), names)


def asked(found: Alignment) -> list[View]:
    """Return what only some answers allow: several prompts, repeated samples, shuffled options."""
    return [
        View(title, [name.replace("_", " ") for name in frame.columns], frame.rows())
        for title, frame in (
            ("Answers of a model to two prompts", found.prompts()),
            ("Repeated answers to the same question", found.stability()),
            ("Where the chosen option was shown", found.positions()),
        )
    ]


def contrasts(found: Alignment) -> View:
    """Return by how much farther each other group is."""
    names = {
        "model": "model", "axis": "axis", "group": "group", "other": "other group", "by": "by",
        "difference": Column("farther by", ENDS), "beyond_order": "beyond order", "beyond_low": "its low",
        "beyond_high": "its high", "matched": "at equal sizes", "n_items": "items",
    }  # fmt: skip
    return view_of("Groups compared in pairs", found.contrasts().with_columns(pl.col("by").replace(LABELS)), names)


def items(found: Alignment, most: int = MOST_ITEMS) -> View:
    """Return the items whose mean rating and mean answer are farthest apart."""
    title = "Items that models and humans see most differently"
    if not found.in_numbers:
        title += f"; means use the numbers of the points, {found.numbered_ends}"
    names = {
        "item": "item", "mode_label": "most votes", "answer_label": "most answers", "mean": "mean vote",
        "answer": "mean answer", "n_votes": "votes", "n_silent": "without an answer",
        "n_voices": Column("answers", extra=True), "distance": Column("distance", extra=True),
    }  # fmt: skip
    return view_of(title, found.items().filter(pl.col("n_voices") > 0).head(most), names)
