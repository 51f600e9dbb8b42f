"""Social Chemistry 101: rules of thumb, and how many people would agree with them."""

from __future__ import annotations

from plurivox.data.making import frame_of, ratings_of, there
from plurivox.data.record import Both, Counts, Dataset, Download, SourceTable, Tables

_FILE = "social-chem-101.v1.0.tsv"
_ITEMS = {"rot": "text", "situation": "situation", "area": "area", "m": "m", "split": "split"}


def _load(tables: Tables) -> Both:
    frame = frame_of(tables, _FILE)
    items = there(frame, _ITEMS)
    ratings = ratings_of(
        frame.select("rot-id", "breakdown-worker-id", "rot-agree", *items).rename(items), item="rot-id",
        rater="breakdown-worker-id", score="rot-agree", scale="0:4", poles=("almost nobody agrees", "almost all agree"),
        duplicates="first", item_attributes=list(items.values()),
    )  # fmt: skip
    return ratings, None


DATASETS = (
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
            SourceTable(_FILE, "tsv", ("rot-id", "breakdown-worker-id", "rot-agree"), (
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
        load=_load,
        item_attributes=tuple(_ITEMS.values()),
        note=(
            "m is how many workers were asked; the 400 rules with m = 50 are those of the norms paper: "
            "ratings.where(items={'m': '50'}). If a worker rated a rule twice, the first rating counts."
        ),
    ),
)  # fmt: skip
