"""`gplens reproduce bike`: the features, the baseline, what is exactly zero, the intervals."""

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.distributions import MultivariateNormal

import gplens
from gplens.datasets import Dataset, bike_sharing
from gplens.estimators import GPCountRegressor, Training
from gplens.experiments import bike_experiment as bike


@pytest.fixture(scope="module")
def table() -> bike.BikeTable:
    data = bike_sharing(kaggle=False)
    some = slice(None, None, 20)
    return bike.BikeTable.of(Dataset(data.X[some], data.y[some], data.feature_names, data.description))


@pytest.fixture(scope="module")
def model(table: bike.BikeTable) -> GPCountRegressor:
    estimator = GPCountRegressor("rbf", inducing_points=20, random_state=0, training=Training(steps=30))
    return estimator.fit(table.X.numpy(), table.y.numpy())


def test_month_and_hour_are_a_sine_and_a_cosine_each(table: bike.BikeTable) -> None:
    """By the standard library; the two of a month lie on the unit circle, which two sines do not."""
    hour = {**bike.TARGET, "month": 2, "hour": 7}
    row = dict(zip(bike.COLUMNS, (table.row(hour) * table.largest)[0].tolist(), strict=True))
    assert row["month_sin"] == pytest.approx(math.sin(2 * math.pi * 2 / 12), abs=1e-15)
    assert row["month_cos"] == pytest.approx(math.cos(2 * math.pi * 2 / 12), abs=1e-15)
    assert row["hour_sin"] == pytest.approx(math.sin(2 * math.pi * 7 / 24), abs=1e-15)
    assert row["hour_cos"] == pytest.approx(math.cos(2 * math.pi * 7 / 24), abs=1e-15)
    assert row["humidity"] == 37.0


def test_every_column_is_divided_by_its_maximum(table: bike.BikeTable) -> None:
    np.testing.assert_allclose(table.X.amax(0).numpy(), 1, rtol=0, atol=1e-15)
    data = bike_sharing(kaggle=False)
    assert table.baseline["humidity"] == pytest.approx(float(data.column("humidity")[::20].mean()))
    assert (table.baseline["month"], table.baseline["hour"]) == (6, 12)


def test_what_does_not_change_is_exactly_zero_and_the_rest_adds_up(
    model: GPCountRegressor, table: bike.BikeTable
) -> None:
    """To the change of GPyTorch's exp(m + v/2)."""
    e = bike.explain_hour(model, table, draws=50, seed=0)
    low, high = e.interval(bike.LEVEL)
    for name in ("working_day", "holiday"):
        i = e.feature_names.index(name)
        assert (float(e.values[0, i]), float(low[0, i]), float(high[0, i])) == (0.0, 0.0, 0.0)
    with torch.no_grad():
        f = model.model_(torch.cat([table.row(bike.TARGET), table.row(table.baseline)]))
        change = torch.exp(f.mean + f.variance / 2).diff().neg()
    largest = float(e.values.abs().max())  # the change may be small beside it
    assert float(e.values.sum()) == pytest.approx(float(change), rel=0, abs=1e-8 * largest)
    assert e.feature_names == bike.FEATURES


def test_intervals_cover_what_draws_of_the_path_give(model: GPCountRegressor, table: bike.BikeTable) -> None:
    """Attributions add up to exp f - exp f0 in every draw: 20,000 draws of the two from GPyTorch's joint posterior."""
    e = bike.explain_hour(model, table, draws=4000, seed=0)
    assert e.draws is not None
    with torch.no_grad():
        f = model.model_(torch.cat([table.row(bike.TARGET), table.row(table.baseline)]))
    generator = torch.Generator().manual_seed(1)
    z = torch.randn(20_000, 2, generator=generator, dtype=torch.float64)
    law = MultivariateNormal(f.mean, f.covariance_matrix)
    paths = law.loc + z @ law.scale_tril.T
    change = paths.exp() @ torch.tensor([1.0, -1.0], dtype=torch.float64)
    total = e.draws[0].sum(1)
    for level in (0.05, 0.5, 0.95):
        scatter = (
            3 * float(change.std()) * (level * (1 - level) / 4000) ** 0.5 / 0.1
        )  # 0.1: a Gaussian's density at 5 %
        assert float(total.quantile(level)) == pytest.approx(float(change.quantile(level)), abs=scatter)


def test_the_same_seed_gives_the_same_intervals(model: GPCountRegressor, table: bike.BikeTable) -> None:
    one, two = (bike.explain_hour(model, table, draws=50, seed=3) for _ in range(2))
    assert isinstance(one, gplens.Explanation)
    assert all(torch.equal(a, b) for a, b in zip(one.interval(0.9), two.interval(0.9), strict=True))


def test_the_page_says_where_the_hours_come_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPLENS_CACHE", str(tmp_path / "none"))
    assert all(word in bike.source() for word in ("2011", "GPLENS_DATA", "bike-sharing/train.csv"))
    (tmp_path / "bike-sharing").mkdir()
    (tmp_path / "bike-sharing" / "train.csv").write_text("datetime")
    monkeypatch.setenv("GPLENS_DATA", str(tmp_path))
    assert "Kaggle's table" in bike.source()
    assert "2011" not in bike.source()
