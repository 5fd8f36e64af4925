"""Posteriors with kernels of one class, evaluated together: against dense algebra, autograd and each of them alone."""

from collections.abc import Callable

import pytest
import torch
from hypothesis import given
from torch import Tensor

from conformance.kernel_formulas import matern32, matern52
from conformance.zoo import FEATURES, generator, normal, rbf, seeds
from gplens import Posterior, Stack
from gplens.kernels import RBF, Scale
from gplens.lines.line import Line
from gplens.means import ConstantMean, LinearMean
from gplens.processes.radial_posteriors import RadialMarginals
from gplens.processes.stack import StackMarginals
from oracles.dense import DensePosterior, fit, gradient

CLASSES = 3
every_class = pytest.mark.parametrize("formula", [rbf, matern32, matern52], ids=lambda formula: formula.__name__)


def alike(formula: Callable[..., tuple], seed: int, noise: float) -> tuple[Stack, list[DensePosterior]]:
    """Three posteriors with support points, lengthscales, factors and means of their own."""
    g, parts, dense = generator(seed), [], []
    for i in range(CLASSES):
        (kernel, k), Z, factor, constant = formula(g), normal(g, 6, FEATURES), 0.5 + i, 0.1 * i
        Z[1] = Z[0] + 1e-3  # with little noise A is then too large for products with A itself
        exact = fit(lambda x, z, k=k, factor=factor: factor * k(x, z), Z, normal(g, 6), noise)
        exact.mu = lambda x, constant=constant: constant + 0 * x[..., 0]
        scaled, mean = Scale(kernel, torch.tensor(factor).double()), ConstantMean(constant)
        parts.append(Posterior(scaled, Z, exact.beta, exact.A, mean))
        dense.append(exact)
    return Stack(tuple(parts)), dense


@every_class
@pytest.mark.parametrize("noise", [0.1, 1e-5], ids=["well conditioned", "badly conditioned"])
@given(seed=seeds)
def test_marginals_and_gradients_are_those_of_dense_algebra(formula: Callable, noise: float, seed: int) -> None:
    """(1.1), (1.2), (1.4), (1.5)."""
    (stack, dense), X = alike(formula, seed, noise), normal(generator(seed), 4, FEATURES)
    assert stack.radial is not None
    assert (stack.radial.A is None) == (noise < 0.01)
    close = {"rtol": 1e-8, "atol": 1e-9 if noise > 0.01 else 1e-7}
    torch.testing.assert_close(stack.m(X), torch.stack([f.m(X) for f in dense], 1), **close)
    torch.testing.assert_close(stack.v(X), torch.stack([f.v(X) for f in dense], 1), **close)
    m_gradients = torch.stack([gradient(f.m, X) for f in dense], 1)
    torch.testing.assert_close(stack.m_gradient(X), m_gradients, **close)
    torch.testing.assert_close(stack.v_gradient(X), torch.stack([gradient(f.v, X) for f in dense], 1), **close)


@every_class
@pytest.mark.parametrize("baselines", [1, 4], ids=["one baseline", "baselines of their own"])
def test_lines_are_those_of_the_parts_alone(formula: Callable, baselines: int) -> None:
    """Values and pull-backs along lines of several nodes, with weights of several channels."""
    (stack, _), g = alike(formula, 5, 0.1), generator(6)
    line = Line(normal(g, baselines, FEATURES), normal(g, 4, FEATURES), torch.rand(4, 5, generator=g).double())
    together, apart = stack.along(line), StackMarginals(tuple(part.along(line) for part in stack.parts))
    assert isinstance(together, RadialMarginals)
    torch.testing.assert_close(together.m, apart.m, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(together.v, apart.v, rtol=1e-11, atol=1e-12)
    wm, wv = normal(g, 4, 2, CLASSES, 5), normal(g, 4, 2, CLASSES, 5)

    def pulled(marginals: StackMarginals | RadialMarginals, weights: Tensor | None) -> Tensor:
        return marginals.pull_back(wm, weights).evaluate(torch.empty(4, 2, FEATURES).double())

    for weights in (None, wv):
        torch.testing.assert_close(pulled(together, weights), pulled(apart, weights), rtol=1e-10, atol=1e-11)


def test_posteriors_that_differ_are_evaluated_one_after_the_other() -> None:
    (stack, _), g = alike(rbf, 0, 0.1), generator(1)
    first, kernel = stack.parts[0], RBF(torch.ones(FEATURES).double())
    assert isinstance(first, Posterior)
    linear = Posterior(kernel, first.Z, first.beta, first.A, LinearMean(normal(g, FEATURES), 0.0))
    fewer = Posterior.exact(kernel, normal(g, 5, FEATURES), normal(g, 5), noise=0.1)
    rough = Posterior.exact(matern32(g)[0], normal(g, 6, FEATURES), normal(g, 6), noise=0.1)
    for other in (linear, fewer, rough):
        assert Stack((first, other)).radial is None


def test_lines_of_very_many_lengthscales_keep_their_digits() -> None:
    """They are described from their nearest point (4.3a), which differs from part to part."""
    (stack, dense), g = alike(rbf, 2, 0.1), generator(3)
    line = Line(normal(g, 1, FEATURES), 1e4 * normal(g, 2, FEATURES), torch.tensor([[0.0, 1.0]] * 2).double())
    assert not isinstance(stack.along(line), RadialMarginals)
    expected = torch.stack([f.m(line.points()) for f in dense], 1)
    torch.testing.assert_close(stack.along(line).m, expected, rtol=1e-9, atol=1e-9)
