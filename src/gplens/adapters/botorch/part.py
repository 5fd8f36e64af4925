"""What a model of BoTorch is made of, before several of them are put side by side."""

from collections.abc import Callable
from dataclasses import dataclass
from math import log
from typing import final

from jaxtyping import Float
from torch import Tensor

from gplens.expectations.elementwise import ExpectedLink, LatentVariance
from gplens.likelihood import Likelihood
from gplens.links import Identity, Link, Probit
from gplens.processes.process import Process


@final
@dataclass(frozen=True, eq=False)
class Part:
    """Latent functions of raw inputs in the units of a Gaussian outcome, and what each of them stands for."""

    process: Process
    links: tuple[Link, ...]
    """From the Gaussian outcome to the raw one, for each latent function."""
    noise: tuple[float, ...] | None
    """The variance of an observation given each latent function; None where it is not the same everywhere."""
    draws: tuple[int, ...]
    """How many latent functions each output is a mixture of."""
    notes: tuple[str, ...]
    check: Callable[[Float[Tensor, "k d"]], tuple[str, ...]]
    """Refuses, or says how close the host's own posterior is."""
    conjugate: bool = True


def likelihood_of(parts: tuple[Part, ...]) -> Likelihood:
    """posterior(X).mean as the response; the noise of observations where it is known."""
    links = sum((part.links for part in parts), ())
    name, response = "BoTorch's posterior mean", ExpectedLink(links)
    if any(part.noise is None for part in parts):
        return Likelihood(name, response, latents=len(links))
    noise = sum((part.noise or () for part in parts), ())
    variance = LatentVariance(noise) if all(link == Identity() for link in links) else None

    def exceeds(t: float) -> ExpectedLink:
        pairs = zip(links, noise, strict=True)
        return ExpectedLink(tuple(Probit(shift=_level(link, t), noise=own) for link, own in pairs))

    return Likelihood(name, response, variance, exceeds, len(links))


def _level(link: Link, t: float) -> float:
    """The value of the Gaussian outcome at which the raw one is t."""
    if link == Identity():
        return t
    if t <= 0:
        raise ValueError(f"Exceeds({t:g}): an outcome that was fitted by its logarithm is above zero for certain.")
    return log(t)
