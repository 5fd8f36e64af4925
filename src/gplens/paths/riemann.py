"""The other rules of even spacing that Captum has, for comparison; none has an error estimate."""

from dataclasses import dataclass
from typing import final

import numpy as np

from gplens.paths.nodes import Nodes
from gplens.paths.rules import FixedRule


@dataclass(frozen=True)
class _Even(FixedRule):
    """Evenly spaced nodes."""

    count: int

    def __post_init__(self) -> None:
        if self.count < 2:
            raise ValueError(f"{type(self).__name__} wants two nodes or more; got {self.count}.")


@final
@dataclass(frozen=True)
class RiemannLeft(_Even):
    """t = 0, 1/count, ..., equal weights. Its error falls like 1/count."""

    def nodes_and_weights(self) -> tuple[Nodes, Nodes, None]:
        """Left end points."""
        return np.arange(self.count) / self.count, np.full(self.count, 1 / self.count), None


@final
@dataclass(frozen=True)
class RiemannMiddle(_Even):
    """t = 1/(2 count), 3/(2 count), ..., equal weights. Its error falls like 1/count^2."""

    def nodes_and_weights(self) -> tuple[Nodes, Nodes, None]:
        """Mid points."""
        return (np.arange(self.count) + 0.5) / self.count, np.full(self.count, 1 / self.count), None


@final
@dataclass(frozen=True)
class Trapezoid(_Even):
    """t = 0, 1/(count - 1), ..., 1, half weights at the ends. Its error falls like 1/count^2."""

    def nodes_and_weights(self) -> tuple[Nodes, Nodes, None]:
        """Weights that sum to one; Captum's riemann_trapezoid has (count - 1)/count."""
        w = np.full(self.count, 1 / (self.count - 1))
        w[[0, -1]] /= 2
        return np.linspace(0, 1, self.count), w, None
