"""From ratings to a file: ask the study, show every section, pick the findings, write all or nothing."""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from plurivox.base import processors
from plurivox.base.arguments import FilePath, checked
from plurivox.base.errors import InputError, UnweightedWarning
from plurivox.base.files import refuse_others, write_text
from plurivox.domain.ratings import Ratings
from plurivox.domain.scale import few_points
from plurivox.engine.pool import Running
from plurivox.infer.families import SIGNIFICANT, undecided
from plurivox.infer.result import Statement
from plurivox.lenses import lenses
from plurivox.plots.converting import ahead
from plurivox.report.answer import Answer, answer_of
from plurivox.report.parts import Brief, Finding, Section
from plurivox.report.render import MARK, check_browser, page, write_pdf
from plurivox.report.sections import has_section, home_of, methods, study
from plurivox.report.settings import ReportSettings
from plurivox.study import Study

NOTHING = (
    "No difference between groups is certain: nothing that was tested remains significant after correction over all "
    "groups, attributes and lenses."
)
MARKS = (b'<meta name="generator" content="plurivox ', MARK)
"""By which reports are recognised, as HTML and as PDF."""


@dataclass(frozen=True, slots=True, eq=False)
class Report:
    """A report before it is written: what it is about, its sections, all claims, and its first screen."""

    brief: Brief
    sections: Sequence[Section]
    findings: Sequence[Finding]
    answer: Answer

    def html(self, *, summary: bool = False) -> str:
        """Return the file's text, or that of a page with only the first screen."""
        return page(self.brief, self.answer, [] if summary else self.sections)

    def write(self, path: str | os.PathLike[str], *, summary: bool = False, force: bool = False) -> Path:
        """Write the file, as PDF if its name ends in .pdf; an existing report is only replaced by a complete one.

        A file that is not a report is replaced only by ``force``.
        """
        write = write_pdf if Path(path).suffix.lower() == ".pdf" else write_text
        sources = _sources(self.brief.study.ratings, self.brief.study.inputs)
        if not force:
            refuse_others(path, MARKS, sources)
        return write(path, self.html(summary=summary), sources)


@checked
def write_report(
    path: FilePath, ratings: Ratings, by: Any = (), *, summary: bool = False, force: bool = False, **options: Any
) -> Path:
    """Run every lens that the inputs allow and write one self-contained HTML file, or a PDF of it.

    The same input and seed give the same bytes. It contains no rater ids, withholds groups too small to show, and makes
    no network requests.

    Parameters
    ----------
    path
        Where to write; an existing report is only replaced when the new one is complete, and a file that was read as
        input is refused. A name that ends in ``.pdf`` makes it a PDF, printed by Chromium.
    ratings
        Who rated what.
    by
        Rater attributes and crossings of several, as in :func:`plurivox.cohesion`.
    summary
        Whether to write a page with only the first screen.
    force
        Whether to overwrite a file that is not a report.
    options
        ``reference``, ``threshold`` and ``items_by`` as in :func:`plurivox.responsiveness` (without a reference, scores
        are compared with the rest of the crowd); ``several``, ``level``, ``within``, ``permutations``,
        ``max_permutations``, ``interval``, ``resample``, ``bootstrap``, ``seed`` and ``min_group_size``
        as in :func:`plurivox.cohesion`; ``looks``, how many are planned at a growing study, for all of which headlines
        are corrected; ``predictions`` and ``prior`` as in :func:`plurivox.soft_scores`; ``answers`` of language models
        as in :func:`plurivox.alignment`, which uses ``items_by`` as parts of the items; ``title``, the heading;
        ``command``, which recreates the file and is shown in it; ``files``, names and paths of input files, whose
        SHA-256 is shown; ``progress``, called with the current task, how much of it is done, and its total.

    Returns
    -------
    Path
        Where the report is.
    """
    if Path(path).suffix.lower() == ".pdf":
        check_browser()  # now, not after minutes
    if not force:
        refuse_others(path, MARKS, _sources(ratings, options))
    return make_report(ratings, by, **options).write(path, summary=summary, force=force)


@checked
def make_report(
    ratings: Ratings, by: Any = (), *, command: str = "", files: Mapping[str, str | os.PathLike[str]] | None = None,
    threads: int | None = None, executor: Any = None, progress: Any = None, **options: Any,
) -> Report:  # fmt: skip
    """Run every lens that the inputs allow; the parameters are those of :func:`write_report`."""
    taken = {one.name for lens in lenses() if has_section(lens) for one in lens.inputs}
    for name in options:
        if name not in taken and name not in ReportSettings.specs():
            raise InputError(f"a report has no option {name!r}", hint="See the options of write_report.")
    asked = ReportSettings.from_dict(
        {"by": by, **{name: value for name, value in options.items() if name not in taken}}
    )
    inputs = {name: value for name, value in options.items() if name in taken and value is not None}
    how = Running.given(threads, executor, progress)
    return report_of(brief_of(Study(ratings, inputs, how), asked, command, _digests(ratings, files or {})))


MOST_WITH_INTERVALS = 300
"""The largest number of groups whose intervals a report shows by default."""


