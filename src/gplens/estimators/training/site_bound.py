"""The bound of a sparse model whose q(u) is the posterior of Gaussian sites, one for each row (6.5) to (6.8)."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import final

import torch
from gpytorch.likelihoods import Likelihood
from jaxtyping import Float
from torch import Tensor

from gplens.estimators.training.bound import Features
from gplens.estimators.training.evidence import log_integral
from gplens.estimators.training.expected import Expected, expected_partials
from gplens.estimators.training.kernel_parameters import Hyperparameters, Structure
from gplens.estimators.training.monitor import Watch, WatchError
from gplens.estimators.training.rows import LOOKS, generator_of
from gplens.estimators.training.sites import (
    BLOCK,
    Blocks,
    Bound,
    SiteTerms,
    Solution,
    features_at,
    posterior_of,
    slack_of,
)
from gplens.estimators.weights import Weights

DRAWS = 32
"""Draws of the latent values of each row for the softmax, the same in all evaluations: 8 give too small a variance."""
STEPS, CLOSE = 6, 1e-4
"""The most steps of the sites in one evaluation, and the gain in nats per row below which they end."""
LAST_STEPS, LAST_GAIN = 30, 1e-5
"""The same for the sites of all rows at the end of a fit."""


@final
@dataclass
class SiteBound(Bound):
    """The bound as a function of the hyperparameters, with sites that follow them."""

    structure: Structure
    likelihood: Likelihood
    X: Float[Tensor, "n d"]
    y: Float[Tensor, " n"]
    weights: Weights
    sites: SiteTerms
    seed: int
    z: Float[Tensor, "s c r"] = field(init=False)
    """Draws for the latent values of as many rows as are taken at once, the same in all evaluations."""

    def __post_init__(self) -> None:
        shape = DRAWS // 2, len(self.sites.w), min(BLOCK, len(self.y))
        self.z = torch.randn(*shape, generator=generator_of(self.seed, LOOKS), dtype=self.y.dtype)

    def __call__(self, at: Hyperparameters) -> Float[Tensor, ""]:
        """The bound (6.5) in nats, after steps of the sites; its gradient is that of (6.11), as in (6.8)."""
        block = features_at(at, self.structure, self.X)
        value = len(self.y) * self.refresh(block.in_parts(BLOCK), steps=STEPS, tolerance=CLOSE)
        sites = self.sites
        P = (block.phi * sites.w[..., None]).mT @ block.phi + torch.eye(block.phi.shape[-1], dtype=self.y.dtype)
        h = (block.phi.mT @ (sites.linear - sites.w * block.mu)[..., None])[..., 0]
        unsaid = (sites.w * (block.prior - block.phi.square().sum(-1))).sum() / 2
        at_mean = (sites.linear * block.mu - sites.w * block.mu.square() / 2).sum()
        surrogate = log_integral(P, h) - unsaid + at_mean  # (6.11)
        return value + (surrogate - surrogate.detach())

    def _expected(self, m: Float[Tensor, "c b"], v: Float[Tensor, "c b"], rows: slice) -> Expected:
        return expected_partials(self.likelihood, self.y[rows], m, v, self.z[:, :, : rows.stop - rows.start])

    def _sum(self, every_row: Float[Tensor, " b"], rows: slice) -> Float[Tensor, ""]:
        return (every_row if self.weights is None else every_row * self.weights[rows]).sum()

    def refresh(
        self, rows: Iterable[tuple[slice, Features]], *, steps: int, tolerance: float, watch: Watch | None = None
    ) -> float:
        """Natural-gradient steps of the sites (6.7), shorter where the bound falls; the bound in nats per row."""
        rate, value = 1.0, float("-inf")
        proposal = ahead = self.sites
        for step in range(steps):
            if watch is not None and step >= STEPS:
                watch.check()
            bound, target = self._towards(rows, proposal)
            if not bound >= value - tolerance:
                rate /= 2
            else:
                gain, value, self.sites, ahead = bound - value, bound, proposal, target
                if gain < tolerance:
                    break
            proposal = self.sites.towards(ahead, rate)
        return value

    def solve(self, at: Hyperparameters, watch: Watch) -> Solution:
        """q(u) of all rows, at the fixed point of their sites; after Ctrl-C or the budget, close to it."""
        rows = Blocks(at, self.structure, self.X)
        try:
            value = self.refresh(rows, steps=LAST_STEPS, tolerance=LAST_GAIN, watch=watch)
        except WatchError:
            value = self.refresh(rows, steps=1, tolerance=LAST_GAIN)
        with torch.no_grad():
            _, h, P = posterior_of(rows, self.sites)
        return Solution(h, P, self.sites, value)

    def _towards(self, rows: Iterable[tuple[slice, Features]], sites: SiteTerms) -> tuple[float, SiteTerms]:
        """The bound per row at some sites, and the sites that a natural-gradient step of rate one leads to (6.7)."""
        with torch.no_grad():
            q, _, _ = posterior_of(rows, sites)
            total, linear, precision = -float(q.divergence()), [], []
            for where, block in rows:
                m, v = q.marginals(block)
                expected = self._expected(m, v, where)
                total += float(self._sum(expected.value, where))
                w = -2 * expected.by_v if self.weights is None else -2 * expected.by_v * self.weights[where]
                by_m = expected.by_m if self.weights is None else expected.by_m * self.weights[where]
                precision.append(w)
                linear.append(by_m + w * m)  # (6.7)
        return total / len(self.y), SiteTerms(torch.cat(linear, 1), torch.cat(precision, 1))

    def slack(self, at: Hyperparameters) -> float:
        return slack_of(Blocks(at, self.structure, self.X), self.sites)

    def state(self) -> dict[str, Tensor]:
        """The sites, from which a fit continues."""
        return {"linear": self.sites.linear, "w": self.sites.w}

    def restore(self, state: dict[str, Tensor]) -> None:
        """Restore the sites of a checkpoint."""
        self.sites = SiteTerms(state["linear"], state["w"])
