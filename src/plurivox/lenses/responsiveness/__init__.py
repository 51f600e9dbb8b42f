"""Responsiveness: whether higher scores mean more severe (MPA), and whether unsafe and safe are told apart (WRA).

Both measures are those of Mishra et al., *Decoding Safety Feedback from Diverse Raters: A Data-driven Lens on
Responsiveness to Severity* (arXiv 2503.05609); rank correlations, AUROC and average precision are also shown.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from plurivox.base.errors import InputError
from plurivox.base.settings import Axes, Frozen, OfGroups, setting, shared
from plurivox.base.settings.record import conditions, read_conditions
from plurivox.infer.lens import REFERENCE, Lens

ALWAYS = "always"


@dataclass(frozen=True, kw_only=True, slots=True)
class ResponsivenessSettings(OfGroups):
    """Settings for responsiveness."""

    by: Axes = shared.by(
        (),
        doc='Rater attributes, and crossings of several: ``["age", ("race", "gender")]``; ``"rater"`` for each rater '
        "individually.",
    )
    threshold: Any = shared.threshold()
    items_by: str | None = shared.items_by()
    group_score: str = shared.group_score()
    ties: str = shared.ties()
    permutations: int = shared.permutations(
        1000,
        doc="How often rater profiles are shuffled to see what chance gives; 0 for values without p. Individual raters "
        "are compared with each other, which needs no draws.",
    )
    max_permutations: int | None = shared.max_permutations()
    n_lenses: int = shared.n_lenses()
    interval: str | None = shared.interval()
    bootstrap: int = shared.bootstrap(
        0, help="Draws for bootstrap intervals.", doc="The number of draws for bootstrap intervals."
    )
    resample: str = shared.resample(
        doc='What 95 % intervals generalise over: other ``"items"``, other ``"raters"`` of the same groups, or '
        '``"both"``; individual raters allow only items.'
    )
    within: tuple[str, ...] | None = shared.within()
    correction: str = shared.correction()
    convention: str = shared.convention(
        "default, or published: MPA not capped at 0.",
        '``"default"``, or ``"published"``: MPA is not capped at 0, as in the paper\'s listing, so HM can exceed 1.',
    )
    pairs: bool = shared.pairs()
    contrast: tuple[str, str] | None = shared.contrast()
    family: tuple[Frozen, ...] = setting(
        (), "Test whether all groups with this value lie below or above all others: ethnicity=Latinx. Repeatable.",
        metavar="ATTRIBUTE=VALUE", repeated=True, parse=read_conditions, canonical=conditions,
        accepts="Mapping[str, Any] | Sequence[Mapping[str, Any]] | None",
        doc='A value that several groups share, such as ``{"ethnicity": "Latinx"}``: do all of them lie below or above '
        "all others? A list of such values tests each, and corrects over all.",
    )  # fmt: skip
    psychometrics: bool | str = setting(
        False,
        "Also compute Mokken's H_j and the discrimination of a graded response model, for up to 200 raters or groups "
        "of an axis; plurivox scale shows more of both.",
        choices=(False, True, ALWAYS),
        hint=f"Give True, False or {ALWAYS!r}.",
        doc="Whether to add Mokken's H_j and the discrimination of a graded response model, which compare raters or "
        'groups with each other and not with the reference. True leaves out axes of more than 200, ``"always"`` none.',
    )
    min_support: float = setting(
        5, "Name scores given to fewer items.", least=0, metavar="N",
        doc="Scores given to fewer items are named in a note, since MPA weighs every score equally.",
    )  # fmt: skip
    ids: bool = shared.ids()
    seed: int = shared.seed()

    def check(self) -> None:
        """Raise if raters would be drawn where each is looked at individually."""
        if self.resample == "raters" and self.interval != "none" and ("rater",) in self.by:
            raise InputError(
                f"resample is {self.resample!r}, but for individual raters only items can be resampled",
                hint="Set resample='items', or leave 'rater' out of by.",
            )


LENS = Lens(
    name="responsiveness",
    command="responsiveness",
    order=20,
    question="Find out whose scores convey severity.",
    about="MPA asks whether each higher score means more severe, WRA whether unsafe items get higher scores than safe "
    "ones; HM\nis their harmonic mean. Raters are shuffled between groups to see what chance gives: * is p < .05, ** "
    "p < .05 after\ncorrection. --by rater looks at each rater individually.",
    settings=ResponsivenessSettings,
    headlines=True,
    inputs=(REFERENCE,),
    every_attribute=True,
    attributes_needed=False,
    csv_tables=("values", "scores", "boundaries", "correlations", "pairs"),
    result="plurivox.lenses.responsiveness.result:Responsiveness",
    brief="plurivox.lenses.responsiveness.tables:brief",
    notes="plurivox.lenses.responsiveness.tables:notes",
    closing="A low value is a reason to look at instructions, scale and reference, never a reason to drop a group.",
    kernel="plurivox.kernels.responsiveness:permuted_tables",
)
