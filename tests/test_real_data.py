"""The public data sets load as their papers describe them."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import plurivox as pv
from plurivox.reproduce import published


def test_dices_350(real_data: Path) -> None:
    folder = real_data / "dices350"
    ratings = pv.read_ratings(
        folder / "ratings.csv", scale="No,Unsure,Yes", raters=folder / "raters.csv", items=folder / "items.csv"
    )
    assert ratings.intake.columns == {"item": "item_id", "rater": "rater_id", "score": "Q_overall"}
    assert (ratings.n_items, ratings.n_raters, len(ratings)) == (350, 123, 43_050)
    kept = ratings.where(raters={"removed": "False"})
    assert (kept.n_items, kept.n_raters, kept.crossed) == (350, 104, True)
    race = pv.Axis.of(kept, ("race", "gender"), min_group_size=1)
    assert race.sizes.sum() == 104
    table = published("grasp_table5")
    assert (
        len(race) + sum(len(pv.Axis.of(kept, a, min_group_size=1)) for a in ("age", "gender", "race")) == table.height
    )


def test_face_ratings(real_data: Path) -> None:
    ratings = pv.read_ratings(
        real_data / "faceratings" / "faceratings.parquet", item="face_id", scale="1:7",
        rater_attributes=["rater_sex", "rater_age", "rater_sexpref"],
        item_attributes=["face_sex", "face_age", "face_eth"],
    )  # fmt: skip
    assert (ratings.n_raters, ratings.n_items, ratings.crossed) == (2_513, 102, True)
    assert len(ratings) == 256_326
    binned = ratings.with_bins("rater_age", [17, 30, 50])
    assert set(pv.Axis.of(binned, "rater_age").groups) <= {"<17", "17–29", "30–49", "50+", "17 to <30", "30 to <50"}


def test_cebab(real_data: Path) -> None:
    ratings = pv.read_ratings(real_data / "cebab" / "cebab.parquet", scale="1:5", item_attributes=["is_original"])
    assert ratings.intake.columns == {"item": "id", "rater": "worker", "score": "rating"}
    assert (ratings.n_items, len(ratings)) == (15_090, 75_450)
    assert set(np.diff(ratings.offsets).tolist()) == {5}
