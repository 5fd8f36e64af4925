"""GPyTorch's likelihoods of one latent value: any p(y|f), with a closed-form link if its mean is one (MATH 2)."""

from collections.abc import Callable
from functools import partial
from math import isfinite
from typing import Any, final

import torch
from gpytorch.distributions import MultivariateNormal
from gpytorch.likelihoods import BernoulliLikelihood
from gpytorch.likelihoods import Likelihood as HostLikelihood
from gpytorch.likelihoods.likelihood import _OneDimensionalLikelihood
from jaxtyping import Float
from linear_operator.operators import DiagLinearOperator
from torch import Tensor
from torch.nn.functional import softplus
from torch.overrides import TorchFunctionMode

from gplens.adapters.gpytorch.modules import reference, shadow, undisturbed
from gplens.adapters.gpytorch.recognition import (
    CLOSED,
    DEVIATIONS,
    ELEMENTARY,
    NEAR,
    PROBES,
    RESPONSE,
    Answers,
    agrees,
    ask,
    check_answers,
    check_moment,
    check_response,
    latent_values,
    recognise,
)
from gplens.adapters.gpytorch.tails import Given, tail_probability
from gplens.adapters.reading import probe_likelihood, read_likelihood
from gplens.expectations.expectation import ExpectedLink
from gplens.expectations.variances import ConditionalVariance, LatentVariance, OutcomeVariance, TotalVariance, Variance
from gplens.likelihood import Likelihood
from gplens.links import Affine, Exp, Identity, Link, Probit, Quadrature
from gplens.processes.process import Marginals

MARGINALS = {HostLikelihood.marginal: Link, BernoulliLikelihood.marginal: Probit}
"""GPyTorch's implementations of marginal(): by draws, for any link, and for the probit, in closed form."""
CALL = HostLikelihood.__call__
WITH_VARIANCE: dict[Link, Variance] = {Identity(): LatentVariance(), Exp(): OutcomeVariance((True,))}
"""Links g for which Var g(f) has a formula."""


@read_likelihood.register
def _(likelihood: _OneDimensionalLikelihood) -> Likelihood:
    """Read a likelihood from the distribution that `forward(f)` returns."""
    name, replica = type(likelihood).__name__, shadow(likelihood).eval()
    _check_elementwise(replica, name)

    def given(f: Tensor) -> Any:
        with WithoutThreshold():
            return replica.forward(f)

    def g(f: Tensor) -> Tensor:
        return given(f).mean

    link, before = recognise(g), ask(likelihood, NEAR)
    m, v = torch.tensor([[-1.3, 0.4, 2.1], [0.7, 0.2, 1.9]], dtype=torch.float64)
    _check_marginal(replica, link, m, v)

    def near(marginals: Marginals) -> Likelihood:
        """The same link if it has the values of the live likelihood, else quadrature."""
        now = ask(likelihood, torch.cat([NEAR, latent_values(marginals)]))
        check_answers(name, before, now)
        nearby = link
        if now.dtype != torch.float64 or not agrees(link, now.f, now.mean):
            values = g(now.f)
            check_moment(name, "mean", values, now.mean, now)
            nearby = link if agrees(link, now.f, values) else Quadrature(g)
        _check_marginal(likelihood, nearby, marginals.m.flatten(), marginals.v.flatten())
        local = now.mean[len(NEAR) :][: len(DEVIATIONS) * marginals.m.numel()]  # without values further out
        return _observed(name, given, nearby, now, near, local)

    return _observed(name, given, link, before, near, torch.zeros_like(NEAR))


@read_likelihood.register
def _(likelihood: HostLikelihood) -> Likelihood:
    raise TypeError(
        "expected a Gaussian likelihood, or one of a single latent value (a subclass of _OneDimensionalLikelihood), "
        f"got {type(likelihood).__name__}; give a link instead, such as likelihood=gplens.links.Exp()."
    )


@probe_likelihood.register
def _(likelihood: _OneDimensionalLikelihood) -> dict[str, Tensor]:
    answers = ask(likelihood, NEAR)
    return {f"{answers.kind}.mean": answers.mean, f"{answers.kind}.variance": answers.variance}


