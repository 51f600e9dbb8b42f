"""Weighted raters in responsiveness, soft scores, items and aggregation, against repeated raters and slow twins."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import plurivox as pv
from plurivox.domain.axis import Axis
from plurivox.engine.draws import Draws
from plurivox.infer.grouping import Grouping
from plurivox.lenses.responsiveness.references import resolve
from plurivox.lenses.responsiveness.sums import Responses
from support import run_cli
from test_weighted_lenses import ASKED, GROUPS, REAL, WHOLE, rows, same, study, values

MAIN = ("mpa", "mpa_raw", "wra", "hm", "auroc", "kendall_tau_b", "spearman_rho", "average_precision")
EXPERTS = pl.DataFrame(
    [(i, f"e{k}", int(np.random.default_rng([i, k]).random() < 0.1 + 0.06 * i)) for i in range(14) for k in range(3)],
    schema=["item", "rater", "score"], orient="row",
)  # fmt: skip


def experts() -> pv.Ratings:
    return pv.Ratings.from_frame(EXPERTS, scale="0:1")


# Responsiveness -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("score", ["plurality", "median", "mean"])
@pytest.mark.parametrize("ties", ["share", "lowest"])
@pytest.mark.parametrize("reference", ["crowd", "experts", "group"])
def test_whole_weights_against_repeated_raters_in_responsiveness(reference: str, ties: str, score: str) -> None:
    against: Any = {"crowd": "crowd", "experts": experts(), "group": {"h": "x"}}[reference]
    asked = {**ASKED, "ties": ties, "group_score": score}
    weighted = pv.responsiveness(study(rows(), weights=WHOLE), against, ["g", "h"], **asked)
    repeated = pv.responsiveness(study(rows(), WHOLE), against, ["g", "h"], **asked)
    wanted = {key for key, value in values(repeated).items() if not np.isnan(value)}
    assert len(wanted) > 20
    first, second = ({key: found[key] for key in wanted} for found in (values(weighted), values(repeated)))
    same(first, second, MAIN)


def test_raters_one_by_one_against_a_weighted_crowd() -> None:
    """A rater's copies are never their own reference, so that a twin counts the others' weights item by item."""
    found = pv.responsiveness(study(rows(), weights=REAL), by="rater", **ASKED)
    given = rows()
    for r in (0, 3, 7):
        table = np.zeros((4, 4))
        for i, q, s in given:
            if q == r:
                for j, other, t in given:
                    if j == i and other != r:
                        table[s, t] += REAL[other]
        each = [pv.statistics.wra(table[:, b:].sum(axis=1), table[:, :b].sum(axis=1)) for b in (1, 2, 3)]
        assert found.value("rater", f"{r:02}-0", "wra") == pytest.approx(np.mean(each), abs=1e-12)


def test_shuffles_move_weights_with_groups_in_responsiveness() -> None:
    ratings = study(rows(), weights=REAL)
    axis = Axis.of(ratings, "g", min_group_size=1)
    reference = resolve(ratings, "crowd")
    found = Responses.of(ratings, axis.codes, len(axis), reference)
    draws = Draws.permuted(4, 9)
    grouping = Grouping.of(ratings, axis.codes, len(axis))
    from plurivox.engine.pool import Running

    null = found.null(draws, Running())
    for d, (labels, weights) in enumerate(zip(grouping.labels(draws), grouping.rater_weights(draws), strict=True)):
        moved = ratings.with_known(weights=np.array(weights))
        alone = Responses.of(moved, labels.copy(), len(axis), resolve(moved, "crowd"))
        assert null[d] == pytest.approx(alone.observed()[1], abs=1e-12, nan_ok=True)


# Aggregation ----------------------------------------------------------------------------------------------------------
def aggregated(ratings: pv.Ratings, **asked: Any) -> pv.Aggregation:
    methods = ["plurality", "mean", "posterior", "ordinal"]
    return pv.aggregate(ratings, ["g", "h"], methods=methods, **{**ASKED, **asked})


def test_whole_weights_against_repeated_raters_in_aggregation() -> None:
    weighted, repeated = aggregated(study(rows(), weights=WHOLE)), aggregated(study(rows(), WHOLE))
    own = [name for name in repeated.labels().columns if name.startswith(("plurality", "mean", "posterior"))]
    for name in own:
        first, second = weighted.labels()[name], repeated.labels()[name]
        if first.dtype == pl.Float64:
            np.testing.assert_allclose(first, second, atol=1e-12)
        else:
            assert first.equals(second), name
    for method in ("plurality", "mean", "posterior"):
        for group in "abc":
            for statistic in ("overruled", "label_shift"):  # a departure tells copies of a rater from other raters
                value = weighted.value("g", group, statistic, method=method)
                assert value == pytest.approx(repeated.value("g", group, statistic, method=method), abs=1e-12)
    alike = aggregated(study(rows()))
    assert weighted.labels()["ordinal"].equals(alike.labels()["ordinal"])
    assert weighted.labels()["plurality_unweighted"].equals(alike.labels()["plurality"].alias("plurality_unweighted"))


def test_weighted_departures_against_a_twin() -> None:
    given, found = rows(), aggregated(study(rows(), weights=REAL))
    labels = {int(row["item"]): row for row in found.labels().iter_rows(named=True)}
    for method in ("plurality", "mean", "posterior", "ordinal"):
        parts = []
        for i, label in labels.items():
            own = np.array([(s, REAL[r]) for j, r, s in given if j == i and GROUPS[r] == "b"])
            if len(own) < 2:
                continue
            x, w = own.T
            mean, total, square = (w * x).sum() / w.sum(), w.sum(), (w * w).sum()
            variance = (w * (x - mean) ** 2).sum() / (total - square / total)
            mass = sum(REAL[r] for j, r, _ in given if j == i)
            part = {"mean": 1 / mass, "posterior": 1 / (mass + 4)}.get(method, 0.0)
            a = label.get(f"{method}_score", label[method])
            parts.append((mean - a) ** 2 - variance * (square / total**2 - 2 * square / total * part))
        d = np.mean(parts)
        assert found.value("g", "b", "departure", method=method) == pytest.approx(
            np.sign(d) * np.sqrt(abs(d)), abs=1e-10
        )


def test_shuffles_move_weights_and_weighted_labels_in_aggregation() -> None:
    ratings = study(rows(), weights=REAL)
    axis = Axis.of(ratings, "g", min_group_size=1)
    draws, grouping = Draws.permuted(9, 0), Grouping.of(ratings, axis.codes, len(axis))
    found = aggregated(ratings, permutations=9, max_permutations=9, within=None)
    each = []
    for labels, weights in zip(grouping.labels(draws), grouping.rater_weights(draws), strict=True):
        raters = ratings.raters.with_columns(g=pl.Series([axis.groups[g] for g in labels]))
        moved = ratings.with_known(weights=np.array(weights), raters=raters)
        each.append(
            [aggregated(moved).value("g", "b", "departure", method=m) for m in ("plurality", "mean", "posterior")]
        )
    for at, method in enumerate(("plurality", "mean", "posterior")):
        null = found.null("g", "b", "departure", method=method)
        assert null == pytest.approx(np.sort([row[at] for row in each]), abs=1e-10)


# Soft scores ----------------------------------------------------------------------------------------------------------
def predicted() -> pl.DataFrame:
    rng = np.random.default_rng(3)
    shares = rng.dirichlet(np.ones(4), size=(2, 14))
    return pl.concat([
        pl.DataFrame({"model": [name] * 14, "item": list(range(14)), **{str(c): own[:, c] for c in range(4)}})
        for name, own in zip("ab", shares, strict=True)
    ])  # fmt: skip


SOFT: dict[str, Any] = {"bootstrap": 0, "permutations": 0, "min_group_size": 1, "curve": False}


@pytest.mark.filterwarnings("ignore::plurivox.base.errors.SoftScoresWarning")
@pytest.mark.parametrize("prior", [1.0, [0.5, 1.0, 2.0, 1.0]])
def test_whole_weights_against_repeated_raters_in_soft_scores(prior: Any) -> None:
    """A rating counts as often as its rater's weight, in shares and beside the prior."""
    given = {"prior": prior, "by": ["g"], **SOFT}
    weighted = pv.soft_scores(study(rows(), weights=WHOLE), predicted(), **given).to_frame()
    repeated = pv.soft_scores(study(rows(), WHOLE), predicted(), **given).to_frame()
    keys = ["model", "axis", "group", "bin", "statistic"]
    both = weighted.join(repeated, on=keys, how="inner").filter(pl.col("bin") == "all")
    assert both.height > 60
    np.testing.assert_allclose(both["value"], both["value_right"], rtol=1e-10, atol=1e-12)
    alike = pv.soft_scores(study(rows()), predicted(), **given).to_frame()
    beside = weighted.join(alike, on=keys, how="inner")
    np.testing.assert_allclose(beside["unweighted"], beside["value_right"], rtol=1e-10, atol=1e-12)
    assert beside["n_ratings"].equals(beside["n_ratings_right"].alias("n_ratings"))


