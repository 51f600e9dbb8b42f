"""A sample of answers for a person to check, and what that tells about all of them."""

from __future__ import annotations

import math
import re
from collections import Counter
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plurivox import ask
from plurivox.ask.auditing import chances, shares
from plurivox.ask.question import Reply
from plurivox.base.errors import ColumnError, DuplicateError, IdError, InputError
from stored_answers import LABELS, TEXTS, a_request, change, fill, names, rows, synthetic
from support import ran, refused, run_cli


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "answers.db"


# Drawing a sample ----------------------------------------------------------------------------------------------------
PARTS = [
    ("answered", "letter", "m", 900), ("answered", "letter", "n", 300), ("answered", "words", "m", 100),
    ("answered", "words", "n", 25), ("answered", "odd", "m", 4), ("refused", "refusal", "m", 150),
    ("refused", "refusal", "n", 50), ("unreadable", "nothing", "m", 9), ("unreadable", "two", "m", 3),
]  # fmt: skip
WRONG = {"letter": 0.02, "words": 0.2, "odd": 0.5, "refusal": 0.1, "nothing": 1 / 3, "two": 2 / 3}


@pytest.mark.parametrize(
    ("sizes", "n", "expected"),
    [
        ((900, 800, 700), 51, (17, 17, 17)), ((900, 800, 700), 50, (17, 17, 16)), ((700, 900, 800), 52, (17, 18, 17)),
        ((900, 4, 80), 51, (24, 4, 23)), ((900, 4, 20), 60, (36, 4, 20)), ((3, 2, 1), 100, (3, 2, 1)),
        ((5, 9, 7), 1, (0, 1, 0)), ((5, 9, 7), 2, (0, 1, 1)), ((5, 5, 5), 4, (1, 1, 2)),
    ],
)  # fmt: skip
def test_states_share_the_sample_equally_as_far_as_they_go(
    sizes: tuple[int, ...], n: int, expected: tuple[int, ...]
) -> None:
    names = ("answered", "refused", "unreadable")
    assert shares(dict(zip(names, sizes, strict=True)), n) == dict(zip(names, expected, strict=True))


@given(st.lists(st.integers(1, 5_000), min_size=1, max_size=8), st.floats(0, 1))
def test_chances_add_up_and_go_with_the_root(sizes: list[int], part: float) -> None:
    strata = {(f"rule {at}", "m"): size for at, size in enumerate(sizes)}
    n = round(part * sum(sizes))
    found = chances(strata, n)
    assert sum(found[stratum] * size for stratum, size in strata.items()) == pytest.approx(n)
    assert all(0 <= chance <= 1 for chance in found.values())
    scaled = {stratum: chance * math.sqrt(strata[stratum]) for stratum, chance in found.items()}
    free = [scaled[stratum] for stratum, chance in found.items() if chance < 1]
    assert free == pytest.approx(free[:1] * len(free))
    # Who is certain would have had a chance of at least 1 at the rate of those who are not.
    certain = [scaled[stratum] for stratum, chance in found.items() if chance == 1]
    assert not free or all(free[0] >= one * (1 - 1e-9) for one in certain)


def test_the_same_seed_draws_the_same_sample_whatever_the_order_of_rows(tmp_path: Path) -> None:
    synthetic(tmp_path / "a.db", PARTS)
    synthetic(tmp_path / "b.db", PARTS[::-1], backwards=True)
    first = ask.draw_audit(tmp_path / "a.db", 60, 7)
    assert first.equals(ask.draw_audit(tmp_path / "b.db", 60, seed=7))
    others = [set(ask.draw_audit(tmp_path / "a.db", 60, seed)["id"]) for seed in range(8, 12)]
    assert all(other != set(first["id"]) for other in others)
    assert first["state"].to_list() != first["state"].sort().to_list()  # the order of the table tells nothing


def test_the_sample_is_split_and_weighted(path: Path) -> None:
    synthetic(path, PARTS)
    frame = ask.draw_audit(path, 60)
    assert dict(frame["state"].value_counts().iter_rows()) == {"answered": 24, "refused": 24, "unreadable": 12}
    assert frame["id"].n_unique() == 60
    assert frame.filter(pl.col("state") == "unreadable")["weight"].to_list() == [1.0] * 12  # all there are
    # Roots of 900, 300, 100, 25 and 4; nothing is certain, as 24/(64.3 · 2) < 1 for those of the last.
    total = 30 + math.sqrt(300) + 10 + 5 + 2
    for state, rule, model, size in PARTS[:5]:
        part = frame.filter(state=state, rule=rule, model=model)
        assert part["weight"].to_list() == pytest.approx([math.sqrt(size) * total / 24] * part.height)
        assert abs(part.height - 24 * math.sqrt(size) / total) < 1  # what it is due, rounded up or down


