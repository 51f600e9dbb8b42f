"""What a reader sees first, and what each section says first: the order, how much of it, and where it leads."""

from __future__ import annotations

from typing import Any

import pytest

from plurivox.infer.claims import entangled_statements
from plurivox.infer.result import Statement
from plurivox.lenses.cohesion.result import OWN_VIEW
from plurivox.report import build
from plurivox.report.answer import ALIKE, CONSEQUENCE, FIRST, NOTHING, Answer, Sentence, answer_of, contents, said_of
from plurivox.report.parts import CAUTION, CHECK, COLLECT, Action, DataTable, Figure, Finding, Section, Switch, Tile
from plurivox.statistics.registry import STATISTICS

GROUPS = {("team", name) for name in "abcdef"}


def claim(statistic: str, group: str, p: float = 0.001, short: str = "", **more: Any) -> Finding:
    short = short or f"differ in {statistic}"
    said = Statement(
        f"team: {group} {short} in full.", 4 - p, "team", statistic, group, True, p, subject=f"team: {group}",
        short=short, **more,
    )  # fmt: skip
    return Finding(said, f"{statistic}-evidence")


def shown(*findings: Finding, **parts: Any) -> Section:
    return Section("lens", "A lens", "What was rated.", findings=findings, **parts)


def answer(*findings: Finding, groups: set[tuple[str, str]] = GROUPS, **parts: Any) -> Answer:
    """Return the first screen of findings that all stand at the top of a report."""
    section = shown(*findings, **parts)
    return answer_of([section], [one for one in findings if one.said.claim or one.fact], groups)


def lines(found: Answer) -> list[str]:
    return [one.text for one in found.claims]


# Claims
def test_claims_are_in_order_of_what_follows_from_them() -> None:
    """A view of one's own, who rates higher, who conveys severity, models, items, scores, agreement, and the rest."""
    names = [name for names in CONSEQUENCE for name in names]
    assert set(names) - {"items", "closest_gap", "stand_in"} <= set(STATISTICS)
    made = [claim(name, "a") for name in reversed(names)]
    found = answer_of([shown(*made)], [*made, claim("view_correlation", "b", short=OWN_VIEW)], GROUPS)
    assert lines(found)[0] == f"team: b {OWN_VIEW}"
    places = {name: at for at, names in enumerate(CONSEQUENCE) for name in names}
    told = [places[one.anchor.removesuffix("-evidence")] for one in found.claims[1:]]
    assert told == sorted(told)
    assert lines(found)[1] == "team: a differ in leniency"
    assert found.n_more == len(names) + 1 - 5


def test_of_one_kind_the_surest_comes_first() -> None:
    found = answer(claim("mpa", "a", 0.03), claim("wra", "b", 0.002), claim("hm", "c", 0.01))
    assert [one.anchor for one in found.claims] == ["wra-evidence", "hm-evidence", "mpa-evidence"]
    assert [one.detail for one in found.claims] == [f"p = .0{n} after correction" for n in ("02", "10", "30")]


def test_a_line_leads_to_the_evidence_of_its_first_statement() -> None:
    found = answer(claim("mpa", "a", 0.03, "grade worse"), claim("wra", "b", 0.002, "grade worse"))
    [line] = found.claims
    assert line.text == "team: b and team: a grade worse"
    assert line.anchor == "wra-evidence"
    assert line.detail == "p = .030 or less after correction"


@pytest.mark.parametrize(("n", "more"), [(1, 0), (5, 0), (6, 1), (9, 4)])
def test_at_most_five_claims_and_the_others_are_counted(n: int, more: int) -> None:
    found = answer(*(claim("mpa", "a", short=f"do {at}") for at in range(n)))
    assert (len(found.claims), found.n_more) == (min(n, 5), more)


def test_claims_without_short_words_stay_in_their_sections() -> None:
    found = answer(Finding(Statement("Something long.", 4.0, claim=True, p=0.01), "there"))
    assert found.claims == []
    assert found.n_more == 0


# The heading
@pytest.mark.parametrize(
    ("n", "heading"), [(0, NOTHING), (1, "Of 6 groups one differs"), (2, "Of 6 groups two differ")]
)
def test_the_heading_counts_groups_that_differ(n: int, heading: str) -> None:
    assert answer(*(claim("mpa", name) for name in "ab"[:n])).heading == heading


def test_groups_are_counted_once_and_claims_about_items_or_models_not_at_all() -> None:
    made = [claim("mpa", "a"), claim("wra", "a"), claim("items", "b"), claim("dsi", "c")]
    models = Finding(claim("closest_gap", "d").said, "alignment-closest", of_groups=False)
    assert answer(*made, models).heading == "Of 6 groups one differs"
    assert answer(*made[2:], models).heading == NOTHING


