"""Acquisition functions that are known by their values: categories, whole numbers, tasks, and gradients of the host."""

import warnings

import pytest
import torch
from acquisition_zoo import CANDIDATES, INCUMBENT, best, inputs, logarithm, one, sampler
from botorch.acquisition import ProximalAcquisitionFunction, analytic, qNegIntegratedPosteriorVariance
from botorch.acquisition.logei import qLogNoisyExpectedImprovement
from botorch.acquisition.monte_carlo import qSimpleRegret
from botorch.models import MixedSingleTaskGP, MultiTaskGP, SingleTaskGP
from botorch.models.transforms import ChainedInputTransform, Normalize, Round
from numpy.polynomial.legendre import leggauss
from torch import Tensor

import gplens
from messages import naming

pytestmark = pytest.mark.filterwarnings("ignore:Sparse invariant checks:UserWarning")  # torch, for tasks


def table(seed: int, categories: tuple[int, ...]) -> tuple[Tensor, Tensor]:
    """Two numbers, and columns of categories; an outcome in which they interact."""
    g = torch.Generator().manual_seed(seed)
    columns = [torch.rand(16, generator=g), torch.rand(16, generator=g)]
    X = torch.stack([*columns, *(torch.randint(count, (16,), generator=g) for count in categories)], 1).double()
    y = torch.sin(4 * X[:, 0]) + X[:, 1] * X[:, 2] - 0.7 * X[:, -1] * X[:, 0]
    return X, ((y - y.mean()) / y.std())[:, None]


class Own(analytic.UpperConfidenceBound):
    """Of a class that gplens does not know."""


def test_paths_switch_the_categories_of_the_model() -> None:
    """Against Owen's extension of the function's own values: four corners on 64 Gauss-Legendre nodes (MATH 10.1)."""
    X, y = table(0, (3, 2))
    a = Own(MixedSingleTaskGP(X, y, cat_dims=[2, 3]).eval(), 1.0)
    x, x0 = torch.tensor([[0.9, 0.8, 2, 1]]).double(), torch.tensor([0.2, 0.3, 0, 0]).double()
    e = gplens.explain(a, x, baseline=x0, tolerance=1e-8)
    nodes, weights = (torch.tensor(part).double() / 2 for part in leggauss(64))
    t, w = nodes + 0.5, weights
    corners = (x0 + t[:, None, None] * (x - x0)).repeat(1, 4, 1)
    corners[:, :, 2:] = torch.tensor([[0, 0], [0, 1], [2, 0], [2, 1]])
    corners.requires_grad_()
    values = a(corners.flatten(0, 1)[:, None]).unflatten(0, (64, 4))
    shares = torch.stack([(1 - t) ** 2, (1 - t) * t, t * (1 - t), t**2], 1)
    slopes = torch.autograd.grad((shares * values).sum(), corners)[0].sum(1)
    none, second, first, both = values.detach().T
    numbers = (w[:, None] * (x - x0) * slopes).sum(0)[:2]
    x2, x3 = (
        w * ((1 - t) * (alone - none) + t * (both - other)) for alone, other in ((first, second), (second, first))
    )
    expected = torch.cat([numbers, x2.sum()[None], x3.sum()[None]])
    assert bool(e.converged.all())
    assert (e.values[0] - expected).abs().max() <= 1e-6 * expected.abs().max()


@pytest.mark.slow
def test_paths_of_samples_switch_categories_too() -> None:
    X, y = table(0, (3, 2))
    model = MixedSingleTaskGP(X, y, cat_dims=[2, 3])
    a = qLogNoisyExpectedImprovement(model.eval(), X, sampler(8), tau_relu=0.1, prune_baseline=False)
    x, x0 = torch.tensor([[0.9, 0.8, 2, 1]]).double(), torch.tensor([0.2, 0.3, 0, 0]).double()
    e = gplens.explain(a, x, baseline=x0, tolerance=1e-7)
    with torch.no_grad():
        change = a(x[:, None]) - a(x0[None, None])
    assert bool(e.converged.all())
    assert (e.values.sum() - change).abs() <= 1e-7 * e.values.abs().max()


