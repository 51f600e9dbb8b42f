"""GRASP (Prabhakaran et al., NAACL 2024): Table 5, how raters of DICES-350 agree within and across groups."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from plurivox.data import load
from plurivox.domain.ratings import Ratings
from plurivox.lenses.cohesion.run import cohesion
from plurivox.read.read import read_ratings
from plurivox.reproduce.record import Paper, PublishedCell, published

RACES = {
    "Asian": "Asian/Asian subcontinent", "Black": "Black/African American",
    "Latine": "LatinX, Latino, Hispanic or Spanish Origin",
}  # fmt: skip
"""What the table calls a group of the data."""
STATISTICS = ("irr", "xrr", "negentropy", "cross_negentropy", "plurality_size", "gai", "voting_agreement")
AXES = ("age", "gender", "race", ("race", "gender"))


def ratings_of(folder: Path) -> Ratings:
    """Return the 104 raters of DICES-350 who were kept, from two tables or from the authors' own file."""
    if (folder / "ratings.csv").is_file():
        found = read_ratings(folder / "ratings.csv", scale="No,Unsure,Yes", raters=folder / "raters.csv")
    else:
        found = load("dices-350", folder).ratings
    return found.where(raters={"removed": "False"})


def cells(folder: Path | None, convention: str = "published") -> Iterator[PublishedCell]:
    """Yield 20 groups × 7 statistics; the data are public, so the group of four raters is shown, as in the paper."""
    assert folder is not None
    found = cohesion(
        ratings_of(folder), AXES, permutations=0, convention=convention, level="nominal", interval="none",
        min_group_size=1,
    )  # fmt: skip
    for row in published("grasp_table5").iter_rows(named=True):
        axis = row["axis"].replace(" x ", " × ")
        group = " × ".join(RACES.get(part, part) for part in row["group"].split(", "))
        for name in STATISTICS:
            yield PublishedCell("Table 5", row["group"], name, row[name], found.value(axis, group, name))


PAPER = Paper(
    name="grasp",
    order=10,
    citation="Prabhakaran et al. (2024), GRASP: A Disagreement Analysis Framework to Assess Group Associations in "
    "Perspectives, NAACL",
    cells=cells,
    files=("ratings.csv", "raters.csv"),
    dataset="dices-350",
    origin="DICES-350 (https://github.com/google-research-datasets/dices-dataset), with item_id, rater_id and "
    "Q_overall, and for each rater age, gender, race and removed",
    parts=(
        "The printed cross-negentropy counts every item on which the rest left some point unused as perfect agreement; "
        "that is wrong, and only convention='published' does it. By default, ½ is added to the rest's counts.",
        "Voting agreement does not match: no rule for ties gives the number that is printed for White men.",
        "The caption calls the DSI a minimum; the text and the numbers use the maximum.",
    ),
)
