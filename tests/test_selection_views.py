"""What a selection keeps of groups: their views, their share of places; against simulated truth and literal counts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import norm

import plurivox as pv
from plurivox.actions.select.choosing import shared_out
from plurivox.actions.select.run import centred, kept
from plurivox.base.errors import InputError
from support import run_cli

CUTS = np.array([-1.2, -0.4, 0.4, 1.2])


def minority(seed: int, *, mixed: float = 1.0, noise: float = 0.7, n_items: int = 200) -> tuple[pv.Ratings, Any, Any]:
    """Return 20 of 100 raters whose view has a latent correlation of .6 with that of the others, and expected scores.

    Each of them holds the view of the minority to a degree of their own, from 1 − ``mixed`` to 1.
    """
    rng = np.random.default_rng([seed, 3])
    common = rng.normal(size=n_items)
    own = 0.6 * common + 0.8 * rng.normal(size=n_items)
    few = np.arange(100) < 20
    degree = np.where(few, 1 - mixed * rng.random(100), 0.0)[:, np.newaxis]
    seen = degree * own + (1 - degree) * common + 0.5 * rng.normal(size=(100, 1))
    scores = np.searchsorted(CUTS, seen + noise * rng.normal(size=seen.shape))
    expected = norm.sf((CUTS - seen[..., np.newaxis]) / noise).sum(axis=-1)
    frame = pl.DataFrame({
        "item": np.tile(np.arange(n_items), 100), "rater": np.repeat([f"r{r:03}" for r in range(100)], n_items),
        "score": scores.ravel(), "view": np.repeat(np.where(few, "few", "many"), n_items),
    })  # fmt: skip
    return pv.Ratings.from_frame(frame, scale="0:4", rater_attributes=["view"]), few, expected


def truly_kept(expected: Any, few: Any, chosen: Any) -> float:
    """Return the slope of the chosen's expected deviation on that of the group, raters' own means taken out."""
    own = expected - expected.mean(axis=1, keepdims=True)
    rest = own[~few].mean(axis=0)
    group, some = own[few].mean(axis=0) - rest, own[chosen].mean(axis=0) - rest
    return float(np.polyfit(group, some, 1)[0])


def kept_of(found: pv.Selection, group: str = "few") -> dict[str, Any]:
    (row,) = found.table("fairness").filter(pl.col("group") == group).to_dicts()
    return row


def test_five_of_a_minority_keep_its_view_unless_they_are_held_against_the_crowd() -> None:
    asked: dict[str, Any] = {"by": "view", "per_group": 5, "order": "value", "bootstrap": 0}
    own, crowd, true_own, true_crowd = (list[float]() for _ in range(4))
    for seed in range(3):
        ratings, few, expected = minority(seed, n_items=150)
        for reference, shares, true in (("own group", own, true_own), ("crowd", crowd, true_crowd)):
            found = pv.select_raters(ratings, reference, **asked)
            names = found.to_frame().filter(pl.col("group") == "few")["rater"]
            chosen = np.isin([f"r{r:03}" for r in range(100)], names.to_list())
            shares.append(kept_of(found)["kept"])
            true.append(truly_kept(expected, few, chosen))
    assert np.mean(own) >= 0.8
    assert np.mean(true_own) >= 0.8
    assert np.mean(crowd) < 0.5
    assert np.mean(crowd) == pytest.approx(np.mean(true_crowd), abs=0.12)
    assert "Less than 80% of the group's deviation is certainly kept in few (view)" in " ".join(found.findings())


def test_own_group_is_the_default_and_each_is_judged_by_the_others_of_it() -> None:
    ratings, few, _ = minority(1, n_items=60)
    found = pv.select_raters(ratings, by="view", order="value", bootstrap=0)
    assert found.settings["reference"]["kind"] == "own group"
    part = ratings.where(raters={"view": "few"})
    alone = pv.responsiveness(part, "crowd", "rater", permutations=0, interval="none").to_frame()
    values = dict(alone.filter(pl.col("statistic") == "hm", pl.col("axis") == "rater").select("group", "value").rows())
    own = found.table("candidates").filter(pl.col("group") == "few")
    assert dict(own.select("rater", "value").rows()) == values
    assert own.height == few.sum()


@pytest.mark.parametrize("mixed", [0.0, 1.0])
def test_a_random_choice_keeps_all_on_average(mixed: float) -> None:
    shares = []
    for seed in range(4):
        ratings, few, _ = minority(seed, mixed=mixed, n_items=100)
        scores, rng = centred(ratings), np.random.default_rng(seed)
        for _ in range(15):
            chosen = np.zeros(100, bool)
            chosen[rng.choice(20, 5, replace=False)] = True
            shares.append(kept(ratings, scores, few, ~few, chosen).share)
    assert np.mean(shares) == pytest.approx(1, abs=0.04 if mixed == 0 else 0.12)


@pytest.mark.slow
def test_the_share_kept_is_the_true_one_for_random_choices_and_its_interval_covers_it() -> None:
    off, inside = [], []
    for seed in range(40):
        ratings, few, expected = minority(seed)
        chosen = np.zeros(100, bool)
        chosen[np.random.default_rng(seed).choice(20, 5, replace=False)] = True
        found = kept(ratings, centred(ratings), few, ~few, chosen)
        others = np.where(few, chosen, True)  # of the group, only those not chosen are what it is held against
        true = truly_kept(expected[others | few], few[others | few], chosen[others | few])
        off.append(found.share - true)
        inside.append(found.low <= true <= found.high)
    assert abs(np.mean(off)) < 0.12
    assert (
        np.mean(inside) >= 0.6
    )  # items vary, not raters: with raters of unlike views, five others would keep otherwise


def test_where_there_is_no_view_of_its_own_nothing_is_said_to_be_kept() -> None:
    study = pv.simulate(n_items=80, n_raters=40, effects=(), seed=2)
    found = pv.select_raters(study.ratings, by="gender", order="value", bootstrap=0)
    rows = found.table("fairness")
    assert rows["kept"].is_nan().all()
    assert set(rows["note"]) == {"its deviation from the others cannot be distinguished from noise"}
    assert "cannot be distinguished from noise" in " ".join(found.findings())


def test_all_chosen_few_items_and_nobody_chosen_have_no_share() -> None:
    ratings, few, _ = minority(0, n_items=12)
    scores = centred(ratings)
    assert kept(ratings, scores, few, ~few, few).note == "all its raters are chosen"
    assert np.isnan(kept(ratings, scores, few, ~few, few & False).share)
    short = ratings.where(items={"item": list(range(8))})
    chosen = np.arange(100) < 5
    assert kept(short, centred(short), few, ~few, chosen).note == "chosen, group and others share too few items"


def test_the_table_counts_shares_and_rates() -> None:
    ratings, _, _ = minority(2, n_items=60)
    found = pv.select_raters(ratings, by="view", per_group=4, order="value", bootstrap=0)
    row = kept_of(found)
    assert [row[name] for name in ("n_raters", "n_eligible", "n_chosen")] == [20, 20, 4]
    assert [row[f"share_{name}"] for name in ("raters", "eligible", "chosen")] == [0.2, 0.2, 0.5]
    assert row["rate"] == 4 / 20
    assert row["rate_ratio"] == pytest.approx((4 / 20) / (8 / 100))
    assert row["eligible_ratio"] == 1
    assert row["eligible_ratio_low"] == pytest.approx(0.8316, abs=1e-4)  # Clopper and Pearson, 20 of 20: 0.025^(1/20)
    means = dict(ratings.to_frame().group_by("rater").agg(pl.col("score").mean()).rows())
    names = found.to_frame().filter(pl.col("group") == "few")["rater"].to_list()
    assert row["mean_chosen"] is None  # four, of whom fewer than five have a mean
    known = kept_of(pv.select_raters(ratings, by="view", per_group=4, order="value", bootstrap=0, min_group_size=1))
    assert known["mean_chosen"] == pytest.approx(np.mean([means[name] for name in names]))
    assert row["mean_score"] == pytest.approx(np.mean([means[f"r{r:03}"] for r in range(20)]))
    assert (row["hard_eligible"], row["hard_chosen"]) == (None, None)


@pytest.mark.parametrize(("n", "sizes", "most", "least", "expected"), [
    (7, [50, 30, 20], [9, 9, 9], 0, [4, 2, 1]),  # 3.5, 2.1, 1.4: Hamilton's method
    (10, [6, 6, 2], [9, 9, 9], 0, [4, 4, 2]),  # 4.29, 4.29, 1.43
    (5, [97, 2, 1], [9, 9, 9], 1, [3, 1, 1]),
    (2, [5, 3, 90], [9, 9, 9], 1, [1, 0, 1]),  # too few places: the largest
    (9, [10, 10], [2, 9], 0, [2, 7]),  # only two eligible
    (9, [10, 10], [2, 3], 0, [2, 3]),
    (3, [0, 5], [0, 9], 1, [0, 3]),
])  # fmt: skip
def test_places_are_shared_out_by_largest_remainders(
    n: int, sizes: list[int], most: list[int], least: int, expected: list[int]
) -> None:
    assert shared_out(n, sizes, most, least) == expected


def test_keep_makes_one_panel_in_proportion_with_a_voice_for_each_group() -> None:
    rng = np.random.default_rng(0)
    names = ["a"] * 60 + ["b"] * 30 + ["c"] * 6
    severity = rng.normal(size=40)
    scores = np.searchsorted(CUTS, severity + 0.5 * rng.normal(size=(96, 40)))
    frame = pl.DataFrame({
        "item": np.tile(np.arange(40), 96), "rater": np.repeat([f"r{r:02}" for r in range(96)], 40),
        "score": scores.ravel(), "group": np.repeat(names, 40),
    })  # fmt: skip
    ratings = pv.Ratings.from_frame(frame, scale="0:4", rater_attributes=["group"])
    found = pv.select_raters(ratings, by="group", keep=10, order="value", bootstrap=0)
    assert found.table("groups").select("group", "n_asked", "n_chosen").rows() == [
        ("a", 6, 6), ("b", 3, 3), ("c", 1, 1),
    ]  # fmt: skip
    assert "10 in total, from each group in proportion to its raters" in found.findings()[0]
    two = pv.select_raters(ratings, by="group", keep=2, order="value", bootstrap=0)
    assert two.table("groups")["n_chosen"].to_list() == [1, 1, 0]
    assert "Nobody is chosen from c (group): 6 eligible, but none of the 2 places is left for it." in two.findings()
    most = pv.select_raters(ratings, by="group", keep=200, order="value", bootstrap=0)
    assert most.table("groups")["n_chosen"].sum() == 96
    assert "Only 96 of the 200 places could be filled; no more raters are eligible." in most.findings()


@pytest.mark.parametrize(("options", "words"), [
    ({"keep": 0}, "keep is 0"), ({"keep": 5, "by": ["view", "half"]}, "keep makes one panel, but by names 2 axes"),
    ({"keep": 5, "several": {"view": ";"}}, "raters of several groups would count twice"),
])  # fmt: skip
def test_what_makes_no_panel_is_refused(options: dict[str, Any], words: str) -> None:
    ratings, _, _ = minority(0, n_items=30)
    with pytest.raises(InputError, match=words):
        pv.select_raters(ratings, **{"by": "view", "order": "value", "bootstrap": 0, **options})


def test_where_few_of_a_group_share_items_it_is_said() -> None:
    rng = np.random.default_rng(1)
    rows = [
        (int(item), f"r{rater:02}", int(rng.integers(0, 5)), "ab"[rater % 2])
        for rater in range(24)
        for item in rng.choice(150, 30, replace=False)
    ]
    frame = pl.DataFrame(rows, schema=["item", "rater", "score", "group"], orient="row")
    ratings = pv.Ratings.from_frame(frame, scale="0:4", rater_attributes=["group"])
    found = pv.select_raters(ratings, by="group", order="value", bootstrap=0, min_ratings=5)
    assert (found.table("groups")["others_per_item"] < 3).all()
    assert "On average, fewer than 3 others of the group rated an item in a (group) and b (group)" in " ".join(
        found.findings()
    )
    trusted = pv.select_raters(ratings, "crowd", "group", order="value", bootstrap=0, min_ratings=5)
    assert "others of the group rated" not in " ".join(trusted.findings())


def test_one_group_alone_has_no_others_to_deviate_from() -> None:
    ratings, _, _ = minority(0, n_items=30)
    part = ratings.where(raters={"view": "few"})
    found = pv.select_raters(part, by="view", order="value", bootstrap=0)
    row = kept_of(found)
    assert np.isnan(row["kept"])
    assert row["rate_ratio"] == 1


def test_the_command_keeps_a_panel_and_shows_fairness(tmp_path: Path) -> None:
    ratings, _, _ = minority(3, n_items=60)
    path = tmp_path / "ratings.csv"
    ratings.to_frame().join(ratings.raters, on="rater").write_csv(path)
    plain = ["select", path, "--rater-attributes", "view", "--by", "view", "--scale", "0:4", "--order", "value"]
    done = run_cli(*plain, "--keep", 10, "--bootstrap", 0)
    assert done.code == 0, done.err
    found = pv.select_raters(ratings, by="view", keep=10, order="value", bootstrap=0)
    assert "Fairness by view" in done.words
    assert "few 20 (20%) 20 (20%) 2 (20%) 10% 1.00" in done.words
    for sentence in found.findings():
        assert sentence in done.words
    table = run_cli(*plain, "--keep", 10, "--bootstrap", 0, "--csv", "--table", "fairness").frame()
    assert table["kept"].to_list() == pytest.approx(found.table("fairness")["kept"].to_list())
    assert "against the rest of the crowd" in run_cli(*plain, "--bootstrap", 0, "--reference", "crowd").words