# One item, and items --------------------------------------------------------------------------------------------------
ONE: dict[str, Any] = {"by": ["g", "h"], "permutations": 0, "min_group_size": 1}


@pytest.mark.parametrize("item", [0, 3])
def test_whole_weights_against_repeated_raters_of_one_item(item: int) -> None:
    each = (study(rows(), weights=WHOLE), study(rows(), WHOLE), study(rows()))
    weighted, repeated, alike = (pv.item_view(one, item, **ONE) for one in each)
    for name in ("plurality", "mean", "difference", "value"):
        first, second = weighted.table("groups")[name], repeated.table("groups")[name]
        if first.dtype == pl.String:
            assert first.equals(second)
        else:
            np.testing.assert_allclose(first.fill_null(-9), second.fill_null(-9), atol=1e-12)
    np.testing.assert_allclose(weighted.table("distribution")["share"], repeated.table("distribution")["share"])
    assert weighted.table("groups")["n_ratings"].equals(alike.table("groups")["n_ratings"])
    np.testing.assert_allclose(weighted.table("groups")["unweighted_mean"], alike.table("groups")["mean"])
    np.testing.assert_allclose(weighted.table("distribution")["unweighted"], alike.table("distribution")["share"])


def test_whole_weights_against_repeated_raters_in_the_list_of_items() -> None:
    given: dict[str, Any] = {"by": "g", "permutations": 0, "min_group_size": 1, "prior": 1.0}
    weighted, repeated = pv.items(study(rows(), weights=WHOLE), **given), pv.items(study(rows(), WHOLE), **given)
    alike = pv.items(study(rows()), **given)
    first, second, plain = (found.uncertain.sort("item") for found in (weighted, repeated, alike))
    for name in ("mean", "expected_mean", "ci_low", "ci_high", "prior_share", "information_gain", "entropy"):
        np.testing.assert_allclose(first[name], second[name], atol=1e-9)
    more = [frame["ratings_needed"] - frame["n_ratings"] for frame in (first, second)]
    assert more[0].to_list() == more[1].to_list()
    assert first["n_ratings"].equals(plain["n_ratings"])
    np.testing.assert_allclose(first["unweighted_mean"], plain["mean"])
    shares = [found.distributions() for found in (weighted, repeated, alike)]
    for name in ("probability", "ci_low", "ci_high"):
        np.testing.assert_allclose(shares[0][name], shares[1][name], atol=1e-12)
    np.testing.assert_allclose(shares[0]["unweighted"], shares[2]["probability"], atol=1e-12)
    assert weighted.divided.equals(alike.divided)


