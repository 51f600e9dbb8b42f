"""LeWiDi 2025: its metrics against plain Python and scipy, its files in and out."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import wasserstein_distance
from typer.testing import CliRunner

import plurivox as pv
from plurivox import statistics
from plurivox.base.errors import InputError
from plurivox.cli.app import program

NAMES = ("manhattan", "wasserstein", "error_rate", "absolute_distance", "absolute_distance_points")
QUICK: dict[str, Any] = {"metrics": ("rps", *NAMES), "bootstrap": 0, "permutations": 0, "prior": 1}
SETS = {"CSC_dev": (1, 6), "CSC_test": (1, 6), "Paraphrase_dev": (-5, 5), "Paraphrase_test": (-5, 5)}
Items = dict[str, dict[str, Any]]


# The task's scores, as a reader of its description would write them -----------------------------------------------
def soft_twin(items: Items, points: list[int], q: list[float]) -> dict[str, float]:
    """Manhattan distance and Wasserstein distance in steps of one distribution for all items."""
    md, ws = [], []
    for one in items.values():
        labels = [int(label) for label in one["annotations"].values()]
        p = [labels.count(point) / len(labels) for point in points]
        md.append(math.fsum(abs(a - b) for a, b in zip(p, q, strict=True)))
        ws.append(math.fsum(abs(sum(p[: k + 1]) - sum(q[: k + 1])) for k in range(len(points))))
    return {"manhattan": math.fsum(md) / len(md), "wasserstein": math.fsum(ws) / len(ws)}


def rater_twin(items: Items, told: dict[str, list[int]], span: int) -> dict[str, float]:
    """Error rate and absolute distance: over an item's raters first, then over items."""
    wrong, far = [], []
    for name, one in items.items():
        pairs = list(zip(map(int, one["annotations"].values()), told[name], strict=True))
        wrong.append(sum(a != b for a, b in pairs) / len(pairs))
        far.append(sum(abs(a - b) for a, b in pairs) / len(pairs))
    mean = sum(far) / len(far)
    return {
        "error_rate": sum(wrong) / len(wrong),
        "absolute_distance": mean / span,
        "absolute_distance_points": mean / (span + 1),
    }


@pytest.mark.parametrize("name", SETS)
def test_constant_and_random_predictions_score_as_a_plain_script_says(
    real_data: Path, tmp_path: Path, name: str
) -> None:
    file, (low, high) = real_data / "lewidi2025" / f"{name}.json", SETS[name]
    items: Items = json.loads(file.read_text())
    points = list(range(low, high + 1))
    ratings = pv.read_ratings(file, scale=f"{low}:{high}")
    assert len(ratings) == sum(len(one["annotations"]) for one in items.values())
    q = [0.2, 0.2] + [0.6 / (len(points) - 2)] * (len(points) - 2)  # flat enough not to lose to uniform, which warns
    soft = tmp_path / f"{name}_soft.tsv"
    soft.write_text("".join(f"{one}\t{q}\n" for one in items))
    found = pv.soft_scores(ratings, pv.read_predictions(soft, ratings.scale, like=ratings), **QUICK)
    for metric, value in soft_twin(items, points, q).items():
        assert found.value(name, metric) == pytest.approx(value, abs=1e-12)
    rounded = [[one["soft_label"][str(point)] for point in points] for one in items.values()]
    as_given = [math.fsum(abs(sum(p[: k + 1]) - sum(q[: k + 1])) for k in range(len(points) - 1)) for p in rounded]
    assert found.value(name, "wasserstein") == pytest.approx(sum(as_given) / len(as_given), abs=0.002)
    uniform = soft_twin(items, points, [1 / len(points)] * len(points))
    assert found.value("uniform", "wasserstein") == pytest.approx(uniform["wasserstein"], abs=1e-12)
    rng = random.Random(5)
    told = {one: [rng.choice(points) for _ in items[one]["annotations"]] for one in items}
    single = tmp_path / f"{name}_pe.tsv"
    single.write_text("".join(f"{one}\t{list_}\n" for one, list_ in told.items()))
    predictions = pv.read_predictions(single, ratings.scale, like=ratings)
    found = pv.soft_scores(ratings, predictions, **QUICK)
    for metric, value in rater_twin(items, told, high - low).items():
        assert found.value(name, metric) == pytest.approx(value, abs=1e-12)
    again = predictions.write_submission(tmp_path / "again_pe.tsv", items=list(items))
    assert again.read_text() == single.read_text()


