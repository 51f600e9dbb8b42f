"""Ratings given again, and when: what is kept of them, carried along, stored, refused, and said."""

from __future__ import annotations

import random
import tracemalloc
from collections import defaultdict
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import plurivox as pv
from plurivox.base.errors import ColumnError, FileError, InputError, ScaleError
from plurivox.cli.loading import load
from plurivox.cli.options import InputOptions
from plurivox.domain.ratings import with_items
from plurivox.infer.grouping import compared
from plurivox.infer.jackknife import LeftOut
from plurivox.lenses.variation import repeats as module
from plurivox.lenses.variation.repeats import repeated
from support import run_cli

SCALE = pv.Scale.range(0, 4)


def table(n_rows: int = 300, seed: int = 0, *, ties: bool = False) -> list[tuple[int, str, int, float]]:
    """Return rows of item, rater, score and time, many of them repeats; times differ unless ties are wanted."""
    rng = random.Random(seed)
    times = [float(rng.randrange(5)) if ties else at / 7 for at in rng.sample(range(10 * n_rows), n_rows)]
    return [(rng.randrange(12), f"r{rng.randrange(9)}", rng.randrange(5), at) for at in times]


def frame_of(rows: list[tuple[int, str, int, float]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=["item", "rater", "score", "time"], orient="row")


def by_pair(rows: list[tuple[int, str, int, float]], *, timed: bool) -> dict[tuple[int, str], list[tuple[int, float]]]:
    """Return the scores and times of each pair in the order of their occasions: the rule, in plain Python."""
    found = defaultdict(list)
    for item, rater, score, at in rows:
        found[item, rater].append((score, at))
    if timed:
        for own in found.values():
            own.sort(key=lambda one: (one[1] != one[1], 0.0 if one[1] != one[1] else one[1]))  # NaN last, stable
    return dict(found)


def kept(rows: list[tuple[int, str, int, float]], *, timed: bool = True, rule: Any = "keep") -> pv.Ratings:
    return pv.Ratings.from_frame(frame_of(rows), scale=SCALE, duplicates=rule, time="time" if timed else None)


# What is kept --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("timed", [True, False])
@pytest.mark.parametrize("ties", [True, False])
def test_first_ratings_and_later_ones_against_plain_python(timed: bool, ties: bool) -> None:
    rows = table(ties=ties)
    rows = [(i, r, s, float("nan") if k % 11 == 0 else t) for k, (i, r, s, t) in enumerate(rows)]
    expected = by_pair(rows, timed=timed)
    ratings = kept(rows, timed=timed)
    firsts = {(i, r): s for i, r, s, *_ in ratings.to_frame().iter_rows()}
    assert firsts == {pair: own[0][0] for pair, own in expected.items()}
    found = defaultdict(list)
    for row in ratings.repeats().iter_rows(named=True):
        found[row["item"], row["rater"]].append((row["occasion"], row["score"], row.get("time")))
    assert found == {
        pair: [(k, score, None if at != at or not timed else at) for k, (score, at) in enumerate(own, 1)]
        for pair, own in expected.items()
        if len(own) > 1
    }
    assert ratings.again is not None
    assert ratings.intake.kept_repeats == len(ratings.again) == len(rows) - len(expected)
    assert ratings.intake.missing_times == (sum(at != at for *_, at in rows) if timed else 0)


@pytest.mark.parametrize(("rule", "place"), [("first", 0), ("last", -1)])
def test_first_and_last_go_by_time(rule: Any, place: int) -> None:
    rows = table()
    expected = {pair: own[place] for pair, own in by_pair(rows, timed=True).items()}
    assert {(i, r): (s, t) for i, r, s, t in kept(rows, rule=rule).to_frame().iter_rows()} == expected


def test_the_most_frequent_score_has_the_time_at_which_it_was_first_given() -> None:
    rows = [(1, "a", 2, 9.0), (1, "a", 3, 1.0), (1, "a", 2, 5.0), (2, "a", 0, 4.0), (2, "b", 1, 0.0), (2, "b", 2, 1.0)]
    assert kept(rows, rule="mode").to_frame().rows() == [(1, "a", 2, 5.0), (2, "a", 0, 4.0)]


def test_rows_may_come_in_any_order_where_times_differ() -> None:
    rows = table()
    shuffled = random.Random(1).sample(rows, len(rows))
    assert kept(rows) == kept(shuffled)
    assert kept(rows, timed=False) != kept(shuffled, timed=False)  # then the order of rows is that of occasions


def test_without_repeats_or_times_nothing_is_kept() -> None:
    rows = list({(i, r): (i, r, s, t) for i, r, s, t in table()}.values())
    plain = pv.Ratings.from_frame(frame_of(rows), scale=SCALE)
    assert (plain.times, plain.again, plain.intake.time_unit) == (None, None, "")
    assert plain == kept(rows, timed=False)
    assert kept(rows, timed=False).again is None
    assert plain.repeats().height == 0
    assert plain.to_frame().columns == ["item", "rater", "score"]
    assert plain != kept(rows)


# Times ---------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("given", "moment"), [
    ("2026-01-31", datetime(2026, 1, 31, tzinfo=UTC)),
    (" 2026-01-31T12:30 ", datetime(2026, 1, 31, 12, 30, tzinfo=UTC)),
    ("2026-01-31 12:30:05.25", datetime(2026, 1, 31, 12, 30, 5, 250_000, tzinfo=UTC)),
    ("2026-01-31T12:30:05Z", datetime(2026, 1, 31, 12, 30, 5, tzinfo=UTC)),
    ("2026-01-31T00:30:05+02:00", datetime(2026, 1, 31, 0, 30, 5, tzinfo=timezone(timedelta(hours=2)))),
    ("2026-01-31T12:30:05-0330", datetime(2026, 1, 31, 12, 30, 5, tzinfo=timezone(-timedelta(hours=3.5)))),
    ("0001-01-01", datetime(1, 1, 1, tzinfo=UTC)), ("1960-02-29T01:00", datetime(1960, 2, 29, 1, tzinfo=UTC)),
    (date(2026, 1, 31), datetime(2026, 1, 31, tzinfo=UTC)),
    (datetime(2026, 1, 31, 5, tzinfo=UTC).replace(tzinfo=None), datetime(2026, 1, 31, 5, tzinfo=UTC)),
    (datetime(2026, 1, 31, 5, tzinfo=timezone(timedelta(hours=1))), datetime(2026, 1, 31, 4, tzinfo=UTC)),
])  # fmt: skip
def test_dates_are_days_since_1970(given: Any, moment: datetime) -> None:
    frame = pl.DataFrame({"item": [1, 2], "rater": ["a", "a"], "score": [0, 1], "when": [given, given]})
    ratings = pv.Ratings.from_frame(frame, time="when")
    assert ratings.times is not None
    assert ratings.times[0] == pytest.approx((moment - datetime(1970, 1, 1, tzinfo=UTC)) / timedelta(days=1), abs=1e-9)
    assert ratings.intake.time_unit == "days"
    assert ratings.to_frame()["time"][0].replace(tzinfo=UTC) == pytest.approx(moment, abs=timedelta(microseconds=50))


