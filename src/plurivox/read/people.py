"""What names and texts of columns reveal: who a respondent is, and what only a survey tool needs to know."""

from __future__ import annotations

import re

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


def plain(name: str) -> str:
    """Return a name without case, spaces and punctuation."""
    return "".join(c for c in name.casefold() if c.isalnum())


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
