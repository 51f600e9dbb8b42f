"""Tables of respondents × questions: told from tables of items × raters, and what columns reveal about people."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from plurivox.base.errors import ColumnError
from plurivox.base.wording import listed
from plurivox.domain.numbers import fits_scale, number_in
from plurivox.domain.raw import plain as plain
from plurivox.domain.scale import ALWAYS_MISSING, Scale, text_of

# Names of what is known about people, compared without case, spaces and punctuation. No rater has such a name.
_OF_PEOPLE = frozenset((
    "age", "ages", "ageinyears", "agegroup", "agerange", "agebracket", "agebin", "ageband", "birthyear", "yearofbirth",
    "yob", "dob", "gender", "genderidentity", "sex", "race", "ethnicity", "ethnicitysimplified", "raceethnicity",
    "ethnicgroup", "education", "educationlevel", "levelofeducation", "highesteducation", "income", "householdincome",
    "country", "countryofbirth", "countryofresidence", "nationality", "region", "zipcode", "postcode", "nativelanguage",
    "firstlanguage", "mothertongue", "religion", "politics", "politicalorientation", "politicalviews", "ideology",
    "party", "occupation", "employment", "employmentstatus", "studentstatus", "maritalstatus", "sexualorientation",
))  # fmt: skip
_ATTRIBUTE = (
    r"(age|gender|sex|race|ethnicity|education|income|country|nationality|region|state of residence|zip code|postcode"
    r"|language|mother tongue|religion|ideology|party|occupation|employment|profession|marital status|orientation"
    r"|political (?:views?|orientation|affiliation|leaning))"
)
# What may come between "your" and that; any other word makes it a question of opinion: your view on gender.
_FILLING = (
    r"(?:(?:current|highest|level|completed|achieved|attained|of|the|formal|primary|native|first|main|home|annual|total"
    r"|household|self|reported|identified|preferred|ethnic|political|religious|sexual|racial|or|and|age|race)\W+)*"
)
_ASKED = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"^(?:what|which|please|state|select|indicate|enter|specify|choose|your)\b[^?.!]*?\byour\W+{_FILLING}{_ATTRIBUTE}\b",
        rf"^your\W+{_FILLING}{_ATTRIBUTE}\b",
        rf"^(?:(?:in|with|to) )?(?:what|which)\W+{_FILLING}{_ATTRIBUTE}\b[^?.!]*\b(?:do|are|did|were) you\b",
        r"^how old are you\b",
        r"^how (?:do|would) you (?:identify|describe) (?:your(?:self)?)\b",
        r"^are you (?:an? )?(?:male|female|man|woman|hispanic|latin|student|native speaker|employed|married)",
        rf"^{_FILLING}{_ATTRIBUTE}\W*(?:\([^)]*\))?\W*$",
    )
)  # fmt: skip
_GENDERS = frozenset((
    "man", "woman", "male", "female", "men", "women", "m", "f", "nonbinary", "other", "prefernottosay", "diverse",
    "genderqueer", "agender", "transman", "transwoman", "nonbinarythirdgender", "prefernottoanswer", "selfdescribe",
))  # fmt: skip
# What a survey tool writes next to the answers: how they came in, and what identifies people.
_ADMINISTRATIVE = frozenset((
    "timestamp", "zeitstempel", "horodateur", "marcatemporal", "startdate", "enddate", "recordeddate", "submitdate",
    "datestamp", "date", "datetime", "time", "starttime", "endtime", "startedat", "completedat", "submittedat",
    "createdat", "updatedat", "status", "ip", "ipaddress", "ipaddr", "progress", "finished", "completed", "duration",
    "durationinseconds", "durationseconds", "totaltime", "timetaken", "leadtime", "recordno", "recipientlastname",
    "recipientfirstname", "recipientemail", "externalreference", "externaldatareference", "locationlatitude",
    "locationlongitude", "latitude", "longitude", "distributionchannel", "userlanguage", "startlanguage", "lastpage",
    "seed", "refurl", "email", "emailaddress", "mail", "username", "name", "firstname", "lastname", "fullname", "phone",
    "phonenumber", "address", "collectorid", "customdata1", "responseid", "respondentid", "consent", "useragent",
    "browser", "device", "operatingsystem", "resolution", "completioncode", "token", "qrecaptchascore",
))  # fmt: skip
_ID = re.compile(r"(^|[\s_.-])(p?id|guid|uuid|pid|code|token|hash)$|[a-z](ID|Id|PID)$|^(prolific|mturk|worker)", re.I)
_TIMING = re.compile(r"(first click|last click|page submit|click count|_DO_|_DO$)", re.IGNORECASE)
_IN_WORDS = re.compile(
    r"\b(comments?|feedback|explain|explanation|describe|why|suggestions?|remarks?|notes?|thoughts|anything else"
    r"|please specify)\b|_TEXT$",
    re.IGNORECASE,
)
_CONSENT = re.compile(r"\b(i|you) (hereby )?(consent|agree to (take part|participate))\b", re.IGNORECASE)


def tells_of_people(name: str, text: str = "") -> bool:
    """Return whether a column describes people, judged by its name or by the text of its question.

    Examples
    --------
    >>> tells_of_people("Age group"), tells_of_people("Q7", "What is your highest level of education?")
    (True, True)
    >>> tells_of_people("What is your view of gender quotas?"), tells_of_people("How old are you?")
    (False, True)
    """
    for one in (name, text):
        words = " ".join(one.split())
        if plain(one) in _OF_PEOPLE or any(asked.search(words) for asked in _ASKED):
            return True
    return False


def are_genders(values: set[str]) -> bool:
    """Return whether all of several values are genders."""
    return len(values) > 1 and {plain(value) for value in values} <= _GENDERS


def is_administrative(name: str, text: str = "") -> bool:
    """Return whether a column was written by the tool, or identifies people, and so holds neither scores nor groups."""
    known = plain(name) in _ADMINISTRATIVE or bool(_TIMING.search(name) or _CONSENT.search(name))
    return known or bool(_CONSENT.search(text))


def is_id(name: str) -> bool:
    """Return whether a column is named like one of ids."""
    return bool(_ID.search(name.strip()))


def asks_for_words(name: str, text: str = "") -> bool:
    """Return whether a question asks for free text."""
    return bool(_IN_WORDS.search(name) or _IN_WORDS.search(text))


_QUESTION = re.compile(r"(q|qid|question|frage|statement|stmt)[\s_.-]*\d+([\s_.-]*\w{1,3})?", re.IGNORECASE)
_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?")
NARROW, ROWS, OUTSIDE = 10, 20, 0.9
"""Numbers such as ages: in few columns with this many rows, they span more than scores and lie mostly outside them."""
_NAMED = 5


@dataclass(frozen=True, slots=True)
class Held:
    """What the cells of a column are.

    Attributes
    ----------
    scores, others
        How many may be scores, and how many cannot.
    numbers
        Those that are numbers.
    texts
        The non-blank ones, and how often each occurs.
    """

    name: str
    scores: int
    others: int
    numbers: tuple[float, ...]
    texts: Mapping[str, int]

    @property
    def holds_scores(self) -> bool:
        """Whether at least half of its cells may be scores."""
        return self.scores >= max(self.others, 1)

    @property
    def spread(self) -> float:
        """The range of its numbers."""
        return max(self.numbers) - min(self.numbers) if self.numbers else 0

    def outside(self, low: float, high: float) -> float:
        """Return the share of numbers outside an interval."""
        return sum(not low <= number <= high for number in self.numbers) / max(len(self.numbers), 1)


@dataclass(frozen=True, slots=True)
class Respondents:
    """Why rows seem to be respondents.

    Attributes
    ----------
    people
        Columns that hold no scores: they describe people, or are text.
    scores
        Columns that do.
    questions
        Those of them that are named like questions, if most are.
    sure
        Whether names show it; if only text does, rows may equally well be items that it describes.
    """

    people: list[str]
    scores: list[str]
    questions: list[str]
    sure: bool

    def error(self, source: str) -> ColumnError:
        """Return the error that names the columns and what to do."""
        apart = listed(self.people, _NAMED)
        why = f"{apart} {'holds' if len(self.people) == 1 else 'hold'} no scores, unlike {listed(self.scores, _NAMED)}"
        if not self.people:
            why = f"{listed(self.questions, _NAMED)} are named like questions"
        problem = f"rows seem to be respondents and columns questions: {why}" if self.sure else why
        named = ",".join(self.scores[:_NAMED]) + (",…" if len(self.scores) > _NAMED else "")
        describing = f" --item-attributes {','.join(self.people[:_NAMED])}" if self.people else ""
        hint = f"If rows are respondents, use --questions '{named}'; if rows are items and columns raters, use --wide"
        return ColumnError(problem, source=source, hint=f"{hint}{describing}.")


def respondents(
    head: pl.DataFrame, columns: Sequence[str], scale: Scale | None, missing: Collection[str]
) -> Respondents | None:
    """Return whether rows seem to be respondents: columns are named like questions, or some describe people.

    Parameters
    ----------
    head
        The first rows, each with an id of its own.
    columns
        The columns that would be raters.
    scale, missing
        The scale, if it is known, and further answers that mean no rating.
    """
    found = [held(head[name], scale, missing) for name in columns]
    people = [one.name for one in found if tells_of_people(one.name) or one.others > one.scores]
    people += beyond([one for one in found if one.name not in people])
    scores = [one.name for one in found if one.name not in people and one.holds_scores]
    questions = [name for name in scores if named_like_question(name)]
    if len(questions) < max(2, len(scores) / 2):
        questions = []
    if len(scores) < 2 or not (people or questions):
        return None
    named = any(tells_of_people(name) for name in people) or bool(questions)
    return Respondents(people, scores, questions, named or not any(one.others for one in found))


def named_like_question(name: str) -> bool:
    """Return whether a column is named like a question: ``Q1``, ``Q2_3``."""
    return bool(_QUESTION.fullmatch(name.strip()))


def hold_scores(head: pl.DataFrame, columns: Sequence[str], scale: Scale | None, missing: Collection[str] = ()) -> bool:
    """Return whether columns, except for odd cells, hold points of one scale: the given one, or a few whole numbers."""
    found = [held(head[name], scale, missing) for name in columns]
    if scale is None:
        numbers = [number for one in found for number in one.numbers]
        few = numbers and 0 < max(numbers) - min(numbers) <= 100
        if not few or not all(number.is_integer() for number in numbers):
            return False
    return any(one.scores for one in found) and all(one.scores >= one.others for one in found)


def held(cells: pl.Series, scale: Scale | None, missing: Collection[str]) -> Held:
    """Count cells; any number may be a score unless the scale has words, since numbers off it are reported later."""
    scores = others = 0
    numbers: list[float] = []
    texts: dict[str, int] = {}
    if cells.dtype.is_nested():
        return Held(cells.name, 0, len(cells), (), {})
    labels = set() if scale is None else {text_of(label) for label in scale.labels}
    in_words = any(not _NUMBER.fullmatch(label) for label in labels)
    unrated = {*missing, *(scale.missing if scale else ())}
    for value, count in cells.drop_nulls().alias("cell").value_counts().iter_rows():
        text = text_of(value)
        if text not in labels and (text.casefold() in ALWAYS_MISSING or text in unrated):
            continue
        texts[text] = texts.get(text, 0) + count
        number = text if _NUMBER.fullmatch(text) else number_in(text)
        if text in labels or (number and not in_words) or (scale is not None and fits_scale(text, scale)):
            scores += count
        else:
            others += count
        if number:
            numbers += [float(number)] * count
    return Held(cells.name, scores, others, tuple(numbers), texts)


def beyond(columns: Sequence[Held]) -> list[str]:
    """Return columns of numbers that are not scores, such as ages next to answers from 1 to 5."""
    narrow = [one for one in columns if one.numbers and one.spread <= NARROW]
    numbers = [number for one in narrow for number in one.numbers]
    if len(narrow) < 2 or max(numbers) - min(numbers) > NARROW:
        return []
    low, high = min(numbers), max(numbers)
    far = [one for one in columns if one.spread > NARROW and len(one.numbers) >= ROWS]
    return [one.name for one in far if one.outside(low, high) >= OUTSIDE] if len(far) < len(narrow) else []