@pytest.mark.parametrize(("given", "expected"), [
    (["3", "-1.5", "1e2", "NA"], [3.0, -1.5, 100.0, None]), ([1, 2, None, 4], [1.0, 2.0, None, 4.0]),
    ([0.5, float("nan"), None, 1.0], [0.5, None, None, 1.0]), ([None, None, None, None], [None] * 4),
    (["", " ", "null", "N/A"], [None] * 4),
])  # fmt: skip
def test_numbers_are_times_as_they_are(given: list[Any], expected: list[float | None]) -> None:
    frame = pl.DataFrame({"item": [1, 2, 3, 4], "rater": ["a"] * 4, "score": [0, 1, 2, 3], "batch": given})
    ratings = pv.Ratings.from_frame(frame, time="batch")
    assert ratings.to_frame()["time"].to_list() == expected
    assert ratings.intake.time_unit == "number"
    assert ratings.intake.missing_times == expected.count(None)


@pytest.mark.parametrize(("given", "message"), [
    (["1", "soon", "2"], "row 2: the time 'soon' is neither a number nor an ISO date"),
    (["1", "2", "2026-01-31"], "row 3: the time '2026-01-31' does not match the others, which are numbers"),
    (["2026-01-31", "7", "2026-02-01"], "row 2: the time '7' does not match the others, which are dates"),
    (["2026-02-30", "2026-01-31", "NA"], "row 1: the time '2026-02-30' is neither"),
    (["31.01.2026", "01.02.2026", "NA"], "rows 1, 2: the time '31.01.2026' is neither"),
    (["2026-01-31T25:00", "2026-01-31", "NA"], "row 1: the time '2026-01-31T25:00' is neither"),
    ([1.0, float("inf"), 2.0], "row 2: the time 'inf' is neither"),
    (["1e308", "-1e308", "1"], "rows 1, 2: the time '1e308' is neither"),
    ([1e200, 1.0, 2.0], "row 1: the time '1e+200' is neither"),
    ([True, False, None], "rows 1, 2: the time 'True' is neither"),
    ([timedelta(1), None, None], "row 1: the time 'P1D' is neither"),
])  # fmt: skip
def test_times_that_are_none(given: list[Any], message: str) -> None:
    frame = pl.DataFrame({"item": [1, 2, 3], "rater": ["a"] * 3, "score": [0, 1, 2], "when": given})
    with pytest.raises(ColumnError) as error:
        pv.Ratings.from_frame(frame, time="when")
    assert str(error.value).startswith(f"frame, column 'when', {message}")
    assert str(error.value).endswith("Give numbers (of occasions or batches) or ISO dates such as 2026-01-31 or "
                                     "2026-01-31T12:00:00.")  # fmt: skip


