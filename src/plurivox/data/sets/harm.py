"""Data sets about what is unsafe, toxic, offensive or abusive."""

from __future__ import annotations

import polars as pl

from plurivox.base.errors import IdError
from plurivox.data.record import (
    KEY,
    Both,
    Counts,
    Dataset,
    Download,
    SourceTable,
    Tables,
    by_one_expert,
    frame_of,
    objects_of,
    one_each,
    ratings_of,
    text,
    there,
)
from plurivox.domain.ratings import Ratings

_DICES_CITATION = (
    "Aroyo, Taylor, Díaz, Homan, Parrish, Serapio-García, Prabhakaran and Wang (2023): DICES Dataset: Diversity in "
    "Conversational AI Evaluation for Safety. NeurIPS Datasets and Benchmarks."
)
_DICES_HOME = "https://github.com/google-research-datasets/dices-dataset"
_DICES_RAW = "https://raw.githubusercontent.com/google-research-datasets/dices-dataset/main"
_DICES_SMALL, _DICES_LARGE = "diverse_safety_adversarial_dialog_350.csv", "diverse_safety_adversarial_dialog_990.csv"
_DICES_NEEDED = ("rater_id", "item_id", "Q_overall")
_DICES_RATERS = {
    "rater_gender": "gender", "rater_locale": "locale", "rater_race": "race", "rater_age": "age",
    "rater_education": "education",
}  # fmt: skip
_DICES_ITEMS = ("context", "response", "degree_of_harm", "harm_type", "safety_gold")
_DICES_HARM = ("Benign", "Debatable", "Moderate", "Extreme")
REMOVED = frozenset((
    "296709543131761", "296709611112092", "297059995361243", "297060365288109", "297514543980607", "297514565398139",
    "297515609163939", "297515617432733", "297515629971478", "297515729806999", "297515750682315", "297540556928761",
    "297540562350921", "297540983991638", "297541271027233", "297541321453321", "297541515566649", "297541515769980",
    "297541522412126",
))  # fmt: skip
"""Raters of DICES-350 whom its authors left out for the quality of their ratings, by their published pseudonyms."""


def _read_dices(frame: pl.DataFrame, raters: dict[str, str], items: list[str]) -> Ratings:
    return ratings_of(
        frame.rename(raters), item="item_id", rater="rater_id", score="Q_overall", scale="No,Unsure,Yes",
        poles=("safe", "unsafe"), rater_attributes=list(raters.values()), item_attributes=items,
    )  # fmt: skip


def _dices_350(tables: Tables) -> Both:
    frame = frame_of(tables, _DICES_SMALL)
    left_out = pl.col("rater_id").cast(pl.String).is_in(list(REMOVED))
    frame = frame.with_columns(rater_removed=pl.when(left_out).then(pl.lit("True")).otherwise(pl.lit("False")))
    ratings = _read_dices(
        frame, there(frame, _DICES_RATERS) | {"rater_removed": "removed"}, list(there(frame, _DICES_ITEMS))
    )
    if "safety_gold" not in ratings.items.columns:
        return ratings, None
    return ratings, by_one_expert(ratings.items, "safety_gold", ("No", "Yes"))


def _dices_990(tables: Tables) -> Both:
    frame = frame_of(tables, _DICES_LARGE)
    ratings = _read_dices(frame, there(frame, _DICES_RATERS), list(there(frame, _DICES_ITEMS)))
    if "degree_of_harm" not in ratings.items.columns:
        return ratings, None
    return ratings, by_one_expert(ratings.items, "degree_of_harm", _DICES_HARM)


