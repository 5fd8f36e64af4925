"""Explanations of multi-class models: they add up for every class, and agree with oracles that we did not write."""

import re

import gpytorch
import numpy as np
import pytest
import torch
from captum.attr import IntegratedGradients
from scipy.integrate import quad_vec
from softmax_models import digits, posteriors, small
from torch import Tensor

import gplens
from gplens import links
from messages import naming
from rounding import assert_rounded


def sobol_probabilities(m: Tensor, v: Tensor, count: int = 2**14) -> Tensor:
    """E S by a seeded Sobol average over independent normal latents: differentiable, and the same for every input."""
    points = torch.quasirandom.SobolEngine(m.shape[1], scramble=True, seed=11).draw(count, dtype=torch.float64)
    z = torch.special.ndtri(points.clamp(1e-12, 1 - 1e-12))
    return torch.softmax(m[:, None] + v.sqrt()[:, None] * z, dim=2).mean(1)


@pytest.mark.parametrize("shared", [True, False])
def test_values_equal_captum_on_a_sobol_average_of_the_hosts_latents(shared: bool) -> None:
    """Within the error of 2^14 Sobol points, which is 2e-5 of the largest attribution."""
    model, likelihood, X = small(shared=shared)
    model = model.eval()

    def probabilities(x: Tensor) -> Tensor:
        f = model(x)
        return sobol_probabilities(f.mean, f.variance)

    x, x0 = X[:2], X.mean(0, keepdim=True)
    ours = gplens.explain(model, x, baseline=x0[0], likelihood=likelihood)
    for c in range(3):
        theirs = IntegratedGradients(probabilities).attribute(
            x, x0, target=c, n_steps=24, method="gausslegendre", internal_batch_size=16
        )
        assert (ours.values[:, c] - theirs).abs().max() <= 1e-4 * ours.values.abs().max()


