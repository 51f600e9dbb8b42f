"""ConvAbuse: what users say to three chatbots, rated for the severity of abuse by experts in gender studies."""

from __future__ import annotations

import polars as pl

from plurivox.data.making import frame_of, ratings_of
from plurivox.data.record import Both, Counts, Dataset, Download, SourceTable, Tables

_FILE = "ConvAbuseEMNLPfull.csv"
_POINTS = (-3, -2, -1, 0, 1)
_CONTEXT = ("prev_agent", "prev_user", "agent")


def _load(tables: Tables) -> Both:
    frame = frame_of(tables, _FILE).with_columns(item=pl.format("{} | {}", "conv_id", "user"))
    items = frame.group_by("item", maintain_order=True).agg(
        pl.col("conv_id", "bot").first(), text=pl.col("user").first(), **{one: pl.col(one).first() for one in _CONTEXT}
    )
    ratings = ratings_of(
        frame, rater="annotator_id", point_columns="is_abuse.*", scale="-3:1", poles=("severe abuse", "no abuse"),
        duplicates="first", items=items,
    )  # fmt: skip
    return ratings, None


DATASETS = (
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
            SourceTable(_FILE, "csv", (
                "annotator_id", "conv_id", *_CONTEXT, "user", "bot", *(f"is_abuse.{point}" for point in _POINTS),
            ), (
                "example_no", "type.ableism", "type.homophobic", "type.intellectual", "type.racist", "type.sexist",
                "type.sex_harassment", "type.transphobic", "target.generalised", "target.individual", "target.system",
                "direction.explicit", "direction.implicit",
            ), rows=12_768, sha256="c054ed30375651cd234930eada705fee6fcad79f86bdca45c1e557284b6b1af4"),
        ),
        downloads=(
            Download(
                _FILE,
                "https://raw.githubusercontent.com/amandacurry/convabuse/332fa496321e62881747b1f496a5335645b291b1/1_full/"
                + _FILE,
            ),
        ),
        counts=Counts(4_059, 8, 12_225, "counted in a copy of the file"),
        seen=(
            "ConvAbuseEMNLPfull.csv itself; the SHA-256 is of that copy. The file at the address has 12,769 more "
            "characters, one for each of its lines"
        ),
        load=_load,
        item_attributes=("conv_id", "bot", "text", *_CONTEXT),
        note=(
            "An item is a conversation and what the user says in it; if that occurs twice, the context is the first "
            "one. If an annotator rated an item twice, the first rating counts."
        ),
    ),
)  # fmt: skip
