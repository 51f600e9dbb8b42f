"""What pages show: a single lens, a group, an item, two groups side by side, the content of files; and tables as files.

Each is a section as in reports, made from the results of lenses; nothing is drawn or tabulated twice.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from plurivox import plots
from plurivox.base.csv_files import flat, write_frame
from plurivox.base.errors import PlurivoxError, PlurivoxWarning, SelectionError
from plurivox.base.files import write_text
from plurivox.base.wording import counted, listed, named, one_line, short
from plurivox.config import FILE_NAME, config_text
from plurivox.domain.axis import CROSS, MIN_GROUP_SIZE, names_raters
from plurivox.domain.ratings import Ratings
from plurivox.domain.raw import ROLE_NAMES, plain
from plurivox.infer.exports import document_of
from plurivox.infer.lens import Lens
from plurivox.infer.result import Result, frame_of
from plurivox.lenses.items.result import Items
from plurivox.lenses.overview.description import describe
from plurivox.plots import OF_LENSES, chart_of
from plurivox.plots.items import DIVIDED
from plurivox.read.formats import PLATFORMS, kind_of
from plurivox.read.tables import open_table
from plurivox.report.parts import (
    Block,
    Brief,
    DataTable,
    Prose,
    Section,
    drawn,
    findings_of,
    shown,
    slug,
    table,
    tested_values,
    text_column,
    with_text,
)
from plurivox.report.sections import alignment, cohesion, home_of, responsiveness, soft, variation
from plurivox.report.sections.study import panel_table
from plurivox.workbench.making import BESIDE, PANEL, Desk, fragment, groups_in, lens_named, problem_of
from plurivox.workbench.reading import POPULATION, asked_of, source_of
from plurivox.workbench.records import role_in

MOST_ROWS = 200
MOST_ITEMS = 25
LONGEST = 200
OF_GROUPS: dict[str, Any] = {
    "variation": (variation, "Leniency: who rates higher"), "cohesion": (cohesion, "Who sees things alike"),
    "responsiveness": (responsiveness, "Whose scores convey severity"),
    "alignment": (alignment, "How far models are from it"),
}  # fmt: skip
"""Lenses that say something about each group, the sections that run them, and what these are called here."""


def question(desk: Desk, asked: Mapping[str, Any], out: Path) -> dict[str, Any]:
    """Run one lens, and show its tables and findings."""
    lens = lens_named(asked["lens"])
    result = answer_of(desk, lens, asked)
    document = document_of(result, {}, lens=lens)
    blocks: list[Block] = []
    chart = chart_of(lens.name).__name__ if lens.name in OF_LENSES else ""
    if hasattr(plots, f"{chart}_data") and getattr(plots, f"{chart}_data")(result).height:
        blocks.append(drawn(chart, result, f"{lens.name}-chart", lens.question.removesuffix("."), lens.question, ""))
    for at, view in enumerate(document.tables):
        blocks += shown(slug(f"{lens.name}-{at}"), view, most=MOST_ROWS)
    blocks += [Prose(text) for text in (document.legend, *document.notes) if text]
    findings = findings_of(result, lens.name) if isinstance(result, Result | Items) else []
    findings = [replace(one, fact=not (one.said.claim or one.said.standing)) for one in findings]  # also of models
    said = [Prose(text) for text in document.sentences] if not findings else []
    alike = desk.ratings.weights is not None and not lens.load("run").weights
    remarks = [f"{lens.command} does not use weights: every rater counts equally."] if alike else []
    section = Section(lens.name, lens.question, "", [*said, *blocks], findings, remarks)
    places = desk.places(_groups_asked(desk, lens, asked))
    write_text(out / "view.html", fragment(section, places, asked.get("looks", 1)))
    write_text(out / "result.json", result.to_json(draws=False) if isinstance(result, Result) else result.to_json())
    return {"title": lens.question}


def answer_of(desk: Desk, lens: Lens, asked: Mapping[str, Any]) -> Any:
    """Return the result of a lens; ``asked`` holds its settings, and its inputs other than files."""
    given = {**asked.get("given", {})}
    needed = [one.name for one in lens.inputs if one.options[0].argument and one.name not in given]
    for name in needed:
        if name not in desk.inputs:
            raise SelectionError(f"this needs {name}", hint=f"Add a file of {name} to the study.")
    settings = asked_of(lens.settings, asked["settings"], desk.source.reading)
    return desk.study.ask(lens.name, inputs=given or None, **settings.as_dict())


def _groups_asked(desk: Desk, lens: Lens, asked: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the groups of a question by axis, without withheld ones; there are none for individual raters."""
    settings = asked_of(lens.settings, asked["settings"], desk.source.reading)
    axes = [axis for axis in getattr(settings, "by", ()) if not any(map(names_raters, axis))]
    described = describe(desk.ratings, axes) if axes and desk.ratings.has_raters else None
    return {} if described is None else {one.name: [group.name for group in one.groups] for one in described.axes}


