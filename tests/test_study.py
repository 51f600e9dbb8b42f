"""A study answers each question once, and another question anew."""

from __future__ import annotations

import plurivox as pv
from plurivox.study import Study


def test_the_same_question_is_answered_once_however_it_is_written() -> None:
    made = pv.simulate(n_items=20, n_raters=20, seed=1)
    study = Study(made.ratings, {"reference": made.trained})
    one = study.ask("responsiveness", by="gender", permutations=9, interval="none")
    assert study.ask("responsiveness", interval="none", by=["gender"], permutations=9) is one
    assert study.ask("responsiveness", by="gender", permutations=8, interval="none") is not one
    assert one.settings["reference"]["kind"] == "ratings"
    crowd = study.ask("responsiveness", inputs={"reference": "crowd"}, by="gender", permutations=9, interval="none")
    assert crowd.settings["reference"]["kind"] == "crowd"
    assert made.trained is not None
    expected = pv.responsiveness(made.ratings, made.trained, "gender", permutations=9, interval="none")
    assert one.to_json() == expected.to_json()


def test_inputs_that_nobody_else_keeps_are_not_taken_for_later_ones() -> None:
    """Of 20 references in turn, of which each may lie where the one before did, each has its own answer."""
    made = pv.simulate(n_items=20, n_raters=20, seed=1)
    study = Study(made.ratings)
    for number in range(20):
        trained = pv.simulate(n_items=20, n_raters=20, seed=number).trained
        found = study.ask("responsiveness", inputs={"reference": trained}, by="gender", permutations=0, interval="none")
        assert trained is not None
        expected = pv.responsiveness(made.ratings, trained, "gender", permutations=0, interval="none")
        assert found.to_json() == expected.to_json()
        del trained
