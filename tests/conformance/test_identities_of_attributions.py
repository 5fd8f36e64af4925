"""What every attribution obeys, for every kernel and link: completeness, dummy, symmetry, antisymmetry, linearity."""

import pytest
import torch
from hypothesis import given, settings

import gplens
from conformance.zoo import (
    EVERY_LINK,
    EVERY_POSTERIOR,
    EXPECTED,
    FEATURES,
    KERNELS,
    PAIRS,
    KernelCase,
    fitted,
    generator,
    matern52,
    normal,
    rows,
    seeds,
)
from gplens import Posterior, explain
from gplens.baselines import Rows
from gplens.kernels import RBF, ActiveDimensions
from gplens.links import Exp, Link, Sigmoid
from gplens.targets import EpistemicVariance, Latent
from oracles.dense import fit
from rounding import assert_rounded

every_posterior = pytest.mark.parametrize("case", EVERY_POSTERIOR, ids=repr)
every_link = pytest.mark.parametrize("link", EVERY_LINK, ids=lambda link: type(link).__name__)


def size(e: gplens.Explanation) -> torch.Tensor:
    """What tolerances are relative to (4.8)."""
    return torch.maximum(e.values.abs().amax(-1), (e.prediction - e.baseline_prediction).abs())


@pytest.mark.parametrize(("case", "link"), PAIRS)
def test_attributions_add_up_to_the_change_of_the_prediction(case: KernelCase, link: Link) -> None:
    """Completeness (4.4), against E g computed from the dense posterior."""
    (posterior, dense), (X, X0) = fitted(case, 11), rows(11)
    e = explain(posterior, X, baseline=Rows(X0), likelihood=link, tolerance=1e-8)
    T = EXPECTED[type(link).__name__]
    change = T(dense.m(X), dense.v(X)) - T(dense.m(X0), dense.v(X0))
    assert e.converged is not None
    assert e.converged.all()
    assert ((e.values.sum(1) - change).abs() <= 1e-8 * size(e) + 1e-10).all()
    terms = e.values.abs().sum(1) + e.prediction.abs() + e.baseline_prediction.abs()
    assert_rounded(e.gap, e.values.sum(1) - (e.prediction - e.baseline_prediction), roundings=4, size=terms)


@every_posterior
def test_swapping_input_and_baseline_negates_the_attributions(case: KernelCase) -> None:
    (posterior, _), (X, X0) = fitted(case, 12), rows(12)
    there = explain(posterior, X, baseline=Rows(X0), likelihood=Exp(), tolerance=1e-8)
    back = explain(posterior, X0, baseline=Rows(X), likelihood=Exp(), tolerance=1e-8)
    assert ((there.values + back.values).abs() <= 3e-8 * size(there)[:, None] + 1e-14).all()


@every_posterior
def test_permuting_the_features_permutes_the_attributions(case: KernelCase) -> None:
    """The same model of x[:, order]."""
    (posterior, dense), (X, X0) = fitted(case, 13), rows(13)
    order = torch.tensor([2, 0, 3, 1])
    back = order.argsort()
    kernel = ActiveDimensions(posterior.kernel, order)
    permuted = Posterior(kernel, posterior.Z[:, back], posterior.beta, dense.A)
    e = explain(posterior, X, baseline=Rows(X0), likelihood=Sigmoid())
    other = explain(permuted, X[:, back], baseline=Rows(X0[:, back]), likelihood=Sigmoid())
    torch.testing.assert_close(other.values[:, order], e.values, rtol=1e-8, atol=1e-10)


@every_link
@given(seed=seeds)
@settings(max_examples=2)
def test_a_feature_that_the_kernel_ignores_gets_exactly_zero(link: Link, seed: int) -> None:
    g = generator(seed)
    kernel, _ = matern52(g, 2)
    kernel = ActiveDimensions(kernel, torch.tensor([3, 1]))
    Z, y, (X, X0) = normal(g, 7, FEATURES), normal(g, 7), rows(seed)
    A = torch.linalg.inv(kernel(Z, Z) + 0.1 * torch.eye(7, dtype=torch.float64))
    e = explain(Posterior(kernel, Z, A @ y, (A + A.T) / 2), X, baseline=Rows(X0), likelihood=link)
    assert torch.equal(e.values[:, [0, 2]], torch.zeros(3, 2, dtype=torch.float64))  # nothing is ever added there
    assert (e.values[:, [1, 3]] != 0).all()


