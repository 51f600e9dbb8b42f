"""A curation as tables."""

from __future__ import annotations

from plurivox.actions.curate.result import Curation
from plurivox.infer.view import View, columns


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
