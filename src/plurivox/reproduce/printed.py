"""The papers: the cells of the tables that each printed, in ``published``, next to those that a lens makes."""

from __future__ import annotations

import json
import re
import tomllib
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl

from plurivox import studies
from plurivox.base.errors import FileError, MissingExtraError, SoftScoresWarning
from plurivox.base.files import note_input
from plurivox.data import load
from plurivox.domain.answers import Answers
from plurivox.domain.attributes import id_texts
from plurivox.domain.predictions import Predictions
from plurivox.domain.ratings import Ratings
from plurivox.domain.raw import require_columns
from plurivox.domain.reader import Reading, read_answer
from plurivox.domain.scale import Scale
from plurivox.lenses.alignment.matching import match
from plurivox.lenses.alignment.result import Alignment
from plurivox.lenses.alignment.run import alignment, alphas
from plurivox.lenses.cohesion.run import cohesion
from plurivox.lenses.soft.result import SoftScores
from plurivox.lenses.soft.run import soft_scores
from plurivox.read.read import read_ratings
from plurivox.read.tables import attributes_in, read_table
from plurivox.reproduce import Paper, PublishedCell, published, shipped
from plurivox.statistics import soft
from plurivox.statistics.registry import LABELS

RACES = {
    "Asian": "Asian/Asian subcontinent", "Black": "Black/African American",
    "Latine": "LatinX, Latino, Hispanic or Spanish Origin",
}  # fmt: skip
"""What the table calls a group of the data."""
STATISTICS = ("irr", "xrr", "negentropy", "cross_negentropy", "plurality_size", "gai", "voting_agreement")
AXES = ("age", "gender", "race", ("race", "gender"))


def ratings_of(folder: Path) -> Ratings:
    """Return the 104 raters of DICES-350 who were kept, from two tables or from the authors' own file."""
    if (folder / "ratings.csv").is_file():
        found = read_ratings(folder / "ratings.csv", scale="No,Unsure,Yes", raters=folder / "raters.csv")
    else:
        found = load("dices-350", folder).ratings
    return found.where(raters={"removed": "False"})


def grasp_cells(folder: Path | None, convention: str = "published") -> Iterator[PublishedCell]:
    """Yield 20 groups × 7 statistics; the data are public, so the group of four raters is shown, as in the paper."""
    assert folder is not None
    found = cohesion(
        ratings_of(folder), AXES, permutations=0, convention=convention, level="nominal", interval="none",
        min_group_size=1,
    )  # fmt: skip
    for row in published("grasp_table5").iter_rows(named=True):
        axis = row["axis"].replace(" x ", " × ")
        group = " × ".join(RACES.get(part, part) for part in row["group"].split(", "))
        for name in STATISTICS:
            yield PublishedCell("Table 5", row["group"], name, row[name], found.value(axis, group, name))


# Responsiveness -------------------------------------------------------------------------------------------------------
#
# Responsiveness (Mishra et al. 2025): the simulation of appendix D, for which figure 6 prints no numbers.


TOP, REPEATS = 4, 5
LOWER, SAME = -0.05, 0.1
"""A metric is lower if it falls by more than the first, and about the same if it moves by less than the second."""


def responsiveness_cells(folder: Path | None) -> Iterator[PublishedCell]:
    """Yield what each scoring pattern does to the metrics and what the paper says about it, then the means."""
    found = studies.responsiveness(tops=[TOP], repeats=REPEATS)
    for pattern, metric, said in published("responsiveness_figure6").iter_rows():
        change = found.value(pattern, metric, TOP) - found.value("normal", metric, TOP)
        agrees = change < LOWER if said == "lower" else abs(change) < SAME
        name = studies.METRICS[metric]
        yield PublishedCell("Figure 6, change from normal", pattern.replace("_", " "), name, said, change, agrees)
    for pattern in studies.PATTERNS:
        for metric, name in studies.METRICS.items():
            yield PublishedCell(
                "Figure 6, mean", pattern.replace("_", " "), name, "", found.value(pattern, metric, TOP)
            )


# Norms ----------------------------------------------------------------------------------------------------------------
#
# Norms (Galarnyk et al., Findings of NAACL 2025): answers of eleven models to 400 rules of thumb, Tables 4 and 5.


