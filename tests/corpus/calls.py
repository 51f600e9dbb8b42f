"""Cases that call plurivox from Python: results with all their draws, tables behind charts, answers of models."""

from __future__ import annotations

import dataclasses
import gzip
import json
import shutil
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import exports
import plurivox as pv
from corpus.records import compact, plain
from corpus.running import Case, World
from model_server import ModelServer, by_message
from plurivox import plots, statistics, studies
from plurivox.base.errors import PlurivoxError

AXES = ["age", ("gender", "ethnicity")]
Chart = Callable[..., Any]


# Results with their draws --------------------------------------------------------------------------------------------
def _json(found: Any) -> Any:
    return json.loads(found.to_json())


def _trained(world: World, name: str = "dense") -> pv.Ratings:
    return pv.read_ratings(f"{name}/trained.csv", scale="safe,unsafe")


def _predictions(name: str) -> pv.Predictions:
    return pv.read_predictions(f"{name}/predictions.csv", "0:4")


def _answers(name: str) -> pv.Answers:
    return pv.read_answers(f"{name}/answers.csv", "0:4")


def _dices(world: World) -> pv.Ratings:
    files: dict[str, Any] = {"raters": "dices/raters.csv", "items": "dices/items.csv"}
    return pv.read_ratings("dices/ratings.csv", scale="No,Unsure,Yes", **files).where(raters={"removed": "False"})


def _cohesion(world: World) -> pv.Cohesion:
    return pv.cohesion(
        world.ratings("dense"), AXES, permutations=80, bootstrap=40, pairs=True, seed=21, threads=world.threads
    )


def _responsiveness(world: World) -> pv.Responsiveness:
    return pv.responsiveness(
        world.ratings("dense"), _trained(world), AXES, permutations=80, bootstrap=40, items_by="violation", pairs=True,
        psychometrics=True, seed=22, threads=world.threads,
    )  # fmt: skip


def _psychometrics(world: World) -> pv.Psychometrics:
    return pv.psychometrics(world.ratings("dense"), ["age", "rater"])


def _soft(world: World) -> pv.SoftScores:
    return pv.soft_scores(
        world.ratings("sparse"), _predictions("sparse"), by="gender", bootstrap=40, seed=23, threads=world.threads
    )


def _alignment(world: World) -> pv.Alignment:
    return pv.alignment(
        world.ratings("dense"), _answers("dense"), AXES, subset="violation", trained=_trained(world), bootstrap=40,
        permutations=40, subsamples=20, families={"ab": ["model-a", "model-b"]}, seed=24, threads=world.threads,
    )  # fmt: skip


def _judge(world: World) -> pv.JudgeCard:
    return pv.judge(
        world.ratings("dense"), _answers("dense"), AXES, subset="violation", require=["omega>=0.5", "consistency>0.5"],
        seed=24, threads=world.threads,
    )  # fmt: skip


def _overview(world: World) -> pv.Overview:
    return pv.overview(world.ratings("sparse"), AXES)


def _items(world: World) -> pv.Items:
    return pv.items(world.ratings("sparse"), ["gender", "age"])


def _item_view(world: World) -> pv.ItemView:
    return pv.item_view(world.ratings("dense"), "item-005", ["age", "gender"], permutations=80, seed=25)


def _told(found: pv.Overview) -> dict[str, Any]:
    tables = {name: getattr(found, name) for name in ("design", "usage", "styles")}
    return {"description": _json(found.description), **tables}


def _listed(found: pv.Items) -> dict[str, Any]:
    return {
        "divided": found.divided, "uncertain": found.uncertain, "settings": found.settings,
        "some": found.distributions(["item-003", "item-001"]), "all": found.distributions(),
    }  # fmt: skip


def _dices_lenses(world: World) -> dict[str, Any]:
    ratings = _dices(world)
    draws: dict[str, Any] = {"permutations": 30, "threads": world.threads}
    return {
        "cohesion": _json(pv.cohesion(ratings, ["race", ("race", "gender")], bootstrap=20, **draws)),
        "responsiveness": _json(pv.responsiveness(ratings, "crowd", "race", bootstrap=20, **draws)),
        "overview": _told(pv.overview(ratings, "race")),
        "psychometrics": _json(pv.psychometrics(ratings, "race")),
    }


