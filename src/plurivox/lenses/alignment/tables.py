"""Alignment as tables of text."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from plurivox.domain.answers import Voice
from plurivox.infer.result import Row
from plurivox.infer.text import Shown, p_cell, score_cell
from plurivox.lenses.alignment.matching import ALL, N_RANDOM
from plurivox.lenses.alignment.result import Alignment
from plurivox.statistics.registry import LABELS, of_role

DISTANCES = ("ada_met", "ada_met_answered", "voter_distance", "expected_emd")
AS_RATER = ("xrr", "mpa", "wra")
MOST_ITEMS = 10
MOST_REFERENCES = 9


def tables(found: Alignment) -> list[Shown]:
    """Return all tables of a result as text."""
    if not found.settings["humans"]:
        return [_accounts(found), *_silent(found), *_alphas(found), *_more(found)]
    return [
        _accounts(found), *_silent(found), *_overall(found), *_subsets(found), *_groups(found), *_closest(found),
        *_stand_ins(found), *_alphas(found), *_more(found), _items(found),
    ]  # fmt: skip


def brief(found: Alignment) -> list[Shown]:
    """Return what became of the items, how far models are from all raters, and which groups they are closest to."""
    if not found.settings["humans"]:
        return [_accounts(found), *_alphas(found)]
    kept = ("model", "attribute", "closest group", "next", "gap", "p corrected", "claimed")
    closest = [_only(table, kept) for table in _closest(found)]
    first = ("model", *(record.label for record in of_role("distance") if record.interval_shown))
    return [_accounts(found), _only(_overall(found)[0], first), *_subsets(found), *closest]


def _only(table: Shown, columns: Sequence[str]) -> Shown:
    """Return a table with some of its columns."""
    places = [table.header.index(name) for name in columns]
    return table._replace(header=list(columns), rows=[[row[at] for at in places] for row in table.rows])


def _name(voice: Any) -> str:
    return str(Voice(*voice))


def _with_references(found: Alignment) -> list[Voice]:
    """Return the models, followed by answers without judgement."""
    return [*found.voices, *(Voice(name, "") for name in found.references())]


def _accounts(found: Alignment) -> Shown:
    states = ("n_items", "answered", "refused", "unreadable", "failed", "missing")
    lines = [
        [_name((one["model"], one["prompt"])), *(f"{one[state]:,}" for state in states)]
        for one in found.accounts().filter(subset=ALL).iter_rows(named=True)
    ]
    title = "Rated items, and what became of them" if found.settings["humans"] else "Items, and what became of them"
    return Shown(title, ["model", "items", *states[1:]], lines)


def _silent(found: Alignment) -> list[Shown]:
    """Return how many items of each subset have no readable answer, as charged by distances."""
    subsets = found.settings["subsets"]
    counts = {(one["model"], one["prompt"], one["subset"]): one["refused"] + one["unreadable"]
              for one in found.accounts().iter_rows(named=True)}  # fmt: skip
    lines = [[_name(voice), *(f"{counts[*voice, name]:,}" for name in subsets)] for voice in found.voices]
    title = f"Items refused or answered unreadably, by {found.settings['subset']}"
    return [Shown(title, ["model", *subsets], lines)] if subsets else []


def _cell(row: Row | None) -> str:
    if row is None:
        return ""
    if row.ci_low is None or row.ci_high is None or math.isnan(row.ci_low):
        return score_cell(row.value)
    return f"{score_cell(row.value)} [{score_cell(row.ci_low)}, {score_cell(row.ci_high)}]"


def _overall(found: Alignment) -> list[Shown]:
    rows = {(row.model, row.prompt, row.statistic): row for row in found.rows if (row.axis, row.subset) == (ALL, ALL)}
    shown = []
    for title, wanted in (
        ("Distance from all raters, with 95 % intervals", DISTANCES),
        ("Each model as one more rater among all raters", AS_RATER),
    ):
        names = [name for name in wanted if any(key[2] == name for key in rows)]
        voices = _with_references(found) if wanted == DISTANCES else found.voices
        lines = [[_name(voice), *(_cell(rows.get((*voice, name))) for name in names)] for voice in voices]
        shown.append(Shown(title, ["model", *(LABELS[name] for name in names)], lines))
    return shown


def _subsets(found: Alignment) -> list[Shown]:
    subsets = found.settings["subsets"]
    if not subsets:
        return []
    rows = {(row.model, row.prompt, row.subset): row for row in found.rows
            if row.axis == ALL and row.statistic == "ada_met"}  # fmt: skip
    lines = [
        [_name(voice), *(_cell(rows.get((*voice, name))) for name in subsets)] for voice in _with_references(found)
    ]
    return [Shown(f"{LABELS['ada_met']} by {found.settings['subset']}", ["model", *subsets], lines)]


def _groups(found: Alignment) -> list[Shown]:
    shown = []
    for axis in found.settings["by"]:
        rows = {(row.model, row.prompt, row.group): row for row in found.rows
                if row.axis == axis and row.statistic == "ada_met"}  # fmt: skip
        groups = list(dict.fromkeys(key[2] for key in rows))
        lines = [
            [_name(voice), *(_cell(rows.get((*voice, group))) for group in groups)] for voice in _with_references(found)
        ]
        if groups:
            shown.append(Shown(f"{LABELS['ada_met']} by {axis}", ["model", *groups], lines))
    return shown


def _closest(found: Alignment) -> list[Shown]:
    lines = [
        [
            _name((one["model"], one["prompt"])), one["axis"], one["group"], one["next"], LABELS[one["by"]],
            score_cell(one["gap"]), score_cell(one["beyond_order"]), p_cell(one["p_adjusted"]),
            _yes(one["over_items"]), _yes(one["follows"]), _yes(one["claim"]), f"{one['n_items']:,}",
        ]
        for one in found.closest().iter_rows(named=True)
    ]  # fmt: skip
    header = ["model", "attribute", "closest group", "next", "by", "gap", "beyond order", "p corrected", "over items",
              "follows", "claimed", "items"]  # fmt: skip
    return (
        [Shown("The closest group; each pair is compared on the items that both rated", header, lines)] if lines else []
    )


def _yes(value: bool | None) -> str:
    return "" if value is None else "yes" if value else "no"


def _standing(one: Mapping[str, Any]) -> str:
    """Return whether a model stands in, a dash where there is no human to compare it with."""
    if one["reference"]:
        return "reference"
    return _yes(one["stands_in"]) if one["n_humans"] else "–"


def _stand_ins(found: Alignment) -> list[Shown]:
    frame = found.stand_ins()
    named = found.settings["references"]
    if len(named) > MOST_REFERENCES:
        closest = frame.filter("reference", pl.col("model").is_in(named[:-N_RANDOM])).sort("advantage")["model"].tail(1)
        frame = frame.filter(~pl.col("reference") | pl.col("model").is_in([*closest, *named[-N_RANDOM:]]))
    lines = [
        [
            _name((one["model"], one["prompt"])), score_cell(one["omega"]), score_cell(one["advantage"]),
            score_cell(one["constant_advantage"]), p_cell(one["p_adjusted"]), f"{one['n_humans']:,}",
            f"{one['n_few']:,}", _standing(one),
        ]
        for one in frame.iter_rows(named=True)
    ]  # fmt: skip
    header = ["model", "ω", "ρ", "best constant's ρ", "p corrected", "humans", "too few items", "stands in"]
    title = (
        "Standing in for a rater: the share of humans it holds its own against (ω), and of items it wins or ties "
        f"(ρ), tolerance {found.settings['tolerance']:g}"
    )
    return [Shown(title, header, lines)] if lines else []


def _alphas(found: Alignment) -> list[Shown]:
    frame = found.alphas()
    lines = [
        [one["models"], one["prompt"], one["level"], score_cell(one["value"]), f"{one['n_models']:,}",
         f"{one['n_raters']:,}", f"{one['n_items']:,}"]
        for one in frame.iter_rows(named=True)
    ]  # fmt: skip
    header = ["among", "prompt", "level", "alpha", "models", "raters", "items"]
    title = f"Agreement among models{', and among humans' if found.settings['humans'] else ''} (Krippendorff's alpha)"
    return [Shown(title, header, lines)] if lines else []


def _more(found: Alignment) -> list[Shown]:
    """Return what only some answers allow: several prompts, repeated samples, shuffled options."""
    shown = []
    for title, frame in (
        ("Answers of a model to two prompts", found.prompts()),
        ("Repeated answers to the same question", found.stability()),
        ("Where the chosen option was shown", found.positions()),
    ):
        if frame.height:
            lines = [[_text(value) for value in row] for row in frame.iter_rows()]
            shown.append(Shown(title, [name.replace("_", " ") for name in frame.columns], lines))
    return shown


def _items(found: Alignment) -> Shown:
    frame = found.items().filter(pl.col("n_voices") > 0).head(MOST_ITEMS)
    lines = [
        [one["item"], one["mode_label"], one["answer_label"], score_cell(one["mean"]), score_cell(one["answer"]),
         f"{one['n_votes']:,}", f"{one['n_silent']:,}"]
        for one in frame.iter_rows(named=True)
    ]  # fmt: skip
    header = ["item", "most votes", "most answers", "mean vote", "mean answer", "votes", "without an answer"]
    title = "Items that models and humans see most differently"
    if not found.in_numbers:
        title += f"; means use the numbers of the points, {found.numbered_ends}"
    return Shown(title, header, lines)


def _text(value: Any) -> str:
    if value is None or isinstance(value, float):
        return score_cell(value)
    return f"{value:,}" if isinstance(value, int) else str(value)
