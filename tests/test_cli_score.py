"""``plurivox score``, ``plurivox items`` and reports with predictions, run as the program on files it made."""

from __future__ import annotations

import json
import re
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
import pytest

import plurivox as pv
from plurivox.base.errors import SoftScoresWarning
from plurivox.lenses.soft import LENS
from support import Write, only_sections, ran, refused
from support import run_cli as run

QUICK = ("--bootstrap", 20, "--permutations", 299)
FAST = ("--bootstrap", 0, "--permutations", 0, "--fast")
MODELS = ("careful", "confident", "vague")
REFERENCES = ("uniform", "marginal", "posterior mean")
ODD = "=cmd()", "[red]x[/red]", "a|b", ":smile:"


class Study(NamedTuple):
    """Files of a simulated study, and what is read from them."""

    folder: Path
    ratings: pv.Ratings
    predictions: pv.Predictions

    @property
    def files(self) -> tuple[Path, Path]:
        return self.folder / "ratings.csv", self.folder / "predictions.csv"


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    folder = tmp_path_factory.mktemp("study")
    made = ("--items", 30, "--raters", 24, "--ratings-per-item", "2:20", "--seed", 3)
    assert run("simulate", folder, *made).code == 0
    ratings = pv.read_ratings(
        folder / "ratings.csv", scale="0:4", raters=folder / "raters.csv", items=folder / "items.csv"
    )
    return Study(folder, ratings, pv.read_predictions(folder / "predictions.csv", "0:4"))


@pytest.fixture(scope="module")
def totals(study: Study) -> Path:
    """The same ratings as counts of each point."""
    counts = pl.DataFrame(study.ratings.counts(), schema=list("01234"))
    path = study.folder / "elsewhere" / "totals.csv"
    path.parent.mkdir()
    counts.insert_column(0, study.ratings.items["item"]).write_csv(path)
    return path