def _faces(world: World) -> pv.Ratings:
    columns: dict[str, Any] = {
        "rater_attributes": ["rater_sex", "rater_age", "rater_sexpref"],
        "item_attributes": ["face_sex", "face_age", "face_eth"],
    }
    ratings = pv.read_ratings("faces/faceratings.parquet", item="face_id", scale="1:7", **columns)
    return ratings.with_bins("rater_age", [17, 30, 50])


def _faces_lenses(world: World) -> dict[str, Any]:
    ratings = _faces(world)
    draws: dict[str, Any] = {"permutations": 10, "bootstrap": 10, "threads": world.threads}
    return {
        "cohesion": _json(pv.cohesion(ratings, "rater_age", level="ordinal", resample="both", **draws)),
        "responsiveness": _json(pv.responsiveness(ratings, "crowd", "rater_age", items_by="face_eth", **draws)),
    }


def _levels(world: World) -> dict[str, Any]:
    """Few permutations, so that every one of them counts, and more."""
    ratings = world.ratings("dense")
    return {
        "few": _json(pv.cohesion(ratings, "gender", permutations=3, min_group_size=1)),
        "within two": _json(pv.cohesion(ratings, "gender", permutations=30, within=("age", "ethnicity"))),
        "all psychometrics": _json(
            pv.responsiveness(ratings, "crowd", "gender", permutations=10, bootstrap=5, psychometrics=True)
        ),
    }


# Data ----------------------------------------------------------------------------------------------------------------
def _tables(found: Any) -> dict[str, Any]:
    """Return the fields of a record that are data."""
    fields = [field.name for field in dataclasses.fields(found) if not field.name.startswith("_")]
    return {name: _table(getattr(found, name)) for name in fields}


def _table(value: Any) -> Any:
    return value.to_list() if isinstance(value, pl.Series) else value


def _simulation(world: World) -> dict[str, Any]:
    made = pv.simulate(
        n_items=25, n_raters=20, scale=pv.Scale.range(1, 6), missing=0.2, effects=[pv.Effect({"gender": "Woman"}, 0.5)],
        styles={"normal": 0.6, "extreme": 0.4}, models=[pv.SimulatedModel("m", bias=0.2, refusal_rate=0.1)],
        predictors=[pv.SimulatedPredictor("p", sharpness=2.0)], seed=31,
    )  # fmt: skip
    return _tables(made) | {"codes": _tables(made.ratings)}


def _coded(world: World) -> dict[str, Any]:
    """Ratings, their axes, and reading back what was written."""
    ratings = world.ratings("sparse")
    Path("out").mkdir(exist_ok=True)
    pv.write_ratings(ratings, "out/ratings.parquet")
    axes = {str(by): _tables(pv.Axis.of(ratings, by)) for by in ("age", ("gender", "ethnicity"))}
    some = ratings.where(raters={"gender": "Woman"}, items={"violation": ["bias", "privacy"]})
    return {
        "ratings": _tables(ratings), "axes": axes, "some": _tables(some), "frame": some.to_frame(),
        "counts": ratings.counts(), "back": pv.read_ratings("out/ratings.parquet") == ratings,
        "stored": pl.read_parquet("out/ratings.parquet"),
        "predictions": _tables(_predictions("sparse")), "answers": _tables(_answers("sparse")),
    }  # fmt: skip


def _packed(world: World) -> dict[str, Any]:
    """A compressed file, and a frame, are read as the plain file is."""
    Path("out").mkdir(exist_ok=True)
    Path("out/ratings.csv.gz").write_bytes(gzip.compress(Path("sparse/ratings.csv").read_bytes(), mtime=0))
    frame = pv.Ratings.from_frame(pl.read_csv("sparse/ratings.csv"), scale=pv.Scale.range(0, 4))
    return {"packed": _tables(pv.read_ratings("out/ratings.csv.gz", scale="0:4")), "frame": _tables(frame)}


def _combined(world: World) -> dict[str, Any]:
    asked = {
        name: pv.read_ratings("questions/ratings.csv", score=name, scale="0:4") for name in ("harm", "insult", "lie")
    }
    rules: list[Any] = ["highest", "lowest", [2, 3, 1, 4, 0]]
    return {str(rule): _tables(pv.combine(asked, rule)) for rule in rules}


def _study(world: World) -> dict[str, Any]:
    found = studies.responsiveness(tops=[4, 8], repeats=2, n_items=200, n_raters=10, trained=7, seed=32)
    return {"frame": found.to_frame(), "repeats": found.repeats, "findings": found.findings()}


