"""Names next to points, placed so that none covers another."""

from __future__ import annotations

import math
from typing import NamedTuple

import polars as pl

from plurivox.plots.groups import AFTER, BEFORE
from plurivox.plots.layout import pixels, unique_labels
from plurivox.plots.measure import lines

REGIONS = {
    (True, True): "grades finely, tells apart",
    (True, False): "grades finely, mixes up",
    (False, True): "tells apart, few grades",
    (False, False): "neither",
}
"""What the corners of the plane say, by whether MPA and WRA are above the split."""
_LINE = 13  # height of a name in pixels
_GAP = 8  # from the middle of a point to its name


class Frame(NamedTuple):
    """The size of a plot in pixels, and the values at the ends of its two axes."""

    width: int
    height: int
    x: tuple[float, float]
    y: tuple[float, float]

    def to_pixels(self, x: float, y: float) -> tuple[float, float]:
        """Return where a point lies, from the top left."""
        across = (x - self.x[0]) / (self.x[1] - self.x[0])
        up = (y - self.y[0]) / (self.y[1] - self.y[0])
        return across * self.width, (1 - up) * self.height

    def region(self, words: str) -> list[str]:
        """Return the words of a corner, in lines that leave room for the opposite corner."""
        return lines(words, self.width / 2 - 12, 12)

    def from_pixels(self, x: float, y: float) -> tuple[float, float]:
        """Undo :meth:`to_pixels`."""
        across, up = x / self.width, 1 - y / self.height
        return self.x[0] + across * (self.x[1] - self.x[0]), self.y[0] + up * (self.y[1] - self.y[0])


class _Box(NamedTuple):
    left: float
    top: float
    right: float
    bottom: float

    def inside(self, frame: Frame) -> bool:
        return self.left >= 0 and self.right <= frame.width and self.top >= 0 and self.bottom <= frame.height

    def meets(self, other: _Box) -> bool:
        return (
            self.left < other.right and other.left < self.right and self.top < other.bottom and other.top < self.bottom
        )


def labelled(data: pl.DataFrame, frame: Frame, split: tuple[float, float]) -> pl.DataFrame:
    """Add to points of MPA and WRA a ``label``, where it goes (``label x``, ``label y``) and its ``label side``.

    A name goes to the first free place around its point, away from lines if possible; if no place is free, it is left
    out (null).
    """
    names = unique_labels(data["group"], 24)
    centres = [frame.to_pixels(x, y) for x, y in data.select("MPA", "WRA").iter_rows()]
    said = [frame.region(words) for words in REGIONS.values()]
    corner, high = pixels([line for own in said for line in own], 12), 10 + 14 * max(map(len, said))
    taken = [_Box(x - 5, y - 5, x + 5, y + 5) for x, y in centres]
    taken += [
        _Box(left, top, left + corner, top + high)
        for left in (0, frame.width - corner)
        for top in (0, frame.height - high)
    ]
    strokes = _lines(data, frame, split)
    spots: list[tuple[float | None, float | None, str | None]] = [(None, None, None)] * len(names)
    for at in _order(data, centres, frame.to_pixels(*split)):
        places = [place for place in _places(*centres[at], pixels([names[at]])) if place.box.inside(frame)]
        places = [place for place in places if not any(place.box.meets(other) for other in taken)]
        clear = [place for place in places if not any(place.box.meets(line) for line in strokes)]
        if places:
            best = (clear or places)[0]
            taken.append(best.box)
            spots[at] = (*frame.from_pixels(best.anchor, (best.box.top + best.box.bottom) / 2), best.side)
    schema = {"label x": pl.Float64, "label y": pl.Float64, "label side": pl.String}
    places_found = pl.DataFrame(spots, schema=schema, orient="row")
    return data.with_columns(pl.Series("label", names, dtype=pl.String)).hstack(places_found)


def _order(data: pl.DataFrame, centres: list[tuple[float, float]], middle: tuple[float, float]) -> list[int]:
    """Return which points get a name first: those that stand out from chance, then those far from the split."""
    states = [AFTER, BEFORE]
    ranks = [
        min((states.index(state) for state in pair if state in states), default=len(states))
        for pair in data.select("MPA finding", "WRA finding").iter_rows()
    ]
    return sorted(range(len(centres)), key=lambda at: (ranks[at], -math.dist(centres[at], middle)))


class _Place(NamedTuple):
    side: str
    anchor: float
    box: _Box


def _places(x: float, y: float, width: float) -> list[_Place]:
    """Return where a name could go, the best first."""
    near, high = _LINE / 2 + 2, _GAP + _LINE / 2
    found = []
    for side, anchor, middle in (
        *(("left", x + _GAP, y + shift) for shift in (-near, near)),
        *(("right", x - _GAP, y + shift) for shift in (-near, near)),
        *(("center", x, y + shift) for shift in (-high, high)),
        ("left", x + _GAP, y),
        ("right", x - _GAP, y),
        *(("left", x + _GAP, y + shift) for shift in (-2 * near, 2 * near)),
        *(("right", x - _GAP, y + shift) for shift in (-2 * near, 2 * near)),
    ):
        left = {"left": anchor, "right": anchor - width, "center": anchor - width / 2}[side]
        box = _Box(left, middle - _LINE / 2, left + width, middle + _LINE / 2)
        found.append(_Place(side, anchor, box))
    return found


def _lines(data: pl.DataFrame, frame: Frame, split: tuple[float, float]) -> list[_Box]:
    """Return the lines between the regions, and the whiskers."""
    x, y = frame.to_pixels(*split)
    lines = [_Box(x, 0, x, frame.height), _Box(0, y, frame.width, y)]
    for mpa, wra, left, right, low, high in data.select(
        "MPA", "WRA", "MPA low", "MPA high", "WRA low", "WRA high"
    ).iter_rows():
        if left is not None and right is not None:
            (a, at), (b, _) = frame.to_pixels(left, wra), frame.to_pixels(right, wra)
            lines.append(_Box(a, at, b, at))
        if low is not None and high is not None:
            (at, b), (_, a) = frame.to_pixels(mpa, low), frame.to_pixels(mpa, high)
            lines.append(_Box(at, a, at, b))
    return lines
