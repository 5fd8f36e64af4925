"""What is explained: the response, the latent function, a variance, a tail probability, any function (MATH 2)."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite
from typing import final

from torch import Tensor

from gplens.adapters.numbers import as_float
from gplens.expectations.expectation import Expectation, ExpectedLink
from gplens.expectations.hyperparameters import over_hyperparameters
from gplens.expectations.variances import LatentVariance
from gplens.likelihood import Likelihood
from gplens.links import Identity, Link, Quadrature
from gplens.links.quadrature import name_of
from gplens.processes.process import Process

__all__ = ["Custom", "EpistemicVariance", "Exceeds", "Latent", "PredictiveVariance", "Response", "Target"]


class Target(ABC):
    """A number that the model assigns to an input.

    Example:
        >>> isinstance(gplens.targets.Exceeds(1.5), gplens.targets.Target)
        True
    """

    @abstractmethod
    def bind(self, likelihood: Likelihood | None) -> Expectation:
        """The target as a function of the latent marginals. Raises a ValueError if the likelihood does not give it."""


def _required(likelihood: Likelihood | None, target: Target) -> Likelihood:
    if likelihood is None:
        raise ValueError(
            f"expected a likelihood for {target!r}, got None. Pass likelihood=, as the host library has it or as a "
            "link such as gplens.links.Exp(); or explain the latent function with target=gplens.targets.Latent()."
        )
    return likelihood


def _not_given(likelihood: Likelihood | None, what: str, instead: str) -> str:
    name = "None" if likelihood is None else likelihood.name
    return f"expected a likelihood that gives {what}, got {name}, which does not. Use {instead}."


@final
@dataclass(frozen=True)
class Response(Target):
    """E y = E g(f): the prediction, in the units of the observations. The default.

    Example:
        >>> target = gplens.targets.Response()
        >>> e = gplens.explain(gp, X[3:4], baseline=0.0, likelihood=gplens.links.Exp(), target=target)
        >>> e.prediction.item() > 10  # about e^3
        True
    """

    def bind(self, likelihood: Likelihood | None) -> Expectation:
        return _required(likelihood, self).response


@final
@dataclass(frozen=True)
class Latent(Target):
    """m: the mean of the latent function, before any link.

    Example:
        >>> e = gplens.explain(gp, X[3:4], baseline=0.0, target=gplens.targets.Latent())
        >>> round(e.prediction.item(), 1)
        3.0
    """

    def bind(self, likelihood: Likelihood | None) -> Expectation:
        return ExpectedLink((Identity(),))


@final
@dataclass(frozen=True)
class EpistemicVariance(Target):
    """v: the posterior variance of the latent function; for BoTorch's models, `posterior(X).variance`.

    The attributions say which features make the model uncertain.

    Example:
        >>> e = gplens.explain(gp, 1.3 * X[3:4], baseline=0.5, target=gplens.targets.EpistemicVariance())
        >>> bool((e.values > 0).all())  # far from the data the model is less sure
        True
    """

    def bind(self, likelihood: Likelihood | None) -> Expectation:
        return (None if likelihood is None else likelihood.epistemic) or LatentVariance()


@final
@dataclass(frozen=True)
class PredictiveVariance(Target):
    """Var y = E Var[y|f] + Var E[y|f]: observation noise and the uncertainty of the model together.

    Example:
        >>> from sklearn.gaussian_process import GaussianProcessRegressor
        >>> model = GaussianProcessRegressor(alpha=0.01, optimizer=None).fit(X.numpy(), y.numpy())
        >>> e = gplens.explain(model, 1.3 * X.numpy()[3:4], baseline=0.5, target=gplens.targets.PredictiveVariance())
        >>> e.values.shape
        torch.Size([1, 2])
    """

    def bind(self, likelihood: Likelihood | None) -> Expectation:
        variance = _required(likelihood, self).total_variance()
        if variance is None:
            raise ValueError(_not_given(likelihood, "Var[y|f]", "target=gplens.targets.EpistemicVariance()"))
        return variance


@final
@dataclass(frozen=True)
class Exceeds(Target):
    """P(y > threshold)  (2.11).

    Raises:
        ValueError: if the threshold is not a finite number.

    Example:
        >>> from gplens.estimators import GPRegressor
        >>> model = GPRegressor(random_state=0, progress=False).fit(X.numpy(), y.numpy())
        >>> e = model.explain(X.numpy()[3:4], baseline=0.0, target=gplens.targets.Exceeds(1.5))
        >>> 0 < e.prediction.item() <= 1
        True
    """

    threshold: float | int

    def __post_init__(self) -> None:
        threshold = as_float(self.threshold)
        if threshold is None or not isfinite(threshold):
            raise ValueError(f"Exceeds: expected a finite number as the threshold, got {self.threshold!r}.")

    def bind(self, likelihood: Likelihood | None) -> Expectation:
        exceeds = _required(likelihood, self).exceeds
        if exceeds is None:
            raise ValueError(_not_given(likelihood, "P(y > t|f)", "target=gplens.targets.Custom(g) with your own g"))
        return exceeds(float(self.threshold))


@final
@dataclass(frozen=True, repr=False)
class Custom(Target):
    """E g(f) for any link, or any elementwise, twice differentiable torch function g of the latent value.

    Raises:
        TypeError: if g is not a link or a function.

    Example:
        >>> target = gplens.targets.Custom(torch.tanh)
        >>> gplens.explain(gp, X[3:4], baseline=0.0, target=target).values.shape
        torch.Size([1, 2])
    """

    g: Link | Callable[[Tensor], Tensor]

    def __post_init__(self) -> None:
        if not callable(self.g):
            raise TypeError(f"Custom: expected a link or a torch function, got {self.g!r}.")

    def __repr__(self) -> str:
        return f"Custom({self.g!r})" if isinstance(self.g, Link) else f"Custom({name_of(self.g)})"

    def bind(self, likelihood: Likelihood | None) -> Expectation:
        return ExpectedLink((self.g if isinstance(self.g, Link) else Quadrature(self.g),))


def bind_target(
    target: Target, likelihood: Likelihood | None, process: Process, draws: tuple[int, ...] | None, model: str
) -> tuple[Process, Expectation]:
    """The target as an expectation, and the process whose marginals it is a function of.

    `draws` has the number of hyper-parameter draws of each output, or is None; `model` is the name used in messages.
    """
    if likelihood is not None and likelihood.latents not in (None, process.latents):
        raise ValueError(
            f"expected the likelihood that the model was fitted with, got {likelihood.name}, which takes "
            f"{likelihood.latents} latent functions, where {model} has {process.latents}."
        )
    expectation = target.bind(likelihood)
    if draws is not None:
        return process, over_hyperparameters(expectation, draws)
    sources = process.sources() if expectation.independent else None
    if sources is not None:
        return sources.process, expectation.of_mixes(sources.weights, sources.noise)
    return process, expectation
