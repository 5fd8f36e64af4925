"""Columns with a period: paths go the shorter way round, and attributions are those of `predict` along it."""

from functools import cache
from pathlib import Path

import numpy as np
import pandas
import pytest
import torch
from mixed_tables import SMALL

import gplens
from gplens.columns import Cyclic
from gplens.estimators import GPCountRegressor, GPRegressor, load

NODES, WEIGHTS = ((part + offset) / 2 for part, offset in zip(np.polynomial.legendre.leggauss(48), (1, 0), strict=True))
COLUMNS = {"hour": Cyclic(24), "month": Cyclic(12)}
PATHS = [(23, 1, 2), (1, 22.5, -2.5), (6, 18, 12), (18, 6, -12), (2, 13, 11), (2, 15, -11)]


def clock(rows: int, seed: int) -> pandas.DataFrame:
    r = np.random.default_rng(seed)
    return pandas.DataFrame(
        {"hour": r.integers(0, 24, rows), "heat": r.normal(15, 6, rows), "month": r.integers(1, 13, rows)}
    )


def truth(frame: pandas.DataFrame) -> np.ndarray:
    """A sum of functions of one column each."""
    hour, month = (2 * np.pi * frame[name] / period for name, period in (("hour", 24), ("month", 12)))
    return (2 * np.sin(hour) + np.cos(2 * hour) + np.cos(month) + frame["heat"] / 6).to_numpy()


@cache
def model_of(kind: str) -> GPRegressor | GPCountRegressor:
    frame = clock(150, 0)
    noise = 0.1 * np.random.default_rng(1).normal(size=150)
    if kind == "count":
        y = np.random.default_rng(2).poisson(np.exp(truth(frame) / 3)).astype(float)
        return GPCountRegressor(columns=COLUMNS, **SMALL).fit(frame, y)
    return GPRegressor(kind, columns=COLUMNS).fit(frame, truth(frame) + noise)


@pytest.mark.parametrize("kind", ["rbf", "matern52", "count"])
@pytest.mark.parametrize(("start", "end", "hours"), PATHS)
def test_attributions_are_central_differences_of_predict_in_hours(
    kind: str, start: float, end: float, hours: float
) -> None:
    """x(t) = x0 + t (x - x0) in every column of the table, with the way round by hand; `predict` takes hours beyond
    24, and below 0, as any others."""
    model, change = model_of(kind), {"hour": hours, "heat": 7.0, "month": -4.0}
    first, last = (
        {"hour": hour, "heat": heat, "month": month} for hour, heat, month in ((start, 12.0, 3), (end, 19.0, 11))
    )
    e = model.explain(pandas.DataFrame([last]), baseline=pandas.DataFrame([first]), tolerance=1e-9)
    path = pandas.DataFrame({name: first[name] + NODES * step for name, step in change.items()})
    h, expected = 1e-4, []
    for name, step in change.items():
        up, down = (model.predict(path.assign(**{name: path[name] + sign * h})) for sign in (1, -1))
        expected.append(step * (WEIGHTS @ (up - down)) / (2 * h))
    np.testing.assert_allclose(e.values[0], expected, atol=2e-5 * max(map(abs, expected)))
    total = float(model.predict(pandas.DataFrame([last]))[0] - model.predict(pandas.DataFrame([first]))[0])
    assert abs(float(e.values.sum()) - total) <= 1e-8 * max(map(abs, expected))


def test_a_sum_of_functions_of_one_column_has_their_changes() -> None:
    """Where a chord passes through the inside of the circle, of which the data say nothing."""
    model, rows = model_of("rbf"), clock(20, 5)
    start = pandas.DataFrame([{"hour": 4, "heat": 15.0, "month": 1}])
    e = model.explain(rows, baseline=start)
    for k, name in enumerate(rows.columns):
        moved = pandas.concat([start] * len(rows), ignore_index=True).assign(**{name: rows[name]})
        change = truth(moved) - truth(start)
        np.testing.assert_allclose(e.values[:, k], change, atol=0.25)


@pytest.mark.parametrize("kind", ["rbf", "count"])
def test_a_background_adds_up_to_what_predict_says(kind: str) -> None:
    """Every input goes its own way round from each of the rows."""
    model, rows, background = model_of(kind), clock(3, 6), clock(7, 7)
    e = model.explain(rows, baseline=gplens.baselines.Sample(background))
    change = model.predict(rows) - model.predict(background).mean()
    np.testing.assert_allclose(e.values.sum(1), change, atol=1e-6 * float(e.values.abs().max()))
    alone = [model.explain(rows, baseline=background.iloc[[i]]).values for i in range(len(background))]
    torch.testing.assert_close(e.values, torch.stack(alone).mean(0), rtol=0, atol=1e-5 * float(e.values.abs().max()))


