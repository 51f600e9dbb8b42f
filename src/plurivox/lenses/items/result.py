"""What :func:`plurivox.items` found."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import polars as pl
import polars.selectors as cs
from numpy.typing import NDArray

from plurivox.base.arguments import FilePath, checked
from plurivox.base.errors import SelectionError
from plurivox.base.wording import counted, one_line
from plurivox.domain.attributes import places_of
from plurivox.infer.exports import Exported
from plurivox.infer.result import Statement, strict
from plurivox.lenses.items import tasks, words
from plurivox.statistics.posterior import share_interval
from plurivox.statistics.soft import posterior_mean

HIDDEN = "Next to that, its distribution would tell what these few said; give a smaller min_group_size if it may."


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False, repr=False)
class Items(Exported):
    """Items worth a look.

    Attributes
    ----------
    divided
        One row per item and axis on which a group and its rest each gave two ratings or more, the clearest difference
        first: the ``group`` that stands out (of two groups, the one that rates higher), the ``direction`` in which it
        does, both means and their ``difference``; ``shrunken``, what is left of it once chance is allowed for; how many
        ratings each side gave; ``z``, the difference in standard errors; ``p_value`` of this difference alone, and
        ``p_adjusted`` for all items, groups and axes of the call. Where a side has fewer than ``min_group_size``
        ratings of the item, only a claim is listed, with no more than direction, the rounded ``shrunken``,
        ``p_adjusted`` and a ``note``.
    uncertain
        One row per item, except for those on which a few raters are said to differ, starting with those about which one
        more rating reveals most: ``n_ratings``, their ``mean``
        and ``entropy`` in nats; given the prior and the ratings, the ``expected_mean`` of the scores that all raters
        would give, with its 95 % credible interval ``ci_low`` to ``ci_high``; ``prior_share``, the prior's part in mean
        and interval, α₀/(α₀ + n): with 3 ratings and 5 pseudo-ratings, 62 %; ``information_gain``, the information
        expected from one more rating, in nats; and ``ratings_needed``, how many ratings it takes in total until the
        interval is expected to be no wider than the mean ± ``settings["precision"]``, null if out of reach.
    settings
        What was requested; ``prior`` is the weight of each point, ``prior_note`` says how it was found,
        ``n_comparisons`` is how many differences there are to choose from, ``n_unlisted`` how many are not listed since
        a side has few raters, ``least_p`` the smallest ``p_adjusted`` of each axis, and ``largest_z_by_chance`` the
        largest absolute z that shuffled raters give.
    items
        What is known about the items: their ids, and what describes them.
    null
        The largest absolute z of each shuffle.
    """

    divided: pl.DataFrame
    uncertain: pl.DataFrame
    settings: dict[str, Any]
    items: pl.DataFrame
    _counts: NDArray[np.int64]
    null: NDArray[np.float64]
    _weighed: NDArray[np.float64] | None = None

    ALL_ROWS: ClassVar[str] = "uncertain and divided"
    IN_NOTEBOOKS: ClassVar[Mapping[str, Any]] = {"top": 6}

    def __repr__(self) -> str:
        several = self.divided["item"].n_unique()
        return f"<Items: {counted(self.uncertain.height, 'item')}, {several:,} rated by several groups>"

    def statements(self) -> list[Statement]:
        """Return what stands out."""
        return words.statements(self)

    def findings(self) -> list[str]:
        """Return what stands out, one sentence each."""
        return [one_line(statement.text) for statement in self.statements()]

    def to_json(self) -> str:
        """Return the requested lists as strict JSON."""
        lists = {"uncertain": self.uncertain} if self.settings["uncertain"] else {
            "uncertain": self.uncertain, "divided": self.divided}  # fmt: skip
        plain = {name: frame.with_columns(cs.float().fill_nan(None)).to_dicts() for name, frame in lists.items()}
        said = [strict(statement.as_dict()) for statement in self.statements()]
        data = {"kind": "items", "settings": self.settings, **plain, "statements": said}
        return json.dumps(data, ensure_ascii=False, allow_nan=False)

    @checked
    def distributions(self, items: str | Sequence[str | int] | None = None) -> pl.DataFrame:
        """Return the expected share of each point, with its 95 % credible interval, for some items or all.

        One row per ``item`` and ``point``: ``n_ratings`` that gave the point, ``probability``, ``ci_low``, ``ci_high``,
        and ``prior_share``, the prior's part in them.
        """
        ids = self.items["item"].cast(pl.String)
        shown = ids.is_in(self.uncertain["item"].implode()).to_numpy()
        places = np.flatnonzero(shown)
        if items is not None:
            wanted = [items] if isinstance(items, str) else [str(item) for item in items]
            places = places_of(pl.Series(wanted, dtype=pl.String), ids)
            if (places < 0).any():
                unknown = wanted[int(np.flatnonzero(places < 0)[0])]
                raise SelectionError(f"there is no item {unknown!r}", hint="uncertain lists the items.")
            if not shown[places].all():
                hidden = wanted[int(np.flatnonzero(~shown[places])[0])]
                raise SelectionError(
                    f"item {hidden!r} is said to divide groups, and few raters are on a side", hint=HIDDEN
                )
        counts, points = self._counts[places], self.settings["points"]
        prior, weighted = np.array(self.settings["prior"]), self._weighed is not None
        own: NDArray[Any] = counts if self._weighed is None else self._weighed[places]
        low, high = share_interval(own, prior, weighted=weighted)
        held = prior.sum() / (prior.sum() + own.sum(axis=1))
        plain = posterior_mean(counts, prior)
        shares = (own + prior) / (own + prior).sum(axis=1, keepdims=True) if weighted else plain
        frame = pl.DataFrame(
            {
                "item": np.repeat(ids.gather(places).to_numpy(), len(points)), "point": points * len(places),
                "n_ratings": counts.ravel(), "probability": shares.ravel(),
                "ci_low": low.ravel(), "ci_high": high.ravel(), "prior_share": np.repeat(held, len(points)),
            },
            schema_overrides={"item": pl.String, "point": pl.String},
        )  # fmt: skip
        return frame.with_columns(unweighted=plain.ravel()) if weighted else frame

    @checked
    def tasks(self, *, at_most: int | None = None) -> pl.DataFrame:
        """Return the items to rate again, and how often: those whose mean is not known as precisely as wanted.

        One row per item, in the order of ``uncertain``: its id, what describes it, ``n_ratings``, ``ratings_needed``,
        ``ratings_wanted``, how many more that is, null if out of reach, and ``information_gain``. Nothing reveals who
        rated, or what.

        Parameters
        ----------
        at_most
            The most items to return, from the top of the list.
        """
        return tasks.tasks(self, at_most)

    @checked
    def write_tasks(
        self,
        path: FilePath,
        *,
        form: Literal["label-studio", "argilla", "csv"] | None = None,
        text: str | Sequence[str] | None = None,
        at_most: int | None = None,
    ) -> Path:
        """Write :meth:`tasks` as a file that an annotation platform imports.

        Parameters
        ----------
        path
            The file: .json for Label Studio, .json or .jsonl for Argilla, .csv, .parquet or .jsonl for a table.
        form
            The platform; not needed for a name that ends in .csv or .parquet.
        text
            The columns that raters read: fields of Argilla. By default the one called ``text``.
        at_most
            The most items to return, from the top of the list.

        Returns
        -------
        Path
            The file.
        """
        tasks.write_tasks(self, Path(path), form, text, at_most)
        return Path(path)
