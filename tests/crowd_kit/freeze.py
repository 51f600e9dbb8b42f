"""Labels of Dawid–Skene and MACE as crowd-kit 1.4.2 gives them; run as a script, it writes values.json.

Not run by the tests: crowd-kit pulls in large packages. It was run in an environment of its own with ``pip install
--no-deps crowd-kit==1.4.2`` beside numpy, pandas < 3, scipy, scikit-learn, attrs, tqdm and nltk.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

STUDIES = {"three points": (1, 40, 6, 3, 6), "five points": (2, 60, 12, 5, 5), "two points": (3, 50, 8, 2, 4)}
ROUNDS_DS, ROUNDS_MACE = 30, 50


def study(seed: int, n_items: int, n_raters: int, n_points: int, per_item: int) -> list[tuple[int, int, int]]:
    """Return ratings of raters who are right more or less often, as item, rater and point.

    crowd-kit's MACE mixes up raters and points unless both first appear in sorted order, so they do.
    """
    rng = np.random.default_rng(seed)
    truth, right = rng.integers(n_points, size=n_items), rng.uniform(0.3, 0.95, n_raters)
    rows = [
        (i, int(r), int(truth[i] if rng.random() < right[r] else rng.integers(n_points)))
        for i in range(n_items)
        for r in np.sort(rng.choice(n_raters, per_item, replace=False))
    ]
    first = [(i, r, min(k, n_points - 1)) for k, (i, r, _) in enumerate(rows[:per_item])]
    places = {rater: at for at, rater in enumerate(dict.fromkeys(r for _, r, _ in first + rows[per_item:]))}
    return [(i, places[r], x) for i, r, x in first + rows[per_item:]]


def values_of(rows: list[tuple[int, int, int]]) -> dict[str, Any]:
    """Return what crowd-kit makes of ratings, and where its MACE starts."""
    import pandas as pd  # type: ignore[import-untyped,import-not-found,unused-ignore]
    from crowdkit.aggregation.classification.dawid_skene import DawidSkene  # type: ignore[import-not-found]
    from crowdkit.aggregation.classification.mace import MACE  # type: ignore[import-not-found]

    data = pd.DataFrame(rows, columns=["task", "worker", "label"])
    ds = DawidSkene(n_iter=ROUNDS_DS, tol=-np.inf).fit(data)
    mace = MACE(n_restarts=1, n_iter=ROUNDS_MACE, random_state=0)
    mace._initialize(data["worker"].nunique(), data["label"].nunique())
    start = {"knows": mace.spamming_[:, 1].tolist(), "guesses": mace.thetas_.tolist()}
    mace.fit(data)
    return {
        "ratings": rows, "dawid_skene": _sorted(ds), "mace": {"start": start, **_sorted(mace)},
    }  # fmt: skip


def _sorted(model: Any) -> dict[str, Any]:
    found = model.probas_.sort_index(axis=1).sort_index()
    return {"probabilities": found.to_numpy().tolist(), "labels": model.labels_.sort_index().tolist()}


if __name__ == "__main__":
    made = {name: values_of(study(*given)) for name, given in STUDIES.items()}
    Path(__file__).with_name("values.json").write_text(json.dumps(made))
