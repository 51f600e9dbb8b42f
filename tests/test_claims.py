"""When a value becomes a sentence: entangled designs, undecided values, claims held within other attributes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

import plurivox as pv
import reference as twin
from plurivox.base.wording import named
from plurivox.infer.claims import Claimed, group_statements
from plurivox.infer.result import Row, Statement

CLAIMS = ("irr", "xrr", "gai", "view_correlation")


# Designs in which who rated what depends on the group -----------------------------------------------------------------
def two_pools(mixed: float) -> pv.Ratings:
    """Return raters who see 15 of the 40 items of one of two pools; groups go to different pools unless mixed."""
    rng = np.random.default_rng(3)
    rows, raters = [], []
    severity = np.concatenate([rng.normal(0, 0.2, 40), rng.normal(0, 2, 40)])  # raters agree more on the second pool
    for rater in range(80):
        group = rater % 2
        pool = group if rng.random() >= mixed else rng.integers(2)
        items = rng.choice(40, 15, replace=False) + 40 * pool
        scores = np.clip(np.round(2 + severity[items] + rng.normal(size=15)), 0, 4).astype(int)
        rows += [(item, rater, score) for item, score in zip(items.tolist(), scores.tolist(), strict=True)]
        raters.append((rater, "ab"[group], f"wave {pool}"))
    frame = pl.DataFrame(rows, schema=["item", "rater", "score"], orient="row")
    known = pl.DataFrame(raters, schema=["rater", "g", "wave"], orient="row")
    return pv.Ratings.from_frame(frame, scale=pv.Scale.range(0, 4), raters=known)


@pytest.mark.parametrize("lens", [pv.cohesion, pv.responsiveness])
def test_an_entangled_axis_makes_no_claim_and_names_the_way_out(lens: Any) -> None:
    """Nobody differs but in what they saw: values and p stay, and the sentence says why they are no claim."""
    asked: dict[str, Any] = {"by": "g", "permutations": 199, "max_permutations": 199, "interval": "none"}
    found, held = lens(two_pools(0.3), **asked), lens(two_pools(0.3), **asked, within="wave")
    design = found.settings["design"]
    assert (design["kind"], design["axes"]["g"]["exposure"], design["axes"]["g"]["entangled"]) == ("all", 1 / 200, True)
    tested = [row for row in found.rows if row.kind == "group"]
    assert all(row.p_value is not None for row in tested)
    assert not any(row.claim for row in found.rows)
    if lens is pv.cohesion:  # the rows survive correction, so that the design alone keeps them from being claims
        assert any(row.survives for row in found.rows if row.statistic == "irr" and row.axis == "g")
        assert not any(row.survives for row in held.rows if row.statistic in CLAIMS and row.axis == "g")
    said = found.statements()
    assert not any(one.claim or one.text.startswith("Before correction only") for one in said)
    (why,) = [one for one in said if one.statistic == "design"]
    assert why.axis == "g"
    told = "No difference by g is claimed: who rated what depends on it (which items raters saw, p = "
    assert why.text.startswith(told)
    assert "name that attribute with --within" in why.text
    assert not held.settings["design"]["axes"]["g"]["entangled"]
    assert not any(one.statistic == "design" for one in held.statements())


# Undecided, and nothing -----------------------------------------------------------------------------------------------
def value(group: str, statistic: str = "gai", **more: Any) -> Row:
    known: dict[str, Any] = {"direction": "above", "null_median": 1.0, "n_permutations": 999, "claim": False}
    return Row("group", "g", group, statistic, 1.2, **{**known, **more})


def said_of(
    *rows: Row, held: tuple[Row, ...] = (), axes: dict[str, Any] | None = None, question: str = "all"
) -> list[Statement]:
    design = {"kind": "all", "blocks": 1, "raters_fixed": 0, "within": [], "axes": axes or {}}
    settings = {"permutations": 999, "correction": "maxt", "resample": "both", "design": design}
    result = pv.Cohesion(rows, {"g": 0}, {"g": 0}, (), settings)
    result = result if question == "all" else result.of_question(question)

    def claimed(own: Sequence[Row]) -> Claimed:
        text = f"{own[0].group} claimed by {', '.join(row.statistic for row in own)}."
        return Claimed(text, own[0], "stand out", "by much")

    return group_statements(result, claimed, lambda row: f"{row.group} notable.", held)


def test_what_is_undecided_is_told_and_is_no_claim() -> None:
    """With 999 shuffles .045 has a standard error of .0066."""
    said = said_of(value("a", p_value=0.002, p_adjusted=0.045), value("b", p_value=0.5, p_adjusted=0.9))
    (undecided,) = [one for one in said if one.text.startswith("Undecided after 999 shuffles: GAI of g: a,")]
    assert not undecided.claim
    assert undecided.p == 0.045
    assert any(one.text.startswith("No difference between groups is certain: of 2 groups") for one in said)
    sure = said_of(value("a", p_value=0.2, p_adjusted=0.3))
    assert not any("Undecided" in one.text for one in sure)
    blocked = said_of(
        value("a", p_value=0.002, p_adjusted=0.045), axes={"g": {"exposure": 0.001, "workload": 0.5, "entangled": True}}
    )
    assert not any("Undecided" in one.text for one in blocked)


def test_claims_come_first_and_rest_on_what_was_done() -> None:
    first = value("b", p_value=0.002, p_adjusted=0.002, claim=True)
    second = value("b", "irr", p_value=0.004, p_adjusted=0.01, claim=True)
    other = value("a", p_value=0.004, p_adjusted=0.03, claim=True)
    notable = value("c", p_value=0.03, p_adjusted=0.2)
    said = said_of(other, second, first, notable)
    assert [(one.text, one.claim, one.p) for one in said] == [
        ("b claimed by gai, irr.", True, 0.002), ("a claimed by gai.", True, 0.03), ("c notable.", False, 0.2),
    ]  # fmt: skip
    assert said[0].rests_on == (
        "all raters shuffled, 999 times; corrected over 4 values by the largest deviation in each shuffle (max-T)"
    )
    assert [one.weight for one in said] == sorted((one.weight for one in said), reverse=True)
    assert [(one.subject, one.short, one.amount, one.subset, one.standing) for one in said] == [
        ("g: b", "stand out", "by much", "all", ""), ("g: a", "stand out", "by much", "all", ""),
        ("", "", "", "all", "weak"),
    ]  # fmt: skip
    part = said_of(first, replace(first, subset="bias"))  # a claim on a part of the items names it
    assert [(one.subject, one.subset) for one in part] == [("g: b", "all"), ("g: b", "bias")]
    # One of several questions says the same as alone.
    assert (said_of(first, notable, question="Q1"), len(said)) == (said_of(first, notable), 3)


# Attributes that travel together --------------------------------------------------------------------------------------
def test_a_claim_says_within_what_it_holds() -> None:
    row = value("a", p_value=0.002, p_adjusted=0.002, claim=True)
    holds = replace(row, kind="held", other="age", claim=None)
    lost = replace(holds, other="city", p_adjusted=0.2)
    turned = replace(holds, other="job", direction="below")
    alone = replace(holds, other="wave", p_value=math.nan, p_adjusted=math.nan)
    elsewhere = replace(holds, group="b", other="time")
    (said,) = said_of(row, held=(holds, lost, turned, alone, elsewhere))
    assert said.text == (
        "a claimed by gai. This also holds within age. It cannot be told apart from city, job or wave here."
    )
    (silent,) = said_of(row)
    assert silent.text == "a claimed by gai."


def test_claims_are_tested_again_within_the_other_attributes() -> None:
    """Within a copy of itself nobody can be exchanged; within one at random p is that of strata by it."""
    made = pv.simulate(
        n_items=60, n_raters=48, attributes={"g": {"a": 0.5, "b": 0.5}}, effects=[pv.Effect({"g": "a"}, shared_sd=1.5)],
        models=(), trained=0, seed=1,
    )  # fmt: skip
    rng = np.random.default_rng(0)
    raters = made.raters.with_columns(
        copy=pl.col("g").replace({"a": "first", "b": "second"}), coin=pl.Series(rng.choice(["heads", "tails"], 48))
    )
    ratings = pv.Ratings.from_frame(made.ratings_frame, scale=made.scale, raters=raters)
    asked: dict[str, Any] = {"permutations": 199, "max_permutations": 199, "interval": "none"}
    found = pv.cohesion(ratings, ["g", "copy", "coin"], **asked)
    within = pv.cohesion(ratings, "g", within="coin", **asked)
    held = [row for row in found.held_rows if row.axis == "g"]
    claimed = [row for row in found.rows if row.claim and row.axis == "g" and row.kind == "group"]
    assert claimed
    assert len(held) == 2 * len(claimed)
    for row in held:
        assert row.kind == "held"
        if row.other == "copy":
            assert math.isnan(row.p_value or 0)
            assert row.note == "no rater of another group shares its copy, so there is nobody to exchange it with"
        else:
            again = within.row("g", row.group, row.statistic)
            assert (row.p_value, row.direction, row.null_median) == (again.p_value, again.direction, again.null_median)
            assert row.p_adjusted == row.p_value  # Holm over those that are defined, which is one
    said = [one for one in found.statements() if one.claim and one.axis == "g" and one.statistic != "dsi"]
    assert said
    for one in said:
        assert one.text.endswith(" This also holds within coin. It cannot be told apart from copy here.")


# One family over axes -------------------------------------------------------------------------------------------------
def two_axes(seed: int = 4) -> pv.Ratings:
    made = pv.simulate(
        n_items=40, n_raters=40, attributes={"g": {"a": 0.5, "b": 0.3, "c": 0.2}, "h": {"u": 0.4, "v": 0.6}},
        effects=[pv.Effect({"g": "c"}, shared_sd=0.9)], models=(), trained=0, seed=seed,
    )  # fmt: skip
    raters = made.raters.with_columns(pl.when(pl.int_range(pl.len()) % 7 != 3).then("h"))
    return pv.Ratings.from_frame(made.ratings_frame, scale=made.scale, raters=raters)


def test_claims_of_cohesion_are_one_family_over_axes_and_statistics() -> None:
    """By the literal algorithm, from the draws that axes share although one of them lacks raters."""
    found = pv.cohesion(two_axes(), ["g", "h"], permutations=59, max_permutations=59, interval="none", min_group_size=2)
    families: dict[str, list[Row]] = {}
    for row in (row for row in found.rows if row.kind == "group"):
        families.setdefault("claims" if row.statistic in CLAIMS else row.statistic, []).append(row)
    assert len(families["claims"]) == 4 * 5
    for rows in families.values():
        null = [found.null(row.axis, row.group, row.statistic).tolist() for row in rows]
        adjusted = twin.westfall_young([row.value for row in rows], list(zip(*null, strict=True)))
        for row, p in zip(rows, adjusted, strict=True):
            smallest = row.p_value if math.isnan(p) else max(p, row.p_value or 0.0)
            assert row.p_adjusted == pytest.approx(smallest, nan_ok=True)


def test_the_axis_that_divides_is_tested_against_the_largest_of_all_axes() -> None:
    found = pv.cohesion(two_axes(), ["g", "h"], permutations=59, max_permutations=59, interval="none", min_group_size=2)
    rows = [row for row in found.rows if row.kind == "group" and row.statistic == "gai"]
    z = np.array([twin.in_deviations([row.value, *found.null(row.axis, row.group, "gai").tolist()]) for row in rows])
    largest = np.nanmax(z[:, 1:], axis=0)
    for axis in ("g", "h"):
        own = max(z[k, 0] for k, row in enumerate(rows) if row.axis == axis)
        dsi = next(row for row in found.rows if row.axis == axis and row.statistic == "dsi")
        assert dsi.p_adjusted == pytest.approx(((largest >= own - 1e-9).sum() + 1) / 60)
        assert dsi.value == max(row.value for row in rows if row.axis == axis)


def test_more_shuffles_are_the_same_whatever_the_threads() -> None:
    """The p-values of this study are close to .05, so that shuffles are doubled; the first ones stay what they were."""
    asked: dict[str, Any] = {"permutations": 50, "interval": "none", "min_group_size": 2, "seed": 1}
    one = pv.cohesion(two_axes(), ["g", "h"], threads=1, **asked)
    made = {row.n_permutations for row in one.rows if row.n_permutations}
    assert len(made) == 1
    assert made < {100, 200, 400, 500}
    assert pv.cohesion(two_axes(), ["g", "h"], threads=3, **asked).to_json() == one.to_json()
    few = pv.cohesion(two_axes(), ["g", "h"], max_permutations=50, **asked)
    assert np.array_equal(few.null("g", "a", "gai"), one.null("g", "a", "gai")[:50], equal_nan=True)


# Names ----------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("axis", "group", "name"),
    [
        ("gender", "Man", "gender: Man"),
        ("age", "50-54", "age 50-54"),
        ("gender × age", "Man × 18-29", "gender: Man × age 18-29"),
        ("a × b", "an × odd × name", "a × b: an × odd × name"),
        ("all", "all", "all raters"),
        ("race", "", "race: "),
    ],
)
def test_groups_are_named_with_their_attribute(axis: str, group: str, name: str) -> None:
    assert named(axis, group) == name


def test_a_statement_is_about_the_value_that_it_speaks_of() -> None:
    """With a strong view of its own a group has claims by several values; the record names the one of the sentence."""
    given: dict[str, Any] = {"attributes": {"g": {"a": 0.3, "b": 0.7}}, "models": (), "trained": 0, "seed": 2}
    study = pv.simulate(n_items=60, n_raters=60, effects=[pv.Effect({"g": "a"}, shared_sd=2.0)], **given)
    found = pv.cohesion(study.ratings, "g", permutations=199)
    (said,) = (one for one in found.statements() if one.claim and one.group == "a" and one.statistic != "dsi")
    assert "have a view of their own: view correlation" in said.text
    own = found.row("g", "a", "view_correlation")
    assert (said.statistic, said.p) == ("view_correlation", own.p_adjusted)
