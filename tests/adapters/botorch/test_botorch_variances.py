"""posterior(X).variance, with and without observation noise, for random models with every outcome transform."""

import warnings
from typing import Any

import numpy as np
import pytest
import torch
from botorch.models import ModelListGP, SingleTaskGP, SingleTaskVariationalGP
from botorch.models.transforms import ChainedOutcomeTransform, Log, Normalize, Standardize
from botorch_zoo import drawn
from torch import Tensor

import gplens
from gplens.targets import EpistemicVariance, PredictiveVariance
from messages import naming
from seeds import fresh_seed

pytestmark = pytest.mark.filterwarnings("ignore::botorch.exceptions.warnings.BotorchWarning")


def outcome(rng: np.random.Generator) -> Any:
    """None, or one of the transforms that gplens reads."""
    kinds = [None, Standardize(m=1), Log(), ChainedOutcomeTransform(log=Log(), scale=Standardize(m=1))]
    return kinds[rng.choice(4, p=[0.1, 0.2, 0.35, 0.35])]


def single(rng: np.random.Generator) -> Any:
    X = torch.as_tensor(rng.random((int(rng.integers(6, 15)), 2)))
    size = 10 ** rng.uniform(-3, 3)
    Y = size * torch.exp(torch.sin(4 * X[:, :1]) + 0.3 * torch.as_tensor(rng.normal(size=(len(X), 1))))
    given = 1e-3 * size**2 * torch.ones_like(Y) if rng.random() < 0.3 else None
    inputs = Normalize(d=2) if rng.random() < 0.5 else None
    model: Any = SingleTaskGP(X, Y, given, outcome_transform=outcome(rng), input_transform=inputs)
    if rng.random() < 0.2:
        torch.manual_seed(int(rng.integers(2**31)))
        model = SingleTaskVariationalGP(X, Y, inducing_points=5, outcome_transform=outcome(rng)).double()
        strategy = model.model.variational_strategy
        strategy.variational_params_initialized.fill_(1)
        strategy._variational_distribution.variational_mean.data.normal_()
        strategy._variational_distribution.chol_variational_covar.data.mul_(0.5)
    return model.eval()


def exact_difference(values: Tensor, end: Tensor, start: Tensor) -> None:
    change = end - start
    size = torch.cat([end.flatten(), start.flatten(), values.flatten()]).abs().max()
    assert (values.sum(-1) - change).abs().max() <= 2e-6 * size


def check(seed: int, case: int) -> None:
    rng = np.random.default_rng([seed, case])
    with warnings.catch_warnings(action="ignore"):
        try:
            model: Any = single(rng) if rng.random() < 0.7 else ModelListGP(single(rng), single(rng)).eval()
        except NotImplementedError:  # BoTorch before 0.18 has no logarithms of outcomes with given noise
            return
    X, x0 = torch.as_tensor(rng.random((2, 2))), torch.as_tensor(rng.random((1, 2)))
    noisy = bool(rng.random() < 0.4)
    label = f"seed {seed}, case {case}, noise {noisy}, {model}"
    with torch.no_grad(), warnings.catch_warnings(action="ignore"):
        end, start = (model.posterior(x, observation_noise=noisy).variance for x in (X, x0))
    target = PredictiveVariance() if noisy else EpistemicVariance()
    try:
        e = gplens.explain(model, X, baseline=x0, target=target)
    except ValueError as error:
        if not noisy or "Var[y|f]" not in str(error):  # noise that differs from input to input
            raise AssertionError(label) from error
        return
    shape = (2, -1)
    torch.testing.assert_close(e.prediction.reshape(shape), end, rtol=1e-6, atol=1e-300, msg=lambda m: f"{label}: {m}")
    torch.testing.assert_close(e.baseline_prediction.reshape(shape), start.expand(end.shape), rtol=1e-6, atol=1e-300)
    for i in range(end.shape[1]):  # outputs have units of their own
        exact_difference(e.values.reshape(2, -1, 2)[:, i], end[:, i], start[:, i])


@pytest.mark.slow
def test_random_models() -> None:
    for case in range(25):
        check(0, case)


@pytest.mark.slow
def test_random_models_with_another_seed() -> None:
    seed = fresh_seed()
    for case in range(220):
        check(seed, case)


def test_draws_of_logarithms_are_refused() -> None:
    """BoTorch has no posterior for them: it takes the distribution of a transformed posterior, which has none."""
    with warnings.catch_warnings(action="ignore"):
        model = drawn()
    model.outcome_transform = Log()
    X = torch.tensor([[0.4, 0.6]], dtype=torch.float64)
    with pytest.raises(AttributeError, match="distribution"):
        model.posterior(X)
    with pytest.raises(ValueError, match=naming("Standardize", "SaasFullyBayesianSingleTaskGP")):
        gplens.explain(model, X, baseline=0.3, target=EpistemicVariance())


def test_a_likelihood_that_is_passed_does_not_change_the_variance_of_the_outcome() -> None:
    X = torch.rand(9, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    model = SingleTaskGP(X, X.sum(1, keepdim=True) + 0.5, outcome_transform=Log()).eval()
    e = gplens.explain(model, X[:2] + 0.1, baseline=0.3, target=EpistemicVariance(), likelihood=gplens.links.Exp())
    with torch.no_grad():
        torch.testing.assert_close(e.prediction, model.posterior(X[:2] + 0.1).variance[:, 0], rtol=1e-8, atol=1e-12)


def test_a_variance_that_overflows_is_refused_with_the_numbers() -> None:
    X = torch.rand(5, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    with warnings.catch_warnings(action="ignore"):
        model = SingleTaskGP(X, torch.full((5, 1), 1e200, dtype=torch.float64), outcome_transform=Log()).eval()
    with pytest.raises(OverflowError, match=naming(709)):
        gplens.explain(model, X[:1], baseline=0.3, target=EpistemicVariance())
