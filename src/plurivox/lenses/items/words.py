"""What :func:`plurivox.items` found, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from plurivox.base.wording import counted, named
from plurivox.infer.claims import entangled_axes, entangled_statements, shuffling
from plurivox.infer.families import SIGNIFICANT, undecided
from plurivox.infer.result import Statement, p_text
from plurivox.infer.weighting import COUNTED_ALIKE, weighted_statements

if TYPE_CHECKING:
    from plurivox.lenses.items.result import Items


def claimed(found: Items) -> pl.DataFrame:
    """Return the rows that may be said to divide groups: below .05 after correction, which more shuffles cannot change.

    All that is said about items that divide groups, here, in charts and in reports, follows from these rows.
    """
    certain = _decided(found) & (pl.col("p_adjusted") < SIGNIFICANT)
    return found.divided.filter(certain & ~pl.col("axis").is_in(entangled_axes(found.settings)))


def statements(found: Items) -> list[Statement]:
    """Return whether any item divides groups, and which; and how much of the items' intervals is due to the prior."""
    prior = Statement(found.settings["prior_note"], 0.0, statistic="prior")
    return [*_dividing(found), *([prior] if found.uncertain.height else []), *_weighted(found)]


def _weighted(found: Items) -> list[Statement]:
    """Say what weights amount to, and what does not use them."""
    said = weighted_statements(found.settings, (), "items")
    if not said:
        return []
    used = "unweighted_mean" in found.uncertain.columns
    rest = "The test of which items divide groups counts all raters equally." if used else COUNTED_ALIKE
    return [Statement(f"{said[0].text} {rest}", 0.0, statistic="weights")]


def _dividing(found: Items) -> list[Statement]:
    """Return whether any item divides groups, and which."""
    told = [_unmoved(axis, found.settings) for axis in found.settings["unmoved"]]
    told += entangled_statements(found.settings, found.settings["least_p"])
    told += _unlisted(found.settings)
    if not found.settings["n_comparisons"]:
        return told
    if not found.settings["permutations"]:
        return [Statement("Without permutations, no item is said to divide groups.", 0.0, statistic="items"), *told]
    certain = claimed(found)
    if certain.height:
        first = certain.row(0, named=True)
        n = found.settings["n_permutations"]
        basis = f"{shuffling(found.settings)}, {n:,} times; {comparisons(found.settings)}"
        text, p = _claim(certain, first, found.settings), first["p_adjusted"]
        about = (first["axis"], "items", first["group"])
        n_items = certain["item"].n_unique()
        short = f"divide{'s' if n_items == 1 else ''} groups of raters"
        said = Statement(
            text, 4.0 - p, *about, claim=True, p=p, rests_on=basis, n_permutations=n, subject=counted(n_items, "item"),
            short=short,
        )  # fmt: skip
        return [said, *told]
    return [_no_claim(found), *told]


def comparisons(settings: dict[str, Any]) -> str:
    """Say how many comparisons p is corrected over."""
    return f"corrected over {counted(settings['n_comparisons'], 'comparison')}"


def _claim(certain: pl.DataFrame, first: dict[str, Any], settings: dict[str, Any]) -> str:
    """Say how many items divide groups, and how the clearest one does."""
    who = f"{named(first['axis'], first['group'])} rate it {first['direction']}, {_by_about(first)}"
    p, n = p_text(first["p_adjusted"]), certain["item"].n_unique()
    if n == 1:
        return f"Item {first['item']} divides the raters: {who}, {p} {comparisons(settings)}."
    return f"{n:,} items divide groups, {comparisons(settings)}. The clearest is item {first['item']}: {who}, {p}."


def _by_about(row: dict[str, Any]) -> str:
    """Say by how much, after shrinking."""
    left = row["shrunken"] if row["direction"] == "higher" else -row["shrunken"]
    return f"by about {left:.2g} points (shrunken)" if left > 0 else "by little after shrinkage"


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


def _unlisted(settings: dict[str, Any]) -> list[Statement]:
    """Say how many differences are not listed, if any."""
    n, least = settings["n_unlisted"], settings["min_group_size"]
    differences = "1 difference on an item is" if n == 1 else f"{n:,} differences on items are"
    text = f"{differences} not listed: with fewer than {least:,} raters on a side, what these said could be worked out."
    return [Statement(text, 0.0, statistic="items")] if n else []


def _decided(found: Items) -> pl.Expr:
    """Return for each row whether more shuffles could not move it across .05."""
    p = found.divided["p_adjusted"].fill_null(float("nan")).to_numpy()
    return pl.lit(pl.Series(~undecided(p, found.settings["n_permutations"]), dtype=pl.Boolean))


def _unmoved(axis: str, settings: dict[str, Any]) -> Statement:
    text = f"{axis}: no raters of different groups can be exchanged ({shuffling(settings)}), so no item is tested."
    return Statement(text, 0.0, axis, "items")
