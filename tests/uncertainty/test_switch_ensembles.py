"""Draws of hyper-parameters on paths that change categories: the oracle is BoTorch's mixture (MATH 10.4)."""

from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from botorch.acquisition import analytic
from botorch.models.fully_bayesian import SaasFullyBayesianSingleTaskGP
from botorch.models.fully_bayesian_multitask import SaasFullyBayesianMultiTaskGP
from botorch.models.transforms import Standardize
from test_switch_spreads import linear_map

import gplens
from category_models import by_definition, scattered

pytestmark = pytest.mark.filterwarnings("ignore:Sparse invariant checks:UserWarning")  # torch, for tasks
DRAWS = 3
X0 = np.array([0.4, 0.5, 0.0])


def table() -> tuple[torch.Tensor, torch.Tensor]:
    points = scattered(2, [3], 24, 1)
    return points, torch.sin(4 * points[:, :1]) + points[:, 1:2] * (1 + points[:, 2:])


def drawn(features: int) -> dict[str, torch.Tensor]:
    """As NUTS would leave them."""
    g = torch.Generator().manual_seed(0)
    return {
        "lengthscale": 0.4 + torch.rand(DRAWS, 1, features, generator=g, dtype=torch.float64),
        "outputscale": 0.8 + torch.rand(DRAWS, generator=g, dtype=torch.float64),
        "mean": 0.1 * torch.randn(DRAWS, generator=g, dtype=torch.float64),
        "noise": 1e-2 * torch.ones(DRAWS, 1, dtype=torch.float64),
    }


@cache
def codes() -> Any:
    """The third column is a number to the model, and codes of categories to its user."""
    points, outcomes = table()
    unit = points / torch.tensor([1.0, 1.0, 2.0])  # BoTorch warns of others
    model = SaasFullyBayesianSingleTaskGP(unit, outcomes, outcome_transform=Standardize(m=1))
    model.load_mcmc_samples(drawn(3))
    return model.eval()


@cache
def tasks() -> Any:
    """The third column says which of three functions, whose correlations are drawn too."""
    points, outcomes = table()
    model = SaasFullyBayesianMultiTaskGP(points, outcomes, task_feature=2, rank=2, output_tasks=[2])
    g = torch.Generator().manual_seed(1)
    features = torch.rand(DRAWS, 3, 2, generator=g, dtype=torch.float64)
    scales = {"task_lengthscale": 0.5 + features[:, 0], "latent_features": features, "mean": features[..., 0]}
    model.load_mcmc_samples(drawn(2) | scales)
    return model.eval()


MODELS: dict[str, tuple[Any, list[str] | None, np.ndarray]] = {
    "codes": (codes, ["x2"], np.array([[0.9, 0.2, 0.5], [0.1, 0.7, 1.0]])),
    "tasks": (tasks, None, np.array([[0.9, 0.2, 1.0], [0.1, 0.7, 2.0]])),
}
every_model = pytest.mark.parametrize("name", MODELS)


def mean_of(model: Any) -> Any:
    def mean(x: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            return model.posterior(torch.as_tensor(x)).mixture_mean[..., 0].numpy()

    return mean


@every_model
def test_the_definition_term_by_term(name: str) -> None:
    make, categories, X = MODELS[name]
    model = make()
    e, T = gplens.explain(model, X, baseline=X0, categories=categories, support=False), mean_of(model)
    truth = np.stack([by_definition(T, X0, x, [2]) for x in X])
    np.testing.assert_allclose(e.values.numpy(), truth, atol=5e-7 * np.abs(truth).max())
    np.testing.assert_allclose(e.values.sum(1).numpy(), T(X) - T(X0[None]), atol=1e-8)


@every_model
def test_deviations_are_those_of_the_mixture(name: str) -> None:
    """Within every draw, from the host's joint posterior at all points of the definition, and between draws."""
    make, categories, X = MODELS[name]
    model = make()
    e = gplens.explain(model, X, baseline=X0, categories=categories, uncertainty=gplens.Diagonal(), support=False)
    for i, x in enumerate(X):
        points, rows = linear_map(X0, x, [2])
        with torch.no_grad():
            posterior = model.posterior(torch.as_tensor(points))
            m, C = posterior.mean[..., 0], posterior.distribution.covariance_matrix
        for k, row in rows:
            w = torch.as_tensor(row)
            variance = (w @ C @ w).mean() + (m @ w).var(correction=0)
            assert float(e.std[i, k]) == pytest.approx(float(variance.sqrt()), rel=5e-3)


@every_model
def test_an_acquisition_function_of_draws_with_channels(name: str) -> None:
    make, categories, X = MODELS[name]
    acquisition = analytic.LogExpectedImprovement(make(), best_f=2.0)
    e = gplens.explain(acquisition, X, baseline=X0, categories=categories, tolerance=1e-9)
    with torch.no_grad():
        change = acquisition(torch.as_tensor(X)[:, None]) - acquisition(torch.as_tensor(X0)[None, None])
    assert (e.values.sum(1) - change).abs().max() <= 1e-8 * change.abs().max()
    assert e.channels is not None
    assert (sum(e.channels.values()) - e.values).abs().max() <= 1e-13 * e.values.abs().max()
