"""Alignment as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from plurivox.domain.answers import Voice
from plurivox.infer.result import Row
from plurivox.infer.view import Column, P, View, columns, filled, view_of
from plurivox.lenses.alignment.matching import ALL, N_RANDOM
from plurivox.lenses.alignment.result import Alignment
from plurivox.statistics.registry import LABELS, of_role

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
    subsets = found.settings["subsets"]
    counts = {(one["model"], one["prompt"], one["subset"]): one["refused"] + one["unreadable"]
              for one in found.accounts().iter_rows(named=True)}  # fmt: skip
    voices = found.voices if subsets else ()
    lines = [[str(voice), *(counts[*voice, name] for name in subsets)] for voice in voices]
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
    rows = {(row.model, row.prompt, row.subset): row for row in found.rows
            if row.axis == ALL and row.statistic == "ada_met"}  # fmt: skip
    subsets = {name: name for name in found.settings["subsets"]}
    return [_values(found, f"{LABELS['ada_met']} by {found.settings['subset']}", subsets, rows)] if subsets else []


def _groups(found: Alignment) -> list[View]:
    shown = []
    for axis in found.settings["by"]:
        rows = {(row.model, row.prompt, row.group): row for row in found.rows
                if row.axis == axis and row.statistic == "ada_met"}  # fmt: skip
        groups = {key[2]: key[2] for key in rows}
        shown += [_values(found, f"{LABELS['ada_met']} by {axis}", groups, rows)] if groups else []
    return shown


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
