"""Methods and glossary: what each number is, and how to recreate this report."""

from __future__ import annotations

import math
import platform
import tomllib
from importlib import metadata
from typing import Any

import polars as pl

import plurivox
from plurivox.base.wording import harmless, interval_method
from plurivox.domain.axis import CROSS
from plurivox.report.parts import Block, Brief, DataTable, Prose, Section, Terms, slug
from plurivox.report.render import asset
from plurivox.statistics.registry import LABELS, STATISTICS

PACKAGES = ("numpy", "numba", "polars", "vl-convert-python")
INTERVAL = "95 % interval"
"""The one term that needs neither groups nor models."""
TERMS: dict[str, str] = tomllib.loads(asset("terms.toml"))


def section(brief: Brief) -> Section:
    """Explain the numbers and how they were made."""
    blocks: list[Block] = [
        Terms(tuple((slug("term", name), name, text) for name, text in TERMS.items()
                    if brief.axes or brief.study.inputs or name == INTERVAL)),
        Terms(tuple((slug("term", name), LABELS[name], _explained(one)) for name, one in STATISTICS.items())),
        DataTable("methods-settings", "Settings", _settings(brief)),
    ]  # fmt: skip
    if brief.command:
        blocks.append(Prose(f"To recreate this file, byte for byte: {brief.command}"))
    blocks.append(
        Prose(
            f"To cite: plurivox {plurivox.__version__}, software for ratings from diverse raters; and the papers of "
            "the statistics used, above."
        )
    )
    lead = "What each number is, and how to recreate this report."
    return Section("methods", "Methods and glossary", lead, more=blocks)


def _explained(one: Any) -> str:
    """Return what a statistic is, its equation, what a higher value means, and where it is from."""
    beside = (("Equation", one.equation), ("Higher", one.higher_means), ("From", one.reference))
    parts = [one.meaning, *(f"{name}: {text}" for name, text in beside if text)]
    return " ".join(part if part.endswith(".") else f"{part}." for part in parts if part)


def _weights(brief: Brief) -> dict[str, str]:
    panel = brief.ratings.panel
    if panel is None:
        return {}
    cap = f"at most {panel.trim:g} times the mean"
    return {"raters weighted to": f"{panel.population.source}, {cap if panel.trim < math.inf else 'not trimmed'}"}


def _settings(brief: Brief) -> pl.DataFrame:
    axes = [CROSS.join(one) for one in brief.by]
    rows = {
        "groups by": ", ".join(axes) or "none",
        "permutations": f"{brief.asked.permutations:,}",
        "who is shuffled with whom": ", ".join(brief.asked.within or ("all raters",)),
        "level of alpha, XRR and GAI": str(brief.asked.level if isinstance(brief.asked.level, str) else "a matrix"),
        "95 % intervals": interval_method(brief.asked.as_dict()),
        "seed": str(brief.asked.seed),
        **({"planned looks": str(brief.asked.looks)} if brief.asked.looks > 1 else {}),
        "smallest group shown": str(brief.asked.min_group_size),
        "scale": str(brief.ratings.scale) + (" (inferred)" if brief.ratings.intake.points_inferred else ""),
        **({"scale recoded": brief.ratings.intake.recoded} if brief.ratings.intake.recoded else {}),
        **_weights(brief),
        "plurivox": plurivox.__version__,
        "Python": platform.python_version(),
        **{name: metadata.version(name) for name in PACKAGES},
        **{f"SHA-256 of {name}": digest for name, digest in brief.digests.items()},
    }
    return pl.DataFrame({"setting": list(map(harmless, rows)), "value": list(map(harmless, rows.values()))})
