"""Answers from the logs of Inspect and of the lm-evaluation-harness: real ones, cut ones, and what is no log."""

from __future__ import annotations

import gzip
import json
import math
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plurivox import Answers, Scale
from plurivox.ask.logs import COLUMNS, in_order, read_inspect_log, read_lm_eval_samples
from plurivox.base.errors import DuplicateError, FileError, InputError, ScaleError
from plurivox.domain.reader import read_answer
from support import Write

if sys.version_info >= (3, 14):
    import zipfile
else:
    from backports.zstd import zipfile

LOGS = Path(__file__).parent / "logs"
EVAL, JSON, CHOICES, SHUFFLED, CHUNKED = (
    next((LOGS / "inspect" / kind).iterdir()) for kind in ("eval", "json", "choices", "shuffled", "chunked")
)
OLD = next((LOGS / "inspect_0.3.60" / "eval").iterdir())
TOLD = LOGS / "lm_eval" / "org__told-1.0"
LABELS = ["never", "sometimes", "always"]
SCALE = Scale(LABELS)
LONG = "I would say " + "always, " * 40 + "so: C) always"
SORRY = "I'm sorry, but I can't rate this."
E = math.exp(-1)
A_OR_B = pytest.approx([E / (1 + E), 1 / (1 + E), 0])  # log-probabilities -1.5 and -0.5

Change = Callable[[dict[str, Any]], object]


def samples_of(task: str) -> Path:
    return next(TOLD.glob(f"samples_norms_{task}_*.jsonl"))


def sorted_rows(frame: pl.DataFrame) -> list[dict[str, Any]]:
    assert frame.schema == pl.Schema(COLUMNS)
    return frame.sort("prompt", "item", "sample").to_dicts()


def values(frame: pl.DataFrame, column: str) -> dict[tuple[str, int], Any]:
    return {(row["item"], row["sample"]): row[column] for row in sorted_rows(frame)}


@pytest.fixture
def archive(tmp_path: Path) -> Callable[..., Path]:
    """Write an archive of texts, or of what JSON can hold."""

    def make(entries: dict[str, Any], name: str = "log.eval", packing: int = zipfile.ZIP_STORED) -> Path:
        path = tmp_path / name
        with zipfile.ZipFile(path, "w", compression=packing) as made:
            for entry, content in entries.items():
                made.writestr(entry, content if isinstance(content, str) else json.dumps(content))
        return path

    return make


@pytest.fixture
def changed(tmp_path: Path) -> Callable[[Change], Path]:
    """Write the JSON log with a change."""

    def make(change: Change) -> Path:
        log = json.loads(JSON.read_bytes())
        change(log)
        path = tmp_path / JSON.name
        path.write_text(json.dumps(log))
        return path

    return make


# Inspect: what is in real logs ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("log", [EVAL, JSON, OLD], ids=["eval", "json", "0.3.60"])
def test_logs_of_all_formats_hold_the_same_answers(log: Path) -> None:
    found = sorted_rows(read_inspect_log(log))
    assert {(row["model"], row["prompt"]) for row in found} == {("mockllm/model", "norms")}
    assert [(row["item"], row["sample"], row["text"], row["state"]) for row in found] == [
        ("7", 0, SORRY, None), ("7", 1, "A", None), ("filtered", 0, "", "refused"), ("filtered", 1, "", "refused"),
        ("kind", 0, "B", None), ("kind", 1, LONG, None), ("x/y", 0, None, "failed"), ("x/y", 1, None, "failed"),
    ]  # fmt: skip
    assert all(row[name] is None for row in found for name in ("point", "distribution", "order"))


def test_alignment_takes_the_table() -> None:
    found = Answers.from_frame(read_inspect_log(EVAL), SCALE)
    assert found.models == ("mockllm/model",)
    assert found.state.tolist() == [1, 0, 1, 1, 0, 0, 3, 3]  # items sorted: 7, filtered, kind, x/y
    assert found.point.tolist() == [-1, 0, -1, -1, 1, 2, -1, -1]


def test_log_probabilities_need_to_know_the_options() -> None:
    found = values(read_inspect_log(EVAL, scale=LABELS), "distribution")
    assert found.pop(("kind", 0)) == A_OR_B
    assert set(found.values()) == {None}
    shares = values(read_inspect_log(CHOICES), "distribution")
    assert shares["kind", 0] == A_OR_B
    assert shares["7", 0] is None


