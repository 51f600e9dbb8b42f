"""The soft-scores lens: parts of the items, against the same lens on each part alone."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy import stats

import plurivox as pv
from claims import models as simulated
from claims.rates import studies
from plurivox.base.errors import SelectionError
from plurivox.domain.ratings import Ratings
from plurivox.lenses.soft.result import tables
from soft_studies import POSTERIOR_MEAN, UNIFORM, VALUES_ONLY, soft
from support import run_cli

TOPICS = [None, "b", "a", "all"]


def with_topics(ratings: pv.Ratings, topics: list[str | None]) -> pv.Ratings:
    items = pl.DataFrame({"item": ratings.items["item"], "topic": topics[: ratings.n_items]})
    return Ratings.from_frame(ratings.to_frame(), scale=ratings.scale, items=items)


def divided(seed: int, n_items: int = 80) -> tuple[pv.Ratings, pl.DataFrame]:
    """Two models, of which each knows more of half of the items."""
    rng = np.random.default_rng(seed)
    truth = simulated.truths(rng, n_items)
    even = (np.arange(n_items) % 2 == 0)[:, None]
    known, vague = simulated.noisy(rng, truth, 30.0), simulated.noisy(rng, truth, 1.0)
    made = simulated.predicted(
        rng, truth, np.full(n_items, 6), {"one": np.where(even, known, vague), "two": np.where(even, vague, known)}
    )
    return with_topics(made.ratings, ["cats", "dogs"] * n_items), made.predictions


def test_a_part_is_scored_as_if_alone() -> None:
    made = simulated.equal(np.random.default_rng(3), 41)
    ratings = with_topics(made.ratings, TOPICS * 11)
    asked = {"bootstrap": 20, "curve": False, "metrics": ["rps", "cross_entropy", "expected_emd"], "permutations": 99}
    found = soft(ratings, made.predictions, 1.0, items_by="topic", **asked)
    frame = found.to_frame()
    assert set(frame["subset"]) == {"all", "a", "b", "topic = all"}
    assert frame.select("model", "bin", "subset", "axis", "group", "statistic").is_unique().all()
    for value, name in (("a", "a"), ("b", "b"), ("all", "topic = all")):
        alone = ratings.where(items={"topic": value})
        other = soft(alone, made.predictions, 1.0, **{**asked, **VALUES_ONLY})
        for model, metric in itertools.product([*found.models, UNIFORM, POSTERIOR_MEAN], found.metrics):
            (row,) = frame.filter(model=model, statistic=metric, subset=name).iter_rows(named=True)
            assert row["value"] == pytest.approx(other.value(model, metric), rel=1e-12)
            assert row["ci_low"] <= row["value"] <= row["ci_high"]
            assert (row["n_items"], row["n_ratings"]) == (alone.n_items, len(alone))
        ranks = frame.filter(statistic="rps", subset=name, reference=False).sort("rank")["model"].to_list()
        assert ranks == other.ranking("rps")
    assert frame.filter(subset="all").equals(soft(ratings, made.predictions, 1.0, **asked).to_frame())
    assert "11 items have no value for topic: in no part, but count towards all items." in found.findings()
    assert pv.SoftScores.from_json(found.to_json()).to_frame().equals(frame)


def test_what_depends_on_the_items_is_claimed_in_the_same_family() -> None:
    ratings, predictions = divided(1)
    found = soft(ratings, predictions, items_by="topic", bootstrap=0, curve=False, permutations=300)
    (row,) = found.interactions().filter(kind="items").iter_rows(named=True)
    values = {
        (r["subset"], r["model"]): r["value"] for r in found.parts().filter(statistic="rps").iter_rows(named=True)
    }
    assert row["difference"] == pytest.approx(values["cats", "one"] - values["cats", "two"], abs=1e-12)
    assert row["elsewhere"] == pytest.approx(values["dogs", "one"] - values["dogs", "two"], abs=1e-12)
    assert (row["axis"], row["group"], row["claim"]) == ("topic", "cats", True)
    (told,) = [one for one in found.statements() if "which items, by topic" in one.text]
    assert told.claim
    assert "depends on which items, by topic: on items with topic: cats one is " in told.text, told.text
    assert "items put into other parts" in told.rests_on
    titles = [one.title for one in tables(found)]
    assert "RPS on parts of the items: topic" in titles
    assert "CE on parts of the items: topic" in titles
    pairs = 1 + 2 * 2
    assert f"corrected over {pairs + found.interactions().height} comparisons" in told.text


def test_an_attribute_that_items_lack() -> None:
    ratings, predictions = divided(2, 12)
    with pytest.raises(SelectionError, match="items have no attribute 'colour'; they have: topic"):
        soft(ratings, predictions, items_by="colour")


def test_the_command_line_shows_parts(tmp_path: Path) -> None:
    ratings, predictions = divided(3, 30)
    ratings.to_frame().write_csv(tmp_path / "ratings.csv")
    ratings.items.write_csv(tmp_path / "items.csv")
    predictions.write_csv(tmp_path / "predictions.csv")
    asked = [
        tmp_path / "ratings.csv", tmp_path / "predictions.csv", "--items", tmp_path / "items.csv", "--scale", "1:5",
    ]  # fmt: skip
    quick = ["--items-by", "topic", "--bootstrap", 0, "--permutations", 99, "--fast"]
    assert "RPS on parts of the items: topic" in run_cli("score", *asked, *quick).words
    frame = run_cli("score", *asked, *quick, "--csv", "--table", "parts").frame()
    assert set(frame["subset"]) == {"cats", "dogs"}


@pytest.mark.claims
def test_equal_models_are_rarely_told_to_depend_on_items() -> None:
    """With 200 studies of equal models and random parts, 5 % would be 10 claims; 18 are beyond chance at .01."""
    claimed, n = 0, studies(200)
    for seed in range(n):
        rng = np.random.default_rng(seed)
        made = simulated.equal(rng, 30)
        ratings = with_topics(made.ratings, rng.choice(["x", "y", "z"], 30).tolist())
        found = soft(ratings, made.predictions, items_by="topic", bootstrap=0, curve=False, permutations=199,
                     max_permutations=199, metrics=["rps"])  # fmt: skip
        claimed += found.interactions().filter(kind="items")["claim"].any()
    assert claimed <= stats.binom.ppf(0.99, n, 0.05)
