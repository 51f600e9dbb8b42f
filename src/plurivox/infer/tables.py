"""Results with tables: those that are nothing else (what to do next, whom to choose), and those about models."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import polars as pl

from plurivox.base.arguments import check_methods, checked
from plurivox.base.errors import SelectionError
from plurivox.domain.answers import Voice
from plurivox.infer.exports import Exported, numbered
from plurivox.infer.restoring import restored
from plurivox.infer.result import Result, Statement, Table, strict, told


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False, repr=False)
class TableResult(Exported, ABC):
    """Several tables, the first of which is the result itself.

    Attributes
    ----------
    tables
        The tables by name.
    settings
        What was requested, including the seed.
    """

    tables: tuple[Table, ...]
    settings: dict[str, Any]

    KIND: ClassVar[str] = "tables"
    ALL_ROWS: ClassVar[str] = "to_frame() and table()"

    def __init_subclass__(cls) -> None:
        check_methods(cls)

    def to_frame(self) -> pl.DataFrame:
        """Return the first table."""
        return self.tables[0].frame

    @checked
    def table(self, name: str) -> pl.DataFrame:
        """Return one of the tables."""
        for table in self.tables:
            if table.name == name:
                return table.frame
        known = ", ".join(table.name for table in self.tables)
        raise SelectionError(f"there is no table {name!r}; the tables are: {known}")

    @abstractmethod
    def _said(self) -> list[str]:
        """Return what matters, one sentence each."""

    def statements(self) -> list[Statement]:
        """Return what matters; none of it claims a difference unless a result says so."""
        return told(self._said())

    def findings(self) -> list[str]:
        """Return what matters, one sentence each."""
        return [statement.text for statement in self.statements()]

    def shown_frame(self) -> pl.DataFrame:
        """Return the first table as it is shown to people: raters are numbered unless ids are requested."""
        return numbered(self.to_frame(), self.settings)

    def to_json(self) -> str:
        """Return everything as strict JSON; NaN and infinities are strings."""
        data = {
            "kind": self.KIND,
            "tables": [table.as_dict() for table in self.tables],
            "settings": self.settings,
            "findings": self.findings(),
            "statements": [statement.as_dict() for statement in self.statements()],
        }
        return json.dumps(strict(data), ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Rebuild a result from :meth:`to_json`."""

        def build(data: dict[str, Any]) -> Any:
            return cls(tuple(Table.from_dict(one) for one in data["tables"]), data["settings"])

        return restored(cls, text, build)


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


_TYPES: dict[str, Any] = {
    name: kind
    for kind, names in (
        (pl.String, "bin statistic model models other note threshold kind axis group prompt subset next by constant "
                    "constant_answer why level item mode_label answer_label requirement quantity"),
        (pl.Boolean, "exact claim over_items follows reference stands_in holds shifted biased"),
        (pl.Int64, "rank answered refused unreadable failed missing position n band place scored of"),
    )
    for name in names.split()
}  # fmt: skip


def typed(names: str, **others: Any) -> dict[str, Any]:
    """Return the schema of a table about models: names say what columns hold, ``n_…`` are counts, the rest numbers.

    Examples
    --------
    >>> typed("model n_items value")
    {'model': String, 'n_items': Int64, 'value': Float64}
    """
    known = {name: _TYPES.get(name, pl.Int64 if name.startswith("n_") else pl.Float64) for name in names.split()}
    return known | others