def test_a_scale_tells_the_order_of_choices() -> None:
    as_listed = read_inspect_log(CHOICES, scale="never,sometimes,always")
    assert values(as_listed, "order") == {("7", 0): [0, 1, 2], ("kind", 0): [0, 1, 2]}
    other = read_inspect_log(CHOICES, scale=Scale(["always", "never", "sometimes"]))
    assert values(other, "order") == {("7", 0): [1, 2, 0], ("kind", 0): [1, 2, 0]}
    assert values(other, "distribution")["kind", 0] == pytest.approx([0, E / (1 + E), 1 / (1 + E)])
    with pytest.raises(
        ScaleError, match=r"choices_.*sample 'kind', epoch 1: the choices are 'never', .* not the points"
    ):
        read_inspect_log(CHOICES, scale="no,yes")
    with pytest.raises(ScaleError, match="not the points of the scale never < sometimes < often < always"):
        read_inspect_log(CHOICES, scale="never,sometimes,often,always")


def test_choices_that_the_solver_shuffled_are_read_in_the_order_that_the_answer_goes_by() -> None:
    # It showed never, always, sometimes; of "ANSWER: B" it made C, and "It is C, surely." it left.
    found = read_inspect_log(SHUFFLED, scale=SCALE)
    assert values(found, "text") == {("kind", 0): "ANSWER: C", ("7", 0): "It is C, surely."}
    assert values(found, "order") == {("kind", 0): None, ("7", 0): [0, 2, 1]}
    assert values(found, "distribution") == {("kind", 0): None, ("7", 0): None}  # of letters as shown, not as written
    assert read_answer("It is C, surely.", [("A", "never"), ("B", "always"), ("C", "sometimes")]).point == 2
    with pytest.raises(ScaleError, match="sample 7, epoch 1: the choices are 'never', 'always', 'sometimes', but were"):
        read_inspect_log(SHUFFLED)
    assert sorted_rows(read_inspect_log(CHUNKED, scale=SCALE)) == sorted_rows(read_inspect_log(CHOICES, scale=SCALE))


def test_a_question_that_does_not_tell_how_it_was_shuffled(changed: Callable[[Change], Path]) -> None:
    def shuffle(log: dict[str, Any]) -> None:
        log["plan"]["steps"] = [{"solver": "inspect_ai/multiple_choice", "params": {"shuffle": True}}]
        for sample in log["samples"]:
            sample["choices"] = ["rarely", "often"]

    with pytest.raises(InputError, match=r"epoch 1: choices were shuffled, and the log does not say.*shuffle_choices"):
        read_inspect_log(changed(shuffle))


# Inspect: logs that ended early, and folders -------------------------------------------------------------------------
def test_what_was_not_asked_has_failed(changed: Callable[[Change], Path]) -> None:
    def cancel(log: dict[str, Any]) -> None:
        log["status"] = "cancelled"
        log["samples"] = [one for one in log["samples"] if one["id"] == "kind"]

    found = values(read_inspect_log(changed(cancel)), "state")
    assert len(found) == 8
    assert {key for key, state in found.items() if state is None} == {("kind", 0), ("kind", 1)}
    assert set(found.values()) == {None, "failed"}


def test_a_log_that_is_being_written_has_no_header_yet(archive: Callable[..., Path]) -> None:
    with zipfile.ZipFile(EVAL) as log:
        entries = {name: log.read(name).decode() for name in log.namelist()}
    del entries["header.json"], entries["samples/x/y_epoch_1.json"]
    found = values(read_inspect_log(archive(entries)), "text")
    assert found["kind", 0] == "B"
    assert found["x/y", 0] is None


def said(content: Any, **more: Any) -> dict[str, Any]:
    return {"output": {"choices": [{"message": {"content": content, **more}}]}}


