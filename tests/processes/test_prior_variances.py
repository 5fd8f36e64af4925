"""Prior variances and the support of the data, for every kind of process."""

import torch

import gplens
from conformance.zoo import KERNELS, fitted, rows
from gplens.calls.outcome import support_at_places
from gplens.expectations.expectation import ExpectedLink
from gplens.kernels import Linear
from gplens.lines.line import Line
from gplens.paths.integrand import Question

X = rows(5, 6)[0]


def diagonal(name: str) -> torch.Tensor:
    """k(x,x) from the kernel's values at pairs of points."""
    return torch.stack([fitted(KERNELS[name], 3)[0].kernel(x[None], x[None])[0, 0] for x in X])


def test_each_process_has_the_prior_variance_of_its_parts() -> None:
    rbf, matern = fitted(KERNELS["rbf"], 3)[0], fitted(KERNELS["matern52"], 3)[0]
    k = torch.stack([diagonal("rbf"), diagonal("matern52")], dim=1)
    stack = gplens.Stack((rbf, matern))
    prior = stack.prior_variance(X)
    assert prior is not None
    torch.testing.assert_close(prior, k, rtol=1e-12, atol=0)
    weights = torch.tensor([[1.0, -2.0], [0.5, 0.0], [3.0, 1.0]], dtype=torch.float64)
    mixed = gplens.Mix(stack, weights, 0.25).prior_variance(X)
    assert mixed is not None
    torch.testing.assert_close(mixed, k @ (weights**2).T + 0.25)
    W = torch.diag(torch.tensor([2.0, 1.0, 0.5, 1.0], dtype=torch.float64))
    scaled = gplens.Transformed(stack, W, torch.ones(4, dtype=torch.float64))
    moved = scaled.prior_variance((X - 1) @ torch.linalg.inv(W))
    assert moved is not None
    torch.testing.assert_close(moved, k)


def test_functions_do_not_say_and_neither_does_what_contains_them() -> None:
    functions = gplens.Functions(lambda x: x.sum(1), lambda x: x.sum(1) ** 2, features=4)
    assert functions.prior_variance(X) is None
    assert gplens.Stack((functions, fitted(KERNELS["rbf"], 3)[0])).prior_variance(X) is None
    assert functions.support_along(Line.at(X)) is None


def test_the_support_is_one_at_data_without_noise_and_zero_far_away() -> None:
    posterior = gplens.Posterior.exact(fitted(KERNELS["rbf"], 3)[0].kernel, X, X.sum(1), noise=1e-8)
    line = Line(X[:1], 1e3 * torch.ones(1, 4, dtype=torch.float64), torch.tensor([[0.0, 1.0]], dtype=torch.float64))
    support = posterior.support_along(line)
    assert support is not None
    torch.testing.assert_close(support[0, 0], torch.tensor([1.0, 0.0], dtype=torch.float64), rtol=0, atol=1e-6)


def test_the_support_at_a_shared_baseline_is_that_of_the_marginals_that_are_known_there() -> None:
    """Known marginals are at two inputs, the baseline and two points half-way; the paths are five."""
    stack, x0 = gplens.Stack(tuple(fitted(KERNELS[name], 3)[0] for name in ("rbf", "matern52"))), X[:1] / 2
    points = torch.cat([X[[0, 4]], x0, (X[[0, 4]] + x0) / 2])
    question = Question(stack, ExpectedLink((gplens.links.Identity(), gplens.links.Identity())), (0, 1), 1e-6)
    everywhere = support_at_places(question, X, x0[None], None)
    assert everywhere is not None
    expected = [stack.support_along(Line(x0, X - x0, torch.full((len(X), 1), t).double())) for t in (0.0, 0.5, 1.0)]
    torch.testing.assert_close(everywhere, torch.cat([part.amin(1) for part in expected if part is not None], dim=1))
    reused = support_at_places(question, X, x0[None], stack.along(Line.at(points)))
    torch.testing.assert_close(reused, everywhere, rtol=1e-12, atol=1e-12)


def test_where_the_prior_is_certain_so_is_the_support() -> None:
    """k(0, 0) = 0 for a linear kernel."""
    posterior = gplens.Posterior.exact(Linear(torch.ones(4, dtype=torch.float64)), X, X.sum(1), noise=0.1)
    support = posterior.support_along(Line.at(torch.zeros(1, 4, dtype=torch.float64)))
    assert support is not None
    assert float(support) == 1.0
