"""Whether a likelihood prints what gplens is about to explain: a subclass may have changed it."""

import warnings
from typing import Any

import torch
from gpytorch.distributions import MultitaskMultivariateNormal, MultivariateNormal
from gpytorch.likelihoods import Likelihood, MultitaskGaussianLikelihood, SoftmaxLikelihood
from jaxtyping import Float
from torch import Tensor

from gplens.links import Link

MEANS = torch.tensor([-1.3, 0.4, 2.1], dtype=torch.float64)
VARIANCES = torch.tensor([0.7, 0.2, 1.9], dtype=torch.float64)
SAME = 1e-7
"""Agreement of two closed forms, relative to 1 + |mean|."""


def check_gaussian(copy: Any, name: str) -> None:
    """E y = f."""
    m: Any = MEANS
    latent = MultivariateNormal(m, torch.diag(VARIANCES))
    if isinstance(copy, MultitaskGaussianLikelihood):
        m = MEANS[:, None].expand(-1, copy.num_tasks)
        latent = MultitaskMultivariateNormal(m, torch.eye(m.numel(), dtype=torch.float64))
    with warnings.catch_warnings(action="ignore"):  # fixed noise says that it has none for these points
        printed = copy(latent).mean
    _compare(m, printed, name, "f itself")


def check_marginal(copy: Any, link: Link, name: str) -> None:
    """E g(f) is what the likelihood's own marginal says, if it has one; the inherited one averages over draws."""
    if type(copy).marginal is Likelihood.marginal:
        return
    printed = copy(MultivariateNormal(MEANS, torch.diag(VARIANCES))).mean
    _compare(link.moments(MEANS, VARIANCES).value, printed, name, "the expectation of forward(f).mean")


def check_softmax(likelihood: SoftmaxLikelihood, name: str) -> None:
    """Class probabilities are the softmax of the (mixed) latent values."""
    M, k = likelihood.mixing_weights, likelihood.num_features
    dtype = torch.float64 if M is None else M.dtype
    f = 2 * torch.arange(k * (k + 1), dtype=dtype).sin().view(k + 1, k)  # as many rows as columns would be transposed
    with torch.no_grad():
        printed, logits = likelihood.forward(f).probs, f if M is None else f @ M.T
    _compare(torch.softmax(logits, dim=-1), printed, name, "the softmax of its latent values", 1e-5)
    if type(likelihood).marginal is not SoftmaxLikelihood.marginal:
        raise ValueError(
            f"{name} has a marginal() of its own, so that what it prints is not the expected softmax. Give a link "
            "instead: likelihood=gplens.links.Softmax()."
        )


def _compare(ours: Float[Tensor, "*k"], printed: Float[Tensor, "*k"], name: str, what: str, same: float = SAME) -> None:
    if ours.shape != printed.shape:
        raise ValueError(
            f"{name} gives means of shape {tuple(printed.shape)} for latent values of {tuple(ours.shape)}."
        )
    difference = (ours - printed).abs() / (1 + printed.abs())
    if bool(difference.max() > same):
        i = int(difference.argmax())
        raise ValueError(
            f"{name} prints {float(printed.flatten()[i]):.8g} where {what} is {float(ours.flatten()[i]):.8g}. What is "
            "explained would not be what your model prints, so that gplens refuses. Give the link that is meant "
            "instead: likelihood=gplens.links.Quadrature(g), or target=gplens.targets.Custom(g)."
        )
