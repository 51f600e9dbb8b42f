"""Raters to look at: planted ones are listed, ordinary ones are not, in any batch and group; nobody is dropped."""

from __future__ import annotations

import io
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import fisher_exact

import plurivox as pv
from plurivox.actions.select.look import CONSTANT, FAST, GOLD, KINDS, STRAIGHT, Sign, _runs, read_log, signs_of
from plurivox.base.errors import ColumnError, InputError
from plurivox.infer.exchange import Exchange
from plurivox.lenses.responsiveness.references import resolve
from support import run_cli

CUTS = np.array([-1.2, -0.4, 0.4, 1.2])
PLANTED = {"r03": CONSTANT, "r40": STRAIGHT, "r12": FAST, "r21": GOLD}


def answers(seed: int, *, planted: bool, n: int = 60, batches: int = 2, shift: float = 0.0) -> pl.DataFrame:
    """Return ratings in the order of answering, in batches of unlike difficulty, with seconds; four careless ones."""
    rng = np.random.default_rng([seed, 9])
    severity, rows = rng.normal(size=80 * batches) - shift, []
    for r in range(n):
        batch = r * batches // n
        own = rng.permutation(80) + 80 * batch
        noise = np.linspace(0.3, 1.0, batches)[batch]
        scores = np.searchsorted(CUTS, severity[own] + 0.5 * rng.normal() + noise * rng.normal(size=80))
        seconds = 6 * np.exp(0.3 * rng.normal() + 0.5 * rng.normal(size=80))
        kind = PLANTED.get(f"r{r:02}") if planted else None
        if kind == CONSTANT:
            scores[:] = 4
        if kind == STRAIGHT:
            scores[30:] = 1
        if kind == FAST:
            seconds *= 0.1
        if kind == GOLD:
            scores = rng.integers(0, 5, 80)
        rows.append(pl.DataFrame({
            "item": own, "rater": np.full(80, f"r{r:02}"), "score": scores, "seconds": seconds,
            "group": np.full(80, "ab"[r % 2]),
        }))  # fmt: skip
    return pl.concat(rows)


def ratings_of(frame: pl.DataFrame) -> pv.Ratings:
    return pv.Ratings.from_frame(frame, scale="0:4", rater_attributes=["group"])


def trained(frame: pl.DataFrame) -> pv.Ratings:
    """Return three trained raters who say unsafe where most of the raters score high; on the middle they disagree."""
    careful = frame.filter(~pl.col("rater").is_in(list(PLANTED)))
    means = careful.group_by("item").agg(pl.col("score").mean()).sort("item")
    rows = [(i, f"t{t}", int(mean > 1.6 + 0.4 * t)) for i, mean in means.rows() for t in range(3)]
    return pv.Ratings.from_frame(pl.DataFrame(rows, schema=["item", "rater", "score"], orient="row"), scale="0:1")


def signs(frame: pl.DataFrame, *, gold: bool = True) -> dict[str, Sign]:
    ratings = ratings_of(frame)
    log = read_log(ratings, frame.select("item", "rater", "seconds"))
    reference = resolve(ratings, trained(frame)) if gold else None
    return {one.kind: one for one in signs_of(ratings, Exchange.of(ratings), reference, log, 0)}


def test_planted_raters_are_listed_for_what_they_do() -> None:
    frame = answers(1, planted=True)
    asked: dict[str, Any] = {"order": "value", "bootstrap": 0, "log": frame.drop("score", "group")}
    found = pv.select_raters(ratings_of(frame), trained(frame), "group", **asked)
    listed = found.table("look_at")
    assert set(PLANTED.items()) <= set(listed.select("rater", "sign").rows())
    assert set(listed["rater"]) == set(PLANTED)
    values = {(rater, sign): value for rater, sign, value in listed.select("rater", "sign", "value").iter_rows()}
    assert values["r03", CONSTANT] == 1
    assert values["r40", STRAIGHT] >= 50
    own = frame.filter(pl.col("rater") == "r12")["seconds"].to_list()
    assert values["r12", FAST] == pytest.approx(np.median(own), rel=0.02)  # of an even number, on the log scale
    assert (listed["p_adjusted"] <= 0.05).all()
    assert (listed["n_peers"] == 29).all()
    told = " ".join(found.findings())
    assert "4 raters are worth a look for" in told
    assert "Nobody is dropped for that: a person should look first." in told
    assert found.table("candidates").filter(pl.col("rater").is_in(list(PLANTED)))["eligible"].all()


