"""The bound of a sparse model with Gaussian noise, in which q(u) is the optimal one: Titsias' collapsed bound (6.3)."""

from dataclasses import dataclass
from math import log, pi
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.estimators.training.kernel_parameters import Hyperparameters, Structure
from gplens.estimators.training.monitor import Watch
from gplens.estimators.training.sites import Bound, SiteTerms, Solution
from gplens.estimators.weights import Weights

BLOCK = 1000
"""Rows whose covariances with the inducing points are held in the cache of a core."""
SOLVED, COLUMNS = 500, 256
"""Rows, and columns of their products, that are taken at once where q(u) is computed."""


@final
@dataclass(frozen=True)
class CollapsedBound(Bound):
    """The bound (6.3) as a function of kernel, mean, noise and inducing points.

    The rows enter through G = k(Z,X) W k(X,Z) and g = k(Z,X) W r alone, one product of n m^2; all else costs m^3. Here
    W has the weights of the rows, and r = y - mu.
    """

    structure: Structure
    X: Float[Tensor, "n d"]
    y: Float[Tensor, " n"]
    weights: Weights = None

    def __call__(self, at: Hyperparameters) -> Float[Tensor, ""]:
        F, (G, g) = at.whitening(self.structure)[0], self._products(at)
        assert at.log_noise is not None
        noise = at.log_noise.exp()
        A = F @ G @ F.mT / noise
        return self._value(at, F @ g / noise, A + torch.eye(len(A), dtype=A.dtype))

    def _value(self, at: Hyperparameters, h: Float[Tensor, " m"], P: Float[Tensor, "m m"]) -> Float[Tensor, ""]:
        """The bound, given h = sum w phi r / noise and P = I + sum w phi phi' / noise  (6.3)."""
        assert at.log_noise is not None
        assert at.mean is not None
        noise, r, w = at.log_noise.exp(), self.y - at.mean, self._w
        R = torch.linalg.cholesky(P)
        c = torch.linalg.solve_triangular(R, h[:, None], upper=False)[:, 0]
        prior = at.log_outputscale.exp()[0] + self.structure.jitter
        trace = w.sum() * prior / noise - (P.diagonal() - 1).sum()
        squares = (w @ r.square()) / noise - c.square().sum()
        return -(w.sum() * (log(2 * pi) + at.log_noise) + squares + trace) / 2 - R.diagonal().log().sum()  # (6.3)

    def _products(self, at: Hyperparameters) -> tuple[Float[Tensor, "m m"], Float[Tensor, " m"]]:
        """G and g, block by block."""
        assert at.Z is not None
        assert at.mean is not None
        r, w, m = self.y - at.mean, self._w, at.Z.shape[1]
        G, g = r.new_zeros(m, m), r.new_zeros(m)
        for X, rest, weight in zip(self.X.split(BLOCK), r.split(BLOCK), w.split(BLOCK), strict=True):
            K = at.covariance(self.structure, X, at.Z)[0]
            weighted = (K if self.weights is None else K * weight[:, None]).mT
            G, g = G + weighted @ K, g + weighted @ rest
        return G, g

    @property
    def _w(self) -> Float[Tensor, " n"]:
        return torch.ones_like(self.y) if self.weights is None else self.weights

    @torch.no_grad()
    def solve(self, at: Hyperparameters, watch: Watch) -> Solution:
        """q(u) in closed form (6.4), with phi itself in place of products with k(Z,X), which lose digits."""
        h, P = self._posterior(at)
        return Solution(h[None], P[None], self._sites(at), float(self._value(at, h, P)) / len(self.y))

    @torch.no_grad()
    def slack(self, at: Hyperparameters) -> float:
        return self.slack_of(at, self._posterior(at)[1][None])

    def _posterior(self, at: Hyperparameters) -> tuple[Float[Tensor, " m"], Float[Tensor, "m m"]]:
        """h and P of (6.3), block by block: one triangular solve, and half of a product, for the n m^2 of all rows."""
        assert at.Z is not None
        assert at.mean is not None
        assert at.log_noise is not None
        L, root = at.cholesky(self.structure)[0], (self._w / at.log_noise.exp()).sqrt()
        r, m = root * (self.y - at.mean), at.Z.shape[1]
        h, P = r.new_zeros(m), torch.eye(m, dtype=r.dtype)
        for X, rest, scale in zip(self.X.split(SOLVED), r.split(SOLVED), root.split(SOLVED), strict=True):
            K = at.covariance(self.structure, at.Z[0], X[None])[0].mul_(scale)
            phi = torch.linalg.solve_triangular(L, K, upper=False)
            h += phi @ rest
            for start in range(0, m, COLUMNS):
                columns = slice(start, start + COLUMNS)
                P[start:, columns] += phi[start:] @ phi[columns].mT
        return h, P.tril() + P.tril(-1).mT

    @torch.no_grad()
    def slack_of(self, at: Hyperparameters, P: Float[Tensor, "1 m m"]) -> float:
        """The loss by inducing points (6.10), given the precision of q(u): tr(P - I) is the sum of w phi' phi."""
        assert at.log_noise is not None
        prior = at.log_outputscale.exp()[0] + self.structure.jitter
        said = P[0].diagonal().sub(1).sum()
        return float(self._w.sum() * prior / at.log_noise.exp() - said) / (2 * len(self.y))

    def _sites(self, at: Hyperparameters) -> SiteTerms:
        """Each row as a pseudo-observation of its target."""
        assert at.log_noise is not None
        precision = (self._w / at.log_noise.exp().detach())[None]
        return SiteTerms(precision * self.y, precision)

    def state(self) -> dict[str, Tensor]:
        """Nothing: q(u) follows from the parameters."""
        return {}

    def restore(self, state: dict[str, Tensor]) -> None:
        """Restore nothing, since `state` is empty."""
