"""The data sets of the cases: simulated studies, tables made from them, and real data where they are at hand."""

from __future__ import annotations

import os
import shlex
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import polars as pl

from support import run_cli

HERE = Path(__file__).parent
EFFECTS = (
    "--effect 'age=18-29: bias 0.3, shared 0.8' --effect 'gender=Woman: bias 0.5, violation harassment' --effect "
    "'gender=Woman, ethnicity=Black: shared 0.8'"
)
"""What groups of the studies see differently, whatever the demo plants today."""
SIMULATED = {
    "dense": f"--items 60 --raters 48 {EFFECTS} --seed 11",
    "sparse": f"--items 80 --raters 60 --ratings-per-item 2:20 --missing-attributes 0.05 {EFFECTS} --seed 12",
    "null": "--items 40 --raters 40 --missing 0.3 --no-effects --no-models --no-predictors --trained 7 --seed 13",
    "fine": f"--items 30 --raters 36 --scale 0:10 {EFFECTS} --seed 14",
    "crowd": f"--items 12 --raters 300 --scale 1:7 --trained 5 {EFFECTS} --seed 15",
    "labels": (
        "--items 36 --raters 40 --scale Low,Middle,High --ratings-per-item 9 --attribute 'region: Far North 0.5, South "
        "0.3, East 0.2' --attribute 'work: yes 0.6, no 0.4' --effect 'region=South: bias 0.4, shared 0.5, violation "
        "bias' --style normal=0.5 --style central=0.3 --style extreme=0.2 --model 'm1: bias 0.2, refuses 0.2, like "
        "region=South' --model 'm2: noise 0.6, unreadable 0.1' --predictor 'p1: error 0.2, sharpness 2' --predictor "
        "'p2: bias 0.3' --rater-sd 0.3 --noise-sd 0.4 --seed 16"
    ),
}
"""Options of ``plurivox simulate`` for each simulated study."""
SCALE = """labels = ["never", "sometimes", "often"]
question = "How often is this right?"
descriptions = ["at no time", "now and then", "most of the time"]
"""
"""The question that the stored answers are answers to."""
REAL = {"dices": "dices350", "faces": "faceratings"}
"""Folders of real data, below PLURIVOX_TEST_DATA/data."""


def real_data() -> Path | None:
    """Return the folder of real data, None if it is not named or not there."""
    folder = os.environ.get("PLURIVOX_TEST_DATA")
    return Path(folder).resolve() / "data" if folder and (Path(folder) / "data").is_dir() else None


def simulated(name: str) -> None:
    """Simulate a study into the folder of its name."""
    done = run_cli("simulate", name, *shlex.split(SIMULATED[name]))
    assert done.code == 0, done.err


def real(name: str) -> None:
    """Give a folder of real data its short name."""
    folder = real_data()
    assert folder is not None
    Path(name).symlink_to(folder / REAL[name], target_is_directory=True)


def _table(source: str, name: str) -> pl.DataFrame:
    return pl.read_csv(f"{source}/{name}", infer_schema=False)


def questions() -> None:
    """Three questions about each item, and raters who may belong to several groups."""
    Path("questions").mkdir()
    at = pl.int_range(pl.len())
    score = pl.col("score").cast(int)
    _table("dense", "ratings.csv").with_columns(
        harm=score, insult=(score + at % 3).clip(0, 4), lie=pl.when(at % 11 == 0).then(None).otherwise(4 - score)
    ).drop("score").write_csv("questions/ratings.csv")
    names = ["Asian", "Black; White", "White", "Asian; White", "Black"]
    raters = _table("dense", "raters.csv")
    groups = pl.Series("heritage", [names[n % 5] for n in range(raters.height)])
    raters.with_columns(groups).write_csv("questions/raters.csv")
    shutil.copy("dense/items.csv", "questions/items.csv")


def shapes() -> None:
    """The sparse ratings as one column per rater, as totals, and as other formats; without the file that explains."""
    Path("shapes").mkdir()
    long = _table("sparse", "ratings.csv")
    long.pivot(on="rater", index="item", values="score").write_csv("shapes/wide.csv")
    counts = long.pivot(on="score", index="item", values="rater", aggregate_function="len", sort_columns=True)
    counts.fill_null(0).write_csv("shapes/totals.csv")
    long.write_csv("shapes/ratings.tsv", separator="\t")
    long.write_ndjson("shapes/ratings.jsonl")
    long.write_parquet("shapes/ratings.parquet")
    pl.concat([long, long.head(30).with_columns(score=pl.lit("2"))]).write_csv("shapes/twice.csv")
    long.with_columns(
        score=pl.when(pl.int_range(pl.len()) % 17 == 0).then(pl.lit("skip")).otherwise("score")
    ).write_csv("shapes/skipped.csv")
    both = long.join(_table("sparse", "raters.csv"), on="rater").join(_table("sparse", "items.csv"), on="item")
    both.write_csv("shapes/joined.csv")


