"""An explanation does not change when the units of its target do: from 1e-300 to 1e300, with error bars and draws."""

import math

import pytest
import torch
from torch import Tensor

import gplens
from gplens import Diagonal, Explanation, Posterior, Process, Samples, Stack, kernels, links
from gplens.links import Link, Moments, PairMoments
from gplens.means import ConstantMean
from gplens.targets import Custom, Latent, Target
from gplens.uncertainty import Uncertainty
from seeds import fresh_seed

DECADES = (-300, -150, -30, -12, -9, 0, 8, 40, 160, 300)
REQUESTS = (None, Diagonal(), Samples(5, 0), Samples(5, 0, joint=False))
FUNCTIONS = {
    "tanh(5f)^2": lambda f: torch.tanh(5 * f) ** 2,
    "sin": torch.sin,
    "exp of sin": lambda f: torch.exp(torch.sin(f)),
    "f^3 - f": lambda f: f**3 - f,
}
LINKS: tuple[Link, ...] = (
    links.Identity(),
    links.Square(),
    links.Exp(),
    links.Probit(0.3, 0.5),
    links.Sigmoid(),
    links.Softplus(),
    links.LaplaceTail(0.3, 0.7),
)


def posterior(seed: int, amplitude: float = 1.0, mean: float = 0.0) -> tuple[Posterior, Tensor, Tensor]:
    """Six points in two features, two inputs and a baseline; the seed decides about all of it, the rest about units."""
    g = torch.Generator().manual_seed(seed)
    kinds = (kernels.RBF, kernels.Matern52)
    kernel = kinds[seed % 2](0.7 + torch.rand(2, generator=g, dtype=torch.float64))
    X, y = 3 * torch.rand(6, 2, generator=g, dtype=torch.float64), torch.randn(6, generator=g, dtype=torch.float64)
    x, x0 = torch.rand(2, 2, 2, generator=g, dtype=torch.float64).unbind()
    noise = float(0.05 + torch.rand((), generator=g, dtype=torch.float64))
    a = torch.tensor(amplitude, dtype=torch.float64)
    F = Posterior.exact(kernels.Scale(kernel, a**2), X, a * y, noise=amplitude**2 * noise)
    return Posterior(F.kernel, F.Z, F.beta, F.A, ConstantMean(mean)), x * 3, x0[0] * 3


def explained(process: Process, x: Tensor, x0: Tensor, target: Target, request: Uncertainty | None) -> Explanation:
    return gplens.explain(process, x, baseline=x0, target=target, uncertainty=request)


DRAWS = 1e-2  # in other units of the latent function
"""Draws go through the eigenvectors of a nearly singular matrix, which rounding turns by much more than its size, and
the factor of a kernel is inside of its exponential, so that its units are rounded. Their deviations, which are exact,
are compared as closely as the values."""


def assert_same_in_units(
    base: Explanation, other: Explanation, unit: float, why: str, tolerance: float = 1e-9, draws: float = 1e-6
) -> None:
    """All of `other` is that of `base` times the unit, relative to the largest number of its kind."""
    assert base.converged is not None
    assert other.converged is not None
    assert torch.equal(base.converged, other.converged), why
    for name in ("values", "prediction", "baseline_prediction", "std", "std_error", "draws"):
        one, two = getattr(base, name), getattr(other, name)
        assert (one is None) == (two is None), (name, why)
        if one is not None:
            error = float((two / unit - one).abs().max() / one.abs().max().clamp(min=1e-300))
            assert error <= (draws if name in ("std_error", "draws") else tolerance), (name, error, why)
    largest = base.values.abs().max()
    for name in ("error", "gap"):  # these are rounding, or quadrature errors that rounding changes
        one, two = getattr(base, name), getattr(other, name)
        assert float((two / unit - one).abs().max() / largest) <= 1e-7, (name, why)  # a tenth of the tolerance
    if base.spread is not None and base.spread.converged is not None:
        assert other.spread is not None
        assert torch.equal(base.spread.converged, other.spread.converged), why


def check_scaled_links(seed: int, decades: tuple[int, ...]) -> None:
    process, x, x0 = posterior(seed)
    link, request = LINKS[seed % len(LINKS)], REQUESTS[seed % len(REQUESTS)]
    base = explained(process, x, x0, Custom(link), request)
    for decade in decades:
        unit = 10.0**decade
        scaled = explained(process, x, x0, Custom(links.Affine(link, unit, 0.0)), request)
        assert_same_in_units(base, scaled, unit, f"{seed=} {link=} {decade=}")


def check_scaled_functions(seed: int, decades: tuple[int, ...]) -> None:
    process, x, x0 = posterior(seed)
    name, request = list(FUNCTIONS)[seed % len(FUNCTIONS)], REQUESTS[seed % 3] if len(decades) == 1 else None
    g = FUNCTIONS[name]
    base = explained(process, x, x0, Custom(g), request)
    for decade in decades:
        unit = 10.0**decade
        scaled = explained(process, x, x0, Custom(lambda f, s=unit: s * g(f)), request)
        assert_same_in_units(base, scaled, unit, f"{seed=} {name=} {decade=}")


