"""The study: its design, its groups, and how they use the scale."""

from __future__ import annotations

from plurivox.base.wording import counted, listed, protected, withheld_note
from plurivox.domain.panel import PanelSummary
from plurivox.lenses import lenses
from plurivox.lenses.overview.description import Description
from plurivox.lenses.overview.run import Overview, panel_view
from plurivox.report.parts import CAUTION, Action, Block, Brief, Section, drawn, shown, slug, switched, table
from plurivox.report.sections import has_section

WEIGHTED = "study-weights"
"""Where the report says how ratings were weighted."""
MAX_ROWS = 200
MAX_AXES = 8
"""Attributes and crossings that a switch offers."""
NO_GROUPS = (
    "No rater attributes are named, so there are no groups to compare; add attributes to the ratings or in a table of "
    "raters."
)


def section(brief: Brief) -> Section:
    """Describe the study."""
    seen: Overview = brief.ask("overview")
    found = seen.description
    blocks, more = _axes(seen)
    weighted = [] if found.panel is None else panel_table(found.panel)
    who = f" by {counted(found.n_raters, 'rater')}" if found.has_raters else ", as totals without raters"
    lead = f"{counted(found.n_ratings, 'rating')} of {counted(found.n_items, 'item')}{who} on a scale of "
    lead += f"{len(found.points)} points, from {found.points[0]} to {found.points[-1]}: {_design(found)}."
    return Section(
        "study", "The study", lead, [*weighted, *blocks], [], _remarks(found, bool(brief.by)), [*_sizes(seen), *more],
        actions=_actions(found, bool(brief.axes)),
    )  # fmt: skip


def panel_table(panel: PanelSummary) -> list[Block]:
    """Return panel and population, and what the weights cost."""
    alike = [lens.command for lens in lenses() if has_section(lens) and not lens.load("run").weights]
    said = [panel.sentence, *panel.notes, "The use of the scale is shown unweighted."]
    said += [f"All raters count equally in these lenses: {listed(alike)}."] if alike else []
    if panel.withholds:
        said.append("Values that few raters have, and values that would reveal these, are one row without a name.")
    return shown(WEIGHTED, panel_view(panel), " ".join(said), title="How the ratings were weighted")


def _sizes(seen: Overview) -> list[Block]:
    """Return who rated what, how often items were rated and how large groups are, if they differ at all."""
    found = seen.description
    blocks: list[Block] = []
    if found.has_raters and not found.crossed:
        blocks.append(drawn(
            "design", seen, "study-design", f"{found.density:.1%} of all item–rater pairs are rated",
            f"Raters by items; {_design(found)}.",
            "Each rectangle represents some raters and some items, those with most ratings first; the darker, the "
            "more of its pairs were rated.", measure="Who rated what.",
        ))  # fmt: skip
    spread = found.per_item
    if spread.low != spread.high:
        said = f"Items have {spread.low:,} to {spread.high:,} ratings, median {spread.median:,g}"
        blocks.append(drawn(
            "ratings_per_item", seen, "study-ratings-per-item", said, f"{said}.",
            "The number of items by their number of ratings.", measure="Ratings per item.",
        ))  # fmt: skip
    if found.axes:
        groups = "; ".join(f"{axis.name}: {counted(len(axis.groups), 'group')}" for axis in found.axes)
        sizes = [group.n_raters for axis in found.axes for group in axis.groups]
        title = f"Groups have {min(sizes):,} to {max(sizes):,} raters" if sizes else "Every group is withheld"
        words = (
            f"Raters per group. {groups}.",
            "Groups that are too small to show, or would reveal one that is, are withheld.",
        )
        blocks.append(drawn("group_sizes", seen, "study-groups", title, *words, measure="Raters per group."))
    return blocks


