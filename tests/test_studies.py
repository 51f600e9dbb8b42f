"""Studies of the measures: responsiveness against the values that DEFINITIONS expects, soft scores against formulas."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import plurivox as pv
from plurivox.base.errors import InputError, SelectionError

EXPECTED = {
    "normal": {"mpa": 0.90, "wra": 0.87, "auroc": 0.93, "kendall_tau_b": 0.66},
    "downward_shift": {"mpa": 0.91, "wra": 0.78, "auroc": 0.87, "kendall_tau_b": 0.59},
    "conservative": {"mpa": 0.53, "wra": 0.83, "auroc": 0.90, "kendall_tau_b": 0.75},
}


@pytest.fixture(scope="module")
def found() -> pv.studies.ResponsivenessStudy:
    return pv.studies.responsiveness(tops=[4, 24], repeats=10)


@pytest.mark.parametrize("pattern", EXPECTED)
def test_means_are_those_expected(found: pv.studies.ResponsivenessStudy, pattern: str) -> None:
    for statistic, value in EXPECTED[pattern].items():
        assert found.value(pattern, statistic) == pytest.approx(value, abs=0.02)


def test_directions_and_margins(found: pv.studies.ResponsivenessStudy) -> None:
    """Too low scores cost WRA and hardly MPA; random ones cost MPA by far and WRA little."""

    def change(pattern: str, statistic: str, top: int = 4) -> float:
        return found.value(pattern, statistic, top) - found.value("normal", statistic, top)

    assert abs(change("downward_shift", "mpa")) < 0.03
    assert change("downward_shift", "wra") < -0.07
    assert change("downward_shift", "kendall_tau_b") < -0.05
    assert change("downward_shift", "auroc") < -0.04
    assert change("conservative", "mpa") < -0.3
    assert abs(change("conservative", "wra")) < 0.05
    assert abs(change("conservative", "auroc")) < 0.05
    assert change("conservative", "mpa", 24) < -0.6
    assert abs(change("downward_shift", "mpa", 24)) < 0.05


def test_a_shift_that_grows_with_the_scale_keeps_the_trend(found: pv.studies.ResponsivenessStudy) -> None:
    """As the paper's appendix D.3 has it; a shift by one point hardly shows on 25 points."""

    def lost(pattern: str, statistic: str, top: int) -> float:
        return found.value("normal", statistic, top) - found.value(pattern, statistic, top)

    for statistic in pv.studies.METRICS:
        assert found.value("proportional_shift", statistic) == found.value("downward_shift", statistic)
    assert lost("downward_shift", "wra", 24) < 0.02
    assert lost("proportional_shift", "wra", 24) > 0.05
    assert abs(lost("proportional_shift", "mpa", 24)) < lost("proportional_shift", "wra", 24)


def test_means_and_intervals_by_hand(found: pv.studies.ResponsivenessStudy) -> None:
    repeats = found.repeats.filter(pattern="normal", top=4, statistic="hm")["value"].to_numpy()
    row = found.to_frame().filter(pattern="normal", top=4, statistic="hm").row(0, named=True)
    half = 1.96 * repeats.std(ddof=1) / np.sqrt(10)
    assert row["n_repeats"] == 10
    assert [row["value"], row["ci_low"], row["ci_high"]] == pytest.approx(
        [repeats.mean(), repeats.mean() - half, repeats.mean() + half]
    )


def test_it_is_the_mean_over_raters_of_the_lens() -> None:
    found = pv.studies.responsiveness(
        tops=[5], patterns=["extreme"], repeats=1, n_items=80, n_raters=6, trained=4, seed=2
    )
    study = pv.simulate(
        n_items=80, n_raters=6, scale=pv.Scale.range(0, 5), styles={"extreme": 1.0}, noise_sd=0.0, trained=4, models=(),
        seed=2 * 1_000_003,
    )  # fmt: skip
    assert study.trained is not None
    lens = pv.responsiveness(study.ratings, study.trained, "rater", permutations=0, interval="none").to_frame()
    for statistic in pv.studies.METRICS:
        mean = lens.filter(axis="rater", statistic=statistic)["value"].mean()
        assert found.value("extreme", statistic, 5) == pytest.approx(mean)


