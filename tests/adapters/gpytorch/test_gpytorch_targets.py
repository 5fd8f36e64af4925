"""Targets that need the likelihood: variances and tail probabilities, as the host and scipy have them."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from gpytorch.likelihoods import FixedNoiseGaussianLikelihood
from gpytorch_entries import Host, exact
from gpytorch_response import predicted
from gpytorch_zoo import BY_NAME, rbf_ard
from scipy import stats
from torch import Tensor

import gplens
from gplens.targets import EpistemicVariance, Exceeds, PredictiveVariance, Target
from oracles.autograd_path import integrated_gradients
from oracles.hermite import expectation

CLOSED = [
    "exact rbf ard",
    "exact matern52 float32",
    "exact rq fixed noise",
    "svgp rbf gaussian",
    "svgp matern32 bernoulli mean-field",
    "svgp rbf ard bernoulli float32",
    "tasks with kernels and points of their own",
    "tasks that repeat one latent bernoulli",
    "lmc gaussian float32",
]
SAMPLED = [
    "svgp matern52 poisson natural",
    "svgp rq negative binomial",
    "svgp polynomial negative binomial failures tril-natural",
    "svgp periodic beta",
    "svgp cosine student-t float32",
    "svgp linear laplace delta",
    "svgp rbf own exp counts",
    "unwhitened rbf own logistic classes",
    "svgp rbf own saturating counts float32",
    "lmc poisson",
]


def explain(host: Host, target: Target) -> gplens.Explanation:
    return gplens.explain(
        host.model, host.data.inputs, baseline=host.data.baseline, likelihood=host.likelihood, target=target
    )


def agrees(name: str, target: Target, T: Callable[[Host], Callable[[Tensor], Tensor]]) -> None:
    """Predictions to 1e-8, and attributions to the default tolerance, of T through the host in float64."""
    result, host = explain(BY_NAME[name].fresh(), target), BY_NAME[name].double()
    x, x0 = host.data.inputs, host.data.baseline
    with torch.no_grad():
        assert (result.prediction - T(host)(x)).abs().max() <= 1e-8
        assert (result.baseline_prediction - T(host)(x0[None])).abs().max() <= 1e-8
    oracle = integrated_gradients(T(host), x, x0)
    assert (result.values - oracle).abs().max() <= 1e-6 * oracle.abs().max()


@pytest.mark.parametrize("name", CLOSED)
def test_predictive_variance_is_the_host_s_own(name: str) -> None:
    """v + noise for a Gaussian, p (1 - p) for a Bernoulli."""
    agrees(name, PredictiveVariance(), lambda host: lambda x: predicted(host, host.model(x)).variance)


def total_variance(host: Host) -> Callable[[Tensor], Tensor]:
    """E Var[y|f] + E (E[y|f])^2 - (E y)^2 by Gauss-Hermite."""

    def variance(x: Tensor) -> Tensor:
        f, given = host.model(x), host.likelihood.forward
        m, v = f.mean, f.variance
        within = expectation(lambda s: given(s).variance, m, v)
        return (
            within + expectation(lambda s: given(s).mean ** 2, m, v) - expectation(lambda s: given(s).mean, m, v) ** 2
        )

    return variance


@pytest.mark.parametrize("name", SAMPLED)
def test_predictive_variance_of_a_sampling_likelihood_is_the_law_of_total_variance(name: str) -> None:
    agrees(name, PredictiveVariance(), total_variance)


@pytest.mark.parametrize("name", [*CLOSED, *SAMPLED])
def test_epistemic_variance_is_the_variance_of_f(name: str) -> None:
    agrees(name, EpistemicVariance(), lambda host: lambda x: host.model(x).variance)


def marginals(name: str) -> tuple[np.ndarray, np.ndarray, Host]:
    host = BY_NAME[name].double()
    with torch.no_grad():
        f = host.model(host.data.inputs)
        return f.mean.numpy(), f.variance.numpy(), host


@pytest.mark.parametrize("t", [-1.0, 0.0, 0.7])
@pytest.mark.parametrize("name", ["exact rbf ard", "svgp rbf gaussian"])
def test_exceeds_with_gaussian_noise_is_the_normal_tail(name: str, t: float) -> None:
    m, v, host = marginals(name)
    tail = stats.norm.sf(t, loc=m, scale=np.sqrt(v + host.likelihood.noise.item()))
    result = explain(BY_NAME[name].fresh(), Exceeds(t))
    assert result.prediction.numpy() == pytest.approx(tail, abs=1e-8)
    assert result.gap.abs().max() <= 1e-6 * result.values.abs().max() + 1e-10


def test_exceeds_takes_the_noise_of_each_task() -> None:
    name = "tasks with kernels and points of their own"
    m, v, host = marginals(name)
    noise = (host.likelihood.task_noises + host.likelihood.noise).detach().numpy()
    tail = stats.norm.sf(0.3, loc=m, scale=np.sqrt(v + noise))
    assert explain(BY_NAME[name].fresh(), Exceeds(0.3)).prediction.numpy() == pytest.approx(tail, abs=1e-8)


@pytest.mark.parametrize("t", [-0.5, 0.0, 1.0, 2.0, 2.5, 6.0])
def test_exceeds_of_counts_is_the_poisson_tail(t: float) -> None:
    """P(y > t) for y in 0, 1, 2, ...: a half count makes no difference, a negative one is always exceeded."""
    name = "svgp matern52 poisson natural"
    m, v, _ = marginals(name)
    z, w = np.polynomial.hermite.hermgauss(120)
    f = m + np.sqrt(2 * v) * z[:, None]
    tail = w @ stats.poisson.sf(np.floor(t), np.log1p(np.exp(f))) / np.sqrt(np.pi)
    assert explain(BY_NAME[name].fresh(), Exceeds(t)).prediction.numpy() == pytest.approx(tail, abs=1e-8)


@pytest.mark.parametrize("t", [0.0, 1.0, 3.0])
def test_exceeds_of_counts_is_the_negative_binomial_tail(t: float) -> None:
    name = "svgp rq negative binomial"
    m, v, host = marginals(name)
    p = host.likelihood.probs.item()
    z, w = np.polynomial.hermite.hermgauss(120)
    failures = np.log1p(np.exp(m + np.sqrt(2 * v) * z[:, None])) * (1 - p) / p
    tail = w @ stats.nbinom.sf(np.floor(t), failures, 1 - p) / np.sqrt(np.pi)
    assert explain(BY_NAME[name].fresh(), Exceeds(t)).prediction.numpy() == pytest.approx(tail, abs=1e-8)


def test_exceeds_one_half_of_a_class_is_its_probability() -> None:
    host = BY_NAME["svgp matern32 bernoulli mean-field"].fresh()
    tail, response = explain(host, Exceeds(0.5)), explain(host, gplens.targets.Response())
    assert (tail.values - response.values).abs().max() <= 1e-6 * response.values.abs().max()
    assert (tail.prediction - response.prediction).abs().max() <= 1e-10


@pytest.mark.parametrize(("t", "tail"), [(-1.0, 1.0), (1.0, 0.0), (2.5, 0.0)])
def test_exceeds_knows_where_the_support_ends(t: float, tail: float) -> None:
    """A class is 0 or 1."""
    result = explain(BY_NAME["svgp matern32 bernoulli mean-field"].fresh(), Exceeds(t))
    assert result.prediction.tolist() == pytest.approx([tail] * len(result), abs=1e-12)
    assert result.values.abs().max() <= 1e-12


@pytest.mark.parametrize("name", ["svgp periodic beta", "svgp cosine student-t float32"])
def test_exceeds_without_a_cdf_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=r"cdf.*(Beta|StudentT).*Custom"):
        explain(BY_NAME[name].fresh(), Exceeds(0.5))


@pytest.mark.parametrize(("target", "what"), [(PredictiveVariance(), r"Var\[y\|f\]"), (Exceeds(0.1), r"P\(y > t\|f\)")])
def test_noise_that_is_known_at_the_training_points_alone_is_refused(target: Target, what: str) -> None:
    with pytest.raises(ValueError, match=rf"(?=.*FixedNoiseGaussianLikelihood)(?=.*{what})"):
        explain(BY_NAME["exact matern32 uneven noise"].fresh(), target)


def test_fixed_noise_with_learned_noise_on_top_counts_both_once() -> None:
    def both(y: Tensor) -> FixedNoiseGaussianLikelihood:
        return FixedNoiseGaussianLikelihood(torch.full_like(y, 0.05), learn_additional_noise=True)

    host = exact("both noises", rbf_ard, likelihood=both).fresh()
    noise = explain(host, PredictiveVariance()).prediction - explain(host, EpistemicVariance()).prediction
    expected = 0.05 + host.likelihood.second_noise.item()
    assert noise.tolist() == pytest.approx([expected] * len(noise), abs=1e-12)
