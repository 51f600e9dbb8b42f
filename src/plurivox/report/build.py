"""From ratings to a file: run every section, pick the findings, write all or nothing."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from plurivox.axis import MIN_GROUP_SIZE, By
from plurivox.engine.grouping import each_axis
from plurivox.errors import InputError
from plurivox.lenses.calls import check_draws
from plurivox.lenses.responsiveness.references import ReferenceLike
from plurivox.ratings import Ratings
from plurivox.report.parts import Finding, Inputs, Progress, Section
from plurivox.report.render import page
from plurivox.report.sections import SECTIONS
from plurivox.results.files import replacing
from plurivox.scale import Label

MOST = 10
"""Findings at the top of the report."""
LEAST_OF_EACH = 2
"""Findings of every section that are among them, if it has any."""


@dataclass(frozen=True, slots=True, eq=False)
class Report:
    """A report before it is written: what it is about, its sections, and the findings at its top."""

    inputs: Inputs
    sections: Sequence[Section]
    findings: Sequence[Finding]

    def html(self) -> str:
        """Return the file's text."""
        return page(self.inputs, self.findings, self.sections)

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Write the file; one that is already there is replaced only by a complete one."""
        text = self.html()
        target = Path(path)
        with replacing(target) as temporary:
            temporary.write_text(text, encoding="utf-8", newline="\n")
        return target


def write_report(path: str | os.PathLike[str], ratings: Ratings, by: By | Sequence[By] = (), **options: Any) -> Path:
    """Run every lens that the inputs allow and write one self-contained HTML file.

    The same input and seed make the same bytes. Nobody's id is in it, groups too small to show are withheld, and it
    makes no request to any network.

    Parameters
    ----------
    path
        Where to write; a report that is already there is replaced only when the new one is complete.
    ratings
        Who rated what.
    by
        Rater attributes and crossings of several, as in :func:`plurivox.cohesion`.
    options
        ``reference``, ``threshold`` and ``items_by`` as in :func:`plurivox.responsiveness` (without a reference, scores
        are held against the rest of the crowd); ``several``, ``permutations``, ``bootstrap``, ``seed`` and
        ``min_group_size`` as in :func:`plurivox.cohesion`; ``predictions`` and ``prior`` as in
        :func:`plurivox.soft_scores`; ``answers`` of language models as in :func:`plurivox.alignment`, which uses
        ``items_by`` as parts of the items; ``title``, the heading; ``command``, which makes the file
        again and is shown in it; ``files``, names and paths of input files, whose SHA-256 is shown; ``progress``,
        called with what is being done, how far it is, and how far it goes.

    Returns
    -------
    Path
        Where the report is.
    """
    return make_report(ratings, by, **options).write(path)


def make_report(
    ratings: Ratings,
    by: By | Sequence[By] = (),
    *,
    reference: ReferenceLike | None = None,
    threshold: Label | None = None,
    items_by: str | None = None,
    several: Mapping[str, str] | None = None,
    permutations: int = 1000,
    bootstrap: int = 1000,
    seed: int = 0,
    min_group_size: int = MIN_GROUP_SIZE,
    title: str = "What the ratings say",
    command: str = "",
    files: Mapping[str, str | os.PathLike[str]] | None = None,
    progress: Progress | None = None,
    **extras: Any,
) -> Report:
    """Run every lens that the inputs allow; the parameters are those of :func:`write_report`."""
    known = [name for one in SECTIONS for name in one.extras]
    for name in extras:
        if name not in known:
            raise InputError(f"a report takes no {name!r}", hint="See the options of write_report.")
    check_draws(permutations, bootstrap, seed)
    axes = [one for one in each_axis(by) if one != "rater" and "rater" not in tuple(one)]
    remarks = ["Raters one by one stay out of reports."] if len(axes) < len(each_axis(by)) else []
    inputs = Inputs(
        ratings, axes, reference, threshold, items_by, dict(several or {}), min_group_size, permutations,
        bootstrap, seed, title, command, _digests(ratings, files or {}), remarks, progress,
        extras,
    )  # fmt: skip
    sections = [section for one in SECTIONS if (section := one.make(inputs)) is not None]
    return Report(inputs, sections, top_findings(sections))


def top_findings(sections: Sequence[Section]) -> list[Finding]:
    """Return the findings that matter most, at least one of every section that has any, the weightiest first."""
    chosen: list[Finding] = []
    for section in sections:
        chosen += sorted(section.findings, key=_weight)[:LEAST_OF_EACH]
    others = [finding for section in sections for finding in section.findings if finding not in chosen]
    chosen += sorted(others, key=_weight)[: max(MOST - len(chosen), 0)]
    return sorted(chosen, key=_weight)


def _weight(finding: Finding) -> float:
    return -finding.weight


def _digests(ratings: Ratings, files: Mapping[str, str | os.PathLike[str]]) -> dict[str, str]:
    """Return the SHA-256 of the files, or of the ratings themselves."""
    found = {}
    for name, path in files.items():
        if os.path.isfile(path):
            found[name] = hashlib.sha256(Path(path).read_bytes()).hexdigest()
    if found:
        return found
    whole = hashlib.sha256()
    arrays: list[Any] = [ratings.item_codes, ratings.rater_codes, ratings.scores, ratings.multiplicity]
    for array in arrays:
        if array is not None:
            whole.update(np.ascontiguousarray(array).tobytes())
    for frame in (ratings.items, ratings.raters):
        whole.update(frame.write_csv().encode())
    return {"the ratings": whole.hexdigest()}
