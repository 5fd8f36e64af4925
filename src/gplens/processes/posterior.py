"""The one canonical posterior that every fitted Gaussian process turns into (MATH 1)."""

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, final

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from gplens.casting import cast
from gplens.kernels import Kernel
from gplens.lines.between import Between
from gplens.lines.line import Line, Section
from gplens.lines.pairs import Joint, Pairs
from gplens.lines.pull_back import Form, Weights
from gplens.lines.quadratic import Product, Quadratic
from gplens.means import ConstantMean, Mean
from gplens.processes.covariances import Side, products
from gplens.processes.process import Marginals, Process

ROUNDING = 1e-6
"""v is a difference of two numbers of the size of k(x,x). A result below -1e-6 k(x,x) is not rounding."""


@final
class Posterior(Process):
    """c latent functions that share a kernel and support points Z.

    m(x)    = mu(x) + k(x,Z) beta                      (1.1)
    v(x)    = k(x,x) - k(x,Z) A k(Z,x) + jitter        (1.2)
    c(x,x') = k(x,x') - k(x,Z) A k(Z,x')               (1.3)

    Args:
        kernel: k.
        Z: the support points, (n, d): training inputs of an exact GP, inducing points of a sparse one.
        beta: (n,), or (c, n) for c latent functions.
        A: (n, n) or (c, n, n), symmetric; or a `Quadratic`, which keeps more digits of the variance.
        mean: mu, one or one for each latent function. None is zero.
        jitter: what the host library adds to the variance that it predicts.
    """

    def __init__(
        self,
        kernel: Kernel,
        Z: Float[Tensor, "n d"],
        beta: Float[Tensor, "*c n"],
        A: Float[Tensor, "*a n n"] | Quadratic,
        mean: Mean | Sequence[Mean] | None = None,
        *,
        jitter: float | int = 0.0,
    ) -> None:
        self.kernel, self.Z, self.jitter = kernel, Z, jitter
        self.beta = beta if beta.ndim == 2 else beta[None]
        self.A = A if isinstance(A, Quadratic) else Quadratic.dense(A if A.ndim == 3 else A[None])
        self.means = _one_each(mean, self.latents)
        self._check()
        self.A = replace(self.A, prior=float(kernel.diagonal(Z).max()))

    @staticmethod
    def exact(
        kernel: Kernel, X: Float[Tensor, "n d"], y: Float[Tensor, " n"], *, noise: float | int, mean: Mean | None = None
    ) -> "Posterior":
        """f given y = f(X) + N(0, noise):  beta = (K + noise I)^-1 (y - mu),  A = (K + noise I)^-1  (1.9)."""
        if noise <= 0:
            raise ValueError(f"noise={noise}: a variance above zero was wanted.")
        if y.shape != X.shape[:1]:
            raise ValueError(f"X has {X.shape[0]} rows, which want as many targets; got y of shape {tuple(y.shape)}.")
        mu = ConstantMean(0.0) if mean is None else mean
        eye = torch.eye(len(X), dtype=X.dtype)
        L = torch.linalg.cholesky(kernel(X, X) + noise * eye)
        F = torch.linalg.solve_triangular(L, eye, upper=False)
        beta = torch.cholesky_solve((y - mu(X))[:, None], L)[:, 0]
        return Posterior(kernel, X, beta, Quadratic(F[None], torch.ones_like(y)[None]), mu)

    @staticmethod
    def from_arrays(
        kernel: Kernel,
        Z: Any,
        beta: Any,
        A: Any,
        *,
        mean: Mean | Sequence[Mean] | None = None,
        jitter: float | int = 0.0,
    ) -> "Posterior":
        """The same from anything that numpy reads: the parameters of a model of any library, as float64.

        docs/HOSTS.md has Z, beta and A of models of GPflow and GPJax.
        """
        Z, beta, A = (torch.tensor(np.asarray(array, dtype=np.float64)) for array in (Z, beta, A))
        if Z.ndim != 2 or beta.ndim not in (1, 2) or A.ndim not in (2, 3) or A.shape[-1] != A.shape[-2]:
            got = f"{tuple(Z.shape)}, {tuple(beta.shape)} and {tuple(A.shape)}"
            raise ValueError(f"Z, beta, A have shapes {got}; wanted were (n, d), (n,) or (c, n), (n, n) or (c, n, n).")
        return Posterior(kernel, Z, beta, A, mean, jitter=jitter)

    def _check(self) -> None:
        kinds = {"Z": self.Z.dtype, "beta": self.beta.dtype, "A": self.A.F.dtype}
        if any(dtype != torch.float64 for dtype in kinds.values()):
            raise TypeError(f"Got {kinds}; gplens computes in float64. Pass Z, beta and A as .double().")
        n, c = self.Z.shape[0], self.latents
        if self.beta.shape[1] != n or self.A.F.shape[2] != n:
            got = f"beta with {self.beta.shape[1]}, A with {self.A.F.shape[2]}"
            raise ValueError(f"{n} support points want beta and A of that size; got {got}.")
        if self.A.s.shape[0] not in (1, c) or len(self.means) != c:
            got = f"{self.A.s.shape[0]} matrices A and {len(self.means)} means"
            raise ValueError(f"{c} latent functions (rows of beta) want as many of A and mean, or one; got {got}.")
        for name, tensor in {"Z": self.Z, "beta": self.beta, "A": self.A.F, "A's eigenvalues": self.A.s}.items():
            if not tensor.isfinite().all():
                raise ValueError(f"{name} has {int((~tensor.isfinite()).sum())} entries that are not finite.")

    @property
    def latents(self) -> int:
        """c."""
        return self.beta.shape[0]

    @property
    def features(self) -> int:
        """d."""
        return self.Z.shape[1]

    @property
    def autograd(self) -> bool:
        """As the kernel and the means."""
        return self.kernel.autograd or any(mean.autograd for mean in self.means)

    def along(self, line: Line) -> "PosteriorMarginals":
        """The marginals at the nodes of a line."""
        return PosteriorMarginals(self, line)

    def length(self, line: Line) -> Float[Tensor, " b"]:
        """As the kernel measures it."""
        return self.kernel.length(line)

    @property
    def smooth(self) -> bool:
        """As the kernel."""
        return all(part.smooth for part in self.kernel.parts())

    def pairs(self, left: Line, right: Line, latent: int) -> Pairs:
        """The prior's moments less those of k A k, with one or both arguments differentiated  (5.13)."""
        return self._pairs(self.kernel.between(left, right), left, right, latent)

    def _pairs(self, prior: Between, left: Line, right: Line, latent: int) -> Pairs:
        A, x = self.A.of(latent), self.along(left).side(latent)
        y = x if right is left else self.along(right).side(latent)
        c_k = (x.by_node(y.fitted) - prior.by_x.transpose(1, 2)).neg_()  # in this order: in the layout of the first
        c_l = c_k if right is left else prior.by_y - y.by_node(x.fitted)

        def gradients(H: Float[Tensor, "b q p"], full: bool) -> Float[Tensor, "b d *d"]:
            return prior.mixed_sum(H, full=full) - self.kernel.fold(left, right, self.Z, H, A, full=full)

        return Pairs(x.nodes, y.nodes, prior.values - (x.w * A.s) @ y.w.mT, c_k, c_l, gradients)

    def joint(self, line: Line, latent: int, *, full: bool) -> Joint:
        """Pairs of the nodes of one line, with the covariances of gradients for each pair."""
        A, prior = self.A.of(latent), self.kernel.between(line, line)
        p, B = self._pairs(prior, line, line, latent), A.F[0] @ self.kernel.gradient(line.points()[0], self.Z)
        c_kl = prior.mixed(full)[0] - products(B, A.s[0], full=full)
        return Joint(p.left.m[0], p.left.v[0], p.c[0], p.left.m_k[0], p.left.v_k[0], p.c_k[0].transpose(0, 1), c_kl)

    def floats(self, nodes: int, channels: int) -> int:
        """k, its profile and slope; F k, A k and their products for each latent function; the channels' sums."""
        n, d = self.Z.shape
        points = n * d if self.autograd else 0
        return nodes * (n * (6 + 6 * self.latents) + points) + channels * n + 2 * d

    def held(self, nodes: int, channels: int) -> int:
        """Distances, k and its slope; A k for each latent function; the channels' sums."""
        n, d = self.Z.shape
        if self.autograd:
            return self.floats(nodes, channels)
        return nodes * n * (3 + self.latents) + channels * n + 2 * d

    def select(self, latents: tuple[int, ...]) -> "Posterior":
        """Some of the latent functions, with the same kernel and support points."""
        index, means = list(latents), [self.means[i] for i in latents]
        F, s = (part if len(part) == 1 else part[index] for part in (self.A.F, self.A.s))
        return Posterior(self.kernel, self.Z, self.beta[index], Quadratic(F, s), means, jitter=self.jitter)

    def to(self, dtype: torch.dtype) -> "Posterior":
        """Kernel, support points, beta, A and means in another precision."""
        other = copy(self)
        other.kernel, other.Z, other.beta, other.means = (
            cast(part, dtype) for part in (self.kernel, self.Z, self.beta, self.means)
        )
        other.A = Quadratic(cast(self.A.F, dtype), cast(self.A.s, dtype), self.A.prior)
        return other

    def c(self, X: Float[Tensor, "b d"], Y: Float[Tensor, "m d"]) -> Float[Tensor, "b c m"]:
        """The covariance between points  (1.3)."""
        A_k = self.A.product(self.kernel(Y, self.Z)[None]).A_k[0]
        prior, fitted = self.kernel(X, Y), self.kernel(X, self.Z) @ A_k.mT
        return (prior - fitted).transpose(0, 1).expand(-1, self.latents, -1)

    def c_gradient(self, X: Float[Tensor, "b d"], Y: Float[Tensor, "m d"]) -> Float[Tensor, "b c m d"]:
        """Cov(d_k f(x), f(y)) = d_k k(x,y) - d_k k(x,Z) A k(Z,y)  (1.6): one pull-back through [Z, Y]."""
        A_k = self.A.product(self.kernel(Y, self.Z)[None]).A_k[0].expand(self.latents, -1, -1)
        own = torch.eye(Y.shape[0], dtype=X.dtype).expand(self.latents, -1, -1)
        W = torch.cat([-A_k, own], dim=2).flatten(0, 1)[None, :, None]
        section = self.kernel.along(Line.at(X), torch.cat([self.Z, Y]))
        by_node = section.by_node(W.expand(X.shape[0], -1, -1, -1))[:, :, 0]
        return by_node.unflatten(1, (self.latents, Y.shape[0]))