def test_features_that_play_the_same_part_get_the_same() -> None:
    """Symmetry: f(x, y) = f(y, x), and x and baseline have equal coordinates."""
    g = generator(0)
    half = normal(g, 4, 2)
    Z, y = torch.cat([half, half.flip(1)]), normal(g, 4).repeat(2)
    dense = fit(lambda x, z: torch.exp(-((x - z) ** 2).sum(-1) / 2), Z, y, 0.1)
    posterior = Posterior(RBF(torch.ones(1, dtype=torch.float64)), Z, dense.beta, dense.A)
    X = normal(g, 3, 1).expand(3, 2)
    e = explain(posterior, X, baseline=-0.3, likelihood=Exp())
    torch.testing.assert_close(e.values[:, 0], e.values[:, 1], rtol=1e-12, atol=1e-13)


@every_posterior
def test_latent_attributions_are_linear_in_the_posterior_mean(case: KernelCase) -> None:
    """IG of a m1 + b m2 = a IG of m1 + b IG of m2."""
    (first, dense), (X, X0) = fitted(case, 14), rows(14)
    second = Posterior(first.kernel, first.Z, normal(generator(0), 7), dense.A)
    both = Posterior(first.kernel, first.Z, 2 * first.beta - 3 * second.beta, dense.A)
    e1, e2, e = (
        explain(p, X, baseline=Rows(X0), target=Latent(), tolerance=1e-10).values for p in (first, second, both)
    )
    bound = 1e-9 * (2 * e1.abs() + 3 * e2.abs()).amax(1, keepdim=True) + 1e-13
    assert ((e - (2 * e1 - 3 * e2)).abs() <= bound).all()


@every_posterior
@pytest.mark.parametrize("target", [None, EpistemicVariance()], ids=["response", "variance"])
def test_an_input_at_its_baseline_gets_zeros(case: KernelCase, target: EpistemicVariance | None) -> None:
    (posterior, _), (X, _) = fitted(case, 15), rows(15)
    e = explain(posterior, X, baseline=Rows(X), likelihood=Exp(), target=target)
    assert e.converged is not None
    assert e.converged.all()
    assert torch.equal(e.values, torch.zeros_like(e.values))
    assert torch.equal(e.gap, torch.zeros_like(e.gap))


@every_link
def test_a_single_feature_gets_the_whole_change(link: Link) -> None:
    """d = 1: IG = T(x) - T(x0)."""
    g = generator(1)
    dense = fit(lambda x, z: torch.exp(-((x - z) ** 2).sum(-1) / 2), normal(g, 6, 1), normal(g, 6), 0.1)
    posterior = Posterior(RBF(torch.ones(1, dtype=torch.float64)), dense.Z, dense.beta, dense.A)
    X, T = normal(g, 5, 1), EXPECTED[type(link).__name__]
    e = explain(posterior, X, baseline=0.2, likelihood=link, tolerance=1e-10)
    x0 = torch.tensor([[0.2]], dtype=torch.float64)
    expected = T(dense.m(X), dense.v(X)) - T(dense.m(x0), dense.v(x0))
    torch.testing.assert_close(e.values[:, 0], expected, rtol=1e-9, atol=1e-10)


def test_paths_add_up_along_a_line() -> None:
    """From x0 to a point of the line, and on to x: the two attributions sum to that of the whole."""
    (posterior, _), (X, X0) = fitted(KERNELS["matern52"], 16), rows(16)
    middle = X0 + 0.37 * (X - X0)
    options = {"likelihood": Exp(), "tolerance": 1e-10}
    whole = explain(posterior, X, baseline=Rows(X0), **options)
    first, second = (
        explain(posterior, middle, baseline=Rows(X0), **options),
        explain(posterior, X, baseline=Rows(middle), **options),
    )
    torch.testing.assert_close(first.values + second.values, whole.values, rtol=1e-8, atol=1e-10)
