"""Posteriors with stationary kernels along a line, all latent functions in the same products (MATH 4.2, 4.3)."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, final

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.kernels.composite import Scale
from gplens.kernels.stationary import Stationary
from gplens.lines.line import Line
from gplens.lines.pull_back import Form
from gplens.lines.quadratic import Quadratic
from gplens.lines.radial import FAR, ProfileJet
from gplens.means import ConstantMean
from gplens.processes.posterior_along import without_rounding
from gplens.processes.process import Marginals

if TYPE_CHECKING:
    from gplens.processes.posterior import Posterior


@final
@dataclass(eq=False)
class RadialPosteriors:
    """c latent functions, each with n support points of its own and a kernel of one class, in units of its them.

    The largest tensors have the layout (c, b, q, n): products with A are one batched product, and the products over
    features are one matrix product for all latent functions.
    """

    kernel: Stationary
    """Whose profile h all latent functions share."""
    centre: Float[Tensor, " d"]
    """The mean of all support points. Distances do not depend on a shift, and centring keeps their digits."""
    rho: Float[Tensor, "c d"]
    """1 / l_k^2."""
    R: Float[Tensor, "cn d"]
    """The support points of all latent functions, centred, times rho."""
    norm2: Float[Tensor, "c n"]
    """Squared distances of the support points from the centre, in lengthscales."""
    variance: Float[Tensor, " c"]
    """k(x, x)."""
    beta: Float[Tensor, "c n"]
    mean: Float[Tensor, " c"]
    jitter: Float[Tensor, " c"]
    quadratics: tuple[Quadratic, ...]

    @staticmethod
    def of(posteriors: "Sequence[Posterior]") -> "RadialPosteriors | None":
        """None if a kernel is not stationary, its class or the number of support points differs, or a mean varies."""
        kernels = [_unscaled(posterior) for posterior in posteriors]
        first, n = kernels[0], len(posteriors[0].Z)
        if first is None or len(fields(first)) > 1:
            return None
        if not all(type(k) is type(first) and len(p.Z) == n for k, p in zip(kernels, posteriors, strict=True)):
            return None
        centre = torch.stack([posterior.Z.mean(0) for posterior in posteriors]).mean(0)
        rho = torch.stack([k.lengthscale.to(centre.dtype).expand_as(centre) ** -2 for k in kernels if k is not None])
        z = torch.stack([posterior.Z - centre for posterior in posteriors])
        R = z * rho[:, None]

        def each(numbers: list[float]) -> Float[Tensor, " c"]:
            return torch.tensor(numbers, dtype=torch.float64)

        return RadialPosteriors(
            first,
            centre,
            rho,
            R.flatten(0, 1),
            (z * R).sum(2),
            each([_variance(posterior) for posterior in posteriors]),
            torch.cat([posterior.beta for posterior in posteriors]),
            each(
                [mean.value for posterior in posteriors for mean in posterior.means if isinstance(mean, ConstantMean)]
            ),
            each([posterior.jitter for posterior in posteriors]),
            tuple(posterior.A for posterior in posteriors),
        )

    @cached_property
    def A(self) -> Float[Tensor, "c n n"] | None:
        """All matrices A; None if products with one of them would lose digits of the variance."""
        if not all(quadratic.keeps_digits for quadratic in self.quadratics):
            return None
        matrices = [quadratic.matrix for quadratic in self.quadratics]
        return matrices[0] if len(matrices) == 1 else torch.cat(matrices)

    @cached_property
    def log_variance(self) -> Float[Tensor, "c 1 1 1"]:
        return self.variance.log()[:, None, None, None]

    def along(self, line: Line) -> "RadialMarginals | None":
        """The marginals; None for a line of so many lengthscales that its distances would lose digits (4.3a)."""
        u, d, (c, n) = line.x0 - self.centre, line.d, self.norm2.shape
        norm2 = d.square() @ self.rho.T
        if norm2.numel() and float(norm2.max()) > FAR**2:
            return None
        first = (u.square() @ self.rho.T)[..., None] + self.norm2 - 2 * (u @ self.R.T).unflatten(1, (c, n))
        second = ((u * d) @ self.rho.T)[..., None] - (d @ self.R.T).unflatten(1, (c, n))
        third = norm2[..., None].expand_as(second)
        parts = [part.transpose(0, 1) for part in (first.expand_as(second), second, third)]
        powers = torch.stack([torch.ones_like(line.t), 2 * line.t, line.t.square()], dim=2)
        r2 = torch.matmul(powers, torch.stack(parts, dim=2), out=line.empty(c, *line.t.shape, n))  # (4.3)
        if not self.kernel.smooth:
            r2.clamp_(min=0)  # a sum of squares, whose rounding errors have no root
        return RadialMarginals(self, line, u, self.kernel.jet(r2, self.log_variance, line.empty_like))


@final
class RadialMarginals(Marginals):
    """(1.1) and (1.2) of all latent functions at the nodes of a line; `jet` has k and dk/dr2, (c, b, q, n)."""

    def __init__(self, posteriors: RadialPosteriors, line: Line, u: Float[Tensor, "#b d"], jet: ProfileJet) -> None:
        self.posteriors, self.line, self.u, self.jet = posteriors, line, u, jet

    @cached_property
    def fitted(self) -> tuple[Float[Tensor, "c b q n"], Float[Tensor, "c b q"]]:
        """A k and k'Ak, through F where products with A itself would lose digits."""
        k, A, new = self.jet.profile, self.posteriors.A, self.line.empty_like
        if A is None:
            products = [quadratic.product(k_c) for quadratic, k_c in zip(self.posteriors.quadratics, k, strict=True)]
            return torch.stack([p.A_k[:, 0] for p in products]), torch.stack([p.form[:, 0] for p in products])
        flat = k.flatten(1, 2)
        A_k = torch.bmm(flat, A, out=new(flat)).view_as(k)
        return A_k, torch.mul(A_k, k, out=new(k)).sum(3)

    def means(self) -> Float[Tensor, "b c q"]:
        fitted = self.jet.profile @ self.posteriors.beta[:, None, :, None]
        return (fitted[..., 0] + self.posteriors.mean[:, None, None]).transpose(0, 1)  # (1.1)

    def variances(self) -> Float[Tensor, "b c q"]:
        them = self.posteriors
        prior = them.variance[:, None, None]
        v = prior - self.fitted[1] + them.jitter[:, None, None]  # (1.2)
        return without_rounding(v, prior).transpose(0, 1)

    def pull_back(self, wm: Float[Tensor, "b p c q"], wv: Float[Tensor, "b p c q"] | None) -> Form:
        """W = wm beta - 2 wv A k  (4.2), summed over the nodes before any product with features  (4.3)."""
        them, t, (_, slope, constant) = self.posteriors, self.line.t[None, :, :, None], self.jet
        beta = them.beta[:, None, None]
        U = (-2 * constant) * wm.permute(2, 0, 1, 3)
        W = (U @ slope) * beta
        moment = U @ (t * (slope @ beta.mT))
        if wv is not None:
            V = (4 * constant) * wv.permute(2, 0, 1, 3)
            H = torch.mul(self.fitted[0], slope, out=self.line.empty_like(slope))
            W += V @ H
            moment += V @ (t * H.sum(3, keepdim=True))
        at_baseline, moved = -W.sum(3).permute(1, 2, 0), -moment[..., 0].permute(1, 2, 0)
        W = W.permute(1, 2, 0, 3).flatten(2)
        moved_form = Form(by_row=((moved, them.rho, self.line.d),))
        if len(self.u) == 1:
            return moved_form + Form(shared=((at_baseline, them.rho * self.u), (W, them.R)))
        return moved_form + Form(shared=((W, them.R),), by_row=((at_baseline, them.rho, self.u),))


def _unscaled(posterior: "Posterior") -> Stationary | None:
    """The stationary kernel of a posterior with one latent function and a constant mean; None for any other."""
    kernel = posterior.kernel
    if isinstance(kernel, Scale) and float(kernel.variance) > 0:
        kernel = kernel.kernel
    usual = posterior.latents == 1 and isinstance(posterior.means[0], ConstantMean)
    return kernel if usual and isinstance(kernel, Stationary) else None


def _variance(posterior: "Posterior") -> float:
    return float(posterior.kernel.variance) if isinstance(posterior.kernel, Scale) else 1.0