@pytest.fixture(scope="module")
def hostile(study: Study, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Ratings and predictions with formulas and markup in names of items and models."""
    folder = tmp_path_factory.mktemp("hostile")
    items = dict(zip(study.ratings.items["item"], ODD, strict=False))
    models = dict(zip(MODELS, ("=1+1", "[bold]m[/]", "<script>alert(1)</script>"), strict=True))
    for path in study.files:
        frame = pl.read_csv(path).with_columns(pl.col("item").replace(items))
        if "model" in frame.columns:
            frame = frame.with_columns(pl.col("model").replace(models))
        frame.write_csv(folder / path.name)
    return folder / "ratings.csv", folder / "predictions.csv"


def soft(study: Study, **options: Any) -> pv.SoftScores:
    """Score in Python what the program scores."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SoftScoresWarning)
        return pv.soft_scores(
            study.ratings, study.predictions, **{"bootstrap": 0, "permutations": 0, "curve": False, **options}
        )


@pytest.fixture(scope="module")
def whole(study: Study) -> pv.SoftScores:
    """The result of all metrics, and with the curve over priors."""
    return soft(study, curve=True)


# Scores --------------------------------------------------------------------------------------------------------------


def test_a_plain_run_says_what_it_took_for_what_and_warns_on_standard_error(study: Study) -> None:
    done = run("score", *study.files, *QUICK)
    told, predicted, *lines = filter(None, done.err.splitlines())
    assert told.startswith(f"{study.folder}/ratings.csv: long table, item = item, rater = rater, score = score")
    assert predicted == f"{study.folder}/predictions.csv: predictions of careful, confident, vague"
    assert all(line.startswith("warning: ") for line in lines)
    for told in ("confident loses to the uniform prediction", "The prior outweighs the ratings of items"):
        assert any(told in line for line in lines)
    assert "warning: " not in done.out


def test_json_is_the_python_result(study: Study) -> None:
    found = run("score", *study.files, *QUICK, "--json", "--by", "gender").json()
    with pytest.warns(SoftScoresWarning):
        again = pv.soft_scores(study.ratings, study.predictions, by="gender", bootstrap=20, permutations=299)
    assert found == json.loads(again.to_json(draws=False))
    assert {table["name"].replace(" ", "_") for table in found["tables"]} == set(LENS.csv_tables) - {"values"}


def test_csv_values_are_the_python_ones(study: Study, whole: pv.SoftScores) -> None:
    frame = run("score", *study.files, *FAST, "--csv").frame().filter(axis="all", bin="all")
    for model, statistic, value in frame.select("model", "statistic", "value").iter_rows():
        assert value == pytest.approx(whole.value(model, statistic), rel=1e-12)
    assert set(frame["model"]) == {*MODELS, *REFERENCES}
    assert frame.filter(reference=True)["rank"].null_count() == frame.filter(reference=True).height


def test_several_files_are_scored_together(study: Study, tmp_path: Path) -> None:
    ratings, predictions = study.files
    frame = pl.read_csv(predictions)
    for name in MODELS:
        frame.filter(model=name).drop("model").write_csv(tmp_path / f"{name}.csv")
    files = [tmp_path / f"{name}.csv" for name in MODELS]
    together = run("score", ratings, *files, *FAST, "--json")
    assert "predictions of careful, confident, vague" in together.words
    assert together.json() == run("score", ratings, predictions, *FAST, "--json").json()
    twice = run("score", ratings, predictions, files[1], *FAST)
    assert (twice.code, "the model 'confident' is in" in twice.words) == (1, True)


def test_bins_as_given(study: Study) -> None:
    frame = run("score", *study.files, *FAST, "--bins", "11+,2-3, 4-10", "--csv").frame()
    assert frame["bin"].unique(maintain_order=True).to_list() == ["all", "2-3", "4-10", "11+"]
    n = study.ratings.counts().sum(axis=1)
    sizes = dict(frame.filter(statistic="expected_emd", model="vague", axis="all").select("bin", "n_items").iter_rows())
    assert (sizes["2-3"], sizes["11+"]) == (((n >= 2) & (n <= 3)).sum(), (n >= 11).sum())
    few = run("score", *study.files, *FAST, "--bins", "2-3")
    assert "items are in none of the bins, but count towards all items." in few.words


def test_an_empty_bin_has_no_winner(study: Study) -> None:
    words = ran("score", *study.files, *FAST, "--bins", "2-20,100-200").words
    assert not [one for one in ("nan%", "with 100-200", "compare depends on") if one in words]


@pytest.mark.parametrize(("text", "prior"), [("0.5", 0.5), ("1,1,2,1,1", [1, 1, 2, 1, 1])])
def test_priors_as_given(study: Study, text: str, prior: Any) -> None:
    found = run("score", *study.files, *FAST, "--prior", text, "--json").json()
    assert found["settings"]["prior"] == ([0.5] * 5 if prior == 0.5 else prior)
    expected = soft(study, prior=prior)
    for row in found["rows"]:
        if row["axis"] == "all" and row["subset"] == "all":
            assert row["value"] == pytest.approx(expected.value(row["model"], row["statistic"]), rel=1e-12)


def test_the_prior_that_the_items_suggest(study: Study) -> None:
    found = run("score", *study.files, *FAST, "--prior", "empirical-bayes")
    assert "The prior (fitted to these same items, 30 of them with two ratings or more: " in found.words
    items = run("items", study.files[0], "--prior", "empirical-bayes", "--json").json()
    assert items["settings"]["prior"] == pytest.approx(pv.statistics.fit_prior(study.ratings.counts()).alpha)


@pytest.mark.parametrize("command", ["score", "items"])
@pytest.mark.parametrize(
    ("prior", "code", "problem"),
    [
        ("nonsense", 2, "--prior must be a number, comma-separated numbers for all points, auto or empirical-bayes"),
        ("1,,1", 2, "not '1,,1'"),
        ("0", 1, "prior is 0"),
        ("nan", 1, "prior is nan"),
        ("1,2,3", 1, "or 5 of them, one for each point"),
    ],
)
def test_priors_that_are_none(study: Study, command: str, prior: str, code: int, problem: str) -> None:
    files = study.files if command == "score" else study.files[:1]
    assert problem in refused(command, *files, "--prior", prior, code=code)


@pytest.mark.parametrize("sure_of", [0, 4])
def test_a_floor_makes_scores_finite_and_a_sure_prediction_is_never_too_vague(
    study: Study, write: Write, sure_of: int
) -> None:
    """All ratings lie at one end of a prediction that is certain of the other: it is wrong, not vague."""
    sure = study.predictions.items.to_frame().select(
        "item", *(pl.lit(float(c == sure_of)).alias(str(c)) for c in range(5))
    )
    files = study.files[0], write("sure.csv", sure.write_csv())
    plain, floored = run("score", *files, *FAST), run("score", *files, *FAST, "--floor", "1e-6")
    assert "∞" in plain.out
    assert "--floor (floor=) makes this finite" in plain.words
    assert "∞" not in floored.out
    if sure_of == 4:
        assert "predicts too high (mean PIT " in plain.words
        assert "too vague" not in plain.words
    refused("score", *files, *FAST, "--floor", "2")


def test_unnormalized_distances_are_in_steps(study: Study) -> None:
    frames = [
        run("score", *study.files, *FAST, "--csv", *more).frame().filter(axis="all").sort("model", "bin", "statistic")
        for more in ((), ("--unnormalized",))
    ]
    for metric, factor in (("emd", 4), ("expected_emd", 4), ("rps", 4), ("expected_rps", 4), ("cross_entropy", 1)):
        one, steps = (frame.filter(statistic=metric)["value"].to_numpy() for frame in frames)
        assert steps == pytest.approx(factor * one, rel=1e-9), metric


def test_training_ratings_make_the_marginal_prediction(study: Study, write: Write) -> None:
    train = write("train.csv", "item,rater,score\n" + "".join(f"t{i},a,4\nt{i},b,{i % 5}\n" for i in range(50)))
    found = run("score", *study.files, *FAST, "--train", train, "--prior", "empirical-bayes", "--json").json()
    assert found["settings"]["train"] is True
    assert "fitted to training items, 50 of them" in found["settings"]["prior_note"]
    without = run("score", *study.files, *FAST, "--json").json()
    marginal = [
        next(row["value"] for row in one["rows"] if (row["model"], row["statistic"]) == ("marginal", "emd"))
        for one in (found, without)
    ]
    assert marginal[0] > marginal[1]


def test_training_ratings_have_the_columns_of_the_ratings(study: Study, write: Write) -> None:
    frame = pl.read_csv(study.files[0]).rename({"item": "conv", "rater": "who", "score": "Q"})
    path = write("odd.csv", frame.write_csv())
    asked = ("score", path, study.files[1], "--item", "conv", "--rater", "who", "--score", "Q", "--scale", "0:4", *FAST)
    assert (run(*asked).code, run(*asked, "--train", path).code) == (0, 0)


def test_scores_against_groups(study: Study) -> None:
    frame = run("score", *study.files, *QUICK, "--fast", "--by", "gender", "--by", "age", "--csv").frame()
    assert set(frame["axis"]) == {"all", "gender", "age"}
    assert {"Man", "Woman"} <= set(frame["group"])


def test_a_group_that_rated_nothing_has_no_winner(study: Study, write: Write) -> None:
    """Raters of B rated only items that nobody predicts."""
    frame = pl.read_csv(study.files[0])
    items, raters = sorted(set(frame["item"])), sorted(set(frame["rater"]))
    parted = frame.with_columns(g=pl.when(pl.col("rater").is_in(raters[:12])).then(pl.lit("A")).otherwise(pl.lit("B")))
    kept = parted.filter((pl.col("g") == "A") == pl.col("item").is_in(items[:15]))
    predicted = pl.read_csv(study.files[1]).filter(pl.col("item").is_in(items[:15]))
    files = write("ratings.csv", kept.write_csv()), write("predictions.csv", predicted.write_csv())
    found = ran("score", *files, *FAST, "--scale", "0:4", "--rater-attributes", "g", "--by", "g")
    assert "2 groups are withheld: 1 has fewer than 5 raters, and 1 would reveal it." in found.words
    assert not re.search(r"\bfor B\b", found.words)


@pytest.fixture
def lacking(study: Study, write: Write) -> Path:
    """Predictions in which one model lacks the first item, and predicts one that nobody rated."""
    frame = pl.read_csv(study.files[1])
    kept = frame.filter((pl.col("item") != frame["item"][0]) | (pl.col("model") != "vague"))
    return write("less.csv", kept.write_csv() + "vague,zz,1,0,0,0,0\n")


def test_what_is_missing_is_counted_listed_and_refused_if_strict(study: Study, lacking: Path) -> None:
    files, first = (study.files[0], lacking), study.ratings.items["item"][0]
    found = run("score", *files, *FAST)
    for words in ("29 of 30 items are scored: those that every model predicts.",
                  "vague predicts 1 item without ratings", "vague does not predict 1 item with ratings"):  # fmt: skip
        assert words in found.words
    listed = run("score", *files, *FAST, "--csv", "--table", "missing").frame()
    assert listed.rows() == [("vague", first, "no prediction"), ("vague", "zz", "no rating")]
    told = f"error: {lacking}: 2 predictions or ratings are missing; the first is from vague: item "
    assert told in refused("score", *files, *FAST, "--strict")
    ran("score", *study.files, *FAST, "--strict")
    none = refused("score", *study.files, *FAST, "--min-ratings", 1000)
    assert "no predicted item has 1,000 ratings" in none


def test_totals(study: Study, whole: pv.SoftScores, totals: Path) -> None:
    found = run("score", totals, study.files[1], "--totals", *FAST, "--json").json()
    for row in found["rows"]:
        if row["subset"] == "all":
            assert row["value"] == pytest.approx(whole.value(row["model"], row["statistic"]), rel=1e-12)
    told = refused("score", totals, study.files[1], "--totals", *FAST, "--by", "gender")
    assert "holds counts per scale point" in told


def test_unrated_items_have_a_bin_of_their_own(study: Study, write: Write) -> None:
    path = write("ratings.csv", study.files[0].read_text() + "extra,rater-001,\n")
    predicted = write("p.csv", study.files[1].read_text() + "".join(f"{m},extra,0.2,0.2,0.2,0.2,0.2\n" for m in MODELS))
    asked = ("score", path, predicted, "--scale", "0:4", *FAST)
    assert "1 item has no rating: expected scores use only the prior there" in ran(*asked).words
    assert run(*asked, "--csv", "--table", "prior_weight").frame().row(0) == ("0", 1, 0, 1.0)


# Bad input -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("model,item,0,1,2,3,4\na,x,0.5,0.5,0.5,0,0\n", "row 2: the probabilities sum to 1.5, not to 1."),
        ("model,item,0,1,2,3,4\na,x,half,0.5,0,0,0\n", "column '0', row 2: the probability half is not a number."),
        ("model,item,0,1,2,3\na,x,0.5,0.5,0,0\n", "there is no column for the point 4"),
        ("model,item,0,1,2,3,4\na,x,1,0,0,0,0\n", "no predicted item is among the ratings: predictions have items"),
        ("model,item,0,1,2,3,4\nuniform,x,1,0,0,0,0\n", "a model is called 'uniform'"),
        ("model,item,0,1,2,3,4\n", "there are no predictions."),
        ("", "the file is empty."),
    ],
)
def test_bad_predictions_end_in_one_line(study: Study, write: Write, text: str, problem: str) -> None:
    path = write("bad.csv", text)
    found = run("score", study.files[0], path, *FAST)
    assert (found.code, found.out) == (1, "")
    told = (f"{study.folder}/", f"{path}: predictions")
    (line,) = [line for line in found.err.splitlines() if not line.startswith(told)]
    assert line.startswith(f"error: {path}")
    assert problem in line


