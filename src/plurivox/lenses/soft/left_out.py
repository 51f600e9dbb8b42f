"""What soft scores leave out, and what they rest on, in sentences."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from plurivox.base.wording import are, counted
from plurivox.lenses.soft.matching import NO_PREDICTION, NO_RATING
from plurivox.statistics.soft_blocks import EMPIRICAL

if TYPE_CHECKING:
    from plurivox.lenses.soft.result import SoftScores

WHY_RPS = (
    "RPS against the ratings: it needs no prior and, however few ratings there are, is lowest on average for the true "
    "distribution, so it does not reward flat predictions as expected scores do."
)


def left_out(found: SoftScores) -> Iterator[str]:
    """Yield what was not scored, and why, and what scores rest on."""
    s = found.settings
    whole = s["n_items"] + s["n_unpredicted"] + s["n_few"]
    if whole > s["n_items"]:
        least = "a rating" if s["min_ratings"] == 1 else f"at least {s['min_ratings']:,} ratings"
        those, have = ("that", "has") if s["n_items"] == 1 else ("those", "have")
        yield (
            f"{s['n_items']:,} of {whole:,} items {are(s['n_items'])} scored: {those} that every model predicts"
            + (f" and that {have} {least}." if s["n_few"] else ".")
        )
    missing = found.missing().group_by("model", "problem", maintain_order=True).len().iter_rows()
    for model, problem, n in missing:
        items = counted(n, "item")
        said = {NO_PREDICTION: f"{model} does not predict {items} with ratings",
                NO_RATING: f"{model} predicts {items} without ratings"}  # fmt: skip
        yield f"{said[problem]}: see missing(), or --csv --table missing."
    if s["n_trained_on"]:
        yield f"{s['n_trained_on']:,} of the scored items {are(s['n_trained_on'])} among the training items."
    if s["n_unrated"]:
        items, have = counted(s["n_unrated"], "item"), "has" if s["n_unrated"] == 1 else "have"
        yield f"{items} {have} no rating: expected scores use only the prior there, the others leave them out."
    if s["n_in_no_bin"]:
        n, count = s["n_in_no_bin"], "counts" if s["n_in_no_bin"] == 1 else "count"
        yield f"{counted(n, 'item')} {are(n)} in none of the bins, but {count} towards all items."
    if s["n_items_in_no_part"]:
        n = s["n_items_in_no_part"]
        have, count = ("has", "counts") if n == 1 else ("have", "count")
        yield f"{counted(n, 'item')} {have} no value for {s['items_by']}: in no part, but {count} towards all items."
    if any(name not in EMPIRICAL for name in found.metrics):
        yield s["prior_note"]
    if found.main == "rps":
        yield f"Models are ranked by {WHY_RPS}"
