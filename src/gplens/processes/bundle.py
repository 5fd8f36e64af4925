"""Several straight paths to one input as a single path, whose error bars are those of the average over the paths."""

from collections.abc import Sequence
from dataclasses import replace
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.lines.line import Line
from gplens.lines.pairs import NodeMarginals, Pairs, SplitPairs
from gplens.processes.latent_sources import Sources
from gplens.processes.process import Marginals, Process
from gplens.processes.wrapping import Wrapping


@final
class Bundle(Wrapping):
    """The paths x0_j -> x one after the other, path j for j <= s u < j + 1, with gradients in coordinates z_k.

    sum_j a_j IG^(j)_k = int_0^1 d f/dz_k du,  d f/dz_k = s a_j d_jk d_k f  on path j,  d_j = x - x0_j  (5.20)

    is the attribution of z_k on the path z = u from 0 to 1. A coordinate that stands for a set of features has the sum
    of their gradients  (5.19). Only the methods that error bars need are defined.
    """

    def __init__(
        self,
        base: Process,
        x: Float[Tensor, " d"],
        baselines: Float[Tensor, "s d"],
        shares: Float[Tensor, " s"],
        sets: Sequence[Sequence[int]] | None = None,
    ) -> None:
        self.base, self.x, self.baselines, self.shares, self.sets = base, x, baselines, shares, sets
        self.d = x - baselines
        self.M = torch.eye(len(x), dtype=x.dtype) if sets is None else _indicator(sets, x)
        self.directions = len(baselines) * shares[:, None] * self.d

    @property
    def features(self) -> int:
        return self.M.shape[1]

    @property
    def paths(self) -> int:
        return len(self.baselines)

    def along(self, line: Line) -> Marginals:
        raise NotImplementedError("expected error bars alone to be asked of a bundle of paths.")

    def length(self, line: Line) -> Float[Tensor, " b"]:
        """The length of the longest path, since all paths have equally many nodes."""
        return self.base.length(self._ends).max().expand(len(line.d))

    def kinks(self, line: Line) -> Float[Tensor, "b k"]:
        """The kinks of each path, which differ from path to path."""
        return self.base.kinks(self._ends).flatten().expand(len(line.d), -1)

    @property
    def _ends(self) -> Line:
        return Line(self.baselines, self.d, self.d.new_zeros(self.paths, 0))

    def pairs(self, left: Line, right: Line, latent: int) -> Pairs:
        """Block by block: the nodes of one path on the left side, of all paths at once on the right side."""
        rows, columns = self._paths(left), self._paths(right)
        i, j = self._chosen(left), self._chosen(right)
        blocks = [
            self.base.pairs(Line(x0.expand(len(j), -1), d.expand(len(j), -1), t.expand(len(j), -1)), columns, latent)
            for x0, d, t in zip(rows.x0, rows.d, rows.t, strict=True)
        ]
        x, y = self.directions[i], self.directions[j]
        at = self.marginals(right, latent)
        c = torch.cat([_beside(block.c) for block in blocks])[None]
        c_l = torch.cat([_beside(block.c_l * y[:, None, None]) for block in blocks])[None] @ self.M
        c_k = (
            torch.cat([_above(block.c_k * along) for block, along in zip(blocks, x, strict=True)], dim=1)[None] @ self.M
        )  # (1, p, q, d)

        def gradient_sum(H: Float[Tensor, "1 q p"], full: bool) -> Float[Tensor, "1 d *d"]:
            wide = full or self.sets is not None
            parts = H[0].unflatten(0, (len(i), -1)).unflatten(2, (len(j), -1)).transpose(1, 2)
            total = sum(
                _directed(block.gradient_sum(weights, wide), along, y, wide).sum(0)
                for block, weights, along in zip(blocks, parts, x, strict=True)
            )
            return self.summed(torch.as_tensor(total)[None], full)

        def gradients(full: bool) -> Float[Tensor, "1 q p d *d"]:
            wide = full or self.sets is not None
            over = [
                _beside(_directed(block.gradients(wide), along, y[:, None, None], wide))
                for block, along in zip(blocks, x, strict=True)
            ]
            return self.summed(torch.cat(over)[None], full)

        return Pairs(at if right is left else self.marginals(left, latent), at, c, c_k, c_l, gradient_sum, gradients)

    def split_pairs(self, line: Line, latent: int) -> SplitPairs:
        """Everything counts as prior. Marginals need no pairs of different paths."""
        at, paths = self.marginals(line, latent), self._paths(line)
        shared = self.base.pairs(paths, paths, latent).c.diagonal(dim1=1, dim2=2).reshape(1, -1)
        return SplitPairs.unsplit(at, at.v - shared, lambda left, right: self.pairs(left, right, latent).as_between())

    def marginals(self, line: Line, latent: int) -> NodeMarginals:
        """At the nodes of all paths of a line, one after the other."""
        paths = self._paths(line)
        at = self.base.pairs(paths, paths, latent).left
        along = self.directions[self._chosen(line)][:, None]
        m, v = (part.reshape(1, -1) for part in (at.m, at.v))
        m_k, v_k = ((along * part).reshape(1, -1, self.base.features) @ self.M for part in (at.m_k, at.v_k))
        return NodeMarginals(m, v, m_k, v_k)

    def select(self, latents: tuple[int, ...]) -> "Bundle":
        return self._of(self.base.select(latents))

    def sources(self) -> Sources | None:
        inner = self.base.sources()
        return None if inner is None else replace(inner, process=self._of(inner.process))

    def _of(self, base: Process) -> "Bundle":
        return Bundle(base, self.x, self.baselines, self.shares, self.sets)

    def _chosen(self, line: Line) -> list[int]:
        """The paths that have nodes. The nodes are in order, equally many on each path."""
        return (self.paths * line.t[0]).floor().long().unique_consecutive().tolist()

    def _paths(self, line: Line) -> Line:
        """A row for each path with nodes."""
        chosen = self._chosen(line)
        t = self.paths * line.t[0].unflatten(0, (len(chosen), -1)) - line.t.new_tensor(chosen)[:, None]
        return Line(self.baselines[chosen], self.d[chosen], t)

    def summed(self, matrix: Float[Tensor, "*pairs d"], full: bool) -> Float[Tensor, "*other g"]:
        """M' matrix M, or its diagonal, for coordinates that stand for sets of features."""
        if self.sets is None:
            return matrix
        half = self.M.T @ matrix
        return half @ self.M if full else (half * self.M.T).sum(-1)


def _indicator(sets: Sequence[Sequence[int]], x: Float[Tensor, " d"]) -> Float[Tensor, "d g"]:
    M = x.new_zeros(len(x), len(sets))
    for column, members in enumerate(sets):
        M[list(members), column] = 1
    return M


def _beside(block: Float[Tensor, "s q p *rest"]) -> Float[Tensor, "q sp *rest"]:
    """Join the nodes of all paths on the right side in one axis."""
    return block.transpose(0, 1).flatten(1, 2)


def _above(block: Float[Tensor, "s p q *rest"]) -> Float[Tensor, "sp q *rest"]:
    return block.flatten(0, 1)


def _directed(
    matrix: Float[Tensor, "s *pairs d"], along: Float[Tensor, " d"], y: Float[Tensor, "s *ones d"], full: bool
) -> Float[Tensor, "s *pairs d"]:
    """Multiply by the directions of both paths."""
    return matrix * (along[:, None] * y[..., None, :] if full else along * y)
