"""Psychometrics as a lens, on the command line, in charts and in the report, beside the array functions."""

from __future__ import annotations

import io
import json
import math
import threading
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from rich.console import Console

import plurivox as pv
from plurivox import plots
from plurivox.base.errors import InputError, NeedsRatersError, SelectionError
from plurivox.cli.tables import show_result
from plurivox.lenses.psychometrics import LEFT_OUT, LENS
from plurivox.lenses.psychometrics import run as scaling
from plurivox.statistics import graded_response, mokken_h, mokken_scales, monotonicity
from support import Write, only_sections, run_cli


def study(n_items: int = 120, n_raters: int = 24, seed: int = 0, missing: float = 0.0) -> pl.DataFrame:
    """Return ratings on 0 to 4; the last rater uses the scale upside down, the one before at random."""
    rng = np.random.default_rng(seed)
    severity = rng.normal(size=n_items)
    rows = []
    for r in range(n_raters):
        noise = rng.logistic(size=n_items) * 0.6
        score = np.round(severity + noise + 2).clip(0, 4).astype(int)
        if r == n_raters - 1:
            score = 4 - score
        if r == n_raters - 2:
            score = rng.integers(0, 5, n_items)
        rows += [
            (f"i{i:03}", f"r{r:02}", int(score[i]), f"g{r % 4}", f"topic {i % 2}")
            for i in range(n_items)
            if rng.random() >= missing
        ]
    return pl.DataFrame(rows, schema=["item", "rater", "score", "group", "topic"], orient="row")


def ratings_of(frame: pl.DataFrame) -> pv.Ratings:
    asked: Any = {"rater_attributes": ["group"], "item_attributes": ["topic"]}
    return pv.Ratings.from_frame(frame, scale=pv.Scale.range(0, 4), **asked)


def by_hand(frame: pl.DataFrame, column: str) -> tuple[np.ndarray[Any, Any], list[str]]:
    """Return items × raters, or groups by their most frequent score, the lowest of those that tie."""
    items = sorted(frame["item"].unique())
    members = sorted(frame[column].unique())
    scores = np.full((len(items), len(members)), np.nan)
    for (item, member), part in frame.group_by("item", column):
        counts = Counter(part["score"].to_list())
        best = min(score for score, n in counts.items() if n == max(counts.values()))
        scores[items.index(str(item)), members.index(str(member))] = best
    return scores, members


@pytest.mark.parametrize(("column", "missing"), [("rater", 0.0), ("rater", 0.4), ("group", 0.0), ("group", 0.7)])
def test_the_lens_is_the_array_functions_on_a_table_made_by_hand(column: str, missing: float) -> None:
    frame = study(missing=missing)
    scores, members = by_hand(frame, column)
    result = pv.psychometrics(ratings_of(frame), column)
    h, model = mokken_h(scores), graded_response(scores)
    assert result.value(column, "all together", "mokken_h") == pytest.approx(h.h, abs=1e-12)
    for at, member in enumerate(members):
        first, second = (result.row(column, member, name) for name in ("mokken_h", "grm_a"))
        assert first.value == pytest.approx(h.h_raters[at], abs=1e-12)
        assert (first.ci_low, first.ci_high) == pytest.approx((h.h_raters_low[at], h.h_raters_high[at]), abs=1e-12)
        assert second.value == pytest.approx(model.discrimination[at], abs=1e-9)
        high = model.discrimination[at] + 1.959964 * model.discrimination_se[at]
        assert second.ci_high == pytest.approx(high, abs=1e-5)
        assert first.n_items == np.count_nonzero(~np.isnan(scores[:, at]))
    severity = result.severity()
    assert severity["item"].to_list() == sorted(frame["item"].unique())
    np.testing.assert_allclose(severity["severity"], model.severity, atol=1e-9)
    np.testing.assert_allclose(severity["se"], model.severity_se, atol=1e-9)
    thresholds = result.thresholds()["threshold"].to_numpy().reshape(len(members), 4)
    np.testing.assert_allclose(thresholds, model.thresholds, atol=1e-8)
    checks, shape = result.checks(), monotonicity(scores)
    assert checks["scale"].to_list() == mokken_scales(scores).tolist()
    assert checks["n_violations"].to_list() == shape.n_violations.tolist()
    np.testing.assert_allclose(checks["crit"], shape.crit)
    pairs = result.pairs()
    assert pairs.height == len(members) * (len(members) - 1) // 2
    assert pairs["value"][0] == pytest.approx(h.h_pairs[0, 1])
    fit = result.fits().row(0, named=True)
    assert fit["log_likelihood"] == pytest.approx(model.log_likelihood, abs=1e-6)
    assert fit["converged"]
    assert fit["smallest_pair"] == h.smallest_pair