ITEMS, RESPONSES = "items.csv", "responses.parquet"
OPTION_LABELS = {"A": "<1%", "B": "5%-25%", "C": "50%", "D": "75%-90%", "E": ">90%"}
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
    for letter, label in OPTION_LABELS.items():
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
    label, scale = pl.col("published_label"), Scale(list(OPTION_LABELS.values()))
    given = found.select(
        "model", "prompt", "item", state=label.replace_strict(NOT_READ, default="answered"),
        answer=label.replace_strict(OPTION_LABELS, default=None),
    )  # fmt: skip
    told = Answers.from_frame(given, scale)
    items = found["item"].unique()
    votes = pl.DataFrame({"item": items, "rater": ["h"] * len(items), "score": [scale.labels[0]] * len(items)})
    matched = match(Ratings.from_frame(votes, scale=scale), told, None)  # alpha needs items, but no votes
    families = {name: [model for model in told.models if re.search(of, model)] for name, of in FAMILIES.items()}
    return alphas(told, matched, families, published=True).with_columns(pl.col("models").replace({"all models": "all"}))


def norms_cells(folder: Path | None) -> Iterator[PublishedCell]:
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


# Soft -----------------------------------------------------------------------------------------------------------------
#
# Soft metrics (Magnani, ASSE 2025): the worked examples, and baselines next to the models on ConvAbuse.


CONVABUSE = "ConvAbuseEMNLPfull.csv"
SEVERITIES = range(-3, 2)
SCENARIOS = {
    "scenario A": ([0, 0.8, 0.2, 0, 0], [0, 0.2, 0.8, 0, 0]),
    "scenario B": ([0, 0.8, 0, 0, 0.2], [0, 0.2, 0, 0, 0.8]),
}
COUNTS, RIGHT, NEAR = [1, 2, 4, 2, 1], [0.1, 0.2, 0.4, 0.2, 0.1], [0.1, 0.3, 0.3, 0.2, 0.1]
FUNCTIONS: dict[str, Callable[..., Any]] = {"KL": soft.kl, "CE": soft.cross_entropy, "EMD": soft.emd}
EXPECTED = {"E[CE]": "expected_cross_entropy", "E[EMD]": "expected_emd"}


def convabuse(folder: Path) -> Ratings:
    """Return the severity of user turns, −3 to 1: an item is a conversation and a text, and the first rating counts."""
    points = tuple(f"is_abuse.{value}" for value in SEVERITIES)
    return read_ratings(
        folder / CONVABUSE, item="conv_id,user", rater="annotator_id", point_columns=points, duplicates="first"
    )


