"""Whether judge cards meet what was required."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import polars as pl

from plurivox.lenses.judge.requirements import Requirement

if TYPE_CHECKING:
    from plurivox.lenses.judge.result import JudgeCard

REQUIREMENTS = {
    "model": pl.String, "prompt": pl.String, "requirement": pl.String, "value": pl.Float64, "holds": pl.Boolean,
    "why": pl.String,
}  # fmt: skip


def check(texts: Iterable[str], card: pl.DataFrame, biases: pl.DataFrame) -> pl.DataFrame:
    """Return each requirement for each judge: the value, whether it holds, and why."""
    rows = {(one["model"], one["prompt"], one["quantity"], ""): one for one in card.iter_rows(named=True)}
    for one in biases.iter_rows(named=True):
        for name in {one["group"], one["subset"], f"{one['axis']}={one['group']}"} - {"all", "all=all"}:
            rows.setdefault((one["model"], one["prompt"], "bias", name), one)
    found = []
    for model, prompt in dict.fromkeys(card.select("model", "prompt").iter_rows()):
        for text in texts:
            need = Requirement.of(text)
            checked = need.checked(rows.get((model, prompt, need.name, need.part)))
            found.append((model, prompt, need.text, *checked))
    return pl.DataFrame(found, schema=REQUIREMENTS, orient="row")


def failures(found: JudgeCard) -> list[str]:
    """Return a sentence for each requirement that a judge card does not meet."""
    return list(found.failures())
