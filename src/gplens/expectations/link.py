"""The interface of a link: the Gaussian moments of a function g of the latent value (MATH 2, 5)."""

from abc import ABC, abstractmethod
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.lines.shapes import Batch


class Moments(NamedTuple):
    """The expectations of g, g' and g'' under f ~ N(m, v).

    Example:
        >>> moments = gplens.links.Square().moments(torch.tensor([2.0]), torch.tensor([1.0]))
        >>> moments.value.item(), moments.slope.item(), moments.curvature.item()
        (5.0, 4.0, 2.0)
    """

    value: Batch
    slope: Batch
    curvature: Batch


class PairMoments(NamedTuple):
    """E_ij = E g^(i)(f) g^(j)(f') for all pairs of nodes of a path, f at the first and f' at the second  (5.4).

    E21 and E31 are the transposes of E12 and E13.

    Example:
        >>> m, v, c = torch.zeros(1, 2).double(), torch.ones(1, 2).double(), torch.full((1, 2, 2), 0.5).double()
        >>> gplens.links.Square().pair_moments(m, v, c).E22.shape
        torch.Size([1, 2, 2])
    """

    E11: Float[Tensor, "b q q"]
    E12: Float[Tensor, "b q q"]
    E13: Float[Tensor, "b q q"]
    E22: Float[Tensor, "b q q"]


def beside_a_step(distance: Batch, variance: Batch) -> Batch:
    """The resolution of a link that is steep in one place: its width there, growing with the distance from there."""
    return torch.sqrt(variance + (distance / 4) ** 2)


class Link(ABC):
    """g(f), the expected observation given the latent value f, and its moments under f ~ N(m, v).

    With value = E g(f):  d value/dm = E g' = slope,  d value/dv = 1/2 E g'' = curvature / 2  (2.1).

    Example:
        >>> isinstance(gplens.links.Exp(), gplens.links.Link)
        True
    """

    exact: bool = True
    """False for a named approximation, whose attributions do not add up to the change of `value`."""
    needs_variance: bool = True
    """False if no moment depends on v; the variance is then never computed."""
    has_pair_moments: bool = True
    """False if g'' jumps; error bars then come from draws."""

    @abstractmethod
    def __call__(self, f: Batch) -> Batch:
        """g at latent values."""

    @abstractmethod
    def moments(self, m: Batch, v: Batch) -> Moments:
        """E g, E g', E g'' under N(m, v), for v >= 0  (2.1)."""

    def resolution(self, m: Batch, v: Batch) -> Batch:
        """The change of m within which the moments are nearly polynomial (4.10): > 0, as large as can be guaranteed.

        sqrt(v) is valid for any g, whose moments are smooth on the scale of the spread of f. Between two points it may
        fall by at most a quarter of their distance, so that no steep place is hidden between points.
        """
        return torch.sqrt(v)

    @abstractmethod
    def derivative(self, f: Batch) -> Batch:
        """g' at latent values."""

    @abstractmethod
    def pair_moments(self, m: Float[Tensor, "b q"], v: Float[Tensor, "b q"], c: Float[Tensor, "b q q"]) -> PairMoments:
        """E g^(i)(f) g^(j)(f') for jointly Gaussian values at the q nodes of b paths  (5.4).

        c[b, i, i] may be below v[b, i], by a jitter that is in v alone. |c| may exceed sqrt(v v') by rounding.
        """

    def scaled_pair_moments(
        self,
        m: Float[Tensor, "b q"],
        v: Float[Tensor, "b q"],
        c: Float[Tensor, "b q q"],
        unit: Float[Tensor, " b"],
    ) -> PairMoments:
        """The pair moments of g/unit, with a unit for each path, for error bars of very small and very large targets.

        Overridden where the moments of g itself could underflow or overflow.
        """
        unit = unit[:, None, None]
        return PairMoments(*(E / unit / unit for E in self.pair_moments(m, v, c)))
