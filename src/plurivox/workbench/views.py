"""Views of one thing: a single lens, a group, an item, two groups side by side; and tables as files.

Each is a section as in reports, made from the results of lenses; nothing is drawn or tabulated twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from plurivox import plots
from plurivox.base.csv_files import flat, write_frame
from plurivox.base.errors import SelectionError
from plurivox.base.files import write_text
from plurivox.base.wording import counted, named
from plurivox.config import FILE_NAME, config_text
from plurivox.domain.axis import CROSS, names_raters
from plurivox.infer.exports import document_of
from plurivox.infer.lens import Lens
from plurivox.infer.result import Result, frame_of
from plurivox.lenses.items.result import Items
from plurivox.lenses.overview.description import describe
from plurivox.plots import OF_LENSES, chart_of
from plurivox.plots.items import DIVIDED
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
from plurivox.workbench.looking import few_values
from plurivox.workbench.making import Desk, fragment, groups_in, lens_named
from plurivox.workbench.reading import POPULATION, asked_of

MOST_ROWS = 200
MOST_ITEMS = 25
LONGEST = 200
OF_GROUPS: dict[str, Any] = {
    "variation": variation, "cohesion": cohesion, "responsiveness": responsiveness, "alignment": alignment,
}  # fmt: skip
"""Lenses that say something about each group, and the sections that run them."""
HEADINGS = {"variation": "Leniency: who rates higher", "cohesion": "Who sees things alike",
            "responsiveness": "Whose scores convey severity", "alignment": "How far models are from it"}  # fmt: skip


def question(desk: Desk, asked: Mapping[str, Any], out: Path) -> dict[str, Any]:
    """Run one lens, and show its tables and findings."""
    lens = lens_named(asked["lens"])
    result = answer_of(desk, lens, asked)
    document = document_of(result, {}, lens=lens)
    blocks: list[Block] = [*_chart(lens, result)]
    for at, view in enumerate(document.tables):
        blocks += shown(slug(f"{lens.name}-{at}"), view, most=MOST_ROWS)
    blocks += [Prose(text) for text in (document.legend, *document.notes) if text]
    findings = findings_of(result, lens.name) if isinstance(result, Result | Items) else []
    findings = [replace(one, fact=not (one.said.claim or one.said.standing)) for one in findings]  # also of models
    said = [Prose(text) for text in document.sentences] if not findings else []
    section = Section(lens.name, lens.question, "", [*said, *blocks], findings, _alike(desk, lens))
    places = desk.places(_groups_asked(desk, lens, asked))
    write_text(out / "view.html", fragment(section, places, asked.get("looks", 1)))
    write_text(out / "result.json", result.to_json(draws=False) if isinstance(result, Result) else result.to_json())
    return {"title": lens.question}


def _alike(desk: Desk, lens: Lens) -> list[str]:
    """Say that raters count equally in a lens, if they are weighted elsewhere."""
    if desk.ratings.weights is None or lens.load("run").weights:
        return []
    return [f"{lens.command} does not use weights: every rater counts equally."]


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


def _chart(lens: Lens, result: Any) -> Iterator[Block]:
    """Yield the chart that the command of a lens draws, where it has one."""
    if lens.name in OF_LENSES:
        chart = chart_of(lens.name).__name__
        if hasattr(plots, f"{chart}_data") and getattr(plots, f"{chart}_data")(result).height:
            yield drawn(chart, result, f"{lens.name}-chart", lens.question.removesuffix("."), lens.question, "")


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
    section = Section("models", f"{names[0]} and {names[1]}", "", blocks, findings)
    return _written(desk, brief, section, out)


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
    for name, home in OF_GROUPS.items():
        if name != "alignment" or "answers" in brief.study.inputs:
            yield name, home.found_in(brief)


def _values_of(brief: Brief, axis: str, names: list[str]) -> Iterator[Block]:
    for name, found in _results(brief):
        frame = found.to_frame().filter(pl.col("axis") == axis, pl.col("group").is_in(names))
        shown = tested_values(frame).drop("axis", strict=False)
        if shown.height:
            shown = _beside(shown, "group", names) if len(names) > 1 else shown.drop("group")
            yield table(slug("group", name), HEADINGS[name], shown, MOST_ROWS, search=shown.height > 12)


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
    section = Section("item", f"Item {asked['item']}", "", [*said, *blocks])
    return _written(desk, brief, section, out)


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
