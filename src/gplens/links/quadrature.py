"""Any smooth g: moments by a trapezoid rule that is refined until it holds a stated error."""

from collections.abc import Callable
from dataclasses import dataclass
from math import log, sqrt
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.expectations.link import Link, Moments, PairMoments
from gplens.lines.shapes import Batch
from gplens.lines.units import quotient
from gplens.links.moments.checks import check_joint
from gplens.links.moments.derivatives import differentiate
from gplens.links.moments.failures import QuadratureError, check_far, check_finite_moments, moment_failure, pair_failure
from gplens.links.moments.hermite import expect_pairs
from gplens.links.moments.noise import rounding_of
from gplens.links.moments.resolution import resolve
from gplens.links.moments.trapezoid import TrapezoidLevel, integrate
from gplens.processes.process import check_marginal

__all__ = ["Quadrature", "QuadratureError", "name_of"]

COUNTS = tuple(2**k for k in range(5, 15))
"""Nodes per level: 32, 64, ... 16384. The last resolves the sigmoid to sd = 300."""

REACH = 9.0
"""The first range |z| < 9, beyond which N(0, 1) has 2e-19. It grows by a third if g outgrows the density."""

NOISY = (1024, 16384)
"""Levels at which the remaining error is compared with the rounding errors of g itself."""

BLOCK = 2048
"""Elements that are refined together, so that a g that cannot be integrated is noticed early."""

BUDGET = 2**18
"""Elements x nodes evaluated at once: 2 MB per temporary in float64, times what g and its graph hold."""


