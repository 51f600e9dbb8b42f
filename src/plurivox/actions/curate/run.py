"""Curation: training data from the scores of selected raters, group by group, without imposing one group's view on all.

After section 6 of Mishra et al., *Decoding Safety Feedback from Diverse Raters: A Data-driven Lens on Responsiveness to
Severity* (arXiv 2503.05609): choose the most responsive raters of every group and items at all severities by their
scores, and let a person look at what a group sees quite differently from the reference.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from plurivox.actions.advise.seen import Looking
from plurivox.actions.advise.settings import Thresholds
from plurivox.actions.curate.parts import Decisions, Texts, chosen_raters, drawing_order, named_raters
from plurivox.actions.curate.result import Curation
from plurivox.actions.curate.rows import Work, standings
from plurivox.actions.curate.settings import CurationSettings
from plurivox.actions.select.result import OWN_GROUP
from plurivox.actions.select.run import select_raters
from plurivox.base.arguments import Frame
from plurivox.base.errors import InputError, SelectionError, few
from plurivox.base.wording import why_withheld
from plurivox.domain.axis import Axis
from plurivox.domain.code import as_text
from plurivox.domain.ratings import Ratings
from plurivox.domain.scale_names import poles_in
from plurivox.engine.pool import Running
from plurivox.infer.grouping import Compared, axes_of
from plurivox.infer.keywords import keywords
from plurivox.lenses.responsiveness.references import CROWD, ReferenceLike, resolve
from plurivox.lenses.responsiveness.run import responsiveness


@keywords(CurationSettings)
def curate(
    ratings: Ratings,
    reference: ReferenceLike = "crowd",
    *,
    raters: Sequence[object] | None = None,
    decisions: Decisions | Frame | None = None,
    settings: CurationSettings,
    how: Running,
) -> Curation:
    """Make training data from ratings: each group's preferences, those shared by all groups, and weights.

    A group's score of an item is the mean of what its selected raters gave. Its standing says how its scores relate to
    the reference, by the verdict of :func:`plurivox.responsiveness`: ``"in line"``; ``"granular"``, low MPA only, so
    that its fine steps mean something else; ``"broad"``, low WRA only, so that it draws the line elsewhere;
    ``"different"``, both, or scores that run against the reference.

    Everything weighs 1, except that what lies within a range of scores over which the reference does not follow a
    group's steps weighs ``range_weight``; a pair's weight is multiplied by its certainty, the share of the selected
    raters of both items who order them this way, equal scores counting half. The preferences of a different group are
    written like all others, marked as ``open``, and listed for a person, who may include or exclude each pair. Distance
    from the reference is not a fault: the reference has a view of its own.

    Parameters
    ----------
    ratings
        Who rated what. Higher points mean more severe.
    reference
        What groups are compared with, as in :func:`plurivox.responsiveness`. A group's raters are also chosen by it,
        unless it is the crowd: then by the other raters of their own group, as in :func:`plurivox.select_raters`.
    raters
        Ids of the raters to use instead of the most responsive ones.
    decisions
        The listed pairs of an earlier call as a frame with the columns ``pair`` and ``decision``: include, exclude, or
        blank.

    Raises
    ------
    InputError
        If there is nothing to curate: no group has an eligible rater, or no pair or point is left.

    Examples
    --------
    >>> import plurivox as pv
    >>> study = pv.simulate(n_items=60, n_raters=40, seed=1)
    >>> found = pv.curate(study.ratings, study.trained, by="gender", per_point=10, permutations=99)
    >>> found
    <Curation: 39 points of 1 group>
    >>> found.to_frame().columns
    ['item', 'text', 'score', 'weight', 'group', 'n_votes', 'standing', 'decision']
    """
    axis = _axis(ratings, settings)
    form, texts = _texts(ratings, settings)
    shared = ("threshold", "permutations", "max_permutations", "within", "seed", "min_group_size")
    same = {name: getattr(settings, name) for name in shared}
    running = {"threads": how.threads, "executor": how.executor, "progress": how.progress}
    judged = responsiveness(ratings, reference, [axis.attributes], **same, **running)
    if raters is None:
        kept = {name: same[name] for name in ("threshold", "within", "seed", "min_group_size")}
        found_raters = select_raters(
            ratings, OWN_GROUP if reference == CROWD else reference, [axis.attributes], per_group=settings.per_group,
            min_ratings=settings.min_ratings, **kept, **running,
        )  # fmt: skip
        selected, chosen_by = chosen_raters(found_raters, ratings, axis), _reference_name(found_raters.settings)
    else:
        selected, chosen_by = named_raters(raters, ratings, axis), ""
    if not any(selected.values()):
        raise _nobody(axis)
    against = resolve(ratings, reference, threshold=settings.threshold, min_group_size=settings.min_group_size)
    groups = [Compared(axis, (axis,), overlapping=False)]
    seen = Looking(judged, ratings, against, Thresholds(), how).seen(groups)
    work = Work(
        ratings, axis, form, texts, selected, standings(judged, axis, seen), settings,
        drawing_order(texts, settings.seed), None if decisions is None else Decisions.of(decisions),
    )  # fmt: skip
    asked = {name: value for name, value in settings.as_dict().items() if name not in ("prompt", "response", "text")}
    asked = dict.fromkeys(("by", "form", "reference", "threshold", "raters")) | asked | {
        "by": list(axis.attributes), "form": form, "reference": _reference_name(judged.settings),
        "raters": f"most responsive to {chosen_by}" if raters is None else "given", "n_withheld": axis.n_withheld,
        "n_revealing": int(axis.revealing.sum()),
        "n_outside": axis.n_outside, "across": work.across, "points": [str(label) for label in ratings.scale.labels],
        "poles": poles_in(ratings.scale),
        "values": [float(value) for value in ratings.scale.values], "has_text": texts.texts is not None,
        **texts.unpaired(),
    }  # fmt: skip
    found = Curation(work.tables(), asked)
    if not found.to_frame().height:
        raise _nothing(found, texts)
    return found


def _axis(ratings: Ratings, settings: CurationSettings) -> Axis:
    least = settings.min_group_size
    axis = axes_of(ratings, settings.by[:1], least)[0]
    if axis.attributes == ("rater",):
        raise InputError("by is 'rater', but data are curated for groups", hint="Name a rater attribute.")
    if not axis.shown:
        why = why_withheld(axis.n_withheld, int(axis.revealing.sum()), least)
        raise InputError(
            f"no group of {axis.name} can be shown, since all {len(axis)} are withheld{why}",
            hint="Group the raters by another attribute, or lower min_group_size if these raters may be identified.",
        )
    return axis


def _texts(ratings: Ratings, settings: CurationSettings) -> tuple[str, Texts]:
    """Return the form and what it needs to know about the items."""
    columns, form = ratings.items.columns, settings.form
    prompt, response, text = settings.prompt, settings.response, settings.text
    for option, name in {"prompt": prompt, "response": response, "text": text}.items():
        if name is not None and name not in columns:
            known = few(columns[1:]) or "none; give them with --items"
            raise SelectionError(f"items have no attribute '{name}' for {option}; they have: {known}")
    both = (prompt or "prompt") in columns and (response or "response") in columns
    asked = form == "pairs" or prompt is not None or response is not None
    if form != "points" and asked and not both:
        raise SelectionError(
            f"pairs need items with '{prompt or 'prompt'}' and '{response or 'response'}'; they have: "
            f"{few(columns[1:]) or 'no attributes'}",
            hint="Name both columns with prompt= and response= (--prompt, --response), or ask for form='points'.",
        )
    ids = as_text(ratings.items["item"]).to_list()

    def column(name: str) -> list[str | None] | None:
        return as_text(ratings.items[name]).to_list() if name in columns else None

    if form != "points" and both:
        return "pairs", Texts(ids, column(prompt or "prompt"), column(response or "response"))
    return "points", Texts(ids, None, column(text or "text"))


def _reference_name(settings: Mapping[str, Any]) -> str:
    """Return the name of the reference, without rater ids."""
    name: str = settings["reference"]["name"]
    of_a_rater = settings["reference"]["kind"] == "group" and "rater = " in name
    return "the raters named as reference" if of_a_rater else name


def _nobody(axis: Axis) -> InputError:
    return InputError(
        f"none of the given raters belongs to a group of {axis.name} that may be shown",
        hint="raters= must list rater ids from the ratings, in groups large enough to show.",
    )


def _nothing(found: Curation, texts: Texts) -> InputError:
    groups = found.table("groups")
    listed = found.table("decisions").height
    if listed:
        return InputError(
            f"there is no {found.form[:-1]} to curate: all {listed} listed pairs are excluded, and there are no others",
            hint="Include some of them, or use another reference.",
        )
    least = found.settings["min_votes"]
    if not groups["n_items"].sum():
        return InputError(
            f"there is nothing to curate: no item has scores from {least} selected raters of a group",
            hint="Lower min_votes (--min-votes), or select more raters with per_group (--per-group).",
        )
    prompts = [one for one in texts.prompts or () if one]
    if len(prompts) == len(set(prompts)):
        return InputError(
            "there are no pairs to curate: no prompt has two responses",
            hint="Ask for form='points' (--form points), or check the prompt column.",
        )
    return InputError(
        f"there are no pairs to curate: no two responses to a prompt are {found.settings['min_margin']:g} or more "
        "apart "
        "in the scores of a group",
        hint="Lower min_margin (--min-margin), or use more items with per_point (--per-point).",
    )
