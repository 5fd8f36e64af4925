"""Steep links, integrated on pieces of a panel from interpolated m and v, without kernels (MATH 4.10, 4.11)."""

from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Bool, Float
from numpy.polynomial import legendre
from torch import Tensor

from gplens.expectations.expectation import Expectation, Jet
from gplens.paths.integrals import ratio
from gplens.paths.nested import LAST_TERMS, NestedRule
from gplens.paths.panels import Panels, gauss_kronrod
from gplens.paths.path_psi import NodeValues
from gplens.processes.process import Marginals

REACH = 2.0
"""The largest change of m within a panel, in units of the link's resolution, for which its nodes suffice."""
REACH_OF_PIECES = 12.0
"""The largest change of m within a piece. Two rules on the piece decide whether it was too long."""
GAIN = 0.01
"""The part of |Kronrod - Gauss| that is taken as the error of Kronrod's sums over a piece, where psi is analytic: if
the error of 15 Gauss nodes (degree 29) is 1e-5, that of 31 Kronrod nodes (degree 46) is about 1e-8."""
SAMPLES = 7
"""The number of points at which the change over a piece is measured before the link is evaluated."""
ORDER = 15
"""Gauss nodes of a piece."""
HALVINGS = 40
"""How often a panel is halved at most, to find the places where a link is steep."""
SMALLEST = 2.0**-HALVINGS
ROUNDING = 1e-13
"""The part of the sums over a piece that may be rounding."""
MOST = 512
"""The most pieces of a panel. Only links without a known resolution come near this limit."""
BLOCK = 2**24
"""Bytes of the temporaries of a block of pieces."""
SHARE = 0.1
"""The part of the tolerance that is allowed as the error of the sums over a piece."""


@final
@dataclass(frozen=True, eq=False)
class PieceSums:
    """Integrals over the pieces of panels: of psi_m and psi_v times Legendre's polynomials  (4.11)."""

    by_m: Float[Tensor, "s o c r"]
    """int psi_m P_j dt."""
    by_v: Float[Tensor, "s o c r"]
    missed: Float[Tensor, "s o"]
    """The error of interpolation and of sums over pieces, relative to the attributions."""


def is_steep(expectation: Expectation, marginals: Marginals, reach: float = REACH) -> Bool[Tensor, " s"]:
    """The panels in which m or v changes by more than the link's resolution allows."""
    resolution = expectation.resolution(marginals)
    if resolution is None:
        return torch.zeros(marginals.m.shape[0], dtype=torch.bool)
    smallest = resolution.amin(2)
    change = _span(marginals.m) / smallest + _span(marginals.v) / (2 * smallest**2)
    return (change.nan_to_num(nan=0.0, posinf=torch.inf) > reach).any(1)


def _span(values: Float[Tensor, "s c q"]) -> Float[Tensor, "s c"]:
    return values.amax(2) - values.amin(2)