@pytest.mark.parametrize(("change", "text", "state"), [
    ({"invalidation": {"author": "a", "reason": "wrong"}}, None, "failed"),
    ({"error": {"message": "gone"}}, None, "failed"),
    ({"output": {"model": "m", "choices": [], "completion": ""}}, None, "failed"),
    ({"output": {"completion": "C"}}, "C", None), (said("B", role="assistant"), "B", None),
    (said([{"type": "reasoning", "reasoning": "A?"}, {"type": "text", "text": "C"}]), "C", None),
])  # fmt: skip
def test_outputs(
    changed: Callable[[Change], Path], change: dict[str, Any], text: str | None, state: str | None
) -> None:
    found = read_inspect_log(changed(lambda log: log["samples"][0].update(change))).row(0, named=True)
    assert (found["text"], found["state"]) == (text, state)


def test_of_several_entries_of_one_name_the_last_counts(tmp_path: Path) -> None:
    path = tmp_path / "log.eval"
    shutil.copy(EVAL, path)
    with zipfile.ZipFile(path) as log:
        sample = json.loads(log.read("samples/kind_epoch_1.json"))
    sample["output"]["completion"] = "changed"
    with zipfile.ZipFile(path, "a") as log, pytest.warns(UserWarning, match="Duplicate name"):
        log.writestr("samples/kind_epoch_1.json", json.dumps(sample))
    found = read_inspect_log(path)
    assert found.height == 8
    assert values(found, "text")["kind", 0] == "changed"


def test_a_folder_of_logs(tmp_path: Path) -> None:
    for read, problem in (
        (read_inspect_log, "there is no Inspect log in this folder"),
        (read_lm_eval_samples, r"there is no file samples_….jsonl in this folder"),
    ):
        with pytest.raises(FileError, match=problem):
            read(tmp_path)
    (tmp_path / "below").mkdir()
    shutil.copy(EVAL, tmp_path / "below")
    shutil.copy(CHOICES, tmp_path)
    (tmp_path / "logs.json").write_text("{}")  # Inspect's own list of them
    found = read_inspect_log(tmp_path)
    assert found.group_by("prompt").len().sort("prompt").rows() == [("choices", 2), ("norms", 8)]
    shutil.copy(JSON, tmp_path)
    problem = rf"below/{EVAL.name}: .*/{JSON.name} already has mockllm/model's answer to item 'kind' of 'norms'"
    with pytest.raises(DuplicateError, match=problem):
        read_inspect_log(tmp_path)


# Inspect: what is no log ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize("cut", [0, 1, 3, 100, 2000, -1])
def test_cut_off_archives(write: Write, cut: int) -> None:
    with pytest.raises(FileError, match=r"log\.eval: this is not an Inspect log, or it is damaged, cut off"):
        read_inspect_log(write("log.eval", EVAL.read_bytes()[:cut]))


def test_cut_off_json(write: Write) -> None:
    with pytest.raises(
        FileError, match=r"log\.json: the JSON is damaged or cut off .*Download or write the file again"
    ):
        read_inspect_log(write("log.json", JSON.read_bytes()[:-100]))
    with pytest.raises(FileError, match="the JSON is damaged"):
        read_inspect_log(write("deep.json", '{"a":' + "[" * 100_000))


@pytest.mark.parametrize("packing", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_ZSTANDARD, zipfile.ZIP_LZMA])
def test_damaged_entries(archive: Callable[..., Path], packing: int) -> None:
    with zipfile.ZipFile(EVAL) as log:
        entries = {name: log.read(name).decode() for name in ("header.json", "samples/kind_epoch_2.json")}
    path = archive(entries, packing=packing)
    assert values(read_inspect_log(path), "text")["kind", 1] == LONG
    data = bytearray(path.read_bytes())
    with zipfile.ZipFile(path) as log:
        start = log.getinfo("samples/kind_epoch_2.json").header_offset + 80
    data[start : start + 200] = b"\xff" * 200
    path.write_bytes(data)
    with pytest.raises(FileError, match=r"log\.eval.*damaged"):
        read_inspect_log(path)


def test_unknown_packing(archive: Callable[..., Path]) -> None:
    path = archive({"header.json": {}})
    data = bytearray(path.read_bytes())
    for sign, offset in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)):
        data[data.index(sign) + offset] = 97
    path.write_bytes(data)
    with pytest.raises(FileError, match=r"packed in an unknown way \(.*\)\. .*inspect log convert --to json"):
        read_inspect_log(path)