def test_a_unit_is_one_over_all_blocks_of_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("plurivox.read.text.BLOCK", 64)
    path = tmp_path / "r.csv"
    path.write_text("item,rater,score,when\n" + "".join(f"{i},a,1,{i}\n" for i in range(40)) + "41,a,0,2026-01-31\n")
    with pytest.raises(ColumnError, match="row 42: the time '2026-01-31' does not match the others, which are numbers"):
        pv.read_ratings(path, time="when")
    path.write_text("item,rater,score,when\n" + "".join(f"{i},a,{i % 2},\n" for i in range(40)) + "41,a,0,2026-01-31\n")
    assert pv.read_ratings(path, time="when").intake.time_unit == "days"


def test_what_times_cannot_be(tmp_path: Path) -> None:
    path = tmp_path / "w.csv"
    path.write_text("item,when,a,b\n1,1,0,1\n2,1,1,0\n")
    with pytest.raises(InputError, match="column 'when': a wide table has no column of times"):
        pv.read_ratings(path, layout="wide", time="when")
    with pytest.raises(ColumnError, match="there is no column 'then'; it has item, when, a, b"):
        pv.read_ratings(path, time="then")
    frame = frame_of(table())
    with pytest.raises(ColumnError, match="an attribute is called 'time'"):
        pv.Ratings.from_frame(frame, time="time", duplicates="keep", item_attributes=["time"])


# Carried along -------------------------------------------------------------------------------------------------------
def some(rows: list[tuple[int, str, int, float]], items: set[int], raters: set[str]) -> pv.Ratings:
    return kept([row for row in rows if row[0] in items and row[1] in raters])


