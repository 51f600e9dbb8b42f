"""A judge card as tables."""

from __future__ import annotations

from typing import Any

import polars as pl

from plurivox.base.wording import intervals_over, named
from plurivox.domain.answers import Voice
from plurivox.infer.view import Column, P, View, filled, view_of, written
from plurivox.infer.weighting import beside_unweighted, judge_and_raters_of
from plurivox.lenses.judge.quantities import OF
from plurivox.lenses.judge.result import JudgeCard
from plurivox.lenses.judge.verdicts import MEANING

FIRST = ("agreement", "distance", "omega", "advantage", "bias", "answered")
"""The quantities shown for several models side by side."""
COMPARED = {"humans": "two raters", "constant": "best constant", "marginal": "draw from votes"}


def tables(found: JudgeCard) -> list[View]:
    """Return a card for each model, biases, positions, and requirements."""
    labels = {name: one.label for name, one in OF.items()}
    weighted = beside_unweighted(found.rows, labels, judge_and_raters_of, "model", {"worth": ",.0f"})
    several = [biases(found)] if found.biases().height > len(found.voices) else []
    return [*_cards(found), *several, *filled(places(found), _requirements(found)), *weighted]


def brief(found: JudgeCard) -> list[View]:
    """Return the card of one model, or the main quantities of several side by side; and what was required."""
    return [*(_cards(found) if len(found.voices) == 1 else [_summary(found)]), *filled(_requirements(found))]


def number(value: float | None, quantity: str, *, sign: bool = False) -> str:
    """Return a value formatted by its unit: shares and points with two decimals, ratings whole; a dash for none."""
    form = ",.0f" if OF[quantity].unit == "ratings" else "+.2f" if sign or OF[quantity].better == "zero" else ".2f"
    text = written(value, form)
    return text.lstrip("-") if text in ("-0.00", "-0") else text


def _range(low: float | None, high: float | None, quantity: str = "bias") -> str:
    """Return an interval, empty without one."""
    if low is None or high is None or low != low:
        return ""
    return f"{number(low, quantity)} to {number(high, quantity)}"


def _of(found: JudgeCard, voice: Voice) -> dict[str, dict[str, Any]]:
    own = found.card().filter(pl.col("model") == voice.model, pl.col("prompt") == voice.prompt)
    return {one["quantity"]: one for one in own.iter_rows(named=True)}


def _summary(found: JudgeCard) -> View:
    """Return a row for each model, and what raters and answers without judgement reach on the items of the first."""
    rows = []
    for voice in found.voices:
        cells = _of(found, voice)
        rows.append([str(voice), found.verdict(voice).kind, *(number(cells[name]["value"], name) for name in FIRST)])
    first = _of(found, found.voices[0])
    for column, name in COMPARED.items():
        rows.append(
            [name, "", *("" if first[one][column] is None else number(first[one][column], one) for one in FIRST)]
        )
    header = ["model", "verdict", "agreement", "distance", "ω", "ρ", "bias", "answered"]
    return View("Models as judges, compared with raters and answers without judgement", header, rows)


def _cards(found: JudgeCard) -> list[View]:
    header = ["", "value", "95 % interval", "raters", "constant", "chance", Column("p", P)]
    shown = []
    for voice in found.voices:
        cells = _of(found, voice)
        rows = []
        for name, one in cells.items():
            raters = number(one["humans"], name)
            if name == "bias":  # the range of nine in ten
                raters = _range(one["humans_low"], one["humans_high"]) or written(None)
            beside = (number(one[column], name) for column in ("constant", "marginal"))
            ends = _range(one["ci_low"], one["ci_high"], name)
            rows.append([OF[name].label, number(one["value"], name), ends, raters, *beside, one["p_adjusted"]])
        scored = f"{cells['agreement']['scored']:,} of {cells['agreement']['of']:,} items scored"
        shown.append(View(f"{voice} {MEANING[found.verdict(voice).kind]}; {scored}", header, rows))
    return shown


def quantities(found: JudgeCard) -> View:
    """Return every quantity of every card."""
    frame = found.card().with_columns(pl.col("quantity").replace({name: one.label for name, one in OF.items()}))
    names = {
        "model": "model", "quantity": "quantity", "value": Column("value", ".3f [.3f]"), "humans": "two raters",
        "constant": "best constant", "marginal": "chance", "p_adjusted": "p corrected", "scored": "scored", "of": "of",
        "note": "note", "unweighted": "unweighted",
    }  # fmt: skip
    return view_of("Every quantity", frame, {name: to for name, to in names.items() if name in frame.columns})


def biases(found: JudgeCard) -> View:
    """Return how far answers are from ratings, for each group of raters and part of the items."""
    ends = "95 % interval", "nine in ten raters"
    header = ["model", "raters", "items", Column("bias", "+.2f"), *ends, Column("p corrected", P), "off", "scored",
              Column("p beyond raters", P, extra=True)]  # fmt: skip
    rows = [
        [
            str(Voice(one["model"], one["prompt"])), named(one["axis"], one["group"]), one["subset"],
            one["value"], _range(one["ci_low"], one["ci_high"]), _range(one["humans_low"], one["humans_high"]),
            one["p_adjusted"],
            "more than raters" if one["biased"] else "on average" if one["shifted"] else "not certain", one["n_items"],
            one["p_beyond"],
        ]
        for one in found.biases().iter_rows(named=True)
    ]  # fmt: skip
    over = intervals_over({**found.settings, "interval": "jackknife"})
    return View(f"Answers minus ratings of the same items, in points; {over}", header, rows)


def places(found: JudgeCard) -> View:
    """Return where the options were shown that models chose."""
    names = {
        "model": "model", "place": "place", "n": "answers", "share": Column("share", ".1%"),
        "expected": Column("expected", ".1%"),
    }  # fmt: skip
    return view_of("Where the chosen option was shown", found.places(), names)


def _requirements(found: JudgeCard) -> View:
    met = pl.when("holds").then(pl.lit("met")).otherwise(pl.lit("NOT MET"))
    names = {"model": "model", "requirement": "requirement", "met": "", "why": "why"}
    return view_of("What was required", found.requirements().with_columns(met=met), names)
