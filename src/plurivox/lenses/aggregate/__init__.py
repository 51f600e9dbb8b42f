"""Aggregation: one label per item by several methods, and what that hides."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from plurivox.base.settings import OfGroups, Settings, setting, shared
from plurivox.base.settings.record import names
from plurivox.infer.lens import Lens, Written

METHODS = ("plurality", "mean", "posterior", "dawid_skene", "mace", "ordinal")
"""How one label is made of an item's ratings."""
OF_COUNTS = METHODS[:3]
"""The methods that do not need to know who gave a rating."""
CALLED = {
    "plurality": "plurality", "mean": "mean", "posterior": "posterior", "dawid_skene": "Dawid–Skene", "mace": "MACE",
    "ordinal": "ordinal model",
}  # fmt: skip
"""What tables and charts call them."""
SAID = {**CALLED, **{name: f"the {CALLED[name]}" for name in ("mean", "posterior", "ordinal")}}
"""What sentences call them."""


def _methods(given: Any) -> tuple[str, ...]:
    found = tuple(name.replace("-", "_") for name in names(given))
    if not found or not set(found) <= set(METHODS):
        raise TypeError("not a list of methods")
    return tuple(name for name in METHODS if name in found)


@dataclass(frozen=True, kw_only=True, slots=True)
class AggregateSettings(OfGroups):
    """Settings for aggregation."""

    methods: tuple[str, ...] = setting(
        METHODS, f"How labels are made: {', '.join(METHODS)} (default: all).", metavar="METHODS",
        parse=lambda text: tuple(map(str.strip, text.split(","))), canonical=_methods, accepts="str | Sequence[str]",
        hint=f"Choose from {', '.join(METHODS)}.",
        doc='How labels are made: ``"plurality"``, ``"mean"`` and ``"posterior"`` (the expected distribution under '
        '``prior``) from each item alone; ``"dawid_skene"``, ``"mace"`` and ``"ordinal"`` also from how far raters '
        "agree elsewhere. All by default.",
    )  # fmt: skip
    prior: Any = shared.prior()
    max_iterations: int = setting(
        1000, "Rounds after which a model stops even if it has not converged (default 1,000).", metavar="N", least=1,
        most=1_000_000, doc="After how many rounds a model stops even if it has not converged; a finding then says so.",
    )  # fmt: skip
    starts: int = setting(
        10, "Number of starting points from which MACE is fitted (default 10).", metavar="N", least=1, most=1000,
        doc="Number of starting points from which MACE is fitted; the most likely one continues.",
    )  # fmt: skip
    permutations: int = shared.permutations(1000)
    max_permutations: int | None = shared.max_permutations()
    n_lenses: int = shared.n_lenses()
    interval: str | None = shared.interval(
        choices=("jackknife", "none"), help="How 95 % intervals are made: jackknife (the default) or none.",
        doc='How 95 % intervals are made: ``"jackknife"`` leaves out each item and each rater in turn, while labels '
        'stay as they are; ``"none"`` makes none.',
    )  # fmt: skip
    resample: str = shared.resample()
    within: tuple[str, ...] | None = shared.within()
    correction: str = shared.correction()
    seed: int = shared.seed()

    @property
    def bootstrap(self) -> int:
        """No draws: copies of a rater would look like raters who agree."""
        return 0


@dataclass(frozen=True, kw_only=True, slots=True)
class LabelsSettings(Settings):
    """Settings for the labels that are written."""

    slim: bool = setting(False, "Write labels and confidence only, without the probability of each point.")


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