def test_more_than_there_are_are_all(path: Path) -> None:
    fill(path, TEXTS)
    with ask.Store.open(path) as store:
        store.put(a_request(10), None, state="failed", error="timed out")
    frame = ask.draw_audit(path, 100)
    assert frame.height == len(TEXTS)
    assert frame["weight"].to_list() == [1.0] * len(TEXTS)
    with pytest.raises(InputError, match="sample is 0"):
        ask.draw_audit(path, 0)
    change(path, "DELETE FROM answers WHERE state <> 'failed'")
    with pytest.raises(InputError, match="no answers to check"):
        ask.draw_audit(path, 5)


@pytest.mark.slow
def test_chances_are_what_weights_say(path: Path) -> None:
    parts = [("answered", "letter", "m", 36), ("answered", "words", "m", 9), ("answered", "odd", "m", 1)]
    synthetic(path, [*parts, ("refused", "refusal", "m", 14)])
    drawn: Counter[str] = Counter()
    chance: dict[str, float] = {}
    runs = 400
    for seed in range(runs):
        frame = ask.draw_audit(path, 14, seed)
        drawn.update(frame["id"])
        chance |= {key: 1 / weight for key, weight in frame.select("id", "weight").iter_rows()}
    assert len(drawn) == 60
    assert sum(chance.values()) == pytest.approx(14)
    for one, p in chance.items():
        error = math.sqrt(runs * p * (1 - p)) or 1e-9
        assert abs(drawn[one] - runs * p) < 4.5 * error  # 60 answers: one in 2,000 sets of seeds would fail


def test_the_table_to_check(path: Path) -> None:
    texts = ["B", "C) \t", "I cannot answer that.", "qqq zzz"]
    requests = fill(path, texts, shuffle=True)
    with ask.Store.open(path) as store:
        store.put(a_request(10), Reply("", refusal="I won't."), state="refused", rule="server refused")
    held = {row[0]: row for row in rows(path)}
    frame = ask.draw_audit(path, 10)
    assert frame.columns == [
        "id", "model", "prompt", "item", "options", "text", "state", "answer", "rule", "seen", "weight", "correct",
        "should_be",
    ]  # fmt: skip
    assert frame["correct"].null_count() == frame["should_be"].null_count() == 5
    for request, text in zip(requests, texts, strict=True):
        (row,) = frame.filter(pl.col("id") == request.key[:16]).rows(named=True)
        kept = held[request.key]
        assert row["options"] == " | ".join(
            f"{letter}) {LABELS[place]}" for letter, place in zip("ABC", request.order, strict=True)
        )
        assert (row["model"], row["prompt"], row["item"], row["text"]) == ("m", "plain", request.item, text)
        assert (row["state"], row["rule"]) == (kept[10], kept[14])
        assert row["answer"] == (None if kept[13] is None else LABELS[kept[13]])
        assert row["seen"] == (None if kept[15] is None else text[kept[15] : kept[16]])
    assert frame.filter(pl.col("id") == requests[0].key[:16])["seen"].to_list() == ["B"]
    assert frame.filter(pl.col("rule") == "server refused")["text"].to_list() == ["I won't."]


def test_a_table_is_written_once(path: Path, tmp_path: Path) -> None:
    fill(path, TEXTS)
    table, asked = tmp_path / "check.csv", ("answers", path, "--audit")
    done = ran(*asked, "4", "-o", table, "--seed", "3")
    assert done.out == f"{table}\n"
    assert "4 answers drawn: 2 answered, 1 refused, 1 unreadable" in done.err
    assert "yes or no in the column correct" in done.err
    content = table.read_bytes()
    assert pl.read_csv(content, infer_schema=False)["id"].to_list() == ask.draw_audit(path, 4, 3)["id"].to_list()
    told = refused(*asked, "4", "-o", table)
    assert f"{table}: it exists and may hold somebody's work. Name another file" in told
    assert (table.read_bytes(), names(tmp_path)) == (content, ["answers.db", "check.csv"])
    assert "these are all there are" in ran(*asked, "40", "-o", tmp_path / "b.csv").err
    refused(*asked, "4", code=2)
    assert "must end in .csv" in refused(*asked, "4", "-o", path, code=None)
    assert "cannot be written" in refused(*asked, "4", "-o", tmp_path / "no" / "a.csv", code=None)


