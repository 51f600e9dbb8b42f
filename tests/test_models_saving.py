"""Models in folders: what is written, what comes back, and which damage ends in which error."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import plurivox as pv
from plurivox.base.errors import FileError, ScaleError

torch = pytest.importorskip("torch", reason="models need plurivox[torch]")
pytest.importorskip("safetensors", reason="models need plurivox[torch]")

import safetensors.torch  # noqa: E402

from plurivox import models  # noqa: E402
from plurivox.models import predictor  # noqa: E402
from plurivox.models.kinds import KINDS  # noqa: E402

TEXTS = [f"word{i % 4} {'🙃 שלום' if i % 3 else 'no'} only{i}" for i in range(20)]
BEFORE = [None if i % 5 else "earlier" for i in range(20)]
SCALE = pv.Scale(["No", "Unsure", "Yes"], values=[0, 1, 4], missing=["?"])


def trained(kind: str = "mlp-kl", seed: int = 0) -> models.Predictor:
    scores = [SCALE.labels[i % 3] for i in range(20)]
    frame = pl.DataFrame({"item": range(20), "rater": [f"rater-{i}" for i in range(20)], "score": scores})
    items = pl.DataFrame({"item": range(20), "said": TEXTS, "before": BEFORE})
    ratings = pv.Ratings.from_frame(frame, scale=SCALE)
    return models.fit(ratings, items, kind, text="said", context="before", epochs=2, seed=seed, length=8)


@pytest.fixture(scope="module")
def model() -> models.Predictor:
    return trained()


@pytest.fixture
def folder(model: models.Predictor, tmp_path: Path) -> Path:
    model.save(tmp_path / "saved")
    return tmp_path / "saved"


def shares(model: models.Predictor) -> Any:
    return model.shares([*TEXTS, "new"], [*BEFORE, "earlier"])


def about(folder: Path) -> dict[str, Any]:
    text = (folder / "model.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    return found


def edit(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    document = about(folder)
    change(document)
    (folder / "model.json").write_text(json.dumps(document), encoding="utf-8")


def weights(folder: Path) -> Path:
    (found,) = folder.glob("weights-*.safetensors")
    return found


def with_weights(folder: Path, content: bytes) -> None:
    """Put other numbers into the folder, under a name and hash that fit."""
    weights(folder).unlink()
    digest = hashlib.sha256(content).hexdigest()
    name = f"weights-{digest[:12]}.safetensors"
    (folder / name).write_bytes(content)
    edit(folder, lambda document: document.update(weights={"file": name, "sha256": digest}))


def refused(folder: Path) -> str:
    with pytest.raises(FileError) as caught:
        models.load(folder)
    return str(caught.value).replace(str(folder) + os.sep, "").replace(str(folder), "FOLDER")


# There and back ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", list(KINDS))
def test_round_trip_is_exact(kind: str, tmp_path: Path) -> None:
    model = trained(kind)
    written = model.save(tmp_path / "new" / "folder")
    assert sorted(written) == sorted((tmp_path / "new" / "folder").iterdir())
    torch.manual_seed(3)
    state = torch.get_rng_state()
    found = models.load(str(tmp_path / "new" / "folder"), scale=SCALE)
    assert torch.equal(torch.get_rng_state(), state)
    np.testing.assert_array_equal(shares(model), shares(found))
    for name in ("kind", "scale", "text", "context", "training", "settings", "versions"):
        assert getattr(found, name) == getattr(model, name)
    again = found.save(tmp_path / "again")
    assert [path.read_bytes() for path in again] == [path.read_bytes() for path in written]


def test_what_is_written(model: models.Predictor, folder: Path) -> None:
    document = about(folder)
    content = weights(folder).read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    assert document["format"] == 1
    assert document["scale"] == SCALE.to_dict()
    assert document["weights"] == {"file": f"weights-{digest[:12]}.safetensors", "sha256": digest}
    assert weights(folder).name == document["weights"]["file"]
    assert set(document["versions"]) == {"plurivox", "python", "torch", "numpy", "safetensors"}
    assert {tensor.dtype for tensor in safetensors.torch.load(content).values()} == {torch.float32}
    text = (folder / "model.json").read_text(encoding="utf-8")
    assert "word1" in text
    assert "only" not in text  # words of one text
    assert "rater-" not in text


def test_saving_again_leaves_one_model(folder: Path) -> None:
    old = weights(folder)
    other = trained(seed=1)
    (folder / "weights-000000000000.safetensors").write_bytes(b"left by a save that was interrupted")
    (folder / "notes.txt").write_text("mine", encoding="utf-8")
    written = other.save(folder)
    assert not old.exists()
    assert sorted(folder.iterdir()) == sorted([*written, folder / "notes.txt"])
    np.testing.assert_array_equal(shares(models.load(folder)), shares(other))
    other.save(folder)
    np.testing.assert_array_equal(shares(models.load(folder)), shares(other))


@pytest.mark.parametrize("step", range(1, 8))
def test_an_interrupted_save_leaves_the_old_model_or_the_new(
    model: models.Predictor, folder: Path, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    other = trained(seed=1)
    expected = [shares(model), shares(other)]
    done = 0

    def interrupting(call: Callable[..., Any]) -> Callable[..., Any]:
        def instead(*arguments: Any, **options: Any) -> Any:
            nonlocal done
            done += 1
            if done == step:
                raise KeyboardInterrupt
            return call(*arguments, **options)

        return instead

    with monkeypatch.context() as patched:
        patched.setattr(Path, "write_bytes", interrupting(Path.write_bytes))
        patched.setattr(Path, "write_text", interrupting(Path.write_text))
        patched.setattr(os, "replace", interrupting(os.replace))
        patched.setattr(Path, "iterdir", interrupting(Path.iterdir))
        with contextlib.suppress(KeyboardInterrupt):
            other.save(folder)
    assert (done == step) == (step <= 5)  # two files written, two put in place, one look for old ones
    found = shares(models.load(folder))
    np.testing.assert_array_equal(found, expected[step >= 5])
    assert not list(folder.glob(".*"))
    other.save(folder)
    assert len(list(folder.iterdir())) == 2


def test_half_a_file_never_takes_the_place_of_a_whole_one(
    model: models.Predictor, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = Path.write_bytes

    def half(path: Path, content: bytes) -> int:
        whole(path, content[: len(content) // 2])
        raise OSError(28, "No space left on device")

    other = trained(seed=1)
    with monkeypatch.context() as patched:
        patched.setattr(Path, "write_bytes", half)
        with pytest.raises(FileError, match=r"it cannot be written \(No space left on device\)"):
            other.save(folder)
    np.testing.assert_array_equal(shares(models.load(folder)), shares(model))


def test_a_model_json_of_something_else_is_not_written_over(model: models.Predictor, tmp_path: Path) -> None:
    for content in ('{"name": "mine"}', "[1, 2]", "not JSON"):
        (tmp_path / "model.json").write_text(content, encoding="utf-8")
        with pytest.raises(FileError, match="it is not a plurivox model and would be overwritten"):
            model.save(tmp_path)
        assert [path.read_text() for path in tmp_path.iterdir()] == [content]
    with pytest.raises(FileError, match="the folder cannot be created"):
        model.save(tmp_path / "model.json")


def test_no_number_is_written_that_is_not_json(model: models.Predictor, tmp_path: Path) -> None:
    odd = replace(model, training=replace(model.training, seconds=float("nan")))
    with pytest.raises(ValueError, match="JSON"):
        odd.save(tmp_path)
    assert not list(tmp_path.iterdir())


# Another scale -------------------------------------------------------------------------------------------------------
def test_a_model_of_another_scale_is_refused(folder: Path) -> None:
    with pytest.raises(ScaleError, match="the model is on the scale No < Unsure < Yes, not on Yes < No"):
        models.load(folder, scale=pv.Scale(["Yes", "No"]))
    with pytest.raises(ScaleError, match="have the values 0, 1, 4, not 0, 1, 2"):
        models.load(folder, scale=pv.Scale(["No", "Unsure", "Yes"]))
    assert models.load(folder, scale=pv.Scale(["No", "Unsure", "Yes"], values=[0, 1, 4])).scale == SCALE


# Damage --------------------------------------------------------------------------------------------------------------
def test_nothing_there(tmp_path: Path) -> None:
    missing = "FOLDER: there is no such folder. Name the folder that a model was saved in."
    assert refused(tmp_path / "none") == missing
    assert refused(tmp_path).startswith("model.json: the file is missing: what the model is, is in it. Save the model")


@pytest.mark.parametrize(("content", "said"), [
    *((content, "it is not JSON (") for content in (b"", b"{", b"\xff\xfe", b"[" * 100_000, b'{"format": NaN}')),
    *((content, "it does not say that it is a model of plurivox.")
      for content in (b"[]", b"3", b"{}", b'{"format": true}', b'{"format": "1"}', b'{"format": 0}')),
    (b'{"format": 2}', "it is of format 2, from a newer version of plurivox; this one reads format 1. Install a newer "
                       "plurivox."),
])  # fmt: skip
def test_no_model(folder: Path, content: bytes, said: str) -> None:
    (folder / "model.json").write_bytes(content)
    assert refused(folder).startswith(f"model.json: {said}")


@pytest.mark.parametrize("name", [
    "../weights-0123456789ab.safetensors", "a/weights-0123456789ab.safetensors", "/etc/passwd", "model.json", "", None,
    7, "weights-0123456789ab.safetensors\n", "weights-..3456789ab.safetensors",
])  # fmt: skip
def test_a_path_instead_of_the_name_of_the_numbers(folder: Path, name: object) -> None:
    edit(folder, lambda document: document["weights"].update(file=name))
    assert refused(folder).startswith(f"model.json: it names {name!r} as the file of its numbers, which is not a name")


def test_the_numbers_are_missing_or_others(folder: Path) -> None:
    path = weights(folder)
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    assert refused(folder).startswith(f"{path.name}: its content is not what model.json says. Save the model again")
    path.unlink()
    assert refused(folder).startswith(f"{path.name}: the file is missing: the numbers of the model are in it.")


def test_numbers_that_are_no_tensors_or_not_finite(folder: Path) -> None:
    tensors = safetensors.torch.load(weights(folder).read_bytes())
    next(iter(tensors.values()))[0] = float("nan")
    with_weights(folder, safetensors.torch.save(tensors))
    assert "holds a number that is not finite" in refused(folder)
    with_weights(folder, b"\x80\x04cos\nsystem\n")  # the beginning of a pickle
    assert "it is not a safetensors file (" in refused(folder)


@pytest.mark.parametrize(("change", "problem"), [
    (lambda t: t.pop("last.bias"), "'last.bias' is missing but should be torch.float32 of the shape (3,)"),
    (lambda t: t.update(more=torch.zeros(2)), "'more' is torch.float32 of the shape (2,) but should be absent"),
    (lambda t: t.update({"last.bias": torch.zeros(4)}),
     "'last.bias' is torch.float32 of the shape (4,) but should be torch.float32 of the shape (3,)"),
    (lambda t: t.update({"last.bias": torch.zeros(3, dtype=torch.int64)}),
     "'last.bias' is torch.int64 of the shape (3,) but should be torch.float32 of the shape (3,)"),
])  # fmt: skip
def test_tensors_of_another_network(folder: Path, change: Callable[[dict[str, Any]], object], problem: str) -> None:
    tensors = safetensors.torch.load(weights(folder).read_bytes())
    change(tensors)
    with_weights(folder, safetensors.torch.save(tensors))
    assert refused(folder) == f"model.json: it does not match its numbers: {problem}. {predictor.AGAIN}"


@pytest.mark.parametrize("change", [
    lambda d: d.pop("kind"), lambda d: d.update(kind="bert"), lambda d: d.update(kind=["mlp-kl"]),
    lambda d: d.update(scale={"labels": ["No"]}), lambda d: d.update(scale=None),
    lambda d: d["settings"].update(length=-1), lambda d: d["settings"].update(more=1),
    lambda d: d["training"].pop("notes"), lambda d: d["training"].update(n_items="many"),
    lambda d: d["training"].update(notes="one"), lambda d: d["training"].update(more=1), lambda d: d.update(training=3),
    lambda d: d["settings"].update(length=10**15), lambda d: d.update(context=None), lambda d: d.update(versions=None),
    lambda d: d["vocabulary"].pop("text"), lambda d: d["vocabulary"]["text"]["words"].append("more"),
    lambda d: d["vocabulary"]["text"]["words"].__setitem__(0, d["vocabulary"]["text"]["words"][1]),
    lambda d: d["vocabulary"]["text"].update(words="words"),
    lambda d: d["vocabulary"]["text"]["idf"].__setitem__(0, "x"),
    lambda d: d["vocabulary"]["text"]["idf"].__setitem__(0, None),
])  # fmt: skip
def test_a_document_that_is_not_as_saved(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    edit(folder, change)
    assert refused(folder).startswith("model.json: it is not a model saved by plurivox. ")


def test_a_failed_save_leaves_nothing(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = models.load(folder)
    (tmp_path / "taken" / "model.json").mkdir(parents=True)
    with pytest.raises(FileError):
        model.save(tmp_path / "taken")
    assert [path.name for path in (tmp_path / "taken").iterdir()] == ["model.json"]

    def full(path: Path, *_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(FileError, match="No space left"):
        model.save(tmp_path / "new" / "model")
    assert not (tmp_path / "new").exists()


def test_words_that_do_not_fit_the_numbers(folder: Path) -> None:
    def shorten(document: dict[str, Any]) -> None:
        for column in document["vocabulary"]["text"].values():
            column.pop()

    edit(folder, shorten)
    assert "it does not match its numbers: 'first.words.weight' is" in refused(folder)