def test_functions_against_scipy_and_brute_force() -> None:
    rng = np.random.default_rng(0)
    for _ in range(30):
        n = int(rng.integers(2, 8))
        counts, q = rng.integers(0, 4, n) + np.eye(n, dtype=int)[0], rng.dirichlet(np.ones(n))
        p = counts / counts.sum()
        apart = np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
        steps = float((np.outer(p, q) * apart).sum())
        at = np.arange(n)
        assert statistics.wasserstein(counts, q) == pytest.approx(wasserstein_distance(at, at, p, q))
        assert statistics.manhattan(counts, q) == pytest.approx(float(np.abs(p - q).sum()))
        assert statistics.error_rate(counts, q) == pytest.approx(float((np.outer(p, q) * (apart > 0)).sum()))
        assert statistics.absolute_distance(counts, q) == pytest.approx(steps / (n - 1))
        assert statistics.absolute_distance_points(counts, q) == pytest.approx(steps / n)
    assert math.isnan(statistics.manhattan([0, 0], [0.5, 0.5]))


# Files ------------------------------------------------------------------------------------------------------------


MADE = {
    "7": {"text": {"context": "a", "response": "b"}, "annotations": {"Ann9": "1", "Ann10": "3"}, "split": "dev"},
    "8": {"text": {"context": "c", "response": "d"}, "annotations": {"Ann9": "2", "Ann11": "2"}, "split": "dev"},
}


@pytest.fixture
def made(tmp_path: Path) -> pv.Ratings:
    (tmp_path / "X_dev.json").write_text(json.dumps(MADE))
    people = ", ".join(f'"Ann{n}": {{"Gender": "{gender}", }}' for n, gender in ((9, "F"), (10, "M"), (11, "M, f,}")))
    (tmp_path / "people.json").write_text(f"{{{people}, }}")
    return pv.read_ratings(tmp_path / "X_dev.json", scale="1:3", raters=tmp_path / "people.json")


def test_the_tasks_json_is_read_as_ratings_raters_and_items(made: pv.Ratings, tmp_path: Path) -> None:
    assert sorted(made.to_frame().select("item", "rater", "score").rows()) == [
        (7, "Ann10", 3), (7, "Ann9", 1), (8, "Ann11", 2), (8, "Ann9", 2),
    ]  # fmt: skip
    assert made.raters.sort("rater")["Gender"].to_list() == ["M", "M, f,}", "F"]
    with_texts = pv.read_ratings(tmp_path / "X_dev.json", scale="1:3", items=tmp_path / "X_dev.json")
    assert with_texts.items["response"].to_list() == ["b", "d"]


@pytest.mark.parametrize(
    "text",
    ['{"7": {"annotations": {"A\\ud800": "1"}}}', '{"7": {"annotations": ["1"]}}', '{"7": {"annotations": {"A": [1]}}}',
     '{"7": {"annotations": {}}}', "{}", "[" * 100_000, '{"7": {"annotations": {"A": "9"}}}', '{"7": 1}'],
)  # fmt: skip
def test_other_json_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "X_dev.json").write_text(text)
    with pytest.raises(InputError, match=r"X_dev\.json"):
        pv.read_ratings(tmp_path / "X_dev.json", scale="1:3")


def test_raters_of_a_submission_stand_in_the_order_of_their_numbers(made: pv.Ratings, tmp_path: Path) -> None:
    (tmp_path / "m_pe.tsv").write_text("7\t[1, 3]\n8\t[2.0, 3]\n")
    known = pv.read_predictions(tmp_path / "m_pe.tsv", "1:3", like=made)
    assert known.models == ("m",)
    assert known.by_rater["m"].rows() == [("7", "Ann9", 0), ("7", "Ann10", 2), ("8", "Ann9", 1), ("8", "Ann11", 2)]
    found = pv.soft_scores(made, known, **QUICK)
    assert found.value("m", "error_rate") == 0.25
    assert found.value("m", "absolute_distance") == 0.125
    assert found.value("m", "wasserstein") == 0.25  # of the shares that the points make
    groups = pv.soft_scores(made, known, by=["Gender"], min_group_size=1, **QUICK)
    assert groups.row("m", "error_rate", axis="Gender", group="F").value == 0
    assert groups.row("m", "error_rate", axis="Gender", group="M, f,}").value == 1


