"""One self-contained HTML file that shows what a rating study says. Needs ``pip install 'plurivox[report]'``."""

from __future__ import annotations

from plurivox.report.build import Report, make_report, write_report

__all__ = ["Report", "make_report", "write_report"]