def test_same_seed_same_numbers() -> None:
    first, second = (pv.studies.responsiveness(tops=[3], repeats=2, n_items=50, seed=5) for _ in range(2))
    assert first.repeats.equals(second.repeats)
    told: list[tuple[str, int, int]] = []
    pv.studies.responsiveness(tops=[3], patterns=["normal"], repeats=2, n_items=20, progress=lambda *a: told.append(a))
    assert told == [("simulating", 1, 2), ("simulating", 2, 2)]


def test_bad_requests() -> None:
    with pytest.raises(SelectionError, match="pattern 'odd' is unknown"):
        pv.studies.responsiveness(patterns=["odd"])
    with pytest.raises(InputError, match="at least 1"):
        pv.studies.responsiveness(repeats=0)
    with pytest.raises(SelectionError, match="no mpa of 'central'"):
        pv.studies.responsiveness(tops=[2], repeats=1, n_items=30).value("central", "mpa", 2)


def test_the_figure_has_the_numbers(found: pv.studies.ResponsivenessStudy, tmp_path: Path) -> None:
    pytest.importorskip("vl_convert")
    chart = pv.plots.responsiveness_study(found)
    spec = chart.to_dict()
    (data,) = spec["datasets"].values()
    drawn = {(row["pattern"], row["top"], row["statistic"]): row["value"] for row in data}
    assert drawn["downward shift", 4, "WRA"] == found.value("downward_shift", "wra")
    assert len(drawn) == 4 * 2 * 7
    path = pv.plots.write_chart(chart, tmp_path / "study.png")
    assert path.read_bytes().startswith(b"\x89PNG")
    with pytest.raises(InputError, match="cannot write a chart as"):
        pv.plots.write_chart(chart, tmp_path / "study.doc")
    assert [one.name for one in tmp_path.iterdir()] == ["study.png"]


# Soft scores ---------------------------------------------------------------------------------------------------------
def test_more_ratings_against_formulas_and_draws() -> None:
    """E[CE] mixes the ratings' and the uniform cross-entropy; E[EMD] is near that of 100,000 Dirichlet draws."""
    found = pv.studies.soft()
    frame = found.to_frame()
    assert set(frame["n_ratings"]) == {10, 20, 40, 100}
    rng = np.random.default_rng(0)
    for name, q in found.settings["predictions"].items():
        share = np.array([0.1, 0.2, 0.4, 0.2, 0.1])
        for n in (10, 20, 40, 100):
            row = dict(frame.filter(prediction=name, n_ratings=n).select("statistic", "value").iter_rows())
            mean = (n * share + 1) / (n + 5)
            assert row["expected_cross_entropy"] == pytest.approx(-(mean @ np.log(q)), rel=1e-12)
            p = rng.dirichlet(n * share + 1, 100_000)
            drawn = np.abs(np.cumsum(p - q, axis=1))[:, :-1].sum(axis=1) / 4
            assert row["expected_emd"] == pytest.approx(drawn.mean(), abs=5 * drawn.std() / math.sqrt(len(drawn)))
    limits = dict(frame.filter(prediction="mismatched").select("statistic", "limit").unique().iter_rows())
    assert limits["expected_emd"] == pytest.approx(0.1 / 4)
    assert limits["expected_kl"] == pytest.approx(0.2 * math.log(2 / 3) + 0.4 * math.log(4 / 3))
    gaps = frame.pivot("prediction", index=["statistic", "n_ratings"], values="value")
    for _, rows in gaps.group_by("statistic"):
        gap = (rows["mismatched"] - rows["matching"]).to_list()
        assert gap == sorted(gap)
        assert gap[0] > 0
    assert len(found.findings()) == 5


def test_a_study_of_soft_scores_needs_two_predictions() -> None:
    with pytest.raises(InputError, match="the study needs two predictions"):
        pv.studies.soft(predictions={"one": [0.5, 0.5]}, counts=[1, 1])
    with pytest.raises(InputError, match="factors of at least 1"):
        pv.studies.soft(factors=[0])


def test_the_figure_of_more_ratings() -> None:
    pytest.importorskip("vl_convert")
    chart = pv.plots.soft_study(pv.studies.soft()).to_dict()
    panels = [panel for line in chart["vconcat"] for panel in line["hconcat"]]
    assert [panel["name"] for panel in panels] == [f"panel_{at}" for at in range(5)]
    assert "n_ratings" in str(panels[0])
