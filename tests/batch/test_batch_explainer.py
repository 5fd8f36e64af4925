"""The batch function: one row out for each row in, the same numbers wherever and however it is called."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pytest
from pyarrow import csv

from gplens.batch import Explainer, Options
from gplens.batch.batch_options import target_of
from gplens.estimators import GPClassifier, load
from gplens.targets import Exceeds


@pytest.fixture(scope="module")
def table(small_model: Path) -> pyarrow.Table:
    return csv.read_csv(small_model / "data.csv")


def numbers(result: pyarrow.Table) -> np.ndarray:
    return np.column_stack([result[f"attribution:{name}"].to_numpy() for name in "abc"])


def test_it_is_pickled_as_a_folder_and_options(small_model: Path, table: pyarrow.Table) -> None:
    explainer = Explainer(small_model / "model", Options(target="latent"))
    whole = explainer(table)
    packed = pickle.dumps(explainer)
    assert len(packed) < 1000  # without the model that it has loaded
    again = pickle.loads(packed)
    assert again.options == explainer.options
    np.testing.assert_allclose(numbers(again(table)), numbers(whole), rtol=1e-12, atol=1e-12)


def test_parts_of_a_table_give_the_rows_of_the_whole(small_model: Path, table: pyarrow.Table) -> None:
    explainer = Explainer(small_model / "model")
    parts = pyarrow.concat_tables([explainer(table.slice(0, 7)), explainer(table.slice(7))])
    whole = explainer(table)
    assert parts.schema == whole.schema
    np.testing.assert_allclose(numbers(parts), numbers(whole), rtol=1e-12, atol=1e-12)


def test_no_rows_give_no_rows_of_the_same_columns(small_model: Path, table: pyarrow.Table) -> None:
    explainer = Explainer(small_model / "model", Options(keep=("y",)))
    assert explainer(table.slice(0, 0)).schema == explainer(table.slice(0, 2)).schema


def test_a_row_for_which_explain_fails_does_not_take_others_with_it(
    small_model: Path, table: pyarrow.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    explainer, unlucky = Explainer(small_model / "model"), table["a"][5].as_py()
    whole, real = explainer(table), Explainer._explain

    def fail(self: Explainer, rows: pyarrow.Table) -> Any:
        if unlucky in rows["a"].to_pylist():
            raise ArithmeticError("the number is unlucky")
        return real(self, rows)

    monkeypatch.setattr(Explainer, "_explain", fail)
    result = explainer(table)
    assert [i for i, reason in enumerate(result["error"].to_pylist()) if reason] == [5]
    assert result["error"][5].as_py() == "the number is unlucky"
    kept = [i for i in range(40) if i != 5]
    np.testing.assert_allclose(numbers(result)[kept], numbers(whole)[kept], rtol=1e-10, atol=1e-10)


def test_columns_of_several_outputs_have_their_names(tmp_path: Path) -> None:
    r = np.random.default_rng(0)
    table = pyarrow.table({"u": r.normal(size=30), "v": r.normal(size=30)})
    labels = np.digitize(table["u"].to_numpy(), [-0.5, 0.5])
    GPClassifier(inducing_points=5, random_state=0, progress=False).fit(table, labels).save(tmp_path)
    result = Explainer(tmp_path, Options(outputs=("2", "class 0")))(table.slice(0, 3))
    assert "prediction:class 0" in result.column_names
    assert "attribution:class 2:u" in result.column_names
    assert not any("class 1" in name for name in result.column_names)
    p = load(tmp_path).predict_proba(table.slice(0, 3))  # type: ignore[attr-defined]
    np.testing.assert_allclose(result["prediction:class 2"].to_numpy(), p[:, 2], atol=1e-8)
    total = sum(result[f"attribution:class 2:{name}"].to_numpy() for name in "uv")
    change = result["prediction:class 2"].to_numpy() - result["baseline_prediction:class 2"].to_numpy()
    np.testing.assert_allclose(total, change, atol=1e-6)


@pytest.mark.parametrize(
    ("options", "words"),
    [({"baseline": "best"}, "'best'"), ({"target": "exceeds:"}, "exceeds:"), ({"target": "x"}, "'x'")],
)
def test_options_that_are_not_known(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Options(**options)


def test_a_threshold_is_a_target() -> None:
    assert target_of("exceeds:-1.5") == Exceeds(-1.5)


def test_a_baseline_without_a_column_is_refused(small_model: Path, table: pyarrow.Table) -> None:
    with pytest.raises(ValueError, match=r"\['c'\]"):
        Explainer(small_model / "model", Options(baseline={"a": 0.0, "b": 0.0}))(table)


def test_a_batch_shows_no_bar_of_its_own(
    small_model: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """On a terminal the command counts the rows; a second bar would break the first one into lines."""
    monkeypatch.setattr("gplens.display.progress._on_terminal", lambda: True)
    monkeypatch.setattr("gplens.display.progress.DELAY", 0.0)
    Explainer(small_model / "model", Options())(csv.read_csv(small_model / "data.csv"))
    assert capsys.readouterr().err == ""