def test_archives_that_are_no_logs(archive: Callable[..., Path]) -> None:
    for entries in ({}, {"word/document.xml": "<x/>"}):
        with pytest.raises(FileError, match=r"this is not an Inspect log: the archive has no header\.json"):
            read_inspect_log(archive(entries))
    with pytest.raises(FileError, match=r"log\.eval, header\.json: the JSON is damaged"):
        read_inspect_log(archive({"header.json": '{"version":'}))


@pytest.mark.parametrize(("change", "problem"), [
    (lambda log: log.update(version=3), "it is in version 3 of the format, but the newest known version is 2. Update"),
    (lambda log: log.pop("version"), "not an Inspect log: it lacks a version, a model or a task"),
    (lambda log: log.pop("eval"), "it lacks a version, a model or a task"),
    (lambda log: log["eval"].pop("model"), "it lacks a version, a model or a task"),
    (lambda log: log["eval"].pop("task"), "it lacks a version, a model or a task"),
    (lambda log: log["samples"][0].pop("id"), "a sample lacks its id, epoch or output"),
    (lambda log: log["samples"][0].pop("epoch"), "a sample lacks its id, epoch or output"),
    (lambda log: log["samples"][0].pop("output"), "a sample lacks its id, epoch or output"),
    (lambda log: log["samples"].append("text"), "a sample lacks its id, epoch or output"),
])  # fmt: skip
def test_what_a_log_has_to_hold(changed: Callable[[Change], Path], change: Change, problem: str) -> None:
    with pytest.raises(FileError, match=problem):
        read_inspect_log(changed(change))


def test_a_log_without_samples(changed: Callable[[Change], Path]) -> None:
    with pytest.raises(InputError, match=r"it has no samples\. Evaluate again without --no-log-samples"):
        read_inspect_log(changed(lambda log: log.pop("samples")))


def test_files_that_cannot_be_read(tmp_path: Path, write: Write) -> None:
    with pytest.raises(FileError, match=r"nowhere\.eval: it cannot be read \(No such file"):
        read_inspect_log(tmp_path / "nowhere.eval")
    with pytest.raises(FileError, match="not an Inspect log"):
        read_inspect_log(write("table.csv", "item,answer\n1,2\n"))


# lm-evaluation-harness: what is in real files ------------------------------------------------------------------------
def test_choices_become_a_distribution_and_a_point() -> None:
    found = sorted_rows(read_lm_eval_samples(samples_of("mc")))
    assert [(row["model"], row["prompt"], row["item"], row["sample"]) for row in found] == [
        ("org/told-1.0", "norms_mc", item, 0) for item in "012"
    ]
    assert [row["point"] for row in found] == [0, 2, 1]
    for row, record in zip(found, map(json.loads, samples_of("mc").read_text().splitlines()), strict=True):
        weights = [math.exp(float(one[0][0])) for one in record["resps"]]
        assert row["distribution"] == pytest.approx([one / sum(weights) for one in weights])
        assert row["point"] == weights.index(max(weights))
    assert all(row[name] is None for row in found for name in ("text", "state", "order"))


def test_a_scale_puts_choices_into_its_order() -> None:
    plain = read_lm_eval_samples(samples_of("mc"))
    other = read_lm_eval_samples(samples_of("mc"), scale=["always", "never", "sometimes"])
    assert other["point"].to_list() == [1, 0, 2]
    for there, here in zip(other["distribution"], plain["distribution"], strict=True):
        assert there.to_list() == [here[2], here[0], here[1]]
    with pytest.raises(ScaleError, match=r"row 1: the choices are 'never', .* not the points of the scale no < yes"):
        read_lm_eval_samples(samples_of("mc"), scale="no,yes")


def test_choices_without_the_question_do_not_count() -> None:
    mutual, plain = (read_lm_eval_samples(samples_of(task)).drop("prompt") for task in ("mutual", "mc"))
    assert mutual.equals(plain)


def test_written_answers_are_those_before_any_filter() -> None:
    found = values(read_lm_eval_samples(samples_of("gen")), "text")
    sorry = "I'm sorry, but I can't help with that."
    assert found == {
        ("0", 0): "I would say B", ("0", 1): "C", ("1", 0): "A) never", ("1", 1): "A) never", ("2", 0): sorry,
        ("2", 1): sorry,
    }  # fmt: skip


