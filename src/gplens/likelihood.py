"""p(y | f), as far as an explanation needs it: what adapters read from a host's likelihood (MATH 2)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

from gplens.expectations.expectation import Expectation, ExpectedLink
from gplens.expectations.link import Link
from gplens.processes.process import Marginals

__all__ = ["Likelihood"]


@final
@dataclass(frozen=True)
class Likelihood:
    """The conditional moments and tails of an observation, as functions of its latent value.

    Example:
        >>> gplens.Likelihood.of_link(gplens.links.Exp()).name
        'Exp()'
    """

    name: str
    """The name of the likelihood in messages."""
    response: Expectation
    """E y, the prediction of the model."""
    variance: Expectation | Callable[[], Expectation] | None = None
    """Var y: observation noise and the uncertainty of the latent function together; or a function that builds it."""
    exceeds: Callable[[float], Expectation] | None = None
    """t -> P(y > t)."""
    latents: int | None = None
    """The number of latent functions that it takes. None: any number, with one output for each."""
    outputs: tuple[str, ...] | None = None
    """Names of the outputs of the response: one for each class, or a single one such as "P(y = class 1)"."""
    epistemic: Expectation | None = None
    """The variance of the model's prediction without observation noise, if it differs from the variance of f."""
    near: "Callable[[Marginals], Likelihood] | None" = None
    """Compares the likelihood with the host's live one at the latent values of a call, and returns it; raises a
    ValueError if the two differ. None for a likelihood that cannot change."""

    def total_variance(self) -> Expectation | None:
        """Var y; None if the likelihood does not define it."""
        return self.variance() if callable(self.variance) else self.variance

    @staticmethod
    def of_link(link: Link) -> "Likelihood":
        """From a link, which determines the response but not the observation noise."""
        return Likelihood(repr(link), ExpectedLink((link,)))