# A group --------------------------------------------------------------------------------------------------------------


def group(desk: Desk, asked: Mapping[str, Any], out: Path) -> dict[str, Any]:
    """Show one group: how it uses the scale, what lenses say about it, advice, and the items on which it differs."""
    brief, axis, name = desk.brief(asked["asked"]), asked["axis"], asked["group"]
    _check_group(brief, axis, name)
    blocks = [*_use(brief, axis), *_values_of(brief, axis, [name]), *_advice(brief, axis, name)]
    blocks += _divided(brief, axis, name)
    section = Section("group", named(axis, name), _size(brief, axis, name), blocks, _said(brief, axis, [name]))
    return _written(desk, brief, section, out)


def compare(desk: Desk, asked: Mapping[str, Any], out: Path) -> dict[str, Any]:
    """Show two groups of one axis side by side."""
    brief, axis, names = desk.brief(asked["asked"]), asked["axis"], [asked["one"], asked["other"]]
    for name in names:
        _check_group(brief, axis, name)
    blocks = [*_use(brief, axis), *_contrast(brief, axis, names), *_values_of(brief, axis, names)]
    lead = " ".join(_size(brief, axis, name) for name in names)
    section = Section("compare", f"{names[0]} and {names[1]}", lead, blocks, _said(brief, axis, names))
    return _written(desk, brief, section, out)


def models(desk: Desk, asked: Mapping[str, Any], out: Path) -> dict[str, Any]:
    """Show two models side by side: how far each is from all raters and from every group, and how well it predicts."""
    brief, names = desk.brief(asked["asked"]), [asked["one"], asked["other"]]
    homes = {
        "answers": (alignment, "How far answers are from raters"),
        "predictions": (soft, "How good predictions are"),
    }
    blocks: list[Block] = []
    findings = []
    for role, (home, title) in homes.items():
        if role in desk.inputs and set(names) & set(desk.inputs[role].models):
            found = home.found_in(brief)
            frame = found.to_frame().filter(pl.col("model").is_in(names))
            shown = _beside(tested_values(frame).drop("p corrected", strict=False), "model", names)
            blocks.append(table(slug("models", role), title, shown, MOST_ROWS, search=True))
            findings += [one for one in findings_of(found, slug("models", role)) if any(n in one.text for n in names)]
    return _written(desk, brief, Section("models", f"{names[0]} and {names[1]}", "", blocks, findings), out)


def _written(desk: Desk, brief: Brief, section: Section, out: Path) -> dict[str, Any]:
    write_text(out / "view.html", fragment(section, desk.places(groups_in(brief)), brief.asked.looks))
    return {"title": section.title}


def _check_group(brief: Brief, axis: str, name: str) -> None:
    """Raise if there is no such group that may be shown; individual raters are never shown."""
    if names_raters(axis) or name not in groups_in(brief).get(axis, ()):
        raise SelectionError(f"there is no group {name!r} of {axis!r} to show", hint="Choose one from the menu.")


