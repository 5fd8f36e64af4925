"""`gplens fit --engine ray` with two workers: one model, also if a worker is killed, as good as that of a process."""

from pathlib import Path

import numpy as np
import pyarrow
import pytest
import torch
from gpytorch.mlls import VariationalELBO
from ray_processes import Cluster, gplens, is_alive, listening_elsewhere, started, wait_until
from scale_tables import descendants, kill_one, table, workers_below, write_files

from gplens.estimators import GPRegressor, Training, load

ROWS, POINTS = 6000, 15
NOISE = 0.3


def rows_to_fit() -> pyarrow.Table:
    rows, r = table(ROWS), np.random.default_rng(1)
    y = np.sin(2 * rows["b"].to_numpy()) + (rows["c"].to_numpy() == "x") + NOISE * r.normal(size=ROWS)
    return rows.append_column("y", pyarrow.array(y)).drop_columns(["key"])


def elbo_per_row(estimator: GPRegressor, rows: pyarrow.Table) -> float:
    """GPyTorch's ELBO of a fitted sparse model for given rows, divided by their number."""
    complete = rows.filter(rows["a"].is_valid())
    plan, model, likelihood = estimator.columns_, estimator.model_, estimator.likelihood_
    X = torch.from_numpy(plan.encode(plan.raw(complete.drop_columns(["y"]), "the table")))
    y = torch.tensor(complete["y"].to_numpy().copy())
    with torch.no_grad():
        return float(VariationalELBO(likelihood, model, num_data=len(y))(model.eval()(X), y))


@pytest.mark.slow
def test_workers_fit_one_model_also_when_one_is_killed(cluster: Cluster, tmp_path: Path) -> None:
    """Two fits with one seed, in the second of which a worker is killed: the same model. Its ELBO of all rows is that
    of the ordinary fit, whose batches are others, up to a fiftieth of a nat per row."""
    rows = rows_to_fit()
    data = write_files(tmp_path / "data", rows, files=2, group=500)

    def line(name: str) -> list[object]:
        words = ["fit", f"{data}/*.parquet", "--target", "y", "--out", tmp_path / name, "--inducing-points", POINTS]
        return [*words, "--engine", "ray", "--workers", "2", "--address", cluster.address]

    first = gplens(*line("first"), env=cluster.environment())
    assert first.returncode == 0, first.stderr
    assert "steps of 2 workers" in first.stdout
    checkpoint = tmp_path / "second.training" / "checkpoint.safetensors"
    with started(*line("second"), env=cluster.environment()) as command:
        wait_until(lambda: checkpoint.exists() or command.poll() is not None)
        workers = workers_below(cluster.pid, "RayTrainWorker")
        assert len(workers) == 2
        elsewhere = listening_elsewhere(descendants(cluster.pid))
        killed = kill_one(workers)
        said, remarks = command.communicate()
    assert command.returncode == 0, remarks
    assert not elsewhere
    assert not is_alive(killed)
    assert not checkpoint.exists()
    undisturbed, disturbed = (load(tmp_path / name) for name in ("first", "second"))
    assert isinstance(undisturbed, GPRegressor)
    assert disturbed.training_summary_["resumed_at_step"] > 0 == undisturbed.training_summary_["resumed_at_step"]
    assert said.splitlines()[-2] == first.stdout.splitlines()[-2], "the same score"
    for name, tensor in undisturbed.model_.state_dict().items():
        torch.testing.assert_close(disturbed.model_.state_dict()[name], tensor, rtol=1e-8, atol=1e-8)
    alone = GPRegressor(inducing_points=POINTS, random_state=0, training=Training(), progress=False, exact_rows=0).fit(
        rows.drop_columns(["y"]), rows["y"].to_numpy()
    )
    bounds = [elbo_per_row(model, rows) for model in (alone, undisturbed)]
    print("ELBO per row of one process and of two workers:", *bounds)
    assert bounds[1] == pytest.approx(bounds[0], abs=0.02)