def test_real_weights_in_the_list_of_items() -> None:
    found = pv.items(study(rows(), weights=REAL), permutations=0, prior=[0.5, 1.0, 1.5, 1.0]).uncertain
    for row in found.iter_rows(named=True):
        own = np.array([(s, REAL[r]) for i, r, s in rows() if i == int(row["item"])])
        assert row["mean"] == pytest.approx((own[:, 0] * own[:, 1]).sum() / own[:, 1].sum(), abs=1e-12)
        assert row["ci_low"] < row["expected_mean"] < row["ci_high"]


def test_single_items_are_not_weighted_where_that_would_reveal_a_group() -> None:
    plain = study(rows())
    raters = plain.raters.with_columns(k=pl.Series(["few"] * 2 + ["many"] * 10))
    ratings = plain.with_known(raters=raters).weighted({"k": {"few": 0.4, "many": 0.6}})
    found = pv.items(ratings, permutations=0)
    assert "unweighted_mean" not in found.uncertain.columns
    assert any("would reveal what a withheld group said" in text for text in found.findings())
    view = pv.item_view(ratings, 0, permutations=0)
    assert view.table("use").columns == pv.item_view(plain, 0, permutations=0).table("use").columns
    assert any("would reveal what a withheld group said" in text for text in view.findings())


# Alignment ------------------------------------------------------------------------------------------------------------
def answered() -> pl.DataFrame:
    rng = np.random.default_rng(4)
    made = [(name, i, int(rng.integers(4)) if rng.random() < 0.9 else None) for name in "ab" for i in range(14)]
    frame = pl.DataFrame(made, schema=["model", "item", "point"], orient="row")
    states = pl.when(pl.col("point").is_null()).then(pl.lit("refused")).otherwise(pl.lit("answered"))
    return frame.with_columns(state=states)