@final
@dataclass(frozen=True, repr=False)
class Quadrature(Link):
    """E g^(k) = int g^(k)(m + sd z) N(z; 0, 1) dz,  k = 0, 1, 2  (2.9), for any g with a continuous g''.

    Derivatives by autograd; the result is detached. Nodes are doubled until two levels agree to `tolerance`,
    relative to E|g^(k)| whatever the units of g (2.9a), the tails are below it, and Stein's identities
    E[g^(k) z] = sd E g^(k+1) hold to it: these catch kinks and jumps (relu, step), which autograd misses. An error no
    larger than the rounding of g itself is accepted, as for 1 - tanh(f) at large f. Otherwise a `QuadratureError`.

    Holds 1e-10 for sigmoid, softplus, tanh, sin, Phi (v to 400, |m| to 100), polynomials, exp (v to 9).
    It cannot notice: a feature narrower than the first steps (sd/4) that lies between nodes, or beyond 9 sd between the
    few places that are looked at there; a kink that changes the moments by less than 4e-15/sd of themselves; a kink
    exactly at m for v = 0.

    Raises:
        ValueError: if the tolerance is not in (0, 1).

    Example:
        >>> link = gplens.links.Quadrature(lambda f: f**4)
        >>> round(link.moments(torch.zeros(1).double(), torch.ones(1).double()).value.item(), 6)
        3.0
    """

    g: Callable[[Tensor], Tensor]
    """Elementwise, of torch functions."""

    tolerance: float = 1e-11
    """The largest error, relative to E|g^(k)|, or to E|g'|/sd if that is larger than E|g''|."""

    def __post_init__(self) -> None:
        if not 0 < self.tolerance < 1:
            raise ValueError(f"Quadrature: expected a tolerance in (0, 1), such as 1e-11, got {self.tolerance}.")

    def __repr__(self) -> str:
        return f"Quadrature({name_of(self.g)}, tolerance={self.tolerance:g})"

    def __call__(self, f: Batch) -> Batch:
        """g at latent values."""
        return self.g(f)

    def moments(self, m: Batch, v: Batch) -> Moments:
        """E g, E g', E g'' to the tolerance, or a QuadratureError  (2.9)."""
        check_marginal(m, v)
        self._check_attainable(m.dtype)
        means, deviations = m.detach().reshape(-1), v.detach().reshape(-1).sqrt()
        pairs = zip(means.split(BLOCK), deviations.split(BLOCK), strict=True)
        out = torch.cat([self._refine(*pair) for pair in pairs], dim=-1)
        return Moments(*out.reshape(3, *m.shape))

    def derivative(self, f: Batch) -> Batch:
        """g' by autograd, detached."""
        return differentiate(self.g, f, order=1)[1]

    def pair_moments(self, m: Float[Tensor, "b q"], v: Float[Tensor, "b q"], c: Float[Tensor, "b q q"]) -> PairMoments:
        """By the series (5.9), for a g with a third derivative; or a QuadratureError.

        Coefficients are increased until two levels agree and leave out less than `tolerance`, relative to
        sqrt(E g^(i)(f)^2 E g^(j)(f')^2)  (5.11). What `moments` refuses is refused.
        """
        return self.scaled_pair_moments(m, v, c, m.new_ones(len(m)))

    def scaled_pair_moments(
        self,
        m: Float[Tensor, "b q"],
        v: Float[Tensor, "b q"],
        c: Float[Tensor, "b q q"],
        unit: Float[Tensor, " b"],
    ) -> PairMoments:
        check_joint(m, v, c)
        self.moments(m, v)
        m, v, c = m.detach(), v.detach(), c.detach()
        terms, reach, error = resolve(self.g, m.reshape(-1), v.reshape(-1).sqrt(), self.tolerance)
        bad = ~(error <= self.tolerance)
        if bool(bad.any()):
            raise pair_failure(m.reshape(-1)[bad], v.reshape(-1)[bad], error[bad], self.tolerance, of=m.numel())
        return expect_pairs(m, v, c, at=self._derivatives, count=terms.reshape(m.shape), reach=reach, unit=unit)

    def _derivatives(self, f: Float[Tensor, "e n"]) -> Float[Tensor, "3 e n"]:
        """g', g'', g''' at points, in pieces that fit the budget."""
        out = f.new_empty(3, *f.shape)
        for rows in torch.arange(len(f), device=f.device).split(max(1, BUDGET // f.shape[-1])):
            out[:, rows] = differentiate(self.g, f[rows], order=3)[1:]
        return out

    def _refine(self, m: Float[Tensor, " b"], sd: Float[Tensor, " b"]) -> Float[Tensor, "3 b"]:
        """Double the nodes of those elements that have not converged."""
        out = m.new_full((3, m.numel()), torch.inf)
        error = m.new_full((m.numel(),), torch.inf)
        reach = torch.full_like(m, REACH)
        limit = sqrt(-2 * log(torch.finfo(m.dtype).tiny))  # where the density underflows
        pending = torch.arange(m.numel(), device=m.device)
        for count in COUNTS:
            level = self._integrate(m[pending], sd[pending], reach[pending], count)
            change = torch.maximum((level.moments - out[:, pending]).abs(), level.tail)
            out[:, pending] = level.moments
            tail = quotient(level.tail, level.size).amax(0)
            tail = torch.where((level.size[0] == 0) & (sd[pending] > 0) & (reach[pending] < limit), torch.inf, tail)
            error[pending] = torch.maximum(quotient(torch.maximum(change, level.stein), level.size).amax(0), tail)
            if count == COUNTS[0]:
                check_far(self.g, m, sd, level.size[0], tail, self.tolerance)
            left = (error[pending] > self.tolerance).nonzero()[:, 0]
            if count in NOISY and left.numel() > 0:
                error[pending[left]] = self._without_noise(
                    change[:, left],
                    level.stein[:, left],
                    level.size[:, left],
                    m[pending[left]],
                    (sd * reach)[pending[left]],
                )
            short = pending[tail > self.tolerance]
            reach[short] = (reach[short] * 4 / 3).clamp(max=limit)
            pending = pending[~(error[pending] <= self.tolerance)]
            if pending.numel() == 0:
                return out
        missed = m[pending], sd[pending] ** 2, error[pending]
        raise moment_failure(*missed, self.tolerance, of=m.numel(), nodes=COUNTS[-1])

    def _without_noise(
        self,
        change: Float[Tensor, "3 p"],
        stein: Float[Tensor, "3 p"],
        size: Float[Tensor, "3 p"],
        m: Float[Tensor, " p"],
        reach: Float[Tensor, " p"],
    ) -> Float[Tensor, " p"]:
        """The errors minus the rounding errors of g; in Stein's identities, those of g^(k) are divided by sd."""
        noise = rounding_of(self.g, m, reach, order=2)
        before = torch.cat([torch.zeros_like(noise[:1]), quotient(noise[:-1], reach / REACH)])
        defect = torch.maximum(change - noise, stein - noise - before).clamp(min=0)
        return quotient(defect, size).amax(0)

    def _integrate(
        self, m: Float[Tensor, " b"], sd: Float[Tensor, " b"], reach: Float[Tensor, " b"], count: int
    ) -> TrapezoidLevel:
        """One level, in pieces that fit the budget."""
        # Filled in place: small results kept between large temporaries fragment the heap, up to 900 MB.
        level = TrapezoidLevel(*(m.new_empty(*rows, m.numel()) for rows in ((3,), (3,), (3,), (3,))))
        for rows in torch.arange(m.numel(), device=m.device).split(BUDGET // count):
            piece = integrate(self.g, m[rows], sd[rows], reach[rows], count)
            for whole, part in zip(level, piece, strict=True):
                whole[..., rows] = part
        check_finite_moments(level.moments, m, sd**2, self.tolerance)
        return level

    def _check_attainable(self, dtype: torch.dtype) -> None:
        floor = 16 * torch.finfo(dtype).eps
        if self.tolerance < floor:
            raise ValueError(
                f"expected a tolerance >= {floor:.1e}, which the rounding of {dtype} allows, got {self.tolerance:.1e}. "
                f"Pass float64, or a tolerance of {100 * floor:.0e}."
            )


def name_of(g: Callable[[Tensor], Tensor]) -> str:
    """The name of a function, the same in every run."""
    return getattr(g, "__name__", type(g).__name__)
