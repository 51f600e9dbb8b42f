"""The shared tasks LeWiDi 2023 and 2025: several data sets in one format of JSON each."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from plurivox.data.making import objects_of, ratings_of
from plurivox.data.reading import KEY
from plurivox.data.record import Both, Counts, Dataset, Download, Table, Tables
from plurivox.domain import roles
from plurivox.domain.ratings import Ratings
from plurivox.domain.raw import RawTable
from plurivox.read.formats import lewidi
from plurivox.read.json_documents import table_of_rows
from plurivox.read.settings import ReadSettings

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
    rows = [{roles.KEY: one[KEY], **{name: value for name, value in one.items() if name != KEY}} for one in objects]
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
                Table(name, "json", ("annotations", "text"), (
                    "annotation task", "annotators", "number of annotations", "soft_label", "split", "lang",
                    "other_info", *(() if task == "MP" else ("number of annotators",)),
                ), _ROWS.get(name), _SUMS.get(name), optional=True)
                for name in splits
            ),
            Table(meta, "json", (), (), None, _SUMS.get(meta), optional=True),
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
            Table(f"{task}_{split}.json", "json", ("annotators", "annotations", "text"), (
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
DATASETS = (
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