def _size(brief: Brief, axis: str, name: str) -> str:
    described = brief.ask("overview").description
    own = next(one for known in described.axes if known.name == axis for one in known.groups if one.name == name)
    sizes = f"{counted(own.n_raters, 'rater')}, {counted(own.n_ratings, 'rating')} of {counted(own.n_items, 'item')}"
    return f"{name}: {sizes}."


def _use(brief: Brief, axis: str) -> Iterator[Block]:
    yield drawn(
        "scale_use", brief.ask("overview"), "group-scale", f"How groups of {axis} use the scale",
        f"Share of each point among the ratings of each group of {axis}.",
        "Points below the middle of the scale go to the left, points above to the right.", axis,
        measure=f"How the scale is used by {axis}.",
    )  # fmt: skip


def _results(brief: Brief) -> Iterator[tuple[str, Any]]:
    """Yield the results of a report's lenses about groups."""
    for name, (home, _) in OF_GROUPS.items():
        if name != "alignment" or "answers" in brief.study.inputs:
            yield name, home.found_in(brief)


def _values_of(brief: Brief, axis: str, names: list[str]) -> Iterator[Block]:
    for name, found in _results(brief):
        frame = found.to_frame().filter(pl.col("axis") == axis, pl.col("group").is_in(names))
        shown = tested_values(frame).drop("axis", strict=False)
        if shown.height:
            shown = _beside(shown, "group", names) if len(names) > 1 else shown.drop("group")
            yield table(slug("group", name), OF_GROUPS[name][1], shown, MOST_ROWS, search=shown.height > 12)


def _beside(frame: pl.DataFrame, column: str, names: Sequence[str]) -> pl.DataFrame:
    """Return a table with a row for each statistic, and the numbers of two groups or models side by side."""
    numbers = [name for name in ("value", "low", "high", "p corrected") if name in frame.columns]
    keys = [one for one in frame.columns if one in ("axis", "group", "subset", "model", "statistic") and one != column]
    parts = [
        frame.filter(pl.col(column) == name).select(
            *keys, *(pl.col(one).alias(name if one == "value" else f"{one}, {name}") for one in numbers)
        )
        for name in names
    ]
    return parts[0].join(parts[1], on=keys, how="full", coalesce=True, nulls_equal=True, maintain_order="left_right")


def _said(brief: Brief, axis: str, names: list[str]) -> list[Any]:
    """Return what lenses say about the groups."""
    every = [one for name, found in _results(brief) for one in findings_of(found, slug("group", name))]
    return [one for one in every if one.said.axis == axis and one.said.group in names]


def _advice(brief: Brief, axis: str, name: str) -> Iterator[Block]:
    frame = (
        responsiveness.advice_in(brief, responsiveness.found_in(brief))
        .to_frame()
        .filter(pl.col("axis") == axis, pl.col("group") == name)
    )
    if frame.height:
        shown = frame.select("seen", "sure", pl.col("meaning").alias("may mean"), pl.col("next").alias("look at next"))
        yield table("group-advice", "What to look at", shown, MOST_ROWS)


def _divided(brief: Brief, axis: str, name: str) -> Iterator[Block]:
    found: Items = brief.ask("items")
    own = found.divided.filter(pl.col("axis") == axis, pl.col("group") == name)
    if own.height:
        frame = with_text(own.head(MOST_ITEMS), brief).rename(DIVIDED).drop("axis", "group", strict=False)
        title = f"Items on which {named(axis, name)} differ most"
        note = (
            f"The {frame.height:,} clearest of {own.height:,} items; p corrected over all items, groups and attributes."
        )
        yield DataTable("group-items", title, frame, {}, note, search=True)


def _contrast(brief: Brief, axis: str, names: list[str]) -> Iterator[Block]:
    """Yield the difference between two groups in agreement, tested by itself if nobody is in both."""
    if axis in brief.asked.several:
        return
    by = [one for one in brief.axes if CROSS.join(one) == axis]
    found = brief.ask("cohesion", by=by, contrast=tuple(names))
    rows = [row for row in found.rows if row.kind == "contrast"]
    if rows:
        shown = tested_values(frame_of(rows)).drop("axis", "group", strict=False)
        yield table("compare-contrast", f"Agreement: {names[0]} minus {names[1]}", shown, MOST_ROWS)


