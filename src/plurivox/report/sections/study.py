"""The study: its design, its groups, and how they use the scale."""

from __future__ import annotations

from plurivox.lenses.overview.description import Description
from plurivox.lenses.overview.run import Overview
from plurivox.report.making import drawn, table
from plurivox.report.parts import Block, Brief, Section, slug
from plurivox.results.wording import NO_GROUPS, protected, withheld_note

MAX_ROWS = 200


def section(brief: Brief) -> Section:
    """Describe the study."""
    seen: Overview = brief.ask("overview")
    found = seen.description
    blocks: list[Block] = []
    if found.has_raters:
        blocks.append(drawn(
            "design", seen, "study-design", "Who rated what", f"Raters by items; {_design(found)}.",
            "Each rectangle stands for some raters and some items, those with most ratings first; the darker, the more "
            "of its pairs were rated.",
        ))  # fmt: skip
    blocks.append(drawn(
        "ratings_per_item", seen, "study-ratings-per-item", "Ratings per item",
        f"Items have {found.per_item.low:,} to {found.per_item.high:,} ratings, median {found.per_item.median:,g}.",
        "How many items have how many ratings.",
    ))  # fmt: skip
    if found.axes:
        groups = "; ".join(f"{axis.name}: {len(axis.groups)} groups" for axis in found.axes)
        words = (
            f"Raters per group. {groups}.",
            "Groups that are too small to show, or would reveal one that is, are withheld.",
        )
        blocks.append(drawn("group_sizes", seen, "study-groups", "Groups and their sizes", *words))
    blocks += _axes(seen)
    return Section(
        "study",
        "The study",
        f"{found.n_ratings:,} ratings of {found.n_items:,} items"
        + (f" by {found.n_raters:,} raters" if found.has_raters else ", as totals without raters")
        + f" on a scale of {len(found.points)} points, from {found.points[0]} to {found.points[-1]}: {_design(found)}.",
        blocks,
        [],
        _remarks(found, bool(brief.by)),
    )


def _axes(seen: Overview) -> list[Block]:
    blocks: list[Block] = []
    axes = seen.usage["axis"].unique(maintain_order=True).to_list()
    for axis in axes if len(axes) == 1 else axes[1:]:
        blocks.append(drawn(
            "scale_use", seen, slug("study-scale", axis), _titled("How the scale is used", axis),
            f"Share of each point among the ratings of each group{_of(axis)}.",
            "Points below the middle of the scale go to the left, points above to the right.", axis,
        ))  # fmt: skip
        styles = seen.styles.filter(axis=axis)
        if styles.height and styles["ends_median"].null_count() < styles.height:
            blocks.append(drawn(
                "response_styles", seen, slug("study-styles", axis), _titled("Response styles", axis),
                f"Share of each rater's ratings at the two ends of the scale{_of(axis)}.",
                "Dots are the median rater of a group, lines hold the middle 80 % of its raters. Many ratings at the "
                "ends may be a habit (extreme responding) or a view; very few, a habit of caution.", axis,
            ))  # fmt: skip
    if seen.styles.height:
        frame = seen.styles.rename(_STYLE_NAMES)
        blocks.append(table("study-styles-table", "Response styles in numbers", frame, MAX_ROWS))
    return blocks


_STYLE_NAMES = {
    "n_raters": "raters", "ends_low": "at the ends, 10 %", "ends_median": "at the ends, median",
    "ends_high": "at the ends, 90 %", "middle_median": "in the middle, median", "one_score": "raters with one score",
}  # fmt: skip


def _titled(title: str, axis: str) -> str:
    return title if axis == "all" else f"{title}: {axis}"


def _of(axis: str) -> str:
    return "" if axis == "all" else f" of {axis}"


def _design(found: Description) -> str:
    if not found.has_raters:
        return "who rated is not known"
    if found.crossed:
        return "fully crossed, every rater rated every item"
    return f"sparse, {found.density:.1%} of all pairs of item and rater are rated"


def _remarks(found: Description, has_axes: bool) -> list[str]:
    remarks = list(found.notes)
    counted = {
        f"{found.missing_scores:,} scores are missing.": found.missing_scores,
        f"{found.repeated_pairs:,} pairs of item and rater were rated more than once; {found.duplicates} kept.":
            found.repeated_pairs if found.duplicates != "keep" else 0,  # else there is a note on it
        f"{found.unrated_items:,} items have no rating.": found.unrated_items,
        f"{found.unknown_raters:,} raters are not in the table of raters, so their groups are unknown.":
            found.unknown_raters,
    }  # fmt: skip
    remarks += [text for text, n in counted.items() if n]
    if not found.has_raters:
        remarks.append(
            "The table holds totals, so nothing can be said about raters and groups. Give one row per rating to "
            "compare them."
        )
    elif not has_axes:
        remarks.append(NO_GROUPS)
    outside = [f"{axis.name}: {axis.n_outside:,}" for axis in found.axes if axis.n_outside]
    if outside:
        remarks.append(f"Raters without a value, left out of that axis: {', '.join(outside)}.")
    withheld = [
        f"{axis.name}: {withheld_note(axis.n_withheld, axis.n_revealing)}" for axis in found.axes if axis.n_withheld
    ]
    if withheld:
        general = protected(found.min_group_size, sum(axis.n_revealing for axis in found.axes))
        remarks.append(f"{general} to protect the people in them ({'; '.join(withheld)}).")
    return remarks