def _observed(
    name: str,
    given: Given,
    link: Link,
    answers: Answers,
    near: Callable[[Marginals], Likelihood],
    means: Float[Tensor, " k"],
) -> Likelihood:
    """The response, the variance and the tails; the last two are compared with the live likelihood when they are used.

    Second moments are taken around a typical value of the mean, the offset of a closed form or that of `means` which is
    nearest to zero, so that large means do not cancel.
    """

    def check() -> None:
        y = given(answers.f)
        check_moment(name, "mean", y.mean, answers.mean, answers)
        check_moment(name, "variance", y.variance, answers.variance, answers)

    def variance() -> Variance:
        check()
        line = link if isinstance(link, Affine) else Affine(link, 1.0, 0.0)
        if line.link in WITH_VARIANCE:
            conditional = recognise(lambda f: given(f).variance, (link, *ELEMENTARY), answers.f)
            return ConditionalVariance(conditional, WITH_VARIANCE[line.link], line.scale, line.offset)  # (2.10b)
        mean, about = _centred(link, given, _nearest_to_zero(means))

        def second_moment(f: Tensor) -> Tensor:
            y = given(f)
            return y.variance + (y.mean - about) ** 2

        return TotalVariance((mean,), (recognise(second_moment, (mean, *ELEMENTARY), answers.f),))  # (2.10)

    def exceeds(t: float) -> ExpectedLink:
        check()
        return tail_of(given, answers.f)(t)

    return Likelihood(name, ExpectedLink((link,)), variance, exceeds, near=near)


def _centred(link: Link, given: Given, centre: float) -> tuple[Link, float]:
    """E[y|f] minus a number, and the number, which is subtracted before integration to avoid rounding of large sums."""
    if isinstance(link, Affine):
        return Affine(link.link, link.scale, 0.0), link.offset
    if isinstance(link, Quadrature) and centre:
        return Quadrature(lambda f: given(f).mean - centre), centre
    return link, 0.0


def _nearest_to_zero(values: Float[Tensor, " k"]) -> float:
    """The value with the smallest magnitude; zero if they have both signs, or are not finite."""
    low, high = float(values.min()), float(values.max())
    return low if low > 0 and isfinite(high) else high if high < 0 and isfinite(low) else 0.0


def tail_of(given: Given, latent: Float[Tensor, " k"] = PROBES[:0]) -> Callable[[float], ExpectedLink]:
    """t -> P(y > t), from the distribution of y given f."""
    return partial(_exceeds, given, latent)


def _exceeds(given: Given, latent: Float[Tensor, " k"], t: float) -> ExpectedLink:
    g, links_of_tails = tail_probability(given, t)
    return ExpectedLink((recognise(g, (*CLOSED, *links_of_tails), torch.cat([t + NEAR, latent])),))


def _check_marginal(likelihood: Any, link: Link, m: Float[Tensor, " k"], v: Float[Tensor, " k"]) -> None:
    """Refuse a likelihood whose own marginal() does not have the mean E g(f)."""
    kind = MARGINALS.get(getattr(likelihood.marginal, "__func__", None))
    if kind is not None and isinstance(link, kind) and type(likelihood).__call__ is CALL:
        return
    with undisturbed(likelihood), torch.no_grad():
        x, variance = (tensor.to(reference(likelihood)) for tensor in (m, v))
        predicted = likelihood(MultivariateNormal(x, DiagLinearOperator(variance))).mean
    ours, what = link.moments(m, v).value, "the expectation of forward(f).mean"
    check_response(ours, predicted.to("cpu", torch.float64), type(likelihood).__name__, what, RESPONSE[predicted.dtype])


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

    torch's softplus is cut off at 20, where it jumps by 2e-9; quadrature needs the smooth function.
    """

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        return _softplus(*args, **(kwargs or {})) if func is softplus else func(*args, **(kwargs or {}))


def _softplus(input: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    return torch.logaddexp(beta * input, torch.zeros_like(input)) / beta