def test_the_function_inside_of_another_tells_the_categories() -> None:
    X, y = table(1, (3, 2))
    inner = analytic.UpperConfidenceBound(MixedSingleTaskGP(X, y, [2, 3]).eval(), 1.0)
    e = gplens.explain(ProximalAcquisitionFunction(inner, torch.ones(4).double(), beta=1.0), X[:3], baseline=X[3])
    assert bool(e.converged.all())
    assert "switches x2, x3" in repr(e)


def test_whole_numbers_pass_as_if_they_were_not_rounded() -> None:
    """At whole numbers a model without Round is the same model, and has a derivative in between."""
    X, y = table(2, (9, 9))
    scale = Normalize(d=4, bounds=torch.tensor([[0.0] * 4, [1.0, 1.0, 8.0, 8.0]]).double())
    rounding = Round(integer_indices=[2, 3])
    rounds = SingleTaskGP(X, y, input_transform=ChainedInputTransform(rounding=rounding, scale=scale))
    plain = SingleTaskGP(X, y, input_transform=scale)
    a, b = Own(rounds.eval(), 1.0), Own(plain.eval(), 1.0)
    candidates, x0 = (
        torch.tensor([[0.9, 0.8, 5, 1], [0.1, 0.7, 3, 8]]).double(),
        torch.tensor([0.2, 0.3, 1, 6]).double(),
    )
    e, f = (gplens.explain(function, candidates, baseline=x0, tolerance=1e-8) for function in (a, b))
    assert (e.values - f.values).abs().max() <= 1e-6 * f.values.abs().max()
    assert rounding.integer_indices.tolist() == [2, 3]
    for function in (a, analytic.LogExpectedImprovement(rounds, 0.0), rounds):
        with pytest.raises(ValueError, match=naming("2, 3", "whole numbers", "SingleTaskGP")):
            gplens.explain(function, candidates + 0.4, baseline=x0)


def test_variances_given_a_candidate_have_gradients() -> None:
    """GPyTorch takes what it keeps of a conditioned model out of autograd's graph, so that Captum is no oracle."""
    a = qNegIntegratedPosteriorVariance(one(), mc_points=inputs(12, 0))
    e = gplens.explain(a, CANDIDATES, baseline=INCUMBENT, tolerance=1e-8)
    with torch.no_grad():
        change = a(CANDIDATES[:, None]) - a(INCUMBENT[None, None])
    assert bool(e.converged.all())
    assert (e.values.sum(1) - change).abs().max() <= 1e-8 * change.abs().max()


def test_samples_of_a_logarithmic_outcome_are_exponentials() -> None:
    """m + sd z of the lognormal outcome is not its sample, so that no formula holds; the function's own values do."""
    with warnings.catch_warnings(action="ignore"):  # outcomes that are not standardised
        a = qSimpleRegret(logarithm(), sampler())
    e = gplens.explain(a, CANDIDATES, baseline=INCUMBENT, tolerance=1e-8)
    with torch.no_grad():
        change = a(CANDIDATES[:, None]) - a(INCUMBENT[None, None])
    assert e.channels is None
    assert bool(e.converged.all())
    assert (e.values.sum(1) - change).abs().max() <= 1e-8 * change.abs().max()


def test_a_model_of_tasks_is_asked_for_its_own_task() -> None:
    X, y = table(3, (2,))
    a = analytic.LogExpectedImprovement(MultiTaskGP(X, y, task_feature=-1, output_tasks=[0]).eval(), y.median())
    e = gplens.explain(a, X[:3, :2], baseline=X[3, :2], tolerance=1e-8)
    with torch.no_grad():
        change = a(X[:3, None, :2]) - a(X[3:4, None, :2])
    assert (e.values.sum(1) - change).abs().max() <= 1e-8 * change.abs().max()


def test_gradients_that_are_not_those_of_the_values_are_refused() -> None:
    class Forgetful(analytic.ExpectedImprovement):
        def forward(self, X: Tensor) -> Tensor:
            return super().forward(X) * (X.detach() ** 2).sum((-2, -1))

    with pytest.raises(ValueError, match=naming("Forgetful", "autograd")):
        gplens.explain(Forgetful(one(), best()), CANDIDATES, baseline=INCUMBENT)
