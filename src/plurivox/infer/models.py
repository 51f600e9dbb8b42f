"""Results about models: what was answered by each model with each of its prompts, and finer tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import polars as pl

from plurivox.domain.answers import Voice
from plurivox.infer.result import Result, Table


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ModelResult(Result):
    """A result whose rows are of models, each with one of its prompts.

    In addition to what every result has:

    Attributes
    ----------
    tables
        The finer tables, which the methods return.
    """

    tables: tuple[Table, ...] = ()

    PARTS: ClassVar[dict[str, Any]] = {**Result.PARTS, "tables": Table}

    @property
    def voices(self) -> list[Voice]:
        """Each model with each of its prompts."""
        return [Voice(*pair) for pair in self.settings["voices"]]

    def _table(self, name: str) -> pl.DataFrame:
        return next(table.frame for table in self.tables if table.name == name)
