"""How ratings are read, declared once.

The keywords of :func:`plurivox.read_ratings`, the options of every command that reads ratings, the keys of
``plurivox.toml``, the workbench's form and what ``pack`` accepts are made from :class:`ReadSettings`. A new setting is
declared here, and used where tables are read.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

from plurivox.base.settings import Axes, Frozen, Settings, Toml, record, setting, shared
from plurivox.domain.choices import CONFLICTS, LAYOUTS, RULES, UNKNOWN, Conflicts, Duplicates, Layout

if TYPE_CHECKING:
    from plurivox.domain.ratings import Ratings


Choice = Literal["keep", "drop"]
"""What happens to answers that need a decision."""
CHOICES: tuple[Choice, ...] = get_args(Choice)
Format = Literal[
    "csv", "tsv", "jsonl", "json", "parquet", "arrow", "excel", "sqlite", "duckdb", "zip", "table", "label-studio",
    "argilla", "potato", "prolific", "mturk", "doccano", "prodigy", "toloka", "qualtrics", "google-forms", "lewidi",
    "lists", "survey",
]  # fmt: skip
"""What ``--format`` accepts: a kind of file, a platform, or ``table`` for a table that comes from none."""
FORMATS: tuple[Format, ...] = get_args(Format)

UNPACKED, LATER = "unpacked", "later"
"""Stages of settings: of tables, but not kept in packed studies; and of what is done with ratings that were read."""
_COLUMNS = 'The columns that hold them; obvious names are recognised. ``item="a,b"`` makes ids from two columns.'
_RECODED = (
    'New points made from those of the scale, as by :meth:`Ratings.recode`: ``"0-2=no,3-4=yes"``, or the lowest point '
    "that counts as unsafe. ``poles`` are then those of the new scale."
)
_TABLES = "Files or frames with one row per rater or item."
_DESCRIBING = "Columns of the ratings themselves that describe raters or items."
_DECIDED = (
    'Whether answers that were rejected, or given by people who did not finish, are kept (``"keep"``) or left out '
    '(``"drop"``); required if an export holds any.'
)
_FILES = (
    'The kind of file or the platform it comes from, if that is not recognised (``"table"`` for neither), and the '
    "encoding of its text."
)


def names_in(text: str | None) -> tuple[str, ...]:
    """Return the comma-separated names in a text."""
    return tuple(name.strip() for name in text.split(",")) if text else ()


def _answers(given: Any) -> tuple[str, ...]:
    """Return answers as they are compared, as text."""
    from plurivox.domain.scale import text_of

    answers = (given,) if isinstance(given, str) else tuple(map(record.scalar, given))
    if not all(isinstance(one, str | int | float) for one in answers):
        raise TypeError("an answer must be a text or a number")
    return tuple(map(text_of, answers))


def _read_bins(texts: Sequence[str]) -> dict[str, tuple[float, ...]]:
    """Read several ``age=18,30,45``."""
    found = {}
    for text in texts:
        attribute, sign, edges = text.partition("=")
        try:
            numbers = tuple(float(edge) for edge in edges.split(","))
        except ValueError:
            numbers = ()
        if not sign or not attribute.strip() or not all(map(math.isfinite, numbers)) or not numbers:
            raise ValueError(f"needs ATTRIBUTE=EDGES, such as age=18,30,45, not {text!r}")
        found[attribute.strip()] = numbers
    return found


def _bins(given: Any) -> Frozen:
    """Return where the intervals of each attribute start; with ``edges`` and ``labels``, they have names."""
    bins = {}
    for name, one in record.ordered_mapping(given or {}).items():
        edges, labels = (one.get("edges"), one.get("labels")) if isinstance(one, Mapping) else (one, None)
        numbers = tuple(float(edge) for edge in (edges if isinstance(edges, tuple) else (edges,)))
        if not numbers or not all(map(math.isfinite, numbers)):
            raise ValueError(f"Give where the intervals of {name} start: 18, 30, 45.")
        bins[name] = numbers if labels is None else Frozen([("edges", numbers), ("labels", tuple(map(str, labels)))])
    return Frozen(bins.items())


def _read_several(texts: Sequence[str]) -> dict[str, str]:
    """Read several ``race=;``."""
    pairs = [(text, *text.partition("=")) for text in texts]
    for text, attribute, _, separator in pairs:
        if not attribute or not separator:
            raise ValueError(f"needs ATTRIBUTE=SEPARATOR, not {text!r}")
    return {attribute: separator for _, attribute, _, separator in pairs}


def _read_conditions(texts: Sequence[str]) -> list[tuple[str, str, str]]:
    """Read several ``removed=False``, each of raters or items, whichever have the attribute."""
    found = []
    for text in texts:
        attribute, sign, value = text.partition("=")
        if not sign:
            raise ValueError(f"needs ATTRIBUTE=VALUE, not {text!r}")
        found.append(("", attribute, value))
    return found


def _conditions(given: Any) -> tuple[tuple[str, str, str], ...]:
    """Return the conditions: raters, items or whichever have it, an attribute, and the value it must have."""
    found = tuple((str(whose), str(name), str(value)) for whose, name, value in given or ())
    if not all(not whose or (whose in ("raters", "items") and name.strip() and value) for whose, name, value in found):
        raise ValueError("Give raters or items, an attribute, and the value to keep.")
    return found


def _column(key: str) -> Toml:
    return Toml("columns", key)


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadSettings(Settings):
    """How ratings are read; what is not set is recognised.

    Keywords of :func:`plurivox.read_ratings` are those whose stage is not :data:`LATER`.
    """

    item: str | None = setting(
        None, "Column with the item, or several that together form its id: a,b.", metavar="COLUMN", doc=_COLUMNS,
        toml=_column("item"),
    )  # fmt: skip
    rater: str | None = setting(
        None, "Column with the rater.", metavar="COLUMN", doc=_COLUMNS, toml=_column("rater")
    )  # fmt: skip
    score: str | None = setting(
        None, "Column with the score.", metavar="COLUMN", doc=_COLUMNS, toml=_column("score"),
        replaces=("point_columns",),
    )  # fmt: skip
    point_columns: Any = setting(
        None,
        "Columns instead of a score, one for each point: 'severity.*', or names in the order of the scale. A 1 marks "
        "the chosen point; with --totals they hold counts. Use '{rater}_severity.*' if each rater has columns.",
        option="--one-hot", aliases=("--point-columns",), metavar="COLUMNS", kind=str, written=False,
        accepts="GivenPoints | None", toml=_column("point_columns"), replaces=("score",),
        form="Columns instead of a score, one for each point: severity.*; a 1 marks the chosen point.",
        doc='Columns instead of ``score``, one for each point: ``"severity.*"``, where the star is the point, or a '
        'list in the order of the scale. A 1 marks the point that was given (one-hot); with ``layout="totals"``, they '
        "hold counts. With ``{rater}`` in the name, each rater has columns of their own.",
    )  # fmt: skip
    scale: Any = setting(
        None, "0:4, 0.5:5:0.5, No,Unsure,Yes (lowest first), likert-agree or another name, or a TOML file.",
        metavar="POINTS", kind=str, written=False, accepts="GivenScale | None", parse=str,
        form="The points, lowest first: 0:4, No,Unsure,Yes or the name of a known scale.",
        doc='A :class:`Scale`, its points in order, text such as ``"0:4"`` or ``"No,Unsure,Yes"``, or a TOML file. It '
        "may be left out for whole-number scores; it then runs from the lowest to the highest score seen.",
    )  # fmt: skip
    poles: Any = setting(
        None, "What the two ends of the scale mean, lowest first: safe,unsafe.", metavar="LOW,HIGH", kind=str,
        written=False, accepts="GivenPoles | None",
        doc='What the lowest and the highest end of the scale mean, for use in sentences: ``("safe", "unsafe")``.',
    )  # fmt: skip
    missing: tuple[str, ...] = setting(
        (), "An answer that means no rating, in addition to blank, NA, NaN and null. Repeatable.", metavar="ANSWER",
        repeated=True, canonical=_answers, accepts="Iterable[Label]",
        form="Answers that mean no rating, in addition to blank, NA, NaN and null.",
        doc='Answers besides blank, NA, NaN and null that mean "no rating".',
    )  # fmt: skip
    recode: Any = setting(
        None,
        "Combine points or ranges of the scale into new points: 0-2=no,3-4=yes; 2=missing drops one. 'into 5' makes "
        "five of equal width.",
        metavar="RULE", kind=str, written=False, accepts="GivenRecoding | None", parse=str, stage=UNPACKED,
        toml=Toml("scale", "recode"), replaces=("unsafe_from",), doc=_RECODED,
        form="Combine points or ranges of the scale into new points: 0-2=no,3-4=yes.",
    )  # fmt: skip
    unsafe_from: Any = setting(
        None, "Split the scale into two points: below this one, and from it upwards.", metavar="POINT", kind=str,
        written=False, accepts="Label | None", parse=str, stage=UNPACKED,
        toml=Toml("scale", "unsafe_from", (str, int, float)), replaces=("recode",), doc=_RECODED,
    )  # fmt: skip
    duplicates: Duplicates = setting(
        "error",
        "If a rater rated an item twice: error (default), first, last, mode, or keep (the first counts, the others are "
        "kept alongside).",
        aliases=("--repeats",), metavar="RULE", choices=RULES, toml=_column("duplicates"),
        form="If a rater rated an item twice.",
        doc='What to do when a rater rated an item twice: ``"error"``, ``"first"``, ``"last"``, ``"mode"``, or '
        '``"keep"``, which analyses the first rating and keeps the others with it.',
    )  # fmt: skip
    time: str | None = setting(
        None, "Column with the time of each rating: numbers of occasions or batches, or ISO dates.",
        aliases=("--occasion",), metavar="COLUMN", stage=UNPACKED, toml=_column("time"),
        form="Column with the time of each rating.",
        doc="The column that says when each rating was given: numbers of occasions or batches, or ISO dates.",
    )  # fmt: skip
    raters: Any = setting(
        None, "Table with one row per rater.", metavar="FILE", kind=str, written=False,
        accepts="FilePath | Frame | None", toml=Toml("raters", "file"), doc=_TABLES,
    )  # fmt: skip
    items: Any = setting(
        None, "Table with one row per item.", metavar="FILE", kind=str, written=False,
        accepts="FilePath | Frame | None", toml=Toml("items", "file"), doc=_TABLES,
    )  # fmt: skip
    by: Axes = setting(
        (),
        "Rater attribute, or several to cross: race,gender. A column of the table of raters or of FILE. Repeatable.",
        metavar="ATTRIBUTES", repeated=True, parse=lambda texts: [tuple(text.split(",")) for text in texts],
        canonical=record.axes, accepts="Sequence[str]", toml=Toml("raters", "by", list),
        doc="Attributes from which groups will be made; those that are columns of the ratings and not of ``raters`` "
        "are read from the ratings.",
    )  # fmt: skip
    bins: Frozen = setting(
        Frozen(), "Group a numeric rater attribute into intervals that start here: age=18,30,45. Repeatable.",
        option="--bin", metavar="ATTRIBUTE=EDGES", repeated=True, parse=_read_bins, canonical=_bins, stage=LATER,
        toml=Toml("raters", "bins", dict),
    )  # fmt: skip
    where: tuple[tuple[str, str, str], ...] = setting(
        (), "Keep only raters or items with this value: removed=False. Repeatable.", metavar="ATTRIBUTE=VALUE",
        repeated=True, parse=_read_conditions, canonical=_conditions, stage=LATER,
    )  # fmt: skip
    rater_attributes: tuple[str, ...] = setting(
        (), "Columns of FILE that describe raters: age,gender.", metavar="COLUMNS", parse=names_in,
        canonical=record.names, accepts="Sequence[str]", toml=Toml("raters", "columns", list), doc=_DESCRIBING,
    )  # fmt: skip
    item_attributes: tuple[str, ...] = setting(
        (), "Columns of FILE that describe items: topic,text.", metavar="COLUMNS", parse=names_in,
        canonical=record.names, accepts="Sequence[str]", toml=Toml("items", "columns", list), doc=_DESCRIBING,
    )  # fmt: skip
    conflicts: Conflicts = setting(
        "missing",
        "If a rater or an item has conflicting values of an attribute: missing (default: treat it as unknown), first, "
        "or error.",
        metavar="RULE", choices=CONFLICTS, toml=Toml("raters", "conflicts"),
        form="If a rater or an item has several values of an attribute.",
        doc='What to do if a rater or an item has more than one value of an attribute: ``"missing"`` (it is unknown, '
        'with a warning), ``"first"`` (the first value counts), or ``"error"``.',
    )  # fmt: skip
    unknown: tuple[str, ...] = setting(
        UNKNOWN,
        "Words that mean an attribute is unknown, instead of DATA_EXPIRED, CONSENT_REVOKED, Prefer not to say and the "
        "like; '' for none.",
        metavar="WORDS", parse=lambda text: tuple(filter(None, names_in(text))), canonical=record.names,
        accepts="Sequence[str]", toml=Toml("raters", "unknown", list),
        form="Words that mean an attribute is unknown.",
        doc='Words that say nothing about a rater, such as "Prefer not to say"; an empty list keeps all words as '
        "groups.",
    )  # fmt: skip
    several: Frozen = shared.several(cli=True, parse=_read_several, stage=LATER, toml=Toml("raters", "several", dict))
    weights: str | None = setting(
        None, "Weight raters to a population: a table with attribute, value and share, such as gender,Woman,0.51.",
        metavar="FILE", stage=LATER, toml=Toml("raters", "weights"),
    )  # fmt: skip
    trim: float | None = setting(
        None, "Limit each rater's weight to this many times the mean (default 5).", metavar="TIMES", least=1,
        stage=LATER, toml=Toml("raters", "trim", (int, float)),
        form="With a population: limit each rater's weight to this many times the mean; 5 by default.",
    )  # fmt: skip
    layout: Layout | None = setting(
        None, "What a row is: a rating (long), an item with a column per rater (wide) or per point (totals).",
        choices=LAYOUTS, toml=_column("layout"), replaces=("questions",),
        flags={
            "wide": "FILE has one row per item and one column per rater.",
            "totals": "FILE has one row per item and one column of counts per point.",
        },
        doc='``"long"`` (one row per rating), ``"wide"`` (one column per rater) or ``"totals"`` (one column per point, '
        "holding counts); recognised where that is safe.",
    )  # fmt: skip
    questions: str | None = setting(
        None, "Columns that are questions, if each row is a respondent: Q1:Q20, Q1,Q3 or 'Q*'.", metavar="COLUMNS",
        toml=_column("questions"), form="Columns that are questions, if each row is a respondent: Q1:Q20, Q1,Q3 or Q*.",
        doc='Which columns are questions if each row is a respondent: ``"Q1:Q20"``, ``"Q1,Q3"`` or ``"Q*"``.',
    )  # fmt: skip
    rejected: Choice | None = setting(
        None, "What to do with rejected answers: keep or drop.", metavar="keep|drop", choices=CHOICES,
        toml=_column("rejected"), doc=_DECIDED, form="What to do with rejected answers.",
    )  # fmt: skip
    unfinished: Choice | None = setting(
        None, "What to do with answers of people who did not finish: keep or drop.", metavar="keep|drop",
        choices=CHOICES, toml=_column("unfinished"), doc=_DECIDED,
        form="What to do with answers of people who did not finish.",
    )  # fmt: skip
    format: Format | None = setting(
        None, "Format of FILE, if it is not recognised correctly: csv, label-studio, table …", metavar="FORMAT",
        choices=FORMATS, toml=_column("format"), doc=_FILES,
        form="Format of the file, if it is not recognised correctly.",
    )  # fmt: skip
    encoding: str = setting(
        "utf-8", "Encoding of the text, if not UTF-8.", metavar="NAME", toml=_column("encoding"), doc=_FILES
    )  # fmt: skip
    min_group_size: int = shared.min_group_size(cli=True, stage=LATER, toml=Toml("", "min_group_size", int))
    in_memory: bool = setting(
        False, "Read a packed study into memory, for analyses that are not sums over items.", stage=LATER,
        form="Read a packed study into memory, for analyses that need all ratings at once.",
    )  # fmt: skip

    def attributes(self) -> list[str]:
        """Return every attribute that groups are made of, that has intervals or that may have several record."""
        named = [name.strip() for axis in self.by for name in axis]
        return list(dict.fromkeys((*named, *self.bins, *self.several)))

    def kept(self, ratings: Ratings | None = None) -> dict[str, dict[str, list[str]]]:
        """Return which raters and items are kept, as :meth:`plurivox.Ratings.where` expects it."""
        wanted: dict[str, dict[str, list[str]]] = {}
        for whose, name, value in self.where:
            of_items = ratings is not None and name in ratings.items.columns and name not in ratings.raters.columns
            wanted.setdefault(whose or ("items" if of_items else "raters"), {}).setdefault(name, []).append(value)
        return wanted

    def weighting(self) -> dict[str, float]:
        """Return the keywords of :meth:`plurivox.Ratings.weighted` that are set."""
        return {} if self.trim is None else {"trim": self.trim}
