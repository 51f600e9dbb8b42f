"""Charts as Vega-Lite specifications, written directly: dictionaries that nobody changes; each step makes a new one.

A chart is built from its data outwards, in Vega-Lite's own words (https://vega.github.io/vega-lite/docs/)::

    base = Chart.of(frame).encode(y=field("row:O", axis=None))
    layer(base.mark("rule").encode(x="low:Q", x2="high"), base.mark("point").encode(x="value:Q")).properties(width=300)

Needs no other package; :mod:`plurivox.plots.writing` makes pictures of charts with vl-convert.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

SCHEMA = "https://vega.github.io/schema/vega-lite/v6.4.1.json"
"""What the specifications are written for; vl-convert must know its version."""
MIME = "application/vnd.vegalite.v6.json"
Spec = dict[str, Any]
"""A part of a specification: an encoding, a scale, an axis, a legend."""
Encoder = Callable[[str], Spec]
"""What encodes any column in the same way."""
_KINDS = {"N": "nominal", "O": "ordinal", "Q": "quantitative"}


def field(name: str, **settings: Any) -> Spec:
    """Return what encodes a column, named as ``"row:O"``: ordinal (O), nominal (N) or quantitative (Q).

    Examples
    --------
    >>> field("row:O", axis=None)
    {'field': 'row', 'type': 'ordinal', 'axis': None}
    >>> field("high")
    {'field': 'high'}
    """
    column, _, kind = name.rpartition(":")
    return {"field": column, "type": _KINDS[kind], **settings} if column else {"field": name, **settings}


class Data(NamedTuple):
    """Rows and their name, which says what they hold; charts share them without copies."""

    name: str
    rows: list[dict[str, Any]]


@dataclass(frozen=True, slots=True, repr=False)
class Chart:
    """A chart: a Vega-Lite specification, whose parts may be charts, and whose data are :class:`Data`.

    It shows itself in notebooks. ``altair.Chart.from_dict(chart.to_dict())`` makes it one of Altair.
    """

    spec: Mapping[str, Any]

    @classmethod
    def of(cls, data: pl.DataFrame | list[dict[str, Any]]) -> Chart:
        """Return a chart of these rows with nothing drawn yet; values that are not finite become null."""
        if isinstance(data, pl.DataFrame):
            numbers = pl.selectors.float()
            data = data.with_columns(pl.when(numbers.is_finite()).then(numbers)).to_dicts()
        text = json.dumps(data, sort_keys=True, default=str)
        return cls({"data": Data(f"data-{hashlib.sha256(text.encode()).hexdigest()[:32]}", data)})

    def properties(self, **settings: Any) -> Chart:
        """Return the chart with parts of its specification added or replaced."""
        return Chart({**self.spec, **settings})

    def mark(self, kind: str, **look: Any) -> Chart:
        """Return the chart with its rows drawn as marks: ``mark("point", filled=True)``."""
        return self.properties(mark={"type": kind, **look})

    def encode(self, **channels: Any) -> Chart:
        """Return the chart with more of its columns encoded; a text stands for :func:`field`."""
        more = {name: field(how) if isinstance(how, str) else how for name, how in channels.items()}
        return self.properties(encoding={**self.spec.get("encoding", {}), **more})

    def filter(self, test: str) -> Chart:
        """Return the chart with only the rows for which a Vega expression holds."""
        return self.properties(transform=[*self.spec.get("transform", ()), {"filter": test}])

    def facet(self, by: Spec, columns: int, **settings: Any) -> Chart:
        """Return a panel like this chart for each value of a column, as many side by side as there are columns."""
        spec = dict(self.spec)
        return Chart({"data": spec.pop("data"), "facet": by, "columns": columns, "spec": spec, **settings})

    def to_dict(self) -> dict[str, Any]:
        """Return the whole specification; each set of rows stands once, under ``datasets``."""
        datasets: dict[str, Any] = {}
        spec = _written(self.spec, datasets)
        # What Altair sets, too: the size of a chart that has none.
        config = spec.pop("config", {})
        config["view"] = {"continuousWidth": 300, "continuousHeight": 300, **config.get("view", {})}
        return {"config": config, **spec, "$schema": SCHEMA, "datasets": datasets}

    def to_json(self, **how: Any) -> str:
        """Return the whole specification as JSON; ``how`` goes to :func:`json.dumps`."""
        return json.dumps(self.to_dict(), **{"indent": 2, "sort_keys": True, **how})

    def save(self, path: str | Path) -> None:
        """Write the chart to a file, as :func:`plurivox.plots.write_chart` does."""
        from plurivox.plots.writing import write_chart

        write_chart(self, path)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        """Return what notebooks show: Vega-Lite to those that can draw it, a picture to all others."""
        from plurivox.plots.writing import shown

        return {MIME: self.to_dict(), "text/plain": repr(self), **shown(self)}

    def __repr__(self) -> str:
        title = self.spec.get("title") or {}
        text = title.get("text", "") if isinstance(title, dict) else title
        return f"<Chart: {text if isinstance(text, str) else ' '.join(text)}>"


def layer(*charts: Chart) -> Chart:
    """Return charts drawn over each other."""
    return joined("layer", charts)


def hconcat(*charts: Chart, spacing: int) -> Chart:
    """Return charts side by side."""
    return joined("hconcat", charts, spacing=spacing)


def vconcat(*charts: Chart, spacing: int) -> Chart:
    """Return charts one below the other."""
    return joined("vconcat", charts, spacing=spacing)


def joined(how: str, charts: Sequence[Chart], **settings: Any) -> Chart:
    """Return charts as parts of one; data that all of them share stand there, not in each."""
    data = charts[0].spec.get("data")
    if data is None or any(chart.spec.get("data") is not data for chart in charts):
        return Chart({how: charts, **settings})
    bare = [Chart({name: part for name, part in chart.spec.items() if name != "data"}) for chart in charts]
    return Chart({"data": data, how: bare, **settings})


def _written(part: Any, datasets: dict[str, Any]) -> Any:
    """Return a part of a specification as a copy of its own, and keep its data."""
    if isinstance(part, Data):
        datasets[part.name] = part.rows
        return {"name": part.name}
    if isinstance(part, Chart):
        part = part.spec
    if isinstance(part, Mapping):
        return {name: _written(value, datasets) for name, value in part.items()}
    if isinstance(part, list | tuple):
        return [_written(value, datasets) for value in part]
    return part