def _logs(world: World) -> dict[str, Any]:
    """Every log, or why it cannot be read."""
    scale = pv.Scale(["never", "sometimes", "always"])
    found: dict[str, Any] = {"stored": _tables(pv.read_answers("stored/answers.db", "never,sometimes,often"))}
    for path in sorted(path for path in Path("logs").rglob("*") if path.suffix in (".eval", ".json", ".jsonl")):
        try:
            found[str(path)] = _tables(pv.read_answers(path, scale))
        except pv.InputError as error:
            found[str(path)] = str(error)
    return found


# Statistics as functions ---------------------------------------------------------------------------------------------
def _registry(world: World) -> dict[str, Any]:
    """The registry in words, without how each statistic is computed."""
    words = ("name", "label", "needs", "symmetric", "range", "equation", "meaning", "higher_means", "reference")
    return {name: {word: getattr(one, word) for word in words} for name, one in statistics.STATISTICS.items()}


def _functions(world: World) -> dict[str, Any]:
    """Every statistic of the registry that is a function, on counts of simulated ratings."""
    ratings = world.ratings("dense")
    codes = ratings.codes_of_raters
    halves = [np.zeros((ratings.n_items, 5), dtype=np.int64) for _ in range(2)]
    for item, rater, score in zip(ratings.item_codes, codes, ratings.scores, strict=True):
        halves[rater % 2][item, score] += 1
    one, other = halves
    shares = _predictions("dense").shares[0]
    positions = [None if n % 7 == 0 else int(n % 5) for n in range(ratings.n_items)]
    ones, zeros = one[:30].sum(axis=0), one[30:].sum(axis=0)
    given: dict[str, tuple[Any, ...]] = {
        "group": (one,), "pair": (one, other), "reference": (ones, zeros), "prediction": (one, shares),
        "answers": (one, positions),
    }  # fmt: skip
    return {
        name: record.function(*given[record.needs])
        for name, record in statistics.STATISTICS.items()
        if record.function is not None and record.needs in given
    }


def _scores(world: World) -> dict[str, Any]:
    """Statistics of raters' scores beside each other, of priors and of intervals."""
    ratings = world.ratings("dense")
    scores = ratings.scores.reshape(ratings.n_items, ratings.n_raters)[:, :12].astype(float)
    counts = world.ratings("sparse").counts()
    q = _predictions("sparse").shares[0]
    return {
        "mokken": _tables(statistics.mokken_h(scores)), "scales": statistics.mokken_scales(scores),
        "monotonicity": _tables(statistics.monotonicity(scores)), "graded": _tables(statistics.graded_response(scores)),
        "prior": _tables(statistics.fit_prior(counts)), "mean": statistics.mean_interval(counts, np.arange(5.0)),
        "share": statistics.share_interval(counts, 0.5), "needed": statistics.ratings_needed(counts, 0.1),
        "gain": statistics.information_gain(counts, 0.5), "posterior": statistics.posterior_mean(counts, 0.5),
        "pit": statistics.pit_histogram(counts, q), "reliability": statistics.reliability(counts, q),
        "slope": statistics.calibration_slope(counts, q), "random": statistics.pit(np.arange(80) % 5, q, seed=3),
    }  # fmt: skip


# Charts --------------------------------------------------------------------------------------------------------------
MAKERS: dict[str, Callable[[World], Any]] = {
    "cohesion": _cohesion, "responsiveness": _responsiveness, "psychometrics": _psychometrics, "soft": _soft,
    "alignment": _alignment, "judge": _judge, "overview": _overview, "items": _items, "item view": _item_view,
}  # fmt: skip
CHARTS: dict[str, dict[str, tuple[Any, ...]]] = {
    "cohesion": {"gai_forest": (), "dsi_ranking": (), "xrr_matrix": ("age",), "null_histograms": ("gai", "age")},
    "responsiveness": {
        "responsiveness_forest": (), "mpa_wra_plane": ("age",), "metric_comparison": ("age",),
        "precision_recall": ("age",), "null_histograms": ("mpa", "age"),
    },
    "psychometrics": {"scale_forest": (), "item_severity": ("age",), "score_curves": ("age",)},
    "soft": dict.fromkeys(
        ("soft_ranking", "soft_by_bin", "prior_sensitivity", "pit_histograms", "reliability_curves"), ()
    ),
    "alignment": {
        "alignment_dots": (), "alignment_heat": (), "alignment_items": (), "alignment_wins": ("age",),
        "distance_histogram": (), "refusals": (),
    },
    "judge": {"judge_card": ()},
    "overview": dict.fromkeys(("design", "group_sizes", "ratings_per_item", "response_styles", "scale_use"), ()),
    "items": {"items_divided": (), "items_uncertain": ()},
    "item view": {"item_groups": ()},
}  # fmt: skip
"""Charts of each result, and what to call them with beside it."""