def test_selections_carry_repeats_and_times() -> None:
    rows = table()
    ratings, items, raters = kept(rows), set(range(12)), {f"r{k}" for k in range(9)}
    assert ratings.where(raters={"rater": ["r1", "r5"]}) == some(rows, items, {"r1", "r5"})
    assert ratings.where(items={"item": [3, 4]}) == some(rows, {3, 4}, raters)
    assert ratings.where(items={"item": 3}, raters={"rater": "r2"}) == some(rows, {3}, {"r2"})
    item, rater, score, at = rows[-1]  # equal means repeats and times, too
    assert ratings != kept([*rows[:-1], (item, rater, score, at + 1e-6)])
    assert ratings != kept(rows[:-1])
    assert kept(rows, timed=False) != pv.Ratings.from_frame(frame_of(rows), scale=SCALE, duplicates="first")
    chosen = np.isin(np.arange(12), [0, 7])
    part = with_items(ratings, chosen)
    assert part.repeats().equals(ratings.repeats().filter(pl.col("item").is_in([0, 7])))
    assert part.to_frame().equals(ratings.to_frame().filter(pl.col("item").is_in([0, 7])))
    named = ratings.with_poles(("low", "high"))
    assert named.repeats().equals(ratings.repeats())
    assert named.to_frame().equals(ratings.to_frame())
    assert kept([(1, "a", 2, 1.0), (1, "a", 3, 2.0), (1, "b", 0, 3.0)]).where(raters={"rater": "b"}).again is None


def test_other_analyses_see_first_ratings_alone() -> None:
    rows = table()
    first = pv.Ratings.from_frame(frame_of(rows), scale=SCALE, duplicates="first", time="time")
    a, b = (pv.describe(one).to_dict() | {"notes": ""} for one in (first, kept(rows)))
    assert a | {"duplicates": "keep"} == b
    both = {"q": kept(rows), "p": kept(rows)}
    combined = pv.combine(both)
    assert (combined.times, combined.again, combined.intake.kept_repeats) == (None, None, 0)


# Stored --------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("timed", [True, False])
def test_stored_and_read_back(tmp_path: Path, timed: bool) -> None:
    rows = [(i, r, s, float("nan") if k % 7 == 0 else t) for k, (i, r, s, t) in enumerate(table())]
    ratings, path = kept(rows, timed=timed), tmp_path / "r.parquet"
    pv.write_ratings(ratings, path)
    again = pv.read_ratings(path)
    assert again == ratings
    assert again.intake == ratings.intake
    stored = pl.read_parquet(path)
    assert stored.height == len(rows)  # any tool can read all of them
    assert stored["occasion"].max() == max(map(len, by_pair(rows, timed=timed).values()))
    when = pl.DataFrame(
        {"item": [1, 2], "rater": ["a", "a"], "score": [0, 1], "t": ["2026-01-31T00:00:00.123456789", "NA"]}
    )
    dated = pv.Ratings.from_frame(when, time="t")
    pv.write_ratings(dated, path)
    assert pv.read_ratings(path) == dated


def test_ratings_without_them_are_stored_as_before(tmp_path: Path) -> None:
    plain = pv.Ratings.from_frame(frame_of(table()), scale=SCALE, duplicates="first")
    pv.write_ratings(plain, tmp_path / "r.parquet")
    described = pl.read_parquet_metadata(tmp_path / "r.parquet")["plurivox"]
    assert '"version": 1' in described
    assert "time_unit" not in described


@pytest.mark.parametrize(("change", "reason"), [
    (lambda f: f.with_columns(score_code=4 - pl.col("score_code")), "its content is not what was written"),
    (lambda f: f.with_columns(time_value=pl.col("time_value") + 1), "its content is not what was written"),
    (lambda f: f.with_columns(time_value=pl.lit(float("inf"))), "time_value holds something other than times"),
    (lambda f: f.with_columns(occasion=pl.lit(1, pl.Int64)), "its rows are not in order, or some occur twice"),
    (lambda f: f.with_columns(occasion=pl.col("occasion") + 1), "its rows are not in order"),
    (lambda f: f.drop("time_value"), "time_value"), (lambda f: f[::-1], "its rows are not in order"),
])  # fmt: skip
def test_a_damaged_store_says_so(tmp_path: Path, change: Any, reason: str) -> None:
    path = tmp_path / "r.parquet"
    pv.write_ratings(kept(table()), path)
    described = pl.read_parquet_metadata(path)
    change(pl.read_parquet(path)).write_parquet(path, metadata={"plurivox": described["plurivox"]})
    with pytest.raises(FileError, match=f"are damaged .*{reason}"):
        pv.read_ratings(path)


