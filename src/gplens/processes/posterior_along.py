"""A posterior along a line: its marginals with their pull-back, and its pairs of nodes for error bars (MATH 4, 5)."""

from functools import cached_property
from typing import TYPE_CHECKING, final

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.lines.forms import Form, Quadratic, QuadraticProduct
from gplens.lines.line import Line, Section
from gplens.lines.pairs import NodeMarginals, Pairs, SplitPairs
from gplens.lines.pull_back_weights import Weights
from gplens.processes.process import Marginals, without_rounding

if TYPE_CHECKING:
    from gplens.processes.posterior import Posterior


@final
class PosteriorMarginals(Marginals):
    """(1.1) and (1.2) at the nodes of a line. Every part is computed on first use."""

    def __init__(self, posterior: "Posterior", line: Line) -> None:
        self.posterior, self.line = posterior, line

    @cached_property
    def k(self) -> Section:
        """k(x_q, z_n)."""
        return self.posterior.kernel.section(self.line, self.posterior.support)

    @cached_property
    def prior_variance(self) -> Section:
        """k(x_q, x_q)."""
        return self.posterior.kernel.along_diagonal(self.line)

    @cached_property
    def prior_means(self) -> tuple[Section, ...]:
        """mu_c(x_q)."""
        return tuple(mean.along(self.line) for mean in self.posterior.means)

    @cached_property
    def fitted(self) -> QuadraticProduct:
        """A k and k'Ak."""
        return self.posterior.A.product(self.k.values, self.line.empty_like)

    def means(self) -> Float[Tensor, "b c q"]:
        prior = torch.stack([mean.values for mean in self.prior_means], dim=1)
        return prior + (self.k.values @ self.posterior.beta.T).mT  # (1.1)

    def variances(self) -> Float[Tensor, "b c q"]:
        prior = self.prior_variance.values[:, None]
        v = prior - self.fitted.form + self.posterior.jitter  # (1.2)
        return without_rounding(v, prior).expand(-1, self.posterior.latents, -1)

    def pull_back(self, wm: Float[Tensor, "b p c q"], wv: Float[Tensor, "b p c q"] | None) -> Form:
        """One pull-back of W = wm beta - 2 wv A k  (4.2), plus the pull-backs of the prior mean and variance."""
        ones, W = torch.ones_like(self.line.t)[:, None], Weights.fixed(wm, self.posterior.beta[None])
        forms = [
            mean.pull_back(Weights.varying(weights, ones))
            for mean, weights in zip(self.prior_means, wm.split(1, dim=2), strict=True)
        ]
        if wv is not None:
            W = W + Weights.varying(-2 * wv, self.fitted.A_k.expand(-1, wv.shape[2], -1, -1))  # (4.2)
            forms.append(self.prior_variance.pull_back(Weights.varying(wv.sum(2, keepdim=True), ones)))
        return sum(forms, start=self.k.pull_back(W))


@final
class _LatentNodes:
    """One latent function of a posterior at the nodes of a line, with what its covariances need."""

    def __init__(self, marginals: PosteriorMarginals, latent: int) -> None:
        self.marginals, self.latent = marginals, latent
        self.k, self.A = marginals.k, marginals.posterior.A.of(latent)

    @cached_property
    def w(self) -> Float[Tensor, "b q r"]:
        """F k."""
        return self.A.whiten(self.k.values)[:, 0]

    @cached_property
    def A_k(self) -> Float[Tensor, "b q n"]:
        """A k, computed through F where a product with A itself would lose digits."""
        if self.A.keeps_digits:
            return self.A.product(self.k.values).A_k[:, 0]
        return self.A.unwhiten(self.w[:, None])[:, 0]

    @property
    def form(self) -> Float[Tensor, "b q"]:
        """k'Ak."""
        return (self.A_k * self.k.values).sum(2) if self.A.keeps_digits else (self.w**2 * self.A.s).sum(2)

    def fitted(self, other: "_LatentNodes") -> Float[Tensor, "b q p"]:
        """k(x_q,Z) A k(Z,y_p)."""
        if self.A.keeps_digits:
            return self.A_k @ other.k.values.mT
        return (self.w * self.A.s) @ other.w.mT

    def slopes(self, A_k: Float[Tensor, "b p n"]) -> Float[Tensor, "b p q d"]:
        """d_k k(x_q,Z) A k(Z,y_p), for the A k of all nodes y_p."""
        return self.k.by_node(A_k[:, :, None].expand(-1, -1, self.A_k.shape[1], -1))

    def node_marginals(self) -> NodeMarginals:
        """m and v with their gradients: one pull-back with the channels beta and -2 A k  (1.4, 1.5)."""
        at, beta = self.marginals, self.marginals.posterior.beta[self.latent]
        W = torch.stack([beta.expand_as(self.A_k), -2 * self.A_k], dim=1)
        by_beta, by_A_k = self.k.by_node(W).unbind(1)
        ones = torch.ones_like(at.line.t)[:, None]
        m_k = by_beta + at.prior_means[self.latent].by_node(ones)[:, 0]
        v_k = by_A_k + at.prior_variance.by_node(ones)[:, 0]
        prior = at.prior_variance.values
        v = prior - self.form + at.posterior.jitter  # (1.2)
        return NodeMarginals(at.m[:, self.latent], without_rounding(v[:, None], prior[:, None])[:, 0], m_k, v_k)


