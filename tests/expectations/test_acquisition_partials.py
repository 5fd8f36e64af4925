"""Partial derivatives of acquisition functions against mpmath, in the tail too."""

import mpmath
import pytest
import torch
from mpmath import mp, mpf

from gplens.expectations.acquisition import (
    Criterion,
    Exponential,
    LogFeasibility,
    LogImprovement,
    LogImprovementProbability,
)

mp.dps = 60
"""For central differences with steps of 1e-25."""


def log_improvement(m: mpf, v: mpf) -> mpf:
    sd = mp.sqrt(v)
    u = m / sd
    return mp.log(sd * (mp.npdf(u) + u * mp.ncdf(u)))


def log_probability(m: mpf, v: mpf) -> mpf:
    return mp.log(mp.ncdf(m / mp.sqrt(v)))


def log_between(m: mpf, v: mpf) -> mpf:
    sd = mp.sqrt(v)
    return mp.log(mp.ncdf((m - mpf("0.5")) / sd) - mp.ncdf((m - mpf("1.5")) / sd))  # of left tails, for m = -40 sd


CASES = [
    (LogImprovement(0.0), log_improvement),
    (LogImprovementProbability(0.0), log_probability),
    (LogFeasibility(((0, 0.5, 1.5),)), log_between),
]


def partials(criterion: Criterion, m: float, v: float) -> list[float]:
    found = criterion.partials(*(torch.tensor([[number]], dtype=torch.float64) for number in (m, v)))
    return [float(part) for part in found]


@pytest.mark.parametrize("u", [-40.0, -8.0, -1.0, 0.0, 0.3, 6.0])
@pytest.mark.parametrize("v", [0.25, 4.0])
@pytest.mark.parametrize(("criterion", "psi"), CASES, ids=["log EI", "log PI", "log feasibility"])
def test_partials_of_logarithms(criterion: Criterion, psi: object, u: float, v: float) -> None:
    m, h = mpf(u * v**0.5), mpf(10) ** -25
    value, by_m = psi(m, mpf(v)), (psi(m + h, mpf(v)) - psi(m - h, mpf(v))) / (2 * h)  # type: ignore[operator]
    by_v = (psi(m, v + h) - psi(m, v - h)) / (2 * h)  # type: ignore[operator]
    for ours, true in zip(partials(criterion, float(m), v), (value, by_m, by_v), strict=True):
        assert ours == pytest.approx(float(true), rel=1e-11, abs=1e-13 * max(1.0, abs(float(value))))


def test_expected_improvement_far_below_the_best_value() -> None:
    """At u = -40 the logarithm is -808, and expected improvement itself is no number of float64."""
    value, by_m, by_v = partials(LogImprovement(0.0), -40.0, 1.0)
    assert value == pytest.approx(float(log_improvement(mpf(-40), mpf(1))), rel=1e-14)
    assert (by_m, by_v) == (pytest.approx(40.0, rel=2e-3), pytest.approx(800.0, rel=3e-3))
    assert partials(Exponential(LogImprovement(0.0)), -40.0, 1.0) == [0.0, 0.0, 0.0]


def test_improvement_to_minus_a_hundred_million_deviations() -> None:
    for u in (-49.9, -50.1, -1e4, -1e8):
        ratio = mpmath.quad(lambda t, u=u: mp.exp(u * t - t * t / 2) * t, [0, 1 / mpf(-u), 10 / mpf(-u), 200 / mpf(-u)])
        value, _, by_v = partials(LogImprovement(0.0), u, 1.0)  # E max(f, 0)/phi(u) = int t e^(ut - t^2/2) dt

        assert by_v == pytest.approx(float(1 / (2 * ratio)), rel=2e-12)
        assert value == pytest.approx(float(mp.log(ratio) - mpf(u) ** 2 / 2 - mp.log(2 * mp.pi) / 2), rel=1e-14)
