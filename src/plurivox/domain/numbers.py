"""Scores and times as people write them: ``3,5``, ``4 - Agree``, ``4/5``; numbers of occasions, or ISO dates.

An answer that is a point of the scale as written, or means missing, is never read in any other way. Each distinct
answer is read once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plurivox.base.errors import ColumnError, ScaleError, ScoreError, few
from plurivox.domain.attributes import Locate, clean, where
from plurivox.domain.code import as_text
from plurivox.domain.scale import ALWAYS_MISSING, MAX_INFERRED_POINTS, Scale, infer_scale, text_of
from plurivox.domain.scale_names import fold

_COMMA = re.compile(r"[+-]?\d{1,18},\d{1,18}")
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+")
_DIGITS = r"(?P<number>[+-]?\d{1,18}(?:[.,]\d{1,18})?)"
_OUT_OF = re.compile(rf"{_DIGITS}\s*(?:/|out\s+of)\s*(?P<of>\d{{1,18}})", re.IGNORECASE)
_WORDS = r"(?P<words>[^\W\d_].*)"
_WORDED = tuple(
    re.compile(form, re.DOTALL)
    for form in (
        rf"[(\[]\s*{_DIGITS}\s*[)\]]\s*{_WORDS}",  # (4) Agree
        rf"{_DIGITS}\s*[(\[]\s*{_WORDS}[)\]]",  # 4 (Agree)
        rf"{_DIGITS}\s*[-‐‑‒–—―:.=)]\s*{_WORDS}",  # 4 - Agree
    )
)
Tell = Callable[[Sequence[str]], Mapping[str, Any]]
"""Maps answers to what an error says about where they are."""


AnswersWritten = tuple[list[Any], Scale, str]
"""What answers are looked up as, on which scale, and what was done with them, in words."""


class _Worded(NamedTuple):
    number: str
    words: str


def as_written(answers: Sequence[Any], scale: Scale | None, missing: Collection[str], tell: Tell) -> AnswersWritten:
    """Return answers as numbers where they are written with words, a decimal comma or "out of".

    Parameters
    ----------
    answers
        The distinct ones.
    scale
        The scale, if it is given; otherwise it is inferred.
    missing
        Further answers that mean no rating, as :func:`text_of` writes them.
    tell
        Says where answers are, for an error.

    Raises
    ------
    ScaleError, ScoreError
        If they have no order of their own, or can be read in more than one way.
    """
    known = scale if scale is None or not missing else scale.with_missing([*scale.missing, *missing])
    odd = {answer: answer.strip() for answer in answers if isinstance(answer, str) and _odd(answer, known, missing)}
    for form, read in ((_is_comma, _commas), (_is_share, _shares), (_worded, _worded_points)):
        if any(form(text) for text in odd.values()):
            return read(answers, odd, known, missing, tell)
    return list(answers), known or _inferred(answers, missing), _joined(answers, known)


def _joined(answers: Sequence[Any], scale: Scale | None) -> str:
    """Say which wordings are the same point of a named scale."""
    if scale is None or not scale.name:
        return ""
    found: dict[int, dict[str, str]] = {}
    for answer in answers:
        if _fit([answer], scale) and (place := scale.position(answer)) >= 0:
            found.setdefault(place, {}).setdefault(fold(str(answer)), repr(str(answer).strip()))
    several = [" and ".join(wordings.values()) for wordings in found.values() if len(wordings) > 1]
    return "; ".join(f"{words} read as one point" for words in several)


def number_in(text: str) -> str | None:
    """Return the number that a text is or contains, with a decimal point; None if there is none, or only words count.

    Examples
    --------
    >>> number_in("4 - Agree"), number_in("3,5"), number_in("4 out of 5"), number_in("18-24 years"), number_in("Agree")
    ('4', '3.5', '4', None, None)
    """
    text = text.strip()
    if _COMMA.fullmatch(text):
        return text.replace(",", ".")
    found = _is_share(text) or _worded(text)
    return found[0] if found else None


def fits_scale(text: str, scale: Scale) -> bool:
    """Return whether an answer is a point of a scale, as written or by the words next to its number."""
    worded = _worded(text.strip())
    return _fit([text], scale) or (worded is not None and _fit([worded.words], scale))


def _odd(answer: str, scale: Scale | None, missing: Collection[str]) -> bool:
    """Return whether an answer, as written, is neither a number nor a point nor missing."""
    if _means_missing(answer, missing) or (scale is not None and _fit([answer], scale)):
        return False
    return not _is_number(text_of(answer))


def _is_number(text: str) -> bool:
    try:
        return bool(float(text) == float(text)) and "_" not in text
    except ValueError:
        return False


def _inferred(answers: Sequence[Any], missing: Collection[str]) -> Scale:
    return infer_scale(answer for answer in answers if text_of(answer) not in missing)


def _is_comma(text: str) -> bool:
    return bool(_COMMA.fullmatch(text) or _THOUSANDS.fullmatch(text))


def _is_share(text: str) -> tuple[str, str] | None:
    found = _OUT_OF.fullmatch(text)
    return (found["number"].replace(",", "."), found["of"]) if found else None


def _worded(text: str) -> _Worded | None:
    for form in _WORDED:
        if found := form.fullmatch(text):
            return _Worded(text_of(found["number"].replace(",", ".")), " ".join(found["words"].split()))
    return None


def _commas(
    answers: Sequence[Any], odd: Mapping[str, str], scale: Scale | None, missing: Collection[str], tell: Tell
) -> AnswersWritten:
    """Read decimal commas, unless they may equally well separate thousands."""
    cells = [answer for answer, text in odd.items() if _is_comma(text)]
    points = [answer for answer in answers if isinstance(answer, str) and answer not in missing and "." in answer]
    if any(_is_number(point) for point in points):
        raise ScoreError(
            f"there are both decimal commas ({odd[cells[0]]!r}) and decimal points ({points[0].strip()!r})",
            **tell(cells), hint="Write all numbers in the same way.",
        )  # fmt: skip
    first = odd[cells[0]]
    decimal = {answer: odd[answer].replace(",", ".") for answer in cells if _COMMA.fullmatch(odd[answer])}
    if all(_THOUSANDS.fullmatch(odd[answer]) for answer in cells) and not (scale and _fit(decimal.values(), scale)):
        either = f"a comma and may be {first.replace(',', '')} or {first.replace(',', '.')}"
        raise ScoreError(
            f"{first!r} has {either if decimal else 'commas between thousands'}",
            **tell(cells),
            hint="Remove commas that separate thousands; if they are decimal commas, write decimal points, or give a "
            "scale with these points with --scale.",
        )
    how = "decimal commas read as points"
    found = _looked_up(answers, decimal)
    try:
        return found, scale or _inferred(found, missing), how
    except ScaleError as error:
        raise ScaleError(f"{error.problem} ({how})", hint=error.hint) from None


def _fit(texts: Collection[str], scale: Scale) -> bool:
    """Return whether all texts are points of a scale."""
    for text in texts:
        try:
            scale.position(text)
        except ScaleError:
            return False
    return True


def _shares(
    answers: Sequence[Any], odd: Mapping[str, str], scale: Scale | None, missing: Collection[str], tell: Tell
) -> AnswersWritten:
    """Read "4/5": all answers must be out of the same number, which is the highest point."""
    found = {answer: share for answer, text in odd.items() if (share := _is_share(text))}
    tops = {int(top): answer for answer, (_, top) in reversed(found.items())}
    if len(tops) > 1:
        few_tops = [odd[tops[top]] for top in sorted(tops)]
        raise ScoreError(
            f"scores are out of different numbers: {few(few_tops, 5)}",
            **tell(list(found)), hint="Convert them to one scale first.",
        )  # fmt: skip
    (top, example), texts = next(iter(tops.items())), {answer: number for answer, (number, _) in found.items()}
    beyond = [answer for answer, number in texts.items() if float(number) > top]
    if beyond:
        raise ScoreError(f"{odd[beyond[0]]!r} exceeds its maximum", **tell(beyond), hint="Correct it.")
    if scale is None:
        bare = [answer for answer in answers if answer not in texts and not _means_missing(answer, missing)]
        if bare:
            raise ScoreError(
                f"{str(bare[0])!r} is not out of {top}, unlike {odd[example]!r}",
                **tell([str(one) for one in bare]),
                hint=f"Give the scale, for example --scale 1:{top}, and declare what is not a point with --missing.",
            )
        scale = _up_to(top, texts.values())
    elif text_of(str(top)) != text_of(scale.labels[-1]):
        raise ScoreError(
            f"{odd[example]!r} is out of {top}, but the scale {scale} has a different highest point",
            **tell(list(found)), hint="Give the scale of these scores with --scale.",
        )  # fmt: skip
    return _looked_up(answers, texts), scale, f"answers such as {odd[example]!r} read as points out of {top}"


def _looked_up(answers: Sequence[Any], texts: Mapping[str, str]) -> list[Any]:
    return [texts.get(answer, answer) if isinstance(answer, str) else answer for answer in answers]


def _up_to(top: int, numbers: Collection[str]) -> Scale:
    """Return the whole numbers from 1, or from 0 if it was given, up to the number that scores are out of."""
    if top > MAX_INFERRED_POINTS:
        raise ScaleError(f"scores are out of {top:,}, too many for a scale", hint="If it is one, give it with --scale.")
    parts = [number for number in numbers if not float(number).is_integer()]
    if parts:
        raise ScaleError(
            f"some scores out of {top} are not whole numbers, such as {parts[0]}",
            hint=f"Give the scale, for example --scale 0:{top}:0.5.",
        )
    return Scale.range(min(1, *map(int, map(float, numbers)), 1), top)


def _means_missing(answer: Any, missing: Collection[str]) -> bool:
    text = text_of(answer)
    return text.casefold() in ALWAYS_MISSING or text in missing


def _worded_points(
    answers: Sequence[Any], odd: Mapping[str, str], scale: Scale | None, missing: Collection[str], tell: Tell
) -> AnswersWritten:
    """Read "4 - Agree": each number must have one text, and each text one number."""
    found = {answer: worded for answer, text in odd.items() if (worded := _worded(text))}
    lookup: dict[str, str] = {}
    for answer, worded in found.items():  # "9 - Don't know" is missing if 9 or Don't know is
        lookup[answer] = worded.words if worded.words in missing else worded.number
    pairs = {answer: worded for answer, worded in found.items() if not {*worded} & {*missing}}
    _refuse_clash(pairs, odd, tell)
    example = odd[next(iter(pairs or found))]
    numbers, words = ([pair[at] for pair in pairs.values()] for at in (0, 1))
    if scale is not None and not _fit(numbers, scale) and _fit(words, scale):
        lookup |= {answer: pair.words for answer, pair in pairs.items()}
        return _looked_up(answers, lookup), scale, f"words taken from answers such as {example!r}"
    plain = [answer for answer in odd if answer not in found]
    if scale is None and plain:
        raise ScoreError(
            f"{odd[plain[0]]!r} has no number, unlike {example!r}",
            **tell(plain), hint=f"If it means no rating, use --missing {odd[plain[0]]!r}.",
        )  # fmt: skip
    read = _looked_up(answers, lookup)
    points = scale or _inferred(read, missing)
    words_of = {pair.number: pair.words for pair in reversed(pairs.values())}
    meanings = [words_of.get(text_of(label), "") for label in points.labels]
    if all(meanings) and not points.descriptions:  # the words describe the points
        points = points.with_descriptions(meanings)
    return read, points, f"numbers taken from answers such as {example!r}"


def _refuse_clash(pairs: Mapping[str, _Worded], odd: Mapping[str, str], tell: Tell) -> None:
    """Raise an error if a number has two texts, or a text two numbers."""
    for which in (0, 1):
        seen: dict[str, str] = {}
        for answer, pair in pairs.items():
            other = seen.setdefault(pair[which].casefold(), answer)
            if pairs[other][1 - which].casefold() != pair[1 - which].casefold():
                said = "the number" if which == 0 else "the words"
                raise ScoreError(
                    f"{said} {pair[which]!r} stand{'s' if which == 0 else ''} for two points: "
                    f"{odd[other]!r} and {odd[answer]!r}",
                    **tell([other, answer]),
                    hint="Correct them so that each number has one text and each text one number.",
                )


# Times ----------------------------------------------------------------------------------------------------------------
#
# Times of ratings: numbers of occasions or batches, or ISO dates, which become days since 1970.


Unit = Literal["number", "days"]
UNITS = ("number", "days")
"""The unit of times: plain numbers, or days since 1970-01-01 in UTC."""
_DAY = 86_400
_LARGEST = 1e100  # a time may not be larger
_ISO = (
    r"^(?P<date>[0-9]{4}-[0-9]{2}-[0-9]{2})"
    r"(?:[T ](?P<hour>[01][0-9]|2[0-3]):(?P<minute>[0-5][0-9])(?::(?P<second>[0-5][0-9](?:[.,][0-9]{1,9})?))?"
    r" ?(?P<zone>Z|(?P<sign>[+-])(?P<ahead>[01][0-9])(?::?(?P<more>[0-5][0-9]))?)?)?$"
)
_HINT = "Give numbers (of occasions or batches) or ISO dates such as 2026-01-31 or 2026-01-31T12:00:00."


class Times:
    """Reads one column of times piece by piece; all of them must have one unit."""

    def __init__(self, source: str, column: str, locate: Locate) -> None:
        self._source, self._column, self._locate = source, column, locate
        self._pieces: list[NDArray[np.float64]] = []
        self._n_rows = 0
        self._unit: Unit | None = None

    def add(self, piece: pl.Series) -> None:
        """Add the next rows of the column.

        Raises
        ------
        ColumnError
            If a time is neither a number nor a date, or if a column has both.
        """
        unit, numbers = _read(piece)
        known = clean(piece) if unit is None else numbers
        wrong = known.is_not_null() if unit is None else numbers.is_null() & clean(piece).is_not_null()
        if wrong.any():
            raise self._error(piece, wrong, unit)
        if known.null_count() < len(known):
            if self._unit not in (None, unit):
                raise self._error(piece, known.is_not_null(), self._unit)
            self._unit = unit
        self._pieces.append(numbers.fill_null(np.nan).to_numpy())
        self._n_rows += len(piece)

    def finish(self) -> tuple[NDArray[np.float64], Unit]:
        """Return the times of all rows, NaN where there is none, and their unit."""
        return np.concatenate([np.zeros(0), *self._pieces]), self._unit or "number"

    def _error(self, piece: pl.Series, wrong: pl.Series, others: Unit | None) -> ColumnError:
        value = as_text(piece).filter(wrong)[0]
        problem = "is neither a number nor an ISO date"
        if not _read(piece.filter(wrong)[:1])[1].null_count() and piece.dtype != pl.Boolean:
            problem = f"does not match the others, which are {'numbers' if others == 'number' else 'dates'}"
        rows = np.flatnonzero(wrong.to_numpy()) + self._n_rows
        at = where(self._source, self._locate, rows)
        return ColumnError(f"the time {value!r} {problem}", column=self._column, **at, hint=_HINT)


def _read(piece: pl.Series) -> tuple[Unit | None, pl.Series]:
    """Return the unit of a column and its times; no unit if the type cannot hold times."""
    kind = piece.dtype
    if kind == pl.Null:
        return "number", piece.cast(pl.Float64)
    if kind.is_numeric():
        return "number", _finite(piece.cast(pl.Float64))
    if kind == pl.Date or kind == pl.Datetime:
        moments = piece.cast(pl.Datetime("us"))  # UTC, if there is a zone
        return "days", moments.dt.epoch("us").cast(pl.Float64) / (_DAY * 1e6)
    if kind == pl.Boolean:
        return None, piece.cast(pl.Float64)
    texts = clean(as_text(piece)).str.strip_chars()
    numbers = _finite(texts.cast(pl.Float64, strict=False))
    dates = _days(texts) if numbers.null_count() > texts.null_count() else None
    if dates is not None and dates.null_count() <= numbers.null_count() and dates.null_count() < len(dates):
        return "days", dates
    return "number", numbers


def _finite(numbers: pl.Series) -> pl.Series:
    """Return numbers, null where they are not finite, or so large that sums of their squares are not."""
    return numbers.set(~(numbers.is_finite() & (numbers.abs() <= _LARGEST)).fill_null(True), None)


def _days(texts: pl.Series) -> pl.Series:
    """Return ISO dates as days, null where a text is not a date; dates without a zone are in UTC."""
    names = ("hour", "minute", "second", "ahead", "more")
    hour, minute, second, ahead, more = (
        pl.col(name).str.replace(",", ".").cast(pl.Float64).fill_null(0) for name in names
    )
    ahead = pl.when(pl.col("sign") == "-").then(-1).otherwise(1) * (ahead * 3600 + more * 60)
    day = pl.col("date").str.to_date("%Y-%m-%d", strict=False).cast(pl.Int32).cast(pl.Float64)
    parts = texts.alias("time").str.extract_groups(_ISO).struct.unnest()
    return parts.select(day + (hour * 3600 + minute * 60 + second - ahead) / _DAY).to_series()


def time_column(times: NDArray[np.float64], unit: str) -> pl.Series:
    """Return times as they are shown: numbers, or dates and times."""
    column = pl.Series("time", times).fill_nan(None)
    if unit != "days":
        return column
    return (column * (_DAY * 1e6)).round().cast(pl.Int64).cast(pl.Datetime("us"))