@final
class SteepPanels:
    """Panels in which the link is steep, cut into pieces, with m and v as polynomials in t."""

    def __init__(
        self,
        expectation: Expectation,
        outputs: tuple[int, ...],
        m: Float[Tensor, "s c q"],
        v: Float[Tensor, "s c q"],
        rule: NestedRule,
        tolerance: float,
    ) -> None:
        self.expectation, self.outputs, self.tolerance = expectation, outputs, tolerance
        self.m, self.v = m @ rule.series.T, v @ rule.series.T  # coefficients of Legendre's polynomials

    def sums(self) -> PieceSums:
        """The integrals over all pieces, each of which is halved until its sums are exact enough."""
        pieces, (s, c, r), o = self._resolved(), self.m.shape, len(self.outputs)
        by_m, by_v = (self.m.new_zeros(s, o, c, r) for _ in range(2))
        missed, total = (self.m.new_zeros(s, o) for _ in range(2))
        size = max(1, BLOCK // (8 * (2 * ORDER + 1) * c * r))
        while pieces.owner.shape[0]:  # it ends, since pieces that are tiny or too many in their panel are not halved
            may = (torch.bincount(pieces.owner, minlength=s)[pieces.owner] <= MOST) & (pieces.width > SMALLEST)
            unsettled = [
                self._add(pieces.take(block), may[block], by_m, by_v, missed, total)
                for block in torch.arange(pieces.owner.shape[0]).split(size)
            ]
            pieces = pieces.take(torch.cat(unsettled)).halved()
        missed = (missed / total).nan_to_num(nan=0.0)
        return PieceSums(by_m, by_v, missed)

    def _resolved(self) -> Panels:
        """Pieces over which no latent function changes by more than the link's resolution  (4.10)."""
        pending, done = Panels.equal(torch.ones(self.m.shape[0], dtype=torch.long)), []
        t = torch.linspace(0, 1, SAMPLES, dtype=self.m.dtype)
        for _ in range(HALVINGS):
            m, v, _ = self._interpolated(pending, t)
            few = torch.bincount(pending.owner, minlength=self.m.shape[0])[pending.owner] <= MOST
            steep = is_steep(self.expectation, NodeValues(m, v), REACH_OF_PIECES) & few
            done.append(pending.take(~steep))
            pending = pending.take(steep).halved()
            if not pending.owner.shape[0]:
                break
        return _joined([*done, pending])

    def _interpolated(
        self, pieces: Panels, t: Float[Tensor, " p"]
    ) -> tuple[Float[Tensor, "k c p"], Float[Tensor, "k c p"], Float[Tensor, "k p r"]]:
        """m, v and Legendre's polynomials at points of pieces. A variance below zero is an error of interpolation."""
        nodes = pieces.start[:, None] + pieces.width[:, None] * t
        P = torch.as_tensor(legendre.legvander((2 * nodes - 1).numpy(), self.m.shape[2] - 1))
        return self.m[pieces.owner] @ P.mT, (self.v[pieces.owner] @ P.mT).clamp(min=0), P

    def _add(
        self,
        pieces: Panels,
        may_be_halved: Bool[Tensor, " k"],
        by_m: Float[Tensor, "s o c r"],
        by_v: Float[Tensor, "s o c r"],
        missed: Float[Tensor, "s o"],
        total: Float[Tensor, "s o"],
    ) -> Bool[Tensor, " k"]:
        """Add the pieces whose Kronrod and Gauss sums agree, or that may not be halved; return which remain."""
        t, w, gauss = (torch.as_tensor(part) for part in gauss_kronrod(ORDER))
        m, v, P = self._interpolated(pieces, t)
        marginals = NodeValues(m, v)
        jet, resolution = self.expectation.jet(marginals, self.outputs), self.expectation.resolution(marginals)
        assert resolution is not None
        sizes = _sizes(jet, resolution)
        change = pieces.width[:, None] * (sizes @ w)
        difference = GAIN * pieces.width[:, None] * _sizes_of_sums(jet, resolution, w, w - gauss)
        of_panel = total.index_add(0, pieces.owner, change)[pieces.owner]
        allowed = SHARE * (self.tolerance * of_panel + self.expectation.floor) * pieces.width[:, None]
        unsettled = (difference > allowed).any(1)
        unsettled &= (difference > ROUNDING * change).any(1) & may_be_halved
        done = ~unsettled
        owner, P, width = pieces.owner[done], P[done], pieces.width[done]
        last = [part[owner][..., -LAST_TERMS:] @ P[..., -LAST_TERMS:].mT for part in (self.m, self.v)]
        error = (last[0].abs() / resolution[done] + last[1].abs() / (2 * resolution[done] ** 2)).amax(1)
        total.index_add_(0, owner, change[done])
        missed.index_add_(0, owner, difference[done] + width[:, None] * ((sizes[done] * error[:, None]) @ w))
        by_m.index_add_(0, owner, width[:, None, None, None] * ((w * jet.by_m[done]) @ P[:, None]))
        if jet.by_v is not None:
            by_v.index_add_(0, owner, width[:, None, None, None] * ((w * jet.by_v[done]) @ P[:, None]))
        return unsettled


def _sizes(jet: Jet, resolution: Float[Tensor, "k c p"]) -> Float[Tensor, "k o p"]:
    """|psi_m| resolution + |psi_v| resolution^2, summed over the latent functions."""
    sizes = _products(jet.by_m, resolution[:, None]).sum(2)
    return sizes if jet.by_v is None else sizes + _products(jet.by_v, resolution[:, None] ** 2).sum(2)


def _sizes_of_sums(
    jet: Jet, resolution: Float[Tensor, "k c p"], w: Float[Tensor, " p"], part: Float[Tensor, " p"]
) -> Float[Tensor, "k o"]:
    """The same for sums with the weights `part`, in units of the average resolution under the weights w."""

    def size(partials: Float[Tensor, "k o c p"], units: Float[Tensor, "k 1 c p"]) -> Float[Tensor, "k o"]:
        average = ratio(_products(partials, units) @ w, partials.abs() @ w)
        return _products(partials @ part, average).sum(2)

    units = resolution[:, None]
    return size(jet.by_m, units) if jet.by_v is None else size(jet.by_m, units) + size(jet.by_v, units**2)


def _products(partials: Tensor, units: Tensor) -> Tensor:
    """|partials| in units, which are infinite for polynomials; zero if the output does not depend on that function."""
    return torch.where(partials == 0, 0.0, partials.abs() * units)


def _joined(parts: list[Panels]) -> Panels:
    columns = zip(*((part.owner, part.start, part.width) for part in parts), strict=True)
    return Panels(*(torch.cat(column) for column in columns))
