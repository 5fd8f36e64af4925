"""GPyTorch's likelihoods: any p(y|f) of one latent value, through a closed-form link where its mean is one (MATH 2)."""

from collections.abc import Callable
from functools import partial
from typing import Any, final

import torch
from gpytorch.distributions import MultivariateNormal
from gpytorch.likelihoods import Likelihood as HostLikelihood
from gpytorch.likelihoods import SoftmaxLikelihood
from gpytorch.likelihoods.likelihood import _OneDimensionalLikelihood
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import softplus
from torch.overrides import TorchFunctionMode

from gplens import links
from gplens.adapters.gpytorch.live import undisturbed
from gplens.adapters.gpytorch.shadow import shadow
from gplens.adapters.gpytorch.tails import Given, tail_probability
from gplens.adapters.reading import probe_likelihood, read_likelihood
from gplens.expectations.elementwise import ExpectedLink, TotalVariance
from gplens.likelihood import Likelihood
from gplens.links import Link

ELEMENTARY = (links.Identity(), links.Exp(), links.Square())
CLOSED = (*ELEMENTARY, links.Softplus(), links.Probit(), links.Sigmoid())
"""Links with moments of their own. A host's mean function that is one of them, scaled and shifted, becomes it."""
PROBES = 100 * torch.frac(torch.arange(1, 401, dtype=torch.float64) * 0.6180339887498949) - 50
"""Latent values within +-50, spread by the golden section so that no period of g can hide between them."""
SAME = 1e-9
"""Agreement at the probes, relative to the part of g that varies."""
FLOOR = 1e-14
"""Rounding, relative to how much g varies within +-4: torch's normal cdf is a difference that ends in zero."""


@read_likelihood.register
def _(likelihood: _OneDimensionalLikelihood) -> Likelihood:
    """From the distribution that `forward(f)` returns."""
    name, replica = type(likelihood).__name__, shadow(likelihood).eval()
    _check_elementwise(replica, name)

    def given(f: Tensor) -> Any:
        with WithoutThreshold():
            return replica.forward(f)

    def second_moment(f: Tensor) -> Tensor:
        y = given(f)
        return y.variance + y.mean**2

    link = recognise(lambda f: given(f).mean)
    if type(replica).marginal is not HostLikelihood.marginal:  # the inherited one averages over draws
        m, v = torch.tensor([[-1.3, 0.4, 2.1], [0.7, 0.2, 1.9]], dtype=torch.float64)
        predicted = replica(MultivariateNormal(m, torch.diag(v))).mean
        check_response(link.moments(m, v).value, predicted, name, "the expectation of forward(f).mean")

    def variance() -> TotalVariance:
        return TotalVariance((link,), (recognise(second_moment, (link, *ELEMENTARY)),))

    return Likelihood(name, ExpectedLink((link,)), variance, tail_of(given))


@read_likelihood.register
def _(likelihood: SoftmaxLikelihood) -> Likelihood:
    """Classes from latent functions of their own, or, with mixing weights, from mixes of all of them."""
    name, M = type(likelihood).__name__, likelihood.mixing_weights
    f, probabilities = _softmax(likelihood)
    expected = torch.softmax(f if M is None else f @ M.detach().T, dim=-1)
    check_response(expected, probabilities, name, "the softmax of its latent values", 1e-5)
    if type(likelihood).marginal is not SoftmaxLikelihood.marginal:
        raise ValueError(
            f"expected a likelihood that predicts the expected softmax, got {name} with a marginal() of its own; give "
            "a link instead: likelihood=gplens.links.Softmax()."
        )
    if M is None:
        return Likelihood(name, links.Softmax(), latents=likelihood.num_classes)
    return Likelihood(name, links.MixedSoftmax(M.detach().double().clone()), latents=likelihood.num_features)


@read_likelihood.register
def _(likelihood: HostLikelihood) -> Likelihood:
    raise TypeError(
        "expected a Gaussian likelihood, or one of a single latent value (a subclass of _OneDimensionalLikelihood), "
        f"got {type(likelihood).__name__}; give a link instead, such as likelihood=gplens.links.Exp()."
    )


@probe_likelihood.register
def _(likelihood: _OneDimensionalLikelihood) -> dict[str, Tensor]:
    with undisturbed(likelihood), torch.no_grad():
        y: Any = likelihood.forward(torch.linspace(-2, 2, 9).to(reference(likelihood)))
        names = ("mean", "variance", *y.arg_constraints)
        return {f"{type(y).__name__}.{name}": torch.as_tensor(getattr(y, name)).clone() for name in names}


