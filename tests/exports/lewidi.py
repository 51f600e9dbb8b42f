"""Data of the shared tasks LeWiDi 2023 and 2025."""

from __future__ import annotations

import json
from typing import Any

from exports.record import Case


def edition_2023(annotations: str, annotators: str, **more: Any) -> dict[str, Any]:
    """Return an item as the second edition has it."""
    return {
        "text": "@user just another tweet", "annotation task": "offensiveness detection",
        "number of annotations": annotations.count(",") + 1, "annotations": annotations, "annotators": annotators,
        "lang": "en", "hard_label": "0", "soft_label": {"0": 1.0, "1": 0.0}, "split": "train",
        "other_info": {"domain": "Elections2020"}, **more,
    }  # fmt: skip


def edition_2025(annotations: dict[str, str], **more: Any) -> dict[str, Any]:
    """Return an item as the third edition has it."""
    return {
        "annotation task": "sarcasm detection", "text": {"context": "Steve sighs", "response": "of course"},
        "number of annotators": len(annotations), "annotators": ",".join(annotations),
        "number of annotations": len(annotations), "annotations": annotations,
        "soft_label": {"1": 0.33, "6": 0.67}, "split": "dev", "lang": "en",
        "other_info": {"context+speaker": "130_1037"}, **more,
    }  # fmt: skip


OLD = {"1": edition_2023("0,1,0", "Ann418,Ann266,Ann149"), "2": edition_2023("1,1", "Ann266,Ann730", lang="it")}
NEW = {"2153": edition_2025({"Ann784": "6", "Ann785": "4"}), "17": edition_2025({"Ann0": "1"})}
COMMAS = json.dumps(NEW, indent=1).replace('"Ann785": "4"', '"Ann785": "4",').replace("130_1037", "a,}")
CASES = [
    Case(
        "lewidi", "plain", "MD-Agreement_train.json", json.dumps(OLD),
        ratings=(("1", "Ann418", "0"), ("1", "Ann266", "1"), ("1", "Ann149", "0"), ("2", "Ann266", "1"),
                 ("2", "Ann730", "1")),
        items={"2": {"text": "@user just another tweet", "lang": "it", "split": "train", "domain": "Elections2020"}},
    ),
    Case(
        "lewidi", "plain", "CSC_dev.json", json.dumps(NEW, indent=1), {"scale": "1:6"},
        ratings=(("17", "Ann0", "1"), ("2153", "Ann784", "6"), ("2153", "Ann785", "4")),
        items={"17": {"context": "Steve sighs", "response": "of course", "context+speaker": "130_1037"}},
    ),
    Case(
        "lewidi", "awkward", "commas.json", COMMAS, {"scale": "1:6"},
        ratings=(("17", "Ann0", "1"), ("2153", "Ann784", "6"), ("2153", "Ann785", "4")),
        items={"17": {"context+speaker": "a,}"}},
    ),
    Case(
        "lewidi", "broken", "VariErrNLI_dev.json",
        json.dumps({"5": edition_2025({"Ann1": "contradiction,neutral", "Ann2": "neutral"})}),
        {"scale": "contradiction,neutral,entailment"},
        error=("VariErrNLI_dev.json", "row 1", "'several: contradiction, neutral'"),
    ),
    Case(
        "lewidi", "broken", "lengths.json", json.dumps({**OLD, "3": edition_2023("0,1,0", "Ann1,Ann2")}),
        error=("lengths.json", "row 3", "item '3' has 2 annotators but 3 annotations"),
    ),
    Case(
        "lewidi", "broken", "CSC_annotators_meta.json", '{"Ann0":{"Gender":"Female","Age":"56"},"Ann1":{}}',
        error=("CSC_annotators_meta.json", "it describes the annotators of LeWiDi", "--raters"),
    ),
    Case(
        "lewidi", "broken", "mixed.json", json.dumps({**NEW, "3": edition_2023("0,1,0", "Ann1,Ann2,Ann3")}),
        {"scale": "1:6"}, error=("mixed.json", "row 3", "the cell is not JSON"),
    ),
]  # fmt: skip