def test_a_filter_by_its_name() -> None:
    found = values(read_lm_eval_samples(samples_of("gen"), filter_name="letter"), "text")
    assert found == {("0", 0): "B", ("1", 0): "A", ("2", 0): "[invalid]"}
    with pytest.raises(InputError, match=r"there is no filter 'strict'\. Use one of 'letter', 'raw'"):
        read_lm_eval_samples(samples_of("gen"), filter_name="strict")
    chosen = read_lm_eval_samples(samples_of("mc"), filter_name="none")
    assert chosen.equals(read_lm_eval_samples(samples_of("mc")))


def test_items_by_a_field_of_the_document() -> None:
    assert read_lm_eval_samples(samples_of("mc"), item="id")["item"].to_list() == ["norm-1", "norm-2", "norm-3"]
    with pytest.raises(InputError, match=r"row 1: the document has no id in 'number'\. Name the field with item="):
        read_lm_eval_samples(samples_of("mc"), item="number")


@pytest.mark.parametrize("task", ["ll", "roll"])
def test_tasks_without_answers(task: str) -> None:
    with pytest.raises(InputError, match=rf"samples_norms_{task}_.*row 1: the model neither wrote nor chose"):
        read_lm_eval_samples(samples_of(task))


def test_names_of_models(tmp_path: Path) -> None:
    folder = tmp_path / "meta-llama__Llama-3.1-8B"
    folder.mkdir()
    file = Path(shutil.copy(samples_of("gen"), folder))

    def models(**given: str) -> set[str]:
        return set(read_lm_eval_samples(file, **given)["model"])

    assert models() == {"meta-llama/Llama-3.1-8B"}
    results = file.with_name(file.name.replace("samples_norms_gen_", "results_").replace(".jsonl", ".json"))
    results.write_text('{"model_name": "meta__llama"}')
    assert models() == {"meta__llama"}
    assert models(model="mine") == {"mine"}
    results.write_text("{")
    assert models() == {"meta-llama/Llama-3.1-8B"}


