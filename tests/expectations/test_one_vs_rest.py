"""Normalised one-versus-rest probabilities: their partials, names and refusals."""

import pytest
import torch

from conformance.zoo import generator, normal, uniform
from gplens import Diagonal, Posterior, Stack, explain
from gplens.kernels import RBF
from gplens.lines.line import Line
from gplens.links import OneVsRest, Probit, Sigmoid, SigmoidTaylor
from messages import naming


def three_classes() -> Stack:
    g = generator(3)
    parts = [Posterior.exact(RBF(uniform(g, 0.5, 2, 2)), normal(g, 6, 2), normal(g, 6), noise=0.1) for _ in range(3)]
    return Stack(tuple(parts))


def test_partials_are_those_of_the_quotient() -> None:
    """(2.14) against autograd of p_c / sum p, with p = Phi(m/sqrt(1 + v))."""
    marginals = three_classes().along(Line.at(normal(generator(4), 5, 2)))
    jet = OneVsRest(Probit()).jet(marginals, (2, 0))
    m, v = marginals.m.clone().requires_grad_(), marginals.v.clone().requires_grad_()
    p = torch.special.ndtr(m / (1 + v).sqrt())
    value = p[:, [2, 0]] / p.sum(1, keepdim=True)
    torch.testing.assert_close(jet.value, value, rtol=1e-13, atol=0)
    for i in range(2):
        by_m, by_v = torch.autograd.grad(value[:, i].sum(), (m, v), retain_graph=True)
        torch.testing.assert_close(jet.by_m[:, i], by_m, rtol=1e-11, atol=1e-14)
        assert jet.by_v is not None
        torch.testing.assert_close(jet.by_v[:, i], by_v, rtol=1e-11, atol=1e-14)


def test_classes_add_up_to_one_and_their_attributions_to_nothing() -> None:
    X = normal(generator(5), 4, 2)
    e = explain(three_classes(), X, baseline=0.0, likelihood=OneVsRest(Sigmoid(), ("a", "b", "c")))
    assert e.output_names == ("a", "b", "c")
    torch.testing.assert_close(e.prediction.sum(1), torch.ones(4).double(), rtol=1e-14, atol=0)
    assert e.values.sum(1).abs().max() <= 1e-6 * e.values.abs().max()
    assert e.gap.abs().max() <= 1e-8


def test_what_it_refuses() -> None:
    X, process = normal(generator(5), 4, 2), three_classes()
    with pytest.raises(ValueError, match=naming("OneVsRest", 3, ("a", "b"))):
        explain(process, X, baseline=0.0, likelihood=OneVsRest(Sigmoid(), ("a", "b")))
    with pytest.raises(ValueError, match=naming("OneVsRest", "SigmoidTaylor")):
        OneVsRest(SigmoidTaylor())
    with pytest.raises(ValueError, match=naming("OneVsRest", "uncertainty")):
        explain(process, X, baseline=0.0, likelihood=OneVsRest(Sigmoid()), uncertainty=Diagonal())
