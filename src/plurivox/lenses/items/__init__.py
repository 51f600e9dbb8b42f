"""Items: those that divide groups, and those that deserve more ratings."""

from plurivox.infer.lens import Lens, Written
from plurivox.lenses.items.settings import ItemsSettings, ItemsShown, TasksSettings

TASKS = Written(
    name="tasks",
    help="Also write the items that deserve more ratings as tasks for raters: .json, .jsonl, .csv or .parquet.",
    settings=TasksSettings,
    check="plurivox.lenses.items.result:check_file",
    write="plurivox.lenses.items.result:write_tasks",
)

LENS = Lens(
    name="items",
    command="items",
    toml="item_list",  # [items] says where the table of items is
    order=60,
    question="List the items that deserve more ratings, and those that divide groups.",
    about="The first list is sorted by the information expected from one more rating, in nats; it also gives the "
    "expected mean score\nwith its 95 % credible interval, and how many ratings the wanted precision takes. With --by, "
    "the second list has the items\non which a group differs most clearly from the others. Its p-values are corrected "
    "over all items and groups.",
    settings=ItemsSettings,
    headlines=True,
    showing=ItemsShown,
    csv_tables=("uncertain", "divided", "distributions"),
    result="plurivox.lenses.items.result:Items",
    tables="plurivox.lenses.items.result:tables",
    brief="plurivox.lenses.items.result:brief",
    written=TASKS,
    kernel="plurivox.kernels.moments:add_differences",
)