def test_a_table_of_raters_and_items_that_lack_one(made: pv.Ratings, tmp_path: Path) -> None:
    frame = pl.DataFrame({"item": [7, 7, 8], "rater": ["Ann9", "Ann10", "Ann9"], "prediction": [1, 1, 2]})
    frame.write_csv(tmp_path / "m.csv")
    found = pv.soft_scores(made, pv.read_predictions(tmp_path / "m.csv", "1:3", like=made), **QUICK)
    assert found.settings["n_items"] == 1
    assert found.missing().rows() == [("m", "8", "no prediction")]
    assert found.value("m", "error_rate") == 0.5


def test_soft_submissions_come_back_to_the_last_bit(tmp_path: Path) -> None:
    shares = np.random.default_rng(1).dirichlet(np.ones(3), size=4)
    shares /= shares.sum(axis=1, keepdims=True)
    frame = pl.DataFrame({"item": ["b", "a", "d", "c"], **{str(k + 1): shares[:, k] for k in range(3)}})
    known = pv.Predictions.from_frame(frame, "1:3", name="m")
    file = known.write_submission(tmp_path / "m_soft.tsv", items=["b", "a", "d", "c"])
    assert [line.split("\t")[0] for line in file.read_text().splitlines()] == ["b", "a", "d", "c"]
    again = pv.read_predictions(file, "1:3")
    assert again.models == ("m",)
    np.testing.assert_allclose(again.shares, known.shares, rtol=0, atol=2e-16)
    with pytest.raises(InputError, match="m predicts distributions, not single raters"):
        known.write_submission(tmp_path / "m_pe.tsv")


@pytest.mark.parametrize(("name", "text", "message"), [
    ("m_soft.tsv", "7\t[0.5, 0.5]\n", "line 1: there are 2 probabilities, but the scale"),
    ("m_soft.tsv", "7\t[1, 0, 0]\n8\t[0.5, 0.5, 0.5]\n", "line 2: the probabilities sum to 1.5"),
    ("m_soft.tsv", "7\t[1, 0, 0]\n8\t[1, 0\n", "line 2: there is no list of numbers after the tab"),
    ("m_soft.tsv", "7\t[[1, 0], [0, 1]]\n", "line 1: it predicts several separate labels for an item"),
    ("m_pe.tsv", "7\t[1, 2, 3]\n", "line 1: there are 3 predictions, but item '7' has 2 raters"),
    ("m_pe.tsv", "8\t[1, 2]\n7\t[1, 5]\n", "line 2: '5' is not a point"),
    ("m_pe.tsv", "9\t[1, 2]\n", "no item of the submission was rated"),
])  # fmt: skip
def test_bad_submissions_are_named(made: pv.Ratings, tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError) as caught:
        pv.read_predictions(tmp_path / name, "1:3", like=made)
    assert message in str(caught.value)
    assert name in str(caught.value)


def test_single_raters_need_to_be_known(made: pv.Ratings, tmp_path: Path) -> None:
    (tmp_path / "m_pe.tsv").write_text("7\t[1, 3]\n")
    with pytest.raises(InputError, match="does not name them"):
        pv.read_predictions(tmp_path / "m_pe.tsv", "1:3")
    totals = pl.DataFrame({"item": [7, 8], "1": [1, 0], "2": [0, 2], "3": [1, 0]})
    totals.write_csv(tmp_path / "totals.csv")
    counted = pv.read_ratings(tmp_path / "totals.csv", layout="totals", scale="1:3")
    with pytest.raises(InputError, match="the ratings are totals"):
        pv.soft_scores(counted, pv.read_predictions(tmp_path / "m_pe.tsv", "1:3", like=made), **QUICK)


def test_the_command_scores_a_submission(made: pv.Ratings, tmp_path: Path) -> None:
    (tmp_path / "m_soft.tsv").write_text("7\t[0.5, 0, 0.5]\n8\t[0, 1, 0]\n")
    given = ["score", str(tmp_path / "X_dev.json"), str(tmp_path / "m_soft.tsv"), "--scale", "1:3", "--lewidi"]
    found = CliRunner().invoke(program(), [*given, "--json", "--bootstrap", "0"])
    assert found.exit_code == 0, found.output
    rows = {(row["model"], row["statistic"]): row["value"] for row in json.loads(found.stdout)["rows"]}
    assert rows["m", "manhattan"] == rows["m", "wasserstein"] == 0
    assert rows["m", "error_rate"] == 0.25
    assert rows["uniform", "error_rate"] == pytest.approx(2 / 3)