def test_control_characters_do_not_reach_the_terminal(study: Study, write: Write) -> None:
    path = write("p.csv", study.files[1].read_text().replace("careful", "\x1b[31mcareful"))
    found = run("score", study.files[0], path, *FAST)
    assert "\x1b" not in found.out + found.err


@pytest.mark.parametrize(
    ("command", "extra", "code", "problem"),
    [
        ("score", ["--table", "odd"], 2, "--table must be one of values, comparisons,"),
        ("score", ["--json", "--csv"], 2, "only one of --json and --csv can be printed"),
        ("score", ["--floor", "0"], 1, "floor is 0"),
        ("score", ["--train", "nowhere.csv"], 1, "there is no such file"),
        ("score", ["--correction", "odd"], 1, "correction is 'odd'"),
        ("score", ["--min-ratings", "-1"], 2, "--min-ratings"),
        ("score", ["--by", "mood"], 1, "raters have no attribute 'mood'"),
        *(("score", ["--bins", bins], 1, "error: ") for bins in ("2-5,5-9", "two", "9-2", "5-0", "2-3;4", "")),
        ("items", ["--precision", "0"], 1, "precision is 0"),
        ("items", ["--precision", "-1"], 1, "precision is -1"),
        ("items", ["--top", "0"], 2, "--top"),
        ("items", ["--table", "odd"], 2, "--table must be one of uncertain, divided, distributions, not 'odd'"),
        ("items", ["--csv", "--markdown"], 2, "only one of"),
    ],
)
def test_bad_options(study: Study, command: str, extra: list[str], code: int, problem: str) -> None:
    files = (*study.files, *FAST) if command == "score" else study.files[:1]
    assert problem in refused(command, *files, *extra, code=code)