def posterior_split_pairs(posterior: "Posterior", line: Line, latent: int) -> SplitPairs:
    """(5.13) at the nodes of a line, with the fitted part k A k separate from the prior."""
    nodes, kernel, support = (
        _LatentNodes(PosteriorMarginals(posterior, line), latent),
        posterior.kernel,
        posterior.support,
    )
    at, A = nodes.node_marginals(), nodes.A
    return SplitPairs(
        at,
        torch.full_like(at.v, posterior.jitter),
        nodes.fitted(nodes),
        nodes.slopes(nodes.A_k),
        lambda H, full: kernel.fold(line, line, support, H, A, full=full),
        kernel.between,
    )


def posterior_pairs(posterior: "Posterior", left: Line, right: Line, latent: int) -> Pairs:
    """The moments of the prior minus those of k A k, with one or both arguments differentiated  (5.13)."""
    prior, kernel, support = posterior.kernel.between(left, right), posterior.kernel, posterior.support
    x = _LatentNodes(PosteriorMarginals(posterior, left), latent)
    y = x if right is left else _LatentNodes(PosteriorMarginals(posterior, right), latent)
    A, marginals = x.A, x.node_marginals()
    c_k = (x.slopes(y.A_k) - prior.by_x.transpose(1, 2)).neg_()  # keeps the memory layout of the first term
    c_l = c_k if right is left else prior.by_y - y.slopes(x.A_k)

    def gradient_sum(H: Float[Tensor, "b q p"], full: bool) -> Float[Tensor, "b d *d"]:
        return prior.by_both_sum(H, full=full) - kernel.fold(left, right, support, H, A, full=full)

    def gradients(full: bool) -> Float[Tensor, "b q p d *d"]:
        B = [A.F[0] @ kernel.gradient(X, support.Z) for X in left.points()]
        C = B if right is left else [A.F[0] @ kernel.gradient(Y, support.Z) for Y in right.points()]
        fitted = [_gradient_products(*row, A, full) for row in zip(B, C, strict=True)]
        return prior.by_both(full) - torch.stack(fitted)

    return Pairs(
        marginals,
        marginals if right is left else y.node_marginals(),
        prior.values - x.fitted(y),
        c_k,
        c_l,
        gradient_sum,
        gradients,
    )


def _gradient_products(
    B: Float[Tensor, "q r d"], C: Float[Tensor, "p r d"], A: Quadratic, full: bool
) -> Float[Tensor, "q p d *d"]:
    """sum_r s_r B_qrk C_prl, or its diagonal k = l, as matrix products."""
    (q, r, d), p, scaled = B.shape, len(C), A.s[0, :, None] * C
    if not full:
        return (B.permute(2, 0, 1) @ scaled.permute(2, 1, 0)).permute(1, 2, 0)
    flat = B.transpose(1, 2).reshape(q * d, r) @ scaled.transpose(0, 1).reshape(r, p * d)
    return flat.view(q, d, p, d).transpose(1, 2)
