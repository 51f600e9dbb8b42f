"""How long the bootstrap of all responsiveness metrics takes, next to a literal one, and individual raters at scale.

``python -m benchmarks.responsiveness``. Everything is measured in one run on one machine; the ratios are what counts.
The literal version does for each draw what the definitions say: it draws items, pairs each group's score with every
reference rating, and computes the metrics of these samples with numpy, scipy and scikit-learn.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.stats import kendalltau, spearmanr
from sklearn.metrics import average_precision_score, roc_auc_score

import plurivox as pv
from benchmarks.cohesion import best
from plurivox.domain.axis import Axis
from plurivox.engine.draws import Draws, item_weights
from plurivox.engine.pool import Running
from plurivox.lenses.responsiveness.references import resolve
from plurivox.lenses.responsiveness.sums import Responses
from plurivox.statistics.responsiveness import MEASURES

GROUPS, ITEMS, REFERENCES, DRAWS = 30, 1000, 30, 1000


def study() -> tuple[pv.Ratings, pv.Ratings]:
    """30 groups of 5 raters, 1,000 items, 30 trained raters."""
    made = pv.simulate(
        n_items=ITEMS, n_raters=5 * GROUPS, attributes={"one": {"x": 1.0}}, trained=REFERENCES, models=(), seed=1
    )
    group = pl.Series("group", [f"group {r % GROUPS}" for r in range(5 * GROUPS)])
    assert made.trained is not None
    raters = made.raters.with_columns(group)
    return pv.Ratings.from_frame(made.ratings_frame, scale=made.scale, raters=raters), made.trained


def literal_draw(scores: NDArray[Any], unsafe: NDArray[Any], chosen: NDArray[Any]) -> list[list[float]]:
    """All metrics of all groups in one draw, from expanded samples; ``scores`` is groups × items without ties."""
    found = []
    labels = unsafe[chosen].ravel()
    for own in scores:
        sample = np.repeat(own[chosen], unsafe.shape[1])
        precision = {s: labels[sample == s].mean() for s in range(5) if (sample == s).any()}
        area = sum(
            precision[s] - max(precision[j] for j in precision if j <= i) for s in precision for i in precision if i < s
        )
        ones, zeros = np.sort(sample[labels == 1]), np.sort(sample[labels == 0])
        wra = np.searchsorted(zeros, ones, side="left").sum() / (len(ones) * len(zeros))
        mpa = max(0.0, area / 6)
        hm = 2 * mpa * wra / (mpa + wra) if mpa + wra else 0.0
        beside = [
            roc_auc_score(labels, sample), kendalltau(sample, labels).statistic, spearmanr(sample, labels).statistic,
            average_precision_score(labels, sample),
        ]  # fmt: skip
        found.append([area / 6, mpa, wra, hm, hm, *beside])
    return found


def bootstrap() -> None:
    """Print the ratio of the two for 1,000 draws, and check that they agree."""
    ratings, trained = study()
    axis = Axis.of(ratings, "group")
    passes = Responses.of(ratings, axis.codes, len(axis), resolve(ratings, trained), ties="lowest")
    ours = passes.bootstrap(DRAWS, 0, "items", Running())
    votes = np.stack([ratings.where(raters={"group": name}).counts().argmax(axis=1) for name in axis.groups])
    unsafe = trained.scores.reshape(trained.n_items, REFERENCES)
    weights = item_weights(ITEMS, 2, 0)
    times = []
    for d in range(2):
        chosen = np.repeat(np.arange(ITEMS), weights[d])
        start = time.perf_counter()
        literal = np.array(literal_draw(votes, unsafe, chosen))
        times.append(time.perf_counter() - start)
        assert np.abs(literal - ours[d]).max() < 1e-9, dict(
            zip(MEASURES, np.abs(literal - ours[d]).max(axis=0), strict=True)
        )
    seconds = best(lambda: passes.bootstrap(DRAWS, 0, "items", Running()))
    shared = Responses.of(ratings, axis.codes, len(axis), resolve(ratings, "crowd"))
    shared.bootstrap(2, 0, "items", Running())
    crowd = best(lambda: shared.bootstrap(DRAWS, 0, "items", Running()), 3)
    permuted = best(lambda: passes.null(Draws.permuted(100, 0), Running()), 3) * 10
    print(
        f"Bootstrap, {DRAWS:,} draws × {GROUPS} groups × {ITEMS:,} items × {REFERENCES} reference ratings, all metrics"
    )
    print(f"  plurivox                    {seconds:9.3f} s")
    print(
        f"  literal, drawn anew         {min(times) * DRAWS:9.0f} s, {min(times) * DRAWS / seconds:7.0f} times as long"
    )
    print(f"  against the crowd           {crowd:9.3f} s ({len(ratings):,} ratings, four boundaries)")
    print(f"1,000 permutations            {permuted:9.3f} s ({len(ratings):,} ratings)")


def raters() -> None:
    """Print time and memory of 17,000 raters × 100,000 items × 500,000 ratings, in a process of its own."""
    rng = np.random.default_rng(0)
    n_raters, n_items, n = 17_000, 100_000, 500_000
    cells = rng.choice(n_raters * n_items, n, replace=False)
    severity = rng.normal(size=n_items)[cells // n_raters]
    score = np.clip(np.round(severity + rng.normal(size=n) + 2), 0, 4).astype(int)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ratings.csv"
        pl.DataFrame({"item": cells // n_raters, "rater": cells % n_raters, "score": score}).write_csv(path)
        for draws in (0, 1000):
            interval = f"interval='bootstrap', bootstrap={draws}, resample='items'" if draws else "interval='none'"
            script = (
                "import sys, time, plurivox as pv\n"
                f"start = time.perf_counter(); ratings = pv.read_ratings({str(path)!r}, scale='0:4')\n"
                f"pv.responsiveness(ratings, 'crowd', by='rater', max_permutations=1000, {interval}).to_frame()\n"
                "print(time.perf_counter() - start, open('/proc/self/status').read().split('VmHWM:')[1].split()[0])"
            )
            done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
            seconds, peak = done.stdout.split()
            print(f"{n_raters:,} raters × {n_items:,} items × {n:,} ratings, crowd, {draws:,} bootstrap draws: "
                  f"{float(seconds):.1f} s, {int(peak) / 1e6:.2f} GB, reading and table included")  # fmt: skip


def main() -> None:
    """Measure both."""
    bootstrap()
    raters()


if __name__ == "__main__":
    main()
