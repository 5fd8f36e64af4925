"""A process of linearly transformed inputs, against the same function written with the transformation inside."""

import pytest
import torch

from conformance.zoo import generator, normal
from gplens import Diagonal, Full, Mix, Posterior, Samples, explain
from gplens.kernels import RBF, ActiveDimensions
from gplens.links import Exp
from gplens.processes.transformed import Transformed
from messages import naming


def posterior(features: int = 2) -> Posterior:
    g = generator(1)
    kernel = RBF(torch.tensor([0.8, 1.4]).double()[:features])
    return Posterior.exact(kernel, normal(g, 8, features), normal(g, 8), noise=0.1)


W = torch.tensor([[0.5, -1.0], [0.3, 0.7], [0.0, 0.4]]).double()
OFFSET = torch.tensor([0.2, -0.1]).double()


def test_values_and_derivatives_are_those_of_the_composition() -> None:
    base, X = posterior(), normal(generator(2), 5, 3)
    process = Transformed(base, W, OFFSET)
    x = X.clone().requires_grad_()
    inner = x @ W + OFFSET
    k = torch.exp(-((inner[:, None] - base.Z) ** 2 / base.kernel.lengthscale**2).sum(2) / 2)
    m, v = k @ base.beta[0], 1 - ((k @ base.A.F[0].T) ** 2).sum(1)
    torch.testing.assert_close(process.m(X)[:, 0], m)
    torch.testing.assert_close(process.v(X)[:, 0], v)
    for gradient, value in ((process.m_gradient(X), m), (process.v_gradient(X), v)):
        (expected,) = torch.autograd.grad(value.sum(), x, retain_graph=True)
        torch.testing.assert_close(gradient[:, 0], expected)


def test_error_bars_are_those_of_a_model_of_selected_columns() -> None:
    """A selection is a transformation: features 2 and 0 of three."""
    base, X = posterior(), normal(generator(3), 2, 3)
    W = torch.eye(3).double()[:, [2, 0]]
    same = Posterior(ActiveDimensions(base.kernel, torch.tensor([2, 0])), base.Z @ W.T, base.beta, base.A)
    for request in (Diagonal(), Full(), Samples(64, seed=0)):
        options = {"baseline": 0.3, "likelihood": Exp(), "uncertainty": request}
        e, other = explain(Transformed(base, W, W.new_zeros(2)), X, **options), explain(same, X, **options)
        assert e.std is not None
        torch.testing.assert_close(e.std, other.std, rtol=1e-8, atol=1e-12)
        if e.covariance is not None:
            torch.testing.assert_close(e.covariance, other.covariance, rtol=1e-8, atol=1e-12)


def test_the_covariance_adds_up_in_the_raw_inputs() -> None:
    """(5.3) holds whatever the coordinates: the sum over all features is the variance of the change."""
    base, X = posterior(), normal(generator(3), 2, 3)
    raw = explain(Transformed(base, W, OFFSET), X, baseline=0.3, likelihood=Exp(), uncertainty=Full(tolerance=1e-6))
    inner_baseline = torch.full((3,), 0.3).double() @ W + OFFSET
    inner = explain(base, X @ W + OFFSET, baseline=inner_baseline, likelihood=Exp(), uncertainty=Full(tolerance=1e-6))
    assert raw.covariance is not None
    assert inner.covariance is not None
    torch.testing.assert_close(raw.covariance.sum((1, 2)), inner.covariance.sum((1, 2)), rtol=1e-6, atol=1e-12)


def test_what_outputs_share_is_known_in_the_raw_inputs() -> None:
    mix = Mix(posterior(), torch.tensor([[2.0], [-1.0]]).double(), 0.1)
    process, X = Transformed(mix, W, OFFSET), normal(generator(4), 3, 3)
    sources = process.sources()
    assert sources is not None
    again = Mix(sources.process, sources.weights, 0.1)
    torch.testing.assert_close(process.v(X), mix.v(X @ W + OFFSET))
    torch.testing.assert_close(again.v(X), process.v(X))


def test_shapes_are_checked() -> None:
    with pytest.raises(ValueError, match=naming("Transformed", 2, "(2, 3)", "(3,)")):
        Transformed(posterior(), W.T.contiguous(), W.new_zeros(3))
