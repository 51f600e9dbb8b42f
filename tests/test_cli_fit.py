"""``plurivox fit`` and ``plurivox predict``, as a user runs them."""

from __future__ import annotations

import inspect
import json
import os
import pty
import select
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import plurivox as pv
from odd_ids import IDS, ODD, back, is_harmless
from plurivox.cli.fit import MODELS, fit
from support import ran, refused, run_cli

torch = pytest.importorskip("torch", reason="needs PyTorch: pip install 'plurivox[torch]'")

WORDS = {"lovely": [0.7, 0.2, 0.1, 0.0], "odd": [0.1, 0.4, 0.4, 0.1], "awful": [0.0, 0.1, 0.2, 0.7]}


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with texts, in which one word decides, and two to five ratings of each."""
    folder = tmp_path_factory.mktemp("study")
    random = np.random.default_rng(1)
    filling = ["the", "a", "this", "that", "it", "was", "is", "very", "so", "really"]
    texts, ratings = [], []
    for at in range(240):
        word = list(WORDS)[at % 3]
        around = random.choice(filling, 6).tolist()
        texts.append((f"i{at}", " ".join([*around[:3], word, *around[3:]]), "hello there"))
        points = random.choice(4, random.integers(2, 6), p=WORDS[word])
        ratings += [(f"i{at}", f"r{who}", int(point)) for who, point in enumerate(points)]
    pl.DataFrame(texts, schema=["item", "text", "before"], orient="row").write_csv(folder / "items.csv")
    pl.DataFrame(ratings, schema=["item", "rater", "score"], orient="row").write_csv(folder / "ratings.csv")
    return folder


def test_the_command_knows_all_models_and_has_the_defaults_of_the_function() -> None:
    assert tuple(pv.models.MODELS) == MODELS
    command = {name: one.default for name, one in inspect.signature(fit).parameters.items()}
    function = inspect.signature(pv.models.fit).parameters
    for name in ("model", "text", "epochs", "patience", "batch", "learning_rate", "validation", "features", "length",
                 "device", "seed", "sigma", "min_ratings", "sample_items", "sample_ratings"):  # fmt: skip
        assert command[name] == function[name].default


@pytest.mark.parametrize("model", [MODELS[0], *(pytest.param(one, marks=pytest.mark.slow) for one in MODELS[1:])])
def test_from_texts_to_scores(study: Path, tmp_path: Path, model: str) -> None:
    folder, predictions = tmp_path / "model", tmp_path / "predictions.parquet"
    done = ran("fit", study / "items.csv", study / "ratings.csv", "--model", model, "-o", folder, "--epochs", 30)
    assert done.out.strip() == str(folder)
    assert "240 items" in done.err
    assert "36 of the items held out" in done.err
    assert not [path for path in folder.iterdir() if path.suffix in (".pkl", ".pt", ".part")]
    ran("predict", folder, study / "items.csv", "-o", predictions)
    frame = pl.read_parquet(predictions)
    assert frame.columns == ["model", "item", "0", "1", "2", "3"]
    assert frame["model"].unique().to_list() == [model]
    scores = run_cli("score", study / "ratings.csv", predictions, "--csv", "--fast", "--bootstrap", 0).frame()
    ce = dict(scores.filter(bin="all", statistic="cross_entropy").select("model", "value").iter_rows())
    assert ce[model] < ce["marginal"] - 0.1


def test_training_is_as_from_python(study: Path, tmp_path: Path) -> None:
    run_cli("fit", study / "items.csv", study / "ratings.csv", "--model", "mlp-ce", "-o", tmp_path / "m", "--seed", 3)
    printed = run_cli("predict", tmp_path / "m", study / "items.csv").frame()
    items = pl.read_csv(study / "items.csv")
    right = pv.models.fit(pv.read_ratings(study / "ratings.csv"), items, "mlp-ce", seed=3).predict(items)
    assert printed["item"].to_list() == right["item"].to_list()
    made, wanted = (one.select("0", "1", "2", "3").to_numpy() for one in (printed, right))
    np.testing.assert_allclose(made, wanted)


def test_context_scale_and_name(study: Path, tmp_path: Path) -> None:
    folder = tmp_path / "m"
    arguments = ["--context", "before", "--scale", "0:4", "--epochs", 2, "--validation", 0.3, "-o", folder, "--json"]
    done = run_cli("fit", study / "items.csv", study / "ratings.csv", *arguments)
    told = done.json()
    assert (told["training"]["unseen"], told["training"]["n_validation"]) == (["4"], 72)
    assert told["settings"]["epochs"] == 2
    assert "no training rating is 4" in done.err
    asked = ("predict", folder, study / "items.csv")
    found = run_cli(*asked, "--name", "mine", "--scale", "0:4").frame()
    assert (found.columns, found["model"][0]) == (["model", "item", "0", "1", "2", "3", "4"], "mine")
    told = refused(*asked, "--scale", "1:5")
    assert "the model is on the scale 0 < 1 < 2 < 3 < 4, not on 1 < 2 < 3 < 4 < 5" in told


def test_one_group_s_ratings(study: Path, tmp_path: Path) -> None:
    raters = pl.DataFrame({"rater": [f"r{at}" for at in range(5)], "gender": ["a", "b", "a", "b", "a"]})
    raters.write_csv(tmp_path / "raters.csv")
    done = run_cli(
        "fit", study / "items.csv", study / "ratings.csv", "--raters", tmp_path / "raters.csv", "--where", "gender=a",
        "--epochs", 1, "-o", tmp_path / "m", "--json",
    )  # fmt: skip
    score = pl.read_csv(study / "ratings.csv").filter(pl.col("rater").is_in(["r0", "r2", "r4"]))
    assert done.json()["training"]["n_ratings"] == score.height


@pytest.mark.parametrize(
    ("change", "texts", "message"),
    [
        (["--text", "txt"], "", "there is no column 'txt'"), (["--context", "after"], "", "there is no column 'after'"),
        (["--model", "bert"], "", "mlp-ce, mlp-kl, cumulative-link, transformer-emd"),
        (["--validation", "1.5"], "", "validation is 1.5"), (["--learning-rate", "-1"], "", "learning_rate is -1"),
        (["--device", "abacus"], "", "device is 'abacus'"),
        (["--model", "mlp-kl", "--learning-rate", "1e30"], "", "finite number"),  # training diverges
        ([], "i0,\ni1, \n", "no item has a text"), ([], "x,good\ny,bad\n", "has a rating"),
        ([], "i0,good\n", "needs at least two"), ([], "\n", "there are no items"),
        ([], "i0,a\ni1,b\ni0,c\n", "texts.csv, column 'item', rows 2, 4"),
    ],
)  # fmt: skip
def test_what_cannot_be_learned_leaves_nothing(
    study: Path, tmp_path: Path, change: list[str], texts: str, message: str
) -> None:
    (tmp_path / "texts.csv").write_text("item,text\n" + texts.rstrip("\n") + "\n")
    items = tmp_path / "texts.csv" if texts else study / "items.csv"
    told = refused("fit", items, study / "ratings.csv", "-o", tmp_path / "m", *change, code=None)
    assert message in told or ("1e30" in change and "Give a smaller learning rate" in told)
    assert "texts.csv" in told or not texts
    assert not (tmp_path / "m").exists()
    folders = (study / "items.csv" / "model", f"{study}/new/{'a' * 300}")  # cannot be written, which is noticed first
    assert "validation loss" not in refused("fit", study / "items.csv", study / "ratings.csv", "-o", folders[0])
    refused("fit", study / "items.csv", study / "ratings.csv", "-o", folders[1])
    assert not (study / "new").exists()


def test_predictions_that_cannot_be_made(model: Path, study: Path, tmp_path: Path) -> None:
    items, out = tmp_path / "items.csv", tmp_path / "p.csv"
    (tmp_path / "blank.csv").write_text("item,text\ni0,a\ni1,\n")
    told = refused("predict", model, tmp_path / "blank.csv", "-o", out)
    assert "blank.csv, column 'text', row 3: the text is missing" in told
    items.write_bytes((study / "items.csv").read_bytes())
    refused("predict", model, items, "-o", items)
    assert items.read_bytes() == (study / "items.csv").read_bytes()
    (tmp_path / "plurivox.toml").write_text('[scale]\nlabels = ["No", "Yes"]\n')  # the scale of the config counts
    assert "not on No < Yes" in refused("predict", model, items, "-o", out)
    assert not out.exists()


def test_outputs(model: Path, study: Path, tmp_path: Path) -> None:
    asked = ("predict", model, study / "items.csv", "-o")
    for ending, read in ((".csv", pl.read_csv), (".jsonl", pl.read_ndjson), (".parquet", pl.read_parquet)):
        assert ran(*asked, tmp_path / f"p{ending}").out.strip() == str(tmp_path / f"p{ending}")
        assert read(tmp_path / f"p{ending}").shape == (240, 6)
    assert ran(*asked, tmp_path / "p_soft.tsv").out.strip() == str(tmp_path / "p_soft.tsv")
    table = pl.read_csv(tmp_path / "p.csv").drop("model")
    lines = [line.split("\t") for line in (tmp_path / "p_soft.tsv").read_text().splitlines()]
    assert [item for item, _ in lines] == table["item"].to_list()
    assert [tuple(json.loads(one)) for _, one in lines] == [pytest.approx(row) for row in table.drop("item").rows()]
    refused(*asked, tmp_path / "p.xlsx", code=2)
    refused("predict", tmp_path / "none", study / "items.csv")
    (tmp_path / "file").write_text("mine")
    refused("fit", study / "items.csv", study / "ratings.csv", "-o", tmp_path / "file", code=2)
    assert (tmp_path / "file").read_text() == "mine"


@pytest.fixture(scope="module")
def model(study: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a model that was trained for a moment."""
    folder = tmp_path_factory.mktemp("model") / "m"
    ran("fit", study / "items.csv", study / "ratings.csv", "--epochs", 1, "-o", folder)
    return folder


