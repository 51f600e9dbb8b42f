"""An estimate as tables."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import polars as pl

from plurivox.base.wording import resampled
from plurivox.domain.answers import Voice
from plurivox.infer.claims import beside_unweighted, judge_and_raters_of, not_both
from plurivox.infer.result import Row
from plurivox.infer.view import (
    ALL,
    ALL_RATERS,
    RANGE,
    Column,
    Line,
    P,
    Value,
    View,
    columns,
    filled,
    short_view,
    view_of,
    written,
)
from plurivox.lenses.estimate.result import Estimate, main_judge, voices_shown

MOST_LINES = 14
"""The most parts and groups that a terminal shows."""
VALUES = {"estimate": "together", "estimate_humans": "humans alone", "estimate_model": "model alone"}
WHOLE = ",.0f [,.0f]"
_COLUMNS = {**VALUES, "ppi_lambda": "λ", "ppi_worth": "worth"}


def tables(found: Estimate) -> list[View]:
    """Return all tables of a result."""
    by = found.settings["by"]
    heads = [(found.settings["subset"], " of each {}")] if found.settings["subsets"] else []
    rows = [row for row in found.rows if row.other == found.of[0]]
    headings = {name: _COLUMNS[name] for name in ("estimate", "estimate_humans", "ppi_lambda", "ppi_worth")}
    weighted = beside_unweighted(rows, headings, judge_and_raters_of, "model", {"ppi_worth": ",.0f"})
    shown = [accounts(found), *_overall(found), *filled(_needed(found))]
    shown += [*_apart(found, heads), *_apart(found, [(axis, " by {}") for axis in by])]
    return [*shown, *filled(judges(found), errors(found), population(found)), *weighted]


def brief(found: Estimate) -> list[View]:
    """Return the estimates with each judge, and by part and group with the judge or judges chosen without selection."""
    of = found.of[0]
    rows = _by(found, of)
    names = ("estimate_humans", "estimate", "estimate_model", "ppi_lambda", "ppi_worth")
    lines = [
        [str(voice), *(_value(found, rows[*voice, ALL, ALL, ALL].get(name)) for name in names)]
        for voice in voices_shown(found)
    ]
    header = _header(found, of, names)
    header[2] = Column(header[2], header[2].form.partition(" ")[0])  # without its interval, which says little
    return [View(_title(found, of), ["model", *header], lines), *filled(_short(found))]


def notes(found: Estimate) -> list[str]:
    """Return why values are missing, and what they rest on where that is less than all."""
    said: dict[str, dict[str, None]] = {}
    for row in found.rows:
        shown = row.statistic in ("estimate", "effective_judges") and row.other == found.of[0]
        if row.note and shown and not row.note.startswith("answered"):  # which is in the first table
            who = str(Voice(row.model, row.prompt))
            where = "" if row.axis == ALL else f", {row.group}"
            part = "" if row.subset == ALL else f" on {row.subset}"
            said.setdefault(row.note, {})[f"{who}{where}{part}"] = None
    told = [f"{'; '.join(list(who)[:4])}{' and others' if len(who) > 4 else ''}: {note}" for note, who in said.items()]
    return [*told, *not_both(found.settings, found.rows)]


def accounts(found: Estimate, *, parts: bool = False) -> View:
    """Return how many items each model answered, and how many of each part if wanted."""
    names: dict[str, str] = {
        "model": "model", "rated": "rated items", "further": "further items", "refused": "refused",
        "unreadable": "unreadable", "failed": "failed", "missing": "not asked",
    }  # fmt: skip
    if found.settings["subsets"]:
        names["subset"] = Column("part of the items", extra=True)
    frame = found.accounts() if parts else found.accounts().filter(subset=ALL)
    for name in ("rated", "further"):
        shares = [f"{n:,} of {total:,}" for n, total in frame.select(f"{name}_answered", f"n_{name}").iter_rows()]
        frame = frame.with_columns(pl.Series(name, shares, pl.String))
    return view_of("Items that each model answered", frame, names)


def _value(found: Estimate, row: Row | None) -> Value | str:
    """Return a value with its interval, shares in percent; a worth without bounds has none."""
    if row is None:
        return ""
    if row.statistic in VALUES and row.other in found.settings["shares"]:
        low, high = (None if one is None else 100 * one for one in (row.ci_low, row.ci_high))
        return Value(100 * row.value, low, high)
    known = math.isfinite(row.value)
    return Value(row.value, row.ci_low, row.ci_high) if known else Value(row.value)


def _header(found: Estimate, of: str, names: Iterable[str]) -> list[Column]:
    values = ".1f [.1f]" if of in found.settings["shares"] else RANGE
    forms = {**dict.fromkeys(VALUES, values), "ppi_worth": WHOLE}
    return [Column(_COLUMNS[name], forms.get(name, RANGE)) for name in names]


def _by(found: Estimate, of: str) -> dict[tuple[str, str, str, str, str], dict[str, Row]]:
    rows: dict[tuple[str, str, str, str, str], dict[str, Row]] = {}
    for row in found.rows:
        if row.other == of:
            rows.setdefault((row.model, row.prompt, row.axis, row.group, row.subset), {})[row.statistic] = row
    return rows


def _title(found: Estimate, of: str, more: str = "") -> str:
    unit = ", %" if of in found.settings["shares"] else ""
    return f"{of}{unit} over all items{more}, with 95 % intervals over {resampled(found.settings)}"


def _values(
    found: Estimate, of: str, heads: list[str], keys: Iterable[tuple[list[str], Mapping[str, Row]]], more: str = ""
) -> View:
    """Return the values of some judges or groups, each with its numbers of items."""
    lines = [
        [*first, *(_value(found, rows.get(name)) for name in _COLUMNS), rows["estimate_humans"].n_items,
         rows["estimate"].n_items - rows["estimate_humans"].n_items]
        for first, rows in keys
    ]  # fmt: skip
    return View(_title(found, of, more), [*heads, *_header(found, of, _COLUMNS), "rated", "further"], lines)


def _overall(found: Estimate) -> list[View]:
    return [
        _values(found, of, ["model"], [([str(voice)], rows[*voice, ALL, ALL, ALL]) for voice in voices_shown(found)])
        for of in found.of
        for rows in [_by(found, of)]
    ]


def _needed(found: Estimate) -> View:
    """Return how many human ratings the requested width needs, if one was requested."""
    width = found.settings["width"]
    lines = []
    for of in found.of if width is not None else ():
        rows = _by(found, of)
        for voice in voices_shown(found):
            own = rows[*voice, ALL, ALL, ALL]
            needed = (_value(found, own[name]) for name in ("ratings_needed", "ratings_needed_humans"))
            lines.append([of, str(voice), *needed, own["estimate_humans"].n_ratings])
    header = ["of", "model", *columns(WHOLE, ("with the model", "humans alone")), "so far"]
    return View(f"Human ratings that a 95 % interval of width {width} needs", header, lines)


def _places(found: Estimate, of: str) -> dict[tuple[str, str], dict[Voice, dict[str, Row]]]:
    """Return the rows of each part of the items and each group of raters, by judge."""
    places: dict[tuple[str, str], dict[Voice, dict[str, Row]]] = {}
    for (model, prompt, axis, group, subset), own in _by(found, of).items():
        if subset != ALL:
            places.setdefault((found.settings["subset"], subset), {})[Voice(model, prompt)] = own
        elif axis != ALL:
            places.setdefault((axis, group), {})[Voice(model, prompt)] = own
    return places


def _apart(found: Estimate, heads: Sequence[tuple[str, str]]) -> list[View]:
    """Return all values of the groups of each attribute of items or raters, given with its title."""
    shown = []
    for of in found.of:
        places = _places(found, of)
        for name, more in heads:
            keys = [([group, str(voice)], rows) for (axis, group), own in places.items() if axis == name
                    for voice, rows in own.items()]  # fmt: skip
            shown += filled(_values(found, of, [name, "model"], keys, more.format(name)))
    return shown


def _short(found: Estimate) -> View:
    """Return one line for each part of the items and each group of raters: humans alone, and with the judges."""
    main = main_judge(found)
    lines = [
        Line(axis, group, own[main]["estimate"].n_raters, (own[main]["estimate_humans"], own[main]["estimate"]))
        for (axis, group), own in _places(found, found.of[0]).items()
    ]
    first, title = lines[:MOST_LINES], f"{found.of[0]} by group, with {main}"
    view = short_view(title, "group", ("humans alone", "together"), first, MOST_LINES)
    return view._replace(n_more=len(lines) - len(first))


def judges(found: Estimate) -> View:
    """Return the weight of each judge, and how it compares with humans."""
    names = {
        "of": "of", "model": "model", "weight": "λ together", "alone": "λ alone", "correlation": "correlation",
        "bias": "higher by", "chosen": "selected",
    }  # fmt: skip
    chosen = pl.when("selected").then(pl.lit("yes")).otherwise(pl.lit(""))
    title = "Judges on the items that all answered: λ together and alone, and how they compare with humans"
    return view_of(title, found.judges().with_columns(chosen=chosen), names)


def errors(found: Estimate) -> View:
    """Return the correlations of errors as a matrix, for what was estimated first."""
    of = found.of[0]
    values = {(one["model"], one["prompt"], one["other_model"], one["other_prompt"]): one["correlation"]
              for one in found.errors().filter(of=of).iter_rows(named=True)}  # fmt: skip
    lines = [[str(voice), *(values[*voice, *other] for other in found.voices)] for voice in found.voices if values]
    rows = (
        row for row in found.rows if (row.statistic, row.other) == ("effective_judges", of) and row.value == row.value
    )
    like = "".join(f"; they amount to {written(_value(found, row), RANGE)} independent judges" for row in rows)
    title = f"Correlation of judges' errors over items, {of}, chance in ratings removed{like}"
    return View(title, ["model", *columns(".2f", map(str, found.voices))], lines)


def population(found: Estimate) -> View:
    """Return in what rated items differ from the others."""
    who = pl.when(axis=ALL).then(pl.lit(ALL_RATERS)).otherwise(pl.format("{}: {}", "axis", "group"))
    names = {
        "who": "rated by", "compared": "compared", "attribute": "by", "value": "value", "rated": "rated",
        "others": "others", "p_adjusted": "p corrected", "differs": "differ",
        "p_value": Column("p", P, extra=True), "n_rated": Column("rated items", extra=True),
        "n_others": Column("other items", extra=True),
    }  # fmt: skip
    title = "Rated items compared with the others: the value that differs most and its share, or means"
    return view_of(title, found.population().with_columns(who=who), names)