def test_curves_are_the_expected_scores_of_the_model() -> None:
    frame = study()
    scores, members = by_hand(frame, "group")
    result = pv.psychometrics(ratings_of(frame), "group")
    curves = result.curves("group")
    theta = curves.filter(pl.col("group") == "g0")["severity"].to_numpy()
    expected = graded_response(scores).expected_scores(theta)
    for at, member in enumerate(members):
        own = curves.filter(pl.col("group") == member)["expected_score"].to_numpy()
        np.testing.assert_allclose(own, expected[:, at], atol=1e-8)
    assert result.curves("group", "all").equals(curves)


def test_a_rater_who_reads_the_scale_upside_down_is_found_and_not_named() -> None:
    result = pv.psychometrics(ratings_of(study()))
    row = result.row("rater", "r23", "grm_a")
    assert row.value < 0
    assert row.ci_high is not None
    assert row.ci_high < 0
    text = " ".join(result.findings())
    assert "The scores of 1 rater fall as items get higher" in text
    said = "H_j lies below 0.3 for 2 raters, allowing for the choice of items but not of raters (95 % for all of them"
    assert said in text
    assert "r23" not in text
    assert result.checks().filter(pl.col("group") == "r22")["scale"].to_list() == [0]


def test_a_strong_scale_is_called_one_and_noise_is_not() -> None:
    assert "a strong scale by Mokken's measure" in pv.psychometrics(ratings_of(study()), "group").findings()[0]
    rng = np.random.default_rng(1)
    noise = study(n_raters=6).with_columns(score=pl.Series(rng.integers(0, 5, 120 * 6)))
    assert "do not order items alike" in pv.psychometrics(ratings_of(noise)).findings()[0]


def test_small_groups_are_withheld_and_not_in_the_scale() -> None:
    frame = study(n_raters=14)  # groups of 4, 4, 3 and 3
    whole = pv.psychometrics(ratings_of(frame), "group", min_group_size=1)
    result = pv.psychometrics(ratings_of(frame), "group", min_group_size=4)
    assert {row.group for row in result.rows} == {"all together", "g0", "g1"}
    assert result.withheld == {"group": 2}
    assert "2 groups are withheld, having fewer than 4 raters." in result.findings()
    assert "g3" not in result.to_json()
    assert whole.value("group", "all together", "mokken_h") != result.value("group", "all together", "mokken_h")
    parts = pv.psychometrics(ratings_of(frame), "group", items_by="topic", min_group_size=4)
    assert "2 groups are withheld, having fewer than 4 raters." in parts.findings()  # counted once


def test_parts_of_the_items_have_scales_of_their_own() -> None:
    frame = study()
    result = pv.psychometrics(ratings_of(frame), "rater", items_by="topic")
    assert result.subsets == ["all", "topic 0", "topic 1"]
    scores, _ = by_hand(frame.filter(pl.col("topic") == "topic 0"), "rater")
    assert result.value("rater", "all together", "mokken_h", "topic 0") == pytest.approx(mokken_h(scores).h)
    assert result.severity().filter(pl.col("subset") == "topic 0").height == 60
    assert not result.curves("rater", "topic 0").equals(result.curves("rater"))


def test_a_rater_may_be_in_several_groups() -> None:
    frame = study(n_raters=18).with_columns(
        group=pl.col("rater").str.slice(1).cast(int).map_elements(lambda r: "a;b" if r % 3 else "c", pl.String)
    )
    frame = frame.with_columns(group=pl.when(pl.col("rater") == "r00").then(pl.lit("b;c")).otherwise("group"))
    result = pv.psychometrics(ratings_of(frame), "group", several={"group": ";"}, min_group_size=1)
    assert [row.group for row in result.rows if row.statistic == "grm_a"] == ["a", "b", "c"]
    own = frame.filter(pl.col("group").str.contains("b"))
    counts = own.group_by("item").agg(pl.col("score").mode().min()).sort("item")["score"].to_numpy()
    parts = [counts]
    for value in ("a", "c"):
        part = frame.filter(pl.col("group").str.contains(value))
        parts.append(part.group_by("item").agg(pl.col("score").mode().min()).sort("item")["score"].to_numpy())
    assert result.value("group", "b", "mokken_h") == pytest.approx(mokken_h(np.column_stack(parts)).h_raters[0])
    assert result.value("group", "b", "mokken_h") == pytest.approx(mokken_h(np.column_stack(parts)).h_raters[0])
    for how in ("plurality", "median", "mean"):  # a group's score may be made in three ways
        scored = pv.psychometrics(ratings_of(study()), "group", group_score=how)
        assert not math.isnan(scored.value("group", "g0", "grm_a"))


