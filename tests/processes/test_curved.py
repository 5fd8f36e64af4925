"""Paths that are curves for the process: kinks found on lines, nodes slowed down there, and error bars along curves."""

import numpy as np
import pytest
import torch
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, Matern
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, PolynomialFeatures, PowerTransformer, StandardScaler

import gplens
from gplens.lines.line import Line
from gplens.processes.crossings import Levels, slowed
from gplens.processes.curved import Curved
from gplens.processes.smooth_map import SmoothMap

X = np.random.default_rng(0).gamma(2.0, 1.0, (30, 2)) + 0.1
Y = np.sin(X[:, 0]) + X[:, 1] ** 2


def numbers(*values: float) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64)


def test_every_threshold_that_a_line_passes_is_found() -> None:
    """Several in one piece of the line, falling and rising, of curved functions."""
    levels = Levels(
        lambda x: torch.stack([x[:, 0], x[:, 0] * x[:, 1]], dim=1), (numbers(0.0, 0.001, 0.002, 7.0), numbers(0.25))
    )
    line = Line(numbers(-1.0, 1.0)[None], numbers(2.0, -1.0)[None].repeat(2, 1), torch.zeros(2, 0))
    line = Line(line.x0, line.d * numbers(1.0, 0.0)[:, None], line.t)
    kinks = levels.crossings(line)
    roots = np.roots([-2.0, 3.0, -1.25])  # (-1 + 2t)(1 - t) = 1/4, which has no real root
    assert not np.isreal(roots).any()
    np.testing.assert_allclose(np.sort(kinks[0]), [0.5, 0.5005, 0.501], rtol=0, atol=1e-15)
    assert kinks[1].isnan().all()


def test_slowed_nodes_keep_integrals_over_jumps() -> None:
    """int of a function with jumps in its slope, by one Gauss rule."""
    t, w = np.polynomial.legendre.leggauss(90)
    s = torch.as_tensor((t + 1) / 2)[None]
    kinks = numbers(0.31, 0.7, float("nan"))[None]
    tau, rate = slowed(s, kinks)
    f = torch.where(tau < 0.31, tau.exp(), torch.where(tau < 0.7, 3 * tau**2, -1.0))
    exact = np.exp(0.31) - 1 + 0.7**3 - 0.31**3 - 0.3
    assert abs(float((torch.as_tensor(w / 2) * f * rate).sum()) - exact) <= 1e-5
    assert bool((tau.diff() > 0).all())


STEPS = [(PolynomialFeatures(2), 1e-5), (PowerTransformer(), 1e-5), (MinMaxScaler(clip=True), 2e-3)]


@pytest.mark.parametrize(("step", "allowed"), STEPS, ids=lambda value: type(value).__name__)
@pytest.mark.parametrize("kernel", [RBF(2.0), Matern(2.0, nu=2.5)], ids=["rbf", "matern"])
def test_covariances_are_those_of_differences_of_a_joint_prediction(step: object, allowed: float, kernel: RBF) -> None:
    """Cov(IG) = A Cov(f at shifted points) A', with a fine grid of points on the path."""
    model = make_pipeline(step, StandardScaler(), GaussianProcessRegressor(kernel, alpha=0.1, optimizer=None)).fit(X, Y)
    x, x0 = X[0] * 1.2, X.mean(0)
    e = gplens.explain(model, x[None], baseline=x0, uncertainty=gplens.Full(), tolerance=1e-5)
    q, h = 120, 1e-3 if allowed < 1e-4 else 1e-5
    t, w = np.polynomial.legendre.leggauss(q)
    points = x0 + (t[:, None] + 1) / 2 * (x - x0)
    shifted = np.concatenate([points + a * h * row for row in np.eye(2) for a in (1, -1)])
    weights = np.zeros((2, len(shifted)))
    for k in range(2):
        for i, sign in enumerate((1, -1)):
            weights[k, (2 * k + i) * q : (2 * k + i + 1) * q] = sign * w / 2 * (x - x0)[k] / (2 * h)
    covariance = weights @ model.predict(shifted, return_cov=True)[1] @ weights.T
    assert e.covariance is not None
    assert np.abs(e.covariance[0].numpy() - covariance).max() <= allowed * np.abs(covariance).max()


def test_a_map_to_another_number_of_columns_is_refused() -> None:
    posterior = gplens.read(GaussianProcessRegressor(RBF(), optimizer=None).fit(X, Y)).process
    with pytest.raises(ValueError, match=r"2 columns.* 3"):
        Curved(posterior, SmoothMap.columns(3))


def test_a_path_on_which_a_step_is_not_defined_is_refused() -> None:
    model = make_pipeline(PowerTransformer("box-cox"), GaussianProcessRegressor(RBF(), optimizer=None)).fit(X, Y)
    with pytest.raises(ValueError, match=r"finite.*-0\.5"):
        gplens.explain(model, X[:1], baseline=[-0.5, 1.0])
