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
from gplens.lines.far_points import FAR, is_wide
from gplens.lines.line import Line
from gplens.lines.quadratic import Quadratic
from gplens.means import ConstantMean
from gplens.processes.radial_marginals import RadialMarginals

if TYPE_CHECKING:
    from gplens.processes.posterior import Posterior


@final
@dataclass(eq=False)
class RadialPosteriors:
    """c latent functions with kernels of the same class, each with its own n support points and lengthscales.

    Products over features are one matrix product for all latent functions.
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
        """None if a kernel is not stationary, its class or the size of Z differs, a mean varies, or Z is wide."""
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
        if is_wide((z * R).sum(2)):
            return None

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

    def along(self, line: Line) -> RadialMarginals | None:
        """The marginals; None for a line of so many lengthscales that its distances would lose digits (4.3a)."""
        u, d, (c, n) = line.x0 - self.centre, line.d, self.norm2.shape
        norm2 = d.square() @ self.rho.T
        if norm2.numel() and float(norm2.max()) > FAR**2:
            return None
        first = (u.square() @ self.rho.T)[..., None] + self.norm2 - 2 * (u @ self.R.T).unflatten(1, (c, n))
        second = ((u * d) @ self.rho.T)[..., None] - (d @ self.R.T).unflatten(1, (c, n))
        third = norm2[..., None].expand_as(second)
        parts = [part.transpose(0, 1) for part in (first.expand_as(second), second, third)]
        return RadialMarginals(self, line, u, torch.stack(parts, dim=2))


def _unscaled(posterior: "Posterior") -> Stationary | None:
    """The stationary kernel of a posterior with one latent function and a constant mean; None for any other."""
    kernel = posterior.kernel
    if isinstance(kernel, Scale) and float(kernel.variance) > 0:
        kernel = kernel.kernel
    usual = posterior.latents == 1 and isinstance(posterior.means[0], ConstantMean)
    return kernel if usual and isinstance(kernel, Stationary) else None


def _variance(posterior: "Posterior") -> float:
    return float(posterior.kernel.variance) if isinstance(posterior.kernel, Scale) else 1.0