def test_the_table_is_safe_for_spreadsheets_and_terminals(path: Path, tmp_path: Path) -> None:
    fill(path, ["=HYPERLINK(1)", "\x1b]0;x\x07\0", 'two\r\nlines;\u00a0"quoted", \u3000'])
    ids = ["123456789012345e", "1234567e12345678", "1234567890123456"]
    for item, start in enumerate(ids):
        change(path, f"UPDATE answers SET key = '{start}' || substr(key, 17) WHERE item = '{item}'")
    table = tmp_path / "check.csv"
    run_cli("answers", path, "--audit", "3", "-o", table)
    frame = pl.read_csv(table, infer_schema=False).sort("item")
    assert frame["text"].to_list() == [
        "'=HYPERLINK(1)", "\ufffd]0;x\ufffd\ufffd", 'two\nlines;\u00a0"quoted", \u3000',
    ]  # fmt: skip
    assert frame["id"].to_list() == [ids[0], f"'{ids[1]}", f"'{ids[2]}"]
    assert frame["weight"].to_list() == ["1"] * 3
    frame.with_columns(correct=pl.lit("yes")).write_csv(table)
    assert run_cli("answers", path, "--audited", table, "--json").json()["n_checked"] == 3


# What a person found -------------------------------------------------------------------------------------------------
def checked(*rows_: tuple[str, str, float, str | None]) -> pl.DataFrame:
    """A table of state, rule, weight and verdict."""
    return pl.DataFrame(
        [(f"{at:016x}", state, None, rule, weight, verdict) for at, (state, rule, weight, verdict) in enumerate(rows_)],
        schema=["id", "state", "answer", "rule", "weight", "correct"], orient="row",
    )  # fmt: skip


def test_accuracy_against_a_count_by_hand() -> None:
    found = ask.accuracy(
        checked(
            ("answered", "letter", 2, "yes"), ("answered", "letter", 2, "no"), ("answered", "words", 4, "yes"),
            ("refused", "refusal", 1, "no"), ("refused", "refusal", 1, None), ("unreadable", "two", 3, " "),
        )
    )  # fmt: skip
    assert found.n_unchecked == 2
    by_name = {(row.of, row.name): row for row in found.rows}
    assert list(by_name) == [
        ("all", "all"), ("state", "answered"), ("state", "refused"), ("rule", "letter"), ("rule", "refusal"),
        ("rule", "words"),
    ]  # fmt: skip
    overall, answered = by_name["all", "all"], by_name["state", "answered"]
    assert overall == found.overall
    assert (overall.n, overall.correct) == (4, 2)
    assert overall.accuracy == pytest.approx(6 / 9)
    assert overall.n_effective == pytest.approx(81 / 25)  # (2 + 2 + 4 + 1)² / (4 + 4 + 16 + 1)
    assert (answered.n, answered.correct) == (3, 2)
    assert answered.accuracy == pytest.approx(6 / 8)
    assert answered.n_effective == pytest.approx(64 / 24)
    assert by_name["rule", "letter"] == ask.Share("rule", "letter", 2, 1, 0.5)
    assert (by_name["state", "refused"].accuracy, by_name["state", "refused"].ci_low) == (0, 0)
    for row in (overall, answered):  # Wilson's bounds are where the estimate is 1.96 standard errors away
        for bound in (row.ci_low, row.ci_high):
            assert bound is not None
            assert row.n_effective is not None
            error = math.sqrt(bound * (1 - bound) / row.n_effective)
            assert abs(row.accuracy - bound) / error == pytest.approx(1.96, abs=1e-3)
    frame = found.to_frame()
    assert frame.columns == ["of", "name", "n", "correct", "accuracy", "ci_low", "ci_high", "n_effective"]
    assert frame["n"].to_list() == [4, 3, 1, 2, 1, 1]


def verdicts(path: Path) -> dict[str, bool]:
    """Say of each answer whether it is right, so that the known share of each rule is wrong."""
    rules: dict[str, list[str]] = {}
    for key, rule in rows(path, "key, rule"):
        rules.setdefault(rule, []).append(key)
    return {
        key[:16]: at >= round(WRONG[rule] * len(keys))
        for rule, keys in rules.items()
        for at, key in enumerate(sorted(keys))
    }


