"""Items: those that divide groups, and those that deserve more ratings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from plurivox.base.settings import OfGroups, Settings, setting, shared
from plurivox.infer.lens import Lens, Written


@dataclass(frozen=True, kw_only=True, slots=True)
class ItemsSettings(OfGroups):
    """Settings for items."""

    uncertain: bool = setting(
        False, "Only the items that deserve more ratings, not those that divide groups.",
        doc="Whether to look only for items that deserve more ratings, not for those that divide groups.",
    )  # fmt: skip
    permutations: int = shared.permutations(1000)
    max_permutations: int | None = shared.max_permutations()
    n_lenses: int = shared.n_lenses()
    seed: int = shared.seed()
    within: tuple[str, ...] | None = shared.within()
    prior: Any = shared.prior(shared.AUTO)
    precision: float | None = setting(
        None, "Wanted precision of the mean score: ± this many units of the scale (default: a tenth of its length).",
        metavar="UNITS",
        doc="How precisely the mean score should be known: ± this many units of the scale; by default a tenth of the "
        "way from the lowest point to the highest.",
    )  # fmt: skip
    min_group_size: int = shared.min_group_size(
        doc="Groups with fewer raters are not compared; where a group or its rest gave an item fewer ratings, means, "
        "counts and the raw difference are withheld."
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class TasksSettings(Settings):
    """Settings for the tasks that are written."""

    form: str | None = setting(
        None, "The platform: label-studio, argilla, or csv for a table.", option="--as", metavar="FORM",
        choices=("label-studio", "argilla", "csv"),
    )  # fmt: skip
    text: tuple[str, ...] | None = setting(
        None, "Columns that raters read: prompt,answer (default: text). Argilla shows them.", metavar="COLUMNS",
        parse=lambda text: tuple(text.split(",")), canonical=lambda given: tuple(map(str, given)),
    )  # fmt: skip
    at_most: int | None = setting(None, "Write tasks for at most this many items.", metavar="N", least=1)


@dataclass(frozen=True, kw_only=True, slots=True)
class ItemsShown(Settings):
    """What the terminal shows of items."""

    top: int = setting(20, "How many items to show; --csv and --json have all.", least=1)


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
