"""Folders of fitted estimators: bit for bit, whole or refused, never half written, no pickle."""

import json
import os
from pathlib import Path

import numpy as np
import pandas
import pytest
import torch
from estimator_tables import KINDS, SMALL, fitted, table, three
from sklearn.exceptions import NotFittedError

import gplens.estimators
from gplens.estimators import GPClassifier, GPCountRegressor, GPRegressor, load
from messages import naming


@pytest.mark.parametrize("kind", KINDS)
def test_a_loaded_model_predicts_and_explains_bit_for_bit(kind: str, tmp_path: Path) -> None:
    model, X = fitted(kind), table(5, seed=8)[0]
    model.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert type(loaded) is type(model)
    assert loaded.get_params() == model.get_params()
    for verb in ("predict", "predict_proba"):
        if hasattr(model, verb):
            np.testing.assert_array_equal(getattr(loaded, verb)(X), getattr(model, verb)(X))
    own, again = (m.explain(X[:2], baseline=m.mean_input_) for m in (model, loaded))
    assert torch.equal(own.values, again.values)
    assert loaded.training_summary_ == model.training_summary_


def test_names_and_labels_are_kept_and_readable_without_gplens(tmp_path: Path) -> None:
    X, f = table()
    frame = pandas.DataFrame(X, columns=["a", "b", "c"])
    GPClassifier(**SMALL).fit(frame, three(f)).save(tmp_path)
    loaded = GPClassifier.load(tmp_path)
    assert list(loaded.feature_names_in_) == ["a", "b", "c"]
    assert loaded.classes_.tolist() == [0, 10, 20]
    header = json.loads((tmp_path / "model.json").read_text())
    assert header["likelihood"] == "SoftmaxLikelihood"
    assert header["kernel"] == "matern52"
    assert {"gplens", "torch", "gpytorch", "scikit-learn", "safetensors"} == set(header["versions"])
    assert header["training"]["steps"] > 0
    with pytest.raises(ValueError, match=r"GPRegressor.*GPClassifier"):
        GPRegressor.load(tmp_path)


def test_saving_replaces_an_older_model_and_leaves_nothing_else(tmp_path: Path) -> None:
    fitted("count").save(tmp_path)
    fitted("probit").save(tmp_path)
    assert isinstance(load(tmp_path), GPClassifier)
    assert len(os.listdir(tmp_path)) == 2


@pytest.mark.parametrize("at", [1, 2])
def test_a_failed_write_leaves_the_old_model(at: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether the tensors or the JSON could not be put in their place."""
    fitted("count").save(tmp_path)
    calls, replace = [], os.replace

    def fail(*paths: object) -> None:
        calls.append(paths)
        if len(calls) == at:
            raise OSError("disk full")
        replace(*paths)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        fitted("probit").save(tmp_path)
    assert isinstance(load(tmp_path), GPCountRegressor)


def _tensors(folder: Path) -> Path:
    return next(folder.glob("*.safetensors"))


@pytest.mark.parametrize("keep", [0, 100, 0.5, 0.99])
def test_truncated_tensors_are_refused(keep: float, tmp_path: Path) -> None:
    fitted("count").save(tmp_path)
    content = _tensors(tmp_path).read_bytes()
    _tensors(tmp_path).write_bytes(content[: int(keep * len(content)) if isinstance(keep, float) else keep])
    with pytest.raises(ValueError, match=naming(tmp_path, "SHA-256", _tensors(tmp_path).name, "bytes")):
        load(tmp_path)


def test_a_single_flipped_bit_is_found(tmp_path: Path) -> None:
    fitted("count").save(tmp_path)
    content = bytearray(_tensors(tmp_path).read_bytes())
    content[-9] ^= 1
    _tensors(tmp_path).write_bytes(content)
    with pytest.raises(ValueError, match="SHA-256"):
        load(tmp_path)


def test_missing_parts_are_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=rf"save\(\).*{tmp_path.name}.*model\.json"):
        load(tmp_path)
    fitted("count").save(tmp_path)
    _tensors(tmp_path).unlink()
    with pytest.raises(FileNotFoundError, match=rf"safetensors.*{tmp_path.name}"):
        load(tmp_path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"format": "gplens esti', r"JSON.*model\.json.*Unterminated"),
        ("hello", r"JSON.*model\.json.*Expecting value"),
        ("[1, 2]", r"save\(\).*model\.json"),
        ('{"format": "other"}', r"save\(\).*model\.json"),
        ('{"format": "gplens estimator", "format_version": 99}', r"format 99.*up to 2"),
    ],
)
def test_foreign_and_newer_files_are_refused(content: str, message: str, tmp_path: Path) -> None:
    fitted("count").save(tmp_path)
    (tmp_path / "model.json").write_text(content)
    with pytest.raises(ValueError, match=message):
        load(tmp_path)


def test_an_estimator_that_is_not_fitted_is_not_saved(tmp_path: Path) -> None:
    with pytest.raises(NotFittedError):
        GPCountRegressor().save(tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_no_module_of_the_estimators_knows_pickle() -> None:
    sources = Path(gplens.estimators.__file__).parent.rglob("*.py")
    assert not [path for path in sources if "import pickle" in path.read_text() or "torch.load" in path.read_text()]