# Commands ------------------------------------------------------------------------------------------------------------
def test_the_command_line_and_the_config(tmp_path: Path) -> None:
    path = tmp_path / "ratings.csv"
    path.write_text("item,rater,score,day\n1,a,0,2026-01-02\n1,a,1,2026-01-01\n1,b,2,\n2,a,2,2026-01-03\n")
    said = (
        "1 item–rater pair was rated more than once: the first rating counts, and 1 later one is kept separately.",
        "Ratings have times, counted in days; 1 rating has none.",
    )
    for options in (["--repeats", "keep", "--time", "day"], ["--duplicates", "keep", "--occasion", "day"]):
        done = run_cli("describe", path, *options, "--json")
        assert done.code == 0, done.err
        assert all(sentence in done.err + done.out for sentence in said)
    done = run_cli("describe", path, "--repeats", "keep")
    assert "No rater rated an item twice" not in done.out + done.err
    assert "keep kept" not in done.out + done.err
    (tmp_path / "plurivox.toml").write_text('[columns]\nduplicates = "keep"\ntime = "day"\n')
    done = run_cli("describe", path, "--json")
    assert all(sentence in done.err + done.out for sentence in said)
    from plurivox.config import config_text, load_config

    (tmp_path / "plurivox.toml").write_text(config_text(kept(table())))
    config = load_config(tmp_path / "plurivox.toml")
    assert (config.reading.duplicates, config.reading.time) == ("keep", "time")


# Simulated -----------------------------------------------------------------------------------------------------------
def test_simulated_repeats_change_no_first_rating(tmp_path: Path) -> None:
    from plurivox.simulation.simulate import write_study

    sizes: dict[str, Any] = {"n_items": 30, "n_raters": 20, "styles": {"normal": 0.8, "extreme": 0.2}, "missing": 0.3}
    plain, again = pv.simulate(**sizes, seed=3), pv.simulate(**sizes, repeated=0.25, seed=3)
    assert again.ratings.to_frame().drop("time").equals(plain.ratings.to_frame())
    assert again.ratings_frame.head(plain.ratings_frame.height).drop("time").equals(plain.ratings_frame)
    share = len(again.ratings.again or ()) / plain.ratings_frame.height
    assert share == pytest.approx(0.25, abs=0.1)
    for own in again.ratings_frame.partition_by("rater"):
        assert sorted(own["time"]) == list(range(1, own.height + 1))
    write_study(again, tmp_path / "study")
    assert load(InputOptions(str(tmp_path / "study" / "ratings.csv"))).ratings == again.ratings
    with pytest.raises(InputError, match="repeated"):
        pv.simulate(repeated=1.5)


def test_noise_alone_makes_raters_disagree_with_themselves() -> None:
    quiet = pv.simulate(n_items=30, n_raters=20, noise_sd=0.0, repeated=0.3).ratings
    found = repeated(quiet, interval="none")
    assert found.filter(statistic="percent")["within"].item() == 1.0
    assert found.filter(statistic="change")["within"].item() == 0.0


# Agreement within and between raters ---------------------------------------------------------------------------------
def study(seed: int = 0, n_items: int = 14, n_raters: int = 12, n_points: int = 5) -> pv.Ratings:
    """Return a sparse study of three groups, in which pairs were rated one to four times."""
    rng = np.random.default_rng(seed)
    rows = []
    for item in range(n_items):
        for rater in range(n_raters):
            view = rng.normal(item / n_items * n_points, 1)
            for day in range(rng.choice([0, 1, 2, 3, 4], p=[0.2, 0.4, 0.2, 0.1, 0.1])):
                score = int(np.clip(np.round(view + rng.normal(0, 0.7)), 0, n_points - 1))
                rows.append((item, f"r{rater:02}", score, float(day)))
    raters = pl.DataFrame(
        {"rater": [f"r{k:02}" for k in range(n_raters)], "group": ["abc"[k % 3] for k in range(n_raters)]}
    )
    scale = pv.Scale.range(0, n_points - 1)
    scale = pv.Scale(scale.labels, values=[0.0, 1.0, 2.5, 3.0, 7.0][:n_points]) if n_points == 5 else scale
    return pv.Ratings.from_frame(frame_of(rows), scale=scale, duplicates="keep", time="time", raters=raters)


