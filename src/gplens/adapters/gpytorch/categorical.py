"""GPyTorch's softmax likelihood: one latent function for each class, or mixes of all latent functions (MATH 3)."""

from typing import Any

import torch
from gpytorch.likelihoods import SoftmaxLikelihood
from jaxtyping import Float
from torch import Tensor

from gplens import links
from gplens.adapters.gpytorch.modules import undisturbed
from gplens.adapters.gpytorch.recognition import DEVIATIONS, check_response
from gplens.adapters.reading import check_unchanged, probe_likelihood, read_likelihood
from gplens.likelihood import Likelihood
from gplens.processes.process import Marginals

SAME = {torch.float64: 1e-9, torch.float32: 1e-5}
"""The largest accepted difference between probabilities, relative to 1 + p, as for logits of +-100 in float32."""


@read_likelihood.register
def _(likelihood: SoftmaxLikelihood) -> Likelihood:
    """k classes of k latent functions without mixing weights, else `num_classes` classes of `num_features`."""
    name, M = type(likelihood).__name__, likelihood.mixing_weights
    weights = None if M is None else M.detach().to("cpu", torch.float64, copy=True)
    probes = probe_likelihood(likelihood)
    _check_forward(likelihood, weights, _rows(likelihood))
    response = links.Softmax() if weights is None else links.MixedSoftmax(weights)

    def near(marginals: Marginals) -> Likelihood:
        check_unchanged(name, probes, probe_likelihood(likelihood))
        _check_forward(likelihood, weights, _latent_rows(marginals))
        return Likelihood(name, response, latents=likelihood.num_features, near=near)

    return Likelihood(name, response, latents=likelihood.num_features, near=near)


@probe_likelihood.register
def _(likelihood: SoftmaxLikelihood) -> dict[str, Tensor]:
    return {"probs": _probabilities(likelihood, _rows(likelihood))}


def _check_forward(likelihood: Any, weights: Float[Tensor, "c k"] | None, f: Float[Tensor, "r k"]) -> None:
    """Refuse a likelihood whose prediction is not the expected softmax of its latent values."""
    name = type(likelihood).__name__
    got = _probabilities(likelihood, f)
    f = f.to(_reference(likelihood)).to("cpu", torch.float64)
    expected = torch.softmax(f if weights is None else f @ weights.T, dim=-1)
    what = "the softmax of its latent values"
    check_response(expected, got.to("cpu", torch.float64), name, what, SAME[got.dtype])
    has_own_marginal = getattr(likelihood.marginal, "__func__", None) is not SoftmaxLikelihood.marginal
    if has_own_marginal or type(likelihood).__call__ is not SoftmaxLikelihood.__call__:
        raise ValueError(
            f"expected a likelihood that predicts the expected softmax, got {name} with a marginal() or a call of its "
            "own; give a link instead: likelihood=gplens.links.Softmax()."
        )


def _probabilities(likelihood: Any, f: Float[Tensor, "r k"]) -> Float[Tensor, "r c"]:
    """The probabilities of the live likelihood, in its own precision."""
    f = f.to(_reference(likelihood))
    if len(f) == likelihood.num_features:  # GPyTorch transposes a table with as many rows as latent functions
        return _probabilities(likelihood, torch.cat([f, f[:1]]))[:-1]
    with undisturbed(likelihood), torch.no_grad():
        return likelihood.forward(f).probs


def _reference(likelihood: Any) -> Tensor:
    """The precision of the likelihood; without mixing weights, that of its latent values."""
    M = likelihood.mixing_weights
    return torch.empty(0, dtype=torch.float64) if M is None else M


def _rows(likelihood: Any) -> Float[Tensor, "r k"]:
    """Latent values, whatever the model."""
    k = likelihood.num_features
    return 2 * torch.arange(k * (k + 1), dtype=torch.float64).sin().view(k + 1, k)


def _latent_rows(marginals: Marginals) -> Float[Tensor, "r k"]:
    """Latent values of a call: m at the points plus several standard deviations, different for each function."""
    m, sd = marginals.m[:, :, 0], marginals.v[:, :, 0].clamp(min=0).sqrt()
    turn = torch.arange(m.shape[1]) * 4 % len(DEVIATIONS)
    rows = [m + sd * DEVIATIONS[(turn + i) % len(DEVIATIONS)] for i in range(len(DEVIATIONS))]
    return torch.cat([m, 2 * m, *rows])
