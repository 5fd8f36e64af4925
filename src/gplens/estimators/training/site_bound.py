"""The bound of a sparse model whose q(u) is the posterior of Gaussian sites, one for each row (6.5) to (6.8)."""

from dataclasses import dataclass
from typing import final

import torch
from gpytorch.likelihoods import Likelihood
from jaxtyping import Float
from torch import Tensor

from gplens.estimators.likelihoods import expected_log_prob
from gplens.estimators.training.kernel_parameters import Hyperparameters, Structure
from gplens.estimators.training.monitor import Watch, WatchError
from gplens.estimators.training.rows import LOOKS, generator_of
from gplens.estimators.training.sites import Blocks, Bound, SiteTerms, Solution, features_at, posterior_of
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

    def __call__(self, at: Hyperparameters) -> Float[Tensor, ""]:
        """The bound (6.5) in nats, after steps of the sites, which make its gradient that of (6.8)."""
        self.refresh(at.with_vector(at.vector.detach()), steps=STEPS, tolerance=CLOSE)
        rows = features_at(at, self.structure, self.X)
        q, _, _ = posterior_of([(slice(None), rows)], self.sites)
        return self._expected(*q.marginals(rows), slice(None)) - q.divergence()

    def _expected(self, m: Float[Tensor, "c b"], v: Float[Tensor, "c b"], rows: slice) -> Float[Tensor, ""]:
        generator = generator_of(self.seed, LOOKS - (rows.start or 0))
        every_row = expected_log_prob(self.likelihood, self.y[rows], m, v, generator, DRAWS)
        return (every_row if self.weights is None else every_row * self.weights[rows]).sum()

    def refresh(self, at: Hyperparameters, *, steps: int, tolerance: float, watch: Watch | None = None) -> float:
        """Natural-gradient steps of the sites (6.7), shorter where the bound falls; the bound in nats per row."""
        rows, rate, value = Blocks(at, self.structure, self.X), 1.0, float("-inf")
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
        try:
            value = self.refresh(at, steps=LAST_STEPS, tolerance=LAST_GAIN, watch=watch)
        except WatchError:
            value = self.refresh(at, steps=1, tolerance=LAST_GAIN)
        with torch.no_grad():
            _, h, P = posterior_of(Blocks(at, self.structure, self.X), self.sites)
        return Solution(h, P, self.sites, value)

    def _towards(self, rows: Blocks, sites: SiteTerms) -> tuple[float, SiteTerms]:
        """The bound per row at some sites, and the sites that a natural-gradient step of rate one leads to (6.7)."""
        with torch.no_grad():
            q, _, _ = posterior_of(rows, sites)
        total, linear, precision = -float(q.divergence()), [], []
        for where, block in rows:
            with torch.no_grad():
                m, v = q.marginals(block)
            m, v = m.requires_grad_(), v.requires_grad_()
            expected = self._expected(m, v, where)
            by_m, by_v = torch.autograd.grad(expected, (m, v))
            total += float(expected.detach())
            precision.append(-2 * by_v)
            linear.append(by_m - 2 * by_v * m.detach())
        return total / len(self.y), SiteTerms(torch.cat(linear, 1), torch.cat(precision, 1))

    def state(self) -> dict[str, Tensor]:
        """The sites."""
        return {"linear": self.sites.linear, "w": self.sites.w}

    def restore(self, state: dict[str, Tensor]) -> None:
        """Take up the sites of a checkpoint."""
        self.sites = SiteTerms(state["linear"], state["w"])