def test_names_are_printed_as_they_are(hostile: tuple[Path, Path]) -> None:
    """Formulas are harmless in CSV, markup has no effect in a terminal."""
    asked = ("score", *hostile, "--scale", "0:4", *FAST)
    printed = run(*asked)
    for name in ("=1+1", "[bold]m[/]", "<script>alert(1)</script>"):
        assert f"\n  {name} " in printed.out
    assert set(run(*asked, "--csv").frame()["model"]) == {
        "'=1+1", "[bold]m[/]", "<script>alert(1)</script>", *REFERENCES,
    }  # fmt: skip
    listed = run("items", hostile[0], "--scale", "0:4", "--top", 100)
    for name in ODD:
        assert f"\n  {name} " in listed.out
    for table in ("uncertain", "distributions"):
        frame = run("items", hostile[0], "--scale", "0:4", "--csv", "--table", table).frame()
        assert {"'=cmd()", "[red]x[/red]", "a|b"} <= set(frame["item"])
        assert "=cmd()" not in set(frame["item"])
    assert "| a\\|b |" in run("items", hostile[0], "--scale", "0:4", "--top", 100, "--markdown").out


# Items ---------------------------------------------------------------------------------------------------------------


def test_only_uncertain_items(study: Study) -> None:
    asked = ("items", study.files[0], "--uncertain")
    found = run(*asked, "--top", 3)
    expected = pv.items(study.ratings).uncertain["item"]
    assert [line.split()[0] for line in found.out.splitlines() if line.startswith("  item-")] == expected[:3].to_list()
    assert "the first 3 of 30" in found.out
    assert "groups" not in found.out
    told = run(*asked, "--json").json()
    assert set(told) == {"kind", "settings", "uncertain", "statements"}
    assert [one["statistic"] for one in told["statements"]] == ["prior"]


