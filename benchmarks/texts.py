"""What it costs to turn texts into weighted words by plurivox, and by scikit-learn with the same words.

``python -m benchmarks.texts [TEXTS]``. Each way works in a process of its own, in turn. The texts are drawn with
frequencies like those of language (the k-th word has a share of 1/k). CPU seconds, since the machine may be busy; peak
memory includes the texts. The words are chosen and weighed beforehand, in the same way for both: text and context share
their room, which scikit-learn does not know. The weights must agree, else the run fails.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

ROUNDS, WORDS, FEATURES = 3, 50_000, 20_000


def drawn(n: int) -> list[str]:
    """Return texts of 10 to 49 words."""
    rng = np.random.default_rng(0)
    shares = 1 / np.arange(1, WORDS + 1)
    sizes = rng.integers(10, 50, n)
    words = np.array([f"w{at}" for at in range(WORDS)])[rng.choice(WORDS, sizes.sum(), p=shares / shares.sum())]
    return [" ".join(text.tolist()) for text in np.split(words, np.cumsum(sizes)[:-1])]


def one(way: str, n: int) -> dict[str, float]:
    """Encode texts in one way; return the figures."""
    texts = drawn(n)
    start = time.process_time()
    from plurivox.models.texts import BagEncoder, words

    if way == "scikit-learn":
        from sklearn.feature_extraction.text import TfidfVectorizer

    figures = {"import": time.process_time() - start}
    known = BagEncoder.learn(texts, [()] * n, features=FEATURES, length=1)[0]
    if way == "scikit-learn":
        vectorizer = TfidfVectorizer(analyzer=words, vocabulary=known.text.words)
        vectorizer.idf_ = known.text.idf
    start = time.process_time()
    if way == "scikit-learn":
        weights = vectorizer.transform(texts).data
    else:
        weights = known.encode(texts, [()] * n).weights
    figures["encode"] = time.process_time() - start
    peak = int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) * 1024 // 10**6
    return {**figures, "peak MB": peak, "sum": float(weights.sum())}


def main() -> None:
    """Print one row per way."""
    if sys.argv[1:2] == ["--one"]:
        print(json.dumps(one(sys.argv[2], int(sys.argv[3]))))
        return
    n = sys.argv[1] if len(sys.argv) > 1 else "100000"
    rows: dict[str, list[dict[str, float]]] = {"plurivox": [], "scikit-learn": []}
    for _ in range(ROUNDS):
        for way, found in rows.items():
            command = [sys.executable, "-m", "benchmarks.texts", "--one", way, n]
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
            found.append(json.loads(done.stdout))
    np.testing.assert_allclose(rows["plurivox"][0]["sum"], rows["scikit-learn"][0]["sum"])
    for way, found in rows.items():
        cells = (f"{name} {statistics.median(row[name] for row in found):.2f}" for name in found[0] if name != "sum")
        print(f"{int(n):,} texts, {way}: {', '.join(cells)}")


if __name__ == "__main__":
    main()