def with_texts(folder: Path, items: list[str]) -> Path:
    path = folder / "items.parquet"  # in which nothing is guarded
    pl.DataFrame({"item": items, "text": [f"lovely {item}" for item in items]}).write_parquet(path)
    return path


def test_predictions_for_ids_like_formulas_are_scored(model: Path, tmp_path: Path) -> None:
    done = run_cli("predict", model, with_texts(tmp_path, ODD), "-o", tmp_path / "p.csv", "--name", "=m")
    assert done.code == 0, done.err
    assert is_harmless((tmp_path / "p.csv").read_text())
    rows = [(item, f"r{r}", (i + r) % 4) for i, item in enumerate(ODD) for r in range(3)]
    pl.DataFrame(rows, schema=["item", "rater", "score"], orient="row").write_parquet(tmp_path / "r.parquet")
    done = run_cli("score", tmp_path / "r.parquet", tmp_path / "p.csv", "--scale", "0:3", "--fast", "--json")
    sizes = {row["model"]: row["n_items"] for row in done.json()["rows"] if row["n_items"] is not None}
    assert sizes["=m"] == len(ODD)


@given(ids=st.lists(IDS, min_size=1, max_size=12, unique=True))
@settings(max_examples=6)
def test_predictions_keep_their_items(model: Path, ids: list[str]) -> None:
    with tempfile.TemporaryDirectory() as name:
        items = with_texts(Path(name), ids)
        done = run_cli("predict", model, items, "-o", Path(name) / "p.csv")
        assert done.code == 0, done.err
        found = pv.read_predictions(Path(name) / "p.csv", "0:3")
        printed = back(run_cli("predict", model, items), Path(name))
    assert (sorted(found.items), printed["item"].to_list()) == (sorted(ids), ids)


