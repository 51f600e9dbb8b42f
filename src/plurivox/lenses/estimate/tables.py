"""An estimate as tables of text."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from plurivox.base.wording import resampled
from plurivox.domain.answers import Voice
from plurivox.infer.compact import Compact, Line
from plurivox.infer.result import Row
from plurivox.infer.text import Shown, interval_text, number_cell, p_cell, score_cell
from plurivox.infer.weighting import beside_unweighted, judge_and_raters_of, not_both
from plurivox.lenses.alignment.matching import ALL
from plurivox.lenses.estimate.result import Estimate
from plurivox.lenses.estimate.words import EstimateFindings, voices_shown

MOST_LINES = 14
"""The most parts and groups that a terminal shows."""
VALUES = {"estimate": "together", "estimate_humans": "humans alone", "estimate_model": "model alone"}


def tables(found: Estimate) -> list[Shown]:
    """Return all tables of a result as text."""
    return [
        _accounts(found), *_overall(found), *_needed(found), *_subsets(found), *_groups(found), *_judges(found),
        *_errors(found), *_population(found), *_weighted(found),
    ]  # fmt: skip


def brief(found: Estimate) -> list[Shown | Compact]:
    """Return the estimates with each judge, and by part and group with the judge or judges chosen without selection."""
    of = found.of[0]
    rows = _by(found, of)
    lines = []
    for voice in voices_shown(found):
        own = rows[*voice, ALL, ALL, ALL]
        first = [cell(found, own[name]) for name in ("estimate_humans", "estimate")]
        alone = cell(found, replace(own["estimate_model"], ci_low=None, ci_high=None))
        lines.append([str(voice), *first, alone, *(cell(found, own.get(name)) for name in ("ppi_lambda", "ppi_worth"))])
    header = ["model", "humans alone", "together", "model alone", "λ", "worth"]
    return [Shown(_title(found, of), header, lines), *_short(found)]


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


def _accounts(found: Estimate) -> Shown:
    lines = [
        [
            str(Voice(one["model"], one["prompt"])), f"{one['rated_answered']:,} of {one['n_rated']:,}",
            f"{one['further_answered']:,} of {one['n_further']:,}",
            *(f"{one[name]:,}" for name in ("refused", "unreadable", "failed", "missing")),
        ]
        for one in found.accounts().filter(subset=ALL).iter_rows(named=True)
    ]  # fmt: skip
    header = ["model", "rated items", "further items", "refused", "unreadable", "failed", "not asked"]
    return Shown("Items that each model answered", header, lines)


def cell(found: Estimate, row: Row | None) -> str:
    """Return a value with its interval: shares in percent, ratings as whole numbers."""
    if row is None:
        return ""
    value, low, high = row.value, row.ci_low, row.ci_high
    if row.statistic in ("ppi_worth", "ratings_needed", "ratings_needed_humans"):
        known = math.isfinite(value)
        return interval_text(value, low, high, ",.0f", ends=",.0f") if known else number_cell(value)
    if row.statistic in VALUES and row.other in found.settings["shares"]:
        least, most = (None if end is None else 100 * end for end in (low, high))
        return interval_text(100 * value, least, most, ".1f", ends=".1f")
    return interval_text(value, low, high)


def _lines(found: Estimate, keys: Sequence[tuple[list[str], Mapping[str, Row]]]) -> tuple[list[str], list[list[str]]]:
    """Return the header of values, and the lines of some judges or groups, each with its numbers of items."""
    lines = [
        [*first, *(cell(found, rows.get(name)) for name in (*VALUES, "ppi_lambda", "ppi_worth")),
         f"{rows['estimate_humans'].n_items:,}",
         f"{rows['estimate'].n_items - rows['estimate_humans'].n_items:,}"]
        for first, rows in keys
    ]  # fmt: skip
    return [*VALUES.values(), "λ", "worth", "rated", "further"], lines


def _by(found: Estimate, of: str) -> dict[tuple[str, str, str, str, str], dict[str, Row]]:
    rows: dict[tuple[str, str, str, str, str], dict[str, Row]] = {}
    for row in found.rows:
        if row.other == of:
            rows.setdefault((row.model, row.prompt, row.axis, row.group, row.subset), {})[row.statistic] = row
    return rows


def _title(found: Estimate, of: str, more: str = "") -> str:
    unit = ", %" if of in found.settings["shares"] else ""
    return f"{of}{unit} over all items{more}, with 95 % intervals over {resampled(found.settings)}"


def _overall(found: Estimate) -> list[Shown]:
    shown = []
    for of in found.of:
        rows = _by(found, of)
        header, lines = _lines(found, [([str(voice)], rows[*voice, ALL, ALL, ALL]) for voice in voices_shown(found)])
        shown.append(Shown(_title(found, of), ["model", *header], lines))
    return shown


def _needed(found: Estimate) -> list[Shown]:
    """Return how many human ratings the requested width needs, if one was requested."""
    width = found.settings["width"]
    lines = []
    for of in found.of if width is not None else ():
        rows = _by(found, of)
        for voice in voices_shown(found):
            own = rows[*voice, ALL, ALL, ALL]
            cells = [cell(found, own[name]) for name in ("ratings_needed", "ratings_needed_humans")]
            lines.append([of, str(voice), *cells, f"{own['estimate_humans'].n_ratings:,}"])
    title = f"Human ratings that a 95 % interval of width {width} needs"
    return [Shown(title, ["of", "model", "with the model", "humans alone", "so far"], lines)] if lines else []


def _places(found: Estimate, of: str) -> dict[tuple[str, str], dict[Voice, dict[str, Row]]]:
    """Return the rows of each part of the items and each group of raters, by judge."""
    places: dict[tuple[str, str], dict[Voice, dict[str, Row]]] = {}
    for (model, prompt, axis, group, subset), own in _by(found, of).items():
        if subset != ALL:
            places.setdefault((found.settings["subset"], subset), {})[Voice(model, prompt)] = own
        elif axis != ALL:
            places.setdefault((axis, group), {})[Voice(model, prompt)] = own
    return places


def _apart(found: Estimate, heads: Sequence[tuple[str, str]]) -> list[Shown]:
    """Return all values of the groups of each attribute of items or raters, given with its title."""
    shown = []
    for of in found.of:
        places = _places(found, of)
        for name, more in heads:
            keys = [([group, str(voice)], rows) for (axis, group), own in places.items() if axis == name
                    for voice, rows in own.items()]  # fmt: skip
            header, lines = _lines(found, keys)
            if lines:
                shown.append(Shown(_title(found, of, more), [name, "model", *header], lines))
    return shown


def _subsets(found: Estimate) -> list[Shown]:
    part = found.settings["subset"]
    return _apart(found, [(part, f" of each {part}")] if found.settings["subsets"] else [])


def _groups(found: Estimate) -> list[Shown]:
    return _apart(found, [(axis, f" by {axis}") for axis in found.settings["by"]])


def _short(found: Estimate) -> list[Compact]:
    """Return one line for each part of the items and each group of raters: humans alone, and with the judges."""
    main = EstimateFindings(found).main
    lines = [
        Line(axis, group, own[main]["estimate"].n_raters, (own[main]["estimate_humans"], own[main]["estimate"]))
        for (axis, group), own in _places(found, found.of[0]).items()
    ]
    title = f"{found.of[0]} by group, with {main}"
    columns, n_more = ("humans alone", "together"), max(0, len(lines) - MOST_LINES)
    return [Compact("group", "raters", columns, tuple(lines[:MOST_LINES]), n_more, title)] if lines else []


def _judges(found: Estimate) -> list[Shown]:
    lines = [
        [one["of"], str(Voice(one["model"], one["prompt"])), score_cell(one["weight"]), score_cell(one["alone"]),
         score_cell(one["correlation"]), score_cell(one["bias"]), "yes" if one["selected"] else ""]
        for one in found.judges().iter_rows(named=True)
    ]  # fmt: skip
    title = "Judges on the items that all answered: λ together and alone, and how they compare with humans"
    header = ["of", "model", "λ together", "λ alone", "correlation", "higher by", "selected"]
    return [Shown(title, header, lines)] if lines else []


def _errors(found: Estimate) -> list[Shown]:
    """Return the correlations of errors as a matrix, for what was estimated first."""
    frame = found.errors().filter(of=found.of[0])
    if frame.is_empty():
        return []
    names = [str(voice) for voice in found.voices]
    values = {(one["model"], one["prompt"], one["other_model"], one["other_prompt"]): one["correlation"]
              for one in frame.iter_rows(named=True)}  # fmt: skip
    lines = [[str(voice), *(number_cell(values[*voice, *other]) for other in found.voices)] for voice in found.voices]
    row = next(row for row in found.rows if (row.statistic, row.other) == ("effective_judges", found.of[0]))
    like = "" if math.isnan(row.value) else f"; they amount to {cell(found, row)} independent judges"
    title = f"Correlation of judges' errors over items, {found.of[0]}, chance in ratings removed{like}"
    return [Shown(title, ["model", *names], lines)]


def _weighted(found: Estimate) -> list[Shown]:
    rows = [row for row in found.rows if row.other == found.of[0]]
    headings = {"estimate": "together", "estimate_humans": "humans alone", "ppi_lambda": "λ", "ppi_worth": "worth"}
    return beside_unweighted(rows, headings, judge_and_raters_of, "model", {"ppi_worth": ",.0f"})


def _population(found: Estimate) -> list[Shown]:
    lines = [
        ["all raters" if one["axis"] == ALL else f"{one['axis']}: {one['group']}", one["compared"], one["attribute"],
         one["value"], score_cell(one["rated"]), score_cell(one["others"]), p_cell(one["p_adjusted"]),
         "yes" if one["differs"] else "no"]
        for one in found.population().iter_rows(named=True)
    ]  # fmt: skip
    title = "Rated items compared with the others: the value that differs most and its share, or means"
    header = ["rated by", "compared", "by", "value", "rated", "others", "p corrected", "differ"]
    return [Shown(title, header, lines)] if lines else []
