"""Mixtures over draws of hyper-parameters, as fully Bayesian models predict them (MATH 2.15, 2.16)."""

from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.expectations.expectation import Elementwise, Expectation, HyperparameterDraws, Jet
from gplens.expectations.variances import Variance
from gplens.processes.process import Marginals, Process


def over_hyperparameters(expectation: Expectation, draws: tuple[int, ...]) -> Expectation:
    """From the expectation of every draw to that of their mixture; output o has the next draws[o] latent functions."""
    if all(count == 1 for count in draws):
        return expectation
    if isinstance(expectation, Variance):
        return HyperparameterVariance(expectation, draws)
    if isinstance(expectation, Elementwise):
        return HyperparameterAverage(expectation, draws)
    raise ValueError(
        "expected an expectation or a variance of one latent function for each output, because the model has draws of "
        f"its hyper-parameters, got {expectation!r}."
    )


@final
@dataclass(frozen=True)
class HyperparameterAverage(Expectation):
    """psi = 1/S sum_s psi_s(m_s, v_s)  (2.15)."""

    expectation: Elementwise
    """The expectation of every draw of every output."""
    draws: tuple[int, ...]
    """The number of latent functions of each output; those of one output are consecutive."""

    @property
    def accuracy(self) -> float:
        return self.expectation.accuracy

    def count(self, latents: int) -> int:
        return len(self.draws)

    def narrowed(self, process: Process, outputs: tuple[int, ...]) -> tuple[Process, Expectation, tuple[int, ...]]:
        if outputs == tuple(range(len(self.draws))):
            return process, self, outputs
        latents = self._latents_of(outputs)
        selected = HyperparameterAverage(self.expectation.select(latents), tuple(self.draws[o] for o in outputs))
        return process.select(latents), selected, tuple(range(len(outputs)))

    def resolution(self, marginals: Marginals) -> Float[Tensor, "b c q"] | None:
        return self.expectation.resolution(marginals)

    def jet(self, marginals: Marginals, outputs: tuple[int, ...]) -> Jet:
        value, by_m, by_v = self.expectation.partials(marginals, _all_latents(marginals))
        M = averages(self.draws, outputs, value)
        by_m, by_v = (None if part is None else M[:, :, None] * part[:, None] for part in (by_m, by_v))
        assert by_m is not None
        return Jet(M @ value, by_m, by_v)

    def draws_of(self, outputs: tuple[int, ...]) -> HyperparameterDraws:
        counts = tuple(self.draws[output] for output in outputs)
        return HyperparameterDraws(self.expectation, self._latents_of(outputs), counts)

    def _latents_of(self, outputs: tuple[int, ...]) -> tuple[int, ...]:
        ends = torch.tensor(self.draws).cumsum(0).tolist()
        return tuple(i for o in outputs for i in range(ends[o] - self.draws[o], ends[o]))


@final
@dataclass(frozen=True)
class HyperparameterVariance(Expectation):
    """psi = 1/S sum_s (variance_s + mean_s^2) - (1/S sum_s mean_s)^2  (2.16)."""

    variance: Variance
    draws: tuple[int, ...]

    def count(self, latents: int) -> int:
        return len(self.draws)

    def resolution(self, marginals: Marginals) -> Float[Tensor, "b c q"] | None:
        return self.variance.resolution(marginals)

    def jet(self, marginals: Marginals, outputs: tuple[int, ...]) -> Jet:
        """psi_s' = 1/S (variance_s' + 2 (mean_s - mean) mean_s')."""
        latents = _all_latents(marginals)
        value, value_m, value_v = self.variance.partials(marginals, latents)
        mean, mean_m, mean_v = self.variance.mean_partials(marginals, latents)
        M = averages(self.draws, outputs, value)
        centre = M @ mean
        deviation = 2 * (mean[:, None] - centre[:, :, None])

        def pooled(of_variance: Tensor | None, of_mean: Tensor | None) -> Float[Tensor, "b o c q"]:
            within = 0 if of_variance is None else of_variance[:, None]
            return M[:, :, None] * (within + (0 if of_mean is None else deviation * of_mean[:, None]))

        return Jet(M @ (value + mean**2) - centre**2, pooled(value_m, mean_m), pooled(value_v, mean_v))


def _all_latents(marginals: Marginals) -> tuple[int, ...]:
    return tuple(range(marginals.m.shape[1]))


def averages(draws: tuple[int, ...], outputs: tuple[int, ...], like: Tensor) -> Float[Tensor, "o c"]:
    """The matrix that averages over the draws of each output."""
    blocks = [like.new_full((1, count), 1 / count) for count in draws]
    return torch.block_diag(*blocks)[list(outputs)]