def scores_of(ratings: pv.Ratings) -> dict[tuple[int, str], list[float]]:
    """Return the scale values that each pair was given, in order: from the frames, not from the arrays."""
    number = dict(zip(ratings.scale.labels, ratings.scale.values, strict=True))
    found = {(i, r): [number[s]] for i, r, s, _ in ratings.to_frame().iter_rows()}
    for item, rater, occasion, score, _ in ratings.repeats().iter_rows():
        if occasion > 1:
            found[item, rater].append(number[score])
    return found


def by_loops(ratings: pv.Ratings, raters: set[str], others: set[str], level: Any) -> dict[str, tuple[float, float]]:
    """Return what is defined, by plain loops, with alpha of another package: within raters, and between others."""
    import krippendorff

    cells = scores_of(ratings)
    again = {pair: own for pair, own in cells.items() if len(own) > 1 and pair[1] in raters}
    items = {
        item: [own[0] for (i, rater), own in cells.items() if i == item and rater in others]
        for item in {pair[0] for pair in again}
    }
    firsts = [own for own in items.values() if len(own) > 1]

    def pairs(own: list[float], measure: Any) -> float:
        return mean([float(measure(a, b)) for k, a in enumerate(own) for b in own[:k]])

    def equal(units: list[list[float]]) -> float:
        return mean([pairs(own, lambda a, b: a == b) for own in units])

    def alpha(units: list[list[float]]) -> float:
        most = max(map(len, units))
        table = np.array([[*own, *[np.nan] * (most - len(own))] for own in units]).T
        domain = list(ratings.scale.values)
        return float(krippendorff.alpha(table, level_of_measurement=level, value_domain=domain))

    def mean(numbers: list[float]) -> float:
        return sum(numbers) / len(numbers)

    steps = [mean([abs(a - b) for a, b in zip(own[1:], own[:-1], strict=True)]) for own in again.values()]
    return {
        "percent": (equal(list(again.values())), equal(firsts)),
        "alpha": (alpha(list(again.values())), alpha(firsts)),
        "change": (mean(steps), mean([pairs(own, lambda a, b: abs(a - b)) for own in firsts])),
    }


@pytest.mark.parametrize("level", ["ordinal", "nominal", "interval"])
def test_agreement_against_loops_and_another_package(level: str) -> None:
    ratings = study()
    axes = compared(ratings, ["group", "rater"], {}, 4)
    found = repeated(ratings, axes, min_group_size=4, level=level)
    everyone = set(ratings.raters["rater"])
    groups = {
        ("all", "all"): everyone,
        **{("group", g): set(ratings.raters.filter(pl.col("group") == g)["rater"]) for g in "abc"},
        **{("rater", r): {r} for r in ("r00", "r07")},
    }
    for (axis, group), raters in groups.items():
        # A single rater stands beside all raters of the same items.
        expected = by_loops(ratings, raters, everyone if axis == "rater" else raters, level)
        rows = found.filter((pl.col("axis") == axis) & (pl.col("group") == group))
        assert rows["statistic"].to_list() == ["percent", "alpha", "change"]
        for row in rows.iter_rows(named=True):
            assert (row["within"], row["between"]) == pytest.approx(expected[row["statistic"]], abs=1e-12)
            assert row["note"] == ""
        own = ratings.repeats().filter(pl.col("rater").is_in(list(raters)))
        sizes = own["rater"].n_unique(), own["item"].n_unique(), own.select("item", "rater").n_unique()
        assert set(rows.select("n_raters", "n_items", "n_pairs").rows()) == {sizes}
    assert found["group"].unique(maintain_order=True).to_list() == ["all", *"abc", *sorted(everyone)]


