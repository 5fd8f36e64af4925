"""Explanations as frames, of the library that the inputs came in."""

from dataclasses import replace

import numpy as np
import pandas
import polars
import pytest

from explanations import background, fixed, several, single


def test_a_frame_has_a_row_for_each_input_and_feature() -> None:
    e, frame = single(), single().to_frame()
    columns = ["row", "feature", "input", "baseline", "attribution", "error"]
    assert list(frame.columns) == [*columns, "prediction", "baseline_prediction", "gap"]
    assert len(frame) == 20
    assert frame["feature"].tolist() == list(e.feature_names) * 5
    assert frame["row"].tolist() == [i for i in range(5) for _ in range(4)]
    for column, tensor in (
        ("attribution", e.values),
        ("input", e.inputs),
        ("baseline", e.baseline),
        ("error", e.error),
    ):
        np.testing.assert_array_equal(frame[column].to_numpy().reshape(5, 4), tensor)
    np.testing.assert_array_equal(frame["prediction"].to_numpy().reshape(5, 4)[:, 0], e.prediction)
    sums = frame.groupby("row")["attribution"].sum().to_numpy()
    assert sums == pytest.approx((e.prediction - e.baseline_prediction + e.gap).numpy())


def test_outputs_have_a_column_of_their_own() -> None:
    e, frame = several(), several().to_frame()
    assert len(frame) == 3 * 2 * 4
    chosen = frame[(frame["row"] == 1) & (frame["output"] == "output 1")]
    np.testing.assert_array_equal(chosen["attribution"], e.values[1, 1])
    np.testing.assert_array_equal(chosen["input"], e.inputs[1])
    assert (chosen["prediction"] == float(e.prediction[1, 1])).all()
    assert (chosen["gap"] == float(e.gap[1, 1])).all()


def test_the_library_of_the_frame_is_that_of_the_inputs() -> None:
    """The same table in polars and in pandas, which is the default."""
    frames = {backend: replace(several(), frame_backend=backend).to_frame() for backend in ("polars", "pandas", None)}
    assert isinstance(frames["polars"], polars.DataFrame)
    for backend in ("pandas", None):
        assert isinstance(frames[backend], pandas.DataFrame)
        assert frames[backend].to_dict("list") == frames["polars"].to_dict(as_series=False)


def test_what_an_explanation_lacks_is_not_a_column() -> None:
    assert "baseline" not in background().to_frame()
    assert "error" not in fixed().to_frame()
    assert "output" not in single().to_frame()
