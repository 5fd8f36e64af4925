"""Posteriors with stationary kernels along a line, all latent functions in the same products (MATH 4.2, 4.3)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, final

import torch
from jaxtyping import Float, Int
from torch import Tensor

from gplens.kernels.kernel import Scale
from gplens.kernels.stationary import Stationary
from gplens.lines.forms import Form, Quadratic
from gplens.lines.line import Line
from gplens.lines.radial import FAR, ProfileJet
from gplens.means import ConstantMean
from gplens.processes.process import ROUNDING, Marginals, without_rounding
from gplens.processes.radial_slopes import Fitted, slopes_in_directions

if TYPE_CHECKING:
    from gplens.processes.posterior import Posterior

CHUNK = 2**17
"""Numbers of a tensor to which several operations are applied one after the other, before the next part of it: a part
(1 MB) stays in the caches, and threads of torch share it. Recipes: benchmarks/blocks.py, run.py --only threads"""
Part = tuple[slice, slice] | None
"""Some latent functions at all lines, or one of them at some lines: contiguous in (c, b, q, n); None for everything."""


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

        variance, mean, jitter = torch.tensor([_numbers(posterior) for posterior in posteriors], dtype=torch.float64).T
        beta, quadratics = torch.cat([p.beta for p in posteriors]), tuple(p.A for p in posteriors)
        support = centre, rho, R.flatten(0, 1).mT.contiguous(), norm2
        return RadialPosteriors(first, *support, variance, beta, mean, jitter, quadratics)

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

    @cached_property
    def prior(self) -> Float[Tensor, "2 c 1 1"]:
        """k(x, x) + jitter, what the variance is without data; and the least that can be rounding of it."""
        return torch.stack([self.variance + self.jitter, -ROUNDING * self.variance])[..., None, None]

    def along(self, line: Line) -> "RadialMarginals | None":
        """The marginals; None for a line of so many lengthscales that its distances would lose digits (4.3a)."""
        u, d, (c, n) = line.x0 - self.centre, line.d, self.norm2.shape
        e, b = u.shape[0], d.shape[0]
        squares = (torch.cat([u.square(), u * d, d.square()]) @ self.rho.T).T[..., None]
        longest = float(squares[:, e + b :].max()) if b else 0.0
        if longest > FAR**2:
            return None
        moving = longest > 0  # or points, whose products with d are zero
        products = ((torch.cat([u, d]) if moving else u) @ self.R).view(-1, c, n).transpose(0, 1)
        first = torch.sub(self.norm2[:, None] + squares[:, :e], products[:, :e], alpha=2)
        second = squares[:, e : e + b] - products[:, e:] if moving else squares.new_zeros(c, b, n)
        return RadialMarginals(self, line, u, first, second, squares[:, e + b :])


def _unscaled(posterior: "Posterior") -> Stationary | None:
    """The stationary kernel of a posterior with one latent function and a constant mean; None for any other."""
    kernel = posterior.kernel
    if isinstance(kernel, Scale) and float(kernel.variance) > 0:
        kernel = kernel.kernel
    usual = posterior.latents == 1 and isinstance(posterior.means[0], ConstantMean)
    return kernel if usual and isinstance(kernel, Stationary) else None


def _numbers(posterior: "Posterior") -> tuple[float, float, float]:
    """Prior variance, mean and jitter."""
    kernel, mean = posterior.kernel, posterior.means[0]
    assert isinstance(mean, ConstantMean)
    return float(kernel.variance) if isinstance(kernel, Scale) else 1.0, mean.value, posterior.jitter


@final
class RadialMarginals(Marginals):
    """(1.1) and (1.2) of all latent functions at the nodes of a line, from the coefficients of r2  (4.3c)."""

    def __init__(
        self,
        posteriors: RadialPosteriors,
        line: Line,
        u: Float[Tensor, "#b d"],
        first: Float[Tensor, "c #b n"],
        second: Float[Tensor, "c b n"],
        third: Float[Tensor, "c b 1"],
    ) -> None:
        self.posteriors, self.line, self.u, self.r2 = posteriors, line, u, (first.expand_as(second), second, third)
        self.shape = (second.shape[0], *line.t.shape, second.shape[2])
        self.by_beta, self.slope_by_beta = (line.d.new_empty(self.shape[:3]) for _ in range(2))

    @cached_property
    def jet(self) -> ProfileJet:
        """k and dk/dr2, (c, b, q, n)."""
        return self._evaluated(None)

    @cached_property
    def fitted(self) -> Fitted:
        """Products with A k. If k is not known yet, each part of it is used while it is in the cache."""
        fitted = Fitted(self.line.empty(*self.shape), *self.by_beta.new_empty(2, *self.shape[:3]))
        size = max(CHUNK, 2 * self.shape[3] ** 2)  # a product with A reads all of A
        if size == CHUNK and "jet" not in vars(self):
            self.jet = self._evaluated(fitted)
            return fitted
        k, slope, _ = self.jet
        for part in self._parts(size):
            k_part = _part(k, part)
            self._fit(k_part, k_part if slope is k else _part(slope, part), fitted, part)
        return fitted

    def _parts(self, size: int) -> Iterator[Part]:
        """Parts of at most so many numbers, or one line, of tensors (c, b, q, n); None for all of them."""
        c, b, q, n = self.shape
        if c * b * q * n <= size:
            yield None
            return
        latents, lines = max(1, size // max(1, b * q * n)), max(1, size // max(1, q * n))
        for latent in range(0, c, latents):
            for first in range(0, b, b if latents > 1 else lines) if b else ():
                last = b if latents > 1 else first + lines
                yield slice(latent, latent + latents), slice(first, last)

    def _evaluated(self, fitted: Fitted | None) -> ProfileJet:
        """k and dk/dr2, and their products with beta; also `fitted`, if it is given."""
        them, line, t, (first, second, third) = self.posteriors, self.line, self.line.t, self.r2
        terms = first[:, :, None], second[:, :, None], (2 * t)[None, ..., None], (third * t.square())[..., None]
        out, constant, shared = (line.empty(*self.shape), line.empty(*self.shape)), 1.0, False
        for part in self._parts(CHUNK):
            at_zero, by_t, t_part, last = (_part(term, part) for term in terms)
            r2 = torch.addcmul(at_zero, by_t, t_part).add_(last)  # (4.3c)
            if not them.kernel.smooth:
                r2.clamp_(min=0)  # a sum of squares, whose rounding errors have no root
            jet = them.kernel.jet(r2, _latents(them.log_variance, part), (_part(out[0], part), _part(out[1], part)))
            constant, shared, beta = jet.constant, jet.slope is jet.profile, _latents(them.beta[..., None], part)
            for values, sums in ((jet.profile, self.by_beta), (jet.slope, self.slope_by_beta)):
                torch.bmm(values.flatten(1, 2), beta, out=_part(sums, part).view(beta.shape[0], -1, 1))
            if fitted is not None:
                self._fit(jet.profile, jet.slope, fitted, part)
        return ProfileJet(out[0], out[0] if shared else out[1], constant)

    def _fit(self, k: Float[Tensor, "l e q n"], slope: Float[Tensor, "l e q n"], fitted: Fitted, part: Part) -> None:
        """Products with A k, which comes through F where products with A itself would lose digits."""
        A_k, sums, form = (_part(place, part) for place in fitted)
        if (A := self.posteriors.A) is None:
            of = self.posteriors.quadratics
            for i, quadratic in enumerate(of if part is None else of[part[0]]):
                product = quadratic.product(k[i])
                A_k[i], form[i] = product.A_k[:, 0], product.form[:, 0]
        else:
            torch.bmm(k.flatten(1, 2), _latents(A, part), out=A_k.view(k.shape[0], -1, k.shape[3]))
            if slope is k:
                form.copy_(torch.sum(A_k.mul_(slope), 3, out=sums))
                return
            torch.linalg.vecdot(A_k, k, out=form)
        torch.sum(A_k.mul_(slope), 3, out=sums)

    def means(self) -> Float[Tensor, "b c q"]:
        _ = self.jet
        return (self.by_beta + self.posteriors.mean[:, None, None]).transpose(0, 1)  # (1.1)

    def variances(self) -> Float[Tensor, "b c q"]:
        prior, least = self.posteriors.prior
        v = prior - self.fitted.form  # (1.2)
        if bool((v < least).any()):
            without_rounding(v, self.posteriors.variance[:, None, None])
        return v.clamp_(min=0).transpose(0, 1)

    def slopes(
        self, V: Float[Tensor, "b s k"], columns: Int[Tensor, " k"] | slice, *, variances: bool
    ) -> tuple[Float[Tensor, "b c q s"], Float[Tensor, "b c q s"] | None]:
        return slopes_in_directions(self, V, columns, variances=variances)

    def pull_back(self, wm: Float[Tensor, "b p c q"], wv: Float[Tensor, "b p c q"] | None) -> Form:
        """W = wm beta - 2 wv A k  (4.2), summed over the nodes before any product with features  (4.3)."""
        them, t, (c, b, _, n), factor = self.posteriors, self.line.t, self.shape, -2 * self.jet.constant
        U = factor * wm.permute(2, 0, 1, 3)
        W = torch.bmm(U.flatten(0, 1), self.jet.slope.flatten(0, 1)).view(c, b, -1, n)
        W.mul_(them.beta[:, None, None])
        moment = U * (t * self.slope_by_beta)[:, :, None]
        if wv is not None:
            U = (-2 * factor) * wv.permute(2, 0, 1, 3)
            W.view(c * b, -1, n).baddbmm_(U.flatten(0, 1), self.fitted.by_slope.flatten(0, 1))
            moment.addcmul_(U, (t * self.fitted.sums)[:, :, None])
        at_baseline, moved = W.sum(3).neg_().permute(1, 2, 0), moment.sum(3).neg_().permute(1, 2, 0)
        W = W.permute(1, 2, 0, 3).flatten(2)
        form = Form(shared=((W, them.R.mT),), by_row=((moved, them.rho, self.line.d),))
        if self.u.shape[0] == 1:
            return form + Form(shared=((at_baseline, them.rho * self.u),))
        return form + Form(by_row=((at_baseline, them.rho, self.u),))


def _part(tensor: Float[Tensor, "*whole"], part: Part) -> Float[Tensor, "*part"]:
    """A part of a tensor (c, b, ...), or of (1, b, ...) for numbers that all latent functions share."""
    return tensor if part is None else tensor[part] if tensor.shape[0] > 1 else tensor[:, part[1]]


def _latents(tensor: Float[Tensor, "*whole"], part: Part) -> Float[Tensor, "*part"]:
    """The latent functions of a part, of a tensor with one entry for each."""
    return tensor if part is None else tensor[part[0]]