def test_intervals_are_those_of_leaving_out_each_item_and_each_rater(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "most_blocks", lambda _: 1)  # no single ratings
    ratings = study(1)
    found = repeated(ratings).filter(statistic="change").rows(named=True)

    def change(part: pv.Ratings) -> tuple[Any, ...]:
        return repeated(part, interval="none", min_group_size=1).filter(statistic="change")["within", "between"].row(0)

    def without(role: str) -> np.ndarray[Any, Any]:
        ids = getattr(ratings, f"{role}s")[role].to_list()
        rest = [ratings.where(**{f"{role}s": {role: [one for one in ids if one != out]}}) for out in ids]
        return np.array([change(part) for part in rest])[:, np.newaxis]

    left = LeftOut(np.array([change(ratings)]), (without("item"), without("rater")))
    low, high, _ = left.interval(["plain"] * 2, [(0.0, 7.0)] * 2)
    row = found[0]
    assert (row["ci_low"], row["between_ci_low"]) == pytest.approx(low[0], abs=1e-12)
    assert (row["ci_high"], row["between_ci_high"]) == pytest.approx(high[0], abs=1e-12)


def test_single_ratings_are_taken_off_once() -> None:
    """What items and raters share is in both variances: intervals are narrower than with both added up."""
    ratings = study(2)
    narrow = repeated(ratings)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "most_blocks", lambda _: 1)
        wide = repeated(ratings)
    width, before = (one["ci_high"] - one["ci_low"] for one in (narrow, wide))
    assert (width < before).all()


def test_many_units_at_a_time_or_one_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    ratings = study(3)
    whole = repeated(ratings, compared(ratings, ["group"], {}, 4), min_group_size=4)
    monkeypatch.setattr(module, "_CELLS", 7)
    small = repeated(ratings, compared(ratings, ["group"], {}, 4), min_group_size=4)
    numbers = pl.selectors.float()
    assert np.allclose(whole.select(numbers).to_numpy(), small.select(numbers).to_numpy(), atol=1e-12, equal_nan=True)


def test_scales_of_very_many_points_are_refused_before_any_work() -> None:
    """Agreement takes a table of points; leniency and components do not, and go on."""
    rows, points = table(), pv.Scale(range(5_000))
    wide = pv.Ratings.from_frame(frame_of(rows), scale=points, duplicates="keep")
    said = "the scale has 5,000 points, and agreement of repeated ratings takes at most 1,001"
    with pytest.raises(ScaleError, match=said):
        pv.variation(wide, permutations=0)
    first = pv.Ratings.from_frame(frame_of(rows), scale=points, duplicates="first")
    assert pv.variation(first, permutations=0).components().height == 3


def test_many_points_fill_no_memory() -> None:
    """Sums of single units are as wide as a table of point by point: few of them are held at once."""
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({
        "item": np.tile(np.repeat(np.arange(6), 30), 2), "rater": np.tile(np.arange(30), 12),
        "score": rng.integers(0, 300, 360),
    })  # fmt: skip
    ratings = pv.Ratings.from_frame(frame, scale="0:299", duplicates="keep")
    tracemalloc.start()
    repeated(ratings)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 100e6  # 75 units × 300 × 300 numbers, and what is made of them, would be several times that


def test_who_is_withheld() -> None:
    ratings = study()
    few = ratings.where(raters={"rater": ["r00", "r01", "r03", "r06"]})
    found = repeated(few, compared(few, ["group"], {}, 3), min_group_size=3)
    assert found["group"].unique().to_list() == ["all"]  # a has three raters, and would reveal the one of b
    assert found["within"].is_not_nan().all()
    few = ratings.where(raters={"rater": ["r00", "r01"]})
    found = repeated(few, compared(few, ["group"], {}, 5))
    assert found["note"].unique().to_list() == ["too few raters rated anything again"]
    assert found.select(pl.selectors.float()).to_numpy().tolist() == [[pytest.approx(np.nan, nan_ok=True)] * 6] * 3


