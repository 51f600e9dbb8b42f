"""The task and the scorer for Inspect, run by Inspect itself with its mock model."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import plurivox as pv
from plurivox.ask import Example, Question, make_plan
from plurivox.ask.logs import read_inspect_log
from plurivox.base.errors import ColumnError, InputError, ScaleError, SelectionError
from plurivox.domain.reader import STATES
from plurivox.statistics.alignment import ada_met, ada_met_answered

inspect_ai = pytest.importorskip("inspect_ai", reason="needs inspect-ai: pip install 'plurivox[inspect]'")
# Inspect itself uses what is deprecated, and leaves streams open.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")

LABELS = ["never", "sometimes", "often", "always"]
SCALE = pv.Scale(LABELS)
QUESTION = Question(SCALE, "How often is this right?", ("0 %", "a third", "two thirds", "100 %"))
ITEMS = pl.DataFrame({"item": [1, 2, 3, 4, 5], "text": ["Be kind.", "Never lie.", "Be loud.", "Be late.", "Unrated."]})
K = len(LABELS) - 1

# Items 1 to 4; young raters y1 … y5, old ones o1 … o6, who skip item 4, and two of whom nothing is known.
SCORES = {
    "y1": [0, 1, 2, 3], "y2": [0, 1, 2, 3], "y3": [0, 1, 3, 3], "y4": [1, 2, 3, 3], "y5": [3, 2, 0, 2],
    "o1": [3, 0, 1], "o2": [3, 0, 1], "o3": [3, 0, 1], "o4": [2, 0, 1], "o5": [2, 1, 1], "o6": [2, 3, 0],
    "u1": [1, 1, 1, 1], "u2": [1, 1, 1, 0],
}  # fmt: skip
AGES = {"y": "young", "o": "old", "u": None}
VOTES = {
    "young": [[3, 1, 0, 1], [0, 3, 2, 0], [1, 0, 2, 2], [0, 0, 1, 4]],
    "old": [[0, 0, 3, 3], [4, 1, 0, 1], [1, 5, 0, 0], [0, 0, 0, 0]],
    "unknown": [[0, 2, 0, 0], [0, 2, 0, 0], [0, 2, 0, 0], [1, 1, 0, 0]],
}
EVERYONE = np.sum(list(VOTES.values()), axis=0)
SAID = {"Be kind.": "A", "Never lie.": "I'd say B", "Be loud.": "I'm sorry, but I can't rate this.", "Be late.": "Hm."}
POINTS = [0, 1, None, None]


@pytest.fixture(autouse=True)
def homeless(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep Inspect out of the home folder."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


@pytest.fixture(autouse=True, scope="module")
def swept() -> Iterator[None]:
    """Have Python notice what Inspect leaves open before the tests of another file."""
    yield
    gc.collect()


def the_ratings(**more: Any) -> pv.Ratings:
    rows = [
        {"item": item, "rater": rater, "score": LABELS[score]}
        for rater, scores in SCORES.items()
        for item, score in enumerate(scores, 1)
    ]
    raters = pl.DataFrame({"rater": list(SCORES), "age": [AGES[rater[0]] for rater in SCORES]} | more)
    return pv.Ratings.from_frame(pl.DataFrame(rows), scale=SCALE, raters=raters)


def by_text(said: Callable[[str, int], Any]) -> Any:
    """Return a mock model that answers to the text between the marks, and how often it was asked about it."""
    from inspect_ai.model import ModelOutput, ModelUsage, get_model

    asked: dict[str, int] = {}

    def answer(messages: Sequence[Any], *_: Any) -> Any:
        text = messages[-1].text.split(" -----\n")[1].split("\n-----")[0]
        asked[text] = asked.get(text, 0) + 1
        found = said(text, asked[text])
        if isinstance(found, Exception):
            raise found
        output = ModelOutput.from_content("mockllm/model", found) if isinstance(found, str) else found
        output.usage = ModelUsage()  # else the mock model counts tokens, which takes a download
        return output

    return get_model("mockllm/model", custom_outputs=answer, memoize=False)


def evaluated(task: Any, said: Callable[[str, int], Any], folder: Path, **options: Any) -> Any:
    [log] = inspect_ai.eval(task, model=by_text(said), log_dir=str(folder), display="none", **options)
    assert log.status == "success", log.error
    return log


def metrics_of(log: Any) -> dict[str, float]:
    [score] = log.results.scores
    return {name: metric.value for name, metric in score.metrics.items()}


def a_task(**options: Any) -> Any:
    from plurivox.inspect import alignment_task

    return alignment_task(ITEMS, QUESTION, the_ratings(), **options)


# Metrics -------------------------------------------------------------------------------------------------------------
def test_metrics_against_statistics_of_the_same_counts_and_by_hand(tmp_path: Path) -> None:
    log = evaluated(a_task(by="age"), lambda text, _: SAID.get(text, "C"), tmp_path)
    found = metrics_of(log)
    expected = {
        "answered": 3, "refused": 1, "unreadable": 1,
        "ada_met": ada_met(EVERYONE, POINTS), "ada_met_answered": ada_met_answered(EVERYONE, POINTS), "scored": 4,
        "withheld[age]": 0,
    }  # fmt: skip
    for group, scored in (("young", 4), ("old", 3)):
        expected |= {
            f"ada_met[age={group}]": ada_met(VOTES[group], POINTS),
            f"ada_met_answered[age={group}]": ada_met_answered(VOTES[group], POINTS),
            f"scored[age={group}]": scored,
        }
    assert found == pytest.approx(expected)
    # Everyone: modes 3, since 3 3 3 4; 1; 1; 3. Distances |3 − 0|, |1 − 1|, and K = 3 twice.
    assert EVERYONE.tolist() == [[3, 3, 3, 4], [4, 6, 2, 1], [2, 7, 2, 2], [1, 1, 1, 4]]
    assert found["ada_met"] == pytest.approx((3 + 0 + 3 + 3) / 4)
    assert found["ada_met_answered"] == pytest.approx((3 + 0) / 2)
    assert found["ada_met[age=young]"] == pytest.approx((0 + 0 + 3 + 3) / 4)  # modes 0, 1, 2.5, 3
    assert found["ada_met[age=old]"] == pytest.approx((2.5 + 1 + 3) / 3)  # modes 2.5, 0, 1, and none of item 4
    assert found["ada_met_answered[age=old]"] == pytest.approx((2.5 + 1) / 2)
    assert [list(sample.target) for sample in a_task().dataset] == [["D"], ["B"], ["B"], ["D"], []]


def test_all_epochs_count(tmp_path: Path) -> None:
    def said(text: str, time: int) -> str:
        return SAID.get(text, "C") if time < 3 else "D"

    found = metrics_of(evaluated(a_task(by=["age"], epochs=3), said, tmp_path, max_samples=1))
    points = [0, 0, 3, 1, 1, 3, None, None, 3, None, None, 3]
    assert (found["answered"], found["refused"], found["unreadable"], found["scored"]) == (11, 2, 2, 12)
    for name, votes in (
        ("ada_met", EVERYONE),
        ("ada_met[age=young]", VOTES["young"]),
        ("ada_met[age=old]", VOTES["old"]),
    ):
        assert found[name] == pytest.approx(ada_met(np.repeat(votes, 3, axis=0), points))


def test_small_groups_are_withheld(tmp_path: Path) -> None:
    from plurivox.inspect import alignment_task

    cities = ["Ulm"] * 5 + ["Bonn"] * 6 + ["Jena"] * 2
    task = alignment_task(ITEMS, QUESTION, the_ratings(city=cities), by=["city"])
    found = metrics_of(evaluated(task, lambda *_: "B", tmp_path))
    assert {name for name in found if name.startswith("ada_met[")} == {"ada_met[city=Bonn]"}
    assert found["withheld[city]"] == 2  # with Ulm beside it, Jena's two would be known
    assert "Jena" not in json.dumps(found)
    few = alignment_task(ITEMS.filter(pl.col("item") == 4), QUESTION, the_ratings(city=cities), by=["city"])
    found = metrics_of(evaluated(few, lambda *_: "B", tmp_path))  # nobody in Bonn rated item 4
    assert not {name for name in found if name.startswith("ada_met[")}  # Ulm is withheld as before
    assert found["withheld[city]"] == 3


def test_crossings(tmp_path: Path) -> None:
    from plurivox.inspect import alignment_task

    task = alignment_task(
        ITEMS, QUESTION, the_ratings(city=["Ulm"] * 13), by=[("age", "city"), "city"], min_group_size=1
    )
    found = metrics_of(evaluated(task, lambda *_: "B", tmp_path))
    assert found["ada_met[age × city=young × Ulm]"] == pytest.approx(ada_met(VOTES["young"], [1] * 4))
    assert found["ada_met[city=Ulm]"] == found["ada_met"]


# Scores --------------------------------------------------------------------------------------------------------------
def test_scores_tell_how_an_answer_was_read(tmp_path: Path) -> None:
    log = evaluated(a_task(), lambda text, _: SAID.get(text, "C"), tmp_path)
    scores = {sample.id: sample.scores["alignment"] for sample in log.samples}
    assert [(one.value["state"], one.value["point"], one.value["distance"], one.reason) for one in scores.values()] == [
        ("answered", 0, 3.0, None), ("answered", 1, 0.0, None), ("refused", None, K, "refusal"),
        ("unreadable", None, K, "invalid_response_format"), ("answered", 2, None, None),  # nobody rated the last
    ]  # fmt: skip
    assert (scores["1"].answer, scores["1"].explanation, scores["3"].answer) == ("never", "whole_answer: A", None)
    assert scores["2"].explanation.endswith(": B")


def test_a_filter_refuses_and_a_failure_is_no_answer(tmp_path: Path) -> None:
    from inspect_ai.model import ModelOutput

    def said(text: str, _: int) -> Any:
        if text == "Be kind.":
            return ModelOutput.from_content("mockllm/model", "", stop_reason="content_filter")
        if text == "Never lie.":
            return RuntimeError("the server is gone")
        return ModelOutput(model="mockllm/model") if text == "Be loud." else "D"

    log = evaluated(a_task(), said, tmp_path)
    found = metrics_of(log)
    assert (found["answered"], found["refused"], found["unreadable"], found["scored"]) == (2, 1, 0, 2)
    assert found["ada_met"] == pytest.approx((K + 0) / 2)
    states = read_inspect_log(log.location).sort("item")["state"].to_list()
    assert states == ["refused", "failed", "failed", None, None]


def test_without_output_there_is_no_score(tmp_path: Path) -> None:
    from inspect_ai.solver import solver

    @solver
    def waits() -> Any:
        async def solve(state: Any, generate: Any) -> Any:
            return state if "Be kind." in state.input_text else await generate(state)

        return solve

    task = a_task()
    task.solver = waits()
    log = evaluated(task, lambda *_: "D", tmp_path)
    assert log.results.scores[0].unscored_samples == 1
    assert log.samples[0].scores["alignment"].reason == "no_response"
    found = metrics_of(log)
    assert (found["answered"], found["unreadable"], found["scored"]) == (4, 0, 3)
    assert read_inspect_log(log.location).sort("item")["state"].to_list() == ["failed", None, None, None, None]


def test_a_scorer_for_a_task_of_ones_own(tmp_path: Path) -> None:
    from inspect_ai.dataset import Sample

    from plurivox.inspect import alignment_scorer

    texts = ["----- text 1 -----\nBe kind.\n-----", "----- text 2 -----\nNever lie.\n-----"]
    samples = [Sample(id=item, input=text) for item, text in enumerate(texts, 1)]
    task = inspect_ai.Task(dataset=samples, scorer=alignment_scorer(QUESTION, the_ratings(), "age"))
    found = metrics_of(evaluated(task, lambda text, _: SAID[text], tmp_path))
    assert found["ada_met[age=old]"] == pytest.approx((2.5 + 1) / 2)


# Task ----------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("prompt", ["plain", "described", "table"])
def test_the_task_asks_what_plurivox_ask_would(prompt: str) -> None:
    from inspect_ai.model import GenerateConfig

    examples = (Example("Help others.", "often"),)
    task = a_task(prompt=prompt, persona="a nurse", examples=examples)
    plan = make_plan(ITEMS, QUESTION, ["m"], prompts=[prompt], personas=["a nurse"], examples=examples)
    for sample, request in zip(task.dataset, plan.requests(), strict=True):
        assert sample.id == request.item
        assert [{"role": one.role, "content": one.content} for one in sample.input] == list(request.messages)
        assert (sample.metadata, sample.choices) == ({"prompt": request.prompt}, LABELS)
    assert (task.name, task.config.temperature) == (f"{prompt}, as a nurse, with 1 example", 0)
    other = a_task(epochs=2, config=GenerateConfig(temperature=1.0), fail_on_error=True, name="mine")
    assert (other.epochs, other.config.temperature, other.fail_on_error, other.name) == (2, 1.0, True, "mine")


@pytest.mark.parametrize("log_format", ["eval", "json"])
def test_the_log_is_read_back(tmp_path: Path, log_format: str) -> None:
    task = a_task(by="age", epochs=2)
    log = evaluated(task, lambda text, _: SAID.get(text, "C"), tmp_path, log_format=log_format)
    found = read_inspect_log(log.location, scale=SCALE)
    assert found.height == 10
    assert found["order"].to_list() == [[0, 1, 2, 3]] * 10
    answers = pv.Answers.from_frame(found, SCALE)
    assert [(voice.model, voice.prompt) for voice in answers.voices] == [("mockllm/model", "plain")]
    told = {(sample.id, sample.epoch - 1): sample.scores["alignment"].value for sample in log.samples}
    for place, item in enumerate(answers.item):
        value = told[answers.items[int(item)], int(answers.sample[place])]
        assert STATES[answers.state[place]] == value["state"]
        assert answers.point[place] == (-1 if value["point"] is None else value["point"])
    rated = found.filter(pl.col("item") != "5")
    aligned = pv.alignment(the_ratings(), rated, by=["age"], bootstrap=0, permutations=0, subsamples=0)
    assert aligned.value("mockllm/model") == pytest.approx(metrics_of(log)["ada_met"])


def test_a_log_of_an_evaluation_that_an_error_ended(tmp_path: Path) -> None:
    def said(text: str, _: int) -> Any:
        return RuntimeError("the server is gone") if text == "Be loud." else "B"

    task = a_task(fail_on_error=True)
    [log] = inspect_ai.eval(task, model=by_text(said), log_dir=str(tmp_path), display="none", max_samples=1)
    assert log.status == "error"
    found = read_inspect_log(log.location).sort("item")
    assert found["text"].to_list() == ["B", "B", None, None, None]
    assert found["state"].to_list() == [None, None, "failed", "failed", "failed"]


def test_a_log_of_choices_that_the_dataset_shuffled(tmp_path: Path) -> None:
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.scorer import choice
    from inspect_ai.solver import multiple_choice

    texts = [f"----- text -----\n{text}\n-----" for text in ITEMS["text"]]
    data = MemoryDataset([Sample(id=at, input=text, choices=LABELS, target="B") for at, text in enumerate(texts)])
    data.shuffle_choices(seed=4)
    shown = {str(sample.id): [LABELS.index(one) for one in sample.choices or ()] for sample in data}
    assert len(set(map(tuple, shown.values()))) > 1
    task = inspect_ai.Task(dataset=data, solver=multiple_choice(), scorer=choice())
    log = evaluated(task, lambda *_: "ANSWER: B", tmp_path)
    found = read_inspect_log(log.location, scale=SCALE)
    assert dict(found.select("item", "order").iter_rows()) == shown
    with pytest.raises(ScaleError, match="comparing them takes a scale"):
        read_inspect_log(log.location)


def test_the_example_in_the_documentation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ratings = the_ratings()
    ratings.to_frame().write_csv("ratings.csv")
    ratings.raters.write_csv("raters.csv")
    ITEMS.write_csv("items.csv")
    page = (Path(__file__).parents[1] / "docs" / "inspect.md").read_text(encoding="utf-8")
    [example] = [part.split("```")[0] for part in page.split("```python\n") if "@task" in part]
    names: dict[str, Any] = {"__name__": "norms"}
    exec(example, names)
    found = metrics_of(evaluated(names["norms"](), lambda text, _: SAID.get(text, "C"), tmp_path, epochs=3))
    assert found["ada_met[age=old]"] == pytest.approx((2.5 + 1 + 3) / 3)
    assert found["scored"] == 12
    told = page.split("## What is reported")[1]
    assert all(f"`{name.split('[')[0]}" in told or f"`{name}`" in told for name in found)


def test_no_rating_gets_into_the_log(tmp_path: Path) -> None:
    log = evaluated(a_task(by="age"), lambda *_: "B", tmp_path)
    text = log.model_dump_json()
    assert "Be kind." in text
    assert not [rater for rater in SCORES if f'"{rater}"' in text]
    assert log.eval.scorers[0].options == {}


# What cannot be asked ------------------------------------------------------------------------------------------------
def test_another_scale() -> None:
    from plurivox.inspect import alignment_scorer

    with pytest.raises(
        InputError, match=r"on the scale 0 < 1, but the ratings are on never < .*Question\(ratings\.scale"
    ):
        alignment_scorer(Question(pv.Scale.range(0, 1)), the_ratings())


def test_items_and_groups_that_there_are_not() -> None:
    from plurivox.inspect import alignment_task

    with pytest.raises(
        InputError, match=r"no item that is asked about is rated: they are called 'a' .* rated ones '1'"
    ):
        alignment_task(pl.DataFrame({"item": ["a"], "text": ["b"]}), QUESTION, the_ratings())
    with pytest.raises(ColumnError, match="there is no column 'words'"):
        alignment_task(ITEMS, QUESTION, the_ratings(), text="words")
    with pytest.raises(SelectionError, match="raters have no attribute 'city'; they have: age"):
        alignment_task(ITEMS, QUESTION, the_ratings(), by="city")


def test_without_inspect() -> None:
    script = "import sys; sys.modules['inspect_ai'] = None; import plurivox.inspect"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert "MissingExtraError" in done.stderr
    assert "pip install 'plurivox[inspect]'" in done.stderr
