"""Models without human ratings: what became of the questions, and how far models agree with each other."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from plurivox.base.errors import SelectionError
from plurivox.domain.answers import Answers
from plurivox.domain.scale_files import GivenScale, as_scale
from plurivox.infer.result import Table
from plurivox.lenses.alignment import models
from plurivox.lenses.alignment.closest import frames
from plurivox.lenses.alignment.matching import account_items, on_scale, subsets_of
from plurivox.lenses.alignment.result import Alignment
from plurivox.lenses.alignment.settings import AlignmentSettings
from plurivox.lenses.alignment.stand_ins import STAND_INS


def answers_alone(given: Any, scale: GivenScale | None) -> Answers:
    """Return answers on a scale; answers that were read before have their own."""
    if isinstance(given, Answers):
        return given
    if scale is None:
        raise SelectionError(
            "without ratings, the scale of the answers is unknown",
            hint='Give it: scale="1:5" or scale=["No", "Yes"] (--scale).',
        )
    return on_scale(given, as_scale(scale))


def without_humans(answers: Answers, settings: AlignmentSettings) -> Alignment:
    """Return what answers show about models alone: accounts, agreement, prompts, repeated answers and positions."""
    if settings.by:
        raise SelectionError("by needs human ratings, and there are none", hint="Give ratings, or leave out by.")
    items = pl.DataFrame({"item": answers.items}).with_columns(
        () if answers.attributes is None else answers.attributes.drop("item", strict=False)
    )
    subsets, subset_of = subsets_of(items, settings.subset)
    everything = np.ones(len(answers.items), dtype=bool)
    accounts = account_items(answers, answers.item.astype(np.int64), everything, subsets, subset_of)
    families = models.families_of(answers, settings.families)
    found = {
        "accounts": accounts,
        **frames([], answers.voices, {}),
        "alphas": models.alphas(answers, None, families, published=settings.convention == "published"),
        "stand ins": pl.DataFrame(schema=STAND_INS),
        "prompts": models.between_prompts(answers),
        "stability": models.stability(answers),
        "positions": models.positions(answers),
        "distances": pl.DataFrame(schema=models.DISTANCES),
        "items": pl.DataFrame(schema=models.ITEMS),
        "bands": pl.DataFrame(schema=models.BANDS),
    }
    told = {
        **settings.as_dict(), "by": [], "several": {}, "voices": [list(voice) for voice in answers.voices],
        "references": [], "labels": [str(label) for label in answers.scale.labels],
        "values": list(answers.scale.values), "subsets": list(subsets), "n_items": len(answers.items),
        "n_unrated": 0, "n_elsewhere": answers.n_elsewhere,
        "n_unsorted": int(np.count_nonzero(subset_of == len(subsets))) if subsets else 0, "n_raters": 0,
        "humans": False, "design": {},
    }  # fmt: skip
    return Alignment((), {}, {}, (), told, tuple(Table(name, frame) for name, frame in found.items()))
