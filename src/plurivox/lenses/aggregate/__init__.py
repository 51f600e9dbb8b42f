"""Aggregation: one label per item by several methods, and what that hides."""

from plurivox.infer.lens import Lens, Written
from plurivox.lenses.aggregate.settings import AggregateSettings, LabelsSettings

LABELS = Written(
    name="labels",
    help="Also write the labels of all methods, one row per item: .csv, .parquet or .jsonl.",
    settings=LabelsSettings,
    check="plurivox.lenses.aggregate.result:check_file",
    write="plurivox.lenses.aggregate.result:write_labels",
)

LENS = Lens(
    name="aggregate",
    command="aggregate",
    order=56,
    question="Give each item one label by several methods, and show what that hides.",
    about="Plurality, mean and posterior label each item on its own; Dawid–Skene, MACE and an ordinal model also weigh "
    "raters by how far\nthey agree with others. All assume one true label per item. With --by, the table shows how far "
    "the labels lie from what\neach group says. Raters are shuffled between groups to see what chance gives: * is p < "
    ".05, ** p < .05 after correction.",
    settings=AggregateSettings,
    csv_tables=("values", "labels", "probabilities", "methods", "differing", "raters"),
    result="plurivox.lenses.aggregate.result:Aggregation",
    tables="plurivox.lenses.aggregate.result:tables",
    brief="plurivox.lenses.aggregate.result:brief",
    notes="plurivox.lenses.aggregate.result:notes",
    written=LABELS,
    kernel="plurivox.kernels.aggregate:add_departures",
)
