"""Every chart of the package, drawn of a study with long names, many groups and models that are called alike."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree

import polars as pl

import plurivox as pv
from plurivox import plots, reproduce
from test_plots import drawn as drawn_of
from test_plots import study_of
from test_plots_alignment import aligned, asked, rated
from test_plots_variation import again as repeated
from test_plots_variation import study as varied

MODELS = [
    "meta-llama/Llama-3.1-70B-Instruct", "meta-llama/Llama-3.1-8B-Instruct", "mistralai/Mistral-7B-Instruct-v0.3",
    "mistralai/Mistral-Large-Instruct-2407", "Qwen/Qwen2.5-72B-Instruct", "Qwen/Qwen2.5-7B-Instruct",
    "google/gemma-2-27b-it", "google/gemma-2-9b-it", "openai/gpt-4o-2024-08-06", "openai/gpt-4o-mini-2024-07-18",
    "anthropic/claude-3-5-sonnet-20241022",
]  # fmt: skip
TEAMS = [f"A value with a rather long name, part {number} of many" for number in range(14)]
DRAWN = [name for name in plots.__all__ if f"{name}_data" in plots.__all__]


@functools.cache
def charts() -> Charts:
    """Return the charts that several files look at."""
    return Charts(TEAMS, MODELS)


class Charts:
    """Every chart of a study, each with its table, by name."""

    def __init__(self, teams: list[str], models: list[str]) -> None:
        self.study = study_of(teams, permutations=19, bootstrap=10)
        ratings = rated(teams)
        item = str(ratings.items["item"][0])
        several = varied((teams[0], teams[1], teams[2]))
        alone = {name: (found,) for name, found in (
            ("variance_shares", several), ("rater_reliability", several), ("leniency_forest", several),
            ("adjusted_effects", several), ("repeat_agreement", REPEATED), ("drift_forest", REPEATED),
            ("item_groups", pv.item_view(ratings, item, ["team"], permutations=9)),
            ("reproduction", reproduce.run("soft")),
        )}  # fmt: skip
        answers = asked(ratings, models)
        found = aligned(ratings, answers)
        alone["judge_card"] = (pv.judge(ratings, answers, by="team"),)
        of_models = ("alignment_dots", "alignment_heat", "alignment_items", "distance_histogram", "refusals")
        self.found: dict[str, tuple[Any, ...]] = {
            **alone, **dict.fromkeys(of_models, (found,)), "alignment_wins": (found, "team"),
            "estimate_forest": (pv.estimate(ratings, asked(ratings, models), ["team"]),),
        }  # fmt: skip

    def __call__(self, name: str, **more: Any) -> tuple[Any, pl.DataFrame]:
        if name not in self.found:
            return drawn_of(name, self.study, **more)
        return tuple(getattr(plots, made)(*self.found[name], **more) for made in (name, f"{name}_data"))


REPEATED: Any = repeated.__wrapped__() if hasattr(repeated, "__wrapped__") else repeated._get_wrapped_function()()


def units(part: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Give every unit of a specification."""
    for key in ("layer", "hconcat", "vconcat", "concat"):
        for one in part.get(key, ()):
            yield from units(one)
    if "spec" in part:
        yield from units(part["spec"])
    if "mark" in part:
        yield part


def labels_of(svg: str) -> list[str]:
    """Return what the marks of a picture say."""
    marks = [one for one in ElementTree.fromstring(svg).iter() if one.attrib.get("role") == "graphics-symbol"]
    return [one.attrib["aria-label"] for one in marks]
