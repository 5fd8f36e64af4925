"""What is explained: the response, the latent function, a variance, a tail probability, any function (MATH 2)."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite
from typing import final

from torch import Tensor

from gplens.expectations.elementwise import ExpectedLink, LatentMean, LatentVariance
from gplens.expectations.expectation import Expectation
from gplens.likelihood import Likelihood
from gplens.links import Link, Quadrature
from gplens.links.quadrature import name_of


class Target(ABC):
    """A number that the model gives for an input."""

    @abstractmethod
    def bind(self, likelihood: Likelihood | None) -> Expectation:
        """As a function of the latent marginals; an error where the likelihood does not say enough."""


def _wanted(likelihood: Likelihood | None, target: Target) -> Likelihood:
    if likelihood is None:
        raise ValueError(
            f"{target!r} needs a likelihood, and none was given. Pass likelihood=, as the host library has it or "
            "a link such as gplens.links.Exp(); or explain the latent function with target=gplens.targets.Latent()."
        )
    return likelihood


@final
@dataclass(frozen=True)
class Response(Target):
    """E y = E g(f): the prediction, in the units of the observations. The default."""

    def bind(self, likelihood: Likelihood | None) -> Expectation:
        """As the likelihood says."""
        return _wanted(likelihood, self).response


@final
@dataclass(frozen=True)
class Latent(Target):
    """m: the mean of the latent function, before any link."""

    def bind(self, likelihood: Likelihood | None) -> Expectation:
        """Whatever the likelihood."""
        return LatentMean()


@final
@dataclass(frozen=True)
class EpistemicVariance(Target):
    """v: how unsure the model is of the latent function. Which features make it so?"""

    def bind(self, likelihood: Likelihood | None) -> Expectation:
        """Whatever the likelihood."""
        return LatentVariance()


@final
@dataclass(frozen=True)
class PredictiveVariance(Target):
    """Var y = E Var[y|f] + Var E[y|f]: observation noise and the model's own doubt together."""

    def bind(self, likelihood: Likelihood | None) -> Expectation:
        """As the likelihood says."""
        variance = _wanted(likelihood, self).variance
        if variance is None:
            raise ValueError(_unknown(likelihood, "Var[y|f]", "target=gplens.targets.EpistemicVariance()"))
        return variance


@final
@dataclass(frozen=True)
class Exceeds(Target):
    """P(y > threshold)  (2.11)."""

    threshold: float | int

    def __post_init__(self) -> None:
        if not isinstance(self.threshold, float | int) or not isfinite(self.threshold):
            raise ValueError(f"Exceeds wants a finite threshold; got {self.threshold}.")

    def bind(self, likelihood: Likelihood | None) -> Expectation:
        """As the likelihood says."""
        exceeds = _wanted(likelihood, self).exceeds
        if exceeds is None:
            raise ValueError(_unknown(likelihood, "P(y > t|f)", "target=gplens.targets.Custom(g) with your own"))
        return exceeds(self.threshold)


@final
@dataclass(frozen=True, repr=False)
class Custom(Target):
    """E g(f) for any link, or any elementwise, twice differentiable torch function g of the latent value."""

    g: Link | Callable[[Tensor], Tensor]

    def __post_init__(self) -> None:
        if not callable(self.g):
            raise TypeError(f"Custom wants a link or a torch function; got {self.g!r}.")

    def __repr__(self) -> str:
        return f"Custom({self.g!r})" if isinstance(self.g, Link) else f"Custom({name_of(self.g)})"

    def bind(self, likelihood: Likelihood | None) -> Expectation:
        """Whatever the likelihood."""
        return ExpectedLink((self.g if isinstance(self.g, Link) else Quadrature(self.g),))


def _unknown(likelihood: Likelihood | None, what: str, instead: str) -> str:
    name = "None" if likelihood is None else likelihood.name
    return f"The likelihood {name} does not give {what}, which this target needs. Use {instead}."
