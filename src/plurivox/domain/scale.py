"""The rating scale: which points there are, in which order, and what counts as no answer."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass, field
from decimal import Context, Decimal, InvalidOperation, localcontext
from typing import TYPE_CHECKING, Annotated, Any

from plurivox.base.arguments import LARGEST, Kind, checked, whole
from plurivox.base.cards import card, plain_grid
from plurivox.base.errors import ScaleError
from plurivox.domain.scale_names import NAMED, NamedScale, fold, offer, places

if TYPE_CHECKING:
    import numpy as np

MAX_POINTS = 32_767
MAX_INFERRED_POINTS = MAX_TABLED_POINTS = 1_001  # a slider from 0 to 1000 fits
ALWAYS_MISSING = frozenset({"", "na", "n/a", "nan", "null"})
MISSING = -1
_LONGEST = 18  # digits of a number that is written out
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")

Label = str | int | float | bool
Descriptions = tuple[str, ...] | dict[str, tuple[str, ...]]
"""What each point was said to mean: the same in every prompt, or by the name of the prompt."""
GivenPoles = Annotated[str | Sequence[str], Kind('two words that differ, such as ("safe", "unsafe")', None, ScaleError)]


@dataclass(frozen=True, slots=True, init=False)
class Scale:
    """An ordered list of points, lowest first.

    Parameters
    ----------
    labels
        The points in their order. ``"3"``, ``3`` and ``3.0`` name the same point.
    values
        A number for each point if the steps are unequal; by default the labels themselves if they are all numbers,
        otherwise 0, 1, 2, …
    missing
        Further answers that mean "no rating", such as ``["Unsure"]``. Blank, NA, N/A, NaN and null always do,
        unless they are labels. "Unsure" is a point only if it is listed as one.
    poles
        What its lowest and its highest end mean, such as ``("safe", "unsafe")``, used in sentences, which otherwise
        speak of lower and higher. Scales that differ only in this are equal.
    descriptions
        What each option was said to mean, such as ``"Few agree."``; or, if prompts described it differently, such lists
        by the name of the prompt: ``{"table": [...]}``. They also help to read models' texts. Scales that differ only
        in this are equal.
    name
        The name of a known scale that has these points, such as ``"likert-agree"``: answers are then compared without
        case, and other wordings of its points also count. :meth:`named` gives the whole scale.

    Examples
    --------
    >>> Scale(["No", "Unsure", "Yes"]).position("Yes")
    2
    >>> Scale.range(0, 4).position("3.0")
    3
    """

    labels: tuple[Label, ...]
    values: tuple[float, ...]
    missing: tuple[str, ...]
    poles: tuple[str, str] | None = field(compare=False)
    descriptions: Descriptions = field(compare=False, repr=False)
    name: str = field(compare=False, repr=False)
    _positions: dict[str, int] = field(repr=False, compare=False)

    @checked
    def __init__(
        self,
        labels: Iterable[Label],
        *,
        values: Sequence[float] | None = None,
        missing: Iterable[Label] = (),
        poles: GivenPoles | None = None,
        descriptions: Iterable[str] | Mapping[str, Iterable[str]] = (),
        name: str = "",
    ) -> None:
        points = tuple(itertools.islice(labels, MAX_POINTS + 1))  # too many could not be held
        if len(points) > MAX_POINTS:
            raise ScaleError(_too_many(len(labels) if isinstance(labels, Sized) else None))
        tokens = tuple(text_of(token) for token in missing)
        positions = _positions_of(points, tokens)
        parts = {
            "labels": points, "values": _values_of(points, values), "missing": tokens, "poles": as_poles(poles),
            "descriptions": descriptions_of(points, descriptions), "name": name, "_positions": positions,
        }  # fmt: skip
        if name:
            known = known_scale(name)
            if known.labels != points:
                problem, hint = f"the points of {known.name!r} are others", f"Scale.named({known.name!r}) has them."
                raise ScaleError(problem, hint=hint)
            parts["name"] = known.name
        for part, value in parts.items():
            object.__setattr__(self, part, value)

    @classmethod
    @checked
    def named(cls, name: str, *, missing: Iterable[Label] = ()) -> Scale:
        """Return a scale in words that many studies use, such as ``likert-agree``; docs/data.md lists them.

        Examples
        --------
        >>> scale = Scale.named("likert-agree")
        >>> scale.position("strongly agree"), scale.position("Neutral") == scale.position("Neither agree nor disagree")
        (4, True)
        """
        known = known_scale(name)
        return cls(known.labels, missing=missing, poles=known.poles, name=known.name)

    @classmethod
    @checked
    def range(cls, low: int, high: int, *, missing: Iterable[Label] = ()) -> Scale:
        """Return the whole numbers from ``low`` to ``high``, both ends included."""
        whole("low", low, -LARGEST)
        whole("high", high, -LARGEST)
        if high - low >= MAX_POINTS:
            raise ScaleError(_too_many(high - low + 1))
        return cls(range(low, high + 1), missing=missing)

    @classmethod
    @checked
    def parse(cls, text: str, *, missing: Iterable[Label] = ()) -> Scale:
        """Read ``0:4``, ``0.5:5:0.5`` (low, high, step) or ``No,Unsure,Yes``.

        Examples
        --------
        >>> Scale.parse("0.5:2:0.5").values
        (0.5, 1.0, 1.5, 2.0)
        """
        if ":" in text and "," not in text:
            return cls(_points_of_range(text), missing=missing)
        return cls(numbers_of([part.strip() for part in text.split(",")]), missing=missing)

    def with_poles(self, poles: GivenPoles | None) -> Scale:
        """Return the scale with other names of its two ends."""
        return self._with(poles=poles)

    def with_missing(self, missing: Iterable[Label]) -> Scale:
        """Return the scale with other answers that mean "no rating"."""
        return self._with(missing=missing)

    def with_descriptions(self, descriptions: Iterable[str] | Mapping[str, Iterable[str]]) -> Scale:
        """Return the scale with other words for what its points mean."""
        return self._with(descriptions=descriptions)

    def _with(self, **changed: Any) -> Scale:
        known = {name: getattr(self, name) for name in ("values", "missing", "poles", "descriptions", "name")}
        return Scale(self.labels, **{**known, **changed})

    def _repr_html_(self) -> str:
        """Show the points in a notebook."""
        ends = dict(zip((0, len(self) - 1), self.poles or (), strict=False))
        known = self.descriptions if isinstance(self.descriptions, tuple) else ()
        meaning = {**dict(enumerate(known)), **ends}
        header = ["point", "value", *(["meaning"] if meaning else [])]
        rows = [
            [str(label), f"{value:g}", *([meaning.get(at, "")] if meaning else [])]
            for at, (label, value) in enumerate(zip(self.labels, self.values, strict=True))
        ]
        grid = plain_grid(header, rows)
        return card("Scale", f"{len(self)} points from low to high", grids=[grid], more="labels")

    def __len__(self) -> int:
        return len(self.labels)

    def __str__(self) -> str:
        shown = [str(label) for label in self.labels]
        if len(shown) > 12:
            return f"{shown[0]} < {shown[1]} < … < {shown[-1]} ({len(shown)} points)"
        return " < ".join(shown)

    @property
    def dtype(self) -> type[np.uint8] | type[np.int16]:
        """The smallest integer type that holds every position."""
        import numpy as np

        return np.uint8 if len(self) <= 256 else np.int16

    def position(self, answer: object) -> int:
        """Return the position of an answer on the scale, -1 if it means missing.

        Raises
        ------
        ScaleError
            If the answer is neither a point nor missing.
        """
        if answer is None:
            return MISSING
        text = text_of(answer)
        found = self._positions.get(text)
        if found is not None:
            return found
        if text.casefold() in ALWAYS_MISSING or text in self.missing:
            return MISSING
        if self.name:
            wording = fold(text)
            if wording in map(fold, self.missing):
                return MISSING
            if wording in places(self.name):
                return places(self.name)[wording]
        raise ScaleError(f"{text!r} is not a point of the scale {self}")

    def to_dict(self) -> dict[str, Any]:
        """Return the scale as plain lists, for JSON and TOML; what it may lack only if there is any."""
        known: dict[str, Any] = {name: list(getattr(self, name)) for name in ("labels", "values", "missing")}
        known |= {"poles": list(self.poles)} if self.poles else {}
        known |= {"name": self.name} if self.name else {}
        return known | ({"descriptions": plain_descriptions(self.descriptions)} if self.descriptions else {})

    @classmethod
    @checked
    def from_dict(cls, data: dict[str, Any]) -> Scale:
        """Rebuild a scale from :meth:`to_dict`."""
        if "labels" not in data:
            raise ScaleError("a scale has labels, and data has none", hint="Give what to_dict() made.")
        known = {name: data[name] for name in ("values", "missing", "poles", "descriptions", "name") if name in data}
        return cls(data["labels"], **known)


def known_scale(name: str) -> NamedScale:
    """Return a scale by its name, whatever its case."""
    found = NAMED.get(name.strip().casefold())
    if found is None:
        raise ScaleError(
            f"there is no scale called {name.strip()!r}",
            hint=f"Give points such as 0:4 or No,Unsure,Yes, a TOML file, or one of these: {', '.join(NAMED)}.",
        )
    return found


def as_poles(poles: GivenPoles | None) -> tuple[str, str] | None:
    """Return the names of the lowest and the highest end of a scale, from two of them or from ``"safe,unsafe"``.

    Examples
    --------
    >>> as_poles("safe, unsafe") == as_poles(["safe", "unsafe"])
    True
    """
    if poles is None:
        return None
    names = poles.split(",") if isinstance(poles, str) else list(poles)
    texts = [name.strip() for name in names if isinstance(name, str)]
    if len(texts) != 2 or len(names) != 2 or not all(texts) or texts[0] == texts[1] or not "".join(texts).isprintable():
        raise ScaleError(
            f"the ends of a scale are named by two words that differ, not by {poles!r}",
            hint="Give the lowest first, for example --poles safe,unsafe.",
        )
    return texts[0], texts[1]


def infer_scale(answers: Iterable[object]) -> Scale:
    """Return the whole numbers from the lowest to the highest answer seen.

    Only whole numbers have an order of their own that needs no word from the user. End points that nobody used
    stay invisible, so whoever calls this has to say that the scale was inferred.
    """
    texts = {text_of(answer) for answer in answers if answer is not None}
    texts = {text for text in texts if text.casefold() not in ALWAYS_MISSING}
    if not texts:
        raise ScaleError(
            "there is no score to infer a scale from: every one is missing",
            hint="Give the scale, for example --scale 0:4.",
        )
    numbers = [_number(text) for text in texts]
    if any(number is None for number in numbers):
        shown = ", ".join(repr(text) for text in sorted(texts)[:8]) + (", …" if len(texts) > 8 else "")
        raise ScaleError(
            f"the scores are text and text has no order of its own; found, in no order, {shown}",
            hint=f"{f'{offered} Or give' if (offered := offer(texts)) else 'Give'} the points from lowest to highest, "
            "for example --scale No,Unsure,Yes; what is not a point goes to --missing.",
        )
    known = [number for number in numbers if number is not None]
    low, high = min(known), max(known)
    if any(number.adjusted() >= _LONGEST for number in known) or high - low >= MAX_INFERRED_POINTS:
        raise ScaleError(
            f"the scores run from {_plain(low)} to {_plain(high)}, too far apart to be taken for a scale",
            hint="Check that the score column is the right one; if it is, give the scale with --scale.",
        )
    if broken := [number for number in known if number != number.to_integral_value()]:
        raise ScaleError(
            f"the scores from {_plain(low)} to {_plain(high)} are not whole numbers, such as {_plain(min(broken))}",
            hint=f"Give the scale, for example --scale {_plain(low)}:{_plain(high)}:{_plain(_common_step(known))}; or "
            "remove what is not a rating, such as a row of means.",
        )
    if low == high:
        raise ScaleError(
            f"every score is {low}, but a scale needs at least two points",
            hint="Give the scale, for example --scale 0:4.",
        )
    return Scale.range(int(low), int(high))


def text_of(answer: object) -> str:
    """Return the text under which an answer is looked up: ``3``, ``"3"``, ``" 3.0"`` are all ``"3"``."""
    if isinstance(answer, bool):
        return str(answer)
    if isinstance(answer, str):
        text = answer.strip()
        if text in ("true", "TRUE", "false", "FALSE"):
            return text.capitalize()
        number = _number(text)
        return text if number is None else str(_plain(number))
    if isinstance(answer, float) and not math.isfinite(answer):
        return "NaN" if math.isnan(answer) else str(answer)
    number = _number(str(answer))
    return str(answer) if number is None else str(_plain(number))


def numbers_of(labels: Sequence[str]) -> Sequence[Label]:
    """Return labels as numbers if all of them are."""
    numbers = [_number(label) for label in labels]
    if any(number is None for number in numbers):
        return labels
    return [_plain(number) for number in numbers if number is not None]


def _number(text: str) -> Decimal | None:
    if not _NUMBER.fullmatch(text):
        return None
    try:
        return Decimal(text)
    except InvalidOperation:  # an exponent beyond what Decimal holds
        return None


def _plain(number: Decimal) -> int | float:
    """Return an int where that is exact, else a float.

    A number too large to write out stays a float: ``1e400`` must not become 400 digits. Its size is told by its
    exponent, since arithmetic with ``1e400000000`` overflows.
    """
    if number.adjusted() < _LONGEST and number == number.to_integral_value():
        return int(number)
    return float(number)


def _common_step(numbers: Sequence[Decimal]) -> Decimal:
    """Return the largest step that reaches every number from the lowest."""
    places = max(max(0, -int(number.as_tuple().exponent)) for number in numbers)
    if places > _LONGEST:
        return Decimal("0.1")  # no step that a scale could have
    whole = [int(number.scaleb(places)) for number in numbers]
    low = min(whole)
    return Decimal(math.gcd(*(number - low for number in whole)) or 1).scaleb(-places)


def _points_of_range(text: str) -> list[Label]:
    parts = [_number(part.strip()) for part in text.split(":")]
    if len(parts) not in (2, 3) or any(part is None for part in parts):
        raise ScaleError(f"{text!r} is not a range", hint="Write low:high, for example 0:4, or low:high:step.")
    low, high, *rest = [part for part in parts if part is not None]
    step = rest[0] if rest else Decimal(1)
    if step <= 0 or high <= low:
        raise ScaleError(f"{text!r} has no points", hint="Write the lower end first and a step above 0.")
    with localcontext(Context(traps=[])):  # what overflows is infinite, and so too many
        steps = (high - low) / step
        if not steps < MAX_POINTS:
            raise ScaleError(_too_many(int(steps) + 1 if steps.is_finite() and steps.adjusted() < _LONGEST else None))
        if steps != steps.to_integral_value():
            raise ScaleError(f"{text!r} does not end on a step", hint=f"Steps of {step} from {low} miss {high}.")
        return [_plain(low + step * i) for i in range(int(steps) + 1)]


def few_points(scale: Sized, what: str) -> None:
    """Raise if there are too many points for an analysis with tables of point × point, or with a chart of each."""
    if len(scale) > MAX_TABLED_POINTS:
        raise ScaleError(
            f"the scale has {len(scale):,} points, and {what} takes at most {MAX_TABLED_POINTS:,}",
            hint="Recode the scores into fewer points, such as tens.",
        )


def _positions_of(points: tuple[Label, ...], missing: tuple[str, ...]) -> dict[str, int]:
    if len(points) < 2:
        raise ScaleError(
            f"a scale needs at least two points, this one has {len(points)}",
            hint="List every point that raters could choose, lowest first, including those nobody chose.",
        )
    positions: dict[str, int] = {}
    for position, label in enumerate(points):
        text = text_of(label)
        if isinstance(label, float) and not math.isfinite(label):
            raise ScaleError(f"{label} cannot be a point of a scale")
        if text in positions:
            raise ScaleError(f"the point {text!r} is listed twice", hint="3, '3' and 3.0 are the same point.")
        if text in missing:
            raise ScaleError(f"{text!r} is listed both as a point and as missing", hint="Keep one of the two.")
        positions[text] = position
    return positions


def _values_of(points: tuple[Label, ...], values: Sequence[float] | None) -> tuple[float, ...]:
    if values is None:
        numbers = [_number(text_of(label)) for label in points]
        if any(number is None for number in numbers):
            return tuple(float(position) for position in range(len(points)))
        result = tuple(float(number) for number in numbers if number is not None)
        hint = "List the points from lowest to highest."
    else:
        result = tuple(float(value) for value in values)
        hint = "Give one finite number per point, each larger than the one before."
    if len(result) != len(points):
        raise ScaleError(f"{len(points)} points have {len(result)} values", hint=hint)
    if not all(map(math.isfinite, result)) or any(b <= a for a, b in itertools.pairwise(result)):
        shown = ", ".join(f"{value:g}" for value in result[:8]) + (", …" if len(result) > 8 else "")
        raise ScaleError(f"the values of the points do not increase: {shown}", hint=hint)
    return result


def descriptions_of(points: Sized, given: Iterable[str] | Mapping[str, Iterable[str]]) -> Descriptions:
    """Return descriptions, one for each point or none; or such by the name of a prompt."""
    if isinstance(given, Mapping):
        return {str(prompt): _one_each(points, texts, f" for the prompt '{prompt}'") for prompt, texts in given.items()}
    return _one_each(points, given)


def _one_each(points: Sized, given: Iterable[str], where: str = "") -> tuple[str, ...]:
    texts = tuple(map(str, given))
    if texts and len(texts) != len(points):
        raise ScaleError(
            f"there are {len(texts)} descriptions but {len(points)} points{where}",
            hint="Give one description for each point, in their order, or none.",
        )
    return texts


def descriptions_in(known: Descriptions, prompt: str) -> tuple[str, ...]:
    """Return what a prompt says about each point, none if it says nothing.

    A prompt may be asked of a persona or with examples, which follow its name after a comma; the descriptions are those
    of the longest name with which it begins.

    Examples
    --------
    >>> descriptions_in({"table": ("Rarely.", "Mostly.")}, "table, as a nurse")
    ('Rarely.', 'Mostly.')
    >>> descriptions_in({"table": ("Rarely.", "Mostly.")}, "plain")
    ()
    """
    if isinstance(known, tuple):
        return known
    names = [name for name in known if f"{prompt}, ".startswith(f"{name}, ")]
    return known[max(names, key=len)] if names else ()


def plain_descriptions(known: Descriptions) -> list[str] | dict[str, list[str]]:
    """Return descriptions as plain lists, for JSON and TOML."""
    return list(known) if isinstance(known, tuple) else {name: list(texts) for name, texts in known.items()}


def _too_many(n_points: int | None) -> str:
    points = "too many" if n_points is None else f"{n_points:,}"
    return f"the scale has {points} points, but at most {MAX_POINTS:,} are supported"
