"""Marginals of posteriors with stationary kernels at the nodes of lines, and their pull-back (MATH 4.2, 4.3)."""

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, final

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.lines.line import Line
from gplens.lines.pull_back import Form
from gplens.lines.radial import ProfileJet
from gplens.processes.posterior_along import without_rounding
from gplens.processes.process import Marginals

if TYPE_CHECKING:
    from gplens.processes.radial_posteriors import RadialPosteriors


class Fitted(NamedTuple):
    """What the data contribute at the nodes of a line."""

    by_slope: Float[Tensor, "c b p n"]
    """dk/dr2 beta at all nodes, followed by dk/dr2 A k, up to the constant of the kernel."""
    sums: Float[Tensor, "c b p"]
    """The same, summed over the support points."""
    form: Float[Tensor, "c b q"]
    """k'Ak."""


@final
class RadialMarginals(Marginals):
    """(1.1) and (1.2) of all latent functions at the nodes of a line, from the coefficients of r2 in 1, 2t and t^2."""

    def __init__(
        self, posteriors: "RadialPosteriors", line: Line, u: Float[Tensor, "#b d"], r2: Float[Tensor, "c b 3 n"]
    ) -> None:
        self.posteriors, self.line, self.u, self.shape = posteriors, line, u, (len(r2), *line.t.shape, r2.shape[3])
        self.jet = self._evaluated(r2)

    def _evaluated(self, coefficients: Float[Tensor, "c b 3 n"]) -> ProfileJet:
        """k and dk/dr2, (c, b, q, n)."""
        them, line, t = self.posteriors, self.line, self.line.t
        powers = torch.stack([torch.ones_like(t), 2 * t, t.square()], dim=2)
        r2 = torch.matmul(powers, coefficients, out=line.empty(*self.shape))  # (4.3)
        if not them.kernel.smooth:
            r2.clamp_(min=0)  # a sum of squares, whose rounding errors have no root
        return them.kernel.jet(r2, them.log_variance, (line.empty_like(r2), line.empty_like(r2)))

    @cached_property
    def fitted(self) -> Fitted:
        """Products with A k, which comes through F where products with A itself would lose digits."""
        them, k, slope, (c, b, q, n) = self.posteriors, self.jet.profile, self.jet.slope, self.shape
        by_slope = self.line.empty(c, b, 2 * q, n)
        of_beta, of_A_k = by_slope.split(q, dim=2)
        if them.A is None:
            products = [quadratic.product(k_c) for quadratic, k_c in zip(them.quadratics, k, strict=True)]
            A_k, form = (
                torch.stack(parts)[:, :, 0] for parts in zip(*((p.A_k, p.form) for p in products), strict=True)
            )
        else:
            flat = k.flatten(1, 2)
            A_k = torch.bmm(flat, them.A, out=self.line.empty_like(flat)).view_as(k)
            form = torch.mul(A_k, k, out=of_beta).sum(3)
        torch.mul(slope, them.beta[:, None, None], out=of_beta)
        torch.mul(slope, A_k, out=of_A_k)
        return Fitted(by_slope, by_slope.sum(3), form)

    def means(self) -> Float[Tensor, "b c q"]:
        fitted = self.jet.profile @ self.posteriors.beta[:, None, :, None]
        return (fitted[..., 0] + self.posteriors.mean[:, None, None]).transpose(0, 1)  # (1.1)

    def variances(self) -> Float[Tensor, "b c q"]:
        them = self.posteriors
        prior = them.variance[:, None, None]
        v = prior - self.fitted.form + them.jitter[:, None, None]  # (1.2)
        return without_rounding(v, prior).transpose(0, 1)

    def pull_back(self, wm: Float[Tensor, "b p c q"], wv: Float[Tensor, "b p c q"] | None) -> Form:
        """W = wm beta - 2 wv A k  (4.2), summed over the nodes before any product with features  (4.3)."""
        them, t, slope, factor = self.posteriors, self.line.t, self.jet.slope, -2 * self.jet.constant
        U = factor * wm.permute(2, 0, 1, 3)
        if wv is None:
            W = (U @ slope) * them.beta[:, None, None]
            sums = (slope @ them.beta[:, None, :, None])[..., 0]
        else:
            U = torch.cat([U, (-2 * factor) * wv.permute(2, 0, 1, 3)], dim=3)
            W, sums, t = U @ self.fitted.by_slope, self.fitted.sums, torch.cat([t, t], dim=1)
        moment = U @ (t * sums)[..., None]
        at_baseline, moved = -W.sum(3).permute(1, 2, 0), -moment[..., 0].permute(1, 2, 0)
        W = W.permute(1, 2, 0, 3).flatten(2)
        moved_form = Form(by_row=((moved, them.rho, self.line.d),))
        if len(self.u) == 1:
            return moved_form + Form(shared=((at_baseline, them.rho * self.u), (W, them.R)))
        return moved_form + Form(shared=((W, them.R),), by_row=((at_baseline, them.rho, self.u),))
