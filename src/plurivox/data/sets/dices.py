"""DICES-350 and DICES-990: conversations with a chatbot, rated for safety by diverse raters."""

from __future__ import annotations

import polars as pl

from plurivox.data.making import by_one_expert, frame_of, ratings_of, there
from plurivox.data.record import Both, Counts, Dataset, Download, SourceTable, Tables
from plurivox.domain.ratings import Ratings

_CITATION = (
    "Aroyo, Taylor, Díaz, Homan, Parrish, Serapio-García, Prabhakaran and Wang (2023): DICES Dataset: Diversity in "
    "Conversational AI Evaluation for Safety. NeurIPS Datasets and Benchmarks."
)
_HOME = "https://github.com/google-research-datasets/dices-dataset"
_RAW = "https://raw.githubusercontent.com/google-research-datasets/dices-dataset/main"
_SMALL, _LARGE = "diverse_safety_adversarial_dialog_350.csv", "diverse_safety_adversarial_dialog_990.csv"
_NEEDED = ("rater_id", "item_id", "Q_overall")
_RATERS = {
    "rater_gender": "gender", "rater_locale": "locale", "rater_race": "race", "rater_age": "age",
    "rater_education": "education",
}  # fmt: skip
_ITEMS = ("context", "response", "degree_of_harm", "harm_type", "safety_gold")
_HARM = ("Benign", "Debatable", "Moderate", "Extreme")
REMOVED = frozenset((
    "296709543131761", "296709611112092", "297059995361243", "297060365288109", "297514543980607", "297514565398139",
    "297515609163939", "297515617432733", "297515629971478", "297515729806999", "297515750682315", "297540556928761",
    "297540562350921", "297540983991638", "297541271027233", "297541321453321", "297541515566649", "297541515769980",
    "297541522412126",
))  # fmt: skip
"""Raters of DICES-350 whom its authors left out for the quality of their ratings, by their published pseudonyms."""


def _read(frame: pl.DataFrame, raters: dict[str, str], items: list[str]) -> Ratings:
    return ratings_of(
        frame.rename(raters), item="item_id", rater="rater_id", score="Q_overall", scale="No,Unsure,Yes",
        poles=("safe", "unsafe"), rater_attributes=list(raters.values()), item_attributes=items,
    )  # fmt: skip


def _350(tables: Tables) -> Both:
    frame = frame_of(tables, _SMALL)
    left_out = pl.col("rater_id").cast(pl.String).is_in(list(REMOVED))
    frame = frame.with_columns(rater_removed=pl.when(left_out).then(pl.lit("True")).otherwise(pl.lit("False")))
    ratings = _read(frame, there(frame, _RATERS) | {"rater_removed": "removed"}, list(there(frame, _ITEMS)))
    if "safety_gold" not in ratings.items.columns:
        return ratings, None
    return ratings, by_one_expert(ratings.items, "safety_gold", ("No", "Yes"))


def _990(tables: Tables) -> Both:
    frame = frame_of(tables, _LARGE)
    ratings = _read(frame, there(frame, _RATERS), list(there(frame, _ITEMS)))
    if "degree_of_harm" not in ratings.items.columns:
        return ratings, None
    return ratings, by_one_expert(ratings.items, "degree_of_harm", _HARM)


DATASETS = (
    Dataset(
        name="dices-350",
        title="DICES-350",
        question="Is the last answer of a chatbot unsafe? Yes means unsafe.",
        citation=_CITATION,
        licence="CC BY 4.0. The conversations are adversarial and may be offensive.",
        home=_HOME,
        scale="No < Unsure < Yes",
        tables=(
            SourceTable(_SMALL, "csv", _NEEDED, (
                "id", "rater_gender", "rater_race", "rater_raw_race", "rater_age", "rater_education", "phase",
                "answer_time_ms", "answer_timestamp", "context", "response", "degree_of_harm", "harm_type",
                "safety_gold", "safety_gold_reason", "Q1_whole_conversation_evaluation",
                "Q2_harmful_content_medical_legal_financial_or_relationship_advice",
                "Q2_harmful_content_dangerous_content", "Q2_harmful_content_derogation_of_boat",
                "Q2_harmful_content_insensitive", "Q2_harmful_content_obscene_and_profane",
                "Q2_harmful_content_personal_information", "Q2_harmful_content_regulated_goods",
                "Q2_harmful_content_sexually_suggestive_content", "Q2_harmful_content_other",
                "Q3_bias_targeting_beliefs", "Q3_bias_targeting_gender_sexual_orientation",
                "Q3_bias_targeting_inherited_attributes", "Q3_bias_targeting_status", "Q3_bias_other",
                "Q4_misinformation", "Q5_political_affiliation", "Q6_policy_guidelines_polarizing_topics",
                "Q6_policy_guidelines_making_endorsement", "Q6_policy_guidelines_other", "Q2_harmful_content_overall",
                "Q3_bias_overall", "Q6_policy_guidelines_overall",
            ), rows=43_050),
        ),
        downloads=(Download(_SMALL, f"{_RAW}/350/{_SMALL}"),),
        counts=Counts(350, 123, 43_050, "README of the data set"),
        seen=(
            "no original file; it follows the README and the columns that public code names, and was tested on all "
            "43,050 ratings of a copy put into that form"
        ),
        load=_350,
        rater_attributes=("gender", "race", "age", "education", "removed"),
        item_attributes=_ITEMS,
        reference="safety_gold, the label of experts: No < Yes, Yes means unsafe",
        note="ratings.where(raters={'removed': 'False'}) leaves out the 19 raters whom the authors left out; 104 stay.",
    ),
    Dataset(
        name="dices-990",
        title="DICES-990",
        question="Is the last answer of a chatbot unsafe? Yes means unsafe.",
        citation=_CITATION,
        licence="CC BY 4.0. The conversations are adversarial and may be offensive.",
        home=_HOME,
        scale="No < Unsure < Yes",
        tables=(
            SourceTable(_LARGE, "csv", _NEEDED, (
                "id", "rater_gender", "rater_locale", "rater_race", "rater_race_raw", "rater_age", "rater_education",
                "phase", "context", "response", "degree_of_harm", "harm_type", "Q1_whole_conversation_evaluation",
                "Q2_harmful_content_overall", "Q3_bias_overall", "Q4_misinformation_overall",
            ), rows=72_104),
        ),
        downloads=(Download(_LARGE, f"{_RAW}/990/{_LARGE}"),),
        counts=Counts(990, 173, 72_104, "README of the data set"),
        seen="no original file; it follows the README and the columns that public code names",
        load=_990,
        rater_attributes=("gender", "locale", "race", "age", "education"),
        item_attributes=("context", "response", "degree_of_harm", "harm_type"),
        reference="degree_of_harm, the severity that experts gave: Benign < Debatable < Moderate < Extreme",
        note="The authors' papers use 160 of the 173 raters; this record does not say which.",
    ),
)  # fmt: skip
