"""Surveys of any origin: respondents in rows, questions in columns."""

from __future__ import annotations

from exports.record import Case, lines

PLAIN = """respondent,Q1,Q2,Q3,age,gender
p1,1,5,3,23,Woman
p2,2,4,,44,Man
p3,3,4,1,31,Woman
"""
UNNAMED = """Q1,Q2,Q3,comment
1,2,3,hello
2,1,3,
"""
TOOL = """StartDate,EndDate,Status,IPAddress,Progress,Finished,RecordedDate,ResponseId,DistributionChannel,Q1,Q2,country
2024-05-01 10:00:00,2024-05-01 10:09:00,0,1.2.3.4,100,1,2024-05-01 10:09:01,R_1,anonymous,1,2,France
2024-05-01 11:00:00,2024-05-01 11:09:00,1,1.2.3.4,100,1,2024-05-01 11:09:01,R_2,preview,5,5,France
2024-05-01 12:00:00,2024-05-01 12:09:00,0,1.2.3.5,40,0,2024-05-01 12:09:01,R_3,anonymous,4,,Chile
"""
LIKERT = """id,calm,happy,gender,dogs
a,Agree,Disagree,Man,yes
b,Neutral,Agree,Woman,no
c,Agree,Agree,Man,no
"""
MIXED = """id,Q1,Q2,Q3,Q4
a,1,5,Yes,No
b,2,4,No,No
"""
CASES = [
    Case(
        "survey", "plain", "plain.csv", PLAIN,
        ratings=(
            ("Q1", "p1", "1"), ("Q2", "p1", "5"), ("Q3", "p1", "3"), ("Q1", "p2", "2"), ("Q2", "p2", "4"),
            ("Q1", "p3", "3"), ("Q2", "p3", "4"), ("Q3", "p3", "1"),
        ),
        raters={"p1": {"age": 23, "gender": "Woman"}, "p2": {"age": 44, "gender": "Man"}},
    ),
    Case(
        "survey", "plain", "lines.jsonl",
        lines({"participant": "x", "Q1": 1, "Q2": 2, "sex": "F"},
              {"participant": "y", "Q1": 3, "Q2": None, "sex": "M"}),
        ratings=(("Q1", "x", "1"), ("Q2", "x", "2"), ("Q1", "y", "3")),
        raters={"x": {"sex": "F"}},
    ),
    Case(  # rows are named as a spreadsheet numbers them
        "survey", "awkward", "nobody-named.csv", UNNAMED,
        ratings=(("Q1", "2", "1"), ("Q2", "2", "2"), ("Q3", "2", "3"), ("Q1", "3", "2"),
                 ("Q2", "3", "1"), ("Q3", "3", "3")),
    ),
    Case(  # what a tool wrote beside the answers is not an attribute, and its previews are not answers
        "survey", "awkward", "saved-again.csv", TOOL, given={"unfinished": "keep"},
        ratings=(("Q1", "R_1", "1"), ("Q2", "R_1", "2"), ("Q1", "R_3", "4")),
        left_out={"previews and tests": 1},
        raters={"R_1": {"rater": "R_1", "country": "France"}},
    ),
    Case(
        "survey", "awkward", "saved-again-finished.csv", TOOL, given={"unfinished": "drop"},
        ratings=(("Q1", "R_1", "1"), ("Q2", "R_1", "2")),
        left_out={"previews and tests": 1, "unfinished respondents": 1},
    ),
    Case(
        "survey", "awkward", "words.csv", LIKERT, given={"scale": "Disagree,Neutral,Agree"},
        ratings=(
            ("calm", "a", "Agree"), ("calm", "b", "Neutral"), ("calm", "c", "Agree"), ("happy", "a", "Disagree"),
            ("happy", "b", "Agree"), ("happy", "c", "Agree"),
        ),
        raters={"b": {"gender": "Woman", "dogs": "no"}},
    ),
    Case(
        "survey", "awkward", "range.csv", "who,start,calm,happy,glad,end\nx,7,1,2,3,7\ny,8,3,2,1,8\n",
        given={"questions": "calm:glad", "rater": "who"},
        ratings=(
            ("calm", "x", "1"), ("happy", "x", "2"), ("glad", "x", "3"), ("calm", "y", "3"), ("happy", "y", "2"),
            ("glad", "y", "1"),
        ),
        raters={"x": {"start": 7, "end": 7}},
    ),
    Case(
        "survey", "awkward", "chosen.csv", MIXED, given={"questions": "Q1,Q2"},
        ratings=(("Q1", "a", "1"), ("Q2", "a", "5"), ("Q1", "b", "2"), ("Q2", "b", "4")),
    ),
    Case(
        "survey", "awkward", "commas.csv", 'id,"Sad, or not?",Glad?,age\na,1,2,20\nb,2,1,30\n',
        given={"questions": "Sad, or not?,Gl*"},
        ratings=(("Sad, or not?", "a", "1"), ("Sad, or not?", "b", "2"), ("Glad?", "a", "2"), ("Glad?", "b", "1")),
        raters={"a": {"age": 20}},
    ),
    Case(
        "survey", "broken", "mixed.csv", MIXED,
        error=("mixed.csv", "not on one scale: 1 to 5 (Q1, Q2); No, Yes (Q3, Q4)", "--questions 'Q1,Q2'"),
    ),
    Case(
        "survey", "broken", "unknown.csv", PLAIN, given={"questions": "Q1:Q9"},
        error=("there is no column 'Q1:Q9' for --questions", "Q1, Q2, Q3, age, gender"),
    ),
    Case(
        "survey", "broken", "undecided.csv", TOOL,
        error=("1 of 2 respondents is unfinished", "--unfinished drop", "--unfinished keep"),
    ),
    Case(
        "survey", "broken", "off.csv", PLAIN, given={"scale": "1:4"},
        error=("off.csv", "'5' is not a point of the scale", "row 2, column Q2"),
    ),
    Case(
        "survey", "broken", "words-without-order.csv", "id,Q1,Q2\na,Agree,Disagree\nb,Disagree,Agree\n",
        error=("words-without-order.csv", "--scale"),
    ),
]  # fmt: skip
