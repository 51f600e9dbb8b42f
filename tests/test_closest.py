"""The closest group: a plain twin in fractions, intervals by scipy, shuffles, and when it is claimed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pytest
from scipy import stats

import plurivox as pv
from claims import closest as studies
from claims import designs
from claims.rates import rates
from plurivox.domain.axis import Axis
from plurivox.engine.draws import Draws
from plurivox.infer.grouping import Grouping
from plurivox.infer.result import Statement
from plurivox.lenses.alignment.closest import decided_by
from plurivox.lenses.alignment.sums import LEAST_ITEMS, wins
from plurivox.report.build import top_findings
from plurivox.report.parts import Section, findings_of

QUICK: dict[str, Any] = {"bootstrap": 0, "permutations": 0, "subsamples": 0, "as_rater": False, "threads": 1}
TOP = 3


# A twin --------------------------------------------------------------------------------------------------------------
class Twin(NamedTuple):
    """What the definition gives for two groups: how much farther the second is, that beyond random order, and items."""

    farther: Fraction
    beyond: Fraction
    n_items: int


def far(votes: list[int], at: int, by: str) -> Fraction:
    """Return the distance of a point from votes: from their mode, whose ties are averaged, or from each of them."""
    if by == "voter_distance":
        return Fraction(sum(abs(vote - at) for vote in votes), len(votes))
    most = max(votes.count(point) for point in set(votes))
    modes = [point for point in set(votes) if votes.count(point) == most]
    return abs(Fraction(sum(modes), len(modes)) - at)


def twin_pair(
    votes: Mapping[tuple[str, str], list[int]], given: Mapping[str, list[int | None]], pair: tuple[str, str], by: str
) -> Twin | None:
    """Compare two groups on the items that both rated; an answer of None is one that was refused."""
    first, second = pair
    shared = sorted(item for item in given if votes.get((item, first)) and votes.get((item, second)))
    if len(shared) < LEAST_ITEMS:
        return None
    whole = total = Fraction(0)
    count: dict[int, Fraction] = defaultdict(Fraction)
    at_point: dict[int, Fraction] = defaultdict(Fraction)
    answered = Fraction(0)
    for item in shared:
        a, b = votes[item, first], votes[item, second]
        weight = Fraction(len(a) * len(b), len(a) + len(b)) if by == "voter_distance" else Fraction(1)
        whole += weight
        for point in given[item]:
            share = Fraction(1, len(given[item]))
            if point is None:
                continue  # the whole scale from either
            total += share * weight * (far(b, point, by) - far(a, point, by))
            count[point] += share
            answered += share
            for other in range(TOP + 1):
                at_point[other] += share * weight * (far(b, other, by) - far(a, other, by))
    by_order = sum((count[point] / answered * at_point[point] for point in count), Fraction(0)) / whole
    return Twin(total / whole, total / whole - by_order, len(shared))


def twin_margins(pairs: Mapping[tuple[str, str], Twin | None], groups: list[str]) -> dict[str, Fraction | None]:
    """Return by how much each group is closer than every other it is compared with."""
    found = {}
    for group in groups:
        leads = [one.farther if first == group else -one.farther for (first, second), one in pairs.items()
                 if one is not None and group in (first, second)]  # fmt: skip
        found[group] = min(leads) if leads else None
    return found


class Sparse(NamedTuple):
    """A random study: who rated what, the group of each rater, and answers of two models, some of them repeated."""

    ratings: pv.Ratings
    group_of: dict[str, str]
    votes: list[tuple[str, str, int]]
    answers: pl.DataFrame

    @classmethod
    def of(cls, seed: int) -> Sparse:
        """Draw four groups, beside two that are too small to show, and one that shares hardly an item with others."""
        rng = np.random.default_rng(seed)
        items = [f"i{number:02}" for number in range(60)]
        sizes = {"a": 6, "b": 5, "c": 7, "d": 5, "x": 2, "y": 3}
        group_of = {f"{group}{number}": group for group, n in sizes.items() for number in range(n)}
        votes = []
        for rater, group in group_of.items():
            own = items[45:] if group == "d" else items[:50]  # d shares 5 items with the others
            chosen = rng.choice(own, min(12, len(own)), replace=False).tolist()
            votes += [(item, rater, int(rng.integers(TOP + 1))) for item in chosen]
        frame = pl.DataFrame(votes, schema=["item", "rater", "score"], orient="row")
        raters = pl.DataFrame({"rater": list(group_of), "g": list(group_of.values())})
        rows: list[tuple[str, str, int, str, int | None]] = []
        for model, repeated in (("m", 1), ("n", 3)):
            for item in items[: int(rng.integers(50, 61))]:
                for sample in range(int(rng.integers(1, repeated + 1))):
                    state = str(rng.choice(["answered"] * 8 + ["refused", "unreadable", "failed"]))
                    point = int(rng.integers(TOP + 1)) if state == "answered" else None
                    rows.append((model, item, sample, state, point))
        answers = pl.DataFrame(rows, schema=["model", "item", "sample", "state", "point"], orient="row")
        ratings = pv.Ratings.from_frame(frame, scale=pv.Scale.range(0, TOP), raters=raters)
        return cls(ratings, group_of, votes, answers)

    def by_group(self, group_of: Mapping[str, str]) -> dict[tuple[str, str], list[int]]:
        """Return the votes of each group for each item."""
        found = defaultdict(list)
        for item, rater, score in self.votes:
            found[item, group_of[rater]].append(score)
        return found

    def given(self, model: str) -> dict[str, list[int | None]]:
        """Return the answers of a model to rated items; failed ones are none at all."""
        rated, found = {item for item, _, _ in self.votes}, defaultdict(list)
        for item, point in self.answers.filter(
            pl.col("model") == model, pl.col("state") != "failed", pl.col("item").is_in(rated)
        ).select("item", "point").iter_rows():  # fmt: skip
            found[item].append(point)
        return found

    def twins(self, model: str, by: str, group_of: Mapping[str, str] | None = None) -> dict[tuple[str, str], Any]:
        """Compare every two groups that may be shown."""
        votes, given = self.by_group(group_of or self.group_of), self.given(model)
        names = "abcd"
        return {(g, h): twin_pair(votes, given, (g, h), by) for g in names for h in names if g < h}


@pytest.mark.parametrize("by", ["ada_met", "voter_distance"])
@pytest.mark.parametrize("seed", range(3))
def test_sparse_studies_against_a_twin_in_fractions(seed: int, by: str) -> None:
    study = Sparse.of(seed)
    found = pv.alignment(study.ratings, study.answers, by="g", closest_by=by, **QUICK)
    contrasts = {(one["model"], one["group"], one["other"]): one for one in found.contrasts().iter_rows(named=True)}
    standings = {(one["model"], one["group"]): one for one in found.standings().iter_rows(named=True)}
    for model in "mn":
        twins = study.twins(model, by)
        assert {one is None for one in twins.values()} == {True, False}
        for (g, h), one in twins.items():
            own = contrasts[model, g, h]
            assert own["by"] == by
            if one is None:
                assert own["difference"] is own["ci_low"] is own["beyond_order"] is None
                continue
            assert own["difference"] == pytest.approx(float(one.farther), abs=1e-12)
            assert own["beyond_order"] == pytest.approx(float(one.beyond), abs=1e-12)
            assert own["n_items"] == one.n_items
        margins = twin_margins(twins, list("abcd"))
        for group, margin in margins.items():
            expected = np.nan if margin is None else float(margin)
            assert standings[model, group]["margin"] == pytest.approx(expected, abs=1e-12, nan_ok=True)
        known = {group: margin for group, margin in margins.items() if margin is not None}
        closest = found.closest().filter(model=model)
        best = max(known, key=lambda group: known[group])
        assert closest["group"].to_list() == ([best] if known[best] > 0 else [])
        if known[best] > 0:
            assert closest["gap"][0] == pytest.approx(float(known[best]), abs=1e-12)
    assert ("m", "x") not in standings


def relabelled(study: Sparse, n: int) -> list[dict[str, str]]:
    """Return the groups of the raters under the first shuffles."""
    axis = Axis.of(study.ratings, "g")
    labels = Grouping.of(study.ratings, axis.codes, len(axis)).labels(Draws.permuted(n, 0))
    raters = study.ratings.raters["rater"].to_list()
    return [{rater: axis.groups[code] for rater, code in zip(raters, codes, strict=True)} for codes in labels.tolist()]


def test_shuffled_raters_are_compared_as_the_raters_are() -> None:
    """Each draw is the twin of the study with raters in other groups: other items may be shared then, or too few."""
    study = Sparse.of(7)
    asked = {**QUICK, "permutations": 8, "max_permutations": 8}
    found = pv.alignment(study.ratings, study.answers, by="g", closest_by="voter_distance", within=None, **asked)
    for row, group_of in enumerate(relabelled(study, 8)):
        for v, model in enumerate("mn"):
            margins = twin_margins(study.twins(model, "voter_distance", group_of), list("abcd")).values()
            expected = max(float(one) for one in margins if one is not None)
            assert found.draws[0].null[row, v, 0] == pytest.approx(expected, abs=1e-12)


# Intervals -----------------------------------------------------------------------------------------------------------
def crossed(rng: np.random.Generator, n_items: int = 40) -> tuple[pv.Ratings, pl.DataFrame]:
    """Return a study in which all rate all, and answers of one model."""
    made = designs.built(rng, np.ones((24, n_items), bool), {"g": ["a", "b"] * 12}, ["g"])
    items = [f"i{number:04}" for number in range(n_items)]
    return made.ratings, pl.DataFrame({"model": "m", "item": items, "point": rng.integers(0, 5, n_items)})


def test_intervals_are_those_of_a_t_test_where_all_rate_all() -> None:
    ratings, answers = crossed(np.random.default_rng(3))
    found = pv.alignment(ratings, answers, by="g", **QUICK).contrasts().row(0, named=True)
    apart = []
    votes = ratings.to_frame().join(ratings.raters, on="rater")
    for item, point in answers.select("item", "point").iter_rows():
        scores = {group: votes.filter(item=item, g=group)["score"].to_list() for group in "ab"}
        apart.append(float(far(scores["b"], point, "ada_met") - far(scores["a"], point, "ada_met")))
    test = stats.ttest_1samp(apart, 0.0)
    assert found["difference"] == pytest.approx(np.mean(apart))
    assert (found["ci_low"], found["ci_high"]) == pytest.approx(tuple(test.confidence_interval(0.98)))


def test_several_voices_and_axes_share_the_error_of_their_intervals() -> None:
    ratings, answers = crossed(np.random.default_rng(3))
    one = pv.alignment(ratings, answers, by="g", **QUICK).contrasts()
    both = pl.concat([answers, answers.with_columns(model=pl.lit("n"))])
    two = pv.alignment(ratings, both, by="g", **QUICK).contrasts().filter(model="m")
    wider = ((two["ci_high"] - two["ci_low"]) / (one["ci_high"] - one["ci_low"])).item()
    level = 0.98**0.5  # Šidák
    assert wider == pytest.approx(stats.t.ppf((1 + level) / 2, 39) / stats.t.ppf(0.99, 39))


@pytest.mark.parametrize("by", ["ada_met", "voter_distance"])
def test_the_interval_beyond_order_is_that_of_the_jackknife(by: str) -> None:
    """Leaving out each item in turn, by the twin: the same up to terms that vanish with the number of items."""
    study = Sparse.of(1)
    votes, given = study.by_group(study.group_of), study.given("n")
    whole = twin_pair(votes, given, ("a", "c"), by)
    assert whole is not None
    shared = [item for item in given if votes.get((item, "a")) and votes.get((item, "c"))]
    left = [twin_pair(votes, {key: value for key, value in given.items() if key != item}, ("a", "c"), by)
            for item in shared]  # fmt: skip
    values = np.array([float(one.beyond) for one in left if one is not None])
    n = len(values)
    error = np.sqrt((n - 1) / n * ((values - values.mean()) ** 2).sum())
    found = pv.alignment(
        study.ratings, study.answers.filter(model="n"), by="g", closest_by=by, **QUICK
    ).contrasts().filter(group="a", other="c")  # fmt: skip
    reach = (found["beyond_high"] - found["beyond_low"]).item() / 2
    assert reach / stats.t.ppf(0.99, n - 1) == pytest.approx(error, rel=0.06)


def test_wins_share_ties_and_leave_out_groups_without_a_value() -> None:
    draws = np.array([[[0.1, -0.1, np.nan]], [[0.0, 0.0, np.nan]], [[-0.3, 0.3, np.nan]]])
    assert wins(draws)[0].tolist() == pytest.approx([0.5, 0.5, np.nan], nan_ok=True)
    assert np.isnan(wins(draws[:0])).all()


# Claims --------------------------------------------------------------------------------------------------------------
def said(design: str, model: str, seed: int) -> tuple[studies.Study, list[Statement]]:
    """Return a study, and what is said of the closest group of a model."""
    study = studies.drawn(design, seed)
    found = studies.found_in(study, model, seed)
    return study, [one for one in found.statements() if one.statistic == "closest_gap"]


def test_an_echo_on_sparse_items_is_attributed_to_its_group() -> None:
    study, found = said("sparse", "view", 1)
    (one,) = (one for one in found if one.claim and one.statistic != "stand_in")
    assert (one.group, one.axis, one.statistic) == (f"g{study.group}", "g", "closest_gap")
    assert (one.p or 1.0) < 0.05
    assert (one.n_permutations or 0) >= 199
    assert one.rests_on.startswith("all raters shuffled, ")
    assert one.text.startswith(f"view's answers lie closest to raters with g: g{study.group}, and follow them item by")
    assert "farther by distance to voters on " in one.text


def test_few_echoes_and_coins() -> None:
    """A slice of what docs/claims.md measures."""
    assert rates(partial(studies.names_the_group, "dense", ["view"]), 2)["view"].times == 2
    assert rates(partial(studies.names_any, "dense, extremes", ["coin"]), 3)["coin"].times <= 1


@pytest.mark.parametrize("model", ["coin", "middle", "marginal"])
def test_what_follows_nobody_is_nearer_to_the_less_extreme_group_and_not_claimed(model: str) -> None:
    _, found = said("dense, extremes", model, 2)
    assert not any(one.claim for one in found if one.statistic != "stand_in")
    (miss,) = (one for one in found if "Not claimed, since" in one.text)
    assert f"{model}'s answers lie closer to g: g1 than to g0" in miss.text
    assert "they do not follow that group item by item" in miss.text


def test_a_claim_is_a_headline_of_a_report() -> None:
    study = studies.Study.of(studies.DESIGNS["dense"], np.random.default_rng(5))
    points = studies.MODELS["view"](study)
    items = [f"i{number:04}" for number in range(len(points))]
    answers = pl.DataFrame({"model": "m", "item": items, "point": points})
    found = pv.alignment(study.ratings, answers, by="g", **{**QUICK, "permutations": 199})
    (claim,) = (one for one in found.statements() if one.claim and one.statistic != "stand_in")
    sections = [Section("alignment", "Alignment", "", findings=findings_of(found, "there"))]
    assert claim.text in [one.text for one in top_findings(sections) if one.said.claim]
    shy = pv.alignment(study.ratings, answers, by="g", **{**QUICK, "permutations": 199, "correction": "none"})
    assert not any(one.claim for one in shy.statements() if one.statistic != "stand_in")


def test_where_assignment_depends_on_the_group_nothing_is_claimed() -> None:
    made = designs.chosen(np.random.default_rng(4))
    ratings = made.ratings
    means = (
        ratings.to_frame().join(ratings.raters, on="rater").filter(a="a1").group_by("item").agg(pl.col("score").mean())
    )
    answers = means.sort("item").select(model=pl.lit("m"), item="item", point=pl.col("score").round().cast(pl.Int64))
    found = pv.alignment(ratings, answers, by="a", **{**QUICK, "permutations": 199})
    assert not any(one.claim for one in found.statements() if one.statistic != "stand_in")
    assert found.closest()["p_value"].is_not_null().all()
    (why,) = (one for one in found.statements() if one.statistic == "design")
    assert why.text.startswith("No difference by a is claimed: who rated what depends on it")


def test_raters_who_saw_the_same_items_are_shuffled_among_each_other() -> None:
    made = designs.batches(np.random.default_rng(4))
    items = [f"i{number:04}" for number in range(100)]
    answers = pl.DataFrame({"model": "m", "item": items, "point": [2, 1] * 50})
    found = pv.alignment(made.ratings, answers, by="a", **{**QUICK, "permutations": 99})
    assert found.settings["design"]["kind"] == "blocks"
    (none,) = (one for one in found.statements() if one.statistic == "closest_gap" and one.weight == 2.0)
    assert none.rests_on.startswith("raters shuffled within 2 blocks of those who saw the same items")


def test_groups_without_an_item_in_common_are_not_compared() -> None:
    votes = [(f"i{i}", f"{g}{r}", (i + r) % 3) for g, items in (("a", range(12)), ("b", range(12, 24))) for i in items
             for r in range(5)]  # fmt: skip
    raters = pl.DataFrame({"rater": [f"{g}{r}" for g in "ab" for r in range(5)], "g": ["a"] * 5 + ["b"] * 5})
    frame = pl.DataFrame(votes, schema=["item", "rater", "score"], orient="row")
    ratings = pv.Ratings.from_frame(frame, scale=pv.Scale.range(0, 2), raters=raters)
    answers = pl.DataFrame({"model": ["m"] * 12, "item": [f"i{i}" for i in range(12)], "point": [0, 1, 2] * 4})
    found = pv.alignment(ratings, answers, by="g", permutations=19, bootstrap=20, subsamples=5)
    assert found.closest().height == 0
    assert found.contrasts().select("difference", "n_items").row(0) == (None, 0)
    assert "No two groups of g have 10 answered items in common, so none is called the closest." in found.findings()


def test_modes_decide_where_the_smallest_group_has_votes_enough() -> None:
    dense, sparse = (studies.Study.of(studies.DESIGNS[name], np.random.default_rng(1)).ratings
                     for name in ("dense", "sparse"))  # fmt: skip
    assert decided_by(dense, Axis.of(dense, "g"), "auto") == "ada_met"
    assert decided_by(sparse, Axis.of(sparse, "g"), "auto") == "voter_distance"
    assert decided_by(sparse, Axis.of(sparse, "g"), "ada_met") == "ada_met"


def test_corrected_over_voices_by_the_largest_deviation() -> None:
    """A lead is as sure as the least sure of its differences; step-down max-T over voices by its definition."""
    study, n = Sparse.of(2), 9
    asked = {**QUICK, "permutations": n, "max_permutations": n}
    found = pv.alignment(study.ratings, study.answers, by="g", closest_by="ada_met", within=None, **asked)
    draws: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    for group_of in (*relabelled(study, n), study.group_of):
        for model in "mn":
            for pair, one in study.twins(model, "ada_met", group_of).items():
                draws[model, *pair].append(np.nan if one is None else float(one.farther))
    z, tails = {}, {}
    for key, values in draws.items():
        nulls, value = np.array(values[:-1]), values[-1]
        if not np.isnan(value):
            z[key] = abs((np.array(values) - np.nanmean(values)) / np.nanstd(values))
            tail = min(np.count_nonzero(nulls <= value + 1e-12), np.count_nonzero(nulls >= value - 1e-12))
            tails[key] = min(1.0, 2 * (tail + 1) / (np.count_nonzero(~np.isnan(nulls)) + 1))
    rows = {row.model: row for row in found.rows if row.kind == "closest"}
    assert rows
    least = {  # the other group that the closest one differs from least surely
        model: max((key for key in z if key[0] == model and row.group in key[1:]), key=lambda key: tails[key])
        for model, row in rows.items()
    }
    before = 0.0
    order = sorted(least, key=lambda model: -z[least[model]][-1])
    for at, model in enumerate(order):
        largest = np.nanmax([z[least[other]][:-1] for other in order[at:]], axis=0)
        before = max(before, (np.count_nonzero(largest >= z[least[model]][-1] * (1 - 1e-12)) + 1) / (n + 1))
        row = rows[model]
        assert row.p_adjusted == pytest.approx(max(row.p_value or 0.0, tails[least[model]], before))


def test_groups_that_nobody_can_be_exchanged_with_have_no_p() -> None:
    groups = {"g": ["a"] * 10 + ["b"] * 10, "batch": ["1"] * 10 + ["2"] * 10}
    made = designs.built(np.random.default_rng(2), np.ones((20, 30), bool), groups, ["g"])
    answers = pl.DataFrame({"model": "m", "item": [f"i{number:04}" for number in range(30)], "point": [0, 4, 2] * 10})
    found = pv.alignment(made.ratings, answers, by="g", within="batch", **{**QUICK, "permutations": 19})
    (row,) = (row for row in found.rows if row.kind == "closest")
    assert np.isnan(row.p_value or 0.0)
    assert row.claim is None
    assert row.note.startswith("no rater of another group shares its stratum")
    assert not any(one.claim for one in found.statements())