def test_items_as_json_and_csv_are_the_python_result(study: Study) -> None:
    options: dict[str, Any] = {"prior": [1, 1, 2, 1, 1], "precision": 0.25}
    asked = ("items", study.files[0], "--prior", "1,1,2,1,1", "--precision", 0.25, "--by", "gender")
    expected = pv.items(study.ratings, by="gender", **options)
    found = run(*asked, "--json").json()
    assert found["uncertain"] == expected.uncertain.to_dicts()
    assert (found["divided"], found["settings"]) == (expected.divided.to_dicts(), expected.settings)
    for table, frame in (
        ("uncertain", expected.uncertain), ("divided", expected.divided), ("distributions", expected.distributions()),
    ):  # fmt: skip
        csv = run(*asked, "--csv", "--table", table).frame()
        assert (csv.columns, csv.height) == (frame.columns, frame.height)
    assert csv["item"].to_list() == expected.distributions()["item"].to_list()


def test_items_of_totals_and_without_ratings(study: Study, totals: Path, write: Write) -> None:
    assert run("items", totals, "--totals", "--csv").out == run("items", study.files[0], "--csv").out
    path = write("totals.csv", "item,0,1\nnew,0,0\nold,3,1\n")
    (line,) = [line for line in ran("items", path, "--totals").out.splitlines() if line.startswith("  new")]
    assert line.split()[:4] == ["new", "0", "–", "0.50"]
    first = run("items", path, "--totals", "--json").json()["uncertain"][0]
    assert (first["item"], first["mean"], first["entropy"]) == ("new", None, None)


