"""The nodes of the paths of draws, and gradients averaged around them (MATH 5.15a)."""

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil
from typing import final

import numpy as np
import torch
from jaxtyping import Float
from numpy.polynomial import legendre
from torch import Tensor

from gplens.lines.between import Between
from gplens.lines.line import Line
from gplens.paths.panels import gauss_kronrod
from gplens.uncertainty.grid import Grid, Level, equal_panels

REACH = 2.5
"""The length of a panel in lengthscales."""
FINE = Level(2, 10, 1.4)
"""The grid on which gradients of rough functions are averaged."""


@final
@dataclass(frozen=True, eq=False)
class DrawNodes:
    """Kronrod nodes on the panels of one path, and matrices that average gradients around them.

    The gradient of a rough function varies between nodes, however many there are. With the Lagrange polynomials l_q of
    a panel,  int phi d_k f dt = sum_q w_q phi_q D_qk,  w_q D_qk = int l_q d_k f dt,  for every phi that they
    interpolate; the moments of D are integrals over the ridge  (5.15a).
    """

    t: Float[Tensor, " q"]
    w: Float[Tensor, " q"]
    gauss: Float[Tensor, " q"]
    """Weights of the coarser rule on the same nodes, zero at the nodes that it does not use."""
    grid: Grid | None
    """The nodes at which gradients are averaged; None for smooth functions, whose gradients at the nodes suffice."""
    order: int

    @staticmethod
    def on(length: float, order: int, *, smooth: bool, paths: int = 1) -> "DrawNodes":
        """2 order + 1 nodes on each panel of `paths` consecutive paths of the given length in lengthscales."""
        edges = equal_panels(paths * max(1, ceil(length / REACH)), 1)
        start, width = edges[0, :-1, None], edges[0].diff()[:, None]
        t, w, gauss = map(torch.as_tensor, gauss_kronrod(order))
        nodes, weights, coarse = (part.flatten() for part in (start + width * t, width * w, width * gauss))
        grid = None if smooth else Grid.on(edges, edges.new_tensor([paths * length]), FINE, smooth=False)
        return DrawNodes(nodes, weights, coarse, grid, order)

    def averages(self, *, coarse: bool) -> Float[Tensor, "f q"]:
        """l_q / w_q at the nodes of the grid, by the Kronrod nodes, or by the Gauss nodes among them."""
        assert self.grid is not None
        panels = len(self.t) // (2 * self.order + 1)
        nodes, chosen = 2 * gauss_kronrod(self.order)[0] - 1, slice(1, None, 2) if coarse else slice(None)
        fine = (self.grid.t[0, : len(self.grid.L)] * panels).numpy()
        basis, kept = np.zeros((len(fine), len(nodes))), nodes[chosen]
        series = np.linalg.inv(legendre.legvander(kept, len(kept) - 1))
        basis[:, chosen] = legendre.legvander(2 * fine - 1, len(kept) - 1) @ series
        weights = self.gauss if coarse else self.w
        return torch.block_diag(*[torch.as_tensor(basis)] * panels) / torch.where(weights > 0, weights, 1.0)


@final
@dataclass(frozen=True, eq=False)
class AveragedPrior:
    """Prior covariances of averaged gradients of one latent function, minus those of gradients at the nodes."""

    c_k: Float[Tensor, "q p d"]
    """The correction to Cov(d_k f_q, f_p)."""
    gradients: Float[Tensor, "q p d *d"]
    """The correction to Cov(d_k f_q, d_l f_p)."""

    @staticmethod
    def of(
        nodes: DrawNodes, prior: Callable[[Line, Line], Between], path: Line, *, full: bool, coarse: bool
    ) -> "AveragedPrior":
        """Computed in blocks of panels, because all pairs of grid nodes would take too much memory."""
        assert nodes.grid is not None
        A, t, W = nodes.averages(coarse=coarse), nodes.grid.t, nodes.grid.W[0]
        fine, at_nodes = Line(path.x0, path.d, t), prior(path, path)
        weights = (nodes.grid.weights[0][:, None] * A).T
        c_k = torch.tensordot(weights, prior(fine, path).by_x[0], 1) - at_nodes.by_x[0]
        gradients = -at_nodes.by_both(full)[0]
        for rows in torch.arange(t.shape[1]).split(len(nodes.grid.L)):
            both = prior(Line(path.x0, path.d, t[:, rows]), fine).by_both(full)[0]
            half = torch.einsum("tp,st...->sp...", A, W[rows].view(*W[rows].shape, *[1] * (both.ndim - 2)) * both)
            gradients = gradients + torch.tensordot(A[rows].T, half, 1)
        return AveragedPrior(c_k, gradients)