def test_shares_of_groups_are_literal_counts() -> None:
    frame = answers(1, planted=True)
    asked: dict[str, Any] = {"order": "value", "bootstrap": 0, "log": frame.select("item", "rater")}
    found = pv.select_raters(ratings_of(frame), by="group", **asked)
    one = signs(frame, gold=False)[STRAIGHT]
    group = np.array(["ab"[r % 2] for r in range(60)])
    known = np.isfinite(one.p)
    for row in found.table("alarms").filter(pl.col("sign") == STRAIGHT).iter_rows(named=True):
        own, rest = (one.p[known & ((group == row["group"]) == same)] for same in (True, False))
        assert row["n_raters"] == len(own)
        assert row["n_listed"] == np.count_nonzero(one.listed & (group == row["group"]))
        assert row["share_low"] == pytest.approx(np.mean(own <= 0.05))
        assert row["share_low_others"] == pytest.approx(np.mean(rest <= 0.05))
        assert row["share_by_chance"] == pytest.approx(max(0.05 / known.sum(), one.p[one.listed].max(initial=0)))
        table = [[np.sum(part <= 0.05), np.sum(part > 0.05)] for part in (own, rest)]
        assert row["p_value"] == pytest.approx(fisher_exact(table, "greater")[1])


def test_ordinary_raters_are_hardly_ever_listed_and_no_batch_more_than_another() -> None:
    low: dict[str, list[Any]] = {}
    n_listed = 0
    for seed in range(4):
        for kind, one in signs(answers(seed, planted=False)).items():
            low.setdefault(kind, []).append(one.p <= 0.05)
            n_listed += int(one.listed.sum())
    assert set(low) == set(KINDS)
    assert n_listed <= 2  # of 4 studies × 60 raters × 4 signs
    for kind, each in low.items():
        assert np.mean(each, axis=0).reshape(2, 30).mean(axis=1).max() <= 0.12, kind


@pytest.mark.slow
@pytest.mark.parametrize(("batches", "shift"), [(1, 0.0), (2, 0.0), (6, 0.0), (2, 1.5)])
def test_error_rates_and_power_in_batches_and_on_lopsided_items(batches: int, shift: float) -> None:
    """As docs/acting.md says: at most a few of 1,000 ordinary raters are listed, nearly all who are careless."""
    n_any, n_ordinary, found = 0, 0, dict.fromkeys(KINDS, 0)
    for seed in range(25):
        ordinary = signs(answers(seed, planted=False, batches=batches, shift=shift))
        n_any += any(one.listed.any() for one in ordinary.values())
        for kind, one in signs(answers(seed, planted=True, batches=batches, shift=shift)).items():
            names = {f"r{at:02}" for at in np.flatnonzero(one.listed)}
            n_ordinary += len(names - set(PLANTED))
            found[kind] += any(PLANTED.get(name) == kind for name in names)
    assert n_any <= 5
    assert n_ordinary <= 25
    assert found[FAST] >= 20
    assert found[STRAIGHT] >= 18
    assert found[CONSTANT] >= (24 if not shift else 8)  # where most answers are 0 anyway, always 0 is less strange
    assert shift or found[GOLD] >= 20  # with few unsafe items there is little gold of one side


def test_where_all_answer_alike_nobody_is_listed() -> None:
    frame = answers(0, planted=False).with_columns(score=pl.lit(2))
    ratings = ratings_of(frame)
    assert not signs_of(ratings, Exchange.of(ratings), None, read_log(ratings, None), 0)[0].listed.any()
    most = pl.when(pl.col("rater") < "r50").then(2).otherwise("score").cast(pl.Int64)
    mixed = answers(0, planted=False).with_columns(score=most)
    found = signs(mixed, gold=False)
    assert not found[CONSTANT].listed.any()  # most do the same: it says nothing about anybody
    assert np.isnan(found[STRAIGHT].p[:50]).all()


def test_times_make_order_and_seconds() -> None:
    frame = answers(0, planted=True)
    ratings = ratings_of(frame)
    at = frame.with_columns(time=pl.col("seconds").cum_sum().over("rater"))
    by_number = read_log(ratings, at.select("item", "rater", "time").sample(fraction=1, shuffle=True, seed=1))
    rows = read_log(ratings, frame.select("item", "rater", "seconds"))
    assert by_number.order is not None
    assert by_number.seconds is not None
    assert rows.order is not None
    assert rows.seconds is not None
    for rater in range(60):
        own = ratings.codes_of_raters == rater
        assert np.argsort(by_number.order[own]).tolist() == np.argsort(rows.order[own]).tolist()
    first = np.isnan(by_number.seconds)
    assert first.sum() == 60
    assert by_number.seconds[~first] == pytest.approx(rows.seconds[~first], rel=1e-6)
    start = datetime(2026, 1, 31, 12, tzinfo=UTC)
    moments = at.with_columns(time=pl.Series([start + timedelta(seconds=s) for s in at["time"]]))
    for column in (moments, moments.with_columns(pl.col("time").dt.to_string("iso:strict"))):
        dated = read_log(ratings, column.select("item", "rater", "time"))
        assert dated.seconds is not None
        assert dated.seconds[~first] == pytest.approx(rows.seconds[~first], abs=1e-5)