def test_a_group_that_differs_is_one_of_those_counted() -> None:
    """Parts of an axis that the overview does not list, such as overlapping ones, count as well."""
    assert answer(claim("mpa", "z")).heading == "Of 7 groups one differs"
    assert answer(claim("mpa", "a"), groups=set()).heading == "Of 1 group one differs"


def test_without_groups_nothing_is_said_of_them() -> None:
    found = answer(groups=set())
    assert found.heading == "What the ratings say"
    assert found.uncertain == []
    assert found.nothing == ""


# What is not certain
def test_where_nothing_stands_that_proves_nothing() -> None:
    [line] = answer().uncertain
    assert line.text == ALIKE
    [line] = answer(claim("mpa", "a")).uncertain
    assert line.text == f"Nothing is certain about the other 5 groups. {ALIKE}"
    assert answer(*(claim("mpa", name) for name in "abcdef")).uncertain == []


def test_an_entangled_axis_is_not_certain() -> None:
    settings = {"design": {"axes": {"site": {"entangled": True, "exposure": 0.0005, "workload": 0.5}}}}
    [said] = entangled_statements(settings, ["site"])
    found = answer(Finding(said, "there"))
    assert found.claims == []
    assert found.heading == NOTHING
    assert [one.text for one in found.uncertain] == [
        ALIKE, "site is entangled with who rated what, so no difference by it is claimed."
    ]  # fmt: skip


def test_what_is_open_is_said_once_the_heaviest_first_and_of_groups_before_models() -> None:
    open_ = [
        Finding(Statement("Of models.", 2.9, standing="open"), "a", of_groups=False),
        Finding(Statement("Lighter.", 2.0, standing="open"), "b"),
        Finding(Statement("Heavier.", 2.4, standing="open"), "c"),
        Finding(Statement("Heavier.", 2.4, standing="open"), "d"),
        Finding(Statement("A weak signal.", 2.5, standing="weak"), "e"),
    ]
    assert [one.text for one in answer(*open_).uncertain] == [ALIKE, "Heavier.", "Lighter."]
    assert [one.text for one in answer(*open_, groups=set()).uncertain] == ["Heavier.", "Lighter.", "Of models."]


# What to do, and key figures
def act(kind: str, rank: int, text: str = "") -> Action:
    return Action(kind, text or f"{kind} {rank}", "there", rank)


def test_one_action_of_each_kind_comes_before_others() -> None:
    made = [act(CHECK, 0), act(CHECK, 1), act(CHECK, 2), act(CAUTION, 9), act(COLLECT, 5), act(COLLECT, 4)]
    assert [one.text for one in answer(actions=made).actions] == ["Collect 4", "Check 0", "Do not conclude 9"]


def test_where_a_kind_is_missing_there_is_room_for_another() -> None:
    made = [act(CHECK, 3), act(CAUTION, 2), act(CHECK, 1), act(CHECK, 0)]
    assert [one.text for one in answer(actions=made).actions] == ["Check 0", "Check 1", "Do not conclude 2"]
    assert [one.text for one in answer(actions=made[:1]).actions] == ["Check 3"]
    assert answer().actions == []


def test_actions_of_the_same_words_are_two_if_they_are_two() -> None:
    twins = [act(CHECK, 0, "same"), act(CHECK, 0, "same")]
    assert len(answer(actions=twins).actions) == 2


def test_five_tiles_and_the_first_chart_and_sentence_of_any_section() -> None:
    tiles = [Tile(str(at), "name", "beside", "there") for at in range(4)]
    figure: Any = Figure("f", "t", None, None, "a", "c", None)  # type: ignore[arg-type]
    sections = [
        Section("a", "A", "What was rated.", tiles=tiles),
        Section("b", "B", "", tiles=tiles, sentence="They agree.", lead_figure=figure),
        Section("c", "C", "", sentence="They do not."),
    ]
    found = answer_of(sections, [], set())
    assert [one.value for one in found.tiles] == ["0", "1", "2", "3", "0"]
    assert (found.subject, found.agreement) == ("What was rated.", "They agree.")
    assert found.figure is not None
    assert (found.figure.id, found.figure.title) == ("f", "t")


