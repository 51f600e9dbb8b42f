"""A curation as tables of text."""

from __future__ import annotations

from plurivox.actions.curate.result import Curation
from plurivox.infer.text import Shown, number_cell


def tables(found: Curation) -> list[Shown]:
    """Return how the groups relate to the reference, and what was made from them."""
    lines = [
        [
            row["group"], row["standing"], *(number_cell(row[name]) for name in ("mpa", "wra")),
            row["ranges"] or "–",
            f"{row['n_raters_selected']:,} of {row['n_raters']:,}", f"{row['n_items']:,}", f"{row['n_written']:,}",
        ]
        for row in found.table("groups").iter_rows(named=True)
    ]  # fmt: skip
    across = found.settings["across"]
    common = found.to_frame()["group"].to_list().count(across)
    if common:
        lines.append([across, "all agree", "", "", "", "", "", f"{common:,}"])
    header = ["group", "standing", "MPA", "WRA", "steps of its own", "raters selected", "items scored", found.form]
    return [Shown(f"{', '.join(found.settings['by'])}, compared with {found.settings['reference']}", header, lines)]
