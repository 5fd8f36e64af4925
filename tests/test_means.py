"""Prior means against autograd on the function itself."""

import pytest
import torch
from hypothesis import given

from conformance.zoo import generator, normal, pulled, seeds, uniform
from gplens.lines.line import Line
from gplens.means import AutogradMean, ConstantMean, LinearMean, Mean
from oracles.dense import Scalar, gradient

WEIGHT = torch.tensor([0.5, -2.0, 0.0]).double()
MEANS: list[tuple[Mean, Scalar]] = [
    (ConstantMean(1.7), lambda x: 1.7 + 0 * x[..., 0]),
    (LinearMean(WEIGHT, 0.3), lambda x: (x * WEIGHT).sum(-1) + 0.3),
    (AutogradMean(lambda X: torch.sin(X[:, 0]) * X[:, 2]), lambda x: x[..., 0].sin() * x[..., 2]),
    (AutogradMean(lambda X: torch.full_like(X[:, 0], 2.0)), lambda x: 2 + 0 * x[..., 0]),
]


@pytest.mark.parametrize(("mean", "naive"), MEANS, ids=["constant", "linear", "autograd", "autograd of a constant"])
@pytest.mark.parametrize("baselines", [1, 2])
@given(seed=seeds)
def test_a_mean_has_the_values_and_the_gradient_of_its_formula(
    mean: Mean, naive: Scalar, baselines: int, seed: int
) -> None:
    """along(line).values = mu(x_q);  pull_back(W)_k = sum_q W_q d_k mu(x_q)."""
    g = generator(seed)
    line = Line(normal(g, baselines, 3), normal(g, 2, 3), uniform(g, 0, 1, 2, 4))
    W, x = normal(g, 2, 3, 4), line.x0[:, None] + line.t[..., None] * line.d[:, None]
    section = mean.along(line)
    torch.testing.assert_close(mean(x.flatten(0, 1)), naive(x).flatten(), rtol=1e-13, atol=1e-14)
    torch.testing.assert_close(section.values, naive(x), rtol=1e-13, atol=1e-14)
    expected = torch.einsum("bpq,bqd->bpd", W, gradient(naive, x))
    torch.testing.assert_close(pulled(section, W, 3), expected, rtol=1e-12, atol=1e-13)