def check_amplitudes(seed: int, decades: tuple[int, ...]) -> None:
    """A linear target in other units of the latent function, whose variance has the square of them.

    Powers of two: draws divide by the roots of the smallest eigenvalues, which other units round differently.
    """
    request = REQUESTS[seed % len(REQUESTS)]
    base = explained(*posterior(seed), Latent(), request)
    for decade in decades:
        if abs(decade) < 150:
            unit = 2.0 ** round(decade * math.log2(10))
            scaled = explained(*posterior(seed, unit), Latent(), request)
            assert_same_in_units(base, scaled, unit, f"{seed=} {decade=}", draws=DRAWS)


def check_shifted_exponents(seed: int, decades: tuple[int, ...]) -> None:
    """exp(f + log unit) = unit exp(f); rounding of the exponent is up to 700 eps."""
    request = REQUESTS[seed % len(REQUESTS)]
    base = explained(*posterior(seed), Custom(links.Exp()), request)
    for decade in decades:
        unit = 10.0**decade
        shifted = explained(*posterior(seed, mean=math.log(unit)), Custom(links.Exp()), request)
        assert_same_in_units(base, shifted, unit, f"{seed=} {decade=}", tolerance=1e-8)


def check_tails(seed: int, decades: tuple[int, ...]) -> None:
    """Sigmoid and softplus far to the left are exp, to exp(m + 3v/2) of themselves."""
    request = REQUESTS[seed % len(REQUESTS)]
    link = (links.Sigmoid(), links.Softplus())[seed % 2]
    for decade in decades:
        if decade < -11:
            process, x, x0 = posterior(seed, mean=math.log(10.0**decade))
            exact, tail = (explained(process, x, x0, Custom(g), request) for g in (links.Exp(), link))
            assert_same_in_units(exact, tail, 1.0, f"{seed=} {link=} {decade=}", tolerance=1e-8)


CHECKS = (check_scaled_links, check_scaled_functions, check_amplitudes, check_shifted_exponents, check_tails)


@pytest.mark.parametrize("seed", [0, 1, 3, 6, 9])
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_units_do_not_matter(check: object, seed: int) -> None:
    check(seed, (DECADES[seed],) if seed % 2 else DECADES[::9])


@pytest.mark.slow
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_units_do_not_matter_for_many_models(check: object) -> None:
    """Forty models of each kind, two hundred in all; GPLENS_SEED repeats a run."""
    first = fresh_seed()
    for seed in range(first, first + 40):
        check(seed, (DECADES[seed % len(DECADES)],))


class Biased(Link):
    """A sine whose slope is 1 % off: its attributions do not add up, although it says that it is exact."""

    def __init__(self, scale: float) -> None:
        self.scale = scale

    def __call__(self, f: Tensor) -> Tensor:
        return self.scale * torch.sin(f)

    def moments(self, m: Tensor, v: Tensor) -> Moments:
        damped = self.scale * torch.exp(-v / 2)
        return Moments(damped * m.sin(), 1.01 * damped * m.cos(), -damped * m.sin())

    def derivative(self, f: Tensor) -> Tensor:
        return self.scale * torch.cos(f)

    def pair_moments(self, m: Tensor, v: Tensor, c: Tensor) -> PairMoments:
        raise NotImplementedError


@pytest.mark.parametrize("decade", DECADES)
def test_attributions_that_do_not_add_up_have_not_converged_in_any_units(decade: int) -> None:
    process, x, x0 = posterior(1)
    with pytest.warns(gplens.ConvergenceWarning):
        e = explained(process, x, x0, Custom(Biased(10.0**decade)), None)
    assert e.converged is not None
    assert not e.converged.any()


def test_outputs_of_very_different_units_do_not_disturb_each_other() -> None:
    """Two outputs with scales of 1e-200 and 1e200: each has the numbers that it has alone."""
    (one, x, x0), (two, _, _) = posterior(3), posterior(4)
    scales = (1e-200, 1e200)
    link = [links.Affine(links.Exp(), scale, 0.0) for scale in scales]
    both = gplens.expectations.expectation.ExpectedLink(tuple(link))
    likelihood = gplens.likelihood.Likelihood("two scales", both)
    e = gplens.explain(Stack((one, two)), x, baseline=x0, likelihood=likelihood, uncertainty=Diagonal())
    for i, process in enumerate((one, two)):
        alone = explained(process, x, x0, Custom(links.Exp()), Diagonal())
        assert e.std is not None
        torch.testing.assert_close(e.values[:, i] / scales[i], alone.values, rtol=1e-9, atol=0)
        torch.testing.assert_close(e.std[:, i] / scales[i], alone.std, rtol=1e-7, atol=0)


def test_covariances_that_float64_cannot_hold_are_refused() -> None:
    """Their root can be held, so that Diagonal() has an answer."""
    process, x, x0 = posterior(0)
    for scale in (1e-200, 1e200):
        target = Custom(links.Affine(links.Exp(), scale, 0.0))
        with pytest.raises(OverflowError, match="Diagonal"):
            explained(process, x, x0, target, gplens.Full())
        assert explained(process, x, x0, target, Samples(3, 0)).covariance is None
