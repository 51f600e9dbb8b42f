"""A judge card as tables of text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from plurivox.base.wording import intervals_over, named
from plurivox.domain.answers import Voice
from plurivox.infer.text import Shown, p_cell
from plurivox.infer.weighting import beside_unweighted, judge_and_raters_of
from plurivox.lenses.judge.quantities import OF
from plurivox.lenses.judge.result import JudgeCard
from plurivox.lenses.judge.verdicts import MEANING


def tables(found: JudgeCard) -> list[Shown]:
    """Return a card for each model, biases, positions, and requirements."""
    return [*_cards(found), *_biases(found), *_places(found), *_requirements(found), *_weighted(found)]


def brief(found: JudgeCard) -> list[Shown]:
    """Return the card of one model, or the main quantities of several side by side; and what was required."""
    return [*(_cards(found) if len(found.voices) == 1 else [_summary(found)]), *_requirements(found)]


def number(value: float | None, quantity: str, *, sign: bool = False) -> str:
    """Return a value formatted by its unit: shares and points with two decimals, ratings whole; a dash for none."""
    if value is None or value != value:
        return "–"
    form = ",.0f" if OF[quantity].unit == "ratings" else "+.2f" if sign or OF[quantity].better == "zero" else ".2f"
    text = f"{value:{form}}".replace("inf", "∞")
    return text.lstrip("+-") if text in ("+0.00", "-0.00", "-0") else text


def range_cell(low: float | None, high: float | None, quantity: str) -> str:
    """Return an interval, empty without one."""
    if low is None or high is None or low != low:
        return ""
    return f"{number(low, quantity)} to {number(high, quantity)}"


def humans_cell(one: Mapping[str, Any]) -> str:
    """Return what raters reach; for bias, the range of nine in ten."""
    if one["quantity"] == "bias":
        return range_cell(one["humans_low"], one["humans_high"], "bias") or "–"
    return number(one["humans"], one["quantity"])


FIRST = ("agreement", "distance", "omega", "advantage", "bias", "answered")
"""The quantities shown for several models side by side."""
COMPARED = {"humans": "two raters", "constant": "best constant", "marginal": "draw from votes"}


def _of(found: JudgeCard, voice: Voice) -> dict[str, dict[str, Any]]:
    own = found.card().filter(pl.col("model") == voice.model, pl.col("prompt") == voice.prompt)
    return {one["quantity"]: one for one in own.iter_rows(named=True)}


def _summary(found: JudgeCard) -> Shown:
    """Return a row for each model, and what raters and answers without judgement reach on the items of the first."""
    header = ["model", "verdict", "agreement", "distance", "ω", "ρ", "bias", "answered"]
    rows = []
    for voice in found.voices:
        cells = _of(found, voice)
        rows.append([str(voice), found.verdict(voice).kind, *(number(cells[name]["value"], name) for name in FIRST)])
    first = _of(found, found.voices[0])
    for column, name in COMPARED.items():
        rows.append(
            [name, "", *("" if first[one][column] is None else number(first[one][column], one) for one in FIRST)]
        )
    return Shown("Models as judges, compared with raters and answers without judgement", header, rows)


def _cards(found: JudgeCard) -> list[Shown]:
    header = ["", "value", "95 % interval", "raters", "constant", "chance", "p"]
    shown = []
    for voice in found.voices:
        cells = _of(found, voice)
        rows = [
            [
                OF[name].label, number(one["value"], name), range_cell(one["ci_low"], one["ci_high"], name),
                humans_cell(one), number(one["constant"], name), number(one["marginal"], name),
                p_cell(one["p_adjusted"]),
            ]
            for name, one in cells.items()
        ]  # fmt: skip
        scored = f"{cells['agreement']['scored']:,} of {cells['agreement']['of']:,} items scored"
        shown.append(Shown(f"{voice} {MEANING[found.verdict(voice).kind]}; {scored}", header, rows))
    return shown


def _biases(found: JudgeCard) -> list[Shown]:
    frame = found.biases()
    if frame.height <= len(found.voices):
        return []
    header = ["model", "raters", "items", "bias", "95 % interval", "nine in ten raters", "p corrected", "off", "scored"]
    rows = [
        [
            str(Voice(one["model"], one["prompt"])), named(one["axis"], one["group"]),
            one["subset"], number(one["value"], "bias"), range_cell(one["ci_low"], one["ci_high"], "bias"),
            range_cell(one["humans_low"], one["humans_high"], "bias"), p_cell(one["p_adjusted"]), _off(one),
            f"{one['n_items']:,}",
        ]
        for one in frame.iter_rows(named=True)
    ]  # fmt: skip
    over = intervals_over({**found.settings, "interval": "jackknife"})
    return [Shown(f"Answers minus ratings of the same items, in points; {over}", header, rows)]


def _off(one: Mapping[str, Any]) -> str:
    return "more than raters" if one["biased"] else "on average" if one["shifted"] else "not certain"


def _weighted(found: JudgeCard) -> list[Shown]:
    labels = {name: one.label for name, one in OF.items()}
    return beside_unweighted(found.rows, labels, judge_and_raters_of, "model", {"worth": ",.0f"})


def _places(found: JudgeCard) -> list[Shown]:
    rows = [
        [str(Voice(one["model"], one["prompt"])), str(one["place"]), f"{one['n']:,}", f"{one['share']:.1%}",
         f"{one['expected']:.1%}"]
        for one in found.places().iter_rows(named=True)
    ]  # fmt: skip
    header = ["model", "place", "answers", "share", "expected"]
    return [Shown("Where the chosen option was shown", header, rows)] if rows else []


def _requirements(found: JudgeCard) -> list[Shown]:
    rows = [
        [str(Voice(one["model"], one["prompt"])), one["requirement"], "met" if one["holds"] else "NOT MET", one["why"]]
        for one in found.requirements().iter_rows(named=True)
    ]
    return [Shown("What was required", ["model", "requirement", "", "why"], rows)] if rows else []
