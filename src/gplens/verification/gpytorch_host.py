"""GPyTorch models: the distribution that the live model returns, and the forward of the live likelihood."""

from typing import Any

import torch
from gpytorch.distributions import MultitaskMultivariateNormal
from gpytorch.likelihoods import MultitaskGaussianLikelihood, SoftmaxLikelihood
from gpytorch.likelihoods.gaussian_likelihood import _GaussianLikelihoodBase
from jaxtyping import Float
from torch import Tensor

from gplens.adapters.gpytorch.modules import exactly, reference, undisturbed
from gplens.verification.host import DOUBLE, SAMPLED, SINGLE, Host, Joint, expected_response

CORRELATED = 1e-9
"""Largest covariance between two latent functions, relative to the largest variance, that is rounding."""


def host_of(model: Any, likelihood: Any) -> Host:
    """The host of a GPyTorch model, with the likelihood that it was fitted with."""
    likelihood = getattr(model, "likelihood", None) if likelihood is None else likelihood
    kind, mixes = reference(model), isinstance(likelihood, SoftmaxLikelihood)

    def predict(X: Float[Tensor, "k d"]) -> Float[Tensor, "k o"]:
        with undisturbed(model), exactly():
            f = model(X.to(kind))
            m = _columns(f.mean, f)
            if is_gaussian(likelihood):
                return m
            return expected_response(lambda f: response_given(likelihood, f), m, _columns(f.variance, f), mixes=mixes)

    def joint(X: Float[Tensor, "k d"]) -> Joint:
        with undisturbed(model), exactly():
            return joint_of(model(X.to(kind)))

    double = kind.dtype == torch.float64
    return Host(
        predict,
        SAMPLED if mixes else DOUBLE if double else SINGLE,
        joint if double else None,
        lambda f: response_given(likelihood, f),
        mixes,
        "" if double else "the covariances of a model in float32 have too few digits",
    )


def is_gaussian(likelihood: Any) -> bool:
    """Whether E[y|f] = f."""
    return likelihood is None or isinstance(likelihood, _GaussianLikelihoodBase | MultitaskGaussianLikelihood)


def response_given(likelihood: Any, f: Float[Tensor, "*s c"]) -> Float[Tensor, "*s o"]:
    """E[y|f] of a live likelihood: probabilities of classes, else the mean of the distribution of an observation."""
    if is_gaussian(likelihood):
        return f
    with torch.no_grad():
        if isinstance(likelihood, SoftmaxLikelihood):
            return likelihood.forward(f).probs.double()
        return likelihood.forward(f).mean.double()


def joint_of(f: Any) -> Joint:
    """The joint distribution of independent latent functions at k inputs.

    Raises:
        ValueError: the latent functions are correlated.
    """
    S = f.covariance_matrix.double().cpu()
    if not isinstance(f, MultitaskMultivariateNormal):
        mean = f.mean.double().cpu()
        return Joint(mean, S) if mean.ndim == 2 else Joint(mean[None], S[None])
    k, c = f.mean.shape
    S = S.reshape(k, c, k, c).permute(1, 3, 0, 2) if f._interleaved else S.reshape(c, k, c, k).permute(0, 2, 1, 3)
    covariances = S.diagonal(dim1=0, dim2=1).permute(2, 0, 1)
    between = S * (1 - torch.eye(c, dtype=S.dtype))[:, :, None, None]
    if bool(between.abs().max() > CORRELATED * covariances.abs().max()):
        raise ValueError("the latent functions of the model are correlated")
    return Joint(f.mean.double().cpu().T, covariances)


def _columns(tensor: Tensor, f: Any) -> Float[Tensor, "k c"]:
    """Means or variances with a column for each latent function."""
    tensor = tensor.double().cpu()
    if tensor.ndim == 1:
        return tensor[:, None]
    return tensor if isinstance(f, MultitaskMultivariateNormal) else tensor.T
