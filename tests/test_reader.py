"""Reading answers: hand-made ones of many kinds, 13,200 published ones, known ones in noise, and no answers at all."""

from __future__ import annotations

import itertools
import json
import string
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import norms
from docs.building import pages
from plurivox.domain.reader import Reading, read_answer
from plurivox.domain.reader.rules import RULES, described_rules, prepare

FOLDER = Path(__file__).parent / "answers"
SCALES: dict[str, list[list[str]]] = json.loads((FOLDER / "scales.json").read_text(encoding="utf-8"))
WRITTEN: dict[str, list[dict[str, Any]]] = defaultdict(list)
for line in (FOLDER / "answers.jsonl").read_text(encoding="utf-8").splitlines():
    WRITTEN[json.loads(line)["kind"]].append(json.loads(line))
SHARE = [("A", "<1%"), ("B", "5%-25%"), ("C", "50%"), ("D", "75%-90%"), ("E", ">90%")]
OFTEN = [("A", "never"), ("B", "sometimes"), ("C", "always")]
STARS = [(str(n), str(n)) for n in range(1, 6)]


# Hand-made answers ---------------------------------------------------------------------------------------------------
def test_there_are_hand_made_answers_of_every_kind() -> None:
    assert sum(map(len, WRITTEN.values())) >= 300
    assert len(WRITTEN) >= 30


@pytest.mark.parametrize("kind", sorted(WRITTEN))
def test_hand_made_answers(kind: str) -> None:
    wrong = []
    for one in WRITTEN[kind]:
        found = read_answer(one["text"], SCALES[one["scale"]])
        if (found.state, found.point) != (one["state"], one["point"]):
            wrong.append((one["scale"], one["text"], one["state"], one["point"], found))
    assert wrong == []


def test_a_span_holds_what_was_read() -> None:
    for one in (one for kind in WRITTEN.values() for one in kind):
        found = read_answer(one["text"], SCALES[one["scale"]])
        if found.span is not None:
            start, end = found.span
            assert 0 <= start < end <= len(one["text"])
            assert one["text"][start:end].strip()
        assert (found.point is None) == (found.state != "answered")


# Rules, each on its own ----------------------------------------------------------------------------------------------
BY_NAME = {rule.__name__: rule for rule in RULES}
ONE_RULE = [
    ("nothing_there", " **… ** \n", OFTEN, "unreadable", None),
    ("nothing_there", "<think>surely B", OFTEN, "unreadable", None),
    ("whole_answer", "**(B)**", OFTEN, "answered", 1),
    ("whole_answer", "C. Always!", OFTEN, "answered", 2),
    ("field_or_tag", 'Sure: {"reason": "A is too weak", "answer": "C"}', OFTEN, "answered", 2),
    ("field_or_tag", "Hence \\boxed{B}", OFTEN, "answered", 1),
    ("field_or_tag", '[{"answer": "A"}, {"answer": "B"}]', OFTEN, "unreadable", None),
    ("several_samples", "1. B\n2. B", OFTEN, "answered", 1),
    ("several_samples", "Sample 1: A\nSample 2: B", OFTEN, "unreadable", None),
    ("final_answer", "A would be odd. The answer is B, not C.", OFTEN, "answered", 1),
    ("final_answer", "The answer is A. Wait, no: C.", OFTEN, "answered", 2),
    ("final_answer", "The answer is A or B.", OFTEN, "unreadable", None),
    ("first_line", "B) sometimes\n\nAlways is a strong word.", OFTEN, "answered", 1),
    ("first_line", "75%-90%\n\nA) <1%\nB) 5%-25%\nC) 50%\nD) 75%-90%\nE) >90%", SHARE, "answered", 3),
    ("own_line", "People differ a lot here.\n\n**C**", OFTEN, "answered", 2),
    ("opinion", "Hard to tell, but I'd say sometimes.", OFTEN, "answered", 1),
    ("number_in_range", "I would estimate about 80% of people.", SHARE, "answered", 3),
    ("refusal", "I'm sorry, but I can't help with rating this.", OFTEN, "refused", None),
    ("only_option", "That >90% of people agree with that is plain.", SHARE, "answered", 4),
    ("no_rule", "People differ.", OFTEN, "unreadable", None),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "text", "options", "state", "point"), ONE_RULE)
def test_each_rule_alone(rule: str, text: str, options: list[tuple[str, str]], state: str, point: int | None) -> None:
    found = BY_NAME[rule](prepare(text, options))
    assert found is not None
    assert (found.state, found.point) == (state, point)
    assert read_answer(text, options) == found  # and no rule before it has a say


def test_every_rule_is_tried_alone_and_documented_in_its_order() -> None:
    assert {rule for rule, *_ in ONE_RULE} == BY_NAME.keys()
    page = pages.rules_page()
    places = [page.index(f"`{one.name}`") for one in described_rules()]
    assert places == sorted(places)
    assert all(one.meaning in page for one in described_rules())


