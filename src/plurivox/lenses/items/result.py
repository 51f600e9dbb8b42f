"""What :func:`plurivox.items` found: frames, sentences, tables, and tasks that annotation platforms import."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import polars as pl
import polars.selectors as cs
from numpy.typing import NDArray

from plurivox.base.arguments import FilePath, checked
from plurivox.base.csv_files import write_frame
from plurivox.base.errors import ColumnError, InputError, SelectionError, few
from plurivox.base.files import write_text
from plurivox.base.wording import counted, escaped, named, one_line
from plurivox.domain.attributes import places_of
from plurivox.infer.claims import COUNTED_ALIKE, entangled_axes, entangled_statements, shuffling, weighted_statements
from plurivox.infer.exports import Exported
from plurivox.infer.families import SIGNIFICANT, undecided
from plurivox.infer.result import Statement, p_text, strict
from plurivox.infer.view import INTERVAL, Column, Value, View, view_of
from plurivox.statistics.posterior import share_interval
from plurivox.statistics.soft import posterior_mean

HIDDEN = "Next to that, its distribution would tell what these few said; give a smaller min_group_size if it may."


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False, repr=False)
class Items(Exported):
    """Items worth a look.

    Attributes
    ----------
    divided
        One row per item and axis on which a group and its rest each gave two ratings or more, the clearest difference
        first: the ``group`` that stands out (of two groups, the one that rates higher), the ``direction`` in which it
        does, both means and their ``difference``; ``shrunken``, what is left of it once chance is allowed for; how many
        ratings each side gave; ``z``, the difference in standard errors; ``p_value`` of this difference alone, and
        ``p_adjusted`` for all items, groups and axes of the call. Where a side has fewer than ``min_group_size``
        ratings of the item, only a claim is listed, with no more than direction, the rounded ``shrunken``,
        ``p_adjusted`` and a ``note``.
    uncertain
        One row per item, except for those on which a few raters are said to differ, starting with those about which one
        more rating reveals most: ``n_ratings``, their ``mean``
        and ``entropy`` in nats; given the prior and the ratings, the ``expected_mean`` of the scores that all raters
        would give, with its 95 % credible interval ``ci_low`` to ``ci_high``; ``prior_share``, the prior's part in mean
        and interval, α₀/(α₀ + n): with 3 ratings and 5 pseudo-ratings, 62 %; ``information_gain``, the information
        expected from one more rating, in nats; and ``ratings_needed``, how many ratings it takes in total until the
        interval is expected to be no wider than the mean ± ``settings["precision"]``, null if out of reach.
    settings
        What was requested; ``prior`` is the weight of each point, ``prior_note`` says how it was found,
        ``n_comparisons`` is how many differences there are to choose from, ``n_unlisted`` how many are not listed since
        a side has few raters, ``least_p`` the smallest ``p_adjusted`` of each axis, and ``largest_z_by_chance`` the
        largest absolute z that shuffled raters give.
    items
        What is known about the items: their ids, and what describes them.
    null
        The largest absolute z of each shuffle.
    """

    divided: pl.DataFrame
    uncertain: pl.DataFrame
    settings: dict[str, Any]
    items: pl.DataFrame
    _counts: NDArray[np.int64]
    null: NDArray[np.float64]
    _weighed: NDArray[np.float64] | None = None

    ALL_ROWS: ClassVar[str] = "uncertain and divided"
    IN_NOTEBOOKS: ClassVar[Mapping[str, Any]] = {"top": 6}

    def __repr__(self) -> str:
        several = self.divided["item"].n_unique()
        return f"<Items: {counted(self.uncertain.height, 'item')}, {several:,} rated by several groups>"

    def statements(self) -> list[Statement]:
        """Return what stands out."""
        said = _dividing(self)
        if self.uncertain.height:
            said.append(Statement(self.settings["prior_note"], 0.0, statistic="prior"))
        for one in weighted_statements(self.settings, (), "items"):
            used = "unweighted_mean" in self.uncertain.columns
            rest = "The test of which items divide groups counts all raters equally." if used else COUNTED_ALIKE
            said.append(Statement(f"{one.text} {rest}", 0.0, statistic="weights"))
        return said

    def findings(self) -> list[str]:
        """Return what stands out, one sentence each."""
        return [one_line(statement.text) for statement in self.statements()]

    def to_json(self) -> str:
        """Return the requested lists as strict JSON."""
        lists = {"uncertain": self.uncertain} if self.settings["uncertain"] else {
            "uncertain": self.uncertain, "divided": self.divided}  # fmt: skip
        plain = {name: frame.with_columns(cs.float().fill_nan(None)).to_dicts() for name, frame in lists.items()}
        said = [strict(statement.as_dict()) for statement in self.statements()]
        data = {"kind": "items", "settings": self.settings, **plain, "statements": said}
        return json.dumps(data, ensure_ascii=False, allow_nan=False)

    @checked
    def distributions(self, items: str | Sequence[str | int] | None = None) -> pl.DataFrame:
        """Return the expected share of each point, with its 95 % credible interval, for some items or all.

        One row per ``item`` and ``point``: ``n_ratings`` that gave the point, ``probability``, ``ci_low``, ``ci_high``,
        and ``prior_share``, the prior's part in them.
        """
        ids = self.items["item"].cast(pl.String)
        shown = ids.is_in(self.uncertain["item"].implode()).to_numpy()
        places = np.flatnonzero(shown)
        if items is not None:
            wanted = [items] if isinstance(items, str) else [str(item) for item in items]
            places = places_of(pl.Series(wanted, dtype=pl.String), ids)
            if (places < 0).any():
                unknown = wanted[int(np.flatnonzero(places < 0)[0])]
                raise SelectionError(f"there is no item {unknown!r}", hint="uncertain lists the items.")
            if not shown[places].all():
                hidden = wanted[int(np.flatnonzero(~shown[places])[0])]
                raise SelectionError(
                    f"item {hidden!r} is said to divide groups, and few raters are on a side", hint=HIDDEN
                )
        counts, points = self._counts[places], self.settings["points"]
        prior, weighted = np.array(self.settings["prior"]), self._weighed is not None
        own: NDArray[Any] = counts if self._weighed is None else self._weighed[places]
        low, high = share_interval(own, prior, weighted=weighted)
        held = prior.sum() / (prior.sum() + own.sum(axis=1))
        plain = posterior_mean(counts, prior)
        shares = (own + prior) / (own + prior).sum(axis=1, keepdims=True) if weighted else plain
        frame = pl.DataFrame(
            {
                "item": np.repeat(ids.gather(places).to_numpy(), len(points)), "point": points * len(places),
                "n_ratings": counts.ravel(), "probability": shares.ravel(),
                "ci_low": low.ravel(), "ci_high": high.ravel(), "prior_share": np.repeat(held, len(points)),
            },
            schema_overrides={"item": pl.String, "point": pl.String},
        )  # fmt: skip
        return frame.with_columns(unweighted=plain.ravel()) if weighted else frame

    @checked
    def tasks(self, *, at_most: int | None = None) -> pl.DataFrame:
        """Return the items to rate again, and how often: those whose mean is not known as precisely as wanted.

        One row per item, in the order of ``uncertain``: its id, what describes it, ``n_ratings``, ``ratings_needed``,
        ``ratings_wanted``, how many more that is, null if out of reach, and ``information_gain``. Nothing reveals who
        rated, or what.

        Parameters
        ----------
        at_most
            The most items to return, from the top of the list.
        """
        known = self.items.select(pl.all().cast(pl.String))
        known = known.rename({name: f"{name}_" for name in known.columns if name in COUNTS})
        needed = self.uncertain.with_columns(ratings_wanted=pl.col("ratings_needed") - pl.col("n_ratings"))
        open_ = needed.filter(pl.col("ratings_wanted").is_null() | (pl.col("ratings_wanted") > 0))
        chosen = open_ if at_most is None else open_.head(at_most)
        listed = chosen.select("item", *COUNTS).join(known, on="item", how="left", maintain_order="left")
        return listed.select("item", *(name for name in known.columns if name != "item"), *COUNTS)

    @checked
    def write_tasks(
        self, path: FilePath, *, form: Literal["label-studio", "argilla", "csv"] | None = None,
        text: str | Sequence[str] | None = None, at_most: int | None = None,
    ) -> Path:  # fmt: skip
        """Write :meth:`tasks` as a file that an annotation platform imports.

        Parameters
        ----------
        path
            The file: .json for Label Studio, .json or .jsonl for Argilla, .csv, .parquet or .jsonl for a table.
        form
            The platform; not needed for a name that ends in .csv or .parquet.
        text
            The columns that raters read: fields of Argilla. By default the one called ``text``.
        at_most
            The most items to return, from the top of the list.

        Returns
        -------
        Path
            The file.
        """
        write_tasks(self, Path(path), form, text, at_most)
        return Path(path)


# Sentences ------------------------------------------------------------------------------------------------------------


def claimed(found: Items) -> pl.DataFrame:
    """Return the rows that may be said to divide groups: below .05 after correction, which more shuffles cannot change.

    All that is said about items that divide groups, here, in charts and in reports, follows from these rows.
    """
    p = found.divided["p_adjusted"].fill_null(float("nan")).to_numpy()
    decided = pl.Series(~undecided(p, found.settings["n_permutations"]), dtype=pl.Boolean)  # by any more shuffles
    certain = decided & (found.divided["p_adjusted"] < SIGNIFICANT)
    return found.divided.filter(certain & ~pl.col("axis").is_in(entangled_axes(found.settings)))


def _dividing(found: Items) -> list[Statement]:
    """Return whether any item divides groups, and which."""
    settings, n, least = found.settings, found.settings["n_unlisted"], found.settings["min_group_size"]
    unmoved = f"no raters of different groups can be exchanged ({shuffling(settings)}), so no item is tested."
    told = [Statement(f"{axis}: {unmoved}", 0.0, axis, "items") for axis in settings["unmoved"]]
    told += entangled_statements(settings, settings["least_p"])
    if n:
        unlisted = "1 difference on an item is" if n == 1 else f"{n:,} differences on items are"
        why = f"with fewer than {least:,} raters on a side, what these said could be worked out."
        told.append(Statement(f"{unlisted} not listed: {why}", 0.0, statistic="items"))
    if not settings["n_comparisons"]:
        return told
    if not settings["permutations"]:
        return [Statement("Without permutations, no item is said to divide groups.", 0.0, statistic="items"), *told]
    certain = claimed(found)
    if certain.height:
        first, n = certain.row(0, named=True), settings["n_permutations"]
        p, n_items, left = first["p_adjusted"], certain["item"].n_unique(), first["shrunken"]
        left = left if first["direction"] == "higher" else -left
        about = f"by about {left:.2g} points (shrunken)" if left > 0 else "by little after shrinkage"
        who = f"{named(first['axis'], first['group'])} rate it {first['direction']}, {about}"
        text = f"Item {first['item']} divides the raters: {who}, {p_text(p)} {comparisons(settings)}."
        if n_items > 1:
            text = f"{n_items:,} items divide groups, {comparisons(settings)}. The clearest is item {first['item']}: "
            text += f"{who}, {p_text(p)}."
        basis = f"{shuffling(settings)}, {n:,} times; {comparisons(settings)}"
        said = Statement(
            text, 4.0 - p, first["axis"], "items", first["group"], claim=True, p=p, rests_on=basis, n_permutations=n,
            subject=counted(n_items, "item"), short=f"divide{'s' if n_items == 1 else ''} groups of raters",
        )  # fmt: skip
        return [said, *told]
    return [_no_claim(found), *told]


def comparisons(settings: dict[str, Any]) -> str:
    """Say how many comparisons p is corrected over."""
    return f"corrected over {counted(settings['n_comparisons'], 'comparison')}"


def _no_claim(found: Items) -> Statement:
    """Say that no item divides groups for certain, and why."""
    settings = found.settings
    least = [p for axis, p in settings["least_p"].items() if axis not in entangled_axes(settings)]
    if not least:
        text = "No item is said to divide groups: who rated what depends on the groups."
        n = settings["n_permutations"]
        return Statement(text, 1.0, statistic="items", p=1.0, n_permutations=n, standing="open")
    smallest = min((p for p in least if p is not None), default=1.0)
    known = {
        "statistic": "items", "p": smallest, "n_permutations": settings["n_permutations"],
        "standing": "open",
    }  # fmt: skip
    n, p = settings["n_comparisons"], p_text(smallest)
    what = f"the largest of {n:,} differences" if n > 1 else "the only difference"
    if undecided(smallest, settings["n_permutations"]):
        text = (
            f"Whether an item divides groups is undecided: {what} has {p} "
            f"from {counted(settings['n_permutations'], 'shuffle')}; more permutations would decide."
        )
        return Statement(text, 1.5, **known)
    text = f"No item is certain to divide groups: {what} is within what shuffled raters give, {p}."
    return Statement(text, 1.0, **known)


# Tables ---------------------------------------------------------------------------------------------------------------


def tables(found: Items, *, top: int = 20) -> list[View]:
    """Return the first items of each list."""
    shown = [uncertain(found, top)]
    return [*shown, divided(found, top)] if found.divided.height else shown


def brief(found: Items, *, top: int = 8) -> list[View]:
    """Return the first few items of each list."""
    return tables(found, top=top)


def uncertain(found: Items, top: int) -> View:
    """Return the items about which one more rating reveals most."""
    total = found.uncertain.height
    first = f"the first {top:,} of {total:,}" if total > top else f"{total:,}"
    frame = found.uncertain.head(top).with_columns(pl.col("ratings_needed").cast(pl.Float64).fill_null(float("inf")))
    names = {
        "item": "item", "n_ratings": "ratings", "mean": Column("mean", ".2f"),
        "expected_mean": Column("expected", ".2f"), "ci_low": Column("95 % interval", INTERVAL),
        "prior_share": Column("prior's share", ".0%"), "information_gain": "gain of one more",
        "ratings_needed": Column(f"needed for ±{found.settings['precision']:g}", ",.0f"),
        "entropy": Column("entropy", extra=True),
    }  # fmt: skip
    return view_of(f"Items that deserve more ratings, {first}", frame, names)


def divided(found: Items, top: int) -> View:
    """Return the clearest differences between groups on items."""
    total = found.divided.height
    first = f", the first {top:,} of {total:,}" if total > top else ""
    frame = found.divided.head(top)
    frame = frame.with_columns(pl.col("direction").fill_null("equal"))
    names = {
        "item": "item", "axis": "axis", "group": "group", "direction": "rates it",
        "difference": Column("difference", "+.2f"),
        "shrunken": Column("shrunken", "+.2g"), "p_value": "p alone", "p_adjusted": "p corrected",
        "mean_group": Column("mean", ".2f", extra=True), "mean_rest": Column("mean of the others", ".2f", extra=True),
        "n_group": Column("ratings", extra=True), "n_rest": Column("ratings of the others", extra=True),
        "note": Column("note", extra=True),
    }  # fmt: skip
    view = view_of(f"Differences between groups on items, {comparisons(found.settings)}{first}", frame, names)
    hidden, place = Value(None, after="withheld"), list(names).index("difference")
    rows = [[*row[:place], hidden if row[-1] else row[place], *row[place + 1 :]] for row in view.rows]  # where noted
    return view._replace(rows=rows)


# Tasks for raters -----------------------------------------------------------------------------------------------------

COUNTS = ("n_ratings", "ratings_needed", "ratings_wanted", "information_gain")
ENDINGS = {"label-studio": (".json",), "argilla": (".json", ".jsonl"), "csv": (".csv", ".parquet", ".jsonl")}
"""The formats of tasks, and the extensions of their files."""
USUAL = "text"
"""The column used as the text of an item if none is named."""

_SAY_WHERE = "give a table with it, --items (items=), or name it in the ratings, --item-attributes (item_attributes=)"


def check_file(path: Path, form: str | None) -> str:
    """Return the form of a file, or raise if its name does not say or does not fit."""
    kind = path.suffix.lower()
    if form is None and kind not in (".csv", ".parquet"):
        raise InputError(
            f"the name {path.name} does not say what kind of tasks it should hold",
            hint="Add --as label-studio, --as argilla or --as csv; form= in Python.",
        )
    form = form or "csv"
    if kind not in ENDINGS[form]:
        raise InputError(
            f"cannot write {form} tasks to {path.name}", hint=f"Use a name that ends in {' or '.join(ENDINGS[form])}."
        )
    return form


def write_tasks(
    found: Items, path: Path, form: str | None, text: str | Sequence[str] | None, at_most: int | None
) -> str:
    """Write tasks, and return a summary."""
    form, there = check_file(path, form), [name for name in found.items.columns if name != "item"]
    texts = [name for name in there if name.casefold() == USUAL][:1]  # what raters read
    if text is not None:
        texts = [text] if isinstance(text, str) else list(text)
    for name in texts:
        if name not in there:
            columns = few(there, 20) if there else "only the id"
            raise ColumnError(
                f"no column '{name}' describes items; the columns are: {columns}",
                hint=f"Name one of them, or {_SAY_WHERE}.",
            )
    listed = found.tasks(at_most=at_most)
    if form == "csv":
        write_frame(path, listed)
    else:
        lines = [json.dumps(_record(form, row, texts), ensure_ascii=False) for row in listed.iter_rows(named=True)]
        if path.suffix.lower() == ".jsonl":
            whole = "".join(f"{one}\n" for one in lines)
        else:
            whole = "[\n" + ",\n".join(lines) + "\n]\n" if lines else "[]\n"
        write_text(path, escaped(whole))
    return _told(listed, texts, found.settings["precision"])


def _record(form: str, row: dict[str, Any], texts: Sequence[str]) -> dict[str, Any]:
    """Return an item as a task.

    For Label Studio, whose labelling interface refers to ``data``, as ``$text``; or for Argilla, where raters see its
    fields, and what is not known is left out, since metadata cannot be null.
    """
    if form == "label-studio":
        data = {name: value for name, value in row.items() if name not in COUNTS}
        return {"data": data, "meta": {name: row[name] for name in COUNTS}}
    fields = {name: row[name] or "" for name in texts} or {"item": row["item"]}
    known = {name: value for name, value in row.items() if name not in ("item", *texts) and value is not None}
    return {"id": row["item"], "fields": fields, "metadata": known}


def _told(listed: pl.DataFrame, texts: Sequence[str], precision: float) -> str:
    if listed.is_empty():
        return f"no item needs more ratings for a mean known to ± {precision:g}; give a smaller precision to list more"
    wanted, out = int(listed["ratings_wanted"].sum()), listed["ratings_wanted"].null_count()
    said = f"{counted(listed.height, 'task')}; {counted(wanted, 'more rating')} to know each mean to ± {precision:g}"
    said += f", which is out of reach for {out:,} of them" if out else ""
    bare = f"; no column holds the text, so they contain only ids: {_SAY_WHERE}" if not texts else ""
    return f"{said}{bare}"