def test_two_classes_are_the_logistic_of_the_difference() -> None:
    """E S_0 = E sigmoid(g), g ~ N(m_0 - m_1, v_0 + v_1): the path integral by scipy, the gradient by autograd."""
    process, X = posteriors(2, 3, seed=3)
    x, x0 = X[0], X[1]
    z, w = (torch.tensor(part) for part in np.polynomial.hermite_e.hermegauss(120))
    w = w / w.sum()

    def gradient(t: float) -> np.ndarray:
        point = (x0 + t * (x - x0)).requires_grad_()
        m = v = torch.zeros((), dtype=torch.float64)
        for sign, part in zip((1, -1), process.parts, strict=True):
            k = 2 * torch.exp(-(((point - part.Z) / part.kernel.kernel.lengthscale) ** 2).sum(1) / 2)
            A = part.A.F[0].T @ part.A.F[0]
            m, v = m + sign * (k @ part.beta[0]), v + 2 - k @ A @ k
        p = (w * torch.sigmoid(m + v.sqrt() * z)).sum()
        return ((x - x0) * torch.autograd.grad(p, point)[0]).numpy()

    oracle = quad_vec(gradient, 0, 1, epsrel=1e-11)[0]
    ours = gplens.explain(process, x[None], baseline=x0, likelihood=links.Softmax(), tolerance=1e-10)
    assert np.abs(ours.values[0, 0].numpy() - oracle).max() <= 1e-9 * np.abs(oracle).max()
    assert torch.allclose(ours.values[:, 0], -ours.values[:, 1], rtol=0, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("tolerance", [1e-6, 1e-9])
def test_ten_trained_classes_add_up_on_a_hundred_rows(tolerance: float) -> None:
    """|gap| <= 1e-9 for every class at that tolerance, class rows sum to zero, all converged."""
    model, likelihood, X = digits()
    rows = 100 if tolerance == 1e-9 else 20
    ours = gplens.explain(model, X[-rows:], baseline=0.0, likelihood=likelihood, tolerance=tolerance)
    assert ours.values.shape == (rows, 10, 64)
    assert ours.gap.abs().max() <= max(1e-9, tolerance / 10)
    assert ours.values.sum(1).abs().max() <= 1e-10
    assert (ours.prediction.sum(1) - 1).abs().max() <= 1e-12
    assert bool(ours.converged.all())


def test_completeness_holds_to_1e_10() -> None:
    process, X = posteriors(5, 3, seed=8)
    ours = gplens.explain(process, X, baseline=0.0, likelihood=links.Softmax(), tolerance=1e-10)
    assert ours.gap.abs().max() <= 1e-10
    assert bool(ours.converged.all())


def test_some_classes_are_the_same_as_all_of_them() -> None:
    model, likelihood, X = small()
    every = gplens.explain(model, X[:4], baseline=0.5, likelihood=likelihood)
    some = gplens.explain(model, X[:4], baseline=0.5, likelihood=likelihood, outputs=[2, 0])
    assert some.output_names == ("class 2", "class 0")
    assert torch.allclose(some.values, every.values[:, [2, 0]], rtol=0, atol=1e-7 * float(every.values.abs().max()))
    assert_rounded(some.prediction, every.prediction[:, [2, 0]], roundings=64)  # sums over the nodes of (3.2)


def test_contrast_says_why_one_class_rather_than_another() -> None:
    model, likelihood, X = small()
    ours = gplens.explain(model, X[:4], baseline=0.5, likelihood=likelihood)
    why = ours.contrast("class 2", 0)
    assert torch.equal(why.values, ours.values[:, 2] - ours.values[:, 0])  # a single rounding
    change = why.prediction - why.baseline_prediction
    assert (why.values.sum(1) - change).abs().max() <= 1e-9
    assert re.search(naming("class 2", "class 0"), repr(why))
    with pytest.raises(ValueError, match=naming("class 9")):
        ours.contrast("class 9", 0)


@pytest.mark.slow
@pytest.mark.parametrize("options", [{"mixing": True}, {"lmc": True, "shared": False}], ids=["mixing", "lmc"])
def test_correlated_classes_have_a_standard_error_that_they_keep(options: dict[str, bool]) -> None:
    """Against 2 x 10^5 joint draws of the logits at both ends: the sum of the attributions is the change."""
    model, likelihood, X = small(**options)
    ours = gplens.explain(model, X[:2], baseline=0.5, likelihood=likelihood)
    assert ours.standard_error is not None
    assert bool(ours.converged.all())
    assert ours.standard_error.max() <= 1e-4 * ours.values.abs().max()
    torch.manual_seed(5)
    with torch.no_grad():
        f = model.eval()(torch.cat([X[:2], torch.full((1, 4), 0.5, dtype=torch.float64)])).sample(torch.Size([200_000]))
    logits = f if likelihood.mixing_weights is None else f @ likelihood.mixing_weights.T
    S = torch.softmax(logits, dim=-1)
    mean, error = S.mean(0), S.std(0) / 200_000**0.5
    assert ((ours.prediction - mean[:2]).abs() <= 4 * error[:2] + 1e-4).all()
    change, spread = mean[:2] - mean[2], (error[:2] ** 2 + error[2] ** 2).sqrt()
    assert ((ours.values.sum(2) - change).abs() <= 4 * spread + 1e-4).all()
    again = gplens.explain(model, X[:2], baseline=0.5, likelihood=likelihood)
    size = ours.values.abs().max()
    assert_rounded(again.values, ours.values, roundings=1e4, size=size)  # the same draws, on as many nodes


@pytest.mark.slow
def test_mixing_by_the_identity_is_the_exact_softmax_within_its_standard_error() -> None:
    process, X = posteriors(4, 3, seed=21)
    exact = gplens.explain(process, X, baseline=0.0, likelihood=links.Softmax())
    mixed = links.MixedSoftmax(torch.eye(4, dtype=torch.float64), seed=3)
    sampled = gplens.explain(process, X, baseline=0.0, likelihood=mixed)
    assert sampled.standard_error is not None
    ratio = (sampled.values - exact.values).abs() / sampled.standard_error
    assert ratio.max() <= 8  # eight scramblings: a t distribution with seven degrees of freedom
    assert ratio.median() <= 2
    other = links.MixedSoftmax(torch.eye(4, dtype=torch.float64), seed=4)
    assert not torch.equal(sampled.values, gplens.explain(process, X, baseline=0.0, likelihood=other).values)


@pytest.mark.filterwarnings("ignore::gplens.ConvergenceWarning")
@pytest.mark.slow
def test_a_tolerance_that_draws_cannot_reach_is_said_to_be_missed() -> None:
    process, X = posteriors(3, 2, seed=2)
    mixed = links.MixedSoftmax(torch.eye(3, dtype=torch.float64))
    ours = gplens.explain(process, X[:1], baseline=0.0, likelihood=mixed, tolerance=1e-12)
    assert not bool(ours.converged.any())
    assert re.search("not converged", repr(ours), re.IGNORECASE)
    fixed = gplens.rules.GaussLegendre(4)
    again = gplens.explain(process, X[:1], baseline=0.0, likelihood=mixed, tolerance=1e-6, rule=fixed)
    assert not bool(again.converged.any())


@pytest.mark.slow
def test_monte_carlo_agrees_within_four_standard_errors() -> None:
    process, X = posteriors(3, 2, seed=6)
    exact = gplens.explain(process, X, baseline=0.0, likelihood=links.Softmax())
    drawn = gplens.explain(process, X, baseline=0.0, likelihood=links.SoftmaxMonteCarlo(40_000, seed=1), tolerance=1e-2)
    assert drawn.standard_error is not None
    assert ((drawn.values - exact.values).abs() <= 6 * drawn.standard_error).all()
    assert ((drawn.values - exact.values).abs() > drawn.standard_error).any()


def test_taylor_reports_the_gap_that_it_leaves() -> None:
    """The expansion is biased: its attributions do not add up, and it says by how much."""
    process, X = posteriors(3, 2, seed=6)
    ours = gplens.explain(process, X, baseline=0.0, likelihood=links.SoftmaxTaylor())
    assert ours.gap.abs().max() > 1e-3
    assert torch.allclose(ours.gap, ours.values.sum(2) - (ours.prediction - ours.baseline_prediction), atol=1e-14)


def test_bad_input_is_refused_with_a_reason() -> None:
    process, X = posteriors(3, 2, seed=6)
    single, two = process.parts[0], X[:1]
    with pytest.raises(ValueError, match=naming("classes", 1, "links.Sigmoid()")):
        gplens.explain(single, two, baseline=0.0, likelihood=links.Softmax())
    with pytest.raises(ValueError, match=naming(7)):
        gplens.explain(process, two, baseline=0.0, likelihood=links.Softmax(), outputs=7)
    with pytest.raises(ValueError, match=naming("SoftmaxMonteCarlo", 20, 7)):
        links.SoftmaxMonteCarlo(7, seed=0)
    model, _, train = small()
    four = gpytorch.likelihoods.SoftmaxLikelihood(num_classes=4, mixing_weights=False)
    with pytest.raises(ValueError, match=naming("MultiClass", 4, 3)):
        gplens.explain(model, train[:1], baseline=0.0, likelihood=four)
    lmc, _, train = small(lmc=True, shared=False)
    with pytest.raises(ValueError, match=naming("SoftmaxTaylor", "links.Softmax()")):
        gplens.explain(lmc, train[:1], baseline=0.0, likelihood=links.SoftmaxTaylor())
