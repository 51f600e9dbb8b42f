"""How fast labels are made from ratings, and Dawid–Skene and MACE compared with crowd-kit.

``python -m benchmarks.aggregate``; ``--crowd-kit PYTHON`` names an interpreter that has crowd-kit, which pulls in large
packages and so has an environment of its own. Both do the same number of rounds from the same start; reading is not
timed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

import plurivox as pv
from plurivox.lenses.aggregate.fits import dawid_skene, mace, ordinal

ROUNDS = 20
THEIRS = """
import json, sys, time
import numpy as np, pandas as pd
from crowdkit.aggregation.classification.dawid_skene import DawidSkene
from crowdkit.aggregation.classification.mace import MACE
data = pd.read_csv(sys.argv[1]).rename(columns={"item": "task", "rater": "worker", "score": "label"})
found = {}
models = {"dawid_skene": DawidSkene(n_iter=ROUNDS, tol=-np.inf), "mace": MACE(n_restarts=1, n_iter=ROUNDS)}
for name, model in models.items():
    start = time.perf_counter()
    model.fit(data)
    found[name] = time.perf_counter() - start
print(json.dumps(found))
""".replace("ROUNDS", str(ROUNDS))


def study(n_ratings: int, per_item: int = 10, n_raters: int = 2000, seed: int = 0) -> pl.DataFrame:
    """Return ratings on five points of raters who differ in precision and bias."""
    rng = np.random.default_rng(seed)
    n_items = n_ratings // per_item
    truth, bias, noise = rng.integers(5, size=n_items), rng.normal(0, 0.5, n_raters), rng.uniform(0.2, 0.8, n_raters)
    item = np.repeat(np.arange(n_items), per_item)
    rater = (
        np.repeat(rng.integers(n_raters, size=n_items), per_item) + np.tile(np.arange(per_item) * 7, n_items)
    ) % n_raters
    seen = truth[item] + bias[rater] + rng.logistic(size=len(item)) * noise[rater]
    return pl.DataFrame({"item": item, "rater": rater, "score": np.clip(np.rint(seen), 0, 4).astype(np.int64)})


def main() -> None:
    """Measure and print."""
    asked = argparse.ArgumentParser()
    asked.add_argument("--crowd-kit", help="an interpreter that has crowd-kit")
    other = asked.parse_args().crowd_kit
    models = {"dawid_skene": dawid_skene, "mace": mace, "ordinal": ordinal}
    small = pv.Ratings.from_frame(study(10_000), scale=pv.Scale.range(0, 4))
    for model in models.values():
        model(small)  # compiled, or loaded
    whole = pv.Ratings.from_frame(study(1_000_000), scale=pv.Scale.range(0, 4))
    for name, model in models.items():
        start = time.perf_counter()
        found = model(whole)
        seconds = time.perf_counter() - start
        print(
            f"{name}, 1,000,000 ratings of 2,000 raters: {seconds:.1f} s, {found.iterations} rounds, converged: "
            f"{found.converged}"
        )
    if other:
        beside(other)


def beside(python: str, n_ratings: int = 200_000) -> None:
    """Hold the same rounds of the same models against crowd-kit's."""
    frame = study(n_ratings)
    ratings = pv.Ratings.from_frame(frame, scale=pv.Scale.range(0, 4))
    begun = time.perf_counter()
    dawid_skene(ratings, max_iterations=ROUNDS, tolerance=-1.0)
    between = time.perf_counter()
    mace(ratings, max_iterations=ROUNDS, tolerance=-1.0, starts=1)
    ours = {"dawid_skene": between - begun, "mace": time.perf_counter() - between}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ratings.csv"
        frame.write_csv(path)
        done = subprocess.run([python, "-c", THEIRS, str(path)], capture_output=True, text=True, check=True, env={})
    for name, seconds in json.loads(done.stdout).items():
        print(
            f"{name}, {n_ratings:,} ratings, {ROUNDS} rounds: {ours[name]:.2f} s, crowd-kit {seconds:.1f} s, "
            f"{seconds / ours[name]:.0f} times as long"
        )


if __name__ == "__main__":
    main()