NO_DRAWS: dict[str, Any] = {"bootstrap": 0, "permutations": 0, "subsamples": 0, "min_group_size": 1}
DISTANCES = ("ada_met", "ada_met_answered", "voter_distance", "expected_emd", "xrr")


def aligned_values(found: pv.Alignment) -> dict[tuple[str, ...], float]:
    return {
        (row.model, row.axis, row.group, row.statistic): row.value for row in found.rows if row.statistic in DISTANCES
    }


def test_whole_weights_against_repeated_raters_in_alignment() -> None:
    weighted, repeated, alike = (
        pv.alignment(one, answered(), ["g", "h"], **NO_DRAWS)
        for one in (study(rows(), weights=WHOLE), study(rows(), WHOLE), study(rows()))
    )
    first, second = aligned_values(weighted), aligned_values(repeated)
    both = [key for key in first if key[0] in "ab"]  # which constant is the reference may differ
    assert len(both) > 50
    np.testing.assert_allclose([first[key] for key in both], [second[key] for key in both], rtol=1e-8, atol=1e-9)
    beside: dict[tuple[str, ...], float] = {
        (r.model, r.axis, r.group, r.statistic): r.unweighted for r in weighted.rows if r.unweighted is not None
    }
    plain = aligned_values(alike)
    np.testing.assert_allclose([beside[key] for key in both], [plain[key] for key in both], rtol=1e-9, atol=1e-9)
    pairs = ["model", "axis", "group", "other"]
    a, b = (found.contrasts() for found in (weighted, repeated))
    numbers = [
        name for name, kind in a.schema.items() if kind == pl.Float64 and name in ("farther", "difference", "value")
    ]
    joined = a.join(b, on=[name for name in pairs if name in a.columns], how="inner")
    assert numbers
    for name in numbers:
        np.testing.assert_allclose(joined[name], joined[f"{name}_right"], atol=1e-8)


def test_shuffles_move_weights_with_groups_in_alignment() -> None:
    ratings = study(rows(), weights=[round(w * 1024) / 1024 for w in REAL])
    from plurivox.domain.answers import Answers
    from plurivox.engine.pool import Running
    from plurivox.lenses.alignment.matching import match
    from plurivox.lenses.alignment.sums import Aligner, GroupPairs

    axis = Axis.of(ratings, "g", min_group_size=1)
    grouping, draws = Grouping.of(ratings, axis.codes, len(axis)), Draws.permuted(3, 5)
    given = Answers.from_frame(answered(), ratings.scale)
    pairs = GroupPairs.of(axis)

    def farther(one: pv.Ratings, own: Grouping, some: Draws) -> Any:
        aligner = Aligner(match(one, given, None), np.ones(4), 0, Running())
        return aligner.shuffled(own, pairs, some, Running(), to_voters=True)

    null = farther(ratings, grouping, draws)
    for d, (labels, weights) in enumerate(zip(grouping.labels(draws), grouping.rater_weights(draws), strict=True)):
        moved = ratings.with_known(weights=np.array(weights))
        alone = farther(moved, Grouping.of(moved, labels.copy(), len(axis)), Draws.observed())
        assert null[d] == pytest.approx(alone[0], abs=1e-12)


# The command line -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("command", ["responsiveness", "items", "item 3", "aggregate", "soft", "align"])
def test_every_weighted_command_says_what_weights_come_to(command: str, tmp_path: Path) -> None:
    ratings = study(rows())
    ratings.to_frame().write_csv(tmp_path / "ratings.csv")
    ratings.raters.write_csv(tmp_path / "raters.csv")
    predicted().write_csv(tmp_path / "predictions.csv")
    answered().write_csv(tmp_path / "answers.csv")
    (tmp_path / "population.csv").write_text("attribute,value,share\nh,x,0.7\nh,y,0.3\n")
    name, *more = command.split()
    beside = {"soft": [tmp_path / "predictions.csv"], "align": [tmp_path / "answers.csv"]}.get(name, more)
    name = {"soft": "score"}.get(name, name)
    done = run_cli(
        name, tmp_path / "ratings.csv", *beside, "--raters", tmp_path / "raters.csv", "--scale", "0:3", "--by", "g",
        "--weights", tmp_path / "population.csv", "--permutations", 9, "--min-group-size", 1,
    )  # fmt: skip
    assert done.code == 0, done.err
    assert "Raters are weighted by h" in done.words
    assert "does not use weights" not in done.words
