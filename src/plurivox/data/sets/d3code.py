"""D3CODE: comments rated for offensiveness by people of eight regions of the world."""

from __future__ import annotations

from plurivox.data.making import frame_of, ratings_of
from plurivox.data.record import Both, Counts, Dataset, Download, SourceTable, Tables

_RAW = "https://raw.githubusercontent.com/google-research-datasets/D3code/main/dataset"
_FILES = ("d3-ratings.csv", "d3-raters.csv", "d3-items.csv")
_RATERS = ("Age", "Gender", "Region", "Country", "SES")
_MORALS = ("care", "equality", "proportionality", "authority", "loyalty", "purity")


def _load(tables: Tables) -> Both:
    ratings = ratings_of(
        frame_of(tables, _FILES[0]), item="item_id", rater="rater_id", score="rating_raw", scale="0:4",
        poles=("not offensive", "extremely offensive"), missing=["-1"], raters=frame_of(tables, _FILES[1]),
        items=frame_of(tables, _FILES[2]),
    )  # fmt: skip
    return ratings, None


DATASETS = (
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
            SourceTable(_FILES[0], "csv", ("item_id", "rater_id", "rating_raw"), ("rating_binary",)),
            SourceTable(_FILES[1], "csv", ("rater_id", *_RATERS), _MORALS, rows=4_309),
            SourceTable(_FILES[2], "csv", ("item_id", "text"), ("category", "sub-category"), rows=4_554),
        ),
        downloads=tuple(Download(name, f"{_RAW}/{name}") for name in _FILES),
        counts=Counts(4_554, 4_309, 150_702, "GRASP (Prabhakaran et al. 2024), Table 1"),
        seen=(
            "the first lines of d3-raters.csv and d3-items.csv in an earlier form, which had no ids yet; ids and the "
            "columns of d3-ratings.csv are those that public code names"
        ),
        load=_load,
        rater_attributes=(*_RATERS, *_MORALS),
        item_attributes=("text", "category", "sub-category"),
        note="A rating of -1 means that the rater did not understand the comment, and counts as missing.",
    ),
)
