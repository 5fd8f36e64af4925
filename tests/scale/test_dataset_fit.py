"""Fits to Parquet files by workers that read their shares: the model of one process, whatever happens in between."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow
import pytest
import torch
import torch.distributed as dist
from gpytorch.mlls import VariationalELBO
from pyarrow import parquet

from gplens.estimators import GPClassifier, GPCountRegressor, GPRegressor, Training, load
from gplens.estimators.training.options import Adam
from gplens.estimators.training.q_of_u import Natural, Sites, least_squares, natural_sums
from gplens.scale import fit_dataset, read_work_list
from gplens.scale.dataset_fit import fit_task, train
from gplens.scale.parallel_loop import BatchBound
from gplens.scale.placed_checkpoint import PlacedCheckpoint
from gplens.scale.places import Place
from gplens.scale.posing import pose
from gplens.scale.training_rows import TEST, TRAIN, WATCH, Columns, Division, Stream, sample, shards
from messages import naming

ROWS = 3000


def training_table() -> pyarrow.Table:
    r = np.random.default_rng(0)
    a, b, c = r.normal(size=ROWS), r.normal(size=ROWS), r.choice(["x", "y", "z"], ROWS)
    y = np.sin(2 * a) + b * (c == "x") + 0.1 * r.normal(size=ROWS)
    counts = r.poisson(np.exp(np.sin(a) + 0.5))
    return pyarrow.table({"a": a, "b": b, "c": c, "y": y, "n": counts, "k": np.where(y > 0, "up", "down")})


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("fit") / "rows.parquet"
    parquet.write_table(training_table(), path, row_group_size=500)
    return path


@pytest.fixture
def alone(tmp_path: Path) -> Iterator[None]:
    """A process group of this process alone."""
    dist.init_process_group("gloo", init_method=f"file://{tmp_path}/group", rank=0, world_size=1)
    yield
    dist.destroy_process_group()


def regressor(**options: object) -> GPRegressor:
    training = Training(steps=40, batch=300, checkpoint_every=10)
    return GPRegressor(inducing_points=20, random_state=0, training=training, progress=False).set_params(**options)


FEATURES = ("a", "b", "c")


@pytest.mark.parametrize(
    ("estimator", "target"),
    [
        (regressor(), "y"),
        pytest.param(regressor(training=Training(steps=40, batch=300, optimizer=Adam())), "y", marks=pytest.mark.slow),
        pytest.param(
            GPCountRegressor(inducing_points=20, random_state=0, training=Training(steps=40, batch=300)),
            "n",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            GPClassifier(inducing_points=20, random_state=0, training=Training(steps=40, batch=300)),
            "k",
            marks=pytest.mark.slow,
        ),
    ],
    ids=["natural gradients", "Adam", "counts", "classes"],
)
def test_the_bound_is_that_of_the_ordinary_fit(estimator, target: str, data: Path, tmp_path: Path, alone: None) -> None:
    """The ordinary fit draws other batches and holds other rows out: the noise is that of 150 watched rows."""
    rows = training_table()
    ordinary = estimator.set_params(progress=False).fit(rows.select(list(FEATURES)), rows[target].to_numpy())
    expected = ordinary.training_summary_["elbo_per_row"]
    ordinary_score = ordinary.score(rows.select(list(FEATURES)), rows[target].to_numpy())
    task = fit_task(estimator, data, target, features=FEATURES, holdout=0.0)
    train(task, Place.of(tmp_path / "run"), None)
    fitted = load(tmp_path / "run" / "model")
    summary = fitted.training_summary_
    assert summary["workers"] == 1
    assert summary["elbo_per_row"] == pytest.approx(expected, abs=0.15)
    assert fitted.score(rows.select(list(FEATURES)), rows[target].to_numpy()) == pytest.approx(ordinary_score, abs=0.05)


@pytest.mark.slow
def test_a_fit_goes_on_from_a_checkpoint_as_if_nothing_had_happened(data: Path, tmp_path: Path, alone: None) -> None:
    task = fit_task(regressor(), data, "y", features=FEATURES, holdout=0.1)
    saved = PlacedCheckpoint.save

    def save_and_stop(self: PlacedCheckpoint, state, streams) -> None:
        saved(self, state, streams)
        if state.step == 20:
            raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PlacedCheckpoint, "save", save_and_stop)
        with pytest.raises(KeyboardInterrupt):
            train(task, Place.of(tmp_path / "run"), None)
    task = fit_task(regressor(), data, "y", features=FEATURES, holdout=0.1)
    train(task, Place.of(tmp_path / "run"), None)
    train(fit_task(regressor(), data, "y", features=FEATURES, holdout=0.1), Place.of(tmp_path / "other"), None)
    resumed, undisturbed = (load(tmp_path / name / "model") for name in ("run", "other"))
    assert resumed.training_summary_["resumed_at_step"] == 20
    assert undisturbed.training_summary_["resumed_at_step"] == 0
    for name, tensor in undisturbed.model_.state_dict().items():
        torch.testing.assert_close(resumed.model_.state_dict()[name], tensor, rtol=1e-9, atol=1e-9)
    with pytest.raises(ValueError, match=naming("checkpoint")):
        train(
            fit_task(regressor(kernel="rbf"), data, "y", features=FEATURES, holdout=0.1),
            Place.of(tmp_path / "run"),
            None,
        )


def test_workers_with_all_their_rows_have_the_bound_of_gpytorch_and_its_optimum(data: Path) -> None:
    """(6.12), (6.13) where batches are whole shards of different lengths: GPyTorch's ELBO of all rows, and, after one
    natural-gradient step of rate one with Gaussian noise, the optimal q(u) of all rows."""
    posed = pose(fit_task(regressor(), data, "y", features=FEATURES, holdout=0.0))
    (X, y), model, likelihood = posed.sampled, posed.model, posed.likelihood
    n, cut = len(X), 700
    q = Natural(torch.zeros(1, 20).double(), torch.eye(20).double()[None])
    q.write(model)
    bound, values = BatchBound(model, likelihood, q, n), []
    sums = [torch.zeros(1, 20).double(), torch.zeros(1, 20, 20).double()]
    for rows in (slice(0, cut), slice(cut, n)):
        weight = 2 / n  # R n_r / (n b_r)
        value, m, v, batch = bound(X[rows], y[rows], weight, torch.manual_seed(0))
        partials = torch.autograd.grad(value, (m, v), retain_graph=True)
        by_m, by_v = (part / weight for part in partials)
        sums = [a + b for a, b in zip(sums, natural_sums(batch, m.detach(), (by_m, by_v), 1.0), strict=True)]
        values.append(float(value.detach()))
    elbo = VariationalELBO(likelihood, model, num_data=n)
    with torch.no_grad():
        assert np.mean(values) == pytest.approx(float(elbo(model(X), y)), rel=1e-6)
    q.move(*sums, 1.0)
    noise = float(likelihood.noise.detach())
    h, P = least_squares(model, X, Sites(y[None], torch.full_like(y, 1 / noise)))
    torch.testing.assert_close(q.h, h, rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(q.P, P, rtol=1e-9, atol=1e-9)


def test_each_row_has_one_role_and_a_stream_brings_every_training_row_once(data: Path) -> None:
    work, division = read_work_list(data), Division(3, 0.2, 0.1)
    roles = np.concatenate([division.roles(unit) for unit in work.units])
    shares = [np.mean(roles == role) for role in (TEST, WATCH, TRAIN)]
    assert np.allclose(shares, [0.2, 0.08, 0.72], atol=4 * 0.5 / ROWS**0.5)
    columns = Columns(("a",), "y")
    seen: list[float] = []
    for number, units in enumerate(shards(work.units, 2)):
        stream = Stream(units, columns, division, _numbers, size=64, number=number)
        first_pass = []
        while stream.turn == 0:
            first_pass.append(next(stream)[0][:, 0])
        seen += torch.cat(first_pass[:-1]).tolist()  # the last one belongs to the second pass
        assert sum(map(len, first_pass[:-1])) == stream.rows() // 64 * 64
    every = training_table()["a"].to_numpy()[roles == TRAIN]
    assert len(set(seen)) == len(seen)
    assert set(seen) <= set(every.tolist())
    assert len(every) - len(seen) < 2 * 64


def _numbers(piece: pyarrow.Table) -> tuple[torch.Tensor, torch.Tensor]:
    a, y = (torch.tensor(piece[name].to_numpy().copy()) for name in ("a", "y"))
    return a[:, None], y


def test_rows_without_target_or_inputs_are_left_out(tmp_path: Path) -> None:
    rows = training_table()
    y = np.where(np.arange(ROWS) % 3 == 0, np.nan, rows["y"].to_numpy())
    spoilt = rows.set_column(rows.schema.get_field_index("y"), "y", pyarrow.array(y, mask=np.arange(ROWS) % 5 == 0))
    parquet.write_table(spoilt, tmp_path / "rows.parquet", row_group_size=500)
    task = fit_task(regressor(), tmp_path / "rows.parquet", "y", features=FEATURES, holdout=0.0)
    expected = sum(1 for k in range(ROWS) if k % 3 and k % 5)
    table, roles = sample(task.work, task.columns, task.division)
    assert len(roles) == table.num_rows == expected
    posed = pose(task)
    unseen = pyarrow.table({"a": [0.1, 0.2, None], "b": [0.1, 0.2, 0.3], "c": ["x", "new", "y"], "y": [1.0, 2.0, 3.0]})
    X, targets = posed.encode(task.columns, unseen)
    assert len(X) == len(targets) == 1


def test_bad_input_is_a_sentence(data: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=naming("random_state")):
        fit_dataset(GPRegressor(), data, "y", checkpoint=tmp_path / "run")
    with pytest.raises(ValueError, match=naming("'nothing'")):
        fit_dataset(regressor(), data, "nothing", checkpoint=tmp_path / "run")
    with pytest.raises(ValueError, match=naming("6", "7")):
        shards(read_work_list(data).units, 7)
    shutil.rmtree(tmp_path / "run", ignore_errors=True)