def responses() -> None:
    """Items that are responses to prompts, four to each."""
    Path("responses").mkdir()
    for name in ("ratings.csv", "raters.csv", "trained.csv"):
        shutil.copy(f"dense/{name}", f"responses/{name}")
    at = pl.int_range(pl.len())
    _table("dense", "items.csv").with_columns(
        prompt=pl.format("Prompt {}?", at // 4), response=pl.format("Response {}.", at)
    ).drop("text").write_csv("responses/items.csv")


def prompted() -> None:
    """Answers of two models under two prompts, asked twice, with the order of options and some distributions."""
    Path("prompted").mkdir()
    answers = _table("dense", "answers.csv").filter(pl.col("model") != "model-c")
    rows = []
    for n, row in enumerate(answers.iter_rows(named=True)):
        for prompt in range(2):
            for sample in range(2):
                turn = (n + prompt + sample) % 5
                order = [(turn + place) % 5 for place in range(5)]
                moved = row["answer"] if row["answer"] is None else str((int(row["answer"]) + (turn == 4)) % 5)
                rows.append({**row, "answer": moved, "prompt": f"p{prompt}", "sample": sample, "order": str(order)})
    pl.DataFrame(rows).write_csv("prompted/answers.csv")
    sharp = _table("dense", "predictions.csv").filter(pl.col("model") != "vague")
    sharp.write_csv("prompted/distributions.csv")


def learning() -> None:
    """Texts in which one word decides, and two to four ratings of each."""
    Path("learning").mkdir()
    words, filling = ("lovely", "odd", "awful"), ["the", "a", "this", "that", "it", "was", "is", "very", "so", "really"]
    texts, ratings = [], []
    for at in range(90):
        around = [filling[(at * 7 + place * 3) % 10] for place in range(5)]
        texts.append((f"i{at}", " ".join([*around[:2], words[at % 3], *around[2:]])))
        ratings += [(f"i{at}", f"r{who}", min(3, at % 3 + (at + who) % 2)) for who in range(2 + at % 3)]
    pl.DataFrame(texts, schema=["item", "text"], orient="row").write_csv("learning/items.csv")
    pl.DataFrame(ratings, schema=["item", "rater", "score"], orient="row").write_csv("learning/ratings.csv")


def stored() -> None:
    """A store as plurivox ask wrote it, from its dump, so that old files stay readable."""
    Path("stored").mkdir()
    with closing(sqlite3.connect("stored/answers.db")) as connection:
        connection.executescript((HERE / "answers.sql").read_text(encoding="utf-8"))
    Path("stored/scale.toml").write_text(SCALE, encoding="utf-8")
    items = [(f"item-{n:03}", f"Text {n}") for n in range(1, 13)]
    pl.DataFrame(items, schema=["item", "text"], orient="row").write_csv("stored/items.csv")
    labels = ("never", "sometimes", "often")
    ratings = [(f"item-{n % 12 + 1:03}", f"r{n // 12}", labels[n % 5 % 3]) for n in range(12 * 9)]
    pl.DataFrame(ratings, schema=["item", "rater", "score"], orient="row").write_csv("stored/ratings.csv")


def logs() -> None:
    """Logs of other programs, and ratings of what was asked in them."""
    shutil.copytree(HERE.parent / "logs", "logs")


def shares() -> None:
    """Shares of a population, to which raters are weighted."""
    Path("shares").mkdir()
    ages = {"18-29": 0.2, "30-44": 0.25, "45-59": 0.25, "60+": 0.3}
    rows = [("age", age, share) for age, share in ages.items()]
    pl.DataFrame(rows, schema=["attribute", "value", "share"], orient="row").write_csv("shares/age.csv")


def broken() -> None:
    """Tables with something wrong."""
    Path("broken").mkdir()
    for name, text in {
        "twice.csv": "item,rater,score\n1,a,3\n2,a,1\n1,a,3\n",
        "short.csv": "item,rater,score\n1,a,3\n2,a\n3,a,1\n",
        "blank.csv": "item,rater,score\n1,a,3\n,a,1\n",
        "unknown.csv": "item,rater,score\n1,a,3\n2,a,x\n1,b,2\n",
        "columns.csv": "one,two,three\n1,a,3\n",
        "empty.csv": "item,rater,score\n",
        "alone.csv": "item,rater,score\n1,a,3\n2,a,1\n3,a,0\n",
        "binary.csv": "\x00\x01\x02",
    }.items():
        Path("broken", name).write_text(text, encoding="utf-8")


MAKERS: dict[str, tuple[Callable[[], None], tuple[str, ...]]] = {
    "questions": (questions, ("dense",)), "shapes": (shapes, ("sparse",)), "responses": (responses, ("dense",)),
    "prompted": (prompted, ("dense",)), "learning": (learning, ()), "stored": (stored, ()), "logs": (logs, ()),
    "shares": (shares, ()), "broken": (broken, ()),
}  # fmt: skip
"""How other tables are made, and from what."""
NAMES = (*SIMULATED, *REAL, *MAKERS)


def make(name: str) -> None:
    """Make a data set in the working folder, unless it is there."""
    if Path(name).exists():
        return
    if name in SIMULATED:
        simulated(name)
    elif name in REAL:
        real(name)
    else:
        maker, sources = MAKERS[name]
        for source in sources:
            make(source)
        maker()