@final
@dataclass(frozen=True)
class PosteriorMarginals(Marginals):
    """(1.1) and (1.2) at the nodes of a line."""

    posterior: Posterior
    line: Line

    @cached_property
    def k(self) -> Section:
        """k(x_q, z_n)."""
        return self.posterior.kernel.along(self.line, self.posterior.Z)

    @cached_property
    def prior_variance(self) -> Section:
        """k(x_q, x_q)."""
        return self.posterior.kernel.along_diagonal(self.line)

    @cached_property
    def prior_means(self) -> tuple[Section, ...]:
        """mu_c(x_q)."""
        return tuple(mean.along(self.line) for mean in self.posterior.means)

    @cached_property
    def fitted(self) -> Product:
        """A k and k'Ak."""
        return self.posterior.A.product(self.k.values)

    def means(self) -> Float[Tensor, "b c q"]:
        """mu + k beta."""
        prior = torch.stack([mean.values for mean in self.prior_means], dim=1)
        return prior + (self.k.values @ self.posterior.beta.T).mT  # (1.1)

    def variances(self) -> Float[Tensor, "b c q"]:
        """k(x,x) - k A k + jitter."""
        prior = self.prior_variance.values[:, None]
        v = prior - self.fitted.form + self.posterior.jitter  # (1.2)
        return _without_rounding(v, prior).expand(-1, self.posterior.latents, -1)

    def pull_back(self, wm: Float[Tensor, "b p c q"], wv: Float[Tensor, "b p c q"] | None) -> Form:
        """One pull-back of W = wm beta - 2 wv A k  (4.2), and those of the prior mean and variance."""
        one, W = torch.ones_like(self.line.t)[:, None], Weights.fixed(wm, self.posterior.beta[None])
        pulled = [
            mean.pull_back(Weights.varying(own, one))
            for mean, own in zip(self.prior_means, wm.split(1, dim=2), strict=True)
        ]
        if wv is not None:
            W = W + Weights.varying(-2 * wv, self.fitted.A_k.expand(-1, wv.shape[2], -1, -1))  # (4.2)
            pulled.append(self.prior_variance.pull_back(Weights.varying(wv.sum(2, keepdim=True), one)))
        return sum(pulled, start=self.k.pull_back(W))

    def side(self, latent: int) -> Side:
        """One latent function with what error bars need of it."""
        own, beta, A = self.prior_means[latent], self.posterior.beta[latent], self.posterior.A.of(latent)
        return Side(self.k, own, self.prior_variance, self.m[:, latent], self.v[:, latent], beta, A)


def _one_each(mean: Mean | Sequence[Mean] | None, latents: int) -> tuple[Mean, ...]:
    if mean is None:
        mean = ConstantMean(0.0)
    return (mean,) * latents if isinstance(mean, Mean) else tuple(mean)


def _without_rounding(v: Float[Tensor, "b c q"], prior: Float[Tensor, "b 1 q"]) -> Float[Tensor, "b c q"]:
    """v, its rounding errors below zero taken away; a variance that is truly negative is an error."""
    if bool((v < -ROUNDING * prior).any()):
        i = int((v + ROUNDING * prior).argmin())
        worst, own = float(v.flatten()[i]), float(prior.expand_as(v).flatten()[i])
        raise ArithmeticError(
            f"The posterior variance is {worst:.3g} where the prior's is {own:.3g}; it must not be negative. "
            "A does not belong to this kernel and Z, or is too badly conditioned: add noise or jitter and fit again."
        )
    return v.clamp(min=0)