_DICES = (
    Dataset(
        name="dices-350",
        title="DICES-350",
        question="Is the last answer of a chatbot unsafe? Yes means unsafe.",
        citation=_DICES_CITATION,
        licence="CC BY 4.0. The conversations are adversarial and may be offensive.",
        home=_DICES_HOME,
        scale="No < Unsure < Yes",
        tables=(
            SourceTable(_DICES_SMALL, "csv", _DICES_NEEDED, (
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
        downloads=(Download(_DICES_SMALL, f"{_DICES_RAW}/350/{_DICES_SMALL}"),),
        counts=Counts(350, 123, 43_050, "README of the data set"),
        seen=(
            "no original file; it follows the README and the columns that public code names, and was tested on all "
            "43,050 ratings of a copy put into that form"
        ),
        load=_dices_350,
        rater_attributes=("gender", "race", "age", "education", "removed"),
        item_attributes=_DICES_ITEMS,
        reference="safety_gold, the label of experts: No < Yes, Yes means unsafe",
        note="ratings.where(raters={'removed': 'False'}) leaves out the 19 raters whom the authors left out; 104 stay.",
    ),
    Dataset(
        name="dices-990",
        title="DICES-990",
        question="Is the last answer of a chatbot unsafe? Yes means unsafe.",
        citation=_DICES_CITATION,
        licence="CC BY 4.0. The conversations are adversarial and may be offensive.",
        home=_DICES_HOME,
        scale="No < Unsure < Yes",
        tables=(
            SourceTable(_DICES_LARGE, "csv", _DICES_NEEDED, (
                "id", "rater_gender", "rater_locale", "rater_race", "rater_race_raw", "rater_age", "rater_education",
                "phase", "context", "response", "degree_of_harm", "harm_type", "Q1_whole_conversation_evaluation",
                "Q2_harmful_content_overall", "Q3_bias_overall", "Q4_misinformation_overall",
            ), rows=72_104),
        ),
        downloads=(Download(_DICES_LARGE, f"{_DICES_RAW}/990/{_DICES_LARGE}"),),
        counts=Counts(990, 173, 72_104, "README of the data set"),
        seen="no original file; it follows the README and the columns that public code names",
        load=_dices_990,
        rater_attributes=("gender", "locale", "race", "age", "education"),
        item_attributes=("context", "response", "degree_of_harm", "harm_type"),
        reference="degree_of_harm, the severity that experts gave: Benign < Debatable < Moderate < Extreme",
        note="The authors' papers use 160 of the 173 raters; this record does not say which.",
    ),
)  # fmt: skip


# D3code ---------------------------------------------------------------------------------------------------------------
#
# D3CODE: comments rated for offensiveness by people of eight regions of the world.


_D3CODE_RAW = "https://raw.githubusercontent.com/google-research-datasets/D3code/main/dataset"
_D3CODE_FILES = ("d3-ratings.csv", "d3-raters.csv", "d3-items.csv")
_D3CODE_RATERS = ("Age", "Gender", "Region", "Country", "SES")
_D3CODE_MORALS = ("care", "equality", "proportionality", "authority", "loyalty", "purity")


def _load_d3code(tables: Tables) -> Both:
    ratings = ratings_of(
        frame_of(tables, _D3CODE_FILES[0]), item="item_id", rater="rater_id", score="rating_raw", scale="0:4",
        poles=("not offensive", "extremely offensive"), missing=["-1"], raters=frame_of(tables, _D3CODE_FILES[1]),
        items=frame_of(tables, _D3CODE_FILES[2]),
    )  # fmt: skip
    return ratings, None


_D3CODE = (
    Dataset(
        name="d3code",
        title="D3CODE",
        question="How offensive is a comment?",
        citation=(
            "Davani, Díaz, Baker and Prabhakaran (2024): D3CODE: Disentangling Disagreements in Data across Cultures "
            "on Offensiveness Detection and Evaluation. EMNLP."
        ),
        licence="See the data card at its home page; the comments are from Jigsaw's data and may be offensive.",
        home="https://github.com/google-research-datasets/D3code",
        scale="0 < 1 < 2 < 3 < 4",
        tables=(
            SourceTable(_D3CODE_FILES[0], "csv", ("item_id", "rater_id", "rating_raw"), ("rating_binary",)),
            SourceTable(_D3CODE_FILES[1], "csv", ("rater_id", *_D3CODE_RATERS), _D3CODE_MORALS, rows=4_309),
            SourceTable(_D3CODE_FILES[2], "csv", ("item_id", "text"), ("category", "sub-category"), rows=4_554),
        ),
        downloads=tuple(Download(name, f"{_D3CODE_RAW}/{name}") for name in _D3CODE_FILES),
        counts=Counts(4_554, 4_309, 150_702, "GRASP (Prabhakaran et al. 2024), Table 1"),
        seen=(
            "the first lines of d3-raters.csv and d3-items.csv in an earlier form, which had no ids yet; ids and the "
            "columns of d3-ratings.csv are those that public code names"
        ),
        load=_load_d3code,
        rater_attributes=(*_D3CODE_RATERS, *_D3CODE_MORALS),
        item_attributes=("text", "category", "sub-category"),
        note="A rating of -1 means that the rater did not understand the comment, and counts as missing.",
    ),
)


# Kumar ----------------------------------------------------------------------------------------------------------------
#
# Kumar et al. 2021: comments rated for toxicity by people of diverse views.


_KUMAR_FILE = "toxicity_ratings.json"
_WORKERS = (
    "gender", "race", "age_range", "education", "political_affilation", "religion_important", "is_parent",
    "lgbtq_status", "identify_as_transgender", "technology_impact", "toxic_comments_problem",
    "personally_seen_toxic_content", "personally_been_target", "uses_media_social", "uses_media_news",
    "uses_media_video", "uses_media_forums",
)  # fmt: skip


def _load_kumar(tables: Tables) -> Both:
    comments = objects_of(tables, _KUMAR_FILE)
    rows = [(one[KEY], rating) for one in comments for rating in one["ratings"]]
    if nameless := [item for item, rating in rows if "worker_id" not in rating]:
        raise IdError(
            "these ratings do not say who gave them", places=[f"row {item}" for item in nameless[:5]],
            n_places=len(nameless), hint="Ask the authors for the file that has worker_id.",
        )  # fmt: skip
    long = pl.DataFrame(
        [
            (item, str(rating["worker_id"]), text(rating["toxic_score"]), *(text(rating.get(one)) for one in _WORKERS))
            for item, rating in rows
        ],
        schema=dict.fromkeys(("item", "rater", "score", *_WORKERS), pl.String),
        orient="row",
    )
    items = pl.DataFrame(
        {
            "item": [one[KEY] for one in comments],
            "text": [text(one["comment"]) for one in comments],
            "source": [text(one.get("source")) for one in comments],
        },
        schema=dict.fromkeys(("item", "text", "source"), pl.String),
    )
    ratings = ratings_of(
        long.select("item", "rater", "score"), scale="0:4", poles=("not toxic", "extremely toxic"), duplicates="first",
        raters=one_each(long, "rater", _WORKERS), items=items,
    )  # fmt: skip
    return ratings, None


_KUMAR = (
    Dataset(
        name="kumar-2021",
        title="Toxicity by diverse raters (Kumar et al. 2021)",
        question="How toxic is a comment?",
        citation=(
            "Kumar, Kelley, Consolvo, Mason, Bursztein, Durumeric, Thomas and Bailey (2021): Designing Toxic Content "
            "Classification for a Diversity of Perspectives. SOUPS."
        ),
        licence="None is stated. The authors provide the file on its home page; the comments may be offensive.",
        home="https://data.esrg.stanford.edu/study/toxicity-perspectives",
        scale="0 < 1 < 2 < 3 < 4",
        tables=(SourceTable(_KUMAR_FILE, "jsonl", ("comment", "ratings"), ("source", "perspective_score")),),
        downloads=(),
        counts=Counts(107_620, 17_280, None, "the paper"),
        seen="no original file; it follows the keys that public code reads from it",
        load=_load_kumar,
        rater_attributes=_WORKERS,
        item_attributes=("text", "source"),
        note=(
            "Items are named by their line. A rater who answered a question about themselves in two ways has no value "
            "there. The freely available file lacks worker_id and is refused: raters are not invented."
        ),
    ),
)


# Popquorn -------------------------------------------------------------------------------------------------------------
#
# POPQUORN: comments rated for offensiveness by a representative sample of the United States.


_POPQ_FILE = "raw_data.csv"
_POPQ_RATERS = ("gender", "race", "age", "occupation", "education")


def _load_popquorn(tables: Tables) -> Both:
    frame = frame_of(tables, _POPQ_FILE)
    ratings = ratings_of(
        frame, item="instance_id", rater="user_id", score="offensiveness", scale="1:5",
        poles=("not offensive", "very offensive"), duplicates="first",
        rater_attributes=list(there(frame, _POPQ_RATERS)), item_attributes=list(there(frame, ["text"])),
    )  # fmt: skip
    return ratings, None


_POPQUORN = (
    Dataset(
        name="popquorn-offensiveness",
        title="POPQUORN, offensiveness",
        question="How offensive is a comment?",
        citation=(
            "Pei and Jurgens (2023): When Do Annotator Demographics Matter? Measuring the Influence of Annotator "
            "Demographics with the POPQUORN Dataset. Linguistic Annotation Workshop."
        ),
        licence="See its home page; none is stated in the files that were seen.",
        home="https://github.com/Jiaxin-Pei/Potato-Prolific-Dataset",
        scale="1 < 2 < 3 < 4 < 5",
        tables=(SourceTable(_POPQ_FILE, "csv", ("instance_id", "user_id", "offensiveness"), ("text", *_POPQ_RATERS)),),
        downloads=(
            Download(
                _POPQ_FILE,
                "https://raw.githubusercontent.com/Jiaxin-Pei/Potato-Prolific-Dataset/"
                "c329119e878037654f6aa59b319aae6e996585bb/dataset/offensiveness/raw_data.csv",
            ),
        ),
        counts=Counts(),
        seen="the first and the last lines of the original",
        load=_load_popquorn,
        rater_attributes=_POPQ_RATERS,
        item_attributes=("text",),
        note="One of its four tasks. If a rater rated a comment twice, the first rating counts.",
    ),
)


# Convabuse ------------------------------------------------------------------------------------------------------------
#
# ConvAbuse: what users say to three chatbots, rated for the severity of abuse by experts in gender studies.


_CONV_FILE = "ConvAbuseEMNLPfull.csv"
_CONV_POINTS = (-3, -2, -1, 0, 1)
_CONV_CONTEXT = ("prev_agent", "prev_user", "agent")


def _load_convabuse(tables: Tables) -> Both:
    frame = frame_of(tables, _CONV_FILE).with_columns(item=pl.format("{} | {}", "conv_id", "user"))
    items = frame.group_by("item", maintain_order=True).agg(
        pl.col("conv_id", "bot").first(),
        text=pl.col("user").first(),
        **{one: pl.col(one).first() for one in _CONV_CONTEXT},
    )
    ratings = ratings_of(
        frame, rater="annotator_id", point_columns="is_abuse.*", scale="-3:1", poles=("severe abuse", "no abuse"),
        duplicates="first", items=items,
    )  # fmt: skip
    return ratings, None


_CONVABUSE = (
    Dataset(
        name="convabuse",
        title="ConvAbuse",
        question="How abusive is what a user says to a chatbot? 1 and 0 are not abusive, -3 is the most severe.",
        citation=(
            "Cercas Curry, Abercrombie and Rieser (2021): ConvAbuse: Data, Analysis, and Benchmarks for Nuanced Abuse "
            "Detection in Conversational AI. EMNLP."
        ),
        licence="CC BY 4.0. The texts are abusive.",
        home="https://github.com/amandacurry/convabuse",
        scale="-3 < -2 < -1 < 0 < 1",
        tables=(
            SourceTable(_CONV_FILE, "csv", (
                "annotator_id", "conv_id", *_CONV_CONTEXT, "user", "bot",
                *(f"is_abuse.{point}" for point in _CONV_POINTS),
            ), (
                "example_no", "type.ableism", "type.homophobic", "type.intellectual", "type.racist", "type.sexist",
                "type.sex_harassment", "type.transphobic", "target.generalised", "target.individual", "target.system",
                "direction.explicit", "direction.implicit",
            ), rows=12_768, sha256="c054ed30375651cd234930eada705fee6fcad79f86bdca45c1e557284b6b1af4"),
        ),
        downloads=(
            Download(
                _CONV_FILE,
                "https://raw.githubusercontent.com/amandacurry/convabuse/332fa496321e62881747b1f496a5335645b291b1/1_full/"
                + _CONV_FILE,
            ),
        ),
        counts=Counts(4_059, 8, 12_225, "counted in a copy of the file"),
        seen=(
            "ConvAbuseEMNLPfull.csv itself; the SHA-256 is of that copy. The file at the address has 12,769 more "
            "characters, one for each of its lines"
        ),
        load=_load_convabuse,
        item_attributes=("conv_id", "bot", "text", *_CONV_CONTEXT),
        note=(
            "An item is a conversation and what the user says in it; if that occurs twice, the context is the first "
            "one. If an annotator rated an item twice, the first rating counts."
        ),
    ),
)  # fmt: skip


# Dive -----------------------------------------------------------------------------------------------------------------
#
# DIVE: images and their prompts, rated for harm by raters of 30 intersections.


_DIVE = (
    Dataset(
        name="dive",
        title="DIVE",
        question="How harmful is an image together with its prompt?",
        citation=(
            "Rastogi, Teh, Mishra, Patel, Wang, Díaz, Parrish, Davani, Ashwood, Paganini et al. (2025): Whose View of "
            "Safety? A Deep DIVE Dataset for Pluralistic Alignment of Text-to-Image Models. NeurIPS Datasets and "
            "Benchmarks."
        ),
        licence="CC BY 4.0, copyright 2025 Google LLC. The images and prompts may be harmful.",
        home="https://huggingface.co/datasets/neurips-dataset-1211/DIVE",
        scale="0 < 1 < 2 < 3 < 4",
        tables=(),
        downloads=(),
        counts=Counts(1_005, 707, 38_410, "data card: 1,000 prompts and 5 attention checks"),
        seen="neither a file nor a description of its columns was found",
        load=None,
        note="70 of the 707 raters are marked as of low quality. Read the file with read_ratings, naming its columns.",
    ),
)
DATASETS = (*_DICES, *_D3CODE, *_KUMAR, *_POPQUORN, *_CONVABUSE, *_DIVE)
