"""A table with 80 mixed columns, from CSV to an explanation in five lines."""

from pathlib import Path

import numpy as np
import pandas
import pytest
from ames_like import ames_like

import gplens
from gplens.columns import Cyclic, Log
from gplens.estimators import GPRegressor

ONE_VALUE = "ignore:1 of 80 columns have one value:UserWarning"


def check(frame: pandas.DataFrame, model: GPRegressor, e: gplens.Explanation) -> None:
    assert frame.shape[1] == 81
    assert e.values.shape == (2, 80)
    assert e.feature_names == tuple(frame.columns[:-1])
    assert len(model.columns_.inputs) > 200
    change = model.predict(frame.iloc[:2, :-1]) - model.predict(frame.iloc[7:8, :-1])
    np.testing.assert_allclose(e.values.sum(1), change, rtol=1e-6, atol=1e-6 * np.abs(change).max())
    assert e.labels.input_text(0, 0) == frame["neighbourhood"][0]
    top = np.abs(e.values.numpy()).mean(0).argsort()[::-1][:6]
    assert {"living_area", "quality"} <= {e.feature_names[k] for k in top}


@pytest.mark.filterwarnings(ONE_VALUE)
def test_from_csv_to_explanation_in_five_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ames_like(150).to_csv(tmp_path / "houses.csv", index=False)
    frame = pandas.read_csv(tmp_path / "houses.csv", parse_dates=["sold"])
    model = GPRegressor(columns={"living_area": Log(), "month": Cyclic(12)})
    model.fit(frame.drop(columns="price"), frame["price"])
    e = model.explain(frame.drop(columns="price")[:2], baseline=frame.drop(columns="price").iloc[7])
    print(e)
    check(frame, model, e)
    assert "living_area = " in " ".join(capsys.readouterr().out.split())
    labels = [label.get_text() for label in e[:1].plot().get_yticklabels()]
    place, start = frame["neighbourhood"][0], frame["neighbourhood"][7]
    names = {label.split(" = ")[0].split(": ")[0]: label for label in labels}
    assert names.get("neighbourhood", "neighbourhood") in ("neighbourhood", f"neighbourhood: {start} → {place}")
    assert [label for label in labels if "→" in label or " = " in label], "no label has a value"
    assert not any("e9" in label for label in labels), "a date is printed as seconds"


@pytest.mark.slow
@pytest.mark.filterwarnings(ONE_VALUE)
def test_a_table_of_the_size_of_the_original(tmp_path: Path) -> None:
    """1,460 rows; the model is as good as the noise of the prices allows, and the columns that matter come first."""
    frame, model = ames_like(1460, seed=1), GPRegressor(columns={"living_area": Log(), "month": Cyclic(12)})
    model.fit(frame.drop(columns="price")[:1200], np.log(frame["price"][:1200]))
    assert model.score(frame.drop(columns="price")[1200:], np.log(frame["price"][1200:])) > 0.9
    e = model.explain(frame.drop(columns="price")[1200:1203], baseline=model.mean_input_, uncertainty=gplens.Diagonal())
    assert e.std is not None
    top = e.values.abs().mean(0).argsort(descending=True)[:4].tolist()
    assert {"living_area", "quality"} <= {e.feature_names[k] for k in top}