def test_a_precision_out_of_reach(study: Study) -> None:
    """More ratings than there are numbers for: the program says so in some way."""
    assert "needed for ±1e-10" in ran("items", study.files[0], "--precision", "1e-10", "--top", 1).out


# Reports -------------------------------------------------------------------------------------------------------------
@pytest.mark.slow
def test_a_report_with_predictions_has_a_section_for_them(study: Study, tmp_path: Path) -> None:
    pytest.importorskip("vl_convert")
    out, predictions = tmp_path / "report.html", tmp_path / "predictions.csv"
    pl.read_csv(study.files[1]).filter(model="confident").write_csv(predictions)  # fewer charts to draw
    draws = ("--permutations", 20, "--max-permutations", 20, "--bootstrap", 20)
    asked = ("report", study.files[0], "--by", "gender", *draws, "-o", out)
    with only_sections("soft", "alignment", "items", "methods"):
        made = ran(*asked, "--predictions", predictions)
        before = out.read_bytes()
        ran(*asked, "--predictions", predictions)
        again = out.read_bytes()
        ran(*asked)
        plain = out.read_text(encoding="utf-8")
    assert (made.out, again) == (f"{out}\n", before)
    assert "warning: " not in made.err
    text = before.decode()
    assert text.count('id="soft"') == 1
    for words in ('id="soft-pit"', "SHA-256 of predictions.csv", "confident has RPS", "Models are ranked by RPS"):
        assert words in text
    assert 'id="soft' not in plain
    assert 'id="items"' in plain


def test_a_report_of_bad_input_is_not_written(study: Study, tmp_path: Path, write: Write) -> None:
    bad, out = write("bad.csv", "model,item,0,1,2,3,4\na,x,1,1,0,0,0\n"), tmp_path / "report.html"
    asked = ("report", study.files[0], "--by", "gender", "--permutations", 0, "--bootstrap", 0, "-o", out)
    for more, told in ((("--predictions", bad), f"{bad}, row 2: the probabilities sum to 2, not to 1."),
                       (("--prior", "1,2,3"), "prior is [1.0, 2.0, 3.0]")):  # fmt: skip
        assert f"error: {told}" in refused(*asked, *more)
    assert not out.exists()
