"""Every target: its attributions add up to the change of a number computed independently."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

import gplens
from conformance.zoo import KERNELS, fitted, rows
from gplens import Likelihood, Stack
from gplens.baselines import Rows
from gplens.expectations.expectation import ExpectedLink
from gplens.expectations.variances import LatentVariance, TotalVariance
from gplens.links import Exp, Identity, Quadrature, Sigmoid
from gplens.targets import Custom, EpistemicVariance, Exceeds, Latent, PredictiveVariance, Response, Target
from messages import naming
from oracles.dense import expectation, integrated_gradient

NOISE = 0.3
GAUSSIAN = Likelihood(
    "Gaussian",
    ExpectedLink((Identity(),)),
    LatentVariance((NOISE,)),
    lambda t: ExpectedLink((Quadrature(lambda f: torch.special.ndtr((f - t) / NOISE**0.5)),)),
)
POISSON = Likelihood(
    "Poisson",
    ExpectedLink((Exp(),)),
    TotalVariance((Exp(),), (Quadrature(lambda f: torch.exp(f) + torch.exp(2 * f)),)),
)


def normal_tail(m: Tensor, v: Tensor) -> Tensor:
    return 0.5 * torch.erfc((0.4 - m) / torch.sqrt(2 * (v + NOISE)))


def poisson_variance(m: Tensor, v: Tensor) -> Tensor:
    """E e^f + Var e^f of a log-normal."""
    return torch.exp(m + v / 2) + (torch.exp(v) - 1) * torch.exp(2 * m + v)


TARGETS: list[tuple[Target | None, object, Callable[[Tensor, Tensor], Tensor]]] = [
    (None, Exp(), lambda m, v: torch.exp(m + v / 2)),
    (Response(), GAUSSIAN, lambda m, v: m),
    (Latent(), None, lambda m, v: m),
    (Latent(), Exp(), lambda m, v: m),
    (EpistemicVariance(), None, lambda m, v: v),
    (EpistemicVariance(), POISSON, lambda m, v: v),
    (PredictiveVariance(), GAUSSIAN, lambda m, v: v + NOISE),
    (PredictiveVariance(), POISSON, poisson_variance),
    (Exceeds(0.4), GAUSSIAN, normal_tail),
    (Custom(Sigmoid()), None, expectation(torch.sigmoid)),
    (Custom(torch.tanh), Exp(), expectation(torch.tanh)),
    (Custom(lambda f: f**3), None, lambda m, v: m**3 + 3 * m * v),
]


@pytest.mark.parametrize(("target", "likelihood", "psi"), TARGETS, ids=lambda part: type(part).__name__)
def test_a_target_is_explained_as_what_it_is(
    target: Target | None, likelihood: object, psi: Callable[[Tensor, Tensor], Tensor]
) -> None:
    """Predictions are psi(m, v); attributions are the integrals of its gradient, and add up."""
    (posterior, dense), (X, X0) = fitted(KERNELS["rbf"], 31), rows(31, 2)
    e = gplens.explain(posterior, X, baseline=Rows(X0), likelihood=likelihood, target=target, tolerance=1e-9)
    at_x, at_x0 = psi(dense.m(X), dense.v(X)), psi(dense.m(X0), dense.v(X0))
    torch.testing.assert_close(e.prediction, at_x, rtol=1e-9, atol=1e-10)
    torch.testing.assert_close(e.baseline_prediction, at_x0, rtol=1e-9, atol=1e-10)
    torch.testing.assert_close(e.values.sum(1), at_x - at_x0, rtol=1e-8, atol=1e-9)
    each = [integrated_gradient(lambda x: psi(dense.m(x), dense.v(x)), x, x0) for x, x0 in zip(X, X0, strict=True)]
    torch.testing.assert_close(e.values, torch.stack(each), rtol=1e-7, atol=1e-9)


def test_outputs_have_targets_of_their_own() -> None:
    """Two latents, two links, two noises: each output is explained as if it were alone."""
    (rbf, _), (matern, _), (X, X0) = fitted(KERNELS["rbf"], 32), fitted(KERNELS["matern52"], 33), rows(32, 2)
    mixed = Likelihood("both", ExpectedLink((Exp(), Sigmoid())), LatentVariance((0.1, 0.2)))
    e = gplens.explain(Stack((rbf, matern)), X, baseline=Rows(X0), likelihood=mixed)
    for i, (posterior, link) in enumerate(((rbf, Exp()), (matern, Sigmoid()))):
        alone = gplens.explain(posterior, X, baseline=Rows(X0), likelihood=link)
        torch.testing.assert_close(e.values[:, i], alone.values, rtol=1e-5, atol=1e-8)
    v = gplens.explain(Stack((rbf, matern)), X, baseline=Rows(X0), likelihood=mixed, target=PredictiveVariance())
    torch.testing.assert_close(v.prediction, torch.stack([rbf.v(X)[:, 0] + 0.1, matern.v(X)[:, 0] + 0.2], dim=1))


@pytest.mark.parametrize(
    ("target", "likelihood", "message"),
    [
        (None, None, naming("likelihood", "Response()", "None", "gplens.links.Exp()")),
        (PredictiveVariance(), None, naming("likelihood", "PredictiveVariance()", "None")),
        (PredictiveVariance(), Exp(), naming("Exp()", "Var[y|f]", "gplens.targets.EpistemicVariance()")),
        (Exceeds(1.0), Sigmoid(), naming("Sigmoid()", "P(y > t|f)", "gplens.targets.Custom(g)")),
        (Exceeds(1.0), POISSON, naming("Poisson", "P(y > t|f)", "gplens.targets.Custom(g)")),
    ],
    ids=["response", "variance", "variance of Exp", "tail of Sigmoid", "tail of Poisson"],
)
def test_a_target_that_the_likelihood_does_not_support_is_refused(
    target: Target | None, likelihood: object, message: str
) -> None:
    (posterior, _), (X, X0) = fitted(KERNELS["rbf"], 31), rows(31, 2)
    with pytest.raises(ValueError, match=message):
        gplens.explain(posterior, X, baseline=Rows(X0), likelihood=likelihood, target=target)


@pytest.mark.parametrize("threshold", [float("nan"), float("inf")])
def test_a_threshold_that_is_not_finite_is_refused(threshold: float) -> None:
    with pytest.raises(ValueError, match=naming("Exceeds", "threshold", threshold)):
        Exceeds(threshold)


def test_a_likelihood_of_another_number_of_latents_is_refused() -> None:
    (posterior, _), (X, X0) = fitted(KERNELS["rbf"], 31), rows(31, 2)
    with pytest.raises(ValueError, match=naming("three", 3, "Posterior", 1)):
        gplens.explain(
            posterior, X, baseline=Rows(X0), likelihood=Likelihood("three", ExpectedLink((Exp(),)), latents=3)
        )