def test_items_are_joined_by_the_column_of_the_ratings(study: Path, tmp_path: Path) -> None:
    ratings = pl.read_csv(study / "ratings.csv").rename({"item": "comment_id"})
    items = pl.read_csv(study / "items.csv").rename({"item": "comment_id"})
    items = items.with_columns(item=items["comment_id"].reverse())  # an id that is not meant
    ratings.write_csv(tmp_path / "ratings.csv")
    items.write_csv(tmp_path / "items.csv")
    done = run_cli("fit", tmp_path / "items.csv", tmp_path / "ratings.csv", "--epochs", 1, "-o", tmp_path / "m")
    assert "items.csv: item = comment_id, text = text" in done.err
    done = run_cli("predict", tmp_path / "m", tmp_path / "items.csv")
    assert done.frame()["item"].to_list() == items["comment_id"].to_list()
    assert "item = comment_id" in done.err


def test_other_encodings(study: Path, tmp_path: Path) -> None:
    texts = "item,text\n" + "".join(f"i{at},{'schön' if at % 2 else 'übel'} gesagt\n" for at in range(40))
    (tmp_path / "items.csv").write_bytes(texts.encode("latin-1"))
    ratings = "item,rater,score\n" + "".join(f"i{at},r,{at % 2}\n" for at in range(40))
    (tmp_path / "ratings.csv").write_bytes(ratings.encode("latin-1"))
    files = [tmp_path / "items.csv", tmp_path / "ratings.csv"]
    assert run_cli("fit", *files, "-o", tmp_path / "m", "--epochs", 1).code == 1
    assert run_cli("fit", *files, "-o", tmp_path / "m", "--epochs", 1, "--encoding", "latin-1").code == 0
    assert run_cli("predict", tmp_path / "m", files[0], "--encoding", "latin-1").frame().height == 40