@pytest.mark.slow
def test_the_estimate_is_unbiased_and_its_interval_covers(path: Path) -> None:
    """300 audits of a store whose truth is known."""
    synthetic(path, PARTS)
    right = verdicts(path)
    states = dict(rows(path, "substr(key, 1, 16), state"))
    truth = {
        name: float(np.mean([right[one] for one in right if name in ("all", states[one])]))
        for name in ("all", "answered", "refused", "unreadable")
    }
    estimates: dict[str, list[float]] = {name: [] for name in truth}
    covered, plain = Counter[str](), []
    for seed in range(300):
        frame = ask.draw_audit(path, 60, seed).with_columns(
            correct=pl.col("id").replace_strict(right, return_dtype=pl.Boolean)
        )
        plain.append(float(frame["correct"].cast(pl.Float64).mean()))  # type: ignore[arg-type]
        for row in ask.accuracy(frame).rows:
            if row.of != "rule":
                assert row.ci_low is not None
                assert row.ci_high is not None
                estimates[row.name].append(row.accuracy)
                covered[row.name] += row.ci_low <= truth[row.name] <= row.ci_high
    for name, found in estimates.items():
        error = np.std(found, ddof=1) / math.sqrt(len(found))
        assert abs(np.mean(found) - truth[name]) < 4 * error + 1e-12, name
        assert covered[name] >= 0.9 * 300, name
    error = np.std(plain, ddof=1) / math.sqrt(300)
    assert abs(np.mean(plain) - truth["all"]) > 20 * error  # without weights it would be wrong


@pytest.fixture
def drawn(path: Path, tmp_path: Path) -> Path:
    """A table of 4 answers: 2 answered, 1 refused, 1 unreadable, all correct but the last."""
    fill(path, ["B", "C", "I cannot answer that.", "qqq zzz"])
    table = tmp_path / "check.csv"
    ran("answers", path, "--audit", "4", "-o", table)
    frame = pl.read_csv(table, infer_schema=False)
    right = pl.when(pl.col("state") == "unreadable").then(pl.lit("no")).otherwise(pl.lit("yes"))
    frame.with_columns(correct=right).write_csv(table)
    return table


def edit(table: Path, old: str, new: str, count: int = -1) -> None:
    text = table.read_text(encoding="utf-8")
    assert old in text
    table.write_text(text.replace(old, new, count), encoding="utf-8")


def test_words_and_frames_of_several_kinds() -> None:
    frame = checked(*[("answered", "letter", 1.0, word) for word in ("YES", " no ", "Y", "n", "True", "FALSE")])
    truth = frame.with_columns(correct=pl.Series([True, True, None, False, False, False])).to_pandas()
    for given_, expected in ((frame, (6, 3, 0)), (truth, (5, 2, 1))):
        found = ask.accuracy(given_)
        assert (found.overall.n, found.overall.correct, found.n_unchecked) == expected


def test_the_checked_table_is_told(path: Path, drawn: Path) -> None:
    done = run_cli("answers", path, "--audited", drawn)
    assert done.code == 0
    assert re.search(r"answered +2 +2 +100\.0% +\[34\.2%, 100\.0%\]", done.out)
    assert re.search(r"unreadable +1 +0 +0\.0% +\[0\.0%, 79\.3%\]", done.out)
    assert re.search(r"all +4 +3 +75\.0% +\[30\.1%, 95\.4%\]", done.out)  # Wilson's interval of 3 in 4
    rule = rows(path, "rule", "WHERE item = '3'")[0][0]
    assert re.search(rf"{rule} +1 +0 +0\.0% *\n", done.out)
    assert "not checked" not in done.out
    told = run_cli("answers", path, "--audited", drawn, "--json").json()
    assert (told["n_checked"], told["n_unchecked"], told["n_changed"]) == (4, 0, 0)
    assert told["all"]["accuracy"] == 0.75
    assert [row["name"] for row in told["states"]] == ["answered", "refused", "unreadable"]
    assert sum(row["n"] for row in told["rules"]) == 4
    frame = run_cli("answers", path, "--audited", drawn, "--csv").frame()
    assert frame.filter(pl.col("of") == "all")["correct"].to_list() == [3]
    assert "| all | 4 | 3 | 75.0% |" in run_cli("answers", path, "--audited", drawn, "--markdown").out


def as_saved(table: Path, kind: str) -> bytes:
    """Write the table as some spreadsheet does."""
    frame = pl.read_csv(table, infer_schema=False).with_columns(text=pl.lit("für 5 –"))
    if kind == "case":
        frame = frame.rename(lambda name: f" {name.upper()}").with_columns(pl.col(" CORRECT").str.to_uppercase())
    if kind == "columns":
        frame = frame.select("correct", "weight", "rule", "answer", "state", "id").with_columns(mine=pl.lit("x"))
    if kind == "comma":
        frame = frame.with_columns(weight=pl.lit("1,0"))
    text = frame.write_csv(separator="," if kind in ("columns", "comma") else ";", line_terminator="\r\n")
    if kind == "blank":
        text += ";" * (frame.width - 1) + "\r\n\r\n"
    return {"bom": b"\xef\xbb\xbf"}.get(kind, b"") + text.encode(
        {"windows": "cp1252", "unicode": "utf-16"}.get(kind, "utf-8")
    )


