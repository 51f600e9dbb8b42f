"""Results as Altair charts; nothing is computed here. Needs ``pip install 'plurivox[report]'``."""

from __future__ import annotations

from plurivox.plots.studies import responsiveness_study
from plurivox.plots.writing import write_chart

__all__ = ["responsiveness_study", "write_chart"]
