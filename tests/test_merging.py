"""Claims of one pattern become one sentence: who is named, how much is said, and which p stands beside it."""

from __future__ import annotations

from typing import Any

import pytest

from plurivox.base.wording import named
from plurivox.infer.claims import merged
from plurivox.infer.result import Statement

LOWER = "rate the same items lower"


def claim(axis: str, group: str, short: str = LOWER, p: float | None = 0.01, **more: Any) -> Statement:
    subject = named(axis, group)
    return Statement(f"{subject} {short} in full.", 3.5, axis, "leniency", group, True, p, subject=subject, short=short,
                     **more)  # fmt: skip


def texts(*statements: Statement, **options: Any) -> list[str]:
    return [one.text for one in merged(statements, **options)]


def test_one_subject_has_its_amount_after_what_it_does() -> None:
    one = claim("age", "18-29", amount="by 0.5 points, chance 0.1")
    [line] = merged([one])
    assert line.text == "age 18-29 rate the same items lower, by 0.5 points, chance 0.1"
    assert line.p == "p = .010"
    assert line.statements == (one,)


def test_several_subjects_each_have_the_first_part_of_their_amount() -> None:
    found = merged([claim("age", "18-29", amount="by 0.5, chance 0.1"), claim("gender", "Man", amount="by 0.2")])
    assert [one.text for one in found] == [
        "age 18-29 (by 0.5) and gender: Man (by 0.2) rate the same items lower"
    ]  # fmt: skip
    assert len(found[0].statements) == 2


def test_amounts_can_be_left_out() -> None:
    two = [claim("age", "18-29", amount="by 0.5"), claim("gender", "Man", amount="by 0.2")]
    assert texts(*two, amounts=False) == ["age 18-29 and gender: Man rate the same items lower"]
    assert texts(two[0], amounts=False) == ["age 18-29 rate the same items lower"]


def test_more_subjects_than_can_be_named_are_counted() -> None:
    many = [claim("team", name) for name in "abcdef"]
    assert texts(*many) == ["team: a, team: b, team: c, team: d and 2 more rate the same items lower"]
    assert texts(*many, most=2) == ["team: a, team: b and 4 more rate the same items lower"]


def test_patterns_stay_in_the_order_of_their_first_and_all_statements_are_kept() -> None:
    said = [claim("a", "x", "do this"), claim("a", "y", "do that"), claim("a", "z", "do this")]
    found = merged(said)
    assert [one.text for one in found] == ["a: x and a: z do this", "a: y do that"]
    assert [one.statements for one in found] == [(said[0], said[2]), (said[1],)]


def test_what_has_no_short_words_is_no_line() -> None:
    assert merged([Statement("A long sentence.", 3.0, claim=True)]) == []
    assert merged([]) == []


CROSSED = "gender × ethnicity"


@pytest.mark.parametrize(("crossings", "told"), [
    ([("Man × White")], "; so does one crossing with other attributes"),
    (["Man × White", "Man × Black"], "; so do two crossings with other attributes"),
])  # fmt: skip
def test_a_crossing_that_follows_is_counted_and_not_named(crossings: list[str], told: str) -> None:
    said = [claim("gender", "Man", amount="by 0.3"), *(claim(CROSSED, one, amount="by 0.4") for one in crossings)]
    assert texts(*said) == [f"gender: Man rate the same items lower, by 0.3{told}"]
    assert texts(*reversed(said)) == [f"gender: Man rate the same items lower, by 0.3{told}"]


def test_a_crossing_stands_for_itself_without_its_own_groups() -> None:
    crossing = claim(CROSSED, "Woman × White")
    assert texts(claim("gender", "Man"), crossing) == [
        "gender: Man and gender: Woman × ethnicity: White rate the same items lower"
    ]
    # Another thing said of one of its groups implies nothing.
    assert texts(claim("gender", "Woman", "rate higher"), crossing)[1] == (
        "gender: Woman × ethnicity: White rate the same items lower"
    )
    # A group of the same name of another attribute is another group.
    assert "crossing" not in texts(claim("parent", "Woman"), crossing)[0]


def test_a_crossing_of_three_follows_from_one_of_two() -> None:
    two, three = claim("a × b", "x × y"), claim("a × b × c", "x × y × z")
    assert texts(two, three) == [
        "a: x × b: y rate the same items lower; so does one crossing with other attributes"
    ]  # fmt: skip
    assert "crossing" not in texts(claim("a × b", "x × z"), three)[0]


def test_all_items_and_parts_of_them_are_said_once() -> None:
    whole = claim("age", "18-29", amount="by 0.5")
    parts = [claim("age", "18-29", subset=name, amount="by 0.9") for name in ("bias", "privacy")]
    assert texts(whole, *parts) == ["age 18-29 rate the same items lower, by 0.5, also on bias and privacy"]
    assert texts(*parts) == ["age 18-29 rate the same items lower, by 0.9 on bias and privacy"]
    other = claim("gender", "Man", subset="bias", amount="by 0.2")
    assert texts(whole, other) == ["age 18-29 (by 0.5) and gender: Man (by 0.2, on bias) rate the same items lower"]
    many = [claim("age", "18-29", subset=name) for name in "abcdef"]
    assert texts(*many) == ["age 18-29 rate the same items lower on a, b, c, d and 2 more"]


@pytest.mark.parametrize(("ps", "told"), [
    ([0.0004], "p < .001"), ([0.0004, 0.0009], "p < .001"), ([0.002, 0.03], "p = .030 or less"), ([0.04], "p = .040"),
    ([None, 0.04], "p = .040"), ([None], ""),
])  # fmt: skip
def test_the_largest_p_stands_for_all(ps: list[float | None], told: str) -> None:
    [line] = merged(claim("team", str(at), p=p) for at, p in enumerate(ps))
    assert line.p == told


def test_names_with_the_sign_of_a_crossing_are_names() -> None:
    """A value may hold the sign itself; then its parts do not match its axes, and it follows from nothing."""
    odd = claim("size", "2 × 3")
    assert texts(odd, claim("size", "2")) == ["size 2 × 3 and size 2 rate the same items lower"]
