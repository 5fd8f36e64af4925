"""Posteriors with stationary kernels along a line, all latent functions in the same products (MATH 4.2, 4.3)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, final

import torch
from jaxtyping import Float, Int
from torch import Tensor

from gplens.kernels.kernel import Scale
from gplens.kernels.stationary import Stationary
from gplens.lines.forms import Form, Quadratic
from gplens.lines.line import Line
from gplens.lines.radial import FAR, ProfileJet
from gplens.means import ConstantMean
from gplens.processes.process import Marginals, without_rounding

if TYPE_CHECKING:
    from gplens.processes.posterior import Posterior

CHUNK = 2**15
"""Numbers of a tensor to which several operations are applied one after the other, before the next part of it: a few
such parts (256 kB each) fit into the second-level cache. Recipe: benchmarks/blocks.py"""
Part = tuple[slice, slice]
"""Some latent functions at all lines, or one of them at some lines: contiguous in (c, b, q, n)."""


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
    R: Float[Tensor, "d cn"]
    """The support points of all latent functions, centred, times rho; transposed, so that some features are a block."""
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
        norm2 = (z * R).sum(2)
        if norm2.numel() and float(norm2.max()) > FAR**2:
            return None

        def each(numbers: list[float]) -> Float[Tensor, " c"]:
            return torch.tensor(numbers, dtype=torch.float64)

        return RadialPosteriors(
            first,
            centre,
            rho,
            R.flatten(0, 1).mT.contiguous(),
            norm2,
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
        longest = float(norm2.max()) if norm2.numel() else 0.0
        if longest > FAR**2:
            return None
        first = (u.square() @ self.rho.T)[..., None] + self.norm2 - 2 * (u @ self.R).unflatten(1, (c, n))
        moved = (d @ self.R).unflatten(1, (c, n)) if longest > 0 else torch.zeros_like(first)  # or points
        second = ((u * d) @ self.rho.T)[..., None] - moved
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


class Fitted(NamedTuple):
    """What the data contribute at the nodes of a line."""

    by_slope: Float[Tensor, "c b q n"]
    """dk/dr2 A k, up to the constant of the kernel."""
    sums: Float[Tensor, "c b q"]
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
        self.by_beta, self.slope_by_beta = (line.d.new_empty(self.shape[:3]) for _ in range(2))
        self.jet = self._evaluated(r2)

    def _parts(self, size: int) -> Iterator[Part]:
        """Parts of at most so many numbers, or one line, of tensors (c, b, q, n)."""
        c, b, q, n = self.shape
        latents, lines = max(1, size // max(1, b * q * n)), max(1, size // max(1, q * n))
        for latent in range(0, c, latents):
            for first in range(0, b, b if latents > 1 else lines) if b else ():
                last = b if latents > 1 else first + lines
                yield slice(latent, latent + latents), slice(first, last)

    def _evaluated(self, coefficients: Float[Tensor, "c b 3 n"]) -> ProfileJet:
        """k and dk/dr2, (c, b, q, n), and their products with beta."""
        them, line, t = self.posteriors, self.line, self.line.t
        powers = torch.stack([torch.ones_like(t), 2 * t, t.square()], dim=2)
        out = line.empty(*self.shape), line.empty(*self.shape)
        constant, shared = 1.0, False
        for latents, lines in self._parts(CHUNK):
            r2 = torch.matmul(powers[lines], coefficients[latents, lines])  # (4.3)
            if not them.kernel.smooth:
                r2.clamp_(min=0)  # a sum of squares, whose rounding errors have no root
            places = out[0][latents, lines], out[1][latents, lines]
            jet = them.kernel.jet(r2, them.log_variance[latents], places)
            constant, shared = jet.constant, jet.slope is jet.profile
            for values, sums in ((jet.profile, self.by_beta), (jet.slope, self.slope_by_beta)):
                sums[latents, lines] = torch.bmm(values.flatten(1, 2), them.beta[latents, :, None]).view_as(
                    values[..., 0]
                )
        return ProfileJet(out[0], out[0] if shared else out[1], constant)

    @cached_property
    def fitted(self) -> Fitted:
        """Products with A k, which comes through F where products with A itself would lose digits."""
        them, (k, slope, _) = self.posteriors, self.jet
        by_slope = self.line.empty(*self.shape)
        sums = k.new_empty(self.shape[:3])
        form = sums if slope is k and them.A is not None else torch.empty_like(sums)
        for latents, lines in self._parts(max(CHUNK, 2 * self.shape[3] ** 2)):  # a product with A reads all of A
            k_part, A_k = k[latents, lines], by_slope[latents, lines]
            if them.A is None:
                for i, quadratic in enumerate(them.quadratics[latents]):
                    product = quadratic.product(k_part[i])
                    A_k[i], form[latents, lines][i] = product.A_k[:, 0], product.form[:, 0]
            else:
                torch.bmm(k_part.flatten(1, 2), them.A[latents], out=A_k.view(len(A_k), -1, A_k.shape[3]))
                if form is not sums:
                    form[latents, lines] = torch.linalg.vecdot(A_k, k_part)
            torch.sum(A_k.mul_(slope[latents, lines]), 3, out=sums[latents, lines])
        return Fitted(by_slope, sums, form)

    def means(self) -> Float[Tensor, "b c q"]:
        return (self.by_beta + self.posteriors.mean[:, None, None]).transpose(0, 1)  # (1.1)

    def variances(self) -> Float[Tensor, "b c q"]:
        them = self.posteriors
        prior = them.variance[:, None, None]
        v = prior - self.fitted.form + them.jitter[:, None, None]  # (1.2)
        return without_rounding(v, prior).transpose(0, 1)

    def slopes(
        self, V: Float[Tensor, "b s k"], columns: Int[Tensor, " k"] | slice, *, variances: bool
    ) -> tuple[Float[Tensor, "b c q s"], Float[Tensor, "b c q s"] | None]:
        """d_V k = 2 h' (x0 + t d - z) V / l^2: products over features are taken once for all nodes  (4.18a)."""
        them, (_, slope, factor) = self.posteriors, self.jet
        Z_V = (V.flatten(0, 1) @ them.R[columns]).view(*V.shape[:2], *them.norm2.shape).permute(2, 0, 1, 3).contiguous()
        starts, moves = (
            ((V * y[:, None, columns]) @ them.rho[:, columns].mT).permute(2, 0, 1)[:, :, None]
            for y in (self.u, self.line.d)
        )
        x_V = starts + self.line.t[:, :, None] * moves

        def at_nodes(sums: Float[Tensor, "c b q"], values: Tensor, Z_V: Float[Tensor, "c b s n"]) -> Tensor:
            return (sums[..., None] * x_V - values @ Z_V.mT).transpose(0, 1)

        by_m = at_nodes(self.slope_by_beta, slope, Z_V * them.beta[:, None, None]).mul_(2 * factor)
        if not variances:
            return by_m, None
        return by_m, at_nodes(self.fitted.sums, self.fitted.by_slope, Z_V).mul_(-4 * factor)

    def pull_back(self, wm: Float[Tensor, "b p c q"], wv: Float[Tensor, "b p c q"] | None) -> Form:
        """W = wm beta - 2 wv A k  (4.2), summed over the nodes before any product with features  (4.3)."""
        them, t, slope, factor = self.posteriors, self.line.t, self.jet.slope, -2 * self.jet.constant
        U = factor * wm.permute(2, 0, 1, 3)
        W = (U @ slope).mul_(them.beta[:, None, None])
        moment = U @ (t * self.slope_by_beta)[..., None]
        if wv is not None:
            U = (-2 * factor) * wv.permute(2, 0, 1, 3)
            W += U @ self.fitted.by_slope
            moment += U @ (t * self.fitted.sums)[..., None]
        at_baseline, moved = -W.sum(3).permute(1, 2, 0), -moment[..., 0].permute(1, 2, 0)
        W = W.permute(1, 2, 0, 3).flatten(2)
        moved_form = Form(by_row=((moved, them.rho, self.line.d),))
        if len(self.u) == 1:
            return moved_form + Form(shared=((at_baseline, them.rho * self.u), (W, them.R.mT)))
        return moved_form + Form(shared=((W, them.R.mT),), by_row=((at_baseline, them.rho, self.u),))
