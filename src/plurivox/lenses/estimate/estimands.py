"""What can be estimated: the mean over items of a number for each point of the scale."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from plurivox.base.errors import InputError
from plurivox.domain.scale import Scale
from plurivox.lenses.estimate.settings import AT_LEAST, MEAN, SHARES, EstimateSettings

Floats = NDArray[np.float64]


class Estimand(NamedTuple):
    """What is estimated: its name, the number of each point, and whether it is a share."""

    name: str
    numbers: Floats
    share: bool

    @property
    def ends(self) -> tuple[float, float]:
        """The lowest and the highest value that it can have."""
        return float(self.numbers.min()), float(self.numbers.max())


def estimands(scale: Scale, settings: EstimateSettings) -> list[Estimand]:
    """Return what is requested: by default the mean, and the share at or above the threshold if there is one."""
    place = _place(scale, settings.threshold)
    wanted = settings.what or ((AT_LEAST,) if len(scale) == 2 else (MEAN, *((AT_LEAST,) if place is not None else ())))
    labels = [str(label) for label in scale.labels]
    found = []
    for one in wanted:
        if one == MEAN:
            found.append(Estimand(MEAN, np.array(scale.values, dtype=float), share=False))
        elif one == SHARES:
            found += [_share(f"share of {label}", len(scale), at, at + 1) for at, label in enumerate(labels)]
        else:
            first = range(1, len(scale)) if place is None else (place,)
            found += [
                _share(f"share of {labels[at]}{' or higher' if at < len(scale) - 1 else ''}", len(scale), at)
                for at in first
            ]
    return list({one.name: one for one in found}.values())


def _share(name: str, n_points: int, first: int, last: int | None = None) -> Estimand:
    numbers = np.zeros(n_points)
    numbers[first:last] = 1.0
    return Estimand(name, numbers, share=True)


def _place(scale: Scale, threshold: object) -> int | None:
    """Return the position of the threshold, None without one."""
    if threshold in (None, "each"):
        return None
    place = scale.position(threshold)
    if place < 1:
        what = "the lowest point, so everything would be unsafe" if place == 0 else "which means no rating"
        raise InputError(f"threshold is {threshold!r}, {what}", hint=f"Give a higher point of {scale}.")
    return place
