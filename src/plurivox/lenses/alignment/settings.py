"""Settings for alignment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from plurivox.base.arguments import MOST_DRAWS
from plurivox.base.settings import Axes, Frozen, OfGroups, setting, shared
from plurivox.base.settings.record import ordered_mapping


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