@pytest.mark.parametrize(("options", "error", "words"), [
    ({"by": "nobody"}, SelectionError, "no attribute 'nobody'"), ({"by": []}, InputError, "by names no axis"),
    ({"lower_bound": 1.2}, InputError, "lower_bound is 1.2"), ({"ties": "share"}, InputError, "ties is 'share'"),
    ({"group_score": "best"}, InputError, "group_score is 'best'"),
    ({"items_by": "length"}, SelectionError, "items have no attribute 'length'"),
    ({"seed": -1}, InputError, "seed is -1"),
])  # fmt: skip
def test_wrong_options_are_refused(options: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        pv.psychometrics(ratings_of(study(20, 4)), **options)


def test_totals_have_no_raters_to_compare(write: Write) -> None:
    totals = pv.read_ratings(write("totals.csv", "item,0,1\n1,3,1\n2,1,2\n"), layout="totals")
    with pytest.raises(NeedsRatersError):
        pv.psychometrics(totals)


def test_where_all_groups_are_withheld_there_is_no_scale() -> None:
    pytest.importorskip("vl_convert")
    result = pv.psychometrics(ratings_of(study(n_raters=12)), "group")
    assert result.to_frame().is_empty()
    assert result.findings()[0] == "4 groups are withheld, having fewer than 5 raters."
    assert plots.item_severity(result).to_dict()["mark"]["type"] == "text"


def test_threads_and_processes_change_no_bit() -> None:
    frame = study(40, 12, missing=0.2).with_columns(many=pl.col("group") + ";" + pl.lit("h"))
    ratings = pv.Ratings.from_frame(
        frame, scale=pv.Scale.range(0, 4), rater_attributes=["group", "many"], item_attributes=["topic"]
    )
    options: dict[str, Any] = {"items_by": "topic", "several": {"many": ";"}, "min_group_size": 2}
    one = pv.psychometrics(ratings, ["group", "rater", "many"], threads=1, **options)
    told: list[tuple[str, int, int]] = []

    def tell(*step: Any) -> None:
        told.append(step)

    with ThreadPoolExecutor(3) as threads, ProcessPoolExecutor(2) as processes:
        for executor in (None, threads, processes):
            told.clear()
            other = pv.psychometrics(ratings, ["group", "rater", "many"], executor=executor, progress=tell, **options)
            assert other.to_json() == one.to_json()
            assert told[-1][1] == told[-1][2]
    assert {what for what, _, _ in told} == {"fitting scales"}  # of the last, where steps cannot be told
    told.clear()
    pv.psychometrics(ratings, "rater", progress=tell)
    assert told[0][0] == "fitting rater"


def test_a_fit_that_nobody_waits_for_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever is told how far it is may stop everything; a fit on another thread then ends with its next step."""
    both, ended = threading.Barrier(2, timeout=60), threading.Event()
    tell = scaling._Telling.__call__

    def step(self: scaling._Telling, where: str, *how_far: Any) -> None:
        if not self.stopped and how_far[0] == 1:
            both.wait()  # each of the two fits takes its first step
        if where == "group":
            deadline = time.monotonic() + 60
            while not self.stopped and time.monotonic() < deadline:
                time.sleep(0.01)
        try:
            tell(self, where, *how_far)
        except InterruptedError:
            ended.set()
            raise

    def stop(what: str, done: int, total: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(scaling._Telling, "__call__", step)
    with pytest.raises(KeyboardInterrupt):
        pv.psychometrics(ratings_of(study()), ["rater", "group"], threads=2, progress=stop)
    assert ended.wait(60)


def test_responsiveness_adds_both_values_and_their_correlations() -> None:
    ratings = ratings_of(study())
    plain = pv.responsiveness(ratings, "crowd", ["group", "rater"], permutations=0, interval="none")
    options: Any = {"permutations": 0, "interval": "none", "psychometrics": True}
    result = pv.responsiveness(ratings, "crowd", ["group", "rater"], **options)
    alone = pv.psychometrics(ratings, ["group", "rater"])
    assert result.value("group", "g1", "mokken_h") == alone.value("group", "g1", "mokken_h")
    assert result.value("rater", "r03", "grm_a") == alone.value("rater", "r03", "grm_a")
    assert result.psychometrics().to_frame().equals(alone.to_frame())
    assert result.psychometrics().findings() == alone.findings()
    table = result.correlations().filter((pl.col("axis") == "rater") & (pl.col("statistic") == "wra"))
    assert table["other"].to_list()[-2:] == ["mokken_h", "grm_a"]
    wra, h = ([result.value("rater", f"r{r:02}", name) for r in range(24)] for name in ("wra", "mokken_h"))
    assert table["value"][-2] == pytest.approx(np.corrcoef(wra, h)[0, 1])
    assert result.to_frame().filter(~pl.col("statistic").is_in(["mokken_h", "grm_a"])).equals(plain.to_frame())
    assert plain.correlations()["other"].n_unique() == 4
    with pytest.raises(SelectionError, match="not requested"):
        plain.psychometrics()
    assert pv.Responsiveness.from_json(result.to_json()).to_json() == result.to_json()


def test_above_two_hundred_raters_they_are_left_out_with_a_note_unless_asked_for_always() -> None:
    ratings = ratings_of(study(n_items=15, n_raters=201))
    options: dict[str, Any] = {"permutations": 0, "interval": "none"}
    result = pv.responsiveness(ratings, "crowd", ["rater", "group"], psychometrics=True, **options)
    row = result.row("rater", "r07", "mokken_h")
    assert math.isnan(row.value)
    assert row.note == LEFT_OUT
    assert not math.isnan(result.value("group", "g1", "mokken_h"))
    assert any("by rater are left out above 200 raters or groups" in sentence for sentence in result.findings())
    always = pv.responsiveness(ratings, "crowd", "rater", psychometrics="always", **options)
    assert not math.isnan(always.value("rater", "r07", "mokken_h"))
    with pytest.raises(InputError, match="psychometrics is 'sometimes'"):
        pv.responsiveness(ratings, "crowd", "rater", psychometrics="sometimes", **options)


def test_tables_too_large_for_a_scale_are_refused_or_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scaling, "MAX_CELLS", 100)
    ratings = ratings_of(study(30, 8))
    with pytest.raises(InputError, match="8 raters or groups × 30 items are too many"):
        pv.psychometrics(ratings)
    result = pv.responsiveness(ratings, "crowd", "rater", psychometrics=True, permutations=0, interval="none")
    assert result.row("rater", "r01", "grm_a").note == LEFT_OUT


def test_with_parts_of_items_and_a_trained_reference_the_values_rest_on_all_ratings() -> None:
    frame = study()
    ratings = ratings_of(frame)
    few = pl.DataFrame({"item": ["i000", "i001", "i002"], "rater": ["t", "t", "t"], "score": ["no", "yes", "no"]})
    trained = pv.Ratings.from_frame(few, scale=pv.Scale(["no", "yes"]))
    result = pv.responsiveness(ratings, trained, "group", psychometrics=True, permutations=0, interval="none")
    assert result.row("group", "g0", "mokken_h").n_items == 120


def test_sets_of_raters_without_common_items_are_told_apart() -> None:
    frame = study(n_raters=12)
    number = pl.col("rater").str.slice(1).cast(int)
    halves = frame.filter((number < 6) == (pl.col("item") < "i060"))
    result = pv.psychometrics(ratings_of(halves))
    severity = result.severity()
    assert severity.filter(pl.col("item") < "i060")["part"].n_unique() == 1
    assert severity["part"].n_unique() == 2
    assert "2 sets of raters share no items" in result.fits()["note"][0]
    assert result.fits()["n_undefined_pairs"][0] == 36


def test_where_most_discriminations_are_negative_the_direction_is_called_doubtful() -> None:
    rng = np.random.default_rng(0)
    severity = rng.normal(size=400)
    seen = [severity + 0.8 * rng.logistic(size=400) for _ in range(2)]
    sharp = -1.2 * severity + 0.15 * rng.logistic(size=400)
    scores = np.column_stack([*seen, sharp]).round().clip(-2, 2)
    model = graded_response(scores)
    assert model.discrimination.sum() > 0  # by definition, although two of three see it the other way
    assert np.corrcoef(model.severity, scores[:, :2].mean(axis=1))[0, 1] < -0.5
    assert "the model may point the other way: 2 of 3 discriminations are negative" in model.note
    cells = [(i, f"r{r}", int(scores[i, r]) + 2) for i in range(400) for r in range(3)]
    frame = pl.DataFrame(cells, schema=["item", "rater", "score"], orient="row")
    result = pv.psychometrics(pv.Ratings.from_frame(frame, scale=pv.Scale.range(0, 4)))
    assert not any("upside down" in sentence for sentence in result.findings())
    assert any("may point the other way" in sentence for sentence in result.findings())


def test_groups_that_share_raters_are_noted_and_not_called_alike() -> None:
    rng = np.random.default_rng(5)
    noise = study(n_raters=20).with_columns(
        score=pl.Series(rng.integers(0, 5, 120 * 20)),
        group=pl.when(pl.col("rater") < "r12").then(pl.lit("x;y")).otherwise(pl.lit("z")),
    )
    result = pv.psychometrics(ratings_of(noise), "group", several={"group": ";"})
    assert all("share raters" in row.note for row in result.rows)
    assert not any("order items alike" in sentence for sentence in result.findings())


def test_notes_on_groups_do_not_speak_of_what_raters_never_did() -> None:
    frame = study().with_columns(score=pl.when(pl.col("score") == 3).then(pl.lit(2)).otherwise("score"))
    few = frame.vstack(frame.head(1).with_columns(item=pl.lit("i999"), score=pl.lit(3, dtype=pl.Int64)))
    notes = {row.note for row in pv.psychometrics(ratings_of(few), "group").rows if row.statistic == "grm_a"}
    assert any("its score is never 3" in note for note in notes)
    assert not any("never used" in note for note in notes)


def test_an_interval_ends_at_the_bound_and_says_so() -> None:
    frame = study(30, 8, seed=4).filter(pl.col("rater") < "r06")
    rows = [row for row in pv.psychometrics(ratings_of(frame)).rows if row.statistic == "grm_a"]
    assert all(row.ci_high is None or row.ci_high <= 10 for row in rows)
    for row in rows:
        assert ("ends at the bound" in row.note) == (row.ci_high == 10)


@pytest.fixture
def files(write: Write) -> tuple[Path, Path]:
    frame = study()
    raters = frame.select("rater", "group").unique(maintain_order=True).write_csv()
    ratings = write("ratings.csv", frame.select("item", "rater", "score").write_csv())
    return ratings, write("raters.csv", raters)


def test_the_command_shows_groups_items_and_findings(files: tuple[Path, Path]) -> None:
    done = run_cli("scale", files[0], "--raters", files[1], "--by", "group", "--scale", "0:4", "--top", "3")
    assert done.code == 0, done.err
    for words in ("H_j [95 %]", "thresholds", "All together", "converged", "the higher and the lower end of 120",
                  "a strong scale by Mokken's measure", "never a reason to drop a group"):  # fmt: skip
        assert words in done.out
    assert "g3" in done.out


def test_the_command_takes_raters_by_default_and_names_none(files: tuple[Path, Path]) -> None:
    done = run_cli("scale", files[0], "--scale", "0:4")
    assert done.code == 0, done.err
    assert "individually (--csv names them)" in done.out
    assert "r07" not in done.out
    markdown = run_cli("scale", files[0], "--scale", "0:4", "--markdown")
    assert markdown.out.startswith("### rater")
    assert "r07" not in markdown.out


@pytest.mark.parametrize("table", ["values", "severity", "thresholds", "curves", "pairs", "checks", "fits"])
def test_every_table_can_be_printed_as_csv(files: tuple[Path, Path], table: str) -> None:
    done = run_cli("scale", files[0], "--raters", files[1], "--by", "group", "--csv", "--table", table)
    assert done.code == 0, done.err
    frame = pl.read_csv(done.out.encode())
    assert frame.height > 0
    assert frame.columns[0] == "axis"


def test_a_narrow_terminal_shows_every_column_with_the_name_of_its_group() -> None:
    result = pv.psychometrics(ratings_of(study()), "group")
    out = Console(file=io.StringIO(), width=60)
    show_result(LENS, result, out, top=0)
    lines = out.file.getvalue().splitlines()  # type: ignore[attr-defined]
    for words in ("H_j [95 %]", "crit", "a [95 %]", "thresholds"):
        assert next(line for line in lines if words in line).split()[0] == "group"
    assert max(map(len, lines)) <= 60


def test_crossings_with_raters_name_none_json_is_the_result_and_wrong_tables_are_refused(
    files: tuple[Path, Path],
) -> None:
    done = run_cli("scale", files[0], "--raters", files[1], "--by", "rater,group", "--min-group-size", "1")
    assert (done.code, "r07" in done.out) == (0, False), done.err
    done = run_cli("scale", files[0], "--scale", "0:4", "--json")
    assert pv.Psychometrics.from_json(done.out).value("rater", "r23", "grm_a") < 0
    assert "--table must be one of" in run_cli("scale", files[0], "--table", "all").err
    assert "only one of --json and --csv can be printed" in run_cli("scale", files[0], "--csv", "--json").err
    assert "lower_bound is 2" in run_cli("scale", files[0], "--lower-bound", "2").err


def test_responsiveness_shows_them_beside_mpa_and_wra(files: tuple[Path, Path]) -> None:
    done = run_cli(
        "responsiveness", files[0], "--raters", files[1], "--by", "group", "--scale", "0:4", "--psychometrics",
        "--permutations", "19", "--bootstrap", "19",
    )  # fmt: skip
    assert done.code == 0, done.err
    assert "for H by the delta method, for a by the information" in done.out
    assert "How they correlate with Mokken's H_j and the discrimination" in done.out
    plain = run_cli("responsiveness", files[0], "--raters", files[1], "--by", "group", "--permutations", "0")
    assert "Mokken" not in plain.out


def test_charts_draw_what_their_tables_hold() -> None:
    pytest.importorskip("vl_convert")
    result = pv.psychometrics(ratings_of(study()), ["group", "rater"])
    forest = plots.scale_forest_data(result, "group")
    assert forest.height == 8
    assert forest["statistic"].unique(maintain_order=True).to_list() == ["Mokken H", "GRM a"]
    severity = plots.item_severity_data(result, n=4)
    assert severity.height == 8
    assert severity["severity"].is_sorted(descending=True)
    assert severity["item"][0] == result.severity().filter(axis="rater").sort("severity")["item"][-1]
    curves = plots.score_curves_data(result, "group")
    assert curves["group"].n_unique() == 4
    for chart in (
        plots.scale_forest(result), plots.item_severity(result), plots.item_severity(result, "group"),
        plots.score_curves(result, "group"), plots.score_curves(result, "rater"),
    ):  # fmt: skip
        text = plots.to_svg(chart, "x")
        assert "<svg" in text
        assert "r07" not in text
    assert "correction" not in json.dumps(plots.scale_forest(result).to_dict()["title"]).lower()


def test_charts_say_why_there_is_nothing_to_draw() -> None:
    pytest.importorskip("vl_convert")
    result = pv.psychometrics(ratings_of(study(n_raters=2)))
    for chart in (plots.item_severity(result), plots.score_curves(result, "rater"), plots.scale_forest(result)):
        assert chart.to_dict()["mark"]["type"] == "text"
    with pytest.raises(SelectionError, match="no axis"):
        plots.item_severity(result, "group")


@pytest.mark.usefixtures("undrawn")
def test_the_report_has_both_beside_mpa_and_wra_and_the_severity_of_items(tmp_path: Path) -> None:
    pytest.importorskip("vl_convert")
    ratings = ratings_of(study())
    with only_sections("responsiveness", "items"):
        pv.write_report(tmp_path / "report.html", ratings, by=["group"], permutations=19, bootstrap=19)
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    for words in ('id="scale-forest"', 'id="scale-curves"', 'id="item-severity"', 'id="item-severity-table"',
                  "Mokken H", "GRM a"):  # fmt: skip
        assert words in page
    assert "r07" not in page


@pytest.mark.usefixtures("undrawn")
def test_a_report_on_two_groups_says_that_there_is_no_model_of_them(tmp_path: Path) -> None:
    pytest.importorskip("vl_convert")
    frame = study(n_raters=12).with_columns(group=pl.col("group").str.replace_many(["g2", "g3"], ["g0", "g1"]))
    with only_sections("responsiveness", "items"):
        pv.write_report(tmp_path / "report.html", ratings_of(frame), by=["group"], permutations=19, bootstrap=19)
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "the model needs 3 groups" in page
    assert 'id="scale-curves' not in page
    assert 'id="item-severity"' in page  # by raters
