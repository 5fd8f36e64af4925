"""Variances with a formula, against mpmath and autograd, for random latent marginals."""

import mpmath
import numpy as np
import pytest
import torch
from torch import Tensor

from gplens.expectations.variances import ConditionalVariance, LatentVariance, OutcomeVariance, Variance
from gplens.links import Affine, Exp, Identity, Square
from gplens.processes.process import Marginals
from seeds import fresh_seed


class Given(Marginals):
    """m and v, (b, c, 1), without a process."""

    def __init__(self, m: Tensor, v: Tensor) -> None:
        self._m, self._v = m, v

    def means(self) -> Tensor:
        return self._m

    def variances(self) -> Tensor:
        return self._v

    def pull_back(self, wm: Tensor, wv: Tensor | None) -> None:  # type: ignore[override]
        raise NotImplementedError


def draw(rng: np.random.Generator) -> tuple[Tensor, Tensor]:
    m = torch.as_tensor(rng.uniform(-300, 150, size=(4, 3, 1)))
    return m, torch.as_tensor(10 ** rng.uniform(-16, 1.3, size=m.shape))


def log_normal(m: Tensor, v: Tensor, noise: float) -> list[float]:
    """E e^(2f) - (E e^f)^2 with 60 digits."""
    with mpmath.workdps(60):
        pairs = zip(m.flatten().tolist(), v.flatten().tolist(), strict=True)
        numbers = [(mpmath.mpf(a), mpmath.mpf(b) + mpmath.mpf(noise)) for a, b in pairs]
        return [float(mpmath.exp(2 * a + 2 * s) - mpmath.exp(2 * a + s)) for a, s in numbers]


def check_partials(variance: Variance, m: Tensor, v: Tensor) -> None:
    """psi_m and psi_v of the variance and of its mean are the derivatives of the values."""
    outputs = tuple(range(m.shape[1]))
    for name in ("partials", "mean_partials"):
        x, w = m.clone().requires_grad_(), v.clone().requires_grad_()
        value, by_m, by_v = getattr(variance, name)(Given(x, w), outputs)
        slopes = torch.autograd.grad(value.sum(), (x, w), allow_unused=True, materialize_grads=True)
        for ours, slope in zip((by_m, torch.zeros_like(m) if by_v is None else by_v), slopes, strict=True):
            torch.testing.assert_close(ours.detach(), slope, rtol=1e-12, atol=0.0)


def check(seed: int) -> None:
    rng = np.random.default_rng(seed)
    m, v = draw(rng)
    noise = float(10 ** rng.uniform(-12, 0)) if rng.random() < 0.5 else 0.0
    variance = OutcomeVariance((True, False, True), (noise, noise, noise))
    value, *_ = variance.partials(Given(m, v), (0, 1, 2))
    expected = torch.tensor(log_normal(m, v, noise), dtype=torch.float64).view_as(m)
    expected[:, 1] = v[:, 1] + noise
    torch.testing.assert_close(value, expected, rtol=1e-12, atol=0.0, msg=lambda text: f"seed {seed}: {text}")
    check_partials(variance, m, v)
    rate, offset = rng.normal(size=2).tolist()
    for latent in (LatentVariance(), OutcomeVariance((True,))):
        check_partials(ConditionalVariance(Affine(Square(), 0.3, 1.0), latent, rate, offset), m / 3, v)


def test_random_marginals() -> None:
    for seed in range(20):
        check(seed)


@pytest.mark.slow
def test_random_marginals_with_another_seed() -> None:
    seed = fresh_seed()
    for case in range(250):
        check(seed + case)


def test_some_of_the_outputs() -> None:
    m, v = draw(np.random.default_rng(0))
    whole = OutcomeVariance((True, False, True), (0.1, 0.2, 0.3))
    part, *_ = whole.select((2, 1)).partials(Given(m[:, [2, 1]], v[:, [2, 1]]), (0, 1))
    assert torch.equal(part, whole.partials(Given(m, v), (2, 1))[0])


def test_large_means_do_not_cancel() -> None:
    """A linear mean adds its own variance, whatever its size; exp is (2.10a)."""
    m, v = torch.full((1, 1, 1), 1e9, dtype=torch.float64), torch.full((1, 1, 1), 1e-8, dtype=torch.float64)
    line = ConditionalVariance(Affine(Identity(), 0.0, 1e-9), LatentVariance(), 2.0, 5.0)
    assert line.partials(Given(m, v), (0,))[0].item() == pytest.approx(4.1e-8, rel=1e-14)
    counts = ConditionalVariance(Exp(), OutcomeVariance((True,)))
    value = counts.partials(Given(m * 0 + 300, v), (0,))[0].item()
    assert value == pytest.approx(log_normal(m * 0 + 300, v, 0.0)[0], rel=1e-12)
