"""P(y > t) with Laplace noise: g(f) = P(y > t|f) has a jump in g'' at f = t, which is in closed form."""

import pytest
import torch
from gpytorch_entries import Host
from gpytorch_zoo import BY_NAME
from scipy import integrate, stats

import gplens
from gplens.targets import Exceeds

NAME = "svgp linear laplace delta"


def explain(t: float) -> gplens.Explanation:
    host = BY_NAME[NAME].fresh()
    return gplens.explain(
        host.model, host.data.inputs, baseline=host.data.baseline, likelihood=host.likelihood, target=Exceeds(t)
    )


def tail(host: Host, m: float, v: float, t: float) -> float:
    scale, sd = host.likelihood.noise.sqrt().item(), v**0.5

    def integrand(f: float) -> float:
        return stats.laplace.sf(t, loc=f, scale=scale) * stats.norm.pdf(f, m, sd)

    return integrate.quad(integrand, m - 10 * sd, m + 10 * sd, points=[t], epsabs=1e-12, limit=400)[0]


@pytest.mark.parametrize("t", [-1.0, 0.3, 2.0])
def test_exceeds_with_laplace_noise_is_the_mixed_tail(t: float) -> None:
    """Also for a threshold in the midst of the latent values."""
    host = BY_NAME[NAME].double()
    with torch.no_grad():
        f = host.model(host.data.inputs)
    expected = [tail(host, m, v, t) for m, v in zip(f.mean.tolist(), f.variance.tolist(), strict=True)]
    ours = explain(t)
    assert ours.prediction.tolist() == pytest.approx(expected, abs=1e-8)
    assert float(ours.gap.abs().max()) < 1e-8