def test_the_lead_chart_says_what_stands_of_it_on_all_items() -> None:
    figure: Any = Figure("f", "Nobody is certain to", None, None, "a", "c", None)  # type: ignore[arg-type]
    for made, title in (
        ([claim("mpa", "a")], "Nobody is certain to"),
        ([claim("leniency", "a", subset="bias")], "Nobody is certain to"),
        ([claim("leniency", "a", amount="by 2")], "team: a differ in leniency, by 2"),
        ([claim("leniency", "a", amount="by 2"), claim("leniency", "b")], "team: a and team: b differ in leniency"),
    ):
        found = answer(*made, lead_figure=figure)
        assert found.figure is not None
        assert found.figure.title == title


def test_an_action_that_rests_on_claims_is_said_where_one_of_them_stands() -> None:
    stands, falls = claim("mpa", "a"), claim("mpa", "b")
    actions = [
        Action(CHECK, "both", "there", 0, (stands.said, falls.said)), Action(CHECK, "lost", "there", 0, (falls.said,)),
        Action(CHECK, "always", "there", 1),
    ]  # fmt: skip
    found = answer_of([shown(stands, falls, actions=actions)], [stands], GROUPS)
    assert [one.text for one in found.actions] == ["both", "always"]


def test_where_nothing_stands_it_says_so_and_what_stands_within_one_analysis() -> None:
    assert answer(claim("mpa", "a")).nothing == ""
    assert answer().nothing == "Nothing that was tested remains significant after correction over all analyses."
    alone = answer_of([shown(claim("mpa", "a"))], [], GROUPS)
    assert alone.nothing.endswith("Some of it is significant within one analysis alone, as its section says.")
    assert alone.claims == []


def test_without_groups_facts_are_what_the_ratings_say() -> None:
    assert lines(answer(fact("All raters agree."), groups=set())) == ["All raters agree"]
    assert answer(fact("All raters agree.")).claims == []


def test_what_is_claimed_at_the_top_is_what_stands_over_all_lenses() -> None:
    """A claim of one lens that does not stand after Holm over the lenses is not on the first screen."""
    weak = shown(claim("mpa", "a", 0.04))
    strong = Section("other", "Another", "", findings=[claim("leniency", "b", 0.001)])
    silent = Section("third", "A third", "", findings=[Finding(Statement("Nothing.", 2.0, p=0.9), "third")])
    sections = [weak, strong, silent]
    assert lines(answer_of(sections, build.top_findings(sections), GROUPS)) == ["team: b differ in leniency"]


# What a section says
def weak(text: str) -> Finding:
    return Finding(Statement(text, 1.5, standing="weak"), "there")


def fact(text: str) -> Finding:
    return Finding(Statement(text, 2.2), "there", fact=True)


def open_finding(text: str) -> Finding:
    return Finding(Statement(text, 2.4, standing="open"), "there")


def test_a_section_says_claims_first_then_facts_then_what_is_open() -> None:
    said = said_of(shown(open_finding("Open."), fact("All agree."), weak("Weak."), claim("mpa", "a")))
    assert said.first == [
        Sentence("team: a differ in mpa in full.", True), Sentence("All agree.", False), Sentence("Open.", False)
    ]  # fmt: skip
    assert said.weak == ["Weak."]
    assert said.every == []  # nothing is left unsaid


def test_claims_of_one_pattern_are_merged_and_kept_in_full_in_the_appendix() -> None:
    two = [claim("mpa", "a", 0.01, "grade worse"), claim("mpa", "b", 0.02, "grade worse")]
    said = said_of(shown(*two))
    assert said.first == [Sentence("team: a and team: b grade worse (p = .020 or less after correction).", True)]
    assert said.every == [Sentence(one.text, True) for one in two]


def test_a_claim_without_short_words_is_said_in_full() -> None:
    long = Finding(Statement("Age divides the raters.", 3.2, claim=True, p=0.01), "there")
    said = said_of(shown(long, claim("mpa", "a")))
    assert [one.text for one in said.first] == ["team: a differ in mpa in full.", "Age divides the raters."]


def test_what_is_beyond_the_first_sentences_is_in_the_appendix() -> None:
    many = [claim("mpa", "a", short=f"do {at}") for at in range(FIRST + 2)]
    said = said_of(shown(*many))
    assert len(said.first) == FIRST
    assert [one.text for one in said.every] == [one.text for one in many]


def test_nothing_found_is_nothing_said() -> None:
    assert said_of(shown()) == ([], [], [])


def test_contents_count_charts_and_tables() -> None:
    table: Any = DataTable("t", "t", None)  # type: ignore[arg-type]
    figure: Any = Figure("f", "t", None, None, "a", "c", None)  # type: ignore[arg-type]
    switch = Switch("s", "by", [("one", figure), ("two", figure)])
    assert contents([figure, switch, table]) == "3 charts and 1 table"
    assert contents([table, table]) == "2 tables"