def baselines(ratings: Ratings) -> dict[tuple[str, str], float]:
    """Return the expected scores, with a flat prior and steps of length 1, of predictions that know nothing."""
    flat = {str(label): 1 / len(ratings.scale) for label in ratings.scale.labels}
    items = ratings.items.select("item").with_columns(pl.lit("flat").alias("model"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SoftScoresWarning)  # the notes on the paper say that the prior outweighs
        found = _scored(ratings, items.with_columns(pl.lit(share).alias(name) for name, share in flat.items()))
    return {(name, metric): found.value(name, column) for name in ("uniform", "marginal")
            for metric, column in EXPECTED.items()}  # fmt: skip


def _scored(ratings: Ratings, predictions: pl.DataFrame) -> SoftScores:
    return soft_scores(
        ratings, predictions, 1.0, metrics=tuple(EXPECTED.values()), normalized=False, min_ratings=2, bootstrap=0,
        permutations=0, curve=False,
    )  # fmt: skip


def soft_cells(folder: Path | None) -> Iterator[PublishedCell]:
    """Yield Table 1, the gap of Figure 1, and Table 3 with baselines."""
    for row in published("soft_table1").iter_rows(named=True):
        for name, (p, q) in SCENARIOS.items():
            yield PublishedCell("Table 1", row["metric"], name, row[name], FUNCTIONS[row["metric"]](p, q))
    for times in (1, 2, 4, 10):
        counts = [times * n for n in COUNTS]
        for name, column in EXPECTED.items():
            function: Callable[..., Any] = getattr(soft, column)
            gap = function(counts, NEAR) - function(counts, RIGHT)
            yield PublishedCell("Figure 1, gap between the two predictions", f"counts × {times}", name, "", gap)
    if folder is None:
        return
    ours = baselines(convabuse(folder))
    for row in published("soft_table3").iter_rows(named=True):
        for name in ("model A", "model B"):
            yield PublishedCell("Table 3, ConvAbuse", name, row["metric"], row[name], float("nan"))
        for name in ("uniform", "marginal"):
            yield PublishedCell("Table 3, ConvAbuse", name, row["metric"], "", ours[name, row["metric"]])


# Alt test -------------------------------------------------------------------------------------------------------------
#
# The alternative annotator test (Calderon et al., ACL 2025): six models on CEBaB stars.


HUMANS, MODELS = "human_annotations.json", "llm_annotations.json"
COLUMNS = {"omega": "omega", "rho": "advantage"}
"""Printed name → our column."""


def aligned(folder: Path) -> Alignment:
    """Return the answers of the models compared with the ratings of ten people."""
    ratings = Ratings.from_frame(_long(folder / HUMANS, "rater", "score"), scale="1:5")
    return alignment(
        ratings, _long(folder / MODELS, "model", "answer"), bootstrap=0, permutations=0, subsamples=0, as_rater=False
    )


def _long(file: Path, who: str, what: str) -> pl.DataFrame:
    """Return one row per person or model and item from an object of objects."""
    note_input(file)
    try:
        given: dict[str, dict[str, Any]] = json.loads(file.read_bytes())
        rows = [(name, item, score) for name, own in given.items() for item, score in own.items()]
        return pl.DataFrame(rows, schema={who: pl.String, "item": pl.String, what: pl.Int64}, orient="row")
    except (ValueError, AttributeError, TypeError, RecursionError) as error:
        raise FileError(
            f"it is not an object that maps names to items to whole numbers ({error})", source=str(file),
            hint="Download it again.",
        ) from None  # fmt: skip


def alt_test_cells(folder: Path | None) -> Iterator[PublishedCell]:
    """Yield ω and ρ of six models."""
    assert folder is not None
    found = aligned(folder).stand_ins()
    for row in published("alt_test").iter_rows(named=True):
        ours = found.filter(pl.col("model") == row["model"])
        for printed, name in COLUMNS.items():
            value = float(ours[name][0]) if ours.height else float("nan")
            yield PublishedCell("CEBaB stars, ε = .1", row["model"], printed, row[printed], value)


# Lewidi ---------------------------------------------------------------------------------------------------------------
#
# LeWiDi 2025 (Leonardelli et al.): how predictions that know nothing about an item score, and small models.


METRICS = ("manhattan", "wasserstein", "error_rate", "absolute_distance", "absolute_distance_points")
SETS = {"CSC": ("1:6", "CSC_dev"), "Paraphrase": ("-5:5", "Paraphrase_train")}
"""Data set → its scale, and the file from which the marginal prediction and models learn."""
KINDS = ("mlp-kl", "cumulative-link")
SEED = 0


def scored(folder: Path, name: str) -> SoftScores:
    """Score the test part of a set: the most frequent point for everybody, and models trained on its training part."""
    scale, learned = SETS[name]
    test, train = (read_ratings(folder / f"{one}.json", scale=scale) for one in (f"{name}_test", learned))
    models = [constant(test, int(train.counts().sum(axis=0).argmax()))]
    if name == "Paraphrase":
        models += fitted(folder, train)
    known = Predictions.from_frame(pl.concat(models, how="vertical_relaxed"), test.scale)
    return soft_scores(test, known, train=train, metrics=("rps", *METRICS), bootstrap=0, permutations=0, curve=False)


def constant(ratings: Ratings, point: int) -> pl.DataFrame:
    """Return the prediction that every rater gives the same point."""
    frame = pl.DataFrame({"model": "most frequent point", "item": ratings.items["item"].cast(pl.String)})
    return frame.with_columns(
        pl.lit(float(at == point)).alias(str(label)) for at, label in enumerate(ratings.scale.labels)
    )


def fitted(folder: Path, train: Ratings) -> Iterator[pl.DataFrame]:
    """Yield what small models of the two questions predict; nothing without PyTorch."""
    try:
        from plurivox import models
    except (MissingExtraError, ImportError):
        return
    texts, wanted = (attributes_in(folder / f"Paraphrase_{part}.json", "item").frame() for part in ("train", "test"))
    for kind in KINDS:
        model = models.fit(train, texts, kind, text="Question2", context=("Question1",), seed=SEED)
        yield model.predict(wanted).with_columns(pl.col("item").cast(pl.String))


def lewidi_cells(folder: Path | None) -> Iterator[PublishedCell]:
    """Yield the task's scores for every prediction."""
    assert folder is not None
    for name in SETS:
        found = scored(folder, name)
        for model in (*found.models, "uniform", "marginal"):
            for metric in METRICS:
                yield PublishedCell(f"{name}, test", model, LABELS[metric], "", found.value(model, metric))


def papers() -> dict[str, Paper]:
    """Return every paper that can be reproduced, by its name: what ``papers.toml`` says of it, and its cells."""
    cells: dict[str, Callable[[Path | None], Iterator[PublishedCell]]] = {
        "grasp": grasp_cells, "responsiveness": responsiveness_cells, "norms": norms_cells, "soft": soft_cells,
        "alt-test": alt_test_cells, "lewidi": lewidi_cells,
    }  # fmt: skip
    told = tomllib.loads(shipped("papers.toml").decode())
    for one in told.values():
        one["parts"] = tuple(part.format(lower=-LOWER, same=SAME) for part in one["parts"])
    return {
        name: Paper(name=name, cells=cells[name], **one | {"files": tuple(one.get("files", ()))})
        for name, one in told.items()
    }
