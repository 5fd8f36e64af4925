"""Channels of paths that change categories: the oracle is (11.1a) term by term, from the host's mean and variance."""

import warnings
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
from botorch.acquisition import analytic
from botorch.acquisition.logei import qLogExpectedImprovement
from botorch.sampling import SobolQMCNormalSampler
from scipy.stats import norm

import gplens
from category_models import STEP, X_MIXED, mean_of, mixed, switched
from gplens import links

X0_MIXED = np.array([0.4, 0.5, 0.0, 0.0])
BEST, BETA = 2.5, 0.25
Partials = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]


def deviation_of(model: Any) -> Callable[[np.ndarray], np.ndarray]:
    def deviation(x: np.ndarray) -> np.ndarray:
        with torch.no_grad(), warnings.catch_warnings(action="ignore"):
            return model.posterior(torch.as_tensor(x)).variance[..., 0].sqrt().numpy()

    return deviation


def log_improvement(m: np.ndarray, s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The derivatives of log EI by m and by sqrt(v)."""
    u = (m - BEST) / s
    improvement = s * (norm.pdf(u) + u * norm.cdf(u))
    return norm.cdf(u) / improvement, norm.pdf(u) / improvement


def lognormal(m: np.ndarray, s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Those of E exp(f)."""
    mean = np.exp(m + s**2 / 2)
    return mean, s * mean


def rule(count: int) -> tuple[np.ndarray, np.ndarray]:
    nodes, weights = np.polynomial.legendre.leggauss(count)
    return (nodes + 1) / 2, weights / 2


def by_definition(model: Any, partials: Partials, x0: np.ndarray, x: np.ndarray, categories: list[int]) -> np.ndarray:
    """The channel of the mean and that of the variance, (2, d)."""
    mean, deviation = mean_of(model), deviation_of(model)
    changed = [j for j in categories if x0[j] != x[j]]
    (t, w), (u, v), total = rule(40), rule(40), np.zeros((2, len(x)))
    for S in product([False, True], repeat=len(changed)):
        begin, end = switched(x0, x, changed, S)
        at, s, c = begin + t[:, None] * (end - begin), sum(S), len(S)
        m, sd = mean(at), deviation(at)
        slopes = partials(m, sd)
        for k in np.flatnonzero(end != begin):
            step = np.eye(len(x))[k] * STEP
            for i, f in enumerate((mean, deviation)):
                change = (f(at + step) - f(at - step)) / (2 * STEP)
                total[i, k] += (x - x0)[k] * (w * t**s * (1 - t) ** (c - s) * slopes[i] * change).sum()
        for place, j in enumerate(changed):
            if S[place]:
                continue
            after = switched(x0, x, changed, (*S[:place], True, *S[place + 1 :]))[0]
            moved = after + t[:, None] * (switched(x0, x, changed, (*S[:place], True, *S[place + 1 :]))[1] - after)
            dm, ds = mean(moved) - m, deviation(moved) - sd
            on_segment = partials(m[:, None] + u * dm[:, None], sd[:, None] + u * ds[:, None])
            probability = w * t**s * (1 - t) ** (c - 1 - s)
            for i, d in enumerate((dm, ds)):
                total[i, j] += (probability * d * (on_segment[i] @ v)).sum()
    return total


def test_log_improvement_term_by_term() -> None:
    e = gplens.explain(
        analytic.LogExpectedImprovement(mixed(), best_f=BEST), X_MIXED, baseline=X0_MIXED, tolerance=1e-9
    )
    assert e.channels is not None
    assert tuple(e.channels) == ("mean", "variance")
    found = torch.stack([e.channels["mean"], e.channels["variance"]], dim=1).numpy()
    truth = np.stack([by_definition(mixed(), log_improvement, X0_MIXED, x, [2, 3]) for x in X_MIXED])
    np.testing.assert_allclose(found, truth, atol=2e-6 * np.abs(truth).max())
    np.testing.assert_allclose(found.sum(1), e.values.numpy(), atol=1e-13 * np.abs(truth).max())


def test_a_link_term_by_term() -> None:
    """What of the mean of a lognormal outcome comes from the uncertainty of its logarithm."""
    e = gplens.explain(
        gplens.read(mixed()).process, X_MIXED, baseline=X0_MIXED, likelihood=links.Exp(), channels=True, support=False
    )
    assert e.channels is not None
    truth = np.stack([by_definition(mixed(), lognormal, X0_MIXED, x, [2, 3]) for x in X_MIXED])
    found = torch.stack([e.channels["mean"], e.channels["variance"]], dim=1).numpy()
    np.testing.assert_allclose(found, truth, atol=2e-6 * np.abs(truth).max())


def test_a_confidence_bound_is_its_mean_and_its_deviation() -> None:
    """Which depends on no path between two categories: the bound is a sum."""
    options: dict[str, Any] = {"baseline": X0_MIXED, "tolerance": 1e-12}
    e = gplens.explain(analytic.UpperConfidenceBound(mixed(), beta=BETA), X_MIXED, **options)
    mean = gplens.explain(analytic.PosteriorMean(mixed()), X_MIXED, **options)
    deviation = gplens.explain(analytic.PosteriorStandardDeviation(mixed()), X_MIXED, **options)
    assert e.channels is not None
    size = float(e.values.abs().max())
    assert (e.channels["mean"] - mean.values).abs().max() <= 1e-10 * size
    assert (e.channels["variance"] - BETA**0.5 * deviation.values).abs().max() <= 1e-10 * size


def test_a_target_without_variance_has_one_channel() -> None:
    """Also in shares of categories, on one line."""
    e = gplens.explain(mixed(), X_MIXED, baseline=X0_MIXED, channels=True, support=False)
    assert e.channels is not None
    assert torch.equal(e.channels["mean"], e.values)
    assert not e.channels["variance"].any()


@pytest.mark.slow
def test_samples_with_kinks_add_up() -> None:
    acquisition = qLogExpectedImprovement(mixed(), BEST, SobolQMCNormalSampler(torch.Size([4]), seed=0))
    e = gplens.explain(acquisition, X_MIXED, baseline=X0_MIXED, tolerance=1e-4)
    with torch.no_grad():
        change = acquisition(torch.as_tensor(X_MIXED)[:, None]) - acquisition(torch.as_tensor(X0_MIXED)[None, None])
    assert e.channels is not None
    assert (e.values.sum(1) - change).abs().max() <= 1e-3 * e.values.abs().max()
    assert (sum(e.channels.values()) - e.values).abs().max() <= 1e-12 * e.values.abs().max()