@pytest.mark.parametrize("kind", ["plain", "bom", "windows", "unicode", "case", "columns", "comma", "blank"])
def test_tables_as_spreadsheets_save_them(path: Path, drawn: Path, kind: str) -> None:
    drawn.write_bytes(as_saved(drawn, kind))
    told = run_cli("answers", path, "--audited", drawn, "--json").json()
    assert (told["n_checked"], told["all"]["accuracy"], told["n_changed"]) == (4, 0.75, 0)


def test_rows_that_are_not_checked_are_said(path: Path, drawn: Path, tmp_path: Path) -> None:
    asked = ("answers", path, "--audited")
    edit(drawn, ",no,", ",,")
    out = ran(*asked, drawn).out
    assert "1 row not checked yet" in out
    assert re.search(r"all +3 +3 ", out)
    assert not re.search(r"unreadable +\d", out)
    fill(tmp_path / "other.db", ["A"])
    told = refused("answers", tmp_path / "other.db", "--audited", drawn)
    assert "Give the store it was drawn from" in told
    edit(drawn, ",yes,", ", ,")
    assert "column 'correct': no row is checked yet. Enter yes or no" in refused(*asked, drawn)
    drawn.write_text(drawn.read_text().splitlines()[0] + "\n")
    assert "there are no rows" in refused(*asked, drawn)
    refused(*asked, tmp_path / "no.csv")


def test_readings_that_changed_since_are_said_and_judged_by_the_table(path: Path, drawn: Path) -> None:
    for at, what in enumerate(("rule = 'new rule'", "point = 0", "state = 'x'")):
        change(path, f"UPDATE answers SET {what} WHERE item = '{at}'")
    done = run_cli("answers", path, "--audited", drawn)
    assert "3 answers read differently since the table was drawn; judged as in the table" in done.words
    assert re.search(r"answered +2 +2 ", done.out)
    assert "new rule" not in done.out


@pytest.mark.parametrize(
    ("old", "new", "error", "told"),
    [
        (",no,", ",maybe,", InputError, "column 'correct', row {no}: 'maybe' is neither yes nor no. Write yes or no"),
        (",correct,", ",right,", ColumnError, "there is no column 'correct'; it has id, model"),
        (",weight,", ",Correct,", ColumnError, "two columns are named 'correct'"),
        (",1,no,", ",-1,no,", InputError, "column 'weight', row {no}: '-1' is not a positive number"),
        (",1,no,", ",0,no,", InputError, "column 'weight', row {no}: '0' is not"),
        (",1,no,", ",,no,", InputError, "column 'weight', row {no}: '' is not"),
        (",1,no,", ",nan,no,", InputError, "column 'weight', row {no}: 'nan' is not"),
        (",1,no,", ",inf,no,", InputError, "column 'weight', row {no}: 'inf' is not"),
        (",1,no,", ",one,no,", InputError, "column 'weight', row {no}: 'one' is not"),
        (",unreadable,", ",odd,", InputError, "column 'state', row {no}: 'odd' is not one of answered, refused"),
        ("{id}", "ffffffffffffffff", IdError, "column 'id', row {no}: 'ffffffffffffffff' is not an answer in"),
        ("{id}", "1.23E+15", IdError, "column 'id', row {no}: '1.23e+15' is not an answer in"),
        ("{id}", "", IdError, "column 'id', row {no}: the id is missing"),
        ("{id}", "{other}", DuplicateError, "column 'id', rows {both}: '{other}' has more than one row"),
    ],
)  # fmt: skip
def test_tables_that_cannot_be_used(
    path: Path, drawn: Path, old: str, new: str, error: type[Exception], told: str
) -> None:
    frame = pl.read_csv(drawn, infer_schema=False).with_row_index("row", 2)
    (bad,) = frame.filter(pl.col("state") == "unreadable").rows(named=True)
    other = frame.filter(pl.col("state") == "refused").rows(named=True)[0]
    both = ", ".join(str(row) for row in sorted((bad["row"], other["row"])))
    names = {"no": bad["row"], "id": bad["id"], "other": other["id"], "both": both}
    edit(drawn, old.format(**names), new.format(**names), 1)
    done = run_cli("answers", path, "--audited", drawn)
    assert done.code == 1
    assert f"error: {drawn}" in done.err
    assert told.format(**names) in done.err
    assert len(done.err.strip().splitlines()) == 1
    if error is not IdError:
        with pytest.raises(error):
            ask.accuracy(pl.read_csv(drawn, infer_schema=False))
