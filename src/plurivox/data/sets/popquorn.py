"""POPQUORN: comments rated for offensiveness by a representative sample of the United States."""

from __future__ import annotations

from plurivox.data.making import frame_of, ratings_of, there
from plurivox.data.record import Both, Counts, Dataset, Download, SourceTable, Tables

_FILE = "raw_data.csv"
_RATERS = ("gender", "race", "age", "occupation", "education")


def _load(tables: Tables) -> Both:
    frame = frame_of(tables, _FILE)
    ratings = ratings_of(
        frame, item="instance_id", rater="user_id", score="offensiveness", scale="1:5",
        poles=("not offensive", "very offensive"), duplicates="first", rater_attributes=list(there(frame, _RATERS)),
        item_attributes=list(there(frame, ["text"])),
    )  # fmt: skip
    return ratings, None


DATASETS = (
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
        tables=(SourceTable(_FILE, "csv", ("instance_id", "user_id", "offensiveness"), ("text", *_RATERS)),),
        downloads=(
            Download(
                _FILE,
                "https://raw.githubusercontent.com/Jiaxin-Pei/Potato-Prolific-Dataset/"
                "c329119e878037654f6aa59b319aae6e996585bb/dataset/offensiveness/raw_data.csv",
            ),
        ),
        counts=Counts(),
        seen="the first and the last lines of the original",
        load=_load,
        rater_attributes=_RATERS,
        item_attributes=("text",),
        note="One of its four tasks. If a rater rated a comment twice, the first rating counts.",
    ),
)