def _charts(kind: str) -> Callable[[World], Any]:
    def call(world: World) -> dict[str, Any]:
        found = world.once(kind, lambda: MAKERS[kind](world))
        return {
            name: {
                "data": getattr(plots, f"{name}_data")(found, *arguments),
                "chart": getattr(plots, name)(found, *arguments).to_dict(),
            }
            for name, arguments in CHARTS[kind].items()
        }

    return call


def _page(kind: str) -> Callable[[World], Any]:
    """What a notebook shows of a result."""
    return lambda world: [repr(found := MAKERS[kind](world)), found._repr_html_()]


# Models --------------------------------------------------------------------------------------------------------------


REPLIES = ("A", "B) sometimes", "The answer is often.", "I cannot answer that.", "C", "qqq zzz", "never", "**B**")


def reply(message: str) -> str:
    """Answer by the letters of the message, and always the same."""
    return REPLIES[sum(map(ord, message)) % len(REPLIES)]


def _asked(world: World) -> dict[str, Any]:
    """Ask a server on this machine, go on, export; then have a model read what the rules cannot."""
    shutil.rmtree("out/asked", ignore_errors=True)
    Path("out/asked").mkdir(parents=True)
    with ModelServer(by_message(reply), models=("m", "n")) as server:
        usual = ("--base-url", server.base_url, "--concurrency", 1)
        ask: tuple[object, ...] = ("ask", "stored/items.csv", "--scale", "stored/scale.toml", "-o", "out/asked/a.db")
        ask += (
            *usual,
            "--model",
            "m",
            "--model",
            "n",
            "--prompt",
            "plain",
            "--prompt",
            "table",
            "--shuffle",
            "--seed",
            4,
        )
        return {
            "first": world.cli(*ask, "--max-requests", 20), "then": world.cli(*ask),
            "table": world.cli("answers", "out/asked/a.db"),
            "export": world.cli("answers", "out/asked/a.db", "--export", "out/asked/a.csv", "--prompts"),
            "file": world.file(Path("out/asked/a.csv")),
            "reader": world.cli("answers", "out/asked/a.db", "--reader-model", "n", *usual),
            "after": world.cli("answers", "out/asked/a.db", "--json"),
            "sent": sorted(json.dumps(body, sort_keys=True) for body in server.requests),
        }  # fmt: skip


def _audited(world: World) -> dict[str, Any]:
    """Draw answers to check, fill in what a person would, and tell; read all again."""
    shutil.rmtree("out/audit", ignore_errors=True)
    Path("out/audit").mkdir(parents=True)
    store, sample = shutil.copy("stored/answers.db", "out/audit/a.db"), Path("out/audit/sample.csv")
    drawn = world.cli("answers", store, "--audit", 12, "-o", sample, "--seed", 2)
    blank = world.file(sample)
    table = pl.read_csv(sample, infer_schema=False)
    empty = next(name for name in table.columns if table[name].null_count() == table.height)
    table.with_columns(pl.Series(empty, ["yes", "no", "yes"] * 4)[: table.height]).write_csv("out/audit/checked.csv")
    return {
        "drawn": drawn, "sample": blank, "told": world.cli("answers", store, "--audited", "out/audit/checked.csv"),
        "json": world.cli("answers", store, "--audited", "out/audit/checked.csv", "--json"),
        "reread": world.cli("answers", store, "--reread", "--json"),
    }  # fmt: skip


def _fitted(model: str) -> Callable[[World], Any]:
    """Train on a processor, with one thread since sums over several may differ, and predict."""

    def call(world: World) -> dict[str, Any]:
        import torch

        threads, folder = torch.get_num_threads(), f"out/fit-{model}"
        shutil.rmtree(folder, ignore_errors=True)
        torch.set_num_threads(1)
        try:
            usual = ("learning/items.csv", "learning/ratings.csv", "--scale", "0:3", "--epochs", 4, "--seed", 5)
            fit = world.cli("fit", *usual, "--model", model, "-o", folder)
            predict = world.cli("predict", folder, "learning/items.csv")
        finally:
            torch.set_num_threads(threads)
        return {"fit": fit["code"], "predict": predict}  # what fit prints holds its duration

    return call


