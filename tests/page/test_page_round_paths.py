"""The page's paths of cyclic columns and dates are those of Python: attributions and error bars."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
from node_runner import run
from test_page_numerics import ANSWERS

import gplens
from gplens.columns import Cyclic
from gplens.estimators import GPClassifier, GPRegressor
from gplens.page.control_specs import control_specs
from gplens.page.model_specs import live_model
from gplens.targets import Response, bind_target


def table(rows: int, seed: int) -> pandas.DataFrame:
    r = np.random.default_rng(seed)
    days = pandas.Timestamp("2023-03-01") + pandas.to_timedelta(r.integers(0, 9000, rows), unit="h")
    return pandas.DataFrame({"hour": r.integers(0, 24, rows), "heat": r.normal(15, 6, rows), "when": days})


def fitted(classes: bool) -> Any:
    frame = table(60, 0)
    y = 2 * np.sin(2 * np.pi * frame["hour"] / 24) + frame["heat"] / 6 + np.cos(frame["when"].dt.day_of_year / 58)
    chosen: dict[str, Any] = {"columns": {"hour": Cyclic(24)}, "random_state": 0}
    return (
        GPClassifier("rbf", **chosen).fit(frame, np.digitize(y, [1, 3]))
        if classes
        else GPRegressor("rbf", **chosen).fit(frame, y)
    )


@pytest.mark.parametrize("classes", [False, True], ids=["numbers", "classes"])
def test_round_paths_are_those_of_python(classes: bool, tmp_path: Path) -> None:
    """Through midnight, through noon at half a turn, and any other way."""
    model, ends = fitted(classes), table(5, 3).assign(hour=[23, 6, 18, 2, 4])
    starts = table(5, 4).assign(hour=[1, 18, 6, 15, 4])
    reading = gplens.read(model)
    process, response = bind_target(Response(), reading.likelihood, reading.process, None, reading.model)
    plan = model.columns_
    entries = [plan.read(frame, "X")[1].numbers.numpy() for frame in (starts, ends)]
    spec = {**live_model(process, response, reading.likelihood), "columns": control_specs(plan, plan.names, entries[1])}
    pairs = np.stack(entries, axis=1).tolist()
    (answers,) = run(ANSWERS, tmp_path, [{"spec": spec, "pairs": pairs, "bars": not classes}])
    e = model.explain(
        ends, baseline=gplens.baselines.Rows(starts), tolerance=1e-8, uncertainty=None if classes else gplens.Diagonal()
    )
    values = e.values.numpy() if classes else e.values.numpy()[:, None]
    np.testing.assert_allclose([a["values"] for a in answers], values, atol=1e-6 * np.abs(values).max())
    if not classes:
        assert e.std is not None
        np.testing.assert_allclose([a["deviations"] for a in answers], e.std.numpy(), rtol=3e-3, atol=1e-6)
