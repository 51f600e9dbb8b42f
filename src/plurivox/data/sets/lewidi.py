"""The shared tasks LeWiDi 2023 and 2025: several data sets in one format of JSON each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import polars as pl

from plurivox.data.making import objects_of, ratings_of, text
from plurivox.data.reading import KEY
from plurivox.data.record import Both, Counts, Dataset, Download, Table, Tables
from plurivox.ratings import Ratings

_HOME = "https://le-wi-di.github.io/"
_RAW = "https://raw.githubusercontent.com/Le-Wi-Di/le-wi-di.github.io"
_SPLITS = ("train", "dev", "test")
Row = tuple[str, str, str | None]


def _ratings(
    items: list[dict[str, Any]], rows: list[Row], raters: Mapping[str, Mapping[str, Any]], scale: str
) -> Ratings:
    """Return ratings with what each object says of its item, and what is known of raters."""
    known = list(dict.fromkeys(key for one in raters.values() for key in one))
    about = list(dict.fromkeys(key for one in items for key in one))
    who = {rater for _, rater, _ in rows}
    table = [(rater, *(text(one.get(key)) for key in known)) for rater, one in raters.items() if rater in who]
    table += [(rater, *(None for _ in known)) for rater in sorted(who - set(raters))]
    return ratings_of(
        pl.DataFrame(rows, schema=dict.fromkeys(("item", "rater", "score"), pl.String), orient="row"),
        scale=scale,
        raters=pl.DataFrame(table, schema=dict.fromkeys(("rater", *known), pl.String), orient="row") if known else None,
        items=pl.DataFrame([[text(one.get(key)) for key in about] for one in items],
                           schema=dict.fromkeys(about, pl.String), orient="row"),
    )  # fmt: skip


def _flat(one: dict[str, Any], several: str = "text") -> dict[str, Any]:
    """Return what is said of an item: its texts, split, language and what else is one value."""
    texts = one[several] if isinstance(one[several], dict) else {"text": one[several]}
    other = one.get("other_info")
    more = {key: value for key, value in other.items() if _is_one(value)} if isinstance(other, dict) else {}
    found = {**{key: one.get(key) for key in ("split", "lang")}, **texts, **more}
    return {"item": one[KEY], **{key: value for key, value in found.items() if key not in ("item", "rater")}}


def _is_one(value: Any) -> bool:
    return value is None or isinstance(value, str | int | float)


# 2025 -----------------------------------------------------------------------------------------------------------------


def _load_2025(task: str, scale: str, tables: Tables) -> Both:
    items = [one for split in _SPLITS for one in objects_of(tables, f"{task}_{split}.json")]
    rows = [(one[KEY], rater, text(score)) for one in items for rater, score in one["annotations"].items()]
    raters = {
        key if (key := str(one[KEY])).startswith("Ann") else f"Ann{key}":  # MP calls Ann0 0
        {name: value for name, value in one.items() if name != KEY}
        for one in objects_of(tables, f"{task}_annotators_meta.json")
    }  # fmt: skip
    return _ratings(list(map(_flat, items)), rows, raters, scale), None


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
        note="Whichever of train, dev and test are there are read together; split tells them apart.",
    )  # fmt: skip


# 2023 -----------------------------------------------------------------------------------------------------------------


def _load_2023(task: str, scale: str, tables: Tables) -> Both:
    items = [one for split in _SPLITS for one in objects_of(tables, f"{task}_{split}.json")]
    items = [{**one, KEY: f"{one.get('split', '')}-{one[KEY]}"} for one in items]  # each split counts from 1
    groups: dict[str, dict[str, Any]] = {}
    rows = [row for one in items for row in _one_2023(one, groups)]
    return _ratings([_about_2023(one) for one in items], rows, groups, scale), None


def _one_2023(one: dict[str, Any], groups: dict[str, dict[str, Any]]) -> Iterator[Row]:
    """Yield the ratings of an item: scores and raters are lists in one order, each in one text."""
    raters, scores = ([part.strip() for part in str(one[key]).split(",")] for key in ("annotators", "annotations"))
    if len(raters) != len(scores):
        raise ValueError(f"item {one[KEY]} has {len(raters)} annotators and {len(scores)} annotations")
    other = one.get("other_info") or {}
    told = next((value for key, value in other.items() if key.replace("_", " ").lower() == "annotators group"), None)
    labels = [part.strip() for part in str(told).split(",")] if told else []
    for at, (rater, score) in enumerate(zip(raters, scores, strict=True)):
        if len(labels) == len(raters):
            groups.setdefault(rater, {"group": labels[at]})
        yield one[KEY], rater, text(score)


def _about_2023(one: dict[str, Any]) -> dict[str, Any]:
    other = {key: value for key, value in (one.get("other_info") or {}).items() if "group" not in key.lower()}
    return _flat({**one, "other_info": other})


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
        note="Items are called by their split and key. Whichever of train, dev and test are there are read together.",
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
