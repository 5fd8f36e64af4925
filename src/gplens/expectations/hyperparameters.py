"""Averages over latent functions of which one is right: draws of hyper-parameters (MATH 2.15, 2.16)."""

from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.expectations.elementwise import (
    Elementwise,
    ExpectedLink,
    LatentMean,
    LatentVariance,
    Partials,
    TotalVariance,
)
from gplens.expectations.expectation import Expectation, Jet
from gplens.processes.process import Marginals, Process


def over_hyperparameters(expectation: Expectation, draws: tuple[int, ...]) -> Expectation:
    """A target of every draw as that of their mixture; output o has the next draws[o] latent functions."""
    if all(count == 1 for count in draws):
        return expectation
    if isinstance(expectation, ExpectedLink | LatentMean):
        return HyperparameterAverage(expectation, draws)
    if isinstance(expectation, LatentVariance):
        return HyperparameterVariance(expectation, LatentMean(), draws)
    if isinstance(expectation, TotalVariance):
        return HyperparameterVariance(expectation, ExpectedLink(expectation.mean), draws)
    raise ValueError(
        f"{expectation!r} is no target of a model with draws of hyper-parameters: wanted was an expectation, or a "
        "variance, of one latent function for each output."
    )


@final
@dataclass(frozen=True)
class HyperparameterAverage(Expectation):
    """psi = 1/S sum_s psi_s(m_s, v_s)  (2.15)."""

    each: ExpectedLink | LatentMean
    """Of every draw of every output."""
    draws: tuple[int, ...]
    """How many latent functions belong to each output, one output after the other."""

    @property
    def accuracy(self) -> float:
        """As that of a draw."""
        return self.each.accuracy

    def count(self, latents: int) -> int:
        """One output for each group of draws."""
        return len(self.draws)

    def narrowed(self, process: Process, outputs: tuple[int, ...]) -> tuple[Process, Expectation, tuple[int, ...]]:
        """The draws of these outputs alone."""
        if outputs == tuple(range(len(self.draws))):
            return process, self, outputs
        own = self.latents_of(outputs)
        some = HyperparameterAverage(self.each.select(own), tuple(self.draws[o] for o in outputs))
        return process.select(own), some, tuple(range(len(outputs)))

    def jet(self, marginals: Marginals, outputs: tuple[int, ...]) -> Jet:
        """The average of the draws' own."""
        value, by_m, by_v = every(self.each, marginals)
        M = averages(self.draws, outputs, value)
        by_m, by_v = (None if part is None else M[:, :, None] * part[:, None] for part in (by_m, by_v))
        assert by_m is not None
        return Jet(M @ value, by_m, by_v)

    def latents_of(self, outputs: tuple[int, ...]) -> tuple[int, ...]:
        """The draws of some outputs."""
        ends = torch.tensor(self.draws).cumsum(0).tolist()
        return tuple(i for o in outputs for i in range(ends[o] - self.draws[o], ends[o]))


@final
@dataclass(frozen=True)
class HyperparameterVariance(Expectation):
    """psi = 1/S sum_s (variance_s + mean_s^2) - (1/S sum_s mean_s)^2  (2.16)."""

    variance: LatentVariance | TotalVariance
    mean: ExpectedLink | LatentMean
    draws: tuple[int, ...]

    def count(self, latents: int) -> int:
        """One output for each group of draws."""
        return len(self.draws)

    def jet(self, marginals: Marginals, outputs: tuple[int, ...]) -> Jet:
        """psi_s = 1/S (variance_s' + 2 (mean_s - mean) mean_s')."""
        (value, value_m, value_v), (mean, mean_m, mean_v) = every(self.variance, marginals), every(self.mean, marginals)
        M = averages(self.draws, outputs, value)
        centre = M @ mean
        apart = 2 * (mean[:, None] - centre[:, :, None])

        def pooled(own: Tensor | None, of_mean: Tensor | None) -> Float[Tensor, "b o c q"]:
            parts = (0 if own is None else own[:, None]), (0 if of_mean is None else apart * of_mean[:, None])
            return M[:, :, None] * (parts[0] + parts[1])

        return Jet(M @ (value + mean**2) - centre**2, pooled(value_m, mean_m), pooled(value_v, mean_v))


def every(expectation: Elementwise, marginals: Marginals) -> Partials:
    """psi and its partials for all latent functions."""
    return expectation.partials(marginals, tuple(range(marginals.m.shape[1])))


def averages(draws: tuple[int, ...], outputs: tuple[int, ...], like: Tensor) -> Float[Tensor, "o c"]:
    """The matrix that takes the average over the draws of each output."""
    blocks = [like.new_full((1, count), 1 / count) for count in draws]
    return torch.block_diag(*blocks)[list(outputs)]