def _exports(kind: str) -> Callable[[World], Any]:
    """Return what reads every file of a platform, or of a kind of file, as people have them."""

    def call(world: World) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for at, one in enumerate(case for case in exports.cases() if case.format == kind):
            with tempfile.TemporaryDirectory(dir=world.root) as folder:
                with warnings.catch_warnings(record=True) as said:
                    warnings.simplefilter("always")
                    try:
                        ratings = pv.read_ratings(one.write(Path(folder)), **one.arguments(Path(folder)))
                    except PlurivoxError as error:
                        told: Any = str(error)
                    else:
                        intake = dataclasses.asdict(ratings.intake)
                        told = plain(
                            [ratings.to_frame(), ratings.raters, ratings.items, ratings.scale.to_dict(), intake]
                        )
                record = compact([told, [str(warning.message) for warning in said]])
                found[f"{at} {one.kind} {one.name}"] = json.loads(json.dumps(record).replace(folder, "<folder>"))
        return found

    return call


def _pages(world: World) -> Any:
    from corpus.pages import pages  # needs an extra

    return pages(world)


CASES: tuple[Case, ...] = (
    Case("python/cohesion", call=lambda world: _json(_cohesion(world)), data=("dense",)),
    Case("python/responsiveness", call=lambda world: _json(_responsiveness(world)), data=("dense",)),
    Case("python/psychometrics", call=lambda world: _json(_psychometrics(world)), data=("dense",)),
    Case("python/soft-scores", call=lambda world: _json(_soft(world)), data=("sparse",)),
    Case("python/alignment", call=lambda world: _json(_alignment(world)), data=("dense",)),
    Case("python/judge", call=lambda world: _json(_judge(world)), data=("dense",)),
    Case("python/item-view", call=lambda world: _json(_item_view(world)), data=("dense",)),
    Case("python/overview", call=lambda world: _told(_overview(world)), data=("sparse",)),
    Case("python/items", call=lambda world: _listed(_items(world)), data=("sparse",)),
    Case(
        "python/plan",
        call=lambda world: _json(
            pv.plan(world.ratings("sparse"), "age", simulations=4, permutations=100, seed=2, threads=world.threads)
        ),
        data=("sparse",),
    ),
    Case(
        "python/advise",
        call=lambda world: _json(
            pv.advise(
                world.ratings("sparse"), "crowd", ["rater", "age"], thresholds=pv.Thresholds(error_rate=0.1),
                permutations=99, threads=world.threads,
            )
        ),
        data=("sparse",),
    ),
    Case("python/levels", call=_levels, data=("dense",)),
    Case("python/dices", call=_dices_lenses, data=("dices",)),
    Case("python/faces", call=_faces_lenses, data=("faces",)),
    Case("data/simulation", call=_simulation),
    Case("data/coded", call=_coded, data=("sparse",)),
    Case("data/packed", call=_packed, data=("sparse",)),
    Case("data/combined", call=_combined, data=("questions",)),
    Case("data/logs", call=_logs, data=("logs", "stored")),
    *(Case(f"exports/{kind}", call=_exports(kind)) for kind in sorted({case.format for case in exports.cases()})),
    Case("statistics/registry", call=_registry),
    Case("statistics/functions", call=_functions, data=("dense",)),
    Case("statistics/scores", call=_scores, data=("dense", "sparse")),
    Case("statistics/study", call=_study),
    *(
        Case(f"plots/{kind.replace(' ', '-')}", call=_charts(kind), data=("dense", "sparse"))
        for kind in CHARTS
    ),
    *(
        Case(f"notebook/{kind.replace(' ', '-')}", call=_page(kind), data=("dense", "sparse"))
        for kind in ("cohesion", "responsiveness", "psychometrics", "soft", "alignment", "judge", "item view")
    ),
    Case("workbench/pages", call=_pages, data=("dense",)),
    Case("ask/asked", call=_asked, data=("stored",)),
    Case("answers/audited", call=_audited, data=("stored",)),
    *(Case(f"fit/{model}", call=_fitted(model), data=("learning",)) for model in ("mlp-ce", "mlp-kl", "cumulative-link",
                                                                                   "transformer-emd")),
)  # fmt: skip
