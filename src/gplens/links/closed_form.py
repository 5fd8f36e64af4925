"""Links whose Gaussian moments are elementary: identity, square and exponential."""

from dataclasses import dataclass
from math import isfinite
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.expectations.link import Link, Moments, PairMoments
from gplens.lines.shapes import Batch
from gplens.links.moments.checks import check_joint
from gplens.processes.process import check_marginal


@final
@dataclass(frozen=True)
class Identity(Link):
    """g = f:  E g = m,  E g' = 1,  E g'' = 0  (2.2). Exact; v is not used and may be zero.

    Example:
        >>> gplens.links.Identity().moments(torch.tensor([2.0]), torch.ones(1)).value.item()
        2.0
    """

    needs_variance = False
    """False: no moment depends on v."""

    def __call__(self, f: Batch) -> Batch:
        return f

    def moments(self, m: Batch, v: Batch) -> Moments:
        """(m, 1, 0)  (2.2)."""
        check_marginal(m, v)
        return Moments(m, torch.ones_like(m), torch.zeros_like(m))  # (2.2)

    def resolution(self, m: Batch, v: Batch) -> Batch:
        return torch.full_like(m, torch.inf)

    def derivative(self, f: Batch) -> Batch:
        return torch.ones_like(f)

    def pair_moments(self, m: Float[Tensor, "b q"], v: Float[Tensor, "b q"], c: Float[Tensor, "b q q"]) -> PairMoments:
        """(1, 0, 0, 0)  (5.5)."""
        check_joint(m, v, c)
        zero = torch.zeros_like(c)
        return PairMoments(torch.ones_like(c), zero, zero, zero)  # (5.5)


@final
@dataclass(frozen=True)
class Square(Link):
    """g = f^2:  E g = m^2 + v,  E g' = 2m,  E g'' = 2  (2.3). Exact for v >= 0.

    Example:
        >>> gplens.links.Square().moments(torch.tensor([2.0]), torch.tensor([1.0])).value.item()
        5.0
    """

    def __call__(self, f: Batch) -> Batch:
        return f**2

    def moments(self, m: Batch, v: Batch) -> Moments:
        """(m^2 + v, 2m, 2)  (2.3)."""
        check_marginal(m, v)
        return Moments(m**2 + v, 2 * m, torch.full_like(m, 2))  # (2.3)

    def resolution(self, m: Batch, v: Batch) -> Batch:
        return torch.full_like(m, torch.inf)

    def derivative(self, f: Batch) -> Batch:
        return 2 * f

    def pair_moments(self, m: Float[Tensor, "b q"], v: Float[Tensor, "b q"], c: Float[Tensor, "b q q"]) -> PairMoments:
        """(4(m m' + c), 4m, 0, 4)  (5.6)."""
        check_joint(m, v, c)
        E11 = 4 * (m[:, :, None] * m[:, None, :] + c)
        return PairMoments(E11, (4 * m)[:, :, None].expand_as(c), torch.zeros_like(c), torch.full_like(c, 4))  # (5.6)


@final
@dataclass(frozen=True)
class Exp(Link):
    """g = e^f:  E g = E g' = E g'' = exp(m + v/2)  (2.4). Exact for v >= 0 and m + v/2 < 709.

    Example:
        >>> gplens.links.Exp().moments(torch.zeros(1), torch.zeros(1)).value.item()
        1.0
    """

    def __call__(self, f: Batch) -> Batch:
        return torch.exp(f)

    def moments(self, m: Batch, v: Batch) -> Moments:
        """exp(m + v/2), three times  (2.4)."""
        check_marginal(m, v)
        value = torch.exp(m + v / 2)  # (2.4)
        _check_overflow(value, m, v, "E exp(f)")
        return Moments(value, value, value)

    def resolution(self, m: Batch, v: Batch) -> Batch:
        return torch.full_like(m, 4.0)

    def derivative(self, f: Batch) -> Batch:
        return torch.exp(f)

    def pair_moments(self, m: Float[Tensor, "b q"], v: Float[Tensor, "b q"], c: Float[Tensor, "b q q"]) -> PairMoments:
        """exp(m + m' + (v + v' + 2c)/2), four times  (5.7)."""
        return self.scaled_pair_moments(m, v, c, m.new_ones(len(m)))

    def scaled_pair_moments(
        self,
        m: Float[Tensor, "b q"],
        v: Float[Tensor, "b q"],
        c: Float[Tensor, "b q q"],
        unit: Float[Tensor, " b"],
    ) -> PairMoments:
        """The same, with the logarithm of the unit subtracted from m."""
        check_joint(m, v, c)
        half = m + v / 2 - torch.log(unit)[:, None]
        E = torch.exp(half[:, :, None] + half[:, None, :] + c)  # (5.7)
        _check_overflow(E, m, v, "E exp(f + f')")
        return PairMoments(E, E, E, E)


def _check_overflow(value: Tensor, m: Tensor, v: Tensor, what: str) -> None:
    if not isfinite(value.sum().item()) and bool(value.isinf().any()):
        i = int((m + v / 2).argmax())
        raise OverflowError(
            f"expected an exponent below 709 for {what}, got m={float(m.flatten()[i]):.6g} and "
            f"v={float(v.flatten()[i]):.6g}, where it overflows float64. The model is far too unsure there, or was not "
            "fitted with an exp link."
        )
