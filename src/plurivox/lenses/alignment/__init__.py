"""Alignment: whose view a language model reflects, from human ratings and the model's answers.

ADA-Met follows Galarnyk et al. (2025), How Inclusively do LMs Perceive Social and Moral Norms?; uncertainty, equal
group sizes and the companions that keep the spread of votes are additions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from plurivox.base.arguments import MOST_DRAWS
from plurivox.base.settings import Axes, Frozen, OfGroups, setting, shared
from plurivox.base.settings.record import ordered_mapping
from plurivox.infer.lens import ANSWERS, TRAINED, Lens, Shortcut


def _read_families(given: list[str]) -> dict[str, list[str]]:
    """Read ``gpt=gpt-4o,gpt-3.5``, as often as it is given."""
    found = {}
    for text in given:
        name, sign, models = text.partition("=")
        if not sign or not name.strip() or not models.strip():
            raise ValueError(f"is {text!r}; write it as gpt=gpt-4o,gpt-3.5")
        found[name.strip()] = [model.strip() for model in models.split(",") if model.strip()]
    return found


def _numbers(prior: Any) -> None:
    if isinstance(prior, str):
        raise ValueError("Give a number, or one for each point.")


CLOSEST_BY = ("auto", "ada_met", "voter_distance")


@dataclass(frozen=True, kw_only=True, slots=True)
class AlignmentSettings(OfGroups):
    """Settings for alignment."""

    by: Axes = shared.by((), doc="Rater attributes and crossings of several, whose groups are compared.")
    subset: str | None = setting(
        None, "Also give distances for each value of this item attribute.", metavar="COLUMN",
        doc="An item attribute; distances from all raters are also given for each of its values.",
    )  # fmt: skip
    several: Frozen = shared.several(
        doc='Attributes of which a rater may have several values, and what separates them: ``{"race": ";"}``. Their '
        "groups overlap, so none is called the closest."
    )
    level: Any = shared.level(
        "ordinal",
        doc="How XRR between a model and a group weighs points: nominal, ordinal, interval, or a matrix of distances. "
        "Standing in for a rater uses agreement on the nominal level, a matrix if one is given, or distance.",
    )
    prior: Any = shared.prior(
        help="Weight of each point before any vote: a number, or one for each point (1,1,2).",
        accepts="ArrayLike",
        check=_numbers,
        doc="The weight of each point before any vote, for the expected earth mover's distance.",
    )
    families: Frozen | None = setting(
        None, "The models of a family: 'gpt=gpt-4o,gpt-3.5'. Repeatable.", option="--family", metavar="NAME=MODELS",
        parse=_read_families, repeated=True, canonical=ordered_mapping,
        hint="Give the models of each family: {'gpt': ['gpt-4o', 'gpt-3.5']}.",
        accepts="Mapping[str, Sequence[str]] | None",
        doc="Models by family, for alpha within families; by default as the answers say, or by the beginning of their "
        "names.",
    )  # fmt: skip
    threshold: Any = shared.threshold(
        help="Lowest point that means unsafe.",
        doc="The lowest point that means unsafe, where models are judged as raters. Without it, all raters and groups "
        "are split at every point in turn, and values are averaged.",
    )
    as_rater: bool = setting(True, "Whether to judge models as raters at all.", cli=False)
    tolerance: float = shared.tolerance()
    bootstrap: int = shared.bootstrap(1000, doc="How many times items are resampled for 95 % intervals.")
    permutations: int = shared.permutations(
        1000, doc="How many times raters are shuffled between groups, to test which group is closest."
    )
    max_permutations: int | None = shared.max_permutations()
    n_lenses: int = shared.n_lenses()
    closest_by: str = setting(
        "auto", "What decides which group is closest: ada_met, voter_distance, or auto.", metavar="DISTANCE",
        choices=CLOSEST_BY,
        doc='The distance that decides which group is closest: from modes (``"ada_met"``) or from single votes '
        '(``"voter_distance"``), in which items weigh by their votes. ``"auto"``: from modes where the smallest group '
        "has ten votes or more for an item, otherwise from single votes.",
    )  # fmt: skip
    subsamples: int = setting(
        200, "How often raters are drawn for equal group sizes.", least=0, most=MOST_DRAWS, metavar="N",
        doc="How many times raters are drawn so that all groups are as large as the smallest.",
    )  # fmt: skip
    within: tuple[str, ...] | None = shared.within()
    convention: str = shared.convention(
        "default, or published: alpha with refusals as categories.",
        '``"published"`` counts refusals as categories in alpha.',
    )
    correction: str = shared.correction(
        doc='How p-values are corrected over models, prompts and attributes: ``"maxt"`` by the largest deviation in '
        "each shuffle; bh, by, holm or bonferroni; or none, without claims.",
    )
    seed: int = shared.seed()
    ids: bool = shared.ids()

    @property
    def interval(self) -> str:
        """How intervals are made, which tests of groups need to know."""
        return "bootstrap"

    @property
    def resample(self) -> str:
        """What intervals generalise over."""
        return "items"


LENS = Lens(
    name="alignment",
    command="align",
    order=50,
    question="Find out whose view language models reflect.",
    about="The distance of answers from the mode of votes (ADA-Met) for all raters and each group, the group of closest"
    "\nalignment with its uncertainty, also at equal group sizes, and companions that keep the spread of votes. "
    "Refusals\ncost the whole scale, and are counted. Constant and random answers are shown for comparison. Without "
    "human ratings\n(--answers FILE --scale POINTS, and no FILE) it shows what was refused, and how far models agree.",
    settings=AlignmentSettings,
    headlines=True,
    inputs=(ANSWERS, TRAINED),
    shortcuts=(
        Shortcut(
            name="fast",
            help="Skip MPA, WRA and equal group sizes.",
            sets={"as_rater": False, "subsamples": 0},
        ),
    ),
    csv_tables=(
        "values", "accounts", "closest", "standings", "contrasts", "alphas", "stand_ins", "prompts", "stability",
        "positions", "distances", "items", "bands",
    ),
    result="plurivox.lenses.alignment.result:Alignment",
    tables="plurivox.lenses.alignment.result:tables",
    brief="plurivox.lenses.alignment.result:brief",
    legend="Distances are in points of the scale, E[EMD] in lengths of the scale; lower is closer. ADA-Met and the "
    "distance to voters charge the whole scale for a refused or unreadable answer. A closest group is claimed where "
    "its lead is larger than shuffled raters give, certain over items, and certainly larger than the same answers give "
    "in random order, so that they follow the group.",
    alone="answers",
)  # fmt: skip
