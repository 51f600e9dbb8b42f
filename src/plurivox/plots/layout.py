"""Where things go: labels that fit, rows in blocks, ranges of axes, the text of items. Numbers stay unchanged."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl

from plurivox.base.wording import one_line
from plurivox.plots.theme import JOINERS, STEP, WIDTH, columns, full_width, in_columns, wide
from plurivox.plots.vega import Spec, field

LABEL = 28
"""The longest label in a chart of the usual width, in Latin characters."""
ALL_RATERS = "all raters"
_SHORTEST = 10
_EDGES = 26  # the space around a plot: padding, and half a number at its right end
_SYMBOL = 30  # the mark of an entry in a legend, and the gap after it


def shorten(text: str, length: int = LABEL) -> str:
    """Return the text on one line, cut with an ellipsis if it is too long; wide characters count twice.

    Examples
    --------
    >>> shorten("a rather long name", 10)
    'a rather…'
    """
    line = _one_line(text)
    return line if columns(line) <= length else _start(line, length - 1).rstrip(JOINERS + " ") + "…"


def unique_labels(names: Iterable[str], length: int = LABEL) -> list[str]:
    """Return a short, unique label for each name; names that start alike keep their end, or where they differ.

    ``length`` is for a chart of the usual width; in others it is longer or shorter.

    Examples
    --------
    >>> unique_labels(["the one and only", "the one and other", "neither"], 12)
    ['the on…only', 'the on…other', 'neither']
    >>> unique_labels(["this long thing, part 7 of nine", "this long thing, part 8 of nine"], 16)
    ['this…7 of nine', 'this…8 of nine']
    """
    every, length = [_one_line(name) for name in names], fitting(length)
    labels = [shorten(name, length) for name in every]
    for again in (_both_ends, _around):
        count = Counter(labels)
        alike = {label: [name for name, own in zip(every, labels, strict=True) if own == label] for label in count}
        labels = [again(name, length, alike[own]) if count[own] > 1 else own
                  for name, own in zip(every, labels, strict=True)]  # fmt: skip
    return _numbered(every, labels, length)


def model_labels(names: Sequence[str], length: int = LABEL) -> list[str]:
    """Return labels of models: if names are too long, without the maker before the slash, if they stay distinct.

    Examples
    --------
    >>> model_labels(["some-company/model-70B-chat", "another-one/model-8B-chat"], 16)
    ['model-70B-chat', 'model-8B-chat']
    """
    ends = [name.rpartition("/")[2].strip() or name for name in names]
    too_long = any(columns(_one_line(name)) > fitting(length) for name in names)
    return unique_labels(ends if too_long and len(set(ends)) == len(names) else names, length)


def fitting(length: int = LABEL) -> int:
    """Return how long a label may be at the current width, if it may have ``length`` at the usual one.

    Examples
    --------
    >>> from plurivox.plots.theme import sized
    >>> with sized(340):
    ...     fitting(28)
    18
    """
    share = (full_width() - WIDTH) / WIDTH
    return length if share == 0 else max(min(length, _SHORTEST), round(length * (1 + 0.71 * share)))


def pixels(labels: Iterable[str], size: float = 11, *, bold: bool = False) -> int:
    """Return how much room the widest label takes."""
    return math.ceil(max((wide(label, size, bold=bold) for label in labels), default=0)) + 8


def defined(frame: pl.DataFrame, *columns: str) -> pl.DataFrame:
    """Return the rows that can be drawn."""
    return frame.filter(pl.all_horizontal(pl.col(column).is_finite().fill_null(False) for column in columns))


class Rows(NamedTuple):
    """The rows of a chart from top to bottom: their keys, labels, and which are headings of a block.

    A key is (axis, group), or for a heading (axis, None); positions count from 0. ``up`` is how far above the rows
    their legend is, if something else is in between.
    """

    keys: list[tuple[str, str | None]]
    labels: list[str]
    up: int = 0

    @classmethod
    def of(cls, keys: Iterable[tuple[str, str]]) -> Rows:
        """Lay out groups; if there are several axes, each gets a heading, except for all raters, who are bold."""
        blocks: dict[str, list[str]] = {}
        for axis, group in dict.fromkeys(keys):
            blocks.setdefault(axis, []).append(group)
        found: list[tuple[str, str | None]] = []
        labels: list[str] = []
        for axis, groups in blocks.items():
            if len(blocks) > 1 and axis != "all":
                found.append((axis, None))
                labels.append(shorten(axis, fitting()))
            found += [(axis, group) for group in groups]
            labels += unique_labels(groups)
        return cls(found, labels)

    @classmethod
    def listed(cls, labels: Sequence[str]) -> Rows:
        """Lay out rows that are not groups; the frame has their numbers in ``row``."""
        return cls([("", str(at)) for at in range(len(labels))], list(labels))

    @property
    def headings(self) -> list[int]:
        """The positions of headings, and of all raters, which are written in bold."""
        return [at for at, (axis, group) in enumerate(self.keys) if group is None or axis == "all"]

    @property
    def width(self) -> int:
        """How wide the labels are, in pixels."""
        bold = [self.labels[at] for at in self.headings]
        return max(pixels(self.labels), pixels(bold, bold=True))

    def place(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return the frame with the ``row`` of each axis and group, without those that are not laid out."""
        known = [(axis, group, at) for at, (axis, group) in enumerate(self.keys) if group is not None]
        schema = {"axis": pl.String, "group": pl.String, "row": pl.Int64}
        places = pl.DataFrame(known, schema=schema, orient="row")
        return frame.join(places, on=["axis", "group"], how="inner", maintain_order="left")

    def y(self, *, labels: bool = True, only: Sequence[int] | None = None) -> Spec:
        """Return the encoding of ``row``, with or without labels, for all rows or only some."""
        axis = None
        if labels:
            bold = {"test": f"indexof({self.headings}, datum.value) >= 0", "value": "bold"}
            axis = row_axis(self.labels, labelFontWeight={"condition": bold, "value": "normal"})
        return field("row:O", scale={"domain": list(range(len(self.keys)) if only is None else only)}, axis=axis)

    def plot_width(self, beside: int = 0) -> int:
        """Return how wide a plot is with these labels and this many pixels next to it."""
        return full_width() - self.width - _EDGES - beside

    def above(self, up: int) -> Rows:
        """Return the same rows with this many pixels between them and their legend."""
        return self._replace(up=up)

    def legend(self, names: Sequence[str], **more: Any) -> Spec:
        """Return what puts a legend of these names above the labels, in as many lines as it takes."""
        across = legend_columns(names)
        place = {"legendX": -self.width, "legendY": -12 - self.up - 16 * -(-len(names) // across)}
        return {"title": None, "orient": "none", "direction": "horizontal", "columns": across, **place, **more}

    @property
    def height(self) -> dict[str, int]:
        """The height of a chart with these rows."""
        return {"step": STEP}


def legend_columns(names: Sequence[str], left: int = 10) -> int:
    """Return how many entries of a legend fit side by side if it starts this far from the left."""
    return in_columns([wide(name, 12) + _SYMBOL for name in names], full_width() - 10 - left)


def row_axis(labels: Sequence[str], **more: Any) -> Spec:
    """Return an axis that writes a label for each position; labels are data, quoted as JSON in the expression."""
    plain = dict.fromkeys(("grid", "ticks", "domain", "aria"), False)
    settings = {"title": None, "labelLimit": 0, "labelPadding": 6, **plain, **more}
    return {"labelExpr": f"{json.dumps(list(labels))}[datum.value]", **settings}


def extent(core: Iterable[float | None], around: Iterable[float | None] = ()) -> tuple[float, float]:
    """Return the range of an axis that holds all of ``core``, and of ``around`` what lies near it.

    The null of a small group can be very wide; it must not squeeze the values that readers need.
    """
    inner, outer = _finite(core), _finite(around)
    if not inner:
        return 0.0, 1.0
    low, high = min(inner), max(inner)
    reach = max(high - low, 0.05 * max(abs(low), abs(high)), 1e-6) if low or high else 0.1
    low = max(min([low, *outer]), low - reach)
    high = min(max([high, *outer]), high + reach)
    margin = 0.04 * (high - low) if high > low else reach
    return low - margin, high + margin


def ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Return round numbers from below ``low`` to above ``high``.

    Examples
    --------
    >>> ticks(0.2, 3.9)
    [0.0, 1.0, 2.0, 3.0, 4.0]
    """
    rough = max(high - low, 1e-6) / about
    power = 10.0 ** math.floor(math.log10(rough))
    step = power * next(factor for factor in (1, 2, 5, 10) if factor * power >= rough * 0.999)
    return [round(at * step, 10) for at in range(math.floor(low / step), math.ceil(high / step) + 1)]


def _finite(values: Iterable[float | None]) -> list[float]:
    return [value for value in values if value is not None and math.isfinite(value)]


def _one_line(text: str) -> str:
    return one_line(text) or "(blank)"


def _start(line: str, room: int) -> str:
    """Return as many characters as fit into this many columns."""
    for at, character in enumerate(line):
        room -= columns(character)
        if room < 0:
            return line[:at]
    return line


def _both_ends(line: str, length: int, _alike: Sequence[str] = ()) -> str:
    """Return the start and the end of a line that is too long."""
    if columns(line) <= length:
        return line
    end = _start(line[::-1], (length - 1) // 2)[::-1]
    return _start(line, length - 1 - columns(end)).rstrip(JOINERS + " ") + "…" + end.lstrip(JOINERS + " ")


def _around(line: str, length: int, alike: Sequence[str]) -> str:
    """Return the start of a line, and what follows where it first differs from those that look alike."""
    first, last = min(alike), max(alike)
    where = next((at for at, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), min(len(first), len(last)))
    while where and line[where - 1 : where].isalnum():
        where -= 1
    head = _start(line, length // 3).rstrip(JOINERS + " ")
    rest = line[where:].lstrip(JOINERS + " ")
    if columns(line) <= length or where <= len(head) or not rest:
        return _both_ends(line, length)
    room = length - 1 - columns(head)
    return f"{head}…{rest if columns(rest) <= room else _start(rest, room - 1).rstrip(JOINERS + ' ') + '…'}"


def _numbered(names: Sequence[str], labels: Sequence[str], length: int) -> list[str]:
    """Return labels, with a number added to those that are still alike."""
    taken: set[str] = set()
    found = []
    for name, label in zip(names, labels, strict=True):
        number = 1
        while label in taken:
            number += 1
            mark = f" ({number})"
            label = _both_ends(name, length - len(mark)) + mark
        taken.add(label)
        found.append(label)
    return found


# The text of items: its start next to the id, and more of it in the tooltip -------------------------------------------


Texts = Mapping[str, str] | None
"""The texts of items by id, or None."""
MOST = 200
"""The most characters of a text in a tooltip."""
_ID = 24
_BOTH = 46


def with_texts(frame: pl.DataFrame, texts: Texts) -> pl.DataFrame:
    """Return a frame of items with the ``text`` of each after its id, where it is known."""
    if texts is None:
        return frame
    found = pl.Series([texts.get(str(item)) for item in frame["item"]], dtype=pl.String)
    before = frame.columns[: frame.get_column_index("item") + 1]
    return frame.select(*before, found.alias("text"), pl.exclude(before))


def cut(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a frame for a chart, which does not need all of a long text."""
    if "text" not in frame.columns:
        return frame
    short = [None if text is None else shorten(text, MOST) for text in frame["text"]]
    return frame.with_columns(text=pl.Series(short, dtype=pl.String))


def item_labels(items: Sequence[str], texts: Texts, length: int = 34, both: int = _BOTH) -> list[str]:
    """Return a unique label for each item: its id, and the start of its text where that is known.

    Examples
    --------
    >>> item_labels(["7", "8"], {"7": "Who are you?"})
    ['7 · Who are you?', '8']
    """
    known = [(texts or {}).get(str(item), "") for item in items]
    names = [
        f"{shorten(item, _ID)} · {text}" if text.strip() else item for item, text in zip(items, known, strict=True)
    ]
    return unique_labels(names, length if texts is None else both)


def told_of(frame: pl.DataFrame) -> list[str]:
    """Return the columns that say what an item is."""
    return [name for name in ("item", "text") if name in frame.columns]
