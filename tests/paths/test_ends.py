"""T(x) and T(x0), which come with the first look at the paths."""

import pytest
import torch
from torch import Tensor

from conformance.zoo import EVERY_POSTERIOR, KernelCase, fitted, generator, normal, rows, uniform
from gplens import Posterior, Stack, explain
from gplens.baselines import Rows
from gplens.kernels import RBF, Autograd, Matern52
from gplens.links import Exp
from gplens.rules import GaussLegendre, Rule


def process(kernel: type) -> Posterior:
    g = generator(1)
    X = normal(g, 12, 3)
    return Posterior.exact(kernel(torch.ones(3).double()), X, X.sum(1).sin(), noise=0.1)


@pytest.mark.parametrize("rule", [None, GaussLegendre(5)], ids=["adaptive", "fixed"])
@pytest.mark.parametrize("shared", [True, False], ids=["one baseline", "own baselines"])
@pytest.mark.parametrize("lengths", [0.1, 30.0], ids=["one panel", "panels of several orders"])
def test_ends_are_the_expectations_at_inputs_and_baselines(lengths: float, shared: bool, rule: Rule | None) -> None:
    """E exp(f) = exp(m + v/2), at points rather than along lines."""
    stack = Stack((process(RBF), process(Matern52)))
    X0 = normal(generator(2), 1 if shared else 7, 3)
    X = X0 + lengths * uniform(generator(3), 0, 1, 7, 1) * normal(generator(4), 7, 3)

    def expected(x: Tensor) -> Tensor:
        return torch.exp(stack.m(x) + stack.v(x) / 2).expand(7, -1)

    e = explain(stack, X, baseline=X0[0] if shared else Rows(X0), likelihood=Exp(), rule=rule)
    torch.testing.assert_close(e.prediction, expected(X), rtol=1e-12, atol=0)
    torch.testing.assert_close(e.baseline_prediction, expected(X0), rtol=1e-12, atol=0)


@pytest.mark.parametrize("case", EVERY_POSTERIOR, ids=repr)
@pytest.mark.parametrize("shared", [True, False], ids=["one baseline", "own baselines"])
def test_an_input_at_its_baseline_has_the_prediction_of_the_baseline(case: KernelCase, shared: bool) -> None:
    """Exactly, beside inputs that do move: the two ends of such a path are one number, not two computed apart."""
    (posterior, _), (X, X0) = fitted(case, 17), rows(17, 5)
    still = torch.tensor([False, True, False, False, True])
    X = torch.where(still[:, None], X0[:1] if shared else X0, X)
    e = explain(posterior, X, baseline=X0[0] if shared else Rows(X0), likelihood=Exp())
    assert torch.equal(e.prediction[still], e.baseline_prediction[still])
    assert (e.gap[still] == 0).all()
    assert (e.values[still] == 0).all()
    assert case.name == "constant" or (e.prediction != e.baseline_prediction)[~still].all()


def test_a_gradient_that_does_not_exist_at_the_baseline_is_not_looked_at_there() -> None:
    """Matern 5/2 from distances whose square root autograd cannot differentiate at support points."""

    def pairs(X: Tensor, Z: Tensor) -> Tensor:
        r = (5 * ((X[:, None] - Z) ** 2).sum(2)).sqrt()
        return (1 + r + r**2 / 3) * torch.exp(-r)

    formula = process(Matern52)
    by_autograd = Posterior(
        Autograd(pairs, lambda X: torch.ones_like(X[:, 0])), formula.Z, formula.beta, formula.A.matrix
    )
    X0 = formula.Z[:4]
    X = X0 + 0.2 * normal(generator(6), 4, 3)
    numerical, exact = (explain(model, X, baseline=Rows(X0), likelihood=Exp()) for model in (by_autograd, formula))
    torch.testing.assert_close(numerical.values, exact.values, rtol=1e-6, atol=1e-8)