@probe_likelihood.register
def _(likelihood: SoftmaxLikelihood) -> dict[str, Tensor]:
    with undisturbed(likelihood):
        return {"probs": _softmax(likelihood)[1]}


def tail_of(given: Given) -> Callable[[float], ExpectedLink]:
    """t -> P(y > t), from the distribution of y given f."""
    return partial(_exceeds, given)


def _exceeds(given: Given, t: float) -> ExpectedLink:
    g, links_of_tails = tail_probability(given, t)
    return ExpectedLink((recognise(g, (*CLOSED, *links_of_tails)),))


def recognise(g: Callable[[Tensor], Tensor], candidates: tuple[Link, ...] = CLOSED) -> Link:
    """The first of the candidates that is g, up to scale and shift; quadrature over g if there is none."""
    with torch.no_grad():
        values, zero, one = g(PROBES), g(PROBES.new_zeros(1)), g(PROBES.new_ones(1))
    for link in candidates:
        at_probes, at_zero, at_one = (link(f) for f in (PROBES, PROBES.new_zeros(1), PROBES.new_ones(1)))
        scale = (one - zero) / (at_one - at_zero)
        offset = zero - scale * at_zero
        varying = scale * at_probes
        size = (values - offset)[PROBES.abs() < 4].abs().max()
        limit = SAME * varying.abs() + FLOOR * (size + offset.abs() + values.abs())
        if bool(((varying + offset - values).abs() <= limit).all()):
            exact = abs(float(scale) - 1) < 1e-12 and abs(float(offset)) < 1e-12  # the rounding of the four probes
            return link if exact else links.Affine(link, float(scale), float(offset))
    return links.Quadrature(g)


def check_response(
    ours: Float[Tensor, "*k"], predicted: Float[Tensor, "*k"], name: str, what: str, same: float = 1e-7
) -> None:
    """Refuse a likelihood whose own mean is not what gplens would explain, relative to 1 + |mean|."""
    if ours.shape != predicted.shape:
        shapes = f"{tuple(ours.shape)} from {name} for as many latent values, got {tuple(predicted.shape)}"
        raise ValueError(f"expected means of shape {shapes}.")
    difference = (ours - predicted).abs() / (1 + predicted.abs())
    if bool(difference.max() > same):
        i = int(difference.argmax())
        raise ValueError(
            f"expected {what}, {float(ours.flatten()[i]):.8g}, from {name}, got {float(predicted.flatten()[i]):.8g}; "
            "gplens would not explain your model. Give the link that is meant instead: "
            "likelihood=gplens.links.Quadrature(g), or target=gplens.targets.Custom(g)."
        )


def reference(likelihood: torch.nn.Module) -> Tensor:
    """A tensor with the dtype and device of the likelihood's parameters; float64 where it has none."""
    return next(likelihood.parameters(), torch.empty(0, dtype=torch.float64))


def _softmax(likelihood: SoftmaxLikelihood) -> tuple[Float[Tensor, "r k"], Float[Tensor, "r c"]]:
    """Latent values, and the probabilities of the classes for them."""
    k, M = likelihood.num_features, likelihood.mixing_weights
    f = 2 * torch.arange(k * (k + 1), dtype=torch.float64).sin().view(k + 1, k)  # k rows would be transposed
    f = f if M is None else f.to(M)
    with torch.no_grad():
        return f, likelihood.forward(f).probs


def _check_elementwise(likelihood: Any, name: str) -> None:
    shape = tuple(likelihood.forward(torch.zeros(3, dtype=torch.float64)).mean.shape)
    if shape != (3,):
        raise ValueError(
            f"expected means of shape (3,) from {name}.forward() for three latent values, got {shape}; split a "
            "likelihood with a batch of parameters into one for each output."
        )


@final
class WithoutThreshold(TorchFunctionMode):
    """Inside `with WithoutThreshold():` every softplus is log(1 + e^(beta x)) / beta for all x.

    torch's softplus is cut off at 20, where it jumps by 2e-9; quadrature needs the function that is meant.
    """

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        return _softplus(*args, **(kwargs or {})) if func is softplus else func(*args, **(kwargs or {}))


def _softplus(input: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    return torch.logaddexp(beta * input, torch.zeros_like(input)) / beta
