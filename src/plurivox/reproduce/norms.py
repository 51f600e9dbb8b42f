"""Norms (Galarnyk et al., Findings of NAACL 2025): answers of eleven models to 400 rules of thumb, Tables 4 and 5."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import polars as pl

from plurivox.domain.answers import Answers
from plurivox.domain.attributes import id_texts
from plurivox.domain.ratings import Ratings
from plurivox.domain.raw import require_columns
from plurivox.domain.reader import Reading, read_answer
from plurivox.domain.scale import Scale
from plurivox.lenses.alignment.matching import match
from plurivox.lenses.alignment.models import alphas
from plurivox.read.beside import read_table
from plurivox.reproduce.record import Paper, PublishedCell, published

ITEMS, RESPONSES = "items.csv", "responses.parquet"
LABELS = {"A": "<1%", "B": "5%-25%", "C": "50%", "D": "75%-90%", "E": ">90%"}
NOT_READ = {"F": "refused", "No answer found": "unreadable"}
FAMILIES = {
    "gemini": r"^gemini", "gpt": r"^gpt", "llama-3.1": r"Llama-3\.1", "llama-3.1 70b and 405b": r"-70B|-405B",
}  # fmt: skip
"""The models that a row of Table 4 is about; ``all`` means all of them."""


def answers(folder: Path) -> pl.DataFrame:
    """Return the answers with the source of each item."""
    responses, items = read_table(folder / RESPONSES), read_table(folder / ITEMS)
    require_columns(responses.columns, ["model", "prompt", "item", "response", "published_label"], responses.name)
    require_columns(items.columns, ["item", "area"], items.name)
    found, known = responses.frame(), items.frame()
    found = found.with_columns(pl.col("response").cast(pl.String).fill_null(""), item=id_texts(found["item"]))
    known = known.select(item=id_texts(known["item"]), source="area")
    return found.join(known, on="item", how="left", maintain_order="left")


def options(found: pl.DataFrame, prompt: str) -> list[tuple[str, ...]]:
    """Return the options of a prompt; what it said about each is what most answers repeat after its label."""
    texts = found.filter(pl.col("prompt") == prompt)["response"].to_list()
    shown: list[tuple[str, ...]] = []
    for letter, label in LABELS.items():
        repeated = re.compile(rf"^{letter}\)?:? ?\)?:? {re.escape(label)} (\w[^\n]+\w\.)\s*$", re.MULTILINE)
        told = Counter(match[1] for text in texts if (match := repeated.search(text)))
        shown.append((letter, label, *(text for text, n in told.most_common(1) if n > 1)))
    return shown


def readings(found: pl.DataFrame) -> list[Reading]:
    """Read every answer."""
    shown = {prompt: options(found, prompt) for prompt in found["prompt"].unique()}
    return [read_answer(text, shown[prompt]) for text, prompt in found.select("response", "prompt").iter_rows()]


def refusals(found: pl.DataFrame, read: list[Reading]) -> pl.DataFrame:
    """Return how many answers of each model to each prompt and source give no point: Table 5."""
    none = pl.Series([reading.point is None for reading in read])
    return found.with_columns(n=none).group_by("model", "prompt", "source", maintain_order=True).agg(pl.col("n").sum())


def agreement(found: pl.DataFrame) -> pl.DataFrame:
    """Return alpha among models by family and prompt, from the published readings with refusals as points: Table 4."""
    label, scale = pl.col("published_label"), Scale(list(LABELS.values()))
    given = found.select(
        "model", "prompt", "item", state=label.replace_strict(NOT_READ, default="answered"),
        answer=label.replace_strict(LABELS, default=None),
    )  # fmt: skip
    told = Answers.from_frame(given, scale)
    items = found["item"].unique()
    votes = pl.DataFrame({"item": items, "rater": ["h"] * len(items), "score": [scale.labels[0]] * len(items)})
    matched = match(Ratings.from_frame(votes, scale=scale), told, None)  # alpha needs items, but no votes
    families = {name: [model for model in told.models if re.search(of, model)] for name, of in FAMILIES.items()}
    return alphas(told, matched, families, published=True).with_columns(pl.col("models").replace({"all models": "all"}))


def cells(folder: Path | None) -> Iterator[PublishedCell]:
    """Yield 15 alphas and 132 numbers of refusals."""
    assert folder is not None
    found = answers(folder)
    ours = {(models, prompt): value for models, prompt, value in agreement(found).filter(level="nominal")
            .select("models", "prompt", "value").iter_rows()}  # fmt: skip
    for models, prompt, alpha in published("norms_table4").iter_rows():
        yield PublishedCell("Table 4", models, prompt, alpha, ours.get((models, prompt), float("nan")))
    counted = {tuple(key): n for *key, n in refusals(found, readings(found)).iter_rows()}
    for row in published("norms_table5").iter_rows(named=True):
        model, prompt = row.pop("model"), row.pop("prompt")
        for source, n in row.items():
            yield PublishedCell(
                "Table 5", f"{model}, {prompt}", source, n, float(counted.get((model, prompt, source), "nan"))
            )


PAPER = Paper(
    name="norms",
    order=30,
    citation="Galarnyk et al. (2025), How Inclusively do LMs Perceive Social and Moral Norms?, Findings of NAACL",
    cells=cells,
    files=(RESPONSES, ITEMS),
    origin="the paper's released answers, with model, prompt, item, response and published_label, and for each item "
    "its area",
    parts=(
        "Table 4 is nominal alpha with refusals as points of their own; the value for Llama-3.1 70B and 405B, "
        "zero-shot, is a Fleiss kappa. By default, refusals are missing, and alpha is ordinal.",
        "Table 5 counts refused and unreadable answers together.",
        "An alpha of −.032 among humans is below the lowest value that 50 ratings of an item allow, −.0204.",
        "Table 1 pairs human modes in alphabetical order with answers in the order of the file, so correct data do not "
        "reproduce it; it is left out here.",
    ),
)
