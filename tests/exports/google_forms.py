"""Answers to Google Forms."""

from __future__ import annotations

from exports.record import Case

GRID = """Timestamp,What is your age?,Gender,How severe? [Item 173],How severe? [Item 174],Anything else to tell us?
2024/01/31 10:00:00 AM GMT+1,18-24,Woman,1,4,no
2024/01/31 10:01:00 AM GMT+1,25-34,Man,2,,
"""
TWO = """Timestamp,Email Address,How severe? [Item 173],How severe? [Item 174],How safe? [Item 173]
1/31/2024 10:00:00,a@x.org,1,4,2
1/31/2024 10:01:00,b@x.org,2,5,
1/31/2024 10:02:00,c@x.org,2,5,1
"""
PLAIN = """Timestamp,Username,I feel calm at work,I feel happy at work,How old are you?
1/31/2024 10:00:00,a@x.org,1,4,20
1/31/2024 10:01:00,b@x.org,2,5,30
"""
CASES = [
    Case(
        "google-forms", "plain", "grid.csv", GRID,
        ratings=(("Item 173", "2", "1"), ("Item 174", "2", "4"), ("Item 173", "3", "2")),
        raters={"2": {"rater": 2, "What is your age?": "18-24", "Gender": "Woman"}},
    ),
    Case(
        "google-forms", "plain", "linear.csv", PLAIN,
        ratings=(
            ("I feel calm at work", "a@x.org", "1"), ("I feel happy at work", "a@x.org", "4"),
            ("I feel calm at work", "b@x.org", "2"), ("I feel happy at work", "b@x.org", "5"),
        ),
        raters={"b@x.org": {"How old are you?": 30}},
    ),
    Case(  # nobody was asked how safe item 174 is
        "google-forms", "awkward", "two-questions.csv", TWO, given={"score": "How safe?"},
        ratings=(("Item 173", "a@x.org", "2"), ("Item 173", "c@x.org", "1")),
    ),
    Case(
        "google-forms", "awkward", "words.csv", GRID.replace(",1,4,", ",Not at all,Very,").replace(",2,,", ",Very,,"),
        given={"scale": "Not at all,Very"},
        ratings=(("Item 173", "2", "Not at all"), ("Item 174", "2", "Very"), ("Item 173", "3", "Very")),
    ),
    Case(
        "google-forms", "broken", "which.csv", TWO,
        error=("which.csv", "answers to 2 questions: How severe? and How safe?", "--score 'How severe?'"),
    ),
    Case(
        "google-forms", "broken", "twice.csv", PLAIN.replace("b@x.org", "a@x.org"),
        error=("twice.csv", "rated more than once", "row 2, column I feel calm at work and row 3", "--duplicates"),
    ),
]  # fmt: skip