# An item --------------------------------------------------------------------------------------------------------------


def item(desk: Desk, asked: Mapping[str, Any], out: Path) -> dict[str, Any]:
    """Show one item: its text, the scores of all groups, and which of them stand out."""
    brief = desk.brief(asked["asked"])
    found = brief.ask("item_view", inputs={"item": asked["item"]})
    document = document_of(found, {}, lens=lens_named("item_view"))
    known = int(found.table("attributes").height > 0)  # then they are the first table
    titles = ["What is known about it"] * known + [""] * len(document.tables)
    tables = [block for at, (view, title) in enumerate(zip(document.tables, titles, strict=False))
              for block in shown(f"item-{at}", view, title=title, most=MOST_ROWS)]  # fmt: skip
    blocks: list[Block] = tables[:known]
    blocks.append(drawn(
        "item_groups", found, "item-groups", "What each group gave it", "Share of each point by group.",
        "Groups that are too small to show are left out.",
    ))  # fmt: skip
    blocks += [*tables[known:], *(Prose(text) for text in (document.legend, *document.notes) if text)]
    said = [Prose(text) for text in document.sentences]
    return _written(desk, brief, Section("item", f"Item {asked['item']}", "", [*said, *blocks]), out)


def items(desk: Desk, asked: Mapping[str, Any], out: Path) -> dict[str, Any]:
    """Write a list of all items: what they are, how often they were rated, and how."""
    ratings = desk.ratings
    counts = ratings.counts()
    n = counts.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = counts / n[:, None]
        mean = (shares * np.arange(counts.shape[1])).sum(axis=1)
        entropy = -np.where(shares > 0, shares * np.log(shares), 0.0).sum(axis=1)
    known = ratings.items
    text = text_column(ratings)
    menus = {name: values for name in known.columns[1:] if (values := few_values(known[name]))}
    frame = known.select(
        pl.col("item").cast(pl.String), pl.Series("place", np.arange(ratings.n_items)), pl.Series("n_ratings", n),
        pl.Series("mean", mean).fill_nan(None), pl.Series("entropy", entropy).fill_nan(None),
        (pl.lit("") if text is None else pl.col(text).cast(pl.String).str.slice(0, LONGEST)).alias("text"),
        *(pl.col(name).cast(pl.String).alias(f"is:{name}") for name in menus),
    )  # fmt: skip
    write_frame(out / "items.parquet", frame)
    return {"filters": menus, "has_text": text is not None}


# Files ----------------------------------------------------------------------------------------------------------------


def config(desk: Desk, asked: Mapping[str, Any], out: Path) -> dict[str, Any]:
    """Write a plurivox.toml that says how the files of the study are read."""
    reading, ratings = desk.source.reading, desk.ratings
    raters, items, weights = (desk.names.get(role) for role in ("raters", "items", POPULATION))
    reading = replace(reading, raters=raters, items=items, weights=weights)
    write_text(out / FILE_NAME, config_text(ratings, reading, recoding=desk.recoding))
    return {"files": [FILE_NAME]}


def table_file(desk: Desk, asked: Mapping[str, Any], out: Path) -> dict[str, Any]:
    """Write a table of a lens with the run's settings: CSV and Parquet with all rows, LaTeX and HTML as shown."""
    brief, lens, form = desk.brief(asked["asked"]), lens_named(asked["lens"]), asked["form"]
    home = home_of(lens)
    result = home.found_in(brief) if hasattr(home, "found_in") else brief.ask(lens.name)
    file = out / f"{lens.command}-{asked['table']}.{form}"
    if form in ("tex", "html"):
        file = out / f"{lens.command}.{form}"
        write_text(file, result.to_latex() if form == "tex" else result.to_html())
    else:
        found = result.to_frame if asked["table"] == "values" else getattr(result, asked["table"])
        write_frame(file, found() if callable(found) else found, flat)
    return {"files": [file.name]}