def brief_of(
    found: Study, asked: ReportSettings, command: str = "", digests: Mapping[str, str] | None = None
) -> Brief:  # fmt: skip
    """Return what a report of a study should show; raise at once, not after minutes, if there can be none."""
    n_lenses = sum(lens.headlines and set(lens.needs) <= set(found.inputs) for lens in lenses())
    asked = asked.replace(n_lenses=max(asked.n_lenses, n_lenses) * asked.looks)
    axes = tuple(one for one in asked.by if "rater" not in one)
    few_points(found.ratings.scale, "a report")  # some of its lenses and charts allow no more
    remarks = ["Individual raters are not shown in reports."] if len(axes) < len(asked.by) else []
    if found.ratings.panel is not None:
        remarks.append(found.ratings.panel.summary(asked.min_group_size).sentence)
    if asked.looks > 1:
        remarks.append(
            f"This is one of {asked.looks} planned looks at a growing study: headlines are corrected for all of them "
            "(Bonferroni), sections are not."
        )
    brief = Brief(found, asked, axes, command, digests or {}, remarks)
    if brief.asked.interval is not None or brief.asked.bootstrap or not brief.axes:
        return brief
    n_groups = sum(len(axis.groups) for axis in brief.ask("overview").description.axes)
    if n_groups <= MOST_WITH_INTERVALS:
        return brief
    remark = (
        f"Intervals are left out, because they would take very long for {n_groups:,} groups. Request them to include "
        "them."
    )
    return replace(brief, asked=brief.asked.replace(interval="none"), remarks=[*brief.remarks, remark])


def report_of(brief: Brief, shown: Sequence[Section] | None = None) -> Report:
    """Show what a study says, in these sections or in all."""
    if shown is None:
        at_once = brief.study.how.threads or processors()  # other processes turn charts into pictures meanwhile
        with ahead(at_once if at_once > 1 else 0), warnings.catch_warnings():
            warnings.simplefilter("ignore", UnweightedWarning)  # the study's section says what is not weighted
            shown = [section for show in sections() if (section := show(brief)) is not None]
    findings = top_findings(shown, brief.asked.looks)
    groups = {(axis.name, group.name) for axis in brief.ask("overview").description.axes for group in axis.groups}
    return Report(brief, shown, findings, answer_of(shown, findings, groups))


def sections() -> Iterator[Any]:
    """Yield the sections in reading order: the study, one for each lens that has any, and the methods."""
    yield study.section
    yield from (home_of(lens).section for lens in lenses() if has_section(lens))
    yield methods.section


def top_findings(shown: Sequence[Section], looks: int = 1) -> list[Finding]:
    """Return what is claimed after correction over the lenses, the surest first, or that nothing is; and facts.

    Each lens keeps its own error rate; p-values of their claims are corrected after Holm by the number of lenses, so
    that a study without any difference has a headline at most in 5 of 100. What is only notable stays in its section.
    If several looks at a growing study are planned, each gets its share of the 5 (Bonferroni).
    """
    tested = {section.id: [one for one in section.findings if one.said.p is not None] for section in shown}
    least = {name: min(one.said.p or 0.0 for one in found) for name, found in tested.items() if found}
    order = sorted(least, key=lambda name: least[name])
    claims, before = [], 0.0
    for rank, name in enumerate(order):
        factor = (len(order) - rank) * looks
        for one in sorted(tested[name], key=lambda one: one.said.p or 0.0):
            p, draws = one.said.p or 0.0, one.said.n_permutations
            doubtful = bool(undecided(p, draws or 1, SIGNIFICANT / factor))
            if one.said.claim and max(before, min(1.0, factor * p)) < SIGNIFICANT and not (draws and doubtful):
                claims.append(one)
        before = max(before, min(1.0, factor * least[name]))
    facts = [one for section in shown for one in section.findings if one.fact]
    compared = [name for name in order if any(one.of_groups for one in tested[name])]
    certain = any(one.of_groups for one in claims)
    nothing = [Finding(Statement(NOTHING, 2.0), compared[0])] if compared and not certain else []
    claims.sort(key=lambda one: (not one.of_groups, -one.said.weight))  # about groups of people first, then models
    return [*claims, *nothing, *facts]


def _sources(ratings: Ratings, inputs: Mapping[str, Any]) -> list[str]:
    """Return what the ratings and the other inputs were read from, if known."""
    known = (getattr(one, "intake", one) for one in (ratings, *inputs.values()))
    return [source for one in known if isinstance(source := getattr(one, "source", None), str)]


def _digests(ratings: Ratings, files: Mapping[str, str | os.PathLike[str]]) -> dict[str, str]:
    """Return the SHA-256 of the files, or of the ratings themselves."""
    found = {}
    for name, path in files.items():
        if os.path.isfile(path):
            found[name] = hashlib.sha256(Path(path).read_bytes()).hexdigest()
    if found:
        return found
    whole = hashlib.sha256()
    arrays: list[Any] = [
        ratings.item_codes, ratings.rater_codes, ratings.scores, ratings.multiplicity, ratings.weights,
    ]  # fmt: skip
    for array in arrays:
        if array is not None:
            whole.update(np.ascontiguousarray(array).tobytes())
    for frame in (ratings.items, ratings.raters):
        whole.update(frame.write_csv().encode())
    return {"the ratings": whole.hexdigest()}
