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
from botorch.utils.safe_math import log_fatplus
from scipy.stats import norm

import gplens
from category_models import STEP, X_MIXED, mean_of, mixed, switched
from gplens import links
from gplens.expectations.channel_gradients import ChannelGradients
from gplens.paths.switching import SwitchingGradient

X0_MIXED = np.array([0.4, 0.5, 0.0, 0.0])
BEST, BETA = 2.5, 0.25
GRADES = 4.0 ** -np.arange(1, 20)
"""Distances from a kink, in parts of a segment, between which the oracle has a rule each."""
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


def log_of_samples(m: torch.Tensor, sd: torch.Tensor, z: torch.Tensor) -> torch.Tensor:
    """BoTorch's q log EI of one candidate, with its default temperatures."""
    h = log_fatplus(m[:, None] + sd[:, None] * z - BEST, tau=1e-6)
    return torch.logsumexp(h, 1) - np.log(len(z))


def split_of_segment(begin: np.ndarray, end: np.ndarray, z: torch.Tensor) -> np.ndarray:
    """(11.1a) of two points (m, sd), with a graded rule around every place where a sample loses its improvement."""
    change = end - begin
    lost = (BEST - begin[0] - begin[1] * z.numpy()) / (change[0] + change[1] * z.numpy())
    places = (lost[:, None] + np.concatenate([-GRADES, [0.0], GRADES])).flatten()
    edges = np.unique(np.clip(np.concatenate([places, [0.0, 1.0]]), 0, 1))
    nodes, weights = rule(12)
    u, w = (edges[:-1, None] + np.diff(edges)[:, None] * nodes).flatten(), np.outer(np.diff(edges), weights).flatten()
    m, sd = (torch.tensor(begin[i] + u * change[i], requires_grad=True) for i in (0, 1))
    slopes = torch.autograd.grad(log_of_samples(m, sd, z).sum(), (m, sd))
    return np.array([change[i] * (w @ slopes[i].numpy()) for i in (0, 1)])


def test_samples_with_kinks_term_by_term() -> None:
    """Two categories switch and the numbers stay, so that (10.2) averages both orders."""
    sampler: Any = SobolQMCNormalSampler(torch.Size([8]), seed=0)
    acquisition = qLogExpectedImprovement(mixed(), BEST, sampler)
    x0 = np.array([0.4, 0.5, 0.0, 0.0])
    X = np.array([[0.4, 0.5, 1.0, 2.0], [0.4, 0.5, 2.0, 3.0]])
    e = gplens.explain(acquisition, X, baseline=x0, tolerance=1e-4)
    assert e.channels is not None
    found = torch.stack([e.channels["mean"], e.channels["variance"]], dim=1).numpy()[..., 2:]
    z, mean, deviation = sampler.base_samples.flatten(), mean_of(mixed()), deviation_of(mixed())
    for row, x in zip(found, X, strict=True):
        corners = {}
        for S in product([False, True], repeat=2):
            at = switched(x0, x, [2, 3], S)[0][None]
            corners[S] = np.array([mean(at)[0], deviation(at)[0]])
        first = [split_of_segment(corners[False, s], corners[True, s], z) for s in (False, True)]
        second = [split_of_segment(corners[s, False], corners[s, True], z) for s in (False, True)]
        truth = np.stack([np.mean(first, 0), np.mean(second, 0)], axis=1)
        np.testing.assert_allclose(row, truth, atol=1e-3 * np.abs(truth).max())


def test_channels_of_samples_cost_about_as_much_as_the_values(monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of lines and nodes: segments have nodes of their own, which kinks of the path do not multiply."""
    counts = {False: 0, True: 0}
    evaluated = SwitchingGradient.sums

    def counted(self: SwitchingGradient, rows: torch.Tensor, t: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
        counts[isinstance(self.expectation, ChannelGradients)] += t.numel()
        return evaluated(self, rows, t, weights)

    monkeypatch.setattr(SwitchingGradient, "sums", counted)
    acquisition = qLogExpectedImprovement(mixed(), BEST, SobolQMCNormalSampler(torch.Size([64]), seed=0))
    gplens.explain(acquisition, X_MIXED[:1], baseline=X0_MIXED, tolerance=1e-3)
    assert 0 < counts[True] <= 2 * counts[False]


@pytest.mark.slow
def test_samples_with_kinks_add_up() -> None:
    acquisition = qLogExpectedImprovement(mixed(), BEST, SobolQMCNormalSampler(torch.Size([4]), seed=0))
    e = gplens.explain(acquisition, X_MIXED, baseline=X0_MIXED, tolerance=1e-4)
    with torch.no_grad():
        change = acquisition(torch.as_tensor(X_MIXED)[:, None]) - acquisition(torch.as_tensor(X0_MIXED)[None, None])
    assert e.channels is not None
    assert (e.values.sum(1) - change).abs().max() <= 1e-3 * e.values.abs().max()
    assert (sum(e.channels.values()) - e.values).abs().max() <= 1e-12 * e.values.abs().max()