def test_the_longest_run_is_counted() -> None:
    rows = np.array([[1, 1, 2, 2, 2, 1], [0, 1, 0, 1, 0, 1], [3, 3, 3, 3, 3, 3], [2, 1, 1, 1, 1, 0]])
    assert _runs(rows).tolist() == [3, 1, 6, 4]


@pytest.mark.parametrize(("log", "error", "words"), [
    (pl.DataFrame({"item": [1], "time": [2]}), ColumnError, "there is no column 'rater'"),
    (pl.DataFrame({"item": ["x"], "rater": ["y"]}), InputError, "no row of the log is about a rating"),
    (pl.DataFrame({"item": [0], "rater": ["r00"], "time": ["soon"]}), InputError, "holds neither numbers nor times"),
    (pl.DataFrame({"item": [0], "rater": ["r00"], "seconds": [None]}), InputError, "holds neither numbers nor times"),
])  # fmt: skip
def test_a_log_that_tells_nothing_is_refused(log: pl.DataFrame, error: type[Exception], words: str) -> None:
    ratings = ratings_of(answers(0, planted=False, n=10))
    with pytest.raises(error, match=words):
        pv.select_raters(ratings, by="group", order="value", bootstrap=0, log=log)


def test_what_was_not_looked_for_is_said() -> None:
    frame = answers(0, planted=False)
    found = pv.select_raters(ratings_of(frame), by="group", order="value", bootstrap=0)
    assert found.table("look_at").is_empty()
    told = " ".join(found.findings())
    assert f"Nobody stands out from raters of the same items by {CONSTANT}." in told
    assert f"Not looked for: {STRAIGHT}, since the order of the answers is not known; {FAST}, since" in told
    assert "there is no reference by trained raters" in told
    few = pl.DataFrame({"item": range(160), "rater": ["t"] * 160, "score": [0, 1] * 80})
    alone = pv.Ratings.from_frame(few, scale="0:1")
    one = pv.select_raters(ratings_of(frame), alone, by="group", order="value", bootstrap=0)
    assert "too few items of either side that at least two trained raters judge" in " ".join(one.findings())


def test_the_command_reads_columns_of_the_ratings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = answers(1, planted=True).with_columns(time=pl.col("seconds").cum_sum().over("rater"))
    path = tmp_path / "ratings.csv"
    frame.rename({"time": "when", "seconds": "took"}).write_csv(path)
    plain = ["select", path, "--rater-attributes", "group", "--by", "group", "--scale", "0:4", "--order", "value"]
    plain += ["--bootstrap", 0]
    done = run_cli(*plain, "--time", "when", "--seconds", "took", "--csv", "--table", "look_at")
    assert done.code == 0, done.err
    assert set(done.frame().select("rater", "sign").rows()) >= {("r03", CONSTANT), ("r40", STRAIGHT), ("r12", FAST)}
    rows = run_cli(*plain, "--time", "rows")
    assert "Raters to look at by group" in rows.words
    assert f"{FAST}, since it is not known how long answers took" in rows.words
    wrong = run_cli(*plain, "--seconds", "colour")
    assert (wrong.code, wrong.out) == (1, "")
    assert "there is no column 'colour'" in wrong.words
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(path.read_bytes())))
    piped = run_cli("select", "-", *plain[2:], "--time", "when")
    assert piped.code == 2
    assert "save them to a file first" in piped.words


def test_raters_of_withheld_groups_are_not_named() -> None:
    small = pl.when(pl.col("rater").is_in(["r03", "r05"])).then(pl.lit("tiny")).otherwise("group")
    found = pv.select_raters(
        ratings_of(answers(1, planted=True).with_columns(group=small)), by="group", order="value", bootstrap=0
    )
    assert found.settings["withheld"] == {"group": 2}
    assert "r03" not in found.to_json()  # its answers are constant
    assert found.table("look_at").is_empty()
