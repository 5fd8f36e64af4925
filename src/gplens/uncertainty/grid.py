"""The nodes for error bars: few for the latent functions, more for the integrand, on panels of a path (MATH 5.14)."""

from dataclasses import dataclass
from functools import cache
from math import ceil, inf
from typing import NamedTuple, final

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.polynomial import legendre
from torch import Tensor

from gplens.paths.panels import gauss_legendre
from gplens.processes.process import Process, numbers_on_a_line
from gplens.uncertainty.ridge import ridge_weights

REACH = 4.0
"""The length of a panel in lengthscales. Recipe: scripts/error_bar_levels.py prints the errors of all levels."""
CUTS = 32
"""The most kinks of a path at which it is cut into panels."""


@final
class Level(NamedTuple):
    """The resolution of a panel."""

    latent: int
    """Gauss nodes of a panel at which latent functions are evaluated."""
    nodes: int
    """Gauss nodes of a piece of a panel at which the integrand is evaluated."""
    piece: float
    """The length of a piece in lengthscales."""


SMOOTH = tuple(Level(latent, 3 * latent // 2, inf) for latent in (5, 7, 9, 12, 16, 22, 30, 40))
"""The levels for kernels without a ridge, each compared with the one before it."""
ROUGH = (
    Level(6, 8, 2.0),
    Level(8, 10, 2.0),
    Level(10, 12, 2.0),
    Level(13, 16, 2.0),
    Level(15, 16, 1.6),
    Level(19, 14, 1.0),
    Level(22, 14, 0.8),
    Level(27, 16, 0.7),
    Level(31, 16, 0.5),
    Level(38, 14, 0.4),
    Level(42, 14, 0.3),
)
"""The levels for kernels with a ridge. Every second one is tried: the errors of neighbours are of similar size and may
cancel in their difference. Compared levels differ in the nodes of a piece; a short panel has only one piece."""
FIRST = (0.7, 1.6, 2.4)
"""Panel lengths in lengthscales up to which the first levels are tried first, for a tolerance of 1e-3."""
LATER = (1e-5, 1e-8)
"""Tolerances below which the first level is one step, or two steps, finer."""


@final
@dataclass(frozen=True, eq=False)
class Grid:
    """Nodes on panels of b paths with the same number of panels."""

    latent: Float[Tensor, "b n"]
    """Where latent functions are evaluated."""
    t: Float[Tensor, "b f"]
    """The nodes of the integrand."""
    L: Float[Tensor, "g r"]
    """Interpolates from the r latent nodes of a panel to its g nodes of the integrand."""
    weights: Float[Tensor, "b f"]
    """The weights of the nodes of the integrand, for integrals over the path."""
    W: Float[Tensor, "b f f"]
    """The weights of pairs of nodes of the integrand, for integrals over the unit square."""

    @staticmethod
    def on(edges: Float[Tensor, "b k"], length: Float[Tensor, " b"], level: Level, *, smooth: bool) -> "Grid":
        """Nodes on the panels between the edges, for paths of the given lengths in lengthscales."""
        start, width = edges[:, :-1, None], edges.diff(dim=1)[..., None]
        pieces = 1 if smooth else ceil(float((length[:, None] * width[..., 0]).max()) / level.piece) or 1
        t, w, W = (torch.as_tensor(part) for part in _panel(level.nodes, pieces, smooth=smooth))
        nodes = torch.as_tensor(gauss_legendre(level.latent)[0])
        weights = (width * w).flatten(1)
        pairs = weights[:, :, None] * weights[:, None]
        panels, g = edges.shape[1] - 1, len(t)
        blocks = pairs.view(-1, panels, g, panels, g).diagonal(dim1=1, dim2=3)  # (b, g, g, panels), a view
        blocks.copy_(width[:, None, None, :, 0].square() * W[..., None])
        L = torch.as_tensor(_interpolation(level.latent, level.nodes, pieces))
        return Grid((start + width * nodes).flatten(1), (start + width * t).flatten(1), L, weights, pairs)

    def repeated(self, paths: int) -> "Grid":
        """The grid of one path, repeated for several paths."""
        latent, t, weights = (part.expand(paths, -1) for part in (self.latent, self.t, self.weights))
        return Grid(latent, t, self.L, weights, self.W.expand(paths, -1, -1))

    def interpolated(self, values: Float[Tensor, "*rest n"]) -> Float[Tensor, "*rest f"]:
        """Values at the nodes of the integrand, interpolated from values at the latent nodes, in the last axis."""
        return (values.reshape(-1, self.L.shape[1]) @ self.L.T).view(*values.shape[:-1], -1)

    def gathered(self, weights: Float[Tensor, "*rest f"]) -> Float[Tensor, "*rest n"]:
        """Weights of the latent nodes, from weights of the nodes of the integrand: the transpose of `interpolated`."""
        return (weights.reshape(-1, self.L.shape[0]) @ self.L).view(*weights.shape[:-1], -1)

    def interpolated_pairs(self, values: Float[Tensor, "b n n"]) -> Float[Tensor, "b f f"]:
        """`interpolated` for values at pairs of nodes."""
        return self.interpolated(self.interpolated(values).mT).mT

    def gathered_pairs(self, weights: Float[Tensor, "b f f"]) -> Float[Tensor, "b n n"]:
        """The transpose of interpolation, for weights of pairs of nodes."""
        return self.gathered(self.gathered(weights).mT).mT


@cache
def _panel(nodes: int, pieces: int, *, smooth: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Nodes and weights on [0, 1] in equal pieces, and the weights of the pairs of nodes."""
    t, w = gauss_legendre(nodes)
    weights = np.tile(w / pieces, pieces)
    W = np.outer(weights, weights)
    if not smooth:
        blocks = np.einsum("iqip->iqp", W.reshape(pieces, nodes, pieces, nodes))  # a view
        blocks[:] = ridge_weights(nodes) / pieces**2
    return ((np.arange(pieces)[:, None] + t) / pieces).ravel(), weights, W


@cache
def _interpolation(latent: int, nodes: int, pieces: int) -> np.ndarray:
    """The matrix of polynomial interpolation from the latent nodes of a panel to its nodes of the integrand."""
    t = _panel(nodes, pieces, smooth=True)[0]
    series = np.linalg.inv(legendre.legvander(2 * gauss_legendre(latent)[0] - 1, latent - 1))
    return legendre.legvander(2 * t - 1, latent - 1) @ series


def equal_panels(panels: int, paths: int) -> Float[Tensor, "b e"]:
    """The edges of equal panels of all paths."""
    return torch.linspace(0, 1, panels + 1, dtype=torch.float64).expand(paths, -1)


def panels_between(kinks: Float[Tensor, "b k"], panels: int) -> Float[Tensor, "b e"] | None:
    """The edges of equal panels that are cut at the kinks inside (0, 1); None if there are none, or too many.

    A path with fewer kinks than others has some panels of zero width.
    """
    inside = (kinks > 0) & (kinks < 1)
    count = int(inside.sum(1).max()) if kinks.numel() else 0
    if not 0 < count <= CUTS:
        return None
    chosen = torch.where(inside, kinks, 1.0).sort(dim=1).values[:, :count]
    return torch.cat([equal_panels(panels, len(kinks)), chosen], dim=1).sort(dim=1).values


def levels_from(length: Float[Tensor, " b"], tolerance: float, *, smooth: bool) -> Int[Tensor, " b"]:
    """The first level for panels of the given length in lengthscales."""
    limits = length.new_tensor(FIRST[:-1] if smooth else FIRST)
    return (length[:, None] > limits).sum(1) + sum(tolerance < limit for limit in LATER)


def numbers_on_pairs(process: Process, nodes: int) -> int:
    """Numbers that one line holds while covariances between all pairs of its nodes are evaluated."""
    return nodes * numbers_on_a_line(process, nodes, 1) + 8 * nodes**2 * process.features
