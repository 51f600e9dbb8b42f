"""What :func:`plurivox.curate` made, as tables and sentences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import polars as pl

from plurivox.actions.curate.parts import EXCLUDE, INCLUDE
from plurivox.base.wording import counted, withheld_sentence
from plurivox.infer.tables import TableResult
from plurivox.infer.view import RANGE, Value, View, columns, written
from plurivox.lenses.responsiveness.result import BROAD, GRANULAR, IN_LINE, UNKNOWN


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Curation(TableResult):
    """Training data from ratings; ``to_frame()`` returns the pairs or points.

    Attributes
    ----------
    tables
        ``pairs`` or ``points``, what to train on; ``groups``, how each relates to the reference and what was made from
        it; ``items``, those chosen for each group; ``decisions``, pairs that a person has to judge.
    settings
        The settings, including the seed and the name of the reference, but no rater ids.
    """

    KIND: ClassVar[str] = "curation"

    def __repr__(self) -> str:
        groups = self.table("groups").height
        return f"<Curation: {counted(self.to_frame().height, self.form[:-1])} of {counted(groups, 'group')}>"

    @property
    def form(self) -> str:
        """``"pairs"`` or ``"points"``."""
        return self.tables[0].name

    @property
    def n_undecided(self) -> int:
        """How many listed pairs await a decision."""
        return self.table("decisions").filter(pl.col("decision") == "").height

    def _said(self) -> list[str]:
        """Return what was made, how groups relate to the reference and what is left to decide, one sentence each."""
        settings, groups = self.settings, self.table("groups").to_dicts()
        n_groups, noun = sum(row["n_written"] > 0 for row in groups), self.form[:-1]
        common = self.to_frame().filter(pl.col("group") == settings["across"]).height
        own = self.to_frame().height - common
        parts = [f"{counted(own, noun)} from the scores of {counted(n_groups, 'group')}"] if own else []
        parts += [f"{counted(common, noun)} on which all groups agree"] if common else []
        said = [f"{' and '.join(parts)}."]
        said += [_distance(row, settings) for row in groups if row["standing"] not in (IN_LINE, UNKNOWN)]
        decided = self.table("decisions")["decision"].to_list()
        if decided:
            said.append(
                f"Of {counted(len(decided), 'pair')} listed for a person to judge, {decided.count(INCLUDE):,} are "
                f"included, {decided.count(EXCLUDE):,} are excluded and {self.n_undecided:,} await a decision; those "
                "are written and marked as open."
            )
        said += [f"{row['group']}: {row['note']}." for row in groups if row["note"]]
        alone, without = settings["n_prompts_of_one"], settings["n_items_without_prompt"]
        parts = [f"{counted(alone, 'prompt')} with a single response"] if alone else []
        parts += [f"{counted(without, 'item')} without prompt or response"] if without else []
        said += [f"Not in any pair: {' and '.join(parts)}."] if parts else []
        fewest = self.table("items")["n_votes"].min()
        if isinstance(fewest, int) and fewest < settings["min_group_size"]:
            whose = "a single person's answers" if fewest == 1 else f"the scores of as few as {fewest} raters"
            said.append(f"Some items have {whose} of a group; --min-votes asks for more.")
        counts = (self.settings[name] for name in ("n_withheld", "n_revealing", "min_group_size"))
        said += withheld_sentence(*counts, verb=False)
        said.append(
            f"Lower responsiveness means distance from {self.settings['reference']}, which has its own view; it does "
            "not measure a group's judgement."
        )
        return said


def _distance(row: dict[str, Any], settings: dict[str, Any]) -> str:
    """Say how far a group is from the reference, and what that means for its view."""
    mpa, wra = (
        written(Value(row[name], row[f"{name}_low"], row[f"{name}_high"]), RANGE, none="undefined")
        for name in ("mpa", "wra")
    )
    where, group, reference = f"MPA {mpa}, WRA {wra}", row["group"], settings["reference"]
    if row["standing"] == GRANULAR:
        seen = f"{group} grades items in steps of its own, at a distance from {reference} ({where})"
    elif row["standing"] == BROAD:
        seen = (
            f"{group} draws the line between low and high elsewhere than {reference} does ({where}); its view weighs 1"
        )
    else:
        seen = (
            f"{group} differs from {reference} both in fine steps and in where it draws the line ({where}); its "
            "preferences are written and marked as open for a person to judge"
        )
    if row["ranges"]:
        return f"{seen}; what lies within {row['ranges']} weighs {settings['range_weight']:g}."
    return (
        f"{seen}." if row["standing"] != GRANULAR else f"{seen}; no range of scores stands out, so everything weighs 1."
    )


# Tables ---------------------------------------------------------------------------------------------------------------


def tables(found: Curation) -> list[View]:
    """Return how the groups relate to the reference, and what was made from them."""
    lines = [
        [
            row["group"], row["standing"], row["mpa"], row["wra"], row["ranges"] or None,
            f"{row['n_raters_selected']:,} of {row['n_raters']:,}", row["n_items"], row["n_written"],
        ]
        for row in found.table("groups").iter_rows(named=True)
    ]  # fmt: skip
    across = found.settings["across"]
    common = found.to_frame()["group"].to_list().count(across)
    if common:
        lines.append([across, "all agree", "", "", "", "", "", common])
    header = ["group", "standing", *columns(".2f", ("MPA", "WRA")), "steps of its own", "raters selected"]
    title = f"{', '.join(found.settings['by'])}, compared with {found.settings['reference']}"
    return [View(title, [*header, "items scored", found.form], lines)]