def test_undefined_values_have_a_reason() -> None:
    rows = [(1, "a", 2, 1.0), (1, "a", 2, 2.0), (2, "a", 2, 1.0), (2, "b", 2, 2.0)]
    found = {row["statistic"]: row for row in repeated(kept(rows), min_group_size=1).iter_rows(named=True)}
    assert (found["percent"]["within"], found["change"]["within"]) == (1.0, 0.0)
    assert np.isnan(found["alpha"]["within"])
    assert found["alpha"]["note"] == (
        "within raters: everyone gave the same point; between raters: a group of one cannot agree with itself"
    )
    assert found["percent"]["note"] == "between raters: a group of one cannot agree with itself"
    none = repeated(kept([(1, "a", 2, 1.0)]))
    assert (none.height, none.columns) == (0, list(module.COLUMNS))


@pytest.mark.slow
def test_intervals_hold_the_value_of_other_items_and_raters() -> None:
    """Of 120 studies of 40 items and 20 raters at least 92 % hold the value of 60 times as many."""
    large = repeated(study(999, 300, 100), interval="none")
    truth = large["within", "between"].to_numpy()
    held = []
    for seed in range(120):
        found = repeated(study(seed, 40, 20))
        low, high = (found[f"ci_{end}", f"between_ci_{end}"].to_numpy() for end in ("low", "high"))
        held.append((low <= truth) & (truth <= high))
    assert np.mean(held, axis=0).min() >= 0.92


def test_convabuse_was_rated_again(real_data: Path) -> None:
    """480 pairs have two or more ratings; all three against the other package and plain loops."""
    frame = pl.read_csv(real_data / "convabuse" / "ConvAbuseEMNLPfull.csv", infer_schema=False)
    chosen = frame.select(pl.col(f"is_abuse.{value}").cast(int) for value in (-3, -2, -1, 0, 1)).to_numpy()
    item = frame.select(pl.format("{} | {}", pl.col("conv_id"), pl.col("user"))).to_series()
    long = pl.DataFrame({"item": item, "rater": frame["annotator_id"], "score": np.argmax(chosen, axis=1) - 3})
    ratings = pv.Ratings.from_frame(long.with_row_index("time"), scale="-3:1", duplicates="keep", time="time")
    found = repeated(ratings).rows(named=True)
    expected = by_loops(ratings, set(ratings.raters["rater"]), set(ratings.raters["rater"]), "ordinal")
    for row in found:
        assert (row["within"], row["between"]) == pytest.approx(expected[row["statistic"]], abs=1e-12)
        assert (row["n_raters"], row["n_items"], row["n_pairs"]) == (8, 363, 480)
        assert row["ci_low"] < row["within"] < row["ci_high"]


def test_where_nothing_changes_there_is_no_interval() -> None:
    """Six raters who always said the same again are no proof that all would: the jackknife has nothing to go by."""
    rows = [(item, f"r{rater}", (item + rater) % 5, at) for item in range(4) for rater in range(6) for at in (0.0, 1.0)]
    result = pv.variation(kept(rows), permutations=0)
    own = result.repeats().filter(axis="all")
    assert own["within"].to_list() == [1.0, 1.0, 0.0]
    assert own["ci_low"].is_nan().all()
    assert own["ci_high"].is_nan().all()
    assert not own["between_ci_low"].is_nan().any()
    assert any("gave the same point in 100 % of the repeats" in text for text in result.findings())


def test_tables_tell_how_raters_agree_with_themselves_one_by_one(tmp_path: Path) -> None:
    frame_of(table()).write_csv(tmp_path / "ratings.csv")
    done = run_cli(
        "variation", tmp_path / "ratings.csv", "--scale", "0:4", "--repeats", "keep", "--time", "time", "--by", "rater",
        "--permutations", 9, "--interval", "none",
    )  # fmt: skip
    assert done.code == 0, done.err
    shown = done.out.split("Items rated again: individual raters, with themselves")[1]
    shown = shown.split("Shares of the variance")[0]
    own = repeated(kept(table()), compared(kept(table()), ["rater"], {}, 5), interval="none")
    highest = max(own.filter(axis="rater", statistic="percent")["within"].to_list())
    assert "same point" in shown
    assert f"{highest:.3f}" in shown