def test_a_folder_of_sample_files(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        for task in ("mc", "gen"):
            shutil.copy(samples_of(task), tmp_path / name)
    found = read_lm_eval_samples(tmp_path)
    assert found.group_by("model", "prompt").len().sort("model", "prompt").rows() == [
        ("one", "norms_gen", 6), ("one", "norms_mc", 3), ("two", "norms_gen", 6), ("two", "norms_mc", 3),
    ]  # fmt: skip
    with pytest.raises(
        DuplicateError, match=r"two.*gen.*: .*one.*gen.* already has m's answer to item '0' of 'norms_gen'"
    ):
        read_lm_eval_samples(tmp_path, model="m")


def test_packed_files_and_other_names(write: Write) -> None:
    plain = read_lm_eval_samples(samples_of("gen"))
    packed = write(samples_of("gen").name + ".gz", gzip.compress(samples_of("gen").read_bytes()))
    assert read_lm_eval_samples(packed, model="org/told-1.0").equals(plain)
    other = read_lm_eval_samples(write("my.answers.jsonl", samples_of("gen").read_bytes()))
    assert set(other["prompt"]) == {"my.answers"}


# lm-evaluation-harness: what is no sample ----------------------------------------------------------------------------
def a_record(**changes: Any) -> dict[str, Any]:
    """Return a question with two choices, the second of which is e times as likely."""
    asked = {
        f"gen_args_{at}": {"arg_0": "Is it rude?", "arg_1": f" {choice}"} for at, choice in enumerate(("no", "yes"))
    }
    resps = [[["-2.0", "False"]], [["-1.0", "True"]]]
    return {
        "doc_id": 0, "doc": {}, "arguments": asked, "resps": resps, "filtered_resps": [one[0] for one in resps],
        "filter": "none",
    } | changes  # fmt: skip


def asking(*choices: str) -> dict[str, Any]:
    return {f"gen_args_{at}": {"arg_0": "Is it rude?", "arg_1": choice} for at, choice in enumerate(choices)}


def lines(*records: Any) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def test_records_as_written_here_are_read(write: Write) -> None:
    def read(*records: Any, **given: Any) -> pl.DataFrame:
        return read_lm_eval_samples(write("samples_t.jsonl", lines(*records) + "\n"), **given)

    found = read(a_record(), scale="yes,no")
    assert found.select("prompt", "item", "point").rows() == [("t", "0", 0)]
    assert found["distribution"][0].to_list() == pytest.approx([1 / (1 + E), E / (1 + E)])
    letters = a_record(arguments=asking(" A", " B"))  # choices in the order of the scale
    assert read(letters, scale="yes,no")["point"].to_list() == [1]
    alike = a_record(resps=[[["-1.0", "False"]], [["-1.0", "False"]]])  # the first of the likeliest is the point
    assert read(alike)["point"].to_list() == [0]
    impossible = a_record(resps=[[["-inf", "False"]], [["-9000.0", "False"]]])
    assert read(impossible)["distribution"].to_list() == [[0.0, 1.0]]
    asked = {"gen_args_0": {"arg_0": "Is it rude?", "arg_1": {"until": []}}}
    none = [a_record(arguments=asked, resps=[[]]), a_record(doc_id=1, resps=[[], []])]  # no response
    assert read(*none)["state"].to_list() == ["failed", "failed"]


@pytest.mark.parametrize(("records", "problem"), [
    ([{"item": 1, "answer": "yes"}], "row 1: this is not a sample .* lacks doc_id, arguments, resps, filtered_resps"),
    ([a_record(), 7], "row 2: this is not a sample of lm-evaluation-harness"),
    ([a_record(resps="no")], "it lacks resps"),
    ([a_record(), a_record(resps=[[["-1.0", ""]], [["-1.0", ""]]])], "row 2: document 0 had other answers before"),
    ([a_record(resps=[[["nan", ""]], [["-1.0", ""]]])], "a log-likelihood is not a number"),
    ([a_record(resps=[[["-inf", ""]], [["-inf", ""]]])], "a log-likelihood is not a number"),
    ([a_record(resps=[[[]], [["-1.0", ""]]])], "a log-likelihood is not a number"),
    ([a_record(resps=[[["-1.0", ""]], []])], "the choices have not been tried equally often"),
    ([a_record(resps=[[["-1.0", ""]]])], "neither wrote nor chose"),
    ([a_record(arguments=asking(" no", "no"))], "the choices 'no', 'no' are not all different"),
    ([a_record(), a_record(doc_id=1, arguments=asking(" yes", " no"))],
     "row 2: the choices are 'yes', 'no', but were 'no', 'yes' before; comparing them takes a scale"),
])  # fmt: skip
def test_records_that_cannot_be_read(write: Write, records: list[Any], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        read_lm_eval_samples(write("samples_t.jsonl", lines(*records)))


@pytest.mark.parametrize(("name", "content", "error", "problem"), [
    ("samples_t.jsonl", lines(a_record()) + lines(a_record(doc_id=1))[:50], FileError,
     "row 2: the JSON is damaged or cut off"),
    ("samples_t.jsonl", "", FileError, "the file is empty"),
    ("samples_t.jsonl", "\n \n", InputError, "it contains no samples"),
    ("samples_t.jsonl", None, FileError, "there is no such file"),
    ("old.jsonl", json.dumps([a_record()], indent=2), FileError, "row 1: the JSON is damaged"),  # as before 0.4.3
])  # fmt: skip
def test_files_that_are_no_samples(
    write: Write, tmp_path: Path, name: str, content: str | None, error: type[Exception], problem: str
) -> None:
    with pytest.raises(error, match=problem):
        read_lm_eval_samples(tmp_path / name if content is None else write(name, content))


def test_a_document_that_a_filter_gave_twice(write: Write) -> None:
    path = write("samples_t.jsonl", lines(a_record(), a_record()))
    assert read_lm_eval_samples(path).height == 1  # the same answers, as other filters have them
    with pytest.raises(DuplicateError, match=r"it already has .*'s answer to item '0' of 't', repetition 1"):
        read_lm_eval_samples(path, filter_name="none")


@given(st.permutations(range(5)), st.lists(st.floats(0, 1), min_size=5, max_size=5))
def test_shares_follow_their_choices(order: list[int], shares: list[float]) -> None:
    assert [in_order(shares, order)[place] for place in order] == shares