@pytest.mark.parametrize("kind", ["rbf", "matern52"])
def test_deviations_are_those_of_the_joint_prediction_along_the_arc(kind: str) -> None:
    """Differences of GPyTorch's joint distribution of f at shifted hours, on a fine grid."""
    model = model_of(kind)
    first, last = {"hour": 22, "heat": 12.0, "month": 2}, {"hour": 3, "heat": 20.0, "month": 7}
    change = {"hour": 5.0, "heat": 8.0, "month": 5.0}
    frames = pandas.DataFrame([last]), pandas.DataFrame([first])
    full = model.explain(frames[0], baseline=frames[1], uncertainty=gplens.Full())
    std = model.explain(frames[0], baseline=frames[1], uncertainty=gplens.Diagonal()).std
    assert full.covariance is not None
    assert std is not None
    path = pandas.DataFrame({name: first[name] + NODES * step for name, step in change.items()})
    h, shifted = 1e-3, []
    for name in change:
        shifted += [path.assign(**{name: path[name] + sign * h}) for sign in (1, -1)]
    plan = model.columns_
    points = torch.from_numpy(plan.encode(plan.raw(pandas.concat(shifted), "X")))
    with torch.no_grad():
        joint = model.model_(points).covariance_matrix.numpy()
    A = np.zeros((3, len(points)))
    for k, step in enumerate(change.values()):
        for i, sign in enumerate((1, -1)):
            A[k, (2 * k + i) * len(NODES) : (2 * k + i + 1) * len(NODES)] = sign * step * WEIGHTS / (2 * h)
    expected = A @ joint @ A.T
    np.testing.assert_allclose(full.covariance[0], expected, atol=3e-3 * np.abs(expected).max())
    np.testing.assert_allclose(std[0], np.sqrt(np.diag(expected)), rtol=5e-3)


def test_deviations_over_a_background_are_those_of_draws() -> None:
    """Joint over the paths, each the shorter way round."""
    model, rows, background = model_of("rbf"), clock(1, 6), gplens.baselines.Sample(clock(3, 7))
    std = model.explain(rows, baseline=background, uncertainty=gplens.Diagonal()).std
    draws = model.explain(rows, baseline=background, uncertainty=gplens.Samples(2000, seed=1)).draws
    assert std is not None
    assert draws is not None
    torch.testing.assert_close(draws.std(1), std, rtol=0.08, atol=1e-4)


def test_the_way_back_has_the_opposite_attributions_also_at_half_a_turn() -> None:
    model = model_of("matern52")
    rows = pandas.DataFrame({"hour": [0, 6, 12, 18, 23], "heat": 10.0, "month": [3, 4, 5, 6, 12]})
    ends = pandas.DataFrame({"hour": [12, 18, 0, 6, 1], "heat": 20.0, "month": [9, 10, 11, 12, 6]})
    there = model.explain(ends, baseline=gplens.baselines.Rows(rows)).values
    back = model.explain(rows, baseline=gplens.baselines.Rows(ends)).values
    torch.testing.assert_close(there, -back, rtol=0, atol=1e-6 * float(there.abs().max()))


def test_a_saved_model_goes_the_same_way_and_says_so(tmp_path: Path) -> None:
    model, rows = model_of("rbf"), clock(3, 8)
    model.save(tmp_path / "model")
    e, loaded = (one.explain(rows) for one in (model, load(tmp_path / "model")))
    assert torch.equal(e.values, loaded.values)
    assert "angle (the shorter way round) of hour, month" in repr(loaded)


def test_support_and_channels_are_of_the_same_paths() -> None:
    """Along an arc the data determine the model; on the chord they do not."""
    model, rows = model_of("rbf"), pandas.DataFrame([{"hour": 12, "heat": 15.0, "month": 1}])
    start = pandas.DataFrame([{"hour": 0, "heat": 15.0, "month": 1}])
    e = gplens.explain(model, rows, baseline=start, support=True, channels=True)
    assert e.support is not None
    assert e.channels is not None
    assert float(e.support.minimum.min()) > 0.8
    torch.testing.assert_close(sum(e.channels.values()), e.values, rtol=0, atol=1e-6 * float(e.values.abs().max()))
