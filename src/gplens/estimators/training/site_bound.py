"""The bound of a sparse model whose q(u) is the posterior of Gaussian sites, one for each row (6.5) to (6.8)."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import final

import torch
from gpytorch.likelihoods import Likelihood
from jaxtyping import Float
from torch import Tensor

from gplens.estimators.likelihoods import expected_log_prob
from gplens.estimators.training.bound import Features, Gaussian
from gplens.estimators.training.hyperparameters import Hyperparameters, Structure
from gplens.estimators.training.monitor import Watch, WatchError
from gplens.estimators.training.rows import LOOKS, generator_of
from gplens.estimators.weights import Weights

DRAWS = 32
"""Draws of the latent values of each row for the softmax, the same in all evaluations: 8 give too small a variance."""
STEPS, CLOSE = 6, 1e-4
"""The most steps of the sites in one evaluation, and the gain in nats per row below which they end."""
LAST_STEPS, LAST_GAIN = 30, 1e-5
"""The same for the sites of all rows at the end of a fit."""
BLOCK, KEPT = 5000, 3e7
"""Rows that are taken at once, and the numbers phi that are kept between steps of the sites (240 MB)."""


@final
@dataclass(frozen=True)
class SiteTerms:
    """Sites exp(linear f - w f^2 / 2): pseudo-observations linear / w with precision w."""

    linear: Float[Tensor, "c n"]
    w: Float[Tensor, "c n"]

    def towards(self, other: "SiteTerms", rate: float) -> "SiteTerms":
        """A part of the way to other sites."""
        return SiteTerms(torch.lerp(self.linear, other.linear, rate), torch.lerp(self.w, other.w, rate))

    def of_rows(self, rows: slice | Tensor) -> "SiteTerms":
        return SiteTerms(self.linear[:, rows], self.w[:, rows])


def features_at(at: Hyperparameters, structure: Structure, X: Float[Tensor, "n d"]) -> Features:
    """phi(x) = L^-1 k(Z,x), prior variance and mean of rows."""
    assert at.Z is not None
    phi = at.covariance(structure, X, at.Z) @ at.whitening(structure).mT
    prior = (at.log_outputscale.exp() + structure.jitter)[:, None].expand(-1, len(X))
    mu = torch.zeros_like(prior[:1]) if at.mean is None else at.mean.expand(1, len(X))
    return Features(phi, prior, mu)


@final
@dataclass(frozen=True)
class Solution:
    """The optimal q(u) = N(P^-1 h, P^-1) of all rows, the sites that it is made of, and the bound per row."""

    h: Float[Tensor, "c m"]
    P: Float[Tensor, "c m m"]
    sites: SiteTerms
    value: float


@final
class Blocks:
    """The features of all rows in blocks, with the rows of each; kept where they are small, else computed again."""

    def __init__(self, at: Hyperparameters, structure: Structure, X: Float[Tensor, "n d"]) -> None:
        assert at.Z is not None
        self.at, self.structure, self.X = at, structure, X
        small = len(X) * at.Z.shape[0] * at.Z.shape[1] <= KEPT
        self._kept = list(self._computed()) if small else None

    def __iter__(self) -> Iterator[tuple[slice, Features]]:
        return iter(self._kept) if self._kept is not None else self._computed()

    @torch.no_grad()
    def _block(self, rows: slice) -> Features:
        return features_at(self.at, self.structure, self.X[rows])

    def _computed(self) -> Iterator[tuple[slice, Features]]:
        for start in range(0, len(self.X), BLOCK):
            rows = slice(start, min(start + BLOCK, len(self.X)))
            yield rows, self._block(rows)


def posterior_of(
    rows: Iterable[tuple[slice, Features]], sites: SiteTerms
) -> tuple[Gaussian, Float[Tensor, "c m"], Float[Tensor, "c m m"]]:
    """q(u) = N(P^-1 h, P^-1) with P = I + sum w phi phi', h = sum phi (linear - w mu)  (6.6); q, h and P."""
    P, h = [], []
    for where, block in rows:
        part = sites.of_rows(where)
        P.append((block.phi * part.w[..., None]).mT @ block.phi)
        h.append((block.phi.mT @ (part.linear - part.w * block.mu)[..., None])[..., 0])
    return gaussian_of(sum(h[1:], h[0]), sum(P[1:], P[0]) + torch.eye(P[0].shape[-1], dtype=P[0].dtype))


def gaussian_of(
    h: Float[Tensor, "c m"], P: Float[Tensor, "c m m"]
) -> tuple[Gaussian, Float[Tensor, "c m"], Float[Tensor, "c m m"]]:
    """N(P^-1 h, P^-1), h and P."""
    R = torch.linalg.cholesky(P)
    eye = torch.eye(P.shape[-1], dtype=P.dtype)
    root = torch.linalg.solve_triangular(R, eye.expand_as(R), upper=False)
    return Gaussian((root.mT @ (root @ h[..., None]))[..., 0], root), h, P


@final
@dataclass
class SiteBound:
    """The bound as a function of the hyperparameters, with sites that follow them."""

    structure: Structure
    likelihood: Likelihood
    X: Float[Tensor, "n d"]
    y: Float[Tensor, " n"]
    weights: Weights
    sites: SiteTerms
    seed: int

    def __call__(self, at: Hyperparameters) -> Float[Tensor, ""]:
        """The bound (6.5) in nats, after steps of the sites; at their fixed point their own derivative is zero."""
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
        rows, rate, value, proposal, ahead = (
            Blocks(at, self.structure, self.X),
            1.0,
            float("-inf"),
            self.sites,
            self.sites,
        )
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