# Looking --------------------------------------------------------------------------------------------------------------
#
# What files contain: their first rows, what was recognised in them and why, and what is wrong with them.


ROWS = 6
LONGEST_CELL = 60
"""Rows, and characters of a cell, that are shown of a file."""
MANY = 12
"""The fewest distinct numbers for which bins are offered."""
MOST_VALUES = 40
"""The most values of an attribute that a menu offers."""


def look(desk: Desk, asked: Mapping[str, Any], out: Path) -> dict[str, Any]:
    """Read everything as specified, and report the result."""
    found: dict[str, Any] = {"problem": None, "beside": {}, "warnings": []}
    try:
        found |= _recognised(desk, desk.unweighted)
    except PlurivoxError as error:
        found["problem"] = problem_of(error)
    named = found.get("columns") or {"score": found["problem"]["column"]}  # an error of a scale names the column
    found["files"] = {role: _head(desk, role, named) for role in desk.names}
    found["decided"] = bool(found["files"].get("ratings", {}).get("stored"))
    if found["decided"] and found["problem"] is None:
        found["why"] = dict.fromkeys(found["columns"], "decided when plurivox stored it")
    if found["problem"] is None:
        for role in BESIDE:
            found["beside"][role] = _read_beside(desk, role)
        found["beside"][POPULATION] = _population(desk, out)
    return found


def _recognised(desk: Desk, ratings: Ratings) -> dict[str, Any]:
    """Return how columns were understood, sizes, attributes and their groups."""
    intake, reading = ratings.intake, desk.source.reading
    attributes = [] if not ratings.has_raters else ratings.raters.columns[1:]
    described = describe(ratings, [(name,) for name in attributes])
    told = {name: [(group.name, group.n_raters) for group in axis.groups]
            for name, axis in zip(attributes, described.axes, strict=True)}  # fmt: skip
    withheld = {name: axis.n_withheld for name, axis in zip(attributes, described.axes, strict=True)}
    platform = next((one.title for one in PLATFORMS if one.name == intake.platform), None)
    return {
        "columns": dict(intake.columns),
        "why": {one: _why(one, name, getattr(reading, one, None), platform) for one, name in intake.columns.items()},
        "layout": intake.layout, "platform": platform,
        "scale": [str(label) for label in ratings.scale.labels][:200], "scale_inferred": intake.points_inferred,
        "poles": list(ratings.scale.poles or ()), "has_raters": ratings.has_raters,
        "sizes": {"ratings": len(ratings), "items": ratings.n_items, "raters": ratings.n_raters},
        "raters": [
            {"name": name, "groups": told[name], "withheld": withheld[name], "numbers": _numbers(ratings.raters[name])}
            for name in attributes
        ],
        "items": [{"name": name, "values": few_values(ratings.items[name])} for name in ratings.items.columns[1:]],
        "notes": [*described.findings(), *intake.left_out_and_remarks()],
        "usage": [int(n) for n in ratings.used()][:200],
    }  # fmt: skip


def _why(role: str, name: str, said: str | None, platform: str | None) -> str:
    """Say why a column was given a role."""
    if said is not None:
        return "as you said"
    if platform is not None:
        return f"so {platform} exports it"
    by_name = plain(name) in ROLE_NAMES.get(role, ())
    return "by its name" if by_name else "by its content, as the other columns are assigned"


def _numbers(values: pl.Series) -> bool:
    """Return whether an attribute has so many numbers that intervals are useful."""
    texts = values.drop_nulls().cast(pl.String)
    return texts.n_unique() > MANY and texts.cast(pl.Float64, strict=False).null_count() == 0


def few_values(values: pl.Series) -> list[str]:
    """Return the values of an item attribute, if there are few."""
    found = values.drop_nulls().cast(pl.String).unique().sort().to_list()
    return [short(one, LONGEST_CELL) for one in found] if len(found) <= MOST_VALUES else []


