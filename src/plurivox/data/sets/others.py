"""Data sets about stars, faces, norms and preferences, and those of the shared tasks LeWiDi."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import polars as pl

from plurivox.data.record import (
    KEY,
    Both,
    Counts,
    Dataset,
    Download,
    SourceTable,
    Tables,
    frame_of,
    objects_of,
    ratings_of,
    text,
    there,
)
from plurivox.domain import raw
from plurivox.domain.ratings import Ratings
from plurivox.domain.raw import RawTable
from plurivox.read.formats import lewidi
from plurivox.read.json_documents import table_of_rows
from plurivox.read.settings import ReadSettings

_AMAZON_FILE = "reviews_Electronics_5.json.gz"


def _load_amazon(tables: Tables) -> Both:
    rows = objects_of(tables, _AMAZON_FILE)
    long = pl.DataFrame(
        {
            "asin": [text(one["asin"]) for one in rows],
            "reviewerID": [text(one["reviewerID"]) for one in rows],
            "overall": pl.Series([one["overall"] for one in rows], dtype=pl.Float64, strict=True),
        }
    )
    ratings = ratings_of(
        long, item="asin", rater="reviewerID", score="overall", scale="1:5", poles=("bad", "good"), duplicates="first"
    )
    return ratings, None


_AMAZON = (
    Dataset(
        name="amazon-electronics",
        title="Amazon reviews, electronics (2014, 5-core)",
        question="How many stars does a product deserve?",
        citation=(
            "He and McAuley (2016): Ups and Downs: Modeling the Visual Evolution of Fashion Trends with One-Class "
            "Collaborative Filtering. WWW."
        ),
        licence="None is stated. The authors offer it for research; see its home page.",
        home="https://jmcauley.ucsd.edu/data/amazon/",
        scale="1 < 2 < 3 < 4 < 5",
        tables=(SourceTable(_AMAZON_FILE, "jsonl", ("reviewerID", "asin", "overall")),),
        downloads=(),
        counts=Counts(63_001, 192_403, 1_689_188, "home page and papers that use it"),
        seen="no original file; it follows the keys that public code reads from it",
        load=_load_amazon,
        note="Its known address does not use https, so it is not fetched. Texts belong to ratings and are left out.",
    ),
)


# Faceratings ----------------------------------------------------------------------------------------------------------
#
# Ratings of the attractiveness of 102 faces.


_FACE_FILE = "faceratings.csv"
_FACE_RATERS, _FACE_ITEMS = (("rater_sex", "rater_age", "rater_sexpref"), ("face_sex", "face_age", "face_eth"))


def _load_faceratings(tables: Tables) -> Both:
    names = {one: one.removeprefix("rater_") for one in _FACE_RATERS}
    ratings = ratings_of(
        frame_of(tables, _FACE_FILE).rename(names), item="face_id", rater="rater_id", score="rating", scale="1:7",
        poles=("unattractive", "attractive"), rater_attributes=list(names.values()), item_attributes=list(_FACE_ITEMS),
    )  # fmt: skip
    return ratings, None


_FACERATINGS = (
    Dataset(
        name="faceratings",
        title="Face ratings",
        question="How attractive is a face?",
        citation="DeBruine and Jones (2017): Face Research Lab London Set; as data of the R package faux (DeBruine).",
        licence="MIT, as a part of the R package faux.",
        home="https://github.com/debruine/faux",
        scale="1 < 2 < 3 < 4 < 5 < 6 < 7",
        tables=(
            SourceTable(
                _FACE_FILE, "csv", ("rater_id", "face_id", "rating", *_FACE_RATERS, *_FACE_ITEMS), rows=256_326
            ),
        ),
        downloads=(),
        counts=Counts(102, 2_513, 256_326, "counted in a copy"),
        seen="a copy as Parquet with the original's columns; the original is a file of R",
        load=_load_faceratings,
        rater_attributes=("sex", "age", "sexpref"),
        item_attributes=_FACE_ITEMS,
        note="Save it from R: write.csv(faux::faceratings, 'faceratings.csv', row.names = FALSE). Or as Parquet.",
    ),
)


# Social chemistry -----------------------------------------------------------------------------------------------------
#
# Social Chemistry 101: rules of thumb, and how many people would agree with them.


_NORMS_FILE = "social-chem-101.v1.0.tsv"
_NORMS_ITEMS = {"rot": "text", "situation": "situation", "area": "area", "m": "m", "split": "split"}


def _load_social_chemistry(tables: Tables) -> Both:
    frame = frame_of(tables, _NORMS_FILE)
    items = there(frame, _NORMS_ITEMS)
    ratings = ratings_of(
        frame.select("rot-id", "breakdown-worker-id", "rot-agree", *items).rename(items), item="rot-id",
        rater="breakdown-worker-id", score="rot-agree", scale="0:4", poles=("almost nobody agrees", "almost all agree"),
        duplicates="first", item_attributes=list(items.values()),
    )  # fmt: skip
    return ratings, None


_SOCIAL_CHEMISTRY = (
    Dataset(
        name="social-chemistry-101",
        title="Social Chemistry 101",
        question="What portion of people agree with a rule of thumb? 0 is below 1 %, 1 is 5 to 25 %, 2 is 50 %, "
        "3 is 75 to 90 %, 4 is above 99 %.",
        citation=(
            "Forbes, Hwang, Shwartz, Sap and Choi (2020): Social Chemistry 101: Learning to Reason about Social and "
            "Moral Norms. EMNLP."
        ),
        licence="See README.v1.0.md in the archive.",
        home="https://github.com/mbforbes/social-chemistry-101",
        scale="0 < 1 < 2 < 3 < 4",
        tables=(
            SourceTable(_NORMS_FILE, "tsv", ("rot-id", "breakdown-worker-id", "rot-agree"), (
                "area", "m", "split", "rot-categorization", "rot-moral-foundations", "rot-char-targeting", "rot-bad",
                "rot-judgment", "action", "action-agency", "action-moral-judgment", "action-agree", "action-legal",
                "action-pressure", "action-char-involved", "action-hypothetical", "situation", "situation-short-id",
                "rot", "rot-worker-id", "n-characters", "characters",
            ), rows=355_922),
        ),
        downloads=(
            Download(
                "social-chem-101.zip",
                "https://storage.googleapis.com/ai2-mosaic-public/projects/social-chemistry/data/social-chem-101.zip",
            ),
        ),
        counts=Counts(said_by="README of the data set: 355,922 breakdowns of about 292,000 rules"),
        seen="no original file; it follows a public inventory of the file's 25 columns and of its README",
        load=_load_social_chemistry,
        item_attributes=tuple(_NORMS_ITEMS.values()),
        note=(
            "m is how many workers were asked; the 400 rules with m = 50 are those of the norms paper: "
            "ratings.where(items={'m': '50'}). If a worker rated a rule twice, the first rating counts."
        ),
    ),
)  # fmt: skip


# Cebab ----------------------------------------------------------------------------------------------------------------
#
# CEBaB: restaurant reviews, edited, with the stars that five workers gave to each.


_CEBAB_SPLITS = {"train_inclusive.json": 11_728, "dev.json": 1_673, "test.json": 1_689}
_CEBAB_ITEMS = ("split", "text", "is_original", "edit_goal", "edit_type")


def _load_cebab(tables: Tables) -> Both:
    ratings: list[tuple[str, str, str]] = []
    items: list[tuple[Any, ...]] = []
    for name in _CEBAB_SPLITS:
        for one in objects_of(tables, name):
            given = one["review_workers"] or {}  # an empty text where nobody rated
            ratings += [(one["id"], worker, str(stars)) for worker, stars in given.items()]
            items.append(
                (one["id"], name.removesuffix(".json"), text(one["description"]),
                 *(text(one.get(key)) for key in _CEBAB_ITEMS[2:]))
            )  # fmt: skip
    strings = dict.fromkeys(("item", "rater", "score"), pl.String)
    found = ratings_of(
        pl.DataFrame(ratings, schema=strings, orient="row"), scale="1:5", poles=("bad", "good"),
        items=pl.DataFrame(items, schema=dict.fromkeys(("item", *_CEBAB_ITEMS), pl.String), orient="row"),
    )  # fmt: skip
    return found, None


_CEBAB = (
    Dataset(
        name="cebab",
        title="CEBaB",
        question="How many stars does a review give to a restaurant?",
        citation=(
            "Abraham, D'Oosterlinck, Feder, Gat, Geiger, Potts, Reichart and Wu (2022): CEBaB: Estimating the Causal "
            "Effects of Real-World Concepts on NLP Model Behavior. NeurIPS."
        ),
        licence="CC BY 4.0.",
        home="https://github.com/CEBaBing/CEBaB",
        scale="1 < 2 < 3 < 4 < 5",
        tables=tuple(
            SourceTable(name, "json", ("id", "description", "review_workers"), (
                "original_id", "edit_id", "is_original", "edit_goal", "edit_type", "review_majority",
                "review_label_distribution",
            ), rows=rows)
            for name, rows in _CEBAB_SPLITS.items()
        ),
        downloads=(
            Download(
                "CEBaB-v1.1.zip",
                "https://raw.githubusercontent.com/CEBaBing/CEBaB/2a5d2896bd18a5cc30b95e89a45095241954577d/CEBaB-v1.1.zip",
            ),
        ),
        counts=Counts(15_090, 155, 75_450, "counted in a copy; the data sheet says 15,089 instances"),
        seen=(
            "no original file; it follows the README with its example, and was tested on all 75,450 ratings of a copy "
            "put into that form"
        ),
        load=_load_cebab,
        item_attributes=_CEBAB_ITEMS,
        note="train_exclusive.json is a part of train_inclusive.json, and is not read. No experts rated.",
    ),
)  # fmt: skip


# Multipref ------------------------------------------------------------------------------------------------------------
#
# MultiPref: which of two language models' answers crowd workers and experts prefer.


_PREF_FILE = "MultiPref-Train.jsonl"
_PREF_SCALE = ("B-is-clearly-better", "B-is-slightly-better", "Tie", "A-is-slightly-better", "A-is-clearly-better")
_PREF_ITEMS = (
    "text", "completion_a", "completion_b", "model_a", "model_b", "prompt_id", "source", "category", "subject_of_study",
    "subject_study", "highest_level_degree",
)  # fmt: skip


def _load_multipref(tables: Tables) -> Both:
    rows = objects_of(tables, _PREF_FILE)
    known = [one for one in _PREF_ITEMS if any(one in row for row in rows)]
    items = pl.DataFrame(
        [(row["comparison_id"], *(text(row.get(one)) for one in known)) for row in rows],
        schema=dict.fromkeys(("item", *known), pl.String), orient="row",
    )  # fmt: skip
    return _preferences_of(rows, "normal_worker_annotations", items), _preferences_of(
        rows, "expert_worker_annotations", items
    )


def _preferences_of(rows: list[dict[str, Any]], who: str, items: pl.DataFrame) -> Ratings:
    given = [
        (row["comparison_id"], str(one["evaluator"]), text(one["overall_pref"])) for row in rows for one in row[who]
    ]
    long = pl.DataFrame(given, schema=dict.fromkeys(("item", "rater", "score"), pl.String), orient="row")
    return ratings_of(
        long, scale=list(_PREF_SCALE), poles=("B is better", "A is better"), duplicates="first",
        items=items.unique("item", maintain_order=True),
    )  # fmt: skip


_MULTIPREF = (
    Dataset(
        name="multipref",
        title="MultiPref",
        question="Which of two language models' answers is better overall?",
        citation="Miranda, Wang et al. (2024): Hybrid Preferences: Learning to Route Instances for Human vs. AI "
        "Feedback. arXiv:2410.19133.",
        licence="ODC-BY 1.0; answers of models are subject to the terms of their makers.",
        home="https://huggingface.co/datasets/allenai/multipref",
        scale=" < ".join(_PREF_SCALE),
        tables=(
            SourceTable(
                _PREF_FILE, "jsonl", ("comparison_id", "normal_worker_annotations", "expert_worker_annotations"),
                _PREF_ITEMS[:8], rows=10_461,
            ),
        ),
        downloads=(Download(_PREF_FILE, f"https://huggingface.co/datasets/allenai/multipref/resolve/main/{_PREF_FILE}"),),
        counts=Counts(10_461, None, None, "data card: twice by crowd workers, twice by experts"),
        seen="no original file; it follows the data card, its example and the keys that public code reads",
        load=_load_multipref,
        item_attributes=_PREF_ITEMS,
        reference="the ratings of domain experts, on the same scale",
        note="The scale compares A with B; only overall_pref is read.",
    ),
)  # fmt: skip


# Lewidi ---------------------------------------------------------------------------------------------------------------
#
# The shared tasks LeWiDi 2023 and 2025: several data sets in one format of JSON each.


_HOME = "https://le-wi-di.github.io/"
_RAW = "https://raw.githubusercontent.com/Le-Wi-Di/le-wi-di.github.io"
_SPLITS = ("train", "dev", "test")


def _ratings(items: Sequence[dict[str, Any]], about: Sequence[dict[str, Any]], scale: str) -> Ratings:
    """Return ratings with what each object says about its item, and what is known about raters."""
    export = lewidi.ratings(_table(items), ReadSettings())
    frame = export.table.frame()
    raters = frame.select(export.rater, *export.rater_attributes).unique(maintain_order=True)
    if about:  # raters who are not in the table have a row without values
        known = lewidi.raters(_table(about), ReadSettings(format="lewidi")).table.frame()
        raters = raters.select(export.rater).join(known, on=export.rater, how="left", maintain_order="left")
    return ratings_of(
        frame.drop(export.rater_attributes), score=export.questions[0], scale=scale,
        item_attributes=export.item_attributes, raters=raters if raters.width > 1 else None,
    )  # fmt: skip


def _table(objects: Sequence[dict[str, Any]]) -> RawTable:
    rows = [{raw.KEY: one[KEY], **{name: value for name, value in one.items() if name != KEY}} for one in objects]
    return table_of_rows(rows, "frame", 0)


# 2025 -----------------------------------------------------------------------------------------------------------------


def _load_2025(task: str, scale: str, tables: Tables) -> Both:
    items = [one for split in _SPLITS for one in objects_of(tables, f"{task}_{split}.json")]
    return _ratings(items, objects_of(tables, f"{task}_annotators_meta.json"), scale), None


_SUMS = {
    "CSC_annotators_meta.json": "06a4b494e6cbb7f4b5636efd7f6174316c3311ab870988bcedbfa4fd3cfac4bd",
    "CSC_dev.json": "e20b142573639c50640b2ab720d79d348005b174e36bc8332fbadbfd53160be5",
    "CSC_test.json": "80b7c33bd11de5bf6637876b73d923735029e8732eda3eba3f7b8b257f7b4181",
    "Paraphrase_annotators_meta.json": "a5d56635ea516288e26e162cd5599db95b3fa89dad24fee4f6d5a37ec125a0e4",
    "Paraphrase_dev.json": "821f8b142d63c9ccc38cb801fa6ca4cdcfe5049c8bfb151c7d7d3dd025db8e03",
    "Paraphrase_test.json": "5c2396b91ae84edcf64b1b529b8ade83b1fa3a78b4b930cbcf613b917875ae1d",
    "Paraphrase_train.json": "2ec98bad361732dbb568e4acea339edbbd747299fbd716e99812e4f14042bc53",
}
"""Of copies of the files."""
_ROWS = {
    "CSC_dev.json": 704, "CSC_test.json": 704, "Paraphrase_train.json": 400, "Paraphrase_dev.json": 50,
    "Paraphrase_test.json": 50,
}  # fmt: skip


def _2025(
    task: str, commit: str, points: str, scale: str, title: str, question: str, citation: str, seen: str,
    counts: Counts, raters: tuple[str, ...], items: tuple[str, ...],
) -> Dataset:  # fmt: skip
    meta = f"{task}_annotators_meta.json"
    splits = [f"{task}_{split}.json" for split in _SPLITS]
    return Dataset(
        name=f"lewidi-2025-{task.lower()}",
        title=f"LeWiDi 2025, {title}",
        question=question,
        citation=f"{citation} In the shared task LeWiDi 2025 (third edition), NLPerspectives.",
        licence="See the original data set and the home page of the shared task.",
        home=_HOME,
        scale=scale,
        tables=(
            *(
                SourceTable(name, "json", ("annotations", "text"), (
                    "annotation task", "annotators", "number of annotations", "soft_label", "split", "lang",
                    "other_info", *(() if task == "MP" else ("number of annotators",)),
                ), _ROWS.get(name), _SUMS.get(name), optional=True)
                for name in splits
            ),
            SourceTable(meta, "json", (), (), None, _SUMS.get(meta), optional=True),
        ),
        downloads=tuple(
            Download(name, f"{_RAW}/{commit}/LeWiDi_3-2025/{task}/{name}", _SUMS.get(name),
                     optional=name.endswith("_train.json") and name not in _SUMS)
            for name in (*splits, meta)
        ),
        counts=counts,
        seen=seen,
        load=partial(_load_2025, task, points),
        rater_attributes=raters,
        item_attributes=("split", "lang", *items),
        note="All of train, dev and test that are present are read together; split distinguishes them.",
    )  # fmt: skip


# 2023 -----------------------------------------------------------------------------------------------------------------


def _load_2023(task: str, scale: str, tables: Tables) -> Both:
    items = [one for split in _SPLITS for one in objects_of(tables, f"{task}_{split}.json")]
    items = [{**one, KEY: f"{one.get('split', '')}-{one[KEY]}"} for one in items]  # each split counts from 1
    return _ratings(items, (), scale), None


def _2023(
    task: str, points: str, scale: str, question: str, citation: str, counts: Counts, raters: tuple[str, ...] = ()
) -> Dataset:
    return Dataset(
        name=f"lewidi-2023-{task.lower()}",
        title=f"LeWiDi 2023, {task}",
        question=question,
        citation=f"{citation} In the shared task LeWiDi 2023 (Leonardelli et al., SemEval-2023 Task 11).",
        licence="See the original data set and the home page of the shared task.",
        home=_HOME,
        scale=scale,
        tables=tuple(
            SourceTable(f"{task}_{split}.json", "json", ("annotators", "annotations", "text"), (
                "annotation task", "number of annotations", "hard_label", "soft_label", "split", "lang", "other_info",
            ), optional=True)
            for split in _SPLITS
        ),
        downloads=(
            Download(
                "data_post-competition.zip",
                f"{_RAW}/37ed47e84d3709a3eb08c67dd3c65d0f934e2b9c/data_post-competition.zip",
            ),
        ),
        counts=counts,
        seen="no original file; it follows the README and single records; names of files in the archive are guessed",
        load=partial(_load_2023, task, points),
        rater_attributes=raters,
        item_attributes=("split", "lang", "text"),
        note="Items are named by their split and key. All of train, dev and test that are present are read together.",
    )  # fmt: skip


_ABUSE = "Cercas Curry, Abercrombie and Rieser (2021): ConvAbuse. EMNLP."
_LEWIDI = (
    _2025(
        "CSC", "dfb846f03915200796a65b0bfe73e7a4955376a5", "1:6", "1 < 2 < 3 < 4 < 5 < 6",
        "Conversational Sarcasm Corpus", "How sarcastic is a response?",
        "Jang and Frassinelli (2024): Generalizable Sarcasm Detection is Just Around the Corner, of Course! NAACL.",
        "CSC_dev.json, CSC_test.json and CSC_annotators_meta.json themselves, but not CSC_train.json", Counts(),
        ("Gender", "Age"), ("context", "response", "context+speaker"),
    ),
    _2025(
        "MP", "52a2147263a244164fe1ba72fcd8d91c58375ebb", "0:1", "0 < 1", "MultiPICo",
        "Is a reply ironic?", "Casola et al. (2024): MultiPICo: Multilingual Perspectivist Irony Corpus. ACL.",
        "a part of MP_dev.json", Counts(),
        ("Gender", "Age", "Nationality", "Ethnicity simplified", "Country of birth", "Country of residence",
         "Student status", "Employment status"), ("post", "reply", "source", "level", "language_variety"),
    ),
    _2025(
        "Paraphrase", "124ad2c2b97b6198db8f1a80008bc48a81675d3a", "-5:5",
        "-5 < -4 < -3 < -2 < -1 < 0 < 1 < 2 < 3 < 4 < 5", "Paraphrase", "How far do two questions mean the same?",
        "Paraphrase, curated by MaiNLP (unpublished).", "all four files themselves", Counts(500, 4, 2_000, "counted"),
        ("Gender", "Age", "Nationality", "Education"), ("Question1", "Question2"),
    ),
    _2023(
        "HS-Brexit", "0:1", "0 < 1", "Is a tweet hate speech?",
        "Akhtar, Basile and Patti (2021): Whose Opinions Matter? arXiv:2106.15896.", Counts(None, 6, None, "README"),
        ("group",),
    ),
    _2023(
        "ArMIS", "0:1", "0 < 1", "Is an Arabic tweet misogynistic or sexist?",
        "Almanea and Poesio (2022): ArMIS. LREC.", Counts(None, 3, None, "README"), ("group",),
    ),
    _2023(
        "MD-Agreement", "0:1", "0 < 1", "Is a tweet offensive?",
        "Leonardelli, Menini, Palmero Aprosio, Guerini and Tonelli (2021): Agreeing to Disagree. EMNLP.", Counts(),
    ),
    _2023(
        "ConvAbuse", "-3:1", "-3 < -2 < -1 < 0 < 1", "How abusive is what a user says to a chatbot?", _ABUSE,
        Counts(None, 8, None, "README"),
    ),
)  # fmt: skip
DATASETS = (*_AMAZON, *_FACERATINGS, *_SOCIAL_CHEMISTRY, *_CEBAB, *_MULTIPREF, *_LEWIDI)