@pytest.mark.slow
def test_a_full_output_is_one_line(model: Path, study: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "plurivox", "predict", str(model), str(study / "items.csv")]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1
    assert "error: the output cannot be written (No space left on device)" in done.stderr
    assert "Traceback" not in done.stderr
    told = refused("predict", model, study / "items.csv", "-o", tmp_path / "none" / "p.csv")
    assert f"it cannot be written (there is no folder {tmp_path / 'none'})" in told


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "code", "pause"),
    [(signal.SIGINT, 130, 0.0), (signal.SIGINT, 130, 0.005), (signal.SIGINT, 130, 0.5), (signal.SIGTERM, 143, 0.1)],
)
def test_ctrl_c_keeps_the_best_model(study: Path, tmp_path: Path, number: int, code: int, pause: float) -> None:
    ours, theirs = pty.openpty()
    command = [
        sys.executable, "-m", "plurivox", "fit", str(study / "items.csv"), str(study / "ratings.csv"),
        "-o", str(tmp_path / "m"), "--epochs", "100000", "--patience", "100000",
    ]  # fmt: skip
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "140"}
    with subprocess.Popen(command, stderr=theirs, stdout=subprocess.PIPE, env=environment) as process:
        os.close(theirs)
        seen, interrupted, deadline = "", False, time.monotonic() + 120
        while time.monotonic() < deadline:
            if select.select([ours], [], [], 0.2)[0]:
                try:
                    seen += os.read(ours, 65536).decode(errors="replace")
                except OSError:  # the program ended
                    break
            if not interrupted and "validation 0." in seen:
                process.send_signal(number)
                time.sleep(pause)
                process.send_signal(number)  # people press it twice
                interrupted = True
        ended = process.wait(timeout=60)
    os.close(ours)
    assert interrupted, seen
    assert ended == code, seen
    assert "interrupted" in seen
    assert "at most" in seen
    kept = pv.models.load(tmp_path / "m")
    assert kept.training.stopped == "interrupted"
    assert 1 <= kept.training.best_epoch <= kept.training.epochs < 100_000


def test_without_torch(study: Path) -> None:
    script = "import sys; sys.modules['torch'] = None; from plurivox.cli import main; main()"
    arguments = ["fit", str(study / "items.csv"), str(study / "ratings.csv")]
    done = subprocess.run([sys.executable, "-c", script, *arguments], capture_output=True, text=True)
    assert done.returncode == 1
    assert "pip install 'plurivox[torch]'" in done.stderr
    assert "Traceback" not in done.stderr