def _head(desk: Desk, role: str, columns: Mapping[str, str]) -> dict[str, Any]:
    """Return the first rows of a file as text; ids of raters are numbered."""
    reading = desk.source.reading
    own = role == "ratings"
    source = source_of(reading, desk.names) if own else desk.names[role]
    try:
        kind: Any = reading.format if own else None
        with open_table(source, kind_of(kind), reading.encoding or "utf-8") as table:
            if isinstance(table, Ratings):
                told = "This was stored by plurivox itself, so nothing needs to be recognised."
                return {"columns": [], "rows": [], "told": told, "points": [], "stored": True}
            names, frame = list(table.columns), table.first().head(ROWS)
            rows = [[_cell(value) for value in row] for row in frame.iter_rows()]
            found = {
                "columns": names, "rows": rows, "told": "",
                "points": _points(frame, table.first(), columns) if own else [],
            }  # fmt: skip
    except PlurivoxError as error:
        return {"columns": [], "rows": [], "told": str(error), "points": []}
    by_name = next((one for one in names if plain(one) in ROLE_NAMES["rater"]), None)
    rater = columns.get("rater", by_name) if own else by_name
    if rater in names and role in ("ratings", "raters", "reference"):
        seen: dict[str, str] = {}
        at = names.index(rater)
        for row in rows:
            row[at] = seen.setdefault(row[at], f"rater {len(seen) + 1}")
    return found


def _points(head: pl.DataFrame, first: pl.DataFrame, columns: Mapping[str, str]) -> list[str]:
    """Return the distinct answers in the first rows of what may be the score column."""
    name = columns.get("score") or next((one for one in first.columns if plain(one) in ROLE_NAMES["score"]), None)
    if name not in first.columns:
        return []
    found = first[name].drop_nulls().cast(pl.String, strict=False).drop_nulls().unique().sort().to_list()
    return [short(one_line(one), LONGEST_CELL) for one in found if one.strip()] if len(found) <= MOST_VALUES else []


def _cell(value: Any) -> str:
    return "" if value is None else short(one_line(str(value)), LONGEST_CELL)


def _read_beside(desk: Desk, role: str) -> dict[str, Any] | None:
    """Describe a further file of the study, or what is wrong with it."""
    found, known = _tried(lambda: desk.beside(role))
    if found is None:
        return known if known["problem"] else None
    if isinstance(found, Ratings):
        told = f"{len(found):,} ratings of {found.n_items:,} items; scale {found.scale}"
    else:
        told = found if isinstance(found, str) else f"of {', '.join(found.models)}"
    return {**known, "told": told, "before": _before(desk, role)}


def _tried(read: Callable[[], Any]) -> tuple[Any, dict[str, Any]]:
    """Return what is read, None if that fails, and what to say about it."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", PlurivoxWarning)
        try:
            found = read()
        except PlurivoxError as error:
            return None, {"problem": problem_of(error), "told": "", "warnings": []}
    return found, {"problem": None, "told": "", "warnings": [str(one.message) for one in caught]}


def _population(desk: Desk, out: Path) -> dict[str, Any] | None:
    """Compare panel and population, or say why raters cannot be weighted; None without a population."""
    panel, known = _tried(lambda: desk.ratings.panel)
    if panel is None:
        return known if known["problem"] else None
    summary = panel.summary(MIN_GROUP_SIZE)
    write_text(out / PANEL, fragment(Section("panel", "", "", panel_table(summary)), desk.places({})))
    raked = [name for name in panel.population.attributes if name in desk.ratings.raters.columns]
    told = f"shares of {listed(list(summary.attributes))}, to which raters are weighted"
    return {**known, "told": told, "panel": asdict(summary), "raked": raked}


def _before(desk: Desk, role: str) -> list[str]:
    """Return which files of predictions or answers use the points before the ratings were recoded."""
    from plurivox.ask.read_answers import are_before

    if desk.recoding is None or role == "reference":
        return []
    places = [place for place in desk.names if role_in(place) == role]
    return [place for place in places if are_before(role, desk.names[place], desk.ratings, desk.recoding)]