def _axes(seen: Overview) -> tuple[list[Block], list[Block]]:
    """Return how groups use the scale, and how raters answer."""
    axes = seen.usage["axis"].unique(maintain_order=True).to_list()
    axes = axes if len(axes) == 1 else axes[1:]
    use = [
        (axis, drawn(
            "scale_use", seen, slug("study-scale", axis), _most_frequent(seen.description),
            f"Share of each point among the ratings of each group{'' if axis == 'all' else f' of {axis}'}.",
            "Points below the middle of the scale go to the left, points above to the right.", axis,
            measure=f"How the scale is used{'' if axis == 'all' else f' by {axis}'}.",
        ))
        for axis in axes[:MAX_AXES]
    ]  # fmt: skip
    styles = [
        (axis, drawn(
            "response_styles", seen, slug("study-styles", axis), _ends(seen, axis),
            f"Share of each rater's ratings at the two ends of the scale{'' if axis == 'all' else f' of {axis}'}.",
            "Dots show the median rater of a group, lines the middle 80 % of its raters. Many ratings at the "
            "ends may be a habit (extreme responding) or a view; very few, a habit of caution.", axis,
            measure=f"Response styles{'' if axis == 'all' else f' by {axis}'}.",
        ))
        for axis in axes[:MAX_AXES]
        if (own := seen.styles.filter(axis=axis)).height and own["ends_median"].null_count() < own.height
    ]  # fmt: skip
    more = switched("study-styles", "Response styles by", styles)
    if seen.styles.height:
        frame = seen.styles.rename(_STYLE_NAMES)
        more.append(table("study-styles-table", "Response styles in numbers", frame, MAX_ROWS))
    return switched("study-scale", "How the scale is used, by", use), more


def _most_frequent(found: Description) -> str:
    """Say how often the most frequent score and the two ends were given."""
    shares = [n / max(1, sum(found.usage)) for n in found.usage]
    most = max(range(len(shares)), key=shares.__getitem__)
    text = f"The most frequent score is {found.points[most]} ({shares[most]:.0%})"
    ends = [at for at in (0, len(shares) - 1) if at != most]
    return f"{text}; {listed(f'{shares[at]:.0%} are {found.points[at]}' for at in ends)}"


def _ends(seen: Overview, axis: str) -> str:
    """Say how far the median raters of groups differ in using the ends."""
    medians = seen.styles.filter(axis=axis)["ends_median"].drop_nulls().to_list()
    low, high = f"{min(medians):.0%}", f"{max(medians):.0%}"
    return f"The median rater gives {low if low == high else f'{low} to {high}'} of scores at the ends of the scale"


def _actions(found: Description, has_groups: bool) -> list[Action]:
    """Return what not to conclude from how the study was made."""
    withheld = sum(axis.n_withheld for axis in found.axes)
    if not has_groups:
        text = "about groups of people: the report does not know who the raters are."
        return [Action(CAUTION, text, "study", 2)]
    text = f"about the {counted(withheld, 'group')} withheld to protect the people in them."
    return [Action(CAUTION, text, "study-groups", 5)] if withheld else []


_STYLE_NAMES = {
    "n_raters": "raters", "ends_low": "at the ends, 10 %", "ends_median": "at the ends, median",
    "ends_high": "at the ends, 90 %", "middle_median": "in the middle, median", "one_score": "raters with one score",
}  # fmt: skip


def _design(found: Description) -> str:
    if not found.has_raters:
        return "who rated what is not known"
    if found.crossed:
        return "fully crossed, every rater rated every item"
    return f"sparse, {found.density:.1%} of all item–rater pairs are rated"


def _remarks(found: Description, has_axes: bool) -> list[str]:
    weighted = () if found.panel is None else (found.panel.sentence, *found.panel.notes)  # which the table says
    remarks = [note for note in found.notes if note not in weighted]
    numbers = {
        f"Missing: {counted(found.missing_scores, 'score')}.": found.missing_scores,
        f"Rated more than once: {counted(found.repeated_pairs, 'item–rater pair')}; {found.duplicates} kept.":
            found.repeated_pairs if found.duplicates != "keep" else 0,  # otherwise a note says it
        f"Without any rating: {counted(found.unrated_items, 'item')}.": found.unrated_items,
        f"Not in the table of raters, so their groups are unknown: {counted(found.unknown_raters, 'rater')}.":
            found.unknown_raters,
    }  # fmt: skip
    remarks += [text for text, n in numbers.items() if n]
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
