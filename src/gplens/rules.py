"""Quadrature rules for `explain(rule=...)`.

`Adaptive`, the default, is defined in `paths/attribute.py` and is public here. This file defines the fixed rules, whose
nodes are the same for every path.
"""

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np
import torch

from gplens.adapters.numbers import as_int
from gplens.paths.attribute import Adaptive
from gplens.paths.integrals import Integral
from gplens.paths.integrand import Integrand, Rule
from gplens.paths.panels import Nodes, gauss_kronrod, gauss_legendre

__all__ = [
    "Adaptive",
    "FixedRule",
    "GaussKronrod",
    "GaussLegendre",
    "RiemannLeft",
    "RiemannMiddle",
    "RiemannRight",
    "Rule",
    "Trapezoid",
]


class FixedRule(Rule):
    """A rule with the same nodes and weights on [0, 1] for every path, whatever the tolerance.

    Example:
        >>> isinstance(gplens.rules.GaussLegendre(16), gplens.rules.FixedRule)
        True
    """

    @abstractmethod
    def nodes_and_weights(self) -> tuple[Nodes, Nodes, Nodes | None]:
        """Nodes, weights, and the weights of a coarser rule on the same nodes, or None."""

    def integrate(self, integrand: Integrand, tolerance: float) -> Integral:
        """The weighted sums, with the difference to the coarser rule as the error."""
        t, w, coarse = self.nodes_and_weights()
        b = integrand.rows
        channels = torch.as_tensor(np.stack([w] if coarse is None else [w, w - coarse]))
        rows = torch.arange(b)
        sums = integrand.sums(rows, torch.as_tensor(t).expand(b, -1), channels.expand(b, -1, -1))
        values, count = sums[:, 0], torch.full((b,), len(t))
        if coarse is None:
            return Integral(values, None, count, None)
        error = sums[:, 1].abs()
        met = (error <= integrand.allowed_error(values, tolerance)[..., None]).flatten(1).all(1)
        return Integral(values, error, count, met)


@dataclass(frozen=True)
class _Counted(FixedRule):
    """A fixed rule with a chosen number of nodes, or of Gauss nodes."""

    least: ClassVar[int] = 1
    """The smallest number."""

    count: int

    def __post_init__(self) -> None:
        number = as_int(self.count)
        if number is None or number < self.least:
            name = type(self).__name__
            raise ValueError(f"{name}: expected a whole number count >= {self.least}, got {self.count!r}.")


@final
@dataclass(frozen=True)
class GaussLegendre(_Counted):
    """count nodes, exact for polynomials of degree 2 count - 1. No error estimate.

    Raises:
        ValueError: if the number of nodes is not a whole number of 1 or more.

    Example:
        >>> rule = gplens.rules.GaussLegendre(16)
        >>> int(gplens.explain(gp, X[3:4], baseline=0.0, likelihood=gplens.links.Exp(), rule=rule).nodes[0])
        16
    """

    def nodes_and_weights(self) -> tuple[Nodes, Nodes, None]:
        return *gauss_legendre(int(self.count)), None


@final
@dataclass(frozen=True)
class GaussKronrod(_Counted):
    """count Gauss nodes and Kronrod's count + 1 further nodes. The difference of the two rules is the error estimate.

    Raises:
        ValueError: if the number of nodes is not a whole number of 1 or more.

    Example:
        >>> rule = gplens.rules.GaussKronrod(7)
        >>> int(gplens.explain(gp, X[3:4], baseline=0.0, likelihood=gplens.links.Exp(), rule=rule).nodes[0])
        15
    """

    count: int = 7

    def nodes_and_weights(self) -> tuple[Nodes, Nodes, Nodes]:
        return gauss_kronrod(int(self.count))


@final
@dataclass(frozen=True)
class RiemannRight(_Counted):
    """t = 1/count, 2/count, ..., 1 with equal weights: the paper's rule. Its error falls like 1/count.

    Raises:
        ValueError: if the number of nodes is not a whole number of 1 or more.

    Example:
        >>> rule = gplens.rules.RiemannRight(50)
        >>> float(gplens.explain(gp, X[3:4], baseline=0.0, likelihood=gplens.links.Exp(), rule=rule).gap.abs()) > 0.01
        True
    """

    def nodes_and_weights(self) -> tuple[Nodes, Nodes, None]:
        n = int(self.count)
        return np.arange(1, n + 1) / n, np.full(n, 1 / n), None


@final
@dataclass(frozen=True)
class RiemannLeft(_Counted):
    """t = 0, 1/count, ..., 1 - 1/count with equal weights. Its error falls like 1/count.

    Raises:
        ValueError: if the number of nodes is not a whole number of 1 or more.

    Example:
        >>> rule = gplens.rules.RiemannLeft(50)
        >>> float(gplens.explain(gp, X[3:4], baseline=0.0, likelihood=gplens.links.Exp(), rule=rule).gap.abs()) > 0.01
        True
    """

    def nodes_and_weights(self) -> tuple[Nodes, Nodes, None]:
        n = int(self.count)
        return np.arange(n) / n, np.full(n, 1 / n), None


@final
@dataclass(frozen=True)
class RiemannMiddle(_Counted):
    """t = 1/(2 count), 3/(2 count), ... with equal weights. Its error falls like 1/count^2.

    Raises:
        ValueError: if the number of nodes is not a whole number of 1 or more.

    Example:
        >>> rule = gplens.rules.RiemannMiddle(50)
        >>> float(gplens.explain(gp, X[3:4], baseline=0.0, likelihood=gplens.links.Exp(), rule=rule).gap.abs()) < 0.01
        True
    """

    def nodes_and_weights(self) -> tuple[Nodes, Nodes, None]:
        n = int(self.count)
        return (np.arange(n) + 0.5) / n, np.full(n, 1 / n), None


@final
@dataclass(frozen=True)
class Trapezoid(_Counted):
    """t = 0, 1/(count - 1), ..., 1 with half weights at the ends, which sum to one. Its error falls like 1/count^2.

    The weights of Captum's riemann_trapezoid sum to (count - 1)/count.

    Raises:
        ValueError: if the number of nodes is not a whole number of 2 or more.

    Example:
        >>> rule = gplens.rules.Trapezoid(50)
        >>> float(gplens.explain(gp, X[3:4], baseline=0.0, likelihood=gplens.links.Exp(), rule=rule).gap.abs()) < 0.01
        True
    """

    least: ClassVar[int] = 2

    def nodes_and_weights(self) -> tuple[Nodes, Nodes, None]:
        n = int(self.count)
        w = np.full(n, 1 / (n - 1))
        w[[0, -1]] /= 2
        return np.linspace(0, 1, n), w, None
