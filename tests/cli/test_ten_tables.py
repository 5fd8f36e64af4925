"""Ten tables of the kinds that people have, through fit, explain and plot: one line each, nothing prepared."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas
import pytest
from sklearn import datasets as sets

from gplens.cli.main import main

pytestmark = pytest.mark.slow
R = np.random.default_rng(0)
ROWS = 120


def of_sklearn(load: Callable[..., object], names: bool = False) -> pandas.DataFrame:
    bunch = load(as_frame=True)
    frame = bunch.frame.rename(columns={"target": "y"})  # type: ignore[attr-defined]
    if names:
        frame["y"] = np.array(bunch.target_names)[frame["y"]]  # type: ignore[attr-defined]
    return frame.sample(min(ROWS, len(frame)), random_state=0)


def bikes() -> pandas.DataFrame:
    from gplens.datasets import bike_sharing

    data = bike_sharing(kaggle=False)
    frame = pandas.DataFrame(data.X.numpy(), columns=list(data.feature_names)).assign(y=data.y.numpy().astype(int))
    return frame.iloc[:: len(frame) // ROWS]


def houses() -> pandas.DataFrame:
    """Prices, with categories, missing entries and years, as OpenML's house_prices has them."""
    area, year = R.uniform(40, 300, ROWS), R.integers(1900, 2010, ROWS)
    frame = pandas.DataFrame({"Neighborhood": R.choice(["OldTown", "NAmes", "CollgCr"], ROWS), "GrLivArea": area})
    frame["LotFrontage"] = np.where(R.random(ROWS) < 0.2, np.nan, R.uniform(10, 60, ROWS))
    frame["Alley"] = R.choice(np.array(["Grvl", "Pave", None], dtype=object), ROWS)
    return frame.assign(YearBuilt=year, y=1000.5 * area + 300 * (year - 1900) + 1e4 * R.normal(size=ROWS))


def adults() -> pandas.DataFrame:
    """Incomes above and below 50K, as OpenML's adult has them: texts, and a question mark for what is missing."""
    age, hours = R.integers(17, 80, ROWS), R.integers(5, 80, ROWS)
    frame = pandas.DataFrame({"age": age, "workclass": R.choice(["Private", "State-gov", "?"], ROWS), "hours": hours})
    return frame.assign(y=np.where(age + hours + 10 * R.normal(size=ROWS) > 90, ">50K", "<=50K"))


def claims() -> pandas.DataFrame:
    """Counts with an exposure, as freMTPL2freq has them."""
    exposure, power = R.uniform(0.1, 1, ROWS), R.integers(4, 16, ROWS)
    y = R.poisson(10 * exposure * (1 + power / 10))
    return pandas.DataFrame({"Exposure": exposure, "VehPower": power, "Area": R.choice(list("ABCDEF"), ROWS), "y": y})


def weather() -> pandas.DataFrame:
    """Dates, booleans and numbers."""
    at = pandas.date_range("2011-01-01", periods=ROWS, freq="61h")
    warm = 10 - 10 * np.cos(2 * np.pi * at.day_of_year / 365) + R.normal(size=ROWS)
    return pandas.DataFrame({"at": at, "rain": R.random(ROWS) < 0.3, "wind": R.gamma(2, size=ROWS), "y": warm})


def labels() -> pandas.DataFrame:
    """Classes that are numbers, names of columns with spaces and signs, a column that is constant."""
    X = R.normal(size=(ROWS, 3))
    frame = pandas.DataFrame(X, columns=["x (cm)", "50 %", "a:b"]).assign(unit=1.0)
    return frame.assign(y=np.digitize(X[:, 0] + X[:, 1], [-0.7, 0.7]))


TABLES: dict[str, tuple[Callable[[], pandas.DataFrame], str, str]] = {
    "iris": (lambda: of_sklearn(sets.load_iris, names=True), "classes", "csv"),
    "wine": (lambda: of_sklearn(sets.load_wine), "classes", "parquet"),
    "breast cancer": (lambda: of_sklearn(sets.load_breast_cancer), "classes", "csv"),
    "diabetes": (lambda: of_sklearn(sets.load_diabetes), "counts", "parquet"),
    "bikes": (bikes, "counts", "csv"),
    "houses": (houses, "gaussian", "csv"),
    "adults": (adults, "classes", "csv"),
    "claims": (claims, "counts", "parquet"),
    "weather": (weather, "gaussian", "csv"),
    "labels": (labels, "classes", "csv"),
}


@pytest.mark.filterwarnings("ignore:.*columns have one value:UserWarning")
@pytest.mark.parametrize("name", TABLES)
def test_a_table_is_fitted_explained_and_drawn(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    make, likelihood, ending = TABLES[name]
    monkeypatch.chdir(tmp_path)
    frame, data = make(), f"data.{ending}"
    frame.to_csv(data, index=False) if ending == "csv" else frame.to_parquet(data)
    assert main(["fit", data, "--target", "y", "--out", "model", "--inducing-points", "12"]) == 0
    said = capsys.readouterr().out
    assert f"likelihood: {likelihood}" in said
    assert "held out" in said
    assert main(["explain", "model", data, "--rows", "20", "--out", "a.parquet"]) == 0
    out = pandas.read_parquet("a.parquet")
    assert len(out) == 20
    good = out[out["error"].isna()]
    assert len(good) >= 15
    for prediction in (column for column in out if column.startswith("prediction")):
        output = prediction.removeprefix("prediction")
        total = good[[c for c in out if c.startswith(f"attribution{output}:")]].sum(axis=1)
        change = good[prediction] - good[f"baseline_prediction{output}"]
        np.testing.assert_allclose(total, change, atol=1e-4 * (1 + np.abs(good[prediction]).max()))
    assert main(["plot", "model", data, "--row", str(good["row"].iloc[0]), "--no-uncertainty", "--out", "a.png"]) == 0
    assert Path("a.png").stat().st_size > 1000