@pytest.mark.parametrize(("text", "state", "point"), [
    ("B", "answered", 1), ("b)", "answered", 1), ("  C. always", "answered", 2), ("**A**", "answered", 0),
    ("(A) never", "answered", 0), ("A\nbecause", "answered", 0), ("B sometimes", "answered", 1),
    ("A person should not.", "unreadable", None), ("Because", "unreadable", None), ("", "unreadable", None),
    ("I'm sorry, but I can't rate that.", "refused", None), ("D", "unreadable", None), ("C'mon", "unreadable", None),
    ("a dog", "unreadable", None),
])  # fmt: skip
def test_plain_answers(text: str, state: str, point: int | None) -> None:
    found = read_answer(text, OFTEN)
    assert (found.state, found.point) == (state, point)
    if found.span is not None and state == "answered":
        assert text[slice(*found.span)].upper().startswith(OFTEN[point or 0][0])


def test_numbers_as_letters() -> None:
    options = [(str(n), f"{n} %") for n in range(1, 31)]
    assert read_answer("12", options).point == 11
    assert read_answer("1", options).point == 0
    assert read_answer("120", options).state == "unreadable"


# Edges ---------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("text", "options", "point"), [
    ("B)", [], None), ("B", [("B", "")], 0), ("B", [("A", "x"), ("", "y")], None), ("y", [("A", "x"), ("", "y")], 1),
    ("same", [("A", "same"), ("B", "same")], None), ("B", [("A", "same"), ("B", "same")], 1),
    ("(.*) [x", [("A", "(.*) [x"), ("B", "+?")], 0), ("c++", [("A", "c++"), ("B", "c")], 0),
    ("700", [(str(n), str(n)) for n in range(1001)], 700), ("B", [["A", "x"], ["B", "y"]], 1), ("B\x00", OFTEN, 1),
    ("\ud800 B", OFTEN, 1), ("ＤとＢ", OFTEN, None), ("Ｂ", OFTEN, 1),
    ("50%", [(str(n), str(n)) for n in range(101)], 50),
    ("4%", STARS, None), ("-1", [(str(n), str(n)) for n in range(-2, 3)], 1),
    ("1", [(str(n), str(n)) for n in range(-2, 3)], 3),
])  # fmt: skip
def test_odd_options_and_texts(text: str, options: Any, point: int | None) -> None:
    assert read_answer(text, options).point == point


def test_a_description_or_a_label_in_another_language_names_its_option() -> None:
    options = [("A", "safe", "Nobody is harmed.", "sicher"), ("B", "unsafe", "Somebody may be harmed.", "unsicher")]
    assert read_answer("Somebody may be harmed.", options).point == 1
    assert read_answer("Ich würde sagen: sicher.", options).point == 0


MINUS = [(str(n), str(n)) for n in range(-2, 3)]
SIGNS = [(letter, "★" * n) for n, letter in enumerate("ABCDE", 1)]
GRADES = [("1", "A+"), ("2", "A"), ("3", "A-")]
AGREE = [("A", "disagree"), ("B", "neither agree nor disagree", "neutral"), ("C", "agree")]
FIFTHS = [("A", "0-20%"), ("B", "20-40%"), ("C", "40-60%"), ("D", "60-80%"), ("E", ">80%")]


@pytest.mark.parametrize(("text", "options", "point"), [
    ("It is fine.", SIGNS, None), ("★★★", SIGNS, 2), ("I'd give it ★★★", SIGNS, 2), ("Grade: A", GRADES, 1),
    ("Grade: A-", GRADES, 2), ("A+", GRADES, 0), ("<answer>80%</answer>", FIFTHS, 3), ("=> 70%", FIFTHS, 3),
    ("> 4", STARS, 3), ("Score -> 4", STARS, 3), ("The comment is rude. A", AGREE, None),
    ("Points:\n1. Rude tone\n2. Many typos\n3.", STARS, None), ("I'd say 3. Confidence: 5", STARS, 2),
    ("My rating is 3, and my confidence is 5.", STARS, 2), ("1. 4", STARS, 3), ("A: B. Neutral", AGREE, 1),
    ("– 2", MINUS, None), ("Rating: −2", MINUS, 0), ("As an AI I have no opinions. That said, B.", AGREE, 1),
    ("Neutral, because I lack facts.", AGREE, 1), ("Rating: 1,000", STARS, None), ("3/5/2021", STARS, None),
    ("4/5. Good.", STARS, 3), ("John 3:4", STARS, None), ("She would agree.", AGREE, None),
    ("Agree is the best answer.", AGREE, 2), ("4 fits best.", STARS, 3), ("Answer: A/B/C", AGREE, None),
    ("No-one came.", [("A", "no"), ("B", "yes")], None), ("x", [()], None), ("yes", ["yes", "no"], 0),
    ("b) Use a library", AGREE, None), ("Neither agree, nor", AGREE, None),
])  # fmt: skip
def test_faults_that_a_trial_found(text: str, options: Any, point: int | None) -> None:
    assert read_answer(text, options).point == point


@pytest.mark.parametrize("text", ["I can't agree with this.", "I couldn't agree more!"])
def test_an_opinion_is_no_refusal(text: str) -> None:
    assert read_answer(text, AGREE).state != "refused"


