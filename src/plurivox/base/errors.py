"""What can go wrong, as a tree to catch by branch.

::

    PlurivoxError
    ├── InputError (ValueError)      the data, or what was said about it, is wrong
    │   ├── FileError                a file cannot be opened or is not what it claims to be
    │   │ └── data.download.DownloadError a file cannot be fetched, or is not the one that was asked for
    │   ├── ColumnError              a column is missing or cannot be told apart
    │   ├── ScaleError               the scale is not usable, or has to be given
    │   ├── ScoreError               a score is not on the scale
    │   ├── IdError                  an item or rater id is missing or malformed
    │   ├── DuplicateError           the same rater rated the same item twice
    │   ├── AttributeConflictError   one rater or item carries two values of one attribute
    │   ├── SelectionError           an attribute or value asked for does not exist
    │   └── ConfigError              plurivox.toml cannot be used
    ├── NeedsRatersError (TypeError) the table holds counts, the question needs raters
    ├── NeedsMemoryError             the ratings lie packed on disk, the question needs all of them in memory
    ├── ask.client.AskFailed         a language model gave no answer to one request
    ├── ask.client.ModelGone         a language model cannot be asked at all
    ├── ask.database.StoreError      answers cannot be stored or read any more
    └── MissingExtraError (ImportError) an optional part of plurivox is not installed

    PlurivoxWarning (UserWarning)
    ├── UnknownIdsWarning            ratings by raters, or of items, that the attribute table lacks
    ├── AttributeConflictWarning     raters or items with several values of an attribute, which is unknown for them
    ├── SharedRatersWarning          raters of the reference are also among those it judges
    ├── ModelWarning                 a model was trained on ratings that cannot teach it the whole scale
    ├── DamageWarning                a part of a damaged file could not be read
    ├── UnweightedWarning            raters have weights, and the question counts all of them alike
    └── SoftScoresWarning            a prediction says less than none, or the prior says more than the ratings

Every message names, as far as they are known, the file, the column, the first few rows, what was found, and what
to do next. Rows are counted as a spreadsheet shows them: in a text file the header is row 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from plurivox.base.wording import LONGEST, QUOTED, one_line, sentence, short


class PlurivoxError(Exception):
    """Base of all errors that plurivox raises on purpose; their messages are harmless and quote little of the data."""

    def __init__(self, *parts: Any) -> None:
        super().__init__(*map(_fit, parts))


def _fit(part: Any) -> Any:
    return sentence(part) if isinstance(part, str) else part


class InputError(PlurivoxError, ValueError):
    """Something about the input is wrong; the message says where and what to do.

    Parameters
    ----------
    problem
        What was found and what was expected, as one sentence without its full stop.
    source
        The file, or another name for the source of the data.
    column
        The column concerned.
    places
        Where it happens, ready to print (``"row 7"``); the first few are shown.
    n_places
        How often it happens, if more often than ``places`` lists.
    hint
        The next step, as a sentence.
    """

    SHOWN = 5
    LONGEST = 1_000

    def __init__(
        self,
        problem: str,
        *,
        source: str | None = None,
        column: str | None = None,
        places: Sequence[str] = (),
        n_places: int | None = None,
        hint: str | None = None,
    ) -> None:
        self.problem = problem
        self.source = source
        self.column = column
        self.places: tuple[str, ...] = tuple(places)
        self.n_places: int = len(places) if n_places is None else n_places
        self.hint = hint
        super().__init__(self._message())

    def _message(self) -> str:
        column = self.column and f"column '{_quoted(self.column)}'"
        where = [part for part in (self.source and _quoted(self.source, LONGEST // 4), column) if part]
        if self.places:
            where.append(_listed([_quoted(place) for place in self.places[: self.SHOWN]], self.n_places))
        problem = sentence(self.problem, self.LONGEST)
        message = f"{', '.join(where)}: {problem}." if where else f"{problem}."
        return f"{message} {self.hint}" if self.hint else message


def _quoted(text: str, most: int = QUOTED) -> str:
    return one_line(short(text, most))


def _listed(places: Sequence[str], total: int) -> str:
    """``row 3, row 9`` → ``rows 3, 9 and 12 more``."""
    rows = [place.removeprefix("row ") for place in places]
    plain_rows = all(place.startswith("row ") and row.isdigit() for place, row in zip(places, rows, strict=True))
    if plain_rows:
        text = ("row " if total == 1 else "rows ") + ", ".join(rows)
    else:
        text = "; ".join(places)
    more = total - len(places)
    return f"{text} and {more:,} more" if more > 0 else text


class FileError(InputError):
    """A file cannot be opened, is empty, or is not what its name suggests."""


class ColumnError(InputError):
    """A column is missing, ambiguous or of the wrong kind."""


def few(names: Sequence[str], most: int | None = None) -> str:
    """Return the first names of a list, as many as an error should quote, and how many more there are.

    Examples
    --------
    >>> few(["a", "b", "c"]), few(["a", "b", "c"], 2), few(["long " * 50, "b"])[-21:]
    ('a, b, c', 'a, b and 1 more', '… (250 characters), b')
    """
    shown: list[str] = []
    for name in names[: MOST_NAMES if most is None else most]:
        if shown and sum(map(len, shown)) + min(len(name), QUOTED) > 2 * QUOTED:
            break
        shown.append(_quoted(name))
    more = len(names) - len(shown)
    return ", ".join(shown) + (f" and {more:,} more" if more else "")


MOST_NAMES = 40
"""Names of columns or values that an error lists, at most."""


def open_quote(columns: Sequence[str]) -> str:
    """Return a hint if a column name swallowed rows, otherwise an empty text."""
    return "A name spans several lines: close its quotation mark." if any("\n" in one for one in columns) else ""


def no_column(
    name: str, columns: Sequence[str], source: str, hint: str | None = None, *, role: str = "", most: int | None = None
) -> ColumnError:
    """Return the error that a column is missing, with the names of the existing ones."""
    hint = " ".join(part for part in (open_quote(columns), hint) if part)
    there = f"there is no column '{_quoted(name)}'{role}; it has {few(columns, most)}"
    return ColumnError(there, source=source, hint=hint)


class ScaleError(InputError):
    """The scale is not usable, or cannot be inferred and has to be given."""


class ScoreError(InputError):
    """A score is not a point of the scale."""


class IdError(InputError):
    """An item or rater id is missing or holds a control character."""


class DuplicateError(InputError):
    """The same rater rated the same item more than once."""


class AttributeConflictError(InputError):
    """One rater or item has two different values of one attribute."""


class SelectionError(InputError):
    """A requested attribute or value does not exist."""


class ConfigError(InputError):
    """A plurivox.toml cannot be used as it is."""


class NeedsMemoryError(PlurivoxError):
    """The ratings are packed on disk, and the analysis is not a sum over items: it needs all of them in memory."""


class NeedsRatersError(PlurivoxError, TypeError):
    """The table holds only counts per scale point, but the analysis needs to know who rated."""


class MissingExtraError(PlurivoxError, ImportError):
    """Something needs packages that are installed with an extra of plurivox."""

    def __init__(self, problem: str, extra: str) -> None:
        super().__init__(f"{problem}. Install what is missing with: pip install 'plurivox[{extra}]'")


class PlurivoxWarning(UserWarning):
    """Base of all warnings that plurivox gives on purpose; their messages are like those of errors."""

    def __init__(self, *parts: Any) -> None:
        super().__init__(*map(_fit, parts))


class UnknownIdsWarning(PlurivoxWarning):
    """Raters or items in the ratings are absent from the table of their attributes."""


class AttributeConflictWarning(PlurivoxWarning):
    """Raters or items have several values of an attribute, so it is unknown for them."""


class SharedRatersWarning(PlurivoxWarning):
    """Raters of the reference are also among the raters that it judges."""


class ModelWarning(PlurivoxWarning):
    """A model was trained on ratings that leave out points of the scale."""


class DamageWarning(PlurivoxWarning):
    """A file is damaged, and a part of it could not be read."""


class UnweightedWarning(PlurivoxWarning):
    """Raters have weights, but the analysis counts all of them equally."""


class SoftScoresWarning(PlurivoxWarning):
    """A model loses to the uniform prediction, or the prior outweighs the ratings."""