ADVERSARIAL = {
    "letters": "A ", "words": "the answer ", "spaces": " ", "lines": "\n", "percentages": "75% ", "hyphens": "-",
    "negations": "not ", "brackets": "([{", "quotes": "\"'", "opinions": "I would say ", "thoughts": "<think>",
    "a word": "a", "numbers": "4 ", "digits": "4", "series": "1. A\n", "fields": '{"answer": ', "stops": ". ",
    "stars": "*_", "headers": "Xy: \n", "options": "D) 75%-90%\n", "tags": "<answer>", "accents": "e\u0301",
    "rulers": "answer: " + "-" * 50 + "xx A. ", "arrows": "I think " + "->" * 30 + "x A. ", "points": "1. x ",
}  # fmt: skip


@pytest.mark.parametrize("kind", sorted(ADVERSARIAL))
@pytest.mark.parametrize("options", [SHARE, OFTEN, STARS], ids=["share", "often", "stars"])
@pytest.mark.parametrize("length", [100_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
def test_long_texts_of_one_pattern_come_to_an_end(kind: str, options: list[tuple[str, str]], length: int) -> None:
    unit = ADVERSARIAL[kind]
    found = read_answer((unit * (length // len(unit) + 1))[:length], options)  # quadratic time: minutes, then hours
    assert found.state in ("answered", "unreadable")


# Published answers ---------------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def published(real_data: Path) -> tuple[pl.DataFrame, list[Reading]]:
    """Return the published answers, and how they are read here."""
    found = norms.answers(real_data / "lm_social_norms")
    return found, norms.readings(found)


def test_readings_equal_the_published_ones_in_98_percent(published: tuple[pl.DataFrame, list[Reading]]) -> None:
    found, read = published
    same = [ours == theirs for ours, theirs in zip(norms.letters(read), norms.published(found), strict=True)]
    assert 0.98 <= sum(same) / len(same) < 1


def test_a_repeated_table_of_options_is_not_taken_for_its_first(published: tuple[pl.DataFrame, list[Reading]]) -> None:
    found, read = published
    repeated = [
        (text, reading)
        for text, reading in zip(found["response"], read, strict=True)
        if text.startswith("75%-90%") and "| <1%" in text
    ]
    assert len(repeated) > 30
    assert {reading.point for _, reading in repeated} == {3}


# Noise ---------------------------------------------------------------------------------------------------------------
MARKS = ["", "**", "*", "_", "`", '"', "“", "__"]
CLOSING = {"“": "”"}
BEFORE = [
    "", "Answer: ", "My answer is ", "The answer is: ", "I would choose ", "Sure! ", "Final answer:\n", "> ", "### ",
]  # fmt: skip
AFTER = [
    "", ".", "!", "\n", "\n\nThis is because people tend to see it that way.", " because it is widely held.",
    "\n\n**Reasoning:** customs differ, and so do people.", "\n```", " (fairly sure)",
]  # fmt: skip
KNOWN: dict[str, Sequence[Sequence[str]]] = {
    "share": SHARE, "often": OFTEN, "stars": STARS, "agree5": SCALES["agree5"], "safety": SCALES["safety"],
}  # fmt: skip
WORDS = [
    "mountain", "river", "walks", "slowly", "under", "green", "the", "roof", "while", "music", "plays", "and", "rain",
    "falls", "on", "every", "window", "people", "remember", "summers", "with", "joy", "it", "was", "long", "ago",
]  # fmt: skip


@pytest.mark.parametrize("name", sorted(KNOWN))
def test_a_known_answer_is_found_in_noise(name: str) -> None:
    options = KNOWN[name]
    for point, (letter, text) in enumerate(option[:2] for option in options):
        for said in (letter, text, f"{letter}) {text}", f"{letter}. {text}", f"{text} ({letter})"):
            for mark, before, after in itertools.product(MARKS, BEFORE, AFTER):
                whole = f"{before}{mark}{said}{CLOSING.get(mark, mark)}{after}"
                more_than = whole == f"> 50%{after}"  # as likely "more than 50%" as a quoted "50%"
                assert read_answer(whole, options).point == (None if more_than else point), whole


@given(
    words=st.lists(st.sampled_from(WORDS), min_size=3, max_size=60),
    ends=st.lists(st.sampled_from([". ", ", ", " ", "! ", "\n\n", "; "]), min_size=60, max_size=60),
    options=st.sampled_from([SHARE, OFTEN, STARS, SCALES["agree5"], SCALES["no_unsure_yes"]]),
)
def test_words_at_random_are_never_read(words: list[str], ends: list[str], options: list[tuple[str, str]]) -> None:
    text = "".join(word + end for word, end in zip(words, ends, strict=False))
    assert read_answer(text.capitalize(), options).state == "unreadable", text


@given(text=st.text(alphabet=string.ascii_letters + string.digits + string.punctuation + " \n", max_size=200))
def test_any_text_has_a_reading_within_it(text: str) -> None:
    found = read_answer(text, SHARE)
    assert found.state in ("answered", "refused", "unreadable")
    assert found.span is None or 0 <= found.span[0] < found.span[1] <= len(text)
